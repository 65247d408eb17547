"""What tests share: the engine and the images, real ones."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path

import docker
import pytest
from hypothesis import HealthCheck, settings

from runner.sandbox.base_image import BaseImage, ensure_base
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import connect
from tests.helpers import Ask, asking

ROOT = Path(__file__).resolve().parent.parent

# Where Python is told to keep no bytecode, each of some hundred commands that tests start would
# compile all that it imports: half of its seconds. Workers get it from here, too.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / ".fairtrial" / "pycache"))

# A run's evidence is written with `fsync`, which on a disk that containers write to as well is a
# wait, and in memory is none.
MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 << 30


def in_memory() -> bool:
    """Is there a file system in memory here that holds what tests write?"""
    return os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM_BYTES


if in_memory():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# As the command does for itself.
gc.set_threshold(100_000, 20, 20)

LONGEST = (
    # Whoever comes first builds the base image, a minute in which a test of containers only waits.
    "versions/test_planted",
    *("scoring/test_cheap_citations", "anchors/test_examination", "anchors/test_qualifying"),
    *("test_pages", "real_agents/test_servers_of_users", "real_agents/test_opencode"),
    *("real_agents/test_codex", "test_campaign", "trying/test_try", "test_volumes", "test_cli"),
    *("test_codes", "test_wheel", "trying/test_searching", "test_bench", "anchors/test_cheats"),
    *("anchors/test_gate", "sandbox/test_blame", "grounding/test_growth"),
    *("versions/test_with_model", "trying/test_try_images", "grounding/test_languages"),
    *("benchmarks/agentbench/test_run", "models/test_cells", "versions/test_workflows"),
    *("scale/test_dask", "test_attest", "scale/test_kills", "scale/test_dask_here"),
    *("sandbox/test_docker", "scale/test_exchange", "anchors/test_rescored", "anchors/test_keys"),
    *("benchmarks/agentbench/test_router", "models/test_remote", "sandbox/test_sidecar"),
    *("judges/test_identity", "judges/test_model", "anchors/test_run_people", "test_servers"),
    *("test_archives", "test_code_digest", "grounding/test_extract", "test_audit"),
    *("test_mutations", "test_environment", "trying/test_over_http"),
    *("benchmarks/agentbench/test_values", "judges/test_verbs", "anchors/test_gated"),
    *("models/test_local", "scale/test_hosts", "test_workspace", "anchors/test_figures"),
)
"""Files that take longest: one that a worker begins last keeps the others waiting for it. xdist
would begin with those of many tests, which are short ones."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {ROOT / f"tests/{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """All workers at once would each compile what the first of them compiles for all."""
    turn = ROOT / ".fairtrial" / "collecting.lock"
    turn.parent.mkdir(exist_ok=True)
    with turn.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)
        return (yield)


# Hypothesis fails an example that takes 0.2 s, which on a busy machine says nothing of our code.
settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy machine")


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The key by which scorecards are kept is the user's: tests make one of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    """A Docker Engine. Without one, tests fail: skipped, most of what we promise goes untested."""
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="session")
def builder_env() -> BuilderEnv:
    return BuilderEnv.from_mapping(os.environ)


@pytest.fixture(scope="session")
def base(engine: docker.DockerClient, builder_env: BuilderEnv) -> BaseImage:
    """The base image, built if it is missing."""
    return ensure_base(engine, ROOT, print, env=builder_env, state=ROOT / ".fairtrial")


@pytest.fixture(scope="session")
def base_image(base: BaseImage) -> str:
    """Id of the base image."""
    return base.id


@pytest.fixture
def shared_data() -> Path:
    """Real data that is not part of the project. Skips if it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data is not beside this repository")
    return folder


@pytest.fixture
def ask(engine: docker.DockerClient, base_image: str) -> Ask:
    """Hold a conversation over some files in a fresh cell."""
    return asking(engine, base_image)
