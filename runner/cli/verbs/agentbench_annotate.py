"""`fairtrial agentbench annotate`: a model tries each draft."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

from runner.cli import drafting, opening, output, shapes
from runner.cli.options import Request, group, repeatable, said

READERS = {"read": "a person has to read it", "expert": "it needs an expert"}


class Verb(Request):
    file: Path = said("DRAFTS")
    ids: tuple[str, ...] = repeatable("--id", "; also if it was tried (default: all untried)")
    mode: Literal["tc", "react"] = said("--mode", "as in run")
    tries: int = said("-k K", "trajectories of each (default)", 5)
    judge: str = said(
        "--judge NAME", "rules, or model:ID with an ID as --model takes it (default)", "rules"
    )
    writer: drafting.WriterOptions = group(drafting.WriterOptions)


def run(request: Verb) -> int:
    from runner.benchmarks.agentbench.query_benchmark import open_for_queries
    from runner.benchmarks.agentbench.writing import annotate, trial_judges, workshop

    def told(draft: shapes.QueryDraft) -> None:
        rate = "unjudged" if draft.pass_rate is None else f"{draft.pass_rate:.0%} passed"
        output.show(f"{draft.id}: {rate}; {READERS[draft.stage]}")

    checkout = opening.open_checkout(request.root)
    kind, _, judge = request.judge.partition(":")
    judges = [judge] if kind == "model" else []
    with drafting.answering(request.writer, *judges) as (model, settings, purse):
        trying = annotate.TrialSetup(
            open_model=partial(open_for_queries, model, settings),
            mode=request.mode,
            result_chars=checkout.limits.result_chars,
            purse=purse,
            judge=trial_judges.open_trial_judge(request.judge, settings, purse),
            tries=request.tries,
        )
        workshop.annotate_drafts(checkout, request.file, trying, told, ids=request.ids)
    output.tell(f"{request.file}: `fairtrial agentbench review` lists what is to be read")
    return output.OK
