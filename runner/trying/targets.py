"""Symbols of a repository that a canary can be made of: defined once, in a short file of code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from runner.errors import FairtrialError
from runner.grounding.files import GitFiles
from runner.grounding.grammars import language_of
from runner.grounding.outlines import Definition, TextOnly, outline_of
from runner.models.findings import Finding
from runner.proposing.doubts import is_compound

WANTED = 3
MOST_FILES = 400
"""That are read to see that a name is defined once: parsing takes 5 MB a second."""
LARGEST_BYTES = 200_000
SHORT_BYTES = 12_000
"""A server that cuts its answers still shows all of such a file."""
FEWEST_FILES, MOST_USED_IN = 2, 8
"""Files of code that a telling name stands in: a tool that looks for its uses finds some."""
_ASIDE = re.compile(
    r"(^|/)(tests?|docs?|examples?|bench(?:mark)?s?|vendor|node_modules|third_party|\.[^/]+)(/|$)"
)
_CONSTANT = re.compile(r"(?:export\s+)?(?:const|let|var|static)\b(?!.*=>)|#")
_PLAIN = re.compile(r"[A-Za-z_]\w{5,40}")
_WORD = re.compile(r"[A-Za-z_]\w{5,40}")


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """One definition, and what an answer that shows it would show."""

    name: str
    path: str
    line: int
    """1-based."""
    text: str
    """The line of its definition, without what surrounds it."""
    below: tuple[str, ...]
    """Telling lines of its body."""


def symbols_of(files: GitFiles, language: str) -> list[Symbol]:
    """A few, each of another file, the most telling first. Raises FairtrialError for none.

    `language`: what most of it is written in: built copies and set-up scripts are in others.
    """
    sources = dict(_sources(files, language))
    outlines = {path: _definitions(files, path, source) for path, source in sources.items()}
    defined = Counter(item.name for found in outlines.values() for item in found)
    used: Counter[str] = Counter()
    for source in sources.values():
        used.update(set(_WORD.findall(source.decode("utf-8", "replace"))))
    once = {name for name, count in defined.items() if count == 1 and _PLAIN.fullmatch(name)}
    best: list[Symbol] = []
    for path, found in outlines.items():
        fit = [item for item in found if item.name in once and item.line > 1]
        best += _best_of(path, sources[path], fit, used)

    def rank(symbol: Symbol) -> tuple[bool, bool, tuple[bool, bool], str]:
        is_other = language_of(symbol.path, b"") != language
        is_long = len(sources[symbol.path]) > SHORT_BYTES
        return (is_other, is_long, _plainness(symbol.name, used), symbol.path)

    ranked = sorted(best, key=rank)
    if not ranked:
        raise FairtrialError(
            "no symbol is defined once in a file of a language that is read here",
            hint="write the canary yourself: --canary TOOL '{\"key\": …}' TEXT",
        )
    return ranked[:WANTED]


def _sources(files: GitFiles, language: str) -> Iterator[tuple[str, bytes]]:
    paths = [path for path in files.paths() if language_of(path, b"") and not _ASIDE.search(path)]
    paths.sort(key=lambda path: (language_of(path, b"") != language, path.count("/"), path))
    kept = paths[:MOST_FILES]
    for path, source in zip(kept, files.read_many(kept), strict=True):
        if len(source) <= LARGEST_BYTES:
            yield path, source


def _definitions(files: GitFiles, path: str, source: bytes) -> list[Definition]:
    outline = outline_of(path, source, files.blob_sha(path), None)
    return [] if isinstance(outline, TextOnly) else list(outline.definitions)


def _plainness(name: str, used: Counter[str]) -> tuple[bool, bool]:
    """A plain word is in prose too, and a name in every file drowns in its uses."""
    return (not is_compound(name), not FEWEST_FILES <= used[name] <= MOST_USED_IN)


def _best_of(
    path: str, source: bytes, fit: list[Definition], used: Counter[str]
) -> Iterator[Symbol]:
    """The file's most telling one."""
    lines = source.decode("utf-8", "replace").splitlines()
    for item in sorted(fit, key=lambda item: (_plainness(item.name, used), item.line)):
        below = [line.strip() for line in lines[item.line : min(item.end, item.line + 12)]]
        telling = [text for text in below if len(text) >= 12 and item.name not in text]
        text = lines[item.line - 1].strip()
        # A constant is in no server's list of functions and classes.
        defines = Finding(path=path, line=item.line, text=lines[item.line - 1]).defines(item.name)
        if defines and not _CONSTANT.match(text):
            yield Symbol(
                name=item.name, path=path, line=item.line, text=text, below=tuple(telling[:4])
            )
            return
