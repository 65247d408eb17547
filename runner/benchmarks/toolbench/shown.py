"""The benchmark's figures as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.benchmarks.toolbench.results import Figures, Rate, ToolbenchReport
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
    yield from _note_on_answers(total)
    ways = ", ".join(f"{way}: {number}" for way, number in total.ways.items())
    yield f"calls were found as {ways}"
    if total.similar:
        yield f"{total.similar} expected calls are met by a tool the label lists as similar"
    if total.schema_tokens is not None:
        yield f"the tools a task offers take about {total.schema_tokens:,.0f} tokens a request"
    for k, rate in total.pass_at.items():
        yield f"pass@{k}: {rate:.1%}"
    yield from problems_shown(report.data_problems)


def _note_on_answers(total: Figures) -> Iterator[str]:
    if total.answers != total.tasks:
        yield f"{total.answers} answers to {total.tasks} tasks"
    if total.unanswered:
        yield f"{total.unanswered} tasks have no answer: they count as not resolved"
    if total.unlabelled:
        yield f"{total.unlabelled} answers are to tasks without a label: they are in no rate"


def problems_shown(problems: Sequence[str], limit: int = PROBLEMS_SHOWN) -> Iterator[str]:
    """The first of them, and how many more there are."""
    for problem in problems[:limit]:
        yield f"data: {clean(problem)}"
    if len(problems) > limit:
        yield f"data: and {len(problems) - limit} more (`toolbench check` lists all)"
