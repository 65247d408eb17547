"""What a try has learnt, kept as it goes: the same words, said again that day, begin there.

A try that is interrupted, or takes a quarter of an hour, has found by then what the server lacks
and how it starts. Nothing of it is believed: it is installed, started and proven as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from runner.authoring.onboarding.launches import Launch
from runner.authoring.onboarding.onboarding_state import OnboardingState, Overrides
from runner.authoring.onboarding.server_source import ServerSource
from runner.catalog.locks import harness_digest
from runner.records import Record, Sha256, digest_of
from runner.records.run_store import write_whole

FILE = "learnt.json"
"""In the try's own folder."""


class Learnt(Record):
    """learnt.json"""

    key: Sha256
    """Of what was asked, and of the day: tomorrow there may be other packages."""
    asked: dict[str, Any]
    """What is installed: with what it lacked."""
    entry: str
    before: str
    http: str | None
    """As of Overrides."""
    scenario: str
    """That was chosen for it; empty if the person's is asked."""
    launch: dict[str, Any] | None
    """How it was started when it showed the repository."""
    guesses: tuple[str, ...]
    mends: tuple[str, ...] = ()
    """As of OnboardingState."""


def keep(steps: OnboardingState, key: str, launch: Launch | None) -> None:
    learnt = Learnt(
        key=key,
        asked=_plain(steps.asked),
        entry=steps.given.entry,
        before=steps.given.before,
        http=steps.given.http,
        scenario=steps.loaded.scenario.id if steps.chosen else "",
        launch=None if launch is None else _plain(launch),
        guesses=tuple(steps.guesses),
        mends=tuple(steps.mends),
    )
    write_whole(steps.project / FILE, learnt.model_dump_json(indent=1) + "\n")


def recall(steps: OnboardingState, key: str) -> None:
    """Go on from there, and say so. Of another day, or spoilt, it is nothing."""
    with suppress(OSError, ValidationError):
        learnt = Learnt.model_validate_json((steps.project / FILE).read_bytes())
        if learnt.key != key:
            return
        asked = TypeAdapter(type(steps.asked)).validate_python(learnt.asked)
        launch = TypeAdapter(Launch | None).validate_python(learnt.launch)
        _take(steps, learnt, asked, launch)


def _take(
    steps: OnboardingState, learnt: Learnt, asked: ServerSource, launch: Launch | None
) -> None:
    steps.say("going on from the last try with these words, which had found:")
    for guess in learnt.guesses or ("nothing that had to be guessed",):
        steps.say(f"  {guess}")
    steps.asked, steps.launch = asked, launch
    steps.given = replace(steps.given, entry=learnt.entry, before=learnt.before, http=learnt.http)
    steps.guesses, steps.mends = list(learnt.guesses), list(learnt.mends)
    if learnt.scenario and learnt.scenario in steps.checkout.catalog.scenarios:
        steps.loaded, steps.chosen = steps.checkout.scenario(learnt.scenario), True


def key_of(asked: ServerSource, given: Overrides, about: Mapping[str, Any]) -> str:
    """`about`: what it is measured with."""
    said = TypeAdapter(Overrides).dump_python(given, mode="json")
    day = datetime.now(UTC).date().isoformat()
    return digest_of([day, harness_digest(), _plain(asked), said, dict(about)])


def _plain(value: Any) -> dict[str, Any]:
    plain: dict[str, Any] = TypeAdapter(type(value)).dump_python(value, mode="json")
    return plain
