"""Finds, in the sandbox, how a server is started, what it must be told first, and a canary."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from runner.authoring.onboarding.command_words import variables_in
from runner.authoring.onboarding.copying import packages_written, started_on_copy
from runner.authoring.onboarding.launches import (
    MOST,
    SHOWN,
    USUAL,
    Launch,
    launches_elsewhere,
    launches_if_denied,
    launches_in_help,
    launches_with,
    still_possible,
)
from runner.authoring.onboarding.over_http import is_bridged, over_stdio
from runner.authoring.onboarding.search_context import Ground
from runner.authoring.onboarding.start_attempt import (
    DEADLINE_SEC,
    MOST_PRIVATE,
    USAGE,
    Attempt,
    attempt_at,
)
from runner.protocols import Log
from runner.records import Canary, ServerSpec
from runner.sandbox.cell_layout import SERVER
from runner.sandbox.container import ContainerSpec, open_container
from runner.servers.definition_rules import launch
from runner.servers.examine import exports

HELP_SEC = 20
_ALIKE = 3
"""Ways that went equally far, after which no flag is guessed any more."""
WHOLE_SEC = 300
"""After which no further way to start it is begun."""


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
    queue = _Queue(left=list(ways), fixed=fixed)
    give_up = time.monotonic() + WHOLE_SEC
    while (way := queue.next_way()) is not None and time.monotonic() < give_up:
        attempt = await _with_private(ground, spec, way)
        _say(ground.log, attempt)
        # Of its own in every way that it is started.
        spec = spec.model_copy(update={"private": attempt.private})
        if attempt.canary is not None or (canary is not None and attempt.started):
            return attempt
        if best is None or _distance(attempt) > _distance(best):
            best = attempt
        if queue.waits_at_a_port(attempt, spec):
            continue
        if attempt.is_hopeless:
            # What it lacks can be had; a way that went as far may have ended for less.
            return best if best.started else attempt
        ground = _waited_for(ground, attempt)
        await queue.learn(ground, spec, attempt)
    assert best is not None  # noqa: S101 - one way at least
    return best


@dataclass(kw_only=True)
class _Queue:
    """The ways to start it that are left, by what those before them have shown."""

    left: list[Launch]
    fixed: bool
    tried: list[Launch] = field(default_factory=list)
    help_text: str = ""
    seen: list[tuple[int, int, int, str]] = field(default_factory=list)
    """How far each went: tools, calls, errors, and why it did not start."""

    def next_way(self) -> Launch | None:
        """None if none is left, or as many were tried as are."""
        new = (way for way in self.left if not any(map(way.is_like, self.tried)))
        way = next(new, None)
        if way is None or len(self.tried) >= MOST:
            return None
        self.left = self.left[self.left.index(way) + 1 :]
        self.tried.append(way)
        return way

    def waits_at_a_port(self, attempt: Attempt, spec: ServerSpec) -> bool:
        """If so, it is asked for stdio next."""
        waits = attempt.listens and not attempt.started and not self.fixed and not is_bridged(spec)
        if waits:
            self.left = over_stdio(self.left)
        return waits

    async def learn(self, ground: Ground, spec: ServerSpec, attempt: Attempt) -> None:
        """What the attempt asks for, or its help shows, comes next."""
        if self.fixed:
            return
        self.seen.append(_how_far(attempt))
        self.left = _in_order(attempt, _ways_it_asks_for(ground, attempt), self.left)
        if len(self.tried) == 1:
            self.help_text = await _help_of(ground, spec)
            self.left = [*launches_in_help(self.help_text), *self.left]
        has_started = any(tools for tools, *_ in self.seen)
        if not attempt.started and has_started and USAGE.search(attempt.problem):
            self.left = still_possible(self.left, attempt.launch, self.help_text)
        if self.seen.count(self.seen[-1]) >= _ALIKE:
            # Whatever it is given makes no difference.
            self.left = [way for way in self.left if way.why != USUAL]
        if attempt.is_refused:
            elsewhere = launches_elsewhere(self.help_text, attempt.launch)
            # The folder of its own comes before it, where that may do.
            is_other = attempt.writes_where_it_is or packages_written(_ends(attempt))
            copied = [] if is_other else _copied(ground, attempt)
            self.left = [*elsewhere, *copied, *self.left]


def _waited_for(ground: Ground, attempt: Attempt) -> Ground:
    """Once is enough; started in another way, it would index the same again."""
    return replace(ground, polls=()) if attempt.warm_up else ground


def _how_far(attempt: Attempt) -> tuple[int, int, int, str]:
    return (len(attempt.tools), attempt.search.calls, attempt.search.errors, attempt.problem)


def _in_order(attempt: Attempt, asked: Sequence[Launch], left: Sequence[Launch]) -> list[Launch]:
    """What a complaint asks for comes next; before it, to one that starts, what its author shows.

    A guessed `--allow` in front of the folder may be taken for a folder too.
    """
    shown = [way for way in left if attempt.started and way.why == SHOWN]
    if attempt.started and not attempt.search.calls:
        # None of its tools can be asked at all: no guessed flag would change that.
        return [*shown, *asked]
    return [*shown, *asked, *(way for way in left if way not in shown)]


def _ways_it_asks_for(ground: Ground, attempt: Attempt) -> list[Launch]:
    """By its own complaint: that it was not started so, or that a folder is closed to it."""
    for package in packages_written(_ends(attempt)):
        if not attempt.launch.own_package and ground.volume is not None:
            why = "it writes into its own package"
            return [replace(attempt.launch, own_package=package, why=why)]
    if attempt.writes_where_it_is and not (attempt.launch.apart or attempt.launch.copied):
        why = "it writes files where it is started"
        apart = replace(attempt.launch, apart=True, why=why)
        return [apart, *_copied(ground, attempt)]
    if attempt.started:
        why = "its README names the variable"
        denied = launches_if_denied(attempt.search.errors_of.values())
        return [*denied, *launches_with(ground.variables, attempt.launch, why)]
    named = launches_with(variables_in(attempt.said), attempt.launch, "it names the variable")
    return [*named, *launches_in_help(attempt.said, attempt.launch.args)]


def _copied(ground: Ground, attempt: Attempt) -> list[Launch]:
    """None for an image, in which there may be no Python to put between."""
    copied = started_on_copy(attempt.launch)
    return [copied] if ground.volume is not None else []


def _ends(attempt: Attempt) -> list[str]:
    return [attempt.problem, attempt.stderr]


def _distance(attempt: Attempt) -> tuple[bool, bool, int, int, bool]:
    """How far it went: past its own arguments, to its tools, to answers.

    Of two alike the copy: a repository in another language may show what this one does not.
    """
    works = attempt.search.calls - attempt.search.errors
    takes_arguments = not USAGE.search(attempt.problem)
    return (
        attempt.started, takes_arguments, works, len(attempt.tools), attempt.launch.copied
    )  # fmt: skip


def _say(log: Log, attempt: Attempt) -> None:
    if not attempt.started:
        log(f"  {attempt.launch}: did not start: {attempt.problem}")
        return
    count, errors = attempt.search.calls, attempt.search.errors
    tools = f"{len(attempt.tools)} tool{'s' if len(attempt.tools) > 1 else ''}"
    if attempt.canary is not None:
        log(f"  {attempt.launch}: {tools}, and a canary")
    elif not count:
        log(f"  {attempt.launch}: {tools}, none of which can be asked about the repository")
    else:
        none = f"none of {count} calls showed the repository ({errors} errors)"
        log(f"  {attempt.launch}: {tools}; {none}")


async def _with_private(ground: Ground, spec: ServerSpec, way: Launch) -> Attempt:
    """A folder that it may not write becomes its own, and it is started again."""
    private = spec.private
    attempt = await attempt_at(ground, spec, way, private)
    while attempt.wants_more and len(private) < MOST_PRIVATE:
        before, private = attempt, (*private, *attempt.wants_private)
        ground.log(f"  a write was refused: {', '.join(private)} becomes its own folder (private)")
        attempt = await attempt_at(ground, spec, way, private)
        if attempt.canary is None and before.canary is not None:
            return before
    return attempt


# --- what its help says -------------------------------------------------------------------------


async def _help_of(ground: Ground, spec: ServerSpec) -> str:
    """What it says to `--help`; empty for an image."""
    if spec.image is not None:
        return ""
    cell = ContainerSpec(
        image=ground.image,
        limits=ground.limits,
        deadline_sec=DEADLINE_SEC,
        server_volume=ground.volume,
    )
    argv = shlex.join(launch(spec).argv)
    command = f"{exports(spec)}{argv} --help </dev/null 2>&1 | head -c 20000"
    async with open_container(ground.engine, cell) as container:
        result = await container.shell(command, timeout_sec=HELP_SEC, user=SERVER)
    return result.output
