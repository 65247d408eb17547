"""`just campaign`: random harm to everything a run stands on, and what must not come of it.

Runner, judge, container, server and builder are killed, the connections to the engine and to the
provider are cut, and the runner's disk is full, at random moments (by a seed). The same command is
given again until every cell is measured and every answer judged. Counted, and all to be 0:

lost         a measured cell whose result is gone or changed
repeated     a measured cell that was run again
misblamed    an outcome or an exit code that its own harm does not explain: done to that very
             container or process, while it lived
unjudged     an answer without the verdict that it gets where nothing is harmed
leaked       a container of ours that outlived its run
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil
from pathlib import Path
from typing import Any

import docker

from runner.records import Outcome
from runner.sandbox.engine import OWNER_LABEL, Engine, connect
from tests.campaign_provider import MODEL, Provider, provider
from tests.checkout import Checkout, make
from tests.helpers import PATIENCE_SEC
from tests.sandbox.cut_engine import CutEngine, cut_engine

DEFAULT_HARMS = 200
TRIALS = 10
"""Of a run: a killed server is a measurement, so that no run can have more of them."""
JOBS = 4
PAUSE_SEC = (0.0, 1.0)
"""Between two tries to do some harm. Many find nothing of their kind."""
MOST_HARMS_PER_TRIAL = 5
"""Of one run, and of its judging: under fire for ever neither would come to its end."""
SHARES = {
    "container": 0.24,
    "server": 0.24,
    "provider": 0.14,
    "connections": 0.1,
    "runner": 0.1,
    "builder": 0.03,
    "disk": 0.08,
    "judge": 0.07,
}
"""Of the harms: what is done, and how much of it."""
PATIENT_SEC = {"container": 6, "server": 12, "builder": 2, "provider": 2}
"""How long something of the kind is looked for."""
MOST_OF_A_KIND = {"runner": 0.5, "connections": 0.5, "disk": 0.5, "provider": 1.0, "judge": 0.5}
"""In one run, for each trial. They can be done at any time, and would leave no cell that could be
killed."""
WHILE_JUDGING = ("judge", "provider", "disk")
RUNNERS_PER_RUN = 60
"""A run that is not whole after so many has stopped getting on."""
SLACK_SEC = 2.0
"""Between a cut and an attempt that begins after it: a connection may lie cut in a pool."""
FULL_SEC = (0.3, 2.0)
"""How long the disk takes nothing."""
OF_THE_AGENT = re.compile(r"the shell was killed|no shell can be started|gave no answer in")
"""What an agent is told of its own doing, in a tool's result: here it has done nothing."""
OF_A_SERVER = {"server_crashed", "server_not_ready"}


@dataclass(frozen=True, kw_only=True)
class Harm:
    """One thing that was done, when, and to which container; empty if to none in particular."""

    kind: str
    container: str = ""
    cell: str = ""
    made: float = 0.0
    """When the engine made the container."""
    began: float = 0.0
    ended: float = 0.0
    process_ended: float = 0.0
    """When the process that it met did. All times are in seconds since the epoch."""

    def __str__(self) -> str:
        return f"{self.kind} {self.cell} {self.container[:12]}".strip()


@dataclass(frozen=True, kw_only=True)
class Life:
    """Of an attempt or a process, in seconds since the epoch."""

    began: float
    ended: float

    def saw(self, harm: Harm) -> bool:
        slack_sec = SLACK_SEC if harm.kind == "cut" else 0
        return harm.began <= self.ended and self.began <= harm.ended + slack_sec

    def made(self, harm: Harm) -> bool:
        """The harmed container: a cell's attempts follow one another, and each makes its own."""
        return self.began <= harm.made <= self.ended

    def was_ended_after(self, harm: Harm) -> bool:
        """A process that is stopped may begin more before it heeds that."""
        return harm.began <= self.ended and self.began <= max(harm.ended, harm.process_ended)


@dataclass(kw_only=True)
class Tally:
    """What came of it. Each entry says where it was seen."""

    harms: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    misblamed: list[str] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not any(getattr(self, name) for name in FAULTS)

    def __str__(self) -> str:
        lines = [
            f"harms      {sum(self.harms.values())}: {_counts(self.harms)}",
            f"attempts   {sum(self.outcomes.values())}: {_counts(self.outcomes)}",
        ]
        for name in FAULTS:
            found: list[str] = getattr(self, name)
            lines.append(f"{name:10} {len(found)}")
            lines += [f"  {line}" for line in found]
        return "\n".join(lines)


FAULTS = ("lost", "repeated", "misblamed", "unjudged", "leaked")


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


# --- what is done -------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Campaign:
    """Runs of one checkout, each under fire until it is whole."""

    checkout: Checkout
    engine: Engine
    proxy: CutEngine
    provider: Provider
    dice: random.Random
    log: Callable[[str], None]
    trials: int = TRIALS
    tally: Tally = field(default_factory=Tally)
    runners: set[int] = field(default_factory=set)
    """Process numbers of every runner so far."""

    wanted: Counter[str] = field(default_factory=Counter)
    """Harms that are still to be done, by their names in SHARES."""
    deadline: float = 0.0
    """Of the monotonic clock: after it nothing more is harmed."""

    def run_until(self, harms: int, *, most_sec: float) -> None:
        """Runs, one after the other, until so many harms were done, or the time is over."""
        self.wanted = Counter({name: ceil(share * harms) for name, share in SHARES.items()})
        self.deadline = time.monotonic() + most_sec
        number = 0
        while self.wanted.total() and time.monotonic() < self.deadline:
            number += 1
            self._remove_preparation()
            RunUnderFire(campaign=self, name=f"run-{number}").to_its_end()
            left = ", ".join(f"{name} {count}" for name, count in (+self.wanted).items())
            self.log(f"run {number} is whole; left: {left or 'nothing'}")

    def drawn(self, among: Collection[str]) -> str:
        """What to do next; empty if nothing of it is left to do."""
        left = {name: self.wanted[name] for name in among if self.wanted[name] > 0}
        if not left or time.monotonic() > self.deadline:
            return ""
        return self.dice.choices(list(left), list(left.values()))[0]

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
        """So that builders are at work and can be harmed."""
        if self.wanted["builder"] > 0:
            for volume in self.checkout.volumes():
                with suppress(docker.errors.APIError):
                    self.engine.api.remove_volume(volume, force=True)


@dataclass(kw_only=True)
class RunUnderFire:
    """One run, and the harm that is done to it."""

    campaign: Campaign
    name: str
    harms: list[Harm] = field(default_factory=list)
    measured: dict[Path, str] = field(default_factory=dict)
    """result.json of each measured cell -> its digest, as first seen."""
    done: Counter[str] = field(default_factory=Counter)
    """Of the harms, by their names in SHARES."""
    most_harms: int = 0
    """Of the run so far, past which the command under way is left alone."""

    def to_its_end(self) -> None:
        self._until_done(self._run_words(), [name for name in SHARES if name != "judge"])
        self._until_done(("judge", self.name, "--judge", f"model:{MODEL}"), WHILE_JUDGING)
        self.judge_outcomes()
        self.look_at_verdicts()
        self.look_for_leaks()

    def _run_words(self) -> tuple[str, ...]:
        asked = ("run", "--run", self.name, "--scenario", "small", "--ungated", "--server", "good")
        return (
            *asked,
            "--model",
            MODEL,
            "--trials",
            str(self.campaign.trials),
            "--jobs",
            str(JOBS),
        )

    def _until_done(self, words: Sequence[str], harms: Collection[str]) -> None:
        """The same command again and again, under fire, until it ends well."""
        self.most_harms = len(self.harms) + MOST_HARMS_PER_TRIAL * self.campaign.trials
        for _ in range(RUNNERS_PER_RUN):
            began = time.time()
            exit_code, errors = self._one_process(words, harms)
            self.look_at_results()
            self.judge_exit(exit_code, errors, Life(began=began, ended=time.time()))
            if exit_code == 0 and (words[0] == "run" or not self._without_verdict()):
                return
        self._misblamed(f"{words[0]} is not done after {RUNNERS_PER_RUN} times")

    def _one_process(self, words: Sequence[str], harms: Collection[str]) -> tuple[int, str]:
        """Its exit code, and what it wrote to stderr."""
        campaign = self.campaign
        environment = {
            **os.environ,
            "DOCKER_HOST": campaign.proxy.url,
            "ANTHROPIC_BASE_URL": campaign.provider.url,
            "ANTHROPIC_API_KEY": "none-that-opens-anything",
            "XDG_CACHE_HOME": str(campaign.checkout.root / "caches"),
        }
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(
                campaign.checkout.argv(*words),
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            ) as process,
        ):
            campaign.runners.add(process.pid)
            before = len(self.harms)
            deadline = time.monotonic() + PATIENCE_SEC
            while process.poll() is None:
                if time.monotonic() > deadline:
                    process.kill()
                    self._misblamed(f"a {words[0]} hung")
                self._one_harm(process, harms)
            self.harms[before:] = [
                replace(harm, process_ended=time.time()) for harm in self.harms[before:]
            ]
            errors.seek(0)
            return process.returncode, errors.read().decode(errors="replace")

    def _one_harm(self, process: subprocess.Popen[bytes], among: Collection[str]) -> None:
        """Wait a while, then do one, if there is something to do it to."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(self.campaign.dice.uniform(*PAUSE_SEC))
            return
        if len(self.harms) >= self.most_harms:
            return
        trials = self.campaign.trials
        name = self.campaign.drawn(
            [one for one in among if self.done[one] < MOST_OF_A_KIND.get(one, 10) * trials]
        )
        doing: dict[str, Callable[[subprocess.Popen[bytes]], Harm | None]] = {
            "runner": self._harm_runner,
            "judge": self._kill_judge,
            "connections": self._cut_connections,
            "provider": self._cut_provider,
            "disk": self._fill_disk,
            "container": self._kill_container,
            "server": self._kill_server,
            "builder": self._kill_builder,
        }
        if not name:
            return
        # A server lives for seconds of a cell: one look in passing would seldom meet it.
        give_up = time.monotonic() + PATIENT_SEC.get(name, 0)
        began, harm = time.time(), doing[name](process)
        while harm is None and process.poll() is None and time.monotonic() < give_up:
            time.sleep(0.2)
            began, harm = time.time(), doing[name](process)
        if harm is not None:
            self.harms.append(replace(harm, began=began, ended=time.time()))
            self.campaign.tally.harms[harm.kind] += 1
            self.campaign.wanted[name] -= 1
            self.done[name] += 1

    def _harm_runner(self, process: subprocess.Popen[bytes]) -> Harm:
        sent = self.campaign.dice.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
        process.send_signal(sent)
        return Harm(kind=sent.name)

    def _kill_judge(self, process: subprocess.Popen[bytes]) -> Harm:
        process.kill()
        return Harm(kind="judge")

    def _cut_provider(self, _: object) -> Harm | None:
        return Harm(kind="provider") if self.campaign.provider.cut() else None

    def _fill_disk(self, process: subprocess.Popen[bytes]) -> Harm | None:
        """For a while the system takes no byte more of any file that the process writes."""
        with suppress(ProcessLookupError):
            limits = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, limits[1]))
            with suppress(subprocess.TimeoutExpired):
                process.wait(self.campaign.dice.uniform(*FULL_SEC))
            if process.poll() is None:
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, limits)
            return Harm(kind="disk")
        return None

    def _cut_connections(self, _: object) -> Harm | None:
        if not self.campaign.proxy.cut():
            return None
        return Harm(kind="cut")

    def _kill_container(self, _: object) -> Harm | None:
        cell = self._any_container("cell")
        if cell is None:
            return None
        with suppress(docker.errors.APIError):
            harm = self._harm_to(cell, "container")
            self.campaign.engine.api.kill(cell["Id"])
            return harm
        return None

    def _kill_server(self, _: object) -> Harm | None:
        cell = self._any_container("cell")
        if cell is None:
            return None
        with suppress(docker.errors.APIError, ProcessLookupError):
            harm = self._harm_to(cell, "server")
            top = self.campaign.engine.api.top(cell["Id"])
            # None of a container that is dying.
            for row in top["Processes"] or []:
                process = dict(zip(top["Titles"], row, strict=True))
                # Not the shell that becomes the server a moment later, nor the helper of ours.
                if process["CMD"].startswith("python3 /opt/server"):
                    os.kill(int(process["PID"]), signal.SIGKILL)
                    return harm
        return None

    def _harm_to(self, cell: dict[str, Any], kind: str) -> Harm:
        """Asked before it is harmed: the engine forgets a container that has ended."""
        # Of a list's seconds, an attempt of the same cell that begins in that second would do too.
        made = self.campaign.engine.api.inspect_container(cell["Id"])["Created"]
        return Harm(
            kind=kind,
            container=cell["Id"],
            cell=cell["Labels"]["fairtrial.cell"],
            made=datetime.fromisoformat(made).timestamp(),
        )

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

    def judge_exit(self, exit_code: int, errors: str, life: Life) -> None:
        """By what was done while the process lived."""
        kinds = {harm.kind for harm in self.harms if life.saw(harm)}
        explained = {0}
        if kinds - {"SIGKILL", "judge"}:
            explained.add(1)
        if kinds & {"SIGKILL", "judge"}:
            explained.add(-signal.SIGKILL)
        if kinds & {"SIGTERM", "SIGHUP"}:
            explained.add(130)
            # Before it could ask for the signal: the system's own answer to it.
            explained |= {-signal.SIGTERM, -signal.SIGHUP}
        planned = 2 * self.campaign.trials
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
            life = Life(
                began=datetime.fromisoformat(result["started_at"]).timestamp(),
                ended=path.stat().st_mtime,
            )
            if not explains(self.harms, life, outcome["kind"], cell=path.parent.parent.name):
                done = ", ".join(str(harm) for harm in self.harms if life.saw(harm))
                where = "/".join(path.parts[-3:-1])
                server = result["cell"]["server"]
                text = f"{where} ({server}): {outcome['kind']}, {outcome['reason']}; after {done}"
                self._misblamed(text)
            told = OF_THE_AGENT.search((path.parent / "transcript.jsonl").read_text())
            if told:
                self._misblamed(f"{path.parent}: the agent was told {told.group()!r}")

    def _without_verdict(self) -> list[str]:
        """Measured cells without the judge's verdict: of a campaign's whole answer it is 1."""
        missing = []
        for path in self.measured:
            outcome = json.loads(path.read_text())["outcome"]["kind"]
            card = path.parent.parent / "scorecard.json"
            fairness = json.loads(card.read_text())["fairness"] if card.exists() else {}
            verdict = fairness.get("verdict") or {}
            told = (verdict.get("judge"), verdict.get("quality"))
            if told != (f"model:{MODEL}", float(outcome == "answered")):
                missing.append("/".join(path.parts[-3:-1]))
        return missing

    def look_at_verdicts(self) -> None:
        missing = self._without_verdict()
        self.campaign.tally.unjudged += [f"{self.name}: {where}" for where in missing]

    def _misblamed(self, text: str) -> None:
        self.campaign.tally.misblamed.append(f"{self.name}: {text}")

    def look_for_leaks(self) -> None:
        # What a killed runner left, the next one swept; the last one ended by itself.
        for item in self.campaign.containers():
            purpose = item["Labels"]["fairtrial"]
            self.campaign.tally.leaked.append(f"{self.name}: {purpose} {item['Id'][:12]}")


def explains(harms: Sequence[Harm], life: Life, outcome: str, *, cell: str) -> bool:
    """Does what was done explain how an attempt at a cell ended?"""
    seen = [harm for harm in harms if life.saw(harm)]
    everywhere = {harm.kind for harm in seen}
    its_own = {harm.kind for harm in seen if harm.cell == cell and life.made(harm)}
    if outcome == "answered":
        return True
    if outcome in OF_A_SERVER:
        return "server" in its_own
    if outcome == "sandbox_failed":
        return "container" in its_own or "cut" in everywhere
    if outcome == "cancelled":
        # A runner that the disk or the provider stops ends the cells beside the one that met it.
        stopping = {harm.kind for harm in harms if life.was_ended_after(harm)}
        return bool(stopping & {"SIGTERM", "SIGHUP", "disk"})
    causes = {"provider_failed": "provider", "runner_failed": "disk"}
    return causes.get(outcome) in everywhere


# --- the command --------------------------------------------------------------------------------


def campaign(
    folder: Path,
    engine: Engine,
    *,
    harms: int,
    seed: int,
    log: Callable[[str], None],
    trials: int = TRIALS,
    most_sec: float = 86_400,
) -> Tally:
    """In a checkout of its own under `folder`; nothing of it is left on the engine."""
    checkout = make(folder / "checkout")
    with cut_engine(engine, folder) as (proxy, _), provider(seed) as answering:
        under_fire = Campaign(
            checkout=checkout,
            engine=engine,
            proxy=proxy,
            provider=answering,
            dice=random.Random(seed),
            log=log,
            trials=trials,
        )
        try:
            under_fire.run_until(harms, most_sec=most_sec)
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
    parser.add_argument("--harms", type=int, default=DEFAULT_HARMS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=22, help="harm nothing after them")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tally = campaign(
            Path(folder),
            connect(),
            harms=asked.harms,
            seed=asked.seed,
            log=_say,
            most_sec=asked.minutes * 60,
        )
    print(tally)  # noqa: T201 - a command of its own
    missing = asked.harms - sum(tally.harms.values())
    if missing > 0:
        _say(f"{missing} harms were not done: the machine is slow or busy, give it more --minutes")
    return 0 if tally.clean and missing <= 0 else 1


if __name__ == "__main__":
    sys.exit(main())
