"""Where the threshold of `--judge local:<path.gguf>` comes from, and what it is worth elsewhere.

    python -m tests.bench_local_judge WEIGHTS.gguf [--threads N]

Each row is one fact and the passage that the judge would read for it: of a reference answer
(`right`), of the same with one fact turned round by hand (`turned`), or of its answer to another
step (`absent`). The threshold is fitted on the scenarios of DEVELOPMENT and reported on the others.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from runner.anchors.material import must_find
from runner.catalog import LoadedScenario
from runner.judges.nearest import Nearest
from runner.judges.reading import Reading, facts_of
from runner.proofs import answer_steps
from runner.records import AnswerStep, Fact, MustCite, RubricStep, TurnedPair, digest_of
from tests.bench_judge import DEVELOPMENT, catalog

FITTED, REPORTED = 16, 24
"""Turned pairs of each half: each gives three rows."""
NOT_OF_THE_FACT = frozenset({("fastify-request-hooks", 7), ("flask-error-handling", 68)})
"""Pairs that turn something beside the fact whose words they change: read by hand."""
COMMON = frozenset("the a an of to in is are it its and or that this with for by on as at".split())


@dataclass(frozen=True, kw_only=True)
class Row:
    scenario: str
    kind: str
    """`right`, `absent`, or `turned: ` and how."""
    fact: str
    passage: str

    @property
    def is_stated(self) -> bool:
        return self.kind == "right"


@dataclass(frozen=True, kw_only=True)
class _Step:
    rubric: RubricStep
    answer: AnswerStep
    places: Sequence[MustCite]

    def nearest(self, text: str = "") -> Nearest:
        """In the answer, or in another text."""
        answer = self.answer.model_copy(update={"text": text or self.answer.text})
        return Nearest(Reading(self.rubric, answer, self.places))


def _passage(nearest: Nearest, fact: Fact) -> str:
    units = nearest.passage(fact)
    return nearest.reading.quote(units) if units else ""


def rows(half: frozenset[str], most: int) -> list[Row]:
    """Three for each turned pair drawn, of all scenarios of the half alike."""
    drawn: list[list[Row]] = []
    for name in sorted(half):
        drawn += islice(_of_scenario(catalog().scenarios[name]), -(-most // len(half)))
    drawn.sort(key=lambda three: digest_of(three[0].passage))
    found: list[Row] = []
    for three in drawn[:most]:
        found += three
    return found


def _of_scenario(loaded: LoadedScenario) -> Iterator[list[Row]]:
    """In an order that is the same each time, and not the author's."""
    steps = {}
    answers = answer_steps(loaded.scenario, loaded.reference)
    for rubric, answer, places in zip(
        loaded.rubric.steps, answers, must_find(loaded.scenario), strict=True
    ):
        steps[rubric.name] = _Step(rubric=rubric, answer=answer, places=places)
    for number, pair in sorted(enumerate(loaded.turned), key=lambda item: digest_of(item[1].wrong)):
        if (loaded.scenario.id, number) not in NOT_OF_THE_FACT:
            step = steps[pair.step]
            others = [other for other in steps.values() if other is not step]
            yield from _of_pair(loaded.scenario.id, pair, step, others)


def _of_pair(
    scenario: str, pair: TurnedPair, step: _Step, others: Sequence[_Step]
) -> Iterator[list[Row]]:
    """Of the first fact that the turned words are of."""
    about = [fact for fact in facts_of(step.rubric).values() if _is_about(pair, fact)]
    if not about:
        return
    original, other = step.nearest(), others[0].nearest()
    turned = step.nearest(step.answer.text.replace(pair.right, pair.wrong))
    for fact in about:
        right, wrong = _passage(original, fact), _passage(turned, fact)
        absent = _passage(other, fact)
        if right != wrong and absent:
            kinds = {"right": right, f"turned: {pair.kind}": wrong, "absent": absent}
            yield [
                Row(scenario=scenario, kind=kind, fact=fact.says, passage=passage)
                for kind, passage in kinds.items()
            ]
            return


def _is_about(pair: TurnedPair, fact: Fact) -> bool:
    """Are most of the words that were changed the fact's own?"""
    right, wrong = _words(pair.right), _words(pair.wrong)
    gone = set()
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, right, wrong).get_opcodes():
        if kind != "equal":
            gone |= set(right[start:end]) - COMMON
    return bool(gone) and len(gone & set(_words(fact.says))) >= len(gone) / 2


def _words(text: str) -> list[str]:
    return [word[:5] for word in re.findall(r"[\w.]+", text.lower())]
