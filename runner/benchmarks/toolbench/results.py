"""What comes out of the benchmark: a result for each answer, figures for each group of tasks."""

from __future__ import annotations

from typing import Any

from runner.benchmarks.toolbench.calls import Way
from runner.records import Count, Record, Unit


class AskedCall(Record):
    """A call as the model asked for it."""

    name: str
    arguments: dict[str, Any]


class TaskResult(Record):
    """One answer to one task."""

    uuid: str
    category: str
    difficulty: str
    trial: Count
    """From 1."""
    answered: bool
    """False if there is none: it counts as not resolved."""
    way: Way
    """How the calls were found in the answer."""
    remarks: tuple[str, ...]
    calls: tuple[AskedCall, ...]
    resolved: bool
    tool_selection_accuracy: Unit
    parameter_accuracy: Unit
    sequence_match: bool
    details: str
    error: str
    normalised_accuracy: Unit
    """parameter_accuracy with numbers as numbers and texts trimmed."""
    similar: tuple[tuple[str, str], ...]
    """(expected, used)."""
    wrong: tuple[tuple[str, str], ...]
    """(expected, taken instead); the latter empty if nothing was."""
    unasked: Count
    checked_calls: Count
    """Calls to a tool whose schema the task has."""
    valid_calls: Count
    """Of these, those whose arguments fit it."""


class Rate(Record):
    """A share or a mean, with its 95 % interval; None where there is nothing to take it of."""

    value: Unit | None
    low: Unit | None = None
    high: Unit | None = None


class Figures(Record):
    """Of all tasks, or of those of one category or difficulty."""

    group: str
    tasks: Count
    answers: Count
    """Tasks × trials. Unanswered ones are among them."""
    unanswered: Count
    unlabelled: Count
    """Answers to tasks without a label: they are in no rate."""
    resolved: Rate
    tool_selection_accuracy: Rate
    parameter_accuracy: Rate
    normalised_accuracy: Rate
    sequence_match: Rate
    calls_per_answer: float | None
    valid_arguments: Unit | None
    """Of the calls to tools whose schema is known."""
    similar: Count
    """Expected calls that a similar tool stands for."""
    ways: dict[str, int]
    """How many answers' calls were found in each way."""
    schema_tokens: float | None
    """Of the tools a task offers, on average; estimated from characters."""
    pass_at: dict[int, float]
    """k -> pass@k over trials, the unbiased estimator; empty with one trial."""


class ToolbenchReport(Record):
    schema_version: int = 1
    compat: str
    """`mcpbr` for that tool's literal scores; empty for ours."""
    total: Figures
    by_category: tuple[Figures, ...]
    by_difficulty: tuple[Figures, ...]
    data_problems: tuple[str, ...]
    """What is wrong with data and responses, as far as reading them showed."""
    results: tuple[TaskResult, ...]
