"""The judge reads the places of a text as citation grounding does, without a list of files."""

from __future__ import annotations

import pytest

from runner.scoring.judges.checklist.cited_places import Place, places_in


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
