"""Agreement between raters, against figures computed by hand and published ones."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from runner.scoring.rater_agreement import MIN_ITEMS, Label, agreement, cohen_kappa, fleiss_kappa


def table(**counts: int) -> tuple[list[str], list[str]]:
    """`yn=5`: five items to which the first says yes and the second no."""
    first, second = [], []
    for pair, count in counts.items():
        first += [pair[0]] * count
        second += [pair[1]] * count
    return first, second


# 35 of 50 agree; by chance .5·.6 + .5·.4 = .5.
BY_HAND = table(yy=20, yn=5, ny=10, nn=15)


def test_kappa_is_what_it_is_by_hand() -> None:
    assert cohen_kappa(*BY_HAND) == pytest.approx((0.7 - 0.5) / (1 - 0.5))


def test_kappa_of_equal_agreement_falls_as_one_answer_becomes_common() -> None:
    # Both agree on 60 of 100, and the second two raters nearly always say yes.
    even, uneven = table(yy=45, yn=15, ny=25, nn=15), table(yy=25, yn=35, ny=5, nn=35)
    assert cohen_kappa(*even) == pytest.approx((0.6 - 0.54) / 0.46)
    assert cohen_kappa(*uneven) == pytest.approx((0.6 - 0.46) / 0.54)


def test_a_rater_who_always_says_the_commonest_agrees_often_and_has_no_kappa_to_show() -> None:
    truth = ["success"] * 70 + ["failure"] * 30
    found = agreement(truth, ["success"] * 100)
    assert (found.share, found.kappa, found.constant_share) == (0.7, 0.0, 0.7)
    assert found.constant == "success" and not found.beats_constant


def test_where_everybody_says_one_thing_there_is_nothing_to_agree_on() -> None:
    assert cohen_kappa(["y"] * 20, ["y"] * 20) is None
    assert agreement(["y"] * 20, ["y"] * 20).kappa_interval is None
    assert fleiss_kappa([["y", "y"]] * 20).kappa is None


def test_opposites_are_worse_than_chance() -> None:
    assert cohen_kappa(["y", "n"] * 10, ["n", "y"] * 10) == pytest.approx(-1.0)


def test_the_interval_is_as_wide_as_the_large_sample_formula_has_it() -> None:
    first, second = (list(labels) * 8 for labels in BY_HAND)
    found = agreement(first, second)
    assert found.share_interval is not None
    wide = found.share_interval.high - found.share_interval.low
    # Of a share: 2·1.96·√(p(1-p)/n).
    assert wide == pytest.approx(2 * 1.96 * math.sqrt(0.7 * 0.3 / 400), rel=0.05)
    assert found.kappa_interval is not None
    spread = found.kappa_interval.high - found.kappa_interval.low
    assert spread == pytest.approx(2 * 1.96 * _sd_of_kappa(), rel=0.05)


def _sd_of_kappa() -> float:
    """Fleiss, Cohen & Everitt 1969, equation 13, for BY_HAND eight times over."""
    shares = {"yy": 0.4, "yn": 0.1, "ny": 0.2, "nn": 0.3}
    rows, columns = {"y": 0.5, "n": 0.5}, {"y": 0.6, "n": 0.4}
    observed, expected, kappa = 0.7, 0.5, 0.4
    alike = apart = 0.0
    for pair, share in shares.items():
        a, b = pair[0], pair[1]
        if a == b:
            alike += share * ((1 - expected) - (rows[a] + columns[a]) * (1 - observed)) ** 2
        else:
            apart += share * (columns[a] + rows[b]) ** 2
    last = (observed * expected - 2 * expected + observed) ** 2
    variance = (alike + (1 - observed) ** 2 * apart - last) / (400 * (1 - expected) ** 4)
    assert kappa == pytest.approx((observed - expected) / (1 - expected))
    return math.sqrt(variance)


def test_too_few_items_have_no_interval() -> None:
    few = agreement(["y", "n"], ["y", "n"])
    assert few.share_interval is None and few.kappa_interval is None
    many = ["y", "n"] * (MIN_ITEMS // 2)
    assert agreement(many, many).share_interval is not None


def test_the_same_items_give_the_same_interval_in_any_order() -> None:
    first, second = BY_HAND
    turned = agreement(first[::-1], second[::-1])
    assert turned.share == agreement(first, second).share


@pytest.mark.parametrize(("one", "other"), [([], []), (["y"], []), (["y"], ["y", "n"])])
def test_ratings_of_other_items_are_refused(one: list[Label], other: list[Label]) -> None:
    with pytest.raises(ValueError, match="the same items"):
        agreement(one, other)


# Fleiss 1971's kind of table, from its best-known worked example: 10 subjects, 14 raters, 5 labels.
WORKED = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


def test_fleiss_kappa_is_that_of_the_worked_example() -> None:
    ratings = []
    for counts in WORKED:
        labels: list[int] = []
        for label, count in enumerate(counts):
            labels += [label] * count
        ratings.append(labels)
    found = fleiss_kappa(ratings)
    assert (found.items, found.raters) == (10, 14)
    assert found.kappa == pytest.approx(0.2099, abs=0.0001)
    assert found.interval is None


def test_fleiss_kappa_of_two_raters_by_hand() -> None:
    # Pooled shares: yes 55 of 100, no 45; Scott's pi is the same figure.
    found = fleiss_kappa(list(zip(*BY_HAND, strict=True)))
    expected = 0.55**2 + 0.45**2
    assert found.kappa == pytest.approx((0.7 - expected) / (1 - expected))
    assert found.interval is not None and found.kappa is not None
    assert found.interval.contains(found.kappa)


@pytest.mark.parametrize("ratings", [[], [["y"]], [["y", "n"], ["y"]]])
def test_items_with_other_raters_are_refused(ratings: list[list[Label]]) -> None:
    with pytest.raises(ValueError, match="the same raters"):
        fleiss_kappa(ratings)


# --- ten judges beside people ---------------------------------------------------------------

BESIDE_PEOPLE = {
    # judge: share of 95 on which it agrees with people, kappa, as published with the verdicts
    "openai_gpt-4.1-mini": (81, 0.604, 85.26),
    "qwen25_72b_int4_instruct": (80, 0.590, 84.21),
    "deepseek_deepseek-chat-v3-0324": (77, 0.544, 81.05),
    "models_gemini-2.5-pro": (73, 0.505, 72.63),
    "qwen_qwen3-32b": (70, 0.471, 73.68),
    "qwen_qwen3-235b-a22b": (69, 0.425, 74.74),
    "openai_gpt-4.1": (68, 0.419, 71.58),
    "claude-opus-4-20250514": (67, 0.413, 68.42),
    "claude-sonnet-4-20250514": (67, 0.403, 71.58),
    "deepseek_deepseek-r1-0528": (57, 0.289, 58.95),
}
PUBLISHED_OTHERWISE = {
    "models_gemini-2.5-pro",
    "qwen_qwen3-235b-a22b",
    "claude-opus-4-20250514",
    "claude-sonnet-4-20250514",
    "deepseek_deepseek-r1-0528",
}
"""Their published share of agreement does not follow from the verdicts published beside it."""


def livemcpbench(shared_data: Path) -> tuple[list[str], dict[str, list[str]]]:
    folder = shared_data / "livemcpbench"
    rows = list(csv.DictReader((folder / "judgments.csv").read_text().splitlines()))
    judges = [name for name in rows[0] if name not in ("task_id", "category", "human")]
    return [row["human"] for row in rows], {name: [row[name] for row in rows] for name in judges}


@pytest.mark.parametrize("judge", BESIDE_PEOPLE)
def test_a_judges_agreement_with_people_is_what_its_verdicts_give(
    shared_data: Path, judge: str
) -> None:
    people, judges = livemcpbench(shared_data)
    found = agreement(people, judges[judge])
    agreed, kappa, published = BESIDE_PEOPLE[judge]
    assert (found.n, round(found.share * 95)) == (95, agreed)
    assert found.kappa == pytest.approx(kappa, abs=0.0005)
    assert (abs(100 * found.share - published) > 0.005) == (judge in PUBLISHED_OTHERWISE)


def test_three_of_ten_judges_do_better_than_saying_success_to_everything(
    shared_data: Path,
) -> None:
    people, judges = livemcpbench(shared_data)
    found = {name: agreement(people, verdicts) for name, verdicts in judges.items()}
    constants = {(one.constant, round(95 * one.constant_share)) for one in found.values()}
    assert constants == {("success", 67)}
    better = {name for name, one in found.items() if one.beats_constant}
    assert better == {
        "openai_gpt-4.1-mini",
        "qwen25_72b_int4_instruct",
        "deepseek_deepseek-chat-v3-0324",
    }
    always = agreement(people, ["success"] * 95)
    assert (always.kappa, round(always.share, 3)) == (0.0, 0.705)


def test_ten_judges_agree_among_themselves_as_far_as_fleiss_kappa_says(shared_data: Path) -> None:
    _, judges = livemcpbench(shared_data)
    found = fleiss_kappa(list(zip(*judges.values(), strict=True)))
    assert (found.items, found.raters) == (95, 10)
    assert found.kappa == pytest.approx(0.544, abs=0.0005)
    assert found.interval is not None and found.interval.low > 0.4
