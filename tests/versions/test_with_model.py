"""`fairtrial compare --model`: the real SDK, and a provider on this machine."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import docker
import pytest

from runner.records.versions import VersionComparison
from tests.checkout import Checkout, make
from tests.judges.reader import anthropic_stream
from tests.models.doubles import serving
from tests.proposing.trees import commit
from tests.versions.test_planted import folder, without_volumes

pytestmark = pytest.mark.docker
QUESTIONS = 5
"""In files of their own: with fewer no test of 5 % tells anything."""
TEXT = """\
def use_0():
    return 1


def first_0():
    return use_0()
"""
FILES = {f"part_{at}.py": TEXT.replace("_0", f"_{at}") for at in range(QUESTIONS)}
MODEL = "claude-sonnet-4-6"


class Reader:
    """Looks a name up by whichever tool it is offered, and answers by what it was shown."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, Any]] = []

    def reply(self, body: dict[str, Any]) -> Iterator[bytes]:
        self.asked.append(body)
        name = re.findall(r"`(use_\d)`", json.dumps(body["messages"][0]))[0]
        if len(body["messages"]) == 1:
            theirs = [it["name"] for it in body["tools"] if it["name"].endswith("__find_text")]
            if theirs:
                return anthropic_stream({"query": name}, tool=theirs[0])
            return anthropic_stream({"command": f"grep -rn {name} ."}, tool="shell")
        shown = json.dumps(body["messages"][-1])
        found = re.search(rf"(part_\d\.py):(\d+): *return {name}", shown)
        if found is None:
            return anthropic_stream("No function calls it.")
        place = f"{found[1]}:{int(found[2]) - 1}"
        return anthropic_stream(f"`first_{name[-1]}` (`{place}`) calls it.")

    def first_requests(self) -> dict[str, set[str]]:
        """Prompt -> all that was sent with it, before any tool had answered."""
        found = defaultdict(set)
        for body in self.asked:
            if len(body["messages"]) == 1:
                found[json.dumps(body["messages"])].add(json.dumps(body, sort_keys=True))
        return found


@contextmanager
def reading() -> Iterator[Reader]:
    reader = Reader()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Nothing."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for event in reader.reply(body):
                self.wfile.write(event)

    with serving(Handler) as url:
        reader.url = url
        yield reader


@pytest.fixture
def made(tmp_path: Path, engine: docker.DockerClient) -> Iterator[Checkout]:
    checkout = make(tmp_path / "checkout")
    pinned = commit(tmp_path / "parts", FILES)
    questions = {
        "title": "Parts",
        "repository": {"kind": "git", "url": f"file://{tmp_path}/parts", "commit": pinned},
        "licence": "MIT",
        "language": "python",
        "seed": 1,
        "budget": {"tokens": 40000, "wall_sec": 3600, "actions": 60},
        "questions": [question(at) for at in range(QUESTIONS)],
    }
    checkout.write("scenarios/exact/parts/questions.yaml", questions)
    locked = checkout.said("lock")
    assert locked.returncode == 0, locked.stderr
    with without_volumes(engine, checkout.root / ".fairtrial"):
        yield checkout
    checkout.remove_images(engine)


def question(at: int) -> dict[str, Any]:
    path = f"part_{at}.py"
    return {
        "name": f"callers-of-use-{at}",
        "prompt": f"Which functions call `use_{at}`?",
        "key": {
            "kind": "callers",
            "places": [{"path": path, "line": 5, "symbol": f"first_{at}"}],
            "optional": [{"path": path, "line": 1, "end": 2, "symbol": f"use_{at}"}],
        },
    }


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """Versions of one server, asked by one provider: at another address it is another model."""

    made: Checkout
    top: Path
    base: Path
    reader: Reader

    def __call__(self, head: Path, questions: int, code: int) -> tuple[VersionComparison, str]:
        """Of the first questions, two at least: one alone stands for all of its repository."""
        out = self.top / f"out-{head.parent.name}-{questions}"
        words = ["--only", "model", "--model", MODEL, "--max-dollars", "5", "--out", str(out)]
        for at in range(questions):
            words += ["--scenario", f"parts.callers-of-use-{at}"]
        environment = {"ANTHROPIC_API_KEY": "sk-0123", "ANTHROPIC_BASE_URL": self.reader.url}
        self.reader.asked.clear()
        done = self.made.said("compare", *words, str(self.base), str(head), **environment)
        assert done.returncode == code, done.stderr
        found = VersionComparison.model_validate_json((out / "compare.json").read_text("utf-8"))
        return found, (out / "compare.md").read_text("utf-8").replace("\\", "")


def test_a_model_is_asked_of_both_in_the_same_blocks_and_of_the_base_once(
    made: Checkout, tmp_path: Path
) -> None:
    alike = folder(tmp_path / "alike", ("SHIFT = 0", "SHIFT = 0  # reworded"))
    hides = 'if wanted["query"] in text and "return" not in text'
    worse = folder(tmp_path / "worse", ('if wanted["query"] in text', hides))
    with reading() as reader:
        base = folder(tmp_path / "base")
        compared = Comparing(made=made, top=tmp_path, base=base, reader=reader)

        found, _ = compared(alike, QUESTIONS, code=0)
        assert found.verdict == "no_regression"
        assert [it.says for it in found.paired] == ["equivalent"]
        assert [(it.base, it.head, it.shell) for it in found.answers] == [(1, 1, 1)] * QUESTIONS
        assert (found.base.reused, len(reader.asked)) == (0, 2 * 3 * QUESTIONS)
        # The shell's, and one that both versions share: nothing in it tells which of them it is.
        assert [len(it) for it in reader.first_requests().values()] == [2] * QUESTIONS
        offered = {tool["name"] for body in reader.asked for tool in body["tools"]}
        names = ("find_text", "list_files", "read_file")
        assert offered == {"shell", *(f"mcp__ledger__{it}" for it in names)}
        require_shared_blocks(made)

        found, page = compared(worse, QUESTIONS, code=1)
        assert found.verdict == "regression"
        assert [it.name for it in found.changes if it.stops] == [f"model:worse:{MODEL}"]
        assert [(it.base, it.head, it.shell) for it in found.answers] == [(1, 0, 1)] * QUESTIONS
        assert (found.base.reused, len(reader.asked)) == (2 * QUESTIONS, 2 * QUESTIONS)
        assert f"{2 * QUESTIONS} cells of the base and the shell were kept" in page

        found, page = compared(worse, 2, code=5)
        assert found.verdict == "too_few"
        assert "about 3 more would" in found.sentence
        assert found.sentence in page


def require_shared_blocks(made: Checkout) -> None:
    """Each question is asked of all three arms one after another, in an order that was drawn."""
    (path,) = (made.root / ".fairtrial/compare").glob("*/runs/*/plan.json")
    blocks = json.loads(path.read_text("utf-8"))["study"]["blocks"]
    assert len(blocks) == QUESTIONS
    arms = {frozenset(it["order"]) for it in blocks}
    assert len(arms) == 1
    assert len(*arms) == 3
