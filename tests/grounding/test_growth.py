"""Eight times the text takes about eight times the work, whatever the text repeats."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from runner.agents.models.offline.rows import rows_in
from runner.grounding.commit_files import PathIndex
from runner.grounding.extract import extract
from runner.grounding.mentions import Cite, mentions_of
from runner.grounding.unlisted import UnlistedFiles
from runner.grounding.verify import ground
from runner.scoring.adoption import runs_search
from runner.scoring.judges import open_judge
from runner.scoring.judges.checklist.cited_places import with_files
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.scoring.keywords import variants
from tests.grounding import zoo
from tests.grounding.test_extract import INDEX
from tests.scoring import material

SMALL_CHARS, TIMES = 3_000, 8
MOST = 24
"""Times the CPU seconds, for 8 times the text: a third of what quadratic work takes, and far above
what a busy machine adds to linear work."""
SLOWEST_SEC = 0.025
"""CPU seconds for the longer text: what takes less tells no growth from noise. Quadratic work that
is let pass by it takes 0.1 s for twice the text."""
UNITS = (
    *("`foo` (12), ", "`x`:1 ", "`12`, ", "a.py:1, ", "src/app.py ", "src/app.py:1 (foo), "),
    *("[x](src/app.py#L1) ", "[x](y", '{"path": "', "| a | 1 |\n", "|---|\n", "~", "```\n", "`*_"),
    *("12-", "12-13, ", "line 1, ", "a/", "a.", "a_", "((", "[[", "\\", '"', "'", "—", "_", " "),
    *(
        "\n",
        "\u00a0",
        "日本",
        "$(",
        "<<E\n",
        "not ",
        "e.g. ",
        "**x** ",
        "> - x\n",
        "# x\n",
        "1. ",
        "sh ",
    ),
    *("retry_failed/deliver/put/not/", "`foo` (a.py:3), ", "a.py:1:x "),
)


def _judge(text: str) -> object:
    places = [step.must_cite for step in material.SCENARIO.steps]
    return open_judge(JudgeSettings()).judge(
        material.RUBRIC, material.answer(text, "x").steps, places
    )


READERS: dict[str, Callable[[str], object]] = {
    "extraction": lambda text: extract(text, INDEX),
    "rows": rows_in,
    "judge": _judge,
    "command lines": runs_search,
    "keywords": variants,
}


def _repeated(unit: str, chars: int) -> str:
    """Below a citation, so that bare lines and numbers have a file; `foo` closes what is open."""
    return "See src/app.py:3 " + unit * (chars // len(unit)) + " \x01`foo`."


def _cpu_sec(read: Callable[[str], object], text: str) -> float:
    begin = time.process_time()
    read(text)
    return time.process_time() - begin


def grows_too_fast(read: Callable[[str], object], unit: str) -> bool:
    """By the best of several tries each, so that a busy machine does not decide."""
    small, large = _repeated(unit, SMALL_CHARS), _repeated(unit, SMALL_CHARS * TIMES)
    for _ in range(3):
        spent = _cpu_sec(read, large)
        if spent < SLOWEST_SEC:
            return False
        if spent < MOST * min(_cpu_sec(read, small) for _ in range(3)):
            return False
    return True


@pytest.mark.parametrize("name", READERS)
def test_no_repeated_text_takes_more_than_linear_work(name: str) -> None:
    assert [unit for unit in UNITS if grows_too_fast(READERS[name], unit)] == []


def test_quadratic_work_is_told_as_such() -> None:
    assert grows_too_fast(lambda text: [text.count("##", at) for at in range(len(text))], "x ")
    assert not grows_too_fast(lambda text: [text.count("#") for _ in range(100)], "x ")


def _sec(work: Callable[[int], object], size: int) -> float:
    return _cpu_sec(lambda _: work(size), "")


def _grows(work: Callable[[int], object], size: int) -> bool:
    """As above, for work that makes its own input."""
    for _ in range(3):
        spent = _sec(work, size * TIMES)
        if spent < SLOWEST_SEC:
            return False
        if spent < MOST * min(_sec(work, size) for _ in range(3)):
            return False
    return True


@pytest.mark.parametrize("name", zoo.ANSWERS)
def test_no_answer_takes_more_than_linear_work_to_verify(name: str) -> None:
    assert not _grows(lambda size: ground(zoo.ANSWERS[name](size), zoo.TREE), 2_000)


@pytest.mark.parametrize("name", zoo.SOURCES)
def test_no_cited_file_takes_more_than_linear_work(name: str) -> None:
    source = zoo.SOURCES[name]
    assert not _grows(lambda size: zoo.ground_source(source, size, size // 200), 4_000)


def test_equal_tails_of_a_large_tree_take_no_more_than_linear_work() -> None:
    def resolve(count: int) -> None:
        index = PathIndex(f"a/d{n}/x/mod.rs" for n in range(count))
        for n in range(count):
            assert index.resolve(f"d{n}/x/mod.rs").path == f"a/d{n}/x/mod.rs"
            assert index.count_ending_in("x/mod.rs") == count

    assert not _grows(resolve, 1_000)


def test_equal_names_with_blanks_take_no_more_than_linear_work() -> None:
    def read(count: int) -> None:
        index = PathIndex(f"d{n}/my guide.md" for n in range(count))
        extract("docs/my guide.md:3 " * count, index)

    assert not _grows(read, 300)


@pytest.mark.parametrize("unit", ["- `f{n}` ({n}) goes.\n", "- `:{n}` goes.\n\n```\nx\n```\n"])
def test_a_judge_tells_whose_lines_are_meant_in_little_more_than_it_takes_to_read_them(
    unit: str,
) -> None:
    lines = "".join(unit.format(n=100 + n) for n in range(6_000))
    text = "See src/app.py:3.\n\n" + lines
    assert with_files(text).count("\ue000") > 5_900  # ports and codes of HTTP are no lines
    reading = min(_cpu_sec(lambda text: extract(text, UnlistedFiles()), text) for _ in range(2))
    # Looking on from each line to the next file took ten times as long.
    assert min(_cpu_sec(with_files, text) for _ in range(2)) < 3 * reading


def test_a_tree_deeper_than_a_query_can_count_takes_no_minutes() -> None:
    source = zoo.SOURCES["nested functions"]
    assert _sec(lambda size: zoo.ground_source(source, size, 1), 1_000_000) < 20


def test_a_long_line_is_read_once_for_all_citations_on_it() -> None:
    """Copying all that stands before each of them shows at a megabyte: there alone it is seen."""

    def mention(chars: int) -> None:
        text = "It is opened at a.py:3 in a loop. " * (chars // 34)
        cites = [Cite(at, at + 6, "a.py", [(3, 3)]) for at in range(16, len(text) - 6, 34)]
        assert len(mentions_of(text, cites, strict=True)) == len(cites)

    assert not _grows(mention, 150_000)
