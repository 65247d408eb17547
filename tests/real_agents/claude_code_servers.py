"""`just test-agents`: Claude Code with servers of many tools and a slow start.

What is imported is run here on this module's cells, as it is on those of the other agents.
"""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from tests.real_agents.cells import Cells, open_cells
from tests.real_agents.claude_code_cells import MODEL
from tests.real_agents.test_servers_of_users import (
    SERVERS,
    ran,
    test_a_slow_start_is_no_time_of_the_agents,
    test_all_of_their_tools_are_offered_however_many,
    test_each_server_is_called_answered_scored_and_compared,
)

__all__ = [
    "ran",
    "test_a_slow_start_is_no_time_of_the_agents",
    "test_all_of_their_tools_are_offered_however_many",
    "test_each_server_is_called_answered_scored_and_compared",
]
pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def cells(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, base_image: str
) -> Iterator[Cells]:
    assert base_image  # it is there before any checkout needs it
    folder = tmp_path_factory.mktemp("claude") / "checkout"
    with open_cells("claude-code", folder, engine, model=MODEL) as opened:
        for name in SERVERS:
            opened.add_shipped(name)
        yield opened
