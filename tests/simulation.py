"""`just simulate`: what a report's judgements are worth, counted over runs whose truth is known.

Each run is drawn by a fixed seed, made of the records that a real run is made of, and compared by
the report's own `view_of` and `Comparisons`. One run of each chunk goes through `build_report` as
well, which has to say the same. docs/method.md has the figures.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from runner.benchmarks.scenarios.scenario_power import DifferenceSpread, PlannedRun, power_of
from runner.records import MustCite, PypiSource, Scenario, Score, ServerSpec, Step
from runner.records.arms import server_of
from runner.records.run_store import LoadedRun
from runner.report.build_report import build_report
from runner.report.clusters import topics_of
from runner.report.comparison import Comparisons
from runner.report.records import Delta
from runner.report.view import RunView, view_of
from runner.runs.plan import margin_of
from runner.scoring import statistics
from tests.report.loaded import GATE, cell, loaded, measured, scenario, server

SEED = 28
RUNS = 1_000
CHUNK = 250
"""Runs that a worker draws at a time."""
SIZES = (6, 10, 20, 50)
"""Repositories."""
LEVEL = 0.6
"""Of the shell's fairness."""
TRIAL_SD = 0.1
"""Of one arm's fairness from trial to trial."""
MARGIN = 0.05
Figures = NDArray[np.float64]
"""Fairness: (runs, arms, repositories, scenarios, trials); the first arm is the shell's."""


# --- a run --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Design:
    """What is planned."""

    repositories: int
    servers: int = 1
    scenarios: int = 1
    """Of each repository."""
    trials: int = 1
    asked_of_a_file: int = 1
    """Scenarios that cite the same file."""
    margin: float | None = None
    self_check: bool = False
    """The three servers are one, its twin and its liar."""

    @property
    def arms(self) -> tuple[str, ...]:
        if self.self_check:
            return ("shell", "server-1", "server-1+twin", "server-1+20")
        return ("shell", *(f"server-{number + 1}" for number in range(self.servers)))

    @property
    def each(self) -> tuple[int, int, int]:
        """Repositories, scenarios, trials: of one arm."""
        return self.repositories, self.scenarios, self.trials


@dataclass(frozen=True, kw_only=True)
class Template:
    """A design's run, of which only the fairness is drawn."""

    run: LoadedRun
    scenarios: Mapping[str, Scenario]
    servers: Mapping[str, ServerSpec]

    @cached_property
    def view(self) -> RunView:
        """Of any drawing: it looks at fingerprints and outcomes, and at no score."""
        return view_of(self.run, topics_of(self.scenarios))

    @cached_property
    def _scores(self) -> tuple[Score, ...]:
        cards = [one.scorecard for one in self.run.cells]
        return tuple(card.fairness.score for card in cards if card)

    def draw(self, fairness: Figures) -> None:
        """`fairness`: (arms, repositories, scenarios, trials)."""
        values = np.clip(fairness, 0.0, 1.0).ravel().tolist()
        for score, value in zip(self._scores, values, strict=True):
            # In place: records made anew for each of 250,000 runs would take an hour.
            object.__setattr__(score, "value", value)


@lru_cache(maxsize=4)
def template_of(design: Design) -> Template:
    scenarios = {one.id: one for one in _scenarios(design)}
    trials = range(1, design.trials + 1)
    cells = [cell(*at) for arm in design.arms for at in itertools.product(scenarios, [arm], trials)]
    run = loaded([measured(of, LEVEL) for of in cells])
    study = run.plan.study.model_copy(update={"margin": design.margin}) if run.plan.study else None
    return Template(
        run=replace(run, plan=run.plan.model_copy(update={"study": study})),
        scenarios=scenarios,
        servers={name: server(name) for name in map(server_of, design.arms[1:])},
    )


def _scenarios(design: Design) -> Iterator[Scenario]:
    for place, number in itertools.product(range(design.repositories), range(design.scenarios)):
        file = f"src/file_{number // design.asked_of_a_file}.py"
        source = PypiSource(kind="pypi", name=f"repository{place}", version="1.0", sha256="5" * 64)
        step = Step(
            name="trace", prompt="Where does it start?", must_cite=(MustCite(path=file, line=1),)
        )
        yield scenario(f"r{place}-q{number}", repository=source, steps=(step,))


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a report says of a run."""

    template: Template

    @cached_property
    def compared(self) -> Comparisons:
        made = self.template
        return Comparisons(view=made.view, standing="ranks", margin=margin_of(made.run.plan))

    @cached_property
    def deltas(self) -> tuple[Delta, ...]:
        """Of each server against the shell."""
        return tuple(self.compared.delta(arm) for arm in self.compared.view.arms[1:])

    @cached_property
    def pairs(self) -> tuple[Delta, ...]:
        """Of each two servers: the first two, the first and the third, …"""
        return tuple(pair.delta for pair in self.compared.between())

    def check_report(self) -> None:
        """Raises AssertionError if the whole report says anything else."""
        made = self.template
        report = build_report(made.run, made.scenarios, made.servers, gate=GATE)
        assert tuple(arm.delta for arm in report.arms[1:]) == self.deltas
        assert tuple(pair.delta for pair in report.between) == self.pairs


# --- how fairness is drawn ----------------------------------------------------------------------

Draw = Callable[[Generator, Design, int], Figures]
"""So many runs of a design."""


def _shape(design: Design, runs: int) -> tuple[int, ...]:
    return runs, design.servers + 1, *design.each


def normal(dice: Generator, design: Design, runs: int, *, sd: float = TRIAL_SD) -> Figures:
    """Scenarios of unlike difficulty, and trials."""
    hard = dice.normal(0.0, 0.05, (runs, 1, *design.each[:2], 1))
    return LEVEL + hard + dice.normal(0.0, sd, _shape(design, runs))


def skewed(dice: Generator, design: Design, runs: int) -> Figures:
    """Mostly good, and now and then much worse."""
    return 0.9 - 0.15 * dice.exponential(1.0, _shape(design, runs))


def bounded(dice: Generator, design: Design, runs: int) -> Figures:
    """So many of four criteria, with 0 and 1 among them."""
    hard = dice.beta(1.5, 1.0, (runs, 1, *design.each[:2], 1))
    return dice.binomial(4, hard, _shape(design, runs)) / 4


def tied(dice: Generator, design: Design, runs: int) -> Figures:
    """Seven of ten answers are worth the same."""
    moved = dice.choice([-0.2, -0.1, 0.1, 0.2], _shape(design, runs))
    return LEVEL + np.where(dice.random(_shape(design, runs)) < 0.3, moved, 0.0)


def shifted(dice: Generator, design: Design, runs: int, *, by: Sequence[float]) -> Figures:
    """`by`: what each server is worth, in all scenarios alike."""
    figures = normal(dice, design, runs)
    figures[:, 1:] += np.asarray(by)[:, None, None, None]
    return figures


def varied(
    dice: Generator,
    design: Design,
    runs: int,
    *,
    split: statistics.VarianceSplit,
    by: float = 0.0,
    file_sd: float = 0.0,
) -> Figures:
    """Servers worth more here and less there. `by`: on average, the first server's alone."""
    servers, repositories, scenarios = design.servers, design.repositories, design.scenarios
    files = math.ceil(scenarios / design.asked_of_a_file)
    sds = [math.sqrt(part or 0.0) for part in (split.repository, split.scenario, split.trial)]
    worth = dice.normal(0.0, sds[0], (runs, servers, repositories, 1, 1))
    worth = worth + dice.normal(0.0, sds[1], (runs, servers, repositories, scenarios, 1))
    of_files = dice.normal(0.0, file_sd, (runs, servers, repositories, files, 1))
    worth += np.repeat(of_files, design.asked_of_a_file, axis=3)[:, :, :, :scenarios]
    worth[:, 0] += by
    # A difference has the trials of two arms in it.
    figures = normal(dice, design, runs, sd=sds[2] / math.sqrt(2))
    figures[:, 1:] += worth
    return figures


def at_smallest(
    dice: Generator, design: Design, runs: int, *, split: statistics.VarianceSplit
) -> Figures:
    """The first server is worth what a dry run says that the plan would find 4 times in 5."""
    return varied(dice, design, runs, split=split, by=_smallest(design, split))


@lru_cache
def _smallest(design: Design, split: statistics.VarianceSplit) -> float:
    made = template_of(design)
    planned = PlannedRun(
        clusters=made.view.clusters,
        measured={name: list(made.scenarios) for name in made.servers},
        trials=design.trials,
        cells=len(made.run.cells),
        usd=None,
        usd_is_likely=False,
    )
    spread = DifferenceSpread(split=split, low=1.0, high=1.0, basis="as it is drawn")
    (alike,) = power_of(planned, spread, detect=1.0).servers
    assert alike.low is not None
    return alike.low


COLLAPSES = 0.08
"""Share of trials."""
COLLAPSED = 0.05
"""Mean fairness of those."""
COLLAPSING_SD = 0.09
"""Of the other trials. The quieter they are, the less a run without a collapse can know of it."""


def collapsing(dice: Generator, design: Design, runs: int) -> Figures:
    """A server that leaves the agent with nearly nothing in 8 % of trials."""
    figures = normal(dice, design, runs, sd=COLLAPSING_SD)
    fallen = dice.random(figures[:, 1:].shape) < COLLAPSES
    low = dice.uniform(0.0, 2 * COLLAPSED, figures[:, 1:].shape)
    figures[:, 1:] = np.where(fallen, low, figures[:, 1:])
    return figures


# --- what is counted ----------------------------------------------------------------------------

DIFFERENT = {"higher", "lower", "small_difference"}
NO_WORSE = {"no_worse", "equivalent", "small_difference", "higher"}
EQUIVALENT = {"equivalent", "small_difference"}


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A share's bounds; without any it is only shown."""

    low: float = 0.0
    high: float = 1.0

    def __str__(self) -> str:
        if (self.low, self.high) == (0.0, 1.0):
            return ""
        if self.low == 0.0:
            return f"≤ {self.high:.1%}"
        if self.high == 1.0:
            return f"≥ {self.low:.1%}"
        return f"{self.low:.0%}–{self.high:.0%}"

    def mark(self, share: float, runs: int) -> str:
        """`ok`; `near`: beyond a bound by no more than so few runs explain; `MISSED`."""
        if self.low <= share <= self.high:
            return "ok" if str(self) else ""
        bound = self.high if share > self.high else self.low
        error = math.sqrt(bound * (1 - bound) / runs)
        return "near" if abs(share - bound) <= 2 * error else "MISSED"


SHOWN = Goal()
FALSE_ALARM = Goal(high=0.055)
COVERAGE = Goal(low=0.93, high=0.97)
COARSE = Goal(low=0.93)
"""Means of few figures with few values tie, and an interval holds its ends."""
POWER = Goal(low=0.78, high=0.82)
ALIKE = Goal(low=0.95)


@dataclass(frozen=True, kw_only=True)
class Question:
    """Something that is true of a run or not."""

    says: str
    goal: Goal
    holds: Callable[[Seen], bool]


def any_different(seen: Seen) -> bool:
    return any(delta.judgement in DIFFERENT for delta in seen.deltas)


def first_different(seen: Seen) -> bool:
    return seen.deltas[0].judgement in DIFFERENT


def covered(seen: Seen, truth: float) -> bool:
    delta = seen.deltas[0]
    return delta.low is not None and delta.high is not None and delta.low <= truth <= delta.high


def twins_alike(seen: Seen) -> bool:
    return seen.pairs[0].judgement not in DIFFERENT


def same_words(seen: Seen) -> bool:
    return seen.deltas[0].says == seen.deltas[1].says


def says_one_of(seen: Seen, judgements: frozenset[str]) -> bool:
    return seen.deltas[0].judgement in judgements


FALSE = Question(says="called different", goal=FALSE_ALARM, holds=any_different)


# --- the rows -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Case:
    """One cell of a table, or several that are counted in the same runs."""

    row: str
    label: str
    column: str
    design: Design
    draw: Draw
    questions: tuple[Question, ...]

    @property
    def name(self) -> str:
        return f"{self.row}: {self.label}, {self.column}"


def _equal() -> Iterator[Case]:
    for draw, trials, count in itertools.product((normal, skewed, bounded, tied), (1, 2), SIZES):
        yield Case(
            row="equal",
            label=f"{draw.__name__}, {_counted(trials, 'trial')}",
            column=f"{count}",
            design=Design(repositories=count, trials=trials),
            draw=draw,
            questions=(FALSE,),
        )


def _family() -> Iterator[Case]:
    for servers, count in itertools.product((2, 5, 10), SIZES):
        yield Case(
            row="family",
            label=f"any of {servers} servers",
            column=f"{count}",
            design=Design(repositories=count, servers=servers),
            draw=normal,
            questions=(FALSE,),
        )


def _clusters() -> Iterator[Case]:
    for scenarios, share, count in itertools.product((2, 3), (0.5, 0.7), SIZES):
        split = _split(repository=share, trial=1 - share)
        yield Case(
            row="clusters",
            label=f"{scenarios} scenarios, correlated {share}",
            column=f"{count}",
            design=Design(repositories=count, scenarios=scenarios),
            draw=partial(varied, split=split),
            questions=(FALSE,),
        )


def _split(trial_sd: float = TRIAL_SD, **shares: float) -> statistics.VarianceSplit:
    """Shares of the variance of two arms' trials."""
    parts: dict[str, float] = {"repository": 0.0, "scenario": 0.0, "trial": 0.0} | shares
    return statistics.VarianceSplit(
        **{name: share * 2 * trial_sd**2 for name, share in parts.items()}
    )


def _coverage() -> Iterator[Case]:
    truths = {collapsing: COLLAPSES * (COLLAPSED - LEVEL), normal: 0.0, bounded: 0.0}
    for (draw, truth), trials, count in itertools.product(truths.items(), (1, 2), SIZES):
        holds = partial(covered, truth=truth)
        goal = COARSE if draw is bounded else COVERAGE
        yield Case(
            row="coverage",
            label=f"{draw.__name__}, {_counted(trials, 'trial')}",
            column=f"{count}",
            design=Design(repositories=count, trials=trials),
            draw=draw,
            questions=(Question(says="covers the truth", goal=goal, holds=holds),),
        )


def _power() -> Iterator[Case]:
    # Small, so that no fairness has to be cut off at 1.
    split = _split(trial_sd=0.05, repository=0.4, scenario=0.2, trial=0.4)
    plans = ((1, 1, 1), (1, 1, 3), (1, 2, 2), (2, 2, 2), (5, 1, 2))
    for (servers, scenarios, trials), count in itertools.product(plans, SIZES):
        if count < statistics.least_clusters(servers):
            continue
        size = f"{_counted(servers, 'server')}, {_counted(scenarios, 'scenario')}"
        yield Case(
            row="power",
            label=f"{size}, {_counted(trials, 'trial')}",
            column=f"{count}",
            design=Design(repositories=count, servers=servers, scenarios=scenarios, trials=trials),
            draw=partial(at_smallest, split=split),
            questions=(Question(says="called different", goal=POWER, holds=first_different),),
        )


def _twins() -> Iterator[Case]:
    questions = (
        Question(says="alike beside each other", goal=ALIKE, holds=twins_alike),
        Question(says="the same words against the shell", goal=SHOWN, holds=same_words),
    )
    plain = [(effect, False) for effect in (0.0, 0.05, 0.1, 0.2)]
    for (effect, check), count in itertools.product([*plain, (0.0, True), (0.1, True)], SIZES):
        design = Design(repositories=count, servers=3, trials=2, margin=MARGIN, self_check=check)
        yield Case(
            row="twins",
            label=f"worth {effect:g}" + ", self-check" * check,
            column=f"{count}",
            design=design,
            draw=partial(shifted, by=(effect, effect, effect - 0.1)),
            questions=questions,
        )


def _margin() -> Iterator[Case]:
    wrong = {-MARGIN: (FALSE_ALARM, FALSE_ALARM), 0.0: (SHOWN, SHOWN), MARGIN: (SHOWN, FALSE_ALARM)}
    for (effect, (worse, alike)), count in itertools.product(wrong.items(), SIZES):
        no_worse = partial(says_one_of, judgements=frozenset(NO_WORSE))
        equivalent = partial(says_one_of, judgements=frozenset(EQUIVALENT))
        yield Case(
            row="margin",
            label=f"worth {effect:g}",
            column=f"{count}",
            design=Design(repositories=count, trials=2, margin=MARGIN),
            draw=partial(shifted, by=(effect,)),
            questions=(
                Question(says="said no worse", goal=worse, holds=no_worse),
                Question(says="said equivalent", goal=alike, holds=equivalent),
            ),
        )


def _repository() -> Iterator[Case]:
    for size, questions in itertools.product((1, 2, 3), (12, 24, 36, 60)):
        yield Case(
            row="repository",
            label=f"{_counted(size, 'question')} of a file, correlated .6",
            column=f"{questions}",
            design=Design(repositories=1, scenarios=questions, asked_of_a_file=size),
            draw=partial(varied, split=_split(trial=0.4), file_sd=math.sqrt(1.2) * TRIAL_SD),
            questions=(FALSE,),
        )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


@dataclass(frozen=True, kw_only=True)
class Row:
    title: str
    columns: str
    cases: Callable[[], Iterator[Case]]


ROWS = {
    "equal": Row(title="Equal arms", columns="repositories", cases=_equal),
    "family": Row(title="Several equal servers", columns="repositories", cases=_family),
    "clusters": Row(
        title="Equal arms, several scenarios of a repository",
        columns="repositories",
        cases=_clusters,
    ),
    "coverage": Row(title="Intervals", columns="repositories", cases=_coverage),
    "power": Row(
        title="At the smallest difference of the plan", columns="repositories", cases=_power
    ),
    "twins": Row(title="The same server twice", columns="repositories", cases=_twins),
    "margin": Row(title=f"A margin of {MARGIN:g}", columns="repositories", cases=_margin),
    "repository": Row(title="Equal arms on one repository", columns="questions", cases=_repository),
}


# --- counting -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Counted:
    """How often an answer was yes."""

    row: str
    label: str
    column: str
    says: str
    goal: Goal
    yes: int
    runs: int

    @property
    def share(self) -> float:
        return self.yes / self.runs

    @property
    def mark(self) -> str:
        return self.goal.mark(self.share, self.runs)

    def record(self) -> dict[str, Any]:
        names = ("row", "label", "column", "says", "yes", "runs", "share", "mark")
        return {name: getattr(self, name) for name in names} | {"goal": str(self.goal)}


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Some runs of a case."""

    row: str
    place: int
    """Of the case in its row."""
    number: int
    runs: int


def chunks_of(row: str, runs: int, columns: Collection[str] = ()) -> Iterator[Chunk]:
    """Of the cases in these columns; in all, if none is named."""
    for place, case in enumerate(ROWS[row].cases()):
        if columns and case.column not in columns:
            continue
        for number, start in enumerate(range(0, runs, CHUNK)):
            yield Chunk(row=row, place=place, number=number, runs=min(CHUNK, runs - start))


def count_chunk(chunk: Chunk) -> tuple[Chunk, list[int]]:
    """How many of its runs answer each of the case's questions with yes."""
    case = list(ROWS[chunk.row].cases())[chunk.place]
    dice = np.random.default_rng([SEED, zlib.crc32(case.name.encode()), chunk.number])
    template = template_of(case.design)
    yes = [0] * len(case.questions)
    for number, fairness in enumerate(case.draw(dice, case.design, chunk.runs)):
        template.draw(fairness)
        seen = Seen(template=template)
        for place, question in enumerate(case.questions):
            yes[place] += question.holds(seen)
        if number == 0:
            seen.check_report()
    return chunk, yes


def simulate(
    rows: Iterable[str],
    runs: int,
    *,
    columns: Collection[str] = (),
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Counted]:
    """Every figure of these rows. The same for any number of workers."""
    chunks = [chunk for row in rows for chunk in chunks_of(row, runs, columns)]
    task = progress.add_task("simulated", total=len(chunks)) if progress else None
    totals: dict[tuple[str, int], Counter[int]] = {}
    for chunk, yes in _counted_by(workers, chunks):
        total = totals.setdefault((chunk.row, chunk.place), Counter())
        total.update(dict(enumerate(yes)))
        if progress and task is not None:
            progress.advance(task)
    return list(_figures(totals, runs))


def _counted_by(workers: int, chunks: list[Chunk]) -> Iterator[tuple[Chunk, list[int]]]:
    if workers == 1:
        yield from map(count_chunk, chunks)
        return
    with get_context("spawn").Pool(workers) as pool:
        yield from pool.imap_unordered(count_chunk, chunks)


def _figures(totals: Mapping[tuple[str, int], Counter[int]], runs: int) -> Iterator[Counted]:
    for (row, at), total in sorted(totals.items(), key=lambda item: _place(item[0])):
        case = list(ROWS[row].cases())[at]
        for number, question in enumerate(case.questions):
            yield Counted(
                row=row,
                label=case.label,
                column=case.column,
                says=question.says,
                goal=question.goal,
                yes=total[number],
                runs=runs,
            )


def _place(key: tuple[str, int]) -> tuple[int, int]:
    return list(ROWS).index(key[0]), key[1]


# --- output -------------------------------------------------------------------------------------


def table_of(name: str, figures: Sequence[Counted]) -> Table:
    row = ROWS[name]
    columns = list(dict.fromkeys(one.column for one in figures))
    table = Table(title=row.title, title_justify="left")
    table.add_column(f"{row.columns}:", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("goal", no_wrap=True)
    lines: dict[tuple[str, str, str], dict[str, Counted]] = {}
    for one in figures:
        lines.setdefault((one.label, one.says, str(one.goal)), {})[one.column] = one
    for (label, says, goal), found in lines.items():
        shares = [_share(found.get(column)) for column in columns]
        table.add_row(f"{label}: {says}", *shares, goal)
    return table


def _share(one: Counted | None) -> str:
    if one is None:
        return "–"
    return f"{one.share:.1%} {one.mark}".rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="just simulate", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of each figure ({RUNS})")
    parser.add_argument("--only", choices=ROWS, action="append", help="this row; repeatable")
    parser.add_argument("--workers", type=int, default=2, help="processes (2)")
    parser.add_argument("--json", action="store_true", help="for scripts")
    given = parser.parse_args(arguments)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        figures = simulate(given.only or ROWS, given.runs, workers=given.workers, progress=progress)
    if given.json:
        sys.stdout.write(json.dumps([one.record() for one in figures], indent=2) + "\n")
    else:
        _print(figures)
    return 1 if any(one.mark == "MISSED" for one in figures) else 0


def _print(figures: Sequence[Counted]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 120)
    for name in dict.fromkeys(one.row for one in figures):
        console.print(table_of(name, [one for one in figures if one.row == name]))
    missed = sum(one.mark == "MISSED" for one in figures)
    console.print(f"{missed} of {len(figures)} figures miss their goal; near: by no more than 2 sd")


if __name__ == "__main__":
    sys.exit(main())
