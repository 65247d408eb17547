"""A run of scenarios as it is judged, scored, reported and attested: its files, judge and gate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from runner.agents.models import open_model
from runner.agents.models.model_settings import ModelSettings
from runner.agents.spending import purse_for
from runner.benchmarks.scenarios.scenario_benchmark import ScenarioBenchmark
from runner.catalog.checkout import Checkout
from runner.gate import gate
from runner.gate.chain import read_chain
from runner.gate.own_judges import accepted_judging
from runner.gate.rescoring import since
from runner.protocols import Judge
from runner.records import Gate, Judging, Scorecard
from runner.records.run_store import LoadedRun, RunStore
from runner.report.build_report import build_report
from runner.report.page_data import PageData, page_data
from runner.report.records import Report
from runner.runs.audit import Audit, with_cards
from runner.runs.judging import with_endpoints
from runner.runs.run_people import PEOPLE_OF_RUN, arm_errors
from runner.scoring import judges
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.scoring.judges.replies import REPLIES, Replies, file_stem
from runner.support.errors import FairtrialError, GateError

GatePolicy = Literal["require", "skip", "prefer"]
"""`require`: refuse while the gate is closed. `skip`: go on without it, and mark the result.
`prefer`: go behind the gate if it is open; if not, go on and mark the result."""
TITLES = {"toolbench": "MCPToolBench++", "agentbench": "MCP-AgentBench"}


@dataclass(frozen=True, kw_only=True)
class AskedJudge:
    """What a person asks of the judge."""

    judging: Judging | None
    """None: as the run was judged before, else by the default."""
    models: ModelSettings
    prices: Path | None
    run_usd: float | None
    replies: Path
    """Where what models say of answers that are no run's is kept."""

    def settings(
        self, checkout: Checkout, judging: Judging, replies: Path, spent_usd: float = 0.0
    ) -> JudgeSettings:
        """`replies`: the folder that keeps what models say."""
        models = judges.models_of(judging.judges)
        cap = self.run_usd if models else None
        return JudgeSettings(
            judging=judging,
            models=self.models,
            replies=replies,
            environ=checkout.environ,
            log=checkout.log,
            purse=purse_for(models, self.prices, cap, spent_usd),
        )

    def of_run(
        self, checkout: Checkout, judging: Judging, store: RunStore, spent_usd: float | None = None
    ) -> JudgeSettings:
        """Of a run, which keeps what models say. `spent_usd`: on it; None for judging alone."""
        if spent_usd is None:
            spent_usd = Replies(folder=store.judged).spent_usd()
        return self.settings(checkout, judging, store.judged, spent_usd)

    def of_answers(self, checkout: Checkout) -> JudgeSettings:
        """Of answers that are no run's."""
        return self.settings(checkout, self.as_accepted(checkout) or Judging(), self.replies)

    def of_anchors(self, checkout: Checkout) -> JudgeSettings:
        """Of the anchors: what a judge says of them is kept beside its lock, and its cost counted.

        After a change of what is counted, whoever has that folder counts the same replies anew.
        """
        judging = self.judging or Judging()
        kept = (checkout.judges_of or checkout.root) / REPLIES / file_stem("+".join(judging.judges))
        return self.settings(checkout, judging, kept, Replies(folder=kept).spent_usd())

    def with_judging(self, judging: Judging | None) -> AskedJudge:
        return replace(self, judging=judging)

    def as_accepted(self, checkout: Checkout, *, where_it_was: bool = False) -> Judging | None:
        """What is asked for; of a judge that was accepted, and of which no more is said, as then.

        `where_it_was`: at the address of then, for whoever reads what it said and asks nothing.
        """
        asked = self.judging
        if asked is None or asked != Judging(judges=asked.judges, weights=asked.weights):
            return asked
        name = asked.judges[0]
        accepted = accepted_judging(checkout.root, checkout.judges_of, name)
        if accepted is None or accepted.judges != asked.judges:
            return asked
        return accepted if where_it_was else accepted.model_copy(update={"endpoints": {}})


def require_judge(settings: JudgeSettings) -> Judge:
    """A judge's wrong name or missing key must not come to light when all cells are paid for."""
    for model in judges.models_of(settings.judging.judges):
        open_model(model, settings.models)
    return judges.open_judge(settings)


@dataclass(frozen=True, kw_only=True)
class ScenarioRun:
    store: RunStore
    checkout: Checkout
    asked: AskedJudge

    def require_scorecards(self) -> None:
        """Raises FairtrialError for a run of tasks or queries, which have none."""
        name = self.store.folder.name
        benchmark = self.store.plan().benchmark if self.store.has_plan() else None
        if benchmark is not None:
            hint = f"`fairtrial {benchmark} report {name}` shows it"
            title = TITLES.get(benchmark, benchmark)
            raise FairtrialError(f"this run is of {title}", where=name, hint=hint)

    # --- its judge ------------------------------------------------------------------------------

    def _judging(self) -> Judging:
        """What is asked for, else as before. Raises FairtrialError as `require_scorecards`."""
        # Before its judge is looked for: a run of queries has one that judges no scorecard.
        self.require_scorecards()
        return self.asked.as_accepted(self.checkout) or self.store.judging() or Judging()

    def judge_as_before(self) -> JudgeSettings:
        """For a report, which repeats verdicts: nothing is asked, and no key is needed."""
        return self.asked.settings(self.checkout, self._judging(), self.store.judged)

    def required_judge(self) -> Judge:
        """Who will judge it: raises before a cell is paid for, as `require_judge` does."""
        return require_judge(self.judge_as_before())

    def judge_anew(self, spent_usd: float | None = None) -> tuple[JudgeSettings, Judge]:
        """What models say is kept in the run's folder."""
        # Another place may hold another model of that name: what is asked now is asked where it
        # is now.
        judging = self._judging().model_copy(update={"endpoints": {}})
        settings = self.asked.of_run(self.checkout, judging, self.store, spent_usd)
        judge = require_judge(settings)
        self.store.write_judging(with_endpoints(judging, judge))
        return settings, judge

    def audit_as_before(self) -> Audit:
        return self.audit(judges.open_judge(self.judge_as_before()))

    # --- what it gives --------------------------------------------------------------------------

    def audit(self, judge: Judge) -> Audit:
        """Its files, and who judges its answers."""
        benchmark = ScenarioBenchmark()
        return Audit(store=self.store, checkout=self.checkout, benchmark=benchmark, judge=judge)

    def scored(self, judge: Judge) -> LoadedRun:
        """With its scorecards, each written as it is made.

        Raises FairtrialError as `require_scorecards` does.
        """
        self.require_scorecards()
        audit = self.audit(judge)
        found = audit.evidence()

        def written(cards: Iterable[Scorecard]) -> Iterator[Scorecard]:
            for number, card in enumerate(cards, 1):
                self.store.write_scorecard(card)
                if not judge.deterministic:
                    of = f"{number} of {len(found.cells)} cells"
                    self.checkout.log(f"judged {of}: {card.cell_id}")
                yield card

        return with_cards(found, written(audit.cards(found, anew=True)))

    def report(self, run: LoadedRun, gate: Gate | None) -> Report:
        """`gate`: what stood in front of it; without one every page says UNGATED.

        It names what was accepted after the run was planned, up to the gate's generation.
        """
        accepted = None
        if gate is None:
            run = replace(run, plan=run.plan.model_copy(update={"ungated": True}))
        elif not run.plan.ungated:
            generations = read_chain(self.checkout.root)[: gate.generation]
            accepted = since(generations, run.plan, gate.judge)
        catalog = self.checkout.catalog
        scenarios = catalog.sound_scenarios()
        servers = {name: it.spec for name, it in catalog.servers.sound().items()}
        has_people = (self.store.folder / PEOPLE_OF_RUN).is_dir()
        errors = arm_errors(self.audit_as_before(), run) if has_people else ()
        return build_report(run, scenarios, servers, gate=gate, since=accepted, arm_errors=errors)

    def page_data(self, run: LoadedRun) -> PageData:
        """What its page shows of each cell, with lines of the commits that answers cite."""
        scenarios = self.checkout.catalog.sound_scenarios()
        return page_data(run, scenarios, self.checkout.source)

    # --- the gate -------------------------------------------------------------------------------

    def pass_gate(
        self,
        policy: GatePolicy,
        judge: Judge,
        scenarios: Collection[str],
        servers: Collection[str] = (),
    ) -> Gate | None:
        """What stands in front of the result; None if the policy goes on without it.

        Raises GateError if the gate is closed and the policy requires it.
        """
        if policy == "skip":
            return None
        checkout = self.checkout
        try:
            checkout.require_own_locked(scenarios, servers)
            verdict = gate.verify(
                checkout.root,
                judge,
                scenarios=checkout.shipped_among(scenarios),
                sources=checkout.source,
                catalog=checkout.catalog,
                project=checkout.judges_of,
            )
            gate.require(verdict)
            return gate.gate_record(checkout.root, verdict)
        except GateError as error:
            if policy == "require":
                raise
            checkout.log(f"UNGATED: {error.what}")
            return None

    def behind_gate(self, policy: GatePolicy) -> tuple[Audit, Gate | None]:
        """Its files, to be held against each other and reported.

        Its servers are behind the gate: the plan holds their digests. Raises GateError as
        `pass_gate` does.
        """
        judge = judges.open_judge(self.judge_as_before())
        scenarios = {cell.scenario for cell in self.store.plan().cells}
        passed = self.pass_gate(policy, judge, scenarios)
        return self.audit(judge), passed
