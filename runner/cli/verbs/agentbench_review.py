"""`fairtrial agentbench review`: a person reads drafts, and decides."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from runner.cli.opening import open_checkout
from runner.cli.options import Request, said
from runner.cli.output import FAILED, OK, show, tell

if TYPE_CHECKING:
    from runner.benchmarks.agentbench.queries import Query
    from runner.benchmarks.agentbench.writing.drafts import Drafts, QueryDraft
    from runner.catalog.checkout import Checkout


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    file: Path = said("DRAFTS")
    id: str = said("--id NAME", "of one draft (default: list all)", "")
    action: Literal["", "accept", "revise", "refine", "author", "reject"] = said(
        "--action",
        "revise: another query, to be tried again; refine: another answer; author: another "
        "trajectory and answer (default: show the draft)",
        "",
    )
    reviewer: str = said("--reviewer NAME", "who reads", "")
    note: str = said("--note TEXT", "why", "")
    query: str = said("--query TEXT", "of revise", "")
    edited: Path | None = said("--from FILE", "of refine and author: the edited query", None)
    edit_to: Path | None = said("--edit-to FILE", "write what to start editing from", None)
    into: Path | None = said("--into PATH", "file or folder of queries that takes it", None)
    static: bool = said("--static", "execute nothing before it is taken")


def run(request: Verb) -> int:
    from runner.benchmarks.agentbench.proof.yaml_records import write_yaml
    from runner.benchmarks.agentbench.writing.drafts import draft_called, read_drafts
    from runner.benchmarks.agentbench.writing.review import draft_text, queue_text, starting_point

    drafts = read_drafts(request.file)
    if not request.id:
        show("\n".join(queue_text(drafts)))
        return OK
    draft = draft_called(drafts, request.id)
    if request.edit_to is not None:
        write_yaml(request.edit_to, starting_point(draft))
        tell(f"wrote {request.edit_to}: edit it, and give it with --from")
        return OK
    if not request.action:
        show("\n".join(draft_text(draft)))
        return OK
    return _review(request, drafts, draft)


def _review(request: Verb, drafts: Drafts, draft: QueryDraft) -> int:
    """Decide; what is accepted is proved first, and then put into its suite."""
    from runner.benchmarks.agentbench.writing.drafts import replaced, write_drafts
    from runner.benchmarks.agentbench.writing.review import (
        Review,
        add_to_suite,
        edited_query,
        require_suite_place,
        review,
    )

    said_of_it = Review(
        action=request.action or "accept",
        reviewer=request.reviewer,
        note=request.note,
        message=request.query,
        edited=edited_query(request.edited, draft.id) if request.edited else None,
    )
    reviewed = review(draft, said_of_it)
    if reviewed.accepted is not None:
        place = require_suite_place(request.into)
        if not request.static and not _proved(open_checkout(request.root), reviewed.accepted):
            return FAILED
        tell(f"{draft.id} is in {add_to_suite(place, reviewed.accepted)}")
    write_drafts(request.file, replaced(drafts, reviewed.draft))
    show(f"{draft.id}: {reviewed.draft.stage}")
    return OK


def _proved(checkout: Checkout, query: Query) -> bool:
    """Is its trajectory, executed now, as it was recorded? Raises EngineError if none answers."""
    from runner.benchmarks.agentbench.proof.proving import QueryProof, prove_executed
    from runner.benchmarks.agentbench.proof.suite import LoadedQuery

    proofs: list[QueryProof] = []
    loaded = LoadedQuery(query=query, where=query.id, file=checkout.root)
    prove_executed(checkout, [loaded], proofs.append)
    for proof in proofs:
        if proof.problems:
            show(proof.as_text())
    return not any(proof.problems for proof in proofs)
