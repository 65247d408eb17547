"""trend.svg: a server's figure by version, a line for each series. It needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from runner.report.grid import clean
from runner.report.html.elements import element, joined
from runner.report.version_trend import TrendPoint, version_key

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 320, 48, 24, 34, 56
_COLOURS = ("#1f5fa8", "#b4560f", "#3f7d33", "#7a3b8f", "#555555")
_LABEL_CHARS = 14
_PAPER = "#ffffff"
_INK = "#333333"
_GRID = "#dddddd"


def trend_svg(server: str, points: Sequence[TrendPoint]) -> str:
    """Versions from left to right, figures from 0 to 1, whiskers of 95 %."""
    versions = sorted({it.version for it in points}, key=version_key)
    series = list(dict.fromkeys(it.series for it in points))
    across = {it: _across(at, len(versions)) for at, it in enumerate(versions)}
    drawn = [_axis(), *(_version(across[it], it) for it in versions)]
    for at, name in enumerate(series):
        own = [it for it in points if it.series == name]
        drawn.append(_line(own, across, _COLOURS[at % len(_COLOURS)]))
    title = f"{clean(server)}, version by version"
    whole = element(
        "svg",
        element("title", title),
        element("rect", width=WIDTH, height=HEIGHT, fill=_PAPER),
        element("text", title, x=LEFT, y=18, font_size=14, fill=_INK),
        *drawn,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        font_family="sans-serif",
        role="img",
    )
    return f"{whole}\n"


def _across(at: int, count: int) -> float:
    wide = WIDTH - LEFT - RIGHT
    return round(LEFT + wide * (at + 0.5) / max(count, 1), 1)


def _up(value: float) -> float:
    return round(HEIGHT - BOTTOM - min(max(value, 0.0), 1.0) * (HEIGHT - TOP - BOTTOM), 1)


def _axis() -> Markup:
    lines = []
    for step in range(6):
        y = _up(step / 5)
        lines.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, stroke=_GRID))
        said = f"{step / 5:.1f}"
        place = {"x": LEFT - 6, "y": y + 4, "text_anchor": "end"}
        lines.append(element("text", said, font_size=11, fill=_INK, **place))
    return joined(*lines)


def _version(x: float, version: str) -> Markup:
    y = HEIGHT - BOTTOM + 16
    turned = f"rotate(-25 {x} {y})"
    place = {"x": x, "y": y, "text_anchor": "end", "transform": turned}
    return element("text", clean(version)[:_LABEL_CHARS], font_size=11, fill=_INK, **place)


def _line(points: Sequence[TrendPoint], across: dict[str, float], colour: str) -> Markup:
    places = [(across[it.version], _up(it.value)) for it in points]
    path = " L".join(f"{x} {y}" for x, y in places)
    parts = [element("path", d=f"M{path}", fill="none", stroke=colour, stroke_width=1.5)]
    for point, (x, y) in zip(points, places, strict=True):
        if point.low is not None and point.high is not None:
            ends = {"y1": _up(point.low), "y2": _up(point.high)}
            parts.append(element("line", x1=x, x2=x, stroke=colour, **ends))
        said = f"{clean(point.version)}: {point.figure} {point.value:.3f}, {clean(point.model)}"
        parts.append(element("circle", element("title", said), cx=x, cy=y, r=4, fill=colour))
    return joined(*parts)
