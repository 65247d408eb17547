"""Finds, in the sandbox, how a server is started, what it must be told first, and a canary."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from runner.authoring.onboarding.launches import MOST, SHOWN, USUAL, Launch
from runner.authoring.onboarding.launching import DEADLINE_SEC, MOST_PRIVATE, attempt_at
from runner.authoring.onboarding.remedies import FOLDER, WAYS
from runner.authoring.onboarding.search_context import SearchContext
from runner.authoring.onboarding.start_attempt import USAGE, StartAttempt
from runner.protocols import Log
from runner.records import Canary, ServerSpec
from runner.sandbox.cell_layout import SERVER_USER
from runner.sandbox.container import ContainerSpec, open_container
from runner.servers.definition_rules import launch
from runner.servers.examine import exports

HELP_SEC = 20
_ALIKE = 3
"""Ways that went equally far, after which no flag is guessed any more."""
WHOLE_SEC = 300
"""After which no further way to start it is begun."""


async def find_way(
    ground: SearchContext,
    spec: ServerSpec,
    ways: Sequence[Launch],
    *,
    fixed: bool,
    canary: Canary | None = None,
) -> StartAttempt:
    """The first way to start it with a health probe; without one, the way that got furthest.

    `fixed`: the arguments are the person's, and no others are tried. `canary`: the person's; none
    is looked for then, and a way that starts is enough.
    """
    if canary is not None:
        ground = replace(ground, symbols=())
    best: StartAttempt | None = None
    queue = _Queue(left=[*ways])
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
        if attempt.is_hopeless:
            # What it lacks can be had; a way that went as far may have ended for less.
            return best if best.started else attempt
        ground = await _learned(ground, spec, attempt)
        if not fixed:
            queue.learn(ground, attempt)
    assert best is not None  # noqa: S101 - one way at least
    return best


@dataclass(kw_only=True)
class _Queue:
    """The ways to start it that are left, by what those before them have shown."""

    left: list[Launch]
    tried: list[Launch] = field(default_factory=list)
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

    def learn(self, ground: SearchContext, attempt: StartAttempt) -> None:
        """What the attempt asks for, or its help shows, comes next."""
        search = attempt.search
        self.seen.append((len(attempt.tools), search.calls, search.errors, attempt.problem))
        asked = [way for remedy in WAYS for way in remedy.find(ground, attempt)]
        self.left = _in_order(attempt, asked, self.left)
        if self.seen.count(self.seen[-1]) >= _ALIKE:
            # Whatever it is given makes no difference.
            self.left = [way for way in self.left if way.why != USUAL]


async def _learned(ground: SearchContext, spec: ServerSpec, attempt: StartAttempt) -> SearchContext:
    """With its help, asked for once; an index is waited for once too."""
    if ground.help_text is None:
        ground = replace(ground, help_text=await _help_of(ground, spec))
    return replace(ground, polls=()) if attempt.warm_up else ground


def _in_order(
    attempt: StartAttempt, asked: Sequence[Launch], left: Sequence[Launch]
) -> list[Launch]:
    """What a complaint asks for comes next; before it, to one that starts, what its author shows.

    A guessed `--root` in front of the folder may be taken for a folder too.
    """
    shown = [way for way in left if attempt.started and way.why == SHOWN]
    if attempt.started and not attempt.search.calls:
        # None of its tools can be asked at all: no guessed flag would change that.
        return [*shown, *asked]
    return [*shown, *asked, *(way for way in left if way not in shown)]


def _distance(attempt: StartAttempt) -> tuple[bool, bool, int, int, bool]:
    """How far it went: past its own arguments, to its tools, to answers.

    Of two alike the copy: a repository in another language may show what this one does not.
    """
    works = attempt.search.calls - attempt.search.errors
    takes_arguments = not USAGE.search(attempt.problem)
    return (
        attempt.started, takes_arguments, works, len(attempt.tools), attempt.launch.copied
    )  # fmt: skip


def _say(log: Log, attempt: StartAttempt) -> None:
    if not attempt.started:
        log(f"  {attempt.launch}: did not start: {attempt.problem}")
        return
    count, errors = attempt.search.calls, attempt.search.errors
    tools = f"{len(attempt.tools)} tool{'s' if len(attempt.tools) > 1 else ''}"
    if attempt.canary is not None:
        log(f"  {attempt.launch}: {tools}, and a health probe")
    elif not count:
        log(f"  {attempt.launch}: {tools}, none of which can be asked about the repository")
    else:
        none = f"none of {count} calls showed the repository ({errors} errors)"
        log(f"  {attempt.launch}: {tools}; {none}")
        for tool, error in list(attempt.search.errors_of.items())[:1]:
            log(f"    such as {tool}: {' '.join(error.split())[:160]}")


async def _with_private(ground: SearchContext, spec: ServerSpec, way: Launch) -> StartAttempt:
    """A folder that it may not write becomes its own, and it is started again."""
    private = spec.private
    attempt = await attempt_at(ground, spec, way, private)
    while (more := FOLDER.find(attempt)) and len(private) < MOST_PRIVATE:
        before, private = attempt, (*private, *more)
        ground.log(f"  a write was refused: {', '.join(private)} becomes its own folder (private)")
        attempt = await attempt_at(ground, spec, way, private)
        if attempt.canary is None and before.canary is not None:
            return before
    return attempt


# --- what its help says -------------------------------------------------------------------------


async def _help_of(ground: SearchContext, spec: ServerSpec) -> str:
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
        result = await container.shell(command, timeout_sec=HELP_SEC, user=SERVER_USER)
    return result.output
