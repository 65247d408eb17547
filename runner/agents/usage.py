"""What a cell has used so far, against what it may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class UsageTotals:
    """What the cell has used so far, against its budget."""

    tokens: int = 0
    actions: int = 0
    agent_sec: float = 0.0
    backoff_sec: float = 0.0
