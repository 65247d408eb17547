"""What a cell has used so far, against what it may use."""

from __future__ import annotations

from dataclasses import dataclass, field

from runner.agents.spending import Account
from runner.protocols import Turn
from runner.records import Budget, NewTokens, Outcome, Price, TokenBreakdown, Usage


@dataclass(kw_only=True)
class UsageTotals:
    """Sums over a cell's turns and tool calls, kept up to date while it runs."""

    new_tokens: NewTokens = field(default_factory=NewTokens)
    actions: int = 0
    """Tool calls."""
    agent_sec: float = 0.0
    """Model turns and tool calls, API back-off taken out."""
    backoff_sec: float = 0.0
    usd: float = 0.0
    """0 without a price."""
    price: Price | None = None
    limit_usd: float | None = None
    """Of the cell."""
    account: Account = field(default_factory=Account)
    """The run's."""

    def add_turn(self, turn: Turn, wall_sec: float) -> None:
        """`wall_sec`: of the whole turn, back-off included."""
        self.count_turn(turn)
        self.backoff_sec += turn.backoff_sec
        # A provider's rate limit is not the agent's work: charged to it, a busy day looks slow.
        self.agent_sec += max(0.0, wall_sec - turn.backoff_sec)

    def count_turn(self, turn: Turn, subagent: str | None = None) -> None:
        """Its tokens and dollars, where its seconds are counted elsewhere."""
        turn_usd = 0.0 if self.price is None else self.price.cost_usd(turn)
        self.usd += turn_usd
        self.account.add(self.new_tokens.add(turn, subagent), turn_usd)

    def add_calls(self, count: int, wall_sec: float) -> None:
        """`wall_sec`: of all of them, if they ran at the same time."""
        self.agent_sec += wall_sec
        self.actions += count

    def seconds_left(self, budget: Budget) -> float:
        """At least one second, so that a call that is made can still say why it failed."""
        return max(1.0, budget.wall_sec - self.agent_sec)

    def over(self, budget: Budget) -> Outcome | None:
        """How the cell ends now, if it has used up its time, tokens, actions or dollars.

        Raises SpendingCap if the run has used up its own.
        """
        self.account.require_left()
        if self.agent_sec >= budget.wall_sec:
            reason = f"{self.agent_sec:.0f} s of {budget.wall_sec} s"
            return Outcome(kind="out_of_time", reason=reason)
        if self.new_tokens.total >= budget.tokens:
            reason = f"{self.new_tokens.total:,} of {budget.tokens:,} new tokens"
            return Outcome(kind="out_of_tokens", reason=reason)
        if self.actions >= budget.actions:
            reason = f"{self.actions} of {budget.actions} tool calls"
            return Outcome(kind="out_of_actions", reason=reason)
        if self.limit_usd is not None and self.usd >= self.limit_usd:
            reason = f"${self.usd:.2f} of ${self.limit_usd:.2f}"
            return Outcome(kind="out_of_budget", reason=reason)
        return None


def usage_of(
    turn: Turn, step: int, number: int, wall_sec: float, phases: TokenBreakdown | None = None
) -> Usage:
    """What a turn took, for the record. `number`: the turn's within its step."""
    return Usage(
        step=step,
        turn=number,
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        cache_read_tokens=turn.cache_read_tokens,
        cache_write_tokens=turn.cache_write_tokens,
        dropped_tokens=turn.dropped_tokens,
        wall_sec=wall_sec,
        backoff_sec=turn.backoff_sec,
        queued_sec=turn.queued_sec,
        retries=turn.retries,
        served_by=turn.served_by,
        estimated=turn.estimated,
        phases=phases,
    )
