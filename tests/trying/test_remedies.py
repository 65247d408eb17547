"""Every remedy says what it is for, and was counted."""

from __future__ import annotations

from datetime import date

from runner.authoring.onboarding import fetched
from runner.authoring.onboarding.remedies import COUNTED, REMEDIES, SUPPLIES


def test_no_remedy_stands_twice_and_each_says_what_it_answers_and_does() -> None:
    assert len({remedy.name for remedy in REMEDIES}) == len(REMEDIES)
    assert all(remedy.answers and remedy.does for remedy in REMEDIES)


def test_a_remedy_that_helped_no_server_is_gone() -> None:
    assert date.fromisoformat(COUNTED) <= date.today()
    assert [remedy.name for remedy in REMEDIES if remedy.hits < 1] == []


def test_whatever_is_brought_for_a_library_is_a_remedy() -> None:
    assert tuple(remedy.find for remedy in SUPPLIES) == fetched.KNOWN
