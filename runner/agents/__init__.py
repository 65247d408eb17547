"""The door of the agents' room: an agent is a name, and what makes one for a cell."""

from __future__ import annotations

from typing import Any

from runner.agents import json_actions, react
from runner.agents.prompt import SYSTEM
from runner.agents.tool_calling import Conversation
from runner.protocols import Agent, AgentFactory, Model
from runner.records import DEFAULT_AGENT

FORMS = {"react": react.FORM, "json_actions": json_actions.FORM}
"""What an agent is told besides, where its replies have a form of their own."""


def system_prompt(agent: str) -> str:
    return SYSTEM + FORMS.get(agent, "")


def _react(*, model: Model, **cell: Any) -> Agent:
    return Conversation(model=react.React(model), **_in_form("react"), **cell)


def _json_actions(*, model: Model, **cell: Any) -> Agent:
    return Conversation(model=json_actions.JsonActions(model), **_in_form("json_actions"), **cell)


TURNS_PER_STEP = 30
"""Of an agent that is told to answer; malformed turns count too."""


def _in_form(agent: str) -> dict[str, Any]:
    return {"system": system_prompt(agent), "turns_per_step": TURNS_PER_STEP}


AGENTS: dict[str, AgentFactory] = {
    DEFAULT_AGENT: Conversation,
    "react": _react,
    "json_actions": _json_actions,
}
