"""`just test-agents`: Claude Code, really started in real cells, against a scripted provider.

Opt-in: it is proprietary, and npm fetches it on this machine for whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from tests.real_agents.cells import Cells, Ran, open_cells
from tests.real_agents.policies import ANSWER, shell_call
from tests.real_agents.scripted_provider import Asked, Reply, ToolUse, Usage
from tests.real_agents.whole_run import require_whole, whole_run

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
        yield opened


@pytest.fixture(scope="module")
def ran(cells: Cells) -> Ran:
    return whole_run(cells)


def test_both_arms_are_answered_over_two_steps_of_one_session(ran: Ran) -> None:
    require_whole(ran, "Claude Code 2.1.330")


def test_a_subagents_words_are_no_answer(cells: Cells) -> None:
    def policy(asked: Asked) -> Reply:
        if "SUBAGENT TASK" in asked.text and "I ask." not in asked.text:
            return Reply(text="Said by a subagent.", usage=Usage(output_tokens=77))
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

    run = cells.run(policy, "--scenario", "small", "--server", "shell")
    shell = run.of("shell")
    assert shell.outcome == "answered"
    assert "Said by a subagent." not in shell.prose and ANSWER in shell.prose
    others = [it for it in shell.of("usage") if it.get("subagent")]
    assert [it["output_tokens"] for it in others] == [77]
