"""What a model is shown of a task: natively as tools of its API, or in one prompt for JSON."""

from __future__ import annotations

import re
from typing import Literal

from runner.benchmarks.toolbench.tasks import Task
from runner.protocols import ToolSpec
from runner.records import canonical_json
from runner.support.errors import FairtrialError

TaskMode = Literal["native", "json"]

SYSTEM = """\
Do what the user asks for by calling the tools that it needs, each with the right arguments. \
Call no other tool, and ask nothing back.
"""
JSON_SYSTEM = "Answer with tool calls as JSON. Nobody is there to be asked back.\n"
STATEMENT, QUERY = "{problem_statement}", "{query}"
_PLACES = re.compile(f"{re.escape(STATEMENT)}|{re.escape(QUERY)}")
NATIVE_PROMPT = QUERY
JSON_PROMPT = """\
{problem_statement}

Output your tool calls as a JSON array. Each element should have:
- "name": the tool name
- "parameters": an object with parameter key-value pairs

Example:
[{"name": "tool_name", "parameters": {"param1": "value1"}}]
"""
"""Seed 001, Configuration for Multi-Step Evaluation."""
PROMPTS: dict[TaskMode, str] = {"native": NATIVE_PROMPT, "json": JSON_PROMPT}
SYSTEMS: dict[TaskMode, str] = {"native": SYSTEM, "json": JSON_SYSTEM}
TASK_LINE = "Task:"


def require_usable(prompt: str, where: str) -> None:
    """Raises FairtrialError for a prompt that would ask every task the same."""
    if STATEMENT not in prompt and QUERY not in prompt:
        hint = f"put {STATEMENT} or {QUERY} where the task has to stand"
        raise FairtrialError("the prompt has no place for the task", where=where, hint=hint)


def filled(prompt: str, task: Task) -> str:
    """The prompt of one task."""

    def put_in(place: re.Match[str]) -> str:
        return task.query if place[0] == QUERY else problem_statement(task)

    # All at once: what is put in may quote either place.
    return _PLACES.sub(put_in, prompt)


def problem_statement(task: Task) -> str:
    """As the seed's examples have it, and the definitions that it asks to provide."""
    names = ", ".join(tool.name for tool in task.tools)
    kind = "single-step" if task.call_type == "single" else "multi-step"
    return "\n".join(
        [
            f"Category: {task.category}",
            f"Task Type: {kind} tool call",
            f"Available Tools: {names}",
            "",
            "Tool definitions, one a line:",
            *map(canonical_json, shown_tools(task)),
            "",
            TASK_LINE,
            task.query,
        ]
    )


def shown_tools(task: Task) -> list[dict[str, object]]:
    """Each tool offered, as a model is shown it."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in task.tools
    ]


def tool_specs(task: Task) -> tuple[ToolSpec, ...]:
    """The tools offered, for a provider's API."""
    return tuple(
        ToolSpec(
            name=tool.name,
            description=tool.description,
            input_schema=dict(tool.input_schema) or {"type": "object", "properties": {}},
            origin="server",
        )
        for tool in task.tools
    )
