"""The door of the agents' room: an agent is a name, and what makes one for a cell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from runner.agents import json_actions, react
from runner.agents.prompt import SYSTEM, limits_told
from runner.agents.text_tool_calls import RecordedModel
from runner.agents.tool_calling import Conversation
from runner.agents.tools import Toolbox
from runner.agents.usage import UsageTotals
from runner.protocols import Agent, Model
from runner.records import DEFAULT_AGENT, Event, Limits, Scenario


class AgentFactory(Protocol):
    """What `AGENTS` holds. An agent knows a model and a toolbox, and no arm."""

    def __call__(  # noqa: PLR0913 - all that a conversation needs, each by its name
        self,
        *,
        model: Model,
        scenario: Scenario,
        toolbox: Toolbox,
        record: Callable[[Event], None],
        totals: UsageTotals,
        system: str,
        instructions: str,
    ) -> Agent:
        """`record` gets every event as it happens; `totals` counts along, whatever ends it."""


FORMS = {"react": react.FORM, "json_actions": json_actions.FORM}
"""What an agent is told besides, where its replies have a form of their own."""


def system_prompt(agent: str, limits: Limits, answer_tokens: int) -> str:
    """The same text in every arm. `answer_tokens`: that one turn may write, thinking apart."""
    return SYSTEM + limits_told(limits, answer_tokens) + FORMS.get(agent, "")


def agent_told(system: str) -> str:
    """The agent that was told so; tool_calling for what none of today's is told."""
    # By its form alone: what is told beside it was another text in recordings of earlier versions.
    for agent, form in FORMS.items():
        if system.endswith(form):
            return agent
    return DEFAULT_AGENT


def _written(form: Callable[[Model], Model], *, model: Model, **cell: Any) -> Agent:
    reading = model if isinstance(model, RecordedModel) else form(model)
    return Conversation(model=reading, turns_per_step=TURNS_PER_STEP, **cell)


TURNS_PER_STEP = 30
"""Of an agent that is told to answer; malformed turns count too."""


AGENTS: dict[str, AgentFactory] = {
    DEFAULT_AGENT: Conversation,
    "react": partial(_written, react.React),
    "json_actions": partial(_written, json_actions.JsonActions),
}
