"""A checkout with three held-out scenarios of five graded transcripts each, made for every test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from runner.gate import gate
from runner.gate.examination import Examined
from runner.protocols import LineSource
from runner.records import (
    AnswerStep,
    CriterionVerdict,
    GateVerdict,
    MustCite,
    Rubric,
    RubricStep,
    StepVerdict,
    Verdict,
)
from runner.scoring.judges.checklist.checklist import Checklist
from runner.scoring.judges.inputs import verdict_inputs
from runner.scoring.judges.replies import REPLIES
from runner.support.errors import NoVerdict
from tests.checkout import committed, pin
from tests.scoring.material import GOOD, INVENTED, RUBRIC, SCENARIO, THIN, TREE, UNCITED

DATE = "2025-01-02"
HELD_OUT = ("queue-one", "queue-three", "queue-two")
CORE = "shop-queue"
# Reads well and says nothing: a judge of style would put it on top.
FLUENT = (
    "Message queues such as this one are designed so that a failure does not lose work. "
    "The component in charge takes care to keep the\n"
    "message safe, and a later pass gives it another chance. This is a robust and well-known "
    "pattern, and the code follows it with care: it is\n"
    "easy to read, easy to extend, and the responsibilities of the classes are separated in a "
    "clean way, as one would hope for.",
    "Other errors are handled in the usual manner, so nothing out of the ordinary should break, "
    "as far as one can tell from the design.",
)
RIGHT_THEN_SHORT = (GOOD[0], "It would not be handled, see `OSError` (shop/queue.py:14).")
HALF = ("\n".join(GOOD[0].split("\n")[:4]), THIN[1])
TWO_PLACES = ("\n".join(GOOD[0].split("\n")[:5]), GOOD[1])
ALMOST = (GOOD[0].replace("shop/store.py:2", "shop/store.py:29"), GOOD[1])
NO_SECOND = (GOOD[0], "")
FAR_OFF = (INVENTED[0].replace("Only `OSError` is caught.", ""), FLUENT[1])

Grades = tuple[float, float, float]
"""By hand: map_quality and justification of the first step, map_quality of the second."""
ANSWERS: dict[str, dict[str, tuple[tuple[str, str], Grades]]] = {
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
"""Scenario -> file name -> the answer to each step, and its grades."""
DICE = (0.1, 0.9, 0.5, 0.3, 0.7)
"""A grade for each transcript of a scenario, whatever it says."""


def transcript(texts: Sequence[str]) -> str:
    """What a cell would have left, in our event format."""
    lines = []
    for index, (step, text) in enumerate(zip(SCENARIO.steps, texts, strict=True)):
        lines += [json.dumps(event) for event in _events(index, step.prompt, text)]
    return "\n".join([*lines, ""])


def _events(step: int, prompt: str, text: str) -> Iterator[dict[str, Any]]:
    yield {"type": "prompt", "step": step, "text": prompt}
    # A model that says nothing leaves no prose event, not an empty one.
    if text:
        yield {"type": "prose", "step": step, "turn": 0, "text": text}
    yield {"type": "step_end", "step": step, "stop": "end"}


def _grade(score: float) -> dict[str, Any]:
    return {"score": score, "reason": "as read"}


def _grades(scores: Grades) -> list[dict[str, Any]]:
    first, second, third = (_grade(score) for score in scores)
    return [
        {"name": "trace", "criteria": {"map_quality": first, "justification": second}},
        {"name": "impact", "criteria": {"map_quality": third}},
    ]


def _graded(name: str, scores: Grades) -> dict[str, Any]:
    return {
        "transcript": name,
        "graded_by": "a reader",
        "graded_at": DATE,
        "how": "by hand",
        "steps": _grades(scores),
    }


class Tree:
    """The checkout, and how a cheat would lay hands on it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def made(cls, root: Path) -> Tree:
        tree = cls(root)
        (root / "images/servers").mkdir(parents=True)
        for name in HELD_OUT:
            tree.write_scenario(f"held-out/{name}")
            tree._write_anchors(name)
        tree.write_scenario(f"core/{CORE}")
        return tree

    def _write_anchors(self, scenario: str) -> None:
        gold = []
        for file, (texts, scores) in ANSWERS[scenario].items():
            self.write(f"scenarios/held-out/{scenario}/transcripts/{file}", transcript(texts))
            gold.append(_graded(file, scores))
        self.write_gold(scenario, gold)

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

    def grade_by_dice(self) -> None:
        """Hand grades that no judge agrees with."""
        for name in HELD_OUT:
            gold = json.loads(self.read(f"scenarios/held-out/{name}/gold_scores.json"))
            for score, item in zip(DICE, gold["transcripts"], strict=True):
                item["steps"] = _grades((score, score, score))
            self.write_gold(name, gold["transcripts"])

    def rubric(self, folder: str) -> Any:
        return yaml.safe_load(self.read(f"scenarios/{folder}/rubric.yaml"))

    def write_rubric(self, folder: str, rubric: Any) -> None:
        self.write(f"scenarios/{folder}/rubric.yaml", yaml.safe_dump(rubric, sort_keys=False))

    def snapshot(self) -> dict[str, bytes]:
        """Path -> bytes of every file but replies, which are kept as they come."""
        files = {}
        for path in self.root.rglob("*"):
            name = path.relative_to(self.root).as_posix()
            if path.is_file() and not name.startswith(REPLIES):
                files[name] = path.read_bytes()
        return files


def pin_shop(tree: Tree, upstream: Path) -> None:
    """Give the core scenario a real repository: what scores or judges reads it."""
    for path in TREE.paths():
        (upstream / path).parent.mkdir(parents=True, exist_ok=True)
        (upstream / path).write_bytes(TREE.read(path))
    commit = committed(upstream)
    scenario = f"scenarios/core/{CORE}/scenario.yaml"
    tree.edit(scenario, "url: /shop", f"url: file://{upstream}")
    tree.edit(scenario, "'" + "0" * 40 + "'", commit)
    pin(tree.root, CORE)


def locked(root: Path) -> Tree:
    """A tree with its first generation."""
    tree = Tree.made(root)
    for path, text in _first_locks().items():
        tree.write(path, text)
    return tree


@cache
def _first_locks() -> dict[str, str]:
    """Path -> text. Made once: the checklist is asked about every pair for it."""
    with TemporaryDirectory() as folder:
        tree = Tree.made(Path(folder))
        accept(tree, reason="first generation")
        return {
            path: data.decode() for path, data in tree.snapshot().items() if path[:5] == "locks"
        }


def verify(tree: Tree) -> GateVerdict:
    return gate.verify(tree.root, Checklist())


def accept(tree: Tree, *, reason: str) -> Examined:
    return gate.accept(tree.root, Checklist(), reason=reason, date=DATE)


def regrade(tree: Tree, *, reason: str) -> Examined:
    return gate.regrade(tree.root, Checklist(), reason=reason, date=DATE)


class Judging:
    """A judge that scores every step by one function of its text."""

    def __init__(
        self,
        score: Callable[[str], float],
        *,
        name: str = "cheat",
        identity: str = "1" * 64,
        deterministic: bool = True,
    ) -> None:
        self.score = score
        self.name = name
        self.identity = identity
        self.deterministic = deterministic

    def judge(
        self,
        rubric: Rubric,
        answer: Sequence[AnswerStep],
        must_find: Sequence[Sequence[MustCite]],
        source: LineSource | None = None,
    ) -> Verdict:
        steps = []
        for asked, answered in zip(rubric.steps, answer, strict=True):
            steps.append(_judged(asked, self.score(answered.text)))
        return Verdict(
            judge=self.name,
            identity=self.identity,
            inputs=verdict_inputs(rubric, answer, must_find),
            quality=sum(step.quality for step in steps) / len(steps),
            steps=tuple(steps),
        )


def _judged(step: RubricStep, score: float) -> StepVerdict:
    """The same score for every criterion, summed as the gate checks it."""
    criterion = CriterionVerdict(score=score, reason="so")
    quality = sum(asked.weight * score for asked in step.criteria.values())
    return StepVerdict(
        name=step.name,
        quality=min(1.0, quality),
        criteria=dict.fromkeys(step.criteria, criterion),
    )


class FarAway:
    """A judge as a model is one: asking again costs money, and it can be out of reach."""

    name = "far-away"
    deterministic = False

    def __init__(self, *, reachable: bool, identity: str = "2" * 64) -> None:
        self.reachable, self.identity = reachable, identity
        self.asked = 0
        """How often it was: the gate must not pay for what is stored."""

    def judge(
        self,
        rubric: Rubric,
        answer: Sequence[AnswerStep],
        must_find: Sequence[Sequence[MustCite]],
        source: LineSource | None = None,
    ) -> Verdict:
        if not self.reachable:
            raise NoVerdict("no API key")
        self.asked += 1
        verdict = Checklist().judge(rubric, answer, must_find)
        return verdict.model_copy(update={"judge": self.name, "identity": self.identity})
