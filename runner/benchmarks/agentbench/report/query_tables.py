"""A run of queries as tables, and as a plot of tokens against pass rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.benchmarks.agentbench.judging.errors_of import (
    ERROR_KINDS,
    SIGNS,
    ErrorLabel,
)
from runner.benchmarks.agentbench.judging.mcp_eval import Judgment
from runner.benchmarks.agentbench.queries import CATEGORIES
from runner.benchmarks.agentbench.report.query_results import (
    Group,
    ModelReport,
    QueriesReport,
    QueryResult,
)
from runner.benchmarks.without_scorecard import Rate
from runner.records import Unscored
from runner.report.grid import DASH, Column, Table, clean, count, number, table, tenth, words
from runner.report.plot import Plot, Point

PROBLEMS_SHOWN = 10
FAILURES_SHOWN = 40
_SHORT: tuple[str, ...] = ("1·single", "1·par.", "1·seq.", "n·single", "n·par.", "n·seq.")
"""Of CATEGORIES: one server or several · dependency of the calls."""
FailedQuery = tuple[str, QueryResult]
"""A model, and its answer that failed."""


def tables_of_run(run: QueriesReport) -> list[Table]:
    """What it is, the paper's table, by scope and dependency, cost, and why answers failed."""
    how = f"{clean(run.mode)}, judged by {clean(run.judge)}"
    return [
        table(f"Run {clean(run.run)}: {how}", _RATES, (), notes=run.notices),
        table("Pass rate, percent", _RATES, run.models, notes=tuple(_notes(run))),
        table("By server scope and call dependency", _PARTS, run.models, notes=_INTERVALS),
        table("Cells and what they took", _COSTS, run.models, notes=_COST_NOTES),
        *_error_tables(run),
    ]


def plots_of_run(run: QueriesReport) -> list[Plot]:
    """Tokens per query against pass rate, as the paper's figure 5; none without an answer."""
    points = []
    for row in run.models:
        rate = row.total.rate
        if rate.value is not None and row.tokens_per_query is not None:
            label, x = clean(row.model, 40), row.tokens_per_query
            points.append(Point(label=label, x=x, y=rate.value, low=rate.low, high=rate.high))
    title = "Tokens per query and pass rate (95 % intervals)"
    plot = Plot(title=title, x_label="tokens per query", y_label="pass rate", points=tuple(points))
    return [plot] if points else []


# --- rates --------------------------------------------------------------------------------------


def _percent(found: Group | None) -> str:
    value = found.rate.value if found else None
    return DASH if value is None else f"{100 * value:.1f}"


def _with_interval(found: Group | None) -> str:
    rate = found.rate if found else Rate(value=None)
    if rate.low is None or rate.high is None:
        return _percent(found)
    return f"{_percent(found)} ({rate.low * 100:.0f}–{rate.high * 100:.0f})"


def _named(groups: Sequence[Group], name: str) -> Group | None:
    return next((found for found in groups if found.name == name), None)


def _category(name: str, short: str) -> Column[ModelReport]:
    return number(short, lambda row: _percent(_named(row.by_category, name)), full=name)


def _part(name: str, short: str) -> Column[ModelReport]:
    """Of a scope or a dependency."""

    def cell(row: ModelReport) -> str:
        return _with_interval(_named([*row.by_scope, *row.by_dependency], name))

    return number(short, cell, full=name)


def _model(row: ModelReport) -> str:
    return clean(row.model)


_RATES: tuple[Column[ModelReport], ...] = (
    words("", _model),
    *map(_category, CATEGORIES, _SHORT),
    number("avg.", lambda row: tenth(row.average), full="average of the six"),
    number("all", lambda row: _with_interval(row.total), full="all queries (95 %)"),
)
_PARTS: tuple[Column[ModelReport], ...] = (
    words("", _model),
    _part("single-server", "1 server"),
    _part("multi-server", "several"),
    _part("single-call", "single"),
    _part("parallel-call", "parallel"),
    _part("sequential-call", "sequential"),
)
_INTERVALS = ("percent with 95 % intervals: Wilson's over queries, drawn if there are trials",)
_COSTS: tuple[Column[ModelReport], ...] = (
    words("", _model),
    number("planned", lambda row: count(row.planned)),
    number("measured", lambda row: count(row.measured)),
    number("broken", lambda row: count(row.planned - row.measured), full="broken or to do"),
    number("unscored", lambda row: count(row.unscored)),
    number("tokens", lambda row: count(row.tokens_per_query), full="tokens per query"),
    number("actions", lambda row: tenth(row.actions_per_query), full="actions per query"),
    number("$", lambda row: DASH if row.usd is None else f"{row.usd:.2f}", full="dollars"),
)
_COST_NOTES = (
    "tokens per query: in and out, caches included, of measured cells; dollars: of every attempt",
)


def _notes(run: QueriesReport) -> Iterator[str]:
    yield (
        "1 or n servers; one call, parallel or sequential calls. Avg.: mean of the six, as the "
        "paper has it; all: every query once"
    )
    if any(row.average is None for row in run.models):
        yield f"{DASH}: no average without an answer in each of the six categories"
    for row in run.models:
        if row.unscored:
            yield f"{clean(row.model)}: {row.unscored} answers have no verdict, and are in no rate"
    yield from map(clean, run.problems[:PROBLEMS_SHOWN])
    if len(run.problems) > PROBLEMS_SHOWN:
        yield f"and {len(run.problems) - PROBLEMS_SHOWN} more problems"


# --- failures -----------------------------------------------------------------------------------


def _counted(name: str, of: str) -> Column[ModelReport]:
    return number(name, lambda row: count(getattr(row, of)[name]))


def _error_tables(run: QueriesReport) -> Iterator[Table]:
    failures = list(_failures(run))
    if not failures:
        return
    if any(sum(row.kinds.values()) + row.unlabelled for row in run.models):
        kinds = [words("", _model), *(_counted(kind, "kinds") for kind in ERROR_KINDS), _UNLABELLED]
        yield table("What failures are, as the judge says", kinds, run.models)
    signs = [words("", _model), *(_counted(sign, "signs") for sign in SIGNS)]
    notes = ("found by rules, in failures alone; one failure may show several, or none",)
    yield table("What failures show", signs, run.models, notes=notes)
    rest = len(failures) - FAILURES_SHOWN
    notes = (f"and {rest} more (report.json has all)",)
    shown = failures[:FAILURES_SHOWN]
    yield table("Failures", _FAILED, shown, notes=notes if rest > 0 else ())


_UNLABELLED: Column[ModelReport] = number("none said", lambda row: count(row.unlabelled))


def _failures(run: QueriesReport) -> Iterator[FailedQuery]:
    for row in run.models:
        for result in row.results:
            if result.failure is not None:
                yield row.model, result


def _why(pair: FailedQuery) -> str:
    verdict = pair[1].verdict
    return clean(verdict.reason if isinstance(verdict, Judgment) else "", 160)


def _signs(pair: FailedQuery) -> str:
    failure = pair[1].failure
    if failure is None:
        return ""
    kind = "none said" if isinstance(failure.label, Unscored) else ""
    kind = failure.label.kind if isinstance(failure.label, ErrorLabel) else kind
    return ", ".join(filter(None, (kind, *failure.signs)))


_FAILED: tuple[Column[FailedQuery], ...] = (
    words("query", lambda pair: clean(pair[1].query)),
    words("model", lambda pair: clean(pair[0])),
    words("why", _why),
    words("signs", _signs),
)
