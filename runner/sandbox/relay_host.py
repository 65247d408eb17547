"""Runs inside the container, on its own Python: what an agent's program says on loopback is carried
over stdin and stdout to the host, and back.

Its user is nobody's else, so that no command of the agent's can look into it. It holds no key, and
no address of a provider. One port takes HTTP requests, another JSON-RPC by lines. Who is not the
user that its argument names is hung up on: a server under test could else speak to the model, at
the agent's expense. The source is handed to `python3 -I -c`, so it stands alone: standard library
only, nothing imported from the project. A frame is a byte for its kind, four for what it belongs
to, four for the size of what follows (big-endian).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import re
import socket
import socketserver
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

HEADER = struct.Struct(">BII")
READY, REQUEST, OPENED, LINE, GONE, REFUSED = range(1, 7)
"""To the host."""
HEAD, BODY, END, CUT, ANSWER = range(11, 16)
"""From the host."""
BODY_LIMIT_BYTES = 64 * 1024 * 1024
LINE_LIMIT_BYTES = 8 * 1024 * 1024
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")

Frame = tuple[int, bytes]


class Wire:
    """The frames to and from the host."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[Frame]] = {}

    def open(self) -> tuple[int, queue.SimpleQueue[Frame]]:
        """A number of its own, and what the host answers under it."""
        number = next(self._numbers)
        self._waiting[number] = queue.SimpleQueue()
        return number, self._waiting[number]

    def close(self, number: int) -> None:
        self._waiting.pop(number, None)

    def send(self, kind: int, number: int, payload: bytes = b"") -> None:
        with self._writing:
            sys.stdout.buffer.write(HEADER.pack(kind, number, len(payload)) + payload)
            sys.stdout.buffer.flush()

    def read(self) -> None:
        """Until the host hangs up."""
        source = sys.stdin.buffer
        while len(header := source.read(HEADER.size)) == HEADER.size:
            kind, number, size_bytes = HEADER.unpack(header)
            payload = source.read(size_bytes)
            waiting = self._waiting.get(number)
            if waiting is not None:
                waiting.put((kind, payload))


WIRE = Wire()


def user_of(port: int, own_port: int) -> int | None:
    """Whose the other end of a connection on loopback is, as the kernel has it."""
    # Not line by line: a table may hold hundreds of connections that have just ended.
    ends = re.compile(rb":%04X [0-9A-F]+:%04X ([^\n]+)" % (port, own_port))
    for table in TABLES:
        with contextlib.suppress(OSError), open(table, "rb") as file:  # noqa: PTH123 - quick
            if found := ends.search(file.read()):
                # st tx_queue:rx_queue tr:tm->when retrnsmt uid
                return int(found[1].split()[4])
    return None


class Loopback(socketserver.ThreadingTCPServer):
    """One port, for one user."""

    daemon_threads = True
    request_queue_size = 128

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - its form
        user = user_of(client_address[1], self.server_address[1])
        if user == int(sys.argv[1]):
            return True
        WIRE.send(REFUSED, 0, str(user).encode())
        return False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of ours, and nobody reads a trace."""


class Http(BaseHTTPRequestHandler):
    """One connection; each request on it becomes a frame."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Nothing: the host keeps what there is to keep."""

    def carry(self) -> None:
        size = self.headers.get("content-length") or "0"
        if not size.isdigit() or int(size) > BODY_LIMIT_BYTES:
            self.close_connection = True
            self.send_error(413)
            return
        headers = {name.lower(): text for name, text in self.headers.items()}
        about = {"method": self.command, "path": self.path, "headers": headers}
        body = self.rfile.read(int(size))
        number, answers = WIRE.open()
        try:
            WIRE.send(REQUEST, number, json.dumps(about).encode() + b"\n" + body)
            self.answer(answers)
        except OSError:
            self.close_connection = True
            WIRE.send(GONE, number)
        finally:
            WIRE.close(number)

    def answer(self, answers: queue.SimpleQueue[Frame]) -> None:
        while True:
            kind, payload = answers.get()
            if kind == HEAD:
                self.begin(json.loads(payload))
            elif kind == BODY and payload:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(payload), payload))
            elif kind == END:
                self.wfile.write(b"0\r\n\r\n")
                return
            elif kind == CUT:
                # As the provider's own connection broke.
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return

    def begin(self, head: Any) -> None:
        self.send_response_only(head["status"])
        for name, text in head["headers"].items():
            self.send_header(name, text)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    # As the library looks for them. What else there is, it refuses itself.
    do_GET = do_POST = carry  # noqa: N815


class Lines(socketserver.StreamRequestHandler):
    """One connection of what an agent starts as its MCP server."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        number, answers = WIRE.open()
        WIRE.send(OPENED, number)
        threading.Thread(target=self.answer, args=(answers,), daemon=True).start()
        while line := self.rfile.readline(LINE_LIMIT_BYTES):
            WIRE.send(LINE, number, line)
        WIRE.close(number)
        WIRE.send(GONE, number)
        answers.put((END, b""))

    def answer(self, answers: queue.SimpleQueue[Frame]) -> None:
        with contextlib.suppress(OSError):
            while True:
                kind, payload = answers.get()
                if kind == END:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.wfile.write(payload)


def main() -> None:
    ports = []
    for handler in (Http, Lines):
        server = Loopback(("127.0.0.1", 0), handler)
        ports.append(server.server_address[1])
        threading.Thread(target=server.serve_forever, daemon=True).start()
    WIRE.send(READY, 0, json.dumps(ports).encode())
    WIRE.read()
    # Threads may wait for clients that never end.
    os._exit(0)


if __name__ == "__main__":
    main()
