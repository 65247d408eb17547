"""The benchmark's figures as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from runner.benchmarks.toolbench.confusion import lines_of
from runner.benchmarks.toolbench.task_results import (
    Comparison,
    Confusion,
    FigureChange,
    Figures,
    MistakenTool,
    RunOfTasks,
    TaskArmReport,
    ToolbenchReport,
    ToolRow,
)
from runner.benchmarks.without_scorecard import Rate
from runner.report.grid import DASH, Column, Table, clean, count, number, score, table, tenth, words

PROBLEMS_SHOWN = 10
_COLUMNS: tuple[Column[Figures], ...] = (
    words("", lambda row: clean(row.group)),
    number("tasks", lambda row: count(row.tasks)),
    number("resolved", lambda row: _rate(row.resolved), full="resolved (95 % interval)"),
    number("tools", lambda row: score(row.tool_selection_accuracy.value), full="tool selection"),
    number("params", lambda row: score(row.parameter_accuracy.value), full="parameters"),
    number("normal.", lambda row: score(row.normalised_accuracy.value), full="normalised"),
    number("sequence", lambda row: score(row.sequence_match.value), full="sequence match"),
    number("valid", lambda row: score(row.valid_arguments), full="arguments valid by schema"),
    number("calls", lambda row: tenth(row.calls_per_answer), full="calls per answer"),
)


def tables_of(report: ToolbenchReport) -> list[Table]:
    """By category and by difficulty, and what there is to know about the answers."""
    notes = tuple(_notes(report))
    groups = (*report.by_category, report.total)
    return [
        table("By category", _COLUMNS, groups),
        table("By difficulty", _COLUMNS, report.by_difficulty, notes=notes),
    ]


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return DASH
    if rate.low is None or rate.high is None:
        return f"{rate.value:.1%}"
    return f"{rate.value:.1%} ({rate.low * 100:.0f}–{rate.high * 100:.0f})"


def _notes(report: ToolbenchReport) -> Iterator[str]:
    total = report.total
    if report.compat:
        yield f"scored as {report.compat} does, to the letter: not what we would call right"
    if total.answers != total.tasks:
        yield f"{total.answers} answers to {total.tasks} tasks"
    if total.unanswered:
        yield f"{total.unanswered} tasks have no answer: they count as not resolved"
    if total.unlabelled:
        yield f"{total.unlabelled} answers are to tasks without a label: they are in no rate"
    ways = ", ".join(f"{way}: {number}" for way, number in total.ways.items())
    yield f"calls were found as {ways}"
    if total.similar:
        yield f"{total.similar} expected calls are met by a tool the label lists as similar"
    if total.schema_tokens is not None:
        yield f"the tools a task offers take about {total.schema_tokens:,.0f} tokens a request"
    for k, rate in total.pass_at.items():
        yield f"pass@{k}: {rate:.1%}"
    yield from problems_shown(report.data_problems)


def problems_shown(problems: Sequence[str]) -> Iterator[str]:
    """The first of them, and how many more there are."""
    for problem in problems[:PROBLEMS_SHOWN]:
        yield f"data: {clean(problem)}"
    if len(problems) > PROBLEMS_SHOWN:
        yield f"data: and {len(problems) - PROBLEMS_SHOWN} more (`toolbench check` lists all)"


# --- a run --------------------------------------------------------------------------------------

_ARMS: tuple[Column[TaskArmReport], ...] = (
    words("", lambda row: clean(f"{row.model}, {row.arm}")),
    number("cells", lambda row: f"{row.measured}/{row.planned}", full="cells measured/planned"),
    number("resolved", lambda row: _rate(row.report.total.resolved), full="resolved (95 %)"),
    number("tools", lambda row: score(row.report.total.tool_selection_accuracy.value)),
    number("params", lambda row: score(row.report.total.parameter_accuracy.value)),
    number("calls", lambda row: score(row.calls_per_turn), full="calls a turn"),
    number("tokens", lambda row: count(row.input_tokens + row.output_tokens)),
    number("$", lambda row: DASH if row.usd is None else f"{row.usd:.2f}", full="dollars"),
)


def tables_of_run(run: RunOfTasks) -> list[Table]:
    """All arms, the arms' difference, then each arm by category and difficulty."""
    notes = [*run.notices, *map(clean, run.problems[:PROBLEMS_SHOWN])]
    if len(run.problems) > PROBLEMS_SHOWN:
        notes.append(f"and {len(run.problems) - PROBLEMS_SHOWN} more problems")
    shown = [table(f"Run {clean(run.run)}, {run.mode} calls", _ARMS, run.arms, notes=notes)]
    shown += map(comparison_table, run.comparisons)
    for arm in run.arms:
        for part in tables_of(arm.report):
            title = f"{part.title}: {clean(arm.model)}, {clean(arm.arm)}"
            shown.append(replace(part, title=title))
    return shown


# --- confusion ----------------------------------------------------------------------------------

_TAKEN: tuple[Column[tuple[ToolRow, MistakenTool]], ...] = (
    words("expected", lambda pair: _tool(pair[0].tool, pair[0].server)),
    words("taken", lambda pair: _tool(pair[1].tool, pair[1].server) if pair[1].tool else "nothing"),
    number("times", lambda pair: count(pair[1].times)),
    number("of", lambda pair: count(pair[0].expected), full="of expected calls"),
)
_TOOLS: tuple[Column[ToolRow], ...] = (
    words("tool", lambda row: _tool(row.tool, row.server)),
    number("expected", lambda row: count(row.expected), full="expected calls"),
    number("right", lambda row: count(row.right)),
    number("similar", lambda row: count(row.similar), full="by a similar tool"),
    number("wrong", lambda row: count(row.wrong)),
)
_CHANGES: tuple[Column[tuple[str, FigureChange]], ...] = (
    words("", lambda pair: pair[0]),
    number("before", lambda pair: score(pair[1].before)),
    number("after", lambda pair: score(pair[1].after)),
    number("change", lambda pair: _change(pair[1]), full="change (95 % interval)"),
    number("better", lambda pair: count(pair[1].better), full="tasks better"),
    number("worse", lambda pair: count(pair[1].worse), full="tasks worse"),
)
ROWS_SHOWN = 40


def confusion_tables(confusion: Confusion) -> list[Table]:
    """What was taken for what, and how often each tool was right."""
    label = clean(confusion.label)
    lines = list(lines_of(confusion.rows))
    rest = len(lines) - ROWS_SHOWN
    notes = [f"and {rest} more pairs (--json has all)"] if rest > 0 else []
    if not lines:
        notes = ["every expected tool was called"]
    return [
        table(f"Taken for another: {label}", _TAKEN, lines[:ROWS_SHOWN], notes=notes),
        table(f"Expected tools: {label}", _TOOLS, confusion.rows[:ROWS_SHOWN]),
    ]


def comparison_table(found: Comparison) -> Table:
    """Before and after, on the same tasks."""
    notes = [f"{found.tasks} tasks, each against itself"]
    if found.unpaired:
        notes.append(f"{found.unpaired} tasks are answered in one of them alone, and in no figure")
    rows = [
        ("tool selection", found.selection),
        ("parameters", found.parameters),
        ("resolved", found.resolved),
    ]
    title = f"{clean(found.before)} → {clean(found.after)}"
    return table(title, _CHANGES, rows, notes=notes)


def _tool(name: str, server: str) -> str:
    return clean(f"{server}: {name}" if server else name)


def _change(change: FigureChange) -> str:
    if change.mean is None:
        return DASH
    if change.low is None or change.high is None:
        return f"{change.mean:+.3f}"
    return f"{change.mean:+.3f} ({change.low:+.3f} to {change.high:+.3f})"
