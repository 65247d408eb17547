"""What a server must get first: its own program run, a tool called, an index waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import mcp_types

from runner.authoring.onboarding.canaries import (
    MOST_CALLS,
    SEARCH_SEC,
    CanarySearch,
    FoundCanary,
    find_canary,
    with_places,
)
from runner.authoring.onboarding.copying import on_copy
from runner.authoring.onboarding.launches import SHOWN
from runner.authoring.onboarding.programs import (
    SETUP_SEC,
    commands_named,
    flag_without_embeddings,
    run_program,
    runnable,
    wants_embeddings,
)
from runner.authoring.onboarding.search_context import SearchContext
from runner.authoring.onboarding.telling import builds_index, calls_spelled, for_setup, named_by
from runner.authoring.onboarding.tool_roles import finds
from runner.records import McpCall, ServerSpec, WarmUp
from runner.sandbox.cell_layout import WORKSPACE
from runner.sandbox.container import Container
from runner.sandbox.session import ServerSession
from runner.servers.example_arguments import Target, arguments_for, said_of_itself
from runner.servers.tool_answers import is_refusal, says_busy, says_no, values_in_answer

_LONGER = (60.0, 60.0, 60.0)
"""Seconds to wait after those of the ground."""
_LAST_ANSWERS = 20


@dataclass(frozen=True, kw_only=True)
class SettingUp:
    """A started server that shows nothing yet, and what it was told so far."""

    ground: SearchContext
    container: Container
    spec: ServerSpec
    session: ServerSession
    search: CanarySearch
    warm_up: list[WarmUp] = field(default_factory=list)

    @property
    def is_told_by_person(self) -> bool:
        """Then that is all that it is told."""
        return any(step.call for step in self.spec.warm_up)

    def is_found_by(self, canary: FoundCanary) -> bool:
        """By a tool that finds things: what only reads a file may do so without an index."""
        return finds(self._named(canary.call.tool))

    def forget_what_failed(self) -> None:
        """What failed and led nowhere would be taken for an index that was waited for."""
        lost = [self._step(command, may_fail=True) for command in self.search.failed]
        self.warm_up[:] = [step for step in self.warm_up if step not in lost]

    # --- remedies, in their order: see remedies.py ----------------------------------------------

    async def run_named(self) -> FoundCanary | None:
        named = commands_named(self.search.seen, self.ground.names)
        return await self._after_its_programs(named, "as it says itself")

    async def call_spelled(self) -> FoundCanary | None:
        for name, arguments in calls_spelled(self.search.short, self.session.tools):
            if await self._answers_well(name, arguments):
                call = McpCall(tool=name, arguments=with_places(arguments, {}))
                if canary := await self._look_after(call):
                    return canary
        return None

    async def tell_tools(self) -> FoundCanary | None:
        for tool in self._to_tell():
            told = await self._tell(tool)
            if told is not None and (canary := await self._look_after(told)):
                return canary
        return None

    async def run_shown(self) -> FoundCanary | None:
        canary = None
        if not any(map(says_busy, self.search.seen[-_LAST_ANSWERS:])):
            canary = await self._after_its_programs(self.ground.programs, SHOWN)
        # What failed may have left what it needs.
        return await self.look() if canary is None and self.search.failed else canary

    async def wait(self) -> FoundCanary | None:
        """Longer while it says itself that it is at it."""
        # A program of its own has ended when it is done; what a tool begins may go on.
        was_told = any(step.call for step in self.warm_up[len(self.spec.warm_up) :])
        if not was_told and not any(map(says_busy, self.search.seen)):
            return None
        polls, waited_sec = self.ground.polls, 0.0
        for place, wait_sec in enumerate((*polls, *(_LONGER if polls else ()))):
            if place >= len(polls) and not any(map(says_busy, self.search.seen[-_LAST_ANSWERS:])):
                break
            self.ground.log(f"  is its index being built? looking again in {wait_sec} s")
            await asyncio.sleep(wait_sec)
            waited_sec += wait_sec
            if canary := await self.look():
                return replace(canary, waited_sec=waited_sec)
        return None

    async def run_for_finding(self) -> FoundCanary | None:
        """What a tool's error names: one that finds things may miss what they make."""
        before = len(self.warm_up)
        for command in commands_named(list(self.search.errors_of.values()), self.ground.names):
            own = runnable(command, self.spec)
            if own not in self.search.ran:
                await self._run(own, "as it says itself")
        return await self.look() if len(self.warm_up) > before else None

    async def index_for_finding(self) -> FoundCanary | None:
        before = len(self.warm_up)
        for tool in self._to_tell():
            in_vain = any(finds(self._named(failed)) for failed in self.search.errors_of)
            if not (in_vain or builds_index(tool)):
                continue
            if call := await self._tell(tool):
                better = await self._look_after(call)
                if better and (builds_index(tool) or self.is_found_by(better)):
                    return better
        del self.warm_up[before:]
        return None

    # --- what they do ---------------------------------------------------------------------------

    async def look(self) -> FoundCanary | None:
        """Once whole; after that, what it was told shows in fewer calls or not at all."""
        ground, search = self.ground, self.search
        share = 1 + bool(search.calls)
        return await find_canary(
            self.session,
            ground.symbols,
            ground.paths,
            search,
            most=MOST_CALLS // share,
            most_sec=SEARCH_SEC / share,
        )

    async def _after_its_programs(self, commands: Sequence[str], why: str) -> FoundCanary | None:
        for command in commands:
            known, own = (command, self.spec.private), runnable(command, self.spec)
            if known in self.ground.failed or own in self.search.ran:
                continue
            if not await self._run(own, why):
                # It may take minutes to fail, in every way that the server is started.
                self.ground.failed.add(known)
            elif canary := await self.look():
                return canary
        return None

    async def _look_after(self, call: McpCall) -> FoundCanary | None:
        self.ground.log(f"  told first: {call.tool} {call.arguments or ''}")
        self.warm_up.append(WarmUp(call=call, timeout_sec=SETUP_SEC))
        return await self.look()

    def _to_tell(self) -> list[mcp_types.Tool]:
        """Also what short answers of the others name: `call load_project first`."""
        tools = [*for_setup(self.session.tools), *named_by(self.search.short, self.session.tools)]
        known = {tool.name: tool for tool in tools if tool.name not in self.search.deadly}
        return list(known.values())

    def _named(self, name: str) -> mcp_types.Tool:
        return next(tool for tool in self.session.tools if tool.name == name)

    async def _tell(self, tool: mcp_types.Tool) -> McpCall | None:
        """The first call of a tool that sets something up and is not answered with an error."""
        target = Target(name="workspace", root=WORKSPACE, handles=self.search.handles)
        described = said_of_itself(tool.name, tool.description)
        for arguments in arguments_for(tool.input_schema, target, described=described):
            given = with_places(arguments, self.search.handles)
            if await self._answers_well(tool.name, arguments):
                return McpCall(tool=tool.name, arguments=given)
        return None

    async def _answers_well(self, tool: str, arguments: dict[str, Any]) -> bool:
        """Called, it is not answered with an error; what it answers is learned."""
        self.search.asking = tool
        result = await self.session.call(tool, arguments, timeout_sec=SETUP_SEC)
        self.search.note(tool, result, arguments)
        is_good = not (result.is_error or is_refusal(result.text) or says_no(result.text))
        if is_good:
            self.search.learn(values_in_answer(result.text, result.structured))
        return is_good

    async def _run(self, command: str, why: str) -> bool:
        """Only a program that the server brought; in every cell from now on. To a good end?"""
        ran = await run_program(self.container, self.spec, command)
        if wants_embeddings(ran):
            help_of = await run_program(self.container, self.spec, f"{command} --help")
            if flag := flag_without_embeddings(help_of.output):
                command = f"{command} {flag}"
                ran = await run_program(self.container, self.spec, command)
        self.search.seen.append(ran.output)
        self.search.ran[command] = ran
        if ran.good or ran.failed:
            self.ground.log(f"  run first, {why}: {ran.failed or command}")
            # What failed may have left what the next ones need; what a tool made here is not there
            # before the server is started.
            may_fail = not ran.good or any(step.call for step in self.warm_up)
            self.warm_up.append(self._step(command, may_fail=may_fail))
        return ran.good

    def _step(self, command: str, *, may_fail: bool) -> WarmUp:
        shell = on_copy(command, self.spec)
        return WarmUp(shell=f"{shell} || true" if may_fail else shell, timeout_sec=SETUP_SEC)
