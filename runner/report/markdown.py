"""report.md: the report as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from runner.report import tables
from runner.report.grid import Table, clean
from runner.report.records import Report, ScenarioReport


def render(report: Report) -> str:
    """The whole report, one newline at its end."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def escape(text: str) -> str:
    """Text as itself: no pipe ends a cell, no markup, link, image or tag begins."""
    for mark in ("\\", "|", "*", "`", "<", "&", "~"):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("](", "]\\(").replace("![", "!\\[")


def _lines(report: Report) -> Iterator[str]:
    for notice in report.notices:
        yield from (f"**{escape(notice)}**", "")
    yield from (
        f"# {_gated(report, escape(clean(report.run)))}",
        "",
        escape(report.question),
        "",
        *_facts(report),
        "",
    )
    for table in tables.of_run(report):
        yield from (f"## {_gated(report, escape(table.title))}", "", *_table(table), "")
    yield from (
        f"## {_gated(report, 'What may not be concluded')}",
        "",
        *(f"- {escape(line)}" for line in report.not_concluded),
        "",
    )
    for section in report.sections:
        yield from (
            f"## {_gated(report, 'Scenario ' + escape(clean(section.id)))}",
            "",
            *_section(section),
        )
    yield from (f"## {_gated(report, 'How to repeat it')}", "", *_repeat(report))


def _gated(report: Report, heading: str) -> str:
    return f"UNGATED · {heading}" if report.ungated else heading


def _facts(report: Report) -> Iterator[str]:
    for name, text in tables.facts(report):
        yield f"- {name}: {escape(text)}"


def _table(table: Table) -> Iterator[str]:
    if table.rows:
        yield "| " + " | ".join(escape(column.full) for column in table.columns) + " |"
        yield "|" + "|".join(" :-- " if column.text else " --: " for column in table.columns) + "|"
        for row in table.rows:
            yield "| " + " | ".join(map(escape, row)) + " |"
    if table.rows and table.notes:
        yield ""
    yield from (f"{escape(note)}  " for note in table.notes)


def _section(section: ScenarioReport) -> Iterator[str]:
    yield from (
        f"**{escape(clean(section.title))}.** {escape(clean(section.description, 1000))}",
        "",
    )
    yield from (f"- slant: {escape(clean(section.slant))}", f"- {_where(section)}", "")
    for table in tables.of_scenario(section):
        yield from (f"### {escape(table.title)}", "", *_table(table), "")


def _where(section: ScenarioReport) -> str:
    return escape(
        clean(f"repository: {section.repository}; {section.language}; {section.steps} steps")
    )


def _repeat(report: Report) -> Iterator[str]:
    fence = "`" * 4
    yield from (f"{fence}sh", clean(report.repeat.command, 4000).replace(fence, ""), fence, "")
    for table in tables.repeat(report):
        yield from (f"### {escape(table.title)}", "", *_table(table), "")
