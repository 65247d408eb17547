"""The door of the agents that people use: a name, and what it brings to a cell.

Each has a folder in images/agents, which pins its package. It runs in the cell as the agent's user,
without network and without a key; bridge.py carries its requests to the provider.
"""

from __future__ import annotations

from runner.agents.packaged.claude_code_agent import ClaudeCode
from runner.agents.packaged.codex import Codex
from runner.agents.packaged.opencode import OpenCode
from runner.agents.packaged.packaged_agent import PackagedAgent

PACKAGED: dict[str, PackagedAgent] = {
    "claude-code": ClaudeCode(),
    "codex": Codex(),
    "opencode": OpenCode(),
}
