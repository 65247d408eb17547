"""A server that speaks HTTP is spoken to over stdin and stdout."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runner.sandbox import http_bridge
from tests.helpers import PATIENCE_SEC

BRIDGE = Path(http_bridge.__file__)
SDK = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("held")
print("this is no message", flush=True)

@server.tool()
def find_symbol(name: str) -> str:
    return f"app.py:5: def {name}"

server.run(transport="streamable-http", port=PORT, json_response="json" in sys.argv)
"""
PLAIN = """
import http.server, json

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/":
            return self.answer(404, b"")
        if message.get("method") == "tools/call":
            return self.answer(500, b"it broke")
        if "id" not in message:
            return self.answer(202, b"")
        result = {"protocolVersion": "2025-06-18", "session": self.headers["Mcp-Session-Id"]}
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        self.answer(200, json.dumps(reply).encode())

    def do_GET(self):
        self.answer(405, b"")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Mcp-Session-Id", "s1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

http.server.HTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Spoken:
    """The bridge's stdin and stdout."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.say(message)
        return self.hear()


@contextmanager
def bridged(script: str, *words: str, path: str = "") -> Iterator[Spoken]:
    # Found by itself, the port might be one that a test beside this one opens.
    port = str(_free_port())
    command = [sys.executable, "-c", script.replace("PORT", port), *words]
    process = subprocess.Popen(
        [sys.executable, str(BRIDGE), f"{port}{path}", "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Spoken(process)
    finally:
        # What it started ends when its stdin does.
        process.communicate(timeout=PATIENCE_SEC)


def _free_port() -> int:
    import socket

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def call(number: int, tool: str, **arguments: str) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.parametrize("answers", ["events", "json"])
def test_a_server_of_the_sdk_answers_as_over_its_own_transport(answers: str) -> None:
    with bridged(SDK, answers) as spoken:
        assert spoken.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "held"
        spoken.say(INITIALIZED)
        listed = spoken.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["find_symbol"]
        result = spoken.ask(call(3, "find_symbol", name="x"))["result"]
        assert result["content"][0]["text"] == "app.py:5: def x"


def test_a_path_that_has_moved_is_followed() -> None:
    moved = """
        if self.path == "/mcp":
            self.send_response(307)
            self.send_header("Location", "http://127.0.0.1:PORT/mcp/")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if self.path != "/mcp/":
"""
    script = PLAIN.replace('\n        if self.path != "/":\n', moved)
    assert script != PLAIN
    with bridged(script) as spoken:
        assert spoken.ask(INITIALIZE)["result"]["session"] is None
        assert spoken.ask({"jsonrpc": "2.0", "id": 2, "method": "x"})["result"]["session"] == "s1"


def test_the_path_is_found_and_the_session_kept() -> None:
    with bridged(PLAIN) as spoken:
        assert spoken.ask(INITIALIZE)["result"]["session"] is None
        listed = spoken.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert listed["result"]["session"] == "s1"


def test_a_refusal_is_the_call_s_own_error() -> None:
    with bridged(PLAIN) as spoken:
        spoken.ask(INITIALIZE)
        refused = spoken.ask(call(7, "any"))
        assert refused == {
            "jsonrpc": "2.0",
            "id": 7,
            "error": {"code": -32000, "message": "HTTP 500: it broke"},
        }
        # And the session lives on.
        assert "result" in spoken.ask({"jsonrpc": "2.0", "id": 8, "method": "tools/list"})


def test_a_wrong_path_is_said_and_not_searched_for() -> None:
    with bridged(PLAIN, path="/elsewhere") as spoken:
        assert spoken.ask(INITIALIZE)["error"]["message"] == "HTTP 404: "


def test_a_command_that_ends_ends_the_bridge() -> None:
    done = subprocess.run(
        [sys.executable, str(BRIDGE), "--", sys.executable, "-c", "raise SystemExit('no key')"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SEC,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "no key" in done.stderr
    assert "it does not listen on any port" in done.stderr
