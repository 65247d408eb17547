"""Which agent asks a model, where the user does not say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runner.agents import AGENTS, agent_told
from runner.agents.models import MODELS, kind_and_argument, kind_name
from runner.agents.packaged import PACKAGED
from runner.agents.packaged.program import require_fitting
from runner.support.errors import FairtrialError


def chosen_agent(asked: str, models: Sequence[str]) -> str:
    """A name in AGENTS or PACKAGED. Raises FairtrialError if there is none, or it asks no such
    model."""
    name = asked or agent_for(models)
    if name not in {*AGENTS, *PACKAGED}:
        known = ", ".join([*AGENTS, *PACKAGED])
        raise FairtrialError(f"there is no agent {name!r}", hint=f"this version has {known}")
    if name in PACKAGED:
        require_fitting(name, {model: kind_name(model) for model in models})
    return name


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
