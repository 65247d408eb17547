"""A run of queries as tables, and as a plot of tokens against pass rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.benchmarks.agentbench.judging.errors_of import (
    ERROR_KINDS,
    SIGNS,
    ErrorLabel,
    FailureDiagnosis,
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
            points.append(
                Point(
                    label=clean(row.model, 40),
                    x=row.tokens_per_query,
                    y=rate.value,
                    low=rate.low,
                    high=rate.high,
                )
            )
    if not points:
        return []
    title = "Tokens per query and pass rate (95 % intervals)"
    return [
        Plot(title=title, x_label="tokens per query", y_label="pass rate", points=tuple(points))
    ]


# --- rates --------------------------------------------------------------------------------------


def _percent(rate: Rate | None) -> str:
    return DASH if rate is None or rate.value is None else f"{100 * rate.value:.1f}"


def _with_interval(found: Group | None) -> str:
    if found is None or found.rate.value is None:
        return DASH
    rate = found.rate
    if rate.low is None or rate.high is None:
        return _percent(rate)
    return f"{_percent(rate)} ({rate.low * 100:.0f}–{rate.high * 100:.0f})"


def _named(groups: Sequence[Group], name: str) -> Group | None:
    return next((found for found in groups if found.name == name), None)


def _category(name: str, short: str) -> Column[ModelReport]:
    def cell(row: ModelReport) -> str:
        found = _named(row.by_category, name)
        return _percent(found.rate if found else None)

    return number(short, cell, full=name)


def _scope(name: str, short: str) -> Column[ModelReport]:
    return number(short, lambda row: _with_interval(_named(row.by_scope, name)), full=name)


def _dependency(name: str, short: str) -> Column[ModelReport]:
    return number(short, lambda row: _with_interval(_named(row.by_dependency, name)), full=name)


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
    _scope("single-server", "1 server"),
    _scope("multi-server", "several"),
    _dependency("single-call", "single"),
    _dependency("parallel-call", "parallel"),
    _dependency("sequential-call", "sequential"),
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


def _kind(failure: FailureDiagnosis | None) -> str:
    if failure is None or failure.label is None:
        return ""
    if isinstance(failure.label, Unscored):
        return "none said"
    assert isinstance(failure.label, ErrorLabel)  # noqa: S101 - what is left of the union
    return failure.label.kind


def _signs(pair: FailedQuery) -> str:
    failure = pair[1].failure
    if failure is None:
        return ""
    return ", ".join(filter(None, (_kind(failure), *failure.signs)))


_FAILED: tuple[Column[FailedQuery], ...] = (
    words("query", lambda pair: clean(pair[1].query)),
    words("model", lambda pair: clean(pair[0])),
    words("why", _why),
    words("signs", _signs),
)
