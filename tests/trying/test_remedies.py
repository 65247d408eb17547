"""Every remedy was counted."""

from __future__ import annotations

from datetime import date

from runner.authoring.onboarding import fetched, remedies


def test_a_remedy_that_helped_no_server_is_gone() -> None:
    known = remedies.REMEDIES
    assert len(known) > 12
    assert date.fromisoformat(remedies.COUNTED) <= date.today()
    assert [remedy for remedy in known if remedy.hits < 1] == []


def test_every_remedy_is_counted_once() -> None:
    parts = [it if isinstance(it, tuple) else (it,) for it in vars(remedies).values()]
    made = {one for part in parts for one in part if isinstance(one, remedies.Remedy)}
    assert made == set(remedies.REMEDIES) and len(made) == len(remedies.REMEDIES)
    assert [it.find for it in remedies.SUPPLIES] == [*fetched.KNOWN]
