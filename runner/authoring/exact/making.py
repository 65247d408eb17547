"""Questions of a tree: half drawn from all that fit, half spread over the kinds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from runner.authoring.drafting.tree import Tree
from runner.authoring.exact import (
    callers,
    constant_uses,
    overriders,
    path_to_sink,
    public_names,
    which_definition,
)
from runner.authoring.exact.bounds import most_of_kind, most_of_none
from runner.authoring.exact.kind import BUILT, TAIL, Ground, Kind
from runner.records import Budget, Source
from runner.records.exact import ExactKind, ExactQuestion, ExactQuestions
from runner.support.errors import FairtrialError

T = TypeVar("T")
KINDS: Mapping[str, Kind] = {
    "callers": callers.KIND,
    "test_callers": callers.TESTS,
    "overriders": overriders.KIND,
    "uses": constant_uses.KIND,
    "signature_edits": callers.EDITS,
    "which_definition": which_definition.KIND,
    "public_names": public_names.KIND,
    "path_to_sink": path_to_sink.KIND,
    "no_caller": callers.NONE,
    "no_such_name": callers.NOTHING,
    "no_test": callers.NO_TEST,
    "no_overrider": overriders.NONE,
    "no_public_name": public_names.NONE,
}
"""By what is asked; the answers of some are of no place."""
_OF_NONE = frozenset(name for name in KINDS if name.startswith("no_"))
BUDGET = Budget(tokens=40_000, wall_sec=300, actions=24)
"""Of a question's cell."""


def questions_of(
    tree: Tree, source: Source, count: int, seed: int, *, licence: str = ""
) -> ExactQuestions:
    """Up to `count` questions about a commit, each with a key that the tree proves.

    Equal trees and seeds give equal questions. Whoever asks them has `settled` bound what is left
    of them. Raises FairtrialError if the tree proves none.
    """
    ground = Ground(tree)
    found = _chosen(ground, count, random.Random(seed))  # noqa: S311 - a published draw
    if not found:
        hint = "a larger repository, or one in a language that docs/keys.md lists"
        raise FairtrialError("nothing here can be asked whose whole answer is proven", hint=hint)
    asked = [_said(it, ground) for it in found]
    return questions_about(tree, source, asked, seed, licence=licence)


def questions_about(
    tree: Tree,
    source: Source,
    questions: Sequence[ExactQuestion],
    seed: int,
    *,
    licence: str = "",
) -> ExactQuestions:
    return ExactQuestions(
        title=f"Where things are in {source.label}",
        repository=source,
        licence=licence,
        language=tree.language,
        seed=seed,
        budget=BUDGET,
        questions=tuple(questions),
    )


def _said(asked: ExactQuestion, ground: Ground) -> ExactQuestion:
    if not ground.is_built:
        return asked
    return asked.model_copy(update={"prompt": asked.prompt.replace(TAIL, BUILT + TAIL)})


def _chosen(ground: Ground, count: int, lot: random.Random) -> list[ExactQuestion]:
    """Half from all that fit, of kinds that have no quarter yet; the rest for a spread."""
    waiting = {name: _shuffled(kind.subjects(ground), lot) for name, kind in KINDS.items()}
    taken = _Taken(ground, count)
    pool = [(name, subject) for name, subjects in waiting.items() for subject in subjects]
    for name, subject in _shuffled(pool, lot):
        if len(taken.found) >= (count + 1) // 2:
            break
        if not taken.is_full(name):
            taken.ask(name, subject, drawn=True)
    _spread(taken, {name: iter(subjects) for name, subjects in waiting.items()})
    return taken.found


def _shuffled(items: Sequence[T], lot: random.Random) -> list[T]:
    return lot.sample(items, len(items))


class _Taken:
    """The questions so far: no name is asked about twice."""

    def __init__(self, ground: Ground, count: int) -> None:
        self.ground, self.count = ground, count
        self.found: list[ExactQuestion] = []
        self._by_kind: Counter[str] = Counter()
        self._by_door: Counter[str] = Counter()
        self._subjects: set[str] = set()
        self._names: set[str] = set()
        self._alone: set[tuple[ExactKind, str]] = set()

    def is_full(self, name: str) -> bool:
        quarter, kind = most_of_kind(self.count), KINDS[name]
        # Whoever always says that there is none would be right too often.
        none = sum(not it.key.places for it in self.found)
        if name in _OF_NONE and none >= most_of_none(self.count):
            return True
        by_door = max(quarter * kind.share, 1)
        return self._by_kind[kind.kind] >= quarter or self._by_door[name] >= by_door

    def turn(self, name: str) -> float:
        """Those that have had fewest come first."""
        return self._by_door[name] / KINDS[name].share

    def ask(self, name: str, subject: str, *, drawn: bool) -> bool:
        if subject in self._subjects:
            return False
        asked = KINDS[name].ask(self.ground, subject)
        if asked is None or asked.name in self._names:
            return False
        alone = {(asked.key.kind, it) for it in KINDS[name].alone(asked)}
        if alone & self._alone:
            return False
        self._alone |= alone
        self._names.add(asked.name)
        self._subjects.add(subject)
        self._by_kind[asked.key.kind] += 1
        self._by_door[name] += 1
        self.found.append(asked.model_copy(update={"drawn": drawn}))
        return True


def _spread(taken: _Taken, waiting: dict[str, Iterator[str]]) -> None:
    """The kind that has had fewest turns is next, as long as it has something to ask."""
    while waiting and len(taken.found) < taken.count:
        name = min(waiting, key=taken.turn)
        if taken.is_full(name) or not any(
            taken.ask(name, subject, drawn=False) for subject in waiting[name]
        ):
            del waiting[name]
