# ruff: noqa: T201 - it prints what it finds
"""Does the reader that ranks order answers whose grades have set no price?

`python -m tests.fresh_answers` prints it. tests/data/fresh_answers.jsonl holds 24 answers to the
six core scenarios: written by language models that saw neither rubric nor reference, in kinds from
thorough to made from memory; graded blind and shuffled by two others, one with the rubric's facts
and one without; and what the reader of locks/examinations said of some of their steps, in contexts
that met no step twice. `quality` is what today's prices made of a reading when it was taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.records import Rubric, parse_yaml
from runner.scoring.rank_agreement import concordance, correlate

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
    quality: float | None
    """The reader's; None if it was not read."""

    @property
    def gold(self) -> float:
        return sum(self.grades) / 2


def fresh_steps() -> Iterator[FreshStep]:
    for line in ANSWERS.read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)
        path = ROOT / "scenarios" / "core" / answer["scenario"] / "rubric.yaml"
        rubric = parse_yaml(path.read_text(encoding="utf-8"), Rubric, where=str(path))
        weights = {
            step.name: {name: it.weight for name, it in step.criteria.items()}
            for step in rubric.steps
        }
        for step in answer["steps"]:
            first, second = (_weighed(grade, weights[step["name"]]) for grade in step["grades"])
            yield FreshStep(
                answer=answer["name"],
                kind=answer["kind"],
                text=step["text"],
                grades=(first, second),
                quality=step["quality"],
            )


def _weighed(grade: dict[str, float], weights: dict[str, float]) -> float:
    whole = sum(weights.values())
    return sum(weight * grade[name] for name, weight in weights.items()) / whole


def read_steps() -> list[FreshStep]:
    """Those that were read, without junk."""
    return [it for it in fresh_steps() if it.quality is not None and it.gold > JUNK]


def figures(steps: Sequence[FreshStep], gold: Sequence[float], judged: Sequence[float]) -> str:
    names = sorted({it.answer for it in steps})
    groups = [names.index(it.answer) for it in steps]
    rho, pairs = correlate(gold, judged, groups), concordance(gold, judged, GAP)
    span = f" [{rho.low:.2f}, {rho.high:.2f}]" if rho.low is not None else ""
    return f"rho {rho.rho:.3f}{span}, pairs {pairs.share:.3f} of {pairs.pairs}"


def main() -> None:
    steps = read_steps()
    print(f"{len(steps)} steps of {len({it.answer for it in steps})} answers, no junk")
    gold = [it.gold for it in steps]
    one, other = [it.grades[0] for it in steps], [it.grades[1] for it in steps]
    print("the reader       ", figures(steps, gold, [it.quality or 0.0 for it in steps]))
    print("length in words  ", figures(steps, gold, [float(len(it.text.split())) for it in steps]))
    print("grader by grader ", figures(steps, one, other))
    for kind in sorted({it.kind for it in steps}):
        own = [it for it in steps if it.kind == kind]
        by_hand = sum(it.gold for it in own) / len(own)
        read = sum(it.quality or 0.0 for it in own) / len(own)
        print(f"{kind}: {len(own)} steps, by hand {by_hand:.2f}, the reader {read:.2f}")


if __name__ == "__main__":
    main()
