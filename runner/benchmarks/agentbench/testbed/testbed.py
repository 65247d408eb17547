"""The testbed: servers installed on demand, their tools listed once, and a cell that holds several.

What a server offers has to be known before a run is planned: others are drawn by their number of
tools. The server itself is asked, once for each definition and package lock, and what it said is
kept in .fairtrial/testbed/.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from runner.benchmarks.agentbench.testbed.router import (
    InstalledServer,
    Listing,
    Router,
    WriteNote,
    open_router,
)
from runner.catalog.checkout import Checkout
from runner.records import Limits, digest_of, parse_json
from runner.records.run_store import write_record
from runner.sandbox.base_image import read_pins
from runner.sandbox.container import ContainerSpec, open_container
from runner.sandbox.engine import Engine
from runner.servers.definition_rules import places_among
from runner.servers.volume import ensure_volume, volume_name
from runner.support.errors import FairtrialError

LISTED = "testbed"
"""Under .fairtrial: what each server said of itself."""
INSTALLED_AT_ONCE = 4
LISTED_AT_ONCE = 6
"""Servers in a cell that only lists them."""
DEADLINE_SEC = 7200
MEMORY_MB = 4096
"""Fifteen servers with 114 tools hold 880 MB once they are started."""
PIDS = 1024
"""They have a hundred threads."""


def cell_limits(limits: Limits) -> Limits:
    """Of a cell that holds twenty servers."""
    return limits.model_copy(update={"memory_mb": MEMORY_MB, "pids": PIDS})


# --- a cell -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CellSpec:
    """A cell with an empty workspace, and what its router is opened with."""

    image: str
    limits: Limits
    servers: Sequence[InstalledServer]
    required: Collection[str] = ()
    asleep: Collection[str] = ()
    """Both as in `open_router`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    deadline_sec: int = DEADLINE_SEC
    tools_at_most: int | None = None
    """None: no limit."""

    def container(self) -> ContainerSpec:
        private = [path for one in self.servers for path in one.spec.private]
        return ContainerSpec(
            image=self.image,
            limits=self.limits,
            deadline_sec=self.deadline_sec,
            labels=self.labels,
            volumes={places_among(one.name)["install"]: one.volume for one in self.servers},
            private=tuple(dict.fromkeys(private)),
        )


@asynccontextmanager
async def open_cell(
    engine: Engine, spec: CellSpec, *, note: WriteNote = lambda _: None, logs: Path | None = None
) -> AsyncIterator[Router]:
    """A container and the router in it. Raises as `open_container` and `open_router` do."""
    async with (
        open_container(engine, spec.container()) as container,
        open_router(
            container,
            spec.servers,
            required=spec.required,
            asleep=spec.asleep,
            note=note,
            logs=logs,
            tools_at_most=spec.tools_at_most,
        ) as router,
    ):
        yield router


# --- what is there ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Listings:
    """What servers offer."""

    of: Mapping[str, Listing]
    silent: Mapping[str, str]
    """Server -> why it does not start. It can be neither asked nor drawn."""


@dataclass(frozen=True)
class Testbed:
    """The servers of a checkout: those of the testbed, and the user's own."""

    checkout: Checkout
    _installed: dict[str, InstalledServer] = field(default_factory=dict)
    """A volume is read through before it is used: once for a command, not for each cell of it."""

    def install(self, name: str) -> InstalledServer:
        """A server at its place among others.

        Raises FairtrialError if it is unknown or cannot be installed.
        """
        if name not in self._installed:
            self._installed[name] = self._install(name)
        return self._installed[name]

    def _install(self, name: str) -> InstalledServer:
        checkout, server = self.checkout, self.checkout.server(name)
        if server.spec.image is not None:
            hint = "measure it with scenarios: `fairtrial run`"
            what = "an image has a container of its own, and these servers share one"
            raise FairtrialError(what, where=name, hint=hint)
        volume = ensure_volume(
            checkout.engine,
            server,
            checkout.base,
            checkout.builder_env,
            checkout.log,
            places=places_among(name),
        )
        digest = digest_of([server.digest, volume.digest])
        return InstalledServer(spec=server.spec, volume=volume.name, digest=digest)

    def install_all(self, names: Iterable[str]) -> dict[str, InstalledServer]:
        """A few at a time: each is read through by a container that mostly waits for the engine."""
        wanted = list(names)
        # Both are made when they are first asked for, and two threads would each make one.
        _ = self.checkout.engine, self.checkout.base
        with ThreadPoolExecutor(INSTALLED_AT_ONCE) as pool:
            return dict(zip(wanted, pool.map(self.install, wanted), strict=True))

    def cell(self, names: Sequence[str], *, required: Collection[str] = ()) -> CellSpec:
        """Of a cell with these servers."""
        return CellSpec(
            image=self.checkout.base_image,
            limits=cell_limits(self.checkout.limits),
            servers=list(self.install_all(names).values()),
            required=required,
        )

    # --- what they offer ------------------------------------------------------------------------

    def known(self, names: Iterable[str]) -> dict[str, Listing]:
        """Of the servers that have been listed as they are defined now; needs no engine."""
        found = {}
        for name in names:
            path = self._listed(name)
            if path.is_file():
                found[name] = parse_json(path.read_bytes(), Listing, where=str(path))
        return found

    def listings(self, names: Sequence[str]) -> Listings:
        """Of all these servers; those that never were listed are installed and started for it."""
        known = self.known(names)
        silent: dict[str, str] = {}
        new = [name for name in names if name not in known]
        for start in range(0, len(new), LISTED_AT_ONCE):
            silent |= self._list(new[start : start + LISTED_AT_ONCE])
        return Listings(of=self.known(names), silent=silent)

    def _list(self, names: Sequence[str]) -> dict[str, str]:
        """Keep what each of them says; name -> why, of those that do not start."""
        self.checkout.log(f"listing the tools of {', '.join(names)}")
        router = asyncio.run(self._ask(names))
        for name, listing in router.listings.items():
            write_record(self._listed(name), listing)
        return router.gone

    async def _ask(self, names: Sequence[str]) -> Router:
        """The router, which is closed, and still knows."""
        async with open_cell(self.checkout.engine, self.cell(names)) as router:
            return router

    def _listed(self, name: str) -> Path:
        server = self.checkout.server(name)
        volume = volume_name(server, read_pins(self.checkout.root).recipe, places_among(name))
        digest = digest_of([server.digest, volume])
        return self.checkout.state / LISTED / f"{name}-{digest[:16]}.json"
