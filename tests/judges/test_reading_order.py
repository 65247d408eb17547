"""Words that state nothing: in no order, hidden, asked, or turned round."""

from __future__ import annotations

import json
import random
import statistics

import pytest

from runner.records import AnswerStep, Rubric
from runner.scoring.judges.checklist.checklist import Checklist
from runner.scoring.judges.checklist.cited_places import MISCITED
from runner.scoring.judges.checklist.fluency import fluency_of, order_share
from runner.scoring.judges.checklist.hidden import visible
from runner.scoring.judges.checklist.opposites import is_turned
from runner.scoring.judges.checklist.synonyms import other_words
from tests.judges.test_checklist import DELIVER, KEEPS, MUST_FIND, one, quality
from tests.scoring.material import GOOD, RUBRIC, answer

# --- order --------------------------------------------------------------------------------------


def shuffled(text: str, seed: int) -> str:
    words = text.split()
    random.Random(seed).shuffle(words)
    return " ".join(words)


def test_a_right_answer_in_no_order_earns_next_to_nothing() -> None:
    # Its steps have some thirty words that an order shows in; real ones have hundreds.
    earned = [quality(*(shuffled(text, seed) for text in GOOD)) for seed in range(10)]
    assert statistics.fmean(earned) < 0.15 * quality(*GOOD)


def test_each_sentence_shuffled_in_itself_earns_no_more() -> None:
    lines = [". ".join(shuffled(part, 1) for part in text.split(". ")) for text in GOOD]
    assert quality(*lines) < 0.3 * quality(*GOOD)


def test_a_table_of_names_has_no_order_to_be_wrong() -> None:
    row = "| onRequest | lib/route.js:500 | `hookRunnerGenerator` | lib/hooks.js:230 |"
    assert order_share([fluency_of(row.lower())] * 30) == 1.0


def test_prose_is_in_order_and_its_words_by_the_alphabet_are_not() -> None:
    text = (
        "the parser reads the stream in pieces and hands each of them to the decoder, which is "
        "where the limit on the size of a field is checked before it is written to the container"
    )
    assert order_share([fluency_of(text)]) == 1.0
    assert order_share([fluency_of(" ".join(sorted(text.split())))]) == 0.0


# --- hidden -------------------------------------------------------------------------------------

SAID = "Here `deliver` appends the message to a list (shop/queue.py:11)."


@pytest.mark.parametrize(
    "hidden",
    [
        "<!-- {} -->",
        "<!-- {}",
        "<details><summary>more</summary>{}</details>",
        '<span style="display:none">{}</span>',
        '<span style="color: white">{}</span>',
        '<font color="#ffffff">{}</font>',
        "<p hidden>{}</p>",
        "<template>{}</template>",
        "[//]: # ({})",
    ],
)
def test_what_a_page_does_not_show_is_not_said(hidden: str) -> None:
    assert one("Nothing to add.\n\n" + hidden.format(SAID), terms=KEEPS, cites=DELIVER) == 0.0


@pytest.mark.parametrize("shown", ["<details open>{}</details>", "<b>{}</b>", "`<!--` {} `-->`"])
def test_what_a_page_shows_is_said(shown: str) -> None:
    assert one(shown.format(SAID), terms=KEEPS, cites=DELIVER) == 1.0


def test_a_comment_in_a_code_block_is_code() -> None:
    assert visible("```html\n<!-- kept -->\n```\n") == "```html\n<!-- kept -->\n```\n"


# --- asked and called false ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Is it so that `deliver` appends the message to a list (shop/queue.py:11)?",
        "It is false that `deliver` appends the message to a list (shop/queue.py:11).",
        "It would be wrong to say `deliver` appends it to a list (shop/queue.py:11).",
        "None of the following is true:\n\n- `deliver` appends it to a list (shop/queue.py:11).",
    ],
)
def test_what_is_asked_or_called_false_is_not_said(text: str) -> None:
    assert one(text, terms=KEEPS, cites=DELIVER) == 0.0


# --- turned round -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        ("the base store raises", "the base store returns"),
        ("it is always called", "it is never called"),
        ("the outer layer catches it", "the outer layer lets it escape: it escapes"),
    ],
)
def test_an_opposite_turns_a_fact_round(says: str, sentence: str) -> None:
    assert is_turned(says, sentence)


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        ("the base store raises", "the base store raises, and the other returns"),
        ("the queue keeps it", "the message stays in the queue"),
    ],
)
def test_the_same_in_other_words_does_not(says: str, sentence: str) -> None:
    assert not is_turned(says, sentence)


def test_a_fact_turned_round_costs_more_than_one_left_out() -> None:
    says = "deliver appends first"
    facts = {"terms": KEEPS, "cites": DELIVER, "says": says}
    right = "Here `deliver` appends the message first (shop/queue.py:11)."
    assert one(right, **facts) == 1.0  # type: ignore[arg-type]
    verdict = Checklist().judge(
        RUBRIC,
        answer(GOOD[0].replace("retry_failed", "retry_failed never") + " " + GOOD[0], "").steps,
        MUST_FIND,
    )
    assert verdict.quality <= quality(GOOD[0], "")
    assert one(right.replace("first", "last"), **facts) == 0.0  # type: ignore[arg-type]


def test_who_turns_facts_round_is_believed_less_in_the_rest() -> None:
    honest = "Here `deliver` appends the message. "
    wrong = "`retry_failed` is never called."
    facts: list[dict[str, object]] = [
        {"says": "deliver appends", "terms": KEEPS},
        {"says": "retry_failed is always called", "terms": [["retry_failed"], ["called"]]},
    ]
    assert _of_two(honest + wrong, facts) < _of_two(honest, facts) == 0.5


def _of_two(text: str, facts: list[dict[str, object]]) -> float:
    criterion = {"weight": 1.0, "question": "What is it?", "facts": facts}
    step = {"name": "trace", "criteria": {"map": criterion}}
    rubric = Rubric.model_validate_json(json.dumps({"audience": "an agent", "steps": [step]}))
    said = AnswerStep(name="trace", prompt="Which?", text=text, completed=True)
    return Checklist().judge(rubric, [said], [()]).quality


def test_a_negation_counts_although_the_fact_has_one_elsewhere() -> None:
    says = "deliver appends to the list, not to the file"
    text = "When that happens, `deliver` does not append to the list at all (shop/queue.py:11)."
    assert one(text, terms=[["deliver"], ["append*"]], cites=DELIVER, says=says) == 0.0


# --- places -------------------------------------------------------------------------------------


def test_a_place_in_a_wrong_file_is_worth_no_more_than_a_wrong_line() -> None:
    line = one(SAID.replace(":11", ":99"), terms=KEEPS, cites=DELIVER)
    file = one(SAID.replace("queue.py", "store.py"), terms=KEEPS, cites=DELIVER)
    assert file == line == MISCITED


def test_ranges_that_cover_a_file_between_them_are_worth_little() -> None:
    ranges = ", ".join(f"shop/queue.py:{at}-{at + 148}" for at in range(1, 8 * 149, 149))
    spread = one(SAID.replace("shop/queue.py:11", ranges), terms=KEEPS, cites=DELIVER)
    assert spread < 0.25
    one_range = SAID.replace(":11", ":1-110")
    assert one(one_range, terms=KEEPS, cites=DELIVER) == 1.0


# --- other words --------------------------------------------------------------------------------


def test_a_term_stands_for_the_field_s_other_words() -> None:
    text = "In the end `deliver` remembers the list of failures."
    assert one(text, terms=[["deliver"], ["stor*"]]) == 1.0
    assert one(text, terms=[["deliver"], ["raise*"]]) == 0.0


def test_an_identifier_may_be_said_in_words() -> None:
    assert "lifecycle hooks*" in other_words(("lifecycleHooks",))
    assert "handle user exception*" in other_words(("handle_user_exception",))
    assert other_words(("passenger*",)) == ()


# --- facts --------------------------------------------------------------------------------------


def test_a_verdict_says_of_each_fact_what_the_answer_says() -> None:
    verdict = Checklist().judge(RUBRIC, answer(*GOOD).steps, MUST_FIND)
    asked = sum(len(c.facts) for step in RUBRIC.steps for c in step.criteria.values())
    assert len(verdict.facts) == asked
    for fact in verdict.facts:
        assert fact.verdict == "stated" and fact.credit == 1.0 and not fact.reason
        assert fact.quote in " ".join(" ".join(GOOD).split())


def test_an_unanswered_step_has_absent_facts() -> None:
    verdict = Checklist().judge(RUBRIC, answer("", "").steps, MUST_FIND)
    assert {fact.verdict for fact in verdict.facts} == {"absent"}


# --- time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", ["<!-- ", "<details>", "`", "(a. ", "(a:1, b:2 ", "a.b/c_d-e "])
def test_hostile_text_is_read_to_its_end(piece: str) -> None:
    text = piece * 50_000
    assert fluency_of(text).pairs >= 0 and len(visible(text)) <= len(text)
