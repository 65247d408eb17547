"""`just bench` in small: every part of it once, so that what it stands on cannot rot unseen."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from runner.catalog.checkout import Checkout as Opened
from tests.bench import Figure, Size, measured
from tests.bench_agents import AgentSize
from tests.bench_grounding import GroundingSize
from tests.bench_servers import HostileSize
from tests.checkout import REFERENCE, Checkout, make
from tests.mutations import answer_of

pytestmark = pytest.mark.docker


@pytest.fixture
def made(tmp_path: Path, engine: docker.DockerClient, base_image: str) -> Iterator[Checkout]:
    assert base_image
    checkout = make(tmp_path / "checkout")
    yield checkout
    checkout.remove(engine)


def small(made: Checkout) -> Size:
    upstream = made.root / "upstream"
    return Size(
        times=1,
        starts=1,
        cells=2,
        calls=3,
        transcripts=2,
        tasks=8,
        scenario="small",
        server="good",
        tool="echo",
        arguments={"text": "here"},
        hostile=HostileSize(commands=2, rounds=1, most_bytes=200_000, call_sec=1),
        agent=AgentSize(turns=2, turn_sec=0.0, times=1),
        grounding=GroundingSize(
            citations=40,
            repeats=2,
            lines=200,
            chars=16_000,
            parsed_chars=8_000,
            repository=upstream / ".git",
            commit=made.commit,
        ),
        changed=lambda: [answer_of("small", upstream / ".git", made.commit, [REFERENCE])],
    )


def test_every_part_of_the_bench_runs_on_small_inputs(made: Checkout) -> None:
    opened = Opened(
        root=made.root, state=made.root / ".fairtrial", environ=dict(os.environ), log=print
    )
    figures = list(measured(opened, small(made)))
    opened.close_files()
    told = [str(figure) for figure in figures]
    assert all(math.isfinite(figure.value) for figure in figures), told
    parts = (
        "docker run",
        "engine calls",
        "on host stdio",
        "a cell of Codex",
        "CPU of --help",
        "peak memory under the worst",
        "beside a server: flooding",
        "40 citations, cold",
        "extraction / one",
        "200 citations / an eighth",
        "an answer of",
        "a cited file of",
        "answers scored",
        "answers recorded",
        "honest citations called weak",
        "CPU of scoring 4 transcripts",
    )
    missing = [part for part in parts if not any(part in line for line in told)]
    assert not missing, told


def test_a_figure_past_its_bound_is_marked() -> None:
    over = Figure(name="x", value=3.0, bound=2.0, detail="")
    under = Figure(name="x", value=3.0, bound=2.0, detail="", at_least=True)
    assert (over.holds, str(over)[:4], under.holds, str(under)[:4]) == (False, "OVER", True, "ok  ")
