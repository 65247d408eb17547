"""stdout and stderr that outlive their readers.

A verb goes on, and ends in the code that it would have ended in, whether or not anybody still reads
what it says. What was lost of its result is told at the end.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False  # importing typing would cost --help a part of its time
if TYPE_CHECKING:
    from typing import Any, TextIO


class Lasting:
    """A text stream that takes everything, also when what is behind it takes no more."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.error: OSError | None = None
        """Why nothing is written any more."""
        if stream is None:
            self.error = OSError(errno.EBADF, "it is closed")

    def write(self, text: str) -> int:
        if self.error is None and self._stream is not None:
            try:
                self._stream.write(text)
            except OSError as error:
                self._lose(error)
        return len(text)

    def flush(self) -> None:
        if self.error is None and self._stream is not None:
            try:
                self._stream.flush()
            except OSError as error:
                self._lose(error)

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def _lose(self, error: OSError) -> None:
        self.error = error
        if self._stream is not None:
            # Python flushes what is left at exit, would fail again, and end in a code of its own.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    @property
    def loss(self) -> str:
        """Why a result was lost that somebody may be waiting for; empty if none was.

        A reader that went away (`head`, a pager) has what it wanted.
        """
        if self.error is None or isinstance(self.error, BrokenPipeError):
            return ""
        return self.error.strerror or str(self.error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def make_lasting() -> Lasting:
    """Put lasting streams in the place of stdout and stderr; returns stdout's."""
    closed = _fill_closed_descriptors()
    # In a locale of ASCII a `×` would end the verb.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    out = Lasting(None if 1 in closed else sys.stdout)
    sys.stdout = out
    sys.stderr = Lasting(None if 2 in closed else sys.stderr)
    return out


def _fill_closed_descriptors() -> set[int]:
    """The numbers of stdin, stdout and stderr that were closed; nothing else gets them."""
    closed = set()
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The next file opened would get the number, and be written over by a child's output.
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
            closed.add(number)
    return closed
