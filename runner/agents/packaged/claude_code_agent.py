"""Claude Code, over the Messages API."""

from __future__ import annotations

import json
from collections.abc import Mapping

from runner.agents.packaged.messages_api import MessagesApi
from runner.agents.packaged.packaged_agent import (
    NO_KEY,
    PATIENCE_SEC,
    PackagedAgent,
    ProgramCommand,
    StepStart,
)
from runner.agents.packaged.wire_reading import Json, ModelRequest
from runner.records import digest_of

FLAGS = (
    *("--print", "--output-format", "stream-json", "--verbose"),
    # No server but ours.
    "--strict-mcp-config",
    *("--disallowedTools", "WebSearch,WebFetch", "--permission-mode", "bypassPermissions"),
)
TIERS = ("OPUS", "SONNET", "HAIKU")
OFF = (
    *("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"),
    *("DISABLE_ERROR_REPORTING", "CLAUDE_CODE_DISABLE_AUTO_MEMORY", "IS_SANDBOX"),
)
WAITS = ("MCP_TIMEOUT", "MCP_CONNECT_TIMEOUT_MS", "MCP_TOOL_TIMEOUT")
FIRST_CHARS = 1000


class ClaudeCode(PackagedAgent):
    kind = "anthropic"
    dialect = MessagesApi()
    beside_servers = frozenset(
        {"ListMcpResourcesTool", "ReadMcpResourceTool", "ReadMcpResourceDirTool"}
    )

    compacts_by = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."

    def command(self, start: StepStart) -> ProgramCommand:
        # No settings of a user; with those of a project, its CLAUDE.md is read.
        sources = "project" if start.reads_repository else ""
        argv = [start.program, *FLAGS, "--setting-sources", sources, "--model", start.model]
        servers = {}
        if start.server:
            servers[start.server] = {
                "type": "stdio",
                "command": start.shim[0],
                "args": list(start.shim[1:]),
            }
        argv += ["--mcp-config", json.dumps({"mcpServers": servers})]
        if start.session:
            argv += ["--resume", start.session]
        return ProgramCommand(argv=tuple(argv), env=_environment(start))

    def session_of(self, event: Json) -> str:
        return str(event.get("session_id") or "")

    def says(self, event: Json) -> str:
        return str(event.get("result") or "") if event.get("type") == "result" else ""

    def server_tool(self, server: str, tool: str) -> str:
        return f"mcp__{server}__{tool}"

    def conversation(self, headers: Mapping[str, str], request: ModelRequest) -> str:  # noqa: ARG002
        # Subagents share its session, and are told other things from the first word on.
        return digest_of(request.system[:FIRST_CHARS])


def _environment(start: StepStart) -> dict[str, str]:
    models = {f"ANTHROPIC_DEFAULT_{tier}_MODEL": start.model for tier in TIERS}
    return {
        **models,
        **dict.fromkeys(OFF, "1"),
        **dict.fromkeys(WAITS, str(1000 * PATIENCE_SEC)),
        # Without them its server connects beside the first turn, which then has no tools of it.
        "MCP_CONNECTION_NONBLOCKING": "false",
        "CLAUDE_CODE_MCP_STARTUP_WAIT_MS": str(1000 * PATIENCE_SEC),
        "ENABLE_TOOL_SEARCH": "false",
        "CLAUDE_CODE_SUBAGENT_MODEL": start.model,
        "ANTHROPIC_BASE_URL": start.url,
        "ANTHROPIC_API_KEY": NO_KEY,
        "CLAUDE_CONFIG_DIR": "/home/agent/.claude",
    }
