"""What the kernel refuses in our containers, and what works in them all the same."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import docker
import pytest

from runner.records import Limits
from runner.sandbox import container as containers
from runner.sandbox.builder import BuilderSpec, open_builder
from runner.sandbox.container import ContainerSpec, open_container, settings_digest
from runner.sandbox.engine import Engine
from runner.sandbox.seccomp import seccomp_option
from runner.sandbox.stream import lines
from tests.helpers import PATIENCE_SEC
from tests.sandbox.kernel_calls import NUMBERS, PROBE, require_refused

RUNNER = Path(containers.__file__).parent.parent
PROFILE = json.loads((RUNNER / "sandbox/seccomp.json").read_text(encoding="utf-8"))
ROOM = Limits(memory_mb=1024, tmp_mb=256, state_mb=64)
CAPABILITIES = """
DAC_READ_SEARCH NET_ADMIN SYS_ADMIN SYS_BOOT SYSLOG SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE
SYS_RAWIO SYS_TIME SYS_TTY_CONFIG
"""
"""What the calls that are asked for would need. Of ALL, a machine may lack one itself."""
VSOCK = """
import socket
try:
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).connect((2, 1024))
except OSError as error:
    print(type(error).__name__, error.errno)
"""

WAYS_OUT = """
import errno, socket
for kind, protocol in (("STREAM", 0), ("STREAM", 262), ("DGRAM", 0), ("DGRAM", 1), ("RAW", 1)):
    try:
        socket.socket(2, getattr(socket, "SOCK_" + kind), protocol).connect(("192.0.2.1", 9))
        print("connected")
    except OSError as error:
        print(errno.errorcode[error.errno])
"""


def printed(engine: Engine, image: str, argv: list[str], *, user: str) -> str:
    """What a command prints in a fresh cell."""
    spec = ContainerSpec(image=image, limits=ROOM, deadline_sec=PATIENCE_SEC)

    async def main() -> str:
        async with open_container(engine, spec) as container:
            stream = await container.exec_stream(argv, user=user)
            return b"\n".join([line async for line in lines(stream.stdout())]).decode()

    return asyncio.run(main())


def run_as_root(engine: docker.DockerClient, image: str, seccomp: str) -> str:
    """What PROBE prints where nothing but the profile stands in its way."""
    made: bytes = engine.containers.run(
        image,
        ["python3", "-I", "-c", PROBE],
        user="0",
        cap_add=CAPABILITIES.split(),
        security_opt=[seccomp],
        network_mode="none",
        remove=True,
        labels={"fairtrial": "test"},
    )
    return made.decode()


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.docker
@pytest.mark.parametrize("user", ["agent", "server"])
def test_a_cell_refuses_what_no_program_of_ours_needs(
    engine: Engine, base_image: str, user: str
) -> None:
    found = require_refused(printed(engine, base_image, ["python3", "-c", PROBE], user=user))
    families = found["families"]
    assert [families[name]["STREAM"] for name in ("1", "2", "10")] == ["done"] * 3
    assert (families["16"]["RAW"], found["netlink"]["0"]) == ("done", "done")


@pytest.mark.docker
@pytest.mark.parametrize("user", ["agent", "server"])
def test_the_machine_under_the_engine_cannot_be_asked(
    engine: Engine, base_image: str, user: str
) -> None:
    assert printed(engine, base_image, ["python3", "-c", VSOCK], user=user) == "OSError 97"


@pytest.mark.docker
def test_no_protocol_of_the_internet_leads_out_of_a_cell(engine: Engine, base_image: str) -> None:
    found = printed(engine, base_image, ["python3", "-c", WAYS_OUT], user="agent").split()
    # A kernel may have been built without MPTCP, or let no group send ICMP.
    assert set(found[:-1]) <= {"ENETUNREACH", "EPROTONOSUPPORT", "EACCES"}
    assert (found[0], found[-1]) == ("ENETUNREACH", "EPERM")


@pytest.mark.docker
@pytest.mark.parametrize("user", ["0", "agent", ""])
def test_a_builder_is_refused_the_same(engine: Engine, base_image: str, user: str) -> None:
    spec = BuilderSpec(image=base_image, command=["python3", "-c", PROBE], user=user)
    with open_builder(engine, spec) as builder:
        assert builder.run() == 0, builder.output()
        require_refused(builder.output(stderr=False))


@pytest.mark.docker
def test_it_is_the_profile_that_refuses_and_no_missing_capability(
    engine: docker.DockerClient, base_image: str
) -> None:
    require_refused(run_as_root(engine, base_image, seccomp_option()))
    unconfined = json.loads(run_as_root(engine, base_image, "seccomp=unconfined"))
    # A hardened kernel may refuse root one or the other.
    refused = [name for name, said in unconfined["calls"].items() if said == "EPERM"]
    assert len(refused) < len(unconfined["calls"]) / 10, refused
    with pytest.raises(AssertionError):
        require_refused(json.dumps(unconfined))


@pytest.mark.docker
def test_the_engines_own_profile_would_not_pass(
    engine: docker.DockerClient, base_image: str
) -> None:
    done = engine.containers.run(
        base_image,
        ["python3", "-I", "-c", PROBE],
        user="agent",
        cap_drop=["ALL"],
        network_mode="none",
        remove=True,
        labels={"fairtrial": "test"},
    )
    with pytest.raises(AssertionError):
        require_refused(done.decode())


# --- what works ---------------------------------------------------------------------------------

NODE = """
const [os, fs, net, cp] = ["os", "fs", "net", "child_process"].map(require);
const { Worker } = require("worker_threads");
fs.watch("/tmp").close();
const server = net.createServer((peer) => peer.end("heard")).listen(0, "127.0.0.1", () =>
  net.connect(server.address().port, "127.0.0.1").on("data", (heard) => {
    server.close();
    new Worker("require('worker_threads').parentPort.postMessage('worked')", { eval: true })
      .on("message", (said) => console.log(Object.keys(os.networkInterfaces()).join(),
        cp.execSync("uname").toString().trim(), heard.toString(), said));
  }));
"""
PYTHON = """
import asyncio, multiprocessing, socket, sqlite3

async def child():
    return await (await asyncio.create_subprocess_exec("true")).wait()

with multiprocessing.Pool(2) as pool:
    said = pool.map(abs, [-1, 2])
sqlite3.connect("/tmp/x.db").execute("create table t (a)")
print(said, asyncio.run(child()), socket.if_nameindex(), socket.socketpair()[0].family.name)
"""
GIT = """
cd /tmp && git init -q r && cd r && echo needle > f && git add f &&
git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | wc -l && rg -n needle f
"""
VENV = "python3 -m venv /tmp/v --without-pip && /tmp/v/bin/python -c 'print(6 * 7)'"
WORKS = [
    (["node", "-e", NODE], "lo Linux heard worked"),
    (["python3", "-c", PYTHON], "[1, 2] 0 [(1, 'lo')] AF_UNIX"),
    (["sh", "-c", GIT], "1\n1:needle"),
    (["sh", "-c", VENV], "42"),
]
SU = ["su", "-s", "/bin/sh", "agent", "-c", "id -un"]


@pytest.mark.docker
@pytest.mark.parametrize("user", ["agent", "server"])
@pytest.mark.parametrize(("argv", "said"), WORKS, ids=["node", "python", "git and rg", "venv"])
def test_what_servers_and_agents_are_made_of_works(
    engine: Engine, base_image: str, user: str, argv: list[str], said: str
) -> None:
    assert printed(engine, base_image, argv, user=user) == said


@pytest.mark.docker
def test_a_builder_can_become_another_user(engine: Engine, base_image: str) -> None:
    # PAM asks for a socket of audit, and takes EPERM for a reason to refuse.
    with open_builder(engine, BuilderSpec(image=base_image, command=SU, user="0")) as builder:
        assert (builder.run(), builder.output()) == (0, "agent\n")


# --- the file -----------------------------------------------------------------------------------


def rules(name: str) -> list[dict[str, Any]]:
    return [rule for rule in PROFILE["syscalls"] if name in rule["names"]]


def test_the_profile_lists_what_is_allowed_and_refuses_the_rest() -> None:
    assert PROFILE["defaultAction"] == "SCMP_ACT_ERRNO"
    # Another architecture's calls have other numbers, and socketcall hides a family in memory.
    assert all(not each["subArchitectures"] for each in PROFILE["archMap"])
    guarded = {"socket", "socketpair", "clone", "personality"}
    for name in guarded:
        assert rules(name)
        # One rule that asks for no argument would stand above all that do.
        assert all(rule.get("args") for rule in rules(name)), name
    assert [rule["action"] for rule in rules("clone3")] == ["SCMP_ACT_ERRNO"]
    for name in set(NUMBERS) - guarded - {"clone3"}:
        assert rules(name) == [], name


def test_another_profile_is_another_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ContainerSpec(image="", limits=ROOM, deadline_sec=1)
    before = settings_digest(spec)
    monkeypatch.setattr(containers, "seccomp_option", lambda: "seccomp=unconfined")
    assert settings_digest(spec) != before


def test_every_place_that_makes_containers_is_one_that_is_tested_here() -> None:
    making = {
        str(path.relative_to(RUNNER))
        for path in RUNNER.rglob("*.py")
        if "create_container(" in path.read_text(encoding="utf-8")
        or "containers.run(" in path.read_text(encoding="utf-8")
    }
    assert making == {"sandbox/container.py", "sandbox/sidecar.py", "sandbox/builder.py"}
