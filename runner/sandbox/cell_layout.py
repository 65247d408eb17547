"""Where things are inside a cell's container, and who its users are."""

from __future__ import annotations

WORKSPACE = "/workspace"
"""The repository at its commit, read-only; the working directory of both users."""
INSTALL = "/opt/server"
"""The server's install volume, read-only."""
INSTALLS = "/opt/servers"
"""Where a cell has several servers: a folder for each one's install volume."""
AGENT_INSTALL = "/opt/agent"
"""The install volume of an agent that is a program, read-only, the same in every arm."""
ENVIRONMENT = "/opt/environment"
"""What the repository's own tests need, the same in every arm: of a scenario that has packages."""
STATE = "/var/lib/server"
"""The server's own writable directory: its home, its index. Of several, a folder for each."""
PYTHONS = {"3.11": "/usr/bin", "3.13": "/opt/python3.13/bin"}
"""Where the base has a `python3` of each version: the first is on everybody's path."""
SHELL_PYTHON = "/usr/local/libexec/shell-python"
"""The first of them, which no user of a cell can read: nobody traces what runs on it."""
PATH = "/usr/local/bin:/usr/bin:/bin"
TOOLS = f"{ENVIRONMENT}/python/bin:{ENVIRONMENT}/node_modules/.bin"
"""On the agent's path before all else. Where a scenario has no packages, nothing is there."""
TMP = "/tmp"  # noqa: S108 - a path in the container, not on this machine
"""Both users may write here, and each may read what the other leaves readable."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - see above

AGENT_USER = "agent"
SERVER_USER = "server"
KEEPER_USER = "nobody"
"""Runs the container's first process, which only waits for the deadline."""
AGENT_UID = 10001
SERVER_UID = 10002
HOMES = {AGENT_USER: "/home/agent", SERVER_USER: STATE}
