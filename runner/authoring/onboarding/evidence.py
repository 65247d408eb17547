"""What of an answer only the repository can have given: never what was asked, or what is usual."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from runner.authoring.onboarding.targets import TargetSymbol

_NAMES_NEEDED = 3
_ANYWHERE = re.compile(
    r"^\.|\.(?:toml|lock|ya?ml|json|ini|cfg)$|^[A-Z_]+(?:\.[a-z]+)?$|config|requirements|__"
    r"|^(?:index|main|setup|test)[.s]"
)
"""Names of files that are in any project: a server may have a list of them."""
_SHORTEST = 12
"""Characters of a line of code that no server says by chance."""
_USUAL_LINES = 10
"""Below that, a number may be a line of what was asked: of a word alone it is the first."""


EvidenceKind = Literal["line", "code", "path", "name", "listing"]
"""The symbol's line, a line of its code, its file's path or that of another file, a name that is
defined beside it, or names of the repository's files."""
_STRENGTH: dict[EvidenceKind, int] = {"line": 3, "code": 2, "path": 1, "name": 1, "listing": 0}


@dataclass(frozen=True, kw_only=True)
class CanaryEvidence:
    """What of an answer can only come from the repository."""

    contains: str
    kind: EvidenceKind
    line_base: int | None = None
    """Of a line."""

    @property
    def strength(self) -> int:
        return _STRENGTH[self.kind]


def evidence_in(  # noqa: PLR0913 - an answer, and all that it may repeat
    text: str,
    arguments: Mapping[str, Any],
    symbol: TargetSymbol,
    paths: Collection[str] = (),
    *,
    before: str = "",
    requests: str = "",
) -> CanaryEvidence | None:
    """What the answer holds of the repository that was not in the request; None if nothing.

    `paths`: of the repository's files. `before`: what else it may only repeat.
    `requests`: every one that was made so far, for what is known by the repository's words alone.
    """
    asked = json.dumps(arguments, ensure_ascii=False) + before
    numbered = [] if _asks_for_line(asked, symbol) else list(_numbered(text, symbol))
    bases = {base for base, _ in numbered}
    for base, shown in numbered:
        # Two bases in one answer: which of them is the symbol's line is unknown.
        if shown not in asked and len(bases) == 1 and _shows_code(text, symbol, asked):
            return CanaryEvidence(contains=shown, kind="line", line_base=base)
    for shown in _codes(symbol):
        if shown in text and len(shown) >= _SHORTEST and shown not in asked:
            return CanaryEvidence(contains=shown, kind="code")
    is_known = "/" not in symbol.path and _ANYWHERE.search(symbol.path)
    if symbol.path in text and symbol.path not in asked and not is_known:
        return CanaryEvidence(contains=symbol.path, kind="path")
    return _of_its_own(text, asked + requests, symbol, paths)


def _of_its_own(
    text: str, asked: str, symbol: TargetSymbol, paths: Collection[str]
) -> CanaryEvidence | None:
    """Other files and other names of the repository, of which nobody has asked yet."""

    def new(words: Iterable[str]) -> str:
        return next((word for word in words if word in text and word not in asked), "")

    deep = [path for path in paths if path.count("/") > 1 and not _ANYWHERE.search(_last(path))]
    if name := new(symbol.beside):
        return CanaryEvidence(contains=name, kind="name")
    if path := new(sorted(deep, key=lambda path: (-len(path), path))):
        return CanaryEvidence(contains=path, kind="path")
    return _listing(text, asked, paths)


def _listing(text: str, asked: str, paths: Collection[str]) -> CanaryEvidence | None:
    """Several names of files, as no server without the repository would say them."""
    names = {name for name in map(_last, paths) if not _ANYWHERE.search(name)}
    shown = [name for name in names if len(name) >= _SHORTEST and name in text]
    new = sorted((name for name in shown if name not in asked), key=lambda name: (-len(name), name))
    if len(new) < _NAMES_NEEDED:
        return None
    return CanaryEvidence(contains=new[0], kind="listing")


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _asks_for_line(asked: str, symbol: TargetSymbol) -> bool:
    """What was asked with a line may be answered with it, and with its neighbours."""
    numbers = {int(number) for number in re.findall(r"\b\d{1,7}\b", asked)}
    return not numbers.isdisjoint(range(symbol.line - 1, symbol.line + 2))


def _codes(symbol: TargetSymbol) -> Iterator[str]:
    for line in (symbol.text, *symbol.below):
        yield line
        # Inside of JSON, a quote is written with a backslash; inside of JSON in JSON, with three.
        yield (once := json.dumps(line, ensure_ascii=False)[1:-1])
        yield json.dumps(once, ensure_ascii=False)[1:-1]


def _shows_code(text: str, symbol: TargetSymbol, asked: str) -> bool:
    """A number alone may be luck: the name, the file or a line of code has to be there too."""
    known = (symbol.name, _last(symbol.path), *_codes(symbol))
    if symbol.line < _USUAL_LINES:
        known = tuple(word for word in known if word not in asked)
    return any(word in text for word in known)


_LINE_KEYS = "line|row|start_?[lL]ine|line_?[nN]um(?:ber)?|lineno|line_?[sS]tart|start_?[rR]ow"


def _numbered(text: str, symbol: TargetSymbol) -> Iterator[tuple[int, str]]:
    """(base, the text that shows the symbol's line as that base counts), most telling first."""
    name = re.escape(_last(symbol.path))
    code = re.escape(symbol.text[:60])
    for base in (1, 0):
        number = symbol.line - 1 + base
        patterns = (
            rf"{name}[\"']?(?::|#L|, ?line |\()0*{number}\b",
            rf"\b0*{number}[:\-|\t→ ]+ ?{code}",
            rf"\\*\"(?:{_LINE_KEYS})\\*\" ?: ?{number}\b",
            rf"\b[Ll]ines?:? {number}\b",
            rf"\bL{number}\b",
        )
        for pattern in patterns:
            found = re.search(pattern, text)
            if found:
                yield base, found[0]
                break
