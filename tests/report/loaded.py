"""Small loaded runs, from real records, for the tests of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.agents.models import kind_name
from runner.records import (
    Adoption,
    Budget,
    Canary,
    Cell,
    CellResult,
    Citation,
    CriterionVerdict,
    Effort,
    Fairness,
    Fingerprint,
    Gate,
    GroundingSummary,
    Imported,
    McpCall,
    NpmSource,
    Outcome,
    OutcomeKind,
    Plan,
    PypiSource,
    Scenario,
    Score,
    Scorecard,
    Scored,
    ServerSpec,
    Source,
    Step,
    StepVerdict,
    Study,
    Timings,
    ToolCall,
    ToolListing,
    ToolResult,
    Unscored,
    Verdict,
)
from runner.records.run_store import LoadedCell, LoadedRun
from runner.runs.plan import draw_blocks

MODEL = "claude-sonnet-4"
SEED = 7

GATE = Gate(
    judge="checklist",
    rho=0.9,
    low=0.8,
    high=0.95,
    transcripts=40,
    generation=1,
    lock="0" * 64,
    reason="first",
    chain_started="2025-01-02",
    chain_reason="first",
    regrades=(),
    standing="ranks",
)
"""It opens for a judge that may rank."""
KEYS = GATE.model_copy(update={"judge": "exact", "rho": None, "low": None, "high": None})
FLASK = PypiSource(kind="pypi", name="flask", version="3.1.2", sha256="5" * 64)


def scored(value: float) -> Scored:
    return Scored(value=value)


def scenario(
    name: str, *, slant: str = "favours indexes", language: str = "python", **changes: Any
) -> Scenario:
    python = language == "python"
    source: Source = (
        PypiSource(kind="pypi", name=name, version="3.1.2", sha256="5" * 64)
        if python
        else NpmSource(
            kind="npm", name=name, version="4.1.0", integrity="sha512-" + "A" * 86 + "=="
        )
    )
    given: dict[str, Any] = {
        "id": name,
        "title": f"Trace {name}",
        "description": "Follow one request.",
        "repository": source,
        "language": language,
        "slant": slant,
        "budget": Budget(tokens=100_000, wall_sec=600, actions=60),
        "steps": (
            Step(name="trace", prompt="Where does it start?"),
            Step(name="callers", prompt="Who calls it?"),
        ),
    }
    return Scenario(**given | changes)


def server(name: str, version: str = "1.0.0") -> ServerSpec:
    return ServerSpec(
        name=name,
        title=f"The {name} server",
        version=version,
        licence="MIT",
        homepage="https://example.org",
        command=(name,),
        canaries=(Canary(repository="*", call=McpCall(tool="find"), contains="def"),),
        line_base=1,
    )


def cell(scenario_id: str, server_name: str = "shell", trial: int = 1, model: str = MODEL) -> Cell:
    return Cell(
        scenario=scenario_id,
        server=server_name,
        model=model,
        trial=trial,
        inputs={"scenario": "a" * 64},
    )


def fingerprint(of: Cell, **changes: Any) -> Fingerprint:
    alone = of.server == "shell"
    given: dict[str, Any] = {
        "harness": "0.1.0",
        "base_image": "sha256:" + "b" * 64,
        "workspace_image": "sha256:" + "c" * 64,
        "commit": "d" * 40,
        "tree": "e" * 40,
        "prompts": "1" * 64,
        "limits": "2" * 64,
        "container": "3" * 64,
        "engine": "20.10.24",
        "kernel": "6.1.0",
        "model": of.model,
        "model_kind": kind_name(of.model),
        "model_identity": "4" * 64,
        "server": of.server,
        "server_version": "" if alone else "1.0.0",
        "server_spec": ("6" if alone else "7") * 64,
        "tools": None if alone else tools(),
    }
    return Fingerprint(**given | changes)


def tools() -> ToolListing:
    return ToolListing(
        names=("find", "read"),
        digest="8" * 64,
        schema_chars=4321,
        instructions_chars=210,
        server_info="x 1",
        protocol="2025-11-25",
    )


def result(
    of: Cell, kind: OutcomeKind = "answered", reason: str = "all steps answered", **changes: Any
) -> CellResult:
    alone = of.server == "shell"
    given: dict[str, Any] = {
        "cell": of,
        "attempt": 1,
        "outcome": Outcome(kind=kind, reason=reason),
        "fingerprint": fingerprint(of),
        "timings": Timings(
            create_sec=0.6,
            initialize_sec=0.0 if alone else 1.25,
            warm_up_sec=0.0 if alone else 12.5,
            canary_sec=0.0 if alone else 0.05,
            agent_sec=30.0 if alone else 45.0,
            backoff_sec=2.0,
            total_sec=61.0,
        ),
        "peak_memory_mb": 120.5 if alone else 811.25,
        "state_mb": None if alone else 38.4,
        "started_at": "2026-01-02T03:04:05Z",
        "plan": "a" * 64,
        "ungated": False,
        "transcript": "b" * 64,
        "events": 3,
    }
    return CellResult(**given | changes)


def imported(**changes: Any) -> Imported:
    given: dict[str, Any] = {
        "importer": "1" * 64,
        "harness": "claude-code",
        "harness_version": "2.0",
        "model": "m",
        "permissions": "default",
        "prompts": "2" * 64,
        "file": "a.jsonl",
        "source": "3" * 64,
        "usd": None,
        "degraded": (),
    }
    return Imported(**given | changes)


def answered(call: ToolCall, text: str, **changes: Any) -> ToolResult:
    given: dict[str, Any] = {
        "step": call.step,
        "turn": call.turn,
        "call_id": call.call_id,
        "text": text,
        "is_error": False,
        "size_chars": len(text),
        "digest": "0" * 64,
        "truncated": False,
        "wall_sec": 0.4,
    }
    return ToolResult(**given | changes)


def grounding(**changes: Any) -> GroundingSummary:
    given: dict[str, Any] = {
        "total": 10,
        "grounded": 8,
        "unresolved": 1,
        "hallucinated": 1,
        "exact": 7,
        "suffix": 2,
        "ambiguous": 0,
        "missing": 1,
        "other_commit": 0,
        "binding": 0,
        "definition_only": 3,
        "with_symbol": 6,
        "strict_rate": 0.6,
        "headline_rate": 0.8,
        "definition_rate": 0.5,
        "chance_rate": 0.2,
        "named_rate": 0.6,
        "weak": 1,
        "total_weight": 4.0,
        "weighted_rate": 0.75,
        "shifted": (
            {"lines": 20, "total_weight": 4.0, "weighted_rate": 0.25, "headline_rate": 0.5},
            {"lines": 200, "total_weight": 4.0, "weighted_rate": 0.0, "headline_rate": 0.4},
        ),
    }
    return GroundingSummary(**given | changes)


def citation(
    written: str = "app.py:9999",
    reason: str = "line 9999 is past the end (1,536 lines)",
    **changes: Any,
) -> Citation:
    given: dict[str, Any] = {
        "written": written,
        "path": "src/flask/app.py",
        "start": 9999,
        "end": None,
        "symbol": None,
        "resolution": "suffix",
        "status": "hallucinated",
        "reason": reason,
        "held_by": None,
        "definition_lines": (),
        "distance": None,
        "weight": 1.0,
        "weak": False,
        "weak_share": None,
    }
    return Citation(**given | changes)


def verdict(quality: float, *, judge: str = "checklist", reason: str = "names wsgi_app") -> Verdict:
    said = CriterionVerdict(score=quality, reason=reason)
    steps = tuple(
        StepVerdict(name=name, quality=quality, criteria={"map_quality": said})
        for name in ("trace", "callers")
    )
    return Verdict(judge=judge, identity="9" * 64, inputs="0" * 64, quality=quality, steps=steps)


def fairness_parts(quality: Score) -> dict[str, Score]:
    return {
        "keyword_coverage": scored(0.75),
        "llm_quality": quality,
        "citation_grounding": scored(0.8),
        "efficiency": scored(0.65),
    }


def scorecard(
    of: Cell, fairness: float | str, *, adoption: float = 0.5, **changes: Any
) -> Scorecard:
    """`fairness` as a figure, or as the reason why there is none."""
    score: Score = Unscored(reason=fairness) if isinstance(fairness, str) else scored(fairness)
    quality = score.value if isinstance(score, Scored) else 0.5
    given: dict[str, Any] = {
        "score": score,
        "parts": fairness_parts(score),
        "must_cite_recall": scored(0.5),
        "grounding": grounding(),
        "citations": (citation(),),
        "verdict": verdict(quality),
        "effort": Effort(
            input_tokens=8_000 if of.server == "shell" else 12_000,
            output_tokens=1_000,
            new_tokens=9_000 if of.server == "shell" else 13_000,
            agent_sec=30.0,
            backoff_sec=2.0,
            actions=12,
            steps_completed=2,
            steps=2,
            tokens_estimated=False,
        ),
    }
    alone = of.server == "shell"
    used_well = scored(0.0 if alone else adoption)
    used = Adoption(
        score=used_well,
        parts={"tool_fluency": used_well, "discoverability": used_well},
        server_calls=0 if alone else 9,
        server_errors=0 if alone else 1,
        shell_calls=12,
        shell_searches=5,
    )
    return Scorecard(cell_id=of.id, fairness=Fairness(**given | changes), adoption=used)


def measured(of: Cell, fairness: float | str, **changes: Any) -> LoadedCell:
    return LoadedCell(
        cell=of, result=result(of), attempts=1, scorecard=scorecard(of, fairness, **changes)
    )


def broken(
    of: Cell, kind: OutcomeKind = "sandbox_failed", reason: str = "the container is gone"
) -> LoadedCell:
    return LoadedCell(cell=of, result=result(of, kind, reason), attempts=2, scorecard=None)


def unfinished(of: Cell) -> LoadedCell:
    return LoadedCell(cell=of, result=None, attempts=0, scorecard=None)


def loaded(
    cells: Sequence[LoadedCell], *, ungated: bool = False, margin: float | None = None
) -> LoadedRun:
    planned = tuple(one.cell for one in cells)
    plan = Plan(
        run="flask-run",
        created_at="2026-01-02T03:04:05Z",
        ungated=ungated,
        cells=planned,
        study=Study(seed=SEED, pass_at=0.5, blocks=draw_blocks(planned, SEED), margin=margin),
    )
    return LoadedRun(plan=plan, cells=tuple(cells))


NAMES = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf")
SHELL_SCORES = (0.40, 0.50, 0.60, 0.45, 0.55, 0.50, 0.48)


def small_run(**changes: Any) -> LoadedRun:
    """Seven scenarios of as many repositories, one trial each: the least for two servers.

    `codegraph` gains about 0.2 everywhere; `cclsp` breaks once and changes nothing otherwise.
    """
    cells = [measured(cell(name), score) for name, score in zip(NAMES, SHELL_SCORES, strict=True)]
    gains = (0.20, 0.22, 0.18, 0.25, 0.15, 0.20, 0.19)
    cells += [
        measured(cell(name, "codegraph"), round(score + gain, 3), adoption=0.75)
        for name, score, gain in zip(NAMES, SHELL_SCORES, gains, strict=True)
    ]
    shifts = (0.05, -0.05, 0.04, -0.04, 0.01, 0.02)
    cells += [
        measured(cell(name, "cclsp"), round(score + shift, 3))
        for name, score, shift in zip(NAMES, SHELL_SCORES, shifts, strict=False)
    ]
    cells.append(broken(cell(NAMES[6], "cclsp")))
    return loaded(cells, **changes)


def catalog(run: LoadedRun) -> tuple[dict[str, Scenario], dict[str, ServerSpec]]:
    scenarios = {one.scenario: scenario(one.scenario) for one in run.plan.cells}
    return scenarios, {
        one.server: server(one.server) for one in run.plan.cells if one.server != "shell"
    }


def figures(run: LoadedRun) -> dict[str, float | None]:
    """Server -> fairness of its cell; None if it is in no figure."""
    found: dict[str, float | None] = {}
    for item in run.cells:
        found[item.cell.server] = None
        if item.scorecard is not None and isinstance(item.scorecard.fairness.score, Scored):
            found[item.cell.server] = item.scorecard.fairness.score.value
    return found
