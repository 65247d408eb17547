"""Which tools a model takes for which others, and whether other words for them move that."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.benchmarks.toolbench.task_results import (
    Comparison,
    Confusion,
    ConfusionReport,
    FigureChange,
    MistakenTool,
    TaskResult,
    ToolRow,
)
from runner.benchmarks.toolbench.task_scoring import grouped
from runner.benchmarks.toolbench.tasks import Task, fold_server
from runner.scoring.statistics import ClusterMean, mean
from runner.support.errors import FairtrialError


def confusion_of(
    label: str, tasks: Iterable[Task], results: Iterable[TaskResult], servers: Sequence[str] = ()
) -> Confusion:
    """Every expected tool with what was called in its place; of these servers alone, if any."""
    known = {task.id: task for task in tasks}
    counts: dict[tuple[str, str], _Counts] = defaultdict(_Counts)
    for result in results:
        task = known.get(result.uuid)
        if task is not None:
            _count(task, result, counts)
    wanted = {fold_server(name) for name in servers}
    rows = [
        _row(tool, server, found)
        for (tool, server), found in counts.items()
        if not wanted or fold_server(server) in wanted
    ]
    rows.sort(key=lambda row: (-row.wrong, row.server, row.tool))
    return Confusion(label=label, rows=tuple(rows))


class _Counts:
    def __init__(self) -> None:
        self.expected = 0
        self.similar = 0
        self.taken: Counter[tuple[str, str]] = Counter()


def _count(task: Task, result: TaskResult, counts: Mapping[tuple[str, str], _Counts]) -> None:
    servers = {tool.name: tool.server for tool in task.tools}
    own = {call.name: call.server or servers.get(call.name, "") for call in task.expected}
    for call in task.expected:
        counts[call.name, own[call.name]].expected += 1
    for expected, _ in result.similar:
        counts[expected, own.get(expected, "")].similar += 1
    for expected, taken in result.wrong:
        counts[expected, own.get(expected, "")].taken[taken, servers.get(taken, "")] += 1


def _row(tool: str, server: str, found: _Counts) -> ToolRow:
    wrong = sum(found.taken.values())
    return ToolRow(
        tool=tool,
        server=server,
        expected=found.expected,
        right=found.expected - wrong,
        similar=found.similar,
        wrong=wrong,
        taken=tuple(
            MistakenTool(tool=name, server=owner, times=times)
            for (name, owner), times in sorted(
                found.taken.items(), key=lambda item: (-item[1], item[0])
            )
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """One set of answers, and whose they are."""

    label: str
    against: str
    """Sets that have this in common are compared, such as their model."""
    tasks: Sequence[Task]
    results: Sequence[TaskResult]


def confusion_report(found: Sequence[Labelled], servers: Sequence[str]) -> ConfusionReport:
    """A table for each set, and each further set against the first that it is comparable to.

    Raises FairtrialError for a server that no task speaks of: its empty table would say that
    nothing is confused.
    """
    _require_known(found, servers)
    first: dict[str, Labelled] = {}
    comparisons = []
    for one in found:
        before = first.setdefault(one.against, one)
        if before is not one:
            comparisons.append(compared(before.label, one.label, before.results, one.results))
    return ConfusionReport(
        confusions=tuple(confusion_of(one.label, one.tasks, one.results, servers) for one in found),
        comparisons=tuple(comparisons),
    )


def _require_known(found: Iterable[Labelled], servers: Iterable[str]) -> None:
    tasks = [task for one in found for task in one.tasks]
    known = {tool.server for task in tasks for tool in task.tools}
    known |= {call.server for task in tasks for call in task.expected}
    folded = set(map(fold_server, known))
    for name in servers:
        if fold_server(name) not in folded:
            hint = f"servers are {', '.join(sorted(filter(None, known))) or 'not named'}"
            raise FairtrialError(f"no run and no server is called {name!r}", hint=hint)


# --- two of them --------------------------------------------------------------------------------


def compared(
    before: str, after: str, first: Sequence[TaskResult], second: Sequence[TaskResult]
) -> Comparison:
    """The same tasks in two sets of results: paired, since tasks differ more than sets do."""
    ones, others = (grouped(one, lambda result: result.uuid) for one in (first, second))
    shared = [name for name in ones if name in others]

    def change(figure: Callable[[TaskResult], float]) -> FigureChange:
        pairs = [
            (mean(map(figure, ones[name])), mean(map(figure, others[name]))) for name in shared
        ]
        return _change(pairs)

    return Comparison(
        before=before,
        after=after,
        tasks=len(shared),
        unpaired=len(ones.keys() ^ others.keys()),
        selection=change(lambda result: result.tool_selection_accuracy),
        parameters=change(lambda result: result.parameter_accuracy),
        resolved=change(lambda result: result.resolved),
    )


def _change(pairs: Sequence[tuple[float, float]]) -> FigureChange:
    differences = [after - before for before, after in pairs]
    low = high = None
    if not pairs:
        return FigureChange(
            before=None, after=None, mean=None, low=None, high=None, better=0, worse=0
        )
    if interval := ClusterMean(figures=tuple(differences)).interval():
        low, high = interval.low, interval.high
    return FigureChange(
        before=mean(before for before, _ in pairs),
        after=mean(after for _, after in pairs),
        mean=mean(differences),
        low=low,
        high=high,
        better=sum(one > 0 for one in differences),
        worse=sum(one < 0 for one in differences),
    )


def lines_of(rows: Iterable[ToolRow]) -> Iterator[tuple[ToolRow, MistakenTool]]:
    """One for each tool and what was taken for it, most often first."""
    found: list[tuple[ToolRow, MistakenTool]] = []
    for row in rows:
        found += [(row, taken) for taken in row.taken]
    yield from sorted(found, key=lambda pair: -pair[1].times)
