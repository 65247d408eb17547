"""Codex CLI, really started in real cells, against a scripted provider on loopback."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from runner.agents.packaged import PACKAGED
from runner.agents.packaged.codex import Codex
from runner.agents.packaged.packaged_agent import ProgramCommand, StepStart
from runner.records import ServerSpec
from runner.report.tables import SEARCHED
from runner.sandbox import engine as engine_room
from tests.checkout import SESSION
from tests.real_agents.cells import KEY, MODEL, SECOND, Cells, Ran, open_cells
from tests.real_agents.deferred import HELLO, coding, searching
from tests.real_agents.policies import ANSWER, looking, shell_call
from tests.real_agents.scripted_provider import Asked, Policy, Reply, ToolUse, Usage
from tests.real_agents.whole_run import (
    OF_A_SUBAGENT,
    require_faults_waited_out,
    require_read_by_every_verb,
    require_subagent_apart,
    require_summed_up,
)

pytestmark = pytest.mark.docker
TRIED = Path(__file__).parent.parent / "trying/server.py.txt"
BOTH = ("--scenario", "two-steps", "--server", "mcp-ripgrep")


@pytest.fixture(scope="module")
def cells(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, base_image: str
) -> Iterator[Cells]:
    assert base_image  # it is there before any checkout needs it
    with open_cells("codex", tmp_path_factory.mktemp("codex") / "checkout", engine) as opened:
        opened.add_two_steps()
        opened.add_shipped("mcp-ripgrep")
        opened.add_scenario("few-tokens", tokens=1000)
        opened.add_scenario("few-actions", actions=1)
        opened.add_scenario("little-time", wall_sec=6)
        yield opened


@pytest.fixture(scope="module")
def ran(cells: Cells) -> Ran:
    """Both arms of two steps, once."""
    search = {"pattern": "finish_up", "path": "/workspace"}
    policy = looking(server="ripgrep", tool="search", arguments=search)
    ran = cells.run(policy, *BOTH, name="ran")
    # What went wrong is said once, and not by each test that finds no run.
    assert ran.code == 0, ran.said
    return ran


# --- a run --------------------------------------------------------------------------------------


def test_both_arms_are_answered_scored_and_compared(ran: Ran) -> None:
    assert [it.outcome for it in ran.attempts] == ["answered", "answered"]
    report = json.loads((ran.folder / "report.json").read_text())
    assert report["incomparable"] == [] and report["contradictions"] == []
    assert [arm["tally"]["measured"] for arm in report["arms"]] == [1, 1]
    server = next(arm for arm in report["arms"] if arm["server"] == "mcp-ripgrep")
    assert server["delta"]["pairs"] == 1
    assert server["fairness"]["score"]["value"] > 0.9


def test_the_first_line_says_which_agent_and_version_answered(ran: Ran) -> None:
    assert ran.screen.splitlines()[0].endswith("ran · Codex CLI 0.169.0")
    assert "What does Codex CLI 0.169.0 answer with mcp-ripgrep attached" in ran.screen
    assert "· Codex CLI 0" in (ran.folder / "report.md").read_text().partition("\n# ")[2][:80]
    # It offers a model that it does not know all tools at once, and nothing else is said of it.
    assert "found by its search" not in (ran.folder / "report.html").read_text()


def test_the_servers_tools_are_offered_in_its_arm_alone(ran: Ran) -> None:
    offered = [any("ripgrep" in namespace for namespace, _ in it.tools) for it in ran.asked]
    assert offered.count(True) == 4 and offered.count(False) == 4
    shell, server = ran.of("shell"), ran.of("mcp-ripgrep")
    assert shell.program == server.program
    assert "exec_command" in shell.program["tools"]


def test_a_servers_call_is_recorded_as_the_server_answered_it(ran: Ran) -> None:
    server = ran.of("mcp-ripgrep")
    calls = [it for it in server.of("tool_call") if it["origin"] == "server"]
    assert [it["tool"].rpartition("__")[2] for it in calls] == ["search", "search"]
    results = {it["call_id"]: it for it in server.of("tool_result")}
    result = results[calls[0]["call_id"]]
    assert "app.py" in result["text"] and not result["is_error"] and result["wall_sec"] > 0
    kept = (server.folder / "server.messages.jsonl").read_text()
    assert kept.count("tools/call") == 2
    assert not (ran.of("shell").folder / "server.messages.jsonl").exists()


def test_the_second_step_goes_on_with_the_first_ones_conversation(ran: Ran) -> None:
    last = ran.asked[-1]
    assert SECOND in last.text and "Trace what" in last.text and ANSWER in last.text
    for it in ran.attempts:
        assert [end["stop"] for end in it.of("step_end")] == ["end", "end"]
        assert ANSWER in it.prose


def test_tokens_are_the_providers_each_counted_once(ran: Ran) -> None:
    usage = ran.of("shell").of("usage")
    # Of four turns: 1000 given and 30 written, then 1500 of which 1000 were held; and again.
    assert [it["input_tokens"] for it in usage] == [1000, 500, 1000, 500]
    assert [it["cache_read_tokens"] for it in usage] == [0, 1000, 0, 1000]
    assert {it["served_by"] for it in usage} == {MODEL}
    assert "subagent" not in usage[0]


def test_the_key_is_with_the_provider_and_in_no_file_of_the_run(ran: Ran) -> None:
    assert {it.headers["authorization"] for it in ran.asked} == {f"Bearer {KEY}"}
    for path in ran.folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_a_run_that_is_finished_asks_nothing_again(cells: Cells, ran: Ran) -> None:
    again = cells.run(looking(), *BOTH, name=ran.name)
    assert again.code == 0 and again.asked == []
    attested = cells.checkout.said("attest", ran.name, "--ungated")
    assert attested.returncode == 0, attested.stderr


def test_its_cells_are_scored_judged_attested_resumed_and_replayed_as_any(
    cells: Cells, ran: Ran
) -> None:
    require_read_by_every_verb(cells, ran, "mcp-ripgrep")


def test_a_dry_run_knows_it_and_asks_nobody(cells: Cells) -> None:
    dry = cells.run(looking(), *BOTH, "--dry-run")
    assert dry.code == 0 and dry.asked == []
    assert "Codex CLI 0.169.0 runs in each cell" in dry.screen


def test_a_model_that_it_cannot_ask_is_refused(cells: Cells) -> None:
    other = replace(cells, model="claude-sonnet-4-5").run(looking(), *BOTH)
    assert other.code == 1 and other.attempts == []
    assert "codex cannot ask claude-sonnet-4-5" in other.said


# --- what is closed -----------------------------------------------------------------------------

# It does not find itself, and is short enough to be shown whole.
SEARCH = (
    "env | grep KEY; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' "
    "| grep 'a-key-th[a]t-no-cell'; "
    "grep -rIs 'a-key-th[a]t-no-cell' /home /tmp /opt /workspace /var /run /etc; "
    "python3 -c 'import socket; socket.create_connection((\"192.0.2.9\", 80), 3)' 2>&1 | tail -1"
)
SNEAK = r"""
python3 - <<'END'
import json, pathlib, re, urllib.error, urllib.request
texts = [p.read_bytes().decode(errors="replace") for p in pathlib.Path("/proc").glob("*/cmdline")]
url = re.search(r"http://127.0.0.1:\d+", " ".join(texts))[0]
def ask(path, body):
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url + path, data, {"content-type": "application/json"})
    try:
        print(path, urllib.request.urlopen(asked).status)
    except urllib.error.HTTPError as error:
        print(path, error.code)
ask("/v1/models", None)
ask("/v1/files", {"model": "MODEL"})
ask("/v1/responses", {"model": "another", "input": "hello"})
END
""".replace("MODEL", MODEL)


def test_an_agent_that_looks_finds_no_key_and_no_network(cells: Cells) -> None:
    run = cells.run(looking(SEARCH), "--scenario", "small", "--server", "shell")
    shell = run.of("shell")
    assert shell.outcome == "answered"
    found = "\n".join(it["text"] for it in shell.of("tool_result"))
    assert "PROVIDER_KEY=none" in found and KEY not in found and KEY[3:20] not in found
    assert "Network is unreachable" in found
    # The model's own alone: Codex looks no name up by itself.
    assert shell.result["network_attempts"] == 1
    assert "1 network attempts were refused" in shell.notes
    assert KEY not in "".join(it.text for it in run.asked)


def test_other_paths_and_other_models_are_refused_and_noted(cells: Cells) -> None:
    run = cells.run(looking(SNEAK), "--scenario", "small", "--server", "shell")
    shell = run.of("shell")
    found = "\n".join(it["text"] for it in shell.of("tool_result"))
    assert "/v1/models 404" in found and "/v1/files 404" in found and "/v1/responses 404" in found
    assert "refused: GET /v1/models" in shell.notes
    assert "refused: a request to the model 'another'" in shell.notes
    assert len(run.asked) == 2


# --- treated, or not measured -------------------------------------------------------------------


class Forgetful(Codex):
    """Starts without its server, as an agent does that ignores its configuration."""

    def command(self, start: StepStart) -> ProgramCommand:
        return super().command(replace(start, server=""))


@pytest.mark.parametrize(("model", "policy"), [(MODEL, looking()), ("gpt-5.5", searching)])
def test_an_arm_whose_tools_were_not_offered_is_broken_and_never_scored(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, model: str, policy: Policy
) -> None:
    monkeypatch.setitem(PACKAGED, "codex", Forgetful())
    run = replace(cells, model=f"openai:{model}").run(
        policy, "--scenario", "small", "--server", "good"
    )
    assert run.of("shell").outcome == "answered"
    good = run.of("good")
    assert good.outcome == "agent_not_treated"
    assert "was offered no tool of good" in good.reason
    assert not (good.folder.parent / "scorecard.json").exists()
    # Before anything was paid for; what was asked is there to be looked at.
    assert good.of("usage") == []
    assert (good.folder / "first_request.json").exists()


@pytest.mark.parametrize(("model", "policy"), [("gpt-5.5", searching), ("gpt-6-sol", coding)])
def test_tools_that_its_model_has_to_search_for_are_the_servers_arm_all_the_same(
    cells: Cells, model: str, policy: Policy
) -> None:
    """As Codex treats the models that it knows, and none of the others in these tests."""
    run = replace(cells, model=f"openai:{model}").run(
        policy, "--scenario", "small", "--server", "good"
    )
    assert [it.outcome for it in run.attempts] == ["answered"] * 2, run.said
    good = run.of("good")
    assert good.program == run.of("shell").program
    assert "found by the agent's own search" in good.notes
    require_said(run)
    (call,) = [it for it in good.of("tool_call") if it["origin"] == "server"]
    assert (call["tool"], call["arguments"]) == ("mcp__good__echo", HELLO)
    results = {it["call_id"]: it for it in good.of("tool_result")}
    assert results[call["call_id"]]["text"].endswith("hello")
    assert not any(it["is_error"] for it in results.values())


def require_said(run: Ran) -> None:
    """What was not offered at once is named in the fingerprint and wherever the agent is."""
    assert run.of("good").result["fingerprint"]["tools_searched"] is True
    assert "tools_searched" not in run.of("shell").result["fingerprint"]
    said = "Codex CLI 0.169.0 · tools of good found by its search"
    assert said in " ".join(run.screen.split("\n\n")[0].split())
    assert said in (run.folder / "report.md").read_text()
    page = (run.folder / "report.html").read_text()
    assert said in page
    assert SEARCHED in html.unescape(page)


def test_a_server_that_needs_half_a_minute_is_waited_for(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times as long as Codex itself would wait, and longer than the engine's client does."""
    monkeypatch.setattr(engine_room, "TIMEOUT_SEC", 20)
    slow = ["sh", "-c", "sleep 31; exec python3 {install}/server.py good"]
    # As long as a server.yaml waits that says nothing of it.
    limit_sec = ServerSpec.model_fields["initialize_timeout_sec"].default
    assert limit_sec > 60
    cells.checkout.add_server("slow", "good", command=slow, initialize_timeout_sec=limit_sec)
    run = cells.run(looking(server="slow"), "--scenario", "small", "--server", "slow")
    assert run.of("slow").outcome == "answered"
    assert [it["origin"] for it in run.of("slow").of("tool_call")] == ["server", "shell"]
    # It is no time of the agent's.
    timings = run.of("slow").result["timings"]
    assert timings["initialize_sec"] > 31
    assert timings["initialize_sec"] + timings["agent_sec"] < timings["total_sec"]


def test_a_server_that_never_starts_costs_no_tokens(cells: Cells) -> None:
    cells.checkout.add_server("mute", "silent", initialize_timeout_sec=2)
    run = cells.run(looking(), "--scenario", "small", "--server", "mute")
    assert run.of("mute").outcome == "server_crashed"
    assert "did not initialise in 2 s" in run.of("mute").reason
    assert run.of("mute").of("usage") == []


def test_a_server_that_dies_in_the_middle_ends_its_cell(cells: Cells) -> None:
    run = cells.run(looking(tool="die"), "--scenario", "small", "--server", "good")
    good = run.of("good")
    assert good.outcome == "server_crashed" and "the index is corrupt" in good.reason
    assert [it["output_tokens"] for it in good.of("usage")] == [30]


# --- the provider -------------------------------------------------------------------------------


def test_faults_that_pass_are_waited_out_and_are_nobodys_seconds(cells: Cells) -> None:
    require_faults_waited_out(cells)


def test_a_provider_that_stays_away_is_no_fault_of_the_arm(cells: Cells) -> None:
    run = cells.run(lambda _: Reply(status=529), "--scenario", "small", "--server", "shell")
    assert run.of("shell").outcome == "provider_failed"
    assert "529" in run.of("shell").reason


def test_a_key_that_is_not_accepted_ends_the_run(cells: Cells) -> None:
    run = cells.run(lambda _: Reply(status=401), "--scenario", "small", "--server", "good")
    assert run.code == 1 and len(run.asked) == 1
    assert "check OPENAI_API_KEY" in run.said


# --- caps, and an agent that ends ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "outcome", "reason"),
    [
        ("few-tokens", "out_of_tokens", "1,030 of 1,000 new tokens"),
        ("few-actions", "out_of_actions", "1 of 1 tool calls"),
    ],
)
def test_a_cap_ends_the_cell_before_the_next_turn(
    cells: Cells, scenario: str, outcome: str, reason: str
) -> None:
    run = cells.run(looking(), "--scenario", scenario, "--server", "shell")
    shell = run.of("shell")
    assert (shell.outcome, shell.reason) == (outcome, reason)
    assert len(run.asked) == 1
    assert [it["stop"] for it in shell.of("step_end")] == ["cut"]


def priced(folder: Path) -> tuple[str, str]:
    """$0.0115 for the first turn of `looking`, $0.008 for the second."""
    price = {"input": 10.0, "cache_write": 10.0, "cache_read": 1.0, "output": 50.0}
    prices = folder / "prices.yaml"
    prices.write_text(json.dumps({"date": "2026-11-01", "models": {f"openai:{MODEL}": price}}))
    return "--prices", str(prices)


def test_dollars_end_the_cell(cells: Cells, tmp_path: Path) -> None:
    words = (*priced(tmp_path), "--cell-dollars", "0.01")
    run = cells.run(looking(), "--scenario", "small", "--server", "shell", *words)
    assert run.of("shell").outcome == "out_of_budget"
    assert run.of("shell").reason == "$0.01 of $0.01"


def test_what_a_run_may_cost_ends_it_before_the_turn_that_would_go_past_it(
    cells: Cells, tmp_path: Path
) -> None:
    words = ("--server", "shell", "--trials", "3", *priced(tmp_path), "--max-dollars", "0.034")
    run = cells.run(looking(), "--scenario", "small", *words)
    assert run.code == 1 and "turns cost up to $0.01 here" in run.said
    # Two turns of the first cell, and one of the second.
    assert len(run.asked) == 3
    assert sorted(it.outcome for it in run.attempts) == ["answered", "cancelled"]


def test_time_ends_the_cell_within_a_command(cells: Cells) -> None:
    run = cells.run(looking("sleep 300"), "--scenario", "little-time", "--server", "shell")
    shell = run.of("shell")
    assert shell.outcome == "out_of_time"
    assert [it["output_tokens"] for it in shell.of("usage")] == [30]


KILL = (
    "for it in /proc/[0-9]*; do "
    '[ "$(cat $it/comm 2>/dev/null)" = codex ] && kill -9 ${it#/proc/}; done'
)
KILL_LATER = f"setsid sh -c 'sleep 1; {KILL}' >/dev/null 2>&1 </dev/null & echo later"


def test_an_agent_that_is_killed_before_its_last_event_loses_no_token(cells: Cells) -> None:
    def policy(asked: Asked) -> Reply:
        if asked.results:
            usage = Usage(input_tokens=1500, cached_tokens=1000, output_tokens=40)
            return Reply(text=ANSWER, usage=usage, wait_sec=8)
        calls = (shell_call(asked, KILL_LATER),)
        return Reply(text="I look.", calls=calls, usage=Usage(input_tokens=1000, output_tokens=30))

    run = cells.run(policy, "--scenario", "small", "--server", "shell")
    shell = run.of("shell")
    # The answer was given and paid for, though the program did not live to see it.
    assert [it["output_tokens"] for it in shell.of("usage")] == [30, 40]
    assert ANSWER in shell.prose
    assert "turn.completed" not in (shell.folder / "agent.stdout.jsonl").read_text()


def test_an_agent_that_kills_itself_has_ended_by_its_own_doing(cells: Cells) -> None:
    run = cells.run(looking(f"{KILL}; sleep 60"), "--scenario", "small",
                    "--server", "shell")  # fmt: skip
    shell = run.of("shell")
    assert shell.outcome == "agent_crashed"
    assert "Codex CLI 0.169.0: its process was ended by signal 9" in shell.reason
    assert shell.prose == "I look."


def test_cells_beside_one_another_are_counted_apart(cells: Cells) -> None:
    words = ("--scenario", "small", "--server", "good", "--trials", "2", "--jobs", "2")
    run = cells.run(looking(), *words)
    assert [it.outcome for it in run.attempts] == ["answered"] * 4
    for it in run.attempts:
        assert [usage["output_tokens"] for usage in it.of("usage")] == [30, 40]


def test_requests_at_a_time_are_as_many_as_the_provider_is_to_get(cells: Cells) -> None:
    def policy(asked: Asked) -> Reply:
        return replace(looking()(asked), wait_sec=2)

    words = ("--server", "shell", "--trials", "2", "--jobs", "2", "--api-jobs", "1")
    run = cells.run(policy, "--scenario", "small", *words)
    assert [it.outcome for it in run.attempts] == ["answered"] * 2
    assert cells.provider.most_at_once == 1
    # One of them waited for the other, which is nobody's time.
    waits = [it.result["timings"]["backoff_sec"] for it in run.attempts]
    assert max(waits) > 0.5


# --- arms that check a run ----------------------------------------------------------------------


def test_a_twin_is_the_same_arm_and_a_liars_lines_are_moved_for_the_model_alone(
    cells: Cells,
) -> None:
    search = {"pattern": "finish_up", "path": "/workspace"}
    policy = looking(server="ripgrep", tool="search", arguments=search)
    arms = ("shell", "mcp-ripgrep", "mcp-ripgrep", "mcp-ripgrep+20")
    words = [word for arm in arms for word in ("--server", arm)]
    run = cells.run(policy, "--scenario", "small", *words)
    assert [it.outcome for it in run.attempts] == ["answered"] * 4, run.said
    found = {}
    for arm in ("mcp-ripgrep", "mcp-ripgrep+twin", "mcp-ripgrep+20"):
        attempted = run.of(arm)
        assert attempted.program == run.of("shell").program
        calls = [it["call_id"] for it in attempted.of("tool_call") if it["origin"] == "server"]
        (found[arm],) = [it for it in attempted.of("tool_result") if it["call_id"] in calls]
    assert "app.py:5:" in found["mcp-ripgrep"]["text"]
    # Above what the server said, Codex writes how long it took.
    said = {arm: it["text"].partition("Output:")[2] for arm, it in found.items()}
    assert said["mcp-ripgrep+twin"] == said["mcp-ripgrep"]
    moved = found["mcp-ripgrep+20"]
    assert "app.py:25:" in moved["text"] and "app.py:5:" not in moved["text"]
    assert moved["moved_numbers"] > 0
    # No arm is told which it is.
    names = {namespace for it in run.asked for namespace, _ in it.tools if "ripgrep" in namespace}
    assert len(names) == 1


# --- subagents ----------------------------------------------------------------------------------


def test_a_subagents_tokens_count_and_its_words_are_no_answer(cells: Cells) -> None:
    def policy(asked: Asked) -> Reply:
        is_subagent = "SUBAGENT TASK" in json.dumps(asked.body["input"][-1])
        if is_subagent:
            return OF_A_SUBAGENT
        if "I ask." not in asked.text:
            spawn = ToolUse(
                namespace="multi_agent_v1",
                name="spawn_agent",
                arguments={"message": "SUBAGENT TASK: look"},
            )
            return Reply(text="I ask.", calls=(spawn,))
        return Reply(text=ANSWER, wait_sec=1)

    require_subagent_apart(cells, policy)


# --- compaction ---------------------------------------------------------------------------------


def test_what_sums_a_long_conversation_up_counts_and_is_no_answer(cells: Cells) -> None:
    require_summed_up(cells)


# --- try ----------------------------------------------------------------------------------------


def test_try_compares_a_server_with_the_shell_by_this_agent(cells: Cells) -> None:
    source = cells.checkout.root / "trying.py"
    source.write_text(f"# agents {SESSION}\n{TRIED.read_text()}")
    started = ("--", "python3", str(source), "good")
    done = cells.said(looking(server="trying"), "try", "--scenario", "small", *started)
    assert done.returncode == 0, done.stderr
    assert "Codex CLI 0.169.0" in done.stdout
    assert cells.provider.asked
