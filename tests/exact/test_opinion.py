"""A key and what another program says of it: agreed, lacking, more; a spray never agrees."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from runner.authoring.drafting.tree import Tree
from runner.authoring.exact.checking import Opinion, agreed
from runner.authoring.exact.question_files import CheckedSuite, agreement, differences
from runner.authoring.exact.second_opinion import KeyComparison, asks_of, compared
from runner.records.exact import ExactQuestion
from runner.sandbox import lsp_host
from tests.exact.test_keys import key_in
from tests.proposing.trees import PYTHON, tree_of

CALLS = [
    ["shop/audit.py", 8],
    ["shop/audit.py", 11],
    ["shop/day.py", 6],
    ["shop/report.py", 5],
]
TEST_CALLS = [["tests/test_till.py", line] for line in (5, 9, 13)]
BESIDE = [["shop/till.py", 1], ["shop/day.py", 1]]


def opinion(folder: Path, found: Sequence[Sequence[Any]] | None) -> KeyComparison:
    """Of who calls `count_money`."""
    tree = tree_of(folder / uuid4().hex, PYTHON)
    question = question_of(tree)
    asks = asks_of(question, tree)
    assert [(it.path, it.line, it.column, it.method) for it in asks] == [
        ("shop/till.py", 1, 4, "references")
    ]
    return compared(question, tree, asks, {asks[0].id: found})


def question_of(tree: Tree) -> ExactQuestion:
    return key_in(tree, "callers", "count_money")


def test_what_was_not_asked_for_is_no_difference(tmp_path: Path) -> None:
    said = opinion(tmp_path, [*CALLS, *TEST_CALLS, *BESIDE])
    assert said.agrees
    assert said.confirmed == len(CALLS)


@pytest.mark.parametrize(
    ("found", "missing", "extra"),
    [
        (CALLS[1:], [("shop/audit.py", 8)], []),
        ([*CALLS, ["shop/report.py", 1]], [], [("shop/report.py", 1)]),
        ([], [("shop/audit.py", 8), ("shop/audit.py", 11), ("shop/day.py", 6)], []),
    ],
    ids=["one less", "one more", "none"],
)
def test_one_place_less_or_more_is_a_difference(
    tmp_path: Path,
    found: Sequence[Sequence[Any]],
    missing: Sequence[tuple[str, int]],
    extra: Sequence[tuple[str, int]],
) -> None:
    said = opinion(tmp_path, found)
    assert said.differs
    assert list(said.missing)[:3] == missing
    assert list(said.extra) == extra


def test_a_program_that_finds_every_line_confirms_nothing(tmp_path: Path) -> None:
    everything = [[path, line] for path, text in PYTHON.items() for line in range(1, 20) if text]
    assert opinion(tmp_path, everything).differs


def test_no_answer_neither_confirms_nor_differs(tmp_path: Path) -> None:
    said = opinion(tmp_path, None)
    assert not said.agrees
    assert not said.differs


def test_a_question_is_kept_by_agreement_and_dropped_by_one_difference(tmp_path: Path) -> None:
    question = question_of(tree_of(tmp_path / "own", PYTHON))
    right = Opinion(program="ty 1", said=opinion(tmp_path, [*CALLS, *BESIDE]))
    wrong = Opinion(program="pyright 1", said=opinion(tmp_path, CALLS[1:]))
    silent = Opinion(program="jedi 1", said=opinion(tmp_path, None))
    (kept,) = agreed([question], [right, silent])
    assert kept.confirmed_by == ("ty 1",)
    assert agreed([question], [right, wrong]) == []
    (alone,) = agreed([question], [])
    assert alone.confirmed_by == ()


# --- the client ---------------------------------------------------------------------------------

TINY_SERVER = """
import json, sys

def read():
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        if line.lower().startswith(b"content-length"):
            length = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(length)) if length else None

def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    sys.stdout.buffer.flush()

def progress(kind):
    send({"method": "$/progress", "params": {"token": 1, "value": {"kind": kind}}})

settings, root = None, ""
while (message := read()) is not None:
    method, params = message.get("method"), message.get("params")
    if method == "initialize":
        root = params["rootUri"]
        send({"id": message["id"], "result": {"serverInfo": {"name": "tiny", "version": "1"}}})
        items = [{"section": "tiny"}]
        send({"id": 99, "method": "workspace/configuration", "params": {"items": items}})
        progress("begin")
    elif method is None:
        settings = message["result"]
        progress("end")
    elif method == "textDocument/references":
        assert settings == [{"deep": True}], settings
        at = params["position"]
        here = {"uri": params["textDocument"]["uri"], "range": {"start": at}}
        away = {"uri": "file:///usr/lib/other.py", "range": {"start": at}}
        send({"id": message["id"], "result": [here, away, here]})
    elif method == "textDocument/implementation":
        send({"id": message["id"], "error": {"code": -32601, "message": "not known"}})
    elif "id" in message:
        send({"id": message["id"], "result": None})
"""


def test_a_language_server_is_asked_over_its_own_protocol(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a b.py").write_text("x = 1\n")
    (tmp_path / "tree/tsconfig.json").write_text("{}")
    (tmp_path / "tiny.py").write_text(TINY_SERVER)
    asks = [
        {"id": method, "method": method, "path": "a b.py", "line": 0, "column": 0, "language": "py"}
        for method in ("references", "definition", "implementation")
    ]
    job = {
        "tree": str(tmp_path / "tree"),
        "root": str(tmp_path / "copy"),
        "removed": ["tsconfig.json"],
        "files": {"own/settings.json": "{}"},
        "copied": {str(tmp_path / "there/tiny.py"): str(tmp_path / "tiny.py")},
        "command": [sys.executable, str(tmp_path / "there/tiny.py")],
        "environment": {},
        "options": {},
        "settings": {"tiny": {"deep": True}},
        "settle_sec": 0.3,
        "ready_sec": 20,
        "asks": asks,
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    done = subprocess.run(
        [sys.executable, "-I", lsp_host.__file__, str(tmp_path / "job.json")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    told = json.loads(done.stdout)
    # What lies outside of the tree is left out, and what cannot be asked is no answer.
    assert told["answers"] == {
        "references": [["a b.py", 1]],
        "definition": [],
        "implementation": None,
    }
    assert told["version"] == "tiny 1"
    assert not (tmp_path / "copy/tsconfig.json").exists()
    assert (tmp_path / "copy/own/settings.json").exists()
    assert (tmp_path / "tree/tsconfig.json").exists()


# --- the table ----------------------------------------------------------------------------------


def test_a_place_is_confirmed_if_every_program_found_it(tmp_path: Path) -> None:
    question = question_of(tree_of(tmp_path / "own", PYTHON))
    opinions = (
        Opinion(program="ty 1", said=opinion(tmp_path, [*CALLS, *BESIDE])),
        Opinion(program="pyright 1", said=opinion(tmp_path, CALLS[1:])),
        Opinion(program="jedi 1", said=opinion(tmp_path, None)),
    )
    suite = CheckedSuite(name="shop", questions=(question,), opinions=opinions)
    row, everything = agreement([suite])
    assert (row.kind, row.language, row.questions, row.agree) == ("callers", "python", 1, 0)
    assert (row.confirmed, row.places) == (3, 4)
    assert (everything.kind, everything.confirmed) == ("all", 3)
    assert differences(suite) == [
        "shop.callers-count-money: pyright 1 does not find shop/audit.py:8"
    ]


def test_a_program_that_confirmed_a_key_and_falls_silent_is_told(tmp_path: Path) -> None:
    question = question_of(tree_of(tmp_path / "own", PYTHON))
    sure = question.model_copy(update={"confirmed_by": ("ty 1",)})
    opinions = (Opinion(program="ty 1", said=opinion(tmp_path, None)),)
    suite = CheckedSuite(name="shop", questions=(sure,), opinions=opinions)
    assert differences(suite) == [
        "shop.callers-count-money: ty 1 confirmed this key before and gave no answer this time"
    ]
