"""A scheduler and workers, each a process of its own that is started again when it dies."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Self

from runner.runs.executors.cluster import cluster_at, security_of
from runner.runs.executors.dask_executor import DaskExecutor
from tests.conftest import ROOT
from tests.helpers import PATIENCE_SEC
from tests.scale.certificates import write_certificates

FAIRTRIAL = (sys.executable, "-c", "from runner.cli.main import main; main()")


class Kept:
    """A process that is started again, like a service."""

    def __init__(
        self,
        words: Sequence[str],
        log: Path,
        environ: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
    ) -> None:
        """`words`: of `fairtrial`, or a whole command that begins with the interpreter."""
        own = list(words) if words[0] == sys.executable else [*FAIRTRIAL, *words]
        self._words = [*before, *own]
        # What a killed process leaves behind goes with the test's folder.
        own_place = {"PYTHONPATH": str(ROOT), "TMPDIR": str(log.parent)}
        self._environ = {**os.environ, **own_place, **(environ or {})}
        self.log = log
        self._over = threading.Event()
        self._process = self._started()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def _started(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._words, env=self._environ, stdout=log, stderr=log, cwd=ROOT
            )

    def _keep(self) -> None:
        while not self._over.wait(0.1):
            if self._process.poll() is not None:
                self._process = self._started()

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)

    def stop(self) -> None:
        self.ask_to_end()
        self.wait_for_end()

    def ask_to_end(self) -> None:
        self._over.set()
        self._keeper.join()
        self._process.terminate()

    def wait_for_end(self) -> None:
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def free_port(host: str = "127.0.0.1") -> int:
    with socket.socket() as taken:
        taken.bind((host, 0))
        return int(taken.getsockname()[1])


@contextmanager
def serving(words: Sequence[str], port: int, log: Path) -> Iterator[Kept]:
    """A server of tests/scale/servers.py, once it listens."""
    server = Kept([sys.executable, "-m", "tests.scale.servers", *words], log)
    try:
        wait_for_port(port)
        yield server
    finally:
        server.stop()


def wait_for_port(port: int) -> None:
    until = time.monotonic() + PATIENCE_SEC
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on {port}")


class Farm:
    """Real processes, and real TLS between them."""

    def __init__(self, folder: Path, workers: int, exchange: str = "") -> None:
        """`exchange`: a URL; empty for the folder of the run."""
        self.exchange = exchange
        self.tls = write_certificates(folder / "tls")
        self.address = f"127.0.0.1:{free_port()}"
        port = self.address.partition(":")[2]
        words = ["executor", "scheduler", "--host", "127.0.0.1", "--port", port]
        words += ["--dashboard", "127.0.0.1:0", "--tls", str(self.tls)]
        self.log = folder / "farm.log"
        self.scheduler = Kept(words, self.log)
        self.workers: list[Kept] = []
        for _ in range(workers):
            self.add_worker({})

    def add_worker(self, environ: Mapping[str, str]) -> None:
        words = ["executor", "worker", self.address, "--tls", str(self.tls)]
        log = self.log.with_name(f"worker{len(self.workers)}.log")
        self.workers.append(Kept(words, log, environ))

    def executor(self, lease_sec: float) -> DaskExecutor:
        cluster = partial(cluster_at, self.address, security_of(self.tls))
        return DaskExecutor(
            cluster=cluster, comes_back=True, exchange=self.exchange, lease_sec=lease_sec
        )

    def wait(self, patience_sec: float) -> None:
        """Until all its workers have joined."""
        until = time.monotonic() + patience_sec
        for worker in self.workers:
            # A log of each: one that was killed before says so twice, and hid one that came late.
            while "at work for" not in worker.log.read_text():
                if time.monotonic() > until:
                    raise TimeoutError(worker.log.read_text())
                time.sleep(0.1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        # Together: each takes seconds to take its leave.
        for worker in self.workers:
            worker.ask_to_end()
        for worker in self.workers:
            worker.wait_for_end()
        self.scheduler.stop()
