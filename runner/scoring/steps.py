"""A scenario's steps, as a judge is given them."""

from __future__ import annotations

from collections.abc import Sequence

from runner.records import AnswerStep, MustCite, Scenario


def must_find(scenario: Scenario) -> tuple[tuple[MustCite, ...], ...]:
    """The places that each step asks for."""
    return tuple(step.must_cite for step in scenario.steps)


def answer_steps(scenario: Scenario, texts: Sequence[str]) -> tuple[AnswerStep, ...]:
    """An answer that no agent gave: one text a step, completed unless it is empty."""
    steps = []
    for step, text in zip(scenario.steps, texts, strict=True):
        completed = bool(text.strip())
        steps.append(AnswerStep(name=step.name, prompt=step.prompt, text=text, completed=completed))
    return tuple(steps)
