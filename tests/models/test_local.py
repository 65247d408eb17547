"""Weights of this machine: llama.cpp's own server, over weights that the tests write."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import docker
import httpx2
import pytest

from runner.agents.choosing import agent_for
from runner.agents.models import open_model, weights_server
from runner.agents.models.model_settings import Endpoint, LocalSettings, ModelSettings
from runner.agents.models.weights_server import find, locate_weights, served, short_name
from runner.agents.spending import price_of, read_prices
from runner.protocols import Turn, UserMessage
from runner.records import NewTokens
from runner.support.errors import FairtrialError, ProviderRefused
from tests.checkout import Checkout, make
from tests.helpers import PATIENCE_SEC, wait_until
from tests.models.tiny_weights import write_weights

SAYS_OK = ("\no", "ok", "k}")
"""To any question `ok}`."""


IN_QUOTES = ('"o', "ok", 'k"', '"a')
"""Held to a schema: `ok` for every text, and the answer at once."""


def nobody(_: str) -> None:
    """Told of every step; these tests do not listen."""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    write_weights(path, *SAYS_OK)
    return path


def settings_for(path: Path, **changes: Any) -> tuple[str, ModelSettings]:
    """The model's name, and what it is opened with."""
    (name,), files = locate_weights([f"local:{path}"], nobody)
    local = LocalSettings(files=files, context_tokens=4096, **changes)
    return name, ModelSettings(local=local, thinking_tokens=0, output_tokens=64)


def turn_of(model: str, settings: ModelSettings, *texts: str) -> list[Turn]:
    """A turn for each text, each a new question to one cell's model."""
    opened = open_model(model, settings)

    async def ask() -> list[Turn]:
        turns = []
        for text in texts:
            asked = [UserMessage(text=text)]
            turns.append(await opened.turn("Be brief.", asked, (), timeout_sec=PATIENCE_SEC))
        await opened.close()
        return turns

    return asyncio.run(ask())


def counted(turn: Turn) -> tuple[str, int, int, int]:
    """What was said, and for how many tokens."""
    return turn.text, turn.input_tokens, turn.output_tokens, turn.cache_read_tokens


def new_tokens(turns: list[Turn]) -> int:
    tokens = NewTokens()
    return sum(map(tokens.add, turns))


def answers(url: str) -> bool:
    place = urlsplit(url)
    with suppress(OSError), socket.create_connection((place.hostname, place.port or 0), timeout=5):
        return True
    return False


# --- what answers -------------------------------------------------------------------------------


def test_both_sdks_get_the_same_answer_of_one_server_and_nobody_without_its_key(
    small: Path,
) -> None:
    name, settings = settings_for(small)
    with served([name], settings, os.environ, nobody) as up:
        at = up.local.served["small.gguf"]
        (own,) = turn_of(name, up, "Hello?")
        chat = replace(settings, openai=at)
        bare = Endpoint(key=at.key, url=at.url.removesuffix("/v1"))
        messages = replace(settings, anthropic=bare)
        (by_chat,) = turn_of("openai:small.gguf", chat, "Hello?")
        (by_messages,) = turn_of("anthropic:small.gguf", messages, "Hello?")
        assert httpx2.post(f"{at.url}/chat/completions", json={}).status_code == 401
    assert own.text == by_chat.text == by_messages.text == "ok}"
    assert own.served_by == by_messages.served_by == "small.gguf"
    read = {turn.input_tokens + turn.cache_read_tokens for turn in (own, by_chat, by_messages)}
    assert len(read) == 1
    assert not answers(at.url), "it ends with the run"


def test_no_cell_gains_by_what_the_one_before_has_asked(small: Path) -> None:
    name, settings = settings_for(small)
    with served([name], settings, os.environ, nobody) as up:
        first = turn_of(name, up, "Hello?", "Hello?")
        second = turn_of(name, up, "Hello?", "Hello?")
        beside = replace(up, local=replace(up.local, jobs=2))
        third = turn_of(name, beside, "Hello?", "Hello?")
    assert [counted(turn) for turn in first] == [counted(turn) for turn in second]
    assert [turn.cache_read_tokens > 0 for turn in first] == [False, True]
    assert [turn.cache_read_tokens for turn in third] == [0, 0]
    assert new_tokens(first) == new_tokens(third), "whatever the server still held"


def test_a_conversation_longer_than_its_room_is_out_of_context(small: Path) -> None:
    name, settings = settings_for(small)
    settings = replace(settings, local=replace(settings.local, context_tokens=512))
    with served([name], settings, os.environ, nobody) as up:
        (turn,) = turn_of(name, up, "long " * 500)
    assert turn.stop == "context_full"


# --- what it is called, and what it costs -------------------------------------------------------


def test_a_file_is_the_same_model_wherever_it_lies(small: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "small.gguf"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(small.read_bytes())
    opened = [open_model(*settings_for(path)) for path in (small, elsewhere)]
    assert opened[0].identity == opened[1].identity
    assert {model.name for model in opened} == {"local:small.gguf"}
    write_weights(elsewhere, "ab")
    assert open_model(*settings_for(elsewhere)).identity != opened[0].identity


@pytest.mark.parametrize("changed", [{"threads": 2}, {"context_tokens": 512}])
def test_what_the_server_is_started_with_makes_another_model(
    small: Path, changed: dict[str, Any]
) -> None:
    name, settings = settings_for(small)
    other = replace(settings, local=replace(settings.local, **changed))
    assert open_model(name, settings).identity != open_model(name, other).identity


def test_two_files_of_one_name_cannot_be_told_apart_in_a_report(
    small: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "small.gguf"
    other.parent.mkdir()
    write_weights(other, "ab")
    with pytest.raises(FairtrialError, match=r"two files are called small\.gguf"):
        locate_weights([f"local:{small}", f"local:{other}"], nobody)


def test_only_local_weights_lose_their_folder() -> None:
    assert short_name("local:/models/a.gguf") == "local:a.gguf"
    assert short_name("replay:runs/x") == "replay:runs/x"
    assert locate_weights(["offline", "offline", "local:"], nobody) == (["offline", "local:"], {})


def test_local_weights_cost_nothing_and_answer_in_json_unless_they_are_asked_otherwise() -> None:
    price = price_of(read_prices(None), "local:a.gguf")
    assert price is not None
    assert price.cost_usd(Turn(text="", calls=(), stop="end", input_tokens=9, output_tokens=9)) == 0
    assert agent_for(["local:a.gguf", "local:b.gguf"]) == "json_actions"
    assert agent_for(["offline", "claude-x"]) == "tool_calling"
    with pytest.raises(FairtrialError) as raised:
        agent_for(["local:a.gguf", "offline"])
    assert "--agent" in raised.value.hint


# --- what cannot be served ----------------------------------------------------------------------


def test_a_file_that_is_no_weights_is_refused_before_anything_starts(tmp_path: Path) -> None:
    page = tmp_path / "page.gguf"
    page.write_text("<html>not found</html>")
    part = tmp_path / "big-00001-of-00003.gguf"
    write_weights(part, "ab")
    for path, what in (
        (tmp_path / "nowhere.gguf", "there are no weights"),
        (tmp_path, "there are no weights"),
        (page, "this is no GGUF file"),
        (part, "this is one part of several"),
    ):
        with pytest.raises(FairtrialError, match=what) as raised:
            find(str(path), nobody)
        assert raised.value.where == str(path)


def test_a_file_that_was_cut_off_is_told_in_the_servers_own_words(small: Path) -> None:
    small.write_bytes(small.read_bytes()[:100_000])
    name, settings = settings_for(small)
    with (
        pytest.raises(FairtrialError, match=r"small\.gguf did not come up") as raised,
        served([name], settings, os.environ, nobody),
    ):
        pass
    assert "failed to load model" in raised.value.what
    assert "is the file whole" in raised.value.hint


def test_without_the_package_the_hint_says_how_to_get_it(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, settings = settings_for(small)
    monkeypatch.setattr(weights_server, "PACKAGE", "no-such-package")
    with pytest.raises(FairtrialError) as raised:
        open_model(name, settings)
    assert raised.value.hint == "install it with `pip install 'fairtrial[local]'`"


def test_weights_that_nobody_serves_are_asked_nowhere_else(small: Path) -> None:
    with pytest.raises(ProviderRefused, match="the weights are not served"):
        turn_of(*settings_for(small), "Hello?")


# --- how a server ends --------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Every server's process, as it starts."""
    processes = []
    start = weights_server._started

    def noted(*arguments: Any) -> subprocess.Popen[bytes]:
        processes.append(start(*arguments))
        return processes[-1]

    monkeypatch.setattr(weights_server, "_started", noted)
    return processes


def test_a_server_that_dies_ends_the_run_with_its_last_lines(
    small: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    name, settings = settings_for(small)
    lines: list[str] = []
    with (
        pytest.raises(ProviderRefused, match="the server of the weights has ended"),
        served([name], settings, os.environ, lines.append) as up,
    ):
        started[0].kill()
        started[0].wait()
        turn_of(name, up, "Hello?")
    assert any("small.gguf ended before the run" in line for line in lines)


def test_a_server_gets_no_key_of_the_user(
    small: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    name, settings = settings_for(small)
    environ = {"PATH": os.environ["PATH"]}
    with served([name], settings, environ, nobody) as up:
        pid = started[0].pid
        handed = Path(f"/proc/{pid}/environ").read_text() + Path(f"/proc/{pid}/cmdline").read_text()
        assert up.local.served["small.gguf"].key not in handed, "anybody could read it there"
    assert "GOMP_SPINCOUNT=0" in handed
    assert "HOME" not in handed


KILLED = """\
import sys, time
from runner.agents.models.model_settings import LocalSettings, ModelSettings
from runner.agents.models.weights_server import locate_weights, served
names, files = locate_weights([f"local:{sys.argv[1]}"], lambda line: None)
settings = ModelSettings(local=LocalSettings(files=files, context_tokens=512))
with served(names, settings, {}, lambda line: None) as up:
    print(up.local.served["small.gguf"].url, flush=True)
    time.sleep(3600)
"""


def test_a_server_ends_with_a_runner_that_is_killed(small: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(small)], stdout=subprocess.PIPE, text=True
    ) as runner:
        assert runner.stdout is not None
        url = runner.stdout.readline().strip()
        assert answers(url)
        runner.kill()
    wait_until(lambda: not answers(url), "the server ended")


# --- a cell -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkout(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, base_image: str
) -> Iterator[Checkout]:
    """A small checkout, and nothing left of it on the engine."""
    made = make(tmp_path_factory.mktemp("local") / "checkout")
    yield made
    made.remove(engine)


@pytest.mark.docker
def test_local_weights_answer_a_cell_and_no_byte_of_the_run_says_where_they_lie(
    checkout: Checkout, small: Path
) -> None:
    write_weights(small, *IN_QUOTES)

    def answer(path: Path) -> subprocess.CompletedProcess[str]:
        asked = ["cell", "small", "shell", "--run", "local", "--ungated"]
        room = ["--context-tokens", "8192", "--output-tokens", "200", "--thinking-tokens", "0"]
        return checkout.fairtrial(*asked, "--model", f"local:{path}", *room)

    done = answer(small)
    assert done.returncode == 0, done.stderr
    assert checkout.outcomes("local") == {"shell": ["answered"]}
    assert "its tokens cost no dollars" in done.stderr
    result = json.loads((checkout.attempt("local", "shell") / "result.json").read_text())
    assert result["cell"]["model"] == "local:small.gguf"
    fingerprint = result["fingerprint"]
    assert (fingerprint["agent"], fingerprint["model_kind"]) == ("json_actions", "local")
    report = json.loads((checkout.run_folder("local") / "report.json").read_text())
    (arm,) = report["arms"]
    assert (arm["costs"]["usd"], arm["costs"]["tokens_estimated"]) == (0.0, False)
    assert arm["costs"]["input_tokens"] > 100
    assert "it ranks nobody" in done.stdout
    for path in checkout.run_folder("local").rglob("*"):
        if path.is_file():
            assert str(small.parent) not in path.read_text(), path
    again = answer(small.rename(small.parent.parent / small.name))
    assert again.returncode == 0, again.stderr
    assert "loading" not in again.stderr, "a finished run needs no server"
    assert checkout.outcomes("local") == {"shell": ["answered"]}
