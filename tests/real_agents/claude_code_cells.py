"""`just test-agents`: Claude Code, really started in real cells, against a scripted provider.

Opt-in: it is proprietary, and npm fetches it on this machine for whoever asks for it. What is
imported is run on these cells, as it is on those of the other agents.
"""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from tests.real_agents.cells import Cells, open_cells
from tests.real_agents.policies import ANSWER, shell_call
from tests.real_agents.scripted_provider import Asked, Reply, ToolUse
from tests.real_agents.test_servers_of_users import (
    SERVERS,
    ran,
    test_a_huge_result_is_cut_by_the_agent_and_on_the_record_in_its_full_size,
    test_a_repositorys_tests_run_in_the_agents_own_shell_in_both_arms,
    test_a_slow_start_is_no_time_of_the_agents,
    test_all_of_their_tools_are_offered_however_many,
    test_each_server_is_called_answered_scored_and_compared,
    test_what_a_repository_tells_agents_is_told_to_both_arms_or_to_none,
    told_and_not,
)
from tests.real_agents.whole_run import (
    OF_A_SUBAGENT,
    require_faults_waited_out,
    require_read_by_every_verb,
    require_subagent_apart,
    require_summed_up,
    require_whole,
    whole_run,
)

__all__ = [
    "ran",
    "test_a_huge_result_is_cut_by_the_agent_and_on_the_record_in_its_full_size",
    "test_a_repositorys_tests_run_in_the_agents_own_shell_in_both_arms",
    "test_a_slow_start_is_no_time_of_the_agents",
    "test_all_of_their_tools_are_offered_however_many",
    "test_each_server_is_called_answered_scored_and_compared",
    "test_what_a_repository_tells_agents_is_told_to_both_arms_or_to_none",
    "told_and_not",
]
pytestmark = pytest.mark.docker
MODEL = "claude-sonnet-4-5"


@pytest.fixture(scope="module")
def cells(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, base_image: str
) -> Iterator[Cells]:
    assert base_image  # it is there before any checkout needs it
    folder = tmp_path_factory.mktemp("claude") / "checkout"
    with open_cells("claude-code", folder, engine, model=MODEL) as opened:
        opened.add_two_steps()
        opened.add_told()
        for name in SERVERS:
            opened.add_shipped(name)
        yield opened


def test_both_arms_are_answered_over_two_steps_of_one_session(cells: Cells) -> None:
    ran = whole_run(cells)
    require_whole(ran, "Claude Code 2.1.330")
    require_read_by_every_verb(cells, ran)


def test_a_subagents_words_are_no_answer(cells: Cells) -> None:
    def policy(asked: Asked) -> Reply:
        if "SUBAGENT TASK" in asked.text and "I ask." not in asked.text:
            return OF_A_SUBAGENT
        if asked.results:
            return Reply(text=ANSWER)
        arguments = {
            "description": "look",
            "prompt": "SUBAGENT TASK: look",
            "subagent_type": "general-purpose",
            "run_in_background": False,
        }
        ask = ToolUse(name="Agent", arguments=arguments)
        return Reply(text="I ask.", calls=(ask, shell_call(asked, "true")))

    require_subagent_apart(cells, policy)


def test_what_sums_a_long_conversation_up_counts_and_is_no_answer(cells: Cells) -> None:
    """Its own tools are offered with the request; it follows a refusal, and no count of tokens."""
    require_summed_up(cells)


def test_faults_that_pass_are_waited_out_and_are_nobodys_seconds(cells: Cells) -> None:
    require_faults_waited_out(cells)
