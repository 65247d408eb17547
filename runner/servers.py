"""A server under test: how it is made ready in a cell, and the doctor that examines it.

It is ready once its warm-up has run and its canary has answered. Most servers that lack something
offline say nothing of it: they answer politely, with an empty list. See DESIGN.md, "A cell's
container".
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from runner.errors import SandboxError, ServerError
from runner.protocols import ShellResult
from runner.records import Canary, Limits, ServerCard, ServerSpec, WarmUp
from runner.sandbox.container import Container, ContainerSpec, open_container
from runner.sandbox.engine import Engine
from runner.sandbox.places import SERVER, SHARED_MEMORY, STATE, TMP, WORKSPACE
from runner.sandbox.session import ServerSession, open_session
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.server_spec import environment_of, fill, launch, pick_canary
from runner.volumes import ServerVolume

EXCERPT_CHARS = 300
PATHS_KEPT = 50
LISTING_LIMIT_SEC = 120
DOCTOR_LIMIT_SEC = 1200
CHARS_PER_TOKEN = 4


# --- making it ready ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A server that has been warmed up."""

    session: ServerSession
    warm_up_sec: float


@asynccontextmanager
async def open_server(
    container: Container, spec: ServerSpec, log: ServerLog
) -> AsyncIterator[Ready]:
    """Index, start, initialise and warm up. Raises ServerError if one of them fails."""
    plan = launch(spec)
    shell_sec = await _run_shell_steps(container, spec)
    async with open_session(
        container,
        list(plan.argv),
        plan.env,
        log,
        initialize_timeout_sec=spec.initialize_timeout_sec,
    ) as session:
        call_sec = await _make_warm_up_calls(session, spec)
        yield Ready(session=session, warm_up_sec=shell_sec + call_sec)


async def _run_shell_steps(container: Container, spec: ServerSpec) -> float:
    """The warm-up's shell steps, as the server's user, before its process starts. In seconds.

    Raises ServerError if one fails.
    """
    started = time.monotonic()
    exports = _exports(spec)
    for step in spec.warm_up:
        if step.shell is not None:
            command = exports + fill(step.shell)
            result = await container.shell(command, timeout_sec=step.timeout_sec, user=SERVER)
            _require_success(result, step, spec)
    return time.monotonic() - started


def _exports(spec: ServerSpec) -> str:
    """`export TMPDIR=/var/lib/server; …`: a step's shell gets what the server's process will."""
    parts = []
    for name, value in environment_of(spec).items():
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
    raise ServerError(f"warm-up `{step.shell}` {end}: {output}", where=spec.name)


async def _make_warm_up_calls(session: ServerSession, spec: ServerSpec) -> float:
    """The warm-up's MCP calls, in order. In seconds.

    Raises ServerError if one is answered with an error.
    """
    started = time.monotonic()
    for step in spec.warm_up:
        if step.call is not None:
            tool = step.call.tool
            arguments = fill(step.call.arguments)
            result = await session.call(tool, arguments, timeout_sec=step.timeout_sec)
            if result.is_error:
                reason = _excerpt(result.text)
                raise ServerError(f"warm-up call {tool} failed: {reason}", where=spec.name)
    return time.monotonic() - started


def _excerpt(text: str) -> str:
    if not text.strip():
        return "(nothing)"
    return text[:EXCERPT_CHARS]


# --- the canary -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CanaryResult:
    """What the canary's call gave."""

    passed: bool
    wanted: str
    text: str
    wall_sec: float


async def require_canary(session: ServerSession, spec: ServerSpec, repository: str) -> CanaryResult:
    """Raises ServerError if the canary fails: the server runs, and would find nothing."""
    result = await try_canary(session, pick_canary(spec, repository))
    if not result.passed:
        text = _excerpt(result.text)
        raise ServerError(
            f"canary: expected {result.wanted!r} in the result, which was: {text}",
            where=spec.name,
        )
    return result


async def try_canary(session: ServerSession, canary: Canary) -> CanaryResult:
    arguments = fill(canary.call.arguments)
    wanted = fill(canary.contains)
    result = await session.call(canary.call.tool, arguments, timeout_sec=canary.timeout_sec)
    # An error that quotes its arguments ("no symbol wsgi_app") may hold the wanted text too.
    passed = not result.is_error and wanted in result.text
    return CanaryResult(passed=passed, wanted=wanted, text=result.text, wall_sec=result.wall_sec)


def line_base(canary: Canary, result: CanaryResult) -> int | None:
    """The number that the server gives to a file's first line: 0 or 1.

    None unless the canary passed, and its text shows a line whose number is known.
    """
    if canary.line is None or not result.passed:
        return None
    shown = set(re.findall(r"\d+", canary.contains))
    for base in (0, 1):
        if str(canary.line - 1 + base) in shown:
            return base
    return None


# --- the doctor -----------------------------------------------------------------------------


async def check_server(  # noqa: PLR0913 - a server, its volume, and the cell it is put in
    engine: Engine,
    spec: ServerSpec,
    volume: ServerVolume,
    *,
    image: str,
    repository: str,
    limits: Limits,
) -> ServerCard:
    """Start the server in a cell on a workspace image, and say what it is, does and costs.

    A failed canary is on the card, as are stray lines and attempts to reach the network. Raises
    ServerError if the server cannot be made ready, or has no canary for this repository.
    """
    canary = pick_canary(spec, repository)
    log = ServerLog(stderr=StderrFile(None))
    warm_up_sec = sum(step.timeout_sec for step in spec.warm_up)
    cell = ContainerSpec(
        image=image,
        limits=limits,
        deadline_sec=DOCTOR_LIMIT_SEC + warm_up_sec,
        server_volume=volume.name,
        private=spec.private,
    )
    async with (
        open_container(engine, cell) as container,
        open_server(container, spec, log) as ready,
    ):
        examination = await _examine(container, ready.session, spec, canary)
        return _card(spec, volume, repository, ready, examination)


@dataclass(frozen=True, kw_only=True)
class Examination:
    """What the doctor measured in the cell."""

    canary: CanaryResult
    line_base: int | None
    traces: Traces
    network_attempts: int
    peak_memory_mb: float | None


async def _examine(
    container: Container, session: ServerSession, spec: ServerSpec, canary: Canary
) -> Examination:
    result = await try_canary(session, canary)
    return Examination(
        canary=result,
        line_base=line_base(canary, result),
        traces=await traces(container, spec),
        network_attempts=await network_attempts(container),
        peak_memory_mb=await container.peak_memory_mb(),
    )


def _card(
    spec: ServerSpec,
    volume: ServerVolume,
    repository: str,
    ready: Ready,
    examination: Examination,
) -> ServerCard:
    session = ready.session
    tools = session.tool_listing
    return ServerCard(
        name=spec.name,
        version=spec.version,
        licence=spec.licence,
        server_info=tools.server_info,
        protocol=tools.protocol,
        tools=tools.names,
        schema_chars=tools.schema_chars,
        schema_tokens=tools.schema_chars // CHARS_PER_TOKEN,
        instructions_chars=tools.instructions_chars,
        initialize_sec=session.initialize_sec,
        warm_up_sec=ready.warm_up_sec,
        answer_sec=examination.canary.wall_sec,
        peak_memory_mb=examination.peak_memory_mb,
        state_mb=examination.traces.state_mb,
        install_mb=volume.size_mb,
        install_digest=volume.digest,
        files_written=examination.traces.count,
        paths_written=examination.traces.paths,
        network_attempts=examination.network_attempts,
        stray_lines=session.log.stray_lines,
        stray=tuple(session.log.stray),
        line_base=spec.line_base,
        line_base_measured=examination.line_base,
        repository=repository,
        canary_passed=examination.canary.passed,
        canary_wanted=examination.canary.wanted,
        canary_text=examination.canary.text[:EXCERPT_CHARS],
    )


# --- what it leaves on disk -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Traces:
    """What a server left on disk."""

    count: int
    """Files that belong to its user."""
    paths: tuple[str, ...]
    """The first of them, sorted."""
    state_mb: float
    """Of its own directory and private mounts."""


async def traces(container: Container, spec: ServerSpec) -> Traces:
    """Raises SandboxError if they cannot be listed."""
    private = [f"{WORKSPACE}/{path}" for path in spec.private]
    command = _traces_command([STATE, *private])
    result = await container.shell(command, timeout_sec=LISTING_LIMIT_SEC, user=SERVER)
    try:
        return _read_traces(result.output)
    except ValueError as error:
        output = _excerpt(result.output)
        raise SandboxError(
            f"cannot list what the server wrote: {output}", where=spec.name
        ) from error


def _traces_command(own: list[str]) -> str:
    """Prints the size of `own` in kilobytes, the first paths written anywhere, and their count."""
    size = f"du -sk {shlex.join(own)} | awk '{{ kb += $1 }} END {{ print kb }}'"
    # The shared places too: what a server leaves there, the agent's shell could read.
    places = shlex.join([*own, TMP, SHARED_MEMORY])
    files = f"find {places} -type f -user {SERVER} 2>/dev/null | LC_ALL=C sort"
    # awk reads all and prints a few: a server with a million files would flood the output.
    first = f"awk 'NR <= {PATHS_KEPT} {{ print }} END {{ print NR }}'"
    return f"{size}; {files} | {first}"


def _read_traces(output: str) -> Traces:
    """Raises ValueError if `output` is not what the command prints."""
    kilobytes, *paths, count = output.splitlines()
    state_mb = int(kilobytes) * 1024 / 1e6
    return Traces(count=int(count), paths=tuple(paths), state_mb=state_mb)


# --- what it tried on the network -----------------------------------------------------------


async def network_attempts(container: Container) -> int:
    """Packets and connections since the container's start that had nowhere to go.

    From its kernel's counters. With no network, whatever leaves loopback ends as `OutNoRoutes`: a
    TCP connect, a datagram, a DNS query (two for one name, IPv4 and IPv6, and more if it is tried
    again). Loopback between a server's own processes is not counted, save datagrams to a port on
    which nobody listens, which is where look-ups go if no resolver is named.

    It cannot see which names or addresses were meant, what a program did not try because it found
    itself offline, an IPv6 address if the kernel has none to send from, or which process tried.
    """
    ipv4 = _ipv4_counters(await container.read("/proc/net/snmp", user=SERVER) or "")
    ipv6 = _ipv6_counters(await container.read("/proc/net/snmp6", user=SERVER) or "")
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
