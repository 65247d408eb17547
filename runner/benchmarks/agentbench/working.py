"""One query's conversation: the router's tools, thirty actions, and then an answer.

Source: seed 003, section 3.1 and appendix C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from runner.agents.react import React
from runner.agents.text_tool_calls import RecordedModel
from runner.agents.tool_calling import Conversation
from runner.agents.tools import ToolOutcome, shown_outcome
from runner.benchmarks.agentbench.queries import Query
from runner.benchmarks.agentbench.query_prompts import INSTRUCTIONS_CHARS, QueryMode, prompt_of
from runner.benchmarks.agentbench.testbed.router import Listing, Router
from runner.benchmarks.without_scorecard import OneStep, one_step
from runner.protocols import Call, Model, ToolSpec, Turn
from runner.records import Budget, Outcome
from runner.support.text import cut

if TYPE_CHECKING:
    from runner.benchmarks.agentbench.writing.drafts import QueryDraft

ACTIONS = 30
"""Calls, and replies without one."""
BUDGET = Budget(tokens=5_000_000, wall_sec=3600, actions=ACTIONS)
"""The paper limits actions alone; the rest is far beyond what thirty of them take."""
SPENT = f"no call was made: {ACTIONS} actions are the limit. Reply with your final answer"


def request_of(query: Query | QueryDraft) -> OneStep:
    return one_step(query.id, prompt_of(query.query), BUDGET)


class RoutedTools:
    """agents.tools.Tools: a router's, and no shell."""

    def __init__(self, router: Router, result_chars: int) -> None:
        self.specs: Sequence[ToolSpec] = [tool.spec for tool in router.tools]
        self._router = router
        self._result_chars = result_chars
        self._known = {tool.name: tool.spec for tool in router.tools}
        self._left = ACTIONS

    def origin(self, tool: str) -> Literal["shell", "server"]:  # noqa: ARG002 - there is no shell
        return "server"

    def is_read_only(self, tool: str) -> bool:
        return tool in self._known and self._known[tool].read_only

    async def call(self, call: Call, timeout_sec: float) -> ToolOutcome:
        """Raises ServerError if a server of the query's is gone, SandboxError if the cell is."""
        if call.problem:
            return self._refusal(call.problem)
        if call.tool not in self._known:
            return self._refusal(f"there is no tool {call.tool!r}")
        if self._left == 0:
            # One reply may ask for any number of calls side by side.
            return self._refusal(SPENT)
        self._left -= 1
        result = await self._router.call(call.tool, call.arguments, timeout_sec=timeout_sec)
        return shown_outcome(
            result.text, self._result_chars, is_error=result.is_error, wall_sec=result.wall_sec
        )

    def _refusal(self, text: str) -> ToolOutcome:
        return shown_outcome(text, self._result_chars, is_error=True)


@dataclass(kw_only=True)
class QueryConversation(Conversation):
    """A conversation that is told to answer after as many actions as the paper gives."""

    turns_per_step: int | None = ACTIONS

    def _over(self, exchanges: Sequence[object]) -> Outcome | None:
        over = super()._over(exchanges)
        replies = [message for message in self.messages if isinstance(message, Turn)]
        actions = self.totals.actions + sum(not turn.calls for turn in replies)
        if over is None and actions >= ACTIONS:
            return Outcome(kind="out_of_actions", reason=f"{actions} of {ACTIONS} actions")
        return over


def asked_as(mode: QueryMode, model: Model) -> Model:
    """The model, or around it what reads its tagged text; a recording has been read before."""
    if mode == "tc" or isinstance(model, RecordedModel):
        return model
    return React(model)


def instructions_of(listings: Mapping[str, Listing]) -> str:
    """What the servers say of themselves, each under a heading; empty if none says anything."""
    parts = []
    for server, listing in listings.items():
        if listing.instructions:
            text, _ = cut(listing.instructions, INSTRUCTIONS_CHARS)
            parts.append(f"# Instructions of the MCP server {server}\n\n{text}")
    return "\n\n".join(parts)
