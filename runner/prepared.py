"""What a run stands on once everything is ready: the engine, images, volumes and limits."""

from __future__ import annotations

from dataclasses import dataclass

from runner.records import (
    Limits,
    RepoPin,
    Scenario,
    ServerSpec,
)
from runner.sandbox.engine import Engine, EngineFacts


@dataclass(frozen=True, kw_only=True)
class Arm:
    """The server of an arm, installed and pinned. `spec` is None for `shell`."""

    name: str
    spec: ServerSpec | None
    volume: str | None
    digest: str
    """Of its definition and its locks."""


@dataclass(frozen=True, kw_only=True)
class PreparedScenario:
    """What a scenario's cells stand on: the same for every arm."""

    scenario: Scenario
    image: str
    """Workspace image id."""
    base_image: str
    pin: RepoPin


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """All that is ready before the first cell: engine, images, volumes, limits."""

    client: Engine
    engine: EngineFacts
    harness: str
    limits: Limits
    arms: dict[str, Arm]
    grounds: dict[str, PreparedScenario]
