"""Codex CLI, over the Responses API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from runner.agents.packaged.packaged_agent import (
    NO_KEY,
    PATIENCE_SEC,
    PackagedAgent,
    ProgramCommand,
    StepStart,
    plain,
    renamed,
)
from runner.agents.packaged.responses_api import ResponsesApi
from runner.agents.packaged.wire_reading import Json, ModelRequest
from runner.protocols import Call

FLAGS = (
    *("--json", "--skip-git-repo-check", "--ignore-user-config", "--ignore-rules"),
    # The cell is the sandbox, and there is nobody to ask.
    "--dangerously-bypass-approvals-and-sandbox",
)
SETTINGS: dict[str, Any] = {
    "model_provider": "provider",
    "web_search": "disabled",
    "analytics.enabled": False,
    "check_for_update_on_startup": False,
    # They are fetched when it starts.
    "features.plugins": False,
    "features.apps": False,
    # The bridge reads what is asked.
    "features.enable_request_compression": False,
}
HOME = "/home/agent/.codex"
NOT_OF_REPOSITORY = {"project_doc_max_bytes": 0}
"""Of its AGENTS.md, all that is told."""
_EXIT_CODE = re.compile(r"^Process exited with code (-?\d+)$", re.MULTILINE)
_COMMAND = {"cmd": "command"}
_DEFERRED = re.compile(r"\n?<tools>\nDeferred tool namespaces:\n(.*?)\n</tools>", re.DOTALL)
"""Where a model that Codex knows gets tools by `tool_search` alone: a line for each namespace, and
behind a server's what the server says of itself."""
_SERVER = re.compile(r"^- mcp__([\w-]+)(?::|$)", re.MULTILINE)


class Codex(PackagedAgent):
    kind = "openai"
    dialect = ResponsesApi()
    beside_servers = frozenset(
        {"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"}
    )

    compacts_by = "You are performing a CONTEXT CHECKPOINT COMPACTION."

    def command(self, start: StepStart) -> ProgramCommand:
        verb = ("exec", "resume") if start.session else ("exec",)
        argv = [start.program, *verb, *FLAGS, "--model", start.model]
        for setting in _settings(start):
            argv += ["--config", setting]
        if start.session:
            argv.append(start.session)
        # The prompt is what stdin says.
        argv.append("-")
        env = {"CODEX_HOME": HOME, "PROVIDER_KEY": NO_KEY}
        return ProgramCommand(argv=tuple(argv), env=env, folders=(HOME,))

    def session_of(self, event: Json) -> str:
        return str(event.get("thread_id") or "") if event.get("type") == "thread.started" else ""

    def says(self, event: Json) -> str:
        item = event.get("item") or {}
        return str(item.get("text") or "") if item.get("type") == "agent_message" else ""

    def server_tool(self, server: str, tool: str) -> str:
        return f"mcp__{server}__{tool}"

    def conversation(self, headers: Mapping[str, str], request: ModelRequest) -> str:  # noqa: ARG002
        return headers.get("thread-id", "")

    def deferred_servers(self, system: str) -> frozenset[str]:
        declared = "\n".join(_DEFERRED.findall(system))
        return frozenset(plain(server) for server in _SERVER.findall(declared))

    def own_system(self, system: str) -> str:
        return _DEFERRED.sub("", system)

    def recorded(self, call: Call) -> Call:
        return renamed(call, {}, _COMMAND)

    def failed(self, text: str) -> bool:
        found = _EXIT_CODE.search(text)
        return found is not None and found[1] != "0"


def _settings(start: StepStart) -> Iterator[str]:
    settings = SETTINGS if start.reads_repository else SETTINGS | NOT_OF_REPOSITORY
    for name, value in settings.items():
        yield f"{name}={json.dumps(value)}"
    provider = {
        "name": "provider",
        "base_url": f"{start.url}/v1",
        "env_key": "PROVIDER_KEY",
        "wire_api": "responses",
    }
    yield f"model_providers.provider={_table(provider)}"
    if start.server:
        server = {
            "command": start.shim[0],
            "args": list(start.shim[1:]),
            # Without it, a server that does not start is left out, and nobody is told.
            "required": True,
            "startup_timeout_sec": PATIENCE_SEC,
            "tool_timeout_sec": PATIENCE_SEC,
            # Without it, its calls are cancelled.
            "default_tools_approval_mode": "approve",
        }
        yield f"mcp_servers.{start.server}={_table(server)}"


def _table(values: Mapping[str, Any]) -> str:
    """TOML, inline. JSON's texts, numbers and lists are TOML's, too."""
    return "{" + ", ".join(f"{name}={json.dumps(value)}" for name, value in values.items()) + "}"
