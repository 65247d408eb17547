"""What tests of queries share."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from tests.benchmarks.agentbench.desk import remove_volumes


@pytest.fixture(scope="session")
def desk(engine: docker.DockerClient, base_image: str) -> Iterator[None]:
    """An engine on which desk.py's servers can be installed, and are not afterwards.

    `base_image` is there before any checkout needs it.
    """
    assert base_image
    yield
    remove_volumes(engine)
