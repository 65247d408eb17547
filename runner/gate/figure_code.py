"""Which of our code makes a figure, each definition by its digest: the lock holds them.

Whoever edits a weight, a pattern or a statistic moves every figure as surely as a rubric does. What
makes figures begins at the definitions that are marked `@makes_figures`, and is found by what names
what, so that nothing is forgotten. Digests are of syntax trees: comments, formatting, import lines
and the file in which a definition stands are free. So is what only a report shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache

import runner
from runner import grounding
from runner.support.code_digest import marked_definitions, package_folder

NO_PART_IN_FIGURES = frozenset(
    {
        # Tables of what there is: each new entry would close the gate.
        "AGENTS",
        "BENCHMARKS",
        "JUDGES",
        "MODELS",
        # A judge has a line of its own in the lock.
        "Judge",
        # Before the transcript: what they do is in it, and in the cell's fingerprint.
        "Agent",
        "Benchmark",
        "Model",
        "Plan",
        "ServerSpec",
        "Toolbox",
        # They open what is asked for.
        "Catalog",
        "Checkout",
        "Repository",
    }
)
"""Definitions that are named, and whose code changes no figure."""


def code_in_use() -> dict[str, str]:
    """Name of each definition and language's file that makes a figure -> its digest."""
    files = sorted(package_folder(runner).rglob("*.py"))
    stored = hashlib.sha256(b"".join(b"%s\n%s" % (bytes(it), it.read_bytes()) for it in files))
    return {**_marked_definitions(stored.hexdigest()), **dict(_languages())}


@lru_cache(maxsize=1)
def _marked_definitions(_: str) -> dict[str, str]:
    """Of that code: one verb asks several times."""
    return marked_definitions(apart_from=NO_PART_IN_FIGURES)


def _languages() -> Iterator[tuple[str, str]]:
    folder = package_folder(grounding)
    for path in sorted(folder.glob("languages/*/*.*")):
        # As every frozen file: a checkout that turns line ends holds the same query.
        digest = hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
        yield path.relative_to(folder).as_posix(), digest
