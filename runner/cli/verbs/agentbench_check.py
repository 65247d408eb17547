"""`fairtrial agentbench check`: every query proves itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from runner.cli import opening, options, output, shapes
from runner.cli.options import Request, repeatable, said


class Verb(Request):
    source: Path | None = said(
        "[QUERIES]", "a folder of <category>.yaml, or one file (default: scenarios/agentbench)"
    )
    ids: tuple[str, ...] = repeatable("--id", "; of one query")
    categories: tuple[str, ...] = repeatable("--category", "; such as single-server-parallel-call")
    unreviewed: bool = said("--unreviewed", "also queries that nobody has read yet")
    static: bool = said("--static", "execute nothing: no engine needed")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    proofs = prove(opening.open_checkout(request.root), request)
    if request.json:
        output.show_json([proof.as_json() for proof in proofs])
    return output.FAILED if any(proof.problems for proof in proofs) else output.OK


def prove(checkout: shapes.Checkout, request: Verb) -> Sequence[shapes.QueryProof]:
    """Shown as they are found, unless JSON is asked for. Raises EngineError if none answers."""
    from runner.benchmarks.agentbench.proof import proving, suite

    started = time.monotonic()
    queries = suite.sound_queries(checkout, request.source, unreviewed=request.unreviewed)
    wanted = suite.chosen(queries, ids=request.ids, categories=request.categories)
    proofs: list[shapes.QueryProof] = []

    def told(proof: shapes.QueryProof) -> None:
        proofs.append(proof)
        if not request.json:
            output.show(proof.as_text())

    if request.static:
        for proof in proving.prove_files(wanted):
            told(proof)
    else:
        proving.prove_executed(checkout, wanted, told)
    if not request.json:
        output.show(proving.summary(proofs, time.monotonic() - started))
    return proofs
