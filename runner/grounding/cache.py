"""What verification remembers: bytes by key, in one SQLite file. A cache may cost time, never a verdict and never a failure.

One file, not one per outline: creating 2,000 small files cost a fifth of verifying 10,000 citations. Writers of several processes wait for
each other; a write is whole or not there; a damaged file is begun again; a folder that cannot be written means no cache.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Self


class Cache:
    """Closed at the end of each verification: what was put is written then, in one transaction."""

    def __init__(self, folder: Path | None) -> None:
        self._connection = _connect(folder / "grounding.sqlite3") if folder else None
        self._new: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        if self._connection is None:
            return None
        try:
            row = self._connection.execute(
                "SELECT value FROM kept WHERE key = ?", (key,)
            ).fetchone()
        except sqlite3.Error:
            return None
        return row[0] if row and isinstance(row[0], bytes) else None

    def put(self, key: str, value: bytes) -> None:
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
        with contextlib.suppress(sqlite3.Error), self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO kept VALUES (?, ?)", self._new.items()
            )
        self._connection.close()


def _connect(path: Path) -> sqlite3.Connection | None:
    for _ in range(2):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=10)
        except (OSError, sqlite3.Error):
            return None
        try:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID"
            )
        except sqlite3.OperationalError:  # locked for too long, read-only, full: not damaged
            connection.close()
            return None
        except sqlite3.DatabaseError:
            connection.close()
            with contextlib.suppress(OSError):
                path.unlink()
            continue
        return connection
    return None
