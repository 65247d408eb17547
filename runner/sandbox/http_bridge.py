"""Lets a server that speaks streamable HTTP be spoken to over stdin and stdout, inside its cell.

Runs there as `python3 http_bridge.py [PORT[/PATH]] -- [COMMAND…]`, on the standard library alone:
starts the command, if there is one, waits until something listens on loopback, posts each line from
stdin, and writes what is answered, a line a message. Without a port, the first that is opened is
taken; without a path, `/mcp` and then `/`. What the command prints goes to stderr. Source: the MCP
specification of 2025-06-18, "Streamable HTTP".
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

LISTEN_SEC = 60.0
POLL_SEC = 0.1
REQUEST_SEC = 3600
"""The caller has a deadline of its own for each call; this one only ends a thread."""
PATHS = ("/mcp", "/", "/mcp/")
_LISTENING = "0A"
_NOT_HERE = (404, 405)
_MOVED = (307, 308)
"""The same request, at another path: frameworks answer so where a slash is missing."""


def listening_ports() -> set[int]:
    """TCP ports that anything in this network namespace listens on."""
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if Path(table).exists():
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                _, local, _, state = line.split()[:4]
                if state == _LISTENING:
                    ports.add(int(local.rpartition(":")[2], 16))
    return ports


class Bridge:
    """One session with the server at a port."""

    def __init__(self, port: int, paths: Sequence[str]) -> None:
        self._port = port
        self._paths = list(paths)
        self._headers: dict[str, str] = {}
        self._writing = threading.Lock()

    def take(self, line: bytes) -> None:
        """One message from stdin. A call may take long: the next message does not wait for it."""
        message = json.loads(line)
        if message.get("method") == "initialize" or "id" not in message:
            self._post(message)
        else:
            threading.Thread(target=self._post, args=(message,), daemon=True).start()

    def _post(self, message: dict[str, Any]) -> None:
        try:
            self._exchange(message)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._refuse(message, f"{type(error).__name__}: {error}")

    def _exchange(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        response = self._ask("POST", body)
        if response.status in _MOVED and not self._headers:
            response.read()
            self._paths.insert(0, urlsplit(response.getheader("Location") or "").path or "/")
            response = self._ask("POST", body)
        # Only the first message may look for the path: a later 404 is the session's end.
        while response.status in _NOT_HERE and len(self._paths) > 1 and not self._headers:
            response.read()
            self._paths.pop(0)
            response = self._ask("POST", body)
        if response.status >= 400:
            text = response.read(2000).decode(errors="replace")
            self._refuse(message, f"HTTP {response.status}: {text}")
            return
        session = response.getheader("Mcp-Session-Id")
        if session:
            self._headers["Mcp-Session-Id"] = session
        for answer in _messages(response):
            self._learn(message, answer)
            self._write(answer)

    def _learn(self, message: dict[str, Any], answer: dict[str, Any]) -> None:
        if message.get("method") == "initialize" and "result" in answer:
            version = answer["result"].get("protocolVersion", "")
            self._headers["MCP-Protocol-Version"] = version

    def hear(self) -> None:
        """What the server says unasked, if it has a stream for it."""
        try:
            response = self._ask("GET", None)
            if response.status == 200:
                for message in _messages(response):
                    self._write(message)
        except (OSError, http.client.HTTPException, ValueError):
            return

    def _ask(self, method: str, body: bytes | None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=REQUEST_SEC)
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            **self._headers,
        }
        if method == "GET":
            headers["Accept"] = "text/event-stream"
        connection.request(method, self._paths[0], body, headers)
        return connection.getresponse()

    def _refuse(self, message: dict[str, Any], why: str) -> None:
        if "id" in message and "method" in message:
            error = {"code": -32000, "message": why}
            self._write({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _write(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        with self._writing:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


def _messages(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    kind = (response.getheader("Content-Type") or "").partition(";")[0].strip()
    if kind == "text/event-stream":
        yield from _events(response)
    elif kind == "application/json":
        found = json.loads(response.read())
        yield from found if isinstance(found, list) else [found]


def _events(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    data: list[str] = []
    for raw in response:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            text = "\n".join(data)
            data = []
            if text.strip():
                yield json.loads(text)


def wait_for_port(child: subprocess.Popen[bytes] | None, wanted: int, before: set[int]) -> int:
    """The port that the command listens on; 0 if it ends, or does not listen in time."""
    give_up = time.monotonic() + LISTEN_SEC
    while time.monotonic() < give_up and (child is None or child.poll() is None):
        opened = listening_ports() - before
        if wanted in opened or (not wanted and opened):
            return wanted or min(opened)
        time.sleep(POLL_SEC)
    return 0


def started(command: Sequence[str]) -> subprocess.Popen[bytes] | None:
    """None without a command: the server runs elsewhere on this network."""
    if not command:
        return None
    # Its own stdout would be read as messages.
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)  # noqa: S603


def main(arguments: Sequence[str]) -> int:
    split = list(arguments).index("--")
    where, command = "".join(arguments[:split]), arguments[split + 1 :]
    port, _, path = where.partition("/")
    # A server that somebody else has started may listen already.
    before = listening_ports() if command else set()
    child = started(command)
    found = wait_for_port(child, int(port or 0), before)
    if not found:
        print("it does not listen on any port", file=sys.stderr)  # noqa: T201 - to its own log
        if child is not None:
            child.kill()
        return 1
    bridge = Bridge(found, [f"/{path}"] if path else PATHS)
    heard = False
    for line in sys.stdin.buffer:
        if line.strip():
            bridge.take(line)
        if not heard and b'"notifications/initialized"' in line:
            heard = True
            threading.Thread(target=bridge.hear, daemon=True).start()
    if child is not None:
        child.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
