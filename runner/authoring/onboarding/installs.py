"""Remedies of an install and of a start: each finds in a complaint what is otherwise next time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.authoring.onboarding import missing, scripts, with_packages
from runner.authoring.onboarding.command_words import variables_in
from runner.authoring.onboarding.copying import REFUSED, started_on_copy
from runner.authoring.onboarding.installing import locker_of
from runner.authoring.onboarding.launches import Launch, launches_in_help, launches_with
from runner.authoring.onboarding.onboarding_state import OnboardingState, Overrides
from runner.authoring.onboarding.programs import commands_named, says_unbuilt
from runner.authoring.onboarding.server_source import NpmPackage, PypiPackage, ServerSource

if TYPE_CHECKING:
    from runner.authoring.onboarding.search_context import SearchContext
    from runner.authoring.onboarding.start_attempt import Start, StartAttempt

_OTHER_ENTRIES = 3


def _shows_no_less(before: StartAttempt, now: StartAttempt) -> bool:
    """Else it was asked for more than it can do with what it got."""
    return before.canary is None or now.canary is not None


def _starts_or_says_what_it_lacks(_before: StartAttempt, now: StartAttempt) -> bool:
    return now.started or now.is_broken


def _shows_or_starts_at_last(before: StartAttempt, now: StartAttempt) -> bool:
    return now.canary is not None or (now.started and not before.started)


@dataclass(frozen=True, kw_only=True)
class Change:
    """What is otherwise the next time that it is started, and how that is told."""

    asked: ServerSource | None = None
    """Installed anew, as this."""
    given: Overrides | None = None
    told: str = ""
    """Before it is tried."""
    guess: str
    """Where it is kept."""
    option: str
    """By which a person chooses otherwise."""
    keeps: Callable[[StartAttempt, StartAttempt], bool] = _shows_no_less
    """By how far it went before, and how far it goes now."""


def over_http(steps: OnboardingState, start: Start) -> list[Change]:
    attempt = start.attempt
    if not attempt.listens or attempt.started or steps.given.http is not None:
        return []
    guess = "it waits at a port, so it is spoken to over HTTP"
    given = replace(steps.given, http="")
    return [Change(given=given, guess=guess, option="--http PORT[/PATH]")]


def install_scripts(steps: OnboardingState, start: Start) -> list[Change]:
    """Those that would have made what it says it lacks."""
    attempt, folder = start.attempt, start.candidate.folder
    asked = scripts.with_scripts(steps.asked, folder, attempt.complaints)
    if asked is None or attempt.canary is not None:
        return []
    names = ", ".join(asked.scripts)
    what = f"install scripts are run, as a user without rights: {names}; no lock holds what"
    change = Change(
        asked=asked,
        told=f"a native part is missing: running the install scripts of {names} (minutes)",
        guess=f"{what} they fetch or compile",
        option="--scripts NAMES or none",
    )
    return [change]


def missing_package(steps: OnboardingState, start: Start) -> list[Change]:
    """One that it says it lacks, when it starts or when it is asked."""
    attempt = start.attempt
    if attempt.canary is not None or not isinstance(steps.asked, (NpmPackage, PypiPackage)):
        return []
    said = attempt.problem
    if attempt.started:
        # Of what tools answer, only what says how to install it: the rest may be code.
        said = "\n".join(filter(missing.tells_to_install, attempt.search.errors_of.values()))
    found = missing.with_missing(steps.asked, said)
    if found is None:
        return []
    asked, name = found
    change = Change(
        asked=asked,
        told=f"it says that it lacks something: trying with {name}",
        guess=f"{name}, which it needs and does not name",
        option="requirements.in or package.json",
    )
    return [change]


def other_entries(steps: OnboardingState, start: Start) -> list[Change]:
    """Others of its programs: the one that was chosen may be no server."""
    attempt, commands = start.attempt, start.candidate.installed.commands
    is_hopeless = attempt.is_hopeless and not attempt.is_miswired
    if attempt.started or is_hopeless or steps.given.entry:
        return []
    others = [name for name, words in commands.items() if words != start.spec.command]
    return [
        Change(
            given=replace(steps.given, entry=name),
            told=f"no way starts it; trying another of its programs, {name}",
            guess=f"entry point {name}, which starts",
            option="--entry NAME",
            keeps=_starts_or_says_what_it_lacks,
        )
        for name in others[:_OTHER_ENTRIES]
    ]


def program(steps: OnboardingState, start: Start) -> list[Change]:
    """One that it runs and does not bring."""
    readme, language = start.candidate.installed.readme, steps.loaded.scenario.language
    said = start.attempt.complaints_now
    found = with_packages.with_program(steps.asked, said, readme, language)
    if found is None:
        return []
    asked, name = found
    packages = ", ".join(with_packages.PROGRAMS[name])
    change = Change(
        asked=asked,
        told=f"it runs {name}, which it does not bring: trying with that",
        guess=f"{name} ({packages}), which it runs and does not bring",
        option="--with PACKAGE or none",
    )
    return [change]


def as_of_its_release(steps: OnboardingState, start: Start) -> list[Change]:
    """The packages of that day: newer ones may have broken it."""
    asked, given = steps.asked, steps.given
    is_fit = start.attempt.may_be_too_old and not given.before
    if start.attempt.lacks_own_file(start.candidate.installed.name):
        # Of whichever day its packages are, the file is not there.
        return []
    if not is_fit or not isinstance(asked, (NpmPackage, PypiPackage)):
        return []
    date = locker_of(steps.checkout).released(asked, start.candidate.installed.version)
    if not date:
        return []
    change = Change(
        asked=asked,
        # What is added to it from here on is of that day too.
        given=replace(given, before=date),
        told=f"it fails inside a package; trying those of its release, {date}",
        guess=f"packages as of its release, {date}: with them it started or showed something",
        option="--before DATE",
        keeps=_shows_or_starts_at_last,
    )
    return [change]


# --- of a start: other ways, by what the way before has shown -------------------------------------


def own_folders(attempt: StartAttempt) -> tuple[str, ...]:
    """As it is, it shows nothing, or a tool was refused to write there."""
    # What was refused once may pass when it is asked again: in a fresh cell, it is not.
    refused = any(map(REFUSED.search, attempt.search.errors_of.values()))
    return attempt.wants_private if attempt.canary is None or refused else ()


def programs_first(ground: SearchContext, attempt: StartAttempt) -> list[str]:
    """Named by its complaint; if that misses an index, those of its README as well."""
    if attempt.started:
        # What ends it may be that nothing was built.
        shown = ground.programs if attempt.ended_by else ()
        return list(dict.fromkeys([*attempt.search.shut_out, *shown]))
    said = [attempt.problem, attempt.said]
    shown = ground.programs if any(map(says_unbuilt, said)) else ()
    commands = dict.fromkeys([*commands_named(said, ground.names), *shown])
    return [one for one in commands if (one, attempt.writable) not in ground.failed]


def by_its_help(ground: SearchContext, _: StartAttempt) -> list[Launch]:
    return launches_in_help(ground.help_text or "")


def on_a_copy(ground: SearchContext, attempt: StartAttempt) -> list[Launch]:
    # In an image there may be no Python to put between.
    is_refused = attempt.writes_where_it_is or attempt.is_refused
    return [started_on_copy(attempt.launch)] if is_refused and ground.volume is not None else []


def with_variables(ground: SearchContext, attempt: StartAttempt) -> list[Launch]:
    if attempt.started:
        return launches_with(ground.variables, attempt.launch, "its README names the variable")
    named = variables_in(attempt.said)
    return launches_with(named, attempt.launch, "it names the variable")
