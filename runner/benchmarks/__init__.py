"""The door of the benchmarks' room: each plans its cells, runs one, and scores them."""

from __future__ import annotations

from runner.benchmarks.agentbench.query_benchmark import BENCHMARK as AGENTBENCH
from runner.benchmarks.agentbench.query_benchmark import Agentbench
from runner.benchmarks.scenarios.scenario_benchmark import ScenarioBenchmark
from runner.benchmarks.toolbench.task_benchmark import BENCHMARK, Toolbench
from runner.runs.benchmark import Benchmark

BENCHMARKS: dict[str, Benchmark] = {
    "scenarios": ScenarioBenchmark(),
    BENCHMARK: Toolbench(),
    AGENTBENCH: Agentbench(),
}
"""`scenarios`: one scenario, one arm, one model, one trial is a cell. Our own benchmark.

`toolbench`: MCPToolBench++, with a task in the place of the scenario.
`agentbench`: MCP-AgentBench, with a query in its place and many servers in one cell.
"""
