"""What scoring MCPToolBench++ answers costs; figures for tests/bench.py."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from runner.benchmarks.toolbench.calls import calls_of
from runner.benchmarks.toolbench.task_scores import score
from runner.benchmarks.toolbench.task_scoring import AnsweredTask, TaskScorer
from runner.benchmarks.toolbench.tasks import Task, read_task

TASKS = 6_000
TOOLS = 12
"""Offered in each; the published records have 1 to 20."""


def _record(number: int) -> dict[str, Any]:
    tools = [
        {
            "name": f"tool_{place}",
            "description": f"What tool {place} does, in a sentence of some length.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "limit": {"type": "integer"},
                    "exact": {"type": "boolean"},
                },
                "required": ["query"],
            },
        }
        for place in range(TOOLS)
    ]
    label = {
        "name": f"tool_{number % TOOLS}",
        "mcp_server": "some-server",
        "similar_tools": [{"name": f"tool_{(number + 1) % TOOLS}"}],
        "input": {"query": f"what is number {number}", "limit": number, "exact": True},
    }
    return {
        "uuid": f"task-{number}",
        "query": "?",
        "category": "search",
        "call_type": "single",
        "tools": tools,
        "mcp_tools_dict": {"some-server": [tool["name"] for tool in tools]},
        "function_call_label": [label],
    }


def _answer(number: int) -> str:
    """Right, wrong, in a fence, or by a server's prefix: a quarter of each."""
    name = f"tool_{number % TOOLS}"
    arguments = {"query": f"what is number {number}", "limit": number, "exact": True}
    if number % 4 == 1:
        name = "tool_0"
    if number % 4 == 2:
        name = f"mcp__some-server__{name}"
    text = json.dumps([{"name": name, "parameters": arguments}])
    return f"```json\n{text}\n```" if number % 4 == 3 else text


def figures(count: int) -> list[dict[str, Any]]:
    """As fields of bench.Figure."""
    tasks = [read_task(_record(number), "", []) for number in range(count)]
    answers = [_answer(number) for number in range(count)]
    scorer = TaskScorer()
    scored = _a_second(lambda task, text: score(task, calls_of(text, task.tool_names).calls))
    recorded = _a_second(
        lambda task, text: scorer.result(AnsweredTask(task=task, trial=1, answer=text))
    )
    return [
        {
            "name": "toolbench: answers scored a CPU second",
            "value": scored(tasks, answers),
            "bound": 20_000.0,
            "at_least": True,
            "detail": f"extraction and scores of {count:,} answers",
        },
        {
            "name": "toolbench: answers recorded a CPU second",
            "value": recorded(tasks, answers),
            "bound": 3_000.0,
            "at_least": True,
            "detail": "the same with their records, and arguments held against schemas",
        },
    ]


def _a_second(
    work: Callable[[Task, str], Any],
) -> Callable[[Sequence[Task], Sequence[str]], float]:
    def measured(tasks: Sequence[Task], answers: Sequence[str]) -> float:
        return max(_once(work, tasks, answers) for _ in range(3))

    return measured


def _once(work: Callable[[Task, str], Any], tasks: Sequence[Task], answers: Sequence[str]) -> float:
    begun = time.process_time()
    for task, text in zip(tasks, answers, strict=True):
        work(task, text)
    return len(tasks) / (time.process_time() - begun)
