"""Queries that are as their categories ask; tests change one thing in them."""

from __future__ import annotations

from typing import Any

from runner.benchmarks.agentbench.queries import (
    Category,
    DeadEnd,
    Query,
    ReferenceCall,
    ReferenceValue,
)

TRENCH = ReferenceCall(
    server="unit_calc",
    tool="convert_length",
    arguments={"value": 137.5, "from": "m", "to": "ft"},
    gives={"feet": r"([\d.]+) ft"},
    result="451.1155 ft",
)
PRICE = ReferenceCall(
    server="price_list",
    tool="total_price",
    arguments={"length": "{{feet}}", "each": 3.2},
    result='{"total": 1443.5696}',
)
RENTAL = ReferenceCall(
    server="unit_calc",
    tool="convert_mass",
    arguments={"value": 85, "from": "kg", "to": "lb"},
    result="187.3929 lb",
)
DIGGER = ReferenceCall(
    server="price_list",
    tool="day_rate",
    arguments={"machine": "digger"},
    result='{"machine": "digger", "day_rate": 212.75}',
)

PUMP = DeadEnd(
    server="price_list",
    tool="day_rate",
    arguments={"machine": "pump"},
    result="there is no pump for hire",
)


def query_of(category: Category, **changes: Any) -> Query:
    """The sound query of a category, with `changes`."""
    known: dict[str, Any] = {
        "id": "trench",
        "category": category,
        "query": "I line 137.5 m of trench and pay 3.2 a foot. Also my pump weighs 85 kilos.",
        "provenance": "written by hand for a test",
    }
    known |= SOUND[category] | changes
    known.setdefault("servers", tuple(dict.fromkeys(call.server for call in known["calls"])))
    return Query(**known)


def value(text: str, call: int = 1, **more: Any) -> ReferenceValue:
    return ReferenceValue(text=text, call=call, **more)


def unfed(call: ReferenceCall, **changes: Any) -> ReferenceCall:
    return call.model_copy(update={"gives": {}, **changes})


FEET = value("451.12 ft", shown="451.1155 ft")
POUNDS = value("187.39 lb", 2, shown="187.3929 lb")
TOTAL = value("1,443.57", 2, shown="1443.5696")
SOUND: dict[Category, dict[str, Any]] = {
    "single-server-single-call": {
        "calls": (unfed(TRENCH),),
        "values": (FEET,),
        "reference_answer": "That is 451.12 ft of trench.",
    },
    "single-server-parallel-call": {
        "calls": (unfed(TRENCH), RENTAL),
        "values": (FEET, POUNDS),
        "reference_answer": "The trench is 451.12 ft long and the pump weighs 187.39 lb.",
    },
    "single-server-sequential-call": {
        "calls": (TRENCH, PRICE.model_copy(update={"server": "unit_calc"})),
        "values": (TOTAL,),
        "reference_answer": "Lining it costs 1,443.57.",
    },
    "multi-server-single-call": {
        "calls": (unfed(TRENCH),),
        "values": (FEET,),
        "reference_answer": "That is 451.12 ft of trench.",
    },
    "multi-server-parallel-call": {
        "calls": (unfed(TRENCH), DIGGER),
        "values": (FEET, value("212.75", 2)),
        "reference_answer": "451.12 ft of trench; the machine is 212.75 a day.",
    },
    "multi-server-sequential-call": {
        "calls": (TRENCH, PRICE),
        "values": (FEET, TOTAL),
        "reference_answer": "At 451.12 ft, lining it costs 1,443.57.",
    },
}
