"""Several readings as one verdict: duplicates by their mean, a panel by its median."""

from __future__ import annotations

from typing import Any

import pytest

from runner.records import (
    Judging,
    Verdict,
)
from runner.scoring.judges import open_judge
from runner.scoring.judges.checklist.checklist import Checklist
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.scoring.judges.panel import Panel
from runner.scoring.judges.stored import adds_up
from runner.support.errors import FairtrialError, NoVerdict
from tests.anchors.material import FarAway
from tests.anchors.material import Judging as ByText
from tests.judges.reader import MUST_FIND, SAID, SOURCE, Seen, read_honestly, reading, said
from tests.scoring.material import GOOD, RUBRIC, THIN, answer


def says(name: str, score: float) -> ByText:
    """A judge that gives every criterion the same."""
    return ByText(lambda _: score, name=name, identity=name[:1] * 64)


def judged(panel: Panel) -> Verdict:
    return panel.judge(RUBRIC, answer(*GOOD).steps, MUST_FIND, SOURCE)


def test_a_panel_gives_the_median_of_each_criterion() -> None:
    verdict = judged(Panel([says("a", 0.1), says("b", 0.9), says("c", 0.4)]))
    assert verdict.quality == pytest.approx(0.4) and adds_up(verdict, RUBRIC)
    assert [rating.judge for rating in verdict.ratings] == ["a", "b", "c"]
    assert [rating.quality for rating in verdict.ratings] == pytest.approx([0.1, 0.9, 0.4])
    assert verdict.judge == "panel:a+b+c"


def test_of_two_judges_the_median_lies_between() -> None:
    assert judged(Panel([says("a", 0.2), says("b", 0.8)])).quality == pytest.approx(0.5)


def test_one_judge_that_is_far_off_moves_no_panel_of_three() -> None:
    agreed = judged(Panel([says("a", 0.6), says("b", 0.6), says("c", 0.6)]))
    bribed = judged(Panel([says("a", 0.6), says("b", 0.6), says("c", 1.0)]))
    assert agreed.quality == bribed.quality


def test_a_panel_whose_judge_is_out_of_reach_gives_no_verdict() -> None:
    with pytest.raises(NoVerdict):
        judged(Panel([says("a", 0.6), FarAway(reachable=False)]))


def test_a_panel_is_as_deterministic_and_as_known_as_its_judges() -> None:
    with reading(read_honestly) as reader:
        model = reader.judge()
    assert Panel([says("a", 1), says("b", 1)]).deterministic
    assert not Panel([says("a", 1), model]).deterministic
    assert Panel([says("a", 1)]).identity != Panel([says("b", 1)]).identity


def test_a_panel_of_checklist_and_model_keeps_every_reading_and_the_models_facts() -> None:
    with reading(read_honestly) as reader:
        verdict = judged(Panel([Checklist(), reader.judge(duplicates=2)]))
    names = [rating.judge for rating in verdict.ratings]
    assert names == ["checklist", "model:anthropic:reader", "model:anthropic:reader"]
    assert [rating.duplicate for rating in verdict.ratings] == [1, 1, 2]
    assert {item.says for item in verdict.facts} == set(SAID)


def test_duplicates_give_their_mean_and_keep_their_spread() -> None:
    halves: dict[str, int] = {}

    def moody(seen: Seen) -> Any:
        """Sees the first fact of the second step in every other reading alone."""
        report = read_honestly(seen)
        if len(seen.facts) == 1:
            halves["read"] = halves.get("read", 0) + 1
            if halves["read"] == 2:
                report["facts"] = {"f1": said("", "absent")}
        return report

    with reading(moody) as reader:
        verdict = reader.judge(duplicates=2).judge(RUBRIC, answer(*GOOD).steps, MUST_FIND, SOURCE)
    # The place of the fact that it does not see is cited: .7 of it.
    assert sorted(rating.quality for rating in verdict.ratings) == [0.85, 1.0]
    assert verdict.quality == pytest.approx(0.925) and adds_up(verdict, RUBRIC)
    (escapes,) = [item for item in verdict.facts if item.step == "impact"]
    assert escapes.credit == pytest.approx(0.85)


def test_duplicates_that_agree_are_what_one_reading_is() -> None:
    with reading(read_honestly) as reader:
        once = reader.judge().judge(RUBRIC, answer(*THIN).steps, MUST_FIND, SOURCE)
        twice = reader.judge(duplicates=2).judge(RUBRIC, answer(*THIN).steps, MUST_FIND, SOURCE)
    assert once.quality == pytest.approx(twice.quality)
    assert [item.credit for item in once.facts] == [item.credit for item in twice.facts]
    assert once.ratings == () and len(twice.ratings) == 2


def test_a_judge_named_twice_is_refused_with_a_hint() -> None:
    settings = JudgeSettings(judging=Judging(judges=("checklist", "checklist")))
    with pytest.raises(FairtrialError, match="--duplicates"):
        open_judge(settings)


def test_several_names_open_a_panel() -> None:
    names = ("checklist", "model:claude-x", "model:openai:y")
    judge = open_judge(JudgeSettings(judging=Judging(judges=names)))
    assert judge.name == "panel:checklist+model:claude-x+model:openai:y"
