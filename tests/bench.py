"""`just bench`: what the product costs, as ratios measured in one run, each beside its floor.

Seconds alone mean little here: they say as much of the machine as of the product.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docker

from runner.agents.packaged.program import ensure_program, read_agent
from runner.benchmarks import BENCHMARKS
from runner.catalog.checkout import Checkout
from runner.protocols import Progress
from runner.records import Cell, CellResult, Limits
from runner.records.run_store import EndedAttempt, RunStore
from runner.runs import plan
from runner.runs.executors.local_executor import LocalExecutor
from runner.runs.prepare import prepare
from runner.runs.run_inputs import PreparedRun
from runner.sandbox.cell_layout import INSTALL, STATE, WORKSPACE
from runner.sandbox.container import ContainerSpec, open_container
from runner.sandbox.session import open_session
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.servers.definition_rules import launch
from tests.bench_agents import AgentSize, bridge_sec, whole_cell_sec
from tests.bench_grounding import GroundingSize
from tests.bench_grounding import figures as grounding_figures
from tests.bench_servers import HostileSize
from tests.bench_servers import figures as server_figures
from tests.bench_toolbench import TASKS
from tests.bench_toolbench import figures as toolbench_figures
from tests.mutations import Answer, shipped
from tests.mutations import figures as mutation_figures

if TYPE_CHECKING:
    from mcp.client.stdio import StdioServerParameters

ROOT = Path(__file__).resolve().parent.parent
COMMAND = str(Path(sys.executable).parent / "fairtrial")
DEADLINE_SEC = 600
"""Of the bench's containers, which end themselves then."""


# --- a figure -----------------------------------------------------------------------------------


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
        if self.at_least:
            return self.value >= self.bound
        return self.value <= self.bound

    def __str__(self) -> str:
        verdict = "ok  " if self.holds else "OVER"
        sign = "≥" if self.at_least else "≤"
        return f"{verdict} {self.name:46} {self.value:8.2f} {sign} {self.bound:<7g} {self.detail}"


def ratio(name: str, value_sec: float, floor_sec: float, bound: float) -> Figure:
    return Figure(
        name=name,
        value=value_sec / floor_sec,
        bound=bound,
        detail=f"{value_sec * 1e3:,.1f} ms / {floor_sec * 1e3:,.1f} ms",
    )


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much of everything is measured. A small one runs in the tests, so that none rots."""

    times: int = 7
    starts: int = 9
    """Of a process."""
    cells: int = 10
    calls: int = 200
    transcripts: int = 500
    tasks: int = TASKS
    scenario: str = "flask-error-handling"
    server: str = "code-index-mcp"
    tool: str = "find_files"
    arguments: Mapping[str, str] = field(default_factory=lambda: {"pattern": "README*"})
    hostile: HostileSize = field(default_factory=HostileSize)
    agent: AgentSize = field(default_factory=AgentSize)
    grounding: GroundingSize = field(default_factory=GroundingSize)
    changed: Callable[[], Iterable[Answer]] = shipped
    """What is mutated to see what is caught."""


# --- measuring ----------------------------------------------------------------------------------


def median_sec(work: Callable[[], Any], times: int) -> float:
    """Wall-clock seconds, the median of several runs."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


async def median_call_sec(call: Callable[[], Awaitable[Any]], times: int) -> float:
    """Wall-clock seconds, the median of several calls."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


@dataclass(frozen=True, kw_only=True)
class ChildUsage:
    """What a child process used."""

    cpu_sec: float
    peak_mb: float


_MEASURED = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu_sec = usage.ru_utime + usage.ru_stime
json.dump({"cpu_sec": cpu_sec, "peak_mb": usage.ru_maxrss / 1e3}, sys.stdout)
"""


def run_child(argv: Sequence[str], where: Path = ROOT) -> ChildUsage:
    """Run it to its end, its output thrown away. Its own children count too."""
    # Without modules compiled before, each child would pay for compiling them once more.
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    # From a small process of its own: Linux begins a child's peak with its parent's.
    command = [sys.executable, "-c", _MEASURED, *argv]
    ran = subprocess.run(command, cwd=where, env=env, stdout=subprocess.PIPE, check=True)
    return ChildUsage(**json.loads(ran.stdout))


def least_child_cpu_sec(argv: Sequence[str], times: int) -> float:
    """The least of several runs: what is more is the machine's."""
    taken = [run_child(argv).cpu_sec for _ in range(times)]
    return min(taken)


# --- a cell's container -------------------------------------------------------------------------


async def one_cell(client: docker.DockerClient, image: str) -> None:
    spec = ContainerSpec(image=image, limits=Limits(), deadline_sec=DEADLINE_SEC)
    async with open_container(client, spec) as container:
        await container.shell("true", timeout_sec=10)


async def many_cells(client: docker.DockerClient, image: str, cells: int, *, jobs: int) -> None:
    slots = asyncio.Semaphore(jobs)

    async def in_a_slot() -> None:
        async with slots:
            await one_cell(client, image)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(cells):
            tasks.create_task(in_a_slot())


def docker_run(image: str) -> None:
    """The floor: what any container costs."""
    argv = ["docker", "run", "--rm", image, "true"]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def cell_cost(client: docker.DockerClient, image: str, size: Size) -> list[Figure]:
    cells = size.cells
    floor_sec = median_sec(lambda: docker_run(image), size.times)
    cell_sec = median_sec(lambda: asyncio.run(one_cell(client, image)), size.times)
    beside = median_sec(
        lambda: asyncio.run(many_cells(client, image, cells, jobs=4)), max(1, size.times // 2)
    )
    return [
        ratio("a cell's container / docker run --rm true", cell_sec, floor_sec, 2),
        ratio(f"{cells} cells at 4 jobs / {cells} floors", beside, cells * floor_sec, 1),
        engine_calls(client, image),
    ]


def engine_calls(client: docker.DockerClient, image: str) -> Figure:
    """Beyond the two of the held shell: it carries every command, so it is the tool calls' own."""
    paths: list[str] = []

    def note(response: Any, *_: Any, **__: Any) -> None:
        paths.append(response.request.path_url)

    client.api.hooks["response"].append(note)
    asyncio.run(one_cell(client, image))
    # Every later figure would pay for it too.
    client.api.hooks["response"].remove(note)
    beyond = [path for path in paths if "/exec" not in path]
    return Figure(
        name="engine calls of a cell beyond its tool calls",
        value=len(beyond),
        bound=4,
        detail="create, start, remove",
    )


# --- a server's call ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ServerCost:
    """A real server's `tools/call`, in a cell and on this machine, from the very same install."""

    checkout: Checkout
    prepared: PreparedRun
    size: Size

    @property
    def image(self) -> str:
        return self.prepared.scenarios[self.size.scenario].image

    @property
    def volume(self) -> str:
        return str(self.prepared.arms[self.size.server].volume)

    @property
    def launched(self) -> tuple[Sequence[str], Mapping[str, str]]:
        """The server's command line and environment in a cell."""
        spec = self.prepared.arms[self.size.server].spec
        assert spec is not None
        launched = launch(spec)
        return launched.argv, launched.env

    async def in_cell_sec(self) -> float:
        argv, env = self.launched
        spec = ContainerSpec(
            image=self.image,
            limits=self.prepared.limits,
            deadline_sec=DEADLINE_SEC,
            server_volume=self.volume,
        )
        log = ServerLog(stderr=StderrFile(None))
        async with (
            open_container(self.checkout.engine, spec) as container,
            open_session(container, list(argv), env, log, initialize_timeout_sec=60) as session,
        ):
            it = self.size
            return await median_call_sec(
                lambda: session.call(it.tool, it.arguments, timeout_sec=10), it.calls
            )

    async def on_host_sec(self) -> float:
        """With MCP's own stdio client: the floor."""
        # Late: every worker of pytest collects the test that imports this file.
        import mcp
        from mcp.client.stdio import stdio_client

        with tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile("w") as errors:
            server = self._on_host(Path(name))
            # Set up as in a cell: its newer handshake, or its cache, would make the floor another.
            client = mcp.Client(stdio_client(server, errors), mode="legacy", cache=None)
            async with client as session:
                it = self.size
                return await median_call_sec(
                    lambda: session.call_tool(it.tool, {**it.arguments}, read_timeout_seconds=10),
                    it.calls,
                )

    def _on_host(self, folder: Path) -> StdioServerParameters:
        """How the same server is launched here, installed in the folder."""
        copy_install(self.checkout.engine, self.image, self.volume, folder)
        workspace = folder / "workspace"
        workspace.mkdir()
        (workspace / "README.md").write_text("x\n")
        places = {
            INSTALL: str(folder / "server"),
            WORKSPACE: str(workspace),
            STATE: str(folder / "state"),
        }
        from mcp.client.stdio import StdioServerParameters  # late, as above

        argv, env = self.launched
        return StdioServerParameters(
            command=sys.executable,
            args=[moved(word, places) for word in argv[1:]],
            env={name: moved(value, places) for name, value in env.items()},
            cwd=workspace,
        )


def moved(text: str, places: Mapping[str, str]) -> str:
    """The text with each place in a cell replaced by the one here."""
    for inside, here in places.items():
        text = text.replace(inside, here)
    return text


def copy_install(client: docker.DockerClient, image: str, volume: str, folder: Path) -> None:
    """Copy the volume's content to this machine, as `server` in the folder."""
    holder = client.containers.create(
        image,
        ["true"],
        volumes={volume: {"bind": INSTALL, "mode": "ro"}},
        labels={"fairtrial": "bench"},
    )
    # Never started: the engine reads a volume's files through any container that mounts it.
    try:
        chunks, _ = holder.get_archive(INSTALL)
        (folder / "install.tar").write_bytes(b"".join(chunks))
    finally:
        holder.remove(force=True)
    with tarfile.open(folder / "install.tar") as archive:
        # Ours, and its Python is a link to the base's: `data` would refuse that.
        archive.extractall(folder, filter="tar")


def round_trip(checkout: Checkout, size: Size) -> Figure:
    scenarios = checkout.choose_scenarios([size.scenario])
    servers = checkout.choose_servers([size.server])
    prepared = prepare(checkout, scenarios, servers)
    cost = ServerCost(checkout=checkout, prepared=prepared, size=size)
    host_sec = asyncio.run(cost.on_host_sec())
    cell_sec = asyncio.run(cost.in_cell_sec())
    name = "tools/call of a real server in a cell / on host stdio"
    return ratio(name, cell_sec, host_sec, 1.6)


# --- the command --------------------------------------------------------------------------------


def bridge_cost(client: docker.DockerClient, image: str) -> Figure:
    bridged_sec, command_sec = bridge_sec(client, image)
    return ratio("an agent's request over the bridge / a shell's true", bridged_sec, command_sec, 2)


def agent_cell_cost(checkout: Checkout, size: Size) -> Figure:
    engine, base = checkout.engine, checkout.base
    agent = read_agent(ROOT, "codex")
    program = ensure_program(engine, agent, base, checkout.builder_env, checkout.log)
    with tempfile.TemporaryDirectory() as name:
        copy_install(engine, base.id, program.volume, Path(name))
        cell_sec, host_sec = whole_cell_sec(engine, program, Path(name), size.agent)
    said = f"{size.agent.turns} turns of a model that takes {size.agent.turn_sec:g} s"
    return ratio(f"a cell of Codex / Codex on this machine, {said}", cell_sec, host_sec, 1.3)


def help_cost(size: Size) -> Figure:
    floor_sec = least_child_cpu_sec([sys.executable, "-c", "pass"], size.starts)
    help_sec = least_child_cpu_sec([COMMAND, "--help"], size.starts)
    return ratio("CPU of --help / python -c pass", help_sec, floor_sec, 3.5)


# --- hostile servers ----------------------------------------------------------------------------


def hostile_cost(client: docker.DockerClient, image: str, size: Size) -> list[Figure]:
    given = [str(size.hostile.most_bytes), str(size.hostile.call_sec)]
    worst = run_child([sys.executable, "-m", "tests.bench_servers", image, *given])
    memory = Figure(
        name="the runner's peak memory under the worst servers, MB",
        value=worst.peak_mb,
        bound=500,
        detail="three cells of each at once",
    )
    return [memory, *(Figure(**it) for it in server_figures(client, image, size.hostile))]


# --- scoring ------------------------------------------------------------------------------------


def scoring_cost(checkout: Checkout, size: Size) -> list[Figure]:
    """1,000 transcripts of a real cell, scored in a process of their own."""
    first, half = next(iter(checkout.catalog.scenarios)), size.transcripts
    scenarios = checkout.choose_scenarios([first])
    prepared = prepare(checkout, scenarios, checkout.choose_servers(["shell"]))
    cells = BENCHMARKS["scenarios"].cells(prepared, ["offline"], 3 * half)
    with tempfile.TemporaryDirectory() as folder:
        # Not the same cells twice: what the first had scored would be the second's for nothing.
        few = scored(checkout, prepared, new_store(Path(folder) / "few", cells[:half]))
        many = scored(checkout, prepared, new_store(Path(folder) / "many", cells[half:]))
    name = f"CPU of scoring {2 * half:,} transcripts / scoring {half:,}"
    return [
        ratio(name, many.cpu_sec, few.cpu_sec, 2.4),
        Figure(name="its peak memory, MB", value=many.peak_mb, bound=300, detail=""),
    ]


def scored(checkout: Checkout, prepared: PreparedRun, store: RunStore) -> ChildUsage:
    """One cell of it run, the others its copies, and all of them scored."""
    cells = store.plan().cells
    copy_to_all(store, run_one(prepared, store, cells[0]), cells)
    return run_child([COMMAND, "score", str(store.folder)], checkout.root)


def new_store(folder: Path, cells: Sequence[Cell]) -> RunStore:
    store = RunStore(folder)
    plan.load_or_create_plan(store, plan.RunSpec(cells=tuple(cells), ungated=True))
    return store


def run_one(prepared: PreparedRun, store: RunStore, cell: Cell) -> EndedAttempt:
    """A real attempt at the cell."""
    silent = Progress(
        started=lambda _: None,
        says=lambda *_: None,
        ended=lambda _: None,
        spent=lambda *_: None,
    )
    asyncio.run(
        LocalExecutor(jobs=1).run([[cell]], prepared, store, silent, BENCHMARKS["scenarios"])
    )
    attempt = store.counted_attempt(cell.id)
    assert attempt is not None
    return attempt


def copy_to_all(store: RunStore, attempt: EndedAttempt, cells: Sequence[Cell]) -> None:
    for cell in cells:
        if store.attempt_numbers(cell.id):
            continue
        begun = store.begin(cell)
        # A link: a thousand transcripts on disk would be figures of the disk.
        os.link(attempt.transcript, begun.path / attempt.transcript.name)
        fields = dict(attempt.result) | {"cell": cell}
        del fields["digest"]
        store.finish(begun, CellResult(**fields))


# --- all of them --------------------------------------------------------------------------------


def measured(checkout: Checkout, size: Size) -> Iterator[Figure]:
    """Every figure, as soon as it is known."""
    yield from cell_cost(checkout.engine, checkout.base_image, size)
    yield round_trip(checkout, size)
    yield bridge_cost(checkout.engine, checkout.base_image)
    yield agent_cell_cost(checkout, size)
    yield help_cost(size)
    yield from hostile_cost(checkout.engine, checkout.base_image, size)
    of_others = chain(
        grounding_figures(size.grounding),
        toolbench_figures(size.tasks),
        mutation_figures(size.changed()),
    )
    yield from (Figure(**figure) for figure in of_others)
    yield from scoring_cost(checkout, size)


def main() -> None:
    # As the command does for itself: else a bench that holds this much walks it over and over.
    gc.set_threshold(100_000, 20, 20)
    checkout = Checkout(root=ROOT, state=ROOT / ".fairtrial", environ=dict(os.environ), log=print)
    held = True
    for figure in measured(checkout, Size()):
        sys.stdout.write(f"{figure}\n")
        sys.stdout.flush()
        held = held and figure.holds
    if not held:
        sys.exit(1)


if __name__ == "__main__":
    main()
