"""Which agent asks a model, where the user does not say."""

from __future__ import annotations

from collections.abc import Iterable

from runner.agents import agent_told
from runner.agents.models import MODELS, kind_and_argument
from runner.support.errors import FairtrialError


def agent_for(models: Iterable[str]) -> str:
    """How the models are asked where the user does not say: a name in AGENTS.

    Raises FairtrialError if they differ in it: a run has one agent.
    """
    agents = sorted({_own_agent(model) for model in models})
    if len(agents) > 1:
        hint = f"choose one for all with --agent, or run them apart: {', '.join(agents)}"
        raise FairtrialError("these models are asked in different ways", hint=hint)
    return agents[0]


def _own_agent(model: str) -> str:
    name, argument = kind_and_argument(model)
    kind = MODELS[name]
    if kind.recorded_system is None:
        return kind.agent
    # Another one would be told other things than were recorded.
    return agent_told(kind.recorded_system(argument))
