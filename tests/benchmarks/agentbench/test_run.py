"""`fairtrial agentbench run` from end to end, on real servers in real cells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from llmock.pytest_plugin import LLMock

from runner.benchmarks.agentbench import query_run
from runner.benchmarks.agentbench.query_benchmark import SERVERS, ServersOfCell
from runner.benchmarks.agentbench.query_run import QueryRunSetup, read_setup
from runner.benchmarks.estimate import Estimate
from runner.cli.main import main
from runner.records import Event, Note, Prose, ToolCall, ToolResult, parse_json
from runner.records.run_store import LoadedCell, RunStore
from runner.records.transcript_files import read_transcript
from tests.benchmarks.agentbench.desk import make_with, remove_volumes
from tests.benchmarks.agentbench.servers import spec, with_tools
from tests.benchmarks.conversations import asks, claude, no_keys, of
from tests.checkout import Checkout, ended

__all__ = ["claude", "no_keys"]
pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("no_keys")]
ADD = "given = asked['params']['arguments']; text('the sum is %g' % (given['a'] + given['b']))"
NUMBERS = "tool('add_numbers', properties={'a': NUMBER, 'b': NUMBER}, required=['a', 'b'])"
LIST = f"NUMBER = dict(type='number'); result({{'tools': [tool('echo'), {NUMBERS}]}})"
TILL = {"tools/list": LIST, "add_numbers": ADD}
DIES = {**with_tools("fall"), "fall": "os._exit(3)"}
TESTBED = {
    "till": spec("till", TILL),
    "frail": spec("frail", DIES),
    "many": spec("many", with_tools(*(f"t{number}" for number in range(99)))),
    "huge": spec("huge", with_tools(*(f"t{number}" for number in range(299)))),
    "mute": spec("mute", {"initialize": "pass"}, initialize_timeout_sec=2),
}


def query(name: str, category: str, server: str, asked: str) -> dict[str, Any]:
    return {
        "id": name,
        "category": category,
        "query": asked,
        "servers": [server],
        "reference_answer": "It is 4.",
        "values": [{"text": "4", "call": 1}],
        "calls": [{"server": server, "tool": "add_numbers", "result": "the sum is 4"}],
        "provenance": "written by hand for a test",
    }


ALONE, AMONG = "single-server-single-call", "multi-server-single-call"
SUM = query("sum", ALONE, "till", "I have 3 coins, and 1 more: add these numbers for me.")
QUERIES = [
    SUM,
    query("sum-among", AMONG, "till", "I have 3 coins, and 1 more: add these numbers for me."),
    query("fall", ALONE, "frail", "Let it fall."),
    query("too-many", ALONE, "huge", "Whatever it is."),
    query("silent", ALONE, "mute", "Say a word."),
]


@pytest.fixture(scope="module")
def checkout(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, base_image: str
) -> Iterator[Checkout]:
    made = make_with(TESTBED, tmp_path_factory.mktemp("agentbench"))
    made.write("queries.yaml", {"queries": QUERIES})
    yield made
    remove_volumes(engine, TESTBED)


def run(checkout: Checkout, *arguments: object) -> int:
    suite = checkout.root / "queries.yaml"
    return ended("--root", checkout.root, "agentbench", "run", "--suite", suite, *arguments)


def store_of(checkout: Checkout, name: str) -> RunStore:
    return RunStore(checkout.run_folder(name))


def cell_of(checkout: Checkout, name: str, asked: str) -> LoadedCell:
    (found,) = [c for c in store_of(checkout, name).load().cells if c.cell.scenario == asked]
    return found


def attempt_of(checkout: Checkout, name: str, asked: str) -> Path:
    store = store_of(checkout, name)
    attempt = store.counted_attempt(cell_of(checkout, name, asked).cell.id)
    assert attempt is not None
    return attempt.path


def events_of(checkout: Checkout, name: str, asked: str) -> list[Event]:
    return list(read_transcript(attempt_of(checkout, name, asked) / "transcript.jsonl"))


def setup_of(checkout: Checkout, name: str) -> QueryRunSetup:
    return read_setup(store_of(checkout, name))


ASKED = ("--id", "sum", "--id", "sum-among")


# --- offline ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def drawn(checkout: Checkout) -> str:
    """A finished run of two queries, that several tests look at."""
    assert run(checkout, *ASKED, "--run", "drawn", "--seed", 5) == 0
    return "drawn"


def test_the_offline_model_asks_real_servers_and_answers(drawn: str, checkout: Checkout) -> None:
    assert run(checkout, *ASKED, "--mode", "react", "--run", "reacts-offline") == 0

    for name in (drawn, "reacts-offline"):
        for asked in ("sum", "sum-among"):
            events = events_of(checkout, name, asked)
            (call,) = of(ToolCall, events)
            assert (call.tool, call.origin) == ("till__add_numbers", "server")
            assert of(Prose, events)[-1].text == "the sum is 4"


@pytest.mark.usefixtures("drawn")
def test_what_was_drawn_is_in_the_plan_the_result_and_the_evidence(checkout: Checkout) -> None:
    setup = setup_of(checkout, "drawn")
    assert setup.drawn["sum"] == ("till",)
    # 2 of the till's own and 100; the 300 and the one that is silent are never drawn.
    assert sorted(setup.drawn["sum-among"]) == ["frail", "many", "till"]
    assert setup.tools == {"till": 2, "frail": 2, "many": 100, "huge": 300}
    found = cell_of(checkout, "drawn", "sum-among")
    assert found.cell.inputs["servers"] == " ".join(setup.drawn["sum-among"])
    assert found.cell.inputs["seed"] == "5"
    assert len(found.cell.inputs["confinement"]) == 64
    assert found.result is not None
    assert found.result.cell.inputs == found.cell.inputs
    path = attempt_of(checkout, "drawn", "sum-among") / SERVERS
    about = parse_json(path.read_bytes(), ServersOfCell, where=str(path))
    assert (len(about.tools), about.own, about.gone) == (104, ("till",), {})


def test_runs_of_other_names_models_and_modes_are_asked_with_the_same_servers(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []

    def estimated(_: Checkout, __: object, ___: str, seed: int, **____: object) -> Estimate:
        seeds.append(seed)
        return Estimate(models=(), prices_date="", notes=())

    monkeypatch.setattr(query_run, "estimate_queries", estimated)
    for other in (("--run", "a"), ("--run", "b"), ("--mode", "react"), ("--trials", 2)):
        assert run(checkout, *ASKED, "--dry-run", *other) == 0

    assert seeds == [0] * 4


def test_a_query_that_cannot_be_asked_is_left_out_with_its_reason(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(checkout, "--id", "sum", "--id", "too-many", "--id", "silent", "--run", "left") == 0
    told = capsys.readouterr().err
    assert "left out: too-many: its servers have 300 tools, and 128 are the most" in told
    assert "left out: silent: mute does not start: the server did not initialise in 2 s" in told
    assert len(store_of(checkout, "left").load().cells) == 1


def test_the_same_command_resumes_and_measures_nothing_twice(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("--id", "sum", "--mode", "react")
    assert run(checkout, *command) == 0
    assert run(checkout, *command) == 0
    assert "1 of 1 cells are finished and kept" in capsys.readouterr().err
    (folder,) = (checkout.root / "runs").glob("agentbench-*")
    assert len(list(folder.glob("cells/*/attempt-*"))) == 1


def test_another_mode_or_seed_is_not_mixed_into_a_run_that_is_there(
    checkout: Checkout, drawn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(checkout, *ASKED, "--run", drawn, "--seed", 6) == 1
    assert run(checkout, *ASKED, "--run", drawn, "--seed", 5, "--mode", "react") == 1
    assert capsys.readouterr().err.count("planned with different inputs") == 2


def test_filters_choose_and_what_is_unknown_is_told_with_what_there_is(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    for chosen, count in (
        (("--category", AMONG), "1 queries on 1 servers"),
        (("--server", "frail"), "1 queries on 1 servers"),
        (("-n", 2), "2 queries on 1 servers"),
        ((), "5 queries on 4 servers"),
    ):
        assert run(checkout, *chosen, "--list") == 0
        assert capsys.readouterr().out.splitlines()[-1] == count
    for unknown, known in (
        (("--category", "double"), ALONE),
        (("--server", "many"), "frail, huge, mute, till"),
        (("--id", "summ"), "sum-among"),
    ):
        assert run(checkout, *unknown) == 1
        assert known in capsys.readouterr().err


@pytest.mark.usefixtures("drawn")
def test_a_dry_run_installs_nothing_and_says_what_it_does_not_know(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    capsys.readouterr()
    assert run(checkout, *ASKED, "--dry-run", "--model", "claude-sonnet-4-5") == 0
    shown = capsys.readouterr().out
    assert "claude-sonnet-4-5, 2 cells" in shown
    assert "not installed yet, and in no figure: mute" in shown


@pytest.mark.parametrize("option", [("--agent", "react"), ("--pass-at", "0.5")])
def test_what_means_nothing_for_queries_is_refused_and_not_ignored(
    option: tuple[str, str], checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(checkout, *option) == 1
    assert "--mode" in capsys.readouterr().err


def test_other_verbs_send_the_user_to_this_one(
    checkout: Checkout, drawn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("score", "report", "judge"):
        with pytest.raises(SystemExit):
            main(["--root", str(checkout.root), verb, drawn])
        assert "`fairtrial agentbench report drawn` shows it" in capsys.readouterr().err


# --- a provider ---------------------------------------------------------------------------------


CLAUDE = ("--model", "claude-test")


def test_claude_calls_natively_and_reads_what_the_server_answers(
    checkout: Checkout, claude: LLMock
) -> None:
    asks(claude, ("till__add_numbers", {"a": 2, "b": 2}))
    claude.reply("You have 4 coins.")

    assert run(checkout, "--id", "sum-among", *CLAUDE, "--run", "claude") == 0

    events = events_of(checkout, "claude", "sum-among")
    assert of(ToolResult, events)[0].text == "the sum is 4"
    assert of(Prose, events)[-1].text == "You have 4 coins."
    sent = claude.requests[0].body
    assert len(sent["tools"]) == 104
    assert (sent["max_tokens"], sent["thinking"]["budget_tokens"]) == (16_384, 8192)


def test_claude_reacts_in_tagged_text_with_no_tool_in_the_request(
    checkout: Checkout, claude: LLMock
) -> None:
    call = [{"name": "till__add_numbers", "arguments": {"a": 2, "b": 2}}]
    claude.reply(
        f"<reasoning>I add.</reasoning><tool_calls>{json.dumps(call)}</tool_calls><answer></answer>"
    )
    claude.reply("<reasoning>Done.</reasoning><tool_calls>[]</tool_calls><answer>4.</answer>")

    assert run(checkout, "--id", "sum", "--mode", "react", *CLAUDE, "--run", "reacts") == 0

    events = events_of(checkout, "reacts", "sum")
    assert of(ToolResult, events)[0].text == "the sum is 4"
    assert of(Prose, events)[-1].text == "4."
    assert not claude.requests[0].body.get("tools")
    (history,) = claude.requests[1].body["messages"][0]["content"]
    assert history["text"].endswith("Observation:\nthe sum is 4")


def test_a_server_of_the_querys_own_that_dies_for_good_is_the_outcome(
    checkout: Checkout, claude: LLMock
) -> None:
    for _ in range(2):
        asks(claude, ("frail__fall", {}))

    assert run(checkout, "--id", "fall", *CLAUDE, "--run", "crash") == 0

    found = cell_of(checkout, "crash", "fall")
    assert found.result is not None
    assert found.result.outcome.kind == "server_crashed"
    assert found.result.outcome.reason.startswith("frail: it ended a second time")
    (first,) = of(ToolResult, events_of(checkout, "crash", "fall"))
    assert "frail was started again, and this call was not made a second time" in first.text


def test_a_drawn_server_that_dies_for_good_is_a_note_and_the_query_goes_on(
    checkout: Checkout, claude: LLMock
) -> None:
    for _ in range(3):
        asks(claude, ("frail__fall", {}))
    asks(claude, ("till__add_numbers", {"a": 2, "b": 2}))
    claude.reply("4, in spite of it all.")

    assert run(checkout, "--id", "sum-among", *CLAUDE, "--run", "beside") == 0

    found = cell_of(checkout, "beside", "sum-among")
    assert found.result is not None
    assert found.result.outcome.kind == "answered"
    events = events_of(checkout, "beside", "sum-among")
    notes = [note.text for note in of(Note, events) if note.text.startswith("frail")]
    assert [note.partition(":")[0] for note in notes] == [
        "frail ended, and is started again",
        "frail is gone",
    ]
    assert of(ToolResult, events)[-1].text == "the sum is 4"
    path = attempt_of(checkout, "beside", "sum-among") / SERVERS
    assert set(parse_json(path.read_bytes(), ServersOfCell, where="").gone) == {"frail"}


def test_a_cap_ends_the_run_where_it_is(
    checkout: Checkout, claude: LLMock, capsys: pytest.CaptureFixture[str]
) -> None:
    price = {"input": 1000, "output": 1000, "cache_read": 0, "cache_write": 0}
    prices = {"date": "2026-01-01", "models": {"anthropic:claude-test": price}}
    checkout.write("prices.yaml", prices)
    for _ in range(3):
        asks(claude, ("till__add_numbers", {"a": 2, "b": 2}))
    capped = ("--prices", checkout.root / "prices.yaml", "--max-dollars", "0.01")

    assert run(checkout, *ASKED, *CLAUDE, *capped, "--run", "capped") == 1

    assert "the run has spent what it may" in capsys.readouterr().err
    kinds = [
        cell.result.outcome.kind
        for cell in store_of(checkout, "capped").load().cells
        if cell.result is not None
    ]
    assert kinds == ["cancelled"]
