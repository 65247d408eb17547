"""Drawings of a report as SVG: places across are shares of the width, so that text keeps its size
from a phone to a wide screen. No figure is drawn without its interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from runner.records import is_candidate
from runner.report.grid import clean, score, signed
from runner.report.html.elements import element, joined
from runner.report.page_data import (
    PHASES,
    ArmSpread,
    BlockEvidence,
    CallMade,
    CellEvidence,
    PageData,
    SpentSpread,
    TimeSpan,
)
from runner.report.plot import Plot, Point, amount
from runner.report.records import ArmReport, Delta, Report

LANE = 44
"""Pixels from one row to the next: a line of words, and what is drawn under it."""
AREA = (24, 48)
"""Of a forest plot's width: where what is drawn begins, and how wide it is, names beside it."""
NARROWEST = 4
"""Of a width of 1000, what a span of a timeline has at least: a click has to find it."""
ROW = 26
"""Of a scenario under a server."""
HEAD = 18
"""Above the first row: which way is which."""
MOST_SCENARIOS = 40
"""Under each server; it is said where there are more."""
STEPS = (0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
"""From one mark of the axis to the next, two on each side of zero."""
KINDS = ("shell", "server", "model", "back-off")


def svg(height: float, name: str, marks: Sequence[str], *inside: object, kind: str = "") -> Markup:
    """`marks`: what a reader of a drawing that is shown elsewhere has to know stands in it."""
    place = {"x": "100%", "y": height + 13, "text_anchor": "end"}
    said = element("text", " · ".join(marks), **place, class_="mark") if marks else None
    tall = height + (18 if marks else 0)
    return element(
        "svg",
        element("title", name),
        *inside,
        said,
        class_=f"drawing {kind}".rstrip(),
        width="100%",
        height=f"{tall:g}",
        role="group",
        aria_label=name,
    )


def _text(x: float, y: float, words: object, **more: object) -> Markup:
    return element("text", words, x=_at(x), y=f"{y:g}", **more)


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    ends = {"x1": _at(x1), "x2": _at(x2), "y1": f"{y1:g}", "y2": f"{y2:g}"}
    return element("line", class_=class_, **ends)


def _rect(x: float, y: float, width: float, height: float, class_: str) -> Markup:
    return element(
        "rect", x=_at(x), y=f"{y:g}", width=_at(width), height=f"{height:g}", class_=class_
    )


def _at(share: float) -> str:
    return f"{share:.2f}%"


# --- differences from the shell -------------------------------------------------------------


def forest(report: Report, data: PageData) -> Markup | None:
    """A row a server with its interval and the noise floor; under it its scenarios, as points."""
    known = [arm for arm in report.arms if arm.server != "shell" and arm.delta.value is not None]
    servers = sorted(known, key=lambda arm: not is_candidate(arm.server))
    if not servers:
        return None
    span = _reach(servers, data)
    rows: list[_ForestRow] = []
    y = float(HEAD)
    for arm in servers:
        rows.append(_server_row(arm, y, span))
        y += LANE
        for row in _scenario_rows(arm, report, data):
            rows.append(row(y, span))
            y += ROW
        y += 10
    what = "places found (F1)" if report.keyed else "fairness"
    name = f"Difference from the shell in {what}: each server, and each scenario under it"
    drawn = joined(*_axis(span, y), *(row.drawn for row in rows))
    layers = (
        *(row.band for row in rows),
        element("svg", drawn, x=_at(AREA[0]), width=_at(AREA[1]), class_="beside-names"),
        # No style moves an inner drawing, so there are two, and a page's width shows one.
        element("svg", drawn, class_="below-names"),
        *(row.words for row in rows),
    )
    return svg(y + 20, name, report.marks, *layers, kind="forest")


class _ForestRow(NamedTuple):
    """On a wide page its words stand left and right of what is drawn; on a narrow one above it."""

    words: Markup
    drawn: Markup | None = None
    band: Markup | None = None


def _scenario_rows(
    arm: ArmReport, report: Report, data: PageData
) -> Iterator[Callable[[float, float], _ForestRow]]:
    """Of a server with several; each is drawn at a height, on an axis."""
    known = [it for it in report.scenarios if (arm.label, it) in data.scenarios]
    if len(known) < 2:
        return
    for place, scenario in enumerate(known[:MOST_SCENARIOS]):
        seen = data.scenarios[arm.label, scenario]
        yield partial(_scenario_row, scenario, seen, banded=place % 2 == 0)
    if len(known) > MOST_SCENARIOS:
        more = f"{len(known) - MOST_SCENARIOS} more are in the tables"
        yield lambda y, _: _ForestRow(_text(0.4, y + 17, more, class_="small"))


def _reach(servers: Sequence[ArmReport], data: PageData) -> float:
    """The axis runs from minus this to this."""
    ends = [0.05]
    for arm in servers:
        known = (arm.delta.value, arm.delta.low, arm.delta.high, arm.delta.noise_floor)
        ends += [abs(end) for end in known if end is not None]
        for (label, _), seen in data.scenarios.items():
            ends += [abs(gap) for gap in seen if label == arm.label]
    return next((2 * step for step in STEPS if 2 * step >= max(ends)), 1.0)


def _place(value: float, span: float) -> float:
    """From -span to span, with room for a label at both ends."""
    return 50 + value / span * 46


def _axis(span: float, y: float) -> Iterator[Markup]:
    yield _text(49, 11, "← below the shell", text_anchor="end", class_="axis")
    yield _text(51, 11, "above it →", class_="axis")
    for share in (-1.0, -0.5, 0.0, 0.5, 1.0):
        x = _place(share * span, span)
        yield _line(x, HEAD, x, y, "zero" if share == 0 else "grid")
        told = f"{share * span:+.3g}" if share else "0"
        yield _text(x, y + 15, told, text_anchor="middle", class_="tick")


def _server_row(arm: ArmReport, y: float, span: float) -> _ForestRow:
    delta, at = arm.delta, y + 20
    value = delta.value or 0.0
    drawn: list[Markup] = []
    if delta.noise_floor is not None:
        low, high = _place(-delta.noise_floor, span), _place(delta.noise_floor, span)
        drawn.append(_rect(low, at - 9, high - low, 18, "noise"))
    if delta.low is not None and delta.high is not None:
        low, high = _place(delta.low, span), _place(delta.high, span)
        drawn.append(_line(low, at, high, at, "reach"))
        drawn += [_line(x, at - 6, x, at + 6, "reach") for x in (low, high)]
    drawn.append(element("circle", cx=_at(_place(value, span)), cy=f"{at:g}", r=6, class_="point"))
    says = _told(delta)
    words = joined(
        _text(0, y + 24, short(arm.label, 40), class_="name"),
        _text(100, y + 24, says, text_anchor="end", class_="value"),
    )
    title = element("title", f"{clean(arm.label)}: {says}")
    return _ForestRow(words, element("g", title, *drawn, class_="of-server"))


def short(text: str, most: int) -> str:
    """One line of it, with a mark where it goes on: its row's title has it whole."""
    line = clean(text, 2 * most)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _told(delta: Delta) -> str:
    size = f"n = {delta.clusters}"
    if delta.low is None or delta.high is None:
        return f"{signed(delta.value)}, no interval, {size}"
    return f"{signed(delta.value)} [{signed(delta.low)}, {signed(delta.high)}], {size}"


def _scenario_row(
    scenario: str, seen: Sequence[float], y: float, span: float, *, banded: bool
) -> _ForestRow:
    mean, at = sum(seen) / len(seen), y + ROW / 2
    low, high = _place(min(seen), span), _place(max(seen), span)
    trials = f" ({score(min(seen))} to {score(max(seen))}, {len(seen)} trials)"
    told = f"{clean(scenario)}: {signed(mean)}{trials if len(seen) > 1 else ', one trial'}"
    title = element("title", told)
    words = element(
        "g",
        title,
        _text(0.4, y + 17, short(scenario, 34), class_="small"),
        _text(99.6, y + 17, signed(mean), text_anchor="end", class_="small mean"),
    )
    drawn = element(
        "g",
        title,
        _line(low, at, high, at, "range") if len(seen) > 1 else None,
        element("circle", cx=_at(_place(mean, span)), cy=f"{at:g}", r=3.5, class_="dot"),
    )
    return _ForestRow(words, drawn, _rect(0, y, 100, ROW, "band-row") if banded else None)


# --- quality against what it costs ----------------------------------------------------------

AMOUNTS = {
    "tokens": "new tokens a cell",
    "seconds": "the agent's own seconds a cell",
    "usd": "US dollars a cell",
}


def pareto(report: Report, data: PageData) -> Iterator[Plot]:
    """Up is better, left is cheaper; whiskers both ways, where there are clusters enough."""
    estimated = any(arm.costs.tokens_estimated for arm in report.arms)
    for name, plain in AMOUNTS.items():
        words = f"{plain}, estimated" if estimated and name != "seconds" else plain
        spent = {spread.label: spread.spent.get(name) for spread in data.arms}
        found = (_point(arm, report, spent.get(arm.label)) for arm in report.arms)
        points = tuple(filter(None, found))
        if len(points) > 1 and any(point.x for point in points):
            what = "F1" if report.keyed else "fairness"
            yield Plot(
                title=f"{what[:1].upper()}{what[1:]} against {words}",
                x_label=words,
                y_label=what,
                points=points,
                shares=False,
            )


def _point(arm: ArmReport, report: Report, spent: SpentSpread | None) -> Point | None:
    quality = arm.fairness.parts["llm_quality"] if report.keyed else arm.fairness.score
    if quality.value is None or spent is None:
        return None
    return Point(
        label=short(arm.label, 24),
        x=spent.value,
        x_low=spent.low,
        x_high=spent.high,
        y=quality.value,
        low=quality.low,
        high=quality.high,
    )


# --- where the tokens go --------------------------------------------------------------------


def budget(report: Report, data: PageData) -> Markup | None:
    """A bar an arm, of tokens by what they were of, and the interval of the whole.

    An arm of too few clusters has no bar: a point for each cell stands in its place.
    """
    known = [(arm, arm.whole) for arm in data.arms if arm.whole and arm.phases]
    most = max((_longest(whole) for _, whole in known), default=0.0)
    if not most:
        return None
    rows = [_budget_row(*one, LANE * row + 2, most) for row, one in enumerate(known)]
    name = "Tokens sent and written in a cell, by what they were of"
    return svg(LANE * len(known) + 4, name, report.marks, *rows)


def _longest(tokens: SpentSpread) -> float:
    return max(tokens.value, tokens.high or 0.0, *tokens.seen)


def _budget_row(spread: ArmSpread, tokens: SpentSpread, y: float, most: float) -> Markup:
    at = y + 19
    told = f"{tokens.value:,.0f} [no interval: too few]"
    drawn: list[Markup] = []
    if tokens.low is None or tokens.high is None:
        for seen in tokens.seen:
            drawn.append(element("circle", cx=_at(seen / most * 99), cy=at + 8, r=3, class_="dot"))
    else:
        told = f"{tokens.value:,.0f} [{tokens.low:,.0f}, {tokens.high:,.0f}]"
        drawn += _stacked(spread, at, most)
        low, high = (max(0.0, end) / most * 99 for end in (tokens.low, tokens.high))
        drawn.append(_line(low, at + 8, high, at + 8, "reach"))
        drawn += [_line(x, at + 2, x, at + 14, "reach") for x in (low, high)]
    return element(
        "g",
        _text(0, y + 12, short(spread.label, 40), class_="name"),
        _text(100, y + 12, told, text_anchor="end", class_="value"),
        *drawn,
    )


def _stacked(spread: ArmSpread, y: float, most: float) -> Iterator[Markup]:
    ends = [0.0]
    for phase in PHASES:
        ends.append(ends[-1] + spread.phases[phase])
    for phase, (start, end) in zip(PHASES, pairwise(ends), strict=True):
        if end > start:
            told = f"{phase}: {end - start:,.0f}"
            bar = _rect(start / most * 99, y, (end - start) / most * 99, 16, f"phase {phase}")
            yield element("g", element("title", told), bar)


# --- a block's seconds ----------------------------------------------------------------------


def timeline(block: BlockEvidence, marks: Sequence[str]) -> Markup | None:
    """A row an arm, all on one scale; each call leads to what it asked and got."""
    told = [cell for cell in block.cells if cell.spans]
    most = max((cell.seconds for cell in told), default=0.0)
    if not most:
        return None
    rows = []
    for row, cell in enumerate(told):
        y = row * 38
        seconds = f"{cell.seconds:,.1f} s, {len(cell.calls)} calls"
        rows.append(_text(0, y + 11, short(cell.label, 40), class_="name"))
        rows.append(_text(100, y + 11, seconds, text_anchor="end", class_="value"))
        rows.append(_lane(cell, y + 16, most))
        rows += _crosses(cell, y + 29, most)
    height = len(told) * 38 + 4
    name = f"Seconds of each arm, up to {amount(most)}: calls, model and waits"
    return svg(height, name, marks, *rows)


def _lane(cell: CellEvidence, y: float, most: float) -> Markup:
    """In thousandths of the width: a share of it in each span was a tenth of a page."""
    waits = [_waits(cell.spans, kind, most) for kind in ("model", "back-off")]
    calls = [_call(cell, span, most) for span in cell.spans if span.call is not None]
    box = {"viewBox": "0 0 1000 16", "preserveAspectRatio": "none"}
    return element("svg", *waits, *calls, y=f"{y:g}", height=16, **box)


def _waits(spans: Sequence[TimeSpan], kind: str, most: float) -> Markup | None:
    """All of one kind as one path."""
    own = [span for span in spans if span.kind == kind and span.call is None]
    if not own:
        return None
    places = [_across(span, most) for span in own]
    path = "".join(f"M{x:g} 0h{width:g}v16h-{width:g}z" for x, width in places)
    told = f"{kind}: {sum(span.wall_sec for span in own):,.1f} s in all"
    return element("path", element("title", told), d=path, class_=f"span {kind.replace('-', '')}")


def _across(span: TimeSpan, most: float) -> tuple[float, float]:
    width = max(NARROWEST, round(span.wall_sec / most * 1000, 1))
    return min(round(span.start_sec / most * 1000, 1), 1000 - width), width


def _call(cell: CellEvidence, span: TimeSpan, most: float) -> Markup:
    number = span.call or 0
    failed = _failed(cell.calls[number])
    told = f"call {number + 1}: {span.kind}, {span.wall_sec:.2f} s from {span.start_sec:.1f} s"
    x, width = _across(span, most)
    drawn = element(
        "rect",
        x=f"{x:g}",
        width=f"{width:g}",
        height=16,
        class_=f"span {span.kind}{' failed' if failed else ''}",
    )
    title = element("title", f"{told}{', an error' if failed else ''}")
    return element("a", title, drawn, href=f"#{call_anchor(cell.cell.id, number)}")


def _crosses(cell: CellEvidence, y: float, most: float) -> Iterator[Markup]:
    """Beside the lane, whose letters would be as wide as the page."""
    for span in cell.spans:
        if span.call is not None and _failed(cell.calls[span.call]):
            yield _text(min(span.start_sec / most * 100, 99), y, "×", class_="cross")


def _failed(call: CallMade) -> bool:
    return call.result is not None and call.result.is_error


def cell_anchor(cell_id: str) -> str:
    """Stable: a cell's id digests what it is."""
    return f"cell-{cell_id[:16]}"


def call_anchor(cell_id: str, number: int) -> str:
    return f"{short_anchor(cell_id)}-call-{number + 1}"


def short_anchor(cell_id: str) -> str:
    """For what stands in a cell by the hundred: as long as a cell's own, these were a tenth."""
    return f"c{cell_id[:8]}"
