# ruff: noqa: T201 - it prints what it finds
"""Does the reader that ranks order answers whose grades have set no price?

`python -m tests.fresh_answers` prints it. tests/data/fresh_answers.jsonl holds 24 answers to the
six core scenarios: written by language models that saw neither rubric nor reference, in kinds from
thorough to made from memory; graded blind and shuffled by two others, one with the rubric's facts
and one without; and what the reader of locks/examinations said of each step, in contexts that met
no step twice. What a reading is worth is counted anew, with today's prices.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
class FreshStep:
    """A step of an answer, graded twice."""

    answer: str
    kind: str
    text: str
    grades: tuple[float, float]
    quality: float
    """The reader's."""

    @property
    def gold(self) -> float:
        return sum(self.grades) / 2


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


def graded_steps() -> list[FreshStep]:
    """Without junk."""
    return [it for it in fresh_steps() if it.gold > JUNK]


def figures(steps: Sequence[FreshStep], gold: Sequence[float], judged: Sequence[float]) -> str:
    names = sorted({it.answer for it in steps})
    groups = [names.index(it.answer) for it in steps]
    rho, pairs = correlate(gold, judged, groups), concordance(gold, judged, GAP)
    span = f" [{rho.low:.2f}, {rho.high:.2f}]" if rho.low is not None else ""
    return f"rho {rho.rho:.3f}{span}, pairs {pairs.share:.3f} of {pairs.pairs}"


def main() -> None:
    steps = graded_steps()
    print(f"{len(steps)} steps of {len({it.answer for it in steps})} answers, no junk")
    gold = [it.gold for it in steps]
    one, other = [it.grades[0] for it in steps], [it.grades[1] for it in steps]
    print("the reader       ", figures(steps, gold, [it.quality for it in steps]))
    print("length in words  ", figures(steps, gold, [float(len(it.text.split())) for it in steps]))
    print("grader by grader ", figures(steps, one, other))
    for kind in sorted({it.kind for it in steps}):
        own = [it for it in steps if it.kind == kind]
        by_hand = sum(it.gold for it in own) / len(own)
        read = sum(it.quality for it in own) / len(own)
        print(f"{kind}: {len(own)} steps, by hand {by_hand:.2f}, the reader {read:.2f}")


if __name__ == "__main__":
    main()
