"""The steps of `fairtrial try`, up to a definition that was proven in the sandbox."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace

from runner.errors import FairtrialError, NotReadyError
from runner.project import write_project_lock
from runner.records import Canary, ServerCard, ServerSpec, WarmUp
from runner.trying import tables
from runner.trying.asked import Npm, Pypi
from runner.trying.attempting import Attempt
from runner.trying.failing import no_canary, require_start
from runner.trying.ground import Ground
from runner.trying.installed import Installed, SeveralEntries, choose_entry
from runner.trying.installing import Candidate, draft, install
from runner.trying.kinds import choose_at_once, choose_by_failing
from runner.trying.launches import Launch, launches, variables_in
from runner.trying.missing import MOST, with_missing
from runner.trying.notes import notes_of
from runner.trying.over_http import bridged, over_http
from runner.trying.searching import find_way
from runner.trying.setting_up import commands_shown
from runner.trying.steps import Given, Steps, Tried
from runner.trying.targets import symbols_of
from runner.trying.tools import said_of_all, writers
from runner.trying.writing import write_definition


def find_out(steps: Steps) -> Tried:
    """Install it, find how it is started and a canary, write its definition, and prove it.

    Raises FairtrialError with what is missing and the option that gives it.
    """
    candidate = _installed(steps, before=steps.given.before)
    choose_at_once(steps, candidate.installed)
    spec, attempt = _way(steps, candidate)
    if attempt.listens and not attempt.started and steps.given.http is None:
        steps.guess("it waits at a port, so it is spoken to over HTTP", "--http PORT[/PATH]")
        steps.given = replace(steps.given, http="")
        spec, attempt = _way(steps, candidate)
    candidate, spec, attempt = _with_missing(steps, candidate, spec, attempt)
    if attempt.is_broken and not steps.given.before and isinstance(steps.asked, (Npm, Pypi)):
        candidate, spec, attempt = _as_of_its_release(steps, candidate, spec, attempt)
    if _shows_nothing(steps, attempt) and choose_by_failing(steps, candidate.installed, attempt):
        spec, attempt = _way(steps, candidate, attempt.launch if attempt.started else None)
    require_start(steps, candidate, attempt)
    if _shows_nothing(steps, attempt):
        _keep_without_canary(steps, spec, attempt)
        raise no_canary(steps, candidate, attempt)
    spec = _spec_of(steps, spec, attempt)
    write_definition(steps.folder, spec, steps.guesses)
    card = _proven(steps)
    return Tried(
        folder=steps.project,
        server=steps.name,
        scenario=steps.loaded.scenario.id,
        card=card,
        guesses=tuple(steps.guesses),
        writing_tools=tuple(writers(attempt.tools)),
        wall_sec=time.monotonic() - steps.started,
    )


def _shows_nothing(steps: Steps, attempt: Attempt) -> bool:
    return attempt.canary is None and steps.given.canary is None


# --- installed ----------------------------------------------------------------------------------


def _installed(steps: Steps, *, before: str) -> Candidate:
    steps.say("1/6 locking and installing")
    candidate = install(steps.asked, steps.name, steps.folder, steps.bench, before=before)
    installed = candidate.installed
    licence = installed.licence or "licence unknown"
    steps.say(f"  {installed.name} {installed.version} ({licence}) {installed.homepage}".rstrip())
    if candidate.unpinned:
        steps.say(f"  not pinned: {candidate.unpinned}")
    return candidate


def _with_missing(
    steps: Steps, candidate: Candidate, spec: ServerSpec, attempt: Attempt
) -> tuple[Candidate, ServerSpec, Attempt]:
    """Once more with each package that it says it lacks."""
    for _ in range(MOST):
        if attempt.started or not isinstance(steps.asked, (Npm, Pypi)):
            break
        found = with_missing(steps.asked, attempt.problem)
        if found is None:
            break
        asked, name = found
        steps.say(f"  it says that it lacks something: trying with {name}")
        before, steps.asked = steps.asked, asked
        try:
            candidate = _installed(steps, before=steps.given.before)
        except FairtrialError as error:
            steps.say(f"  it cannot be added: {error.what.splitlines()[0]}")
            steps.asked = before
            # The folder must hold the locks that were installed.
            return _installed(steps, before=steps.given.before), spec, attempt
        steps.guess(f"{name}, which it needs and does not name", "requirements.in or package.json")
        spec, attempt = _way(steps, candidate)
    return candidate, spec, attempt


def _as_of_its_release(
    steps: Steps, candidate: Candidate, spec: ServerSpec, attempt: Attempt
) -> tuple[Candidate, ServerSpec, Attempt]:
    """Once more with the packages of the day it was released: newer ones may have broken it."""
    version = candidate.installed.version
    assert isinstance(steps.asked, (Npm, Pypi))  # noqa: S101 - what is local has no release
    date = steps.bench.locker.released(steps.asked, version)
    if not date:
        return candidate, spec, attempt
    steps.say(f"  it does not start with today's packages; trying those of its release, {date}")
    try:
        older = _installed(steps, before=date)
    except FairtrialError as error:
        steps.say(f"  they cannot be installed: {error.what.splitlines()[0]}")
        # The folder must hold the locks that were installed.
        return _installed(steps, before=""), spec, attempt
    older_spec, older_attempt = _way(steps, older)
    if older_attempt.started:
        steps.guess(f"packages as of its release, {date}: today's break it", "--before DATE")
    return older, older_spec, older_attempt


# --- started ------------------------------------------------------------------------------------


def _way(
    steps: Steps, candidate: Candidate, only: Launch | None = None
) -> tuple[ServerSpec, Attempt]:
    """`only`: how it started before, on another repository."""
    installed = candidate.installed
    entry = _entry(steps, installed)
    given = steps.given
    spec = draft(steps.name, installed, candidate.files, candidate.image)
    update = {
        "command": installed.entries[entry],
        "env": {**spec.env, **given.env},
        "warm_up": given.warm_up or _tables(steps, candidate),
        "initialize_timeout_sec": 90,
    }
    spec = spec.model_copy(update=update)
    if given.http is not None:
        spec = bridged(spec, given.http)
    volume = None
    if spec.image is None:
        volume = steps.bench.volume(spec, steps.folder).name
    programs = commands_shown(installed.readme, list(installed.entries))
    ground = replace(
        _ground(steps, volume),
        programs=tuple(programs),
        variables=tuple(variables_in(installed.readme)),
    )
    ways = [only] if only else _ways(given, installed)
    steps.say("2/6 starting it in the sandbox, and looking for a canary")
    canary = _given_canary(steps)
    fixed = given.args is not None or only is not None
    search = find_way(ground, spec, ways, fixed=fixed, canary=canary)
    return spec, asyncio.run(search)


def _tables(steps: Steps, candidate: Candidate) -> tuple[WarmUp, ...]:
    installed = candidate.installed
    # What makes them is a step of a shell, in a folder that an image cannot see.
    if candidate.image or not tables.reads_tables(installed.title, installed.readme):
        return ()
    steps.guess("it reads tables: the repository's lines as one", "--warm-up TOOL JSON")
    return (tables.MADE,)


def _ways(given: Given, installed: Installed) -> list[Launch]:
    if given.args is not None:
        return [Launch(args=given.args, why="given")]
    known = tables.reads_tables(installed.title, installed.readme)
    names = [installed.name, *installed.entries]
    ways = launches(installed.readme, names, reads_tables=known)
    return ways if given.http is None else over_http(ways)


def _entry(steps: Steps, installed: Installed) -> str:
    try:
        entry = choose_entry(installed, steps.given.entry)
    except SeveralEntries as question:
        entry = steps.ask("Which of them is the server?", question.entries)
        if not entry:
            raise
    if len(installed.entries) > 1 and not steps.given.entry:
        steps.guess(f"entry point {entry} of {', '.join(installed.entries)}", "--entry NAME")
    return entry


def _ground(steps: Steps, volume: str | None) -> Ground:
    it = steps.checkout
    repository = it.repository(steps.loaded)
    files = it.files(steps.loaded)
    return Ground(
        engine=it.engine,
        image=it.workspace(repository).id,
        limits=it.limits,
        volume=volume,
        # With the person's own canary none is looked for, in whichever language.
        symbols=()
        if steps.given.canary
        else tuple(symbols_of(files, steps.loaded.scenario.language)),
        notes=() if steps.given.canary else tuple(notes_of(files)),
        paths=frozenset(files.paths()),
        log=it.log,
    )


def _given_canary(steps: Steps) -> Canary | None:
    if steps.given.canary is None:
        return None
    call, text = steps.given.canary
    label = steps.loaded.scenario.repository.label
    return Canary(repository=label, call=call, contains=text)


# --- what was found -----------------------------------------------------------------------------


def _keep_without_canary(steps: Steps, spec: ServerSpec, attempt: Attempt) -> None:
    """So that `server tools` and `server call` show what a canary can be written from."""
    known = _started(spec, attempt)
    guesses = [*steps.guesses, "no canary was found: this one is a placeholder"]
    write_definition(steps.folder, known, guesses)
    write_project_lock(steps.project)


def _spec_of(steps: Steps, spec: ServerSpec, attempt: Attempt) -> ServerSpec:
    label = steps.loaded.scenario.repository.label
    canary = _given_canary(steps)
    base = 1
    if canary is None:
        found = attempt.canary
        assert found is not None  # noqa: S101 - required before
        canary = found.as_canary(label)
        call = f"{canary.call.tool} {json.dumps(canary.call.arguments, ensure_ascii=False)}"
        steps.guess(f"canary {call} shows {canary.contains!r}", "--canary TOOL JSON TEXT")
        base = found.evidence.line_base if found.evidence.line_base is not None else 1
        if found.evidence.line_base is None:
            steps.guess("lines count from 1: no answer showed one", "line_base in server.yaml")
    _say_the_rest(steps, attempt)
    return _started(spec, attempt).model_copy(update={"canaries": (canary,), "line_base": base})


def _started(spec: ServerSpec, attempt: Attempt) -> ServerSpec:
    """As the attempt started it."""
    update = {
        "command": (*spec.command, *attempt.launch.args),
        "env": {**spec.env, **attempt.launch.env},
        "private": attempt.private,
        "warm_up": attempt.warm_up,
    }
    return spec.model_copy(update=update)


def _say_the_rest(steps: Steps, attempt: Attempt) -> None:
    if attempt.launch.why != "given" and (attempt.launch.args or attempt.launch.env):
        steps.guess(f"started with {attempt.launch}", "--args '…'")
    for step in () if steps.given.warm_up else attempt.warm_up:
        if step.call is not None:
            told = f"{step.call.tool} {json.dumps(step.call.arguments, ensure_ascii=False)}"
            steps.guess(f"told first: {told}", "--warm-up TOOL JSON")
        elif step != tables.MADE:
            steps.guess(f"run first, as it says itself: {step.shell}", "warm_up in server.yaml")
    if attempt.private:
        steps.guess(f"its own folders: {', '.join(attempt.private)}", "private in server.yaml")
    if said_of_all(attempt.tools):
        steps.guess(
            "all its tools say that they write: their names decide", "--canary TOOL JSON TEXT"
        )
    if written := writers(attempt.tools):
        steps.say(f"  tools that write, which nothing here may do: {', '.join(written)}")


def _proven(steps: Steps) -> ServerCard:
    """The definition as it was written, in a cell of its own. Raises NotReadyError."""
    steps.say("3/6 proving the definition in a fresh cell")
    write_project_lock(steps.project)
    # Opened anew: a catalog keeps what it found when it was opened.
    own = steps.checkout.over(steps.project)
    own.lock(check=False)
    card = own.check_server(steps.name, steps.loaded.scenario.id)
    if not card.canary_passed:
        raise NotReadyError(
            f"its canary passes {card.canary_passes} times of {card.canary_tries}, then fails",
            where=steps.name,
            hint="its answers change from call to call; choose one: --canary TOOL JSON TEXT",
        )
    if card.network_attempts:
        steps.say(f"  {card.network_attempts} network attempts were refused: a cell has no network")
    if card.stray_lines:
        steps.say(f"  {card.stray_lines} lines on its stdout were not JSON-RPC, and were skipped")
    return card
