"""Which of our code makes a figure, each module by its digest: the lock holds them.

Whoever edits a weight, a pattern or a statistic moves every figure as surely as a rubric does. The
modules are found by what imports what, so that a new one is not forgotten. Digests are of syntax
trees: comments and formatting are free.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from runner.code_identity import imported_modules, source_digest

ROOTS = (
    "runner.scoring",
    "runner.audit",
    "runner.report.data",
    "runner.anchors.examination",
)
"""A transcript becomes a scorecard, is believed, becomes a report; and the gate's own figures."""
NO_PART_IN_FIGURES = frozenset(
    {
        # Holds the version, which each release raises.
        "runner",
        # Shapes and words.
        "runner.protocols",
        "runner.errors",
        "runner.records.anchors",
        "runner.records.repositories",
        "runner.records.servers",
        "runner.report.records",
        "runner.report.caveats",
        "runner.report.repeat",
        # Before the transcript: what they do is in it, and in the cell's fingerprint.
        "runner.agents",
        "runner.benchmarks.scenario_cell",
        "runner.models.offline",
        "runner.models.replay",
        "runner.models.settings",
        "runner.models.local",
        "runner.models.weights",
        "runner.models.provider",
        "runner.models.wire",
        "runner.models.claude",
        "runner.models.chat",
        "runner.prepared",
        "runner.run",
        "runner.server_spec",
        "runner.archives",
        # Tasks have figures of their own, in no report that the gate stands in front of.
        "runner.benchmarks.toolbench.cells",
        "runner.benchmarks.agentbench.cells",
        # Answers that have to lose, for `fairtrial check`.
        "runner.cheats",
        # Opens what is asked for, and keeps what was made, under the digest of its makers.
        "runner.checkout",
        "runner.kept",
        "runner.filelock",
        # A judge has a line of its own in the lock.
        "runner.judges",
        "runner.judges.checklist",
    }
)
"""Modules that are imported, and whose code changes no figure."""
DOORS = frozenset({"runner.records"})
"""They name what others define: every new record would close the gate."""


def code_in_use() -> dict[str, str]:
    """Name of each module and query that makes a figure -> its digest."""
    modules = imported_modules(ROOTS, apart_from=NO_PART_IN_FIGURES)
    digests = {}
    for name, path in modules.items():
        if name not in DOORS:
            digests[name] = source_digest(path.read_bytes())
    return digests | dict(_queries(modules["runner.grounding"].parent / "queries"))


def _queries(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.scm")):
        name = path.relative_to(folder.parent.parent).as_posix()
        # As every frozen file: a checkout that turns line ends holds the same query.
        yield name, hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
