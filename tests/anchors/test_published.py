"""The gate's arithmetic on a published run's own held-out material: real transcripts, real grades, a real lock (seed 002, step 5)."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.anchors.agreement import correlate
from runner.anchors.examination import refusal
from runner.anchors.frozen import compare, digest_tree
from runner.anchors.material import gold_steps
from runner.importers.claude_code import read_transcript
from runner.records import (
    GoldCriterion,
    GoldStep,
    GoldTranscript,
    Prose,
    StepEnd,
    ToolCall,
    ToolResult,
)

SCENARIOS = {"axum": "axum-towers", "flask": "flask-blueprints", "sense": "sense-mcp-flow"}
ARMS = ("baseline", "sense")


@pytest.fixture
def held_out(shared_data: Path) -> Path:
    return shared_data / "published-run/scenarios/held-out"


def gold(held_out: Path, scenario: str) -> Any:
    return json.loads((held_out / f"{scenario}.gold.json").read_text())


def graded(gold_file: Any, arm: str) -> GoldTranscript:
    steps = tuple(
        GoldStep(
            name=step["step_name"],
            criteria={
                name: GoldCriterion(score=score, reason=step["notes"])
                for name, score in step["scores"].items()
            },
        )
        for step in gold_file["_detail"][arm]
    )
    meta = gold_file["_meta"]
    return GoldTranscript(
        transcript=arm, graded_by=meta["graded_by"], graded_at=meta["graded_at"], steps=steps
    )


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("repository", SCENARIOS)
def test_a_published_transcript_is_imported_whole(
    held_out: Path, arm: str, repository: str
) -> None:
    events = read_transcript(held_out / "transcripts" / arm / repository / "transcript.json")
    kinds = Counter(type(event) for event in events)
    (prose,) = (event.text for event in events if isinstance(event, Prose))
    named = [re.search(rf"step[ _]?{number}", prose, re.IGNORECASE) for number in range(1, 5)]
    assert len(prose) > 10_000 and all(named), "all four steps were asked in one prompt"
    assert kinds[ToolCall] == kinds[ToolResult] >= 9 and kinds[StepEnd] == 1
    from_server = [
        event for event in events if isinstance(event, ToolCall) and event.origin == "server"
    ]
    assert bool(from_server) == (arm == "sense"), "the baseline had no server to call"


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("scenario", SCENARIOS.values())
def test_our_sums_of_the_published_grades_are_the_published_sums(
    held_out: Path, arm: str, scenario: str
) -> None:
    found = gold(held_out, scenario)
    rubric = yaml.safe_load((held_out / f"{scenario}.rubric.yaml").read_text())
    weights = {
        step["name"]: {name: made["weight"] for name, made in step["criteria"].items()}
        for step in rubric["steps"]
    }
    said = graded(found, arm)
    assert [step.name for step in said.steps] == list(weights)
    steps = gold_steps(said, weights)
    assert steps == pytest.approx([step["weighted"] for step in found["_detail"][arm]], abs=5e-5)
    assert sum(steps) / len(steps) == pytest.approx(found[arm]["weighted_mean"], abs=6e-4)
    assert found["_meta"]["summary"][f"{arm}_weighted_mean"] == found[arm]["weighted_mean"]


def test_six_published_transcripts_are_too_few_for_the_gate(held_out: Path) -> None:
    means = [
        gold(held_out, scenario)[arm]["weighted_mean"]
        for scenario in SCENARIOS.values()
        for arm in ARMS
    ]
    found = correlate(means, means)
    assert found.n == 6 and found.rho == pytest.approx(1.0) and found.low is None
    assert refusal(found) == "6 frozen transcripts are too few to rank by; 12 is the least"


def test_the_published_lock_holds_for_21_of_its_27_files_and_lists_six_that_are_not_there(
    held_out: Path,
) -> None:
    expected = json.loads((held_out.parent.parent / "locked/held-out.lock").read_text())["files"]
    found, links = digest_tree(held_out, ".")
    drifts = compare(expected, found)
    assert (len(expected), links) == (27, [])
    assert sum(found.get(name) == digest for name, digest in expected.items()) == 21
    assert [drift.what for drift in drifts] == ["is missing"] * 6
    assert {drift.where.rpartition("/")[2] for drift in drifts} == {"claude.log"}
    assert {drift.expected for drift in drifts} == {hashlib.sha256(b"").hexdigest()}, (
        "six empty logs"
    )
