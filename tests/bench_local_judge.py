"""Where the threshold of `--judge local:<path.gguf>` comes from, and what it is worth elsewhere.

    python -m tests.bench_local_judge WEIGHTS.gguf [--threads N]

Each row is one fact and the passage that the judge would read for it: of a reference answer
(`right`), of the same with one fact turned round by hand (`turned`), or of its answer to another
step (`absent`). The threshold is fitted on the scenarios of DEVELOPMENT and reported on the others.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from runner.agents.models import weights_server
from runner.agents.models.model_settings import LocalSettings, ModelSettings
from runner.agents.models.weights_server import locate_weights
from runner.catalog.catalog import LoadedScenario
from runner.records import AnswerStep, ContrastPair, Fact, MustCite, RubricStep, digest_of
from runner.scoring.judges.checklist.parsed_answer import ParsedAnswer, facts_of
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.scoring.judges.local_judge import LocalJudge
from runner.scoring.judges.nearest import Nearest
from runner.scoring.steps import answer_steps, must_find
from tests.bench_judge import DEVELOPMENT, catalog

FITTED, REPORTED = 16, 24
"""Contrast pairs of each half: each gives three rows."""
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
        return Nearest(ParsedAnswer(self.rubric, answer, self.places))


def _passage(nearest: Nearest, fact: Fact) -> str:
    units = nearest.passage(fact)
    return nearest.reading.quote(units) if units else ""


def rows(half: frozenset[str], most: int) -> list[Row]:
    """Three for each contrast pair drawn, of all scenarios of the half alike."""
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
    for number, pair in sorted(
        enumerate(loaded.contrast_pairs), key=lambda item: digest_of(item[1].wrong)
    ):
        if (loaded.scenario.id, number) not in NOT_OF_THE_FACT:
            step = steps[pair.step]
            others = [other for other in steps.values() if other is not step]
            yield from _of_pair(loaded.scenario.id, pair, step, others)


def _of_pair(
    scenario: str, pair: ContrastPair, step: _Step, others: Sequence[_Step]
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


def _is_about(pair: ContrastPair, fact: Fact) -> bool:
    """Are most of the words that were changed the fact's own?"""
    right, wrong = _words(pair.right), _words(pair.wrong)
    gone = set()
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, right, wrong).get_opcodes():
        if kind != "equal":
            gone |= set(right[start:end]) - COMMON
    return bool(gone) and len(gone & set(_words(fact.says))) >= len(gone) / 2


def _words(text: str) -> list[str]:
    return [word[:5] for word in re.findall(r"[\w.]+", text.lower())]


# --- reading them ---------------------------------------------------------------------------

Read = tuple[Row, float]
"""A row, and how probable `yes` was."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--replies", type=Path, help="a folder that keeps what was read")
    asked = parser.parse_args()
    judge = _judge(asked.weights, asked.threads, asked.replies)
    others = frozenset(
        name for name, loaded in catalog().scenarios.items() if loaded.contrast_pairs
    )
    fitted = _read(judge, rows(DEVELOPMENT, FITTED))
    reported = _read(judge, rows(others - DEVELOPMENT, REPORTED))
    for line in figures(fitted, reported):
        sys.stdout.write(f"{line}\n")


def _judge(path: str, threads: int, replies: Path | None) -> LocalJudge:
    (name,), files = locate_weights([weights_server.PREFIX + path], _tell)
    local = LocalSettings(files=files, threads=threads, context_tokens=4096)
    settings = JudgeSettings(
        models=ModelSettings(local=local), replies=replies, environ=os.environ, log=_tell
    )
    return LocalJudge(name.removeprefix(weights_server.PREFIX), settings)


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _read(judge: LocalJudge, given: Sequence[Row]) -> list[Read]:
    asks = []
    for row in given:
        asks.append(judge.ask(0, ("", 0), row.fact, row.passage))
    said = judge.asking.said(asks)
    return [(row, said[ask.key].yes) for row, ask in zip(given, asks, strict=True)]


# --- figures --------------------------------------------------------------------------------


def figures(fitted: Sequence[Read], reported: Sequence[Read]) -> Iterator[str]:
    threshold = fit(fitted)
    yield f"threshold {threshold:.3f}, fitted on {len(fitted)} rows"
    for name, read in (("fitted", fitted), ("reported", reported)):
        yield f"{name}: accuracy {accuracy(read, threshold):.2f} of {len(read)}"
        for kind in sorted({row.kind for row, _ in read}):
            own = [item for item in read if item[0].kind == kind]
            yield f"  {kind}: accuracy {accuracy(own, threshold):.2f} of {len(own)}"
        for kind in ("turned", "absent", ""):
            yield f"  right against {kind or 'all'}: AUC {auc(read, kind):.2f}"
        above = statistics.fmean(_turned_below(read))
        yield f"  right above the same turned round: {above:.2f}"


def fit(read: Sequence[Read]) -> float:
    """The middle of the best range: a half of the weight is on what is stated."""
    chances = sorted({0.0, 1.0, *(chance for _, chance in read)})
    middles = [(low + high) / 2 for low, high in pairwise(chances)]
    best = max(balanced(read, middle) for middle in middles)
    return statistics.median([at for at in middles if balanced(read, at) == best])


def accuracy(read: Sequence[Read], threshold: float) -> float:
    return statistics.fmean((chance >= threshold) == row.is_stated for row, chance in read)


def balanced(read: Sequence[Read], threshold: float) -> float:
    """Of stated and not stated alike: two rows in three are not."""
    stated = [item for item in read if item[0].is_stated]
    others = [item for item in read if not item[0].is_stated]
    return (accuracy(stated, threshold) + accuracy(others, threshold)) / 2


def auc(read: Sequence[Read], kind: str) -> float:
    """How often a stated fact has the higher chance, of all pairs with one that is not."""
    stated = [chance for row, chance in read if row.is_stated]
    others = [chance for row, chance in read if not row.is_stated and row.kind.startswith(kind)]
    wins = [(one > other) + (one == other) / 2 for one in stated for other in others]
    return statistics.fmean(wins)


def _turned_below(read: Sequence[Read]) -> Iterator[bool]:
    """Of each turned row: has the same fact a higher chance in its right passage?"""
    for (_, right), (turned, chance) in pairwise(read):
        if turned.kind.startswith("turned"):
            yield right > chance


if __name__ == "__main__":
    main()
