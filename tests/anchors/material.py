"""A whole checkout with three held-out scenarios of five graded transcripts each, small enough to make for every test."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from runner.anchors import gate
from runner.errors import NoVerdict
from runner.judges.checklist import Checklist
from runner.judges.inputs import verdict_inputs
from runner.records import AnswerStep, CriterionVerdict, MustCite, Rubric, StepVerdict, Verdict
from tests.scoring.material import GOOD, INVENTED, RUBRIC, SCENARIO, THIN, UNCITED

DATE = "2025-01-02"
HELD_OUT = ("queue-one", "queue-three", "queue-two")
CORE = "shop-queue"
FLUENT = (
    """Message queues such as this one are designed so that a failure does not lose work. The component in charge takes care to keep the
message safe, and a later pass gives it another chance. This is a robust and well-known pattern, and the code follows it with care: it is
easy to read, easy to extend, and the responsibilities of the classes are separated in a clean way, as one would hope for.""",
    "Other errors are handled in the usual manner, so nothing out of the ordinary should break, as far as one can tell from the design.",
)
RIGHT_THEN_SHORT = (GOOD[0], "It would not be handled, see `OSError` (shop/queue.py:14).")
HALF = ("\n".join(GOOD[0].split("\n")[:4]), THIN[1])
TWO_PLACES = ("\n".join(GOOD[0].split("\n")[:5]), GOOD[1])
ALMOST = (GOOD[0].replace("shop/store.py:2", "shop/store.py:29"), GOOD[1])
NO_SECOND = (GOOD[0], "")
FAR_OFF = (INVENTED[0].replace("Only `OSError` is caught.", ""), FLUENT[1])

ANSWERS: dict[str, dict[str, tuple[tuple[str, str], tuple[float, float, float]]]] = {
    # file name -> answer, and its grades: map_quality and justification of the first step, map_quality of the second
    "queue-one": {
        "right.jsonl": (GOOD, (1.0, 0.9, 1.0)),
        "thin.jsonl": (THIN, (0.4, 0.1, 0.9)),
        "invented.jsonl": (INVENTED, (0.1, 0.3, 0.1)),
        "uncited.jsonl": (UNCITED, (0.35, 0.8, 0.7)),
        "swapped.jsonl": ((GOOD[1], GOOD[0]), (0.05, 0.1, 0.0)),
    },
    "queue-two": {
        "right.jsonl": (TWO_PLACES, (0.7, 0.15, 1.0)),
        "thin.jsonl": (HALF, (0.65, 0.1, 0.9)),
        "invented.jsonl": (FAR_OFF, (0.1, 0.1, 0.0)),
        "fluent.jsonl": (FLUENT, (0.05, 0.05, 0.05)),
        "right-short.jsonl": (RIGHT_THEN_SHORT, (1.0, 0.95, 0.2)),
    },
    "queue-three": {
        "right.jsonl": (ALMOST, (0.85, 0.9, 1.0)),
        "no-second.jsonl": (NO_SECOND, (1.0, 0.9, 0.0)),
        "mixed.jsonl": ((UNCITED[0], GOOD[1]), (0.4, 0.75, 1.0)),
        "silent.jsonl": (("", ""), (0.0, 0.0, 0.0)),
        "half.jsonl": ((THIN[0], FLUENT[1]), (0.4, 0.05, 0.0)),
    },
}
"""For each step the answer, and grades by hand."""


def transcript(texts: Sequence[str]) -> str:
    """What a cell would have left, in our event format."""
    events: list[dict[str, Any]] = []
    for index, (step, text) in enumerate(zip(SCENARIO.steps, texts, strict=True)):
        events.append({"type": "prompt", "step": index, "text": step.prompt})
        if text:
            events.append({"type": "prose", "step": index, "turn": 0, "text": text})
        events.append({"type": "step_end", "step": index, "stop": "end"})
    return "".join(json.dumps(event) + "\n" for event in events)


def grades(scores: tuple[float, float, float]) -> list[dict[str, Any]]:
    steps = {
        "trace": {"map_quality": scores[0], "justification": scores[1]},
        "impact": {"map_quality": scores[2]},
    }
    return [
        {
            "name": name,
            "criteria": {
                criterion: {"score": score, "reason": "as read"}
                for criterion, score in criteria.items()
            },
        }
        for name, criteria in steps.items()
    ]


def graded(name: str, scores: tuple[float, float, float]) -> dict[str, Any]:
    return {"transcript": name, "graded_by": "a reader", "graded_at": DATE, "steps": grades(scores)}


class Tree:
    """The checkout, and how a cheat would lay hands on it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "images/servers").mkdir(parents=True)
        for name in HELD_OUT:
            self.write_scenario(f"held-out/{name}")
            for file, (texts, _) in ANSWERS[name].items():
                self.write(f"scenarios/held-out/{name}/transcripts/{file}", transcript(texts))
            self.write_gold(
                name, [graded(file, scores) for file, (_, scores) in ANSWERS[name].items()]
            )
        self.write_scenario(f"core/{CORE}")

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def edit(self, path: str, old: str, new: str) -> None:
        assert old in self.read(path), (path, old)
        self.write(path, self.read(path).replace(old, new))

    def write_scenario(self, folder: str) -> None:
        scenario = {**SCENARIO.model_dump(mode="json"), "id": folder.rpartition("/")[2]}
        self.write(f"scenarios/{folder}/scenario.yaml", yaml.safe_dump(scenario, sort_keys=False))
        self.write(
            f"scenarios/{folder}/rubric.yaml",
            yaml.safe_dump(RUBRIC.model_dump(mode="json"), sort_keys=False),
        )
        for number, text in enumerate(GOOD, start=1):
            self.write(f"scenarios/{folder}/reference/{number}.md", text + "\n")

    def write_gold(self, scenario: str, transcripts: list[dict[str, Any]]) -> None:
        gold = {"scenario": scenario, "transcripts": transcripts}
        self.write(
            f"scenarios/held-out/{scenario}/gold_scores.json", json.dumps(gold, indent=1) + "\n"
        )

    def rubric(self, folder: str) -> Any:
        return yaml.safe_load(self.read(f"scenarios/{folder}/rubric.yaml"))

    def write_rubric(self, folder: str, rubric: Any) -> None:
        self.write(f"scenarios/{folder}/rubric.yaml", yaml.safe_dump(rubric, sort_keys=False))

    def snapshot(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file()
        }


def locked(root: Path) -> Tree:
    """A tree with its first generation."""
    tree = Tree(root)
    gate.accept(tree.root, Checklist(), reason="first generation", date=DATE)
    return tree


class Judging:
    """A judge that scores every step by one function of its text; `deterministic` or not, reachable or not."""

    def __init__(
        self,
        score: Callable[[str], float],
        *,
        name: str = "cheat",
        identity: str = "1" * 64,
        deterministic: bool = True,
    ) -> None:
        self.score, self.name, self.identity, self.deterministic = (
            score,
            name,
            identity,
            deterministic,
        )
        self.asked = 0

    def judge(
        self, rubric: Rubric, answer: Sequence[AnswerStep], must_find: Sequence[Sequence[MustCite]]
    ) -> Verdict:
        self.asked += 1
        steps = []
        for asked, said in zip(rubric.steps, answer, strict=True):
            score = self.score(said.text)
            criteria = {name: CriterionVerdict(score=score, reason="so") for name in asked.criteria}
            quality = min(
                1.0, sum(criterion.weight * score for criterion in asked.criteria.values())
            )
            steps.append(StepVerdict(name=asked.name, quality=quality, criteria=criteria))
        return Verdict(
            judge=self.name,
            identity=self.identity,
            inputs=verdict_inputs(rubric, answer, must_find),
            quality=sum(step.quality for step in steps) / len(steps),
            steps=tuple(steps),
        )


class FarAway:
    """A judge as a model is one: asking again costs money, and it can be out of reach."""

    name = "far-away"
    deterministic = False

    def __init__(self, *, reachable: bool, identity: str = "2" * 64) -> None:
        self.reachable, self.identity, self.asked = reachable, identity, 0

    def judge(
        self, rubric: Rubric, answer: Sequence[AnswerStep], must_find: Sequence[Sequence[MustCite]]
    ) -> Verdict:
        if not self.reachable:
            raise NoVerdict("no API key")
        self.asked += 1
        return (
            Checklist()
            .judge(rubric, answer, must_find)
            .model_copy(update={"judge": self.name, "identity": self.identity})
        )
