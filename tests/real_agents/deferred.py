"""What scripted models of OpenAI's do whose tools Codex does not offer at once."""

from __future__ import annotations

from tests.real_agents.policies import ANSWER, shell_call
from tests.real_agents.scripted_provider import Asked, Reply, ToolUse

DECLARED = "- mcp__good"
"""How a request says that a server's tools are there to be found."""


def searching(asked: Asked) -> Reply:
    """gpt-5.5: a search for tools, then a call of one that was found."""
    if DECLARED not in asked.text:
        return Reply(text=ANSWER) if asked.results else Reply(calls=(shell_call(asked, "ls"),))
    if asked.results == 0:
        wanted = {"execution": "client", "arguments": {"query": "echo", "limit": 3}}
        return Reply(calls=(ToolUse(kind="tool_search_call", name="", arguments=wanted),))
    if asked.results == 1:
        return Reply(calls=(ToolUse(namespace="mcp__good", name="echo", arguments=HELLO),))
    return Reply(text=ANSWER)


HELLO = {"text": "hello"}
CALLS = 'text(JSON.stringify(await tools.mcp__good__echo({text: "hello"})))'
LOOKS = 'text(JSON.stringify(await tools.exec_command({cmd: "ls"})))'


def coding(asked: Asked) -> Reply:
    """gpt-6: all calls are made by code that it writes."""
    if asked.results:
        return Reply(text=ANSWER)
    code = CALLS if DECLARED in asked.text else LOOKS
    given = {"input": code, "namespace": "functions"}
    return Reply(calls=(ToolUse(kind="custom_tool_call", name="exec", arguments=given),))
