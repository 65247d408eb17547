"""What an accusation rests on: a word and a file that are certain, or it is none."""

from __future__ import annotations

import pytest

from runner.grounding.verify import ground
from runner.records import Citation
from tests.grounding.fakes import MemoryFiles

FILES = MemoryFiles(
    {
        "src/shop.py": "\n" * 19 + "def open_shop(): ...\n" + "\n" * 60,
        "src/till.py": "\n" * 19 + "def count_till(): ...\n" + "\n" * 20,
    }
)


def only(text: str, files: MemoryFiles = FILES) -> Citation:
    [citation] = [c for c in ground(text, files).citations if c.start is not None]
    return citation


@pytest.mark.parametrize(
    "text",
    [
        "`count_till` (src/till.py:2)",
        "`count_till` is defined at src/till.py:2",
        "src/till.py:2 (`count_till`)",
        "count_till (src/till.py:2)",
        "src/till.py:2 `count_till`",
        '{"symbol": "count_till", "file": "src/till.py", "line": 2}',
        "| symbol | place |\n|---|---|\n| `count_till` | src/till.py:2 |\n",
        "src/till.py:99",
    ],
)
def test_what_is_certain_and_false_is_hallucinated(text: str) -> None:
    citation = only(text)
    assert (citation.status, citation.resolution) == ("hallucinated", "exact")


@pytest.mark.parametrize(
    "text",
    [
        "`count_till` begins near src/till.py:2",
        "`open_drawer` and `count_till` (src/till.py:2)",
    ],
)
def test_a_word_that_only_loose_glue_ties_accuses_nobody_and_earns_nothing(text: str) -> None:
    citation = only(text)
    assert (citation.status, citation.resolution) == ("unresolved", "binding")
    assert "count_till" in citation.reason
    summary = ground(text, FILES).summary
    assert (summary.total, summary.binding, summary.hallucinated) == (1, 1, 0)
    assert summary.headline_rate == summary.strict_rate == 0.0


def test_lines_that_may_be_of_another_file_accuse_nobody_and_name_both_files() -> None:
    citation = only("`src/shop.py` calls `src/till.py`. It ends there (line 77).")
    assert (citation.status, citation.path) == ("grounded", "src/shop.py")
    citation = only("`src/till.py` is tiny. `src/shop.py` uses it; `count_till` (line 2).")
    assert (citation.status, citation.resolution) == ("unresolved", "binding")
    assert (citation.path, "src/till.py" in citation.reason) == ("src/shop.py", True)


def test_an_invention_does_not_hide_behind_a_file_that_is_a_guess() -> None:
    text = "`src/till.py` is tiny. `src/shop.py` uses it; `hide_it` (line 2)."
    assert only(text).status == "hallucinated"
    assert only(text.replace("`hide_it` (line 2)", "it ends (line 999)")).status == "hallucinated"
