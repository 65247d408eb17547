"""`fairtrial agentbench generate`: a model writes drafts of queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli.drafting import WriterOptions, answering
from runner.cli.opening import open_checkout
from runner.cli.options import Request, group, repeatable, said, whole_number
from runner.cli.output import FAILED, OK, show, tell

if TYPE_CHECKING:
    from runner.benchmarks.agentbench.queries import Category


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    file: Path = said("DRAFTS", "made, or added to")
    servers: tuple[str, ...] = repeatable("--server", "; to write for (default: the whole testbed)")
    categories: tuple[str, ...] = repeatable("--category", " (default: all six)")
    count: int = said("-n N", "of each category (default: 1)", 1)
    seed: int = said("--seed N", "draws the servers (default: 0)", 0, type=whole_number)
    writer: WriterOptions = group(WriterOptions)


def run(request: Verb) -> int:
    from runner.agents.models import open_model
    from runner.benchmarks.agentbench.writing import workshop
    from runner.benchmarks.agentbench.writing import writer as asking
    from runner.benchmarks.agentbench.writing.drafts import DraftFailure, QueryDraft

    workshop.require_writer(request.writer.model)
    checkout, drafted = open_checkout(request.root), 0

    def told(made: QueryDraft | DraftFailure) -> None:
        nonlocal drafted
        drafted += isinstance(made, QueryDraft)
        if isinstance(made, QueryDraft):
            show(f"{made.id}: {made.query}")
        else:
            show(f"no draft of {made.category} ({made.kind}): {made.problem}")

    with answering(request.writer) as (model, settings, purse):
        order = workshop.GenerationOrder(
            categories=_categories(request.categories),
            count=request.count,
            seed=request.seed,
            model=model,
        )
        offered = workshop.listings_of(checkout, request.servers)
        writer = asking.Writer(model=open_model(model, settings), purse=purse)
        workshop.generate_drafts(request.file, order, offered, writer, told)
    tell(f"{request.file}: `fairtrial agentbench annotate` tries what is new")
    return OK if drafted else FAILED


def _categories(asked: Sequence[str]) -> Sequence[Category]:
    """Those that are asked for, or all. Raises FairtrialError for one that there is not."""
    from runner.benchmarks.agentbench.queries import CATEGORIES
    from runner.catalog.catalog import pick

    known: dict[str, Category] = {category: category for category in CATEGORIES}
    return [pick(known, name, "category") for name in asked] or CATEGORIES
