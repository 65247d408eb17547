"""Where things are inside a cell's container, and who its users are."""

from __future__ import annotations

WORKSPACE = "/workspace"
"""The repository at its commit, read-only; the working directory of both users."""
INSTALL = "/opt/server"
"""The server's install volume, read-only."""
STATE = "/var/lib/server"
"""The server's own writable directory: its home, its index."""

AGENT, SERVER, KEEPER = "agent", "server", "nobody"
AGENT_UID, SERVER_UID = 10001, 10002
HOMES = {AGENT: "/home/agent", SERVER: STATE}
