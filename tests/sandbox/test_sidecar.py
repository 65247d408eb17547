"""A server's own image beside the cell: hermetic, answered for, and gone with the cell."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from runner.records import Limits
from runner.sandbox import transport
from runner.sandbox.container import Container, ContainerSpec, open_container
from runner.sandbox.engine import Engine, absent_ok, sweep
from runner.sandbox.image_session import open_image_session
from runner.sandbox.session import ServerSession
from runner.sandbox.sidecar import SidecarSpec, open_sidecar, words_of
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.sandbox.tree_volume import TreeVolumes, ensure_tree_volumes, lent
from runner.servers.examine import network_attempts
from runner.support.errors import SandboxError, ServerError
from tests.helpers import PATIENCE_SEC
from tests.images import committed, foreign
from tests.sandbox.kernel_calls import PROBE, require_refused
from tests.tiny_server import as_root

SOURCE = (Path(__file__).parent / "mcp_server.py.txt").read_text(encoding="utf-8")
HTTP_SERVER = Path(__file__).parent.parent / "trying" / "http_server.py.txt"
HTTP_SOURCE = HTTP_SERVER.read_text(encoding="utf-8")
ENTRYPOINT = 'ENTRYPOINT ["python3", "server.py"]'
FILES = {"workspace/app.py": "def go():\n    pass\n", "workspace/lib/b.py": "B = 1\n"}
SMALL = Limits(memory_mb=256, pids=64, tmp_mb=16, state_mb=16)
PRIVATE = (".index/db",)
Work = Callable[[Container, ServerSession], Coroutine[Any, Any, Any]]
Use = Callable[..., Any]


def lost(engine: Engine) -> list[str]:
    """Ids of the sidecars on the engine."""
    found = engine.api.containers(all=True, filters={"label": "fairtrial=sidecar"})
    return [str(item["Id"]) for item in found]


@pytest.fixture(scope="module")
def workspace(engine: docker.DockerClient, base_image: str) -> Iterator[str]:
    """An image with a repository's tree, and what it lends."""
    with committed(engine, base_image, FILES) as image:
        ensure_tree_volumes(engine, image)
        ensure_tree_volumes(engine, image, PRIVATE)
        yield image
        for volume in (lent(image), lent(image, PRIVATE)):
            engine.api.remove_volume(volume.tree, force=True)
        engine.api.remove_volume(lent(image).tools, force=True)


@pytest.fixture(scope="module")
def server_image(engine: docker.DockerClient, base_image: str) -> Iterator[str]:
    """Runs as a user of its own, which the cell has too, and declares a volume."""
    changes = (ENTRYPOINT, 'CMD ["good"]', "WORKDIR /app", "USER 10001", "VOLUME /data")
    with committed(engine, base_image, {"app/server.py": SOURCE}, *changes) as image:
        yield image


@pytest.fixture
def use(engine: Engine, workspace: str, server_image: str) -> Use:
    """Start the image beside a fresh cell, behaving as `mode` says, and use its session."""

    def once(
        mode: str,
        work: Work,
        *,
        log: ServerLog | None = None,
        timeout_sec: float = PATIENCE_SEC,
        image: str = server_image,
        **changes: Any,
    ) -> Any:
        cell = ContainerSpec(image=workspace, limits=SMALL, deadline_sec=PATIENCE_SEC)
        beside = SidecarSpec(image=image, **{"args": (mode,), **changes})
        server_log = log or ServerLog(stderr=StderrFile(None))

        async def main() -> Any:
            async with (
                open_container(engine, cell) as container,
                open_image_session(
                    container, beside, server_log, initialize_timeout_sec=timeout_sec
                ) as session,
            ):
                return await work(container, session)

        return asyncio.run(main())

    return once


def inside(engine: Engine, container: Container, script: str) -> str:
    """What a Python program prints that runs in the sidecar as its user."""
    assert container.sidecar is not None
    made = engine.api.exec_create(container.sidecar.id, ["python3", "-c", script])
    return str(engine.api.exec_start(made["Id"]).decode())


async def nothing(_: Container, session: ServerSession) -> ServerSession:
    return session


# --- what it runs -------------------------------------------------------------------------------


def test_arguments_come_after_the_images_own_program_and_in_place_of_its_own_arguments() -> None:
    both = {"Entrypoint": ["serve"], "Cmd": ["--help"]}
    assert words_of(both, ()) == ["serve", "--help"]
    assert words_of(both, ("--root", "/x")) == ["serve", "--root", "/x"]
    assert words_of({"Entrypoint": None, "Cmd": ["node", "a.js"]}, ("/x",)) == [
        "node",
        "a.js",
        "/x",
    ]
    assert words_of({}, ()) == []


@pytest.mark.docker
def test_the_kernel_refuses_it_what_it_refuses_the_cell(engine: Engine, use: Use) -> None:
    async def work(container: Container, _: ServerSession) -> str:
        return inside(engine, container, PROBE)

    require_refused(use("good", work))


@pytest.mark.docker
def test_it_answers_from_its_own_folder_as_its_own_user(use: Use) -> None:
    async def work(_: Container, session: ServerSession) -> str:
        return (await session.call("whoami", {}, timeout_sec=PATIENCE_SEC)).text

    log = ServerLog(stderr=StderrFile(None))
    answer = use("babble", work, log=log, env={"HOME": "/var/lib/server"})
    assert answer == "10001 /app /var/lib/server"
    assert log.stray_lines == 50


@pytest.mark.docker
def test_an_image_with_no_shell_no_python_and_no_folder_of_ours_sees_the_repository(
    use: Use, engine: Engine, base_image: str
) -> None:
    async def work(_: Container, session: ServerSession) -> str:
        found = await session.call("find_symbol", {"name": "go"}, timeout_sec=PATIENCE_SEC)
        return found.text

    with foreign(engine, base_image, "fairtrial-test/foreign:sidecar") as image:
        answer = use("", work, image=image, args=("/workspace",), private=PRIVATE)
        with pytest.raises(ServerError, match="usage: server FOLDER"):
            use("", work, image=image, args=())
    assert answer == "app.py:1: def go():\n"


@pytest.mark.docker
def test_a_program_that_is_not_there_is_the_images_fault(
    use: Use, engine: Engine, base_image: str
) -> None:
    with (
        committed(engine, base_image, {}, 'ENTRYPOINT ["/no/such"]') as image,
        pytest.raises(ServerError, match="No such file"),
    ):
        use("x", nothing, image=image)


@pytest.mark.docker
@pytest.mark.parametrize("where", ["", "8123", "8123/mcp"])
def test_one_that_speaks_http_is_reached_over_the_cells_loopback(
    use: Use, engine: Engine, base_image: str, where: str
) -> None:
    async def work(container: Container, session: ServerSession) -> tuple[str, int]:
        found = await session.call("find_symbol", {"name": "go"}, timeout_sec=PATIENCE_SEC)
        return found.text, await network_attempts(container)

    start = 'ENTRYPOINT ["python3", "/server.py"]'
    log = ServerLog(stderr=StderrFile(None))
    with committed(engine, base_image, {"server.py": HTTP_SOURCE}, start) as image:
        found = use("", work, image=image, args=(), http=where, log=log)
    assert found == ("app.py:1: def go():\n", 0)
    assert b"listening on" in log.stderr.tail


# --- what it may do -----------------------------------------------------------------------------

_TREE = r"""
import hashlib, os
for folder, folders, files in sorted(os.walk("/workspace")):
    for name in sorted((*folders, *files)):
        path = os.path.join(folder, name)
        status = os.lstat(path)
        data = open(path, "rb").read() if os.path.isfile(path) else b""
        print(path, oct(status.st_mode), status.st_uid, hashlib.sha256(data).hexdigest())
"""
_WRITES = """
for place in ("/workspace/x", "/x", "/app/x", "/.fairtrial/x", "/tmp/x", "/var/lib/server/x",
              "/data/x", "/workspace/.index/db/x"):
    try:
        open(place, "w").close()
        print(place)
    except OSError:
        pass
"""


@pytest.mark.docker
def test_it_sees_the_cells_tree_and_writes_only_in_places_of_its_own(
    use: Use, engine: Engine
) -> None:
    async def work(container: Container, _: ServerSession) -> tuple[str, str, str]:
        command = f"python3 -c '{_TREE}'"
        cells = await container.shell(command, timeout_sec=PATIENCE_SEC)
        its = inside(engine, container, _TREE)
        return cells.output, its, inside(engine, container, _WRITES)

    cells, its, _ = use("good", work)
    assert "/workspace/lib/b.py" in cells
    assert its == cells
    _, _, written = use("good", work, private=PRIVATE)
    assert written.split() == ["/tmp/x", "/var/lib/server/x", "/data/x", "/workspace/.index/db/x"]


_STATUS = """
import os
for line in open("/proc/self/status"):
    if line.startswith(("CapEff", "CapBnd", "NoNewPrivs", "Seccomp:")):
        print(line.split()[1])
print(sorted(os.listdir("/sys/class/net")))
print([name for name in os.environ if "proxy" in name.lower()])
print(len([name for name in os.listdir("/proc") if name.isdigit()]) < 10)
"""


@pytest.mark.docker
def test_it_has_no_capabilities_no_network_no_host_environment_and_the_cells_limits(
    use: Use, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:1")

    async def work(container: Container, _: ServerSession) -> tuple[str, Any]:
        assert container.sidecar is not None
        about = engine.api.inspect_container(container.sidecar.id)
        return inside(engine, container, _STATUS), about["HostConfig"]

    said, host = use("good", work)
    assert said.split("\n")[:7] == ["0" * 16, "0" * 16, "1", "2", "['lo']", "[]", "True"]
    assert (host["Memory"], host["MemorySwap"]) == (256 * 1024**2, 256 * 1024**2)
    assert (host["PidsLimit"], host["NanoCpus"]) == (64, int(SMALL.cpus * 1e9))


@pytest.mark.docker
def test_what_it_tries_on_the_network_is_refused_and_counted_in_the_cell(
    use: Use, engine: Engine
) -> None:
    trying = (
        "import socket\ntry:\n    socket.create_connection(('192.0.2.7', 443), 1)\n"
        "except OSError as error:\n    print(error)"
    )

    async def work(container: Container, _: ServerSession) -> tuple[int, str, int]:
        before = await network_attempts(container)
        said = inside(engine, container, trying)
        return before, said, await network_attempts(container)

    before, said, after = use("good", work)
    assert "unreachable" in said
    assert (before, after) == (0, 1)


@pytest.mark.docker
def test_the_agents_shell_sees_nothing_of_it_though_both_have_one_user(use: Use) -> None:
    looking = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls /app /.fairtrial /data; ls /proc/*/root/"

    async def work(container: Container, _: ServerSession) -> str:
        return (await container.shell(looking, timeout_sec=PATIENCE_SEC)).output

    seen = use("good", work)
    assert "docker-init" in seen
    assert "server.py" not in seen


@pytest.mark.docker
def test_its_memory_is_counted_with_the_cells(use: Use) -> None:
    async def work(container: Container, session: ServerSession) -> tuple[Any, Any]:
        await session.call("big", {"chars": 30_000_000}, timeout_sec=PATIENCE_SEC)
        whole, sidecar = await container.peak_memory_mb(), container.sidecar
        container.sidecar = None
        alone = await container.peak_memory_mb()
        container.sidecar = sidecar
        return whole, alone

    whole, alone = use("good", work)
    if whole is None:
        pytest.skip("this engine tells no peak of a container (cgroup v2)")
    assert whole > alone + 30


# --- how it fails -------------------------------------------------------------------------------


@pytest.mark.docker
def test_one_that_dies_is_a_crash_with_its_last_words(use: Use) -> None:
    with pytest.raises(ServerError, match=r"ended with 1\); it last said: ModuleNotFoundError"):
        use("dies", nothing)

    async def dying(_: Container, session: ServerSession) -> None:
        await session.call("die", {}, timeout_sec=PATIENCE_SEC)

    with pytest.raises(ServerError, match=r"ended with 3\); it last said: the index is corrupt"):
        use("good", dying)


@pytest.mark.docker
def test_one_that_takes_all_memory_is_out_of_memory_and_the_cell_lives(use: Use) -> None:
    async def growing(container: Container, session: ServerSession) -> str:
        with pytest.raises(ServerError, match="out of memory: its container has 256 MB"):
            await session.call("grow", {}, timeout_sec=PATIENCE_SEC)
        return (await container.shell("echo alive", timeout_sec=PATIENCE_SEC)).output

    assert use("good", growing) == "alive\n"


@pytest.mark.docker
def test_one_that_hangs_is_given_up_and_one_that_floods_too(
    use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same bound, sooner: what is thrown away is read at no more than 20 MB/s.
    monkeypatch.setattr(transport, "WASTE_LIMIT_BYTES", 4_000_000)
    with pytest.raises(ServerError, match="did not initialise in 2 s"):
        use("silent", nothing, timeout_sec=2)

    async def hanging(_: Container, session: ServerSession) -> tuple[bool, str]:
        result = await session.call("hang", {}, timeout_sec=1)
        return result.is_error, result.text

    assert use("good", hanging) == (True, "hang gave no answer in 1 s")
    with pytest.raises(ServerError, match="bytes"):
        use("flood", nothing)


@pytest.mark.docker
def test_a_cell_that_is_removed_under_it_is_a_fault_of_ours(use: Use, engine: Engine) -> None:
    async def pulled(container: Container, session: ServerSession) -> None:
        assert container.sidecar is not None
        engine.api.remove_container(container.id, force=True)
        engine.api.kill(container.sidecar.id)
        await session.call("echo", {"text": "x"}, timeout_sec=PATIENCE_SEC)

    with pytest.raises(SandboxError):
        use("good", pulled)


@pytest.mark.docker
def test_one_that_is_killed_from_outside_has_not_crashed_and_one_that_kills_itself_has(
    use: Use, engine: Engine
) -> None:
    async def killed(container: Container, session: ServerSession) -> None:
        assert container.sidecar is not None
        engine.api.kill(container.sidecar.id)
        await session.call("echo", {"text": "x"}, timeout_sec=PATIENCE_SEC)

    with pytest.raises(SandboxError, match="killed from outside"):
        use("good", killed)

    async def orphaned(_: Container, session: ServerSession) -> None:
        await session.call("orphan", {}, timeout_sec=PATIENCE_SEC)

    with pytest.raises(ServerError, match="ended by signal 9"):
        use("good", orphaned)


@pytest.mark.docker
def test_without_its_tree_it_is_not_started_on_an_empty_one(
    use: Use, engine: Engine, workspace: str
) -> None:
    with pytest.raises(SandboxError, match="no repository"):
        use("good", nothing, private=("elsewhere",))
    names = [str(volume.name) for volume in engine.volumes.list()]
    assert lent(workspace, ("elsewhere",)).tree not in names


# --- what it leaves -----------------------------------------------------------------------------


@pytest.mark.docker
def test_nothing_is_left_of_it(use: Use, engine: Engine) -> None:
    before = {str(volume.name) for volume in engine.volumes.list()}
    own: set[str] = set()

    async def named(container: Container, _: ServerSession) -> str:
        assert container.sidecar is not None
        mounts = engine.api.inspect_container(container.sidecar.id)["Mounts"]
        own.update({str(mount["Name"]) for mount in mounts} - before)
        return container.sidecar.id

    sidecar = use("good", named, private=PRIVATE)
    assert sidecar not in lost(engine)
    # Its own: tests beside this one have sidecars, too.
    assert own and not own & {str(volume.name) for volume in engine.volumes.list()}


_RUNNER = """
import asyncio, json, sys
from runner.records import Limits
from runner.sandbox.container import ContainerSpec, open_container
from runner.sandbox.engine import connect
from runner.sandbox.image_session import open_image_session
from runner.sandbox.sidecar import SidecarSpec
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog

async def main(workspace, image):
    engine = connect()
    cell = ContainerSpec(image=workspace, limits=Limits(memory_mb=256), deadline_sec=600)
    log = ServerLog(stderr=StderrFile(None))
    beside = SidecarSpec(image=image)
    async with (
        open_container(engine, cell) as container,
        open_image_session(container, beside, log, initialize_timeout_sec=60),
    ):
        print(json.dumps([container.id, container.sidecar.id]), flush=True)
        await asyncio.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""


def killed_runner(workspace: str, image: str) -> list[str]:
    """A runner that is killed while its server runs; the ids of the cell and the sidecar."""
    argv = [sys.executable, "-c", _RUNNER, workspace, image]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        ids = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    assert isinstance(ids, list)
    return ids


def ended(engine: Engine, container_id: str) -> bool:
    """Within a patient while; or swept by whoever else is on the engine."""
    give_up = time.monotonic() + PATIENCE_SEC
    with absent_ok():
        while engine.api.inspect_container(container_id)["State"]["Running"]:
            if time.monotonic() > give_up:
                return False
            time.sleep(0.2)
    return True


@pytest.mark.docker
def test_a_killed_runners_server_ends_by_itself_and_is_swept(
    engine: Engine, workspace: str, server_image: str
) -> None:
    _, sidecar = killed_runner(workspace, server_image)
    assert ended(engine, sidecar)
    sweep(engine)
    assert sidecar not in lost(engine)


@pytest.mark.docker
def test_one_that_nobody_ends_is_ended_at_the_deadline(
    engine: Engine, workspace: str, server_image: str
) -> None:
    cell = ContainerSpec(image=workspace, limits=SMALL, deadline_sec=15)
    beside = SidecarSpec(image=server_image)
    log = ServerLog(stderr=StderrFile(None))

    async def main() -> Any:
        async with (
            open_container(engine, cell) as container,
            open_sidecar(container, beside, log) as sidecar,
        ):
            assert await asyncio.to_thread(ended, engine, sidecar.id)
            return engine.api.inspect_container(sidecar.id)["State"]["ExitCode"]

    assert asyncio.run(main()) == 124


# --- what it is lent ----------------------------------------------------------------------------


@pytest.mark.docker
def test_a_tree_that_was_changed_is_made_again(engine: Engine, base_image: str) -> None:
    with committed(engine, base_image, FILES) as image:
        volumes = lent(image)
        try:
            ensure_tree_volumes(engine, image)
            before = _listed(engine, base_image, volumes)
            spoil = "echo more >> /opt/server/app.py; rm -r /opt/server/lib; touch /opt/server/new"
            as_root(engine, base_image, volumes.tree, spoil)
            assert _listed(engine, base_image, volumes) != before
            ensure_tree_volumes(engine, image)
            assert _listed(engine, base_image, volumes) == before
        finally:
            engine.api.remove_volume(volumes.tree, force=True)
            engine.api.remove_volume(volumes.tools, force=True)


def _listed(engine: Engine, base_image: str, volumes: TreeVolumes) -> str:
    command = "cd /opt/server && find . -type f -exec sha256sum {} + | sort"
    return as_root(engine, base_image, volumes.tree, command)
