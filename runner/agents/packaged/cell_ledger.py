"""The transcript and the sums of a cell whose agent is a program: from what passed the bridge and
the server's tap, never from what the program says of itself.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from runner.agents.packaged.mcp_tap import ServerCallMade
from runner.agents.packaged.packaged_agent import PackagedAgent, plain
from runner.agents.packaged.wire_reading import GivenResult, ModelRequest, ReadReply
from runner.agents.usage import UsageTotals, usage_of
from runner.protocols import Call, Turn
from runner.records import COMPACTION, Event, Note, Prose, Thinking, ToolCall, ToolResult
from runner.support.token_estimate import estimated_tokens

HELPER = "helper"
"""Whose turns are that are offered no tools: titles."""


@dataclass(frozen=True, kw_only=True)
class Conversing:
    """One request, placed."""

    subagent: str | None
    """None for the agent's own conversation."""
    step: int
    size_chars: int


@dataclass(frozen=True, kw_only=True)
class _Pending:
    """A call that the model has asked for, and whose result no request has held yet."""

    step: int
    turn: int
    call: Call
    is_servers: bool


@dataclass
class CellLedger:
    """What one cell has heard so far."""

    agent: PackagedAgent
    server_tools: dict[str, str]
    """As the model is offered them -> as the server calls them."""
    record: Callable[[Event], None]
    totals: UsageTotals
    names: Mapping[str, str] = field(kw_only=True)
    """As the server calls them -> as every agent's transcript does."""
    step: int = field(default=0, init=False)
    last: Turn | None = field(default=None, init=False)
    """The agent's own last turn in this step."""
    said: list[str] = field(default_factory=list, init=False)
    """Every text in this step, a helper's too."""
    _turn: int = field(default=0, init=False)
    _own: str = field(default="", init=False)
    _subagents: dict[str, str] = field(default_factory=dict, init=False)
    _pending: dict[str, _Pending] = field(default_factory=dict, init=False)
    _given: Counter[tuple[str | None, str]] = field(default_factory=Counter, init=False)
    _reached: list[ServerCallMade] = field(default_factory=list, init=False)

    def begin_step(self, step: int) -> None:
        self.step, self._turn, self.last, self.said = step, 0, None, []

    def note(self, text: str) -> None:
        self.record(Note(text=text))

    # --- a turn ---------------------------------------------------------------------------------

    def asked(self, conversation: str, request: ModelRequest, size_chars: int) -> Conversing:
        """Place a request, and record the results that it is the first to hold."""
        whose = self._whose(conversation, request)
        # A summary is asked for behind the conversation itself.
        self._take_results(None if whose == COMPACTION else whose, request.results)
        return Conversing(subagent=whose, step=self.step, size_chars=size_chars)

    def _whose(self, conversation: str, request: ModelRequest) -> str | None:
        # With the tools or without: Claude Code offers all of them there, and forbids their use.
        if request.last.startswith(self.agent.compacts_by):
            return COMPACTION
        if not request.tools:
            return HELPER
        # The first that is offered tools is the agent itself.
        self._own = self._own or conversation
        if conversation == self._own:
            return None
        number = len(self._subagents) + 1
        return self._subagents.setdefault(conversation, f"subagent {number}")

    def answered(
        self, asked: Conversing, reply: ReadReply, *, backoff_sec: float, retries: int
    ) -> None:
        """Record a reply as far as it came; of one that broke off, no call is made."""
        turn = replace(reply.turn, backoff_sec=backoff_sec, retries=retries)
        if turn.estimated:
            turn = _estimated(turn, asked.size_chars)
        if not reply.whole:
            turn = replace(turn, calls=())
        number, self._turn = self._turn, self._turn + 1
        self.totals.count_turn(turn, asked.subagent)
        if turn.text and reply.whole:
            self.said.append(turn.text)
        if asked.subagent is None:
            self._record_words(asked, turn, number, whole=reply.whole)
        if asked.subagent == COMPACTION and reply.whole:
            self._note_compaction()
        usage = usage_of(turn, asked.step, number, 0.0)
        # Its seconds are the step's: tools and turns run beside one another in there.
        changes = {"wall_sec": None, "subagent": asked.subagent}
        self.record(usage.model_copy(update=changes))
        self._record_calls(asked, turn, number)

    def _note_compaction(self) -> None:
        self.note("the agent summed its conversation up, and goes on from the summary")
        # It holds the results of before no more: a call numbered as theirs has its own.
        self._given.clear()

    def _record_words(self, asked: Conversing, turn: Turn, number: int, *, whole: bool) -> None:
        if turn.thinking:
            self.record(Thinking(step=asked.step, turn=number, text=turn.thinking))
        # What broke off is asked for again: it would stand in the answer twice.
        if turn.text and whole:
            self.record(Prose(step=asked.step, turn=number, text=turn.text))
        if whole:
            self.last = turn

    def _record_calls(self, asked: Conversing, turn: Turn, number: int) -> None:
        for given in turn.calls:
            call = replace(given, tool=self._as_offered(given.tool))
            theirs = self.server_tools.get(call.tool)
            own = self.agent.recorded(call) if theirs is None else self._named(theirs, call)
            is_servers = theirs is not None
            self._pending[call.id] = _Pending(
                step=asked.step, turn=number, call=call, is_servers=is_servers
            )
            self.record(_call_event(asked.step, number, own, is_servers=is_servers))
        self.totals.actions += len(turn.calls)

    def _as_offered(self, tool: str) -> str:
        """One that the model was not offered, but found by a search, may be spelt otherwise."""
        if tool in self.server_tools:
            return tool
        return next((it for it in self.server_tools if plain(it) == plain(tool)), tool)

    def _named(self, theirs: str, call: Call) -> Call:
        """A call of the server's tool, by the name that is the same for every agent."""
        return replace(call, tool=self.names.get(theirs, theirs))

    # --- results --------------------------------------------------------------------------------

    def _take_results(self, whose: str | None, results: tuple[GivenResult, ...]) -> None:
        held: Counter[str] = Counter()
        for result in results:
            held[result.call_id] += 1
            # A provider may number the calls of each turn from 0: an old result is not a new one's.
            if held[result.call_id] <= self._given[whose, result.call_id]:
                continue
            self._given[whose, result.call_id] += 1
            pending = self._pending.pop(result.call_id, None)
            if pending is not None:
                self.record(self._result(pending, result))

    def _result(self, pending: _Pending, given: GivenResult) -> ToolResult:
        if pending.is_servers:
            return _servers_result(pending, given, self._take_reached(pending.call))
        return ToolResult(
            step=pending.step,
            turn=pending.turn,
            call_id=given.call_id,
            text=given.text,
            is_error=given.is_error or self.agent.failed(given.text),
            size_chars=len(given.text),
            digest=_digest(given.text),
            truncated=False,
            wall_sec=None,
        )

    def _take_reached(self, call: Call) -> ServerCallMade | None:
        tool = self.server_tools[call.tool]
        for exact in (True, False):
            for made in self._reached:
                if made.tool == tool and (made.arguments == call.arguments or not exact):
                    self._reached.remove(made)
                    return made
        return None

    def reached(self, made: ServerCallMade) -> None:
        """A call came to the server."""
        self._reached.append(made)

    def end_step(self) -> None:
        """Record what reached the server, and whose results no request has held."""
        for call_id, pending in list(self._pending.items()):
            made = self._take_reached(pending.call) if pending.is_servers else None
            if made is not None:
                # The cell ended before the model was given it.
                del self._pending[call_id]
                given = GivenResult(call_id=call_id, text=made.text)
                self.record(_servers_result(pending, given, made))
        self._record_unasked()

    def _record_unasked(self) -> None:
        """Of a program that runs code, which calls the server by itself."""
        for made in self._reached:
            number, self._turn = self._turn, self._turn + 1
            call_id = f"unasked {self.totals.actions}"
            call = Call(id=call_id, tool=made.tool, arguments=made.arguments)
            call = self._named(made.tool, call)
            self.record(_call_event(self.step, number, call, is_servers=True))
            pending = _Pending(step=self.step, turn=number, call=call, is_servers=True)
            given = GivenResult(call_id=call_id, text=made.text)
            self.record(_servers_result(pending, given, made))
            self.totals.actions += 1
        if self._reached:
            self.note(f"{len(self._reached)} calls came to the server that no turn asked for")
        self._reached = []


def _call_event(step: int, turn: int, call: Call, *, is_servers: bool) -> ToolCall:
    return ToolCall(
        step=step,
        turn=turn,
        call_id=call.id,
        origin="server" if is_servers else "shell",
        tool=call.tool,
        arguments=call.arguments,
    )


def _servers_result(
    pending: _Pending, given: GivenResult, made: ServerCallMade | None
) -> ToolResult:
    """By what the server said; a call that has not reached it has failed."""
    return ToolResult(
        step=pending.step,
        turn=pending.turn,
        call_id=given.call_id,
        text=given.text,
        is_error=made is None or made.is_error or given.is_error,
        size_chars=made.size_chars if made else len(given.text),
        digest=made.digest if made else _digest(given.text),
        truncated=made is not None and len(given.text) < made.size_chars,
        wall_sec=made.wall_sec if made else 0.0,
        moved_numbers=made.moved_numbers if made else None,
    )


def _estimated(turn: Turn, given_chars: int) -> Turn:
    """By characters, of a provider that counts nothing."""
    written = len(turn.text) + len(turn.thinking) + sum(len(str(it)) for it in turn.calls)
    return replace(
        turn,
        input_tokens=estimated_tokens(given_chars),
        output_tokens=estimated_tokens(written),
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
