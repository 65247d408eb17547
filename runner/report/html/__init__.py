"""report.html: one file that needs nothing else.

No script and no request; readable on a phone, in the dark, and on paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from runner.report import tables
from runner.report.grid import Bar, Table, clean
from runner.report.plot import Plot
from runner.report.records import Report

TEMPLATES = Path(__file__).parent


def render(report: Report) -> str:
    """Every value is escaped by the template engine; none is marked safe."""
    template = _environment().get_template("report.html")
    return template.render(report=report, tables=tables, describe=describe)


def render_tables(title: str, shown: Iterable[Table], plots: Iterable[Plot] = ()) -> str:
    """Tables, then plots, on a page of their own; escaped as `render` does."""
    template = _environment().get_template("tables.html")
    return template.render(title=title, shown=list(shown), plots=list(plots))


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        # A misspelt name is an error: by default it would be an empty cell that nobody misses.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["slug"] = slug
    environment.filters["clean"] = clean
    environment.filters["percent"] = percent
    return environment


def slug(text: str) -> str:
    """A heading's anchor: `Cells: planned, measured` -> `cells-planned-measured`."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower())) or "section"


def percent(value: float) -> str:
    """A figure in [0, 1] as a place on a bar 100 wide."""
    # An interval may reach past 1; unclamped, its whisker would be drawn over the next column.
    return f"{min(max(value, 0.0), 1.0) * 100:.1f}"


def describe(bar: Bar) -> str:
    """The bar in words, for those who do not see it."""
    words = f"fairness {bar.value:.3f}"
    if bar.low is not None and bar.high is not None:
        words += f", 95 % interval {bar.low:.3f} to {bar.high:.3f}"
    if bar.shell is not None:
        words += f"; shell {bar.shell:.3f}"
    return words
