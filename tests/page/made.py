"""Runs as they lie on disk, with transcripts of many calls, scored for real on a repository."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.catalog.commit_lines import CommitLines
from runner.catalog.exact_questions import rubric_of, scenario_of
from runner.grounding.commit_files import GitFiles
from runner.protocols import Judge
from runner.records import (
    Budget,
    Cell,
    Check,
    Event,
    ExactKey,
    ExactQuestion,
    ExactQuestions,
    Gate,
    GitSource,
    MustCite,
    Plan,
    Price,
    PriceList,
    Prompt,
    Prose,
    RecordedResult,
    Rubric,
    Scenario,
    ServerSpec,
    Step,
    StepEnd,
    Study,
    TokenBreakdown,
    ToolCall,
    Usage,
)
from runner.records.run_store import LoadedCell, LoadedRun, RunStore
from runner.report.build_report import build_report
from runner.report.page_data import PageData, page_data
from runner.report.records import Report
from runner.report.report_files import write_report
from runner.runs.plan import draw_blocks
from runner.scoring import score_cell
from runner.scoring.judges.checklist.checklist import Checklist
from runner.scoring.judges.exact_judge import Exact
from tests.proposing.trees import commit
from tests.report import loaded
from tests.report.loaded import GATE

SOURCE = "\n".join(
    [
        '"""A small dispatcher."""',
        "",
        "",
        "class App:",
        '    """Takes requests and hands them on."""',
        "",
        "    def __init__(self, rules):",
        "        self.rules = rules",
        "        self.closed = False",
        "",
        "    def dispatch_all(self, request):",
        "        handler = self.match_rule(request.path)",
        "        return self.finish_up(handler(request))",
        "",
        "    def match_rule(self, path):",
        "        for rule in self.rules:",
        "            if rule.fits(path):",
        "                return rule.handler",
        "        raise LookupError(path)",
        "",
        "    def finish_up(self, code):",
        "        self.closed = True",
        "        return code",
        "",
        *(f"FILLER_{number} = {number}" for number in range(60)),
        "",
    ]
)
SAYS = (
    ("dispatch_all asks match_rule for a handler", ["match_rule"], 15),
    ("finish_up closes the app and returns the code", ["finish_up"], 21),
    ("an unknown path raises LookupError", ["LookupError"], 19),
)
PASSAGES = (
    "1. `App.dispatch_all` (`app.py:11`) asks `match_rule` (`app.py:15`) for a handler.",
    "2. It hands the result to `finish_up`, defined at `app.py:21`, which closes the app.",
    "3. A path that no rule fits raises `LookupError` at `app.py:19`.",
)
WRONG = "4. Sessions are kept in `store.py:40`, and `App.reopen` (`app.py:300`) opens them again."
HEAD = "# How a request goes through\n\nThe way of **one request**, in order:\n\n"
HOSTILE = (
    "</script><script>window.harmed=1</script><img src=x onerror=window.harmed=1>"
    "<style>body{display:none}</style> \x1b[31mred\x1b]0;title\x07 \u202eright to left\u202c "
    "שלום مرحبا [x](javascript:window.harmed=1) ![i](http://192.0.2.1/i.png) "
    "<svg onload=window.harmed=1> {{ 7 * 7 }} \ue000\uf8ff `app.py:11`\n"
)


QUESTIONS = 12
PLACES = (4, 34, 64)
"""Lines of each file of a question that its key holds."""
CHECKS = (Check(kind="word", value="dispatch_all"), Check(kind="word", value="finish_up"))
STEPS = (
    Step(name="trace", prompt="Where does a request start?", checks=CHECKS),
    Step(name="callers", prompt="Who closes the app?", checks=CHECKS),
)


def repository(folder: Path) -> tuple[Path, str]:
    files = {"app.py": SOURCE, "hostile.py": f"x = 1  # {HOSTILE}" + "y" * 5_000_000 + "\n"}
    for place in range(QUESTIONS):
        files[f"m{place:02}.py"] = limit_users(place)
    return folder, commit(folder, files)


def limit_users(place: int) -> str:
    """Nine functions, of which the ones at PLACES return the limit."""
    lines = [f"LIMIT_{place} = {place}", ""]
    for number in range(9):
        returned = f"LIMIT_{place}" if number % 3 == 0 else "0"
        lines += [f"def use_{number}():", f"    return {returned}", *[""] * 8]
    return "\n".join(lines)


def question(place: int) -> ExactQuestion:
    uses = [MustCite(path=f"m{place:02}.py", line=line) for line in PLACES]
    return ExactQuestion(
        name=f"uses-of-limit-{place}",
        prompt=f"Which functions return `LIMIT_{place}`?",
        key=ExactKey(kind="uses", places=tuple(uses)),
        grep_f1=0.4,
    )


@dataclass(frozen=True, kw_only=True)
class Asked:
    scenario: Scenario
    rubric: Rubric
    judge: Judge


def plain(names: Sequence[str]) -> list[Asked]:
    return [
        Asked(scenario=loaded.scenario(it, steps=STEPS), rubric=rubric(), judge=Checklist())
        for it in names
    ]


def exact(commit: str) -> list[Asked]:
    """Questions whose whole answer is a set of places, as a file of them has them."""
    asked = ExactQuestions(
        title="Limits",
        repository=GitSource(kind="git", url="https://example.org/limits", commit=commit),
        licence="MIT",
        language="python",
        seed=1,
        budget=Budget(tokens=100_000, wall_sec=600, actions=60),
        questions=tuple(map(question, range(QUESTIONS))),
    )
    return [
        Asked(scenario=scenario_of("limits", asked, it), rubric=rubric_of(it), judge=Exact())
        for it in asked.questions
    ]


def rubric() -> Rubric:
    facts = [
        {"says": says, "terms": [terms], "cites": [{"path": "app.py", "line": line}]}
        for says, terms, line in SAYS
    ]
    criterion = {"weight": 1.0, "question": "Is the way there?", "facts": facts}
    criteria = {"map_quality": criterion}
    steps = [{"name": name, "criteria": criteria} for name in ("trace", "callers")]
    return Rubric.model_validate_json(json.dumps({"audience": "An agent.", "steps": steps}))


@dataclass(frozen=True, kw_only=True)
class MadeRun:
    """A run in its folder, and all that its forms are made of."""

    run: LoadedRun
    report: Report
    data: PageData
    folder: Path

    def write(self) -> Path:
        write_report(self.report, self.folder, self.data)
        return self.folder / "report.html"


class Maker:
    """Makes runs in a folder, of one repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository, self.commit = repository(folder / "upstream")
        self.files = GitFiles(self.repository, self.commit)
        self.lines = CommitLines(lambda: self.files)

    def run(
        self,
        name: str,
        servers: Sequence[str],
        asked: Sequence[Asked],
        trials: int = 1,
        *,
        hostile: bool = False,
        gate: Gate | None = GATE,
        broken: int = 0,
        model: str = "claude-sonnet-4",
    ) -> MadeRun:
        """`broken`: of the last server's cells so many."""
        of = {it.scenario.id: it for it in asked}
        known = {name: it.scenario for name, it in of.items()}
        cells = [
            loaded.cell(scenario, server, trial, model)
            for scenario in of
            for trial in range(1, trials + 1)
            for server in ("shell", *servers)
        ]
        prices = {model: Price(input=3, cache_write=3.75, cache_read=0.3, output=15)}
        plan = Plan(
            run=name,
            created_at="2026-01-02T03:04:05Z",
            ungated=gate is None,
            cells=tuple(cells),
            prices=PriceList(date="2026-01-01", models=prices),
            study=Study(seed=7, pass_at=0.5, margin=0.05, blocks=draw_blocks(tuple(cells), 7)),
        )
        store = RunStore(self.folder / name)
        store.write_plan(plan)
        bad = {cell.id for cell in [it for it in cells if it.server == servers[-1]][:broken]}
        found = tuple(
            self._ran(store, cell, of[cell.scenario], cell.id in bad, hostile) for cell in cells
        )
        run = LoadedRun(plan=plan, cells=found)
        specs: dict[str, ServerSpec] = {it: loaded.server(it) for it in servers}
        report = build_report(run, known, specs, gate=gate)
        data = page_data(run, known, lambda _: self.lines)
        return MadeRun(run=run, report=report, data=data, folder=store.folder)

    def _ran(
        self, store: RunStore, cell: Cell, asked: Asked, bad: bool, hostile: bool
    ) -> LoadedCell:
        scenario = asked.scenario
        begun = store.begin(cell)
        with store.transcript(begun) as writer:
            for event in events(cell, scenario, hostile):
                writer.write(event)
        kind, reason = ("sandbox_failed", "the container is gone") if bad else ("answered", "done")
        changes: dict[str, Any] = {"transcript": writer.digest, "events": writer.events}
        result = loaded.result(cell, kind, HOSTILE if hostile else reason, **changes)  # type: ignore[arg-type] # one of its kinds
        path = store.finish(begun, result)
        card = None
        if not bad:
            card = score_cell(
                events(cell, scenario, hostile),
                scenario,
                asked.rubric,
                cell_id=cell.id,
                server=cell.server,
                files=self.files,
                judge=asked.judge,
            )
            store.write_scorecard(card)
        loaded_cell = store.load_cell(cell)
        assert path.is_dir() and isinstance(loaded_cell.result, RecordedResult)
        return replace(loaded_cell, scorecard=card)

    def close(self) -> None:
        self.files.close()


def draw(cell: Cell, what: str, most: int) -> int:
    """The same for the same cell, in every run of the tests."""
    told = f"{cell.scenario} {cell.server} {cell.trial} {what}".encode()
    return hashlib.sha256(told).digest()[0] % most


def answer(cell: Cell, step: int, hostile: bool) -> str:
    """A server's has more of it than the shell's, most times."""
    if cell.scenario.startswith("limits."):
        return places(cell)
    good = 1 + draw(cell, f"good {step}", 2) + (cell.server == "codegraph")
    text = HEAD + "\n".join(PASSAGES[:good]) + "\n"
    if draw(cell, f"wrong {step}", 3) == 0 and cell.server != "codegraph":
        text += WRONG + "\n"
    if step == 1:
        text += "\n```python\nApp([]).dispatch_all(request)  # app.py:11\n```\n"
        text += "\n| who | where |\n|-|-|\n| `App` | `app.py:4` |\n"
    if hostile:
        text += f"\n{HOSTILE}\nSee `hostile.py:1` and {HOSTILE * 3}\n" + "long" * 20_000
    return text


def places(cell: Cell) -> str:
    """Two of the three places, or all; a server that helps finds all, and fewer beside them."""
    helps, file = cell.server == "codegraph", f"m{int(cell.scenario.rpartition('-')[2]):02}.py"
    found = list(PLACES[: 3 if helps else 1 + draw(cell, "found", 2)])
    if draw(cell, "beside", 4 if helps else 2) == 0:
        found.append(14)
    lines = [f"- `{file}:{line}` returns it" for line in found]
    return "\n".join([*lines, "", f"FOUND: {len(found)}"])


def events(cell: Cell, scenario: Scenario, hostile: bool) -> Iterator[Event]:
    number = 0
    for step, asked in enumerate(scenario.steps):
        yield Prompt(step=step, text=asked.prompt)
        for turn in range(2 + draw(cell, f"turns {step}", 4)):
            number += 1
            yield from _call(cell, step, turn, number, hostile)
        yield Prose(step=step, turn=9, text=answer(cell, step, hostile))
        yield StepEnd(step=step, stop="end")


def _call(cell: Cell, step: int, turn: int, number: int, hostile: bool) -> Iterator[Event]:
    is_server = cell.server != "shell" and turn > 0
    arguments: dict[str, Any] = {"command": f"grep -rn dispatch_all . | head -{20 + turn}"}
    if is_server:
        arguments = {"symbol": "dispatch_all", "limit": 5 + turn}
    endless = "z" * 5_000_000 if number == 1 else ""
    text = (
        HOSTILE + endless
        if hostile
        else "app.py:11:    def dispatch_all(self, request):\n" * (3 + turn)
    )
    size = 1_000 + 700 * draw(cell, f"size {number}", 5) + (900 if is_server else 0)
    parts = {"prompts": 400, "schemas": 300 * is_server, "results": size, "replies": 200}
    yield Usage(
        step=step,
        turn=turn,
        input_tokens=sum(parts.values()),
        output_tokens=180,
        wall_sec=2.0 + draw(cell, f"wall {number}", 4),
        backoff_sec=1.5 if draw(cell, f"back {number}", 7) == 0 else 0.0,
        phases=TokenBreakdown.model_validate(
            {**parts, "thinking": 60, "prose": 70, "arguments": 50}
        ),
    )
    called = ToolCall(
        step=step,
        turn=turn,
        call_id=f"c{number}",
        origin="server" if is_server else "shell",
        tool=HOSTILE if hostile else "find_symbol" if is_server else "shell",
        arguments={"command": HOSTILE} if hostile else arguments,
    )
    yield called
    is_error = draw(cell, f"error {number}", 6) == 0
    wall_sec = 0.4 + draw(cell, f"tool {number}", 3)
    yield loaded.answered(called, text, is_error=is_error, wall_sec=wall_sec)


REPOSITORIES = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel")
