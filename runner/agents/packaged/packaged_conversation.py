"""One cell's conversation with an agent that is a program in it: a start of it for each step."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Literal

from runner.agents.models.provider import ContextOverflow
from runner.agents.models.remote import RemoteModel
from runner.agents.packaged.bridge import ProviderBridge, Upstream
from runner.agents.packaged.cell_end import AgentClock, CellEnd
from runner.agents.packaged.cell_ledger import CellLedger
from runner.agents.packaged.mcp_tap import McpTap
from runner.agents.packaged.packaged_agent import PackagedAgent, StepStart, config_name
from runner.agents.packaged.treatment import SeenProgram, Treatment
from runner.agents.prompt import SYSTEM
from runner.agents.tool_calling import Assignment
from runner.agents.tools import MountedServer, tool_names
from runner.agents.usage import UsageTotals
from runner.records import Event, Outcome, Prompt, StepEnd, SystemPrompt
from runner.sandbox.cell_layout import AGENT_USER, PATH, PYTHONS, TMP, TOOLS
from runner.sandbox.container import Container
from runner.sandbox.exit_cause import ended_with, program_end
from runner.sandbox.relay import McpWire, Relay, RelayedReply, RelayedRequest, open_relay
from runner.sandbox.stream import ExecStream, LongLine, StderrFile, bounded_lines
from runner.support.errors import SandboxError

Stop = Literal["end", "max_tokens", "refusal", "cut"]
LINE_LIMIT_BYTES = 16_000_000
LAST_LINES = 3
WATCH_SEC = 0.1
_START = 'prompt=$1; folders=$2; shift 2; mkdir -p $folders; printf %s "$prompt" | "$@"'
"""The prompt on stdin: among its arguments, some programs would put it in quotes."""


@dataclass(kw_only=True)
class PackagedConversation:
    """protocols.Agent."""

    agent: PackagedAgent
    title: str
    """With its version, for people."""
    program: str
    """Its path in the cell."""
    reads_repository: bool
    model: RemoteModel
    scenario: Assignment
    container: Container
    mounted: MountedServer | None
    run_servers: Sequence[str]
    record: Callable[[Event], None]
    seen: Callable[[SeenProgram], None]
    """Told what the provider saw of the program, once."""
    totals: UsageTotals
    folder: Path
    """Where its own streams are kept, beside the transcript."""
    session: str = field(default="", init=False)
    _claimed: list[str] = field(default_factory=list, init=False)
    """What its own stream says in the step."""

    async def run(self) -> Outcome:
        """protocols.Agent. Raises NotTreatedError if the model was not offered what the arm is."""
        self.record(SystemPrompt(text=SYSTEM))
        try:
            async with self._open_relay() as relay:
                for number, step in enumerate(self.scenario.steps):
                    self.record(Prompt(step=number, text=step.prompt))
                    outcome = await self._run_step(relay, number, step.prompt)
                    if outcome is not None:
                        return outcome
        finally:
            self._clock.stop()
            self.totals.agent_sec = self._clock.agent_sec
            self.totals.backoff_sec = self._clock.backoff_sec
        return Outcome(kind="answered", reason=f"all {len(self.scenario.steps)} steps")

    @asynccontextmanager
    async def _open_relay(self) -> AsyncIterator[Relay]:
        try:
            async with open_relay(self.container, self) as relay:
                yield relay
        finally:
            await self._bridge.close()

    # --- its parts ------------------------------------------------------------------------------

    @cached_property
    def _end(self) -> CellEnd:
        return CellEnd()

    @cached_property
    def _clock(self) -> AgentClock:
        return AgentClock()

    @cached_property
    def _stderr(self) -> StderrFile:
        return StderrFile(self.folder / "agent.stderr.log")

    @cached_property
    def _stdout(self) -> StderrFile:
        return StderrFile(self.folder / "agent.stdout.jsonl")

    @cached_property
    def _server(self) -> str:
        return config_name(self.mounted.name) if self.mounted else ""

    @cached_property
    def _server_tools(self) -> dict[str, str]:
        """As the model is offered them -> as the server calls them; Treatment sets it right."""
        if self.mounted is None:
            return {}
        tools = self.mounted.session.tools
        return {self.agent.server_tool(self._server, tool.name): tool.name for tool in tools}

    @cached_property
    def _ledger(self) -> CellLedger:
        shown = tool_names(self.mounted) if self.mounted else {}
        return CellLedger(
            self.agent,
            self._server_tools,
            self.record,
            self.totals,
            names={theirs: name for name, theirs in shown.items()},
        )

    @cached_property
    def _treatment(self) -> Treatment:
        return Treatment(
            agent=self.agent,
            server=self._server,
            server_tools=self._server_tools,
            run_servers=self.run_servers,
            keep=(self.folder / "first_request.json").write_bytes,
            seen=self.seen,
            note=self._ledger.note,
        )

    @cached_property
    def _bridge(self) -> ProviderBridge:
        model = self.model
        return ProviderBridge(
            agent=self.agent,
            upstream=Upstream(
                provider=model.provider,
                url=str(model.client.base_url),
                settings=model.settings,
                model=model.model,
            ),
            ledger=self._ledger,
            treatment=self._treatment,
            budget=self.scenario.budget,
            end=self._end,
            clock=self._clock,
        )

    @cached_property
    def _tap(self) -> McpTap | None:
        if self.mounted is None:
            return None
        kept = StderrFile(self.folder / "server.messages.jsonl")
        return McpTap(
            self.mounted, self._ledger.reached, lambda line: kept.feed(line.encode() + b"\n")
        )

    # --- relay.Answering ------------------------------------------------------------------------

    async def answer(self, asked: RelayedRequest, reply: RelayedReply) -> None:
        await self._bridge.answer(asked, reply)

    async def take_line(self, line: bytes, wire: McpWire) -> None:
        if self._tap is None:
            await wire.hang_up()
        else:
            await self._tap.take(line, wire)

    def refused(self, user: str) -> None:
        self._ledger.note(f"refused: user {user} in the cell tried to speak to the model")

    def failed(self, error: BaseException) -> None:
        self._end.fail(error)

    # --- a step ---------------------------------------------------------------------------------

    async def _run_step(self, relay: Relay, number: int, prompt: str) -> Outcome | None:
        """None if the conversation goes on."""
        self._ledger.begin_step(number)
        before_sec = self._clock.agent_sec
        argv, env = await self._command(relay, prompt if number else f"{SYSTEM}\n{prompt}")
        self._clock.start()
        stream = await self.container.exec_stream(
            argv, user=AGENT_USER, env=env, on_stderr=self._stderr.feed
        )
        try:
            await self._until_over(relay, stream)
        finally:
            self._note_unseen()
            self._ledger.end_step()
            self._clock.stop()
        step_sec = self._clock.agent_sec - before_sec
        stop, outcome = await self._how_it_ended(stream)
        self.record(StepEnd(step=number, stop=stop, elapsed_sec=max(0.0, step_sec)))
        return outcome

    async def _command(self, relay: Relay, prompt: str) -> tuple[list[str], dict[str, str]]:
        http, mcp = await relay.ports()
        shim = resources.files("runner.sandbox").joinpath("shim_host.py").read_text("utf-8")
        start = StepStart(
            program=self.program,
            model=self.model.model,
            url=f"http://127.0.0.1:{http}",
            session=self.session,
            server=self._server,
            shim=(f"{PYTHONS['3.11']}/python3", "-I", "-c", shim, str(mcp)),
            reads_repository=self.reads_repository,
        )
        started = self.agent.command(start)
        shell = ["sh", "-c", _START, "sh", prompt, " ".join(started.folders) or TMP]
        return [*shell, *started.argv], {"PATH": f"{TOOLS}:{PATH}", **started.env}

    async def _until_over(self, relay: Relay, stream: ExecStream) -> None:
        """Until the program ends, or the cell."""
        reading = asyncio.create_task(self._read(stream))
        ending = asyncio.create_task(self._end.wait())
        watching = asyncio.create_task(self._watch())
        try:
            await asyncio.wait({reading, ending, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not self._end.is_reached:
                self._clock.stop()
                await relay.settle()
        finally:
            for task in (reading, ending, watching):
                task.cancel()
            await asyncio.gather(reading, ending, watching, return_exceptions=True)

    async def _watch(self) -> None:
        """Ends the cell when the agent's time is up."""
        wall_sec = self.scenario.budget.wall_sec
        while (agent_sec := self._clock.agent_sec) < wall_sec:
            await asyncio.sleep(max(WATCH_SEC, wall_sec - agent_sec))
        reason = f"{agent_sec:.0f} s of {wall_sec} s"
        self._end.reach(Outcome(kind="out_of_time", reason=reason))

    async def _read(self, stream: ExecStream) -> None:
        try:
            async for line in bounded_lines(stream.stdout(), LINE_LIMIT_BYTES, _thrown_away):
                self._take_event(line)
        except ValueError as error:
            # It floods one of its streams.
            self._end.reach(Outcome(kind="agent_crashed", reason=f"{self.title}: {error}"))

    def _take_event(self, line: bytes | LongLine) -> None:
        if isinstance(line, LongLine):
            return
        self._stdout.feed(line + b"\n")
        try:
            event = json.loads(line)
            self.session = self.session or self.agent.session_of(event)
            said = self.agent.says(event)
        except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
            return
        if said:
            self._claimed.append(said)

    def _note_unseen(self) -> None:
        """Once the bridge has settled: a program may print a reply before it is on the record."""
        seen = "\n".join(self._ledger.said)
        for said in self._claimed:
            if said.strip() not in seen:
                self._ledger.note(f"its own stream says what the bridge has not seen: {said[:200]}")
        self._claimed.clear()

    # --- its end --------------------------------------------------------------------------------

    async def _how_it_ended(self, stream: ExecStream) -> tuple[Stop, Outcome | None]:
        """Raises what ended the cell, if it was an error."""
        if self._end.error is not None:
            raise self._end.error
        if self._end.outcome is not None:
            return "cut", self._end.outcome
        exit_code = await program_end(self.container, stream.exec_id)
        last, fault = self._ledger.last, self._bridge.fault
        if last is not None and not last.calls and last.stop == "refusal":
            reason = f"the model refused at step {self._ledger.step + 1}"
            return "refusal", Outcome(kind="refused", reason=reason)
        if isinstance(fault, ContextOverflow) or (last and last.stop == "context_full"):
            reason = f"the conversation no longer fits the model at step {self._ledger.step + 1}"
            return "cut", Outcome(kind="out_of_context", reason=reason)
        if last is not None and not last.calls:
            if exit_code:
                self._ledger.note(f"{self.title} answered, and {ended_with(exit_code)}")
            return ("max_tokens" if last.stop == "max_tokens" else "end"), None
        if fault is not None:
            raise fault
        how = f"{self.title}: {ended_with(exit_code)}{self._last_words()}"
        if last is None:
            raise SandboxError(f"{how}, before the model had answered")
        return "cut", Outcome(kind="agent_crashed", reason=how)

    def _last_words(self) -> str:
        lines = self._stderr.tail.decode(errors="replace").strip().splitlines()
        return f"; it last said: {' | '.join(lines[-LAST_LINES:])}" if lines else ""


async def _thrown_away(_: int) -> None:
    """Of a line that is too long; the stream's own end comes in its time."""
