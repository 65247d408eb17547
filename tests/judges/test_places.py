"""The judge reads the places of a text as citation grounding does, without a list of files."""

from __future__ import annotations

import pytest

from runner.grounding.extract import extract
from runner.grounding.unlisted import UnlistedFiles
from runner.scoring.judges.checklist.cited_places import Place, as_written, places_in, with_files
from runner.scoring.judges.checklist.passages import text_blocks
from tests.fresh_answers import fresh_steps


def places(text: str, path: str | None = None) -> list[tuple[str, int, int]]:
    return [(place.path, place.start, place.end) for place in places_in(text, path).places]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see `Shop/Queue.py:42`", [("shop/queue.py", 42, 42)]),
        ("queue.py:42-60", [("queue.py", 42, 60)]),
        ("queue.py#L42-L60", [("queue.py", 42, 60)]),
        ("queue.py (lines 42–60)", [("queue.py", 42, 60)]),
        ("line 42 of queue.py", [("queue.py", 42, 42)]),
        ("(queue.py:1, 7, 9)", [("queue.py", 1, 1), ("queue.py", 7, 7), ("queue.py", 9, 9)]),
        ("in queue.py `put` (42), `get` (51)", [("queue.py", 42, 42), ("queue.py", 51, 51)]),
        ("/workspace/shop/queue.py:3", [("shop/queue.py", 3, 3)]),
        ("./shop\\queue.py:3", [("shop/queue.py", 3, 3)]),
        ("app/[id]/page.tsx:4", [("app/[id]/page.tsx", 4, 4)]),
        ("Makefile:3", [("makefile", 3, 3)]),
        ("https://git.example/o/r/blob/main/shop/queue.py#L4", [("shop/queue.py", 4, 4)]),
    ],
)
def test_a_place_is_read_in_every_form(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert places(text) == expected


@pytest.mark.parametrize(
    "text", ["localhost:8080", "at 12:30", "v1.2.3", "pkg::name", "self.config (404)", "queue.py"]
)
def test_what_only_looks_like_a_place_is_none(text: str) -> None:
    assert places(text) == []


def test_a_bare_line_belongs_to_the_file_named_before_it() -> None:
    assert places("line 42 does it", "shop/queue.py") == [("shop/queue.py", 42, 42)]
    assert places("line 42 does it") == []


def test_the_file_named_last_is_handed_on() -> None:
    assert places_in("shop/store.py and shop/queue.py:3", None).last_path == "shop/queue.py"
    assert places_in("nothing new", "shop/store.py").last_path == "shop/store.py"


def test_a_place_cited_twice_is_one() -> None:
    assert places_in("a.py:3 and again a.py:3", None).places == (Place("a.py", 3, 3),)


# --- whose lines --------------------------------------------------------------------------------


def of_sentences(text: str) -> list[tuple[str, int]]:
    """Of every sentence of an answer, with what it stands in."""
    units = [unit for block in text_blocks(with_files(text)) for unit in block]
    return [(place.path, place.start) for unit in units for place in unit.places]


@pytest.mark.parametrize(
    "text",
    [
        "I read `shop/queue.py` alone.\n\nIt has two.\n\n- `:11` `put` adds\n- `:38` `get` takes",
        "Q = `shop/queue.py`.\n\n| Test | Holds |\n|---|---|\n| Q:11 `put` | adds |\n| Q:38 | C |",
        "Paths: **QU** = `shop/queue.py`.\n\n**Both**\n- QU:11 adds\n- QU:38 takes",
        "**Both** (`shop/queue.py`)\n\n`put` (11) adds. `get` (38) takes.",
        "All in `shop/queue.py`.\n\n| Function | Line |\n|---|---|\n| `put` | 11 |\n| `get` | 38 |",
        "All in `shop/queue.py`.\n\n1. `put`, line 11.\n2. `get`, line 38.",
    ],
)
def test_a_line_is_of_the_file_that_the_answer_says_elsewhere(text: str) -> None:
    assert of_sentences(text) == [("shop/queue.py", 11), ("shop/queue.py", 38)]
    assert as_written(with_files(text)) == text


def test_of_two_files_the_nearer_heading_decides() -> None:
    text = "### `a/x.py`\n\n`f` (12) and `g` (40).\n\n### `b/y.py`\n\n`h` (12)."
    assert of_sentences(text) == [("a/x.py", 12), ("a/x.py", 40), ("b/y.py", 12)]


def test_sentences_have_the_places_that_grounding_finds_in_the_whole_answer() -> None:
    whole, own = 0, 0
    for step in fresh_steps():
        found = {(it.path.lower(), it.start) for it in extract(step.text, UnlistedFiles())}
        found = {it for it in found if it[1] is not None}
        whole, own = whole + len(found), own + len(found & set(of_sentences(step.text)))
    assert whole > 3000 and own > 0.99 * whole


def test_an_answer_cannot_mean_another_place_than_it_shows() -> None:
    marked = "\ue000nothing\ue001shop/queue.py:11\ue002 does it; shop/store.py:\ue0003"
    assert "\ue000" not in with_files(marked)
    assert as_written(with_files(marked)) == "nothingshop/queue.py:11 does it; shop/store.py:3"


def test_json_and_fences_stay_as_they_are() -> None:
    for text in (
        '{"file": "shop/queue.py", "line": 11}',
        'In `shop/queue.py`:\n\n```json\n{"line": 11}\n```\n\nand more',
    ):
        assert with_files(text) == text
