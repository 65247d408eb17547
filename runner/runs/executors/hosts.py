"""A worker's machine: what it is, whether it holds the same images, why it may take no block."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from distributed import Worker
from distributed.diagnostics.plugin import WorkerPlugin

import runner
from runner.catalog.checkout import Checkout
from runner.protocols import Log
from runner.records import HostFacts
from runner.runs.prepare import BENCHMARK, prepare
from runner.runs.run_inputs import PreparedRun
from runner.sandbox.engine import (
    Engine,
    connect,
    engine_facts,
    engine_faults,
    image_id,
    sweep,
    volume_exists,
)
from runner.support.code_digest import package_folder
from runner.support.errors import EngineError, FairtrialError

LEAST_FREE_MB = 1024
"""On the disks of worker and engine."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """A worker's machine, ready for a run."""

    prepared: PreparedRun
    """With the images of this machine's engine."""
    facts: HostFacts


class OwnCheckout(WorkerPlugin):
    """On a worker that was started in a checkout: from its locks it makes images and volumes."""

    name = "fairtrial-checkout"

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout


def checkout_of(worker: Worker) -> Checkout | None:
    plugin = worker.plugins.get(OwnCheckout.name)
    return plugin.checkout if isinstance(plugin, OwnCheckout) else None


def code_here() -> str:
    """SHA256 of our own files: another version would run the same cells otherwise."""
    folder, digest = package_folder(runner), hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def host_here(prepared: PreparedRun, checkout: Checkout | None, tell: Log) -> Host:
    """This machine with all that the run's cells stand on; what is not there is made.

    Raises FairtrialError for an engine that does not answer, or an image that cannot be made.
    """
    if not prepared.has_containers:
        return Host(prepared=prepared, facts=facts_here())
    url = checkout.engine_url if checkout else prepared.engine_url
    engine = connect(url)
    try:
        # What a lost worker of this machine has left would take a living one's processors.
        sweep(engine)
        there = engine_facts(engine)
        facts = facts_here(engine=there.version, kernel=there.kernel, engine_disk=_disk_of(engine))
        # Engines of machines that were copied from one another give one id.
        is_there = there.machine == prepared.machine and _holds_all(engine, prepared)
    finally:
        engine.close()
    if not is_there:
        prepared = _made_here(prepared, checkout, tell)
    return Host(prepared=replace(prepared, engine_url=url), facts=facts)


def _holds_all(engine: Engine, prepared: PreparedRun) -> bool:
    """What was made where the run began. By digest; a benchmark's own it knows by itself."""
    images = [scenario.image for scenario in prepared.scenarios.values()]
    volumes = [arm.volume for arm in prepared.arms.values() if arm.volume is not None]
    with engine_faults("the engine does not say what it holds", kind=EngineError):
        return all(image_id(engine, image) for image in images) and all(
            volume_exists(engine, volume) for volume in volumes
        )


def _made_here(prepared: PreparedRun, checkout: Checkout | None, tell: Log) -> PreparedRun:
    if checkout is None or prepared.benchmark != BENCHMARK:
        hint = "start it there with `fairtrial worker`, in a checkout; queries run on one machine"
        raise FairtrialError("its engine is another one, and it has no checkout", hint=hint)
    names = list(prepared.scenarios), list(prepared.arms)
    made = prepare(replace(checkout, log=tell), *names)
    return replace(made, models=prepared.models, spending=prepared.spending, agent=prepared.agent)


def _disk_of(engine: Engine) -> str:
    """Where the engine keeps images, if that can be seen from here."""
    with engine_faults("the engine does not say where its disk is", kind=EngineError):
        return str(engine.info().get("DockerRootDir", ""))


def facts_here(*, engine: str = "", kernel: str = "", engine_disk: str = "") -> HostFacts:
    places = [
        place for place in (tempfile.gettempdir(), engine_disk) if Path(place or "?").is_dir()
    ]
    free = min(shutil.disk_usage(place).free for place in places)
    return HostFacts(
        name=platform.node(),
        cpu=_cpu_name(),
        cores=os.cpu_count() or 1,
        memory_mb=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        free_mb=free // 2**20,
        engine=engine,
        kernel=kernel or platform.release(),
        load=load_here(),
    )


def load_here() -> float:
    return round(os.getloadavg()[0], 2)


def _cpu_name() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def why_not(host: Host, wanted: PreparedRun, code: str) -> str:
    """Why this machine may take none of the run's blocks; empty if it may.

    `code`: digest of the code of the machine that began the run.
    """
    if host.facts.free_mb < LEAST_FREE_MB:
        return f"its disk is full: {host.facts.free_mb} MB are free, {LEAST_FREE_MB} are needed"
    if code != code_here():
        return "its fairtrial is another one: install the same version there"
    differing = list(_differing(host.prepared, wanted))
    return f"it has another {', '.join(differing)}" if differing else ""


def _differing(here: PreparedRun, wanted: PreparedRun) -> Iterator[str]:
    """What of a machine's own is not what the plan was made of, by name."""
    if here.harness != wanted.harness:
        yield "harness"
    if here.limits != wanted.limits:
        yield "number of processors than the cells' limits name"
    for name, scenario in wanted.scenarios.items():
        there = here.scenarios.get(name)
        if there is None or there.base_image != scenario.base_image:
            yield f"base image ({name}): carry it there, `docker save` and `docker load`"
        elif (there.pin, there.scenario) != (scenario.pin, scenario.scenario):
            yield f"scenario {name}"
    for name, arm in wanted.arms.items():
        if name not in here.arms or here.arms[name].digest != arm.digest:
            yield f"server {name}"
