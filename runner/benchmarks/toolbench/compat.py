"""What the tool mcpbr makes of an answer, to the letter, so that figures can be compared with it.

Nothing here is what we would call right: calls are not used up, the first call of a name is
compared, a label without arguments scores 0.0, values are compared as Python compares them, and
the published labels' `input` is not read at all. What ends that tool with a traceback is an `error`
here. Facts from its source (mcpbr, benchmarks/mcptoolbench.py) and from parity.json.
"""

from __future__ import annotations

import json
from typing import Any

from runner.benchmarks.toolbench.task_scores import (
    MIN_PARAMETERS,
    MIN_SELECTION,
    MOST_CALLS_RATIO,
    NO_LABEL,
    TaskScore,
)


def score_as_mcpbr(label: Any, answer: Any) -> TaskScore:
    """`label` and `answer` as they are published and given, read by nobody before."""
    if not label:
        return TaskScore(resolved=False, error=NO_LABEL)
    try:
        calls = _calls(answer)
        if not calls:
            return TaskScore(resolved=False, expected=len(label))
        return _compared(label, calls)
    except (AttributeError, TypeError, KeyError, ValueError, RecursionError) as error:
        return TaskScore(resolved=False, error=f"{type(error).__name__}: {error}")


def _calls(answer: Any) -> Any:
    try:
        value = json.loads(answer)
    except json.JSONDecodeError:
        return []
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return value.get("tool_calls", [])
    return []


def _compared(label: Any, calls: Any) -> TaskScore:
    # That tool asks each call for its name before anything else: what has none ends it there.
    named = list(map(_name, label))
    selected = sum(_is_called(name, calls) for name in named)
    right, total = _parameters(label, calls)
    selection = selected / len(label)
    parameters = right / total if total else 0.0
    sequence = len(calls) == len(label) and all(map(_same_name, calls, label))
    few_enough = len(calls) <= len(label) * MOST_CALLS_RATIO
    return TaskScore(
        resolved=selection >= MIN_SELECTION and parameters >= MIN_PARAMETERS and few_enough,
        tool_selection_accuracy=selection,
        parameter_accuracy=parameters,
        sequence_match=sequence,
        calls=len(calls),
        expected=len(label),
    )


def _name(call: Any) -> Any:
    return call.get("name", "")


def _is_called(name: Any, calls: Any) -> bool:
    return any(name == _name(call) for call in calls)


def _same_name(call: Any, expected: Any) -> bool:
    return bool(_name(call) == _name(expected))


def _parameters(label: Any, calls: Any) -> tuple[int, int]:
    """How many are right, and how many there are."""
    right = total = 0
    for expected in label:
        wanted = expected.get("parameters", {})
        total += len(wanted)
        first = next((call for call in calls if _name(call) == _name(expected)), None)
        if first is not None:
            given = first.get("parameters", {})
            right += sum(given.get(key) == value for key, value in wanted.items())
    return right, total
