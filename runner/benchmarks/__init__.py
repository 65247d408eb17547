"""The door of the benchmarks' room: each plans its cells, runs one, and scores them."""

from __future__ import annotations

from runner.benchmarks.scenarios import Scenarios
from runner.protocols import Benchmark

BENCHMARKS: dict[str, Benchmark] = {"scenarios": Scenarios()}
