"""A server started once in the sandbox, and what it is told on the way to a health probe."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import PurePosixPath

from runner.authoring.onboarding import fetched
from runner.authoring.onboarding.canaries import CanarySearch, FoundCanary
from runner.authoring.onboarding.copying import (
    REFUSED,
    REFUSES,
    is_copy,
    on_copy,
    over_copy,
    with_copy,
)
from runner.authoring.onboarding.launches import Launch, listens
from runner.authoring.onboarding.programs import (
    SETUP_SEC,
    Ran,
    end_of_log,
    run_program,
    runnable,
    says_unbuilt,
)
from runner.authoring.onboarding.remedies import FINDERS, LAST, PROGRAM_FIRST, TOLD, Telling
from runner.authoring.onboarding.search_context import SearchContext
from runner.authoring.onboarding.server_stderr import own_words
from runner.authoring.onboarding.setting_up import SettingUp
from runner.authoring.onboarding.start_attempt import BREAKS_PROTOCOL, StartAttempt
from runner.records import ServerSpec, WarmUp
from runner.sandbox.cell_layout import WORKSPACE
from runner.sandbox.container import Container, ContainerSpec, open_container
from runner.sandbox.session import ServerSession
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.sandbox.tree_volume import ensure_tree_volumes
from runner.servers.definition_rules import launch, private_in_cell
from runner.servers.examine import network_attempts, run_shell_steps, start_server, warm_up_call
from runner.support.errors import ServerError

LISTENS_SEC = 5
"""How long one that says that it listens at a port may still answer on stdout."""
MOST_PRIVATE = 4
_ENDS_SEC = 5
_MOST_DEADLY = 3
"""Tools that end the server, before it is given up."""
DEADLINE_SEC = 3600
_SAID_LINES = 4
_REFUSED_HERE = re.compile(
    rf"{REFUSES}[^'\"\n]{{0,20}}"
    rf"['\"](?:{WORKSPACE}/)?[^/'\"\n]+['\"]"
    # SQLite does not say where.
    r"|unable to open database file|attempt to write a readonly database"
)
_EXCLUDES = ".git/info"
"""Where tools write what git shall leave out: of the repository's history nothing is there."""
_HERE = re.compile(
    rf"{REFUSES}[^'\"\n]{{0,20}}"
    r"['\"](?P<place>[^/'\"\n][^'\"\n]*)"
)
"""A place in the folder that it was started in, which is the workspace."""
_NEAR_CHARS = 160
_PLACE = re.compile(rf"{WORKSPACE}/([^\s'\"`:,)\]\\]+)")


async def attempt_at(
    ground: SearchContext, spec: ServerSpec, way: Launch, private: tuple[str, ...]
) -> StartAttempt:
    spec = with_copy(spec.model_copy(update={"private": private}), way)
    if spec.image is not None and private not in ground.lent:
        await asyncio.to_thread(ensure_tree_volumes, ground.engine, ground.image, private)
        ground.lent.add(private)
    cell = ContainerSpec(
        image=ground.image,
        limits=ground.limits,
        deadline_sec=DEADLINE_SEC,
        server_volume=ground.volume,
        private=private_in_cell(spec),
    )
    async with open_container(ground.engine, cell) as container:
        attempt = await _once(ground, container, spec, _begun(ground, way, private))
        if spec.image is None and attempt.may_want_a_program:
            attempt = await _after_programs(ground, container, spec, attempt)
        while attempt.ended_by and len(ground.deadly) < _MOST_DEADLY:
            ground.log(f"  its tool {attempt.ended_by} ends it, and is asked no more")
            ground.deadly.add(attempt.ended_by)
            attempt = await _once(ground, container, spec, _begun(ground, way, private))
        texts = [attempt.problem, attempt.stderr, *attempt.search.seen]
        wants = _refused(texts, ground.paths, private)
        here = any(map(_REFUSED_HERE.search, texts))
        is_refused = attempt.canary is None and any(map(REFUSED.search, texts))
        if not wants and (attempt.fails_without_a_word or (is_refused and not here)):
            # "Read-only file system (os error 30)" names no place: its README may.
            called = [f"{one}/x" for one in ground.own_folders]
            wants = _own_folders(called, ground.paths, private)
        attempts = await network_attempts(container)
    return replace(
        attempt,
        network_attempts=attempts,
        wants_private=wants,
        writes_where_it_is=here,
        is_refused=is_refused and not wants,
        listens=listens([*texts, *attempt.said.splitlines()]),
    )


def _begun(ground: SearchContext, way: Launch, private: tuple[str, ...]) -> StartAttempt:
    search = CanarySearch(deadly=ground.deadly, unasked=ground.unasked)
    return StartAttempt(launch=way, private=private, search=search)


async def _once(
    ground: SearchContext,
    container: Container,
    spec: ServerSpec,
    attempt: StartAttempt,
    *,
    is_warm: bool = False,
) -> StartAttempt:
    """`is_warm`: its shell steps were run in that container."""
    log, started = ServerLog(stderr=StderrFile(None)), started_by(spec, attempt.launch)
    try:
        if not is_warm:
            await run_shell_steps(container, spec)
        async with _session(container, started, log) as session:
            attempt = replace(attempt, tools=session.tools)
            attempt = await _look(ground, container, started, session, attempt)
    except ServerError as error:
        stderr, stdout = log.stderr.tail.decode(errors="replace"), "\n".join(log.stray)
        logged = await end_of_log(container, f"{stdout}\n{stderr}")
        problem = own_words(logged) or own_words(stderr) or own_words(stdout) or error.what
        if BREAKS_PROTOCOL in error.what:
            # It runs, and what it logs is not why.
            problem = " | ".join(line.strip() for line in error.what.splitlines()[:_SAID_LINES])
        attempt = replace(attempt, problem=problem, said=f"{stdout}\n{stderr}\n{logged}")
    stderr = log.stderr.tail.decode(errors="replace")
    return replace(attempt, stderr=stderr, stray_lines=log.stray_lines)


async def _after_programs(
    ground: SearchContext, container: Container, spec: ServerSpec, attempt: StartAttempt
) -> StartAttempt:
    """Started again after each program of its own that has to be run before it starts."""
    told_by_person = not all(map(is_of_ours, spec.warm_up))
    why = "while it is not running" if attempt.started else "as it says itself"
    further = attempt
    for command in () if told_by_person else PROGRAM_FIRST.find(ground, attempt):
        started = started_by(spec, attempt.launch)
        own = runnable(command, spec)
        step = on_copy(own, started)
        ran = await _run_alone(container, started, own)
        attempt.search.seen.append(ran.output)
        if not ran.good:
            # It may take minutes to fail, in every way that the server is started.
            ground.failed.add((command, attempt.writable))
            if ran.failed:
                ground.log(f"  run first, {why}: {ran.failed}")
            continue
        ground.log(f"  run first, {why}: {step}")
        warm_up = (*spec.warm_up, WarmUp(shell=step, timeout_sec=SETUP_SEC))
        spec = spec.model_copy(update={"warm_up": warm_up})
        fresh = _begun(ground, attempt.launch, attempt.private)
        again = await _once(ground, container, spec, fresh, is_warm=True)
        if again.canary is not None or (again.started and not attempt.started):
            return again
        if not (again.started or attempt.started or says_unbuilt(again.problem)):
            # It has what it missed, and says what it misses next.
            further = again
    return further


async def _run_alone(container: Container, spec: ServerSpec, command: str) -> Ran:
    ran = await run_program(container, spec, command)
    for _ in range(_ENDS_SEC):
        if not ran.is_shut_out:
            break
        # The server that was asked to end may still be at it.
        await asyncio.sleep(1)
        ran = await run_program(container, spec, command)
    return ran


def is_of_ours(step: WarmUp) -> bool:
    """Does it put something in its place, which nobody told the server?"""
    return fetched.is_supply(step) or is_copy(step)


def started_by(spec: ServerSpec, way: Launch) -> ServerSpec:
    command = (*spec.command, *way.args)
    if way.copied:
        command = over_copy(command)
    return spec.model_copy(update={"command": command, "env": {**spec.env, **way.env}})


@asynccontextmanager
async def _session(
    container: Container, spec: ServerSpec, log: ServerLog
) -> AsyncIterator[ServerSession]:
    plan = launch(spec)
    try:
        async with asyncio.timeout(None) as patience:
            watch = asyncio.create_task(_end_if_it_listens(log, patience))
            try:
                async with start_server(container, spec, plan, log) as session:
                    watch.cancel()
                    patience.reschedule(None)
                    yield session
            finally:
                watch.cancel()
    except TimeoutError as error:
        raise ServerError("it waits at a port, and says nothing on stdout") from error


async def _end_if_it_listens(log: ServerLog, patience: asyncio.Timeout) -> None:
    """Its whole time to start would be waited for in vain."""
    while not listens([log.stderr.tail.decode(errors="replace"), *log.stray]):
        await asyncio.sleep(1)
    patience.reschedule(asyncio.get_running_loop().time() + LISTENS_SEC)


async def _look(
    ground: SearchContext,
    container: Container,
    spec: ServerSpec,
    session: ServerSession,
    attempt: StartAttempt,
) -> StartAttempt:
    search = attempt.search
    for step in spec.warm_up:
        if step.call is not None:
            await warm_up_call(session, step.call, SETUP_SEC)
    search.learn(session.answers)
    if not ground.symbols:
        return replace(attempt, warm_up=spec.warm_up)
    setting_up = SettingUp(
        ground=ground,
        container=container,
        spec=spec,
        session=session,
        search=search,
        warm_up=list(spec.warm_up),
    )
    canary = await _canary(setting_up)
    return replace(attempt, canary=canary, warm_up=tuple(setting_up.warm_up))


async def _canary(it: SettingUp) -> FoundCanary | None:
    """As it is, or after the first remedy that shows one."""
    canary = await it.look()
    at_once = canary is not None
    if not it.is_told_by_person:
        canary = canary or await _first(it, TOLD)
        if canary is not None and not it.is_found_by(canary):
            for remedy in FINDERS if at_once else FINDERS[:1]:
                canary = await remedy.find(it) or canary
    canary = canary or await _first(it, LAST)
    if canary is None:
        it.forget_what_failed()
    return canary


async def _first(it: SettingUp, remedies: Iterable[Telling]) -> FoundCanary | None:
    for remedy in remedies:
        if canary := await remedy.find(it):
            return canary
    return None


# --- what it may not write ----------------------------------------------------------------------


def _refused(
    texts: Sequence[str], paths: frozenset[str], private: tuple[str, ...]
) -> tuple[str, ...]:
    """Folders in the workspace that it tried to write and that are not the repository's."""
    folders = []
    for text in texts:
        for line in text.splitlines():
            for refused in REFUSED.finditer(line):
                # An answer may be one line, and tell of other places as well.
                near = line[max(refused.start() - _NEAR_CHARS, 0) : refused.end() + _NEAR_CHARS]
                folders += _PLACE.findall(near)
            folders += [refused["place"] for refused in _HERE.finditer(line)]
    return _own_folders(folders, paths, private)


def _own_folders(
    folders: Iterable[str], paths: frozenset[str], private: tuple[str, ...]
) -> tuple[str, ...]:
    """Those of these paths in the workspace that are neither the repository's nor known."""
    kept: list[str] = []
    for place in filter(None, dict.fromkeys(map(_own_folder, folders))):
        is_new = place not in private and place not in kept
        # The repository's own folder would be hidden from the server, and so would its history.
        if (
            is_new
            and place != ".git"
            and not any(path == place or path.startswith(f"{place}/") for path in paths)
        ):
            kept.append(place)
    return tuple(kept[:MOST_PRIVATE])


def _own_folder(path: str) -> str:
    """`.index/db/x.sqlite` is in `.index`; empty for a file at the top: none can be mounted."""
    if f"{path}/".startswith(f"{_EXCLUDES}/"):
        return _EXCLUDES
    first, *others = PurePosixPath(path).parts
    is_file = "." in first.removeprefix(".") or first.endswith(("ignore", "rc"))
    return first if others or not is_file else ""
