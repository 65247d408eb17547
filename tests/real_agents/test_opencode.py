"""OpenCode, really started in real cells, against a scripted provider on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from tests.real_agents.cells import Cells, Ran, open_cells
from tests.real_agents.whole_run import (
    require_faults_waited_out,
    require_read_by_every_verb,
    require_summed_up,
    require_whole,
    whole_run,
)

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def cells(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, base_image: str
) -> Iterator[Cells]:
    assert base_image  # it is there before any checkout needs it
    with open_cells("opencode", tmp_path_factory.mktemp("opencode") / "checkout", engine) as opened:
        opened.add_two_steps()
        yield opened


@pytest.fixture(scope="module")
def ran(cells: Cells) -> Ran:
    return whole_run(cells)


def test_both_arms_are_answered_over_two_steps_of_one_session(ran: Ran) -> None:
    require_whole(ran, "OpenCode 1.18.34")


def test_the_tokens_of_a_title_count_and_its_words_are_no_answer(ran: Ran) -> None:
    shell = ran.of("shell")
    titles = [it for it in shell.of("usage") if it.get("subagent") == "helper"]
    assert titles and {it["output_tokens"] for it in titles} == {3}
    assert "A title" not in shell.prose


def test_its_cells_are_scored_judged_attested_resumed_and_replayed_as_any(
    cells: Cells, ran: Ran
) -> None:
    require_read_by_every_verb(cells, ran)


def test_what_sums_a_long_conversation_up_counts_and_is_no_answer(cells: Cells) -> None:
    require_summed_up(cells)


def test_faults_that_pass_are_waited_out_and_are_nobodys_seconds(cells: Cells) -> None:
    require_faults_waited_out(cells)
