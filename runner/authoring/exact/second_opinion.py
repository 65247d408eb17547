"""A second opinion: what a language server is asked about a key, and whether it agrees.

It is asked where references, definitions or implementations are, and knows nothing of the key.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from runner.authoring.drafting.tree import TEST_PATH, Tree
from runner.authoring.exact.public_names import is_re_export
from runner.records import MustCite
from runner.records.exact import ExactKind, ExactQuestion

Location = tuple[str, int]
"""Path, and line from 1."""
Method = Literal["references", "definition", "implementation"]
_METHODS: Mapping[ExactKind, Method] = {
    "overriders": "implementation",
    "which_definition": "definition",
}
_WITHOUT_TESTS = frozenset(("callers", "overriders", "public_names", "path_to_sink"))
_LANGUAGE_IDS = {"tsx": "typescriptreact", "c_sharp": "csharp"}
"""The protocol's own."""


@dataclass(frozen=True, kw_only=True)
class KeyLookUp:
    """One look-up, at one name."""

    id: str
    question: str
    """Its name."""
    method: Method
    path: str
    line: int
    """From 1."""
    column: int
    """From 0, in UTF-16 units."""
    language: str

    def as_json(self) -> dict[str, Any]:
        """As lsp_host.py takes it."""
        return {
            "id": self.id,
            "method": self.method,
            "path": self.path,
            "line": self.line - 1,
            "column": self.column,
            "language": _LANGUAGE_IDS.get(self.language, self.language),
        }


@dataclass(frozen=True, kw_only=True)
class KeyComparison:
    """A key, and what the second program found."""

    question: str
    kind: ExactKind
    language: str
    answered: bool
    """False if there was nothing to ask, or no answer."""
    confirmed: int = 0
    """Places of the key that it found too."""
    missing: tuple[Location, ...] = ()
    """Places of the key that it does not find."""
    extra: tuple[Location, ...] = ()
    """What it finds, and the key has neither as a place nor as optional."""

    @property
    def agrees(self) -> bool:
        return self.answered and not self.missing and not self.extra

    @property
    def differs(self) -> bool:
        return bool(self.missing or self.extra)


def asks_of(question: ExactQuestion, tree: Tree) -> list[KeyLookUp]:
    """None for a name that is nowhere."""
    kind = question.key.kind
    found = []
    for number, (path, at) in enumerate(_asked_at(question, tree)):
        parsed = tree.code[path]
        line = parsed.file.occurrences.line(at)
        begin = parsed.source.rfind(b"\n", 0, at) + 1
        before = parsed.source[begin:at].decode("utf-8", "replace")
        found.append(
            KeyLookUp(
                id=f"{question.name}#{number}",
                question=question.name,
                method=_METHODS.get(kind, "references"),
                path=path,
                line=line,
                column=len(before.encode("utf-16-le")) // 2,
                language=parsed.language,
            )
        )
    return found


def subject_of(question: ExactQuestion) -> str:
    """`open` of "Where is `Shop.open` called …"; the name that a call has."""
    quoted = re.findall(r"`([^`]+)`", question.prompt)
    shown = quoted[1] if question.key.kind == "which_definition" else quoted[0]
    return re.split(r"\.|::", shown)[-1]


def _asked_at(question: ExactQuestion, tree: Tree) -> Iterator[tuple[str, int]]:
    """Path and byte of a name."""
    key = question.key
    if key.kind in ("which_definition", "overriders"):
        yield from _in_line(next(it for it in key.optional if it.symbol), tree)
    elif key.kind == "path_to_sink":
        for name in dict.fromkeys(it.symbol for it in key.places if it.symbol):
            yield from _definitions(name, tree)
    else:
        yield from _definitions(subject_of(question), tree)


def _in_line(place: MustCite, tree: Tree) -> Iterator[tuple[str, int]]:
    occurrences = tree.code[place.path].file.occurrences
    for at, line in occurrences.lines_of(place.symbol or ""):
        if line == place.line:
            yield place.path, at
            return


def _definitions(name: str, tree: Tree) -> Iterator[tuple[str, int]]:
    for path, definition in tree.definitions.get(name, ()):
        if tree.code[path].kind(definition) not in ("import", "prototype"):
            yield path, definition.at


# --- the comparison -----------------------------------------------------------------------------


def compared(
    question: ExactQuestion,
    tree: Tree,
    asks: Sequence[KeyLookUp],
    answers: Mapping[str, Sequence[Sequence[Any]] | None],
    built: Collection[str] = (),
) -> KeyComparison:
    """`asks`: of this question. `answers`: id -> places, or None for no answer.

    `tree`: of the sources; `built`: paths of what was made of them.
    """
    kind, language = question.key.kind, asks[0].language if asks else tree.language
    given = [answers.get(ask.id) for ask in asks]
    if not asks or any(it is None for it in given):
        return KeyComparison(question=question.name, kind=kind, language=language, answered=False)
    found = {(str(path), int(line)) for it in given for path, line in it or ()}
    found = {it for it in found if it[0] not in built and _counts(it, question, tree)}
    key = question.key
    missing = [it for it in key.places if not any(_stands(it, other) for other in found)]
    known = (*key.places, *key.optional)
    extra = [it for it in sorted(found) if not any(_stands(place, it) for place in known)]
    return KeyComparison(
        question=question.name,
        kind=kind,
        language=language,
        answered=True,
        confirmed=len(key.places) - len(missing),
        missing=tuple((it.path, it.line) for it in missing),
        extra=tuple(extra),
    )


def _stands(place: MustCite, found: Location) -> bool:
    path, line = found
    return path == place.path and place.line <= line <= (place.end or place.line)


def _counts(found: Location, question: ExactQuestion, tree: Tree) -> bool:
    """Is it of what was asked for?"""
    path, line = found
    kind, parsed = question.key.kind, tree.code.get(path)
    if kind in _WITHOUT_TESTS and TEST_PATH.search(path):
        return False
    if kind == "test_callers" and not TEST_PATH.search(path):
        return False
    if kind == "public_names":
        return parsed is not None and is_re_export(parsed, line, subject_of(question))
    return True
