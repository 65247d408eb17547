"""Cells that a language model answers: the real command, a container, and a double of the API."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker
import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall

from tests.checkout import REFERENCE, Checkout, make

pytestmark = pytest.mark.docker
KEY = "sk-very-secret-0123456789"
OPENED = "tool mcp__good__echo"


@pytest.fixture(scope="module")
def checkout(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, base_image: str
) -> Iterator[Checkout]:
    """A small checkout, and nothing left of it on the engine."""
    made = make(tmp_path_factory.mktemp("models") / "checkout")
    yield made
    for name in made.volumes():
        with suppress(docker.errors.NotFound):
            engine.api.remove_volume(name, force=True)
    made.remove_images(engine)


def run(
    checkout: Checkout, double: LLMock, name: str, *arguments: str, model: str = "claude-test"
) -> subprocess.CompletedProcess[str]:
    """A run of the small scenario in both arms."""
    asked = ["run", "--run", name, "--scenario", "small", "--server", "good", "--ungated"]
    return checkout.fairtrial(
        *asked,
        "--model",
        model,
        *arguments,
        ANTHROPIC_API_KEY=KEY,
        ANTHROPIC_BASE_URL=double.base_url("anthropic"),
        OPENAI_API_KEY=KEY,
        OPENAI_BASE_URL=double.base_url("openai"),
    )


def script_an_answer(double: LLMock) -> None:
    """For one cell: a look-up, then the reference answer."""
    double.add(Reply(tool_calls=(ToolCall("shell", {"command": "grep -n def app.py"}),)))
    double.reply(REFERENCE)


def every_byte(done: subprocess.CompletedProcess[str], folder: Path) -> Iterator[tuple[str, str]]:
    """What a run shows and leaves behind, by where it is."""
    yield "stdout", done.stdout
    yield "stderr", done.stderr
    for path in sorted(folder.rglob("*")):
        yield path.name, path.name
        if path.is_file():
            yield str(path), path.read_bytes().decode(errors="replace")


def test_a_language_model_answers_in_both_arms_and_the_report_may_rank(
    checkout: Checkout, llmock: LLMock
) -> None:
    for _ in ("shell", "good"):
        script_an_answer(llmock)
    done = run(checkout, llmock, "answered")
    assert done.returncode == 0, done.stderr
    assert checkout.outcomes("answered") == {"shell": ["answered"], "good": ["answered"]}
    report: dict[str, Any] = json.loads(
        (checkout.run_folder("answered") / "report.json").read_text()
    )
    assert report["language_model"]
    assert "ranks nobody" not in done.stdout
    requests = len(llmock.requests)
    again = run(checkout, llmock, "answered")
    assert again.returncode == 0, again.stderr
    assert len(llmock.requests) == requests, "finished cells are not paid for twice"


def test_no_byte_of_a_run_holds_the_key_or_the_address(checkout: Checkout, llmock: LLMock) -> None:
    script_an_answer(llmock)
    llmock.add(Reply(tool_calls=(ToolCall("shell", {"command": "env; cat /proc/*/environ"}),)))
    llmock.reply(REFERENCE)
    done = run(checkout, llmock, "hidden")
    assert done.returncode == 0, done.stderr
    address = llmock.url.partition("//")[2]
    places = list(every_byte(done, checkout.run_folder("hidden")))
    assert any("dispatch_all" in text for _, text in places), "nothing was looked at"
    for where, text in places:
        assert KEY not in text, where
        assert address not in text, where


def test_a_key_that_is_refused_ends_the_run_at_its_first_cell(
    checkout: Checkout, llmock: LLMock
) -> None:
    llmock.fail(401, times=None, message=f"invalid x-api-key {KEY}")
    done = run(checkout, llmock, "refused", "--trials", "3")
    assert done.returncode == 1
    assert "the key is not accepted (401)" in done.stderr
    assert "hint: check ANTHROPIC_API_KEY" in done.stderr
    assert len(llmock.requests) == 1
    assert checkout.outcomes("refused") == {"shell": ["provider_failed"]}
    for where, text in every_byte(done, checkout.run_folder("refused")):
        assert KEY not in text, where


def test_without_a_key_nothing_is_begun(checkout: Checkout) -> None:
    done = checkout.fairtrial(
        "run", "--model", "claude-test", "--run", "keyless", ANTHROPIC_API_KEY=""
    )
    assert done.returncode == 1
    assert "ANTHROPIC_API_KEY is not set" in done.stderr
    assert not checkout.run_folder("keyless").exists()
