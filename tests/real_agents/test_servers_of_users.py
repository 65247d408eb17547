"""Codex and OpenCode with servers of many tools and a slow start, and in a repository that tells
them something.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import docker
import pytest

from tests.real_agents.cells import TOLD, Cells, Ran, open_cells
from tests.real_agents.policies import looking, server_tools
from tests.real_agents.scripted_provider import Asked, Reply
from tests.test_environment import RUNS

pytestmark = pytest.mark.docker
LOOKS = {
    "serena_agent": looking(
        server="serena_agent",
        tool="find_symbol",
        arguments={"name_path_pattern": "App/finish_up", "include_body": True},
    ),
    "code_index_mcp": looking(
        server="code_index_mcp",
        tool="get_symbol_body",
        arguments={"file_path": "app.py", "symbol_name": "App.finish_up"},
    ),
    "mcp_ripgrep": looking(
        server="mcp_ripgrep",
        tool="search",
        arguments={"pattern": "def finish_up", "path": "/workspace"},
    ),
}
SERVERS = ("serena-agent", "code-index-mcp", "mcp-ripgrep")


@pytest.fixture(scope="module", params=["codex", "opencode"])
def cells(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    engine: docker.DockerClient,
    base_image: str,
) -> Iterator[Cells]:
    assert base_image  # it is there before any checkout needs it
    agent = request.param
    with open_cells(agent, tmp_path_factory.mktemp(agent) / "checkout", engine) as opened:
        for name in SERVERS:
            opened.add_shipped(name)
        opened.add_told()
        yield opened


def policy(asked: Asked) -> Reply:
    """Looks with what it is offered, and answers."""
    for server, look in LOOKS.items():
        if server_tools(asked, server):
            return look(asked)
    return looking()(asked)


# --- servers ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ran(cells: Cells) -> Ran:
    words = [word for name in SERVERS for word in ("--server", name)]
    ran = cells.run(policy, "--scenario", "small", *words, name="ran")
    assert ran.code == 0, ran.said
    return ran


def test_each_server_is_called_answered_scored_and_compared(ran: Ran) -> None:
    assert [it.outcome for it in ran.attempts] == ["answered"] * 4
    report = json.loads((ran.folder / "report.json").read_text())
    assert report["incomparable"] == [] and report["contradictions"] == []
    arms = {arm["server"]: arm for arm in report["arms"]}
    for name in SERVERS:
        assert arms[name]["delta"]["pairs"] == 1
        assert arms[name]["fairness"]["score"]["value"] > 0.9
        calls = [it for it in ran.of(name).of("tool_call") if it["origin"] == "server"]
        results = {it["call_id"]: it for it in ran.of(name).of("tool_result")}
        (result,) = [results[it["call_id"]] for it in calls]
        assert "finish_up" in result["text"] and not result["is_error"]


def test_all_of_their_tools_are_offered_however_many(ran: Ran) -> None:
    for name in SERVERS:
        listed = ran.of(name).result["fingerprint"]["tools"]["names"]
        offered = [server_tools(it, name.replace("-", "_")) for it in ran.asked]
        assert {len(tools) for tools in offered if tools} == {len(listed)}
        assert "were not offered" not in ran.of(name).notes
        assert ran.of(name).program == ran.of("shell").program
    assert len(ran.of("serena-agent").result["fingerprint"]["tools"]["names"]) > 15


def test_a_slow_start_is_no_time_of_the_agents(ran: Ran) -> None:
    timings = ran.of("serena-agent").result["timings"]
    started_sec = timings["initialize_sec"] + timings["warm_up_sec"] + timings["canary_sec"]
    assert timings["agent_sec"] + started_sec < timings["total_sec"]


# --- what a repository tells --------------------------------------------------------------------


def told(ran: Ran) -> dict[str, bool]:
    """Arm -> was the model told, in its first request with tools?"""
    found: dict[str, bool] = {}
    for it in ran.asked:
        if it.tools:
            arm = "good" if server_tools(it) else "shell"
            found.setdefault(arm, TOLD.strip() in it.text)
    return found


HUGE_CHARS = 2_000_000
RESULT_CHARS = 400_000
"""What an agent keeps of a result is no more, whatever a server sends."""


@pytest.fixture(scope="module")
def told_and_not(cells: Cells) -> tuple[Ran, Ran]:
    """The same twice: the repository's own file is read, and is not."""
    file = cells.checkout.root / f"images/agents/{cells.agent}/agent.yaml"
    shipped = file.read_text()
    huge = looking(f"{RUNS} && echo they run", tool="big", arguments={"chars": HUGE_CHARS})

    def run(*, is_read: bool) -> Ran:
        setting = f"reads_repository: {str(is_read).lower()}\n"
        file.write_text(re.sub(r"reads_repository: (true|false)\n", setting, shipped))
        return cells.run(huge, "--scenario", "told", "--server", "good")

    both = run(is_read=True), run(is_read=False)
    file.write_text(shipped)
    return both


def test_what_a_repository_tells_agents_is_told_to_both_arms_or_to_none(
    told_and_not: tuple[Ran, Ran],
) -> None:
    for ran, is_read in zip(told_and_not, (True, False), strict=True):
        assert told(ran) == {"shell": is_read, "good": is_read}, ran.said
    # Cells that differ in it are other cells, and are not compared.
    attempts = [it for ran in told_and_not for it in ran.attempts]
    assert len({it.program["settings"] for it in attempts}) == 2
    assert len({it.folder.parent.name for it in attempts}) == 4


# --- what does not fit, and what has to run -----------------------------------------------------


def test_a_huge_result_is_cut_by_the_agent_and_on_the_record_in_its_full_size(
    told_and_not: tuple[Ran, Ran],
) -> None:
    was_told, _ = told_and_not
    good = was_told.of("good")
    assert good.outcome == "answered"
    (call,) = [it for it in good.of("tool_call") if it["origin"] == "server"]
    (result,) = [it for it in good.of("tool_result") if it["call_id"] == call["call_id"]]
    assert (result["size_chars"], result["truncated"]) == (HUGE_CHARS, True)
    assert len(result["text"]) < RESULT_CHARS
    assert max(len(it.raw) for it in was_told.asked) < RESULT_CHARS
    lines = (good.folder / "server.messages.jsonl").read_text().splitlines()
    kept = [json.loads(line) for line in lines]
    assert max(it["chars"] for it in kept) > HUGE_CHARS
    assert max(map(len, lines)) < 10_000
    assert (good.folder / "transcript.jsonl").stat().st_size < 2 * RESULT_CHARS


def test_a_repositorys_tests_run_in_the_agents_own_shell_in_both_arms(
    told_and_not: tuple[Ran, Ran],
) -> None:
    was_told, _ = told_and_not
    for arm in ("shell", "good"):
        (call,) = [it for it in was_told.of(arm).of("tool_call") if it["origin"] == "shell"]
        results = {it["call_id"]: it for it in was_told.of(arm).of("tool_result")}
        result = results[call["call_id"]]
        assert "they run" in result["text"] and not result["is_error"]
