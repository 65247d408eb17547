"""Replaying a recording against real tools."""

from __future__ import annotations

import asyncio
from pathlib import Path

import docker
import pytest

from runner.agents.models.offline.navigator import Offline
from runner.agents.models.replay import Replay, arms_to_play, require_recordings
from runner.protocols import OfCells, Turn, UserMessage
from runner.records import Cell, Event, OutcomeKind, Prompt, Prose, StepEnd, ToolCall
from runner.records.run_store import RunStore
from runner.records.transcript_files import TranscriptWriter
from runner.support.errors import FairtrialError, ProviderError
from tests.helpers import Ask, Scripted, asking, calls, says, scenario
from tests.report.loaded import cell, loaded, result, unfinished

pytestmark = pytest.mark.docker
ASKED = scenario(
    "Who calls `finish_up`?", "Which tests cover `dispatch_all`?", tokens=10**6, actions=1000
)
SOURCE = """\
def dispatch_all():
    return finish_up(1)


def finish_up(code):
    return code
"""
FILES = {"app.py": SOURCE}


@pytest.fixture(scope="module")
def recorded(engine: docker.DockerClient, base_image: str) -> list[Event]:
    """A conversation over FILES."""
    _, events, _ = asking(engine, base_image)(Offline(), ASKED, FILES)
    return events


def written(events: list[Event], folder: Path) -> Path:
    path = folder / "transcript.jsonl"
    with TranscriptWriter(path) as writer:
        for event in events:
            writer.write(event)
    return path


@pytest.fixture
def recording(recorded: list[Event], tmp_path: Path) -> Path:
    return written(recorded, tmp_path)


def test_unchanged_tools_replay_without_a_difference(ask: Ask, recording: Path) -> None:
    model = Replay(str(recording))
    outcome, events, _ = ask(model, ASKED, FILES)
    assert outcome.kind == "answered"
    assert model.compared > 3
    assert model.differences == []
    assert any(isinstance(event, Prose) for event in events)


def test_a_tool_that_answers_otherwise_is_named_with_the_first_line_that_differs(
    ask: Ask, recording: Path
) -> None:
    model = Replay(str(recording))
    # A line on top: what stood in line 5 stands in line 6.
    ask(model, ASKED, {"app.py": "\n" + SOURCE})
    first = model.differences[0]
    assert (first.tool, first.step) == ("shell", 0)
    assert first.recorded == "./app.py:5:def finish_up(code):"
    assert first.now == "./app.py:6:def finish_up(code):"


def test_a_recording_of_another_scenario_is_refused(ask: Ask, recording: Path) -> None:
    with pytest.raises(ProviderError, match="another prompt at step 1"):
        ask(Replay(str(recording)), scenario("Something else?"), FILES)


def test_a_recording_that_was_cut_off_says_where_it_ends(ask: Ask, recording: Path) -> None:
    lines = recording.read_bytes().splitlines(keepends=True)
    recording.write_bytes(b"".join(lines[: len(lines) // 2]))
    with pytest.raises(ProviderError, match="the recording"):
        ask(Replay(str(recording)), ASKED, FILES)


def test_a_folder_of_an_attempt_is_a_recording_too(recording: Path) -> None:
    assert Replay(str(recording.parent)).identity == Replay(str(recording)).identity


def test_two_recordings_are_two_models(recording: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.jsonl"
    # As long as the other: neither name nor size may tell them apart.
    changed.write_bytes(recording.read_bytes().replace(b"finish_up", b"finish_it"))
    assert Replay(str(changed)).identity != Replay(str(recording)).identity


def test_no_recording_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(FairtrialError, match="there is no recording") as caught:
        Replay(str(tmp_path / "nothing.jsonl"))
    assert caught.value.where.endswith("nothing.jsonl")


def test_a_turn_that_paused_or_could_not_be_read_does_not_end_its_step(
    ask: Ask, tmp_path: Path
) -> None:
    asked = scenario("Who?", tokens=10**6)
    model = Scripted(
        Turn(text="First,", calls=(), stop="pause", input_tokens=1, output_tokens=1),
        Turn(
            text="<odd>", calls=(), stop="malformed", input_tokens=1, output_tokens=1, problem="odd"
        ),
        calls("cat app.py"),
        says("then finish_up, app.py:5."),
    )
    _, events, _ = ask(model, asked, FILES)
    replayed = Replay(str(written(events, tmp_path)))
    outcome, again, _ = ask(replayed, asked, FILES)
    assert outcome.kind == "answered"
    assert replayed.compared == 1
    said = [event.text for event in again if isinstance(event, Prose)]
    assert said == ["First,", "then finish_up, app.py:5."]


# --- whose recording it is ------------------------------------------------------------------


def asked_in(server: str, path: Path, trial: int = 1) -> Cell:
    model = f"replay:{path}"
    return Cell(scenario="small", server=server, model=model, trial=trial, inputs={})


@pytest.fixture
def stored(tmp_path: Path) -> RunStore:
    """A run whose shell and codegraph were recorded, and whose cclsp broke."""
    cells = [cell("small"), cell("small", "codegraph"), cell("small", "cclsp")]
    store = RunStore(tmp_path / "run")
    store.write_plan(loaded([unfinished(one) for one in cells]).plan)
    for one in cells:
        attempt = store.begin(one)
        with TranscriptWriter(attempt.path / "transcript.jsonl") as writer:
            writer.write(Prompt(step=0, text="Who?"))
            writer.write(Prose(step=0, turn=0, text=one.server))
            writer.write(StepEnd(step=0, stop="end"))
        kind: OutcomeKind = "sandbox_failed" if one.server == "cclsp" else "answered"
        ended = result(one, kind, transcript=writer.digest, events=writer.events)
        store.finish(attempt, ended)
    return store


def test_an_arm_without_a_recording_of_its_own_is_told_which_there_are(stored: RunStore) -> None:
    require_recordings([asked_in(name, stored.folder) for name in ("shell", "codegraph")])
    with pytest.raises(FairtrialError, match="no recording of cclsp on small, trial 1") as caught:
        require_recordings([asked_in("cclsp", stored.folder)])
    listed = "there is one of shell on small, trial 1; codegraph on small, trial 1;"
    assert listed in caught.value.hint
    with pytest.raises(FairtrialError, match="no recording of shell on small, trial 2"):
        require_recordings([asked_in("shell", stored.folder, trial=2)])


def test_each_arm_of_a_run_plays_its_own_turns(stored: RunStore) -> None:
    assert _first_words(stored.folder, "shell") == "shell"
    assert _first_words(stored.folder, "codegraph") == "codegraph"
    # A run's folder is one model: arms of different identities would be compared with nobody.
    assert Replay(str(stored.folder)).identity == Replay(str(stored.folder)).identity
    with pytest.raises(ProviderError, match="nothing says which to play"):
        asyncio.run(Replay(str(stored.folder)).turn("", [], [], timeout_sec=1))


def _first_words(run: Path, server: str) -> str:
    replay = Replay(str(run))
    replay.take_cell(asked_in(server, run))
    turn = asyncio.run(replay.turn("", [UserMessage(text="Who?")], [], timeout_sec=1))
    return turn.text


def test_a_shell_that_nobody_asked_for_is_left_out_of_a_servers_replay(stored: RunStore) -> None:
    (attempt,) = stored.ended_attempts(cell("small", "codegraph").id)
    of_server, of_run = f"replay:{attempt.path}", f"replay:{stored.folder}"
    servers = ["shell", "codegraph"]
    assert arms_to_play(servers, ["codegraph"], [of_server]) == ["codegraph"]
    assert arms_to_play(servers, servers, [of_server]) == servers
    assert arms_to_play(servers, ["codegraph"], [of_run]) == servers
    assert arms_to_play(servers, ["codegraph"], ["offline"]) == servers
    assert arms_to_play(servers, ["codegraph"], ["offline", of_server]) == servers


def test_one_attempts_recording_plays_in_its_own_arm_alone_in_any_trial(stored: RunStore) -> None:
    (attempt,) = stored.ended_attempts(cell("small", "codegraph").id)
    require_recordings([asked_in("codegraph", attempt.path, trial=3)])
    for server in ("shell", "cclsp"):
        replay = Replay(str(attempt.path))
        with pytest.raises(ProviderError, match=f"no recording of {server} on small"):
            replay.take_cell(asked_in(server, attempt.path))


def test_a_transcript_that_stands_alone_and_calls_a_server_is_not_the_shells(
    tmp_path: Path,
) -> None:
    path = tmp_path / "alone.jsonl"
    call = ToolCall(step=0, turn=0, call_id="1", origin="server", tool="find", arguments={})
    with TranscriptWriter(path) as writer:
        writer.write(call)
    require_recordings([asked_in("codegraph", path)])
    with pytest.raises(FairtrialError, match="no recording of shell"):
        require_recordings([asked_in("shell", path)])


def test_a_run_recorded_by_two_models_does_not_say_whose_turns_to_play(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "run")
    cells = [cell("small", model=model) for model in ("claude-a", "claude-b")]
    store.write_plan(loaded([unfinished(one) for one in cells]).plan)
    for one in cells:
        store.finish(store.begin(one), result(one))
    with pytest.raises(FairtrialError, match="several recordings") as caught:
        require_recordings([asked_in("shell", store.folder)])
    assert "those of claude-a, claude-b" in caught.value.hint


def test_a_replay_is_told_its_cell_and_no_other_model_is() -> None:
    assert not isinstance(Offline(), OfCells)
    assert issubclass(Replay, OfCells)
