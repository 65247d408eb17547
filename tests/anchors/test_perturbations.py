"""An answer made worse in one known way: what changes, and that nothing else does."""

from __future__ import annotations

import subprocess
import sys

import pytest

from runner.gate import perturbations

TEXT = """\
## How it runs

1. `deliver` (shop/queue.py:8-12) reads a job before it is sent. Then `ack` (shop/queue.py:20) ends.
**Mind this.** See lines 30–32 and 41, or `app/main.py:7`, and :9.

| step | what |
| --- | --- |
| `send` (shop/net.ts:3, 5 and 9) | it raises, and the job stays at 15:30 |
"""


def test_shuffling_keeps_every_word_in_its_sentence_and_loses_their_order() -> None:
    shuffled = perturbations.shuffled(TEXT)
    for before, after in zip(TEXT.split("\n"), shuffled.split("\n"), strict=True):
        assert sorted(before.split()) == sorted(after.split())
    assert "reads a job before it is sent" not in shuffled
    # The sentence is the limit: no word of the second stands in the first.
    assert shuffled.index("sent") < shuffled.index("ends")
    assert shuffled.split("\n")[0].startswith("## ")
    assert [line.count(" | ") for line in shuffled.split("\n")[-4:-1]] == [1, 1, 1]


def test_a_row_of_short_cells_says_no_more_what_it_said() -> None:
    rows = ["| sends | queue.py:8 |", "| acks | queue.py:20 |", "| retries | net.ts:3 |"]
    table = ["| does | where |", "|---|---|", *rows]
    shuffled = perturbations.shuffled("\n".join(table)).split("\n")
    assert shuffled[1:2] == table[1:2] and not set(shuffled[2:]) & set(rows)
    assert sorted("".join(shuffled).split()) == sorted("".join(table).split())


@pytest.mark.parametrize("text", ["", "one", "the the the", "\n\n", "a b"])
def test_text_without_an_order_to_lose_ends(text: str) -> None:
    assert sorted(perturbations.shuffled(text)) == sorted(text)


def test_every_cited_line_moves_and_no_other_number_does() -> None:
    moved = perturbations.moved(TEXT, 200)
    for place in ("queue.py:208-212", "queue.py:220", "lines 230–232 and 241", "main.py:207"):
        assert place in moved
    assert "net.ts:203, 205 and 209" in moved and ":209." in moved
    assert "1. `deliver`" in moved
    assert "at 15:30" in moved


def test_every_cited_file_becomes_another_one_and_lines_stay() -> None:
    files = ("shop/queue.py", "shop/store.py")
    moved = perturbations.in_other_files("`a` (queue.py:8), lib/x.js:3; see README.md.", files)
    assert "(shop/store.py:8)" in moved
    assert "lib/x.js" not in moved and ".py:3" in moved
    assert moved.endswith("README.md.")


def test_where_there_is_no_other_file_nothing_moves() -> None:
    text = "`a` (shop/queue.py:8)"
    assert perturbations.in_other_files(text, ("shop/queue.py",)) == text


def test_no_cited_line_is_left_and_no_empty_bracket_tells_of_it() -> None:
    bare = perturbations.uncited(TEXT)
    assert perturbations.moved(bare, 20) == bare
    assert "()" not in bare and "``" not in bare
    assert "reads a job before it is sent" in bare


def test_padding_is_never_longer_than_the_text() -> None:
    lines = ["true elsewhere " * 3] * 5
    padded = perturbations.padded(
        "An answer of sixty characters or so, which says one thing.", lines
    )
    assert padded.count("true elsewhere") == 3
    assert perturbations.padded("short", lines) == "short"


def test_another_process_makes_the_same_texts() -> None:
    code = (
        "from runner.gate import perturbations as p; import sys; "
        "sys.stdout.buffer.write(p.shuffled(sys.stdin.buffer.read().decode()).encode())"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], input=TEXT.encode(), capture_output=True, check=True
    )
    assert other.stdout.decode() == perturbations.shuffled(TEXT)
