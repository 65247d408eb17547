"""The door of the agents' room: an agent is a name, and what makes one for a cell."""

from __future__ import annotations

from runner.agents.tool_calling import Conversation
from runner.protocols import AgentFactory

AGENTS: dict[str, AgentFactory] = {"tool_calling": Conversation}
