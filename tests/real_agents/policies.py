"""What scripted models do in a cell of the small checkout: look, by each tool, and answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tests.real_agents.scripted_provider import Asked, Policy, Reply, ToolUse, Usage

ANSWER = (
    "`App.dispatch_all` (`app.py:2`) calls `finish_up`, defined at `app.py:5`, "
    "which returns the code."
)
SHELLS = {
    "exec_command": "cmd",
    "bash": "command",
    "Bash": "command",
}
"""An agent's own shell -> the key of its command."""


def shell_call(asked: Asked, command: str) -> ToolUse:
    """A call of the agent's own shell."""
    name = next(name for _, name in asked.tools if name in SHELLS)
    arguments = {SHELLS[name]: command}
    if name == "bash":
        arguments["description"] = "looks"
    return ToolUse(name=name, arguments=arguments)


def server_tools(asked: Asked, server: str = "good") -> dict[str, ToolUse]:
    """The server's tools that are offered: by their own names, a call each."""
    found = {}
    for namespace, name in asked.tools:
        # Each agent spells a server's name in its own way.
        whole = (f"{namespace}__{name}" if namespace else name).replace("-", "_")
        _, prefix, own = whole.partition(f"{server}_")
        if prefix:
            found[own.lstrip("_")] = ToolUse(namespace=namespace, name=name, arguments={})
    return found


def looking(
    command: str = "rg -n finish_up; cat app.py",
    *,
    server: str = "good",
    tool: str = "echo",
    arguments: Mapping[str, Any] = MappingProxyType({"text": "hello"}),
) -> Policy:
    """Calls the server if there is one, and the shell; then answers."""

    def policy(asked: Asked) -> Reply:
        if not asked.tools:
            return Reply(text="A title", usage=Usage(input_tokens=7, output_tokens=3))
        if asked.results:
            usage = Usage(input_tokens=1500, cached_tokens=1000, output_tokens=40)
            return Reply(text=ANSWER, usage=usage)
        calls = [shell_call(asked, command)]
        if (offered := server_tools(asked, server).get(tool)) is not None:
            calls.insert(0, replace(offered, arguments=dict(arguments)))
        usage = Usage(input_tokens=1000, output_tokens=30)
        return Reply(text="I look.", thinking="Where?", calls=tuple(calls), usage=usage)

    return policy


def failing_first(faults: Sequence[Reply], then: Policy) -> Policy:
    """The agent's own first requests fail, one after the other."""
    left = list(faults)
    return lambda asked: left.pop(0) if left and asked.tools else then(asked)
