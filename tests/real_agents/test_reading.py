"""What the bridge reads of each API, however a stream is cut, and what the ledger makes of it."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from runner.agents.packaged import PACKAGED
from runner.agents.packaged.cell_end import AgentClock
from runner.agents.packaged.cell_ledger import CellLedger
from runner.agents.packaged.mcp_tap import ServerCallMade
from runner.agents.packaged.packaged_agent import PackagedAgent, program_settings
from runner.agents.packaged.program import require_machine
from runner.agents.packaged.treatment import SeenProgram, Treatment
from runner.agents.packaged.wire_reading import EventStream, GivenResult, ModelRequest, ReadReply
from runner.agents.usage import UsageTotals
from runner.protocols import Call
from runner.records import Event
from runner.support.errors import FairtrialError, NotTreatedError
from tests.real_agents.scripted_provider import Asked, Reply, ToolUse, Usage, events_of

REPLY = Reply(
    text="Look: ünï.",
    calls=(ToolUse(name="echo", arguments={"text": "a\nb"}),),
    usage=Usage(input_tokens=120, cached_tokens=100, output_tokens=9),
)
AGENTS = sorted(PACKAGED)


def stream(agent: PackagedAgent, reply: Reply) -> bytes:
    body = json.dumps({"model": "m"}).encode()
    asked = Asked(path=agent.dialect.path, headers={}, raw=body)
    return b"".join(events_of(asked, reply))


def read(agent: PackagedAgent, data: bytes, *, at_once: int = 7) -> ReadReply:
    """As it is read of a stream that comes in pieces of so many bytes."""
    reader, events = agent.dialect.begin_reply(), EventStream()
    for start in range(0, len(data), at_once):
        for event in events.feed(data[start : start + at_once]):
            reader.take(event)
    return reader.reply()


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("at_once", [1, 7, 100_000])
def test_a_reply_is_read_whole_however_its_bytes_are_cut(name: str, at_once: int) -> None:
    found = read(PACKAGED[name], stream(PACKAGED[name], REPLY), at_once=at_once)
    assert found.whole and found.turn.text == REPLY.text
    (call,) = found.turn.calls
    assert (call.tool, call.arguments) == ("echo", {"text": "a\nb"})
    counted = (found.turn.input_tokens, found.turn.cache_read_tokens, found.turn.output_tokens)
    assert counted == (20, 100, 9)
    assert found.turn.stop == "tool_use" and not found.turn.estimated


@pytest.mark.parametrize("name", AGENTS)
def test_a_stream_that_breaks_off_is_not_whole(name: str) -> None:
    data = stream(PACKAGED[name], REPLY)
    assert not read(PACKAGED[name], data[: len(data) // 2]).whole


@pytest.mark.parametrize("name", AGENTS)
def test_what_is_no_event_of_the_api_is_passed_over(name: str) -> None:
    noise = b': ping\n\ndata: [DONE]\n\ndata: {"no": \n\ndata: [1, 2]\n\nevent: x\n\n'
    found = read(PACKAGED[name], noise + stream(PACKAGED[name], REPLY) + noise)
    assert found.whole and found.turn.text == REPLY.text


def test_tokens_of_an_api_that_counts_none_are_estimated() -> None:
    agent = PACKAGED["opencode"]
    chunks = stream(agent, REPLY).split(b"\n\n")
    data = b"\n\n".join(chunk for chunk in chunks if b'"usage"' not in chunk)
    assert read(agent, data).turn.estimated


@pytest.mark.parametrize("name", AGENTS)
def test_the_settings_of_a_program_name_no_server_and_no_address(name: str) -> None:
    def settings(model: str, *, reads_repository: bool = True) -> str:
        return program_settings(PACKAGED[name], model, reads_repository=reads_repository)

    assert settings("m") == settings("m")
    # Whether it reads the repository's own instructions is in them.
    assert len({settings("m"), settings("other"), settings("m", reads_repository=False)}) == 3


def test_a_machine_that_an_agent_is_not_pinned_for_is_refused_in_plain_words() -> None:
    require_machine("Codex CLI 1", "x86_64")
    with pytest.raises(FairtrialError) as refused:
        require_machine("Codex CLI 1", "aarch64")
    assert "pinned for Linux on x86_64 alone" in str(refused.value)
    assert "machine is aarch64" in str(refused.value)


# --- the ledger ---------------------------------------------------------------------------------

OFFERED = {"mcp__good__echo": "echo"}


def request(
    agent: PackagedAgent, tools: list[str], *results: GivenResult, said: str = ""
) -> ModelRequest:
    offered = [
        {"type": "function", "name": name, "function": {"name": name}, "input_schema": {}}
        for name in tools
    ]
    told = [{"role": "user", "content": [{"type": "text", "text": said}]}]
    body: dict[str, Any] = {"model": "m", "tools": offered, "messages": told, "input": told}
    return replace(agent.dialect.read_request(body), results=results)


class Heard:
    """A ledger, and what it has recorded."""

    def __init__(self, agent: str = "codex") -> None:
        self.events: list[Event] = []
        self.agent = PACKAGED[agent]
        self.totals = UsageTotals()
        self.ledger = CellLedger(
            self.agent,
            dict(OFFERED),
            self.events.append,
            self.totals,
            names={"echo": "mcp__good__echo"},
        )

    def turn(self, reply: Reply, *results: GivenResult, conversation: str = "own") -> None:
        asked = request(self.agent, ["exec_command", *OFFERED], *results)
        where = self.ledger.asked(conversation, asked, 400)
        read_reply = read(self.agent, stream(self.agent, reply))
        self.ledger.answered(where, read_reply, backoff_sec=0.0, retries=0)

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]

    def calls_server(self) -> str:
        """The id of a call of echo."""
        call = ToolUse(namespace="mcp__good", name="echo", arguments={"text": "x"})
        self.turn(Reply(calls=(call,)))
        return str(self.of("tool_call")[-1].call_id)


def made(text: str, *, is_error: bool = False) -> ServerCallMade:
    return ServerCallMade(
        tool="echo", arguments={"text": "x"}, text=text, is_error=is_error, wall_sec=0.25
    )


def test_whether_a_call_succeeded_is_what_the_server_said() -> None:
    heard = Heard()
    call_id = heard.calls_server()
    heard.ledger.reached(made("no such file", is_error=True))
    # An agent's transcript may tell another story.
    heard.turn(Reply(text="Done."), GivenResult(call_id=call_id, text="a fine result"))
    (result,) = heard.of("tool_result")
    assert result.is_error and result.wall_sec == 0.25 and result.text == "a fine result"


def test_a_call_that_never_reached_the_server_has_not_succeeded() -> None:
    heard = Heard()
    call_id = heard.calls_server()
    heard.turn(Reply(text="Done."), GivenResult(call_id=call_id, text="a fine result"))
    assert [it.is_error for it in heard.of("tool_result")] == [True]


def test_a_call_that_no_turn_asked_for_is_on_the_record() -> None:
    heard = Heard()
    heard.turn(Reply(text="Done."))
    heard.ledger.reached(made("found"))
    heard.ledger.end_step()
    assert [it.origin for it in heard.of("tool_call")] == ["server"]
    assert "no turn asked for" in heard.of("note")[0].text


def test_calls_that_are_numbered_anew_each_turn_get_their_own_results() -> None:
    heard = Heard()
    for number in range(3):
        call = replace(heard.agent.recorded(Call(id="call_0", tool="exec_command", arguments={})))
        reply = ReadReply(turn=read(heard.agent, stream(heard.agent, Reply())).turn, whole=True)
        turn = replace(reply.turn, calls=(call,), stop="tool_use")
        held = [GivenResult(call_id="call_0", text=f"result {it}") for it in range(number)]
        where = heard.ledger.asked("own", request(heard.agent, ["exec_command"], *held), 0)
        heard.ledger.answered(where, replace(reply, turn=turn), backoff_sec=0, retries=0)
    assert [it.text for it in heard.of("tool_result")] == ["result 0", "result 1"]


def test_a_reply_that_broke_off_counts_and_says_nothing() -> None:
    heard = Heard()
    whole = read(heard.agent, stream(heard.agent, REPLY))
    where = heard.ledger.asked("own", request(heard.agent, ["exec_command"]), 0)
    heard.ledger.answered(where, replace(whole, whole=False), backoff_sec=0, retries=0)
    assert heard.of("prose") == [] and heard.of("tool_call") == []
    assert heard.totals.new_tokens.total == 129


def test_each_conversation_counts_its_tokens_once() -> None:
    heard = Heard()
    heard.turn(Reply(text="a", usage=Usage(input_tokens=1000, output_tokens=10)))
    sub = Usage(input_tokens=300, output_tokens=5)
    heard.turn(Reply(text="b", usage=sub), conversation="another")
    heard.turn(Reply(text="c", usage=Usage(input_tokens=1100, output_tokens=10)))
    assert heard.totals.new_tokens.total == 1000 + 10 + 300 + 5 + 90 + 10
    assert [it.text for it in heard.of("prose")] == ["a", "c"]
    assert [it.subagent for it in heard.of("usage")] == [None, "subagent 1", None]


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("tools", [[], ["exec_command"]])
def test_a_summary_is_marked_and_no_answer_whether_tools_are_offered_with_it(
    name: str, tools: list[str]
) -> None:
    heard, agent = Heard(name), PACKAGED[name]
    asks = f"{agent.compacts_by} And so on."
    asked = request(agent, tools, said=asks)
    where = heard.ledger.asked("own", asked, 0)
    whole = read(agent, stream(agent, Reply(text="Summed up.")))
    heard.ledger.answered(where, whole, backoff_sec=0, retries=0)
    assert [it.subagent for it in heard.of("usage")] == ["compaction"]
    assert heard.of("prose") == [] and "summed its conversation up" in heard.of("note")[0].text
    # Whoever quotes it asks for none.
    quoted = request(agent, ["exec_command"], said=f"What does `{asks}` do?")
    assert heard.ledger.asked("own", quoted, 0).subagent is None


def test_a_call_that_is_numbered_anew_after_a_summary_gets_its_own_result() -> None:
    heard = Heard()
    for number, said in enumerate(["", heard.agent.compacts_by, ""]):
        held = [GivenResult(call_id="call_0", text=f"result {number}")] if number != 2 else []
        asked = request(heard.agent, ["exec_command"], *held[number == 0 :], said=said)
        where = heard.ledger.asked("own", asked, 0)
        reply = ReadReply(turn=read(heard.agent, stream(heard.agent, Reply())).turn, whole=True)
        calls = () if said else (Call(id="call_0", tool="exec_command", arguments={}),)
        turn = replace(reply.turn, calls=calls)
        heard.ledger.answered(where, replace(reply, turn=turn), backoff_sec=0, retries=0)
    given = GivenResult(call_id="call_0", text="result 2")
    heard.ledger.asked("own", request(heard.agent, ["exec_command"], given), 0)
    assert [it.text for it in heard.of("tool_result")] == ["result 1", "result 2"]


# --- treatment ----------------------------------------------------------------------------------


def treated(
    server: str, tools: list[str], name: str = "codex", system: str = ""
) -> list[SeenProgram]:
    agent, seen = PACKAGED[name], list[SeenProgram]()
    wanted = {agent.server_tool(server, "list-files"): "list-files"} if server else {}
    treatment = Treatment(
        agent=agent,
        server=server,
        server_tools=wanted,
        run_servers=["my.server"],
        seen=seen.append,
    )
    treatment.require(replace(request(agent, tools), system=system), b"")
    return seen


def test_both_arms_show_the_same_program() -> None:
    # Agents spell names each in its own way, and offer resources only where there is a server.
    offered = ["exec_command", "mcp__my_server__list_files", "list_mcp_resources"]
    assert treated("my_server", offered) == treated("", ["exec_command"])


@pytest.mark.parametrize(
    ("name", "tool"),
    [("codex", "mcp__x__y"), ("claude-code", "mcp__x__y"), ("opencode", "my_server_y")],
)
def test_a_shells_arm_that_is_offered_a_servers_tool_is_no_shells_arm(name: str, tool: str) -> None:
    with pytest.raises(NotTreatedError, match=tool):
        treated("", ["bash", tool], name)


DECLARED = """\
Be brief.
<tools>
Deferred tool namespaces:
- mcp__{}: First ask
- echo: then more.
</tools>"""


def test_a_server_whose_tools_codex_searches_for_is_the_only_difference() -> None:
    shell = treated("", ["exec_command", "tool_search"], system="Be brief.")
    served = ["exec_command", "tool_search", "list_mcp_resources"]
    (found,) = treated("my_server", served, system=DECLARED.format("my-server"))
    # The fingerprint names it, apart from the program itself.
    assert found.tools_searched and [replace(found, tools_searched=False)] == shell


@pytest.mark.parametrize("server", ["", "my_server"])
def test_another_server_that_is_declared_is_no_arm_of_ours(server: str) -> None:
    with pytest.raises(NotTreatedError):
        treated(server, ["exec_command", "tool_search"], system=DECLARED.format("another"))


def test_newer_models_are_told_of_their_tools_in_the_conversation() -> None:
    tool = {"type": "custom", "name": "exec"}
    told = {"type": "additional_tools", "role": "developer"}
    items = [{**told, "tools": [{"type": "namespace", "name": "functions", "tools": [tool]}]}]
    read_request = PACKAGED["codex"].dialect.read_request({"model": "m", "input": items})
    assert [it.name for it in read_request.tools] == ["functions__exec"]


@pytest.mark.parametrize("name", AGENTS)
def test_a_servers_arm_without_its_tools_is_none(name: str) -> None:
    with pytest.raises(NotTreatedError, match="no tool of my_server"):
        treated("my_server", ["bash"], name)


def test_a_request_without_tools_is_not_the_agents_first() -> None:
    assert treated("my_server", []) == []


# --- whose seconds ------------------------------------------------------------------------------


def test_from_a_failed_attempt_to_the_next_answer_nobody_works() -> None:
    clock, began = AgentClock(), time.monotonic()
    clock.start()
    time.sleep(0.05)
    clock.failed(time.monotonic() - 0.05)
    time.sleep(0.05)
    assert clock.agent_sec <= time.monotonic() - began - 0.1
    assert clock.recovered() >= 0.1
    time.sleep(0.05)
    clock.stop()
    assert clock.backoff_sec >= 0.1 and clock.agent_sec >= 0.05
