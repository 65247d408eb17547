"""The lines that a judge reads of a commit."""

from __future__ import annotations

import pytest

from runner.catalog.commit_lines import CommitLines
from runner.protocols import Files
from runner.support.errors import NoVerdict
from tests.scoring.material import TREE, Tree


def test_lines_are_those_of_the_commit_both_ends_included() -> None:
    source = CommitLines(lambda: TREE)
    assert (
        source.lines("shop/queue.py", 12, 13) == "        try:\n            self.store.put(message)"
    )


def test_a_form_feed_ends_no_line() -> None:
    source = CommitLines(lambda: Tree({"a.py": "one\x0cstill one\ntwo\n"}))
    assert source.lines("a.py", 2, 2) == "two"


@pytest.mark.parametrize("place", [("gone.py", 1), ("README.md", 9)])
def test_a_place_that_is_not_there_is_no_empty_text(place: tuple[str, int]) -> None:
    with pytest.raises(NoVerdict, match="the rubric cites"):
        CommitLines(lambda: TREE).lines(*place, place[1])


def test_nothing_is_fetched_until_a_line_is_asked_for() -> None:
    def fetch() -> Files:
        raise AssertionError("fetched")

    source = CommitLines(fetch)
    with pytest.raises(AssertionError):
        source.lines("README.md", 1, 1)
