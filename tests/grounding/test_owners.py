"""A document is read again if what it cites later tells what a number was, and only then."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from runner.grounding import extract as extracting
from runner.grounding.commit_files import PathIndex
from runner.grounding.extract import read_all
from runner.grounding.mentions import Mention
from runner.grounding.owners import Seen
from tests.grounding.test_extract import INDEX, cited

ANSWERS = Path(__file__).parents[1] / "data" / "grounding" / "labelled"
TOLD_LATER = "See src/app.py:3.\n\nThe loop (250) is slow.\n\nsrc/app.py:255 ends it.\n"
NAMED_LATER = "See lib/text.py:3.\n\nRTAF:42 (250) runs.\n\nRTAF = src/app.py is slow.\n"
OWNED_LATER = (
    "It calls lib/text.py:100.\n\nIt calls src/app.py now.\n\n"
    "It ends in `open` (130).\n\nIt calls src/app.py:900.\n"
)
TOLD_BEFORE = "See src/app.py:3.\n\nThe loop (7) is slow, line 9.\n\nsrc/app.py:12 ends it.\n"


def _read(text: str, seen: Seen) -> list[Mention]:
    return extracting._read(text, seen.index, seen)


def _moved(text: str, seed: random.Random) -> str:
    """Some lines elsewhere, so that what is near and whose is told anew."""
    by = (0, 0, 0, 7, 40, 300)
    return re.sub(r"\d+", lambda number: str(int(number[0][:6]) + seed.choice(by)), text)


def test_a_number_is_told_by_what_is_cited_behind_it() -> None:
    assert ("src/app.py", 250, 250) in cited(TOLD_LATER)
    assert ("src/app.py", 250, 250) not in cited(TOLD_LATER.replace("255", "955"))


def test_lines_are_anothers_if_the_file_named_last_turns_out_to_be_cited_elsewhere() -> None:
    assert ("lib/text.py", 130, 130) in cited(OWNED_LATER)
    assert ("src/app.py", 130, 130) in cited(OWNED_LATER.replace("900", "150"))


def test_a_short_name_is_told_by_what_is_said_behind_it() -> None:
    assert ("src/app.py", 42, 42) in cited(NAMED_LATER)


def test_what_is_not_read_again_would_be_read_as_before() -> None:
    seed = random.Random(0)
    skipped = repeated = 0
    for answer in sorted((ANSWERS / "answers").iterdir()):
        text = answer.read_text(encoding="utf-8")
        paths = re.findall(r"[\w/.-]+\.\w+", text)
        for _ in range(8):
            seen = Seen(PathIndex(paths))
            text = _moved(text, seed)
            mentions = _read(text, seen)
            if not seen.unsure:
                continue
            if seen.again():
                repeated += 1
                continue
            assert mentions == _read(text, Seen(seen.index, whole=seen)), answer.name
            skipped += 1
    assert min(skipped, repeated) > 5


def test_a_text_too_long_to_be_read_again_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.grounding.owners.MOST_CHUNKS", 5)
    assert read_all(TOLD_LATER, INDEX).is_cut
    assert not read_all(TOLD_BEFORE, INDEX).is_cut
    monkeypatch.setattr("runner.grounding.owners.MOST_CHUNKS", 6)
    assert not read_all(TOLD_LATER, INDEX).is_cut


def test_a_text_of_too_many_numbers_to_be_read_again_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("runner.grounding.owners.MOST_DOUBTS", 1)
    assert read_all(TOLD_LATER, INDEX).is_cut
    assert not read_all(TOLD_LATER.replace("255", "955"), INDEX).is_cut
    monkeypatch.setattr("runner.grounding.owners.MOST_DOUBTS", 2)
    assert not read_all(TOLD_LATER, INDEX).is_cut


def test_a_text_of_more_questions_than_are_kept_is_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = cited(TOLD_LATER)
    monkeypatch.setattr("runner.grounding.owners.MOST_ANSWERS", 0)
    assert cited(TOLD_LATER) == before
