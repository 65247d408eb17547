"""A server that does not start, or shows nothing: tried again with what it says that it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runner.authoring.onboarding.installing import Candidate
from runner.authoring.onboarding.installs import Change
from runner.authoring.onboarding.onboarding_state import OnboardingState
from runner.authoring.onboarding.remedies import INSTALLS, Install
from runner.authoring.onboarding.server_source import NpmPackage, PypiPackage, ServerSource
from runner.authoring.onboarding.start_attempt import Start
from runner.authoring.onboarding.starts import installed, started
from runner.support.errors import DiskFullError, FairtrialError


def mended(steps: OnboardingState, start: Start, remedies: Sequence[Install] = INSTALLS) -> Start:
    """The same, or one that goes further: after each change that helps, from the first remedy."""
    left = [remedy for remedy in remedies for _ in range(remedy.most)]
    while (found := _called_for(steps, start, left)) is not None:
        remedy, changes = found
        left.remove(remedy)
        better = _first_kept(steps, start, changes)
        if better is None:
            left = [other for other in left if other != remedy]
        start = better or start
    return start


def _called_for(
    steps: OnboardingState, start: Start, remedies: Iterable[Install]
) -> tuple[Install, list[Change]] | None:
    for remedy in dict.fromkeys(remedies):
        if changes := remedy.find(steps, start):
            return remedy, changes
    return None


def _first_kept(steps: OnboardingState, start: Start, changes: Iterable[Change]) -> Start | None:
    """None, and all as it was, if it goes no further with any of them."""
    asked, given = steps.asked, steps.given
    for change in changes:
        again = _with(steps, start, change)
        if again is not None and change.keeps(start.attempt, again.attempt):
            steps.guess(change.guess, change.option)
            steps.mends.append(change.guess)
            steps.keep(again.attempt.shown_by)
            return again
        steps.asked, steps.given = asked, given
        steps.keep(start.attempt.shown_by)
        if change.asked is not None:
            # The folder must hold the locks of what is returned.
            installed(steps)
    return None


def _with(steps: OnboardingState, start: Start, change: Change) -> Start | None:
    """None if it cannot be installed so."""
    if change.told:
        steps.say(f"  {change.told}")
    candidate: Candidate | None = start.candidate
    steps.given = change.given or steps.given
    if change.asked is not None:
        # With one package more, an older version of the server may fit, which no user would get.
        steps.asked = at_version(change.asked, start.candidate.installed.version)
        candidate = _installed_if_it_can_be(steps)
    return None if candidate is None else started(steps, candidate)


def _installed_if_it_can_be(steps: OnboardingState) -> Candidate | None:
    try:
        return installed(steps)
    except DiskFullError:
        raise
    except FairtrialError as error:
        steps.say(f"  it cannot be installed so: {_in_one_line(error)}")
        return None


def at_version(asked: ServerSource, version: str) -> ServerSource:
    """The same server: the version that was chosen when nothing had been added."""
    if not isinstance(asked, (NpmPackage, PypiPackage)) or asked.version:
        return asked
    return replace(asked, version=version)


def _in_one_line(error: FairtrialError) -> str:
    """What failed, and the last words of what did."""
    first, *others = error.what.splitlines()
    return f"{first}: {others[-1].strip()}" if others else first
