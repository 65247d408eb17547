"""`fairtrial agentbench review`: a person reads drafts, and decides."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from runner.cli import options, output, shapes
from runner.cli.opening import open_checkout


class Verb(options.Request):
    file: Path = options.said("DRAFTS")
    id: str = options.said("--id NAME", "of one draft (default: list all)")
    action: Literal["", "accept", "revise", "refine", "author", "reject"] = options.said(
        "--action",
        "revise: another query, to be tried again; refine: another answer; author: another "
        "trajectory and answer (default: show the draft)",
    )
    reviewer: str = options.said("--reviewer NAME", "who reads")
    note: str = options.said("--note TEXT", "why")
    query: str = options.said("--query TEXT", "of revise")
    edited: Path | None = options.said("--from FILE", "of refine and author: the edited query")
    edit_to: Path | None = options.said("--edit-to FILE", "write what to start editing from")
    into: Path | None = options.said("--into PATH", "file or folder of queries that takes it")
    static: bool = options.said("--static", "execute nothing before it is taken")


def run(request: Verb) -> int:
    from runner.benchmarks.agentbench.proof.yaml_records import write_yaml
    from runner.benchmarks.agentbench.writing import drafts as drafting
    from runner.benchmarks.agentbench.writing import review

    drafts = drafting.read_drafts(request.file)
    if not request.id:
        output.show("\n".join(review.queue_text(drafts)))
        return output.OK
    draft = drafting.draft_called(drafts, request.id)
    if request.edit_to is not None:
        write_yaml(request.edit_to, review.starting_point(draft))
        output.tell(f"wrote {request.edit_to}: edit it, and give it with --from")
        return output.OK
    if not request.action:
        output.show("\n".join(review.draft_text(draft)))
        return output.OK
    said_of_it = review.Review(
        action=request.action or "accept",
        reviewer=request.reviewer,
        note=request.note,
        message=request.query,
        edited=review.edited_query(request.edited, draft.id) if request.edited else None,
    )
    reviewed = review.review(draft, said_of_it)
    # What is accepted is proved first, and then put into its suite.
    if reviewed.accepted is not None:
        place = review.require_suite_place(request.into)
        if not request.static and not _proved(open_checkout(request.root), reviewed.accepted):
            return output.FAILED
        output.tell(f"{draft.id} is in {review.add_to_suite(place, reviewed.accepted)}")
    drafting.write_drafts(request.file, drafting.replaced(drafts, reviewed.draft))
    output.show(f"{draft.id}: {reviewed.draft.stage}")
    return output.OK


def _proved(checkout: shapes.Checkout, query: shapes.Query) -> bool:
    """Is its trajectory, executed now, as it was recorded? Raises EngineError if none answers."""
    from runner.benchmarks.agentbench.proof import proving, suite

    proofs: list[shapes.QueryProof] = []
    loaded = suite.LoadedQuery(query=query, where=query.id, file=checkout.root)
    proving.prove_executed(checkout, [loaded], proofs.append)
    wrong = [proof for proof in proofs if proof.problems]
    for proof in wrong:
        output.show(proof.as_text())
    return not wrong
