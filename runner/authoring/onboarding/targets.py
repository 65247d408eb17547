"""Symbols of a repository for a health probe: defined once, in a short file of code."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from runner.agents.models.offline.findings import Finding
from runner.authoring.drafting.doubts import is_compound
from runner.grounding.commit_files import GitFiles
from runner.grounding.grammars import language_of
from runner.grounding.outlines import Definition, TextOnly, outline_of
from runner.support.errors import FairtrialError

WANTED = 3
MOST_FILES = 400
"""That are read to see that a name is defined once: parsing takes 5 MB a second."""
LARGEST_BYTES = 200_000
SHORT_BYTES = 12_000
"""A server that cuts its answers still shows all of such a file."""
SHORTEST_NAME = 10
"""Of a name that shows a repository by itself: `to_dict` is in many."""
FEWEST_FILES, MOST_USED_IN = 2, 8
"""Files of code that a telling name stands in: a tool that looks for its uses finds some."""
SHORTEST_LINE, LONG_LINE = 12, 24
"""Characters of a line of code with a compound name, and of any other."""
_ASIDE = re.compile(
    r"(^|/)(tests?|docs?|examples?|bench(?:mark)?s?|vendor|node_modules|third_party|\.[^/]+)(/|$)"
)
_CONSTANT = re.compile(
    r"(?:export\s+)?(?:const|let|var|static)\b"
    r"(?!\s+\w+(?:\s*:[^=]+)?\s*=\s*(?:async\s*)?(?:<[^>]*>\s*)?(?:\([^)]*\)[^=]*|\w+\s*)=>)|#"
)
_WORD = re.compile(r"[A-Za-z_]\w{5,40}")


@dataclass(frozen=True, kw_only=True)
class TargetSymbol:
    """One definition, and what an answer that shows it would show."""

    name: str
    path: str
    line: int
    """1-based."""
    text: str
    """The line of its definition, without what surrounds it."""
    below: tuple[str, ...]
    """Telling lines of its body."""
    beside: tuple[str, ...] = ()
    """Other names that its file defines, which are words of the repository alone."""
    is_aside: bool = False
    """Inside of another definition, private, or a type alone: not what every server lists."""


def symbols_of(files: GitFiles, language: str) -> list[TargetSymbol]:
    """A few, each of another file, the most telling first. Raises FairtrialError for none.

    `language`: what most of it is written in: built copies and set-up scripts are in others.
    """
    sources = dict(_sources(files, language))
    outlines = {path: _definitions(files, path, source) for path, source in sources.items()}
    defined = Counter(item.name for found in outlines.values() for item in found)
    used: Counter[str] = Counter()
    for source in sources.values():
        used.update(set(_WORD.findall(source.decode("utf-8", "replace"))))
    once = {name for name, count in defined.items() if count == 1 and _WORD.fullmatch(name)}
    best: list[TargetSymbol] = []
    for path, found in outlines.items():
        fit = [item for item in found if item.name in once and item.line > 1]
        best += _best_of(path, sources[path], fit, used)

    def rank(symbol: TargetSymbol) -> tuple[bool, bool, bool, bool, bool, str]:
        is_other = language_of(symbol.path, b"") != language
        is_long = len(sources[symbol.path]) > SHORT_BYTES
        plainness = _plainness(symbol.name, used)
        return (is_other, is_long, plainness[0], symbol.is_aside, plainness[1], symbol.path)

    ranked = sorted(best, key=rank)
    if not ranked:
        raise FairtrialError(
            "no symbol is defined once in a file of a language that is read here",
            hint="write the health probe yourself: --probe TOOL '{\"key\": …}' TEXT",
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


def _beside(item: Definition, fit: list[Definition], used: Counter[str]) -> list[str]:
    fewer = [one.name for one in fit if len(one.name) >= SHORTEST_NAME and is_compound(one.name)]
    names = [name for name in dict.fromkeys(fewer) if used[name] <= MOST_USED_IN]
    return [name for name in names if name not in item.name]


def _is_aside(name: str, line: str) -> bool:
    is_type = re.match(r"(?:export\s+)?(?:declare\s+)?(?:type|interface|enum)\b", line)
    return line[:1].isspace() or name.startswith("_") or is_type is not None


def _is_telling(text: str, used: Counter[str]) -> bool:
    """`def __init__(self) -> None:` is in any project: a word of its own is wanted."""
    own = [word for word in _WORD.findall(text) if not hasattr(builtins, word.strip("_"))]
    rare = [word for word in own if used[word] <= MOST_USED_IN and not word.endswith("__")]
    return len(text) >= (SHORTEST_LINE if any(map(is_compound, rare)) else LONG_LINE) and bool(rare)


def _best_of(
    path: str, source: bytes, fit: list[Definition], used: Counter[str]
) -> Iterator[TargetSymbol]:
    """The file's most telling one."""
    lines = source.decode("utf-8", "replace").splitlines()

    def rank(item: Definition) -> tuple[bool, bool, bool, int]:
        is_plain, is_unusual = _plainness(item.name, used)
        return (is_plain, _is_aside(item.name, lines[item.line - 1]), is_unusual, item.line)

    for item in sorted(fit, key=rank):
        below = [line.strip() for line in lines[item.line : min(item.end, item.line + 12)]]
        telling = [text for text in below if item.name not in text and _is_telling(text, used)]
        text = lines[item.line - 1].strip()
        # A constant is in no server's list of functions and classes.
        defines = Finding(path=path, line=item.line, text=lines[item.line - 1]).defines(item.name)
        if defines and not _CONSTANT.match(text):
            yield TargetSymbol(
                name=item.name,
                path=path,
                line=item.line,
                text=text,
                below=tuple(telling[:4]),
                beside=tuple(_beside(item, fit, used)),
                is_aside=_is_aside(item.name, lines[item.line - 1]),
            )
            return
