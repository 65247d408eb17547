"""A block of a run on the page: what was asked, each arm's answer, calls and seconds, and two arms
side by side.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from markupsafe import Markup

from runner.records import Scored
from runner.report.grid import clean, lines_of, score
from runner.report.html.answers import answers, citations, facts, facts_of, sizes
from runner.report.html.drawings import call_anchor, cell_anchor, timeline
from runner.report.html.elements import element, joined
from runner.report.page_data import BlockEvidence, CallMade, CellEvidence
from runner.report.records import Report
from runner.report.view import SHELL, unique

ARGUMENTS_SHOWN = 800
SUMMARY_SHOWN = 120
RESULT_SHOWN = 400
SIDE_SHOWN = 70
"""Of a call's arguments, beside another arm's."""
CALLS_SHOWN = 120
"""Of a cell; more are counted."""


def block_anchor(block: BlockEvidence) -> str:
    """Stable for a run: of what the block is."""
    name = f"{block.scenario}-{block.model}-trial-{block.trial}".lower()
    return "block-" + "-".join(re.findall(r"[a-z0-9]+", name))


def block_section(block: BlockEvidence, report: Report) -> Markup:
    """A block, folded; whatever leads into it opens it."""
    told = element("span", *map(_chip, block.cells), class_="told")
    return element(
        "details",
        element("summary", block_title(block, report), " ", told),
        element("div", *_inside(block, report.marks), id=block_anchor(block)),
        class_="block",
    )


def block_title(block: BlockEvidence, report: Report) -> str:
    """Of the three names those that tell it from other blocks."""
    names = [clean(block.scenario)]
    names += [clean(block.model)] * (len(report.models) > 1)
    names += [f"trial {block.trial}"] * (report.trials > 1)
    return " · ".join(names)


def block_link(block: BlockEvidence, report: Report, page: str) -> Markup:
    """A block on a page of its own, and each of its cells."""
    title = element("a", block_title(block, report), href=f"{page}#{block_anchor(block)}")
    cells = [
        element("a", _chip(cell), href=f"{page}#{cell_anchor(cell.cell.id)}")
        for cell in block.cells
    ]
    return element("li", title, " ", element("span", *cells, class_="told"), class_="block")


def _chip(cell: CellEvidence) -> Markup:
    """An arm and what it came to, in the heat map's colour."""
    said = fairness_of(cell)
    heat = f"q{round(float(said) * 10)}" if said[:1].isdigit() else "none"
    return element("span", clean(cell.label, 40), " ", element("b", said, class_=heat))


def fairness_of(cell: CellEvidence) -> str:
    if cell.result is None:
        return "not finished"
    if not cell.result.outcome.is_measurement:
        return "broken"
    found = cell.scorecard.fairness.score if cell.scorecard else None
    return score(found.value) if isinstance(found, Scored) else "unscored"


def _inside(block: BlockEvidence, marks: Sequence[str]) -> Iterator[Markup]:
    prompts = next((cell.answer for cell in block.cells if cell.answer), ())
    for number, step in enumerate(prompts, 1):
        asked = element("div", lines_of(step.prompt, 4000), class_="asked")
        yield joined(element("p", f"Asked, step {number}", class_="kicker"), asked)
    drawn = timeline(block, marks)
    if drawn is not None:
        yield element("figure", drawn, element("figcaption", *_kinds()), class_="figure")
    yield from _fact_by_fact(block)
    shell = next((cell for cell in block.cells if cell.cell.server == SHELL), None)
    for cell in block.cells:
        if shell is not None and cell is not shell and shell.calls and cell.calls:
            yield side_by_side(shell, cell)
    yield from map(_cell, block.cells)


def _kinds() -> Iterator[Markup]:
    for kind in ("shell", "server", "model", "back-off"):
        yield element("span", kind, class_=f"key {kind.replace('-', '')}")
    yield element("span", "× an error", class_="key")


# --- an arm ---------------------------------------------------------------------------------


def _cell(cell: CellEvidence) -> Markup:
    anchor = cell_anchor(cell.cell.id)
    summary = element(
        "summary",
        element("strong", clean(cell.label, 60)),
        " ",
        element("span", " · ".join(_told(cell)), class_="why"),
    )
    inside = element("div", *_of_cell(cell), id=anchor, tabindex="-1")
    return element("details", summary, inside, class_="cell")


def _told(cell: CellEvidence) -> Iterator[str]:
    yield f"fairness {fairness_of(cell)}"
    if cell.result is not None:
        yield f"{cell.result.outcome.kind}: {clean(cell.result.outcome.reason, 120)}"
    if cell.cited:
        yield sizes(cell)
    if cell.effort is not None and cell.effort.new_tokens is not None:
        yield f"{cell.effort.new_tokens:,} tokens"
    if cell.calls:
        yield f"{len(cell.calls)} calls"


def _of_cell(cell: CellEvidence) -> Iterator[Markup]:
    if cell.unreadable:
        yield element("p", f"Its transcript cannot be read: {clean(cell.unreadable)}")
    yield from answers(cell)
    if cell.cited:
        yield citations(cell)
    judged = facts(cell)
    if judged is not None:
        yield element("p", "Facts", class_="heading")
        yield judged
    if cell.calls:
        yield element("p", "Calls", class_="heading")
        for number, call in enumerate(cell.calls[:CALLS_SHOWN]):
            yield _call(call, call_anchor(cell.cell.id, number), number)
        if len(cell.calls) > CALLS_SHOWN:
            more = len(cell.calls) - CALLS_SHOWN
            yield element("p", f"{more} more are in its transcript.")


def _call(call: CallMade, anchor: str, number: int) -> Markup:
    asked, result = call.asked, call.result
    wall = "" if result is None or result.wall_sec is None else f"{result.wall_sec:.2f} s"
    failed = result is not None and result.is_error
    summary = element(
        "summary",
        f"{number + 1}. ",
        element("code", clean(asked.tool, 80)),
        " ",
        element("span", clean(arguments_of(call), SUMMARY_SHOWN), class_="why"),
        " ",
        element("span", f"{asked.origin} {wall}", class_="credit"),
        element("span", " error", class_="verdict hallucinated") if failed else None,
    )
    shown = "The cell ended first." if result is None else lines_of(result.text, RESULT_SHOWN)
    size = "" if result is None else f"Result, {result.size_chars:,} characters in all"
    inside = element(
        "div",
        _arguments(call),
        element("p", size, class_="kicker"),
        element("pre", shown),
        id=anchor,
    )
    return element("details", summary, inside, class_="call")


def _arguments(call: CallMade) -> Markup | None:
    """None where the line above has them whole."""
    given = arguments_of(call)
    whole = len(given) <= SUMMARY_SHOWN and "\n" not in given
    return None if whole else element("pre", lines_of(given, ARGUMENTS_SHOWN))


def arguments_of(call: CallMade) -> str:
    """A shell's command as it is; anything else as JSON."""
    given = call.asked.arguments
    command = given.get("command")
    if len(given) == 1 and isinstance(command, str):
        return command
    return json.dumps(given, ensure_ascii=False, sort_keys=True)


# --- arms beside one another ----------------------------------------------------------------


def side_by_side(shell: CellEvidence, cell: CellEvidence) -> Markup:
    """Calls of two arms, step by step, the first that differs marked."""
    rows, diverged = [], False
    for step in range(max(_steps(shell), _steps(cell))):
        pairs = zip_longest(_calls_of(shell, step), _calls_of(cell, step))
        for place, (left, right) in enumerate(pairs):
            same = left is not None and right is not None and _alike(left[1], right[1])
            first = not same and not diverged
            diverged = diverged or first
            class_ = "same" if same else "first" if first else None
            step_cell = element("th", step + 1, scope="row") if place == 0 else element("td")
            mark = element("td", "first that differs", class_="why") if first else None
            row = (step_cell, _side(shell, left), _side(cell, right), mark)
            rows.append(element("tr", *row, class_=class_))
    names = ("step", clean(shell.label, 40), clean(cell.label, 40))
    head = element("tr", *(element("th", it, scope="col") for it in names), element("td"))
    title = f"{clean(shell.label, 40)} and {clean(cell.label, 40)}, call by call"
    only = element("label", element("input", type="checkbox", class_="only"), " differences only")
    table = element(
        "table", element("caption", title), element("thead", head), element("tbody", *rows)
    )
    region = element("div", table, class_="scroll", role="region", tabindex="0", aria_label=title)
    return element(
        "details", element("summary", f"Side by side: {title}"), only, region, class_="beside"
    )


def _steps(cell: CellEvidence) -> int:
    return max((call.asked.step + 1 for call in cell.calls), default=0)


def _calls_of(cell: CellEvidence, step: int) -> list[tuple[int, CallMade]]:
    shown = list(enumerate(cell.calls))[:CALLS_SHOWN]
    return [(number, call) for number, call in shown if call.asked.step == step]


def _alike(left: CallMade, right: CallMade) -> bool:
    one, other = left.asked, right.asked
    return (one.tool, one.arguments) == (other.tool, other.arguments)


def _side(cell: CellEvidence, found: tuple[int, CallMade] | None) -> Markup:
    if found is None:
        return element("td")
    number, call = found
    words = f"{clean(call.asked.tool, 40)} {clean(arguments_of(call), SIDE_SHOWN)}"
    return element("td", element("a", words, href=f"#{call_anchor(cell.cell.id, number)}"))


def _fact_by_fact(block: BlockEvidence) -> Iterator[Markup]:
    """A row a fact, a column an arm: what each said of it."""
    by_arm = [
        {(fact.step, fact.says): fact.verdict for fact in facts_of(cell)} for cell in block.cells
    ]
    asked = unique(key for found in by_arm for key in found)
    if not asked:
        return
    rows = []
    for step, says in asked:
        said = [found.get((step, says), "") for found in by_arm]
        cells = [element("td", it, class_=f"verdict {it}") for it in said]
        name = element("th", clean(says, 160), scope="row", class_="text")
        rows.append(element("tr", name, *cells, class_="same" if len(set(said)) == 1 else "other"))
    labels = [element("th", clean(cell.label, 40), scope="col") for cell in block.cells]
    head = element("tr", element("th", "fact", scope="col", class_="text"), *labels)
    title = f"Fact by fact: {clean(block.scenario)}, trial {block.trial}"
    table = element(
        "table", element("caption", title), element("thead", head), element("tbody", *rows)
    )
    region = element("div", table, class_="scroll", role="region", tabindex="0", aria_label=title)
    only = element("label", element("input", type="checkbox", class_="only"), " differences only")
    summary = element("summary", f"Fact by fact ({len(asked)})")
    yield element("details", summary, only, region, class_="beside")
