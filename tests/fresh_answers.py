# ruff: noqa: T201 - it prints what it finds
"""Does the reader that ranks order answers that are no anchors?

`python -m tests.fresh_answers` prints it. tests/data/fresh_answers.jsonl holds 78 answers to the
six core scenarios: written by language models that saw neither rubric nor reference, in kinds from
thorough to made from memory; graded blind and shuffled by two others, one with the rubric's facts
and one without; and what the reader of locks/examinations said of each step, in contexts that met
no step twice. What a reading is worth is counted anew, with today's prices.

The grades of 58 have set prices (`priced`), those of 20 none (`unpriced`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, TypeVar

from runner.catalog.catalog import LoadedScenario, load_catalog
from runner.records import AnswerStep
from runner.scoring.judges.counting import Counting, StepReading
from runner.scoring.judges.form import ClaimReading, FactReading
from runner.scoring.judges.model import shown_with_facts
from runner.scoring.rank_agreement import concordance, correlate
from runner.scoring.steps import must_find

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = Path(__file__).parent / "data" / "fresh_answers.jsonl"
JUNK = 0.1
"""Graded no higher."""
GAP = 0.1


@dataclass(frozen=True, kw_only=True)
class FreshAnswer:
    """Graded twice."""

    answer: str
    text: str
    grades: tuple[float, float]
    quality: float
    """The reader's."""

    @property
    def gold(self) -> float:
        return mean(self.grades)


@dataclass(frozen=True, kw_only=True)
class FreshStep(FreshAnswer):
    kind: str
    lot: str


Fresh = TypeVar("Fresh", bound=FreshAnswer)


def fresh_steps() -> Iterator[FreshStep]:
    scenarios = load_catalog(ROOT).scenarios
    for line in ANSWERS.read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)
        loaded = scenarios[answer["scenario"]]
        for number, step in enumerate(answer["steps"]):
            criteria = loaded.rubric.steps[number].criteria
            weights = {name: it.weight for name, it in criteria.items()}
            first, second = (_weighed(grade, weights) for grade in step["grades"])
            yield FreshStep(
                answer=answer["name"],
                kind=answer["kind"],
                lot=answer["lot"],
                text=step["text"],
                grades=(first, second),
                quality=_counted(loaded, number, step),
            )


def _counted(loaded: LoadedScenario, number: int, step: dict[str, Any]) -> float:
    """What the reading is worth; which lines were shown follows from the facts' places alone."""
    rubric, prompt = loaded.rubric.steps[number], loaded.scenario.steps[number].prompt
    answer = AnswerStep(name=step["name"], prompt=prompt, text=step["text"], completed=True)
    shown = dict(shown_with_facts(rubric, _Unread()))
    counting = Counting(rubric, answer, must_find(loaded.scenario)[number], shown)
    facts = {
        key: FactReading(**step["read"]["facts"][fact.says]) for key, fact in counting.facts.items()
    }
    claims = [ClaimReading(**claim) for claim in step["read"]["false_claims"]]
    return counting.count(StepReading(facts=facts, false_claims=claims)).step.quality


class _Unread:
    """A source of whose lines nothing is asked but where they stand."""

    def lines(self, path: str, start: int, end: int) -> str:
        return ""


def _weighed(grade: dict[str, float], weights: dict[str, float]) -> float:
    whole = sum(weights.values())
    return sum(weight * grade[name] for name, weight in weights.items()) / whole


def without_junk(steps: Iterable[Fresh]) -> list[Fresh]:
    return [it for it in steps if it.gold > JUNK]


def whole(steps: Iterable[FreshStep]) -> list[FreshAnswer]:
    """The answers, each the mean of its steps."""
    by_answer: dict[str, list[FreshStep]] = {}
    for step in steps:
        by_answer.setdefault(step.answer, []).append(step)
    answers = []
    for name, own in by_answer.items():
        grades = (mean(it.grades[0] for it in own), mean(it.grades[1] for it in own))
        quality = mean(it.quality for it in own)
        text = "\n".join(it.text for it in own)
        answers.append(FreshAnswer(answer=name, text=text, grades=grades, quality=quality))
    return answers


def figures(some: Sequence[Fresh], gold: Sequence[float], judged: Sequence[float]) -> str:
    names = sorted({it.answer for it in some})
    groups = [names.index(it.answer) for it in some]
    rho, pairs = correlate(gold, judged, groups), concordance(gold, judged, GAP)
    span = f" [{rho.low:.2f}, {rho.high:.2f}]" if rho.low is not None else ""
    return f"rho {rho.rho:.3f}{span}, pairs {pairs.share:.3f} of {pairs.pairs}"


def _print(title: str, some: Sequence[Fresh]) -> None:
    print(f"{title}, no junk: {len(some)}")
    gold = [it.gold for it in some]
    one, other = [it.grades[0] for it in some], [it.grades[1] for it in some]
    print("  the reader       ", figures(some, gold, [it.quality for it in some]))
    print("  length in words  ", figures(some, gold, [float(len(it.text.split())) for it in some]))
    print("  grader by grader ", figures(some, one, other))


def main() -> None:
    every = list(fresh_steps())
    for lot in dict.fromkeys(it.lot for it in every):
        steps = [it for it in every if it.lot == lot]
        _print(f"{lot}: whole answers", without_junk(whole(steps)))
        _print(f"{lot}: steps", without_junk(steps))
        for kind in sorted({it.kind for it in steps}):
            own = [it for it in steps if it.kind == kind]
            by_hand, read = mean(it.gold for it in own), mean(it.quality for it in own)
            print(f"  {kind}: {len(own)} steps, by hand {by_hand:.2f}, the reader {read:.2f}")


if __name__ == "__main__":
    main()
