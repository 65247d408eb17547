"""The door of the judges' room: a judge is a name, and what makes one."""

from __future__ import annotations

from collections.abc import Callable

from runner.judges.checklist import Checklist
from runner.protocols import Judge

JUDGES: dict[str, Callable[[], Judge]] = {"checklist": Checklist}
