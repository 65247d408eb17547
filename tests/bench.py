"""`just bench`: what the product costs, as ratios measured in one run, each beside its floor. Seconds alone mean little here."""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client

from runner import plan
from runner.benchmarks import BENCHMARKS
from runner.checkout import Checkout
from runner.executors.local import Local
from runner.protocols import Progress
from runner.records import Limits
from runner.sandbox.container import ContainerSpec, open_container
from runner.sandbox.places import INSTALL, STATE, WORKSPACE
from runner.sandbox.session import open_session
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.server_spec import launch
from runner.store import RunStore
from tests.bench_grounding import figures as grounding_figures

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the bench. `bound` is what the ratio or value must not pass."""

    name: str
    value: float
    bound: float
    detail: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        return f"{'ok  ' if self.holds else 'OVER'} {self.name:46} {self.value:8.2f} {sign} {self.bound:<7g} {self.detail}"


def ratio(name: str, value_sec: float, floor_sec: float, bound: float) -> Figure:
    return Figure(
        name=name,
        value=value_sec / floor_sec,
        bound=bound,
        detail=f"{value_sec * 1e3:,.1f} ms / {floor_sec * 1e3:,.1f} ms",
    )


def seconds(work: Callable[[], Any], times: int) -> float:
    """The median of several runs."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def child_cpu(argv: list[str], times: int) -> float:
    """CPU seconds of a child process: the least of several runs."""
    taken = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(argv, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


def spec(image: str) -> ContainerSpec:
    return ContainerSpec(image=image, limits=Limits(), deadline_sec=600)


async def one_cell(client: docker.DockerClient, image: str) -> None:
    async with open_container(client, spec(image)) as container:
        await container.shell("true", timeout_sec=10)


def cell_cost(client: docker.DockerClient, image: str) -> list[Figure]:
    def floor() -> None:
        subprocess.run(
            ["docker", "run", "--rm", image, "true"], check=True, stdout=subprocess.DEVNULL
        )

    async def ten() -> None:
        gate = asyncio.Semaphore(4)

        async def gated() -> None:
            async with gate:
                await one_cell(client, image)

        await asyncio.gather(*(gated() for _ in range(10)))

    floor_sec = seconds(floor, 7)
    cell_sec = seconds(lambda: asyncio.run(one_cell(client, image)), 7)
    ten_sec = seconds(lambda: asyncio.run(ten()), 3)
    return [
        ratio("a cell's container / docker run --rm true", cell_sec, floor_sec, 2),
        ratio("10 cells at 4 jobs / 10 floors", ten_sec, 10 * floor_sec, 1),
        engine_calls(client, image),
    ]


def engine_calls(client: docker.DockerClient, image: str) -> Figure:
    """Beyond the two of the held shell: it carries every command, so it is the tool calls' own."""
    seen: list[str] = []

    def count(response: Any, *_: Any, **__: Any) -> None:
        seen.append(response.request.path_url)

    client.api.hooks["response"].append(count)
    asyncio.run(one_cell(client, image))
    client.api.hooks["response"].remove(count)
    beyond = [path for path in seen if "/exec" not in path]
    return Figure(
        name="engine calls of a cell beyond its tool calls",
        value=len(beyond),
        bound=4,
        detail="create, start, remove",
    )


async def call_times(call: Callable[[], Coroutine[Any, Any, Any]], times: int = 200) -> float:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


CALL = ("find_files", {"pattern": "README*"})


def round_trip(checkout: Checkout, server: str = "code-index-mcp") -> Figure:
    """A real server's `tools/call`, in a cell and on this machine, from the very same install."""
    scenarios = checkout.choose_scenarios(["flask-error-handling"])
    arms = checkout.choose_servers([server])
    prepared = checkout.prepare(scenarios, arms)
    arm, ground = prepared.arms[server], prepared.scenarios[scenarios[0]]
    assert arm.spec is not None
    plan_of = launch(arm.spec)

    async def in_cell() -> float:
        given = ContainerSpec(
            image=ground.image, limits=prepared.limits, deadline_sec=600, server_volume=arm.volume
        )
        log = ServerLog(stderr=StderrFile(None))
        async with (
            open_container(checkout.engine, given) as container,
            open_session(
                container, list(plan_of.argv), plan_of.env, log, initialize_timeout_sec=60
            ) as session,
        ):
            return await call_times(lambda: session.call(*CALL, timeout_sec=10))

    async def on_host(install: Path) -> float:
        workspace = install / "workspace"
        workspace.mkdir()
        (workspace / "README.md").write_text("x\n")
        places = {
            INSTALL: str(install / "server"),
            WORKSPACE: str(workspace),
            STATE: str(install / "state"),
        }
        argv = [sys.executable, *(moved(word, places) for word in plan_of.argv[1:])]
        env = {name: moved(value, places) for name, value in plan_of.env.items()}
        with tempfile.TemporaryFile("w") as errors:
            given = StdioServerParameters(command=argv[0], args=argv[1:], env=env, cwd=workspace)
            async with mcp.Client(
                stdio_client(given, errors), mode="legacy", cache=None
            ) as session:
                return await call_times(
                    lambda: session.call_tool(CALL[0], CALL[1], read_timeout_seconds=10)
                )

    with tempfile.TemporaryDirectory() as folder:
        copy_install(checkout.engine, ground.image, str(arm.volume), Path(folder))
        host = asyncio.run(on_host(Path(folder)))
    return ratio(
        "tools/call of a real server in a cell / on host stdio", asyncio.run(in_cell()), host, 1.6
    )


def moved(text: str, places: dict[str, str]) -> str:
    for inside, here in places.items():
        text = text.replace(inside, here)
    return text


def copy_install(client: docker.DockerClient, image: str, volume: str, folder: Path) -> None:
    """The volume's content, on this machine."""
    holder = client.containers.create(
        image,
        ["true"],
        volumes={volume: {"bind": INSTALL, "mode": "ro"}},
        labels={"fairtrial": "bench"},
    )
    try:
        chunks, _ = holder.get_archive(INSTALL)
        (folder / "install.tar").write_bytes(b"".join(chunks))
    finally:
        holder.remove(force=True)
    with tarfile.open(folder / "install.tar") as archive:
        archive.extractall(folder, filter="data")


def help_cost() -> Figure:
    floor = child_cpu([sys.executable, "-c", "pass"], 9)
    ours = child_cpu([str(Path(sys.executable).parent / "fairtrial"), "--help"], 9)
    return ratio("CPU of --help / python -c pass", ours, floor, 5)


def scoring_cost(checkout: Checkout) -> list[Figure]:
    """1,000 transcripts of a real cell, scored in a process of their own."""
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder) / "bench")
        scenarios = checkout.choose_scenarios([next(iter(checkout.catalog.scenarios))])
        servers = checkout.choose_servers(["shell"])
        prepared = checkout.prepare(scenarios, servers)
        cells = BENCHMARKS["scenarios"].cells(prepared, ["offline"], 1000)
        plan.load_or_create_plan(store, cells, ungated=True)
        progress = Progress(started=lambda _: None, says=lambda *_: None, ended=lambda _: None)
        asyncio.run(Local(jobs=1).run(cells[:1], prepared, store, progress))
        first = store.counted_attempt(cells[0].id)
        assert first is not None
        taken, peak = [], 0.0
        for count in (500, 1000):
            for cell in cells[1:count]:
                copy_attempt(first.path, store, cell.id)
            sec, peak = score_apart(store.folder)
            taken.append(sec)
    return [
        ratio("CPU of scoring 1,000 transcripts / scoring 500", taken[1], taken[0], 2.4),
        Figure(name="its peak memory, MB", value=peak, bound=300, detail=""),
    ]


def copy_attempt(source: Path, store: RunStore, cell_id: str) -> None:
    target = store.cell_folder(cell_id) / "attempt-1"
    if not target.exists():
        target.mkdir(parents=True)
        for path in source.iterdir():
            os.link(path, target / path.name)


def score_apart(folder: Path) -> tuple[float, float]:
    """CPU seconds and peak MB of `fairtrial score` on a run."""
    argv = [str(Path(sys.executable).parent / "fairtrial"), "score", str(folder)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, "fairtrial score failed"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        usage.ru_maxrss / 1e3,
    )


def main() -> None:
    checkout = Checkout(root=ROOT, state=ROOT / ".fairtrial", environ=dict(os.environ), log=print)
    image = checkout.base_image
    figures = [*cell_cost(checkout.engine, image), round_trip(checkout), help_cost()]
    figures += [Figure(**figure) for figure in grounding_figures()]
    figures += scoring_cost(checkout)
    sys.stdout.write("".join(f"{figure}\n" for figure in figures))
    sys.exit(0 if all(figure.holds for figure in figures) else 1)


if __name__ == "__main__":
    main()
