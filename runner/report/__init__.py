"""What a run shows, in four forms made from one record. A new form is a file, and a line in FORMATS."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from runner.report.data import build_report
from runner.report.markdown import render_markdown
from runner.report.page import render_page
from runner.report.records import Report
from runner.report.terminal import render_terminal, terminal_text
from runner.store import write_whole

__all__ = ["FORMATS", "Report", "build_report", "render_json", "render_terminal", "terminal_text", "write_report"]


def render_json(report: Report) -> str:
    """Sorted keys, no NaN: equal reports are equal bytes."""
    return json.dumps(report.as_json(), sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "report.json": render_json,
    "report.md": render_markdown,
    "report.html": render_page,
}


def write_report(report: Report, folder: Path) -> tuple[Path, ...]:
    """All forms as files in `folder`, each written whole. Raises FairtrialError where one cannot be written."""
    paths = tuple(folder / name for name in FORMATS)
    for path in paths:
        write_whole(path, FORMATS[path.name](report))
    return paths
