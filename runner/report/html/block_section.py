"""A block of a run on the page: what was asked, each arm's answer, calls and seconds, and two arms
side by side.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from markupsafe import Markup

from runner.records import FactVerdict, Scored
from runner.report.grid import clean, lines_of, score
from runner.report.html.answers import MarkedAnswer, answers, citations, fact_said, facts_of, sizes
from runner.report.html.drawings import call_anchor, cell_anchor, timeline
from runner.report.html.elements import element, joined
from runner.report.page_data import BlockEvidence, CallMade, CellEvidence
from runner.report.records import Report
from runner.report.view import SHELL, unique

ARGUMENTS_SHOWN = 800
SUMMARY_SHOWN = 120
RESULT_SHOWN = 240
SIDE_SHOWN = 50
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
    marked = [MarkedAnswer(cell) for cell in block.cells]
    # First of all, since only then it is known which quotes stand in them.
    said = [tuple(answers(it)) for it in marked]
    yield from fact_by_fact(block, marked)
    yield from call_by_call(block)
    for cell, own in zip(block.cells, said, strict=True):
        yield _cell(cell, own, f"{block_anchor(block)}-facts")


def _kinds() -> Iterator[Markup]:
    for kind in ("shell", "server", "model", "back-off"):
        yield element("span", kind, class_=f"key {kind.replace('-', '')}")
    yield element("span", "× an error", class_="key")


# --- an arm ---------------------------------------------------------------------------------


def _cell(cell: CellEvidence, said: Sequence[Markup], facts: str) -> Markup:
    anchor = cell_anchor(cell.cell.id)
    summary = element(
        "summary",
        element("strong", clean(cell.label, 60)),
        " ",
        element("span", " · ".join(_told(cell)), class_="why"),
    )
    inside = element("div", *_of_cell(cell, said, facts), id=anchor, tabindex="-1")
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


def _of_cell(cell: CellEvidence, said: Sequence[Markup], facts: str) -> Iterator[Markup]:
    if cell.unreadable:
        yield element("p", f"Its transcript cannot be read: {clean(cell.unreadable)}")
    yield from said
    if cell.cited:
        yield citations(cell)
    judged = facts_of(cell)
    if judged:
        stated = sum(fact.verdict == "stated" for fact in judged)
        link = element("a", "fact by fact", href=f"#{facts}")
        yield element("p", f"{stated} of {len(judged)} facts are stated: ", link, class_="heading")
    if cell.calls:
        yield element("p", "Calls", class_="heading")
        for number, call in enumerate(cell.calls[:CALLS_SHOWN]):
            yield _call(call, call_anchor(cell.cell.id, number), number)
        if len(cell.calls) > CALLS_SHOWN:
            more = len(cell.calls) - CALLS_SHOWN
            yield element("p", f"{more} more are in its transcript.")


def _call(call: CallMade, anchor: str, number: int) -> Markup:
    asked, result = call.asked, call.result
    wall = "" if result is None or result.wall_sec is None else f", {result.wall_sec:.2f} s"
    size = "" if result is None else f", {result.size_chars:,} characters"
    failed = result is not None and result.is_error
    summary = element(
        "summary",
        f"{number + 1}. ",
        element("code", clean(asked.tool, 80)),
        " ",
        element("span", clean(arguments_of(call), SUMMARY_SHOWN), class_="why"),
        " ",
        element("span", f"{asked.origin}{wall}{size}", class_="why"),
        element("span", " error", class_="verdict failure") if failed else None,
    )
    shown = "The cell ended first." if result is None else lines_of(result.text, RESULT_SHOWN)
    inside = element("div", _arguments(call), element("pre", shown), id=anchor)
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


def call_by_call(block: BlockEvidence) -> Iterator[Markup]:
    """A row a call, a column an arm; of each server's the first that differs from the shell's."""
    cells = [cell for cell in block.cells if cell.calls]
    if len(cells) < 2 or cells[0].cell.server != SHELL:
        return
    rows, differs = [], set[str]()
    for step in range(max(map(_steps, cells))):
        for place, calls in enumerate(zip_longest(*(_calls_of(cell, step) for cell in cells))):
            sides = []
            for cell, call in zip(cells, calls, strict=True):
                is_first = cell.label not in differs and not _alike(calls[0], call)
                differs |= {cell.label} if is_first else set()
                sides.append(_side(cell, call, is_first=is_first))
            same = "same" if all(_alike(calls[0], call) for call in calls) else None
            head = element("th", step + 1, scope="row") if place == 0 else element("td")
            rows.append(element("tr", head, *sides, class_=same))
    title = f"Call by call: {', '.join(clean(cell.label, 40) for cell in cells)}"
    yield _beside(title, "step", cells, rows)


def _steps(cell: CellEvidence) -> int:
    return max((call.asked.step + 1 for call in cell.calls), default=0)


_Numbered = tuple[int, CallMade]


def _calls_of(cell: CellEvidence, step: int) -> list[_Numbered]:
    shown = list(enumerate(cell.calls))[:CALLS_SHOWN]
    return [(number, call) for number, call in shown if call.asked.step == step]


def _alike(left: _Numbered | None, right: _Numbered | None) -> bool:
    if left is None or right is None:
        return left is right
    one, other = left[1].asked, right[1].asked
    return (one.tool, one.arguments) == (other.tool, other.arguments)


def _side(cell: CellEvidence, found: _Numbered | None, *, is_first: bool) -> Markup:
    told = element("small", "first that differs") if is_first else None
    class_ = "first" if is_first else None
    if found is None:
        return element("td", told, class_=class_)
    number, call = found
    words = f"{clean(call.asked.tool, 40)} {clean(arguments_of(call), SIDE_SHOWN)}"
    link = element("a", words, href=f"#{call_anchor(cell.cell.id, number)}")
    return element("td", link, told, class_=class_)


def fact_by_fact(block: BlockEvidence, marked: Sequence[MarkedAnswer]) -> Iterator[Markup]:
    """A row a fact, a column an arm: what each said of it."""
    by_arm = [_numbers(facts_of(it.cell)) for it in marked]
    asked = unique(key for found in by_arm for key in found)
    if not asked:
        return
    rows, step = [], None
    for key in asked:
        if key[0] != step:
            step = key[0]
            rows.append(element("tr", element("th", clean(step, 80), colspan=1 + len(marked))))
        numbers = [found.get(key) for found in by_arm]
        sides = [_fact_of(*one) for one in zip(marked, numbers, strict=True)]
        verdicts = {_verdict_of(*one) for one in zip(marked, numbers, strict=True)}
        name = element("th", clean(key[1], 300), scope="row", class_="text")
        rows.append(element("tr", name, *sides, class_="same" if len(verdicts) == 1 else None))
    title = f"Fact by fact: {len(asked)} of {clean(block.scenario)}, trial {block.trial}"
    anchor = f"{block_anchor(block)}-facts"
    yield _beside(title, "fact", block.cells, rows, anchor)


def _numbers(facts: Sequence[FactVerdict]) -> dict[tuple[str, str, int], int]:
    """(Step, what it says, how many of the same came before) -> its place among the cell's."""
    found: dict[tuple[str, str, int], int] = {}
    seen = Counter[tuple[str, str]]()
    for number, fact in enumerate(facts):
        found[fact.step, fact.says, seen[fact.step, fact.says]] = number
        seen[fact.step, fact.says] += 1
    return found


def _verdict_of(marked: MarkedAnswer, number: int | None) -> str:
    return "" if number is None else facts_of(marked.cell)[number].verdict


def _fact_of(marked: MarkedAnswer, number: int | None) -> Markup:
    if number is None:
        return element("td")
    return fact_said(marked.cell, number, quoted=number in marked.quoted)


def _beside(
    title: str,
    what: str,
    cells: Sequence[CellEvidence],
    rows: Sequence[Markup],
    anchor: str | None = None,
) -> Markup:
    """Rows that can be narrowed to those in which arms differ."""
    names = (what, *(clean(cell.label, 40) for cell in cells))
    head = element("thead", element("tr", *(element("th", it, scope="col") for it in names)))
    table = element("table", element("caption", title), head, element("tbody", *rows))
    region = element("div", table, class_="scroll", role="region", tabindex="0", aria_label=title)
    only = element("label", element("input", type="checkbox", class_="only"), " differences only")
    inside = element("div", only, region, id=anchor)
    return element("details", element("summary", title), inside, class_="beside")
