"""Efficiency: what the answer cost against what the scenario allows (DESIGN.md, Scores)."""

from __future__ import annotations

from runner.records import Budget, Effort, Score, Scored


def efficiency(effort: Effort, budget: Budget) -> Score:
    """completeness · (½·max(0, 1 − tokens/ceiling) + ½·max(0, 1 − seconds/ceiling)).

    Completeness is answered steps / steps: without it an empty, quick answer would be the most efficient of all.
    """
    completeness = effort.steps_completed / effort.steps if effort.steps else 0.0
    tokens = effort.input_tokens + effort.output_tokens
    saved_tokens = max(0.0, 1 - tokens / budget.tokens)
    saved_sec = max(0.0, 1 - effort.agent_sec / budget.wall_sec)
    detail = (
        f"{effort.steps_completed} of {effort.steps} steps, {tokens:,} of {budget.tokens:,} tokens"
        f"{' (estimated)' if effort.tokens_estimated else ''}, {effort.agent_sec:.0f} of {budget.wall_sec} s"
    )
    return Scored(value=completeness * (saved_tokens + saved_sec) / 2, detail=detail)
