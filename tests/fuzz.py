# ruff: noqa: T201 - it prints what it finds
"""Mutated files for every importer and reader: whatever a file holds, only our own errors come out.

`python -m tests.fuzz [INPUTS] [SEED]` (`just fuzz`); tests/test_fuzz.py does a few of each.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from runner.agents.models.offline.rows import rows_in
from runner.agents.models.replay import Replay
from runner.agents.models.replay import remarks as replay_remarks
from runner.catalog.catalog import load_catalog
from runner.catalog.locks import address_problems, read_repos_lock
from runner.gate.calibration_data import read_gold
from runner.gate.chain import read_chain
from runner.grounding.extract import extract
from runner.grounding.verify import ground
from runner.records import Cell, Plan, Scorecard
from runner.records.run_store import RunStore
from runner.records.transcript_files import TranscriptWriter, iter_transcript, split
from runner.report.citation_text import ground_file
from runner.runs.importing.imported_cell import ImportedTranscript, read_session
from runner.runs.importing.texts import read_answer_file
from runner.sandbox.base_image import RECIPE, check_images_lock
from runner.sandbox.image_names import read_images
from runner.scoring.adoption import runs_search
from runner.scoring.judges import open_judge
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.scoring.keywords import passes
from runner.support.errors import FairtrialError
from tests.checkout import REFERENCE, ROOT, RUBRIC, server
from tests.checkout import scenario as small_scenario
from tests.grounding.test_extract import INDEX
from tests.importers.test_claude_code import INIT, asked, result, said
from tests.report.loaded import small_run
from tests.scoring import material

Mutation = Callable[[bytes, random.Random], bytes]

DEEP = 3000
"""Levels of nesting, three times what Python's own recursion takes."""
RAW_VALUES = (
    *("null", "true", "0", "-1", "1.5", "NaN", "Infinity", "-0", "1e999", "9" * 400, "9" * 5000),
    *('""', '"text"', '"\\ud800"', '"\\u0000"', '"2026-13-45"', "[]", "{}", "[null]", '["x"]'),
    *('[["x"]]', '{"x": null}', '{"type": "text"}', '{"type": "text", "text": 5}', "[[], {}]"),
    "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP + "1" + "}" * DEEP,
)
"""What takes a value's place, as JSON text: some of it no Python value could be written as."""
_YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLACE = '"@the value goes here@"'


# --- mutations ------------------------------------------------------------------------------


def _flip(data: bytes, dice: random.Random) -> bytes:
    mutated = bytearray(data)
    for _ in range(dice.randint(1, 8)):
        if mutated:
            mutated[dice.randrange(len(mutated))] = dice.randrange(256)
    return bytes(mutated)


def _truncate(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randint(0, len(data))]


def _cut_out(data: bytes, dice: random.Random) -> bytes:
    begin = dice.randint(0, len(data))
    return data[:begin] + data[begin + dice.randint(1, 200) :]


def _repeat(data: bytes, dice: random.Random) -> bytes:
    begin = dice.randint(0, len(data))
    piece = data[begin : begin + dice.randint(1, 60)]
    return data[:begin] + piece * dice.randint(2, 40) + data[begin:]


def _insert(data: bytes, dice: random.Random) -> bytes:
    pieces = (
        b"\0",
        b"\xed\xa0\x80",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\\ud800",
        b"\r",
        b"\x1c",
        b"`",
        b"{",
    )
    at = dice.randint(0, len(data))
    return data[:at] + dice.choice(pieces) + data[at:]


def _encode(data: bytes, dice: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    marked, crlf = b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r\n")
    utf16 = text.encode("utf-16", "surrogatepass")
    return dice.choice((b"", b"\n", marked, crlf, utf16, text.encode("utf-32", "surrogatepass")))


def _swap(data: bytes, dice: random.Random) -> bytes:
    """Another type for one value of the document, or of one of its lines."""
    return _edited(data, dice, lambda old: dice.choice(RAW_VALUES))


def _repeat_key(data: bytes, dice: random.Random) -> bytes:
    """A key given twice, with two values."""
    return _edited(data, dice, lambda old: f'{json.dumps(old)}, "KEY": {dice.choice(RAW_VALUES)}')


MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _truncate, _cut_out, _repeat, _insert, _encode),
    *(_swap, _swap, _swap, _swap, _repeat_key),
)


def mutated(seed: bytes, dice: random.Random) -> bytes:
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        seed = dice.choice(MUTATIONS)(seed, dice)
    return seed


def _edited(data: bytes, dice: random.Random, value: Callable[[Any], str]) -> bytes:
    """One value of the JSON or YAML written anew; bytes that are neither stay as they are."""
    lines = data.split(b"\n")
    at = dice.randrange(len(lines))
    is_a_line = lines[at].startswith(b"{") and len(lines) > 1
    document = _parsed(lines[at] if is_a_line else data)
    if not isinstance(document, dict | list):
        return data
    edited = _with_value(document, dice, value)
    if not is_a_line:
        return edited
    return b"\n".join([*lines[:at], edited, *lines[at + 1 :]])


def _parsed(data: bytes) -> Any:
    """JSON or YAML as plain values; None if it is neither."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return json.loads(_yaml_as_json(data))


@functools.lru_cache(maxsize=64)
def _yaml_as_json(data: bytes) -> str:
    try:
        found = yaml.load(data, Loader=_YAML_LOADER)
        if isinstance(found, dict | list):
            return json.dumps(found)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, AttributeError):
        pass
    return "null"


def _with_value(document: Any, dice: random.Random, value: Callable[[Any], str]) -> bytes:
    places = list(_places(document))
    if not places:
        return dice.choice(RAW_VALUES).encode()
    holder, key = dice.choice(places)
    old = holder[key]
    new = value(old).replace('"KEY"', json.dumps(key) if isinstance(key, str) else '"KEY"')
    holder[key] = json.loads(_PLACE)
    return json.dumps(document).replace(_PLACE, new).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every holder and key of a document, outermost first."""
    held: list[Any] = [value]
    while held:
        holder = held.pop()
        if isinstance(holder, dict | list):
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            for key in keys:
                yield holder, key
                held.append(holder[key])


# --- readers --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Something that reads what anybody may have written."""

    seeds: tuple[bytes, ...]
    """Whole and right: what is mutated."""
    read: Callable[[bytes], object]


def readers(folder: Path) -> dict[str, Reader]:
    """Every importer and reader, with files of its own below `folder`."""
    return {
        **_of_transcripts(folder / "transcripts"),
        **_of_a_run(folder / "run"),
        **_of_a_checkout(folder / "checkout"),
        **_of_texts(folder / "texts"),
    }


def _file_reader(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    path.parent.mkdir(parents=True, exist_ok=True)

    def written(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return written


def _jsonl(*lines: Any) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _of_transcripts(folder: Path) -> dict[str, Reader]:
    use = {"type": "tool_use", "id": "t1", "name": "mcp__x__find", "input": {"name": "a.py:9"}}
    back = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "1"}]}
    thought = {"type": "thinking", "thinking": "hm"}
    message = {"id": "m0", "role": "assistant", "content": [thought, use]}
    foreign = [
        INIT,
        asked("one?"),
        {"type": "assistant", "session_id": "s", "message": message},
        {"type": "user", "session_id": "s", "message": {"role": "user", "content": [back]}},
        said("see src/app.py:42 and `foo` (12)"),
        result("done", stop_reason="end_turn"),
        asked("two?"),
        said("src/app.py:1", "m2", isSidechain=False),
        result("cut", is_error=True),
    ]
    claude = (_jsonl(*foreign), json.dumps(foreign, indent=1).encode())
    ours = (_our_transcript(),)

    def halves(path: Path) -> object:
        return split(iter_transcript(path), material.SCENARIO)

    def imported(data: bytes) -> object:
        recording = ImportedTranscript(data=data, file="i.json", server="x", mounted="x")
        events = read_session(recording, material.SCENARIO).events
        with TranscriptWriter(folder / "i.jsonl") as writer:
            for event in events:
                writer.write(event)
        written = halves(folder / "i.jsonl")
        (folder / "i.jsonl").unlink()
        return written

    def grounded(path: Path) -> object:
        return ground_file(path, material.TREE)

    return {
        "imported cell": Reader(seeds=claude, read=imported),
        "text of any file": Reader(
            seeds=(*claude, *ours), read=_file_reader(folder / "a.txt", read_answer_file)
        ),
        "ground": Reader(
            seeds=(*claude, *ours, *_answers()), read=_file_reader(folder / "g.md", grounded)
        ),
        "transcript": Reader(seeds=ours, read=_file_reader(folder / "t.jsonl", halves)),
        "recording": Reader(
            seeds=ours, read=_file_reader(folder / "r.jsonl", lambda path: Replay(str(path)))
        ),
        "differences": Reader(
            seeds=(b'{"compared": 2, "differences": []}',),
            read=_file_reader(
                folder / "differences.json", lambda path: list(replay_remarks(path.parent))
            ),
        ),
    }


def _our_transcript() -> bytes:
    place = {"step": 0, "turn": 0}
    call = {"call_id": "c", "origin": "shell", "tool": "shell", "arguments": {"command": "rg x"}}
    answered = {
        "call_id": "c",
        "text": "a.py:1:x",
        "is_error": False,
        "size_chars": 8,
        "digest": "0" * 64,
        "truncated": False,
        "wall_sec": 0.5,
    }
    usage = {"input_tokens": 1, "output_tokens": 2, "wall_sec": 0.1}
    return _jsonl(
        {"type": "system", "text": "s"},
        {"type": "prompt", "step": 0, "text": "?"},
        {"type": "tool_call", **place, **call},
        {"type": "tool_result", **place, **answered},
        {"type": "thinking", **place, "text": "hm"},
        {"type": "prose", **place, "text": material.GOOD[0]},
        {"type": "usage", **place, **usage},
        {"type": "step_end", "step": 0, "stop": "end"},
        {"type": "note", "text": "n"},
    )


def _plan_of_one(plan: Plan, cell: Cell) -> Plan:
    """The plan with this cell alone, and its block."""
    assert plan.study is not None
    block = next(block for block in plan.study.blocks if block.key == cell.block)
    alone = block.model_copy(update={"order": (cell.server,)})
    study = plan.study.model_copy(update={"blocks": (alone,)})
    return plan.model_copy(update={"cells": (cell,), "study": study})


def _of_a_run(folder: Path) -> dict[str, Reader]:
    run = small_run()
    cell = next(item for item in run.cells if item.scorecard and item.result)
    store = RunStore(folder)
    store.write_plan(_plan_of_one(run.plan, cell.cell))
    attempt = store.begin(cell.cell)
    assert cell.result is not None and cell.scorecard is not None
    kept = store.finish(attempt, cell.result) / "result.json"
    store.write_scorecard(cell.scorecard)
    card = store.cell_folder(cell.cell.id) / "scorecard.json"
    plan = folder / "plan.json"

    def with_file(path: Path) -> Reader:
        whole = path.read_bytes()

        def read(data: bytes) -> object:
            path.write_bytes(data)
            try:
                return store.load()
            finally:
                path.write_bytes(whole)

        return Reader(seeds=(whole,), read=read)

    assert Scorecard.model_validate_json(card.read_bytes()) == cell.scorecard
    return {"plan": with_file(plan), "result": with_file(kept), "scorecard": with_file(card)}


def _of_a_checkout(root: Path) -> dict[str, Reader]:
    for name in (*RECIPE, "locks/images.lock", "locks/repos.lock"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    small = root / "scenarios/core/small"
    files = {
        small / "scenario.yaml": small_scenario("file:///nowhere", "1" * 40),
        small / "rubric.yaml": RUBRIC,
        small / "reference/1.md": REFERENCE,
        root / "images/servers/good/server.yaml": server("good", "good"),
        root / "images/servers/good/requirements.txt": "x==1 --hash=sha256:0\n",
        root / "images/servers/npm/package.json": "{}",
        root / "images/servers/npm/package-lock.json": '{"packages": {"a": {"version": "1"}}}',
        root / ".fairtrial/images.json": '{"fairtrial/base:1": "sha256:0"}',
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
        path.write_text(text)

    def with_file(name: str, read: Callable[[], object]) -> Reader:
        path = root / name
        whole = path.read_bytes()

        def read_mutated(data: bytes) -> object:
            path.write_bytes(data)
            try:
                return read()
            finally:
                path.write_bytes(whole)

        return Reader(seeds=(whole,), read=read_mutated)

    def scenario() -> object:
        return load_catalog(root).scenarios["small"]

    def good() -> object:
        return load_catalog(root).servers["good"]

    def addresses() -> object:
        return list(address_problems(root))

    def generation(data: bytes) -> object:
        chain = root / "chain/locks"
        (chain / "anchors").mkdir(parents=True, exist_ok=True)
        (chain / "anchors.lock").write_bytes(data)
        (chain / "anchors/1.lock").write_bytes(data)
        return read_chain(root / "chain")

    def gold(path: Path) -> object:
        return read_gold(path, "gold_scores.json")

    golds = tuple(
        path.read_bytes() for path in sorted(ROOT.glob("scenarios/held-out/*/gold_scores.json"))
    )
    return {
        "scenario": with_file("scenarios/core/small/scenario.yaml", scenario),
        "rubric": with_file("scenarios/core/small/rubric.yaml", scenario),
        "reference": with_file("scenarios/core/small/reference/1.md", scenario),
        "server": with_file("images/servers/good/server.yaml", good),
        "server's packages": with_file("images/servers/good/requirements.txt", good),
        "addresses": with_file("images/servers/good/requirements.txt", addresses),
        "npm's addresses": with_file("images/servers/npm/package-lock.json", addresses),
        "images lock": with_file("locks/images.lock", lambda: check_images_lock(root)),
        "repos lock": with_file("locks/repos.lock", lambda: read_repos_lock(root)),
        "recipe": with_file("locks/node.txt", lambda: check_images_lock(root)),
        "images in use": with_file(
            ".fairtrial/images.json", lambda: read_images(root / ".fairtrial")
        ),
        "anchors lock": Reader(
            seeds=((ROOT / "locks/anchors/1.lock").read_bytes(),), read=generation
        ),
        "grades": Reader(seeds=golds[:1], read=_file_reader(root / "gold.json", gold)),
    }


def _answers() -> tuple[bytes, ...]:
    """In prose, tables, fences and JSON."""
    table = "| symbol | file | line |\n|---|---|---|\n| `open_shop` | src/app.py | 42 |\n"
    prose = (
        "# `src/app.py`\n- 42: `foo` (12), [x](src/app.py#L1)\n\n```json\n"
        '{"file": "src/app.py", "line": 3}\n```\nhttps://github.com/o/n/blob/main/src/app.py#L4\n'
    )
    value = [
        {"file": "src/app.py", "lines": [1, "2-4", {"start": 3, "end": 5}], "symbol": "Shop.open"},
        {"path": "shop/queue.py", "line": 11, "why": "`deliver` at shop/queue.py:11-17"},
    ]
    as_json = json.dumps({"findings": value, "src/app.py": [42, 51]})
    return tuple(text.encode() for text in (*material.GOOD, table, prose, as_json))


def _of_texts(folder: Path) -> dict[str, Reader]:
    judge = open_judge(JudgeSettings())
    places = [step.must_cite for step in material.SCENARIO.steps]
    checks = [check for step in material.SCENARIO.steps for check in step.checks]

    def text_reader(read: Callable[[str], object], *seeds: bytes) -> Reader:
        return Reader(
            seeds=seeds or _answers(), read=lambda data: read(data.decode("utf-8", "replace"))
        )

    def judged(text: str) -> object:
        return judge.judge(material.RUBRIC, material.answer(text, text[:40]).steps, places)

    rows = b"src/a.py:3:def f\n## src/b.py\n 12: x\n"
    located = b'{"file": "src/a.py", "line": 3, "text": "x", "src/b.py": [{"line": 4}]}'
    command = b"git -C x grep y | bash -lc 'rg z' && cat <<EOF > f\nrg\nEOF\n$(rg -l q)"
    return {
        "extraction": text_reader(lambda text: extract(text, INDEX)),
        "grounding": text_reader(lambda text: ground(text, material.TREE)),
        "judge": text_reader(judged),
        "keywords": text_reader(lambda text: [passes(check, text, 1) for check in checks]),
        "rows": text_reader(rows_in, rows, located),
        "command lines": text_reader(runs_search, command),
    }


# --- the hunt -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Fault:
    """An exception that is none of ours, and the input that raised it."""

    reader: str
    data: bytes
    trace: str

    @property
    def site(self) -> str:
        """Where it was raised: the last line of our own code, and what it was."""
        lines = [line.strip() for line in self.trace.splitlines()]
        ours = [line for line in lines if "/runner/" in line]
        where = ours[-1].partition("/runner/")[2] if ours else "outside of ours"
        return f"{lines[-1].partition(':')[0]} in {where}"


def faults(reader: str, of: Reader, *, inputs: int, seed: int) -> Iterator[Fault]:
    dice = random.Random(f"{seed} {reader}")
    for _ in range(inputs):
        data = mutated(dice.choice(of.seeds), dice)
        try:
            of.read(data)
        except FairtrialError:
            continue
        except Exception:
            yield Fault(reader=reader, data=data, trace=traceback.format_exc())


def main(inputs: int, seed: int) -> int:
    """Print a line for each reader; returns the number of faults."""
    total = 0
    with tempfile.TemporaryDirectory() as scratch:
        every = readers(Path(scratch))
        share = -(-inputs // len(every))
        for name, reader in every.items():
            started = time.monotonic()
            found = list(faults(name, reader, inputs=share, seed=seed))
            spent = time.monotonic() - started
            print(
                f"{name:20} {share:7,} inputs  {len(found):6,} faults  {spent:6.1f} s", flush=True
            )
            for site, count in Counter(fault.site for fault in found).most_common():
                print(f"    {count:6,}  {site}", flush=True)
            total += len(found)
    print(f"{share * len(every):,} inputs, seed {seed}: {total:,} exceptions that are not ours")
    return total


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]] + [100_000, 0][len(sys.argv) - 1 :]
    sys.exit(1 if main(*given) else 0)
