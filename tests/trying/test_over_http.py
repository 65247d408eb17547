"""A server that only speaks HTTP is measured like any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from runner.authoring.onboarding.launches import listens
from tests.checkout import SESSION, Checkout, make
from tests.trying.test_try import remove_volumes, tried

SERVER = (Path(__file__).parent / "http_server.py.txt").read_text() + f"# {SESSION}\n"


@pytest.fixture
def made(tmp_path: Path, engine: docker.DockerClient) -> Iterator[Checkout]:
    checkout = make(tmp_path / "try")
    (checkout.root / "waiting.py").write_text(SERVER)
    yield checkout
    remove_volumes(engine, "waiting")
    checkout.remove_images(engine)


@pytest.mark.docker
def test_one_that_waits_at_a_port_is_found_out_and_measured(made: Checkout) -> None:
    done = tried(made, "--", "python3", str(made.root / "waiting.py"))
    assert "guessed: it waits at a port" in done.stderr
    assert "--http PORT[/PATH] overrides it" in done.stderr
    assert "bare, over HTTP): 1 tool, and a health probe" in done.stderr
    assert "its tools were called" in done.stdout


def test_a_port_that_is_no_port_is_refused_at_once(made: Checkout) -> None:
    done = tried(made, "npm:any", "--http", "npm:other", code=1)
    assert "--http npm:other: it is no PORT[/PATH]" in done.stderr


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("INFO: Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)", True),
        ("Server listening on port 3000", True),
        ("MCP server started\n  at 0.0.0.0:8080", True),
        ("my-server running on stdio", False),
        ("see https://example.org/port/8000 for help", False),
        ("index started, 8000 files", False),
    ],
)
def test_who_says_that_it_listens_is_heard(said: str, expected: bool) -> None:
    assert listens(["", said]) is expected
