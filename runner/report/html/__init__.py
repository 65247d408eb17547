"""report.html: one file that needs nothing else. No script, no request, readable on a phone, in the dark, and on paper."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from runner.report import tables
from runner.report.grid import Bar, clean
from runner.report.records import Report

TEMPLATES = Path(__file__).parent


def render(report: Report) -> str:
    """Every value is escaped by the template engine; none is marked safe."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["slug"] = slug
    environment.filters["clean"] = clean
    environment.filters["percent"] = percent
    return environment.get_template("report.html").render(
        report=report, tables=tables, describe=describe
    )


def slug(text: str) -> str:
    """A heading's anchor."""
    return (
        "-".join(
            "".join(
                char if char.isascii() and char.isalnum() else " " for char in text.lower()
            ).split()
        )
        or "section"
    )


def percent(value: float) -> str:
    """A figure in [0, 1] as a place on a bar 100 wide."""
    return f"{min(max(value, 0.0), 1.0) * 100:.1f}"


def describe(bar: Bar) -> str:
    """The bar in words, for those who do not see it."""
    words = f"fairness {bar.value:.3f}"
    if bar.low is not None and bar.high is not None:
        words += f", 95 % interval {bar.low:.3f} to {bar.high:.3f}"
    return words if bar.shell is None else f"{words}; shell {bar.shell:.3f}"
