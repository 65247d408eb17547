"""Words of a repository's prose for a health probe of a server that reads no code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from runner.authoring.onboarding.targets import SHORT_BYTES, TargetSymbol
from runner.grounding.commit_files import GitFiles

WANTED = 3
MOST_FILES = 200
_KINDS = (".md", ".markdown", ".mdx", ".csv", ".json", ".toml", ".txt", ".rst")
"""The likeliest to be read by such a server first."""
_WORD = re.compile(r"[A-Za-z][a-z]{5,20}")
_SHORTEST = 20
"""Characters of a line that no server says by chance."""


def notes_of(files: GitFiles) -> list[TargetSymbol]:
    """A few, each of another file: a word that few lines have, and the line it is in."""
    paths = [path for path in files.paths() if _kind(path) < len(_KINDS) and "/." not in f"/{path}"]
    kept = sorted(paths, key=lambda path: (_kind(path), path.count("/"), path))[:MOST_FILES]
    read = list(zip(kept, files.read_many(kept), strict=True))
    texts = {path: data.decode("utf-8", "replace") for path, data in read}
    used = Counter(word for text in texts.values() for word in _WORD.findall(text.lower()))
    short = [path for path in kept if len(texts[path]) <= SHORT_BYTES]
    found = (note for path in short for note in _best_of(path, texts[path], used))
    return [note for note, _ in zip(found, range(WANTED), strict=False)]


def _kind(path: str) -> int:
    ends = [place for place, end in enumerate(_KINDS) if path.lower().endswith(end)]
    return ends[0] if ends else len(_KINDS)


def _best_of(path: str, text: str, used: Counter[str]) -> Iterator[TargetSymbol]:
    """The file's first line with a word that is nowhere else."""
    lines = [line.strip() for line in text.splitlines()]
    for number, line in enumerate(lines, 1):
        words = [word for word in _WORD.findall(line) if used[word.lower()] == 1]
        if words and len(line) >= _SHORTEST:
            below = [one for one in lines[number:] if len(one) >= _SHORTEST and words[0] not in one]
            yield TargetSymbol(
                name=words[0], path=path, line=number, text=line, below=tuple(below[:4])
            )
            return
