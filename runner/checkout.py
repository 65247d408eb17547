"""The workshop: what the verbs share. It reads the catalog, makes images and volumes ready, and scores what cells left behind."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import docker

from runner.archives import npm_in_container
from runner.catalog import (
    HELD_OUT,
    SHELL,
    Catalog,
    LoadedScenario,
    LoadedServer,
    load_catalog,
    pick,
)
from runner.errors import FairtrialError, Problem
from runner.grounding.files import GitFiles
from runner.judges import JUDGES
from runner.locks import harness_digest, read_repos_lock, write_locks
from runner.prepared import Arm, PreparedRun, PreparedScenario
from runner.proofs import prove
from runner.protocols import Judge
from runner.records import Gate, Limits, Scorecard, ServerCard, digest_of
from runner.report.data import build_report
from runner.report.records import Report
from runner.repository import Repository, fetch_source
from runner.sandbox.base import ensure_base
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import connect, engine_facts, remove_all, sweep
from runner.scoring import score_cell
from runner.servers import check_server
from runner.store import LoadedRun, RunStore
from runner.transcript import iter_transcript
from runner.volumes import ensure_volume
from runner.workspace import ensure_workspace

JUDGE = "checklist"


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What `fairtrial check` found of one scenario."""

    scenario: str
    problems: tuple[Problem, ...]

    def as_text(self) -> str:
        return "\n".join(
            [
                f"{'FAIL' if self.problems else 'ok  '} {self.scenario}",
                *(f"     {problem}" for problem in self.problems),
            ]
        )

    def as_json(self) -> dict[str, object]:
        return {
            "scenario": self.scenario,
            "problems": [{"where": p.where, "message": p.message} for p in self.problems],
        }


@dataclass(kw_only=True)
class Checkout:
    """One checkout: its catalog, locks and state."""

    root: Path
    state: Path
    environ: Mapping[str, str]
    log: Callable[[str], None]

    @cached_property
    def catalog(self) -> Catalog:
        return load_catalog(self.root)

    @cached_property
    def client(self) -> docker.DockerClient:
        return connect(self.environ.get("DOCKER_HOST"))

    @cached_property
    def limits(self) -> Limits:
        """The defaults, within what this machine has: the engine refuses a cell that asks for more processors than there are."""
        return Limits(cpus=min(Limits().cpus, float(self.client.info()["NCPU"])))

    @cached_property
    def builder_env(self) -> BuilderEnv:
        return BuilderEnv.from_mapping(self.environ)

    @cached_property
    def base_image(self) -> str:
        return ensure_base(self.client, self.root, self.log, env=self.builder_env).id

    @cached_property
    def judge(self) -> Judge:
        return JUDGES[JUDGE]()

    # --- what is asked for -------------------------------------------------------------------

    def choose(
        self, scenarios: Sequence[str], servers: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Names as asked, checked; by default every scenario outside held-out, and every server. `shell` always comes first."""
        known = self.catalog.scenarios
        chosen = [pick(known, name, "scenario").scenario.id for name in scenarios]
        chosen = chosen or [name for name, loaded in known.items() if loaded.suite != HELD_OUT]
        arms = [
            name if name == SHELL else pick(self.catalog.servers, name, "server").spec.name
            for name in servers
        ]
        return list(dict.fromkeys(chosen)), list(
            dict.fromkeys([SHELL, *(arms or self.catalog.servers)])
        )

    def repository(self, loaded: LoadedScenario) -> Repository:
        """The scenario's repository at its pinned commit, fetched where it is not in the cache yet."""
        source = loaded.scenario.repository
        return fetch_source(
            source,
            cache=self.state / "repositories",
            pins=read_repos_lock(self.root),
            environ=self.environ,
            npm=self._npm,
        )

    def _npm(self, arguments: Sequence[str], folder: Path) -> None:
        """For a machine without npm: the base image's own."""
        npm_in_container(self.client, self.base_image, self.builder_env)(arguments, folder)

    def files(self, loaded: LoadedScenario) -> GitFiles:
        repository = self.repository(loaded)
        return GitFiles(repository.path, repository.commit)

    # --- made ready --------------------------------------------------------------------------

    def prepare(self, scenarios: Sequence[str], servers: Sequence[str]) -> PreparedRun:
        """Every image and volume the cells stand on; what is there already is checked, not built again."""
        return PreparedRun(
            client=self.client,
            engine=engine_facts(self.client),
            harness=harness_digest(),
            limits=self.limits,
            grounds={name: self._ground(self.catalog.scenarios[name]) for name in scenarios},
            arms={name: self._arm(name) for name in servers},
        )

    def _ground(self, loaded: LoadedScenario) -> PreparedScenario:
        repository = self.repository(loaded)
        image = ensure_workspace(
            self.client, repository, self.base_image, state_dir=self.state, log=self.log
        )
        return PreparedScenario(
            scenario=loaded.scenario, image=image.id, base_image=self.base_image, pin=repository.pin
        )

    def _arm(self, name: str) -> Arm:
        if name == SHELL:
            return Arm(name=SHELL, spec=None, volume=None, digest=digest_of(SHELL))
        server = self.catalog.servers[name]
        volume = ensure_volume(
            self.client,
            server,
            self.base_image,
            self.builder_env,
            self.log,
            lock_dir=self.state / "held",
        )
        return Arm(
            name=name,
            spec=server.spec,
            volume=volume.name,
            digest=digest_of([server.digest, volume.digest]),
        )

    # --- verbs -------------------------------------------------------------------------------

    def prove(self, names: Sequence[str]) -> Iterator[Proof]:
        """Each scenario's proof, as it is found."""
        known = self.catalog.scenarios
        for loaded in [pick(known, name, "scenario") for name in names] or known.values():
            problems = prove(loaded, self.files(loaded), self.judge)
            yield Proof(scenario=f"{loaded.suite}/{loaded.scenario.id}", problems=tuple(problems))

    def score(self, store: RunStore) -> Iterator[Scorecard]:
        """A scorecard for every measured cell, from its transcript alone: one transcript in memory at a time."""
        files: dict[str, GitFiles] = {}
        for cell in store.plan().cells:
            counted = store.counted_attempt(cell.id)
            if counted is None or not counted[1].outcome.is_measurement:
                continue
            loaded = pick(self.catalog.scenarios, cell.scenario, "scenario")
            if cell.scenario not in files:
                files[cell.scenario] = self.files(loaded)
            yield score_cell(
                iter_transcript(counted[0] / "transcript.jsonl"),
                loaded.scenario,
                loaded.rubric,
                cell_id=cell.id,
                server=cell.server,
                files=files[cell.scenario],
                judge=self.judge,
                cache_dir=self.state / "grounding",
            )

    def report(self, run: LoadedRun, *, gate: Gate | None = None) -> Report:
        """`gate`: what stood in front of it; without one every page says UNGATED."""
        run = run if gate else replace(run, plan=run.plan.model_copy(update={"ungated": True}))
        scenarios = {name: loaded.scenario for name, loaded in self.catalog.scenarios.items()}
        return build_report(
            run,
            scenarios,
            {name: server.spec for name, server in self.catalog.servers.items()},
            gate=gate,
        )

    def check_server(self, name: str, scenario: str) -> ServerCard:
        """Examine a server in the sandbox, on a scenario's repository, or on the first it has a canary for."""
        server = pick(self.catalog.servers, name, "server")
        loaded = (
            pick(self.catalog.scenarios, scenario, "scenario")
            if scenario
            else self._scenario_for(server)
        )
        volume = ensure_volume(
            self.client,
            server,
            self.base_image,
            self.builder_env,
            self.log,
            lock_dir=self.state / "held",
        )
        image = ensure_workspace(
            self.client,
            self.repository(loaded),
            self.base_image,
            state_dir=self.state,
            log=self.log,
        )
        label = loaded.scenario.repository.label
        self.log(f"checking {name} on {label}")
        return asyncio.run(
            check_server(
                self.client,
                server.spec,
                volume,
                image=image.id,
                repository=label,
                limits=self.limits,
            )
        )

    def _scenario_for(self, server: LoadedServer) -> LoadedScenario:
        known = {
            loaded.scenario.repository.label: loaded
            for loaded in reversed(list(self.catalog.scenarios.values()))
        }
        for canary in server.spec.canaries:
            if canary.repository in known:
                return known[canary.repository]
            if canary.repository == "*" and known:
                return list(known.values())[-1]
        raise FairtrialError(
            "no scenario's repository has a canary of this server",
            where=f"images/servers/{server.spec.name}/server.yaml",
            hint="add a canary for a shipped repository, or name a scenario with --scenario",
        )

    def lock(self, *, check: bool) -> list[str]:
        """Write every lock, or with `check` only say what would change. Raises LockError where `check` finds drift."""
        return write_locks(
            self.root,
            self.catalog,
            cache=self.state / "repositories",
            environ=self.environ,
            check=check,
            npm=self._npm,
        )

    def clean(self, *, everything: bool) -> Iterator[str]:
        """Remove what killed runners left; with `everything` every container, volume, image and cache. What was removed, a line each."""
        if not everything:
            count = sweep(self.client)
            yield f"removed {count} container{'' if count == 1 else 's'} whose runner is gone"
            return
        yield from remove_all(self.client)
        for name in ("repositories", "held", "grounding", "images.json"):
            path = self.state / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        yield "removed caches"
