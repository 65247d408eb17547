"""`just campaign`: random harm to everything a run stands on, and what must not come of it.

Runner, container, engine connection, server and builder are killed or cut at random moments (by a
seed), and the same command is given again until every cell is measured. Counted, and all to be 0:

lost         a measured cell whose result is gone or changed
repeated     a measured cell that was run again
misblamed    an outcome or an exit code that the harm done does not explain
leaked       a container of ours that outlived its run
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker

from runner.records import Outcome
from runner.sandbox.engine import OWNER_LABEL, Engine, connect
from tests.checkout import Checkout, make
from tests.helpers import PATIENCE_SEC
from tests.sandbox.cut_engine import CutEngine, cut_engine

TRIALS = 2
JOBS = 2
PAUSE_SEC = (0.0, 1.0)
"""Between two tries to do some harm. Most find nothing of their kind."""
SHARES = {"runner": 0.06, "connections": 0.1, "container": 0.2, "server": 0.3, "builder": 0.34}
"""Of the tries. A runner is always there; a server or a builder seldom is."""
RUNNERS_PER_RUN = 60
"""A run that is not whole after so many has stopped getting on."""
OF_THE_AGENT = re.compile(r"the shell was killed|no shell can be started|gave no answer in")
"""What an agent is told of its own doing, in a tool's result: here it has done nothing."""
OF_A_SERVER = {"server_crashed", "server_not_ready"}


@dataclass(frozen=True, kw_only=True)
class Harm:
    """One thing that was done, and to which cell; empty if to none in particular."""

    kind: str
    cell: str = ""


@dataclass(kw_only=True)
class Tally:
    """What came of it. Each entry says where it was seen."""

    harms: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    misblamed: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.lost or self.repeated or self.misblamed or self.leaked)

    def __str__(self) -> str:
        lines = [
            f"harms      {sum(self.harms.values())}: {_counts(self.harms)}",
            f"attempts   {sum(self.outcomes.values())}: {_counts(self.outcomes)}",
        ]
        for name in ("lost", "repeated", "misblamed", "leaked"):
            found: list[str] = getattr(self, name)
            lines.append(f"{name:10} {len(found)}")
            lines += [f"  {line}" for line in found]
        return "\n".join(lines)


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


# --- what is done -------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Campaign:
    """Runs of one checkout, each under fire until it is whole."""

    checkout: Checkout
    engine: Engine
    proxy: CutEngine
    dice: random.Random
    log: Callable[[str], None]
    tally: Tally = field(default_factory=Tally)
    runners: set[int] = field(default_factory=set)
    """Process numbers of every runner so far."""

    def run_until(self, harms: int) -> None:
        """Runs, one after the other, until so many harms were done."""
        number = 0
        while sum(self.tally.harms.values()) < harms:
            number += 1
            self._remove_preparation()
            RunUnderFire(campaign=self, name=f"run-{number}", wanted=harms).to_its_end()
            self.log(
                f"run {number} is whole after {sum(self.tally.harms.values())} of {harms} harms"
            )

    def containers(self, purpose: str = "") -> list[Any]:
        """Those of its runners; living ones alone if a purpose is asked for."""
        label = f"fairtrial={purpose}" if purpose else "fairtrial"
        found = []
        for item in self.engine.api.containers(all=not purpose, filters={"label": label}):
            # Others may be using the engine.
            if self._made(item["Labels"]):
                found.append(item)
        return found

    def _made(self, labels: dict[str, str]) -> bool:
        host, _, process = labels.get(OWNER_LABEL, "").partition(":")
        here = host == socket.gethostname() and int(process.split(":")[0]) in self.runners
        return here or labels.get("fairtrial.run", "").startswith(str(self.checkout.root))

    def _remove_preparation(self) -> None:
        """Every third time or so, so that builders are at work and can be harmed."""
        if self.dice.random() < 0.3:
            for volume in self.checkout.volumes():
                with suppress(docker.errors.APIError):
                    self.engine.api.remove_volume(volume, force=True)


@dataclass(kw_only=True)
class RunUnderFire:
    """One run, and the harm that is done to it."""

    campaign: Campaign
    name: str
    wanted: int
    harms: list[Harm] = field(default_factory=list)
    measured: dict[Path, str] = field(default_factory=dict)
    """result.json of each measured cell -> its digest, as first seen."""

    def to_its_end(self) -> None:
        for _ in range(RUNNERS_PER_RUN):
            exit_code, errors = self._one_runner()
            self.look_at_results()
            self.judge_exit(exit_code, errors)
            if exit_code == 0:
                break
        else:
            self._misblamed(f"not whole after {RUNNERS_PER_RUN} runners")
        self.judge_outcomes()
        self.look_for_leaks()

    def _one_runner(self) -> tuple[int, str]:
        """Its exit code, and what it wrote to stderr."""
        campaign = self.campaign
        argv = campaign.checkout.argv(
            *("run", "--run", self.name, "--scenario", "small", "--ungated", "--server", "good"),
            *("--trials", str(TRIALS), "--jobs", str(JOBS)),
        )
        environment = {**os.environ, "DOCKER_HOST": campaign.proxy.url}
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(
                argv, env=environment, stdout=subprocess.DEVNULL, stderr=errors
            ) as process,
        ):
            campaign.runners.add(process.pid)
            deadline = time.monotonic() + PATIENCE_SEC
            while process.poll() is None:
                if time.monotonic() > deadline:
                    process.kill()
                    self._misblamed("a runner hung")
                self._one_harm(process)
            errors.seek(0)
            return process.returncode, errors.read().decode(errors="replace")

    def _one_harm(self, process: subprocess.Popen[bytes]) -> None:
        """Wait a while, then do one, if there is something to do it to."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(self.campaign.dice.uniform(*PAUSE_SEC))
            return
        if sum(self.campaign.tally.harms.values()) >= self.wanted:
            return
        kind = self.campaign.dice.choices(list(SHARES), list(SHARES.values()))[0]
        doing: dict[str, Callable[[subprocess.Popen[bytes]], Harm | None]] = {
            "runner": self._harm_runner,
            "connections": self._cut_connections,
            "container": self._kill_container,
            "server": self._kill_server,
            "builder": self._kill_builder,
        }
        harm = doing[kind](process)
        if harm is not None:
            self.harms.append(harm)
            self.campaign.tally.harms[harm.kind] += 1

    def _harm_runner(self, process: subprocess.Popen[bytes]) -> Harm:
        sent = self.campaign.dice.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
        process.send_signal(sent)
        return Harm(kind=sent.name)

    def _cut_connections(self, _: object) -> Harm | None:
        if not self.campaign.proxy.cut():
            return None
        return Harm(kind="cut")

    def _kill_container(self, _: object) -> Harm | None:
        cell = self._any_container("cell")
        if cell is None:
            return None
        with suppress(docker.errors.APIError):
            self.campaign.engine.api.kill(cell["Id"])
            return Harm(kind="container", cell=cell["Labels"]["fairtrial.cell"])
        return None

    def _kill_server(self, _: object) -> Harm | None:
        cell = self._any_container("cell")
        if cell is None:
            return None
        with suppress(docker.errors.APIError, ProcessLookupError):
            top = self.campaign.engine.api.top(cell["Id"])
            # None of a container that is dying.
            for row in top["Processes"] or []:
                process = dict(zip(top["Titles"], row, strict=True))
                # Not the shell that becomes the server a moment later, nor the helper of ours.
                if process["CMD"].startswith("python3 /opt/server"):
                    os.kill(int(process["PID"]), signal.SIGKILL)
                    return Harm(kind="server", cell=cell["Labels"]["fairtrial.cell"])
        return None

    def _kill_builder(self, _: object) -> Harm | None:
        builder = self._any_container("builder")
        if builder is None:
            return None
        with suppress(docker.errors.APIError):
            self.campaign.engine.api.kill(builder["Id"])
            return Harm(kind="builder")
        return None

    def _any_container(self, purpose: str) -> Any:
        """A living one of this run's runners; None if there is none."""
        found = self.campaign.containers(purpose)
        if not found:
            return None
        return self.campaign.dice.choice(found)

    # --- what came of it ------------------------------------------------------------------------

    def look_at_results(self) -> None:
        found = {}
        for path in self.campaign.checkout.results(self.name):
            outcome = Outcome(**json.loads(path.read_text())["outcome"])
            if outcome.is_measurement:
                found[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        for path, digest in self.measured.items():
            if found.get(path) != digest:
                self.campaign.tally.lost.append(f"{self.name}: {path}")
        for path in found.keys() - self.measured.keys():
            if path.parent.parent in {known.parent.parent for known in self.measured}:
                self.campaign.tally.repeated.append(f"{self.name}: {path}")
        self.measured |= found

    def judge_exit(self, exit_code: int, errors: str) -> None:
        kinds = {harm.kind for harm in self.harms}
        explained = {0, 1}
        if "SIGKILL" in kinds:
            explained.add(-signal.SIGKILL)
        if kinds & {"SIGTERM", "SIGHUP"}:
            explained.add(130)
            # Before it could ask for the signal: the system's own answer to it.
            explained |= {-signal.SIGTERM, -signal.SIGHUP}
        planned = 2 * TRIALS
        if exit_code == 0 and len(self.measured) != planned:
            self._misblamed(f"exit 0 with {len(self.measured)} of {planned} cells measured")
        if exit_code not in explained:
            self._misblamed(f"exit {exit_code} after {sorted(kinds)}: {errors[-800:]}{self._log()}")

    def _log(self) -> str:
        """The end of the newest log of a bug of ours."""
        logs = sorted((self.campaign.checkout.root / ".fairtrial" / "logs").glob("*.log"))
        return logs[-1].read_text()[-1500:] if logs else ""

    def judge_outcomes(self) -> None:
        for path in self.campaign.checkout.results(self.name):
            result = json.loads(path.read_text())
            outcome = result["outcome"]
            self.campaign.tally.outcomes[outcome["kind"]] += 1
            if not self._explains(outcome["kind"], cell=path.parent.parent.name):
                done = ", ".join(f"{harm.kind} {harm.cell}".strip() for harm in self.harms)
                where = "/".join(path.parts[-3:-1])
                server = result["cell"]["server"]
                text = f"{where} ({server}): {outcome['kind']}, {outcome['reason']}; after {done}"
                self._misblamed(text)
            told = OF_THE_AGENT.search((path.parent / "transcript.jsonl").read_text())
            if told:
                self._misblamed(f"{path.parent}: the agent was told {told.group()!r}")

    def _explains(self, outcome: str, *, cell: str) -> bool:
        """Does the harm done in this run explain it?"""
        kinds = {harm.kind for harm in self.harms}
        if outcome == "answered":
            return True
        if outcome == "sandbox_failed":
            return bool(kinds & {"cut", "container"})
        if outcome == "cancelled":
            return bool(kinds & {"SIGTERM", "SIGHUP"})
        return outcome in OF_A_SERVER and Harm(kind="server", cell=cell) in self.harms

    def _misblamed(self, text: str) -> None:
        self.campaign.tally.misblamed.append(f"{self.name}: {text}")

    def look_for_leaks(self) -> None:
        # What a killed runner left, the next one swept; the last one ended by itself.
        for item in self.campaign.containers():
            purpose = item["Labels"]["fairtrial"]
            self.campaign.tally.leaked.append(f"{self.name}: {purpose} {item['Id'][:12]}")


# --- the command --------------------------------------------------------------------------------


def campaign(
    folder: Path, engine: Engine, *, harms: int, seed: int, log: Callable[[str], None]
) -> Tally:
    """In a checkout of its own under `folder`; nothing of it is left on the engine."""
    checkout = make(folder / "checkout")
    with cut_engine(engine, folder) as (proxy, _):
        under_fire = Campaign(
            checkout=checkout, engine=engine, proxy=proxy, dice=random.Random(seed), log=log
        )
        try:
            under_fire.run_until(harms)
        finally:
            _clean(checkout, engine)
    return under_fire.tally


def _clean(checkout: Checkout, engine: Engine) -> None:
    for volume in checkout.volumes():
        with suppress(docker.errors.APIError):
            engine.api.remove_volume(volume, force=True)
    checkout.remove_images(engine)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a command of its own


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--harms", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tally = campaign(Path(folder), connect(), harms=asked.harms, seed=asked.seed, log=_say)
    print(tally)  # noqa: T201 - a command of its own
    return 0 if tally.clean else 1


if __name__ == "__main__":
    sys.exit(main())
