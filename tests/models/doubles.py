"""HTTP servers on this machine that answer what a test wrote down."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address at which the handler answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    # It looks for its end as often as this: half a second, by default, for each test.
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Quiet(BaseHTTPRequestHandler):
    """A request, and how it is answered."""

    def log_message(self, *_: Any) -> None:
        """Nothing: its requests are no part of a test's output."""

    def answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["content-length"])))


@contextmanager
def answered_by(answer: Callable[[Quiet], None]) -> Iterator[str]:
    """The address at which every request is answered so."""

    class Handler(Quiet):
        def do_POST(self) -> None:
            answer(self)

        do_GET = do_HEAD = do_POST  # noqa: N815 - the names that the base class calls

    with serving(Handler) as url:
        yield url


@contextmanager
def web_page(status: int) -> Iterator[str]:
    """A server that is no API at all."""

    def page(request: Quiet) -> None:
        request.body()
        request.answer(status, "text/html", b"<html><h1>Welcome to nginx!</h1></html>")

    with answered_by(page) as url:
        yield url


class Events:
    """Streams that a server sends one after the other, and the requests it got."""

    def __init__(self, *streams: list[Any]) -> None:
        self.streams = list(streams)
        self.requests: list[Any] = []


@contextmanager
def streaming(events: Events) -> Iterator[str]:
    """A server that sends each stream's events as they were written down, and bytes as they are.

    A stream of one event `{"status": 400, …}` is answered as that error.
    """

    def stream_next(request: Quiet) -> None:
        events.requests.append(request.body())
        stream = events.streams.pop(0)
        if isinstance(stream[0], dict) and "status" in stream[0]:
            error = {"type": "error", "error": stream[0]["error"]}
            request.answer(stream[0]["status"], "application/json", json.dumps(error).encode())
        else:
            request.answer(200, "text/event-stream", b"".join(map(_sse, stream)))

    with answered_by(stream_next) as url:
        yield url


def _sse(event: Any) -> bytes:
    if isinstance(event, bytes):
        return event
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()
