"""The judge that needs no model and no words: a key holds every place of a right answer.

It reads what an answer cites, as the grounding room finds it, and nothing else of its words but one
line (docs/exact.md). Quality is F1, the harmonic mean of

- recall: places of the key that are found. One citation finds one place, and a place is found once;
- precision: places found / (places found + what is cited beside them).

A cited line finds a place that it misses by at most 5 lines, and a range one that it holds: one of
few lines may be off by as much as makes eleven in all. What the key calls wrong and lies nearer
takes it away; what is nearer to something optional, such as the head of the function that calls,
finds the nearest place if nothing else does, and costs nothing. Lines cost: a range that is longer
than what it finds is charged as the citations it would take to cover it one by one, so that a file
tiled with ranges is worth what a file sprayed with lines is. A path that may be several files of
the commit finds nothing.

A key without places is right or wrong: the answer's last `FOUND:` line says 0, and it cites nothing
but what is optional. Words around that line are free, in any language; an answer without it, such
as a refusal, does not say that there is none, and nobody guesses. Where there are places, an answer
with that line has found none, whatever it cites.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from runner.grounding.pointing import TOLERANCE, points_at, same_file
from runner.grounding.verify import ground, step_citations
from runner.protocols import HoldsFiles, LineSource
from runner.records import (
    AnswerStep,
    Citation,
    CriterionVerdict,
    ExactKey,
    FactVerdict,
    FalseClaim,
    MustCite,
    Placing,
    Rubric,
    StepVerdict,
    Verdict,
    digest_of,
)
from runner.scoring.judges.inputs import judging_code, verdict_inputs
from runner.support.errors import NoVerdict

NAME = "exact"
SEMANTICS = "1"
"""Raise it if the meaning of a key changes. The code's digest covers whatever is forgotten."""
FOUND, BESIDE, NONE = "places found", "cited beside them", "says that there is none"
"""Criteria of a verdict, each of one: recall, precision, and whether it rightly says none."""
_MARKS = r"[^\w\n]{0,20}"
_SAYS = re.compile(
    # **FOUND:** 0, FOUND: 0 (no callers), Nobody calls it. FOUND： 0; not "I'd say FOUND: 0 if …"
    rf"(?:^|[.:!?>]\s{{0,4}}){_MARKS}(?:\d\W{{1,4}})?found{_MARKS}[:：]{_MARKS}"
    r"(?:(?P<none>0{1,6}|none)|\d{1,6})\b(?P<rest>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_HEDGE = re.compile(r"\d|\b(?:if|maybe|perhaps|or|unless)\b", re.IGNORECASE)

CitationsOf = Sequence[Sequence[Citation]]
"""Of each step, as verified at the commit."""


class Exact:
    """A `Judge` of questions with a key. It has no verdict on any other."""

    deterministic = True

    def __init__(self) -> None:
        self.name = NAME
        self.identity = _identity()

    def judge(
        self,
        rubric: Rubric,
        answer: Sequence[AnswerStep],
        must_find: Sequence[Sequence[MustCite]],
        source: LineSource | None = None,
    ) -> Verdict:
        """Raises NoVerdict for a rubric without keys, or a source without the commit's files."""
        if not isinstance(source, HoldsFiles):
            raise NoVerdict("the commit's files are not there to resolve citations by")
        cited = step_citations(ground([step.text for step in answer], source.files()))
        return self.verdict(rubric, answer, must_find, cited)

    def verdict(
        self,
        rubric: Rubric,
        answer: Sequence[AnswerStep],
        must_find: Sequence[Sequence[MustCite]],
        cited: CitationsOf,
    ) -> Verdict:
        """The same, of citations that are verified already."""
        if not rubric.is_keyed:
            raise NoVerdict(f"{NAME} reads keys alone, and this rubric has none")
        steps: list[StepVerdict] = []
        facts: list[FactVerdict] = []
        claims: list[FalseClaim] = []
        for asked, given, citations in zip(rubric.steps, answer, cited, strict=True):
            assert asked.key is not None  # noqa: S101 - the rubric is keyed
            marked = Marked(key=asked.key, text=given.text, cited=distinct(citations))
            steps.append(marked.verdict(asked.name))
            facts += marked.facts(asked.name)
            claims += marked.near_misses(asked.name)
        return Verdict(
            judge=self.name,
            identity=self.identity,
            inputs=verdict_inputs(rubric, answer, must_find),
            quality=math.fsum(step.quality for step in steps) / len(steps),
            steps=tuple(steps),
            facts=tuple(facts),
            false_claims=tuple(claims),
        )


@cache
def _identity() -> str:
    return digest_of([NAME, SEMANTICS, judging_code(Exact)])


# --- one answer -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CitedSpan:
    """What one citation points at."""

    written: str
    path: str
    start: int
    end: int
    is_known: bool
    """Its path is of one file: `__init__.py` may be any of a hundred, and is no place."""

    @property
    def lines(self) -> int:
        return self.end - self.start + 1

    def reaches(self, place: MustCite) -> bool:
        """A line may be 5 off. A range reaches what it holds, and as many lines as a line does."""
        slack = max(0, TOLERANCE - self.lines // 2)
        near = self.distance(place) <= slack
        return near and self.is_known and points_at(self.path, self.start, self.end, place)

    def distance(self, place: MustCite) -> int:
        """Lines between the two; 0 if they overlap."""
        return max(0, self.start - (place.end or place.line), place.line - self.end)

    def cost(self, place: MustCite | None) -> float:
        """In citations: how many of them would point at as many lines as this one does."""
        own = 1 if place is None else (place.end or place.line) - place.line + 1
        return max(1.0, self.lines / (own + 2 * TOLERANCE))


def distinct(citations: Iterable[Citation]) -> tuple[CitedSpan, ...]:
    """Each place that is cited with a line, once."""
    spans: dict[tuple[str, int, int], CitedSpan] = {}
    for one in citations:
        if one.start is None:
            continue
        first, last = sorted((one.start, one.end or one.start))
        is_known = one.resolution != "ambiguous"
        span = CitedSpan(
            written=one.written, path=one.path, start=first, end=last, is_known=is_known
        )
        spans.setdefault((one.path, first, last), span)
    return tuple(spans.values())


@dataclass(frozen=True, kw_only=True)
class Marked:
    """One step's answer, marked by its key."""

    key: ExactKey
    text: str
    cited: tuple[CitedSpan, ...]

    # --- the figures ---

    @property
    def recall(self) -> float:
        """0 beside the line that says none: as a free addition it would win where it is right."""
        return 0.0 if self.says_none else len(self.found) / len(self.key.places)

    @property
    def precision(self) -> float:
        found = len(self.found)
        return found / (found + self.beside) if found else 0.0

    @property
    def quality(self) -> float:
        if not self.key.places:
            return float(self.says_none and not self.beside)
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @cached_property
    def beside(self) -> float:
        """What is cited beside the places, in citations; lines beyond a place's own count too."""
        return math.fsum(map(self._charge, self.cited))

    @cached_property
    def says_none(self) -> bool:
        last = max(_SAYS.finditer(self.text), key=re.Match.start, default=None)
        return last is not None and bool(last["none"]) and not _HEDGE.search(last["rest"])

    # --- which citation is of what ---

    @cached_property
    def found(self) -> Mapping[MustCite, CitedSpan]:
        """Place -> the citation that finds it; as many places as can be, whatever the order."""
        found: dict[MustCite, CitedSpan] = {}
        for span in self.cited:
            if not self._is_aside(span):
                self._assign(span, found, set())
        # Afterwards, and the nearest place alone: beside two calls, a function's head and one of
        # them would be taken for both.
        for span in filter(self._is_aside, self.cited):
            for place in self._meant[span][:1]:
                found.setdefault(place, span)
        return found

    def _assign(
        self, span: CitedSpan, found: dict[MustCite, CitedSpan], tried: set[MustCite]
    ) -> bool:
        """A step of Kuhn's algorithm: a place that is taken goes free if its citation has one."""
        for place in self._meant[span]:
            if place in tried:
                continue
            tried.add(place)
            if place not in found or self._assign(found[place], found, tried):
                found[place] = span
                return True
        return False

    @cached_property
    def _meant(self) -> Mapping[CitedSpan, tuple[MustCite, ...]]:
        """Citation -> the places that it may find, nearest first."""
        return {span: self._candidates(span) for span in self.cited}

    def _candidates(self, span: CitedSpan) -> tuple[MustCite, ...]:
        reached = [place for place in self.key.places if span.reaches(place)]
        nearest = _nearest(span, self.key.wrong)
        kept = [place for place in reached if span.distance(place) <= nearest]
        return tuple(sorted(kept, key=lambda place: (span.distance(place), place.line)))

    def _is_aside(self, span: CitedSpan) -> bool:
        """Is it nearer to something optional than to a place?"""
        return _nearest(span, self.key.optional) < _nearest(span, self.key.places)

    def _charge(self, span: CitedSpan) -> float:
        """0 for a citation of a place, or of something optional, that is no longer than that."""
        meant = self._meant[span]
        if meant:
            return min(span.cost(place) for place in meant) - 1
        return self._elsewhere(span)

    def _elsewhere(self, span: CitedSpan) -> float:
        free = [it for it in self.key.optional if span.reaches(it)]
        if not free or _nearest(span, self.key.wrong) < _nearest(span, free):
            return span.cost(None)
        return min(map(span.cost, free)) - 1

    def _near_miss(self, span: CitedSpan) -> MustCite | None:
        missed = [place for place in self.key.wrong if span.reaches(place)]
        return min(missed, key=span.distance, default=None)

    # --- the record ---

    def verdict(self, step: str) -> StepVerdict:
        return StepVerdict(name=step, quality=self.quality, criteria=dict(self._criteria()))

    def _criteria(self) -> Iterator[tuple[str, CriterionVerdict]]:
        if not self.key.places:
            yield NONE, CriterionVerdict(score=self.quality, reason=self._why_none())
            return
        reason = f"{len(self.found)} of {len(self.key.places)} places"
        reason += ", and `FOUND: 0` says that there is none" if self.says_none else ""
        yield FOUND, CriterionVerdict(score=self.recall, reason=reason)
        yield (
            BESIDE,
            CriterionVerdict(score=self.precision, reason=f"{self.beside:.1f} beside them"),
        )

    def _why_none(self) -> str:
        if not self.says_none:
            return "no line `FOUND: 0`: it does not say that there is none"
        return (
            f"{self.beside:.1f} places are cited all the same" if self.beside else "none, rightly"
        )

    def facts(self, step: str) -> Iterator[FactVerdict]:
        """Of each place, whether it is found; a right file with a wrong line is told apart."""
        for place in self.key.places:
            span = self.found.get(place)
            yield FactVerdict(
                step=step,
                criterion=FOUND,
                says=_shown(place),
                verdict="stated" if span else "absent",
                quote=span.written if span else "",
                place="right" if span else self._placing(place),
                credit=float(span is not None),
            )

    def _placing(self, place: MustCite) -> Placing:
        if any(same_file(span.path, place.path) for span in self._spare):
            return "wrong_line"
        return "wrong_file" if self._spare else "none"

    @cached_property
    def _spare(self) -> list[CitedSpan]:
        """Citations of no place and nothing optional."""
        return [span for span in self.cited if not self._meant[span] and self._charge(span) >= 1]

    def near_misses(self, step: str) -> Iterator[FalseClaim]:
        """What is cited and stands in the key as certainly wrong."""
        for span in self._spare:
            miss = self._near_miss(span)
            if miss is not None:
                yield FalseClaim(
                    step=step,
                    criterion=BESIDE if self.key.places else NONE,
                    quote=span.written,
                    path=miss.path,
                    line=miss.line,
                    credit=-1.0,
                )


def _nearest(span: CitedSpan, places: Iterable[MustCite]) -> int:
    """Lines to the nearest of those it reaches; more than any of them if it reaches none."""
    reached = (span.distance(place) for place in places if span.reaches(place))
    return min(reached, default=TOLERANCE + 1)


def _shown(place: MustCite) -> str:
    lines = f"{place.line}-{place.end}" if place.end else f"{place.line}"
    return f"{place.path}:{lines} {place.symbol or ''}".rstrip()
