"""A server that does not start, or shows nothing: tried again with what it says that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from runner.authoring.onboarding import c_library, fetched, scripts, with_packages
from runner.authoring.onboarding.locking import PYTHONS
from runner.authoring.onboarding.missing import (
    MOST,
    for_newer_python,
    tells_to_install,
    with_missing,
    with_whole_library,
)
from runner.authoring.onboarding.onboarding_state import Given, Steps
from runner.authoring.onboarding.server_source import Asked, Npm, Pypi
from runner.authoring.onboarding.starts import Start, installed, started
from runner.support.errors import DiskFullError, FairtrialError

_OTHER_ENTRIES = 3


def mended(steps: Steps, start: Start) -> Start:
    """The same, or one that goes further."""
    start = _over_http(steps, start)
    start = _on_newer_c_library(steps, start)
    start = _repeated(steps, start, _scripts, scripts.MOST)
    start = _repeated(steps, start, _missing, MOST)
    start = _repeated(steps, start, _newer_python, 1)
    # With what it lacked, it may come as far as to wait at a port.
    start = _over_http(steps, start)
    start = _repeated(steps, start, _whole_library, 1)
    start = _with_other_entry(steps, start)
    start = with_programs(steps, start)
    if start.attempt.may_be_too_old and not steps.given.before:
        start = with_programs(steps, _as_of_its_release(steps, start))
    return start


def _over_http(steps: Steps, start: Start) -> Start:
    attempt = start.attempt
    if not attempt.listens or attempt.started or steps.given.http is not None:
        return start
    steps.guess("it waits at a port, so it is spoken to over HTTP", "--http PORT[/PATH]")
    steps.given = replace(steps.given, http="")
    return started(steps, start.candidate)


def _on_newer_c_library(steps: Steps, start: Start) -> Start:
    candidate, said = start.candidate, start.attempt.complaints
    newer = c_library.on_newer(candidate, start.spec.command, said)
    if newer is None or start.attempt.started:
        return start
    steps.guess("the next Debian's C library, as it asks for a newer one", c_library.OPTION)
    return started(steps, newer)


@dataclass(frozen=True, kw_only=True)
class _Mend:
    """What to install instead, and how that is told."""

    asked: Asked
    told: str
    guess: str
    option: str
    """By which a person chooses otherwise."""


def _repeated(
    steps: Steps, start: Start, found_by: Callable[[Steps, Start], _Mend | None], most: int
) -> Start:
    """Once more with each mend that is found, until one cannot be installed."""
    for _ in range(most):
        mend, asked = found_by(steps, start), steps.asked
        if mend is None:
            break
        steps.say(f"  {mend.told}")
        # With one package more, an older version of the server may fit, which no user would get.
        same = at_version(mend.asked, start.candidate.installed.version)
        again = _instead(steps, start, same, steps.given)
        if again is None:
            break
        if start.attempt.canary is not None and again.attempt.canary is None:
            # It was asked for more than it can do with it.
            return _put_back(steps, start, asked, steps.given)
        steps.guess(mend.guess, mend.option)
        start = again
    return start


def at_version(asked: Asked, version: str) -> Asked:
    """The same server: the version that was chosen when nothing had been added."""
    if not isinstance(asked, (Npm, Pypi)) or asked.version:
        return asked
    return replace(asked, version=version)


def _scripts(steps: Steps, start: Start) -> _Mend | None:
    """The install scripts that would have made what it says it lacks."""
    attempt, folder = start.attempt, start.candidate.folder
    asked = scripts.with_scripts(steps.asked, folder, attempt.complaints)
    if asked is None or attempt.canary is not None:
        return None
    names = ", ".join(asked.scripts)
    what = f"install scripts are run, as a user without rights: {names}; no lock holds what"
    return _Mend(
        asked=asked,
        told=f"a native part is missing: running the install scripts of {names} (minutes)",
        guess=f"{what} they fetch or compile",
        option="--scripts NAMES or none",
    )


def _missing(steps: Steps, start: Start) -> _Mend | None:
    """A package that it says it lacks, when it starts or when it is asked."""
    attempt = start.attempt
    if attempt.canary is not None or not isinstance(steps.asked, (Npm, Pypi)):
        return None
    said = attempt.problem
    if attempt.started:
        # Of what tools answer, only what says how to install it: the rest may be code.
        said = "\n".join(filter(tells_to_install, attempt.search.errors_of.values()))
    found = with_missing(steps.asked, said)
    if found is None:
        return None
    asked, name = found
    return _Mend(
        asked=asked,
        told=f"it says that it lacks something: trying with {name}",
        guess=f"{name}, which it needs and does not name",
        option="requirements.in or package.json",
    )


def _newer_python(steps: Steps, start: Start) -> _Mend | None:
    """The newest Python, for a package that does not say that it needs one so new."""
    asked, newest = steps.asked, PYTHONS[-1]
    is_newest = start.candidate.installed.python == newest
    if is_newest or start.attempt.started or not isinstance(asked, Pypi):
        return None
    if not for_newer_python(start.attempt.problem):
        return None
    return _Mend(
        asked=replace(asked, newest_python=True),
        told=f"an older Python does not read it: trying with {newest}",
        guess=f"Python {newest}, as an older one does not read it",
        option="python in server.yaml",
    )


def _whole_library(steps: Steps, start: Start) -> _Mend | None:
    """A library that fetched in vain what an older version of it brings."""
    lock = start.candidate.folder / "requirements.txt"
    tried = start.attempt.network_attempts and lock.exists()
    if start.attempt.canary is not None and fetched.GRAMMARS in start.candidate.supplies:
        # It has what matters of them; of other kinds of file it may go on fetching in vain.
        return None
    if not tried or not isinstance(steps.asked, Pypi):
        return None
    found = with_whole_library(steps.asked, lock.read_text(encoding="utf-8"))
    if found is None:
        return None
    asked, need = found
    return _Mend(
        asked=asked,
        told=f"a cell has no network: trying with {need}, which brings what newer ones fetch",
        guess=f"{need}: newer ones fetch their parts when they run",
        option="requirements.in",
    )


def _program(steps: Steps, start: Start) -> _Mend | None:
    """A program that it runs and does not bring."""
    readme, language = start.candidate.installed.readme, steps.loaded.scenario.language
    said = start.attempt.complaints_now
    found = with_packages.with_program(steps.asked, said, readme, language)
    if found is None:
        return None
    asked, name = found
    packages = ", ".join(with_packages.PROGRAMS[name])
    return _Mend(
        asked=asked,
        told=f"it runs {name}, which it does not bring: trying with that",
        guess=f"{name} ({packages}), which it runs and does not bring",
        option="--bring PACKAGE or none",
    )


def with_programs(steps: Steps, start: Start) -> Start:
    """Once more with each program that it runs and does not bring, as far as that is known."""
    return _repeated(steps, start, _program, with_packages.MOST)


def _with_other_entry(steps: Steps, start: Start) -> Start:
    """Once more with another of its programs: the one that was chosen may be no server."""
    attempt = start.attempt
    is_hopeless = attempt.is_hopeless and not attempt.is_miswired
    if attempt.started or is_hopeless or steps.given.entry:
        return start
    given, asked, commands = steps.given, steps.asked, start.candidate.installed.commands
    others = [name for name, words in commands.items() if words != start.spec.command]
    for name in others[:_OTHER_ENTRIES]:
        steps.say(f"  no way starts it; trying another of its programs, {name}")
        steps.given = replace(given, entry=name)
        other = _repeated(steps, started(steps, start.candidate), _missing, MOST)
        if other.attempt.started:
            steps.guess(f"entry point {name}, which starts", "--entry NAME")
            return other
    steps.given = given
    return start if steps.asked == asked else _put_back(steps, start, asked, given)


def _instead(steps: Steps, start: Start, asked: Asked, given: Given) -> Start | None:
    """Installed and started as `asked`; None, and all as it was, if that cannot be installed."""
    before = steps.asked, steps.given
    steps.asked, steps.given = asked, given
    try:
        candidate = installed(steps)
    except DiskFullError:
        raise
    except FairtrialError as error:
        steps.say(f"  it cannot be installed so: {_in_one_line(error)}")
        _put_back(steps, start, *before)
        return None
    return started(steps, candidate)


def _put_back(steps: Steps, start: Start, asked: Asked, given: Given) -> Start:
    """As it was asked for before: the folder must hold the locks of what is returned."""
    steps.asked, steps.given = asked, given
    return replace(start, candidate=installed(steps))


def _as_of_its_release(steps: Steps, start: Start) -> Start:
    """Once more with the packages of the day it was released: newer ones may have broken it."""
    asked, given = steps.asked, steps.given
    if not isinstance(asked, (Npm, Pypi)):
        return start
    date = steps.bench.locker.released(asked, start.candidate.installed.version)
    if not date:
        return start
    steps.say(f"  today's packages break it; trying those of its release, {date}")
    # What is added to it from here on is of that day too.
    older = _instead(steps, start, asked, replace(given, before=date))
    if older is None:
        return start
    if start.attempt.started and older.attempt.canary is None:
        return _put_back(steps, start, asked, given)
    if older.attempt.started:
        steps.guess(f"packages as of its release, {date}: today's break it", "--before DATE")
    return older


def _in_one_line(error: FairtrialError) -> str:
    """What failed, and the last words of what did."""
    first, *others = error.what.splitlines()
    return f"{first}: {others[-1].strip()}" if others else first
