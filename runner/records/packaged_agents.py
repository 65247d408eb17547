"""agent.yaml: an agent that people use, as a package that is pinned."""

from __future__ import annotations

from pydantic import Field

from runner.records.record import Name, Record
from runner.records.servers import Python


class AgentSpec(Record):
    """images/agents/<name>/agent.yaml. `{install}` is replaced in `command`."""

    name: Name
    title: str
    version: str
    """The program's own."""
    licence: str
    terms: str = ""
    """Where its licence is to be read, if it is a proprietary one: said before it is fetched."""
    homepage: str
    command: str
    """The program, in its install volume."""
    reads_repository: bool
    """Is it told what the repository's own AGENTS.md or CLAUDE.md says? In every arm alike."""
    notes: tuple[str, ...] = ()
    """What a reader of the report should know."""
    python: Python = "3.11"
    files: dict[str, str] = Field(default_factory=dict)
