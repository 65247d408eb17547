"""What the page shows beside a report's figures: each cell's evidence, and spreads for its plots.

It is made from the same files as the report, and is in none of the report's figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import overload

from runner.protocols import LineSource, OpenLineSource
from runner.records import (
    AnswerStep,
    Cell,
    CellResult,
    Citation,
    Effort,
    Event,
    Price,
    Scenario,
    Scorecard,
    ToolCall,
    ToolResult,
    Usage,
)
from runner.records.run_store import LoadedCell, LoadedRun
from runner.records.transcript_files import iter_transcript, split
from runner.report.clusters import topics_of
from runner.report.figures import bounds, compared_score, interval_of, rounded, values
from runner.report.view import ArmView, RunView, fairness_of, trial_of, unique, view_of
from runner.scoring import statistics
from runner.support.errors import FairtrialError

AROUND = 10
"""Lines that are shown before and after those that are cited."""
MOST_LINES = 60
"""Of one citation: somebody may cite a whole file."""
PHASES = ("prompts", "schemas", "results", "replies", "thinking", "prose", "arguments")


@dataclass(frozen=True, kw_only=True)
class SpentSpread:
    """A mean over clusters, as fairness has it, and the interval of it."""

    value: float
    low: float | None
    high: float | None
    """None if there are too few clusters for one."""
    seen: tuple[float, ...]
    """Of each cell."""


@dataclass(frozen=True, kw_only=True)
class ArmSpread:
    label: str
    spent: Mapping[str, SpentSpread]
    """`tokens` (new ones), `seconds` (the agent's own) and `usd`, per cell; those known."""
    whole: SpentSpread | None
    """All tokens that the phases are parts of, however often they were sent."""
    phases: Mapping[str, float]
    """Tokens by what they were of: means over the same clusters. Empty if some cell counts none."""


@dataclass(frozen=True, kw_only=True)
class StepScore:
    """Of one arm in one step: its quality, over trials."""

    mean: float
    lowest: float
    highest: float
    cell_id: str
    """The first of its cells."""


@dataclass(frozen=True, kw_only=True)
class StepRow:
    scenario: str
    step: str
    model: str
    scores: Mapping[str, StepScore]
    """By the arm's label."""
    flips: float
    """The largest difference from the shell."""


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """Lines of a commit's file around what is cited."""

    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CitedLines:
    citation: Citation
    excerpt: Excerpt | None
    """None where there is no such place."""


@dataclass(frozen=True, kw_only=True)
class TimeSpan:
    """Seconds of a cell: a model's turn, a wait for the provider, or a call."""

    kind: str
    """`model`, `back-off`, `shell` or `server`."""
    start_sec: float
    wall_sec: float
    call: int | None = None
    """Of a call: its place among the cell's calls."""


@dataclass(frozen=True, kw_only=True)
class CallMade:
    asked: ToolCall
    result: ToolResult | None
    """None if the cell ended first."""


@dataclass(frozen=True, kw_only=True)
class CellEvidence:
    cell: Cell
    label: str
    repository: str = ""
    """What files call the scenario's code at its commit."""
    result: CellResult | None
    scorecard: Scorecard | None
    answer: tuple[AnswerStep, ...] = ()
    effort: Effort | None = None
    cited: tuple[CitedLines, ...] = ()
    calls: tuple[CallMade, ...] = ()
    spans: tuple[TimeSpan, ...] = ()
    unreadable: str = ""
    """Why its transcript says nothing here."""

    @property
    def seconds(self) -> float:
        return max((span.start_sec + span.wall_sec for span in self.spans), default=0.0)


@dataclass(frozen=True, kw_only=True)
class BlockEvidence:
    """All arms of one scenario, model and trial, shell first."""

    scenario: str
    model: str
    trial: int
    cells: tuple[CellEvidence, ...]


@dataclass(frozen=True, kw_only=True)
class PageData:
    arms: tuple[ArmSpread, ...] = ()
    steps: tuple[StepRow, ...] = ()
    """Those that turn most against the shell first."""
    scenarios: Mapping[tuple[str, str], tuple[float, ...]] = field(default_factory=dict)
    """(Arm's label, scenario) -> its paired differences from the shell, trial by trial."""
    blocks: Sequence[BlockEvidence] = ()
    """Each read when it is asked for: all at once, those of ten thousand cells take gigabytes."""


def page_data(
    run: LoadedRun, scenarios: Mapping[str, Scenario], sources: OpenLineSource
) -> PageData:
    """Of the scenarios that are still in the catalog; others have figures, and no evidence here."""
    view = view_of(run, topics_of(scenarios))
    prices = dict(run.plan.prices.models) if run.plan.prices else {}
    reader = _Reader(scenarios=scenarios, sources=sources)
    return PageData(
        arms=tuple(_arm_spread(arm, prices.get(arm.model)) for arm in view.arms),
        steps=tuple(sorted(_step_rows(view), key=lambda row: -row.flips)),
        scenarios=dict(_differences(view)),
        blocks=_BlocksOnDisk(view=view, reader=reader, of=tuple(_blocks(view))),
    )


# --- spreads --------------------------------------------------------------------------------


def _arm_spread(arm: ArmView, price: Price | None) -> ArmSpread:
    def usd(effort: Effort) -> float | None:
        return None if price is None else price.cost_usd(effort)

    found = {
        "tokens": _spread(arm, lambda effort: effort.new_tokens),
        "seconds": _spread(arm, lambda effort: effort.agent_sec),
        "usd": _spread(arm, usd),
    }
    return ArmSpread(
        label=arm.label,
        spent={name: spread for name, spread in found.items() if spread is not None},
        whole=_spread(arm, _all_phases),
        phases=_phases(arm),
    )


def _all_phases(effort: Effort) -> float | None:
    found = effort.phases
    return None if found is None else float(sum(getattr(found, name) for name in PHASES))


def _spread(arm: ArmView, amount_of: Callable[[Effort], float | None]) -> SpentSpread | None:
    amounts = {}
    for cell in arm.usable:
        fairness = fairness_of(cell)
        amount = amount_of(fairness.effort) if fairness else None
        if amount is not None:
            amounts[trial_of(cell)] = float(amount)
    if not amounts:
        return None
    means = arm.clusters.means(statistics.scenario_means(amounts))
    low, high = bounds(interval_of(arm, means))
    seen = tuple(map(rounded, amounts.values()))
    return SpentSpread(value=rounded(statistics.mean(means)), low=low, high=high, seen=seen)


def _phases(arm: ArmView) -> dict[str, float]:
    found = {name: _spread(arm, _phase_of(name)) for name in PHASES}
    known = {name: spread.value for name, spread in found.items() if spread is not None}
    return known if len(known) == len(PHASES) else {}


def _phase_of(name: str) -> Callable[[Effort], float | None]:
    def amount(effort: Effort) -> float | None:
        return None if effort.phases is None else float(getattr(effort.phases, name))

    return amount


def _differences(view: RunView) -> Iterator[tuple[tuple[str, str], tuple[float, ...]]]:
    score_of = compared_score(view.clusters)
    for arm in view.arms:
        shell = view.shell_of(arm)
        if arm.is_shell or shell is None:
            continue
        found = statistics.trial_differences(
            values(shell.usable, score_of), values(arm.usable, score_of)
        )
        for scenario in view.scenarios:
            own = tuple(rounded(gap) for (name, _), gap in found.items() if name == scenario)
            if own:
                yield (arm.label, scenario), own


# --- steps × arms ---------------------------------------------------------------------------


def _step_rows(view: RunView) -> Iterator[StepRow]:
    for model in view.models:
        arms = list(view.arms_of(model))
        for scenario in view.scenarios:
            found = {arm.label: _step_scores(arm.within(scenario).usable) for arm in arms}
            shell = next((found[arm.label] for arm in arms if arm.is_shell), {})
            for step in unique(step for scores in found.values() for step in scores):
                scores = {label: own[step] for label, own in found.items() if step in own}
                base = shell.get(step)
                gaps = [abs(one.mean - base.mean) for one in scores.values()] if base else []
                yield StepRow(
                    scenario=scenario,
                    step=step,
                    model=model,
                    scores=scores,
                    flips=rounded(max(gaps, default=0.0)),
                )


def _step_scores(cells: Sequence[LoadedCell]) -> dict[str, StepScore]:
    found: dict[str, list[float]] = {}
    for cell in cells:
        fairness = fairness_of(cell)
        for step in fairness.verdict.steps if fairness and fairness.verdict else ():
            found.setdefault(step.name, []).append(step.quality)
    return {
        step: StepScore(
            mean=rounded(statistics.mean(all_)),
            lowest=rounded(min(all_)),
            highest=rounded(max(all_)),
            cell_id=cells[0].cell.id,
        )
        for step, all_ in found.items()
    }


# --- evidence -------------------------------------------------------------------------------


def _blocks(view: RunView) -> Iterator[tuple[LoadedCell, ...]]:
    order = {arm.label: place for place, arm in enumerate(view.arms)}
    scenarios = {name: place for place, name in enumerate(view.scenarios)}
    models = {name: place for place, name in enumerate(view.models)}
    placed = sorted(
        view.cells,
        key=lambda it: (
            scenarios[it.cell.scenario],
            models[it.cell.model],
            it.cell.trial,
            order[view.label(it.cell)],
        ),
    )
    for _, cells in groupby(placed, lambda it: it.cell.block):
        yield tuple(cells)


@dataclass(frozen=True, kw_only=True)
class _BlocksOnDisk(Sequence[BlockEvidence]):
    view: RunView
    reader: _Reader
    of: tuple[tuple[LoadedCell, ...], ...]

    def __len__(self) -> int:
        return len(self.of)

    @overload
    def __getitem__(self, at: int) -> BlockEvidence: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[BlockEvidence]: ...
    def __getitem__(self, at: int | slice) -> BlockEvidence | Sequence[BlockEvidence]:
        if isinstance(at, slice):
            return [self._block(cells) for cells in self.of[at]]
        return self._block(self.of[at])

    def _block(self, cells: tuple[LoadedCell, ...]) -> BlockEvidence:
        first = cells[0].cell
        return BlockEvidence(
            scenario=first.scenario,
            model=first.model,
            trial=first.trial,
            cells=tuple(self.reader.evidence(it, self.view.label(it.cell)) for it in cells),
        )


@dataclass(frozen=True, kw_only=True)
class _Reader:
    scenarios: Mapping[str, Scenario]
    sources: OpenLineSource
    opened: dict[str, LineSource] = field(default_factory=dict)

    def evidence(self, of: LoadedCell, label: str) -> CellEvidence:
        bare = CellEvidence(cell=of.cell, label=label, result=of.result, scorecard=of.scorecard)
        scenario, attempt = self.scenarios.get(of.cell.scenario), of.counted
        if scenario is None or attempt is None:
            return bare
        try:
            events = tuple(iter_transcript(attempt.transcript))
            answer, _, effort = split(events, scenario)
        except FairtrialError as error:
            # The figures say what is wrong with it; the page goes on without its words.
            return replace(bare, unreadable=str(error.what))
        calls = tuple(_calls(events))
        return replace(
            bare,
            repository=scenario.repository.label,
            answer=answer.steps,
            effort=effort,
            cited=tuple(self._cited(of)),
            calls=calls,
            spans=tuple(_spans(events, calls)),
        )

    def _cited(self, of: LoadedCell) -> Iterator[CitedLines]:
        fairness = fairness_of(of)
        for citation in fairness.citations if fairness else ():
            yield CitedLines(citation=citation, excerpt=self._excerpt(of.cell.scenario, citation))

    def _excerpt(self, scenario: str, citation: Citation) -> Excerpt | None:
        if citation.start is None or citation.start < 1:
            return None
        end = min(citation.end or citation.start, citation.start + MOST_LINES)
        first = max(1, citation.start - AROUND)
        try:
            source = self.opened.setdefault(scenario, self.sources(scenario))
            text = source.lines(citation.path, first, end + AROUND)
        except FairtrialError:
            # No such file or line: the verdict beside it says so.
            return None
        lines = tuple(text.split("\n"))
        # Lines before the file's end alone would stand for those that are cited past it.
        return Excerpt(first=first, lines=lines) if first + len(lines) > citation.start else None


def _calls(events: Iterable[Event]) -> Iterator[CallMade]:
    results = {it.call_id: it for it in events if isinstance(it, ToolResult)}
    for event in events:
        if isinstance(event, ToolCall):
            yield CallMade(asked=event, result=results.get(event.call_id))


def _spans(events: Iterable[Event], calls: Sequence[CallMade]) -> Iterator[TimeSpan]:
    """One after another, as the agent waited for them."""
    numbers = {call.asked.call_id: number for number, call in enumerate(calls)}
    at = 0.0
    for event in events:
        for kind, wall_sec, call in _parts(event, numbers, calls):
            if wall_sec > 0 or call is not None:
                yield TimeSpan(kind=kind, start_sec=round(at, 3), wall_sec=wall_sec, call=call)
            at += wall_sec


def _parts(
    event: Event, numbers: Mapping[str, int], calls: Sequence[CallMade]
) -> Iterator[tuple[str, float, int | None]]:
    if isinstance(event, Usage):
        yield "back-off", event.backoff_sec, None
        yield "model", max(0.0, (event.wall_sec or 0.0) - event.backoff_sec), None
    elif isinstance(event, ToolResult) and event.call_id in numbers:
        waited = event.wall_sec if event.waited_sec is None else event.waited_sec
        number = numbers[event.call_id]
        yield calls[number].asked.origin, waited or 0.0, number
