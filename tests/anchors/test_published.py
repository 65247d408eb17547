"""The gate's arithmetic on a published run's held-out material: real transcripts, grades and lock.

What the gate asks is in docs/gate.md.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.gate.calibration_data import gold_steps
from runner.gate.examination import refusal
from runner.records import (
    GoldCriterion,
    GoldStep,
    GoldTranscript,
    Prose,
    StepEnd,
    ToolCall,
    ToolResult,
)
from runner.scoring.rank_agreement import correlate
from runner.support.tree_digest import digest_tree, file_changes
from tests.helpers import claude_code_events

SCENARIOS = {"axum": "axum-towers", "flask": "flask-blueprints", "sense": "sense-mcp-flow"}
ARMS = ("baseline", "sense")


@pytest.fixture
def held_out(shared_data: Path) -> Path:
    return shared_data / "published-run/scenarios/held-out"


def gold(held_out: Path, scenario: str) -> Any:
    return json.loads((held_out / f"{scenario}.gold.json").read_text())


def graded(gold_file: Any, arm: str) -> GoldTranscript:
    meta = gold_file["_meta"]
    return GoldTranscript(
        transcript=arm,
        graded_by=meta["graded_by"],
        graded_at=meta["graded_at"],
        how="as published",
        steps=tuple(_graded_step(step) for step in gold_file["_detail"][arm]),
    )


def _graded_step(step: Any) -> GoldStep:
    # There the notes stand once for a step; here each criterion has its reason.
    criteria = {}
    for name, score in step["scores"].items():
        criteria[name] = GoldCriterion(score=score, reason=step["notes"])
    return GoldStep(name=step["step_name"], criteria=criteria)


def weights_of(held_out: Path, scenario: str) -> dict[str, dict[str, float]]:
    rubric = yaml.safe_load((held_out / f"{scenario}.rubric.yaml").read_text())
    weights: dict[str, dict[str, float]] = {}
    for step in rubric["steps"]:
        weights[step["name"]] = {name: made["weight"] for name, made in step["criteria"].items()}
    return weights


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("repository", SCENARIOS)
def test_a_published_transcript_is_imported_whole(
    held_out: Path, arm: str, repository: str
) -> None:
    events = claude_code_events(held_out / "transcripts" / arm / repository / "transcript.json")
    kinds = Counter(type(event) for event in events)
    (prose,) = (event.text for event in events if isinstance(event, Prose))
    assert len(prose) > 10_000
    # All four steps were asked in one prompt.
    for number in range(1, 5):
        assert re.search(rf"step[ _]?{number}", prose, re.IGNORECASE)
    assert kinds[ToolCall] == kinds[ToolResult] >= 9 and kinds[StepEnd] == 1


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("repository", SCENARIOS)
def test_only_the_arm_with_a_server_called_it(held_out: Path, arm: str, repository: str) -> None:
    events = claude_code_events(held_out / "transcripts" / arm / repository / "transcript.json")
    origins = {event.origin for event in events if isinstance(event, ToolCall)}
    assert ("server" in origins) == (arm == "sense")


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("scenario", SCENARIOS.values())
def test_our_sums_of_the_published_grades_are_the_published_sums(
    held_out: Path, arm: str, scenario: str
) -> None:
    published, weights = gold(held_out, scenario), weights_of(held_out, scenario)
    by_hand = graded(published, arm)
    assert [step.name for step in by_hand.steps] == list(weights)
    sums = [step["weighted"] for step in published["_detail"][arm]]
    mean = published[arm]["weighted_mean"]
    steps = gold_steps(by_hand, weights)
    # As published they are rounded: steps to four decimals, their mean to three.
    assert steps == pytest.approx(sums, abs=5e-5)
    assert sum(steps) / len(steps) == pytest.approx(mean, abs=6e-4)
    assert published["_meta"]["summary"][f"{arm}_weighted_mean"] == mean


def test_six_published_transcripts_are_too_few_for_the_gate(held_out: Path) -> None:
    means = []
    for scenario in SCENARIOS.values():
        published = gold(held_out, scenario)
        means += [published[arm]["weighted_mean"] for arm in ARMS]
    found = correlate(means, means)
    assert found.n == 6 and found.rho == pytest.approx(1.0) and found.low is None
    assert refusal(found) == "6 frozen transcripts are too few to rank by; 12 is the least"


def test_the_published_lock_holds_for_21_of_its_27_files_and_lists_six_that_are_not_there(
    held_out: Path,
) -> None:
    expected = json.loads((held_out.parent.parent / "locked/held-out.lock").read_text())["files"]
    found, links = digest_tree(held_out, ".")
    assert (len(expected), links) == (27, [])
    assert len(expected.items() & found.items()) == 21
    # Six empty logs were locked, and not published.
    drifts = file_changes(expected, found)
    assert len(drifts) == 6
    for drift in drifts:
        assert drift.where.endswith("/claude.log") and drift.what == "is missing"
        assert drift.expected == hashlib.sha256(b"").hexdigest()
