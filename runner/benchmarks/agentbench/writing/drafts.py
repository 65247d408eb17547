"""The drafts file: queries on their way from a model to a suite, and what each has been through.

A draft is generated, then tried (K trajectories, judged), then read by a person, who decides. One
file holds them all, so that nothing is lost between two verbs; none of it is a suite.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from runner.benchmarks.agentbench.proof.yaml_records import read_yaml, write_yaml
from runner.benchmarks.agentbench.queries import Category, Query, ReferenceCall
from runner.records import Count, Name, Record
from runner.support.errors import FairtrialError

LIMIT_BYTES = 64 * 1024 * 1024
PASS_RATE_AT_LEAST = 0.2
"""Below it a query needs an expert (seed 003, appendix B)."""
TRIES = 5
"""K, the same."""
Action = Literal["accept", "revise", "refine", "author", "reject"]
Stage = Literal["drafted", "read", "expert", "accepted", "rejected"]
"""What comes next: trying it; reading it; an expert; nothing."""


class ToolUsed(Record):
    """One call of a trajectory, as it was made."""

    server: str
    tool: str
    """As the server calls it."""
    arguments: dict[str, Any]
    result: str
    is_error: bool


class DraftTrial(Record):
    """One of the K trajectories."""

    model: str
    outcome: str
    """How the conversation ended, as of a run's cell."""
    calls: tuple[ToolUsed, ...]
    answer: str
    passed: bool | None
    """None if it could not be judged."""
    judge: str
    reason: str
    """The judge's."""
    tokens: Count

    @property
    def references(self) -> tuple[ReferenceCall, ...]:
        """Its calls that were answered, as a reference trajectory has them."""
        return tuple(
            ReferenceCall(**one.model_dump(exclude={"is_error"}))
            for one in self.calls
            if not one.is_error
        )


class Decision(Record):
    """What a person did with a draft."""

    action: Action
    reviewer: Annotated[str, Field(min_length=1)]
    note: str = ""


class QueryDraft(Record):
    """A query that nobody has vouched for."""

    id: Name
    category: Category
    offered: Annotated[tuple[Name, ...], Field(min_length=1)]
    """The servers that it was planned with, and is tried with."""
    tools: tuple[str, ...]
    """`server/tool`: those it was generated for."""
    profile: str
    scenario: str
    objective: str
    query: Annotated[str, Field(min_length=1)]
    provenance: str
    trials: tuple[DraftTrial, ...] = ()
    proposed: Query | None = None
    """With the reference that its passing trials agree on, or an expert's."""
    problems: tuple[str, ...] = ()
    """Why nothing is proposed, or what is wrong with what is."""
    decisions: tuple[Decision, ...] = ()

    @property
    def pass_rate(self) -> float | None:
        """Of the trials that could be judged; None if there is none."""
        judged = [trial.passed for trial in self.trials if trial.passed is not None]
        return sum(judged) / len(judged) if judged else None

    @property
    def stage(self) -> Stage:
        if self.decisions and self.decisions[-1].action in ("accept", "refine", "author"):
            return "accepted"
        if self.decisions and self.decisions[-1].action == "reject":
            return "rejected"
        if not self.trials:
            return "drafted"
        rate = self.pass_rate
        # What no judge could tell, and what has no reference, is no straightforward case either.
        is_clear = rate is not None and rate >= PASS_RATE_AT_LEAST and self.proposed is not None
        return "read" if is_clear and not self.problems else "expert"


class DraftFailure(Record):
    """What a model was asked for, and did not give."""

    category: Category
    servers: tuple[str, ...]
    part: Literal["components", "query"]
    kind: Literal["no_scene", "broken"]
    """`broken`: twice in a form that cannot be used."""
    problem: str
    reply: str
    """Its last."""
    model: str


class Drafts(Record):
    """One file."""

    drafts: tuple[QueryDraft, ...] = ()
    failures: tuple[DraftFailure, ...] = ()


def read_drafts(file: Path) -> Drafts:
    """Raises CatalogError with every problem of the file."""
    return read_yaml(file, Drafts, where=str(file), limit_bytes=LIMIT_BYTES)


def write_drafts(file: Path, drafts: Drafts) -> None:
    """In the place of what the file held."""
    write_yaml(file, drafts)


def draft_called(drafts: Drafts, name: str) -> QueryDraft:
    """Raises FairtrialError with what there is."""
    for draft in drafts.drafts:
        if draft.id == name:
            return draft
    hint = f"there are: {', '.join(draft.id for draft in drafts.drafts) or 'none'}"
    raise FairtrialError(f"no draft is called {name!r}", hint=hint)


def replaced(drafts: Drafts, draft: QueryDraft) -> Drafts:
    """With the one of that id exchanged."""
    changed = tuple(draft if one.id == draft.id else one for one in drafts.drafts)
    return drafts.model_copy(update={"drafts": changed})
