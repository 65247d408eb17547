"""A server under test: how it is made ready in a cell, and the doctor that examines it.

It is ready once its warm-up has run and its health probe has answered three times in a row. Most
servers that lack something offline say nothing of it: they answer politely, with an empty list. See
docs/container.md and docs/outcomes.md.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from runner.protocols import ShellResult
from runner.records import Canary, KnownName, Limits, McpCall, ServerCard, ServerSpec, WarmUp
from runner.sandbox.cell_layout import SERVER_USER, SHARED_MEMORY, STATE, TMP, WORKSPACE
from runner.sandbox.container import Container, ContainerSpec, open_container
from runner.sandbox.engine import Engine
from runner.sandbox.image_session import open_image_session
from runner.sandbox.session import McpResult, ServerSession, open_session
from runner.sandbox.sidecar import SidecarSpec
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.servers.definition_rules import (
    PLACEHOLDERS,
    LaunchPlan,
    Placeholders,
    environment_of,
    fill_call,
    fill_placeholders,
    launch,
    pick_canary,
    private_in_cell,
)
from runner.servers.image import ServerImage, require_image
from runner.servers.tool_answers import values_in_answer
from runner.servers.volume import ServerVolume
from runner.support.errors import NotReadyError, SandboxError
from runner.support.token_estimate import estimated_tokens

EXCERPT_CHARS = 300
PATHS_KEPT = 50
LISTING_LIMIT_SEC = 120
DOCTOR_LIMIT_SEC = 1200


# --- making it ready ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class WarmServer:
    """A server that has been warmed up."""

    session: ServerSession
    warm_up_sec: float


@asynccontextmanager
async def open_server(
    container: Container, spec: ServerSpec, log: ServerLog, places: Placeholders = PLACEHOLDERS
) -> AsyncIterator[WarmServer]:
    """Index, start, initialise and warm up.

    Raises NotReadyError if a warm-up step fails, ServerError if the server ends or breaks.
    """
    plan = launch(spec, places)
    shell_sec = await run_shell_steps(container, spec, places)
    async with start_server(container, spec, plan, log) as session:
        call_sec = await _make_warm_up_calls(session, spec, places)
        yield WarmServer(session=session, warm_up_sec=shell_sec + call_sec)


@asynccontextmanager
async def start_server(
    container: Container, spec: ServerSpec, plan: LaunchPlan, log: ServerLog
) -> AsyncIterator[ServerSession]:
    """The server's process in the cell, or its image beside it, initialised.

    Raises ServerError if it does not start, or its image is not on the engine.
    """
    limit_sec = spec.initialize_timeout_sec
    if spec.image is None:
        argv = list(plan.argv)
        opened = open_session(container, argv, plan.env, log, initialize_timeout_sec=limit_sec)
    else:
        image = await asyncio.to_thread(
            require_image, container.engine, spec.image, where=spec.name
        )
        beside = SidecarSpec(
            image=image.id, args=plan.argv, env=plan.env, private=spec.private, http=spec.http
        )
        opened = open_image_session(container, beside, log, initialize_timeout_sec=limit_sec)
    async with opened as session:
        yield session


async def run_shell_steps(
    container: Container, spec: ServerSpec, places: Placeholders = PLACEHOLDERS
) -> float:
    """The warm-up's shell steps, as the server's user, before its process starts. In seconds.

    Raises NotReadyError if one fails.
    """
    started = time.monotonic()
    env = exports(spec, places)
    for step in spec.warm_up:
        if step.shell is not None:
            command = env + fill_placeholders(step.shell, places)
            result = await container.shell(command, timeout_sec=step.timeout_sec, user=SERVER_USER)
            _require_success(result, step, spec)
    return time.monotonic() - started


def exports(spec: ServerSpec, places: Placeholders = PLACEHOLDERS) -> str:
    """`export TMPDIR=/var/lib/server; …`: a step's shell gets what the server's process will."""
    parts = []
    for name, value in environment_of(spec, places).items():
        parts.append(f"export {name}={shlex.quote(value)}; ")
    return "".join(parts)


def _require_success(result: ShellResult, step: WarmUp, spec: ServerSpec) -> None:
    if result.timed_out:
        end = f"had not ended after {step.timeout_sec} s"
    elif result.exit_code != 0:
        end = f"ended with {result.exit_code}"
    else:
        return
    # From its end: an indexer's error comes last, after pages of progress.
    output = _excerpt(result.output[-EXCERPT_CHARS:])
    raise NotReadyError(f"warm-up `{step.shell}` {end}: {output}", where=spec.name)


async def _make_warm_up_calls(
    session: ServerSession, spec: ServerSpec, places: Placeholders
) -> float:
    """The warm-up's MCP calls, in order. In seconds.

    Raises NotReadyError if one is answered with an error, ServerError if the server ends.
    """
    started = time.monotonic()
    for step in spec.warm_up:
        if step.call is not None:
            result = await warm_up_call(session, step.call, step.timeout_sec, places)
            if result.is_error:
                what = f"warm-up call {step.call.tool} failed: {_excerpt(result.text)}"
                raise NotReadyError(what, where=spec.name)
    return time.monotonic() - started


async def warm_up_call(
    session: ServerSession, call: McpCall, timeout_sec: float, places: Placeholders = PLACEHOLDERS
) -> McpResult:
    """Make it, and keep what it answered for the calls behind it.

    Raises NotReadyError if it needs an answer that no call before it gave.
    """
    arguments = fill_call(call, places, session.answers)
    result = await session.call(call.tool, arguments, timeout_sec=timeout_sec)
    if not result.is_error:
        session.answers.update(values_in_answer(result.text, result.structured))
    return result


def _excerpt(text: str) -> str:
    if not text.strip():
        return "(nothing)"
    return text[:EXCERPT_CHARS]


# --- the health probe -----------------------------------------------------------------------------

PASSES_NEEDED = 3
"""In a row. One pass may be luck: an index that is still being written answers now and then."""
POLL_SEC = 0.5


@dataclass(frozen=True, kw_only=True)
class CanaryResult:
    """What the canary's call gave."""

    passed: bool
    wanted: str
    text: str
    wall_sec: float


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """What came of calling the health probe until it was clear whether the server is ready."""

    last: CanaryResult
    tries: int
    passes: int
    wall_sec: float

    @property
    def is_ready(self) -> bool:
        return self.passes == PASSES_NEEDED

    @property
    def what_is_wrong(self) -> str:
        """Empty if it is ready."""
        if self.is_ready:
            return ""
        wanted = f"expected {self.last.wanted!r} in the result, which was"
        if self.passes:
            wanted = f"it passed, then failed: {wanted}"
        tried = f"{self.tries} tries in {self.wall_sec:.0f} s"
        return f"{wanted}: {_excerpt(self.last.text)} ({tried})"


async def require_canary(
    session: ServerSession, spec: ServerSpec, repository: str, known: KnownName | None = None
) -> Readiness:
    """Raises NotReadyError if the server runs, and would find nothing, or not every time."""
    readiness = await poll_canary(session, spec, pick_canary(spec, repository, known))
    if not readiness.is_ready:
        raise NotReadyError(
            f"canary: {readiness.what_is_wrong}",
            where=spec.name,
            hint=f"`fairtrial server check {spec.name}` shows more",
        )
    return readiness


async def poll_canary(session: ServerSession, spec: ServerSpec, canary: Canary) -> Readiness:
    """Call until three passes in a row; give up past the time, or at a failure after a pass."""
    started = time.monotonic()
    tries = passes = 0
    while True:
        tries += 1
        result = await try_canary(session, canary)
        passes += result.passed
        wall_sec = time.monotonic() - started
        is_over = wall_sec > spec.ready_timeout_sec
        if passes == PASSES_NEEDED or (not result.passed and (passes or is_over)):
            return Readiness(last=result, tries=tries, passes=passes, wall_sec=wall_sec)
        if not result.passed:
            await asyncio.sleep(POLL_SEC)


async def try_canary(
    session: ServerSession, canary: Canary, places: Placeholders = PLACEHOLDERS
) -> CanaryResult:
    """Raises NotReadyError if it needs an answer that no warm-up call gave."""
    arguments = fill_call(canary.call, places, session.answers)
    wanted = fill_placeholders(canary.contains, places)
    result = await session.call(canary.call.tool, arguments, timeout_sec=canary.timeout_sec)
    # An error that quotes its arguments ("no symbol wsgi_app") may hold the wanted text too.
    passed = not result.is_error and wanted in result.text
    return CanaryResult(passed=passed, wanted=wanted, text=result.text, wall_sec=result.wall_sec)


def canary_limit_sec(spec: ServerSpec) -> int:
    """The longest that polling may take."""
    call_sec = max(canary.timeout_sec for canary in spec.canaries)
    return spec.ready_timeout_sec + PASSES_NEEDED * call_sec


def line_base(canary: Canary, result: CanaryResult) -> int | None:
    """The number that the server gives to a file's first line: 0 or 1.

    None unless the health probe passed, and its text shows a line whose number is known.
    """
    if canary.line is None or not result.passed:
        return None
    shown = set(re.findall(r"\d+", canary.contains))
    for base in (0, 1):
        if str(canary.line - 1 + base) in shown:
            return base
    return None


# --- the doctor -----------------------------------------------------------------------------


async def check_server(  # noqa: PLR0913 - a server, its install, and the cell it is put in
    engine: Engine,
    spec: ServerSpec,
    installed: ServerVolume | ServerImage,
    *,
    image: str,
    repository: str,
    limits: Limits,
    known: KnownName | None = None,
) -> ServerCard:
    """Start the server in a cell on a workspace image, and say what it is, does and costs.

    A failed probe is on the card, as are stray lines and attempts to reach the network. Raises
    ServerError if the server cannot be made ready, or has no health probe for this repository.
    """
    # Without a probe nothing it does would be proven: refused before anything is started.
    canary = pick_canary(spec, repository, known)
    log = ServerLog(stderr=StderrFile(None))
    warm_up_sec = sum(step.timeout_sec for step in spec.warm_up)
    cell = ContainerSpec(
        image=image,
        limits=limits,
        deadline_sec=DOCTOR_LIMIT_SEC + warm_up_sec + canary_limit_sec(spec),
        server_volume=installed.volume,
        private=private_in_cell(spec),
    )
    async with (
        open_container(engine, cell) as container,
        open_server(container, spec, log) as ready,
    ):
        return await _card(container, ready, spec, installed, repository=repository, canary=canary)


async def _card(  # noqa: PLR0913 - see check_server
    container: Container,
    ready: WarmServer,
    spec: ServerSpec,
    installed: ServerVolume | ServerImage,
    *,
    repository: str,
    canary: Canary,
) -> ServerCard:
    session, tools = ready.session, ready.session.tool_listing
    readiness = await poll_canary(session, spec, canary)
    index_mb = await state_mb(container)
    written = await traces(container, spec)
    return ServerCard(
        name=spec.name,
        version=spec.version,
        licence=spec.licence,
        server_info=tools.server_info,
        protocol=tools.protocol,
        tools=tools.names,
        schema_chars=tools.schema_chars,
        schema_tokens=estimated_tokens(tools.schema_chars),
        instructions_chars=tools.instructions_chars,
        initialize_sec=session.initialize_sec,
        warm_up_sec=ready.warm_up_sec,
        ready_sec=readiness.wall_sec,
        answer_sec=readiness.last.wall_sec,
        state_mb=index_mb,
        install_mb=installed.size_mb,
        install_digest=installed.digest,
        files_written=written.count,
        paths_written=written.paths,
        network_attempts=await network_attempts(container),
        peak_memory_mb=await container.peak_memory_mb(),
        stray_lines=session.log.stray_lines,
        stray=tuple(session.log.stray),
        line_base=spec.line_base,
        line_base_measured=line_base(canary, readiness.last),
        repository=repository,
        canary_passed=readiness.is_ready,
        canary_tries=readiness.tries,
        canary_passes=readiness.passes,
        canary_wanted=readiness.last.wanted,
        canary_text=readiness.last.text[:EXCERPT_CHARS],
    )


# --- what it leaves on disk -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Traces:
    """What a server left on disk."""

    count: int | None
    """Files that belong to its user; None if nobody can look."""
    paths: tuple[str, ...]
    """The first of them, sorted."""


async def state_mb(container: Container) -> float | None:
    """What the server's index costs on disk: its own directory and private mounts.

    None if that cannot be told, as of a container of its own: it may have no shell to ask.
    """
    if container.sidecar is not None:
        return None
    places = shlex.join(_own_places(container.spec.private))
    command = f"du -sk {places} | awk '{{ kb += $1 }} END {{ print kb }}'"
    result = await container.shell(command, timeout_sec=LISTING_LIMIT_SEC, user=SERVER_USER)
    kilobytes = result.output.strip()
    if not kilobytes.isdigit():
        return None
    return int(kilobytes) * 1024 / 1e6


def _own_places(private: Iterable[str]) -> list[str]:
    # A server that insists on writing into the workspace keeps its index there, not in its home.
    return [STATE, *(f"{WORKSPACE}/{path}" for path in private)]


async def traces(container: Container, spec: ServerSpec) -> Traces:
    """Raises SandboxError if they cannot be listed."""
    if container.sidecar is not None:
        return Traces(count=None, paths=())
    command = _traces_command(_own_places(spec.private))
    result = await container.shell(command, timeout_sec=LISTING_LIMIT_SEC, user=SERVER_USER)
    try:
        return _read_traces(result.output)
    except ValueError as error:
        output = _excerpt(result.output)
        raise SandboxError(
            f"cannot list what the server wrote: {output}", where=spec.name
        ) from error


def _traces_command(own: list[str]) -> str:
    """Prints the first paths written, in `own` or anywhere, and their count."""
    # The shared places too: what a server leaves there, the agent's shell could read.
    places = shlex.join([*own, TMP, SHARED_MEMORY])
    files = f"find {places} -type f -user {SERVER_USER} 2>/dev/null | LC_ALL=C sort"
    # awk reads all and prints a few: a server with a million files would flood the output.
    first = f"awk 'NR <= {PATHS_KEPT} {{ print }} END {{ print NR }}'"
    return f"{files} | {first}"


def _read_traces(output: str) -> Traces:
    """Raises ValueError if `output` is not what the command prints."""
    *paths, count = output.splitlines()
    return Traces(count=int(count), paths=tuple(paths))


# --- what it tried on the network -----------------------------------------------------------


async def network_attempts(container: Container, user: str = SERVER_USER) -> int:
    """Packets and connections since the container's start that had nowhere to go.

    From its kernel's counters. With no network, whatever leaves loopback ends as `OutNoRoutes`: a
    TCP connect, a datagram, a DNS query (two for one name, IPv4 and IPv6, and more if it is tried
    again). Loopback between a server's own processes is not counted, save datagrams to a port on
    which nobody listens, which is where look-ups go if no resolver is named.

    It cannot see which names or addresses were meant, what a program did not try because it found
    itself offline, an IPv6 address if the kernel has none to send from, or which process tried.
    `user`: who reads them. They are the same for all.
    """
    ipv4 = _ipv4_counters(await container.read("/proc/net/snmp", user=user) or "")
    ipv6 = _ipv6_counters(await container.read("/proc/net/snmp6", user=user) or "")
    return (
        ipv4.get("Ip.OutNoRoutes", 0)
        + ipv4.get("Udp.NoPorts", 0)
        + ipv6.get("Ip6OutNoRoutes", 0)
        + ipv6.get("Udp6NoPorts", 0)
    )


def _ipv4_counters(snmp: str) -> dict[str, int]:
    """/proc/net/snmp has two lines per protocol: "Udp: InDatagrams NoPorts", then "Udp: 12 0"."""
    counters: dict[str, int] = {}
    rows = snmp.splitlines()
    for names_row, values_row in zip(rows[::2], rows[1::2], strict=False):
        protocol, _, names = names_row.partition(":")
        values = values_row.partition(":")[2]
        for name, value in zip(names.split(), values.split(), strict=False):
            counters[f"{protocol}.{name}"] = int(value)
    return counters


def _ipv6_counters(snmp6: str) -> dict[str, int]:
    """/proc/net/snmp6 has a line per counter: "Udp6NoPorts    0". Empty if IPv6 is switched off."""
    rows = [row.split() for row in snmp6.splitlines()]
    return {name: int(value) for name, value in rows}
