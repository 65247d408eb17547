"""Signals at the end of a process: the first one ends it in order, and no later one kills it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers import PATIENCE_SEC

ENDING = """
import sys, time
from runner.support.interrupts import SIGNALS, heeded
import signal

class Slow:
    def __del__(self):
        time.sleep(0.3)

for number in SIGNALS:
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.slow = Slow()  # falls with the interpreter itself
try:
    with heeded():
        print("ready", flush=True)
        time.sleep(60)
except KeyboardInterrupt:
    print("stopped", flush=True)
    time.sleep(0.3)
    sys.exit(130)
"""


CHANGED = """
import argparse, os, signal, sys, time
import runner.cli.main as main

def done(_):
    try:
        if sys.argv[2] == "signal":
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
    except KeyboardInterrupt:
        pass
    # As pydantic's core does with what meets it while it builds a model.
    raise ValueError("SchemaError: KeyboardInterrupt: ")

main._done = done
sys.exit(main._run_verb(argparse.Namespace(root=sys.argv[1], verb="run")))
"""


SWALLOWED = """
import os, signal, sys, time
from runner.support.interrupts import heeded

class Waits:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[1]))
        time.sleep(0.2)

try:
    with heeded():
        one, other = Waits(), Waits()
        del one
        del other
        time.sleep(60)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_falls_into_a_finalizer_still_ends_the_verb(number: signal.Signals) -> None:
    argv = [sys.executable, "-c", SWALLOWED, str(int(number))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_SEC, check=False)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize(("cause", "code"), [("signal", 130), ("nothing", 70)])
def test_a_signal_that_a_library_makes_an_error_of_its_own_of_ends_in_130(
    tmp_path: Path, cause: str, code: int
) -> None:
    argv = [sys.executable, "-c", CHANGED, str(tmp_path), cause]
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    assert ("interrupted: what is finished is kept" in done.stderr) == (code == 130)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_after_the_first_leave_the_exit_code_to_it(number: signal.Signals) -> None:
    argv = [sys.executable, "-c", ENDING]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + PATIENCE_SEC
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(number)
            time.sleep(0.005)
        out, errors = process.communicate(timeout=PATIENCE_SEC)
    assert (process.returncode, out, errors) == (130, b"stopped\n", b"")
