"""What models answered, out of a file: `toolbench score --responses FILE`.

JSON or JSON lines, in any of these forms; a task that is answered several times has trials:

    {"<uuid>": <answer>, …}
    [{"uuid": "<uuid>", "response": <answer>}, …]

An answer is a text, or calls as JSON. Other loaders' words for both keys are read too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.benchmarks.toolbench.confusion import Labelled
from runner.benchmarks.toolbench.lenient_json import UnreadableError, read_of_any_depth
from runner.benchmarks.toolbench.task_results import ToolbenchReport
from runner.benchmarks.toolbench.task_scoring import TaskScorer, answers_to, report_of
from runner.benchmarks.toolbench.tasks import Task
from runner.support.errors import FairtrialError, Problem

_ID_KEYS = ("uuid", "id", "task_id", "instance_id")
_ANSWER_KEYS = (
    *("response", "answer", "output", "solution", "prediction", "text", "content"),
    *("tool_calls", "calls", "function_call_result"),
)
_HINT = 'give {"<uuid>": <answer>} or lines of {"uuid": …, "response": …}'


@dataclass(frozen=True, kw_only=True)
class Responses:
    by_task: Mapping[str, tuple[Any, ...]]
    """Task id -> its answers, one for each trial."""
    problems: tuple[Problem, ...]

    def unknown(self, tasks: Iterable[Task]) -> list[str]:
        """Answers to no task that is asked about."""
        known = {task.id for task in tasks}
        missing = sorted(self.by_task.keys() - known)
        return [f"an answer to {name!r}, which is no task" for name in missing]


def read_responses(path: Path) -> Responses:
    """Raises FairtrialError if the file cannot be read, or holds no answer at all."""
    problems: list[Problem] = []
    by_task: dict[str, list[Any]] = {}
    for name, answer in _pairs(_value(path, problems), str(path), problems):
        by_task.setdefault(name, []).append(answer)
    if not by_task:
        raise FairtrialError("it holds no answer", where=str(path), hint=_HINT)
    return Responses(
        by_task={name: tuple(answers) for name, answers in by_task.items()},
        problems=tuple(problems),
    )


def report_of_responses(
    tasks: Sequence[Task], path: Path, compat: str, problems: Iterable[str]
) -> ToolbenchReport:
    """`problems`: of the tasks' data; those of the file are told with them."""
    responses = read_responses(path)
    found = [*problems, *map(str, responses.problems), *responses.unknown(tasks)]
    scorer = TaskScorer(compat=compat)
    results = [scorer.result(one) for one in answers_to(tasks, responses.by_task)]
    return report_of(tasks, results, compat=compat, problems=found)


def labelled_responses(tasks: Sequence[Task], path: Path) -> Labelled:
    """The tasks that a file answers, and how."""
    by_task, scorer = read_responses(path).by_task, TaskScorer()
    answered = [task for task in tasks if task.id in by_task]
    results = [scorer.result(one) for one in answers_to(answered, by_task)]
    return Labelled(label=str(path), against="", tasks=answered, results=results)


def _value(path: Path, problems: list[Problem]) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except FileNotFoundError as error:
        raise FairtrialError("no such file", where=str(path), hint=_HINT) from error
    try:
        return _read(text, str(path), problems)
    except UnreadableError:
        return list(_lines(text, str(path), problems))


def _lines(text: str, where: str, problems: list[Problem]) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        here = f"{where} line {number}"
        try:
            yield _read(line, here, problems)
        except UnreadableError as error:
            raise FairtrialError(f"it is no JSON: {error}", where=here, hint=_HINT) from error


def _read(text: str, where: str, problems: list[Problem]) -> Any:
    """Raises UnreadableError."""
    remarks: dict[str, None] = {}
    # Refused as a whole, a file would lose every answer for one that is nested too deeply.
    value = read_of_any_depth(text, remarks.setdefault)
    problems += [Problem(where=where, message=remark) for remark in remarks]
    return value


def _pairs(value: Any, where: str, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and not _id_of(value):
        yield from value.items()
        return
    rows: Iterable[Any] = [value] if isinstance(value, Mapping) else value
    if not isinstance(rows, list):
        return  # a text or a number: the caller finds no answer
    for index, row in enumerate(rows):
        name = _id_of(row)
        if name is None:
            message = f"no task is named: one of {', '.join(_ID_KEYS)} is needed"
            problems.append(Problem(where=f"{where} [{index}]", message=message))
        else:
            yield name, next((row[key] for key in _ANSWER_KEYS if key in row), None)


def _id_of(row: Any) -> str | None:
    if not isinstance(row, Mapping):
        return None
    for key in _ID_KEYS:
        if isinstance(row.get(key), str | int):
            return str(row[key])
    return None
