"""A server that does not start, or shows nothing: tried again with what it says that it lacks."""

from __future__ import annotations

from dataclasses import replace

from runner.errors import FairtrialError
from runner.trying import bringing, scripts
from runner.trying.asked import Asked, Npm, Pypi
from runner.trying.missing import MOST, with_missing
from runner.trying.starts import Start, installed, started
from runner.trying.steps import Steps

_OTHER_ENTRIES = 2
SCRIPTS_OPTION = "--scripts NAMES or none"
BRING = "--bring PACKAGE or none"
LOCKS = "requirements.in or package.json"


def mended(steps: Steps, start: Start) -> Start:
    """The same, or one that goes further."""
    attempt = start.attempt
    if attempt.listens and not attempt.started and steps.given.http is None:
        steps.guess("it waits at a port, so it is spoken to over HTTP", "--http PORT[/PATH]")
        steps.given = replace(steps.given, http="")
        start = started(steps, start.candidate)
    start = _with_scripts(steps, start)
    start = _with_missing(steps, start)
    start = _with_other_entry(steps, start)
    start = with_programs(steps, start)
    is_broken = start.attempt.is_broken or start.attempt.breaks_when_asked
    if is_broken and not steps.given.before:
        start = _as_of_its_release(steps, start)
    return start


def _with_scripts(steps: Steps, start: Start) -> Start:
    """Once more with the install scripts that would have made what it says it lacks."""
    for _ in range(scripts.MOST):
        if start.attempt.canary is not None:
            break
        folder, complaints = start.candidate.folder, start.attempt.complaints
        asked = scripts.with_scripts(steps.asked, folder, complaints)
        if asked is None:
            break
        names = ", ".join(asked.scripts)
        steps.say(f"  a native part is missing: running the install scripts of {names} (minutes)")
        again = _instead(steps, asked)
        if again is None:
            break
        what = f"install scripts are run, as a user without rights: {names}; no lock holds what"
        steps.guess(f"{what} they fetch or compile", SCRIPTS_OPTION)
        start = again
    return start


def _with_missing(steps: Steps, start: Start) -> Start:
    """Once more with each package that it says it lacks."""
    for _ in range(MOST):
        if start.attempt.started or not isinstance(steps.asked, (Npm, Pypi)):
            break
        found = with_missing(steps.asked, start.attempt.problem)
        if found is None:
            break
        asked, name = found
        steps.say(f"  it says that it lacks something: trying with {name}")
        again = _instead(steps, asked)
        if again is None:
            break
        steps.guess(f"{name}, which it needs and does not name", LOCKS)
        start = again
    return start


def with_programs(steps: Steps, start: Start) -> Start:
    """Once more with each program that it runs and does not bring, as far as that is known."""
    for _ in range(bringing.MOST):
        readme, language = start.candidate.installed.readme, steps.loaded.scenario.language
        said = start.attempt.complaints_now
        found = bringing.with_program(steps.asked, said, readme, language)
        if found is None:
            break
        asked, name = found
        steps.say(f"  it runs {name}, which it does not bring: trying with that")
        again = _instead(steps, asked)
        if again is None:
            break
        packages = ", ".join(bringing.PROGRAMS[name])
        steps.guess(f"{name} ({packages}), which it runs and does not bring", BRING)
        start = again
    return start


def _with_other_entry(steps: Steps, start: Start) -> Start:
    """Once more with another of its programs: the one that was chosen may be no server."""
    attempt = start.attempt
    if attempt.started or attempt.is_hopeless or steps.given.entry:
        return start
    given, entries = steps.given, start.candidate.installed.entries
    others = [name for name, words in entries.items() if words != start.spec.command]
    for name in others[:_OTHER_ENTRIES]:
        steps.say(f"  no way starts it; trying another of its programs, {name}")
        steps.given = replace(given, entry=name)
        other = started(steps, start.candidate)
        if other.attempt.started:
            steps.guess(f"entry point {name}, which starts", "--entry NAME")
            return other
    steps.given = given
    return start


def _instead(steps: Steps, asked: Asked) -> Start | None:
    """Installed and started as `asked`; None, and all as it was, if that cannot be installed."""
    before, steps.asked = steps.asked, asked
    try:
        candidate = installed(steps, before=steps.given.before)
    except FairtrialError as error:
        steps.say(f"  it cannot be installed so: {_in_one_line(error)}")
        steps.asked = before
        # The folder must hold the locks that were installed.
        installed(steps, before=steps.given.before)
        return None
    return started(steps, candidate)


def _as_of_its_release(steps: Steps, start: Start) -> Start:
    """Once more with the packages of the day it was released: newer ones may have broken it."""
    if not isinstance(steps.asked, (Npm, Pypi)):
        return start
    date = steps.bench.locker.released(steps.asked, start.candidate.installed.version)
    if not date:
        return start
    steps.say(f"  today's packages break it; trying those of its release, {date}")
    try:
        candidate = installed(steps, before=date)
    except FairtrialError as error:
        steps.say(f"  they cannot be installed: {_in_one_line(error)}")
        # The folder must hold the locks that were installed.
        return replace(start, candidate=installed(steps, before=""))
    older = started(steps, candidate)
    if start.attempt.started and older.attempt.canary is None:
        return replace(start, candidate=installed(steps, before=""))
    if older.attempt.started:
        steps.guess(f"packages as of its release, {date}: today's break it", "--before DATE")
    return older


def _in_one_line(error: FairtrialError) -> str:
    """What failed, and the last words of what did."""
    first, *others = error.what.splitlines()
    return f"{first}: {others[-1].strip()}" if others else first
