"""`fairtrial agentbench generate`: a model writes drafts of queries."""

from __future__ import annotations

from pathlib import Path

from runner.cli import drafting, opening, options, output, shapes
from runner.cli.options import Request, group, repeatable, said


class Verb(Request):
    file: Path = said("DRAFTS", "made, or added to")
    servers: tuple[str, ...] = repeatable("--server", "; to write for (default: the whole testbed)")
    categories: tuple[str, ...] = repeatable("--category", " (default: all six)")
    count: int = said("-n N", "of each category (default)", 1)
    seed: options.Whole = said("--seed N", "draws the servers (default)", 0)
    writer: drafting.WriterOptions = group(drafting.WriterOptions)


def run(request: Verb) -> int:
    from runner.agents.models import open_model
    from runner.benchmarks.agentbench.queries import CATEGORIES
    from runner.benchmarks.agentbench.writing import drafts, workshop
    from runner.benchmarks.agentbench.writing import writer as asking
    from runner.catalog.catalog import pick

    workshop.require_writer(request.writer.model)
    checkout, drafted = opening.open_checkout(request.root), 0

    def told(made: shapes.QueryDraft | shapes.DraftFailure) -> None:
        nonlocal drafted
        drafted += isinstance(made, drafts.QueryDraft)
        if isinstance(made, drafts.QueryDraft):
            output.show(f"{made.id}: {made.query}")
        else:
            output.show(f"no draft of {made.category} ({made.kind}): {made.problem}")

    with drafting.answering(request.writer) as (model, settings, purse):
        known: dict[str, shapes.Category] = {category: category for category in CATEGORIES}
        chosen = [pick(known, name, "category") for name in request.categories] or CATEGORIES
        order = workshop.GenerationOrder(
            categories=chosen, count=request.count, seed=request.seed, model=model
        )
        offered = workshop.listings_of(checkout, request.servers)
        writer = asking.Writer(model=open_model(model, settings), purse=purse)
        workshop.generate_drafts(request.file, order, offered, writer, told)
    output.tell(f"{request.file}: `fairtrial agentbench annotate` tries what is new")
    return output.OK if drafted else output.FAILED
