"""The files a report is written to. A new form is a module with `render`, and a line in FORMATS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import rmtree

from runner.records import Record
from runner.records.run_store import write_bytes, write_whole
from runner.report import html, markdown
from runner.report.exports import EXPORTS
from runner.report.grid import Table
from runner.report.page_data import PageData
from runner.report.plot import Plot
from runner.report.records import Report
from runner.support.errors import FairtrialError


def render_json(report: Record) -> str:
    """Sorted keys, no NaN: equal reports are equal bytes."""
    plain = report.model_dump(mode="json")
    text = json.dumps(plain, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return text + "\n"


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "report.json": render_json,
    "report.md": markdown.render,
    "report.html": html.render,
}
PAGES = "pages"
"""Folder beside report.html: the blocks of a run that is too large for one file."""


def forms(report: Report, data: PageData = html.NO_DATA) -> Iterator[tuple[str, str]]:
    """(Name in the run's folder, content): all forms, and the pages beside report.html."""
    yield from ((name, FORMATS[name](report)) for name in FORMATS if name != "report.html")
    yield from html.pages(report, data)


def write_report(report: Report, folder: Path, data: PageData = html.NO_DATA) -> tuple[Path, ...]:
    """All forms as files in `folder`, each written whole. Raises FairtrialError if one fails.

    Returns those that stand in `folder` itself.
    """
    beside, part = folder / PAGES, folder / f".{PAGES}.part"
    try:
        rmtree(part, ignore_errors=True)
        for name, content in forms(report, data):
            if name in FORMATS:
                write_whole(folder / name, content)
            else:
                # Were each of thousands written whole, a fifth of such a report would wait for
                # the disk: their folder is.
                part.mkdir(exist_ok=True)
                (part / Path(name).name).write_text(content, "utf-8")
        # A page of an earlier report would pass for one of this.
        rmtree(beside, ignore_errors=True)
        if part.is_dir():
            part.replace(beside)
    except OSError as error:
        message = f"cannot write: {error.strerror}"
        raise FairtrialError(message, where=str(beside), hint="free some disk space") from error
    finally:
        rmtree(part, ignore_errors=True)
    return tuple(folder / name for name in FORMATS)


def write_exports(report: Report, folder: Path, asked: Sequence[str]) -> tuple[Path, ...]:
    """Raises FairtrialError for a form that there is not."""
    for name in asked:
        if name not in EXPORTS:
            raise FairtrialError(f"no form {name!r}", hint=f"there are {', '.join(EXPORTS)}")
    paths = []
    for name in asked:
        file, made_of = EXPORTS[name]
        write_bytes(folder / file, made_of(report))
        paths.append(folder / file)
    return tuple(paths)


def write_tables(
    report: Record, run: str, folder: Path, shown: Sequence[Table], plots: Sequence[Plot] = ()
) -> Iterator[Path]:
    """Of a run whose report is tables alone: all forms, as `write_report` writes them."""
    for name, content in {
        "report.json": render_json(report),
        "report.md": markdown.render_tables(shown),
        "report.html": html.render_tables(run, shown, plots),
    }.items():
        write_whole(folder / name, content)
        yield folder / name
