"""The files a report is written to. A new form is a module with `render`, and a line in FORMATS."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from runner.records.run_store import write_whole
from runner.report import html, markdown
from runner.report.records import Report


def render_json(report: Report) -> str:
    """Sorted keys, no NaN: equal reports are equal bytes."""
    plain = report.model_dump(mode="json")
    text = json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return text + "\n"


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "report.json": render_json,
    "report.md": markdown.render,
    "report.html": html.render,
}


def write_report(report: Report, folder: Path) -> tuple[Path, ...]:
    """All forms as files in `folder`, each written whole. Raises FairtrialError if one fails."""
    paths = []
    for name, render in FORMATS.items():
        path = folder / name
        write_whole(path, render(report))
        paths.append(path)
    return tuple(paths)
