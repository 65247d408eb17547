"""JSON in an answer, as blocks: coding agents often answer with it."""

from __future__ import annotations

import json
from typing import Any

from runner.scoring.judges.checklist.sentences import Context, TextBlock, units_of

MAX_DEPTH = 40
"""Deeper nesting is left out: a thousand brackets would end in Python's own limit of recursion."""
MAX_SHORT_WORDS = 12
"""A field of up to as many words labels its object; a longer one says something about it."""


def json_container(text: str) -> Any | None:
    """The object or list that a text is, or None if it is something else."""
    text = text.strip()
    if not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def json_blocks(value: Any, context: Context, name: str = "", depth: int = 0) -> list[TextBlock]:
    """The blocks of an object or a list. `name` is the key it stands under."""
    if depth > MAX_DEPTH:
        return []
    if isinstance(value, dict):
        return _object_blocks(value, context, name, depth)
    below = context
    if name:
        below = context.under(_label(name))
    return _list_blocks(value, below, depth)


def _object_blocks(
    value: dict[str, Any], context: Context, name: str, depth: int
) -> list[TextBlock]:
    """An object's short fields (name, file, line) are the context of its other fields."""
    short, long = _fields(value)
    card = " ; ".join(filter(None, [_label(name), *short]))
    below = context
    if card:
        below = context.under(card)
    block: TextBlock = []
    if short:
        block += units_of(card, context)
    for text in long:
        block += units_of(text, below)
    blocks = [block]
    for key, item in value.items():
        if not _is_scalar(item):
            blocks += json_blocks(item, below, key, depth + 1)
    return blocks


def _fields(value: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The short and the long of an object's fields that hold no list or object, as texts."""
    short: list[str] = []
    long: list[str] = []
    for key, item in value.items():
        text = f"{_label(key)}: {item}"
        if not _is_scalar(item):
            continue
        if len(str(item).split()) <= MAX_SHORT_WORDS:
            short.append(text)
        else:
            long.append(text)
    return short, long


def _list_blocks(values: list[Any], context: Context, depth: int) -> list[TextBlock]:
    """A list's texts are sentences under its key."""
    blocks: list[TextBlock] = []
    for value in values:
        if _is_scalar(value):
            blocks.append(units_of(str(value), context))
        else:
            blocks += json_blocks(value, context, depth=depth + 1)
    return blocks


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _label(key: str) -> str:
    """A key as a term may name it: `calls_next` as it stands, and as the two words it is."""
    if "_" not in key:
        return key
    return f"{key} {key.replace('_', ' ')}"
