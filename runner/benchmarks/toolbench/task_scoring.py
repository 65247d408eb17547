"""Answers to tasks -> a result for each, and figures for each category and difficulty."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.benchmarks.toolbench.calls import NO_CALLS, Extraction, calls_of
from runner.benchmarks.toolbench.compat import score_as_mcpbr
from runner.benchmarks.toolbench.task_prompts import shown_tools
from runner.benchmarks.toolbench.task_results import AskedCall, Figures, TaskResult, ToolbenchReport
from runner.benchmarks.toolbench.task_scores import NO_LABEL, TaskScore, score
from runner.benchmarks.toolbench.tasks import Task
from runner.benchmarks.toolbench.validity import Schemas
from runner.benchmarks.without_scorecard import Rate, mean_of, rate_of
from runner.records import canonical_json
from runner.scoring.statistics import any_passes, mean
from runner.support.token_estimate import estimated_tokens

MCPBR = "mcpbr"


@dataclass(frozen=True, kw_only=True)
class AnsweredTask:
    """What one trial of a task gave."""

    task: Task
    trial: int
    answer: Any
    """A text, JSON, or an Extraction of native calls; None if there is none."""


class TaskScorer:
    """Scores answers one by one; `compat` is MCPBR or empty."""

    def __init__(self, *, compat: str = "") -> None:
        self.compat = compat
        self.schemas = Schemas()

    def result(self, answered: AnsweredTask) -> TaskResult:
        """Never raises, whatever the model wrote."""
        task = answered.task
        extraction = _extraction(answered)
        scored = self._score(answered, extraction)
        fits = [self.schemas.fits(task, call) for call in extraction.calls]
        checked = [fit for fit in fits if fit is not None]
        return TaskResult(
            uuid=task.id,
            category=task.category,
            difficulty=task.difficulty,
            trial=answered.trial,
            answered=answered.answer is not None,
            way=extraction.way,
            remarks=extraction.remarks,
            calls=tuple(
                AskedCall(name=call.name, arguments=dict(call.arguments))
                for call in extraction.calls
            ),
            resolved=scored.resolved,
            tool_selection_accuracy=scored.tool_selection_accuracy,
            parameter_accuracy=scored.parameter_accuracy,
            sequence_match=scored.sequence_match,
            details=scored.details,
            error=scored.error,
            normalised_accuracy=scored.normalised_accuracy,
            similar=scored.similar,
            wrong=scored.wrong,
            unasked=scored.unasked,
            checked_calls=len(checked),
            valid_calls=sum(checked),
        )

    def _score(self, answered: AnsweredTask, extraction: Extraction) -> TaskScore:
        if self.compat != MCPBR:
            return score(answered.task, extraction.calls)
        return score_as_mcpbr(answered.task.raw_label, _text_for_mcpbr(answered.answer))


def _text_for_mcpbr(answer: Any) -> Any:
    """That tool reads text alone: what is none is put before it as it would have it."""
    if isinstance(answer, Extraction):
        calls = [{"name": call.name, "parameters": dict(call.arguments)} for call in answer.calls]
        return canonical_json(calls)
    if answer is None or isinstance(answer, str):
        return answer or ""
    return json.dumps(answer)


def _extraction(answered: AnsweredTask) -> Extraction:
    if answered.answer is None:
        return NO_CALLS
    if isinstance(answered.answer, Extraction):
        return answered.answer
    return calls_of(answered.answer, answered.task.argument_schemas)


def answers_to(
    tasks: Iterable[Task], by_task: Mapping[str, Sequence[Any]]
) -> Iterator[AnsweredTask]:
    """Every task with each of its answers; one without any has an answer that is None."""
    for task in tasks:
        for trial, answer in enumerate(by_task.get(task.id) or (None,), 1):
            yield AnsweredTask(task=task, trial=trial, answer=answer)


# --- figures ------------------------------------------------------------------------------------


def report_of(
    tasks: Sequence[Task],
    results: Sequence[TaskResult],
    *,
    compat: str = "",
    problems: Sequence[str] = (),
) -> ToolbenchReport:
    """Figures over all results, by category and by difficulty."""
    tokens = {task.id: schema_tokens(task) for task in tasks}

    def groups(key: Callable[[TaskResult], str]) -> tuple[Figures, ...]:
        by_key = grouped(results, key)
        return tuple(figures_of(name, by_key[name], tokens) for name in sorted(by_key))

    return ToolbenchReport(
        compat=compat,
        total=figures_of("all", results, tokens),
        by_category=groups(lambda result: result.category),
        by_difficulty=groups(lambda result: result.difficulty),
        data_problems=tuple(problems),
        results=tuple(results),
    )


def schema_tokens(task: Task) -> int:
    """What the tools offered cost in each request, estimated."""
    return estimated_tokens(len(canonical_json(shown_tools(task))))


def figures_of(group: str, results: Sequence[TaskResult], tokens: Mapping[str, int]) -> Figures:
    """`tokens`: task id -> tokens of its tools' schemas."""
    labelled = [result for result in results if result.error != NO_LABEL]
    by_task = grouped(labelled, lambda result: result.uuid)
    checked = sum(result.checked_calls for result in results)
    return Figures(
        group=group,
        tasks=len({result.uuid for result in results}),
        answers=len(results),
        unanswered=sum(not result.answered for result in results),
        unlabelled=len(results) - len(labelled),
        resolved=_rate(by_task, lambda result: result.resolved),
        tool_selection_accuracy=_rate(by_task, lambda result: result.tool_selection_accuracy),
        parameter_accuracy=_rate(by_task, lambda result: result.parameter_accuracy),
        normalised_accuracy=_rate(by_task, lambda result: result.normalised_accuracy),
        sequence_match=_rate(by_task, lambda result: result.sequence_match),
        calls_per_answer=mean_of([len(result.calls) for result in results if result.answered]),
        valid_arguments=sum(it.valid_calls for it in results) / checked if checked else None,
        similar=sum(len(result.similar) for result in results),
        ways=dict(sorted(Counter(result.way for result in results).items())),
        schema_tokens=mean_of([tokens.get(name, 0) for name in by_task]),
        pass_at=_pass_at(by_task),
    )


def grouped(
    results: Iterable[TaskResult], key: Callable[[TaskResult], str]
) -> dict[str, list[TaskResult]]:
    by_key: dict[str, list[TaskResult]] = defaultdict(list)
    for result in results:
        by_key[key(result)].append(result)
    return by_key


def _rate(
    by_task: Mapping[str, Sequence[TaskResult]], figure: Callable[[TaskResult], float]
) -> Rate:
    return rate_of(list(map(figure, trials)) for trials in by_task.values())


def _pass_at(by_task: Mapping[str, Sequence[TaskResult]]) -> dict[int, float]:
    """For every k that all tasks have trials for."""
    fewest = min(map(len, by_task.values()), default=0)
    if fewest < 2:
        return {}
    passed = [(len(it), sum(result.resolved for result in it)) for it in by_task.values()]
    return {k: mean(any_passes(*trials, k) for trials in passed) for k in range(1, fewest + 1)}
