"""The steps of `fairtrial try`, up to a definition that was proven in the sandbox."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from runner.authoring.onboarding.copying import SUBSTITUTE, is_write_refused, started_on_copy
from runner.authoring.onboarding.definition_files import write_definition
from runner.authoring.onboarding.failing import no_canary, require_start
from runner.authoring.onboarding.installing import Candidate
from runner.authoring.onboarding.installs import Change
from runner.authoring.onboarding.launches import Launch
from runner.authoring.onboarding.launching import is_of_ours, started_by
from runner.authoring.onboarding.onboarding_state import OnboardedServer, OnboardingState
from runner.authoring.onboarding.remedies import INSTALLS, PROGRAMS, REPOSITORY, Install
from runner.authoring.onboarding.server_source import NpmPackage, PypiPackage, ServerSource
from runner.authoring.onboarding.start_attempt import Start, StartAttempt
from runner.authoring.onboarding.starts import given_canary, installed, started
from runner.authoring.onboarding.tool_roles import said_of_all, writers
from runner.catalog.checkout import relocked
from runner.catalog.project import write_project_lock
from runner.records import ServerCard, ServerSpec
from runner.runs.prepare import check_server
from runner.support.errors import DiskFullError, FairtrialError, NotReadyError

_MOST_FAILED = 2
"""Tools whose health probe may fail in a fresh cell, before the server is given up."""


def find_out(steps: OnboardingState) -> OnboardedServer:
    """Install it, find how it is started and a health probe, write its definition, and prove it.

    Raises FairtrialError with what is missing and the option that gives it.
    """
    candidate = installed(steps)
    start = mended(steps, _begun(steps, candidate))
    if _shows_nothing(steps, start.attempt):
        start = _elsewhere(steps, start)
    start, card = _proven_by_some_tool(steps, start)
    return OnboardedServer(
        folder=steps.project,
        server=steps.name,
        scenario=steps.loaded.scenario.id,
        card=card,
        guesses=tuple(steps.guesses),
        writing_tools=tuple(writers(start.attempt.tools)),
        wall_sec=time.monotonic() - steps.started,
    )


def _begun(steps: OnboardingState, candidate: Candidate) -> Start:
    """As the last try started it; in every way if that shows nothing any more."""
    if steps.launch is None:
        return started(steps, candidate)
    start = started(steps, candidate, steps.launch)
    return started(steps, candidate) if _shows_nothing(steps, start.attempt) else start


def _proven_by_some_tool(steps: OnboardingState, start: Start) -> tuple[Start, ServerCard]:
    """With a health probe of another tool if the first fails in a cell where nothing was asked.

    Raises FairtrialError if none is found, NotReadyError if the last fails too.
    """
    failed: set[str] = set()
    known = list(steps.guesses)
    while True:
        _require_canary(steps, start)
        write_definition(steps.folder, _spec_of(steps, start.spec, start.attempt), steps.guesses)
        try:
            return start, _proven(steps)
        except NotReadyError as error:
            found = start.attempt.canary
            if found is None or len(failed) == _MOST_FAILED:
                raise
            way = _on_copy_if_refused(start, error.what)
            instead = "trying it on a copy of the repository"
            if way == start.attempt.launch:
                failed.add(found.call.tool)
                instead = "looking for a health probe of another tool"
            steps.say(f"  {error.what}: {instead}")
            steps.guesses[:] = known
            other = started(steps, start.candidate, way, unasked=failed)
            if _shows_nothing(steps, other.attempt):
                # Why the first failed says more than that there is no second.
                raise
            start = other


def _on_copy_if_refused(start: Start, said: str) -> Launch:
    """What was refused may pass when it is asked once more: in each fresh cell it fails."""
    way = start.attempt.launch
    if way.copied or start.candidate.image is not None or not is_write_refused(said):
        return way
    return started_on_copy(way)


def _require_canary(steps: OnboardingState, start: Start) -> None:
    require_start(steps, start.candidate, start.attempt)
    if _shows_nothing(steps, start.attempt):
        # So that `server tools` and `server call` show what a health probe can be written from.
        guesses = [*steps.guesses, "no health probe was found: this one is a placeholder"]
        write_definition(steps.folder, _started(start.spec, start.attempt), guesses)
        write_project_lock(steps.project)
        raise no_canary(steps, start.candidate, start.attempt)


def _shows_nothing(steps: OnboardingState, attempt: StartAttempt) -> bool:
    return attempt.canary is None and steps.given.canary is None


def _elsewhere(steps: OnboardingState, start: Start) -> Start:
    """On another repository, if there is one that fits it better."""
    attempt = start.attempt
    if not REPOSITORY.find(steps, attempt):
        return start
    other = started(steps, start.candidate, attempt.launch if attempt.started else None)
    # Of another language, it may run another language server.
    return mended(steps, other, PROGRAMS)


# --- tried again with what it says that it lacks --------------------------------------------------


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
        # What failed, and the last words of what did.
        first, *others = error.what.splitlines()
        said = f"{first}: {others[-1].strip()}" if others else first
        steps.say(f"  it cannot be installed so: {said}")
        return None


def at_version(asked: ServerSource, version: str) -> ServerSource:
    """The same server: the version that was chosen when nothing had been added."""
    if not isinstance(asked, (NpmPackage, PypiPackage)) or asked.version:
        return asked
    return replace(asked, version=version)


# --- what was found -----------------------------------------------------------------------------


def _spec_of(steps: OnboardingState, spec: ServerSpec, attempt: StartAttempt) -> ServerSpec:
    label = steps.loaded.scenario.repository.label
    canary = given_canary(steps)
    base = 1
    if canary is None:
        found = attempt.canary
        assert found is not None  # noqa: S101 - required before
        canary = found.as_canary(label)
        call = f"{canary.call.tool} {json.dumps(canary.call.arguments, ensure_ascii=False)}"
        steps.guess(f"health probe {call} shows {canary.contains!r}", "--probe TOOL JSON TEXT")
        base = found.evidence.line_base if found.evidence.line_base is not None else 1
        if found.evidence.line_base is None:
            steps.guess("lines count from 1: no answer showed one", "line_base in server.yaml")
    _say_the_rest(steps, attempt)
    return _started(spec, attempt).model_copy(update={"canaries": (canary,), "line_base": base})


def _started(spec: ServerSpec, attempt: StartAttempt) -> ServerSpec:
    """As the attempt started it."""
    update: dict[str, object] = {"private": attempt.private, "warm_up": attempt.warm_up}
    if attempt.launch.copied:
        update["substitutes"] = (*spec.substitutes, SUBSTITUTE)
    return started_by(spec, attempt.launch).model_copy(update=update)


def _say_the_rest(steps: OnboardingState, attempt: StartAttempt) -> None:
    launch = attempt.launch
    if launch.why != "given" and launch != Launch(why=launch.why):
        option = "--private FOLDER or --args '…'" if launch.copied else "--args '…'"
        steps.guess(f"started with {launch}", option)
    for step in () if steps.given.warm_up else attempt.warm_up:
        if step.call is not None:
            told = f"{step.call.tool} {json.dumps(step.call.arguments, ensure_ascii=False)}"
            steps.guess(f"told first: {told}", "--warm-up TOOL JSON")
        elif not is_of_ours(step):
            steps.guess(f"run first, as it says itself: {step.shell}", "--warm-up shell COMMAND")
    if attempt.private and attempt.private != steps.given.private:
        steps.guess(f"its own folders: {', '.join(attempt.private)}", "--private FOLDER")
    if said_of_all(attempt.tools):
        said = "all its tools are said to write: their names decide"
        steps.guess(said, "--probe TOOL JSON TEXT")
    if written := writers(attempt.tools):
        steps.say(f"  tools that write, which nothing here may do: {', '.join(written)}")


def _proven(steps: OnboardingState) -> ServerCard:
    """The definition as it was written, in a cell of its own. Raises NotReadyError."""
    steps.say("3/6 proving the definition in a fresh cell")
    own = relocked(steps.checkout, steps.project)
    card = check_server(own, steps.name, steps.loaded.scenario.id)
    if not card.canary_passed:
        raise NotReadyError(
            f"its health probe passes {card.canary_passes} times of {card.canary_tries}, "
            "then fails",
            where=steps.name,
            hint="its answers change, or it needs a folder that it may write (--private FOLDER); "
            "another call may hold: --probe TOOL JSON TEXT",
        )
    if card.network_attempts:
        steps.say(f"  {card.network_attempts} network attempts were refused: a cell has no network")
    if card.stray_lines:
        steps.say(f"  {card.stray_lines} lines on its stdout were not JSON-RPC, and were skipped")
    return card
