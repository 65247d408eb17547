"""`fairtrial agentbench run`: queries put to models, with the tools of many servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from runner.cli import opening, options, output, running, shapes
from runner.cli.options import RunRequest, repeatable, said
from runner.cli.verbs import agentbench_report
from runner.support.errors import FairtrialError


class Verb(RunRequest):
    LAST = "models mode trials agent turns spending study name json jobs shard"
    suite: Path | None = said(
        "--suite PATH", "a folder of <category>.yaml, or one file (default: scenarios/agentbench)"
    )
    categories: tuple[str, ...] = repeatable("--category", "; such as multi-server-single-call")
    servers: tuple[str, ...] = repeatable("--server", "; queries that need one of these")
    ids: tuple[str, ...] = repeatable("--id", "; of one query")
    limit: int | None = said("-n N", "only the first N of these")
    list: bool = said("--list", "say how many queries there are")
    agent: str = options.no_agent()
    mode: Literal["tc", "react"] = said(
        "--mode",
        "tc: the model's own tool calls; react: reasoning, calls and answer in tagged text "
        "(default: tc)",
    )
    trials: options.Trials = said("--trials N", "of each query (default)", 1)
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.benchmarks.agentbench import query_run
    from runner.benchmarks.agentbench.proof import suite
    from runner.runs.plan import check_name

    if request.agent or request.study.pass_at is not None:
        hint = "`--mode` says how they are asked, and an answer passes or fails"
        raise FairtrialError("queries know neither --agent nor --pass-at", hint=hint)
    checkout = opening.open_checkout(request.root)
    sound = suite.sound_queries(checkout, request.suite)
    filters = {"categories": request.categories, "servers": request.servers}
    loaded = suite.chosen(sound, ids=request.ids, **filters)
    queries = [one.query for one in loaded][: request.limit]
    if request.list:
        output.show("\n".join(query_run.counted(queries)))
        return output.OK
    subject = _QuerySubject(request=request, checkout=checkout, queries=queries)
    check_name(request.name or subject.default_name(request.models))
    return running.run(request, subject)


@dataclass(frozen=True, kw_only=True)
class _QuerySubject(running.RunSubject):
    """What MCP-AgentBench brings to a run."""

    request: Verb
    checkout: shapes.Checkout
    queries: list[shapes.Query]

    @property
    def seed(self) -> int:
        """By the run's name, two runs that are compared would be asked with other servers."""
        return self.request.study.seed or 0

    def estimate(self, models: Sequence[str], spending: shapes.Spending) -> shapes.Estimate:
        from runner.benchmarks.agentbench.query_run import estimate_queries

        asked = self.checkout, self.queries, self.request.mode, self.seed
        trials = self.request.trials
        return estimate_queries(*asked, models=models, trials=trials, spending=spending)

    def default_name(self, models: Sequence[str]) -> str:
        from runner.benchmarks.agentbench.query_run import default_name

        return default_name(self.queries, self.request.mode, models, self.request.trials)

    def ready(self, begun: running.Begun) -> running.Ready:
        from runner.benchmarks.agentbench.query_run import make_ready, write_setup
        from runner.sandbox.engine import sweep

        # What a killed run left behind would go on taking this run's memory.
        sweep(self.checkout.engine, run=begun.store.label)
        ready = make_ready(self.checkout, self.queries, self.request.mode, self.seed)
        return ready.prepared, partial(write_setup, setup=ready.setup)

    def report(self, begun: running.Begun) -> int:
        from runner.benchmarks.agentbench.query_run import endings

        output.tell("\n".join(endings(begun.store.load())))
        judge, as_json = opening.asked_judge(None, self.request.spending), self.request.json
        return agentbench_report.report(self.checkout, judge, begun.store, as_json=as_json)
