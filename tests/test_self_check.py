"""A server, its twin and its liar: a run that says whether the figures can be believed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import docker
import pytest

from runner.catalog.asked_arms import split_arm
from runner.records import (
    ArmServer,
    Cell,
    Event,
    Note,
    ToolCall,
    ToolResult,
    is_candidate,
    parse_json,
    server_of,
)
from runner.records.run_store import RunStore
from runner.records.transcript_files import read_transcript
from runner.support.errors import FairtrialError
from tests.checkout import SESSION, Checkout, make
from tests.tiny_server import SOURCE

ARMS = ("tiny", "tiny+twin", "tiny+20")
ASKED = ("--server", "tiny", "--server", "tiny", "--server", "tiny+20")

# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "a+twin", "a+twin3", "a+20", "a+-20", "a+500+twin"])
def test_an_arms_name_says_what_it_is_of_and_is_written_the_same_again(name: str) -> None:
    arm = ArmServer.of(name)
    assert (arm.name, arm.server, server_of(name)) == (name, "a", "a")
    assert Cell(scenario="s", server=name, model="m", trial=1, inputs={}).server == name
    assert is_candidate(name) == (name == "a")


def test_a_server_that_is_called_like_a_liar_is_asked_for_by_its_name() -> None:
    assert split_arm("mcp-20", {"mcp", "mcp-20"}) == ("mcp-20", "")
    assert split_arm("mcp-20", {"mcp"}) == ("mcp", "+-20")
    assert split_arm("mcp-20", {"other"}) == ("mcp-20", "")


@pytest.mark.parametrize("asked", ["a+0", "a-0", "a+501", "a-900", "shell+20", "shell-1"])
def test_an_arm_that_there_cannot_be_is_refused_with_a_hint(asked: str) -> None:
    with pytest.raises(FairtrialError) as refusal:
        split_arm(asked, {"a"})
    assert asked in refusal.value.what
    assert "+20" in refusal.value.hint


def test_a_cell_of_an_earlier_version_keeps_its_id() -> None:
    written = '{"scenario":"s","server":"a","model":"m","trial":1,"inputs":{"server":"x"}}'
    assert parse_json(written, Cell, where="plan").id == "6fd04957f9e58559"


# --- a run --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkout(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, base_image: str
) -> Iterator[Checkout]:
    """With a finished run of a server, its twin and its liar."""
    made = make(tmp_path_factory.mktemp("self-check") / "checkout")
    canary = {
        "repository": "*",
        "call": {"tool": "find", "arguments": {"name": "dispatch_all"}},
        "contains": "app.py:2:",
        "line": 2,
    }
    asks = '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}'
    source = SOURCE.replace('{"type": "object"}', asks).replace("/src/app.py", "/app.py")
    command = ["python3", "{install}/server.py"]
    files = {"server.py": f"# {SESSION}\n{source}"}
    made.add_server("tiny", "", command=command, files=files, canaries=[canary])
    done = said(made, *ASKED)
    assert done == 0
    yield made
    made.remove(engine)


def said(checkout: Checkout, *arguments: str) -> int:
    asked = ("run", "--run", "r", "--scenario", "small", "--ungated", *arguments)
    return checkout.said(*asked).returncode


def attempt(checkout: Checkout, arm: str) -> Path:
    return checkout.attempt("r", arm)


def result(checkout: Checkout, arm: str) -> Any:
    return json.loads((attempt(checkout, arm) / "result.json").read_text())


def events(checkout: Checkout, arm: str) -> Sequence[Event]:
    return read_transcript(attempt(checkout, arm) / "transcript.jsonl")


def server_results(checkout: Checkout, arm: str) -> list[ToolResult]:
    told = events(checkout, arm)
    calls = {it.call_id for it in told if isinstance(it, ToolCall) and it.origin == "server"}
    return [it for it in told if isinstance(it, ToolResult) and it.call_id in calls]


def report(checkout: Checkout) -> Any:
    return json.loads((checkout.run_folder("r") / "report.json").read_text())


def test_a_server_said_twice_is_an_arm_of_its_own_and_one_with_moved_lines_another(
    checkout: Checkout,
) -> None:
    assert checkout.outcomes("r") == {arm: ["answered"] for arm in ("shell", *ARMS)}


def test_the_three_arms_differ_in_nothing_but_the_lines_that_the_model_is_shown(
    checkout: Checkout,
) -> None:
    prints = [result(checkout, arm)["fingerprint"] for arm in ARMS]
    assert [found.pop("server") for found in prints] == list(ARMS)
    assert [found.pop("moved_lines", None) for found in prints] == [None, None, 20]
    assert prints[0] == prints[1] == prints[2]
    inputs = [result(checkout, arm)["cell"]["inputs"] for arm in ARMS]
    assert [found.pop("moved_lines", None) for found in inputs] == [None, None, "20"]
    assert inputs[0] == inputs[1] == inputs[2]
    tools = {it.tool for arm in ARMS for it in events(checkout, arm) if isinstance(it, ToolCall)}
    assert tools <= {"shell", "mcp__tiny__find"}


def test_the_liars_transcript_holds_the_moved_lines_and_says_so(checkout: Checkout) -> None:
    true, again, moved = (server_results(checkout, arm)[0] for arm in ARMS)
    assert true.text == again.text
    assert true.text.startswith("app.py:2: ")
    assert moved.text == true.text.replace("app.py:2:", "app.py:22:").replace(":5:", ":25:")
    assert (true.moved_numbers, moved.moved_numbers) == (None, true.text.count("app.py:"))
    notes = [it.text for it in events(checkout, "tiny+20") if isinstance(it, Note)]
    assert any("every line number in its results moved by +20" in note for note in notes)


def test_the_twins_come_out_alike_and_the_liar_below_them(checkout: Checkout) -> None:
    arms = {arm["server"]: arm for arm in report(checkout)["arms"]}
    true, again, moved = (arms[arm]["grounding"]["headline_rate"] for arm in ARMS)
    assert true == again > moved
    fairness = [arms[arm]["fairness"]["score"]["value"] for arm in ARMS]
    assert fairness[0] == pytest.approx(fairness[1], abs=0.01)
    assert fairness[2] < min(fairness[:2])


def test_the_report_says_what_they_are_and_proposes_neither(checkout: Checkout) -> None:
    found = report(checkout)
    (notice,) = [it for it in found["notices"] if it.startswith("SELF-CHECK")]
    assert "tiny+twin is tiny once more; tiny+20 is tiny with every line number" in notice
    assert "tiny+twin" not in found["question"]
    assert [arm["title"] for arm in found["arms"]][2:] == [
        "tiny once more",
        "tiny with every line number in its results moved by +20",
    ]
    shown = checkout.said("report", "r", "--full", "--ungated")
    assert shown.returncode == 0
    assert "tiny+20" in shown.stdout


def test_the_same_command_goes_on_with_the_cell_that_is_missing(checkout: Checkout) -> None:
    kept = [attempt(checkout, arm) / "result.json" for arm in ARMS[:2]]
    before = [path.read_bytes() for path in kept]
    shutil.rmtree(attempt(checkout, "tiny+20").parent)
    assert said(checkout, *ASKED) == 0
    assert [path.read_bytes() for path in kept] == before
    assert checkout.outcomes("r")["tiny+20"] == ["answered"]


def test_the_reports_own_command_plans_the_same_arms(checkout: Checkout) -> None:
    command = report(checkout)["repeat"]["command"]
    assert "--server tiny --server tiny+twin --server tiny+20" in command
    before = RunStore(checkout.run_folder("r")).plan()
    assert said(checkout, "--server", "tiny", "--server", "tiny+twin", "--server", "tiny+20") == 0
    assert RunStore(checkout.run_folder("r")).plan() == before
