"""What else did a past fix change? The answer is its commit; asked about is the one before it.

A container holds the earlier commit alone, so that nothing in it gives the answer away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from runner.authoring.drafting.fix_commits import Fix, fixes, question
from runner.authoring.exact.kind import is_near
from runner.authoring.exact.kind import question as asked
from runner.grounding.commit_files import GitFiles
from runner.records import CommitSha, MustCite
from runner.records.exact import ExactQuestion

_LOOKED_AT = 200
"""Commits that mend something."""
_FEWEST = 2
"""Places beside the one that is given."""


class PastFix(NamedTuple):
    """A question, and the commit that it is about."""

    parent: CommitSha
    question: ExactQuestion


def past_fixes(place: Path, head: CommitSha) -> Iterator[PastFix]:
    """Of the newest commits that mended something. `place`: a git directory with its history."""
    for fix in islice(fixes(place, head), _LOOKED_AT):
        with GitFiles(place, fix.parent) as files:
            drafted = question(fix, files)
        places = drafted.step.must_cite if drafted else ()
        if not places:
            continue
        given = places[0]
        # What is near the given place would be found by saying it again.
        others = [it for it in places[1:] if not is_near(given, it)]
        if len(others) >= _FEWEST:
            yield PastFix(fix.parent, _asked(fix, given, others))


def _asked(fix: Fix, given: MustCite, others: Sequence[MustCite]) -> ExactQuestion:
    return asked(
        "past_fix",
        fix.commit[:12],
        f"A fix of this repository, “{fix.subject}”, begins at `{given.path}:{given.line}`. Which"
        " other places of the code had to change with it? Count code that was there before, tests"
        " and documentation apart; of neighbouring lines any one will do.",
        places=others,
        optional=[given],
    )
