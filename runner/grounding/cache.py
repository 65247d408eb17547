"""What verification remembers: bytes by key, in one SQLite file. A cache costs time at worst.

It is one file, not one per outline: creating 2,000 small files cost a fifth of verifying 10,000
citations. Writers of several processes wait for each other; a write is whole or not there; a
damaged file is begun again; a folder that cannot be written means no cache.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Self

_BUSY_TIMEOUT_SEC = 10


class Cache:
    """Closed at the end of each verification: what was put is written then, in one transaction."""

    def __init__(self, folder: Path | None) -> None:
        self._connection: sqlite3.Connection | None = None
        if folder:
            self._connection = _connect(folder / "grounding.sqlite3")
        self._new: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """The value of a key; None if it was never put, or cannot be read."""
        if self._connection is None:
            return None
        query = "SELECT value FROM kept WHERE key = ?"
        try:
            row = self._connection.execute(query, (key,)).fetchone()
        except sqlite3.Error:
            return None
        # Another program may have written text there; json.loads would accept it.
        if row and isinstance(row[0], bytes):
            return row[0]
        return None

    def put(self, key: str, value: bytes) -> None:
        """Remember a value once the cache is closed."""
        if self._connection is not None:
            self._new[key] = value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._connection is None:
            return
        insert = "INSERT OR REPLACE INTO kept VALUES (?, ?)"
        # A full disk or a lock held too long loses what is new, never the verification.
        with contextlib.suppress(sqlite3.Error), self._connection:
            self._connection.executemany(insert, self._new.items())
        self._connection.close()


def _connect(path: Path) -> sqlite3.Connection | None:
    """The database, begun again if it is damaged; None if it cannot be used."""
    try:
        return _open(path)
    except sqlite3.OperationalError:  # locked for too long, read-only, full: not damaged
        return None
    except sqlite3.DatabaseError:
        with contextlib.suppress(OSError):
            path.unlink()
    except OSError:
        return None
    try:
        return _open(path)
    except (OSError, sqlite3.Error):
        return None


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_SEC)
    try:
        # The cache may be lost in a power cut: waiting for the disk would cost more than it saves.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID"
        )
    except sqlite3.Error:
        connection.close()
        raise
    return connection
