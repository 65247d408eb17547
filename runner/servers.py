"""A server under test: its install volume, how it is launched and made ready, and the doctor that examines it.

An install volume is filled once, in a builder container that has network, from locks that pin every package by hash; cells mount it
read-only. A server is ready once its warm-up has run and its canary has answered: offline degradation is silent (DESIGN.md).
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from runner.errors import SandboxError, ServerError
from runner.records import Canary, Limits, ServerCard, ServerSpec
from runner.sandbox.container import Container, ContainerSpec, open_container
from runner.sandbox.engine import Engine
from runner.sandbox.places import SERVER, STATE, WORKSPACE
from runner.sandbox.session import ServerSession, open_session
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.server_spec import environment_of, fill, launch, pick_canary
from runner.volumes import ServerVolume

EXCERPT_CHARS = 300
PATHS_KEPT = 50
DOCTOR_LIMIT_SEC = 1200


# --- placeholders and launch ----------------------------------------------------------------


# --- the install volume ---------------------------------------------------------------------


# --- making it ready ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CanaryResult:
    passed: bool
    wanted: str
    text: str
    wall_sec: float


async def prepare(container: Container, spec: ServerSpec) -> float:
    """Run the warm-up's shell steps as the server's user, before its process starts. Seconds. Raises ServerError where one fails."""
    started = time.monotonic()
    exports = "".join(
        f"export {key}={shlex.quote(value)}; " for key, value in environment_of(spec).items()
    )
    for step in spec.warm_up:
        if step.shell is None:
            continue
        done = await container.shell(
            exports + fill(step.shell), timeout_sec=step.timeout_sec, user=SERVER
        )
        if done.timed_out or done.exit_code != 0:
            how = (
                f"had not ended after {step.timeout_sec} s"
                if done.timed_out
                else f"ended with {done.exit_code}"
            )
            raise ServerError(
                f"warm-up `{step.shell}` {how}: {_excerpt(done.output[-EXCERPT_CHARS:])}",
                where=spec.name,
            )
    return time.monotonic() - started


async def warm_up(session: ServerSession, spec: ServerSpec) -> float:
    """Make the warm-up's MCP calls, in order. Seconds. Raises ServerError where one answers with an error."""
    started = time.monotonic()
    for step in spec.warm_up:
        if step.call is None:
            continue
        result = await session.call(
            step.call.tool, fill(step.call.arguments), timeout_sec=step.timeout_sec
        )
        if result.is_error:
            raise ServerError(
                f"warm-up call {step.call.tool} failed: {_excerpt(result.text)}", where=spec.name
            )
    return time.monotonic() - started


async def try_canary(session: ServerSession, canary: Canary) -> CanaryResult:
    result = await session.call(
        canary.call.tool, fill(canary.call.arguments), timeout_sec=canary.timeout_sec
    )
    wanted = fill(canary.contains)
    passed = not result.is_error and wanted in result.text
    return CanaryResult(passed=passed, wanted=wanted, text=result.text, wall_sec=result.wall_sec)


async def check_canary(session: ServerSession, spec: ServerSpec, repository: str) -> CanaryResult:
    """Raises ServerError where the canary fails: the server runs, and would answer with nothing."""
    result = await try_canary(session, pick_canary(spec, repository))
    if not result.passed:
        raise ServerError(
            f"canary: expected {result.wanted!r} in the result, which was: {_excerpt(result.text)}",
            where=spec.name,
        )
    return result


def _excerpt(text: str) -> str:
    return text[:EXCERPT_CHARS] if text.strip() else "(nothing)"


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A server that has been warmed up."""

    session: ServerSession
    warm_up_sec: float


@asynccontextmanager
async def open_server(
    container: Container, spec: ServerSpec, log: ServerLog
) -> AsyncIterator[Ready]:
    """Index, start, initialise and warm up. Raises ServerError where one of them fails."""
    plan = launch(spec)
    shell_sec = await prepare(container, spec)
    async with open_session(
        container,
        list(plan.argv),
        plan.env,
        log,
        initialize_timeout_sec=spec.initialize_timeout_sec,
    ) as session:
        yield Ready(session=session, warm_up_sec=shell_sec + await warm_up(session, spec))


# --- the doctor -----------------------------------------------------------------------------


async def network_attempts(container: Container) -> int:
    """Packets and connections since the container's start that had nowhere to go, from its kernel counters.

    With no network, whatever leaves loopback ends as `OutNoRoutes`: a TCP connect, a datagram, a DNS query to the host's resolver (two
    for one name: IPv4 and IPv6, and more where it is tried again). Loopback between a server's own processes is not counted, save
    datagrams to a port where nobody listens, which is where lookups go when no resolver is named. It cannot see: which names or
    addresses were meant, what a program did not try because it found itself offline, an address in IPv6 where the kernel has none
    to send from, and which process tried.
    """
    ipv4 = _counters(await container.read("/proc/net/snmp", user=SERVER) or "")
    ipv6 = dict(
        line.split()
        for line in (await container.read("/proc/net/snmp6", user=SERVER) or "").splitlines()
    )
    return (
        ipv4.get("Ip.OutNoRoutes", 0)
        + ipv4.get("Udp.NoPorts", 0)
        + int(ipv6.get("Ip6OutNoRoutes", 0))
        + int(ipv6.get("Udp6NoPorts", 0))
    )


def _counters(snmp: str) -> dict[str, int]:
    """/proc/net/snmp: per protocol a line of names, then a line of values."""
    rows = [line.partition(":") for line in snmp.splitlines()]
    found: dict[str, int] = {}
    for (protocol, _, names), (_, _, values) in zip(rows[::2], rows[1::2], strict=False):
        found |= {
            f"{protocol}.{name}": int(value)
            for name, value in zip(names.split(), values.split(), strict=False)
        }
    return found


@dataclass(frozen=True, kw_only=True)
class Traces:
    """What a server left on disk."""

    count: int
    paths: tuple[str, ...]
    state_mb: float


async def traces(container: Container, spec: ServerSpec) -> Traces:
    own = [STATE, *(f"{WORKSPACE}/{path}" for path in spec.private)]
    places = shlex.join([*own, "/tmp", "/dev/shm"])  # noqa: S108 - the container's own
    found = f"find {places} -type f -user {SERVER} 2>/dev/null | LC_ALL=C sort | awk 'NR <= {PATHS_KEPT} {{ print }} END {{ print NR }}'"
    size = f"du -sk {shlex.join(own)} | awk '{{ kb += $1 }} END {{ print kb }}'"
    done = await container.shell(f"{size}; {found}", timeout_sec=120, user=SERVER)
    try:
        kilobytes, *paths, count = done.output.splitlines()
        return Traces(count=int(count), paths=tuple(paths), state_mb=int(kilobytes) * 1024 / 1e6)
    except ValueError as error:
        raise SandboxError(
            f"cannot list what the server wrote: {_excerpt(done.output)}", where=spec.name
        ) from error


def line_base(canary: Canary, result: CanaryResult) -> int | None:
    """Which number the server gives the first line, where the canary's text shows a line whose number is known."""
    if canary.line is None or not result.passed:
        return None
    shown = set(re.findall(r"\d+", canary.contains))
    return next((base for base in (0, 1) if str(canary.line - 1 + base) in shown), None)


async def check_server(  # noqa: PLR0913 - a server, its volume, and the cell it is put in
    client: Engine,
    spec: ServerSpec,
    volume: ServerVolume,
    *,
    image: str,
    repository: str,
    limits: Limits,
) -> ServerCard:
    """Start the server in a cell's container on a workspace image, and say what it is, does and costs.

    Raises ServerError where it cannot be made ready. A failed canary is on the card, as are stray lines and attempts to reach the network.
    """
    canary = pick_canary(spec, repository)
    log = ServerLog(stderr=StderrFile(None))
    deadline_sec = DOCTOR_LIMIT_SEC + sum(step.timeout_sec for step in spec.warm_up)
    wanted = ContainerSpec(
        image=image,
        limits=limits,
        deadline_sec=deadline_sec,
        server_volume=volume.name,
        private=spec.private,
    )
    async with (
        open_container(client, wanted) as container,
        open_server(container, spec, log) as ready,
    ):
        result = await try_canary(ready.session, canary)
        left, tried = await traces(container, spec), await network_attempts(container)
        memory_mb, seen = await container.peak_memory_mb(), ready.session.seen
        return ServerCard(
            name=spec.name,
            version=spec.version,
            licence=spec.licence,
            server_info=seen.server_info,
            protocol=seen.protocol,
            tools=seen.names,
            schema_chars=seen.schema_chars,
            schema_tokens=seen.schema_chars // 4,
            instructions_chars=seen.instructions_chars,
            initialize_sec=ready.session.initialize_sec,
            warm_up_sec=ready.warm_up_sec,
            answer_sec=result.wall_sec,
            peak_memory_mb=memory_mb,
            state_mb=left.state_mb,
            install_mb=volume.size_mb,
            install_digest=volume.digest,
            files_written=left.count,
            paths_written=left.paths,
            network_attempts=tried,
            stray_lines=log.stray_lines,
            stray=tuple(log.stray),
            line_base=spec.line_base,
            line_base_measured=line_base(canary, result),
            repository=repository,
            canary_passed=result.passed,
            canary_wanted=result.wanted,
            canary_text=result.text[:EXCERPT_CHARS],
        )
