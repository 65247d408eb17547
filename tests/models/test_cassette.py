"""A recorded cell of a language model, played with no key and no weights."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker
import pytest
from llmock.pytest_plugin import LLMock

from runner.agents.choosing import agent_for
from runner.agents.models import open_model
from runner.agents.models.model_settings import Endpoint, ModelSettings
from runner.agents.models.replay import Replay
from runner.protocols import Model
from runner.records import Event, Malformed, Note, Prompt, SystemPrompt, Usage
from runner.records.transcript_files import TranscriptWriter, read_transcript
from tests.checkout import SOURCE, Checkout, make
from tests.checkout import scenario as scenario_yaml
from tests.helpers import converse_here, scenario

CASSETTE = Path(__file__).parent / "cassettes" / "qwen2.5-coder-1.5b.jsonl"
RECORDED = read_transcript(CASSETTE)
(QUESTION,) = [event.text for event in RECORDED if isinstance(event, Prompt)]
SECONDS = {"wall_sec", "waited_sec", "backoff_sec", "queued_sec"}


def played(events: Sequence[Event]) -> list[dict[str, Any]]:
    """All but seconds, and what the agent of today is told first."""
    shown = [event for event in events if not isinstance(event, SystemPrompt)]
    return [event.model_dump(exclude=SECONDS) for event in shown]


def test_the_cassette_is_small_and_says_nothing_of_the_machine_it_was_made_on() -> None:
    content = CASSETTE.read_bytes()
    assert len(content) < 200_000
    assert not re.search(rb"/(home|root|tmp|Users|work)/", content)
    usage = [event for event in RECORDED if isinstance(event, Usage)]
    assert all(turn.input_tokens and not turn.estimated for turn in usage)


def test_a_recorded_language_model_plays_without_a_key_to_the_same_transcript(
    tmp_path: Path,
) -> None:
    (tmp_path / "app.py").write_text(SOURCE)
    model = Replay(str(CASSETTE))
    asked = scenario(QUESTION, tokens=20_000, actions=3)
    held = converse_here("json_actions", model, asked, tmp_path)
    assert held.outcome.kind == "answered"
    assert played(held.events) == played(RECORDED)
    assert (model.compared, model.differences) == (1, [])
    assert not model.language_model


def test_a_tool_that_answers_the_recorded_model_otherwise_is_told(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("\n" + SOURCE)
    model = Replay(str(CASSETTE))
    asked = scenario(QUESTION, tokens=20_000, actions=3)
    converse_here("json_actions", model, asked, tmp_path)
    (difference,) = model.differences
    assert difference.now == "4:        return self.finish_up(1)"


# --- what only some conversations hold ----------------------------------------------------------


def action(tool: str, answer: str = "") -> str:
    arguments = {} if tool == "answer" else {"command": "cat app.py"}
    return json.dumps({"thought": "Hm.", "tool": tool, "arguments": arguments, "answer": answer})


REPLIES = [
    "No JSON.",
    action("shell"),
    action("shell"),
    # Past the limit of calls.
    action("shell"),
    action("answer", "First."),
    action("answer", "Second."),
]


@pytest.fixture
def recorded(llmock: LLMock, tmp_path: Path) -> Path:
    """A conversation in which much went wrong, over an API."""
    (tmp_path / "app.py").write_text(SOURCE)
    for text in REPLIES:
        llmock.reply(text)
    endpoint = Endpoint(key="sk-0123456789", url=llmock.base_url("openai"))
    model = open_model("openai:test", ModelSettings(openai=endpoint))
    return transcript(model, tmp_path / "first.jsonl")


ASKED = scenario("One?", "Two?", tokens=10**6, actions=2)


def transcript(model: Model, path: Path) -> Path:
    """Of a conversation about what lies beside it."""
    held = converse_here("json_actions", model, ASKED, path.parent)
    with TranscriptWriter(path) as writer:
        for event in held.events:
            writer.write(event)
    return path


def test_bad_form_and_being_told_to_answer_play_as_they_were(
    recorded: Path, tmp_path: Path
) -> None:
    before = read_transcript(recorded)
    assert sum(isinstance(event, Malformed) for event in before) == 2
    assert any(isinstance(event, Note) for event in before)
    again = read_transcript(transcript(Replay(str(recorded)), tmp_path / "again.jsonl"))
    assert again[0] == before[0], "the agent is told the same"
    assert played(again) == played(before)


def test_a_recording_is_played_by_the_agent_that_made_it(recorded: Path) -> None:
    assert agent_for([f"replay:{recorded}"]) == "json_actions"
    assert agent_for([f"replay:{recorded}", "local:a.gguf"]) == "json_actions"


# --- in a real cell -----------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path, engine: docker.DockerClient, base_image: str) -> Iterator[Checkout]:
    """The checkout that the cell was recorded in, as to its files and its question."""
    made = make(tmp_path / "checkout")
    asked = scenario_yaml(f"file://{made.root}/upstream", made.commit)
    asked["steps"][0]["prompt"] = QUESTION
    made.write("scenarios/core/small/scenario.yaml", asked)
    yield made
    with suppress(docker.errors.NotFound):
        made.remove_images(engine)


@pytest.mark.docker
def test_the_cassette_plays_in_a_real_cell_and_its_report_says_what_it_is(
    checkout: Checkout,
) -> None:
    asked = ["cell", "small", "shell", "--run", "tape", "--ungated", "--model"]
    keyless = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
    done = checkout.said(*asked, f"replay:{CASSETTE}", **keyless)
    assert done.returncode == 0, done.stderr
    attempt = checkout.attempt("tape", "shell")
    assert played(read_transcript(attempt / "transcript.jsonl")) == played(RECORDED)
    assert "0 of 1 replayed tool results differ" in done.stderr
    assert "Made from a replayed recording" in done.stdout
    assert "ranks nobody" in done.stdout
    fingerprint = json.loads((attempt / "result.json").read_text())["fingerprint"]
    assert fingerprint["model_kind"] == "replay"
