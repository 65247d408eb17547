from __future__ import annotations

import pytest

from runner.records import Check, Scenario, Scored, Unscored
from runner.scoring.keywords import keyword_coverage, passes
from tests.scoring.material import GOOD, SCENARIO, answer


def hit(kind: str, value: str | int, text: str, files: int = 0) -> bool:
    return passes(Check.model_validate({"kind": kind, "value": value}), text, files)


@pytest.mark.parametrize(
    "text",
    [
        "calls `wsgi_app` next",
        "Flask.wsgi_app()",
        "**WSGI_APP**",
        "_wsgi_app_ is it",
        "wsgi_app\u200b, then",
        "ｗsgi_app",
    ],
)
def test_a_word_is_found_however_it_is_dressed(text: str) -> None:
    assert hit("word", "wsgi_app", text)


@pytest.mark.parametrize("text", ["wsgi_app2", "my_wsgi_app", "wsgi_apps", "xwsgi_app_", ""])
def test_a_word_inside_an_identifier_is_another_word(text: str) -> None:
    assert not hit("word", "wsgi_app", text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("__call__", "so `__call__` runs"),
        ("C++", "in C++, not C"),
        ("test_basic.py", "see tests/test_basic.py:12"),
        ("**kwargs", "takes **kwargs"),
    ],
)
def test_words_with_unusual_edges_are_found(value: str, text: str) -> None:
    assert hit("word", value, text)


def test_a_file_name_is_not_found_in_a_longer_one() -> None:
    assert not hit("word", "test_basic.py", "test_basic.pyc and latest_basic.py")


def test_a_phrase_may_be_broken_over_lines() -> None:
    assert hit("phrase", "request context", "pushes the request\n  context first")
    assert not hit("phrase", "request context", "request contexts")


def test_contains_looks_inside_words_and_exact_minds_case() -> None:
    assert hit("contains", "SUBCLASS", "every subclassing application")
    assert hit("exact", "OSError", "an OSError") and not hit("exact", "OSError", "an oserror")


def test_starts_with_means_a_line_whatever_list_marker_it_has() -> None:
    assert hit("starts_with", "Risk:", "none\n  - **Risk:** high")
    assert not hit("starts_with", "Risk:", "the Risk: high")


def test_min_files_counts_files_and_not_mentions() -> None:
    assert hit("min_files", 2, "a.py a.py a.py", files=2)
    assert not hit("min_files", 2, "a.py b.py c.py", files=1)


def test_a_bonus_weighs_half() -> None:
    score = keyword_coverage(SCENARIO, answer("deliver", "OSError"), [0, 0])
    assert score == Scored(value=2 / 3.5, detail="missing: retry_failed, 2 files cited")


def test_a_keyword_counts_in_its_own_step_only() -> None:
    swapped = keyword_coverage(SCENARIO, answer(GOOD[1], GOOD[0]), [0, 0])
    right = keyword_coverage(SCENARIO, answer(*GOOD), [2, 1])
    assert isinstance(swapped, Scored) and isinstance(right, Scored)
    assert right.value == 1.0 and swapped.value < 0.6


def test_silence_scores_nothing() -> None:
    assert keyword_coverage(SCENARIO, answer("", ""), [0, 0]).model_dump()["value"] == 0.0


def test_a_scenario_without_checks_is_unscored_and_not_zero() -> None:
    steps = tuple(step.model_copy(update={"checks": ()}) for step in SCENARIO.steps)
    bare: Scenario = SCENARIO.model_copy(update={"steps": steps})
    assert isinstance(keyword_coverage(bare, answer(*GOOD), [0, 0]), Unscored)
