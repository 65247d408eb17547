"""A Dask cluster: one on this machine, or one whose scheduler answers elsewhere. TLS in any case.

Keys go to the workers with their work, and whoever reaches a scheduler can run code on them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import dask
from distributed import Client, LocalCluster, Scheduler, Security, Worker

from runner.catalog.checkout import Checkout
from runner.protocols import Log
from runner.runs.executors.hosts import OwnCheckout
from runner.runs.executors.member import Member
from runner.support.errors import FairtrialError

CONNECT_SEC = 10
LOOK_SEC = 1.0
"""Between two looks for a scheduler that is gone."""
LOOPBACK = "127.0.0.1"
SETTINGS = {
    # It asks for the frames of all threads, in which CPython 3.11 locks itself up now and then
    # (python/cpython#106883): a worker that stands still, and holds its lease no longer.
    "distributed.worker.profile.enabled": False,
    # A worker that stands still for a moment is no news for whoever waits for cells.
    "distributed.admin.tick.limit": "30s",
    "distributed.comm.timeouts.connect": f"{CONNECT_SEC}s",
}


class NoScheduler(FairtrialError):  # noqa: N818 - it is waited for
    """None answers yet."""


@asynccontextmanager
async def cluster_here(workers: int) -> AsyncIterator[Client]:
    """A scheduler in this process, and workers in processes of their own, gone afterwards."""
    security = Security.temporary()
    with dask.config.set(SETTINGS):
        async with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                # A cell's work is in its container: a limit here would end it for our memory.
                memory_limit=0,
                host=LOOPBACK,
                protocol="tls://",
                security=security,
                dashboard_address=f"{LOOPBACK}:0",
                asynchronous=True,
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster, asynchronous=True, security=security) as client,
        ):
            yield client


@asynccontextmanager
async def cluster_at(address: str, security: Security) -> AsyncIterator[Client]:
    """The cluster whose scheduler answers at HOST:PORT. Raises NoScheduler if none does."""
    _be_silent()
    try:
        client = await Client(
            f"tls://{address}", asynchronous=True, security=security, timeout=CONNECT_SEC
        )
    except (OSError, TimeoutError) as error:
        hint = "`fairtrial executor scheduler` starts one; is its certificate by the same CA?"
        raise NoScheduler(f"no scheduler answers: {error}", where=address, hint=hint) from error
    try:
        yield client
    finally:
        await client.close()


def security_of(tls: Path | None) -> Security:
    """Raises FairtrialError without certificates: keys of models would be sent in the open."""
    hint = "give --tls DIR with ca.pem, cert.pem and key.pem; docs/scale.md makes them"
    if tls is None:
        raise FairtrialError("a scheduler is talked to over TLS alone", hint=hint)
    paths = [tls / name for name in ("ca.pem", "cert.pem", "key.pem")]
    for path in paths:
        if not path.is_file():
            raise FairtrialError("there is no such file", where=str(path), hint=hint)
    authority, certificate, key = map(str, paths)
    files = {"tls_ca_file": authority}
    for role in ("client", "scheduler", "worker"):
        files |= {f"tls_{role}_cert": certificate, f"tls_{role}_key": key}
    return Security(require_encryption=True, **files)


async def serve_scheduler(
    host: str, port: int, dashboard: str, security: Security, tell: Log
) -> None:
    """Until it is cancelled. It knows nothing of runs: what they need there comes with them."""
    _set_up()
    async with Scheduler(
        host=host,
        port=port,
        protocol="tls://",
        security=security,
        dashboard=True,
        dashboard_address=dashboard,
    ) as scheduler:
        tell(f"the scheduler answers at {_place(scheduler.address)}; dashboard: {dashboard}")
        await scheduler.finished()


async def serve_worker(
    address: str, jobs: int, security: Security, checkout: Checkout, tell: Log
) -> None:
    """Until it is cancelled. A scheduler that is gone is waited for, and joined again."""
    _set_up()
    while True:
        try:
            async with Worker(
                f"tls://{address}",
                nthreads=jobs,
                memory_limit=0,
                security=security,
                plugins=(OwnCheckout(checkout),),
                death_timeout=CONNECT_SEC,
            ) as worker:
                tell(f"at work for {address}, {jobs} blocks at a time, as {_place(worker.address)}")
                await _at_work(worker)
        except (OSError, TimeoutError) as error:
            tell(f"no scheduler answers at {address}: {error}")
        await asyncio.sleep(LOOK_SEC)


async def _at_work(worker: Worker) -> None:
    try:
        await worker.finished()
    except asyncio.CancelledError:
        # What is under way says that it was interrupted; then the worker goes.
        for plugin in tuple(worker.plugins.values()):
            if isinstance(plugin, Member):
                plugin.cancel()
        raise


def _set_up() -> None:
    """Of this process, which serves nothing else."""
    dask.config.set(SETTINGS)
    _be_silent()


def _be_silent() -> None:
    # Dask tells each connection that begins or ends, with a traceback where a scheduler is gone.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)


def _place(address: str) -> str:
    return address.partition("://")[2]
