"""`fairtrial agentbench run`: queries put to models, with the tools of many servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from runner.cli import options, running
from runner.cli.opening import AskedJudge, open_checkout
from runner.cli.options import Request, RunSpending, StudyOptions, Turns, group, repeatable, said
from runner.cli.output import OK, show, tell
from runner.cli.verbs import agentbench_report

if TYPE_CHECKING:
    from runner.agents.spending import Spending
    from runner.benchmarks.agentbench.queries import Query
    from runner.benchmarks.estimate import Estimate
    from runner.catalog.checkout import Checkout
    from runner.records import Shard


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    suite: Path | None = said(
        "--suite PATH",
        "a folder of <category>.yaml, or one file (default: scenarios/agentbench)",
        None,
    )
    categories: tuple[str, ...] = repeatable("--category", "; such as multi-server-single-call")
    servers: tuple[str, ...] = repeatable("--server", "; queries that need one of these")
    ids: tuple[str, ...] = repeatable("--id", "; of one query")
    limit: int | None = said("-n N", "only the first N of these", None)
    list: bool = said("--list", "say how many queries there are")
    models: tuple[str, ...] = options.models()
    mode: Literal["tc", "react"] = said(
        "--mode",
        "tc: the model's own tool calls; react: reasoning, calls and answer in tagged text "
        "(default: tc)",
        "tc",
    )
    trials: int = said("--trials N", "of each query (default: 1)", 1, type=options.trials)
    agent: str = options.agent()
    turns: Turns = group(Turns)
    spending: RunSpending = group(RunSpending)
    study: StudyOptions = group(StudyOptions)
    name: str = options.run_name()
    json: bool = options.as_json()
    jobs: int = options.jobs()
    shard: Shard | None = options.shard()


def run(request: Verb) -> int:
    from runner.benchmarks.agentbench import query_run
    from runner.benchmarks.agentbench.proof.suite import chosen, sound_queries
    from runner.runs.plan import check_name
    from runner.support.errors import FairtrialError

    if request.agent or request.study.pass_at is not None:
        hint = "`--mode` says how they are asked, and an answer passes or fails"
        raise FairtrialError("queries know neither --agent nor --pass-at", hint=hint)
    checkout = open_checkout(request.root)
    loaded = chosen(
        sound_queries(checkout, request.suite),
        ids=request.ids,
        categories=request.categories,
        servers=request.servers,
    )
    queries = [one.query for one in loaded][: request.limit]
    if request.list:
        show("\n".join(query_run.counted(queries)))
        return OK
    subject = _QuerySubject(request=request, checkout=checkout, queries=queries)
    check_name(subject.name)
    return running.run(request, subject)


@dataclass(frozen=True, kw_only=True)
class _QuerySubject(running.RunSubject):
    """What MCP-AgentBench brings to a run."""

    request: Verb
    checkout: Checkout
    queries: list[Query]

    @property
    def name(self) -> str:
        return self.request.name or self.default_name(self.request.models)

    @property
    def seed(self) -> int:
        """By the run's name, two runs that are compared would be asked with other servers."""
        return self.request.study.seed or 0

    def estimate(self, models: Sequence[str], spending: Spending) -> Estimate:
        from runner.benchmarks.agentbench.query_estimate import estimate_queries

        return estimate_queries(
            self.checkout,
            self.queries,
            self.request.mode,
            self.seed,
            models=models,
            trials=self.request.trials,
            spending=spending,
        )

    def default_name(self, models: Sequence[str]) -> str:
        from runner.benchmarks.agentbench.query_run import default_name

        return default_name(self.queries, self.request.mode, models, self.request.trials)

    def ready(self, begun: running.Begun) -> running.Ready:
        from runner.benchmarks.agentbench.query_run import make_ready, write_setup
        from runner.sandbox.engine import sweep

        # What a killed run left behind would go on taking this run's memory.
        sweep(self.checkout.engine, run=begun.store.label)
        ready = make_ready(self.checkout, self.queries, self.request.mode, self.seed)
        write = partial(write_setup, setup=ready.setup)
        return running.Ready(prepared=ready.prepared, write=write)

    def report(self, begun: running.Begun) -> int:
        from runner.benchmarks.agentbench.outcomes import outcomes_of

        tell("\n".join(outcomes_of(begun.store.load()).lines()))
        caps = self.request.spending
        judge = AskedJudge(prices=caps.prices, run_usd=caps.run_usd)
        store = begun.store
        return agentbench_report.report(self.checkout, judge, store, as_json=self.request.json)
