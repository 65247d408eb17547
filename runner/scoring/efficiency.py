"""Efficiency: what the answer cost against what the scenario allows (docs/scores.md)."""

from __future__ import annotations

from runner.records import Budget, Effort, Score, Scored, Unscored


def efficiency(effort: Effort, budget: Budget) -> Score:
    """completeness · (½·max(0, 1 − new tokens/ceiling) + ½·max(0, 1 − seconds/ceiling)).

    Completeness is answered steps / steps. Seconds are the agent's own.
    """
    if effort.agent_sec is None:
        return Unscored(reason="the transcript does not say how long the agent took")
    tokens = effort.new_tokens
    if tokens is None:
        return Unscored(reason="its new tokens are unknown: it was read by an earlier version")
    saved_tokens = _saved(tokens, budget.tokens)
    saved_sec = _saved(effort.agent_sec, budget.wall_sec)
    return Scored(
        value=_completeness(effort) * (saved_tokens + saved_sec) / 2,
        detail=_detail(effort, budget, tokens, effort.agent_sec),
    )


def _saved(spent: float, ceiling: float) -> float:
    # Past the ceiling nothing is saved: below 0, a slow answer could eat up the tokens it saved.
    return max(0.0, 1 - spent / ceiling)


def _completeness(effort: Effort) -> float:
    # Without this factor, an empty, quick answer would be the most efficient of all.
    if not effort.steps:
        return 0.0
    return effort.steps_completed / effort.steps


def _detail(effort: Effort, budget: Budget, tokens: int, agent_sec: float) -> str:
    estimated = " (estimated)" if effort.tokens_estimated else ""
    return (
        f"{effort.steps_completed} of {effort.steps} steps, "
        f"{tokens:,} of {budget.tokens:,} new tokens{estimated}, "
        f"{agent_sec:.0f} of {budget.wall_sec} s"
    )
