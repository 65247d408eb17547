"""What else did a past fix have to change? From a history, of the commit before the fix."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from runner.authoring.drafting.fix_commits import Fix, fixes
from runner.authoring.drafting.fix_commits import question as drafted_question
from runner.authoring.drafting.syntax import Parsed, parse
from runner.authoring.drafting.tree import PROSE, TEST_PATH
from runner.authoring.exact.kind import is_near, question
from runner.grounding.commit_files import GitFiles
from runner.records import CommitSha, MustCite
from runner.records.exact import ExactQuestion
from runner.repositories.repository import git_at, run_git

_LOOKED_AT = 600
"""Commits that mend something."""
_FEWEST_BESIDE = 2
"""Places of a fix beside the one that is given."""
_NAME = re.compile(rb"[A-Za-z_]\w{3,}")
_MOST_NAMES = 24
_OF_ALL = 3
"""A name runs through a fix if one of so many lines that hold it had to change."""


class _PastFix(NamedTuple):
    """A question, and the commit that it is about."""

    parent: CommitSha
    question: ExactQuestion


def past_fixes(place: Path, head: CommitSha) -> Iterator[_PastFix]:
    """Of the newest commits that mended something. `place`: a git directory with its history.

    Asked about is the commit before, which a container holds alone: nothing gives the answer away.
    """
    for fix in islice(fixes(place, head), _LOOKED_AT):
        with GitFiles(place, fix.parent) as files:
            drafted = drafted_question(fix, files)
            places = drafted.step.must_cite if drafted else ()
            # What is near the given place would be found by saying it again.
            others = [it for it in places[1:] if not is_near(places[0], it)]
            # Last, as it searches the whole commit.
            if len(others) >= _FEWEST_BESIDE and _is_of_one_name(places, files, place):
                yield _PastFix(fix.parent, _asked(fix, places[0], others))


def _is_of_one_name(places: Sequence[MustCite], files: GitFiles, place: Path) -> bool:
    """Does one name run through all of them?

    What else a commit touched, nobody could tell from its first place.
    """
    names = [_names_in(it, files) for it in places]
    shared = set.intersection(*map(set, names))
    return any(
        sum(it[name] for it in names) * _OF_ALL >= _lines_with(name, files.commit, place)
        for name in sorted(shared)[:_MOST_NAMES]
    )


def _names_in(place: MustCite, files: GitFiles) -> Counter[str]:
    """On how many of its lines each name stands, in code."""
    source = files.read(place.path)
    parsed = parse(place.path, source, files.blob_sha(place.path))
    lines = source.split(b"\n")
    at = sum(len(line) + 1 for line in lines[: place.line - 1])
    found = Counter[str]()
    for line in lines[place.line - 1 : place.end or place.line]:
        words = {(at + it.start(), it[0].decode()) for it in _NAME.finditer(line)}
        found.update({word for begin, word in words if parsed and _is_name(parsed, begin, word)})
        at += len(line) + 1
    return found


def _is_name(parsed: Parsed, at: int, word: str) -> bool:
    """No word of the language, as `return` is."""
    node = parsed.node_at(at, word)
    return node is not None and node.is_named and not parsed.outline.is_mute(at)


def _lines_with(name: str, commit: CommitSha, place: Path) -> int:
    """Of code outside of the tests."""
    words = ("grep", "-I", "-w", "-F", "--count", "-z", "-e", name, commit)
    counted = run_git(git_at(place), *words).replace("\0", ":").splitlines()
    found = [line.removeprefix(f"{commit}:").rpartition(":") for line in counted]
    return sum(
        int(it) for path, _, it in found if not (PROSE.search(path) or TEST_PATH.search(path))
    )


def _asked(fix: Fix, given: MustCite, others: Sequence[MustCite]) -> ExactQuestion:
    return question(
        "past_fix",
        fix.commit[:12],
        f"A fix of this repository, “{fix.subject}”, begins at `{given.path}:{given.line}`. Which"
        " other places of the code had to change with it? Count code that was there before, tests"
        " and documentation apart; of neighbouring lines any one will do.",
        places=others,
        optional=[given],
    )
