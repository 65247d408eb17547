from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest

from runner.gate.perturbations import moved
from runner.gate.scenario_checks import Believer
from runner.records import (
    Answer,
    AnswerStep,
    Citation,
    Scenario,
    Score,
    Scored,
    Unscored,
)
from runner.scoring import ADOPTION, FAIRNESS, score_cell
from runner.scoring.fairness import (
    LEAST_HELD,
    Evidence,
    citation_grounding,
    must_cite_recall,
    places_held,
    score_fairness,
    trust,
)
from runner.scoring.judges.checklist.checklist import Checklist
from runner.scoring.score_parts import weighted
from tests.anchors.material import FarAway
from tests.grounding.fakes import MemoryFiles
from tests.scoring.material import (
    GOOD,
    INVENTED,
    RUBRIC,
    SCENARIO,
    THIN,
    TREE,
    UNCITED,
    answer,
    effort,
)


def cited(
    path: str,
    start: int | None,
    end: int | None = None,
    status: str = "grounded",
    resolution: str = "exact",
) -> Citation:
    return Citation.model_validate(
        {
            "written": f"{path}:{start}",
            "path": path,
            "start": start,
            "end": end or start,
            "symbol": None,
            "resolution": resolution,
            "status": status,
            "reason": "",
            "held_by": None,
            "definition_lines": (),
            "distance": None,
            "weight": 1.0,
            "weak": False,
            "weak_share": None,
        }
    )


def evidence(*citations: Sequence[Citation], scenario: Scenario = SCENARIO) -> Evidence:
    return Evidence(
        scenario=scenario,
        answer=answer(*GOOD),
        effort=effort(),
        citations=tuple(tuple(step) for step in citations),
        files_cited=(0, 0),
        cited=tuple(chain.from_iterable(citations)),
        verdict=Unscored(reason="not judged yet"),
    )


def grounding(*citations: Sequence[Citation]) -> float:
    score = citation_grounding(evidence(*citations))
    assert isinstance(score, Scored)
    return score.value


RIGHT = [cited("shop/queue.py", 11), cited("shop/store.py", 2)]


# --- citation grounding ---------------------------------------------------------------------


def test_every_place_cited_and_every_citation_right_is_one() -> None:
    assert grounding(RIGHT, []) == 1.0


def test_no_citations_are_no_credit() -> None:
    assert grounding([], []) == 0.0


def test_a_file_without_a_line_is_listed_and_not_counted() -> None:
    assert grounding([cited("shop/queue.py", None)], []) == 0.0


def test_one_safe_citation_loses() -> None:
    assert grounding([cited("README.md", 1)], []) == 0.0
    assert grounding(RIGHT[:1], []) == pytest.approx(2 / 3)


def test_a_spray_of_hundreds_loses_to_two_right_places() -> None:
    spray = [cited("shop/queue.py", line) for line in range(1, 301)] + [
        cited("shop/store.py", line) for line in range(1, 301)
    ]
    assert grounding(spray, []) < 0.05


def test_a_thorough_answer_is_no_spray() -> None:
    assert grounding([*RIGHT, *(cited("shop/queue.py", line) for line in range(1, 60))], []) == 1.0


def test_one_range_over_the_whole_file_recalls_nothing() -> None:
    assert grounding([cited("shop/queue.py", 1, 900), cited("shop/store.py", 1, 900)], []) == 0.0


def test_a_place_counts_in_the_step_that_asks_for_it() -> None:
    assert grounding([], RIGHT) == 0.0


def test_hallucinated_citations_lower_precision_and_recall_nothing() -> None:
    wrong = [
        cited("shop/queue.py", 12, status="hallucinated"),
        cited("shop/store.py", 2, status="hallucinated"),
    ]
    assert grounding(wrong, []) == 0.0
    assert grounding(RIGHT + wrong, []) == pytest.approx(2 * 0.5 / 1.5)


def test_without_must_cite_places_precision_stands_alone() -> None:
    steps = tuple(step.model_copy(update={"must_cite": ()}) for step in SCENARIO.steps)
    citations = [cited("README.md", 1), cited("x.py", 1, status="unresolved", resolution="missing")]
    bare = evidence(citations, [], scenario=SCENARIO.model_copy(update={"steps": steps}))
    assert citation_grounding(bare) == Scored(value=0.5, detail="precision 0.50")
    assert must_cite_recall(bare) == Unscored(reason="the scenario lists no must_cite places")


def test_scoring_reads_each_cited_file_once() -> None:
    tree = MemoryFiles({path: TREE.read(path) for path in TREE.paths()})
    both = "`deliver` (shop/queue.py:11), and shop/store.py:2."
    score_fairness(SCENARIO, RUBRIC, answer(both, both), effort(), files=tree, judge=None)
    assert tree.reads == 2


def test_files_are_counted_once_and_only_where_they_exist() -> None:
    text = "deliver, retry_failed: shop/queue.py:11, shop/queue.py:38 and shop/nowhere.py:3"
    scored = score_fairness(
        SCENARIO, RUBRIC, answer(text, "OSError"), effort(), files=TREE, judge=None
    )
    assert scored.parts["keyword_coverage"] == Scored(
        value=3 / 3.5, detail="missing: 2 files cited"
    )


# --- the sum --------------------------------------------------------------------------------


def test_the_weights_are_the_published_ones_and_sum_to_one() -> None:
    fairness, adoption = (
        {name: part.weight for name, part in parts.items()} for parts in (FAIRNESS, ADOPTION)
    )
    assert fairness == {
        "keyword_coverage": 0.10,
        "llm_quality": 0.55,
        "citation_grounding": 0.15,
        "efficiency": 0.20,
    }
    assert adoption == {"tool_fluency": 0.60, "discoverability": 0.40}
    assert sum(fairness.values()) == sum(adoption.values()) == 1


def test_an_unscored_part_leaves_the_sum_unscored_with_its_reason() -> None:
    parts: dict[str, Score] = {
        "keyword_coverage": Scored(value=1.0),
        "llm_quality": Unscored(reason="no verdict"),
    }
    assert weighted(parts, FAIRNESS) == Unscored(reason="llm_quality: no verdict")


def test_a_judge_out_of_reach_leaves_the_rest_scored() -> None:
    away = FarAway(reachable=False)
    scored = score_fairness(SCENARIO, RUBRIC, answer(*GOOD), effort(), files=TREE, judge=away)
    assert scored.parts["llm_quality"] == Unscored(reason="no verdict: no API key")
    assert isinstance(scored.score, Unscored)
    assert isinstance(scored.parts["keyword_coverage"], Scored) and scored.verdict is None


def total(*texts: str) -> float:
    done = sum(bool(text) for text in texts)
    scored = score_fairness(
        SCENARIO,
        RUBRIC,
        answer(*texts),
        effort(steps_completed=done),
        files=TREE,
        judge=Checklist(),
    )
    assert isinstance(scored.score, Scored)
    return scored.score.value


def test_a_right_answer_scores_the_sum_of_its_parts() -> None:
    scored = score_fairness(
        SCENARIO, RUBRIC, answer(*GOOD), effort(), files=TREE, judge=Checklist()
    )
    efficiency = scored.parts["efficiency"]
    assert isinstance(scored.score, Scored) and isinstance(efficiency, Scored)
    assert scored.score.value == pytest.approx(0.10 + 0.55 + 0.15 + 0.20 * efficiency.value)
    assert scored.grounding.total == scored.grounding.grounded == 4 and scored.verdict is not None


def test_answers_rank_by_what_a_reader_gets_out_of_them() -> None:
    right, fluent, invented, silent = total(*GOOD), total(*UNCITED), total(*INVENTED), total("", "")
    assert right > fluent + 0.2 > invented + 0.3 and silent == 0.0


def test_a_citation_said_in_two_steps_is_listed_once() -> None:
    both = score_fairness(
        SCENARIO,
        RUBRIC,
        answer("`put` (shop/store.py:2)", "`put` (shop/store.py:2)"),
        effort(),
        files=TREE,
        judge=None,
    )
    assert len(both.citations) == both.grounding.total == 1


def test_fairness_does_not_change_with_what_the_tools_were_asked() -> None:
    from tests.test_transcript import WHOLE, call, result

    quiet = [event for event in WHOLE if event.type not in ("tool_call", "tool_result")]
    loud = [
        *WHOLE,
        *(
            event
            for n in range(50)
            for event in (call(f"c{n}", name="deliver"), result(f"c{n}", GOOD[0]))
        ),
    ]
    cards = [
        score_cell(events, SCENARIO, RUBRIC, cell_id="c", server="x", files=TREE, judge=Checklist())
        for events in (quiet, loud)
    ]
    quiet_card, loud_card = (card.fairness for card in cards)
    names = FAIRNESS.keys() - {"efficiency"}
    assert [quiet_card.parts[name] for name in names] == [loud_card.parts[name] for name in names]
    assert quiet_card.must_cite_recall == loud_card.must_cite_recall
    assert quiet_card.citations == loud_card.citations


def test_the_arm_s_name_reaches_no_fairness_scorer() -> None:
    from tests.test_transcript import WHOLE

    shell, other = (
        score_cell(WHOLE, SCENARIO, RUBRIC, cell_id="c", server=name, files=TREE, judge=Checklist())
        for name in ("shell", "codegraph")
    )
    assert shell.fairness == other.fairness and shell.adoption != other.adoption


def test_an_answer_that_hides_behind_the_other_arm_s_marks_earns_nothing_for_it() -> None:
    boast: Answer = answer(
        f"{GOOD[0]}\n\nI used the server's find_symbol tool for all of this.", GOOD[1]
    )
    plain = score_fairness(SCENARIO, RUBRIC, answer(*GOOD), effort(), files=TREE, judge=Checklist())
    boasted = score_fairness(SCENARIO, RUBRIC, boast, effort(), files=TREE, judge=Checklist())
    assert plain.score == boasted.score


# --- what citations say counts, not how many there are ----------------------------------------


def bare(line: int, *, weak: bool | None = None) -> Citation:
    """Lines that exist; `weak` if there are words to tell by."""
    share = None if weak is None else 0.6
    update = {"weight": 0.0, "weak": bool(weak), "weak_share": share}
    return cited("shop/queue.py", line).model_copy(update=update)


def named(line: int, weight: float = 0.9, status: str = "grounded") -> Citation:
    update = {"symbol": "push", "weight": weight}
    return cited("shop/queue.py", line, status=status).model_copy(update=update)


NO_PLACES = SCENARIO.model_copy(
    update={"steps": tuple(s.model_copy(update={"must_cite": ()}) for s in SCENARIO.steps)}
)


def precision(*citations: Citation) -> float:
    score = citation_grounding(evidence(citations, (), scenario=NO_PLACES))
    assert isinstance(score, Scored)
    return score.value


def test_what_is_named_and_there_is_a_precision_of_one() -> None:
    assert precision(*(named(line) for line in range(1, 9))) == 1.0


def test_bare_lines_that_hold_what_is_said_of_them_are_as_good() -> None:
    assert precision(*(bare(line, weak=False) for line in range(1, 9))) == 1.0


def test_one_true_name_among_79_bare_lines_buys_nothing() -> None:
    padded = [named(1), *(bare(line) for line in range(2, 81))]
    assert precision(*padded) < 0.6


def test_bare_lines_beside_words_that_are_elsewhere_lose() -> None:
    padded = [named(1), *(bare(line, weak=True) for line in range(2, 21))]
    assert precision(*padded) < 0.1


def test_bare_lines_alone_that_nothing_is_said_of_are_worth_half() -> None:
    assert precision(*(bare(line) for line in range(1, 9))) == 0.5


def test_a_name_that_is_everywhere_is_no_better_than_none() -> None:
    everywhere = [named(line, weight=0.0) for line in range(1, 9)]
    assert precision(*everywhere) == precision(*(bare(line) for line in range(1, 9)))


def test_an_invention_costs_more_beside_bare_lines_than_beside_names() -> None:
    invented = named(99, weight=1.0, status="hallucinated")
    beside_names = precision(invented, *(named(line) for line in range(1, 9)))
    assert precision(invented, *(bare(line) for line in range(1, 9))) < beside_names < 0.9


def test_repeating_a_truth_or_citing_files_alone_changes_nothing() -> None:
    truths = [named(1), named(2, status="hallucinated")]
    assert precision(*truths) == precision(*truths, cited("shop/queue.py", None))


def test_a_word_that_is_there_where_its_symbol_says_little_is_judged_by_what_is_said() -> None:
    weak_use = named(5, weight=0.3).model_copy(update={"weak": True, "weak_share": 0.7})
    sure = named(5, weight=0.9).model_copy(update={"weak": True, "weak_share": 0.7})
    assert (precision(weak_use), precision(sure)) == (0.0, 1.0)


# --- wrong places ---------------------------------------------------------------------------


def held(*citations: Citation, scenario: Scenario = SCENARIO) -> float:
    return places_held(evidence(citations, (), scenario=scenario))


def some(right: int, wrong: int, weight: float = 0.9) -> list[Citation]:
    return [
        *(named(line, weight) for line in range(right)),
        *(named(line, weight, status="hallucinated") for line in range(100, 100 + wrong)),
    ]


def test_what_random_lines_would_reach_is_worth_nothing() -> None:
    assert trust(some(right=5, wrong=5, weight=0.5)) == 0.0
    assert trust(some(right=10, wrong=0, weight=0.5)) == 1.0
    assert trust(some(right=9, wrong=1, weight=0.5)) == pytest.approx(0.8)


def test_quality_counts_for_least_where_most_places_are_wrong() -> None:
    assert held(*some(right=4, wrong=6)) == LEAST_HELD


def test_one_wrong_place_in_ten_costs_no_quality_and_one_in_five_none_either() -> None:
    assert (held(*some(right=9, wrong=1)), held(*some(right=8, wrong=2))) == (1.0, 1.0)


def test_a_half_true_answer_lies_between() -> None:
    assert LEAST_HELD < held(*some(right=6, wrong=4)) < 1


def test_none_or_a_single_wrong_place_takes_no_quality_away() -> None:
    assert (held(), held(*some(right=0, wrong=1))) == (1.0, 1.0)
    assert held(*some(right=0, wrong=5)) == LEAST_HELD


def test_lines_that_nothing_tells_of_are_no_lie_and_hide_none() -> None:
    untold = [bare(line) for line in range(1, 30)]
    assert held(*untold) == 1.0
    assert held(*some(right=0, wrong=20), *untold) == LEAST_HELD


def test_quality_counts_whatever_is_cited_where_no_place_is_asked_for() -> None:
    assert held(*some(right=0, wrong=9), scenario=NO_PLACES) == 1.0


def answers(texts: Sequence[str]) -> tuple[AnswerStep, ...]:
    return answer(*texts).steps


def believed(*texts: str) -> float:
    """Of a judge that takes the words for those of the reference."""
    must_find = [step.must_cite for step in SCENARIO.steps]
    believer = Believer(Checklist().judge(RUBRIC, answers(GOOD), must_find))
    scored = score_fairness(SCENARIO, RUBRIC, answer(*texts), effort(), files=TREE, judge=believer)
    assert isinstance(scored.score, Scored)
    return scored.score.value


def test_a_liar_whose_words_are_believed_loses_to_plain_words_and_to_no_place_at_all() -> None:
    lies = [moved(text, 20) for text in GOOD]
    assert believed(*GOOD) - believed(*lies) > 0.3
    assert believed(*lies) < believed(*UNCITED)
    assert believed(*lies) < total(*UNCITED) < total(*THIN) < believed(*GOOD)
