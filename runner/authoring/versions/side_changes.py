"""What is seen of two examined versions without asking them anything: start, packages, figures.

Each version is examined several times, in turns. A figure is worse if the head's least is above the
base's greatest by the margin and by the floor: of two equal versions with three readings each,
chance puts all of one above all of the other once in twenty, and the margin makes of that never.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.authoring.versions.named_change import named_change
from runner.records.versions import (
    VersionChange,
    VersionCheck,
    VersionFigure,
    VersionReading,
    VersionSide,
    Weight,
)
from runner.support.text import some_of

_SHOWN = 8


def start_changes(base: VersionSide, head: VersionSide, otherwise: str) -> Iterator[VersionChange]:
    """`otherwise`: why the head could not be defined as the base is; empty if it is."""
    if head.fault:
        says = f"it does not start, or is never ready: {head.fault}"
        yield named_change("start", "fails", "regression", says, head=head.fault)
    elif otherwise:
        says = f"it is not started and proven as the base is: {otherwise}"
        yield named_change("start", "otherwise", "regression", says, head=otherwise)
    yield from _of_probe(base, head)
    if base.protocol and head.protocol and base.protocol != head.protocol:
        says = f"it speaks protocol {head.protocol}, and the base {base.protocol}"
        both = {"base": base.protocol, "head": head.protocol}
        yield named_change("protocol", "version", "note", says, **both)


def _of_probe(base: VersionSide, head: VersionSide) -> Iterator[VersionChange]:
    before = [one.probe_passed for one in base.readings]
    after = [one.probe_passed for one in head.readings]
    if all(before) and after and not all(after):
        passed = f"{sum(after)} of {len(after)} times"
        # One of three may be the machine's doing; two are hardly.
        weight: Weight = "regression" if 2 * sum(after) < len(after) else "note"
        says = f"its health probe passes {passed}, and the base's always"
        yield named_change("probe", "fails", weight, says, head=passed)


def noise_changes(base: VersionSide, head: VersionSide) -> Iterator[VersionChange]:
    """What it tries on the network, and writes to stdout beside its answers."""
    before = [one.network_attempts for one in base.readings]
    after = [one.network_attempts for one in head.readings]
    yield from _counted("network", "network attempts", before, after)
    before = [one.stray_lines for one in base.readings]
    after = [one.stray_lines for one in head.readings]
    yield from _counted("stdout", "lines on stdout that are no JSON-RPC", before, after)


def _counted(
    check: VersionCheck, what: str, before: list[int], after: list[int]
) -> Iterator[VersionChange]:
    if not before or not after or min(after) <= max(before):
        return
    # One that tried already may try once more or less: a first attempt is what nobody expects.
    weight: Weight = "regression" if max(before) == 0 else "note"
    both = {"base": f"{max(before)}", "head": f"{min(after)}"}
    says = f"{what}: {both['base']} → {both['head']}"
    yield named_change(check, "more", weight, says, **both)


def package_changes(base: VersionSide, head: VersionSide) -> Iterator[VersionChange]:
    """Packages beside it: what is added, gone, and of another version. Each is a note."""
    before, after = base.packages, head.packages
    added = [name for name in after if name not in before]
    gone = [name for name in before if name not in after]
    changed = [name for name in after if name in before and after[name] != before[name]]
    for what, names in (("added", added), ("removed", gone), ("changed", changed)):
        if names:
            shown = some_of([_moved(name, before, after) for name in sorted(names)], _SHOWN)
            says = f"{len(names)} packages {what}: {shown}"
            yield named_change("dependencies", what, "note", says)


def _moved(name: str, before: dict[str, str], after: dict[str, str]) -> str:
    versions = dict.fromkeys(filter(None, (before.get(name), after.get(name))))
    return f"{name} {' → '.join(versions)}"


# --- measured figures -----------------------------------------------------------------------------


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
    fields = {"ready": "ready_sec", "index": "index_sec", "memory": "memory_mb", "disk": "disk_mb"}
    for reading in readings:
        value: float | None = getattr(reading, fields[check])
        if value is not None:
            yield round(value, 3)


def figures_of(
    base: VersionSide, head: VersionSide, margins: Mapping[VersionCheck, float]
) -> Iterator[VersionFigure]:
    """Of what both have."""
    for check, rule in RULES.items():
        before, after = _of_side(check, base), _of_side(check, head)
        if before and after:
            yield VersionFigure(
                check=check,
                unit=rule.unit,
                base=before,
                head=after,
                margin=margins.get(check, rule.margin),
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
    least = f"{figure.floor:g} {figure.unit} at least"
    says = f"{rule.what}: {sides[0]} → {sides[1]} (margin {figure.margin:.0%}, {least})"
    return named_change(figure.check, direction, weight, says, base=sides[0], head=sides[1])


def _past_bound(figure: VersionFigure, most: int) -> Iterator[VersionChange]:
    found = max(figure.head)
    if found > most:
        says = f"its schemas take about {found:,.0f} tokens, and {most:,} are allowed"
        both = {"base": shown(figure.base, figure.unit), "head": shown(figure.head, figure.unit)}
        yield named_change("tokens", "bound", "regression", says, **both)


def shown(readings: Sequence[float], unit: str) -> str:
    """The one that there is, or the least and the greatest."""
    digits = 0 if unit == "tokens" else 1
    ends = dict.fromkeys(f"{value:,.{digits}f}" for value in (min(readings), max(readings)))
    return f"{'–'.join(ends)} {unit}"
