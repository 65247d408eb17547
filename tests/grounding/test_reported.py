"""Each way of writing that was once misread, as it was reported, beside the same at wrong lines."""

from __future__ import annotations

import re

import pytest

from runner.grounding.key_records import with_records
from runner.grounding.markdown_blocks import blocks_of
from runner.grounding.verify import ground
from runner.records import Citation
from tests.grounding.fakes import MemoryFiles

SHOP = "\n" * 19 + "def open_shop(): ...\n" + "\n" * 9 + 'KEY = "SSL_CERT_FILE"\n' + "\n" * 70
AUTH = "class Auth:\n" + "\n" * 28 + "    def auth_flow(self): ...\n" + "\n" * 170
FILES = MemoryFiles({"src/shop.py": SHOP, "src/auth.py": AUTH, "web/page.ts": SHOP})


def with_lines(text: str) -> list[Citation]:
    return [one for one in ground(text, FILES).citations if one.start is not None]


TIED = [
    "| What | Where |\n|---|---|\n| `open_shop` | src/shop.py:{20} |",
    "| Component | Where |\n|---|---|\n| `open_shop` | src/shop.py:{20} |",
    "| Step | Where |\n|---|---|\n| `open_shop` | src/shop.py:{20} |",
    "| Layer | Where |\n|---|---|\n| `open_shop` | src/shop.py:{20} |",
    "| Concern | Where |\n|---|---|\n| `open_shop` | src/shop.py:{20} |",
    "| | Where |\n|---|---|\n| `open_shop` | src/shop.py:{20} |",
    "It is `open_shop`[^1].\n\n[^1]: src/shop.py:{20}",
    "It is `open_shop` [1].\n\n[1] src/shop.py:{20}",
    "```python\n# src/shop.py:{20}\ndef open_shop(): ...\n```",
    'File "src/shop.py", line {20}, in open_shop',
    "See src/shop.py. `open_shop` (same file, L{20}) runs.",
    "See src/shop.py. `open_shop` (ibid., line {20}) runs.",
    "`open_shop` generator (src/shop.py:{20})",
    '{{"open_shop": "web/page.ts:{20}"}}',
    "`SSL_CERT_FILE` (src/shop.py:{30})",
    "`ssl_cert_file` (src/shop.py:{30})",
    "`open_shop`: Zeile {20} in src/shop.py",
    "src/shop.py 第 {20} 行: `open_shop`",
    "`open_shop` can be found at src/shop.py:{20}",
    "For `open_shop`, see src/shop.py, line {20}.",
    "Die Funktion `open_shop` findet sich in src/shop.py, Zeile {20}.",
    "La fonction `open_shop` se trouve dans src/shop.py, ligne {20}.",
    "函数 `open_shop` 位于 src/shop.py 第 {20} 行。",
    "- location: src/shop.py:{20}\n  symbol: open_shop",
    "**Function:** `open_shop`\n**File:** `src/shop.py`\n**Line:** {20}",
    "```yaml\n- file: src/shop.py\n  line: {20}\n  symbol: open_shop\n```",
    '<place file="src/shop.py" line="{20}">open_shop</place>',
    "<citation>\n  <file>src/shop.py</file><line>{20}</line>\n  <symbol>open_shop</symbol>\n"
    "</citation>",
]


def _at(text: str, move: int) -> str:
    for line in (20, 30):
        text = text.replace(f"{{{line}}}", str(line + move))
    return text.replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize("text", TIED)
def test_a_name_is_tied_to_its_line_and_a_wrong_line_does_not_pass(text: str) -> None:
    [right] = with_lines(_at(text, 0))
    assert right.status == "grounded"
    [wrong] = with_lines(_at(text, 40))
    assert wrong.status != "grounded"


@pytest.mark.parametrize(
    "text",
    [
        "`open_shop` of the list is in src/shop.py:20",
        "name: open_shop\nport: 8080\nhost: src/shop.py",
        "<li>`open_shop`</li>\n<li>src/shop.py:20</li>",
        "file: src/shop.py\nline: 20",
    ],
)
def test_keys_and_tags_that_lack_a_file_a_line_or_a_name_are_read_as_text(text: str) -> None:
    assert [*with_records(blocks_of(text))] == [*blocks_of(text)]


def test_keys_in_a_fence_of_an_item_are_read_there() -> None:
    fence = "   ```yaml\n   symbol: open_shop\n   file: src/shop.py\n   line: 90\n   ```"
    (cited,) = with_lines(f"1. It is here:\n\n{fence}\n\n2. And no more.")
    assert (cited.symbol, cited.status) == ("open_shop", "hallucinated")


def test_lines_of_a_fence_are_no_items_whatever_counts_them() -> None:
    text = "a. src/shop.py:20\nb. src/auth.py:30\n\n```\na. 70\n```"
    assert [*blocks_of(text)][-1].text == "a. 70\n"


def test_a_row_of_a_search_names_nothing_for_the_next_row() -> None:
    rows = "src/shop.py:60:  return open_shop()\nsrc/auth.py:90:  close_shop()\nsrc/shop.py:70: x"
    assert [one.symbol for one in with_lines(rows)] == [None, "close_shop", None]


@pytest.mark.parametrize(
    ("text", "path", "lines"),
    [
        ("- src/shop.py:20\n- :30", "src/shop.py", [20, 30]),
        ("**The shop** (src/shop.py)\n\n- opens at :20", "src/shop.py", [20]),
        ("In src/shop.py, `ctx.params` is read at :20.", "src/shop.py", [20]),
        ("[it](https://x.test/me/shop/blob/main/src/shop.py#L20)", "src/shop.py", [20]),
        ("[it](../src/shop.py#L20)", "src/shop.py", [20]),
        (
            "### `src/shop.py`\n\n1. `open_shop` at 20\n2. `lock_up` at 304",
            "src/shop.py",
            [20, 304],
        ),
        ("src/shop.py, lines 3-9 and 14", "src/shop.py", [3, 14]),
    ],
)
def test_lines_without_a_path_go_to_their_file(text: str, path: str, lines: list[int]) -> None:
    found = with_lines(text)
    assert [one.start for one in found] == lines
    assert all(one.path.endswith(path) for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "handlers map seeded@:28 in src/shop.py, which stops@:41",
        "X catches it and runs `open_shop` — src/shop.py:60",
        "`open_shop` (src/shop.py:1-99)",
        # The line is of the file that calls, not of the one that is called.
        'In src/auth.py: "open_shop (src/shop.py:20, line 101)", then src/auth.py:99.',
    ],
)
def test_what_was_falsely_accused_is_not(text: str) -> None:
    assert [one for one in with_lines(text) if one.status == "hallucinated"] == []


@pytest.mark.parametrize(
    "text",
    [
        "at java.base/java.lang.Thread.run(Thread.java:829)",
        "   3: std::panicking::try\n             at /rustc/abc/library/std/src/panicking.rs:492",
    ],
)
def test_a_frame_of_another_tree_is_no_citation(text: str) -> None:
    assert with_lines(text) == []


@pytest.mark.parametrize("text", ["`zorblax`, src/shop.py:20", "`zorblax` (src/shop.py:20)"])
def test_an_invented_word_is_an_invention_behind_a_comma_as_in_brackets(text: str) -> None:
    assert [one.status for one in with_lines(text)] == ["hallucinated"]


# --- right or defensible citations that were called hallucinated, beside a wrong one in their form

STORE = (
    "import decimal\n\n\n"
    "class Ledger:\n"  # 4
    + "    note = None\n" * 9
    + "    total_owed = None\n"  # 14
    + "    def balance(self): ...\n"  # 15
    + "\n" * 24
    + "class HTTPDesk:\n"  # 40
    + "    x = 1\n" * 29
    + "    def pay(self): ...\n"  # 70
    + "\n" * 9
    + "def total_owed_by(name):\n"  # 80
    + "    x = 1\n" * 9
    + "    return stock_of(name)\n"  # 90
    + "\n" * 9
    + "def all(): ...\n"  # 100
    + "\n" * 19
    + "shop = 1\n"  # 120
    + "\n" * 79
)
STORE_FILES = MemoryFiles(
    {
        "src/shop/store.py": STORE,
        "src/shop/other.py": "class Config:\n    store_class = None\n\n\ndef lock_up(): ...\n",
    }
)
DEFENSIBLE = [
    # The head of what owns the name, or has it in its body.
    ("`Ledger.balance` (src/shop/store.py:{4})", 60),
    ("src/shop/store.py:{4} (`balance`, kept for each name)", 60),
    ("`stock_of` (src/shop/store.py:{80})", 60),
    # A name that goes on, and one in other case than that of the body around the lines.
    ("`Ledger.total_owed` (src/shop/store.py:{80})", 60),
    ("`HttpDesk` (src/shop/store.py:{60})", 30),
    # The subject of the sentence stands there, though it is a short word.
    ("`all` returns a `Ledger` (src/shop/store.py:{100})", 70),
    # The name of the folder, which is the package's.
    ("`shop` (src/shop/store.py:{60})", None),
    # The first line, for the file.
    ("src/shop/store.py:{1} `HTTPDesk`", 169),
    # A list of places, and of what is there.
    ("src/shop/store.py:{15}, `:70`, `:150` — `balance`, `pay` and the rest", None),
    ("src/shop/store.py: `:{15}` `balance`, `:150/160` the rest", None),
    # A type of another file is set to what stands here.
    ("src/shop/store.py:{40} — `Config.store_class`; makes a desk", None),
    # What the reader is to write.
    ("Add `NewDesk.pay` at src/shop/store.py:{70}", None),
    # Neither the name nor the lines are of the file above.
    ("It is in src/shop/store.py.\n\n- `lock_up` (lines {300}-310) locks", None),
    # A value of a type of another file, and one that is called by its own name.
    ("`Ledger.note.lock_up` (src/shop/store.py:{5})", 90),
    # A name that is short for a file, and numbers that are none of a line.
    ("See src/shop/store.py (desk_kv:{22}).", None),
    ("src/shop/other.py:1-5 — 401 DueNow/DueSoon, {402} PaymentDue, 403 Shut", None),
    # What is called inside of the code that is named first.
    ("`Ledger.balance(lambda: stock_of(it))` (src/shop/store.py:{90})", 60),
    # An object that names no file, below one that names another.
    (
        'It is set in src/shop/other.py.\n\n```json\n{"steps": {"Ledger": {"file": '
        '"src/shop/store.py", "line": 4}, "HTTPDesk": {"lines": "LINES"}}}\n```',
        None,
    ),
    # Editors number the line behind the last line break.
    ("src/shop/store.py:{100}-200", None),
]


def _accused(text: str) -> list[Citation]:
    found = ground(text, STORE_FILES).citations
    return [one for one in found if one.status == "hallucinated"]


@pytest.mark.parametrize(("text", "move"), DEFENSIBLE)
def test_what_a_reader_would_defend_is_not_accused(text: str, move: int | None) -> None:
    line = int("".join(re.findall(r"\{(\d+)\}", text)) or 0)
    assert _accused(text.replace(f"{{{line}}}", str(line)).replace("LINES", "40-69")) == []
    if move is not None:
        assert len(_accused(text.replace(f"{{{line}}}", str(line + move)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "`Zorblax.balance` (src/shop/store.py:4)",
        "`Ledger.reopen_all` (src/shop/store.py:4)",
        "`reopen_all` (src/shop/store.py:1)",
        "`balance` (src/shop/store.py:150)",
        "`pay` (src/shop/store.py:15, 150)",
        "src/shop/store.py:15, `:150` — `reopen_all`",
        "src/shop/store.py:100-202",
        "src/shop/store.py:200",
        "Add `NewDesk` at src/shop/store.py:70",
        "It is in src/shop/store.py.\n\n- `pay` (lines 300-310) pays",
        "It is in src/shop/store.py.\n\n- `reopen_all` (lines 300-310) pays",
    ],
)
def test_what_nobody_can_defend_is_still_accused(text: str) -> None:
    assert _accused(text)
