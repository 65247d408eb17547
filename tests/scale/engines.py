"""Two workers in two network namespaces, each with a Docker Engine of its own: real cells.

Questions of `exact`, with the shell alone and with a server, there and once more on one machine.
It needs root, iproute2, iptables and dockerd, and takes minutes: images and the server's volume
are made on each engine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import docker

from runner.records import Cell
from runner.records.run_store import RunStore
from runner.sandbox.engine import LABEL, connect
from tests.conftest import ROOT
from tests.scale.certificates import write_certificates
from tests.scale.farm import FAIRTRIAL, Kept, free_port

NETWORK = "198.51.100"
"""For documentation (RFC 5737): nobody's."""
READY_SEC = 60
WORKERS_SEC = 1200
SERVER = "mcp-ripgrep"
SECONDS = frozenset({"wall_sec", "waited_sec", "backoff_sec", "queued_sec"})
"""Of an event."""


@dataclass(frozen=True, kw_only=True)
class OnTwo:
    """What came of a run on two engines."""

    cells: int
    measured: int
    engines: int
    """That cells ran on."""
    hosts: str
    left: int
    """Containers on them afterwards."""
    arms: int
    """Of each engine, together: two with two arms are four."""
    alike: int
    """Cells whose transcript is the one of one machine."""


def two_engines(folder: Path, questions: int = 12) -> OnTwo:
    with ExitStack() as stack:
        stack.enter_context(way_out())
        urls = []
        for number in (1, 2):
            space = stack.enter_context(namespace(number))
            urls.append((space, stack.enter_context(engine_in(space, folder / f"engine-{number}"))))
        for _, url in urls:
            carry_base(url)
        host = f"{NETWORK}.1"
        tls = write_certificates(folder / "tls")
        port = str(free_port(host))
        words = ["executor", "scheduler", "--host", host, "--port", port, "--tls", str(tls)]
        log = folder / "farm.log"
        scheduler = Kept([*words, "--dashboard", "127.0.0.1:0"], log)
        stack.callback(scheduler.stop)
        for space, url in urls:
            words = ["executor", "worker", f"{host}:{port}", "--tls", str(tls)]
            worker = Kept(words, log, {"DOCKER_HOST": url}, inside(space))
            stack.callback(worker.stop)
        there = stack.enter_context(store_of(folder, "two"))
        here = stack.enter_context(store_of(folder, "one"))
        how = ("--executor", f"dask://{host}:{port}", "--tls", str(tls))
        run(folder, there, questions, "--server", SERVER, *how)
        run(folder, here, questions, "--server", SERVER)
        return found_in(there, here, [url for _, url in urls])


@contextmanager
def store_of(folder: Path, which: str) -> Iterator[RunStore]:
    name = f"bench-{which}-{folder.name.lower().replace('_', '-')}"[:60]
    try:
        yield RunStore(ROOT / "runs" / name)
    finally:
        shutil.rmtree(ROOT / "runs" / name, ignore_errors=True)


def run(folder: Path, store: RunStore, questions: int, *how: str) -> None:
    words = ["run", "--run", store.folder.name, "--exact", "--scenario", "flask", *how]
    words += ["--questions", str(questions), "--ungated"]
    with (folder / "run.log").open("ab") as log:
        subprocess.run(
            [*FAIRTRIAL, *words], cwd=ROOT, stdout=log, stderr=log, timeout=WORKERS_SEC, check=False
        )


def told_in(store: RunStore) -> dict[str, tuple[object, ...]]:
    """Cell id -> how it ended, and all of its transcript that is to be the same anywhere."""
    return {
        item.cell.id: (item.counted.result.outcome, *events_of(item.cell, item.counted.transcript))
        for item in store.load().cells
        if item.counted is not None
    }


def events_of(cell: Cell, transcript: Path) -> Iterator[object]:
    """Every event, without its seconds.

    mcp-ripgrep lets `rg` search files side by side, and gives what it finds in whatever order: on
    one engine, too, a cell that is run again has other lines first. So in its arm texts are held
    against each other as sorted lines; the shell's arm is the same to the letter.
    """
    for event in map(json.loads, transcript.read_text().splitlines()):
        told = {key: value for key, value in event.items() if key not in SECONDS}
        if cell.server == SERVER and "text" in told:
            told |= {"text": sorted(told["text"].splitlines()), "digest": ""}
        yield told


def found_in(store: RunStore, alone: RunStore, urls: Sequence[str]) -> OnTwo:
    results = [item.result for item in store.load().cells if item.result is not None]
    placed = [result.block for result in results if result.block is not None]
    arms = {(it.cell.server, it.block.machine) for it in results if it.block is not None}
    expected = told_in(alone)
    engines = [connect(url) for url in urls]
    left = sum(len(it.containers.list(all=True, filters={"label": LABEL})) for it in engines)
    for it in engines:
        it.close()
    return OnTwo(
        cells=len(store.plan().cells),
        measured=sum(item.measured for item in store.load().cells),
        engines=len({block.machine for block in placed}),
        hosts=", ".join(sorted({f"{it.host.engine} on {it.machine}" for it in placed if it.host})),
        left=left,
        arms=len(arms),
        alike=sum(said == expected.get(cell_id) for cell_id, said in told_in(store).items()),
    )


# --- a machine of its own, nearly ---------------------------------------------------------------


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def namespace(number: int) -> Iterator[str]:
    """A network namespace with one address, that sees this machine and what is behind it."""
    name, here, there = f"ft-{os.getpid()}-{number}", f"ft{number}a", f"ft{number}b"
    first = 4 * (number - 1)
    ip("netns", "add", name)
    try:
        ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
        ip("addr", "add", f"{NETWORK}.{first + 1}/30", "dev", here)
        ip("link", "set", here, "up")
        for words in (
            ("addr", "add", f"{NETWORK}.{first + 2}/30", "dev", there),
            ("link", "set", there, "up"),
            ("link", "set", "lo", "up"),
            ("route", "add", "default", "via", f"{NETWORK}.{first + 1}"),
        ):
            ip("-n", name, *words)
        yield name
    finally:
        ip("netns", "del", name)


@contextmanager
def way_out() -> Iterator[None]:
    """Servers are installed from registries: the namespaces reach what this machine does."""
    net = f"{NETWORK}.0/24"
    rules = [
        ("nat", "POSTROUTING", "-s", net, "!", "-d", net, "-j", "MASQUERADE"),
        ("filter", "FORWARD", "-s", net, "-j", "ACCEPT"),
        ("filter", "FORWARD", "-d", net, "-j", "ACCEPT"),
    ]
    with ExitStack() as stack:
        for table, chain, *rule in rules:
            words = ["iptables", "-w", "-t", table]
            subprocess.run([*words, "-I", chain, *rule], check=True)
            stack.callback(subprocess.run, [*words, "-D", chain, *rule], check=True)
        yield


def inside(name: str) -> list[str]:
    """Not `ip netns exec`: it mounts /sys anew, and the engine finds no cgroups there."""
    return ["nsenter", f"--net=/var/run/netns/{name}"]


@contextmanager
def engine_in(space: str, root: Path) -> Iterator[str]:
    """A Docker Engine in a network namespace, with a root of its own; its URL."""
    (root / "etc").mkdir(parents=True)
    url = f"unix://{root}/docker.sock"
    words = ["dockerd", "--data-root", str(root / "data"), "--exec-root", str(root / "exec")]
    words += ["-H", url, "-p", str(root / "pid")]
    # Otherwise it takes its id from the key of this machine's own engine.
    own_key = (
        f"mkdir -p /etc/docker && mount --bind {root}/etc /etc/docker && exec {' '.join(words)}"
    )
    command = [*inside(space), "unshare", "--mount", "sh", "-c", own_key]
    with (root / "log").open("wb") as log:
        engine = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_for_engine(url)
        yield url
    finally:
        engine.terminate()
        engine.wait(READY_SEC)


def wait_for_engine(url: str) -> None:
    until = time.monotonic() + READY_SEC
    while time.monotonic() < until:
        with suppress(docker.errors.DockerException):
            docker.DockerClient(base_url=url).ping()
            return
        time.sleep(0.2)
    raise TimeoutError(f"no engine answers at {url}")


def carry_base(url: str) -> None:
    """As docs/scale.md has it: `docker save` here, `docker load` there."""
    here = connect()
    names = sorted(tag for it in here.images.list("fairtrial/base") for tag in it.tags)
    here.close()
    with subprocess.Popen(["docker", "save", *names], stdout=subprocess.PIPE) as saved:
        subprocess.run(
            ["docker", "-H", url, "load"], stdin=saved.stdout, check=True, stdout=subprocess.DEVNULL
        )


if __name__ == "__main__":
    sys.stdout.write(f"{two_engines(Path(sys.argv[1]))}\n")
