"""What is wrong with the data itself: `toolbench check`.

Nothing is repaired: a label that breaks its own schema stays as it was published, and is told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from runner.benchmarks.toolbench.calls import ExtractedCall, Extraction, calls_of
from runner.benchmarks.toolbench.task_scores import bare_name, score
from runner.benchmarks.toolbench.tasks import CALL_TYPES, Expected, Task, Tool
from runner.benchmarks.toolbench.validity import Schemas
from runner.records import canonical_json
from runner.support.errors import Problem


def defects(tasks: Sequence[Task]) -> list[Problem]:
    """Every defect of the tasks, one by one and between them."""
    schemas = Schemas()
    found: list[Problem] = []
    for task in tasks:
        found += _of_task(task, schemas)
    return found + list(_conflicts(tasks))


def _of_task(task: Task, schemas: Schemas) -> Iterator[Problem]:
    def told(message: str) -> Problem:
        return Problem(where=task.id, message=message)

    if task.call_type not in CALL_TYPES:
        yield told(f"call_type is {task.call_type!r}, not one of {', '.join(CALL_TYPES)}")
    if task.call_type == "single" and len(task.expected) > 1:
        yield told(f"a single call, and its label has {len(task.expected)}")
    for tool in task.tools:
        if tool.input_schema and not schemas.is_usable(tool.input_schema):
            yield told(f"the schema of {tool.name} is no JSON Schema")
    for call in task.expected:
        for message in _of_call(call, task, schemas):
            yield told(message)


def _of_call(call: Expected, task: Task, schemas: Schemas) -> Iterator[str]:
    tool = _offered(call, task)
    if tool is None:
        if task.tools:
            yield f"the label calls {call.name}, which is not offered"
        return
    for problem in schemas.problems(tool.input_schema, call.arguments):
        yield f"the label of {call.name} breaks its schema: {problem}"
    properties = tool.input_schema.get("properties")
    if isinstance(properties, Mapping):
        for key in call.arguments.keys() - properties.keys():
            yield f"the label of {call.name} gives {key}, which its schema does not know"


def _offered(call: Expected, task: Task) -> Tool | None:
    name = bare_name(call.name, task)
    return next((tool for tool in task.tools if tool.name in (call.name, name)), None)


def _conflicts(tasks: Iterable[Task]) -> Iterator[Problem]:
    """One query with different labels: no answer can be right by both."""
    by_query: dict[tuple[str, str], dict[str, list[Task]]] = defaultdict(lambda: defaultdict(list))
    for task in tasks:
        label = canonical_json([[call.name, call.arguments] for call in task.expected])
        by_query[task.category, task.query][label].append(task)
    for (_, query), labels in by_query.items():
        if len(labels) > 1:
            first = [group[0].id for group in labels.values()]
            message = f"the query {query[:60]!r} has {len(labels)} different labels"
            yield Problem(where=", ".join(first), message=message)


# --- gold ---------------------------------------------------------------------------------------


def unresolved_gold(tasks: Iterable[Task]) -> Iterator[Problem]:
    """Labels that do not resolve when they are the answer: native, as JSON, and as the data has it.

    There must be none. A harness whose gold fails measures its own faults.
    """
    for task in tasks:
        if not task.expected:
            yield Problem(where=task.id, message="it has no label that could be scored")
            continue
        for form, extraction in _gold_answers(task):
            scored = score(task, extraction.calls)
            if not (scored.resolved and scored.sequence_match):
                message = f"its own label as {form} does not resolve: {scored.details}"
                yield Problem(where=task.id, message=message)


def _gold_answers(task: Task) -> Iterator[tuple[str, Extraction]]:
    calls = tuple(ExtractedCall(call.name, call.arguments) for call in task.expected)
    yield "native calls", Extraction(way="native", calls=calls)
    listed = [{"name": call.name, "parameters": dict(call.arguments)} for call in task.expected]
    text = canonical_json(listed)
    yield "JSON", calls_of(text, task.tool_names)
    yield "JSON in a fence", calls_of(f"I call:\n```json\n{text}\n```\n", task.tool_names)
