"""Pairs of answers to a question with a key: its whole answer, and the same made worse.

Everybody can say which of the two is better, so the judge that reads keys has to say it of every
pair: one that is lost is a question, or a rule, that can be gamed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from runner.gate.adversarial_answers import ScenarioWithRubric
from runner.gate.pairs import is_won
from runner.gate.perturbations import shuffled
from runner.grounding.pointing import TOLERANCE
from runner.grounding.verify import ground, step_citations
from runner.protocols import ByKey, Files
from runner.records import ExactKey, MustCite
from runner.scoring.rank_agreement import ROUNDING
from runner.scoring.steps import answer_steps, must_find

ALL = 1.0
"""Of the pairs: a key leaves nothing to taste."""
Lines = tuple[tuple[str, int], ...]
"""Path and line of each place that an answer cites."""
MOST_OF_A_KIND = 6
"""Answers made from one question in one way: a key of 200 places would ask for little more."""
MOVED_BY = 20
"""Lines; or the next multiple of it at which the key knows nothing."""


@dataclass(frozen=True, kw_only=True)
class Worse:
    kind: str
    text: str
    no_gain: bool = False
    """It need not be worse; it must not be better."""


@dataclass(frozen=True, kw_only=True)
class KeyMaterial:
    """A question's key, and what there is to spoil its answer with."""

    key: ExactKey
    files: Files
    prompt: str
    others: Sequence[ExactKey] = ()
    """Keys of other questions about the repository."""

    @cached_property
    def right(self) -> Lines:
        return tuple((place.path, place.line) for place in self.key.places)

    @property
    def text(self) -> str:
        """The answer that earns all."""
        return answered(self.right)

    def is_known(self, path: str, line: int) -> bool:
        """Does the key say anything of it, within the tolerance?"""
        known = (*self.key.places, *self.key.optional, *self.key.wrong)
        return any(place.path == path and _reaches(place, line) for place in known)

    @cached_property
    def elsewhere(self) -> Lines:
        """Places that the key says nothing of: in the files it knows first, then in others."""
        known = [place.path for place in (*self.key.places, *self.key.optional, *self.key.wrong)]
        rest = sorted(self.files.paths() - {*known})
        found = []
        for path in dict.fromkeys([*known, *rest[:: max(1, len(rest) // 8)]]):
            lines = range(1, self._length(path), 40)
            found += [(path, line) for line in lines if not self.is_known(path, line)][:3]
        return tuple(found)

    def _length(self, path: str) -> int:
        return self.files.read(path).count(b"\n") + 1


def _reaches(place: MustCite, line: int) -> bool:
    return place.line - TOLERANCE <= line <= (place.end or place.line) + TOLERANCE


def answered(lines: Lines, said: int | None = None) -> str:
    cited = [f"- `{path}:{line}` is one of them." for path, line in lines]
    return "\n".join([*cited, "", f"FOUND: {len(lines) if said is None else said}"])


def worse_than(material: KeyMaterial) -> Iterator[Worse]:
    """Every way to spoil the answer that applies to the question."""
    for kind, made in KINDS.items():
        for text in list(made(material))[:MOST_OF_A_KIND]:
            if text != material.text:
                yield Worse(kind=kind, text=text, no_gain=kind in NO_GAIN)


# --- the kinds ------------------------------------------------------------------------------


def _moved(material: KeyMaterial) -> Iterator[str]:
    if material.right:
        yield answered(tuple(_further(material, *place) for place in material.right))


def _further(material: KeyMaterial, path: str, line: int) -> tuple[str, int]:
    while material.is_known(path, line := line + MOVED_BY):
        pass
    return path, line


def _one_moved(material: KeyMaterial) -> Iterator[str]:
    right = material.right
    for index, place in enumerate(right):
        yield answered((*right[:index], _further(material, *place), *right[index + 1 :]))


def _swapped(material: KeyMaterial) -> Iterator[str]:
    """Each path with the line of the next place, where that is no place of the key."""
    right = material.right
    turned = [
        (path, line) for (path, _), (_, line) in zip(right, right[1:] + right[:1], strict=True)
    ]
    kept = [place for place in turned if not material.is_known(*place)]
    if kept:
        yield answered(tuple(kept), said=len(right))


def _in_another_file(material: KeyMaterial) -> Iterator[str]:
    others = [path for path, _ in material.elsewhere]
    moved = []
    for index, (path, line) in enumerate(material.right):
        free = [it for it in others if it != path and not material.is_known(it, line)]
        if free:
            moved.append((free[index % len(free)], line))
    if moved:
        yield answered(tuple(moved), said=len(material.right))


def _removed(material: KeyMaterial) -> Iterator[str]:
    if material.right:
        yield answered((), said=len(material.right))


def _one_missing(material: KeyMaterial) -> Iterator[str]:
    right = material.right
    if len(right) > 1:
        for index in range(len(right)):
            yield answered((*right[:index], *right[index + 1 :]))


def _one_too_many(material: KeyMaterial) -> Iterator[str]:
    for place in material.elsewhere[:2]:
        yield answered((*material.right, place))


def _padded(material: KeyMaterial) -> Iterator[str]:
    if material.elsewhere:
        yield answered((*material.right, *material.elsewhere))


def _near_misses(material: KeyMaterial) -> Iterator[str]:
    for miss in material.key.wrong:
        yield answered((*material.right, (miss.path, miss.line)))


def _tiled(material: KeyMaterial) -> Iterator[str]:
    """Every file of the key in ranges that the tolerance joins."""
    paths = dict.fromkeys(path for path, _ in material.right)
    tiles = []
    for path in paths:
        last = material.files.read(path).count(b"\n") + 1
        tiles += [f"- `{path}:{first}-{first + 9}`" for first in range(1, last, 10)]
    # Of a file of a few lines, all may be where the place is.
    if any(not material.is_known(path, 1) for path in paths) and len(tiles) > len(material.right):
        yield "\n".join([*tiles, "", f"FOUND: {len(material.right)}"])


def _first_lines(material: KeyMaterial) -> Iterator[str]:
    paths = sorted(material.files.paths())
    heads = tuple((path, 1) for path in paths[:200] if not material.is_known(path, 1))
    if heads:
        yield answered(heads, said=len(material.right))


def _another_key(material: KeyMaterial) -> Iterator[str]:
    for other in material.others:
        places = tuple((place.path, place.line) for place in other.places)
        if places and not any(material.is_known(*place) for place in places):
            yield answered(places)
            return


def _echoed(material: KeyMaterial) -> Iterator[str]:
    yield f"{material.prompt}\n\nFOUND: {len(material.right) or 1}"


def _refused(_: KeyMaterial) -> Iterator[str]:
    yield "I could not establish this, and would rather not guess."


def _hedged(material: KeyMaterial) -> Iterator[str]:
    """It says none, and names a place all the same."""
    if not material.right:
        for path, line in material.elsewhere[:2]:
            yield f"There is none, but maybe {path}:{line}.\n\nFOUND: 0"


def _shuffled(material: KeyMaterial) -> Iterator[str]:
    *places, said = material.text.split("\n")
    yield "\n".join([*map(shuffled, places), said])


SHUFFLED = "words shuffled in each sentence (places stay)"
KINDS: dict[str, Callable[[KeyMaterial], Iterator[str]]] = {
    "every place moved by 20 lines": _moved,
    "one place moved by 20 lines": _one_moved,
    "lines swapped between places": _swapped,
    "every place moved to another file": _in_another_file,
    "places removed": _removed,
    "one place missing": _one_missing,
    "one place too many": _one_too_many,
    "padded with places that nobody asked for": _padded,
    "a near miss beside the places": _near_misses,
    "files tiled with ranges": _tiled,
    "the first line of every file": _first_lines,
    "the key of another question": _another_key,
    "the question's own words": _echoed,
    "a refusal": _refused,
    "none, but maybe one": _hedged,
    SHUFFLED: _shuffled,
}
NO_GAIN = frozenset({SHUFFLED})


# --- a question's pairs ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PairsOfQuestion:
    """How one question's pairs came out."""

    asked: Counter[str] = field(default_factory=Counter)
    """Kind -> pairs."""
    lost: tuple[tuple[str, str], ...] = ()
    """Kind of each pair in which the worse answer was not worse, and that answer."""

    @property
    def share(self) -> float:
        return 1 - len(self.lost) / self.asked.total()


def ask_pairs(
    judge: ByKey,
    loaded: ScenarioWithRubric,
    files: Files,
    others: Sequence[ExactKey] = (),
    cache_dir: Path | None = None,
) -> PairsOfQuestion:
    """Every pair of a question, and which were lost."""
    material = _material(loaded, files, others)

    def quality(text: str) -> float:
        steps = answer_steps(loaded.scenario, [text])
        cited = step_citations(ground([text], files, cache_dir=cache_dir))
        return judge.verdict(loaded.rubric, steps, must_find(loaded.scenario), cited).quality

    best = quality(material.text)
    asked: Counter[str] = Counter()
    lost = []
    for worse in worse_than(material):
        asked[worse.kind] += 1
        ahead = best - quality(worse.text)
        # What is not right to begin with can lose to anything.
        if best < ALL - ROUNDING or not is_won(ahead, no_gain=worse.no_gain):
            lost.append((worse.kind, worse.text))
    return PairsOfQuestion(asked=asked, lost=tuple(lost))


def _material(loaded: ScenarioWithRubric, files: Files, others: Sequence[ExactKey]) -> KeyMaterial:
    (step,), (asked,) = loaded.scenario.steps, loaded.rubric.steps
    assert asked.key is not None  # noqa: S101 - only questions are asked about
    return KeyMaterial(key=asked.key, files=files, prompt=step.prompt, others=others)
