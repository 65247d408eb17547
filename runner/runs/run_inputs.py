"""What a run stands on once everything is ready.

Plain values alone, no connection to anything: an executor may send it elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from runner.agents.models.model_settings import ModelSettings
from runner.agents.packaged.program import PreparedProgram
from runner.agents.spending import Spending
from runner.records import Limits, RepoPin, Scenario, ServerSpec, digest_of
from runner.records.arms import NO_TOOLS_ARM


@dataclass(frozen=True, kw_only=True)
class PreparedArm:
    """The server of an arm, installed and pinned. `spec` is None for `shell` and `none`."""

    name: str
    """The server's, or that of a twin or a liar of it (`ArmServer`)."""
    spec: ServerSpec | None
    volume: str | None
    """Name of its install volume; None for `shell`."""
    digest: str
    """Of its definition and its locks."""
    moved_lines: int = 0
    """Added to every line number in its results before the model sees them."""
    shown_as: str = ""
    """What the model reads in its tools' names; empty for the server's own name."""

    def called(self, name: str) -> PreparedArm:
        """The same, under another name to the model, which is an input of its cells."""
        if self.spec is None:
            return self
        return replace(self, shown_as=name, digest=digest_of([self.digest, name]))

    @property
    def has_tools(self) -> bool:
        return self.name != NO_TOOLS_ARM

    @property
    def shown_name(self) -> str:
        """As the model reads it: a twin's tools are called what its server's are."""
        return self.shown_as or (self.spec.name if self.spec else self.name)


@dataclass(frozen=True, kw_only=True)
class PreparedScenario:
    """What a scenario's cells stand on: the same for every arm."""

    scenario: Scenario
    image: str
    """Workspace image id."""
    base_image: str
    """Base image id."""
    pin: RepoPin
    environment: str = ""
    """Digest of what its tests need; empty if nothing is laid beside the repository."""


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """All that is ready before the first cell: images, volumes, limits."""

    engine_url: str | None
    """Where the engine is; None for the one that the environment names."""
    engine_version: str
    kernel: str
    """Of the engine's machine."""
    harness: str
    """Digest of how the harness treats a cell."""
    agent: str
    """A name in AGENTS or in PACKAGED."""
    benchmark: str
    """A name in BENCHMARKS."""
    limits: Limits
    arms: dict[str, PreparedArm]
    scenarios: dict[str, PreparedScenario]
    program: PreparedProgram | None = None
    """Of an agent in PACKAGED; None for one of ours."""
    machine: str = ""
    """Which machine the engine is on, as a digest."""
    spending: Spending = field(default_factory=Spending)
    subject: object = None
    """What a benchmark brings that asks about no scenario; it alone knows its type."""
    has_containers: bool = True
    """False where a cell is a conversation alone, which needs no engine."""
    models: ModelSettings = field(default_factory=ModelSettings)
    """Keys included: they go where the cells go, in memory, and are written nowhere."""
