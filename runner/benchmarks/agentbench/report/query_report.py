"""A run of queries, judged and reported: figures for each model, and why answers failed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.benchmarks.agentbench.judging.errors_of import (
    ERROR_KINDS,
    SIGNS,
    ErrorLabel,
    FailureDiagnosis,
    QueryTranscript,
    label_ask,
    signs_of,
    told_in,
)
from runner.benchmarks.agentbench.judging.mcp_eval import (
    VALUES,
    Judgment,
    JudgmentOrUnscored,
    ModelOutcomeJudge,
    OutcomeJudge,
)
from runner.benchmarks.agentbench.queries import CATEGORIES, Query
from runner.benchmarks.agentbench.query_run import QueryRunSetup, read_setup
from runner.benchmarks.agentbench.report.query_results import (
    Group,
    ModelReport,
    QueriesReport,
    QueryResult,
    average_of_categories,
)
from runner.benchmarks.without_scorecard import kinds_of, mean_of, rate_of, spent_on
from runner.records import Cell, Outcome, Unscored
from runner.records.run_store import LoadedRun, RunStore
from runner.records.transcript_files import read_transcript

SCOPES = ("single-server", "multi-server")
DEPENDENCIES = ("single-call", "parallel-call", "sequential-call")
NOT_RANKED = "Nobody is ranked: {}."
VALUES_NOTICE = (
    "Judged by `values`, a program that looks for the reference's figures, dates and names. It "
    "cannot tell a name in other words, values exchanged between things that are called otherwise "
    "in the reference, nor what is false beside a right value."
)
UNPROVEN = (
    "Judged by {judge}, whose verdicts on this run were held against nobody's: let people judge "
    "some of the answers, and `fairtrial agreement` says what they are worth."
)


@dataclass(frozen=True, kw_only=True)
class AnsweredQuery:
    """A measured and believed cell, read."""

    cell: Cell
    query: Query
    outcome: Outcome
    told: QueryTranscript


# --- what is there ------------------------------------------------------------------------------


def answered_queries(
    store: RunStore, run: LoadedRun, setup: QueryRunSetup
) -> tuple[list[AnsweredQuery], list[str]]:
    """Every answer, and what is wrong with the run."""
    queries = {query.id: query for query in setup.queries}
    answers: list[AnsweredQuery] = []
    problems = list(map(str, run.contradictions))
    for item in run.cells:
        attempt = store.counted_attempt(item.cell.id)
        if item.result is None or attempt is None or not (item.measured and item.believed):
            continue
        query = queries.get(item.cell.scenario)
        if query is None:
            problems.append(f"{item.cell.scenario}: the run holds no such query")
            continue
        told = told_in(read_transcript(attempt.transcript))
        answers.append(
            AnsweredQuery(cell=item.cell, query=query, outcome=item.result.outcome, told=told)
        )
    return answers, problems


def report_of_run(store: RunStore, run: LoadedRun, judge: OutcomeJudge) -> QueriesReport:
    """Everything that the run's transcripts say, by one judge.

    Raises as OutcomeJudge.judge; what was judged until then is kept.
    """
    setup = read_setup(store)
    answers, problems = answered_queries(store, run, setup)
    judged = judge.judge([(one.query, one.told.answer) for one in answers])
    failures = failures_of(answers, judged, judge)
    results: dict[str, list[QueryResult]] = defaultdict(list)
    for place, (answer, verdict) in enumerate(zip(answers, judged, strict=True)):
        results[answer.cell.model].append(_result(answer, verdict, failures.get(place)))
    models = list(dict.fromkeys(cell.model for cell in run.plan.cells))
    return QueriesReport(
        run=run.plan.run,
        mode=setup.mode,
        judge=judge.name,
        notices=tuple(notices(models, judge.name)),
        problems=tuple(problems),
        models=tuple(_model_report(model, results[model], store, run) for model in models),
    )


def notices(models: Iterable[str], judge: str) -> Iterator[str]:
    """What is said of models that are no language models, and of the judge."""
    kinds = kinds_of(models)
    programs = [kind for kind in kinds if not kind.language_model]
    for kind in programs:
        yield kind.notice
    if programs and len(programs) == len(kinds):
        yield NOT_RANKED.format("no language model answered")
    yield VALUES_NOTICE if judge == VALUES else UNPROVEN.format(judge=judge)


# --- failures -----------------------------------------------------------------------------------


def failures_of(
    answers: Sequence[AnsweredQuery], judged: Sequence[JudgmentOrUnscored], judge: OutcomeJudge
) -> dict[int, FailureDiagnosis]:
    """Of those that failed, by their places: what rules say, and the judge, if it is a model."""
    found: dict[int, FailureDiagnosis] = {}
    failed: dict[int, Judgment] = {}
    for place, (answer, verdict) in enumerate(zip(answers, judged, strict=True)):
        if isinstance(verdict, Judgment) and not verdict.passed:
            failed[place] = verdict
            found[place] = signs_of(answer.query, answer.told, answer.outcome, verdict)
    for place, label in _labels(answers, failed, judge).items():
        found[place] = found[place].model_copy(update={"label": label})
    return found


def _labels(
    answers: Sequence[AnsweredQuery], failed: Mapping[int, Judgment], judge: OutcomeJudge
) -> dict[int, ErrorLabel | Unscored]:
    if not isinstance(judge, ModelOutcomeJudge):
        return {}
    asks = {}
    for place, verdict in failed.items():
        one = answers[place]
        asks[place] = label_ask(judge.model, one.query, one.told, verdict, place)
    said = judge.model.asking.said(list(asks.values()))
    return {place: said[ask.key] for place, ask in asks.items()}


def _result(
    answer: AnsweredQuery, verdict: JudgmentOrUnscored, failure: FailureDiagnosis | None
) -> QueryResult:
    return QueryResult(
        query=answer.query.id,
        category=answer.query.category,
        trial=answer.cell.trial,
        outcome=answer.outcome.kind,
        answer=answer.told.answer,
        verdict=verdict,
        failure=failure,
        actions=answer.told.actions,
        tokens=answer.told.tokens,
    )


# --- figures ------------------------------------------------------------------------------------


def _model_report(
    model: str, results: Sequence[QueryResult], store: RunStore, run: LoadedRun
) -> ModelReport:
    cells = [cell for cell in run.plan.cells if cell.model == model]
    failures = [result.failure for result in results if result.failure is not None]
    categories = tuple(groups(results, CATEGORIES, lambda one: one.category))
    return ModelReport(
        model=model,
        planned=len(cells),
        measured=len(results),
        unscored=sum(isinstance(result.verdict, Unscored) for result in results),
        by_category=categories,
        average=average_of(categories),
        by_scope=tuple(groups(results, SCOPES, lambda one: _parts(one)[0])),
        by_dependency=tuple(groups(results, DEPENDENCIES, lambda one: _parts(one)[1])),
        total=group("all", results),
        tokens_per_query=mean_of(result.tokens for result in results),
        actions_per_query=mean_of(result.actions for result in results),
        **dict(spent_on(cells, model, store, run)),
        signs=_counted(SIGNS, (sign for failure in failures for sign in failure.signs)),
        kinds=_counted(ERROR_KINDS, _kinds(failures)),
        unlabelled=sum(isinstance(failure.label, Unscored) for failure in failures),
        results=tuple(results),
    )


def _parts(result: QueryResult) -> tuple[str, str]:
    """`multi-server`, `parallel-call`"""
    scope = next(it for it in SCOPES if result.category.startswith(it))
    return scope, result.category.removeprefix(f"{scope}-")


def groups(
    results: Iterable[QueryResult], names: Sequence[str], of: Callable[[QueryResult], str]
) -> Iterator[Group]:
    """Those that have an answer, in the order of the names."""
    parts: dict[str, list[QueryResult]] = defaultdict(list)
    for result in results:
        parts[of(result)].append(result)
    for name in names:
        if parts[name]:
            yield group(name, parts[name])


def group(name: str, results: Sequence[QueryResult]) -> Group:
    by_query: dict[str, list[bool]] = defaultdict(list)
    for result in results:
        if isinstance(result.verdict, Judgment):
            by_query[result.query].append(result.verdict.passed)
    answers = [passed for trials in by_query.values() for passed in trials]
    return Group(
        name=name,
        queries=len({result.query for result in results}),
        answers=len(answers),
        passed=sum(answers),
        rate=rate_of(by_query.values()),
    )


def average_of(categories: Sequence[Group]) -> float | None:
    """Of six; of fewer it would be the average of another benchmark."""
    rates = [100 * one.rate.value for one in categories if one.rate.value is not None]
    return average_of_categories(rates) if len(rates) == len(CATEGORIES) else None


def _kinds(failures: Iterable[FailureDiagnosis]) -> Iterator[str]:
    for failure in failures:
        if isinstance(failure.label, ErrorLabel):
            yield failure.label.kind


def _counted(names: Sequence[str], found: Iterable[str]) -> dict[str, int]:
    """In the order of the names, zeros among them."""
    counts = Counter(found)
    return {name: counts[name] for name in names}
