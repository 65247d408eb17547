"""`offline`: a deterministic navigator that needs no key. It checks plumbing, and ranks nobody.

From a step's prompt it takes the names to look for; it looks them up with the tools of its arm,
follows what it finds for several turns, and writes an answer that cites what it saw. A server none
of whose tools finds names is explored: listed, opened, read, a few calls a step. It gets what
every model gets, the prompts and the tools, and so cannot know a gold answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from runner.agents.models.offline.answer import write_answer
from runner.agents.models.offline.lookups import Lookup
from runner.agents.models.offline.picker import programs_turn
from runner.agents.models.offline.prompt_names import names_in, words_in
from runner.agents.models.offline.search import Search
from runner.agents.models.offline.server_side import ServerSide
from runner.agents.models.offline.uses import uses_of
from runner.protocols import Call, Message, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import digest_of
from runner.support.token_estimate import estimated_tokens

VERSION = 16
"""Raise it if the same tools' results would give another answer: cells are told apart by it."""
MOST_NAMES = 5
"""Names of a prompt that are looked up."""


class Offline:
    """protocols.Model. Stateful: one instance serves one cell."""

    name = "offline"
    language_model = False
    identity = digest_of({"model": "offline", "version": VERSION})

    def __init__(self) -> None:
        self._search: Search | None = None
        self._server = ServerSide()
        """Of the arm: what one step learns of it the next one knows."""
        self._made: dict[str, Lookup] = {}
        """Id of a call -> what it looks up."""
        self._ids = 0
        self._given_tokens = 0
        """To the turn before."""

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,  # noqa: ARG002 - it never waits
    ) -> Turn:
        """Looks at the newest message only; its tokens are estimated as characters / 4.

        What the turn before was given is taken as cached.
        """
        newest = conversation[-1]
        if isinstance(newest, UserMessage):
            names = names_in(newest.text)[:MOST_NAMES]
            if self._search is None:
                self._server = ServerSide(uses=uses_of(tools))
            words = words_in(newest.text, names)
            self._search = Search(prompt=newest.text, names=names, words=words, server=self._server)
            self._search.begin()
        search = self._search
        assert search is not None  # noqa: S101 - a conversation starts with a user's message
        if isinstance(newest, ToolMessage):
            search.absorb((self._made[result.call_id], result) for result in newest.results)
        shown_chars = _carried(system, tools) + sum(map(_length, conversation))
        given = estimated_tokens(shown_chars)
        cached = min(given, self._given_tokens)
        self._given_tokens = given
        turn = self._answer_or_call(search) if tools else _without_tools()
        return replace(turn, input_tokens=given - cached, cache_read_tokens=cached)

    def write_artifacts(self, folder: Path) -> None:
        """It keeps nothing of a cell."""

    async def close(self) -> None:
        """It holds nothing open."""

    def _answer_or_call(self, search: Search) -> Turn:
        calls = tuple(map(self._call, search.next_batch()))
        text = ""
        if not calls:
            text = write_answer(search)
        return programs_turn(text, calls, 0, len(text) + sum(map(_call_chars, calls)))

    def _call(self, lookup: Lookup) -> Call:
        self._ids += 1
        call = Call(id=f"call_{self._ids}", tool=lookup.tool, arguments=lookup.arguments)
        self._made[call.id] = lookup
        return call


def _without_tools() -> Turn:
    """It knows nothing by heart."""
    text = "I have no tool to look with, and say nothing that I have not seen."
    return programs_turn(text, (), 0, len(text))


def _call_chars(call: Call) -> int:
    return len(call.tool) + len(json.dumps(call.arguments))


def _carried(system: str, tools: Sequence[ToolSpec]) -> int:
    """Characters of what a provider is sent with every turn: prompt, instructions and schemas."""
    # Left out, a server with large schemas would look cheaper than the shell.
    chars = len(system)
    for tool in tools:
        chars += len(tool.name) + len(tool.description) + len(json.dumps(tool.input_schema))
    return chars


def _length(message: Message) -> int:
    """Characters that a message shows to a model. Its own earlier turns are shown to it too."""
    if isinstance(message, UserMessage):
        return len(message.text)
    if isinstance(message, ToolMessage):
        return sum(len(result.text) for result in message.results)
    return len(message.text) + sum(map(_call_chars, message.calls))
