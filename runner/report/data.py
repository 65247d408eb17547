"""A loaded run as a Report. All figures are made here, from what is on disk; no Docker, no model, no judge.

Fairness and adoption never meet in one figure. Broken and unfinished cells stay in every denominator. Cells whose fingerprints differ
in anything but the server are compared with nobody.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TypeVar

from runner import stats
from runner.models import is_language_model
from runner.records import (
    Adoption,
    Cell,
    Fairness,
    Fingerprint,
    Gate,
    GroundingSummary,
    Scenario,
    Score,
    Scored,
    ServerSpec,
    ToolsSeen,
    digest_of,
)
from runner.report.caveats import not_concluded
from runner.report.records import (
    AdoptionFigures,
    Arm,
    CellReport,
    Commentary,
    Costs,
    Delta,
    FairnessFigures,
    Fault,
    Figure,
    GroundingParts,
    Incomparable,
    Judgement,
    NoiseLayer,
    Repeat,
    Report,
    ScenarioArm,
    ScenarioReport,
    Tally,
)
from runner.scoring import ADOPTION, FAIRNESS
from runner.store import LoadedCell, LoadedRun

T = TypeVar("T")
SHELL = "shell"
FAILED_SHOWN = 10
"""Failed citations listed per cell; the rest are counted."""
CHARS_PER_TOKEN = 4
MADE_WITHOUT_A_LANGUAGE_MODEL = {
    "offline": "Made with the offline model: it checks plumbing and servers, and ranks nobody.",
    "replay": (
        "Made from a replayed recording: it shows where tools answer differently now, "
        "and ranks nobody."
    ),
}
"""A kind of model -> the notice that a reader needs first. Any other kind gets the plain notice."""
UNGATED = (
    "UNGATED: no gate stood in front of this run, so nothing vouches for its rubrics or its judge."
)


def build_report(
    run: LoadedRun,
    scenarios: Mapping[str, Scenario],
    servers: Mapping[str, ServerSpec],
    *,
    gate: Gate | None = None,
) -> Report:
    """What `runs/<run>` shows. A scenario or server that has left the catalog is reported by its name alone.

    `gate`: what stood in front of it; a run that began without one stays ungated, whatever stands there now.
    """
    view = _View.of(run)
    models = tuple(dict.fromkeys(cell.model for cell in run.plan.cells))
    arms = tuple(_arm(view, model, server, servers) for model, server in view.arms)
    sections = tuple(_section(view, name, scenarios.get(name)) for name in view.scenarios)
    report = Report(
        notices=tuple(_notices(models, ungated=run.plan.ungated)),
        ungated=run.plan.ungated,
        gate=None if run.plan.ungated else gate,
        language_model=all(is_language_model(model) for model in models),
        question=_question([server for _, server in view.arms]),
        run=run.plan.run,
        created_at=run.plan.created_at,
        models=models,
        judges=_unique(
            fair.verdict.judge for seen in view.cells if (fair := _fairness(seen)) and fair.verdict
        ),
        scenarios=view.scenarios,
        servers=_unique(server for _, server in view.arms),
        trials=max((cell.trial for cell in run.plan.cells), default=0),
        arms=arms,
        faults=tuple(_fault(view, seen) for seen in view.cells if _is_fault(seen)),
        incomparable=tuple(
            _incomparable(view, seen) for seen in view.cells if view.differs.get(seen.cell.id)
        ),
        noise=_noise(view),
        sections=sections,
        not_concluded=(),
        repeat=_repeat(run, view, scenarios, servers),
    )
    return report.model_copy(update={"not_concluded": not_concluded(report)})


# --- which cells count ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _View:
    """The plan's cells as they stand. A cell that the plan names and the disk has not is unfinished, never dropped."""

    cells: tuple[LoadedCell, ...]
    arms: tuple[tuple[str, str], ...]
    """(model, server): models in the plan's order, shell first in each."""
    scenarios: tuple[str, ...]
    differs: Mapping[str, tuple[str, ...]]
    """Cell id -> what keeps it out of every comparison."""

    @classmethod
    def of(cls, run: LoadedRun) -> _View:
        found = {seen.cell.id: seen for seen in run.cells}
        cells = tuple(
            found.get(cell.id) or LoadedCell(cell=cell, result=None, attempts=0, scorecard=None)
            for cell in run.plan.cells
        )
        arms = _unique((cell.model, cell.server) for cell in run.plan.cells)
        models = _unique(model for model, _ in arms)
        return cls(
            cells=cells,
            arms=tuple(sorted(arms, key=lambda arm: (models.index(arm[0]), arm[1] != SHELL))),
            scenarios=_unique(cell.scenario for cell in run.plan.cells),
            differs=_what_differs(cells),
        )

    @cached_property
    def _by_place(self) -> Mapping[tuple[str, str, str | None], list[LoadedCell]]:
        """(model, server, scenario) -> cells; scenario None for all. Else a report of n cells would look at n² of them."""
        places: dict[tuple[str, str, str | None], list[LoadedCell]] = {}
        for seen in self.cells:
            for scenario in (None, seen.cell.scenario):
                places.setdefault((seen.cell.model, seen.cell.server, scenario), []).append(seen)
        return places

    def of_arm(
        self, model: str, server: str, scenario: str | None = None
    ) -> tuple[LoadedCell, ...]:
        return tuple(self._by_place.get((model, server, scenario), ()))

    @cached_property
    def fairness_noise(self) -> Mapping[str, stats.Repeatability | None]:
        """Model -> how far the fairness of its duplicates lies apart."""
        return {
            model: stats.repeatability(
                list(_values(self, group, _WHOLE_FAIRNESS).values())
                for group in _duplicates(self, model)
            )
            for model, _ in self.arms
        }

    def usable(self, cells: Iterable[LoadedCell]) -> tuple[LoadedCell, ...]:
        return tuple(seen for seen in cells if seen.measured and not self.differs.get(seen.cell.id))

    def label(self, cell: Cell) -> str:
        return arm_label(
            cell.model, cell.server, several=len({model for model, _ in self.arms}) > 1
        )


def arm_label(model: str, server: str, *, several: bool) -> str:
    return f"{server} ({model})" if several else server


def _what_differs(cells: Sequence[LoadedCell]) -> dict[str, tuple[str, ...]]:
    """Per scenario and model, every measured cell against the shell's first (with no shell, the first of any arm)."""
    differs: dict[str, tuple[str, ...]] = {}

    def comparison(seen: LoadedCell) -> tuple[str, str]:
        return (seen.cell.scenario, seen.cell.model)

    measured = sorted(
        (seen for seen in cells if seen.measured),
        key=lambda seen: (comparison(seen), seen.cell.server != SHELL),
    )
    for _, group in groupby(measured, key=comparison):
        members = list(group)
        reference = next((print_ for seen in members if (print_ := _fingerprint(seen))), None)
        for seen in members:
            found = _against(reference, seen)
            if found:
                differs[seen.cell.id] = found
    return differs


def _against(reference: Fingerprint | None, seen: LoadedCell) -> tuple[str, ...]:
    own = _fingerprint(seen)
    if own is not None and reference is not None:
        return tuple(stats.differences(reference, own))
    if seen.result is not None and seen.result.outcome.kind == "server_crashed":
        return ()  # else a server that dies before its fingerprint is known would shed its worst cells
    return ("no fingerprint was recorded, so nothing shows that it ran as the others did",)


# --- figures --------------------------------------------------------------------------------


ScoreOf = Callable[[LoadedCell], Score | None]
"""Picks one score of a cell. None: the cell's scorecard has none, or there is no scorecard yet."""


def _fairness_score(pick: Callable[[Fairness], Score | None]) -> ScoreOf:
    def score_of(cell: LoadedCell) -> Score | None:
        fairness = _fairness(cell)
        return pick(fairness) if fairness else None

    return score_of


def _adoption_score(pick: Callable[[Adoption], Score | None]) -> ScoreOf:
    def score_of(cell: LoadedCell) -> Score | None:
        return pick(cell.scorecard.adoption) if cell.scorecard else None

    return score_of


_WHOLE_FAIRNESS = _fairness_score(lambda fairness: fairness.score)
_MUST_CITE_RECALL = _fairness_score(lambda fairness: fairness.must_cite_recall)
_WHOLE_ADOPTION = _adoption_score(lambda adoption: adoption.score)


def _fairness_part(name: str) -> ScoreOf:
    return _fairness_score(lambda fairness: fairness.parts.get(name))


def _adoption_part(name: str) -> ScoreOf:
    return _adoption_score(lambda adoption: adoption.parts.get(name))


def _values(
    view: _View, cells: Iterable[LoadedCell], part: Callable[[LoadedCell], Score | None]
) -> dict[tuple[str, int], float]:
    scores = ((seen, part(seen)) for seen in view.usable(cells))
    return {
        (seen.cell.scenario, seen.cell.trial): score.value
        for seen, score in scores
        if isinstance(score, Scored)
    }


def _figure(view: _View, cells: Sequence[LoadedCell], part: ScoreOf) -> Figure:
    values = _values(view, cells, part)
    means = list(stats.scenario_means(values).values())
    interval = stats.bootstrap_interval(means) if len(means) >= stats.MIN_SCENARIOS else None
    missing = Counter(why for seen in cells if (why := _why_missing(view, seen, part)))
    return Figure(
        value=_score(stats.mean(means)) if means else None,
        low=_score(interval.low) if interval else None,
        high=_score(interval.high) if interval else None,
        cells=len(values),
        planned=len(cells),
        reasons=tuple(f"{why} ({count} of {len(cells)} cells)" for why, count in missing.items()),
    )


def _why_missing(view: _View, seen: LoadedCell, part: Callable[[LoadedCell], Score | None]) -> str:
    if seen.result is None:
        return "not finished"
    if not seen.measured:
        return f"broken: {seen.result.outcome.kind}"
    if view.differs.get(seen.cell.id):
        return "not comparable: its fingerprint differs"
    score = part(seen)
    if score is None:
        return "not scored yet; run `fairtrial score`"
    return "" if isinstance(score, Scored) else score.reason


def _fairness_figures(view: _View, cells: Sequence[LoadedCell]) -> FairnessFigures:
    return FairnessFigures(
        score=_figure(view, cells, _WHOLE_FAIRNESS),
        parts={name: _figure(view, cells, _fairness_part(name)) for name in FAIRNESS},
        must_cite_recall=_figure(view, cells, _MUST_CITE_RECALL),
    )


def _delta(view: _View, model: str, server: str, scenario: str | None = None) -> Delta:
    if server == SHELL:
        return Delta(judgement="baseline", says="baseline")
    if (model, SHELL) not in view.arms:
        return Delta(judgement="not_compared", says="not compared: the run has no shell arm")
    baseline = _values(view, view.of_arm(model, SHELL, scenario), _WHOLE_FAIRNESS)
    values = _values(view, view.of_arm(model, server, scenario), _WHOLE_FAIRNESS)
    shared = stats.paired_differences(baseline, values)
    if not shared:
        return Delta(judgement="not_compared", says="not compared: no trial that both arms have")
    pairs, noise = len(baseline.keys() & values.keys()), view.fairness_noise[model]
    return _judge(list(shared.values()), pairs=pairs, noise=noise, ranks=is_language_model(model))


def _judge(
    by_scenario: Sequence[float], *, pairs: int, noise: stats.Repeatability | None, ranks: bool
) -> Delta:
    value, n = stats.mean(by_scenario), len(by_scenario)
    floor = noise.limit(pairs) if noise else None
    interval = stats.bootstrap_interval(by_scenario) if n >= stats.MIN_SCENARIOS else None
    judgement, says = _judgement(value, n, interval, floor, ranks=ranks)
    return Delta(
        judgement=judgement,
        says=says,
        value=_score(value),
        low=_score(interval.low) if interval else None,
        high=_score(interval.high) if interval else None,
        scenarios=n,
        pairs=pairs,
        noise_floor=None if floor is None else _score(floor),
    )


def _judgement(
    value: float, n: int, interval: stats.Interval | None, floor: float | None, *, ranks: bool
) -> tuple[Judgement, str]:
    if not ranks:
        return "not_ranked", "not ranked"
    if interval is None:
        return "too_few", f"too few to tell (n={n})"
    if interval.contains(0):
        return "no_difference", "no difference detected"
    if floor is not None and abs(value) <= floor:
        return "no_difference", "no difference detected (inside the noise floor)"
    return ("higher", "higher than shell") if value > 0 else ("lower", "lower than shell")


# --- arms -----------------------------------------------------------------------------------


def _arm(view: _View, model: str, server: str, servers: Mapping[str, ServerSpec]) -> Arm:
    cells, spec = view.of_arm(model, server), servers.get(server)
    return Arm(
        label=view.label(cells[0].cell),
        model=model,
        server=server,
        title=spec.title
        if spec
        else ("the baseline: a shell and no server" if server == SHELL else server),
        version=_version(cells, spec),
        tally=_tally(cells),
        fairness=_fairness_figures(view, cells),
        delta=_delta(view, model, server),
        adoption=None if server == SHELL else _adoption(view, cells),
        grounding=_grounding(
            [fair.grounding for seen in view.usable(cells) if (fair := _fairness(seen))]
        ),
        costs=_costs(view, model, server),
    )


def _version(cells: Sequence[LoadedCell], spec: ServerSpec | None) -> str:
    ran = _unique(print_.server_version for seen in cells if (print_ := _fingerprint(seen)))
    return ", ".join(ran) if ran else (spec.version if spec else "")


def _tally(cells: Sequence[LoadedCell]) -> Tally:
    ended = [seen.result.outcome for seen in cells if seen.result]
    measured = sum(outcome.is_measurement for outcome in ended)
    return Tally(
        planned=len(cells),
        measured=measured,
        broken=len(ended) - measured,
        unfinished=len(cells) - len(ended),
        attempts=sum(seen.attempts for seen in cells),
        outcomes=dict(Counter(outcome.kind for outcome in ended)),
    )


def _adoption(view: _View, cells: Sequence[LoadedCell]) -> AdoptionFigures:
    cards = [seen.scorecard.adoption for seen in view.usable(cells) if seen.scorecard]
    return AdoptionFigures(
        score=_figure(view, cells, _WHOLE_ADOPTION),
        parts={name: _figure(view, cells, _adoption_part(name)) for name in ADOPTION},
        server_calls=sum(card.server_calls for card in cards),
        server_errors=sum(card.server_errors for card in cards),
        shell_calls=sum(card.shell_calls for card in cards),
        shell_searches=sum(card.shell_searches for card in cards),
    )


_COUNTS = (
    "total",
    "grounded",
    "unresolved",
    "hallucinated",
    "exact",
    "suffix",
    "ambiguous",
    "missing",
    "other_commit",
    "with_symbol",
    "definition_only",
)


def _grounding(parts: Sequence[GroundingSummary]) -> GroundingParts:
    counts = {name: sum(int(getattr(part, name)) for part in parts) for name in _COUNTS}
    return GroundingParts(
        **counts,
        strict_rate=_pooled([(part.strict_rate, part.total) for part in parts]),
        headline_rate=_pooled([(part.headline_rate, part.total) for part in parts]),
        definition_rate=_pooled([(part.definition_rate, part.with_symbol) for part in parts]),
        chance_rate=_pooled([(part.chance_rate, part.total) for part in parts]),
    )


def _pooled(rates: Sequence[tuple[float | None, int]]) -> float | None:
    counted = [(rate, weight) for rate, weight in rates if rate is not None and weight]
    weights = sum(weight for _, weight in counted)
    return _score(sum(rate * weight for rate, weight in counted) / weights) if weights else None


def _costs(view: _View, model: str, server: str) -> Costs:
    cells = [seen for seen in view.of_arm(model, server) if seen.measured]
    results = [seen.result for seen in cells if seen.result]
    times = [result.timings for result in results]
    efforts = [fair.effort for seen in cells if (fair := _fairness(seen))]
    tools = [print_.tools for seen in cells if (print_ := _fingerprint(seen)) and print_.tools]
    return Costs(
        input_tokens=_average_count(effort.input_tokens for effort in efforts),
        output_tokens=_average_count(effort.output_tokens for effort in efforts),
        tokens_estimated=any(effort.tokens_estimated for effort in efforts),
        tokens_vs_shell=_ratio(view, model, server, _tokens),
        agent_sec=_average(time.agent_sec for time in times),
        seconds_vs_shell=_ratio(view, model, server, _agent_sec),
        backoff_sec=_average(time.backoff_sec for time in times),
        create_sec=_average(time.create_sec for time in times),
        initialize_sec=_average(time.initialize_sec for time in times) if tools else None,
        warm_up_sec=_average(time.warm_up_sec for time in times) if tools else None,
        canary_sec=_average(time.canary_sec for time in times) if tools else None,
        peak_memory_mb=_largest(result.peak_memory_mb for result in results),
        state_mb=_largest(result.state_mb for result in results) if tools else None,
        **_schema(tools),
    )


def _schema(tools: Sequence[ToolsSeen]) -> dict[str, int | None]:
    chars = max((seen.schema_chars for seen in tools), default=None)
    return {
        "schema_chars": chars,
        "schema_tokens": None if chars is None else round(chars / CHARS_PER_TOKEN),
        "instructions_chars": max((seen.instructions_chars for seen in tools), default=None),
    }


def _tokens(seen: LoadedCell) -> float | None:
    fair = _fairness(seen)
    return fair.effort.input_tokens + fair.effort.output_tokens if fair else None


def _agent_sec(seen: LoadedCell) -> float | None:
    return seen.result.timings.agent_sec if seen.result else None


def _ratio(
    view: _View, model: str, server: str, cost: Callable[[LoadedCell], float | None]
) -> float | None:
    """Sum over the trials that both arms have, the arm's over the shell's."""
    if server == SHELL:
        return None
    base, own = (_spent(view.usable(view.of_arm(model, name)), cost) for name in (SHELL, server))
    shared = base.keys() & own.keys()
    below = sum(base[key] for key in shared)
    return round(sum(own[key] for key in shared) / below, 2) if below else None


def _spent(
    cells: Iterable[LoadedCell], cost: Callable[[LoadedCell], float | None]
) -> dict[tuple[str, int], float]:
    return {
        (seen.cell.scenario, seen.cell.trial): spent
        for seen in cells
        if (spent := cost(seen)) is not None
    }


# --- cells that ended badly, or stand apart -------------------------------------------------


def _is_fault(seen: LoadedCell) -> bool:
    return seen.result is not None and (
        not seen.measured or seen.result.outcome.kind == "server_crashed"
    )


def _fault(view: _View, seen: LoadedCell) -> Fault:
    assert seen.result is not None  # noqa: S101 - _is_fault asked for one
    return Fault(
        cell_id=seen.cell.id,
        scenario=seen.cell.scenario,
        arm=view.label(seen.cell),
        trial=seen.cell.trial,
        outcome=seen.result.outcome.kind,
        is_measurement=seen.measured,
        reason=seen.result.outcome.reason,
        attempts=seen.attempts,
    )


def _incomparable(view: _View, seen: LoadedCell) -> Incomparable:
    return Incomparable(
        cell_id=seen.cell.id,
        scenario=seen.cell.scenario,
        arm=view.label(seen.cell),
        trial=seen.cell.trial,
        differs=view.differs[seen.cell.id],
    )


# --- noise ----------------------------------------------------------------------------------


def _duplicates(view: _View, model: str | None = None) -> list[tuple[LoadedCell, ...]]:
    """The trials of each scenario in each arm."""
    arms = [arm for arm in view.arms if model in (None, arm[0])]
    return [view.usable(view.of_arm(*arm, scenario)) for arm in arms for scenario in view.scenarios]


def _noise(view: _View) -> tuple[NoiseLayer, ...]:
    verdicts = (
        [fair.verdict for seen in group if (fair := _fairness(seen)) and fair.verdict]
        for group in _duplicates(view)
    )
    judged = stats.noise_floor(verdicts)
    layers = {
        "criterion": judged.criterion if judged else None,
        "step": judged.step if judged else None,
        "scenario": judged.scenario if judged else None,
        "fairness": stats.repeatability(
            list(_values(view, group, _WHOLE_FAIRNESS).values()) for group in _duplicates(view)
        ),
    }
    return tuple(
        NoiseLayer.model_validate(
            {
                "layer": name,
                "sd": _score(seen.sd),
                "limit": _score(seen.limit()),
                "groups": seen.groups,
                "figures": seen.figures,
            }
        )
        for name, seen in layers.items()
        if seen
    )


# --- scenarios ------------------------------------------------------------------------------


def _section(view: _View, name: str, scenario: Scenario | None) -> ScenarioReport:
    return ScenarioReport(
        id=name,
        title=scenario.title if scenario else name,
        description=scenario.description if scenario else "no longer in the catalog",
        slant=scenario.slant if scenario else "unknown: no longer in the catalog",
        repository=scenario.repository.label if scenario else "unknown",
        language=scenario.language if scenario else "unknown",
        steps=len(scenario.steps) if scenario else 0,
        arms=tuple(
            ScenarioArm(
                label=view.label(cells[0].cell),
                fairness=_fairness_figures(view, cells),
                delta=_delta(view, model, server, name),
                cells=tuple(_cell(view, seen) for seen in cells),
            )
            for model, server in view.arms
            if (cells := view.of_arm(model, server, name))
        ),
    )


def _cell(view: _View, seen: LoadedCell) -> CellReport:
    fair = _fairness(seen)
    verdict = fair.verdict if fair else None
    failed = (
        [
            cited
            for cited in fair.citations
            if cited.status != "grounded" and cited.start is not None
        ]
        if fair
        else []
    )
    value = fair.score if fair else None
    return CellReport(
        cell_id=seen.cell.id,
        trial=seen.cell.trial,
        outcome=seen.result.outcome.kind if seen.result else None,
        reason=seen.result.outcome.reason if seen.result else "not finished",
        fairness=_score(value.value) if isinstance(value, Scored) else None,
        unscored=_why_missing(view, seen, _WHOLE_FAIRNESS),
        judge=verdict.judge if verdict else "",
        commentary=tuple(
            Commentary(
                step=step.name,
                criterion=name,
                score=_score(criterion.score),
                reason=criterion.reason,
            )
            for step in (verdict.steps if verdict else ())
            for name, criterion in step.criteria.items()
        ),
        failed=tuple(failed[:FAILED_SHOWN]),
        failed_total=len(failed),
        cited_total=fair.grounding.total if fair else 0,
    )


# --- head and foot --------------------------------------------------------------------------


def _notices(models: Sequence[str], *, ungated: bool) -> Iterator[str]:
    kinds = [model.partition(":")[0] for model in models if not is_language_model(model)]
    for kind, notice in MADE_WITHOUT_A_LANGUAGE_MODEL.items():
        if kind in kinds:
            yield notice
    for kind in _unique(kinds):
        if kind not in MADE_WITHOUT_A_LANGUAGE_MODEL:
            yield f"Made with {kind}, which is no language model: it ranks nobody."
    if ungated:
        yield UNGATED


def _question(servers: Iterable[str]) -> str:
    names = [name for name in _unique(servers) if name != SHELL]
    if not names:
        return "How well does the agent answer with a shell alone?"
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
    return f"Does attaching {listed} make the agent's answers better than a shell alone does, or does it only burn tokens?"


_SHARED = (
    "harness",
    "base_image",
    "limits",
    "container",
    "engine",
    "kernel",
    "model",
    "model_identity",
)
_PER_SCENARIO = ("commit", "tree", "workspace_image", "prompts")


def _repeat(
    run: LoadedRun,
    view: _View,
    scenarios: Mapping[str, Scenario],
    servers: Mapping[str, ServerSpec],
) -> Repeat:
    prints = [(seen.cell, print_) for seen in view.cells if (print_ := _fingerprint(seen))]
    return Repeat(
        command=_command(run, view),
        plan_digest=digest_of(run.plan),
        versions={
            name: _unique(str(getattr(print_, name)) for _, print_ in prints) for name in _SHARED
        },
        servers={
            name: _server_facts(
                servers.get(name), [print_ for cell, print_ in prints if cell.server == name]
            )
            for name in _unique(server for _, server in view.arms)
        },
        scenarios={
            name: {
                "repository": scenarios[name].repository.label if name in scenarios else "unknown"
            }
            | _joined(_PER_SCENARIO, [print_ for cell, print_ in prints if cell.scenario == name])
            for name in view.scenarios
        },
    )


def _server_facts(spec: ServerSpec | None, prints: Sequence[Fingerprint]) -> dict[str, str]:
    facts = {"licence": spec.licence} if spec else {}
    facts |= _joined(("server_version", "server_spec"), prints)
    tools = [print_.tools for print_ in prints if print_.tools]
    for name in ("digest", "server_info", "protocol"):
        values = _unique(str(getattr(seen, name)) for seen in tools)
        facts |= (
            {f"tools_{name}" if name == "digest" else name: ", ".join(values)} if values else {}
        )
    return facts


def _joined(names: Iterable[str], prints: Sequence[Fingerprint]) -> dict[str, str]:
    return (
        {
            name: ", ".join(_unique(str(getattr(print_, name)) for print_ in prints))
            for name in names
        }
        if prints
        else {}
    )


def _command(run: LoadedRun, view: _View) -> str:
    options = [("--run", run.plan.run)]
    options += [("--scenario", name) for name in view.scenarios]
    options += [("--server", name) for name in _unique(server for _, server in view.arms)]
    options += [("--model", name) for name in _unique(model for model, _ in view.arms)]
    options.append(("--trials", str(max((cell.trial for cell in run.plan.cells), default=1))))
    words = ["fairtrial run", *(f"{flag} {shlex.quote(value)}" for flag, value in options)]
    return " ".join([*words, "--ungated"] if run.plan.ungated else words)


# --- small ----------------------------------------------------------------------------------


def _fairness(seen: LoadedCell) -> Fairness | None:
    """None for a cell that is no measurement, whatever card lies beside it: a fault of ours is never scored."""
    return seen.scorecard.fairness if seen.scorecard and seen.measured else None


def _fingerprint(seen: LoadedCell) -> Fingerprint | None:
    return seen.result.fingerprint if seen.result else None


def _score(value: float) -> float:
    return round(value, 3) + 0.0  # + 0.0: or a tiny negative prints as -0.000


def _average(values: Iterable[float]) -> float | None:
    figures = list(values)
    return round(stats.mean(figures), 2) if figures else None


def _average_count(values: Iterable[int]) -> int | None:
    figures = list(values)
    return round(stats.mean(figures)) if figures else None


def _largest(values: Iterable[float | None]) -> float | None:
    return max((round(value, 1) for value in values if value is not None), default=None)


def _unique(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))
