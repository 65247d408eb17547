"""Line numbers in what servers write, moved; and numbers that are no lines, left alone."""

from __future__ import annotations

import json
import time

import pytest

from runner.agents.moved_lines import is_counting, with_lines_moved

MOVED = [
    # codegraph
    ("- `url_for` (src/flask/app.py:1003) — 41 callers", "1003"),
    ("- src/a.py: update:88, create:62, a.py:1, +3 more", "88 62 1"),
    ("1000\t\n1001\t        return app\n1002\t\n\n... (gap) ...\n\n1020\tx", "1000 1001 1002 1020"),
    ("... (gap: get_data (src/werkzeug/wrappers/request.py:403)) ...", "403"),
    # mcp-ripgrep
    ("/workspace/src/app.py:774:        f(e, 5)\n/workspace/src/app.py-775-    g(6)", "774 775"),
    ("/workspace/PKG-INFO:72:  * Running on http://127.0.0.1:5000/", "72"),
    ("src/app.py\n12:code: 5\n13-more", "12 13"),
    # cclsp
    ("Results for url_for (function) at /workspace/src/helpers.py:195:5:", "195"),
    # code-index-mcp
    ('{"type": "method",\n "line": 1003,\n "end_line": 1121, "line_count": 119}', "1003 1121"),
    ('{"results": [{"file": "a.py", "line": 8, "text": "port=80"}], "end_index": 10}', "8"),
    # mcp-server-tree-sitter
    ('{"start": {"row": 248, "column": 4}, "end": {"row": 260, "column": 9}}', "248 260"),
    ('{"context": [{"line": 296, "text": "x", "is_match": false}]}', "296"),
    # serena-agent
    ('{"name_path": "f", "body_location": {"start_line": 15, "end_line": 17}}', "15 17"),
    ('{"src/a.py": ["  ...  12:def f():\\n  >  13:    return 5\\n  ...  14:"]}', "12 13 14"),
    # others
    ("`src/a.ts`:12-20, src/b.ts#L7-L9, src/c.ts(3,14)", "12 20 7 9 3"),
    ("See lines 12-20, line 5 and Lines: 7 to 9 of it", "12 20 5 7 9"),
    ("  > 12 | return 5\n    13 | }", "12 13"),
    ("   12→\tcode\n   13→\tmore", "12 13"),
    ('{"startLine": 3, "endLine": 9, "startColumn": 5, "lineNumber": 4}', "3 9 4"),
    ('{"range": [3, 9], "loc": {"start": 3, "end": 9}, "lines": [5, 6]}', "3 9 3 9 5 6"),
    ('{"file": "a.py", "start": 3, "end": 9}', "3 9"),
    ('{"location": "src/a.py:12", "lines": "12-20"}', "12 12 20"),
    ('Found 2:\n{"line": 12}\n{"line": 13}\nDone on line 14.', "12 13 14"),
    ('[{"type": "text", "text": "{\\"line\\": 12, \\"n\\": 3}"}]', "12"),
    ("@@ -12,5 +14,7 @@ def f", "12 14"),
]
LEFT = [
    "flask 3.1.2, Python 3.11, released 2024-01-02 at 12:30:15",
    "Found 78 symbols across 4 files in 120 ms; 250 lines; 3 of 12 shown",
    "listening on localhost:8080, 127.0.0.1:5000, https://example.com:443/a",
    '{"port": 8080, "total_lines": 641, "line_count": 3, "lines": 250, "num_lines": 4}',
    '{"column": 5, "character": 4, "start_index": 0, "end_index": 10, "max_line_length": 80}',
    '{"submatches": [{"match": {"text": "x"}, "start": 4, "end": 9}], "offset": 77}',
    '{"code": "    raise ValueError(\'line 5 of a.py:12\')\\n", "avg_function_lines": 25.16}',
    "    200: 'OK',\n    404: 'Not Found',\n",
    "## Step 1\n1. first\n2. second\nnode:18, python:3.12, error 404: Not Found",
    "timed out after 30 s; retry 3/5; L2 cache; #12; v1.2.3-4; sha256:1234",
]


@pytest.mark.parametrize(("text", "lines"), MOVED)
def test_every_line_number_is_moved_and_nothing_else(text: str, lines: str) -> None:
    moved, count = with_lines_moved(text, 1_000_000)
    wanted = [str(int(line) + 1_000_000) for line in lines.split()]
    found = [word for word in _numbers(moved) if int(word) >= 1_000_000]
    assert (found, count) == (wanted, len(wanted))
    assert with_lines_moved(moved, -1_000_000)[0] == text


def _numbers(text: str) -> list[str]:
    return "".join(letter if letter.isdigit() else " " for letter in text).split()


@pytest.mark.parametrize("text", LEFT)
def test_versions_counts_ports_and_the_codes_own_numbers_stay(text: str) -> None:
    assert with_lines_moved(text, 20) == (text, 0)


def test_json_stays_json_of_the_same_layout() -> None:
    text = '{"b": 1.50, "line":  9,\n\t"s": "\\u00e9\\/a.py:7\\n"}'
    moved, count = with_lines_moved(text, 20)
    assert (moved, count) == (text.replace("9,", "29,").replace(":7", ":27"), 2)
    assert json.loads(moved)["line"] == 29


def test_no_line_falls_below_the_first() -> None:
    assert with_lines_moved("a.py:5 and a.py:50", -20) == ("a.py:1 and a.py:30", 2)


def test_what_a_counting_tool_counts_is_no_line() -> None:
    assert is_counting("count-matches")
    assert not is_counting("find_account")


@pytest.mark.parametrize(
    "unit",
    [
        "{\n",
        "[\n",
        "12:a,\n",
        '{"a": "',
        "a/",
        "a.",
        "~",
        "line 5 ",
        "lines 1,",
        "L1-",
        "\\",
        "1\t\n",
    ],
)
def test_a_long_result_of_anything_takes_seconds_at_most(unit: str) -> None:
    started = time.monotonic()
    with_lines_moved(unit * (300_000 // len(unit)), 20)
    assert time.monotonic() - started < 20
