"""report.html: one file that needs nothing else, and in a large run pages of its cells beside it.

No request; readable without a script, on a phone, in the dark, and on paper. Its policy names the
one style and the one script by their digests, so that nothing else could run if it were there.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from runner.records import GradingSheet
from runner.report import tables
from runner.report.grid import Bar, Table, clean
from runner.report.html.block_section import block_anchor, block_link, block_section, block_title
from runner.report.html.cited_files import CitedFiles
from runner.report.html.drawings import budget, cell_anchor, forest, pareto
from runner.report.html.elements import element, joined
from runner.report.page_data import PHASES, BlockEvidence, PageData
from runner.report.plot import Plot
from runner.report.records import Report
from runner.report.verdict_sentence import extent, verdicts

TEMPLATES = Path(__file__).parent
NO_DATA = PageData()
REPORT_ASSETS = ("report.css", "report.js")
PAGE_BYTES = 5_000_000
"""Beyond this a mail drops the page and a phone gives up: its blocks then lie beside it."""
SECTIONS_BYTES = 0.96 * PAGE_BYTES
"""The rest is for tables and plots."""


class _Section(NamedTuple):
    title: str
    markup: Markup
    cited: CitedFiles
    """Of its cells alone, for a page of its own."""


def pages(report: Report, data: PageData = NO_DATA) -> Iterator[tuple[str, str]]:
    """(Name, page): in a large run pages/*.html, one a block, and report.html last.

    One block's evidence is in memory at a time, once it is clear that all would be too much.
    """
    sections: dict[str, _Section] = {}
    where: dict[str, str] = {}
    links: list[Markup] = []
    cited, size, fits = CitedFiles(), 0, True
    for block in data.blocks:
        file = f"pages/{block_anchor(block)}.html"
        sections[file] = section = _section(block, report)
        links.append(block_link(block, report, file))
        where |= {cell_anchor(cell.cell.id): file for cell in block.cells}
        if fits:
            cited.add(section.cited)
            size += len(section.markup.encode())
            fits = size + cited.size_bytes < SECTIONS_BYTES
        if not fits:
            yield from _beside(report, sections)
            sections = {}
    if fits:
        inside = [*(section.markup for section in sections.values()), cited.markup()]
        page = _page(report, data, inside, [], dict.fromkeys(where, ""))
        if len(page.encode()) <= PAGE_BYTES:
            yield "report.html", page
            return
    yield from _beside(report, sections)
    yield "report.html", _page(report, data, [], links, where)


def _section(block: BlockEvidence, report: Report) -> _Section:
    cited = CitedFiles(*block.cells)
    return _Section(block_title(block, report), block_section(block, report), cited)


def _beside(report: Report, sections: Mapping[str, _Section]) -> Iterator[tuple[str, str]]:
    template = template_of("block.html")
    for file, section in sections.items():
        made = template.render(
            report=report,
            section=joined(section.markup, section.cited.markup()),
            title=section.title,
            **assets_of(*REPORT_ASSETS),
        )
        yield file, made


def render(report: Report, data: PageData = NO_DATA) -> str:
    """Every value is escaped; none is marked safe but what `element` made."""
    return dict(pages(report, data))["report.html"]


def _page(
    report: Report,
    data: PageData,
    sections: Sequence[Markup],
    beside: Sequence[Markup],
    where: Mapping[str, str],
) -> str:
    said = list(verdicts(report))
    plots = list(pareto(report, data))
    return template_of("report.html").render(
        report=report,
        data=data,
        tables=tables,
        describe=describe,
        verdicts=said,
        extent=extent,
        forest=forest(report, data),
        plots=plots,
        whiskers=any(point.low is not None for plot in plots for point in plot.points),
        budget=budget(report, data),
        phases=PHASES,
        sections=sections,
        beside=beside,
        where=where,
        cell_anchor=cell_anchor,
        strip=list(tables.provenance(report)),
        **assets_of(*REPORT_ASSETS),
    )


@cache
def assets_of(style: str, script: str) -> dict[str, object]:
    """A style and a script, and the policy that allows these two."""
    css, js = (f"\n{(TEMPLATES / name).read_text('utf-8')}" for name in (style, script))
    policy = f"default-src 'none'; style-src '{_digest(css)}'; script-src '{_digest(js)}'"
    # Ours, and read from beside this file: nothing of a run is in them.
    return {"css": Markup(css), "js": Markup(js), "policy": policy}  # noqa: S704


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def render_tables(title: str, shown: Iterable[Table], plots: Iterable[Plot] = ()) -> str:
    """Tables, then plots, on a page of their own; escaped as `render` does."""
    return template_of("tables.html").render(
        title=title, shown=list(shown), plots=list(plots), **assets_of(*REPORT_ASSETS)
    )


def sheet_page(sheet: GradingSheet) -> str:
    """A grading sheet as one file: no request, and no name of an arm, a judge or a grader in it.

    The items stand in it as JSON that nothing in an answer can end.
    """
    data = sheet.model_dump_json().replace("<", "\\u003c")
    return template_of("sheet.html").render(
        sheet=sheet,
        data=Markup(data),  # noqa: S704 - JSON without any `<`
        **assets_of("sheet.css", "sheet.js"),
    )


def template_of(name: str) -> Template:
    return _environment().get_template(name)


@cache
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
    environment.filters["with_figures"] = with_figures
    return environment


def slug(text: str) -> str:
    """A heading's anchor: `Cells: planned, measured` -> `cells-planned-measured`."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower())) or "section"


_FIGURE = re.compile(
    r"""
    ( \d+\.\d+ [ ]×                          # 1.4 ×
    | [+-]? \d+\.\d+ (?: [ ]\[ [^\]]+ \] )?  # 0.06 [0.01, 0.11]
    )
    """,
    re.VERBOSE,
)


def with_figures(text: str) -> Markup:
    """A sentence whose figures stand out, each on one line with its interval."""
    parts = _FIGURE.split(text)
    return joined(
        *(element("b", part) if at % 2 else part for at, part in enumerate(parts)),
    )


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
