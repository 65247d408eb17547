"""One lock for processes of one machine: an `flock` on a file, gone with the process that has it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.errors import BusyError


@contextmanager
def wait_for_lock(path: Path) -> Iterator[None]:
    """Keep the lock while inside, waiting for it as long as another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def lock_or_refuse(path: Path, *, what: str, hint: str) -> Iterator[None]:
    """Keep the lock while inside. Raises BusyError, naming the process that has it, at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not "w": it would wipe out the other process's number before the lock is asked for.
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            message = f"another runner (process {owner}) is at work on {what}"
            raise BusyError(message, where=str(path.parent), hint=hint) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
