"""Signals at the end of a process: the first one ends it in order, and no later one kills it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

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
