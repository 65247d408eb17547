"""The lines that facts cite, read at a scenario's commit for a judge that reads."""

from __future__ import annotations

from collections.abc import Callable

from runner.protocols import Files
from runner.support.errors import NoVerdict

FILES_KEPT = 100


class CommitLines:
    """protocols.LineSource."""

    def __init__(self, open_files: Callable[[], Files]) -> None:
        """`open_files` is called when lines are first asked for: most judges ask for none."""
        self._open_files = open_files
        self._read: dict[str, list[bytes]] = {}

    def files(self) -> Files:
        """All of the commit's, for a judge that resolves paths by them."""
        return self._open_files()

    def lines(self, path: str, line: int, end: int) -> str:
        """Raises NoVerdict if the commit has no such file, or the file no such line."""
        try:
            lines = self._lines_of(path)
        except KeyError as error:
            raise NoVerdict(f"the rubric cites {path}, which is no file of the commit") from error
        found = lines[line - 1 : end]
        if not found:
            raise NoVerdict(f"the rubric cites {path}:{line}, which is past its end")
        return b"\n".join(found).decode("utf-8", "replace")

    def _lines_of(self, path: str) -> list[bytes]:
        # What is cited once is cited again: a question to git each took a fifth of a large report.
        if path not in self._read:
            if len(self._read) >= FILES_KEPT:
                self._read.clear()
            # By \n alone, as git counts: a form feed would move every line behind it.
            self._read[path] = self._open_files().read(path).split(b"\n")
        return self._read[path]
