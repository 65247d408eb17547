"""Records in the published form and the documented one, written by us: no published one is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.benchmarks.toolbench.tasks import Task, read_task
from runner.support.errors import Problem

PRICE = {
    "name": "get_stock_price",
    "description": "The price of a stock by its ticker symbol.",
    "input_schema": {
        "type": "object",
        "properties": {"symbol": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["symbol"],
    },
}
RATE = {
    "name": "get_exchange_rate",
    "description": "The rate between two currencies.",
    "input_schema": {
        "type": "object",
        "properties": {"from": {"type": "string"}, "to": {"type": "string"}},
        "required": ["from", "to"],
    },
}
NEWS: dict[str, Any] = {
    "name": "get_news",
    "description": "Headlines about a company.",
    "input_schema": {"type": "object", "properties": {"company": {"type": "string"}}},
}
LIST = {
    "name": "list_markets",
    "description": "Every market that is known.",
    "input_schema": {"type": "object", "properties": {}},
}
TOOLS = [PRICE, RATE, NEWS, LIST]


def call(name: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """One call of a label, in the published form."""
    return {
        "name": name,
        "step": "1",
        "id": "1",
        "mcp_server": "stocks",
        "similar_tools": [],
        "input": arguments if arguments is not None else {},
        "output": {"status_code": 200, "result": {"content": "ok"}},
        **more,
    }


def record(*label: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """One record of the published form."""
    calls = label or (call("get_stock_price", {"symbol": "AAPL"}),)
    return {
        "uuid": "a-1",
        "category": "finance",
        "call_type": "single" if len(calls) == 1 else "multi",
        "tools": TOOLS,
        "mcp_tools_dict": {"stocks": [tool["name"] for tool in TOOLS]},
        "query": "What is the price of Apple?",
        "function_call_label": list(calls),
        **more,
    }


def task(*label: Mapping[str, Any], **more: Any) -> Task:
    return read(record(*label, **more))[0]


def read(raw: Mapping[str, Any]) -> tuple[Task, Sequence[str]]:
    """The task, and what is said to be wrong with it."""
    problems: list[Problem] = []
    made = read_task(raw, "data.json [0]", problems)
    return made, [str(problem) for problem in problems]
