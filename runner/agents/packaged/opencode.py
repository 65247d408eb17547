"""OpenCode, over Chat Completions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from runner.agents.packaged.chat_api import ChatApi
from runner.agents.packaged.packaged_agent import (
    NO_KEY,
    PATIENCE_SEC,
    PackagedAgent,
    ProgramCommand,
    StepStart,
    config_name,
    renamed,
)
from runner.agents.packaged.wire_reading import Json, ModelRequest
from runner.protocols import Call

FLAGS = ("--format", "json", "--dangerously-skip-permissions")
SWITCHES = (
    *("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH"),
    *("OPENCODE_DISABLE_DEFAULT_PLUGINS", "OPENCODE_DISABLE_LSP_DOWNLOAD"),
)
NOT_OF_REPOSITORY = ("OPENCODE_DISABLE_PROJECT_CONFIG",)
CONFIG: dict[str, Any] = {
    "autoupdate": False,
    "share": "disabled",
    "snapshot": False,
    "enabled_providers": ["provider"],
    "permission": {"*": "allow", "webfetch": "deny", "websearch": "deny"},
}
ROOM = {"context": 200_000, "output": 32_000}
"""Tokens: a model that it does not know has none, and it would never compact."""
_SEARCHES = {"grep": "Grep", "glob": "Glob"}
_OF_SERVERS = re.compile(r"\n?<mcp_instructions>.*?</mcp_instructions>", re.DOTALL)
_SESSION_HEADERS = ("x-opencode-session-id", "x-session-id")


class OpenCode(PackagedAgent):
    kind = "openai"
    dialect = ChatApi()
    beside_servers = frozenset(
        {"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"}
    )

    compacts_by = "Here is the conversation so far:\n\n<conversation>"

    def command(self, start: StepStart) -> ProgramCommand:
        argv = [start.program, "run", "--model", f"provider/{start.model}", *FLAGS]
        if start.session:
            argv += ["--session", start.session]
        settings = {"OPENCODE_CONFIG_CONTENT": json.dumps(_config(start))}
        switches = SWITCHES if start.reads_repository else SWITCHES + NOT_OF_REPOSITORY
        return ProgramCommand(argv=tuple(argv), env=settings | dict.fromkeys(switches, "1"))

    def session_of(self, event: Json) -> str:
        return str(event.get("sessionID") or "")

    def says(self, event: Json) -> str:
        # What is synthetic, it tells the model: to go on after a summary.
        if event.get("type") != "text" or event["part"].get("synthetic"):
            return ""
        return str(event["part"].get("text") or "")

    def server_tool(self, server: str, tool: str) -> str:
        return f"{server}_{tool}"

    def conversation(self, headers: Mapping[str, str], request: ModelRequest) -> str:  # noqa: ARG002
        return next((headers[name] for name in _SESSION_HEADERS if name in headers), "")

    def is_of_a_server(self, tool: str, servers: Iterable[str]) -> bool:
        return any(tool.startswith(f"{config_name(server)}_") for server in servers)

    def own_system(self, system: str) -> str:
        return _OF_SERVERS.sub("", system)

    def recorded(self, call: Call) -> Call:
        return renamed(call, _SEARCHES, {})


def _config(start: StepStart) -> dict[str, Any]:
    model = {"name": start.model, "tool_call": True, "limit": ROOM}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "provider",
        "options": {"baseURL": f"{start.url}/v1", "apiKey": NO_KEY},
        "models": {start.model: model},
    }
    named = f"provider/{start.model}"
    config = {
        **CONFIG,
        "provider": {"provider": provider},
        "model": named,
        "small_model": named,
    }
    if start.server:
        server = {
            "type": "local",
            "command": list(start.shim),
            "enabled": True,
            "timeout": 1000 * PATIENCE_SEC,
        }
        config["mcp"] = {start.server: server}
    return config
