"""A grading sheet as one file: no request, and no name of an arm, a judge or a grader in it."""

from __future__ import annotations

from markupsafe import Markup

from runner.records import GradingSheet
from runner.report.html import assets_of, template_of


def sheet_page(sheet: GradingSheet) -> str:
    """The items stand in it as JSON that nothing in an answer can end."""
    data = sheet.model_dump_json().replace("<", "\\u003c")
    return template_of("sheet.html").render(
        sheet=sheet,
        data=Markup(data),  # noqa: S704 - JSON without any `<`
        **assets_of("sheet.css", "sheet.js"),
    )
