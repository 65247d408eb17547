"""Stands in for a commit's files, for a reader that has no list of them.

A judge reads what an answer points at. Whether that exists is the verifier's business.
"""

from __future__ import annotations

import re

from runner.grounding.commit_files import BlobPlace, PathIndex, Resolved
from runner.grounding.word_lists import EXTENSIONS

_WELL_FORMED = re.compile(
    r"""
    [\w@+~.\-/\\\[\]$]* [\w\]] \. [a-z][\w+]{0,9}       # src/app.py, app/[id]/page.tsx, x.c++
    | [\w.\-/\\]* (?:makefile|dockerfile|justfile)
    """,
    re.VERBOSE | re.IGNORECASE,
)


class UnlistedFiles(PathIndex):
    """A PathIndex to which every well-formed path is a file, and every blob URL one of ours."""

    def __init__(self) -> None:
        super().__init__(())

    def resolve(self, written: str) -> Resolved:
        """`exact` for any well-formed path: `request.previous` is none."""
        is_file = "/" in written or written.rpartition(".")[2].lower() in EXTENSIONS
        if _WELL_FORMED.fullmatch(written) and (is_file or "." not in written):
            return Resolved("exact", written)
        return Resolved("missing", written)

    def holds(self, written: str) -> bool:
        return self.resolve(written).resolution == "exact"

    def blob(self, repository: str, rest: str) -> BlobPlace:  # noqa: ARG002 - anyone's
        """Ref and path of any blob URL's tail.

        Of a ref with a slash, the second half stays before the path: whoever compares tails of
        paths finds the file all the same.
        """
        ref, _, path = rest.partition("/")
        return BlobPlace(ref, path)
