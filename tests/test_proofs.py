from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from runner.gate import scenario_checks
from runner.gate.adversarial_answers import cheats
from runner.gate.perturbations import moved, thinned
from runner.gate.scenario_checks import prove
from runner.records import ContrastPair, Rubric, Scenario
from runner.scoring.judges.checklist.checklist import Checklist
from tests.scoring.material import GOOD, INVENTED, RUBRIC, SCENARIO, THIN, TREE, UNCITED


@dataclass(frozen=True)
class Loaded:
    scenario: Scenario = SCENARIO
    rubric: Rubric = RUBRIC
    reference: tuple[str, ...] = GOOD
    contrast_pairs: tuple[ContrastPair, ...] = ()
    suite: str = "core"


def problems(loaded: Loaded) -> list[str]:
    return [str(problem) for problem in prove(loaded, TREE, Checklist())]


def with_place(**place: Any) -> Loaded:
    # By way of JSON: a record in Python takes no list where it has a tuple.
    data = SCENARIO.model_dump(mode="json")
    data["steps"][0]["must_cite"] = [place]
    return Loaded(scenario=Scenario.model_validate_json(json.dumps(data)))


def test_a_sound_scenario_has_no_problems() -> None:
    assert problems(Loaded()) == []


@pytest.mark.parametrize(
    "reference", [THIN, UNCITED, INVENTED, ("", "")], ids=["thin", "uncited", "invented", "silent"]
)
def test_a_reference_that_is_not_thorough_is_refused(reference: tuple[str, ...]) -> None:
    assert "below 0.9" in "\n".join(problems(Loaded(reference=reference)))


def test_a_reference_that_lacks_a_step_is_refused() -> None:
    assert problems(Loaded(reference=GOOD[:1])) == [
        "shop-queue/reference: 1 answers for 2 steps; write reference/1.md to reference/2.md"
    ]


def with_facts(*says: str) -> Loaded:
    """The first criterion's facts in other words."""
    data = RUBRIC.model_dump(mode="json")
    facts = next(iter(data["steps"][0]["criteria"].values()))["facts"]
    for fact, words in zip(facts, says, strict=False):
        fact["says"] = words
    return Loaded(rubric=Rubric.model_validate_json(json.dumps(data)))


@pytest.mark.parametrize(
    ("says", "word"),
    [
        ("it raises until a subclass implements the method", "it"),
        ("its docstring states the order", "its"),
        ("deliver calls it", "it"),
        ("the decoder's tests build it with a boundary", "it"),
        ("the constructor needs an array for it", "it"),
        ("the warning is not shown in that case", "that case"),
        ("serialize_date does so with an option", "does so"),
        ("so do deliver and retry_failed", "so"),
        ("PASSTHROUGH_DATE likewise", "likewise"),
        ("deliver creates one", "creates one"),
    ],
)
def test_a_fact_that_leans_on_another_is_refused(says: str, word: str) -> None:
    [problem] = problems(with_facts(says))
    assert problem.endswith(f"facts[0].says: {says!r} does not stand alone: what is {word!r}?")


@pytest.mark.parametrize(
    "says",
    [
        "deliver takes the message and puts it into the store",
        "the store raises before it is decided whether to keep the message",
        "only OSError is caught, so that another error leaves deliver",
        "for a full disk it is open what becomes of the message",
        "the test of one handler holds that one blueprint's does not serve another",
    ],
)
def test_a_fact_whose_words_point_at_something_in_it_stands_alone(says: str) -> None:
    assert problems(with_facts(says)) == []


def test_a_fact_that_stands_twice_in_a_step_is_refused() -> None:
    first, second = problems(with_facts("deliver keeps a message", "deliver keeps a message"))
    assert first.endswith("'deliver keeps a message' stands in this step twice")
    assert "facts[1]" in second


def contrast_pair(right: str, wrong: str) -> ContrastPair:
    return ContrastPair(step="trace", kind="roles", right=right, wrong=wrong, why="queue.py:1")


def test_a_pair_is_made_from_text_that_stands_once_in_the_reference() -> None:
    word = next(word for word in GOOD[0].split() if GOOD[0].count(word) == 1)
    pair = contrast_pair(word, "something else")
    assert problems(Loaded(contrast_pairs=(pair,))) == []
    assert problems(Loaded(contrast_pairs=(contrast_pair("nowhere said", "x"), pair, pair))) == [
        "shop-queue/turned.yaml pairs[0]: `right` stands 0 times in the reference answer of trace, "
        "not once: 'nowhere said'",
        "shop-queue/turned.yaml pairs[2]: an earlier pair is the same; it would count twice",
    ]


def test_a_pair_that_could_be_made_in_two_places_is_refused() -> None:
    [problem] = problems(Loaded(contrast_pairs=(contrast_pair("e", "a"),)))
    assert f"stands {GOOD[0].count('e')} times" in problem


def labelled(*facts: str) -> ContrastPair:
    word = next(word for word in GOOD[0].split() if GOOD[0].count(word) == 1)
    return contrast_pair(word, " ".join(facts) or "else").model_copy(update={"facts": facts})


def test_a_pair_names_facts_of_its_own_step() -> None:
    own, other = (step.facts[0].says for step in RUBRIC.steps)
    assert problems(Loaded(contrast_pairs=(labelled(own), labelled()))) == []
    assert problems(Loaded(contrast_pairs=(labelled(own, other),))) == [
        f"shop-queue/turned.yaml pairs[0].facts: trace has no fact {other!r} in rubric.yaml"
    ]


def test_a_pair_that_nobody_labelled_is_refused_beside_one_that_somebody_did() -> None:
    word = next(word for word in GOOD[0].split() if GOOD[0].count(word) == 1)
    [problem] = problems(Loaded(contrast_pairs=(labelled(), contrast_pair(word, "other"))))
    assert problem.startswith("shop-queue/turned.yaml pairs[1].facts: say for all pairs")


def test_pairs_that_no_fact_asks_for_are_not_counted_for_the_gate() -> None:
    assert problems(Loaded(suite="held-out", contrast_pairs=(labelled(),))) == [
        "shop-queue/turned.yaml: has 0 pairs that a fact asks for; the gate asks for at least 40"
    ]


def test_a_held_out_scenario_with_few_pairs_is_no_examination() -> None:
    assert problems(Loaded(suite="held-out")) == [
        "shop-queue/turned.yaml: has 0 pairs that a fact asks for; the gate asks for at least 40"
    ]


def test_a_pair_that_says_the_same_twice_is_no_pair() -> None:
    with pytest.raises(ValueError, match="says the same"):
        contrast_pair("the loop reads a job", "the loop  reads a job")


def test_a_rubric_with_other_steps_is_refused() -> None:
    swapped = RUBRIC.model_copy(update={"steps": RUBRIC.steps[::-1]})
    assert problems(Loaded(rubric=swapped)) == [
        "shop-queue/rubric.yaml steps: not the scenario's steps; "
        "expected, in order: ['trace', 'impact']"
    ]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            {"path": "shop/Queue.py", "line": 1},
            "shop/Queue.py is not a file at the commit; check its spelling and case",
        ),
        (
            {"path": "shop/queue.py", "line": 99},
            "line 99 is past the end of shop/queue.py, which has 40 lines",
        ),
        ({"path": "shop/queue.py", "line": 9, "end": 3}, "end 3 comes before line 9"),
        (
            {"path": "shop/queue.py", "line": 11, "symbol": "retry_failed"},
            "retry_failed is not defined within ±5 of lines 11–11: it is defined at 38",
        ),
        (
            {"path": "shop/queue.py", "line": 11, "symbol": "vanish"},
            "vanish is not defined within ±5 of lines 11–11: no definition of it is found",
        ),
    ],
)
def test_a_place_that_does_not_hold_is_named(place: dict[str, Any], message: str) -> None:
    assert problems(with_place(**place)) == [
        f"shop-queue/scenario.yaml steps[0].must_cite[0]: {message}"
    ]


def test_a_fact_s_place_is_proven_too() -> None:
    text = (
        RUBRIC.model_dump_json().replace('"line":38', '"line":380').replace('"end":40', '"end":400')
    )
    assert problems(Loaded(rubric=Rubric.model_validate_json(text))) == [
        "shop-queue/rubric.yaml steps[0].criteria.map_quality.facts[1].cites[0]: "
        "line 400 is past the end of shop/queue.py, which has 40 lines"
    ]


def test_a_prompt_that_gives_the_answer_away_is_a_problem() -> None:
    steps = []
    for step, text in zip(SCENARIO.steps, GOOD, strict=True):
        steps.append(step.model_copy(update={"prompt": text}))
    given_away = SCENARIO.model_copy(update={"steps": tuple(steps)})
    assert "the pasted prompt" in "\n".join(problems(Loaded(scenario=given_away)))


def test_a_rubric_that_keywords_and_a_guess_satisfy_is_a_problem() -> None:
    # Facts that ask for one word and no place: who has read the rubric needs no repository.
    data = RUBRIC.model_dump(mode="json")
    for step in data["steps"]:
        for name, criterion in step["criteria"].items():
            criterion["facts"] = [{"says": f"a shop has its {name}", "terms": [["shop*"]]}]
    loose = Rubric.model_validate_json(json.dumps(data))
    assert (
        "a line of keywords and a guessed place for each fact gets 1.00 of llm_quality"
        in "\n".join(problems(Loaded(rubric=loose)))
    )


def test_every_cheat_has_a_text_for_every_step() -> None:
    made = cheats(Loaded(), TREE)
    assert len(made) == 6
    assert all(len(texts) == 2 and all(texts) for texts in made.values())


# --- the reference with every line moved --------------------------------------------------------


def test_a_lie_that_stays_close_to_the_reference_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scenario_checks, "LIE_MARGIN", 0.99)
    assert problems(Loaded()) == []  # of so few places no lie can be told
    monkeypatch.setattr(scenario_checks, "LEAST_CITED", 1)
    [problem] = problems(Loaded())
    assert problem.startswith("shop-queue: with every line moved by 20 the reference gets ")


def test_lines_in_a_form_that_is_not_moved_are_no_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenario_checks, "LIE_MARGIN", 0.99)
    monkeypatch.setattr(scenario_checks, "LEAST_CITED", 1)
    linked = tuple(text.replace(".py:", ".py#L") for text in GOOD)
    assert tuple(moved(text, 20) for text in linked) == linked
    assert problems(Loaded(reference=linked)) == []


def test_a_thinned_text_lacks_one_citation_in_so_many_and_no_word() -> None:
    text = "`a` (x.py:1), `b` (x.py:2), `c` (x.py:3)."
    assert thinned(text, 3) == "`a` (x.py:1), `b` (x.py:2), `c` ."
    assert thinned(text, 4) == text
