"""Where in the head's own files a change stands: the line that says its tool's name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from runner.authoring.onboarding.local_server import files_below
from runner.authoring.onboarding.server_source import Command, LocalPath, ServerSource
from runner.records.versions import VersionChange

_MOST_BYTES = 1_000_000
_MOST_FILES = 2_000
_ASIDE = {"node_modules", "__pycache__", "venv", "dist", "build"}
_SOURCES = {".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".go", ".rs", ".rb", ".java", ".sh"}


@dataclass(frozen=True, kw_only=True)
class SourceFiles:
    """Of a version that is a folder or files of this machine; of a package none."""

    source: ServerSource

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        return {
            name: path.read_text("utf-8", errors="replace").splitlines()
            for name, path in self._paths()
            if path.stat().st_size <= _MOST_BYTES
        }

    def _paths(self) -> Iterator[tuple[str, Path]]:
        if isinstance(self.source, Command):
            files = [Path(word) for word in self.source.words]
            yield from ((it.name, it) for it in files if it.is_file() and it.suffix in _SOURCES)
        elif isinstance(self.source, LocalPath) and self.source.path.is_file():
            yield self.source.path.name, self.source.path
        elif isinstance(self.source, LocalPath):
            folder = self.source.path
            below = files_below(folder, _ASIDE)
            found = (it for it in below if it.suffix in _SOURCES and not it.is_symlink())
            for path in islice(found, _MOST_FILES):
                yield path.relative_to(folder).as_posix(), path

    def placed(self, change: VersionChange) -> VersionChange:
        """With its path and line, if the name of its tool or parameter is found."""
        if change.check not in ("tools", "schema", "session"):
            return change
        _, _, name = change.name.split(":", 2) if change.name.count(":") > 1 else ("", "", "")
        tool, _, key = (change.head or name, "", "") if change.check == "tools" else _split(name)
        found = self._line_of(tool, key) if tool else None
        if found is None:
            return change
        return change.model_copy(update={"path": found[0], "line": found[1]})

    def _line_of(self, tool: str, key: str) -> tuple[str, int] | None:
        """Of the parameter behind the tool's name, else of the tool's name."""
        for path, lines in self._texts.items():
            at = _first(lines, tool, 0)
            if at is not None:
                below = _first(lines, key, at) if key else None
                return path, 1 + (at if below is None else below)
        return None


def _split(name: str) -> tuple[str, str, str]:
    """`find.options.limit` is the tool `find` and the key `limit`."""
    tool, dot, keys = name.partition(".")
    return tool, dot, keys.rpartition(".")[2]


def _first(lines: list[str], word: str, start: int) -> int | None:
    """The line that quotes the word, or defines it; from `start` on."""
    own = re.escape(word)
    pattern = re.compile(rf"[\"'`]{own}[\"'`]|\b(?:def|function|fn|func)\s+{own}\b|\b{own}\s*[:=]")
    return next((at for at in range(start, len(lines)) if pattern.search(lines[at])), None)
