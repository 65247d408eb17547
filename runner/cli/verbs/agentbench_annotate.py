"""`fairtrial agentbench annotate`: a model tries each draft."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from runner.cli.drafting import WriterOptions, answering
from runner.cli.opening import open_checkout
from runner.cli.options import Request, group, repeatable, said
from runner.cli.output import OK, show, tell

if TYPE_CHECKING:
    from runner.benchmarks.agentbench.writing.drafts import QueryDraft

READERS = {"read": "a person has to read it", "expert": "it needs an expert"}


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    file: Path = said("DRAFTS")
    ids: tuple[str, ...] = repeatable("--id", "; also if it was tried (default: all untried)")
    mode: Literal["tc", "react"] = said("--mode", "as in run", "tc")
    tries: int = said("-k K", "trajectories of each (default: 5)", 5)
    judge: str = said(
        "--judge NAME",
        "rules, or model:ID with an ID as --model takes it (default: rules)",
        "rules",
    )
    writer: WriterOptions = group(WriterOptions)


def run(request: Verb) -> int:
    from runner.benchmarks.agentbench.query_benchmark import open_for_queries
    from runner.benchmarks.agentbench.writing.annotate import TrialSetup
    from runner.benchmarks.agentbench.writing.trial_judges import open_trial_judge
    from runner.benchmarks.agentbench.writing.workshop import annotate_drafts

    def told(draft: QueryDraft) -> None:
        rate = "unjudged" if draft.pass_rate is None else f"{draft.pass_rate:.0%} passed"
        show(f"{draft.id}: {rate}; {READERS[draft.stage]}")

    checkout = open_checkout(request.root)
    kind, _, judge = request.judge.partition(":")
    judges = [judge] if kind == "model" else []
    with answering(request.writer, *judges) as (model, settings, purse):
        trying = TrialSetup(
            open_model=partial(open_for_queries, model, settings),
            mode=request.mode,
            result_chars=checkout.limits.result_chars,
            purse=purse,
            judge=open_trial_judge(request.judge, settings, purse),
            tries=request.tries,
        )
        annotate_drafts(checkout, request.file, trying, told, ids=request.ids)
    tell(f"{request.file}: `fairtrial agentbench review` lists what is to be read")
    return OK
