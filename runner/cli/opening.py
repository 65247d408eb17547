"""What verbs work in: the folders, a checkout, a run, the judge that is asked for, and the gate.

The only place that reads the environment. Every verb imports it, for its help as well: what takes
long to import is imported where it is used.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli.options import GatePolicy, JudgeSpending, RunSpending
from runner.cli.output import tell

if TYPE_CHECKING:
    from runner.agents.models.model_settings import ModelSettings, WeightsFile
    from runner.catalog.checkout import Checkout
    from runner.catalog.project import ProjectPaths
    from runner.protocols import Judge
    from runner.records import Gate, Judging
    from runner.records.run_store import RunStore
    from runner.runs.audit import Audit
    from runner.scoring.judges.judge_settings import JudgeSettings

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
TITLES = {"toolbench": "MCPToolBench++", "agentbench": "MCP-AgentBench"}


def places(root: Path) -> ProjectPaths:
    """Asked by nearly every verb, some of which work in any folder at all."""
    from runner.catalog.project import find_places

    return find_places(root, caches())


def caches() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def open_checkout(root: Path) -> Checkout:
    from runner.catalog.checkout import Checkout
    from runner.catalog.project import require_as_built

    found = places(root)
    require_as_built(found.shipped)
    return Checkout(
        root=found.shipped,
        project=found.project,
        state=found.state,
        environ=environ_without_keys(),
        log=tell,
    )


def require_scale() -> None:
    """Raises FairtrialError unless what clusters need is installed."""
    from runner.runs.executors import require_distributed

    require_distributed()


def environ_without_keys() -> dict[str, str]:
    """For git, npm and servers of weights: a hook of theirs has no use for a model's key."""
    return {name: value for name, value in os.environ.items() if name not in KEYS}


def runs_of(root: Path) -> Path:
    return places(root).top / "runs"


def open_run(root: Path, run: str) -> RunStore:
    """By the run's name under runs/, or by the path of its folder."""
    from runner.records.run_store import RunStore

    given = Path(run)
    return RunStore(given if given.is_dir() else runs_of(root) / run)


def providers() -> ModelSettings:
    """The only place that knows a key; it is handed on in memory, and nothing writes it."""
    from runner.agents.models.model_settings import Endpoint, ModelSettings

    anthropic_key, openai_key = (os.environ.get(name, "") for name in KEYS)
    return ModelSettings(
        anthropic=Endpoint(key=anthropic_key, url=os.environ.get("ANTHROPIC_BASE_URL", "")),
        openai=Endpoint(key=openai_key, url=os.environ.get("OPENAI_BASE_URL", "")),
    )


# --- who judges ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AskedJudge:
    """What a person asks of the judge, with the weights that it is on this machine."""

    judging: Judging | None = None
    """None: as the run was judged before, else by the default."""
    weights: Mapping[str, WeightsFile] = field(default_factory=dict, repr=False)
    """By their file names."""
    prices: Path | None = None
    run_usd: float | None = None


def asked_judge(
    judging: Judging | None, spending: JudgeSpending | RunSpending | None = None
) -> AskedJudge:
    """Raises FairtrialError for weights that are not there."""
    from runner.agents.models.weights_server import locate_weights

    spending = spending or JudgeSpending()
    asked = AskedJudge(judging=judging, prices=spending.prices, run_usd=spending.run_usd)
    if judging is None:
        return asked
    names, files = locate_weights(judging.judges, tell)
    digests = {name: file.sha256 for name, file in files.items()}
    named = judging.model_copy(update={"judges": tuple(names), "weights": digests})
    return replace(asked, judging=named, weights=files)


def judge_settings(
    checkout: Checkout, asked: AskedJudge, judging: Judging, replies: Path, spent_usd: float = 0.0
) -> JudgeSettings:
    """`replies`: the folder that keeps what models say."""
    from runner.agents.models.model_settings import LocalSettings
    from runner.agents.spending import purse_for
    from runner.scoring.judges import models_of
    from runner.scoring.judges.judge_settings import JudgeSettings

    models = models_of(judging.judges)
    # No cell is at work while answers are judged.
    threads = os.cpu_count() or 1
    local = LocalSettings(files=asked.weights, threads=threads, context_tokens=4096)
    return JudgeSettings(
        judging=judging,
        models=replace(providers(), local=local),
        replies=replies,
        environ=checkout.environ,
        log=tell,
        purse=purse_for(models, asked.prices, asked.run_usd if models else None, spent_usd),
    )


def judge_of_answers(checkout: Checkout, asked: AskedJudge) -> JudgeSettings:
    """Of answers that are no run's: what a judge says is kept under .fairtrial."""
    from runner.records import Judging

    return judge_settings(checkout, asked, asked.judging or Judging(), checkout.state / "judged")


def judge_as_before(checkout: Checkout, asked: AskedJudge, store: RunStore) -> JudgeSettings:
    """For a report, which repeats verdicts: nothing is asked, and no key is needed."""
    from runner.records import Judging

    require_scorecards(store)
    judging = asked.judging or store.judging() or Judging()
    return judge_settings(checkout, asked, judging, store.judged)


def judge_anew(
    checkout: Checkout, asked: AskedJudge, store: RunStore, spent_usd: float | None = None
) -> tuple[JudgeSettings, Judge]:
    """Of a run: what is asked for, else as before. What models say is kept in its folder."""
    from runner.records import Judging
    from runner.runs.judging import with_endpoints
    from runner.scoring.judges.replies import Replies

    # Before its judge is looked for: a run of queries has one that judges no scorecard.
    require_scorecards(store)
    if spent_usd is None:
        spent_usd = Replies(folder=store.judged).spent_usd()
    judging = asked.judging or store.judging() or Judging()
    # Another place may hold another model of that name: what is asked now is asked where it is now.
    judging = judging.model_copy(update={"endpoints": {}})
    settings = judge_settings(checkout, asked, judging, store.judged, spent_usd)
    judge = require_judge(settings)
    store.write_judging(with_endpoints(judging, judge))
    return settings, judge


def require_judge(settings: JudgeSettings) -> Judge:
    """A judge's wrong name or missing key must not come to light when all cells are paid for."""
    from runner.agents.models import open_model
    from runner.scoring.judges import models_of, open_judge

    for model in models_of(settings.judging.judges):
        open_model(model, settings.models)
    return open_judge(settings)


def require_scorecards(store: RunStore) -> None:
    """Raises FairtrialError for a run of tasks or queries, which have none."""
    from runner.support.errors import FairtrialError

    benchmark = store.plan().benchmark if store.has_plan() else None
    if benchmark is not None:
        hint = f"`fairtrial {benchmark} report {store.folder.name}` shows it"
        title = TITLES.get(benchmark, benchmark)
        raise FairtrialError(f"this run is of {title}", where=store.folder.name, hint=hint)


# --- the gate -----------------------------------------------------------------------------------


def pass_gate(
    policy: GatePolicy,
    checkout: Checkout,
    judge: Judge,
    scenarios: Collection[str],
    servers: Collection[str] = (),
) -> Gate | None:
    """What stands in front of the result; None if the policy goes on without it.

    Raises GateError if the gate is closed and the policy requires it.
    """
    from runner.gate import gate
    from runner.support.errors import GateError

    if policy == "skip":
        return None
    try:
        checkout.require_own_locked(scenarios, servers)
        verdict = gate.verify(
            checkout.root,
            judge,
            scenarios=checkout.shipped_among(scenarios),
            sources=checkout.source,
            catalog=checkout.catalog,
        )
        gate.require(verdict)
        return gate.gate_record(checkout.root, verdict)
    except GateError as error:
        if policy == "require":
            raise
        tell(f"UNGATED: {error.what}")
        return None


def audit_as_before(
    checkout: Checkout, asked: AskedJudge, store: RunStore, policy: GatePolicy
) -> tuple[Audit, Gate | None]:
    """A run's files, to be held against each other and reported, behind the gate.

    Its servers are behind it: the plan holds their digests. Raises GateError as `pass_gate` does.
    """
    from runner.scoring.judges import open_judge

    settings = judge_as_before(checkout, asked, store)
    scenarios = {cell.scenario for cell in store.plan().cells}
    judge = open_judge(settings)
    gate = pass_gate(policy, checkout, judge, scenarios)
    return audit_of(store, checkout, judge), gate


def audit_of(store: RunStore, checkout: Checkout, judge: Judge) -> Audit:
    """The files of a run of scenarios, and who judges its answers."""
    from runner.benchmarks import BENCHMARKS
    from runner.runs.audit import Audit
    from runner.runs.prepare import BENCHMARK

    return Audit(store=store, checkout=checkout, benchmark=BENCHMARKS[BENCHMARK], judge=judge)
