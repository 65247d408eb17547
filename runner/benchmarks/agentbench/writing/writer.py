"""One question to a model, read by code: asked once more if the reply cannot be used."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from typing import TypeVar

from runner.agents.spending import JudgeBudget
from runner.agents.usage import usage_of
from runner.protocols import Model, UserMessage
from runner.scoring.judges.form import BrokenReply

T = TypeVar("T")
ATTEMPTS = 2
TIMEOUT_SEC = 600.0


def prompt(name: str) -> str:
    """As it is shipped."""
    folder = resources.files("runner.benchmarks.agentbench.writing")
    return folder.joinpath(f"{name}_prompt.md").read_text("utf-8")


class NoUsableReply(Exception):  # noqa: N818 - it is a result, and is written down
    """Every reply was broken: what was wrong with the last, and what it said."""

    def __init__(self, problem: str, reply: str) -> None:
        super().__init__(problem)
        self.problem, self.reply = problem, reply


@dataclass(kw_only=True)
class Writer:
    """A model that writes texts, and what that may cost."""

    model: Model
    purse: JudgeBudget = field(default_factory=JudgeBudget)

    async def write(self, system: str, text: str, read: Callable[[str], T]) -> T:
        """What `read` makes of the reply; it raises BrokenReply for one that is of no use.

        Raises NoUsableReply, ProviderError or SpendingCap.
        """
        problem = reply = ""
        for attempt in range(ATTEMPTS):
            asked = text
            if problem:
                asked += f"\n\nYour last reply could not be used: {problem}. Reply again, in full."
            self.purse.require()
            try:
                reply = await self._turn(system, asked, attempt)
                return read(reply)
            except BrokenReply as broken:
                problem = str(broken)
        raise NoUsableReply(problem, reply)

    async def _turn(self, system: str, text: str, number: int) -> str:
        started = time.monotonic()
        try:
            turn = await self.model.turn(
                system, [UserMessage(text=text)], (), timeout_sec=TIMEOUT_SEC
            )
        except TimeoutError as error:
            raise BrokenReply(f"nothing came in {TIMEOUT_SEC:.0f} s") from error
        self.purse.add(self.model.name, usage_of(turn, 0, number, time.monotonic() - started))
        if turn.stop not in ("end", "max_tokens"):
            raise BrokenReply(f"it ended with {turn.stop!r}")
        if turn.stop == "max_tokens":
            raise BrokenReply("it was cut off by the limit of output tokens")
        return turn.text
