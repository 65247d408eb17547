"""How agents write places, form by form, beside what looks the same and is no place."""

from __future__ import annotations

import pytest

from runner.grounding.commit_files import PathIndex
from runner.grounding.extract import extract

TREE = tuple(
    (
        "axum/src/extract/matched_path.rs axum/src/routing/path_router.rs axum/src/routing/mod.rs "
        "packages/next/src/server/base-server.ts packages/next/src/server/next-server.ts "
        "packages/next/src/server/render.tsx app/controllers/groups_controller.rb "
        "lib/new_post_manager.rb src/index.ts src/foo.cpp src/Net.java pkg/__init__.py src/app.py "
        "lib/text.py"
    ).split()
)
INDEX = PathIndex(TREE)


def places(text: str) -> list[str]:
    """`app.py:3` or `app.py:3-5` for every citation with lines: the file's name is enough here."""
    found = []
    for mention in extract(text, INDEX):
        if mention.start is None:
            continue
        name = INDEX.resolve(mention.path).path.rpartition("/")[2]
        lines = f"{mention.start}-{mention.end}"
        if mention.start == mention.end:
            lines = f"{mention.start}"
        found.append(f"{name}:{lines}")
    return found


def symbols(text: str) -> list[str | None]:
    return [mention.symbol for mention in extract(text, INDEX) if mention.start is not None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a name and its line, below the file's heading or in its sentence
        ("## src/app.py\n\nhandle@:41", "app.py:41"),
        ("## src/app.py\n\n`handle@:41`, `run@:53-60`", "app.py:41 app.py:53-60"),
        ("## src/app.py\n\n- `handle`@:41 and `run`@:53", "app.py:41 app.py:53"),
        ("## src/app.py\n\nhandleRequest:877", "app.py:877"),
        ("## src/app.py\n\n`handleRequest:877` → `run_all:901`", "app.py:877 app.py:901"),
        ("## src/app.py\n\n- handleRequest@877", "app.py:877"),
        ("## src/app.py\n\n- handleRequest @ 877", "app.py:877"),
        ("## src/app.py\n\n- handleRequest@L877", "app.py:877"),
        ("## src/app.py\n\n- Server.handle():877", "app.py:877"),
        ("## src/app.py\n\n- `Server::handle`:877", "app.py:877"),
        ("## src/app.py\n\n- `Server#handle:877`", "app.py:877"),
        ("In `src/app.py`: handleRequest:877, renderToResponse :901", "app.py:877 app.py:901"),
        ("**src/app.py**\n- handleRequest:877", "app.py:877"),
        ('{"src/app.py": ["handleRequest:877", "run@:41"]}', "app.py:877 app.py:41"),
        ('{"src/app.py": {"entry": "handleRequest:877"}}', "app.py:877"),
        ("`src/app.py:Shop.open:42`", "app.py:42"),
        ("src/app.py::test_it:42", "app.py:42"),
        # the file stands in another key
        (
            '{"file": "base-server.ts", "calls": ["renderToResponse :2556", "run :2570"]}',
            "base-server.ts:2556 base-server.ts:2570",
        ),
        (
            '{"calls": ["renderToResponse :2556"], "server": "src/server/base-server.ts"}',
            "base-server.ts:2556",
        ),
        (
            '{"base-server.ts (the chain)": ["renderToResponse :2556", ":2570 run"]}',
            "base-server.ts:2556 base-server.ts:2570",
        ),
        (
            '{"a": {"path": "base-server.ts", "b": {"c": [["handleRequest:877"]]}}}',
            "base-server.ts:877",
        ),
        # numbers first, then words
        (
            "`NewPostManager` (lib/new_post_manager.rb:237 perform, 244 handlers, 250 PM bypass)",
            "new_post_manager.rb:237 new_post_manager.rb:244 new_post_manager.rb:250",
        ),
        (
            "lib/new_post_manager.rb:237 (244 handlers, 250 PM bypass)",
            "new_post_manager.rb:237 new_post_manager.rb:244 new_post_manager.rb:250",
        ),
        ("routing/mod.rs:244 and 252 the macro", "mod.rs:244 mod.rs:252"),
        ("routing/mod.rs:244, 252 impl_trait", "mod.rs:244 mod.rs:252"),
        # a tilde or an L before the number, or the path
        ("(~base-server.ts:2787)", "base-server.ts:2787"),
        ("base-server.ts:~2787", "base-server.ts:2787"),
        ("base-server.ts (~2787)", "base-server.ts:2787"),
        ("base-server.ts (line ~2787)", "base-server.ts:2787"),
        ("base-server.ts ≈L2787", "base-server.ts:2787"),
        # anchors and URLs
        ("index.ts#123", "index.ts:123"),
        ("index.ts#10-20", "index.ts:10-20"),
        ("index.ts#lines-10-20", "index.ts:10-20"),
        ("index.ts#line-10", "index.ts:10"),
        ("index.ts#L10-20", "index.ts:10-20"),
        ("[it](src/index.ts#123)", "index.ts:123"),
        ("[it](src/index.ts#lines-10-20)", "index.ts:10-20"),
        ("## src/index.ts\n\nSee #L10-L20.", "index.ts:10-20"),
        ("file:///workspace/src/index.ts:10", "index.ts:10"),
        ("file:///workspace/src/index.ts#L10", "index.ts:10"),
        ("<file:///workspace/src/index.ts#L10-L20>", "index.ts:10-20"),
        ("[it](file:///workspace/src/index.ts:10)", "index.ts:10"),
        ("[it](file:///workspace/src/index.ts#L10)", "index.ts:10"),
        ("file://src/index.ts:10", "index.ts:10"),
        # compilers
        ("src/foo.cpp(133,5): error C2065", "foo.cpp:133"),
        ("src/foo.cpp(133): error", "foo.cpp:133"),
        ("src/foo.cpp (133)", "foo.cpp:133"),
        ("`src/foo.cpp` (133, 150-152)", "foo.cpp:133 foo.cpp:150-152"),
        ("src/foo.cpp:133:5: error: x", "foo.cpp:133"),
        ("at Net.run(Net.java:133)", "Net.java:133"),
        ("at run (file:///workspace/src/index.ts:10:5)", "index.ts:10"),
        ('File "src/app.py", line 42, in run', "app.py:42"),
        ("in /workspace/src/app.py:line 42", "app.py:42"),
        ("src/app.py on line 42", "app.py:42"),
        # Markdown's escapes
        (r"pkg/\_\_init\_\_.py:3", "__init__.py:3"),
        (r"**pkg/\_\_init\_\_.py:3-5**", "__init__.py:3-5"),
        (r"new\_post\_manager.rb:3", "new_post_manager.rb:3"),
        (r"src\app.py:3", "app.py:3"),
        # words that hold `port`, `listen`, `addr`, `host`
        ("**Imports** of src/app.py: the first is :9, the last :31", "app.py:9 app.py:31"),
        (
            "src/app.py: Listeners :96, `remote_addr` (:41), ghosts :50",
            "app.py:96 app.py:41 app.py:50",
        ),
        ("src/app.py:3 exports `port` (:41)", "app.py:3 app.py:41"),
        # more
        ("src/app.py: 42, 51", "app.py:42 app.py:51"),
        ("`src/app.py` 42-60", "app.py:42-60"),
        ("src/app.py:42ff.", "app.py:42"),
        ("src/app.py:42−60", "app.py:42-60"),
        ("src/app.py@42", "app.py:42"),
        ("src/app.py@:42", "app.py:42"),
        ("src/app.py:[42-60]", "app.py:42-60"),
        ("src/app.py:42 → :51", "app.py:42 app.py:51"),
        ("src/app.py:42 and **:51**", "app.py:42 app.py:51"),
        ("```\nsrc/app.py\n  42: open_shop\n  60-70: close\n```", "app.py:42 app.py:60-70"),
        ("src/app.py\n  42: open_shop\n  60  close_shop()", "app.py:42 app.py:60"),
        ("## src/app.py\n\n### The loop\n\nIt begins at line 42.", "app.py:42"),
        ("## src/app.py\n\n### The loop (line 42)", "app.py:42"),
        ("### src/app.py\n\n| name | at |\n|--|--|\n| run | :42 |", "app.py:42"),
        ("`src/app.py`: `test_it_works` (204)", "app.py:204"),
        # file — lines — what
        ("- `src/app.py` — 42-60 — the loop", "app.py:42-60"),
        ("- `src/app.py` — 142 — the loop\n- same — 151 — its end", "app.py:142 app.py:151"),
        ("`src/app.py` 42 (the loop), `lib/text.py` 3-5.", "app.py:42 text.py:3-5"),
        ("`src/app.py` at 142.", "app.py:142"),
        ("`…/server/base-server.ts` 297 and 347 (size)", "base-server.ts:297 base-server.ts:347"),
        # notes of a JSON object's file that begin with their lines
        (
            '{"file": "src/app.py", "notes": ["480-486: it begins", "21 match() is tried"]}',
            "app.py:480-486 app.py:21",
        ),
        # a row of a table whose file is that of the row before
        (
            "| Step | File | Line |\n|--|--|--|\n| run | src/app.py | 42 |\n| stop | same | 51 |\n"
            "| end | | 60 |",
            "app.py:42 app.py:51 app.py:60",
        ),
        ("src/app.py (`run` 142, `stop` 151)", "app.py:142 app.py:151"),
        ("src/app.py (142: run; 151: stop)", "app.py:142 app.py:151"),
        ("src/app.py:42 (run) / 51 (stop)", "app.py:42 app.py:51"),
        ("## src/app.py\n\n- **142–160** runs\n- 171 `stop`", "app.py:142-160 app.py:171"),
        # short names and files called by their class
        ("AP = src/app.py\n\nAP:42, then AP run:51", "app.py:42 app.py:51"),
        ("`Net:133` calls `Net.run` (140)", "Net.java:133 Net.java:140"),
        # on another machine, in an editor
        ("/Users/me/next/packages/next/src/server/render.tsx:42", "render.tsx:42"),
        ("vscode://file/home/me/x/packages/next/src/server/render.tsx:42:8", "render.tsx:42"),
        # numbers that stand alone, near other lines of their file or where it is said
        (
            "`src/app.py:140` begins, the loop head 152, its end 171.",
            "app.py:140 app.py:152 app.py:171",
        ),
        (
            "`src/app.py:140` begins; it stops at 152, or on 160 for more.",
            "app.py:140 app.py:152 app.py:160",
        ),
        (
            "`src/app.py:140` takes the header (152), prefixes it (160-164)",
            "app.py:140 app.py:152 app.py:160-164",
        ),
        ("In `src/app.py`, it is dispatched at 365 and ends on 372.", "app.py:365 app.py:372"),
    ],
)
def test_a_place_is_read_in_every_form(text: str, expected: str) -> None:
    assert places(text) == expected.split()


@pytest.mark.parametrize(
    "text",
    [
        "Vue.js:3 and Node.js:18, on Next.js:15",
        "Node.js 18 (`Node.js:18`)",
        "the database at db.prod.rs:27017",
        "src/app.py connects to db.internal.rs:5432",
        "src/app.py listens on :8080",
        "src/app.py: the port is :8080",
        "Use `:8080` as the port of src/app.py",
        "src/app.py binds to `:3000`",
        "## src/app.py\n\nlocalhost:8080, redis:6379, dbHost:5432",
        "## src/app.py\n\nreact@18, lodash@4.17.21, node@20",
        "## src/app.py\n\n`{maxDepth:10, tabSize:4}`",
        "## src/app.py\n\nretries: 12, timeout:30, a ratio of 3:1, 16:9",
        "## src/app.py\n\nAt 12:30 it was 2024-01-02T12:30:45.",
        "## src/app.py\n\n3 of 5 pass; 12 tests, 340 lines, 20 ms",
        "## src/app.py\n\nIt answers 404 (Not Found) or 500.",
        "## src/app.py\n\nnot found (404), the loop (12)",
        "Matches: src/app.py (12), lib/text.py (30)",
        "src/app.py: 3 functions, 12 tests",
        "src/app.py (12 tests, 340 lines)",
        "index.ts#2-install, index.ts#usage, index.ts#1st",
        "src/app.py v1.2.3, 42%, 42px",
        "std::io::Read, Router::layer",
        "me@example.com:42",
        "src/app.py is in 12 places",
        "https://example.com:8080/src/app.py",
        "file:///etc/hosts",
        "In `src/app.py`, it is capped at 500, returns 200, exits with 42 and runs on 12 machines.",
        "In `src/app.py` (see issue 142, RFC 7231, Java 17, since 2024) nothing is said.",
        "In `src/app.py` it listens on 4567; n is about 120, at most 1024 (512).",
        # an index of a variable
        "`src/app.py` splits it: `key, value = line[0], line[2]`.",
        "In src/app.py: `parts = lines[400].split()`, lines[12] and ln[7] too.",
    ],
)
def test_what_only_looks_like_a_place_is_none(text: str) -> None:
    assert places(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "src/app.py:42, 12 tests cover it",
        "src/app.py:42 (3 of 5, 120 lines, 250 ms)",
        "src/app.py:42 and 60 lines further on",
        "src/app.py:42 listens on :8080",
        "src/app.py:42 (HTTP 404)",
        "src/app.py:42, 404 Not Found",
        "src/app.py:42 at 12:30",
        "src/app.py:42 (up to 44, issue 45, 46 bytes, step 47)",
        "src/app.py:42, and it returns 43 or exits 44.",
    ],
)
def test_a_place_is_not_followed_by_what_is_counted(text: str) -> None:
    assert places(text) == ["app.py:42"]


REPORT = """
The class has 64 methods, of which 12 are abstract. It took 143 ms at p95 and 1204 ms at p99 in our
benchmark of 500 requests on 8 cores. On 12 March 2024 we saw 345 errors; by 2025 there were 900.
The default is 876, the limit 896, the timeout 120 and the max age 870. Status 304 if not modified.
There are 890 call sites and 880 snapshots. See PR #880, issue 879, commit 8791234 and RFC 9110.
`maxDepth` is 880, `width: 900`, `x = 875`. Between 870 and 900 users hit it, 880 of 1000 pass.
Ports 3000 and 8080; host 192.0.2.12:880. Range 1-10. Array index 876. Up to 900. Version 877. It
exits with 878. It listens on 879 by default. Section 880, chapter 12, step 3 of 14, page 876.

| metric | before | after |
|---|---|---|
| requests | 880 | 901 |

- 880 users
- score: 880
- 12 of the tests (3 skipped)

Total: 880. Duration (880). Took 880. Score 880/1000. Budget: 880, spent: 901.
"""


def test_numbers_of_a_report_are_no_lines_however_near_they_are() -> None:
    assert places(f"## src/app.py\n\n`run` (line 877)\n{REPORT}") == ["app.py:877"]


def test_a_name_with_its_line_is_its_symbol() -> None:
    text = "## src/app.py\n\n`handle@:41`, handleRequest:877, `Shop.open`:42, run()@53"
    assert symbols(text) == ["handle", "handleRequest", "Shop.open", "run"]
    assert symbols("`src/app.py:Shop.open:42`") == ["Shop.open"]


# --- which file ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # an aside in brackets captures nothing behind it
        (
            "## path_router.rs\n\nstamps MatchedPath (line 347, "
            "set_matched_path_for_request in matched_path.rs:101), then "
            "`insert_url_params` (line 353).",
            "path_router.rs:347 matched_path.rs:101 path_router.rs:353",
        ),
        (
            "- `path_router.rs`\n  - stamps MatchedPath (line 347, see matched_path.rs:101) and "
            "`insert_url_params` (line 353)",
            "path_router.rs:347 matched_path.rs:101 path_router.rs:353",
        ),
        (
            '{"file": "path_router.rs", "does": "stamps it (line 347, in matched_path.rs:101), '
            'insert_url_params (line 353)"}',
            "path_router.rs:347 matched_path.rs:101 path_router.rs:353",
        ),
        (
            "In `path_router.rs`, `call` stamps MatchedPath (set in matched_path.rs:101) and then "
            "`insert_url_params` (line 353) runs.",
            "matched_path.rs:101 path_router.rs:353",
        ),
        # within the bracket it does
        (
            "The loop (in matched_path.rs, line 101, and line 110)",
            "matched_path.rs:101 matched_path.rs:110",
        ),
        (
            "## mod.rs of axum\n\n`f` (matched_path.rs: g (line 3), h (line 4))",
            "matched_path.rs:3 matched_path.rs:4",
        ),
        # what a sentence leads into
        ("## src/app.py\n\nIn `lib/text.py`, `trim` (line 3) is called.", "text.py:3"),
        ("## src/app.py\n\n- lib/text.py:3 trims, and (line 9) pads", "text.py:3 text.py:9"),
        ("## src/app.py\n\nThat is in lib/text.py. The loop is at line 42.", "app.py:42"),
        ("`run` (src/app.py:3) calls `open_shop` (line 42).", "app.py:3 app.py:42"),
        # `:42` goes on from the place before it
        (
            "## src/app.py\n\nSee render.tsx:457 renderToHTMLImpl, :1622 renderToHTML.",
            "render.tsx:457 render.tsx:1622",
        ),
        (
            "base-server.ts:877, next-server.ts:100, :120",
            "base-server.ts:877 next-server.ts:100 next-server.ts:120",
        ),
        # alternating files: the nearer lines decide
        (
            "`run` (src/app.py:1340) calls `trim` (lib/text.py:12), then `stop` (line 1350).",
            "app.py:1340 text.py:12 app.py:1350",
        ),
        (
            "`run` (src/app.py:1340) calls `trim` (lib/text.py:12), then `pad` (line 19).",
            "app.py:1340 text.py:12 text.py:19",
        ),
        # what a text says of lines without a file
        (
            "src/app.py unless said otherwise.\n\nrun :63 → trim (lib/text.py:5) → :87 → stop :90",
            "app.py:63 text.py:5 app.py:87 app.py:90",
        ),
        ("Plain :NNN = src/app.py\n\nmain (lib/text.py:4) -> run :160", "text.py:4 app.py:160"),
        ("trim (lib/text.py:8) -> pad (same file :11)", "text.py:8 text.py:11"),
        # what a section begins with
        (
            "`src/app.py`, mostly `run`.\n\n1. It logs (`lib/text.py` line 30).\n"
            "2. `stop()` at line 285.",
            "text.py:30 app.py:285",
        ),
        (
            "**app.py** (src/app.py)\n\n- trims with lib/text.py:3\n- stops at :140",
            "text.py:3 app.py:140",
        ),
        # a column that a file heads
        (
            "| | `src/app.py` | `lib/text.py` |\n|--|--|--|\n| run | `run` 42 | `go` 76-80 |",
            "app.py:42 text.py:76-80",
        ),
        # headings
        (
            "## src/app.py\n\n### lib/text.py\n\n(line 3)\n\n### Rest\n\n(line 4)",
            "text.py:3 app.py:4",
        ),
        (
            "## src/app.py\n\n(line 3)\n\n## Elsewhere, lib/text.py\n\n(line 4)",
            "app.py:3 text.py:4",
        ),
    ],
)
def test_lines_without_a_path_belong_to_what_the_text_is_about(text: str, expected: str) -> None:
    assert places(text) == expected.split()


def test_where_two_files_have_an_equal_claim_both_are_kept() -> None:
    *_, mention = extract(
        "## src/app.py\n\n- calls `trim` in lib/text.py:3, `pad` (line 60)", INDEX
    )
    assert {mention.path, *mention.rivals} == {"src/app.py", "lib/text.py"}
    *_, mention = extract("## src/app.py\n\n- `trim` (line 60)", INDEX)
    assert mention.rivals == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a line that stands before its file
        (
            "`run` (line 160) is in `src/app.py` and `pad` (line 4) is in `lib/text.py`.",
            "app.py:160 text.py:4",
        ),
        (
            "`run` (line 160) belongs to src/app.py; `pad` (line 4) belongs to lib/text.py",
            "app.py:160 text.py:4",
        ),
        ("`run` (Zeile 160) steht in `src/app.py`.", "app.py:160"),
        (
            "`run`（第160行）在 `src/app.py` 中，`pad`（第4行）在 `lib/text.py` 中。",
            "app.py:160 text.py:4",
        ),
        ("- Line 160: `run` (src/app.py)\n- Line 4: `pad` (lib/text.py)", "app.py:160 text.py:4"),
        ("- `run` — line 160 — `src/app.py`", "app.py:160"),
        ("### run\n**Line:** 160\n**File:** `src/app.py`", "app.py:160"),
        ("1. `run`\n   - Line: 160\n   - File: src/app.py", "app.py:160"),
        # as many files as lines
        ("`src/app.py` and `lib/text.py` at lines 160 and 4, respectively", "app.py:160 text.py:4"),
        (
            '{"caller_file": "src/app.py", "caller_line": 160, '
            '"callee_file": "lib/text.py", "callee_line": 4}',
            "app.py:160 text.py:4",
        ),
        # the file of the sentence, however near the line is to another's
        (
            "`src/app.py` has it at line 25. `lib/text.py` has it at line 26.",
            "app.py:25 text.py:26",
        ),
        # numbers that elsewhere are a status or a port
        ("It is used in lines 218 and 404 of src/app.py.", "app.py:218 app.py:404"),
        ("`src/app.py` (lines 182, 404)", "app.py:182 app.py:404"),
        ("- src/app.py\n  - :5672\n- `lib/text.py` :8080", "app.py:5672 text.py:8080"),
        # lists
        (
            "- src/app.py\n    - 628\n    - **404**\n    - 70 (`run`)",
            "app.py:628 app.py:404 app.py:70",
        ),
        ("`src/app.py`:`628` and src/app.py:**70**", "app.py:628 app.py:70"),
        ("src/app.py [628, 70]", "app.py:628 app.py:70"),
        ("- src/app.py (2 calls): 628, 70", "app.py:628 app.py:70"),
        (
            "- src/app.py : 628\n- src/app.py → 70\n- src/app.py=80",
            "app.py:628 app.py:70 app.py:80",
        ),
        ("```\nsrc/app.py,628\nsrc/app.py        70\n```", "app.py:628 app.py:70"),
        ("| Archivo | Línea |\n|---|---|\n| src/app.py | 628 |", "app.py:628"),
        ("In src/app.py:\n\na. 628 — runs\nb. 70 — stops", "app.py:628 app.py:70"),
        ("In src/app.py:\n\ni) 628 — runs\nii) 70 — stops", "app.py:628 app.py:70"),
        ("src/app.py 第 628 行", "app.py:628"),
        ("| 文件 | 行号 |\n|---|---|\n| src/app.py | 628 |", "app.py:628"),
        ('[["src/app.py", 628], ["lib/text.py", 4]]', "app.py:628 text.py:4"),
        ('{"src/app.py": {"628": "run()", "70": "stop()"}}', "app.py:628 app.py:70"),
        ("\x1b[35msrc/app.py\x1b[0m:\x1b[32m628\x1b[0m:run()", "app.py:628"),
    ],
)
def test_a_place_is_read_however_the_line_and_its_file_are_joined(text: str, expected: str) -> None:
    assert places(text) == expected.split()


@pytest.mark.parametrize(
    "text",
    [
        "- src/app.py\n\n| What | Count |\n|---|---|\n| calls | 12 |",
        "- 628\n- 70",
        "It listens on :8080, and src/app.py starts it.",
        "src/app.py → 12 callers",
        "src/app.py was not found (404)",
    ],
)
def test_a_count_a_port_and_a_status_are_no_lines(text: str) -> None:
    assert [one for one in places(text) if ":" in one] == []
