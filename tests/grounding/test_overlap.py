"""A grounded citation is weak where its lines hold nothing of what is said of them."""

from __future__ import annotations

import time

import pytest

from runner.grounding.overlap import words_of
from runner.grounding.verify import ground
from runner.records import Citation
from tests.grounding.fakes import MemoryFiles

PARTS = {
    "parse": "def parse_header(raw):\n    name, _, value = raw.partition(':')\n    return value",
    "retry": "def retry_request(attempts):\n    for _ in range(attempts):\n        back_off()",
    "cache": "def evict_oldest(cache):\n    oldest = min(cache, key=age)\n    del cache[oldest]",
    "quota": "def charge_quota(account):\n    if account.quota < 1:\n        raise QuotaExceeded",
}
FILLER = "\n".join(f"setting_{number} = {number}" for number in range(12))
SOURCE = "\n".join(f"{part}\n{FILLER}" for part in PARTS.values()) + "\n"
LINES = SOURCE.splitlines()
FILES = MemoryFiles({"src/service.py": SOURCE, "src/empty.py": "", "src/short.py": "x = 1\n"})


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(LINES, 1) if text in line)


def cited(text: str, files: MemoryFiles = FILES) -> list[Citation]:
    return [one for one in ground(text, files).citations if one.start is not None]


def only(text: str) -> Citation:
    [citation] = cited(text)
    return citation


SAID = {
    "parse": "the raw header is partitioned into its name and value at",
    "retry": "a failed request is retried, for as many attempts, with a back off at",
    "cache": "the oldest entry is evicted from the cache at",
    "quota": "an account that is over its quota raises what says that it was exceeded, at",
}
PLACES = {name: line_of(part.splitlines()[1].strip()) for name, part in PARTS.items()}


@pytest.mark.parametrize("name", SAID)
def test_lines_that_hold_what_is_said_of_them_are_not_weak(name: str) -> None:
    citation = only(f"{SAID[name]} src/service.py:{PLACES[name]}.")
    assert (citation.status, citation.weak) == ("grounded", False)


@pytest.mark.parametrize("name", SAID)
def test_lines_that_hold_something_else_are_weak_and_no_accusation(name: str) -> None:
    others = [line for other, line in PLACES.items() if other != name]
    found = [only(f"{SAID[name]} src/service.py:{line}.") for line in others]
    assert [(one.status, one.weak) for one in found] == [("grounded", True)] * 3


def test_the_share_of_places_that_would_be_weak_is_told() -> None:
    citation = only(f"{SAID['quota']} src/service.py:{PLACES['quota']}.")
    weak = [
        only(f"{SAID['quota']} src/service.py:{line}.").weak for line in range(1, len(LINES) + 1)
    ]
    assert citation.weak_share == pytest.approx(sum(weak) / len(weak))


@pytest.mark.parametrize(
    "text", ["src/service.py:{}", "see src/service.py:{}", "- {}, of `src/service.py`"]
)
def test_too_few_words_are_not_judged(text: str) -> None:
    for citation in cited(text.format(3)):
        assert (citation.weak, citation.weak_share) == (False, None)


def test_words_that_the_file_has_nowhere_are_weak_anywhere_in_it() -> None:
    text = "Websocket frames are masked by the browser's upgrade handshake at src/service.py:4."
    assert only(text).weak


def test_each_citation_of_a_sentence_goes_by_the_words_beside_it() -> None:
    text = (
        f"First {SAID['parse']} src/service.py:{PLACES['parse']}, then {SAID['cache']} "
        f"src/service.py:{PLACES['cache']}, and {SAID['quota']} src/service.py:{PLACES['retry']}."
    )
    assert [one.weak for one in cited(text)] == [False, False, True]


def test_a_table_s_row_speaks_of_the_place_in_it() -> None:
    rows = "\n".join(
        f"| {SAID[name]} | src/service.py:{PLACES[place]} |"
        for name, place in (("parse", "parse"), ("cache", "quota"))
    )
    assert [one.weak for one in cited(f"| what | where |\n| --- | --- |\n{rows}")] == [False, True]


def test_a_json_object_speaks_of_the_place_in_it() -> None:
    right = f'{{"role": "{SAID["parse"]}", "place": "src/service.py:{PLACES["parse"]}"}}'
    wrong = f'{{"role": "{SAID["cache"]}", "file": "src/service.py", "line": {PLACES["quota"]}}}'
    assert [one.weak for one in cited(f"[{right}, {wrong}]")] == [False, True]


def test_a_symbol_s_own_words_count() -> None:
    citation = only(f"`evict_oldest` (src/service.py:{line_of('evict_oldest')})")
    assert (citation.held_by, citation.weak) == ("definition", False)


def test_a_failed_citation_is_not_weak_as_well() -> None:
    citation = only(f"`evict_oldest` {SAID['quota']} (src/service.py:{PLACES['parse']})")
    failed = only("`evict_oldest` (src/service.py:2): the account's quota is charged there")
    assert failed.status == "hallucinated"
    assert not failed.weak
    assert not (citation.weak and citation.status != "grounded")


def test_a_place_that_is_cited_twice_holds_what_is_said_either_time() -> None:
    twice = (
        f"See src/service.py:{PLACES['quota']}. {SAID['quota']} src/service.py:{PLACES['quota']}."
    )
    citation = only(twice)
    assert (citation.weak, citation.weak_share is None) == (False, False)


def test_other_citations_are_no_words_about_a_place() -> None:
    text = f"src/service.py:{PLACES['quota']} and src/quota/account/raises.py:3 and src/cache.py:9"
    assert cited(text)[0].weak_share is None


def test_a_file_of_one_line_has_no_better_place() -> None:
    assert not only("the number x is set to one at src/short.py:1").weak


def test_names_are_cut_into_words_as_they_are_spoken() -> None:
    assert set(words_of("FullDispatch handle_requests HTTPServer the")) == {
        *("full", "dispatch", "fulldispatch"),
        *("handle", "request", "handle_requests"),
        *("http", "server", "httpserver"),
    }


def test_thousands_of_citations_with_words_of_their_own_take_seconds() -> None:
    source = "".join(f"total_{n % 700} = load(account, quota_{n % 300})\n" for n in range(20_000))
    files = MemoryFiles({"big.py": source})
    text = "\n".join(
        f"- the account of quota {n} and total_{n % 700} are loaded here, big.py:{n % 20_000 + 1}"
        for n in range(3_000)
    )
    started = time.process_time()
    assert len(cited(text, files)) == 3_000
    assert time.process_time() - started < 15
