"""Makes docs/cli.md of what `--help` prints: `.venv/bin/python -m tests.cli_page`.

It asks the command itself, as a reader would, and finds the verbs in what it answers.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
COMMAND = Path(sys.executable).parent / "fairtrial"
COLUMNS = 80
HEAD = """\
# The command line

Every verb with its options, as `--help` prints it. This page is made:
`.venv/bin/python -m tests.cli_page` writes it again.
[The other pages](../README.md#pages) say what the verbs are for.
"""
LISTED = re.compile(r"^(?:verbs|what):\n  [A-Z]+\n(?P<names>(?:    .*\n?)+)", re.MULTILINE)
"""The list of verbs in a help text, or of the words that follow a verb (`import claude-code`)."""
NAME = re.compile(r"^    (\S+(?: \S+)?)(?=  |$)", re.MULTILINE)


def made_page() -> str:
    return HEAD + "".join(_sections(()))


def _sections(verb: tuple[str, ...]) -> Iterator[str]:
    text = _help_of(verb)
    yield f"\n## {' '.join(('fairtrial', *verb))}\n\n```text\n{text.rstrip()}\n```\n"
    if listed := LISTED.search(text):
        for name in NAME.findall(listed["names"]):
            yield from _sections((*verb, *name.split()))


def _help_of(verb: tuple[str, ...]) -> str:
    environ = {**os.environ, "COLUMNS": str(COLUMNS)}
    done = subprocess.run(
        [str(COMMAND), *verb, "--help"], env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    PAGE.write_text(made_page(), encoding="utf-8")
