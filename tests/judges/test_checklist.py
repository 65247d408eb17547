from __future__ import annotations

import json
import subprocess
import sys

import pytest

from runner.grounding.pointing import points_at, spray_share
from runner.records import AnswerStep, Fact, Rubric
from runner.scoring.judges import open_judge
from runner.scoring.judges.checklist.checklist import Checklist
from runner.scoring.judges.checklist.cited_places import CITED, MISCITED
from runner.scoring.judges.checklist.cited_places import UNCITED as WITHOUT_PLACE
from runner.scoring.judges.judge_settings import JudgeSettings
from tests.scoring.material import GOOD, INVENTED, QUEUE_PY, RUBRIC, SCENARIO, THIN, UNCITED, answer

MUST_FIND = [step.must_cite for step in SCENARIO.steps]


def quality(*texts: str, rubric: Rubric = RUBRIC) -> float:
    return Checklist().judge(rubric, answer(*texts).steps, MUST_FIND).quality


def one(
    text: str,
    *,
    terms: list[list[str]],
    cites: list[dict[str, object]] | None = None,
    says: str = "it is so",
    **more: object,
) -> float:
    """What one fact earns in one step's answer."""
    fact = {"says": says, "terms": terms, "cites": cites or [], **more}
    question = "Is it so, in your opinion, or not?"
    criterion = {"weight": 1.0, "question": question, "facts": [fact]}
    step = {"name": "trace", "criteria": {"map": criterion}}
    rubric = Rubric.model_validate_json(json.dumps({"audience": "an agent", "steps": [step]}))
    prompt = "What does the queue do with a message it cannot store today?"
    answered = AnswerStep(name="trace", prompt=prompt, text=text, completed=True)
    return Checklist().judge(rubric, [answered], [()]).steps[0].quality


DELIVER = [{"path": "shop/queue.py", "line": 11, "end": 17}]
KEEPS = [["deliver"], ["keep*", "append*"]]


# --- ranking --------------------------------------------------------------------------------


def test_a_right_answer_meets_every_fact() -> None:
    verdict = Checklist().judge(RUBRIC, answer(*GOOD).steps, MUST_FIND)
    assert verdict.quality == 1.0, verdict.model_dump_json(indent=1)
    assert verdict.steps[0].criteria["map_quality"].reason == "3 of 3 facts"


def test_answers_rank_as_a_reader_would_rank_them() -> None:
    scores = [quality(*texts) for texts in (GOOD, UNCITED, INVENTED, ("", ""))]
    assert scores == sorted(scores, reverse=True) and len(set(scores)) == 4
    assert scores[0] - scores[1] > 0.15 and scores[1] - scores[2] > 0.25 and scores[3] == 0.0


def test_a_thin_right_answer_earns_what_it_says_and_no_more() -> None:
    assert quality(*INVENTED) < quality(*THIN) < quality(*GOOD)


def test_right_facts_for_another_question_earn_nothing() -> None:
    assert quality(GOOD[1], GOOD[0]) < 0.25


def test_the_reason_says_which_facts_are_short_and_why() -> None:
    verdict = Checklist().judge(RUBRIC, answer(*INVENTED).steps, MUST_FIND)
    reason = verdict.steps[0].criteria["map_quality"].reason
    assert reason.startswith(
        "0 of 3 facts; cited at another place: deliver keeps a message it cannot store; "
    )


def test_a_judge_says_the_same_thing_in_every_process() -> None:
    code = (
        "from tests.judges.test_checklist import *\n"
        "print(Checklist().judge(RUBRIC, answer(*GOOD).steps, MUST_FIND).model_dump_json())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1 and Checklist().identity in outputs.pop()


def test_the_inputs_digest_changes_with_each_input_and_with_nothing_else() -> None:
    judge = Checklist()
    base = judge.judge(RUBRIC, answer(*GOOD).steps, MUST_FIND).inputs
    assert base == Checklist().judge(RUBRIC, answer(*GOOD).steps, MUST_FIND).inputs
    others = [
        judge.judge(
            RUBRIC.model_copy(update={"audience": "me"}), answer(*GOOD).steps, MUST_FIND
        ).inputs,
        judge.judge(RUBRIC, answer(*THIN).steps, MUST_FIND).inputs,
        judge.judge(RUBRIC, answer(*GOOD).steps, [(), ()]).inputs,
    ]
    assert len({base, *others}) == 4


def test_the_checklist_stands_at_the_door() -> None:
    assert open_judge(JudgeSettings()).name == "checklist"


# --- ways of writing ------------------------------------------------------------------------

STYLES = {
    "sentence": "`Queue.deliver` (shop/queue.py:11) appends the message to its list of failures.",
    "two sentences": "See `Queue.deliver` at shop/queue.py:11. "
    "It appends the message to its list of failures.",
    "range": "`deliver` appends it to a list (shop/queue.py:11-17).",
    "short path": "`deliver` appends it to a list (queue.py:12).",
    "link": "[deliver](shop/queue.py#L11-L17) appends it to a list.",
    "item with sub-items": "- `Queue.deliver`\n  - lives at shop/queue.py:11\n"
    "  - appends what it could not store to a list",
    "heading": "### `Queue.deliver`: shop/queue.py:11\n\n"
    "This one appends what it could not store to a list.",
    "heading names the file": "## shop/queue.py\n\n"
    "- `deliver` (line 11) appends what it could not store\n- other things",
    "table": "| method | where | what |\n|---|---|---|\n"
    "| `deliver` | `shop/queue.py:11` | appends to the failed list |",
    "table with a line column": "| file | line | method | does |\n|---|---|---|---|\n"
    + "| shop/queue.py | 11 | deliver | appends to the failed list |",
    "json": '```json\n{"trace": [{"method": "Queue.deliver", "file": "shop/queue.py", "line": 11, '
    + '"does": "appends the message to a list"}]}\n```',
    "json with a long field": '{"Queue.deliver": {"file_line": "shop/queue.py:11", "purpose": "'
    + "tries the store and, where that does not take the message, appends it to the list of "
    + "failures for a later run"
    + '"}}',
    "fence": "```\ndeliver (shop/queue.py:11) appends to failed\n  -> put\n```",
    "windows line ends": "Intro.\r\n\r\n- `deliver` appends it (shop/queue.py:11)\r\n",
    "path in the sandbox": "`deliver` appends it to a list (/workspace/shop/queue.py:11).",
    "bold": "**`deliver`** — *shop/queue.py:11* — **appends** it to a list.",
}


@pytest.mark.parametrize("style", STYLES)
def test_a_fact_counts_in_whatever_form_it_is_written(style: str) -> None:
    assert one(STYLES[style], terms=KEEPS, cites=DELIVER) == 1.0


def test_a_place_named_elsewhere_in_the_step_is_worth_less_than_beside_the_fact() -> None:
    apart = (
        "The method `deliver` appends the message to a list.\n\n"
        "Much later there is more to say.\n\nPlaces: shop/queue.py:11."
    )
    assert one(apart, terms=KEEPS, cites=DELIVER) == 0.75


def test_prose_without_places_is_worth_more_than_invented_places() -> None:
    assert MISCITED < WITHOUT_PLACE < 0.5 * CITED
    said = "Here `deliver` appends the message to a list."
    assert one(said, terms=KEEPS, cites=DELIVER) == WITHOUT_PLACE
    assert (
        one(
            "Here `deliver` (shop/queue.py:99) appends the message to a list.",
            terms=KEEPS,
            cites=DELIVER,
        )
        == MISCITED
    )


def test_a_term_is_a_whole_word_and_a_star_is_any_ending() -> None:
    assert one("In the end the redelivery appends to a list of failures.", terms=KEEPS) == 0.0
    assert (
        one(
            "In the end the method deliver keeps on appending to a list.",
            terms=[["deliver"], ["append*"]],
        )
        == 1.0
    )
    assert (
        one(
            "In the end the method deliver keeps on appending to a list.",
            terms=[["deliver"], ["append"]],
        )
        == 0.0
    )


@pytest.mark.parametrize(("lines", "worth"), [("22", 1.0), ("23", MISCITED), ("1-900", MISCITED)])
def test_a_place_counts_within_five_lines_and_not_six_or_in_a_range_over_the_file(
    lines: str, worth: float
) -> None:
    said = f"Here `deliver` (shop/queue.py:{lines}) appends it to a list."
    assert one(said, terms=KEEPS, cites=DELIVER) == worth


def test_the_place_of_another_file_with_the_same_tail_does_not_count() -> None:
    fact = Fact.model_validate(
        {"says": "x", "terms": (("a",),), "cites": ({"path": "shop/queue.py", "line": 11},)}
    )
    assert points_at("queue.py", 11, 11, fact.cites[0]) and not points_at(
        "myqueue.py", 11, 11, fact.cites[0]
    )
    assert not points_at("other/queue.py", 11, 11, fact.cites[0])


# --- cheats ---------------------------------------------------------------------------------

ALL_TERMS = [
    term.rstrip("*")
    for c in RUBRIC.steps[0].criteria.values()
    for f in c.facts
    for group in f.terms
    for term in group
]


@pytest.mark.parametrize(
    "soup",
    [" ".join(ALL_TERMS), ", ".join(ALL_TERMS) + ".", "\n".join(f"- {term}" for term in ALL_TERMS)],
)
def test_keyword_soup_earns_nothing(soup: str) -> None:
    assert quality(soup, soup) == 0.0


def test_keyword_soup_behind_the_pasted_prompt_earns_nothing() -> None:
    prompt = SCENARIO.steps[0].prompt
    for text in (
        f"{prompt} {' '.join(ALL_TERMS)}",
        f"{prompt}\n\n{' '.join(ALL_TERMS)}",
        f"{' '.join(ALL_TERMS)}. {prompt}",
    ):
        assert quality(text, "") == 0.0


def test_a_few_places_in_a_soup_do_not_carry_it() -> None:
    soup = f"{' '.join(ALL_TERMS * 3)} shop/queue.py:1 shop/queue.py:30 shop/store.py:30"
    assert quality(soup, "") < 0.1


def test_the_rubric_s_own_questions_are_no_answer() -> None:
    questions = "\n".join(
        criterion.question for step in RUBRIC.steps for criterion in step.criteria.values()
    )
    assert quality(questions, questions) == 0.0
    assert one("Is it so, in your opinion, or not? It is the one.", terms=[["opinion"]]) == 0.0


def test_pasting_the_prompt_earns_nothing_even_where_it_holds_the_terms() -> None:
    prompt = "What does the queue do with a message it cannot store today?"
    assert one(prompt, terms=[["queue"], ["store"]]) == 0.0
    assert (
        one(f"> {prompt}\n\nThe queue asks the store again.", terms=[["queue"], ["store"]]) == 1.0
    )


def test_the_same_sentence_at_every_line_points_at_nothing() -> None:
    lines = len(QUEUE_PY.splitlines())
    spray = "\n".join(
        f"- deliver keeps what failed here: shop/queue.py:{line}" for line in range(1, lines)
    )
    assert one(spray, terms=[["deliver"], ["keep*"], ["failed"]], cites=DELIVER) <= MISCITED


def test_many_callers_in_one_form_are_many_statements() -> None:
    owners = ["Path", "File", "Choice", "Tuple", "Date", "Range", "Uuid", "Bool", "Float", "Text"]
    rows = [
        f"- `{owner}.convert` calls deliver (shop/queue.py:{11 + 20 * place})"
        for place, owner in enumerate(owners)
    ]
    assert one("\n".join(rows), terms=[["Path.convert"], ["call*"]], cites=DELIVER) == 1.0


def test_a_spray_of_places_beside_true_statements_is_worth_less_than_no_places() -> None:
    text = "Here `deliver` appends the message to a list of failures.\n\n"
    spray = text + "\n".join(
        f"shop/queue.py:{line}, shop/store.py:{line}" for line in range(1, 1500, 5)
    )
    assert one(spray, terms=KEEPS, cites=DELIVER) < one(text, terms=KEEPS, cites=DELIVER)


def test_one_sentence_cannot_carry_every_fact() -> None:
    facts = [
        {"says": str(n), "terms": [[f"name{n}"], ["call*"]], "cites": DELIVER} for n in range(12)
    ]
    step = {"name": "trace", "criteria": {"map": {"weight": 1.0, "question": "?", "facts": facts}}}
    rubric = Rubric.model_validate_json(json.dumps({"audience": "a", "steps": [step]}))
    text = " ".join(f"name{n}" for n in range(12)) + " call it (shop/queue.py:11)."
    said = [AnswerStep(name="trace", prompt="p", text=text, completed=True)]
    assert Checklist().judge(rubric, said, [()]).quality < 0.6


def test_the_opposite_of_a_fact_is_not_the_fact() -> None:
    assert (
        one(
            "When that happens, `deliver` does not append the message to a list "
            "(shop/queue.py:11).",
            terms=KEEPS,
            cites=DELIVER,
        )
        == 0.0
    )
    assert one("So `deliver` never keeps the message that it was given.", terms=KEEPS) == 0.0


def test_saying_both_a_fact_and_its_opposite_costs_most_of_it() -> None:
    both = (
        "Here `deliver` appends the message to a list. "
        "Then again, `deliver` does not append the message to a list."
    )
    assert one(both, terms=KEEPS) == 0.4


def test_a_fact_that_is_itself_a_negation_may_be_said_as_one() -> None:
    text = "Any other error is not caught by `deliver`, and it goes to the caller."
    assert (
        one(text, terms=[["deliver"], ["caught"]], says="other errors are not caught by deliver")
        == 1.0
    )
    assert one(text, terms=[["deliver"], ["not caught", "escape*"]]) == 1.0


def test_a_negation_of_something_else_in_the_sentence_does_no_harm() -> None:
    assert one("It does not raise; `deliver` appends the message to a list.", terms=KEEPS) == 1.0
    assert one("Not only does `deliver` append the message, it returns false.", terms=KEEPS) == 1.0


def test_a_wording_of_the_opposite_takes_the_credit_away() -> None:
    text = "In `deliver` every exception is caught, so OSError is caught there too."
    assert one(text, terms=[["OSError"], ["caught"]]) == 1.0
    assert one(text, terms=[["OSError"], ["caught"]], never=["every exception"]) == 0.0


def test_an_answer_that_points_wrong_earns_less_than_without_places() -> None:
    honest = quality(INVENTED[0].replace(":211", "").replace(":340", "").replace(":77", ""), "")
    assert quality(INVENTED[0], "") < honest


def test_length_alone_earns_nothing() -> None:
    assert (
        quality(
            "It is important to look at the code with care and to think about it. " * 300,
            "No. " * 500,
        )
        == 0.0
    )


def test_a_spray_falls_with_the_square_and_a_thorough_map_does_not() -> None:
    assert spray_share(80, 5) == 1.0 and spray_share(120, 20) == 1.0
    assert spray_share(160, 5) == 0.25 and spray_share(800, 5) == pytest.approx(0.01)
