"""The anchors this project ships, and that neither length, nor citations, nor chance ranks them as a reader does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.anchors import gate, material
from runner.anchors.examination import examine
from runner.catalog import load_catalog
from runner.judges.checklist import Checklist
from tests.anchors.material import Judging

ROOT = Path(__file__).resolve().parents[2]


def test_the_gate_is_open() -> None:
    verdict = gate.verify(ROOT, Checklist())
    gate.require(verdict)
    assert verdict.unlocked == ()


def test_three_repositories_two_languages_five_answers_each_and_none_used_elsewhere() -> None:
    catalog = load_catalog(ROOT)
    held_out = material.held_out(catalog)
    sources = [loaded.scenario.repository.label for loaded in held_out]
    elsewhere = {
        loaded.scenario.repository.label
        for loaded in catalog.scenarios.values()
        if loaded.suite != "held-out"
    }
    assert len(held_out) == len(set(sources)) == 3 and not set(sources) & elsewhere
    assert len({loaded.scenario.language for loaded in held_out}) >= 2
    anchors = material.load_anchors(catalog, None)
    assert (
        all(
            sum(anchor.scenario == loaded.scenario.id for anchor in anchors) >= 5
            for loaded in held_out
        )
        and len(anchors) >= 15
    )


def test_every_grade_gives_its_reason() -> None:
    for folder in (ROOT / "scenarios/held-out").iterdir():
        gold = material.read_gold(folder / material.GOLD, folder.name)
        reasons = [
            criterion.reason
            for item in gold.transcripts
            for step in item.steps
            for criterion in step.criteria.values()
        ]
        assert reasons and all(reason.strip().endswith((".", "!", "?")) for reason in reasons)


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
    examined = examine(ROOT, Judging(score), None)
    assert examined.verdict.refusal, examined.verdict.transcripts
