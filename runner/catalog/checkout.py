"""A checkout: what is in it, and where its state lies. What the verbs share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from runner.catalog.asked_arms import next_twin, split_arm
from runner.catalog.catalog import (
    APART,
    EXACT,
    SHELL,
    Catalog,
    LoadedScenario,
    LoadedServer,
    load_catalog,
    pick,
)
from runner.catalog.commit_lines import CommitLines
from runner.catalog.locks import pins_of, read_repos_lock, write_locks, write_project_locks
from runner.catalog.project import require_locked, write_project_lock
from runner.grounding.commit_files import GitFiles
from runner.protocols import LineSource, Log
from runner.records import ArmServer, Limits, RepoPin, server_of
from runner.records.arms import NO_TOOLS_ARM
from runner.repositories.local_labels import open_source
from runner.repositories.repository import Repository
from runner.sandbox.base_image import BaseImage, ensure_base
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import Engine, connect, processors
from runner.sandbox.npm import npm_in_container


@dataclass(kw_only=True)
class Checkout:
    """One checkout, opened for one verb. What it needs is made when it is first asked for."""

    root: Path
    """What ships: a checkout's top, or its like in an installed package."""
    project: Path | None = None
    """A user's own folder, laid over what ships."""
    judged_by: Path | None = None
    """The folder whose own lock of judges counts, if that is not the project."""
    state: Path
    """Caches, locks of this machine, logs; of a checkout its `.fairtrial`."""
    environ: Mapping[str, str]
    log: Log

    @cached_property
    def catalog(self) -> Catalog:
        return load_catalog(self.root, self.project)

    def over(self, project: Path) -> Checkout:
        """The same with another project, or a first one, laid over what ships."""
        # A server that is tried out is judged by whom the user's own project lets rank.
        return replace(self, project=project, judged_by=self.judges_of)

    @property
    def judges_of(self) -> Path | None:
        return self.judged_by or self.project

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
        named = dict.fromkeys(map(server_of, servers))
        folders += [arms[name] for name in named if name in arms]
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

    # --- what is asked for ----------------------------------------------------------------------

    def choose_scenarios(self, names: Sequence[str]) -> list[str]:
        """Names as asked, checked; if none is, every scenario outside held-out.

        In a project that has some of its own, those alone.
        """
        folders = self.catalog.scenarios.folders
        asked = [name for name, folder in folders.items() if folder.parent.name not in APART]
        chosen = [self.scenario(name).scenario.id for name in names or self._own(folders, asked)]
        return list(dict.fromkeys(chosen))

    def choose_questions(self, names: Sequence[str] = ()) -> list[str]:
        """Of questions with a key the ids, or all of a repository; if none is named, all.

        In a project that has some of its own, those alone. Raises FairtrialError for a name that
        none has.
        """
        folders = self.catalog.scenarios.folders
        asked = [name for name, folder in folders.items() if folder.parent.name == EXACT]
        chosen: list[str] = []
        for name in names:
            of_repository = [it for it in asked if folders[it].name == name]
            chosen += of_repository or [pick({it: it for it in asked}, name, "question")]
        return list(dict.fromkeys(chosen if names else self._own(folders, asked)))

    def questions_about(self, label: str) -> list[str]:
        """Of questions with a key those about a repository, by its source's label."""
        scenarios = self.catalog.scenarios
        asked = [it for it, folder in scenarios.folders.items() if folder.parent.name == EXACT]
        return [it for it in asked if scenarios[it].scenario.repository.label == label]

    def choose_servers(self, names: Sequence[str], to_come: Collection[str] = ()) -> list[str]:
        """Arms by their names, checked; if none is asked for, every server, or the project's own.

        `to_come`: servers that there are not yet, and may be asked for all the same.

        `shell` always comes first. A server asked for again is its twin, `NAME+20` the liar whose
        results have every line number moved, and `none` has no tool at all. Raises FairtrialError
        for an arm there cannot be.
        """
        folders = self.catalog.servers.folders
        chosen = [SHELL]
        for name in names or self._own(folders, list(folders)):
            if name == NO_TOOLS_ARM and name not in chosen:
                chosen.append(name)
            elif name not in (SHELL, NO_TOOLS_ARM):
                chosen.append(next_twin(self._arm(name, to_come), chosen).name)
        return chosen

    def _arm(self, name: str, to_come: Collection[str]) -> ArmServer:
        known = {*self.catalog.servers, *self.catalog.testbed, *to_come}
        server, altered = split_arm(name, known)
        if server not in to_come:
            server = self.server(server).spec.name
        return ArmServer.of(server + altered)

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
                npm=self.npm,
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

    def npm(self, arguments: Sequence[str], folder: Path) -> None:
        """For a machine without npm: the base image's own."""
        npm_in_container(self.engine, self.base_image, self.builder_env)(arguments, folder)

    def files(self, loaded: LoadedScenario) -> GitFiles:
        # One git process a repository, not one a cell: a run may have thousands of cells.
        label = loaded.scenario.repository.label
        if label not in self._files:
            repository = self.repository(loaded)
            self._files[label] = GitFiles(repository.path, repository.commit)
        return self._files[label]

    def source(self, scenario: str) -> LineSource:
        """protocols.OpenLineSource: the lines of a scenario's commit, fetched when asked for."""
        return CommitLines(lambda: self.files(self.scenario(scenario)))

    @cached_property
    def _files(self) -> dict[str, GitFiles]:
        return {}

    def close_files(self) -> None:
        """End the git processes that `files` holds."""
        while self._files:
            _, files = self._files.popitem()
            files.close()


def relocked(checkout: Checkout, project: Path) -> Checkout:
    """A project laid over what ships, with locks of what it holds by now. Raises as `lock` does."""
    write_project_lock(project)
    # Opened anew: a catalog keeps what it found when it was opened.
    own = checkout.over(project)
    lock(own, check=False)
    return own


def lock(checkout: Checkout, *, check: bool) -> list[str]:
    """Write every lock, or with `check` only say what would change; a project's, in a project.

    Raises LockError if `check` finds drift.
    """
    cache, environ = checkout.state / "repositories", checkout.environ
    if checkout.project is None:
        return write_locks(
            checkout.root,
            checkout.catalog,
            cache=cache,
            environ=environ,
            check=check,
            npm=checkout.npm,
        )
    shipped = read_repos_lock(checkout.root)
    own = [it for it in checkout.own_scenarios() if it.scenario.repository.label not in shipped]
    pins = pins_of(own, project=checkout.project, cache=cache, environ=environ, npm=checkout.npm)
    return write_project_locks(checkout.project, pins, check=check)
