"""`fairtrial toolbench run` from end to end: models, evidence, resume, caps, arms, confusion."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Delay

from runner.benchmarks.toolbench.task_benchmark import cell_name
from runner.benchmarks.toolbench.task_results import RunOfTasks
from runner.records import Note, Plan, Prompt, Prose, ToolCall, ToolResult, Usage
from runner.records.run_store import RunStore
from runner.records.transcript_files import read_transcript
from runner.support.errors import FairtrialError
from tests.benchmarks.conversations import asks, claude, no_keys, of
from tests.benchmarks.toolbench.records import LIST, NEWS, PRICE, RATE, call, record
from tests.checkout import ended
from tests.helpers import PATIENCE_SEC, wait_until
from tests.models.doubles import Events, streaming
from tests.models.tiny_weights import write_weights

TOOLS = [
    PRICE,
    {**RATE, "description": "The price of a currency in another one."},
    {**NEWS, "input_schema": {**NEWS["input_schema"], "required": ["company"]}},
    LIST,
]
RECORDS = [
    record(tools=TOOLS, uuid="price", query="What is the stock price of AAPL?"),
    record(
        call("get_news", {"company": "Apple"}),
        tools=TOOLS,
        uuid="Nachricht/Ä 1",
        query="Show me the news about Apple",
    ),
    record(
        call("get_news", {"company": "Apple"}, output={"headlines": ["up"]}),
        call("list_markets", {}),
        tools=TOOLS,
        uuid="both",
        category="browser",
        query="Get the news about Apple, then list the markets",
    ),
]
__all__ = ["claude", "no_keys"]
SEEN = ("--run", "seen")
OUTPUT = '{"result":{"content":"ok"},"status_code":200}'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, no_keys: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the data in it: no checkout, no key, and no engine is needed."""
    (tmp_path / "data.json").write_text(json.dumps(RECORDS), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    return tmp_path


NAMES = ("whole", "parts")


def run(*arguments: object) -> int:
    return ended("toolbench", "run", "data.json", *arguments)


def rewrite(**changes: Any) -> None:
    """The data has another first record from now on."""
    records = [{**RECORDS[0], **changes}, *RECORDS[1:]]
    Path("data.json").write_text(json.dumps(records), encoding="utf-8")


def report(name: str = "seen") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("runs", name, "report.json").read_text("utf-8"))
    return found


def events(task: str, name: str = "seen", arm: str = "published") -> list[Any]:
    store = RunStore(Path("runs", name))
    (cell,) = [cell for cell in store.plan().cells if (cell.scenario, cell.server) == (task, arm)]
    attempt = store.counted_attempt(cell.id)
    assert attempt is not None
    return list(read_transcript(attempt.transcript))


# --- offline ------------------------------------------------------------------------------------


def test_shards_of_tasks_merge_into_the_report_of_one_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--trials", 2, "--run", "whole") == 0
    for number in (3, 1, 2):
        assert run("--trials", 2, "--run", "parts", "--shard", f"{number}/3") == 0
    assert "makes one run of them" in capsys.readouterr().err
    assert ended("merge", *(f"parts.{number}-of-3" for number in (1, 2, 3))) == 0
    assert ended("toolbench", "report", "parts") == 0
    of_its_own = {"run", "created_at"}
    whole, parts = ({k: v for k, v in report(n).items() if k not in of_its_own} for n in NAMES)
    assert parts == whole


@pytest.mark.parametrize("mode", ["native", "json"])
def test_the_offline_model_answers_every_task_and_ranks_nobody(
    mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--mode", mode, *SEEN) == 0

    shown = capsys.readouterr().out
    assert "ranks nobody" in shown
    assert "Tools are never executed" in shown
    for words in ("By category", "By difficulty", "browser", "finance", "easy", "hard"):
        assert words in shown
    (arm,) = report()["arms"]
    assert (arm["planned"], arm["measured"]) == (3, 3)
    assert arm["report"]["total"]["resolved"]["value"] == 1.0
    assert list(arm["report"]["total"]["ways"]) == [mode]


def test_the_report_is_written_as_json_markdown_and_html(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--json", *SEEN) == 0

    assert json.loads(capsys.readouterr().out) == report()
    jsonschema.validate(report(), RunOfTasks.model_json_schema())
    markdown = Path("runs/seen/report.md").read_text("utf-8")
    assert "## By category: offline, published" in markdown
    assert "| browser | 1 |" in markdown
    page = Path("runs/seen/report.html").read_text("utf-8")
    assert "<h2>By category: offline, published</h2>" in page
    assert '<th scope="row" class="text">browser</th>' in page


def test_what_the_data_says_is_no_markup_in_a_report() -> None:
    rewrite(category="<script>alert(1)</script>|[red]")

    assert run(*SEEN) == 0
    assert "<script>alert" not in Path("runs/seen/report.html").read_text("utf-8")
    assert "\\<script" in Path("runs/seen/report.md").read_text("utf-8")


def test_a_task_of_several_calls_is_given_what_its_label_recorded() -> None:
    assert run(*SEEN) == 0

    found = events("both")

    assert [event.tool for event in of(ToolCall, found)] == ["get_news", "list_markets"]
    assert of(ToolResult, found)[0].text == '{"headlines":["up"]}'


def test_a_task_of_one_call_ends_when_the_model_does() -> None:
    assert run(*SEEN) == 0

    found = events("price")

    assert [event.text for event in of(ToolResult, found)] == [OUTPUT]
    assert [event.text for event in of(Prose, found)][-1] == "Done."


def test_json_mode_shows_the_documented_prompt_with_every_definition() -> None:
    assert run("--mode", "json", *SEEN) == 0

    (prompt,) = of(Prompt, events("price"))
    assert "Task Type: single-step tool call" in prompt.text
    assert '"description":"The price of a stock by its ticker symbol."' in prompt.text
    assert "Output your tool calls as a JSON array." in prompt.text


def test_another_prompt_is_used_and_one_without_a_place_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.txt").write_text("Please: {problem_statement}\nIn JSON.", encoding="utf-8")
    (here / "none.txt").write_text("Do something.", encoding="utf-8")

    assert run("--mode", "json", "--prompt", "mine.txt", *SEEN) == 0
    assert of(Prompt, events("price"))[0].text.startswith("Please: Category: finance")
    assert run("--mode", "json", "--prompt", "none.txt") == 1
    assert "{problem_statement}" in capsys.readouterr().err


def test_a_query_that_quotes_a_prompt_s_place_is_asked_as_it_stands() -> None:
    odd = "What do {query} and {problem_statement} mean?"
    rewrite(query=odd)

    assert run(*SEEN) == 0
    assert of(Prompt, events("price"))[0].text == odd
    assert run("--mode", "json", "--run", "json") == 0
    assert of(Prompt, events("price", "json"))[0].text.count(odd) == 1


def test_the_plan_is_read_and_digested_as_often_for_many_cells_as_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []
    digested: list[str] = []
    plan = RunStore.plan
    digest: property = vars(Plan)["digest"]

    def counted(store: RunStore) -> Plan:
        read.append(store.folder.name)
        return plan(store)

    def counted_digest(planned: Plan) -> str:
        digested.append(planned.run)
        return str(digest.__get__(planned))

    monkeypatch.setattr(RunStore, "plan", counted)
    monkeypatch.setattr(Plan, "digest", property(counted_digest))
    assert run("-n", 1, "--run", "one") == 0
    assert run("--trials", 4, "--run", "many") == 0

    # Done for each cell, either would take n² time for n cells.
    for times in (read, digested):
        assert times.count("one") == times.count("many") > 0


def test_the_same_command_resumes_and_measures_nothing_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("-n", 2) == 0
    (folder,) = Path("runs").iterdir()
    before = (folder / "report.json").read_bytes()

    assert run("-n", 2) == 0

    assert "2 of 2 cells are finished and kept" in capsys.readouterr().err
    assert (folder / "report.json").read_bytes() == before
    assert len(list(folder.glob("cells/*/attempt-*"))) == 2


def test_a_run_of_other_inputs_is_not_mixed_into_one_that_is_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(*SEEN) == 0

    assert run("--mode", "json", *SEEN) == 1
    assert "planned with different inputs" in capsys.readouterr().err


def test_trials_give_pass_at_k() -> None:
    assert run("--trials", 2, *SEEN) == 0

    assert report()["arms"][0]["report"]["total"]["pass_at"] == {"1": 1.0, "2": 1.0}


def test_list_and_dry_run_measure_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--list") == 0
    assert "finance, easy: 2" in capsys.readouterr().out
    assert run("--dry-run", "--model", "claude-sonnet-4-5", "--model", "offline") == 0
    shown = capsys.readouterr().out
    assert "claude-sonnet-4-5, 3 cells" in shown
    assert "at least  " in shown
    assert not Path("runs").exists()


def test_a_task_that_offers_no_tool_is_left_out_and_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [*RECORDS, record(uuid="bare", tools=[], mcp_tools_dict={})]
    (here / "data.json").write_text(json.dumps(records), encoding="utf-8")

    assert run(*SEEN) == 0
    assert "left out: bare offers no tool" in capsys.readouterr().err
    assert report()["arms"][0]["planned"] == 3


@pytest.mark.parametrize("option", [("--agent", "react"), ("--pass-at", "0.5")])
def test_what_means_nothing_for_tasks_is_refused_and_not_ignored(
    option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*option) == 1
    assert "--mode" in capsys.readouterr().err


# --- evidence -----------------------------------------------------------------------------------


def test_scores_are_made_again_from_the_transcripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*SEEN) == 0
    capsys.readouterr()

    for again in (("report", "seen"), ("score", "seen")):
        assert ended("toolbench", *again, "--json") == 0
        assert json.loads(capsys.readouterr().out) == report()


def test_mcpbr_s_scores_of_a_run_are_shown_and_not_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(*SEEN) == 0
    before = Path("runs/seen/report.json").read_bytes()

    assert ended("toolbench", "report", "seen", "--compat", "mcpbr") == 0
    assert "scored as mcpbr does" in capsys.readouterr().out
    assert Path("runs/seen/report.json").read_bytes() == before


def test_an_edited_transcript_is_in_no_figure_and_ends_in_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(*SEEN) == 0
    (path,) = [
        path
        for path in Path("runs").rglob("transcript.jsonl")
        if "price of AAPL" in path.read_text()
    ]
    path.write_text(path.read_text().replace('"AAPL"', '"MSFT"'))

    assert ended("toolbench", "report", "seen") == 1
    assert "says something else than its evidence" in capsys.readouterr().err
    assert (report()["arms"][0]["measured"], report()["arms"][0]["planned"]) == (2, 3)


def test_answers_to_a_task_that_has_changed_since_are_in_no_figure() -> None:
    assert run(*SEEN) == 0
    rewrite(query="What is the price of MSFT?")

    assert ended("toolbench", "report", "seen") == 0
    assert report()["arms"][0]["measured"] == 2
    assert "another task under this id" in report()["problems"][0]


@pytest.mark.parametrize(
    "edited",
    [
        call("get_stock_price", {"symbol": "MSFT"}),
        call("get_stock_price", {"symbol": "AAPL"}, similar_tools=[{"name": "get_news"}]),
        call("get_news", {"symbol": "AAPL"}),
    ],
)
def test_a_label_that_was_edited_since_is_told_and_the_others_are_not(
    edited: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--trials", 2, *SEEN) == 0
    assert not report()["problems"]
    rewrite(function_call_label=[edited])

    assert ended("toolbench", "report", "seen") == 0

    (problem,) = report()["problems"]
    assert problem.startswith("price: its label was edited since the run began")
    assert "label was edited" in capsys.readouterr().out
    assert ended("toolbench", "confuse", "seen") == 0
    assert "label was edited" in capsys.readouterr().err


def test_resuming_a_run_does_not_forget_that_a_label_was_edited() -> None:
    assert run("-n", 1, *SEEN) == 0
    rewrite(function_call_label=[call("get_stock_price", {"symbol": "MSFT"})])

    assert run("-n", 1, *SEEN) == 0

    assert "its label was edited" in report()["problems"][0]


def test_a_label_that_is_only_written_otherwise_is_the_same_label() -> None:
    assert run("-n", 1, *SEEN) == 0
    label = dict(RECORDS[0]["function_call_label"][0])
    label["arguments"] = json.dumps(label.pop("input"))
    rewrite(function_call_label=json.dumps([label]))

    assert ended("toolbench", "report", "seen") == 0
    assert not report()["problems"]


def test_other_verbs_send_the_user_to_this_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*SEEN) == 0
    repository = Path(__file__).parents[3]

    assert ended("--root", repository, "score", Path("runs/seen").resolve()) == 1
    assert "fairtrial toolbench report" in capsys.readouterr().err
    assert ended("toolbench", "report", "nowhere") == 1
    assert "no such run" in capsys.readouterr().err


# --- a provider ---------------------------------------------------------------------------------


def test_other_providers_are_asked_the_same_way(
    llmock: LLMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setenv("OPENAI_BASE_URL", llmock.base_url("openai"))
    asks(llmock, ("get_stock_price", {"symbol": "AAPL"}))

    assert run("-n", "1", "--model", "openai:test", *SEEN) == 0
    (result,) = report()["arms"][0]["report"]["results"]
    assert (result["way"], result["resolved"]) == ("native", True)


PRICED = ("get_stock_price", {"symbol": "AAPL"})
HEADLINES = ("get_news", {"company": "Apple"})
CLAUDE = ("--model", "claude-test", *SEEN)
ONE = ("-n", "1", *CLAUDE)


def test_claude_is_offered_the_tools_natively_and_its_calls_are_scored(claude: LLMock) -> None:
    asks(claude, PRICED)
    claude.reply("Done.")
    asks(claude, ("get_news", {"company": "Pear"}))
    claude.reply("Done.")
    asks(claude, HEADLINES)
    asks(claude, ("list_markets", {}))
    claude.reply("Both are done.")

    assert run(*CLAUDE) == 0

    (arm,) = report()["arms"]
    assert arm["model"] == "claude-test"
    by_task = {one["uuid"]: one["resolved"] for one in arm["report"]["results"]}
    assert by_task == {"price": True, "Nachricht/Ä 1": False, "both": True}
    assert not any("ranks nobody" in notice for notice in report()["notices"])


def test_claude_s_json_is_read_from_its_text(claude: LLMock) -> None:
    claude.reply(
        'I call:\n```json\n[{"name": "get_stock_price", "parameters": {"symbol": "AAPL"}}]\n```'
    )

    assert run("--mode", "json", *ONE) == 0

    (result,) = report()["arms"][0]["report"]["results"]
    assert (result["way"], result["resolved"]) == ("json in text", True)
    assert of(Prose, events("price"))[0].text.startswith("I call:")


def test_a_model_that_only_talks_has_made_no_call(claude: LLMock) -> None:
    claude.reply("It is about 5 dollars.")

    assert run(*ONE) == 0
    assert report()["arms"][0]["report"]["results"][0]["details"] == "Agent made no tool calls"


@pytest.mark.parametrize(("category", "allowed"), [("finance", 1), ("browser", 3)])
def test_a_model_that_never_stops_calling_breaks_the_limit_and_fails(
    category: str, allowed: int, claude: LLMock
) -> None:
    right = {"finance": [PRICED], "browser": [HEADLINES, ("list_markets", {})]}[category]
    for each in [*right, *[("list_markets", {})] * 9]:
        asks(claude, each)

    assert run("--category", category, "-n", 1, *CLAUDE) == 0

    (result,) = report()["arms"][0]["report"]["results"]
    assert len(result["calls"]) == allowed + 1
    assert (result["tool_selection_accuracy"], result["parameter_accuracy"]) == (1.0, 1.0)
    assert not result["resolved"]


def test_as_many_calls_as_are_allowed_still_resolve(claude: LLMock) -> None:
    for each in [HEADLINES, HEADLINES, ("list_markets", {})]:
        asks(claude, each)
    claude.reply("Done.")

    assert run("--category", "browser", *CLAUDE) == 0

    (result,) = report()["arms"][0]["report"]["results"]
    assert (len(result["calls"]), result["resolved"]) == (3, True)
    texts = [event.text for event in of(ToolResult, events("both"))]
    assert texts == ['{"headlines":["up"]}', "Nothing is recorded for this call.", OUTPUT]


def test_a_provider_that_fails_leaves_its_cell_unmeasured_and_is_no_zero(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    no = {"status": 400, "error": {"type": "invalid_request_error", "message": "no"}}
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    with streaming(Events([no])) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        assert run(*ONE) == 1
    assert "1 of 1 cells are not measured" in capsys.readouterr().err
    assert report()["arms"][0]["report"]["total"]["resolved"]["value"] is None


def script_a_run(double: LLMock) -> None:
    """Right answers to all three tasks, in four turns with a call and three without."""
    for each in (PRICED, HEADLINES):
        asks(double, each)
        double.reply("Done.")
    asks(double, HEADLINES)
    asks(double, ("list_markets", {}))
    double.reply("Both are done.")


def files_of(task: str) -> dict[Path, tuple[bytes, int]]:
    """Each file of a task's cell, with its bytes and when it was written last."""
    (cell,) = [cell for cell in RunStore(Path("runs/seen")).plan().cells if cell.scenario == task]
    files = [path for path in Path("runs/seen/cells", cell.id).rglob("*") if path.is_file()]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_a_run_killed_in_its_third_task_is_resumed_there_and_finished_cells_stay_as_they_are(
    claude: LLMock,
) -> None:
    script_a_run(claude)
    # The sixth request is the third task's second turn; it hangs until the runner is dead.
    claude.add(*[Delay(0)] * 5, Delay(PATIENCE_SEC))
    argv = [sys.executable, "-m", "runner.cli.main", "toolbench", "run", "data.json", *CLAUDE]
    process = subprocess.Popen(
        argv, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: len(turns()) == 5, "five turns were recorded")
    finally:
        process.kill()
        process.wait(timeout=PATIENCE_SEC)
    assert process.returncode == -signal.SIGKILL
    finished = [files_of(task) for task in ("price", cell_name(RECORDS[1]["uuid"]))]
    assert all(len(files) > 1 for files in finished)
    cut = Path("runs/seen/cells")
    (partial,) = cut.glob("*/attempt-*.partial")
    before = (partial / "transcript.jsonl").read_bytes()

    claude.reset()
    for answer in (("get_news", {"company": "Apple"}), ("list_markets", {})):
        asks(claude, answer)
    claude.reply("Both are done.")
    assert run(*CLAUDE) == 0

    assert [files_of(task) for task in ("price", cell_name(RECORDS[1]["uuid"]))] == finished
    assert len(claude.requests) == 3, "the cut task begins anew, and no other is asked again"
    assert (partial / "transcript.jsonl").read_bytes() == before, "what was paid for is kept"
    (arm,) = report()["arms"]
    assert (arm["measured"], arm["report"]["total"]["resolved"]["value"]) == (3, 1.0)
    assert len(turns()) == 8
    assert arm["input_tokens"] == sum(turn.input_tokens for turn in turns())


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


def turns() -> list[Usage]:
    """Every turn of every attempt; none while a folder is being renamed."""
    with suppress(OSError, FairtrialError):
        found = [read_transcript(path) for path in Path("runs/seen").rglob("transcript.jsonl")]
        return [event for events in found for event in of(Usage, list(events))]
    return []


def test_a_cell_that_the_provider_failed_is_asked_again_and_its_first_attempt_is_kept(
    claude: LLMock,
) -> None:
    claude.rate_limit(times=4, retry_after=0.01)
    assert run(*ONE) == 1
    first = files_of("price")
    asks(claude, PRICED)

    assert run(*ONE) == 0

    assert first.items() <= files_of("price").items()
    results = [path.parent.name for path in files_of("price") if path.name == "result.json"]
    assert sorted(results) == ["attempt-1", "attempt-2"]
    (arm,) = report()["arms"]
    assert (arm["planned"], arm["measured"]) == (1, 1)
    assert arm["report"]["total"]["resolved"]["value"] == 1.0


def test_an_answer_that_the_provider_throttled_is_asked_for_again_at_once(claude: LLMock) -> None:
    claude.rate_limit(times=2, retry_after=0.01)
    asks(claude, PRICED)

    assert run(*ONE) == 0
    assert len(list(Path("runs/seen/cells").glob("*/attempt-*"))) == 1
    assert report()["arms"][0]["report"]["total"]["resolved"]["value"] == 1.0


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_recording_answers_its_own_task_as_it_did_and_no_other(
    mode: str, claude: LLMock, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [("get_news", {"company": "Apple"}), ("list_markets", {})]
    if mode == "native":
        for each in calls:
            asks(claude, each)
        claude.reply("Done.")
    else:
        listed = [{"name": name, "parameters": given} for name, given in calls]
        claude.reply(f"Well:\n{json.dumps(listed)}")
    asked = ("--category", "browser", "--mode", mode)
    assert run(*asked, *CLAUDE) == 0
    (attempt,) = Path("runs/seen/cells").glob("*/attempt-1")
    requests = len(claude.requests)

    replay = ("--model", f"replay:{attempt}", "--run", "again")
    assert run(*asked, *replay) == 0

    assert len(claude.requests) == requests
    before, after = report(), report("again")
    assert after["arms"][0]["report"] == before["arms"][0]["report"]
    assert after["arms"][0]["report"]["total"]["resolved"]["value"] == 1.0
    assert any("replayed recording" in notice for notice in after["notices"])
    assert "0 of" in capsys.readouterr().err
    assert run("-n", 1, "--mode", mode, "--model", f"replay:{attempt}", "--run", "other") == 1
    assert "1 of 1 cells are not measured" in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["native", "json"])
def test_local_weights_answer_tasks_and_no_file_of_the_run_says_where_they_lie(
    mode: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = here / "mine" / "small.gguf"
    weights.parent.mkdir()
    write_weights(weights, "\no", "ok", "k}")
    room = ("--context-tokens", 8192, "--output-tokens", 64, "--thinking-tokens", 0)

    assert run("--mode", mode, "--model", f"local:{weights}", *room, *SEEN) == 0

    (arm,) = report()["arms"]
    assert (arm["model"], arm["measured"], arm["usd"]) == ("local:small.gguf", 3, 0.0)
    assert of(Prose, events("price"))[0].text == "ok}"
    assert {one["details"] for one in arm["report"]["results"]} == {"Agent made no tool calls"}
    for path in Path("runs").rglob("*"):
        if path.is_file():
            assert str(weights.parent) not in path.read_text("utf-8"), path
    # A finished run needs no server, and so no weights where they were.
    weights.rename(here / "small.gguf")
    monkeypatch.setattr("runner.agents.models.weights_server._started", None)
    moved = f"local:{here / 'small.gguf'}"
    assert run("--mode", mode, "--model", moved, *room, *SEEN) == 0


def test_a_cap_ends_the_run_where_it_is_and_the_rest_can_be_measured_later(
    here: Path, claude: LLMock, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = "date: '2026-01-01'\nmodels:\n  anthropic:claude-test:\n"
    prices += "    {input: 1000, output: 1000, cache_read: 0, cache_write: 0}\n"
    (here / "prices.yaml").write_text(prices, encoding="utf-8")
    for _ in range(3):
        asks(claude, PRICED)

    assert run(*CLAUDE, "--prices", "prices.yaml", "--max-dollars", "0.01") == 1
    assert "$" in capsys.readouterr().err
    ended = list(Path("runs/seen/cells").glob("*/attempt-*"))
    assert 1 <= len(ended) < 3


def test_no_key_stands_in_what_a_run_leaves_behind(claude: LLMock) -> None:
    asks(claude, PRICED)

    assert run(*ONE) == 0
    for path in Path("runs").rglob("*"):
        if path.is_file():
            assert b"very-secret" not in path.read_bytes()


def test_arguments_that_are_no_json_are_noted_and_scored_as_none(claude: LLMock) -> None:
    asks(claude, ("get_stock_price", {"symbol": 5}))

    assert run(*ONE) == 0
    (result,) = report()["arms"][0]["report"]["results"]
    assert (result["valid_calls"], result["checked_calls"]) == (0, 1)
    assert not of(Note, events("price"))


# --- variants and confusion ---------------------------------------------------------------------

VARIANT = """\
name: clearer
tools:
  get_stock_price:
    name: company_headlines
    description: Whatever it may be.
  get_news:
    name: news_of_a_company
"""


@pytest.fixture
def variant(here: Path) -> Path:
    (here / "server.yaml").write_text(VARIANT, encoding="utf-8")
    return here / "server.yaml"


def test_a_variant_is_measured_beside_the_published_tools_and_compared(
    variant: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--variant", variant, *SEEN) == 0

    published, clearer = report()["arms"]
    assert (published["arm"], clearer["arm"]) == ("published", "clearer")
    (compared,) = report()["comparisons"]
    assert compared["tasks"] == 3
    assert compared["selection"]["before"] == 1.0
    assert compared["selection"]["after"] < 1.0
    assert compared["selection"]["mean"] < 0
    assert compared["selection"]["low"] is None  # of three tasks none can be had
    assert compared["selection"]["worse"] == 1
    assert "offline, published → offline, clearer" in capsys.readouterr().out


def test_a_new_name_is_right_in_its_own_arm_alone(variant: Path, claude: LLMock) -> None:
    for _ in range(2):
        asks(claude, PRICED)
        claude.reply("Done.")

    assert run("--variant", variant, *ONE) == 0
    for arm in report()["arms"]:
        (result,) = arm["report"]["results"]
        assert result["resolved"] is (arm["arm"] == "published")


def test_confuse_shows_what_was_taken_for_what(
    variant: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--variant", variant, *SEEN) == 0
    capsys.readouterr()

    assert ended("toolbench", "confuse", "seen", "--json") == 0

    found = json.loads(capsys.readouterr().out)
    assert [one["label"] for one in found["confusions"]] == [
        "seen, offline, published",
        "seen, offline, clearer",
    ]
    (missed,) = [row for row in found["confusions"][1]["rows"] if row["wrong"]]
    assert missed["tool"] == "company_headlines"
    assert missed["server"] == "stocks"
    assert missed["taken"][0]["times"] == 1
    assert found["comparisons"][0]["selection"]["worse"] == 1


def test_confuse_compares_responses_task_by_task(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = [{"name": "get_stock_price", "parameters": {"symbol": "AAPL"}}]
    (here / "a.json").write_text(json.dumps({"price": right, "both": []}), encoding="utf-8")
    (here / "b.json").write_text(json.dumps({"price": [{"name": "get_news"}]}), encoding="utf-8")
    files = ("--responses", "a.json", "--responses", "b.json")

    assert ended("toolbench", "confuse", "data.json", *files) == 0

    shown = capsys.readouterr().out
    assert "stocks: get_stock_price" in shown
    assert "stocks: get_news" in shown
    assert "nothing" in shown
    assert "1 tasks are answered in one of them alone" in shown


TWO_SERVERS = {"mcp_tools_dict": {"stocks": ["get_stock_price"], "News Desk": ["get_news"]}}


def confused(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    capsys.readouterr()
    assert ended("toolbench", "confuse", *arguments, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_confuse_shows_the_tools_of_the_server_that_is_asked_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label = call("get_news", {"company": "Apple"}, mcp_server="")
    other = record(label, tools=TOOLS, uuid="news", **TWO_SERVERS)
    (here / "data.json").write_text(json.dumps([RECORDS[0], other]), encoding="utf-8")
    (here / "a.json").write_text(json.dumps({"price": "-", "news": "-"}), encoding="utf-8")
    asked = ("data.json", "--responses", "a.json", "--server")

    for server, tool in (("STOCKS", "get_stock_price"), ("news_desk", "get_news")):
        (found,) = confused(capsys, *asked, server)["confusions"]
        assert [row["tool"] for row in found["rows"]] == [tool]

    assert ended("toolbench", "confuse", *asked, "weather") == 1
    assert "servers are News Desk, stocks" in capsys.readouterr().err


def test_confuse_takes_a_server_and_looks_in_all_runs_of_tasks(
    here: Path, variant: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--run", "plain") == 0
    assert run("--variant", variant, *SEEN) == 0
    asked = "stocks"

    found = confused(capsys, asked)
    assert [one["label"] for one in found["confusions"]] == [
        "plain, offline, published",
        "seen, offline, published",
        "seen, offline, clearer",
    ]
    assert all(row["server"] == "stocks" for one in found["confusions"] for row in one["rows"])
    # Only what one run measured side by side is compared.
    (compared,) = found["comparisons"]
    assert (compared["before"], compared["after"]) == tuple(
        one["label"] for one in found["confusions"][1:]
    )

    (here / "data.json").unlink()
    assert ended("toolbench", "confuse", asked) == 1
    assert "left out: " in capsys.readouterr().err


def test_confuse_with_a_variant_shows_the_runs_that_measured_it(
    here: Path, variant: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--run", "plain") == 0
    assert ended("toolbench", "confuse", "stocks", "--variant", variant) == 1
    told = capsys.readouterr().err
    assert "no run measured this variant" in told
    assert f"toolbench run DATA --model M --variant {variant}" in told

    assert run("--variant", variant, *SEEN) == 0
    found = confused(capsys, "stocks", "--variant", variant)

    assert {one["label"].partition(",")[0] for one in found["confusions"]} == {"seen"}
    (compared,) = found["comparisons"]
    assert compared["selection"]["mean"] < 0
    assert compared["selection"]["low"] is None  # of three tasks none can be had
    variant.write_text(VARIANT.replace("Whatever", "Anything"), encoding="utf-8")
    assert ended("toolbench", "confuse", "stocks", "--variant", variant) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "there is no run of tasks"),
        (("nowhere",), "there is no run of tasks"),
        (("--responses", "a.json"), "give the data"),
        (("data.json", "--responses", "a.json", "--variant", "v.yaml"), "names none"),
    ],
)
def test_confuse_without_anything_to_look_at_says_what_is_missing(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("toolbench", "confuse", *arguments) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (VARIANT.replace("get_stock_price", "no_such_tool"), "no task offers no_such_tool"),
        (VARIANT.replace("news_of_a_company", "list_markets"), "one name"),
        (VARIANT.replace("clearer", "published"), "published is what"),
        ("name: x\ntools: {}", "tools"),
        (VARIANT + "server: weather\n", "no task offers"),
        ("name: [", "YAML"),
    ],
)
def test_a_variant_that_cannot_be_measured_is_refused_before_anything_is_spent(
    variant: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    variant.write_text(text, encoding="utf-8")

    assert run("--variant", variant, *SEEN) == 1
    assert words in capsys.readouterr().err
    assert not Path("runs").exists()
