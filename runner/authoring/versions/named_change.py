"""A change by its stable name, of the check that found it: `tools:gone:find`."""

from __future__ import annotations

from runner.records.versions import VersionChange, VersionCheck, Weight


def named_change(  # noqa: PLR0913 - a change has no fewer parts
    check: VersionCheck, what: str, weight: Weight, says: str, *, base: str = "", head: str = ""
) -> VersionChange:
    name = f"{check}:{what}"
    return VersionChange(check=check, name=name, weight=weight, says=says, base=base, head=head)
