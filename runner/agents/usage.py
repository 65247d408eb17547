"""What a cell has used so far, against what it may use."""

from __future__ import annotations

from dataclasses import dataclass

from runner.protocols import Turn
from runner.records import Budget, Outcome


@dataclass(kw_only=True)
class UsageTotals:
    """Sums over a cell's turns and tool calls, kept up to date while it runs."""

    tokens: int = 0
    """Uncached input + output."""
    actions: int = 0
    """Tool calls."""
    agent_sec: float = 0.0
    """Model turns and tool calls, API back-off taken out."""
    backoff_sec: float = 0.0

    def add_turn(self, turn: Turn, wall_sec: float) -> None:
        """`wall_sec`: of the whole turn, back-off included."""
        self.tokens += turn.input_tokens + turn.output_tokens
        self.backoff_sec += turn.backoff_sec
        # A provider's rate limit is not the agent's work: charged to it, a busy day looks slow.
        self.agent_sec += max(0.0, wall_sec - turn.backoff_sec)

    def add_calls(self, count: int, wall_sec: float) -> None:
        """`wall_sec`: of all of them, if they ran at the same time."""
        self.agent_sec += wall_sec
        self.actions += count

    def seconds_left(self, budget: Budget) -> float:
        """At least one second, so that a call that is made can still say why it failed."""
        return max(1.0, budget.wall_sec - self.agent_sec)

    def over(self, budget: Budget) -> Outcome | None:
        """How the cell ends now, if it has used up its time, tokens or actions."""
        if self.agent_sec >= budget.wall_sec:
            reason = f"{self.agent_sec:.0f} s of {budget.wall_sec} s"
            return Outcome(kind="out_of_time", reason=reason)
        if self.tokens >= budget.tokens:
            reason = f"{self.tokens:,} of {budget.tokens:,} tokens"
            return Outcome(kind="out_of_tokens", reason=reason)
        if self.actions >= budget.actions:
            reason = f"{self.actions} of {budget.actions} tool calls"
            return Outcome(kind="out_of_actions", reason=reason)
        return None
