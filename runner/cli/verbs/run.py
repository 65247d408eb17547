"""`fairtrial run`: scenarios × servers × models × trials. `demo`, `cell` and `try` end here too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runner.cli import options, running
from runner.cli.ending import report_of, show_report
from runner.cli.opening import (
    AskedJudge,
    asked_judge,
    judge_anew,
    judge_as_before,
    open_checkout,
    pass_gate,
    require_judge,
    runs_of,
)
from runner.cli.options import (
    ExecutorChoice,
    GatePolicy,
    JudgeChoice,
    Request,
    RunSpending,
    StudyOptions,
    Turns,
    group,
    repeatable,
    said,
    taken,
)

if TYPE_CHECKING:
    from runner.agents.spending import Spending
    from runner.benchmarks.scenarios.scenario_estimate import ScenarioEstimate
    from runner.catalog.checkout import Checkout
    from runner.records import Gate, Shard
    from runner.records.run_store import LoadedRun
    from runner.runs.run_inputs import PreparedRun


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    scenarios: tuple[str, ...] = repeatable(
        "--scenario", " (default: the project's, else all of scenarios/core)"
    )
    servers: tuple[str, ...] = repeatable(
        "--server",
        "; `shell` is always an arm (default: the project's, else all). To check the run itself: "
        "NAME said twice is a twin, NAME+20 has every line number in its results moved by 20",
    )
    models: tuple[str, ...] = options.models()
    agent: str = options.agent()
    turns: Turns = group(Turns)
    spending: RunSpending = group(RunSpending)
    judge: JudgeChoice = group(JudgeChoice)
    trials: int = said(
        "--trials N",
        "cells of each kind (default: 2); fixed before, and there is no rule that stops a run "
        "when its figures please: looking until they do finds differences that are not there",
        2,
        type=options.trials,
    )
    study: StudyOptions = group(StudyOptions)
    detect: float = said(
        "--detect F",
        "a difference in fairness: --dry-run says how many more repositories, scenarios or trials "
        "would find it (default: 0.05)",
        0.05,
        type=options.unit,
    )
    where: ExecutorChoice = group(ExecutorChoice)
    name: str = options.run_name()
    json: bool = options.as_json("print report.json instead of the first screen")
    full: bool = options.full()
    jobs: int = options.jobs()
    shard: Shard | None = options.shard()
    gate: GatePolicy = options.ungated()


def run(request: Verb) -> int:
    judge = asked_judge(request.judge.judging, request.spending)
    return running.run(request, subject_of(request, open_checkout(request.root), judge))


def subject_of(request: Verb, checkout: Checkout, judge: AskedJudge) -> ScenarioSubject:
    """Raises FairtrialError for a scenario or server that there is not."""
    return ScenarioSubject(
        request=request,
        checkout=checkout,
        asked=judge,
        scenarios=checkout.choose_scenarios(request.scenarios),
        servers=checkout.choose_servers(request.servers),
    )


@dataclass(frozen=True, kw_only=True)
class ScenarioSubject(running.RunSubject):
    """What our own benchmark brings to a run."""

    request: Verb
    checkout: Checkout
    asked: AskedJudge
    scenarios: list[str]
    servers: list[str]

    def executor(self) -> ExecutorChoice:
        return self.request.where

    def estimate(self, models: Sequence[str], spending: Spending) -> ScenarioEstimate:
        from runner.benchmarks.scenarios.scenario_estimate import (
            EstimateRequest,
            estimate_scenarios,
        )

        chosen = {"scenarios": self.scenarios, "servers": self.servers, "models": models}
        asked = taken(EstimateRequest, self.request, **chosen, spending=spending)
        return estimate_scenarios(asked, self.checkout.catalog, runs_of(self.request.root))

    def default_name(self, models: Sequence[str]) -> str:
        from runner.runs import plan

        servers, agent = self._arms(models), self._agent(models)
        return plan.default_name(self.scenarios, servers, models, self.request.trials, agent)

    def _arms(self, models: Sequence[str]) -> list[str]:
        from runner.agents.models.replay import arms_to_play

        return arms_to_play(self.servers, self.request.servers, models)

    def _agent(self, models: Sequence[str]) -> str:
        from runner.agents import AGENTS
        from runner.agents.choosing import agent_for
        from runner.catalog.catalog import pick

        name = self.request.agent or agent_for(models)
        pick(AGENTS, name, "agent")
        return name

    def gate(self, begun: running.Begun) -> Gate | None:
        judge = require_judge(judge_as_before(self.checkout, self.asked, begun.store))
        servers = self._arms(begun.models)
        return pass_gate(self.request.gate, self.checkout, judge, self.scenarios, servers)

    def build(self, begun: running.Begun) -> PreparedRun:
        from runner.runs.prepare import prepare

        prepared = prepare(self.checkout, self.scenarios, self._arms(begun.models))
        return replace(prepared, agent=self._agent(begun.models))

    def ready(self, begun: running.Begun) -> running.Ready:
        from runner.sandbox.engine import sweep

        assert begun.built is not None  # noqa: S101 - `build` came before
        sweep(self.checkout.engine, run=begun.store.label)
        return running.Ready(prepared=begun.built)

    def report(self, begun: running.Begun) -> int:
        run = self.scored(begun)
        built = report_of(run, self.checkout, begun.gate)
        shown = {"as_json": self.request.json, "full": self.request.full}
        return show_report(begun.store, built, run, **shown)

    def scored(self, begun: running.Begun) -> LoadedRun:
        from runner.runs.spent import spent

        spent_usd = spent(begun.store, begun.spending.priced)[1]
        _, judge = judge_anew(self.checkout, self.asked, begun.store, spent_usd)
        return running.score_run(begun.store, self.checkout, judge)
