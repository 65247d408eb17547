"""Runs inside the container as the MCP server that an agent's program starts: joins its stdin and
stdout to the relay's port, which is the argument. The server itself runs as its own user, closed to
the agent. Standard library only.
"""

from __future__ import annotations

import os
import socket
import sys
import threading


def main() -> None:
    relay = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    threading.Thread(target=send, args=(relay,), daemon=True).start()
    while data := relay.recv(65536):
        while data:
            data = data[os.write(1, data) :]


def send(relay: socket.socket) -> None:
    while data := os.read(0, 65536):
        relay.sendall(data)
    relay.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
