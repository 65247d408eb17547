"""Finds, in the sandbox, how a server is started, what it must be told first, and a canary."""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

import mcp_types

from runner.errors import ServerError
from runner.protocols import Log
from runner.records import Canary, ServerSpec, WarmUp
from runner.sandbox.container import Container, ContainerSpec, open_container
from runner.sandbox.places import SERVER, WORKSPACE
from runner.sandbox.session import ServerSession, open_session
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.server_spec import launch
from runner.servers import network_attempts, warm_up_call
from runner.trying.canaries import FoundCanary, Search, find_canary
from runner.trying.ground import Ground
from runner.trying.launches import MOST, Launch, launches_if_denied, launches_in_help
from runner.trying.over_http import listens
from runner.trying.setting_up import SETUP_SEC, SettingUp
from runner.trying.words import own_words

HELP_SEC = 20
LISTENS_SEC = 5
"""How long one that says that it listens at a port may still answer on stdout."""
WHOLE_SEC = 300
"""After which no further way to start it is begun."""
MOST_PRIVATE = 4
DEADLINE_SEC = 3600
_REFUSED = re.compile(
    r"EROFS|EACCES|[Rr]ead-only file ?system|[Pp]ermission denied|not writ(?:e)?able"
    # What node says of a folder in a folder that cannot be made.
    r"|ENOENT.*\bmkdir\b"
)
_BROKEN = re.compile(
    r"ModuleNotFoundError|ImportError|cannot import name|SyntaxError"
    r"|AttributeError: (?:module|'\w+' object)"
    r"|Cannot find (?:module|package)|ERR_MODULE|ERR_UNSUPPORTED|ERR_PACKAGE|ERR_REQUIRE"
)
_USAGE = re.compile(r"usage|(?:unknown|unrecognized|no such) (?:option|argument)", re.IGNORECASE)
_OFFLINE = re.compile(
    r"ConnectionError|ConnectError|getaddrinfo|EAI_AGAIN|ENOTFOUND|ENETUNREACH|Max retries exceeded"
    r"|[Nn]ame or service not known|[Nn]ame resolution|fetch failed"
)
_PLACE = re.compile(rf"{WORKSPACE}/([^\s'\"`:,)\]\\]+)")


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One way to start it, and how far that went."""

    launch: Launch
    private: tuple[str, ...] = ()
    tools: tuple[mcp_types.Tool, ...] = ()
    """None if it did not start."""
    warm_up: tuple[WarmUp, ...] = ()
    canary: FoundCanary | None = None
    problem: str = ""
    """Why it did not start, or was lost."""
    search: Search = field(default_factory=Search)
    network_attempts: int = 0
    stray_lines: int = 0
    wants_private: tuple[str, ...] = ()
    listens: bool = False
    """It waits at a port, and says so; over stdin nobody would ever answer."""

    @property
    def is_broken(self) -> bool:
        """No argument helps a program whose own modules do not load."""
        return not self.started and bool(_BROKEN.search(self.problem))

    @property
    def needs_network(self) -> bool:
        """It fetches something before it answers, which no argument changes."""
        return not self.started and bool(_OFFLINE.search(self.problem))

    @property
    def is_hopeless(self) -> bool:
        """No other arguments would start it."""
        return self.is_broken or self.needs_network or (self.listens and not self.started)

    @property
    def started(self) -> bool:
        return bool(self.tools)


async def find_way(
    ground: Ground,
    spec: ServerSpec,
    ways: Sequence[Launch],
    *,
    fixed: bool,
    canary: Canary | None = None,
) -> Attempt:
    """The first way to start it with a canary; without one, the way that got furthest.

    `fixed`: the arguments are the person's, and no others are tried. `canary`: the person's; none
    is looked for then, and a way that starts is enough.
    """
    if canary is not None:
        ground = replace(ground, symbols=())
    best: Attempt | None = None
    left = list(ways)
    tried: list[Launch] = []
    give_up = time.monotonic() + WHOLE_SEC
    while left and len(tried) < MOST and time.monotonic() < give_up:
        way = left.pop(0)
        if any((way.args, way.env) == (other.args, other.env) for other in tried):
            continue
        tried.append(way)
        attempt = await _with_private(ground, spec, way)
        _say(ground.log, attempt)
        # Of its own in every way that it is started.
        spec = spec.model_copy(update={"private": attempt.private})
        if attempt.canary is not None or (canary is not None and attempt.started):
            return attempt
        if best is None or _distance(attempt) > _distance(best):
            best = attempt
        if attempt.is_hopeless:
            return best
        if attempt.warm_up:
            # It was waited for once; started in another way, it would index the same again.
            ground = replace(ground, polls=())
        if not fixed:
            left = [*_ways_it_asks_for(attempt), *left]
        if len(tried) == 1 and not fixed:
            left = [*await _ways_in_help(ground, spec), *left]
    assert best is not None  # noqa: S101 - one way at least
    return best


def _ways_it_asks_for(attempt: Attempt) -> list[Launch]:
    """By its own complaint: that it was not started so, or that our folder is closed to it."""
    if not attempt.started:
        return launches_in_help(attempt.problem)
    return launches_if_denied(attempt.search.errors_of.values())


def _distance(attempt: Attempt) -> tuple[bool, bool, int, int]:
    """How far it went: past its own arguments, to its tools, to answers."""
    works = attempt.search.calls - attempt.search.errors
    takes_arguments = not _USAGE.search(attempt.problem)
    return (attempt.started, takes_arguments, works, len(attempt.tools))


def _say(log: Log, attempt: Attempt) -> None:
    if not attempt.started:
        log(f"  {attempt.launch}: did not start: {attempt.problem}")
    elif attempt.canary is None:
        count, errors = attempt.search.calls, attempt.search.errors
        log(
            f"  {attempt.launch}: {len(attempt.tools)} tools; none of {count} calls showed the "
            f"repository ({errors} errors)"
        )
    else:
        log(f"  {attempt.launch}: {len(attempt.tools)} tools, and a canary")


async def _with_private(ground: Ground, spec: ServerSpec, way: Launch) -> Attempt:
    """A folder that it may not write becomes its own, and it is started again."""
    private = spec.private
    attempt = await _attempt(ground, spec, way, private)
    while attempt.wants_private and attempt.canary is None and len(private) < MOST_PRIVATE:
        private = (*private, *attempt.wants_private)
        ground.log(f"  a write was refused: {', '.join(private)} becomes its own folder (private)")
        attempt = await _attempt(ground, spec, way, private)
    return attempt


# --- one way ------------------------------------------------------------------------------------


async def _attempt(
    ground: Ground, spec: ServerSpec, way: Launch, private: tuple[str, ...]
) -> Attempt:
    log = ServerLog(stderr=StderrFile(None))
    attempt = Attempt(launch=way, private=private)
    cell = ContainerSpec(
        image=ground.image,
        limits=ground.limits,
        deadline_sec=DEADLINE_SEC,
        server_volume=ground.volume,
        private=private,
    )
    async with open_container(ground.engine, cell) as container:
        try:
            async with _session(container, started_by(spec, way), log) as session:
                attempt = replace(attempt, tools=session.tools)
                attempt = await _look(ground, container, spec, session, attempt)
        except ServerError as error:
            said = own_words(log.stderr.tail.decode(errors="replace"))
            problem = said or own_words("\n".join(log.stray)) or error.what
            attempt = replace(attempt, problem=problem)
        attempts = await network_attempts(container)
    texts = [log.stderr.tail.decode(errors="replace"), *attempt.search.seen]
    return replace(
        attempt,
        network_attempts=attempts,
        stray_lines=log.stray_lines,
        wants_private=_refused(texts, ground.paths, private),
        listens=listens([*texts, *log.stray]),
    )


def started_by(spec: ServerSpec, way: Launch) -> ServerSpec:
    return spec.model_copy(
        update={"command": (*spec.command, *way.args), "env": {**spec.env, **way.env}}
    )


@asynccontextmanager
async def _session(
    container: Container, spec: ServerSpec, log: ServerLog
) -> AsyncIterator[ServerSession]:
    plan = launch(spec)
    limit_sec = spec.initialize_timeout_sec
    try:
        async with asyncio.timeout(None) as patience:
            watch = asyncio.create_task(_end_if_it_listens(log, patience))
            try:
                async with open_session(
                    container, list(plan.argv), plan.env, log, initialize_timeout_sec=limit_sec
                ) as session:
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
    ground: Ground,
    container: Container,
    spec: ServerSpec,
    session: ServerSession,
    attempt: Attempt,
) -> Attempt:
    """Look for a canary as it is, and again after each thing that it can be told first."""
    search = attempt.search
    warm_up = list(spec.warm_up)
    for step in spec.warm_up:
        if step.call is not None:
            await warm_up_call(session, step.call, SETUP_SEC)
    search.learn(session.answers)
    if not ground.symbols:
        return replace(attempt, warm_up=spec.warm_up)
    canary = await find_canary(session, ground.symbols, ground.paths, search)
    if canary is None and not spec.warm_up:
        setting_up = SettingUp(
            ground=ground, container=container, spec=spec, session=session, search=search
        )
        canary = await setting_up.find()
        warm_up = setting_up.warm_up
    return replace(attempt, canary=canary, warm_up=tuple(warm_up))


# --- what it may not write ----------------------------------------------------------------------


def _refused(
    texts: Sequence[str], paths: frozenset[str], private: tuple[str, ...]
) -> tuple[str, ...]:
    """Folders in the workspace that it tried to write and that are not the repository's."""
    folders = []
    for text in texts:
        for line in text.splitlines():
            if _REFUSED.search(line):
                folders += _PLACE.findall(line)
    kept = []
    for place in filter(None, dict.fromkeys(map(_own_folder, folders))):
        is_new = place not in private and place not in kept
        # The repository's own folder would be hidden from the server.
        if is_new and not any(path == place or path.startswith(f"{place}/") for path in paths):
            kept.append(place)
    return tuple(kept[:MOST_PRIVATE])


def _own_folder(path: str) -> str:
    """`.index/db/x.sqlite` is in `.index`; empty for a file at the top: none can be mounted."""
    first, *others = PurePosixPath(path).parts
    return first if others or "." not in first.removeprefix(".") else ""


# --- what its help says -------------------------------------------------------------------------


async def _ways_in_help(ground: Ground, spec: ServerSpec) -> list[Launch]:
    """Options of its `--help` that take a project; none if it has no such help."""
    cell = ContainerSpec(
        image=ground.image,
        limits=ground.limits,
        deadline_sec=DEADLINE_SEC,
        server_volume=ground.volume,
    )
    plan = launch(spec)
    sets = " ".join(f"{name}={shlex.quote(value)}" for name, value in plan.env.items())
    command = f"{sets} {shlex.join(plan.argv)} --help </dev/null 2>&1 | head -c 20000"
    async with open_container(ground.engine, cell) as container:
        result = await container.shell(command, timeout_sec=HELP_SEC, user=SERVER)
    return launches_in_help(result.output)
