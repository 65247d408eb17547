"""What comes out of a run of queries: a verdict on each answer, and figures for each model."""

from __future__ import annotations

from statistics import fmean

from runner.benchmarks.agentbench.judging.errors_of import FailureDiagnosis
from runner.benchmarks.agentbench.judging.mcp_eval import Judgment
from runner.benchmarks.agentbench.queries import Category
from runner.benchmarks.without_scorecard import ModelSpending, Rate
from runner.records import Count, Record, Unscored


class QueryResult(Record):
    """One answer to one query."""

    query: str
    category: Category
    trial: Count
    outcome: str
    answer: str
    verdict: Judgment | Unscored
    failure: FailureDiagnosis | None
    """Of an answer that failed."""
    actions: Count
    tokens: Count


class Group(Record):
    """Of all queries, or of those of one category, scope or dependency."""

    name: str
    queries: Count
    answers: Count
    """That have a verdict: queries × trials, less what is broken or unscored."""
    passed: Count
    rate: Rate
    """Mean over queries; Wilson's interval where each has one answer, else over queries."""


class ModelReport(ModelSpending):
    """What one model did."""

    model: str
    planned: Count
    measured: Count
    unscored: Count
    """Measured, and without a verdict: in no rate."""
    by_category: tuple[Group, ...]
    """In the paper's order; those without a query are missing."""
    average: float | None
    """Of the six categories' pass rates in percent; None unless each has one."""
    by_scope: tuple[Group, ...]
    by_dependency: tuple[Group, ...]
    total: Group
    """All queries, each counted once: not the average, where categories differ in size."""
    tokens_per_query: float | None
    """Of measured answers, caches included."""
    actions_per_query: float | None
    signs: dict[str, Count]
    """What rules find in failures; one may have several."""
    kinds: dict[str, Count]
    """What a judge calls them."""
    unlabelled: Count
    """Failures that a judge was asked about in vain."""
    results: tuple[QueryResult, ...]


class QueriesReport(Record):
    """A run of queries, judged."""

    schema_version: int = 1
    run: str
    mode: str
    judge: str
    ranks: bool = False
    """Never: no judge of outcomes has passed a gate."""
    notices: tuple[str, ...]
    problems: tuple[str, ...]
    """Cells whose files contradict each other, or whose query is not in the run."""
    models: tuple[ModelReport, ...]


def average_of_categories(rates: list[float]) -> float:
    """The paper's Avg.: the plain mean of its six columns, in percent, as Table 1 rounds it."""
    return round(fmean(rates), 1)
