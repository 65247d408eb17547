"""No sort of question outweighs the others in what is made, however many were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from runner.authoring.exact.bounds import settled, within_bounds
from runner.authoring.exact.own_questions import OwnQuestions, make_questions
from runner.authoring.exact.question_files import FILE, SUITE, read_suite
from runner.records import MustCite
from runner.records.exact import ExactKey, ExactKind, ExactQuestion
from runner.support.errors import FairtrialError
from tests.proposing.test_command import fairtrial, project
from tests.proposing.trees import PYTHON, commit, padded

__all__ = ["project"]
UNUSED = {
    f"shop/idle_{number}.py": f"def idle_part_{number}():\n    return {number}\n"
    for number in range(30)
}
USED = {
    f"shop/part_{number}.py": f"MOST_PARTS_{number} = 1\n\n\ndef use_part_{number}(a):\n"
    f"    return a < MOST_PARTS_{number}\n\n\n" + "\n" * 30 + f"def first_{number}():\n"
    f"    return use_part_{number}(MOST_PARTS_{number})\n" + "\n" * 30 + f"def other_{number}():\n"
    f"    return use_part_{number}(2)\n"
    for number in range(8)
}
"""Each has a question about its callers, its signature, its constant; and few have another."""


def asked(kind: ExactKind, number: int, *, places: int = 1) -> ExactQuestion:
    cited = tuple(MustCite(path="a.py", line=line + 1) for line in range(places))
    return ExactQuestion(
        name=f"{kind}-{number}-{places}".replace("_", "-"),
        prompt="Where?",
        key=ExactKey(kind=kind, places=cited),
    )


def sort_of(kind: ExactKind, count: int, *, places: int = 1) -> list[ExactQuestion]:
    return [asked(kind, number, places=places) for number in range(count)]


def require_bounds(made: Sequence[ExactQuestion]) -> None:
    none = sum(not it.key.places for it in made)
    assert none <= len(made) / 4
    kinds = Counter(it.key.kind for it in made)
    assert len(made) <= 12 or max(kinds.values()) <= len(made) / 2


def test_the_bounds_hold_of_what_is_made_and_not_of_what_was_asked_for(
    tmp_path: Path, project: Path
) -> None:
    commit(tmp_path / "shop", padded(PYTHON) | UNUSED | USED)
    arguments = ("--repo", "../shop", "--unchecked", "--questions", "400")
    _, said = fairtrial(project, "exact", "make", *arguments)
    made = read_suite(project / SUITE / "own" / FILE).questions
    assert len(made) >= 12
    require_bounds(made)
    # In one line, by kind.
    (why,) = [it for it in said.splitlines() if f"{len(made)} questions of 400: " in it]
    assert "callers " in why
    assert "which_definition 0" in why


def test_a_run_over_ones_own_repository_keeps_the_bounds_too(tmp_path: Path, project: Path) -> None:
    commit(tmp_path / "shop", padded(PYTHON) | UNUSED | USED)
    told: list[str] = []
    wanted = OwnQuestions(repo=str(tmp_path / "shop"), count=30, label="shop")
    names = make_questions(wanted, project, tmp_path / "state", {}, told.append)
    made = read_suite(project / SUITE / "shop" / FILE).questions
    assert 12 <= len(made) <= 30
    placed_first = sorted(made, key=lambda it: not it.key.places)
    assert [f"shop.{it.name}" for it in placed_first] == names
    require_bounds(made)
    assert any(f"{len(made)} questions of 30: " in line for line in told)


def test_a_repository_of_three_files_is_asked_of_the_one_function_that_has_callers(
    tmp_path: Path, project: Path
) -> None:
    # The first draw asks of its name where it is exported from, which no file does.
    commit(
        tmp_path / "cards",
        {
            "a.ts": "export const LONGEST = 40;\n"
            "export function shortenTitle(text: string): string {\n"
            "  return text.length > LONGEST ? text.slice(0, LONGEST) : text;\n}\n"
            "export function titleCase(text: string): string {\n"
            "  return text.charAt(0).toUpperCase() + text.slice(1);\n}\n",
            "b.ts": 'import { shortenTitle, titleCase } from "./a";\n'
            "export function renderCard(title: string): string {\n"
            "  return `<h1>${titleCase(shortenTitle(title))}</h1>`;\n}\n"
            "export function renderList(titles: string[]): string {\n"
            '  return titles.map((it) => shortenTitle(it)).join(",");\n}\n',
            "c.ts": 'import { renderCard, renderList } from "./b";\n'
            "export function renderPage(title: string, others: string[]): string {\n"
            "  return renderCard(title) + renderList(others);\n}\n"
            'console.log(renderPage("hello", ["a", "b"]));\n',
        },
    )
    wanted = OwnQuestions(repo=str(tmp_path / "cards"), count=20, label="cards")
    names = make_questions(wanted, project, tmp_path / "state", {}, lambda _: None)
    [first, *_] = read_suite(project / SUITE / "cards" / FILE).questions
    assert first.key.places and names[0] == f"cards.{first.name}"


def test_the_last_of_the_sort_that_has_most_goes_first() -> None:
    none = sort_of("test_callers", 9, places=0)
    some = [*sort_of("callers", 6), *sort_of("uses", 5), *sort_of("overriders", 4)]
    made = [*none, *some, *sort_of("public_names", 4)]
    kept = within_bounds(made)
    require_bounds(kept)
    assert kept == [it for it in made if it in kept]
    assert kept[:6] == none[:6]
    assert len(kept) == 25


def test_of_one_kind_alone_twelve_are_left_and_of_no_place_none() -> None:
    assert len(within_bounds(sort_of("callers", 30))) == 12
    assert within_bounds(sort_of("callers", 9, places=0)) == []
    both = [*sort_of("callers", 3), *sort_of("callers", 3, places=0)]
    assert [len(it.key.places) for it in within_bounds(both)] == [1, 1, 1, 0]


def test_a_repository_of_which_nothing_but_none_can_be_asked_is_refused() -> None:
    none = sort_of("callers", 9, places=0)
    with pytest.raises(FairtrialError, match="the answer of all that was drawn here is none"):
        settled(none, none, 20, lambda _: None)


def test_as_many_as_were_asked_for_need_no_reason() -> None:
    told: list[str] = []
    kinds: Sequence[ExactKind] = ("callers", "uses", "overriders", "public_names")
    found = [it for kind in kinds for it in sort_of(kind, 2)]
    assert sorted(it.name for it in settled(found, found, 8, told.append)) == sorted(
        it.name for it in found
    )
    assert told == []
