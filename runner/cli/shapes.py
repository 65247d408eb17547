"""Types that the command line's annotations name. A type checker alone imports them: it would
take a third of a second, for which every verb's `--help` would wait."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from runner.agents.models.model_settings import ModelSettings, WeightsFile
    from runner.agents.spending import JudgeBudget, Spending
    from runner.authoring.exact.own_questions import OwnQuestions
    from runner.authoring.onboarding.more_probes import MeasuredOn
    from runner.authoring.onboarding.onboarding_state import OnboardedServer
    from runner.authoring.versions.comparing import AnsweredPair, VersionPair
    from runner.benchmarks.agentbench.proof.proving import QueryProof
    from runner.benchmarks.agentbench.queries import Category, Query
    from runner.benchmarks.agentbench.writing.drafts import DraftFailure, QueryDraft
    from runner.benchmarks.estimate import Estimate
    from runner.benchmarks.scenarios.scenario_estimate import ScenarioEstimate
    from runner.benchmarks.scenarios.scenario_run import AskedJudge, GatePolicy, ScenarioRun
    from runner.benchmarks.toolbench.task_benchmark import PreparedTasks
    from runner.benchmarks.toolbench.task_results import ConfusionReport
    from runner.benchmarks.toolbench.task_run import TaskRunSetup
    from runner.benchmarks.toolbench.tasks import Task
    from runner.catalog.catalog import LazyMapping, LoadedScenario, LoadedServer
    from runner.catalog.checkout import Checkout
    from runner.catalog.project import ProjectPaths
    from runner.gate.scenario_checks import ScenarioProof
    from runner.protocols import Judge
    from runner.records import (
        Gate,
        GateVerdict,
        GradingSheet,
        Judging,
        Record,
        Scorecard,
        ServerCard,
        Shard,
        Since,
    )
    from runner.records.run_store import LoadedCell, LoadedRun, RunStore
    from runner.records.versions import CompareSettings, VersionComparison
    from runner.report.grid import Table
    from runner.report.records import Report
    from runner.runs.audit import Audit
    from runner.runs.executors import Executor
    from runner.runs.judging import RunEstimate
    from runner.runs.plan import RunSpec
    from runner.runs.run_inputs import PreparedRun
    from runner.scoring.judges.judge_settings import JudgeSettings
    from runner.support.errors import Problem
