"""What ships: many questions of many repositories, drawn, spread, pinned and free to use."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import chain

from runner.authoring.exact.kind import LANGUAGES, TAIL
from runner.authoring.exact.question_files import FILE, SUITE, read_suite
from runner.catalog.exact_questions import known_in
from runner.catalog.locks import read_repos_lock
from runner.grounding.grammars import language_of
from runner.records.exact import ExactQuestion, ExactQuestions
from tests.checkout import ROOT

PERMISSIVE = {"MIT", "BSD-3-Clause", "Apache-2.0"}


@cache
def suites() -> list[ExactQuestions]:
    return [read_suite(path) for path in sorted((ROOT / SUITE).glob(f"*/{FILE}"))]


def questions() -> list[ExactQuestion]:
    return list(chain.from_iterable(it.questions for it in suites()))


def test_every_repository_is_pinned_and_may_be_used() -> None:
    pins = read_repos_lock(ROOT)
    assert all(it.repository.label in pins for it in suites())
    assert {it.licence for it in suites()} <= PERMISSIVE
    assert len({it.repository.label for it in suites()}) == len(suites())


def test_no_kind_has_more_than_a_quarter_and_half_were_drawn() -> None:
    kinds = Counter(it.key.kind for it in questions())
    assert max(kinds.values()) <= len(questions()) / 4
    drawn = sum(it.drawn for it in questions())
    assert 0.4 <= drawn / len(questions()) <= 0.6


def test_a_third_of_each_is_held_back() -> None:
    for it in suites():
        assert sum(one.held_back for one in it.questions) == len(it.questions) // 3


def test_of_every_name_that_exists_a_second_program_found_the_same_places() -> None:
    asked = [it for it in questions() if it.key.places or it.key.optional]
    assert len(asked) >= 300
    assert [it.name for it in asked if not it.confirmed_by] == []


def test_they_are_of_many_repositories_and_ten_languages() -> None:
    assert len(suites()) >= 18
    known = [place for it in questions() for place in (*it.key.places, *it.key.optional)]
    languages = Counter(language_of(it.path, b"") for it in known)
    assert len(languages.keys() & LANGUAGES) >= 10, languages


def test_some_have_no_answer_and_no_prompt_says_which() -> None:
    none = [it for it in questions() if not it.key.places]
    assert len(questions()) / 10 <= len(none) <= len(questions()) / 4
    assert all(it.prompt.endswith(TAIL) for it in questions())


def test_no_near_miss_is_near_what_is_right() -> None:
    for it in questions():
        for miss in it.key.wrong:
            for place in (*it.key.places, *it.key.optional):
                last = place.end or place.line
                apart = not place.line - 10 <= miss.line <= last + 10
                assert miss.path != place.path or apart, it.name


def test_a_server_is_probed_in_the_language_that_its_repository_is_asked_about() -> None:
    known = {it.repository.label.partition("==")[0]: known_in(it) for it in suites()}

    # Most of its files are JavaScript, and seven of its eight questions are about C#.
    windows = known["npm:react-native-windows@0.84.0"]
    assert windows is not None
    assert (windows.language, windows.path[-3:]) == ("c_sharp", ".cs")
    assert [it for it in known.values() if it and it.language != language_of(it.path, b"")] == []
