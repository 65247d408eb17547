"""What `fairtrial judge` reads and prints: any answer to a scenario, and what a judge makes of it.

An answer is a transcript (`.jsonl`), or JSON `{"steps": [{"name": …, "text": …}]}` with every step
of the scenario once, in any order. A step whose text is empty is silence, and scores 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runner.errors import CatalogError, FairtrialError
from runner.proofs import answer_steps
from runner.records import (
    AnswerStep,
    FactVerdict,
    FalseClaim,
    Record,
    Scenario,
    Verdict,
    load_json,
    parse_json,
    read_text,
)
from runner.transcript import iter_transcript, split

LIMIT_BYTES = 20_000_000
FORM = '{"steps": [{"name": "…", "text": "…"}]}'


class GivenStep(Record):
    name: str
    text: str


class GivenAnswer(Record):
    """FILE of `--answer`."""

    steps: tuple[GivenStep, ...]


def read_answer(path: Path, scenario: Scenario) -> tuple[AnswerStep, ...]:
    """The scenario's steps in their order.

    Raises FairtrialError for what is no answer to this scenario, with every problem at once.
    """
    if path.suffix == ".jsonl":
        answer, _, _ = split(_events(path), scenario)
        return answer.steps
    texts = {step.name: step.text for step in _given(path, scenario).steps}
    return answer_steps(scenario, [texts[step.name] for step in scenario.steps])


def _events(path: Path) -> Iterator[Any]:
    events = list(iter_transcript(path))
    if not events:
        raise _no_answer(path, "the transcript holds no event")
    return iter(events)


def _given(path: Path, scenario: Scenario) -> GivenAnswer:
    hint = f"FILE is a transcript (.jsonl), or JSON {FORM}"
    try:
        text = read_text(path, where=str(path), limit_bytes=LIMIT_BYTES)
        _require_object(path, text)
        given = parse_json(text, GivenAnswer, where=str(path))
    except CatalogError as error:
        raise CatalogError(list(error.problems), hint=hint) from error
    if problems := list(_misfits(given, scenario)):
        names = ", ".join(step.name for step in scenario.steps)
        hint = f"the steps of {scenario.id} are: {names}"
        raise FairtrialError("; ".join(problems), where=str(path), hint=hint)
    return given


def _require_object(path: Path, text: str) -> None:
    if not text.strip():
        raise _no_answer(path, "the file is empty")
    try:
        value = load_json(text)
    except ValueError as error:
        raise _no_answer(path, f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise _no_answer(path, "no JSON object")


def _no_answer(path: Path, what: str) -> FairtrialError:
    hint = f"FILE is a transcript (.jsonl), or JSON {FORM}"
    return FairtrialError(what, where=str(path), hint=hint)


def _misfits(given: GivenAnswer, scenario: Scenario) -> Iterator[str]:
    """A misspelt name would score 0 as if nothing had been said there."""
    asked = [step.name for step in scenario.steps]
    names = [step.name for step in given.steps]
    for name in dict.fromkeys(names):
        if name not in asked:
            yield f"no step is called {name!r}"
        elif names.count(name) > 1:
            yield f"the step {name!r} is given {names.count(name)} times"
    for name in asked:
        if name not in names:
            yield f'the step {name!r} is missing (silence is "text": "")'


# --- as JSON --------------------------------------------------------------------------------


def verdict_json(scenario: str, verdict: Verdict) -> dict[str, Any]:
    """What `--json` prints.

    {"scenario", "judge", "identity", "quality", "steps": [{"name", "quality",
    "criteria": {name: {"score", "reason"}}, "facts": [{"criterion", "says", "verdict", "quote",
    "place", "credit", "reason"}], "false_claims": [{"criterion", "quote", "path", "line",
    "credit"}]}], "ratings": [{"judge", "duplicate", "quality", "steps"}]}

    `facts` is empty for a judge that does not say; `ratings` holds each reading of a panel, or of
    duplicates.
    """
    whole = json.loads(verdict.model_dump_json())
    steps = []
    for step in whole["steps"]:
        facts = [_without_step(fact) for fact in verdict.facts if fact.step == step["name"]]
        claims = [
            _without_step(claim) for claim in verdict.false_claims if claim.step == step["name"]
        ]
        steps.append({**step, "facts": facts, "false_claims": claims})
    return {
        "scenario": scenario,
        "judge": verdict.judge,
        "identity": verdict.identity,
        "quality": verdict.quality,
        "steps": steps,
        "ratings": whole["ratings"],
    }


def _without_step(item: FactVerdict | FalseClaim) -> dict[str, Any]:
    return item.model_dump(mode="json", exclude={"step"})
