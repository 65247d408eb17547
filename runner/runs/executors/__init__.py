"""The door of the executors' room: an executor is a name, and what makes one for a run."""

from __future__ import annotations

from runner.runs.executors.local_executor import Local
from runner.protocols import ExecutorFactory

EXECUTORS: dict[str, ExecutorFactory] = {"local": Local}
