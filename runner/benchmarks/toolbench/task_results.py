"""What comes out of the benchmark: a result for each answer, figures for each group of tasks."""

from __future__ import annotations

from typing import Any

from runner.benchmarks.toolbench.calls import CallFormat
from runner.benchmarks.without_scorecard import ModelSpending, Rate
from runner.records import Count, Record, UnitInterval


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
    way: CallFormat
    """How the calls were found in the answer."""
    remarks: tuple[str, ...]
    calls: tuple[AskedCall, ...]
    resolved: bool
    tool_selection_accuracy: UnitInterval
    parameter_accuracy: UnitInterval
    sequence_match: bool
    details: str
    error: str
    normalised_accuracy: UnitInterval
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
    valid_arguments: UnitInterval | None
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


# --- confusion ----------------------------------------------------------------------------------


class MistakenTool(Record):
    tool: str
    """Empty where nothing was called in the expected one's place."""
    server: str
    times: Count


class ToolRow(Record):
    """An expected tool, over all answers."""

    tool: str
    server: str
    expected: Count
    """Calls."""
    right: Count
    """Of these; similar tools are among them."""
    similar: Count
    wrong: Count
    taken: tuple[MistakenTool, ...]
    """What was called instead, most often first."""


class Confusion(Record):
    label: str
    """Whose answers these are."""
    rows: tuple[ToolRow, ...]
    """The tool that is missed most often first."""


class FigureChange(Record):
    """A figure of the same tasks before and after; None without a task."""

    before: UnitInterval | None
    after: UnitInterval | None
    mean: float | None
    """After less before."""
    low: float | None
    """Of its 95 % interval; None for fewer than two tasks."""
    high: float | None
    better: Count
    """Tasks."""
    worse: Count


class Comparison(Record):
    before: str
    after: str
    tasks: Count
    """In both."""
    unpaired: Count
    """In one of them alone: they are in no figure here."""
    selection: FigureChange
    parameters: FigureChange
    resolved: FigureChange


class ConfusionReport(Record):
    schema_version: int = 1
    confusions: tuple[Confusion, ...]
    comparisons: tuple[Comparison, ...]


# --- a run --------------------------------------------------------------------------------------


class TaskArmReport(ModelSpending):
    """One model with the tools of one arm."""

    model: str
    arm: str
    """`published`, or a variant's name."""
    planned: Count
    """Cells."""
    measured: Count
    """Those that are in the figures."""
    calls_per_turn: float | None
    report: ToolbenchReport


class RunOfTasks(Record):
    """report.json of a run of tasks."""

    schema_version: int = 1
    run: str
    mode: str
    notices: tuple[str, ...]
    """What the reader has to know first."""
    problems: tuple[str, ...]
    """What contradicts the evidence, or is not what it was."""
    arms: tuple[TaskArmReport, ...]
    comparisons: tuple[Comparison, ...]
    """Of each model with the published tools and with the variant's."""
