"""One cell as text: what was asked, each call and its result, what was said, what holds of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.records import Event, Prompt, Prose, Scorecard, ToolCall, ToolResult, Usage
from runner.records.run_store import LoadedCell
from runner.report.grid import clean, lines_of
from runner.report.verdict_text import verdict_text
from runner.support.errors import FairtrialError

RESULT_SHOWN = 4_000
RULE = "─" * 20


def chosen(cells: Sequence[LoadedCell], asked: str) -> LoadedCell:
    """The cell whose id begins so, or `SCENARIO/SERVER/TRIAL`. Raises FairtrialError."""
    found = [it for it in cells if it.cell.id.startswith(asked) or _named(it) == asked]
    if asked and len(found) == 1:
        return found[0]
    names = ", ".join(f"{_named(it)} ({it.cell.id[:12]})" for it in (found or cells)[:8])
    what = f"{len(found)} cells are called so" if found else "no cell is called so"
    raise FairtrialError(what, where=clean(asked), hint=f"among others: {names}")


def _named(of: LoadedCell) -> str:
    return f"{of.cell.scenario}/{of.cell.server}/{of.cell.trial}"


def cell_text(of: LoadedCell, events: Sequence[Event]) -> str:
    """Nothing in it steers a terminal: every text of a model or a server is made harmless."""
    return "\n".join(_lines(of, events)) + "\n"


def _lines(of: LoadedCell, events: Sequence[Event]) -> Iterator[str]:
    outcome = of.result.outcome if of.result else None
    yield f"{_named(of)} · {clean(of.cell.model)} · {of.cell.id}"
    yield f"{outcome.kind}: {clean(outcome.reason)}" if outcome else "not finished"
    for event in events:
        yield from _told(event)
    if of.scorecard is not None:
        yield from _scored(of.scorecard, of.cell.scenario)


def _told(event: Event) -> Iterator[str]:
    if isinstance(event, Prompt):
        yield from ("", f"{RULE} asked, step {event.step + 1}", lines_of(event.text, 20_000))
    elif isinstance(event, Prose):
        yield from ("", f"{RULE} said", lines_of(event.text, 100_000))
    elif isinstance(event, ToolCall):
        arguments = lines_of(str(event.arguments), 4_000)
        yield from ("", f"→ {event.origin} {clean(event.tool)} {arguments}")
    elif isinstance(event, ToolResult):
        error = "error, " if event.is_error else ""
        wall = "" if event.wall_sec is None else f", {event.wall_sec:.2f} s"
        yield f"← {error}{event.size_chars:,} characters{wall}"
        yield lines_of(event.text, RESULT_SHOWN)
    elif isinstance(event, Usage):
        yield f"  ({event.input_tokens:,} tokens in, {event.output_tokens:,} out)"


def _scored(card: Scorecard, scenario: str) -> Iterator[str]:
    yield from ("", f"{RULE} citations")
    for citation in card.fairness.citations:
        yield f"{citation.status:12} {clean(citation.written)}: {clean(citation.reason)}"
    if card.fairness.verdict is not None:
        yield from ("", f"{RULE} verdict")
        yield lines_of(verdict_text(scenario, card.fairness.verdict), 100_000)
