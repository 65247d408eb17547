"""The anchors we ship: neither length, nor citations, nor chance ranks them as a reader does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from runner.catalog.catalog import HELD_OUT, LoadedScenario, load_catalog
from runner.gate import calibration_data, gate
from runner.gate.examination import examine
from runner.records import GoldScores
from runner.scoring.judges.checklist.checklist import Checklist
from tests.anchors.material import Judging

ROOT = Path(__file__).resolve().parents[2]


def test_the_gate_is_open() -> None:
    verdict = gate.verify(ROOT, Checklist())
    gate.require(verdict)
    assert verdict.unlocked == ()


def _repositories(scenarios: Iterable[LoadedScenario]) -> set[str]:
    return {loaded.scenario.repository.label for loaded in scenarios}


def test_three_repositories_two_languages_and_none_used_elsewhere() -> None:
    catalog = load_catalog(ROOT)
    held_out = calibration_data.held_out(catalog)
    elsewhere = [loaded for loaded in catalog.scenarios.values() if loaded.suite != HELD_OUT]
    # A repository that a rubric was tuned on would vouch for that tuning.
    assert not _repositories(held_out) & _repositories(elsewhere)
    assert len(held_out) == len(_repositories(held_out)) == 3
    assert len({loaded.scenario.language for loaded in held_out}) >= 2


def test_every_held_out_scenario_has_five_answers_or_more() -> None:
    catalog = load_catalog(ROOT)
    counts = Counter(anchor.scenario for anchor in calibration_data.load_anchors(catalog, None))
    assert len(counts) == len(calibration_data.held_out(catalog))
    assert min(counts.values()) >= 5 and counts.total() >= 15


def _reasons(gold: GoldScores) -> Iterator[str]:
    for item in gold.transcripts:
        for step in item.steps:
            for criterion in step.criteria.values():
                yield criterion.reason.strip()


def test_every_grade_gives_its_reason() -> None:
    for folder in (ROOT / "scenarios/held-out").iterdir():
        reasons = list(
            _reasons(calibration_data.read_gold(folder / calibration_data.GOLD, folder.name))
        )
        # A reason that stops in the middle was cut by a tool, not written by a reader.
        assert reasons and all(reason.endswith((".", "!", "?")) for reason in reasons)


@pytest.mark.parametrize(
    "score",
    [
        lambda _: 0.5,
        lambda text: min(1.0, len(text) / 20_000),
        lambda text: 1 - min(1.0, len(text) / 20_000),
        lambda text: min(1.0, len(re.findall(r"[\w./-]+\.\w+:\d+", text)) / 100),
    ],
    ids=["the same score always", "length", "brevity", "number of citations"],
)
def test_a_judge_that_does_not_read_fails_on_our_anchors(score: Callable[[str], float]) -> None:
    examined = examine(ROOT, Judging(score), None, pairs="none")
    assert examined.verdict.refusal, examined.verdict.transcripts
