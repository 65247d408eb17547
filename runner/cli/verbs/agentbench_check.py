"""`fairtrial agentbench check`: every query proves itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli import options
from runner.cli.opening import open_checkout
from runner.cli.options import Request, repeatable, said
from runner.cli.output import FAILED, OK, show, show_json

if TYPE_CHECKING:
    from runner.benchmarks.agentbench.proof.proving import QueryProof
    from runner.catalog.checkout import Checkout


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    source: Path | None = said(
        "[QUERIES]",
        "a folder of <category>.yaml, or one file (default: scenarios/agentbench)",
        None,
    )
    ids: tuple[str, ...] = repeatable("--id", "; of one query")
    categories: tuple[str, ...] = repeatable("--category", "; such as single-server-parallel-call")
    unreviewed: bool = said("--unreviewed", "also queries that nobody has read yet")
    static: bool = said("--static", "execute nothing: no engine needed")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    proofs = prove(open_checkout(request.root), request)
    if request.json:
        show_json([proof.as_json() for proof in proofs])
    return FAILED if any(proof.problems for proof in proofs) else OK


def prove(checkout: Checkout, request: Verb) -> Sequence[QueryProof]:
    """Shown as they are found, unless JSON is asked for. Raises EngineError if none answers."""
    import time

    from runner.benchmarks.agentbench.proof.proving import prove_executed, prove_files, summary
    from runner.benchmarks.agentbench.proof.suite import chosen, sound_queries

    started = time.monotonic()
    queries = sound_queries(checkout, request.source, unreviewed=request.unreviewed)
    wanted = chosen(queries, ids=request.ids, categories=request.categories)
    proofs: list[QueryProof] = []

    def told(proof: QueryProof) -> None:
        proofs.append(proof)
        if not request.json:
            show(proof.as_text())

    if request.static:
        for proof in prove_files(wanted):
            told(proof)
    else:
        prove_executed(checkout, wanted, told)
    if not request.json:
        show(summary(proofs, time.monotonic() - started))
    return proofs
