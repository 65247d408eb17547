"""A commit held in memory: the smallest real `Files`."""

from __future__ import annotations

import hashlib


class MemoryFiles:
    """Files of a made-up commit; `commit` follows from the contents, as git's does."""

    def __init__(self, contents: dict[str, str | bytes]) -> None:
        self._contents = {
            path: text.encode() if isinstance(text, str) else text
            for path, text in contents.items()
        }
        self.commit = hashlib.sha1(repr(sorted(self._contents.items())).encode()).hexdigest()
        self.reads = 0

    def paths(self) -> frozenset[str]:
        return frozenset(self._contents)

    def read(self, path: str) -> bytes:
        self.reads += 1
        return self._contents[path]

    def blob_sha(self, path: str) -> str:
        return hashlib.sha1(b"blob\0" + self._contents[path]).hexdigest()
