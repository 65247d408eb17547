"""A checkout: its catalog, its locks and its state. What the verbs share."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from runner.authoring.drafting.scenario_files import left_to_write
from runner.catalog.catalog import (
    APART,
    SHELL,
    Catalog,
    LoadedScenario,
    LoadedServer,
    load_catalog,
    pick,
)
from runner.catalog.commit_lines import CommitLines
from runner.catalog.locks import (
    harness_digest,
    pins_of,
    read_repos_lock,
    write_locks,
    write_project_locks,
)
from runner.catalog.project import require_locked
from runner.gate.chain import read_chain
from runner.gate.rescoring import since
from runner.gate.scenario_checks import prove
from runner.grounding.commit_files import GitFiles
from runner.protocols import Judge, Log, Source
from runner.records import (
    DEFAULT_AGENT,
    Gate,
    Limits,
    RepoPin,
    ServerCard,
    ServerSpec,
    Since,
    digest_of,
)
from runner.records.run_store import LoadedRun, RunStore
from runner.report.build_report import build_report
from runner.report.records import Report
from runner.repositories.local_labels import open_source
from runner.repositories.repository import Repository
from runner.runs.run_inputs import Arm, PreparedRun, PreparedScenario
from runner.runs.score_cache import KeptScores, kept_scores
from runner.sandbox.base_image import BaseImage, ensure_base
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import (
    Engine,
    connect,
    engine_facts,
    processors,
    remove_all,
    sweep,
)
from runner.sandbox.npm import npm_in_container
from runner.sandbox.tree_volume import ensure_lent
from runner.sandbox.workspace import WorkspaceImage, ensure_workspace
from runner.scoring.judges import open_judge
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.servers.examine import check_server
from runner.servers.image import ServerImage, require_image
from runner.servers.lock_checks import require_own_locks
from runner.servers.volume import ServerVolume, ensure_volume
from runner.support.errors import FairtrialError, Problem

if TYPE_CHECKING:
    from runner.runs.audit import Audit

BENCHMARK = "scenarios"
TITLES = {"toolbench": "MCPToolBench++", "agentbench": "MCP-AgentBench"}
CACHES = ("repositories", "grounding", "scores", "testbed", "images.json")
"""Under .fairtrial: what can be made again."""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What `fairtrial check` found of one scenario."""

    scenario: str
    problems: tuple[Problem, ...]

    def as_text(self) -> str:
        verdict = "FAIL" if self.problems else "ok  "
        lines = [f"{verdict} {self.scenario}"]
        for problem in self.problems:
            lines.append(f"     {problem}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        problems = [{"where": item.where, "message": item.message} for item in self.problems]
        return {"scenario": self.scenario, "problems": problems}


@dataclass(kw_only=True)
class Checkout:
    """One checkout, opened for one verb. What it needs is made when it is first asked for."""

    root: Path
    """What ships: a checkout's top, or its like in an installed package."""
    project: Path | None = None
    """A user's own folder, laid over what ships."""
    state: Path
    """Caches, locks of this machine, logs; of a checkout its `.fairtrial`."""
    environ: Mapping[str, str]
    log: Log
    judge_settings: JudgeSettings = field(default_factory=JudgeSettings)

    @cached_property
    def catalog(self) -> Catalog:
        return load_catalog(self.root, self.project)

    def over(self, project: Path) -> Checkout:
        """The same with another project, or a first one, laid over what ships."""
        return replace(self, project=project)

    def is_own(self, folder: Path) -> bool:
        """True for a folder of the project, which no generation of the gate knows."""
        return self.project is not None and folder.is_relative_to(self.project)

    def own_scenarios(self) -> list[LoadedScenario]:
        """Raises CatalogError with every problem of the project's scenarios."""
        folders = self.catalog.scenarios.folders.items()
        return [self.catalog.scenarios[name] for name, it in folders if self.is_own(it)]

    def require_own_locked(self, scenarios: Collection[str], servers: Collection[str]) -> None:
        """Raises AnchorsDrifted if something of the project's is not what its lock says."""
        if self.project is None:
            return
        known, arms = self.catalog.scenarios.folders, self.catalog.servers.folders
        folders = [known[name] for name in scenarios if name in known]
        folders += [arms[name] for name in servers if name in arms]
        require_locked(self.project, [folder for folder in folders if self.is_own(folder)])

    def shipped_among(self, scenarios: Collection[str]) -> list[str]:
        """Those that the gate's lock holds, or ought to."""
        folders = self.catalog.scenarios.folders
        return [name for name in scenarios if name not in folders or not self.is_own(folders[name])]

    @property
    def engine_url(self) -> str | None:
        return self.environ.get("DOCKER_HOST")

    @cached_property
    def engine(self) -> Engine:
        return connect(self.engine_url)

    @cached_property
    def limits(self) -> Limits:
        """The defaults, within what the engine's machine has."""
        defaults = Limits()
        # The engine refuses a cell that asks for more processors than there are.
        return Limits(cpus=min(defaults.cpus, processors(self.engine)))

    @cached_property
    def builder_env(self) -> BuilderEnv:
        return BuilderEnv.from_mapping(self.environ)

    @cached_property
    def base(self) -> BaseImage:
        return ensure_base(self.engine, self.root, self.log, env=self.builder_env, state=self.state)

    @property
    def base_image(self) -> str:
        return self.base.id

    @cached_property
    def judge(self) -> Judge:
        return open_judge(self.judge_settings)

    # --- what is asked for ----------------------------------------------------------------------

    def choose_scenarios(self, names: Sequence[str]) -> list[str]:
        """Names as asked, checked; if none is, every scenario outside held-out.

        In a project that has some of its own, those alone.
        """
        folders = self.catalog.scenarios.folders
        asked = [name for name, folder in folders.items() if folder.parent.name not in APART]
        chosen = [self.scenario(name).scenario.id for name in names or self._own(folders, asked)]
        return list(dict.fromkeys(chosen))

    def choose_servers(self, names: Sequence[str]) -> list[str]:
        """Names as asked, checked; if none is, every server, or the project's own.

        `shell` always comes first.
        """
        folders = self.catalog.servers.folders
        chosen = [SHELL]
        for name in names or self._own(folders, list(folders)):
            if name != SHELL:
                chosen.append(self.server(name).spec.name)
        return list(dict.fromkeys(chosen))

    def _own(self, folders: Mapping[str, Path], names: Sequence[str]) -> Sequence[str]:
        """The project's among them; all, if it has none."""
        return [name for name in names if self.is_own(folders[name])] or names

    def scenario(self, name: str) -> LoadedScenario:
        return pick(self.catalog.scenarios, name, "scenario")

    def server(self, name: str) -> LoadedServer:
        known = self.catalog.testbed if name in self.catalog.testbed else self.catalog.servers
        return pick(known, name, "server")

    def repository(self, loaded: LoadedScenario) -> Repository:
        """The scenario's repository at its pinned commit, fetched if it is not in the cache."""
        source = loaded.scenario.repository
        # Asked of git for each cell of a run again, it would cost more than scoring does.
        if source.label not in self._repositories:
            self._repositories[source.label] = open_source(
                source,
                project=self.project or self.root,
                cache=self.state / "repositories",
                pins=self._pins,
                environ=self.environ,
                npm=self._npm,
            )
        return self._repositories[source.label]

    @cached_property
    def _pins(self) -> dict[str, RepoPin]:
        own = read_repos_lock(self.project) if self.project else {}
        # What ships is what its own lock says, whatever a project's says of it.
        return own | read_repos_lock(self.root)

    @cached_property
    def _repositories(self) -> dict[str, Repository]:
        return {}

    def _npm(self, arguments: Sequence[str], folder: Path) -> None:
        """For a machine without npm: the base image's own."""
        npm_in_container(self.engine, self.base_image, self.builder_env)(arguments, folder)

    def files(self, loaded: LoadedScenario) -> GitFiles:
        # One git process a scenario, not one a cell: a run may have thousands of cells.
        if loaded.scenario.id not in self._files:
            repository = self.repository(loaded)
            self._files[loaded.scenario.id] = GitFiles(repository.path, repository.commit)
        return self._files[loaded.scenario.id]

    def source(self, scenario: str) -> Source:
        """protocols.Sources: the lines of a scenario's commit, fetched when one is asked for."""
        return CommitLines(lambda: self.files(self.scenario(scenario)))

    @cached_property
    def _files(self) -> dict[str, GitFiles]:
        return {}

    @cached_property
    def kept_scores(self) -> KeptScores | None:
        return kept_scores(self.state / "scores", self.environ)

    def close_files(self) -> None:
        """End the git processes that `files` holds."""
        while self._files:
            _, files = self._files.popitem()
            files.close()

    # --- made ready -----------------------------------------------------------------------------

    def prepare(self, scenarios: Sequence[str], servers: Sequence[str]) -> PreparedRun:
        """Every image and volume the cells stand on; what is there is checked, not built again."""
        # A killed preparation's builders would go on filling what is filled anew here.
        sweep(self.engine)
        facts = engine_facts(self.engine)
        prepared_scenarios = {name: self._prepare_scenario(name) for name in scenarios}
        arms = {name: self._prepare_arm(name) for name in servers}
        for arm, scenario in product(arms.values(), prepared_scenarios.values()):
            self.lend(arm.spec, scenario.image)
        return PreparedRun(
            engine_url=self.engine_url,
            engine_version=facts.version,
            kernel=facts.kernel,
            machine=facts.machine,
            harness=harness_digest(),
            agent=DEFAULT_AGENT,
            benchmark=BENCHMARK,
            limits=self.limits,
            scenarios=prepared_scenarios,
            arms=arms,
        )

    def _prepare_scenario(self, name: str) -> PreparedScenario:
        loaded = self.scenario(name)
        repository = self.repository(loaded)
        image = self.workspace(repository)
        return PreparedScenario(
            scenario=loaded.scenario,
            image=image.id,
            base_image=self.base_image,
            pin=repository.pin,
        )

    def _prepare_arm(self, name: str) -> Arm:
        if name == SHELL:
            return Arm(name=SHELL, spec=None, volume=None, digest=digest_of(SHELL))
        server = self.server(name)
        installed = self.install(server)
        digest = digest_of([server.digest, installed.digest])
        return Arm(name=name, spec=server.spec, volume=installed.volume, digest=digest)

    def workspace(self, repository: Repository) -> WorkspaceImage:
        return ensure_workspace(
            self.engine, repository, self.base_image, state_dir=self.state, log=self.log
        )

    def install(self, server: LoadedServer) -> ServerVolume | ServerImage:
        """Its volume, filled first if it is not; an image must be on the engine."""
        if server.spec.image is not None:
            return require_image(self.engine, server.spec.image, where=server.spec.name)
        # A lock that was copied or left behind would have another version measured in its name.
        require_own_locks(server)
        return ensure_volume(self.engine, server, self.base, self.builder_env, self.log)

    def lend(self, spec: ServerSpec | None, workspace: str) -> None:
        """What a server's own image gets of a workspace image; nothing to another server."""
        if spec is not None and spec.image is not None:
            ensure_lent(self.engine, workspace, spec.private)

    # --- verbs ----------------------------------------------------------------------------------

    def prove(self, names: Sequence[str]) -> Iterator[Proof]:
        """Each scenario's proof, as it is found; if none is named, of all, or of the project's."""
        if not names:
            yield from self._broken()
        chosen = [self.scenario(name) for name in names]
        for loaded in chosen or self._to_prove():
            problems = [*left_to_write(loaded.folder)]
            problems += prove(loaded, self.files(loaded), self.judge)
            yield Proof(scenario=f"{loaded.suite}/{loaded.scenario.id}", problems=tuple(problems))

    def _to_prove(self) -> list[LoadedScenario]:
        sound = self.catalog.scenarios.sound().values()
        return [it for it in sound if self.project is None or self.is_own(it.folder)]

    def audit(self, store: RunStore) -> Audit:
        """The run's files, to be held against each other and scored.

        Raises FairtrialError as `require_scorecards` does.
        """
        self.require_scorecards(store)
        from runner.benchmarks import BENCHMARKS  # noqa: PLC0415
        from runner.runs.audit import Audit  # noqa: PLC0415

        return Audit(store=store, checkout=self, benchmark=BENCHMARKS[BENCHMARK])

    def require_scorecards(self, store: RunStore) -> None:
        """Raises FairtrialError for a run of tasks or queries, which have none."""
        benchmark = store.plan().benchmark if store.has_plan() else None
        if benchmark is not None:
            hint = f"`fairtrial {benchmark} report {store.folder.name}` shows it"
            title = TITLES.get(benchmark, benchmark)
            raise FairtrialError(f"this run is of {title}", where=store.folder.name, hint=hint)

    def _broken(self) -> Iterator[Proof]:
        """Of every folder that cannot be read, a server's too: nobody else may ask for it."""
        scenarios, servers = self.catalog.scenarios, self.catalog.servers
        for name, problems in scenarios.broken().items():
            suite = scenarios.folders[name].parent.name
            yield Proof(scenario=f"{suite}/{name}", problems=problems)
        for problem in scenarios.stray:
            yield Proof(scenario=problem.where, problems=(problem,))
        for name, problems in {**servers.broken(), **self.catalog.testbed.broken()}.items():
            yield Proof(scenario=f"images/servers/{name}", problems=problems)
        for problem in self.catalog.testbed.stray:
            yield Proof(scenario=problem.where, problems=(problem,))

    def report(self, run: LoadedRun, *, gate: Gate | None = None) -> Report:
        """`gate`: what stood in front of it; without one every page says UNGATED."""
        if gate is None:
            run = replace(run, plan=run.plan.model_copy(update={"ungated": True}))
        scenarios = {
            name: loaded.scenario for name, loaded in self.catalog.scenarios.sound().items()
        }
        servers = {name: loaded.spec for name, loaded in self.catalog.servers.sound().items()}
        accepted = self._since(run, gate)
        return build_report(run, scenarios, servers, gate=gate, since=accepted)

    def _since(self, run: LoadedRun, gate: Gate | None) -> Since | None:
        """What was accepted after the run was planned, up to the gate's generation."""
        if gate is None or run.plan.ungated:
            return None
        generations = read_chain(self.root)[: gate.generation]
        return since(generations, run.plan, gate.judge)

    def check_server(self, name: str, scenario: str) -> ServerCard:
        """Examine a server in the sandbox, on the repository of a scenario.

        If none is named, on the first that the server has a canary for.
        """
        server = self.server(name)
        installed = self.install(server)
        repository, image = self._place_to_examine(server, scenario)
        self.lend(server.spec, image)
        self.log(f"checking {name} on {repository}")
        examination = check_server(
            self.engine,
            server.spec,
            installed,
            image=image,
            repository=repository,
            limits=self.limits,
        )
        return asyncio.run(examination)

    def _place_to_examine(self, server: LoadedServer, scenario: str) -> tuple[str, str]:
        """A repository's label and the image that holds it; a testbed's server needs neither."""
        if server.spec.name in self.catalog.testbed and not scenario:
            return "an empty workspace", self.base_image
        loaded = self.scenario(scenario) if scenario else self._scenario_for(server)
        label = loaded.scenario.repository.label
        return label, self.workspace(self.repository(loaded)).id

    def _scenario_for(self, server: LoadedServer) -> LoadedScenario:
        """The first canary decides, not the first scenario."""
        known = list(self.catalog.scenarios.sound().values())
        for canary in server.spec.canaries:
            for loaded in known:
                if canary.repository in (loaded.scenario.repository.label, "*"):
                    return loaded
        raise FairtrialError(
            "no scenario's repository has a canary of this server",
            where=f"images/servers/{server.spec.name}/server.yaml",
            hint="add a canary for a shipped repository, or name a scenario with --scenario",
        )

    def lock(self, *, check: bool) -> list[str]:
        """Write every lock, or with `check` only say what would change; a project's, in a project.

        Raises LockError if `check` finds drift.
        """
        cache = self.state / "repositories"
        if self.project is not None:
            shipped = read_repos_lock(self.root)
            own = [it for it in self.own_scenarios() if it.scenario.repository.label not in shipped]
            pins = pins_of(
                own, project=self.project, cache=cache, environ=self.environ, npm=self._npm
            )
            return write_project_locks(self.project, pins, check=check)
        return write_locks(
            self.root,
            self.catalog,
            cache=cache,
            environ=self.environ,
            check=check,
            npm=self._npm,
        )

    def clean(self, *, everything: bool) -> Iterator[str]:
        """Remove what killed runners left; a line for each thing removed.

        With `everything`, remove every container, volume, image and cache of ours.
        """
        if not everything:
            count = sweep(self.engine)
            noun = "container" if count == 1 else "containers"
            yield f"removed {count} {noun} whose runner is gone"
            return
        yield from remove_all(self.engine)
        for name in CACHES:
            path = self.state / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        yield "removed caches"
