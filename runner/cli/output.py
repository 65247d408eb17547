"""What the command says: results to stdout, all else to stderr. Nothing else of the code prints."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing and json here would cost --help half of its time
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from runner.cli import shapes


OK, FAILED, OUR_BUG, INTERRUPTED = 0, 1, 70, 130
WIDEST_COLUMNS = 120


def tell(text: str) -> None:
    """To the person: stderr, so that stdout stays what a script asked for."""
    print(text, file=sys.stderr, flush=True)


def show(text: str) -> None:
    """The verb's result: stdout."""
    print(text, flush=True)


def show_json(value: Any) -> None:
    import json

    show(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def show_either(value: Any, text: str, *, as_json: bool) -> int:
    """A result for a script or for a person; nothing of an empty text."""
    if as_json:
        show_json(value)
    elif text:
        show(text)
    return OK


def show_estimate(estimate: shapes.Estimate | shapes.RunEstimate, *, as_json: bool) -> int:
    text = "\n".join(estimate.lines())
    return show_either(estimate.model_dump(mode="json"), text, as_json=as_json)


def show_tables(record: shapes.Record, tables: Sequence[shapes.Table], *, as_json: bool) -> int:
    from runner.report.terminal import render_tables

    if as_json:
        show_json(record.model_dump(mode="json"))
    else:
        show(render_tables(tables, width=table_columns()))
    return OK


def table_columns() -> int:
    import shutil

    return min(shutil.get_terminal_size((80, 24)).columns, WIDEST_COLUMNS)


def help_columns() -> int:
    """As shutil.get_terminal_size has it: COLUMNS, else the terminal's width, else 80."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # stdout is closed, or no terminal
        return 80


def choose(question: str, choices: Sequence[str]) -> str:
    """What the person chooses; empty if nobody is there to be asked."""
    if not sys.stdin.isatty():
        return ""
    for number, choice in enumerate(choices, 1):
        tell(f"  {number} {choice}")
    print(f"{question} [1-{len(choices)}] ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip()
    is_one = answer.isdigit() and 1 <= int(answer) <= len(choices)
    return choices[int(answer) - 1] if is_one else ""
