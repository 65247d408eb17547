"""One lock for the processes of a machine: an `flock` on a file, gone with its process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from runner.support.errors import BusyError


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
        except BlockingIOError as error:
            message = f"another runner (process {_owner(file)}) is at work on {what}"
            raise BusyError(message, where=str(path.parent), hint=hint) from error
        _sign(file)
        yield


def _owner(file: IO[str]) -> str:
    """The number of the process that has the lock."""
    file.seek(0)
    return file.read().strip() or "unknown"


def _sign(file: IO[str]) -> None:
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
