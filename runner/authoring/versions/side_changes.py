"""What is seen of two examined versions without asking them anything: start, packages, noise."""

from __future__ import annotations

from collections.abc import Iterator

from runner.records.versions import VersionChange, VersionCheck, VersionSide, Weight

_SHOWN = 8


def start_changes(base: VersionSide, head: VersionSide, otherwise: str) -> Iterator[VersionChange]:
    """`otherwise`: why the head could not be defined as the base is; empty if it is."""
    if head.fault:
        says = f"it does not start, or is never ready: {head.fault}"
        yield _change("start", "start:fails", "regression", says, head=head.fault)
    elif otherwise:
        says = f"it is not started and proven as the base is: {otherwise}"
        yield _change("start", "start:otherwise", "regression", says, head=otherwise)
    yield from _of_probe(base, head)
    if base.protocol and head.protocol and base.protocol != head.protocol:
        says = f"it speaks protocol {head.protocol}, and the base {base.protocol}"
        both = {"base": base.protocol, "head": head.protocol}
        yield _change("protocol", "protocol:version", "note", says, **both)


def _of_probe(base: VersionSide, head: VersionSide) -> Iterator[VersionChange]:
    before = [one.probe_passed for one in base.readings]
    after = [one.probe_passed for one in head.readings]
    if all(before) and after and not all(after):
        passed = f"{sum(after)} of {len(after)} times"
        # One of three may be the machine's doing; two are hardly.
        weight: Weight = "regression" if 2 * sum(after) < len(after) else "note"
        says = f"its health probe passes {passed}, and the base's always"
        yield _change("probe", "probe:fails", weight, says, head=passed)


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
    yield _change(check, f"{check}:more", weight, says, **both)


def package_changes(base: VersionSide, head: VersionSide) -> Iterator[VersionChange]:
    """Packages beside it: what is added, gone, and of another version. Each is a note."""
    before, after = base.packages, head.packages
    added = [name for name in after if name not in before]
    gone = [name for name in before if name not in after]
    changed = [name for name in after if name in before and after[name] != before[name]]
    for what, names in (("added", added), ("removed", gone), ("changed", changed)):
        if names:
            shown = ", ".join(_moved(name, before, after) for name in sorted(names)[:_SHOWN])
            rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            says = f"{len(names)} packages {what}: {shown}{rest}"
            yield _change("dependencies", f"dependencies:{what}", "note", says)


def _moved(name: str, before: dict[str, str], after: dict[str, str]) -> str:
    versions = dict.fromkeys(filter(None, (before.get(name), after.get(name))))
    return f"{name} {' → '.join(versions)}"


def _change(  # noqa: PLR0913 - a change has no fewer parts
    check: VersionCheck, name: str, weight: Weight, says: str, *, base: str = "", head: str = ""
) -> VersionChange:
    return VersionChange(check=check, name=name, weight=weight, says=says, base=base, head=head)
