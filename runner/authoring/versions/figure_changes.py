"""Measured figures of two versions: a difference is one only past a margin that noise never is.

Each version is examined several times, in turns. A figure is worse if the head's least is above the
base's greatest by the margin and by the floor: of two equal versions with three readings each,
chance puts all of one above all of the other once in twenty, and the margin makes of that never.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.records.versions import (
    VersionChange,
    VersionCheck,
    VersionFigure,
    VersionReading,
    VersionSide,
    Weight,
)


@dataclass(frozen=True, kw_only=True)
class FigureRule:
    """How a figure is read off a side, and what more of it is nothing."""

    what: str
    unit: str
    margin: float
    """Share of the base's; fairtrial.yaml may say another."""
    floor: float
    """In the unit."""


RULES: Mapping[VersionCheck, FigureRule] = {
    "tokens": FigureRule(what="schema tax", unit="tokens", margin=0.25, floor=100),
    "ready": FigureRule(what="ready time", unit="s", margin=0.5, floor=1.0),
    "index": FigureRule(what="index time", unit="s", margin=0.5, floor=1.0),
    "memory": FigureRule(what="memory", unit="MB", margin=0.25, floor=25),
    "disk": FigureRule(what="disk", unit="MB", margin=0.25, floor=5),
    "install": FigureRule(what="install size", unit="MB", margin=0.25, floor=10),
}


def _of_side(check: VersionCheck, side: VersionSide) -> tuple[float, ...]:
    if check == "tokens":
        return (float(side.schema_tokens),)
    if check == "install":
        return (side.install_mb,)
    return tuple(_of_readings(check, side.readings))


def _of_readings(check: VersionCheck, readings: Sequence[VersionReading]) -> Iterator[float]:
    for reading in readings:
        known: Mapping[str, float | None] = {
            "ready": reading.ready_sec,
            "index": reading.index_sec,
            "memory": reading.memory_mb,
            "disk": reading.disk_mb,
        }
        value = known[check]
        if value is not None:
            yield round(value, 3)


def figures_of(
    base: VersionSide, head: VersionSide, margins: Mapping[VersionCheck, float]
) -> Iterator[VersionFigure]:
    """Of what both have."""
    for check, rule in RULES.items():
        before, after = _of_side(check, base), _of_side(check, head)
        if before and after:
            margin = margins.get(check, rule.margin)
            yield VersionFigure(
                check=check,
                unit=rule.unit,
                base=before,
                head=after,
                margin=margin,
                floor=rule.floor,
            )


def figure_changes(
    figures: Sequence[VersionFigure], most_tokens: int | None
) -> Iterator[VersionChange]:
    """`most_tokens`: of the head's schemas; None for no bound."""
    for figure in figures:
        if _is_more(figure.base, figure.head, figure):
            yield _change(figure, "regression", "more")
        elif _is_more(figure.head, figure.base, figure):
            yield _change(figure, "better", "less")
        if figure.check == "tokens" and most_tokens is not None:
            yield from _past_bound(figure, most_tokens)


def _is_more(less: Sequence[float], more: Sequence[float], figure: VersionFigure) -> bool:
    beyond = min(more) - max(less)
    return beyond > figure.floor and beyond > figure.margin * max(less)


def _change(figure: VersionFigure, weight: Weight, direction: str) -> VersionChange:
    rule = RULES[figure.check]
    sides = shown(figure.base, figure.unit), shown(figure.head, figure.unit)
    return VersionChange(
        check=figure.check,
        name=f"{figure.check}:{direction}",
        weight=weight,
        says=f"{rule.what}: {sides[0]} → {sides[1]} (margin {figure.margin:.0%}, "
        f"{figure.floor:g} {figure.unit} at least)",
        base=sides[0],
        head=sides[1],
    )


def _past_bound(figure: VersionFigure, most: int) -> Iterator[VersionChange]:
    found = max(figure.head)
    if found > most:
        yield VersionChange(
            check="tokens",
            name="tokens:bound",
            weight="regression",
            says=f"its schemas take about {found:,.0f} tokens, and {most:,} are allowed",
            base=shown(figure.base, figure.unit),
            head=shown(figure.head, figure.unit),
        )


def shown(readings: Sequence[float], unit: str) -> str:
    """The one that there is, or the least and the greatest."""
    digits = 0 if unit == "tokens" else 1
    ends = dict.fromkeys(f"{value:,.{digits}f}" for value in (min(readings), max(readings)))
    return f"{'–'.join(ends)} {unit}"
