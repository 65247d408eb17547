"""The provider of a campaign: a model that looks things up slowly and a judge, over real HTTP."""

from __future__ import annotations

import json
import random
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.judges.reader import anthropic_stream
from tests.models.doubles import answered_by

MODEL = "claude-sonnet-4-6"
TURN_SEC = (0.2, 0.8)
"""Of a reply, from its first word to its last."""
LOOKUPS = 5
"""Calls before the answer: while they are made, a container and a server can be harmed."""
ANSWER = "`App.dispatch_all` (`app.py:2`) calls `finish_up`, defined at `app.py:5`."


class Provider:
    """What it answers follows from the request alone; how long it takes does not."""

    def __init__(self, seed: int) -> None:
        self.url = ""
        self._open: set[socket.socket] = set()
        self._dice = random.Random(seed)

    def cut(self) -> int:
        """Reset every connection on which a reply is under way; how many there were."""
        found = list(self._open)
        for connection in found:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        return len(found)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        self._open.add(handler.connection)
        # A connection that was cut is no fault of this side.
        with suppress(OSError):
            handler.send_response(200)
            handler.send_header("content-type", "text/event-stream")
            handler.send_header("connection", "close")
            handler.end_headers()
            events = list(_reply(body))
            for event in events:
                time.sleep(self._dice.uniform(*TURN_SEC) / len(events))
                handler.wfile.write(event)
                handler.wfile.flush()
        self._open.discard(handler.connection)


def _reply(body: dict[str, Any]) -> Iterator[bytes]:
    if body.get("tool_choice", {}).get("type") == "tool":
        return anthropic_stream(_reading(body["messages"][-1]["content"][0]["text"]))
    made = sum(message["role"] == "assistant" for message in body["messages"])
    if made >= LOOKUPS:
        return anthropic_stream(ANSWER)
    theirs = [tool["name"] for tool in body["tools"] if tool["name"].endswith("__echo")]
    if theirs and made % 2:
        return anthropic_stream({"text": "here"}, tool=theirs[0])
    return anthropic_stream({"command": f"sed -n {made + 1}p app.py"}, tool="shell")


def _reading(text: str) -> dict[str, Any]:
    """Every fact is stated."""
    facts = re.findall(r'"id": "(\w+)"', text)
    quote = {"quote": "calls `finish_up`", "verdict": "stated"}
    return {"facts": dict.fromkeys(facts, quote), "false_claims": []}


@contextmanager
def provider(seed: int) -> Iterator[Provider]:
    answering = Provider(seed)

    with answered_by(answering.answer) as url:
        answering.url = url
        yield answering
