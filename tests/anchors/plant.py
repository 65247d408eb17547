"""A checkout whose answers are plain sentences, so that a scripted reader can know what each says.

Three held-out scenarios ask which valve opens before which pump starts, five transcripts each,
graded twice; every fact is turned round in three ways. A core scenario asks the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from runner.gate import gate
from runner.records import Scenario, parse_yaml
from runner.scoring.judges.checklist.checklist import Checklist
from tests.anchors.material import DATE, Tree
from tests.checkout import committed, pin

HELD_OUT = ("plant-east", "plant-north", "plant-west")
CORE = "plant-core"
STEPS = ("cooling", "heating")
APART = 13
"""Lines between two facts: a citation moved by 20 lies near none of them."""
NAMES = {
    "cooling": "amber azure beige coral ebony green ivory khaki lemon lilac mauve ochre "
    "olive peach pearl plum",
    "heating": "alder aspen beech birch cedar cypress elder hazel holly larch linden maple "
    "poplar rowan spruce willow",
}
FILLER = (
    "The surroundings of this part are described at some length, and with care, in the notes that "
    "the people who built it have left ({path}:{line})."
)
"""It cites the place that it says nothing of: else whoever counts places ranks as a reader does."""
Fairtrial = Callable[..., tuple[int, str, str]]
"""The command, run: exit code, stdout and stderr."""
Stated = tuple[int, int]
"""Of how many facts each step's answer speaks; the rest of it is filler."""
ANSWERS: dict[str, tuple[Stated, ...]] = {
    "plant-east": ((0, 0), (1, 2), (3, 4), (6, 5), (8, 8)),
    "plant-north": ((0, 0), (2, 2), (4, 4), (5, 6), (8, 7)),
    "plant-west": ((0, 0), (1, 3), (3, 5), (7, 6), (7, 8)),
}


def pairs_of_names(step: str) -> Iterator[tuple[str, str]]:
    names = NAMES[step].split()
    return zip(names[::2], names[1::2], strict=True)


def fact(valve: str, pump: str) -> str:
    return f"the {valve} valve opens before the {pump} pump starts"


def sentence(valve: str, pump: str) -> str:
    return f"The {valve} valve opens before the {pump} pump starts"


def turned(valve: str, pump: str) -> dict[str, str]:
    """Kind of contrast pair -> the sentence made false."""
    return {
        "order": f"The {valve} valve opens after the {pump} pump starts",
        "negation": f"The {valve} valve never opens before the {pump} pump starts",
        "roles": f"The {pump} pump starts before the {valve} valve opens",
    }


def line(number: int) -> int:
    return number * APART + 5


def path(step: str) -> str:
    return f"plant/{step}.py"


def answer(step: str, stated: int, plant: str = CORE) -> str:
    """Says the first facts rightly, with their places, and something else instead of the others."""
    # No two scenarios' answers are one request.
    lines = [f"What the files of {plant} say of {step}:", ""]
    for number, names in enumerate(pairs_of_names(step)):
        if number < stated:
            lines.append(f"- {sentence(*names)} ({path(step)}:{line(number)}).")
        else:
            lines.append("- " + FILLER.format(path=path(step), line=line(number)))
    return "\n".join(lines)


# --- files --------------------------------------------------------------------------------------


def _scenario(name: str, url: str, commit: str) -> dict[str, Any]:
    steps = []
    for step in STEPS:
        prompt = f"Which valve opens before which pump starts when the plant is {step}?"
        steps.append(
            {
                "name": step,
                "prompt": prompt,
                "checks": [{"kind": "word", "value": "valve"}],
                "must_cite": [{"path": path(step), "line": line(0)}],
            }
        )
    return {
        "id": name,
        "title": "The order in a plant",
        "description": "Valves and pumps.",
        "language": "python",
        "slant": "A grep finds everything.",
        "repository": {"kind": "git", "url": url, "commit": commit},
        "budget": {"tokens": 10000, "wall_sec": 100, "actions": 20},
        "steps": steps,
    }


def _rubric() -> dict[str, Any]:
    steps = []
    for step in STEPS:
        facts = []
        for number, (valve, pump) in enumerate(pairs_of_names(step)):
            cites = [{"path": path(step), "line": line(number)}]
            facts.append({"says": fact(valve, pump), "terms": [[valve], [pump]], "cites": cites})
        criterion = {"weight": 1.0, "question": "Is every order there?", "facts": facts}
        steps.append({"name": step, "criteria": {"order": criterion}})
    return {"audience": "Whoever runs the plant.", "steps": steps}


def _contrast_pairs() -> dict[str, Any]:
    pairs = []
    for step in STEPS:
        for number, names in enumerate(pairs_of_names(step)):
            for kind, wrong in turned(*names).items():
                why = f"{path(step)}:{line(number)}, where the order stands"
                right = sentence(*names)
                pairs.append(
                    {"step": step, "kind": kind, "right": right, "wrong": wrong, "why": why}
                )
    return {"pairs": pairs}


def _graded(file: str, stated: Stated, by: str, off: float) -> dict[str, Any]:
    steps = []
    for step, count in zip(STEPS, stated, strict=True):
        score = min(1.0, max(0.0, count / 8 + off))
        steps.append({"name": step, "criteria": {"order": {"score": score, "reason": "as read"}}})
    graded = {"transcript": file, "graded_by": by, "graded_at": DATE, "how": "by hand"}
    return {**graded, "steps": steps}


def transcript(scenario: Scenario, texts: Sequence[str]) -> str:
    events: list[dict[str, Any]] = []
    for index, (step, text) in enumerate(zip(scenario.steps, texts, strict=True)):
        events.append({"type": "prompt", "step": index, "text": step.prompt})
        events.append({"type": "prose", "step": index, "turn": 0, "text": text})
        events.append({"type": "step_end", "step": index, "stop": "end"})
    return "".join(json.dumps(event) + "\n" for event in events)


def _source(step: str) -> str:
    lines = [f"# {step}"] * (APART * 8 + 6)
    for number, names in enumerate(pairs_of_names(step)):
        lines[line(number) - 1] = f"# {fact(*names)}"
    return "\n".join(lines) + "\n"


def make_plant(root: Path, upstream: Path, cores: Sequence[str] = (CORE,)) -> Tree:
    """A checkout with its first generation, and a repository that the scenarios are about."""
    (upstream / "plant").mkdir(parents=True)
    (upstream / "plant/notes.md").write_text("a note\n" * 200)
    for step in STEPS:
        (upstream / path(step)).write_text(_source(step))
    commit = committed(upstream)
    tree = Tree(root)
    (root / "images/servers").mkdir(parents=True)
    for name in (*HELD_OUT, *cores):
        suite = "core" if name in cores else "held-out"
        _write_scenario(tree, f"scenarios/{suite}/{name}", f"file://{upstream}", commit)
    pin(root, cores[0])
    gate.accept(root, Checklist(), reason="first generation", date=DATE)
    return tree


def _write_scenario(tree: Tree, folder: str, url: str, commit: str) -> None:
    name = folder.rpartition("/")[2]
    text = yaml.safe_dump(_scenario(name, url, commit), sort_keys=False)
    tree.write(f"{folder}/scenario.yaml", text)
    tree.write(f"{folder}/rubric.yaml", yaml.safe_dump(_rubric(), sort_keys=False))
    for number, step in enumerate(STEPS, 1):
        tree.write(f"{folder}/reference/{number}.md", answer(step, 8, name) + "\n")
    if name not in HELD_OUT:
        return
    tree.write(f"{folder}/turned.yaml", yaml.safe_dump(_contrast_pairs(), sort_keys=False))
    scenario = parse_yaml(text, Scenario, where=folder)
    gold: dict[str, Any] = {"scenario": name, "transcripts": [], "second": []}
    for number, stated in enumerate(ANSWERS[name]):
        texts = [answer(step, count, name) for step, count in zip(STEPS, stated, strict=True)]
        file = f"answer-{number}.jsonl"
        tree.write(f"{folder}/transcripts/{file}", transcript(scenario, texts))
        gold["transcripts"].append(_graded(file, stated, "one", 0.0))
        gold["second"].append(_graded(file, stated, "two", 0.01))
    tree.write(f"{folder}/gold_scores.json", json.dumps(gold, indent=1) + "\n")
