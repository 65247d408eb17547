"""What a judge is opened with. Plain values; models are reached as those that answer are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runner.agents.models.model_settings import ModelSettings
from runner.agents.spending import JudgeBudget
from runner.protocols import Log
from runner.records import Judging


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    judging: Judging = field(default_factory=Judging)
    models: ModelSettings = field(default_factory=ModelSettings)
    replies: Path | None = None
    """Where replies are kept; None keeps none."""
    reply_sec: float = 600.0
    """What one reply may take, from its first word to its last."""
    at_once: int = 4
    """Requests under way at the same time."""
    purse: JudgeBudget = field(default_factory=JudgeBudget)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of the servers of local weights."""
    log: Log = lambda _: None
    """Told of slow work."""
