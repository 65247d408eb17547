"""What `fairtrial judge` reads and prints: any answer to a scenario, and what a judge makes of it.

An answer is a transcript (`.jsonl`), or JSON `{"steps": [{"name": …, "text": …}]}` with every step
of the scenario once, in any order. A step whose text is empty is silence, and scores 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from runner.catalog.catalog import SHELL, LoadedScenario
from runner.catalog.checkout import Checkout
from runner.protocols import Judge, LineSource
from runner.records import (
    AnswerStep,
    Cell,
    Count,
    FactVerdict,
    FalseClaim,
    Judging,
    Record,
    Scenario,
    Verdict,
    load_json,
    parse_json,
    read_text,
)
from runner.records.run_store import LoadedRun, RunStore
from runner.records.transcript_files import iter_transcript, split
from runner.runs.audit import Audit
from runner.scoring import statistics
from runner.scoring.judge_repeatability import verdict_floor
from runner.scoring.judges.judge_requests import JudgeEstimate, ToJudge
from runner.scoring.judges.model import ModelJudge
from runner.scoring.judges.pairwise import PairTally, Preferred, majority, tally
from runner.scoring.judges.panel import Panel
from runner.scoring.steps import answer_steps, must_find
from runner.support.errors import CatalogError, FairtrialError

LIMIT_BYTES = 20_000_000
ANSWER_FORM = '{"steps": [{"name": "…", "text": "…"}]}'


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
    hint = f"FILE is a transcript (.jsonl), or JSON {ANSWER_FORM}"
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
    hint = f"FILE is a transcript (.jsonl), or JSON {ANSWER_FORM}"
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


# --- judging --------------------------------------------------------------------------------


def judge_file(
    path: Path, loaded: LoadedScenario, judge: Judge, source: LineSource
) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict on an answer, and the names of its silent steps."""
    answer = read_answer(path, loaded.scenario)
    for step in loaded.rubric.steps:
        for name, criterion in step.criteria.items():
            if not criterion.facts:
                where = f"{loaded.scenario.id}/rubric.yaml {step.name}, {name}"
                raise FairtrialError("no facts to judge by", where=where, hint="write some first")
    verdict = judge.judge(loaded.rubric, answer, must_find(loaded.scenario), source)
    return verdict, tuple(step.name for step in answer if not step.text.strip())


# --- what judging a run would take ----------------------------------------------------------


@runtime_checkable
class Estimating(Protocol):
    """A judge that asks a model, and can tell beforehand what that takes."""

    def estimate(self, answers: Iterable[ToJudge]) -> JudgeEstimate:
        """Asks nobody."""


class RunEstimate(Record):
    answers: Count
    judges: tuple[JudgeEstimate, ...]

    def lines(self) -> Iterator[str]:
        """As a person reads it."""
        yield f"{self.answers} answers"
        if not self.judges:
            yield "no judge that is a model: nothing to pay for"
        for judge in self.judges:
            dollars = "no price" if judge.usd is None else f"${judge.usd:,.2f}"
            yield (
                f"{judge.judge}: {judge.calls:,} calls, about {judge.input_tokens:,} tokens in and "
                f"{judge.output_tokens:,} out, {dollars}; {judge.kept:,} replies are kept"
            )
            if judge.hours is not None:
                yield f"  about {judge.hours:,.2f} hours on this machine, one fact at a time"


def estimate_judging(audit: Audit) -> RunEstimate:
    """Of `fairtrial judge RUN`, by the judge of the audit. Asks nobody, and needs no key."""
    checkout, store = audit.checkout, audit.store
    believed = [item for item in audit.evidence().cells if item.believed]
    cells = [item.cell for item in believed if item.measured]
    judges = []
    try:
        for judge in _members(audit.required_judge):
            if isinstance(judge, Estimating):
                judges.append(judge.estimate(_to_judge(cells, checkout, store)))
    finally:
        checkout.close_files()
    return RunEstimate(answers=len(cells), judges=tuple(judges))


def _to_judge(cells: Iterable[Cell], checkout: Checkout, store: RunStore) -> Iterator[ToJudge]:
    for cell in cells:
        loaded = checkout.scenario(cell.scenario)
        answer = _answer(cell, loaded.scenario, store)
        places, source = must_find(loaded.scenario), checkout.source(cell.scenario)
        yield ToJudge(loaded.rubric, answer, places, source)


def with_endpoints(judging: Judging, judge: Judge) -> Judging:
    """As it is kept with a run."""
    endpoints = {item.model: item.endpoint for item in _models_among(judge)}
    return judging.model_copy(update={"endpoints": endpoints})


def _models_among(judge: Judge) -> list[ModelJudge]:
    return [item for item in _members(judge) if isinstance(item, ModelJudge)]


def _members(judge: Judge) -> tuple[Judge, ...]:
    return judge.judges if isinstance(judge, Panel) else (judge,)


# --- close arms -----------------------------------------------------------------------------


def compare_close(
    loaded: LoadedRun, checkout: Checkout, store: RunStore, judge: Judge
) -> list[PairTally]:
    """Arms whose quality lies no further from the shell's than the judge's noise, side by side.

    By the first judge that is a model. Raises FairtrialError if there is none.
    """
    judges = _models_among(judge)
    if not judges:
        hint = "name one with --judge model:<id>"
        raise FairtrialError("pairs are compared by a judge that is a model", hint=hint)
    tallies = []
    for arm, pairs in _close_arms(loaded).items():
        results = [_preferred(judges[0], cells, checkout, store) for cells in pairs]
        tallies.append(tally(arm, results))
    return tallies


def _close_arms(loaded: LoadedRun) -> dict[str, list[tuple[Cell, Cell]]]:
    """Arm -> its trials and the shell's beside them, where their means are too close to tell."""
    judged: dict[tuple[str, str], dict[tuple[str, int], tuple[Cell, Verdict]]] = {}
    for item in loaded.cells:
        if item.scorecard and item.scorecard.fairness.verdict:
            cell = item.cell
            arm = judged.setdefault((cell.server, cell.model), {})
            arm[cell.scenario, cell.trial] = cell, item.scorecard.fairness.verdict
    close = {}
    for (server, model), own in judged.items():
        baseline = judged.get((SHELL, model), {})
        shared = sorted(own.keys() & baseline.keys())
        if server != SHELL and shared and _is_close([(own[k], baseline[k]) for k in shared]):
            pairs = [(own[key][0], baseline[key][0]) for key in shared]
            close[f"{server} × {model}"] = pairs
    return close


def _is_close(pairs: Sequence[tuple[tuple[Cell, Verdict], tuple[Cell, Verdict]]]) -> bool:
    gaps = [one.quality - other.quality for (_, one), (_, other) in pairs]
    floor = verdict_floor(verdict for both in pairs for _, verdict in both)
    # Without a floor nobody knows how far is far.
    return floor is None or abs(statistics.mean(gaps)) <= floor.limit(len(pairs))


def _preferred(
    judge: ModelJudge, cells: tuple[Cell, Cell], checkout: Checkout, store: RunStore
) -> Preferred:
    loaded = checkout.scenario(cells[0].scenario)
    first, second = (_answer(cell, loaded.scenario, store) for cell in cells)
    pairs = list(judge.pairs(loaded.rubric, (first, second), checkout.source(cells[0].scenario)))
    asks = [ask for item in pairs for ask in item.asks]
    said = judge.asking.said(asks)
    return majority([item.preferred(said) for item in pairs])


def _answer(cell: Cell, scenario: Scenario, store: RunStore) -> tuple[AnswerStep, ...]:
    counted = store.counted_attempt(cell.id)
    assert counted is not None  # noqa: S101 - what has a verdict was measured
    answer, _, _ = split(iter_transcript(counted.transcript), scenario)
    return answer.steps
