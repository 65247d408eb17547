"""Which citations a text makes. Each case is a way that agents write."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable

import pytest

from runner.grounding.commit_files import PathIndex
from runner.grounding.extract import extract
from runner.grounding.mentions import MOST_MENTIONS

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TREE = (
    "src/app.py",
    "src/util/text.py",
    "lib/text.py",
    "web/app/[id]/page.tsx",
    "web/app/(auth)/login/page.tsx",
    "docs/my guide.md",
    "docs/über uns.md",
    "Makefile",
    "Dockerfile",
    "packages/@scope/x/index.ts",
    "cmd/main.go",
    "bin/tool",
    "include/a.h",
    "naïve/é.py",
    "setup.cfg",
    ".github/workflows/ci.yml",
    "src/a+b.py",
)
INDEX = PathIndex(TREE, roots=("/home/me/checkout",), commit=COMMIT)

Lines = list[str]


def cited(text: str) -> Lines:
    """Path as resolved, start and end (where it is another line) of each citation with lines."""
    lines: Lines = []
    for mention in extract(text, INDEX):
        if mention.start is not None:
            end = "" if mention.end == mention.start else f"-{mention.end}"
            lines.append(f"{INDEX.resolve(mention.path).path}:{mention.start}{end}")
    return lines


def symbols(text: str) -> list[str | None]:
    return [m.symbol for m in extract(text, INDEX) if m.start is not None]


APP_42: Lines = ["src/app.py:42"]
APP_42_60: Lines = ["src/app.py:42-60"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/app.py:42", APP_42),
        ("See `src/app.py:42`.", APP_42),
        ("`src/app.py`:42 does it", APP_42),
        ("**src/app.py:42**", APP_42),
        ("(src/app.py:42)", APP_42),
        ("src/app.py:42-60", APP_42_60),
        ("src/app.py:42–60", APP_42_60),
        ("src/app.py:L42-L60", APP_42_60),
        ("src/app.py#L42-L60", APP_42_60),
        ("src/app.py#L42", APP_42),
        ("src/app.py:42:8", APP_42),
        ("src/app.py:42:8: error", APP_42),
        ("src/app.py(42)", APP_42),
        ("src/app.py:42-6", ["src/app.py:42-46"]),
        ("src/app.py:60-42", APP_42_60),
        ("src/app.py:0", ["src/app.py:0"]),
        ("src/app.py:42.", APP_42),
        ("src/app.py:42, which is fine", APP_42),
        ("src/app.py:42, 2 handlers further on", APP_42),
        ("(src/app.py:1, 7, 9)", ["src/app.py:1", "src/app.py:7", "src/app.py:9"]),
        ("src/app.py:1,7-8,9", ["src/app.py:1", "src/app.py:7-8", "src/app.py:9"]),
        ("src/app.py (lines 42–60)", APP_42_60),
        ("src/app.py (L42-L60)", APP_42_60),
        ("src/app.py, lines 42 and 51", ["src/app.py:42", "src/app.py:51"]),
        ("src/app.py lines 42/51", ["src/app.py:42", "src/app.py:51"]),
        ("src/app.py lines 42 to 60", APP_42_60),
        ("between lines 42 and 60 of src/app.py", APP_42_60),
        ("line 42 of src/app.py", APP_42),
        ("Look at line 42 in `src/app.py`.", APP_42),
        ("(line 42 in `src/app.py`)", APP_42),
        ("In `src/app.py`, the loop runs first, see lines 42-60.", APP_42_60),
        ("lines 42-60 (src/app.py)", APP_42_60),
        ("`src/app.py:42`, `51`, `60-61`", ["src/app.py:42", "src/app.py:51", "src/app.py:60-61"]),
        ("`src/app.py:42` (first), `:51` (second)", ["src/app.py:42", "src/app.py:51"]),
        ("./src/app.py:42", APP_42),
        ("/workspace/src/app.py:42", APP_42),
        ("/home/me/checkout/src/app.py:42", APP_42),
        (r"src\app.py:42", APP_42),
        ("docs/my%20guide.md:3", ["docs/my guide.md:3"]),
        ("docs/my guide.md:3", ["docs/my guide.md:3"]),
        ("`docs/über uns.md:3`", ["docs/über uns.md:3"]),
        ("naïve/é.py:3", ["naïve/é.py:3"]),
        ("web/app/[id]/page.tsx:7", ["web/app/[id]/page.tsx:7"]),
        ("`web/app/(auth)/login/page.tsx:7`", ["web/app/(auth)/login/page.tsx:7"]),
        ("packages/@scope/x/index.ts:5", ["packages/@scope/x/index.ts:5"]),
        ("@scope/x/index.ts:5", ["packages/@scope/x/index.ts:5"]),
        (".github/workflows/ci.yml:9", [".github/workflows/ci.yml:9"]),
        ("src/a+b.py:9", ["src/a+b.py:9"]),
        ("Makefile:12", ["Makefile:12"]),
        ("line 12 of the Makefile", ["Makefile:12"]),
        ("bin/tool:3", ["bin/tool:3"]),
        ("text.py:3", ["text.py:3"]),
        ("**File:** `src/app.py`\n**Lines:** 42-60", APP_42_60),
        ("File: src/app.py\nLine: 42", APP_42),
        ("src/app.py：42", APP_42),
        ("src/app.py (ln 42)", APP_42),
        ("[f](/src/app.py#L42)", APP_42),
        ("`src/app.py` (42–60)", APP_42_60),
        ("1. `src/app.py`\n   - L42: f\n   - 60-61: g", ["src/app.py:42", "src/app.py:60-61"]),
        ("src/invented.py:3", ["src/invented.py:3"]),
        ("invented.py:3", ["invented.py:3"]),
    ],
)
def test_every_way_of_writing_lines_is_read(text: str, expected: Lines) -> None:
    assert cited(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The server listens on localhost:8080 and 0.0.0.0:443.",
        "At 12:30 the ratio was 3:1.",
        "Python 3.11:2 and v1.2.3",
        "std::io::Read and pkg::name",
        "https://example.com/src/app.py:42",
        "https://example.com/src/app.py#L42",
        "[app](https://example.com/src/app.py#L42)",
        "git@example.com:me/repo.git",
        "`grep -n foo src/app.py:42`",
        "`sed -n '10,20p' src/app.py`",
        "$ grep -n foo src/app.py:42",
        "```bash\ncat src/app.py:42\n```",
        "```console\n$ rg x\nsrc/app.py:42: x\n```",
        "```diff\n--- a/src/app.py\n+++ b/src/app.py\n@@ -42,3 +42,4 @@\n```",
        '```python\nports = {"a": 12}\nx = data[1:42]\nurl = "localhost:5000"\n```',
        '  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode',
        "/usr/lib/python3.11/json/decoder.py:355",
        "~/.cargo/registry/src/index/serde/lib.rs:10",
        "node:internal/modules/cjs/loader:1080",
        "Use `:8080` as the port of src/app.py.",
        "The 20 lines of output, at most 3 lines each.",
        "raise 404 (see RFC 7231)",
        "Flask.wsgi_app:42 is no file",
        "e.g. 42, i.e. 43",
        "2024-01-02T12:30:45",
        "key: value, a:1, b:2",
        "",
    ],
)
def test_what_is_no_citation_is_not_read_as_one(text: str) -> None:
    assert cited(text) == []


def test_a_link_counts_once() -> None:
    assert cited("[src/app.py:42](src/app.py#L42)") == APP_42
    assert cited("[`text.py:3`](src/util/text.py)") == ["src/util/text.py:3"]
    assert cited("[the loop](src/app.py#L42-L60)") == APP_42_60
    assert cited("[x](src/app.py:42)") == APP_42


def test_the_symbol_of_a_link_is_its_text() -> None:
    assert symbols("[`Flask.wsgi_app`](src/app.py#L42)") == ["Flask.wsgi_app"]


def test_a_blob_link_to_the_commit_is_a_citation_and_one_to_a_branch_says_so() -> None:
    index = PathIndex(TREE, commit=COMMIT, repo_urls=("git@github.com:me/it.git",))
    (at,) = extract(f"https://github.com/me/it/blob/{COMMIT}/src/app.py#L42-L60", index)
    (main,) = extract("https://github.com/me/it/blob/feature/x/src/app.py#L42", index)
    assert (at.path, at.start, at.end, at.ref) == ("src/app.py", 42, 60, COMMIT)
    assert (main.path, main.ref) == ("src/app.py", "feature/x")
    assert extract("https://github.com/you/other/blob/main/src/app.py#L42", index) == []


def test_a_cursor_fence_cites_its_lines_and_its_code_cites_nothing() -> None:
    assert cited("```42:60:src/app.py\nimport other.py:3\n```") == APP_42_60


def test_a_fences_title_cites_and_a_comment_in_code_cites() -> None:
    assert cited('```python title="src/app.py:42"\nx = 1\n```') == APP_42
    assert cited("```python\n# src/app.py:42\nx = 1\n```") == APP_42


def test_an_unclosed_fence_ends_with_the_text() -> None:
    assert cited("```bash\ncat src/app.py:42") == []


def test_a_heading_owns_the_lines_below_it() -> None:
    text = "## `src/app.py`\n\n- `f` — line 42\n- 60-61: the end\n"
    assert cited(text) == ["src/app.py:42", "src/app.py:60-61"]


def test_a_heading_without_a_file_ends_the_reach_of_the_file_before_it() -> None:
    assert cited("src/app.py:1 and lib/text.py:2\n\n## Elsewhere\n\nIt returns (line 42).") == [
        "src/app.py:1",
        "lib/text.py:2",
    ]


def test_a_list_item_inherits_from_the_item_above_and_not_from_its_neighbour() -> None:
    text = "- `src/app.py`:\n  - `f` (line 42) calls lib/text.py:3\n  - `g` (line 51)\n"
    assert cited(text) == ["src/app.py:42", "lib/text.py:3", "src/app.py:51"]


def test_a_lead_in_owns_its_list() -> None:
    assert cited("Inside the router (src/app.py):\n- first (:42)\n- second (:51-52)\n") == [
        "src/app.py:42",
        "src/app.py:51-52",
    ]


def test_a_table_is_read_by_row_and_by_column() -> None:
    rows = (
        "| File | Lines | What |\n|---|---|---|\n"
        "| src/app.py | 42-60 | loop |\n| `lib/text.py` | 3, 5 | trim |\n"
    )
    assert cited(rows) == ["src/app.py:42-60", "lib/text.py:3", "lib/text.py:5"]
    # The file heads its column.
    columns = "| | src/app.py | lib/text.py |\n|---|---|---|\n| start | line 42 | 3 |\n"
    assert cited(columns) == ["src/app.py:42", "lib/text.py:3"]
    below = "### src/app.py\n\n| Symbol | Line |\n|---|---|\n| `f` | 42 |\n"
    assert cited(below) == APP_42


@pytest.mark.parametrize(
    "text",
    [
        '{"file": "src/app.py", "line": 42}',
        '{"line": 42, "file": "src/app.py"}',
        '{"file": "src/app.py:42"}',
        '```json\n{"a": [{"path": "src/app.py", "line_number": "42"}]}\n```',
        '```json\n{"path": "src/app.py", "tests": ["test_it (line 42)"]}\n```',
        '```json\n{"src/app.py": [42]}\n```',
        '```json\n{"file": "src/app.py", "lines": [42],}\n```',
        'Here: {"file": "src/app.py",\n "line": 42}',
        '[{"location": "src/app.py:42", "total_lines": 99, "line_count": 7}]',
    ],
)
def test_json_answers_are_read_by_their_keys(text: str) -> None:
    assert cited(text) == APP_42


def test_json_ranges_come_as_two_keys_or_one() -> None:
    assert cited('{"file": "src/app.py", "start_line": 42, "end_line": 60}') == APP_42_60
    assert cited('{"file": "src/app.py", "lines": "42-60"}') == APP_42_60
    assert cited('{"file": "src/app.py", "line_range": [42, 60]}') == APP_42_60


def test_json_names_its_symbol() -> None:
    assert symbols('{"symbol": "Recovery", "file": "src/app.py", "line": 42}') == ["Recovery"]
    assert symbols('{"method": "GET", "file": "src/app.py", "line": 42}') == [None]


def test_a_file_named_without_a_line_is_listed() -> None:
    (mention,) = extract("It lives in `src/app.py`.", INDEX)
    assert (mention.path, mention.start, mention.end) == ("src/app.py", None, None)


def test_json_may_hold_whole_markdown_documents() -> None:
    assert cited('{"answer": "## src/app.py\\n\\n- `f` (line 42)\\n"}') == APP_42


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("`Flask.wsgi_app` (src/app.py:42)", "Flask.wsgi_app"),
        ("`wsgi_app()` at src/app.py:42", "wsgi_app"),
        ("`def wsgi_app(self)` — src/app.py:42", "wsgi_app"),
        ("`func (c *Context) Next()` src/app.py:42", "Context.Next"),
        ("`(*Engine).ServeHTTP` (src/app.py:42)", "Engine.ServeHTTP"),
        ("`Router::new` is defined in src/app.py:42", "Router::new"),
        ("`Foo#bar` src/app.py:42", "Foo#bar"),
        ("`Layer<S>` src/app.py:42", "Layer"),
        ("full_dispatch_request (src/app.py:42)", "full_dispatch_request"),
        ("src/app.py:42 (`wsgi_app`)", "wsgi_app"),
        ("- src/app.py:42 — `wsgi_app`", "wsgi_app"),
        ("`src/app.py:42 fn route_layer`", "route_layer"),
        ("- `wsgi_app` — `src/app.py:42` runs it", "wsgi_app"),
        ("`Flask.wsgi_app` is defined in `src/app.py` at line 42", "Flask.wsgi_app"),
        ("**`Flask.wsgi_app`** (`src/app.py:42`)", "Flask.wsgi_app"),
        ("src/app.py:42 — wsgi_app() does it", "wsgi_app"),
        ("the class Flask (src/app.py:42)", "Flask"),
        ("`QuerySet.delete` (src/app.py:42)", "QuerySet.delete"),
        ("| line | symbol | file |\n|---|---|---|\n| 42 | Flask | src/app.py |\n", "Flask"),
        ("| line | name | file |\n|---|---|---|\n| 42 | Dispatch | src/app.py |\n", None),
        ("`foo` calls something in `src/app.py:42`", None),
        ("The dispatch lives at src/app.py:42", None),
        ("The `True` branch (src/app.py:42)", None),
        ("`break` src/app.py:42", None),
        ("`foo` is elsewhere. See src/app.py:42", None),
        ("| `foo` | src/app.py:42 |", None),
        ("`not found` (src/app.py:42)", None),
        ("not `foo` (src/app.py:42)", None),
        ("The list in the `Context` (src/app.py:42)", None),
        ("the loop (src/app.py:42)", None),
        ("`return self.wsgi_app(environ)` (src/app.py:42)", None),
        ("lib/text.py:1 (`foo`), src/app.py:42", None),
    ],
)
def test_a_symbol_is_named_only_where_the_sentence_ties_it_to_the_lines(
    text: str, symbol: str | None
) -> None:
    assert symbols(text)[-1] == symbol


ADVERSARIAL = [
    ("", "a", ""),
    ("", "a/", ""),
    ("", "a.b", ""),
    ("", "`", ""),
    ("", "[", ""),
    ("", "](", ""),
    ("", "[a](", ""),
    ("", "(", ""),
    ("", "a.py:1,", ""),
    ("", "1, ", ""),
    ("", "|", ""),
    ("", "|-", ""),
    ("", "a|b\n-|-\n", ""),
    ("", "https://", ""),
    ("", "@", ""),
    ("", "-", ""),
    ("", "# ", ""),
    ("", "- ", ""),
    ("", "```\n", ""),
    ("", '{"a":', ""),
    ("", "\\", ""),
    ("", "[a[a", ""),
    ("", "a(a", ""),
    ("", "a `b` ", ""),
    ("", ". A", ""),
    ("", "\n", ""),
    ("", "> ", ""),
    ("", "src/app.py (line ", ""),
    ("", "`f` (12) ", ""),
    ("", "src/app.py ", ""),
    ("", "_", ""),
    ("", "%20", ""),
    ("", "a:1 ", ""),
    ("", "src/app.py:1 `x` ", ""),
    ("", "**", ""),
    ("", "…/", ""),
    ("", "www.", ""),
    ("", "[1", ""),
    ("", "<", ""),
    ("", "src/app.py:1. A ", ""),
    ("", "src/app.py. A (line 1). ", ""),
    ("", "- src/app.py\n ", ""),
    ("lines 1, ", "2, ", ""),
    ("", "(line 1). A ", "src/app.py"),
    ("", "`1`, ", "a.py:1 `1`"),
    ("", "| a.py:1 ", "\n|-|\n"),
]
"""What a text begins with, repeats and ends with."""
SIZES = (2_000, 64_000)
"""Characters: where the search for a size that takes measurable time begins, and where it ends."""
MEASURABLE_SEC = 0.02
FLOOR_SEC = 0.005
"""Below this, the noise of the clock would count as growth."""
MOST_GROWTH = 8
"""Of the time, when the text becomes four times as long: 4 if it is linear, 16 if quadratic."""


def cpu_sec(work: Callable[[str], object], text: str) -> float:
    """CPU seconds, which other processes do not add to."""
    # A longer text makes the collector walk all that other tests have left, again and again.
    gc.disable()
    try:
        begin = time.process_time()
        work(text)
        return time.process_time() - begin
    finally:
        gc.enable()


def growth(work: Callable[[str], object], beginning: str, unit: str, end: str) -> float:
    """How many times longer a text takes that is four times as long."""

    def text(size: int) -> str:
        return beginning + unit * (size // len(unit)) + end

    size, largest = SIZES
    while size < largest and cpu_sec(work, text(size)) < MEASURABLE_SEC:
        size *= 2
    # The best of three for the shorter text alone: noise in the longer one hides no growth.
    before = min(cpu_sec(work, text(size)) for _ in range(3))
    return cpu_sec(work, text(4 * size)) / max(before, FLOOR_SEC)


@pytest.mark.parametrize(("beginning", "unit", "end"), ADVERSARIAL, ids=repr)
def test_no_text_takes_time_that_grows_faster_than_its_length(
    beginning: str, unit: str, end: str
) -> None:
    # Several tries: a busy machine can slow one text down and not the other, but seldom thrice.
    tries = (growth(lambda text: extract(text, INDEX), beginning, unit, end) for _ in range(3))
    assert any(found < MOST_GROWTH for found in tries)


def test_a_quadratic_pattern_would_show() -> None:
    quadratic = re.compile("a*b")
    quadratic = re.compile("a*b")
    # Several tries: beside another test a short text can take as long as a longer one.
    assert any(growth(quadratic.search, "", "a", "") > MOST_GROWTH for _ in range(3))


SIXTY = "src/app.py:" + ",".join(map(str, range(1, 61)))
FLOOD = MOST_MENTIONS // 60 + 9


def test_a_flood_is_read_up_to_the_limit() -> None:
    assert len(extract(f"{SIXTY} " * FLOOD, INDEX)) == MOST_MENTIONS
