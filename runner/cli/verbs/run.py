"""`fairtrial run`: scenarios × servers × models × trials. `demo`, `cell` and `try` end here too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runner.cli import ending, exact_run, opening, options, running, shapes


class Verb(options.RunRequest):
    LAST = (
        "exact models agent turns spending judge trials study detect executor exchange "
        "tls name json full jobs shard gate"
    )
    scenarios: tuple[str, ...] = options.repeatable(
        "--scenario", " (default: the project's, else all of scenarios/core)"
    )
    servers: tuple[str, ...] = options.repeatable(
        "--server",
        "; `shell` is always an arm (default: the project's, else all). To check the run itself: "
        "NAME said twice is a twin, NAME+20 has every line number in its results moved by 20, and "
        "`none` no tool at all: what the model knows by heart. With --exact --repo also npm:NAME, "
        "pypi:NAME or docker:IMAGE, which is defined there as `try` does it",
    )
    exact: exact_run.ExactChoice = options.group(exact_run.ExactChoice)
    trials: options.Trials = options.said(
        "--trials N",
        "cells of each kind (default: 2, and 1 with --exact); fixed before, and there is no rule "
        "that stops a run when its figures please: looking until they do finds differences that "
        "are not there",
        0,
    )
    detect: options.Share = options.said(
        "--detect F",
        "a difference in fairness: --dry-run says how many more repositories, scenarios or trials "
        "would find it (default)",
        0.05,
    )


def run(request: Verb) -> int:
    arms = tuple(filter(None, request.exact.arms.split(",")))
    trials = request.trials or (1 if request.exact.exact else 2)
    request = replace(request, servers=(*request.servers, *arms), trials=trials)
    checkout = opening.open_checkout(request.root)
    judge = opening.asked_judge(request.judge.judging, request.spending)
    if not request.exact.exact or not request.exact.repo:
        exact_run.require_defined(request.servers)
    if not request.exact.exact:
        return running.run(request, subject_of(request, checkout, judge))
    found = exact_run.asked_by(request, checkout)
    request = replace(request, scenarios=found.names, servers=found.servers)
    subject = subject_of(request, found.checkout, judge, found.to_come)
    return running.run(request, subject, found.runs)


def subject_of(
    request: Verb,
    checkout: shapes.Checkout,
    judge: shapes.AskedJudge,
    to_come: frozenset[str] = frozenset(),
) -> ScenarioSubject:
    """Raises FairtrialError for a scenario or server that there is not."""
    scenarios = checkout.choose_scenarios(request.scenarios)
    return ScenarioSubject(
        request=request,
        checkout=checkout,
        asked=exact_run.judged_by_keys(checkout, judge, scenarios),
        scenarios=scenarios,
        servers=checkout.choose_servers(request.servers, to_come),
        to_come=to_come,
    )


@dataclass(frozen=True, kw_only=True)
class ScenarioSubject(running.RunSubject):
    """What our own benchmark brings to a run."""

    request: Verb
    checkout: shapes.Checkout
    asked: shapes.AskedJudge
    scenarios: list[str]
    servers: list[str]
    to_come: frozenset[str] = frozenset()
    """Servers that only an estimate counts in."""

    def estimate(self, models: Sequence[str], spending: shapes.Spending) -> shapes.Estimate:
        from runner.benchmarks.scenarios import scenario_estimate as estimating

        agent = self._agent(models)
        chosen = {"scenarios": self.scenarios, "servers": self.servers, "models": models}
        chosen |= {"agent": agent, "program": self._program(agent)}
        more = {"spending": spending, "to_come": self.to_come}
        asked = options.taken(estimating.EstimateRequest, self.request, **chosen, **more)
        runs = opening.runs_of(self.request.root)
        return estimating.estimate_scenarios(asked, self.checkout.catalog, runs)

    def default_name(self, models: Sequence[str]) -> str:
        from runner.runs import plan

        servers, agent = self._arms(models), self._agent(models)
        return plan.default_name(self.scenarios, servers, models, self.request.trials, agent)

    def _arms(self, models: Sequence[str]) -> list[str]:
        from runner.agents.models.replay import arms_to_play

        return arms_to_play(self.servers, self.request.servers, models)

    def _agent(self, models: Sequence[str]) -> str:
        from runner.agents.choosing import chosen_agent

        return chosen_agent(self.request.agent, models)

    def _program(self, agent: str) -> str:
        from runner.agents.packaged.program import is_packaged, read_agent

        if not is_packaged(agent):
            return ""
        spec = read_agent(self.checkout.root, agent).spec
        return f"{spec.title} {spec.version}"

    def gate(self, begun: running.Begun) -> shapes.Gate | None:
        run, servers = self.run_of(begun), self._arms(begun.models)
        return run.pass_gate(self.request.gate, run.required_judge(), self.scenarios, servers)

    def build(self, begun: running.Begun) -> shapes.PreparedRun:
        from runner.runs.prepare import prepare

        arms, agent = self._arms(begun.models), self._agent(begun.models)
        return prepare(self.checkout, self.scenarios, arms, agent)

    def ready(self, begun: running.Begun) -> running.Ready:
        from runner.sandbox.engine import sweep

        assert begun.built is not None  # noqa: S101 - `build` came before
        sweep(self.checkout.engine, run=begun.store.label)
        return begun.built, lambda _: None

    def report(self, begun: running.Begun) -> int:
        run = self.run_of(begun)
        code = ending.show_report(run, self.scored(begun), begun.gate, self.request)
        if begun.built is not None:
            running.tell_left_out(begun.built)
        return code

    def scored(self, begun: running.Begun) -> shapes.LoadedRun:
        from runner.runs.spent import spent

        spent_usd = spent(begun.store, begun.spending.priced)[1]
        run = self.run_of(begun)
        return run.scored(run.judge_anew(spent_usd)[1])

    def run_of(self, begun: running.Begun) -> shapes.ScenarioRun:
        from runner.benchmarks.scenarios.scenario_run import ScenarioRun

        return ScenarioRun(store=begun.store, checkout=self.checkout, asked=self.asked)
