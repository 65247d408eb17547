"""New tokens: what a conversation holds that it did not hold before, each token counted once.

A provider is sent the whole conversation with every turn, and its caches decide how much of that is
billed as input. Counted as billed, the same twelve turns are 64,800, 194,800 or 394,800 tokens.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from runner.records.cells import TokenCounts
from runner.records.transcript import COMPACTION, Usage


class TurnTokens(TokenCounts, Protocol):
    """What a turn says of its tokens: the turn itself, or its usage."""

    @property
    def dropped_tokens(self) -> int | None: ...


class NewTokens:
    """The new tokens of one cell's conversation, turn by turn.

    A turn was given input_tokens + cache_read_tokens (cache writes are part of the input). New are
    what it was given beyond what the turn before was given and wrote, never less than 0, and all
    that it wrote, thinking included. The first turn is beyond nothing: prompts and tools' schemas
    count there, once. Steps go on with one conversation; a subagent has one of its own.

    - Thinking that the next request does not hold (`dropped_tokens`) would hide as many tokens of
      new results, and is not taken as given again.
    - A conversation that shrinks counts nothing for it, and goes on from there. Claude's thinking
      of a finished step is dropped with the next prompt, which hides that prompt's tokens at most.
    - A request for a summary of a conversation (COMPACTION) holds that conversation once more. New
      is what it was given beyond the longest conversation, and the summary.
    - A turn whose provider counts no input (0) counts what it wrote.

    The total is never below what was written, nor below the longest context with what was written
    behind it, whatever a provider calls cached. One that reports less input than it was given
    cannot be told from a shorter conversation: it is believed.
    """

    def __init__(self) -> None:
        self.total = 0
        self._held: dict[str | None, int] = {}
        """Of the agent (None) and each subagent: what its next turn is given again."""

    @classmethod
    def of(cls, turns: Iterable[Usage]) -> int:
        """Of one cell's whole conversation, its turns in their order."""
        counted = cls()
        for turn in turns:
            counted.add(turn, turn.subagent)
        return counted.total

    def add(self, turn: TurnTokens, subagent: str | None = None) -> int:
        """The turn's own. `subagent`: whose it is, if not the agent's."""
        if subagent == COMPACTION:
            held = max(self._held.values(), default=0)
        else:
            held = self._held.get(subagent, 0)
        given = turn.input_tokens + turn.cache_read_tokens or held
        new = max(0, given - held) + turn.output_tokens
        if subagent != COMPACTION:
            self._held[subagent] = given + turn.output_tokens - (turn.dropped_tokens or 0)
        self.total += new
        return new
