"""report.md: the report as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runner.report import tables
from runner.report.grid import Table, clean
from runner.report.records import Report, ScenarioReport

_FENCE = "`" * 4


def render(report: Report) -> str:
    """The whole report, one newline at its end."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def render_tables(shown: Iterable[Table]) -> str:
    """Tables alone, each under its title."""
    lines = (line for table in shown for line in _titled(table, 2))
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str) -> str:
    """Text as itself: no pipe ends a cell, no markup, link, image or tag begins."""
    # The backslash comes first: later, it would escape the escapes of the others.
    for mark in ("\\", "|", "*", "`", "<", "&", "~"):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("](", "]\\(").replace("![", "!\\[")


def _lines(report: Report) -> Iterator[str]:
    for notice in report.notices:
        yield f"**{escape(notice)}**"
        yield ""
    yield from _heading(report, 1, escape(clean(report.named)))
    yield escape(report.question)
    yield ""
    for name, text in tables.facts(report):
        yield f"- {name}: {escape(text)}"
    yield ""
    for table in tables.of_run(report):
        yield from _titled(table, 2, report.mark)
    yield from _heading(report, 2, "What may not be concluded")
    for line in report.not_concluded:
        yield f"- {escape(line)}"
    yield ""
    for section in report.sections:
        yield from _heading(report, 2, f"Scenario {escape(clean(section.id))}")
        yield from _section(section, report)
    yield from _heading(report, 2, "How to repeat it")
    yield from _repeat(report)


def _heading(report: Report, level: int, text: str) -> Iterator[str]:
    yield f"{'#' * level} {report.mark}{text}"
    yield ""


def _table(table: Table) -> Iterator[str]:
    if table.rows:
        yield from _rows(table)
        if table.notes:
            # Without a line between them, GitHub would take the notes for another row.
            yield ""
    for note in table.notes:
        yield f"{escape(note)}  "


def _rows(table: Table) -> Iterator[str]:
    yield _row(column.full for column in table.columns)
    sides = (" :-- " if column.text else " --: " for column in table.columns)
    yield f"|{'|'.join(sides)}|"
    yield from map(_row, table.rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(escape, cells))} |"


def _titled(table: Table, level: int, mark: str = "") -> Iterator[str]:
    yield f"{'#' * level} {mark}{escape(table.title)}"
    yield ""
    yield from _table(table)
    yield ""


def _section(section: ScenarioReport, of: Report) -> Iterator[str]:
    where = f"repository: {section.repository}; {section.language}; {section.steps} steps"
    yield f"**{escape(clean(section.title))}.** {escape(clean(section.description, 1000))}"
    yield ""
    yield f"- slant: {escape(clean(section.slant))}"
    yield f"- {escape(clean(where))}"
    yield ""
    for table in tables.of_scenario(section, of):
        yield from _titled(table, 3)


def _repeat(report: Report) -> Iterator[str]:
    yield f"{_FENCE}sh"
    # A fence inside the command would end the block, and the rest would be read as Markdown.
    yield clean(report.repeat.command, 4000).replace(_FENCE, "")
    yield _FENCE
    yield ""
    for table in tables.repeat(report):
        yield from _titled(table, 3)
