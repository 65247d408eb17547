"""What a run would take, before anything is spent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from runner.agents.spending import Spending
from runner.benchmarks.estimate import Amounts, ModelEstimate
from runner.benchmarks.scenarios.scenario_estimate import (
    EstimateRequest,
    ScenarioEstimate,
    estimate_scenarios,
)
from runner.benchmarks.scenarios.scenario_power import (
    DifferenceSpread,
    PlannedRun,
    Power,
    ServerPower,
    spread_of,
)
from runner.benchmarks.scenarios.scenario_power import power_of as power_of_plan
from runner.catalog.catalog import Catalog, load_catalog
from runner.records import Canary, Price, PriceList
from runner.records.run_store import LoadedCell, RunStore
from runner.report.clusters import Clusters, Topic
from runner.scoring import statistics
from tests.checkout import ROOT
from tests.report.loaded import MODEL, cell, loaded, measured

CATALOG = load_catalog(ROOT)
SIX = [name for name, item in CATALOG.scenarios.items() if item.suite == "core"]
PRICE = Price(input=10.0, cache_write=20.0, cache_read=1.0, output=100.0)
PRICES = PriceList(date="2026-01-31", models={MODEL: PRICE})


def asked(**changes: Any) -> EstimateRequest:
    plain: dict[str, Any] = {
        "scenarios": SIX,
        "servers": ["shell", "mcp-ripgrep"],
        "models": [MODEL],
        "trials": 3,
        "jobs": 1,
        "spending": Spending(prices=PriceList(date="2026-01-31", models={})),
    }
    return EstimateRequest(**{**plain, **changes})


def ceiling(model: ModelEstimate) -> Amounts:
    assert model.at_most is not None
    return model.at_most


def power_of(estimated: ScenarioEstimate) -> Power:
    assert estimated.power is not None
    return estimated.power


def found(estimated: ScenarioEstimate) -> ServerPower:
    """Of the one server."""
    (server,) = power_of(estimated).servers
    return server


def with_servers(probes: Mapping[str, tuple[Canary, ...]]) -> Catalog:
    """The catalog, with copies of a server that have other health probes."""
    like = CATALOG.servers["mcp-ripgrep"]
    made = {}
    for name, canaries in probes.items():
        spec = like.spec.model_copy(update={"name": name, "canaries": canaries})
        made[name] = replace(like, spec=spec)
    return replace(CATALOG, servers=cast("Any", made))


def keep(folder: Path, cells: list[LoadedCell]) -> None:
    """An earlier run on disk."""
    run = loaded(cells)
    store = RunStore(folder)
    store.write_plan(run.plan)
    for item in run.cells:
        assert item.result is not None
        assert item.scorecard is not None
        store.finish(store.begin(item.cell), item.result)
        store.write_scorecard(item.scorecard)


def test_a_model_nobody_has_measured_has_ceilings_and_no_likely_figures(tmp_path: Path) -> None:
    estimated = estimate_scenarios(asked(), CATALOG, tmp_path)
    (model,) = estimated.models
    budgets = [CATALOG.scenarios[name].scenario.budget for name in SIX]
    assert model.cells == 6 * 2 * 3
    assert ceiling(model).tokens == 6 * sum(budget.tokens for budget in budgets)
    assert (ceiling(model).usd, model.likely) == (None, None)
    text = "\n".join(estimated.lines())
    assert text.startswith("36 cells: 6 scenarios × 2 arms × 1 model × 3 trials")
    assert "no price" in text
    assert "likely    unknown" in text
    assert "prices of 2026-01-31" in text


def test_six_scenarios_in_four_arms_three_times_are_told_before_a_cent_is_spent(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "runner.cli.main", "--root", str(ROOT), "run", "--dry-run"]
    for name in ("mcp-ripgrep", "code-index-mcp", "codegraph"):
        command += ["--server", name]
    command += ["--model", "claude-sonnet-4-5", "--trials", "3", "--json"]
    # No key, no engine, and nowhere to go: an estimate asks nobody.
    done = subprocess.run(
        command,
        env={**os.environ, "DOCKER_HOST": "unix:///nowhere", "ANTHROPIC_API_KEY": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["scenarios"], told["arms"], told["trials"], told["blocks"]) == (6, 4, 3, 18)
    (model,) = told["models"]
    assert model["cells"] == 72 - told_apart()
    ceiling = model["at_most"]
    assert min(ceiling["calls"], ceiling["tokens"], ceiling["usd"], ceiling["hours"]) > 0
    assert told["power"]["comparisons"] == 3
    assert list(tmp_path.iterdir()) == []


def told_apart() -> int:
    """Cells of three trials that are left out, because nothing proves their server alive there."""
    missing = 0
    for name in SIX:
        repository = CATALOG.scenarios[name].scenario.repository.label
        for server in ("mcp-ripgrep", "code-index-mcp", "codegraph"):
            known = CATALOG.servers[server].spec.canaries
            missing += not any(one.repository in (repository, "*") for one in known)
    return 3 * missing


def test_more_jobs_than_blocks_make_nothing_faster(tmp_path: Path) -> None:
    def hours(jobs: int) -> float:
        (model,) = estimate_scenarios(asked(trials=1, jobs=jobs), CATALOG, tmp_path).models
        hours = ceiling(model).hours
        assert hours is not None
        return hours

    assert hours(6) == pytest.approx(hours(1) / 6)
    assert hours(100) == hours(6)


def test_earlier_cells_of_the_model_say_what_is_likely(tmp_path: Path) -> None:
    keep(tmp_path / "before", [measured(cell("alpha"), 0.5), measured(cell("beta"), 0.5)])
    spending = Spending(prices=PRICES)
    (model,) = estimate_scenarios(asked(spending=spending, jobs=2), CATALOG, tmp_path).models
    assert model.earlier_cells == 2
    assert model.likely is not None
    assert model.likely.tokens == 36 * 9_000
    # 8,000 in at 10 and 1,000 out at 100, per million.
    assert model.likely.usd == pytest.approx(36 * 0.18)
    dearest = ceiling(model).usd
    assert dearest is not None
    assert dearest > 36 * 0.18


def test_a_run_of_another_version_is_no_reason_to_refuse(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "plan.json").write_text('{"version": 0}')
    assert estimate_scenarios(asked(), CATALOG, tmp_path).models[0].likely is None


def test_caps_bound_the_ceiling(tmp_path: Path) -> None:
    capped = Spending(prices=PRICES, cell_usd=0.5)
    (model,) = estimate_scenarios(asked(spending=capped), CATALOG, tmp_path).models
    assert ceiling(model).usd == pytest.approx(36 * 0.5)
    (model,) = estimate_scenarios(
        asked(spending=replace(capped, run_usd=3.0)), CATALOG, tmp_path
    ).models
    assert ceiling(model).usd == 3.0


def test_a_pair_that_is_left_out_is_not_counted(tmp_path: Path) -> None:
    servers = ["shell", *CATALOG.servers]
    (model,) = estimate_scenarios(asked(servers=servers, trials=1), CATALOG, tmp_path).models
    planned = 0
    for name in SIX:
        repository = CATALOG.scenarios[name].scenario.repository.label
        for item in CATALOG.servers.values():
            planned += any(one.repository == repository for one in item.spec.canaries)
    assert model.cells == 6 + planned
    assert model.cells < 6 * len(servers), "the catalog no longer has such a pair"


def test_more_trials_and_fewer_servers_find_smaller_differences(tmp_path: Path) -> None:
    def likely(**changes: Any) -> float:
        server = found(estimate_scenarios(asked(**changes), CATALOG, tmp_path))
        assert server.low is not None
        assert server.high == pytest.approx(3 * server.low)  # 0.05 to 0.15 is assumed
        return server.low

    assert likely(trials=5) < likely(trials=2) < likely(trials=1)
    # Half of the variance is the trials': of one scenario a repository, ever more of them take
    # away that half and no more.
    assert likely(trials=1_000) == pytest.approx(likely(trials=1) * 0.5**0.5, rel=0.01)


def test_repositories_without_a_health_probe_do_not_count(tmp_path: Path) -> None:
    """One of six: as many as the cheat plans, five are missing, and no trials make up for them."""
    name = "only-flask"
    label = CATALOG.scenarios["flask-error-handling"].scenario.repository.label
    (probe,) = CATALOG.servers["mcp-ripgrep"].spec.canaries[:1]
    only = probe.model_copy(update={"repository": label})
    catalog = with_servers({name: (only,)})
    estimated = estimate_scenarios(asked(servers=["shell", name]), catalog, tmp_path)
    server = found(estimated)
    assert (server.clusters, server.low) == (1, None)
    assert power_of(estimated).missing == 5
    assert [way.more for way in server.ways if way.of == "trials"] == [None]
    assert any(line.startswith(f"left out: {name} has no") for line in estimated.notes)
    assert "the run has 1, 6 are the least, 5 missing" in "\n".join(estimated.lines())


@pytest.mark.parametrize(("servers", "least"), [(1, 6), (2, 7), (3, 7), (5, 8), (10, 9)])
def test_more_servers_need_more_repositories(servers: int, least: int, tmp_path: Path) -> None:
    probes = CATALOG.servers["mcp-ripgrep"].spec.canaries
    twins = [f"twin-{number}" for number in range(servers)]
    catalog = with_servers(dict.fromkeys(twins, probes))
    power = power_of(estimate_scenarios(asked(servers=["shell", *twins]), catalog, tmp_path))
    assert (power.comparisons, power.repositories + power.missing) == (servers, least)
    assert power.cluster == ("repository" if least == 6 else "question")


def test_a_difference_that_is_wanted_says_what_it_takes_and_what_is_cheapest(
    tmp_path: Path,
) -> None:
    keep(tmp_path / "before", [measured(cell(SIX[0]), 0.5)])
    spending = Spending(prices=PRICES)
    wanted = asked(trials=1, spending=spending, detect=0.08)
    repositories, scenarios, trials = found(estimate_scenarios(wanted, CATALOG, tmp_path)).ways
    assert repositories.of == "repositories"
    assert repositories.more is not None
    assert repositories.cells == 2 * repositories.more
    assert repositories.usd == pytest.approx(repositories.cells * 0.18)
    assert repositories.at_worst is not None
    assert repositories.at_worst > repositories.more
    assert (scenarios.of, scenarios.more) == ("scenarios", None)
    assert str(trials) == "more trials alone: never"


def test_a_run_of_five_trials_is_no_measure_for_one_of_one(tmp_path: Path) -> None:
    """Earlier differences are all between trials: read as scenarios' means, they would promise a
    run of one trial less than half of its real spread."""
    cells = []
    for name in SIX:
        for trial, gain in enumerate([-0.2, -0.1, 0.0, 0.1, 0.2], 1):
            cells.append(measured(cell(name, trial=trial), 0.5))
            cells.append(measured(cell(name, "codegraph", trial=trial), 0.5 + gain))
    keep(tmp_path / "before", cells)
    one = estimate_scenarios(asked(trials=1), CATALOG, tmp_path)
    spread = power_of(one).spread
    assert spread.trial_sd == pytest.approx(0.158, abs=0.001)
    assert spread.repository_sd == 0
    assert spread.low < 0.158 < spread.high
    five = estimate_scenarios(asked(trials=5), CATALOG, tmp_path)
    low, of_five = found(one).low, found(five).low
    assert low is not None
    assert of_five is not None
    assert low == pytest.approx(of_five * 5**0.5, rel=0.001)


def test_few_earlier_differences_give_a_wide_range_and_two_give_none() -> None:
    import numpy as np

    draw = np.random.default_rng(3)

    def width(repositories: int) -> float:
        arm = {(str(it), str(it)): [float(draw.normal(0, 0.1))] for it in range(repositories)}
        spread = spread_of([arm])
        return spread.high / spread.low

    assert width(4) > width(10) > width(60) > 1
    two = {("a", "a"): [0.1], ("b", "b"): [0.3]}
    assert spread_of([two]).basis.startswith("assumed")


def test_one_repository_says_nothing_of_what_is_between_repositories() -> None:
    arm = {("flask", str(it)): [0.1 * it] for it in range(8)}
    split = spread_of([arm]).split
    assert split.repository == split.scenario
    assert split.repository


def test_a_comparison_of_that_size_is_found_four_times_in_five() -> None:
    import numpy as np
    from scipy import stats as scipy_stats

    n, sd = 12, 0.3
    size = statistics.smallest_difference(sd, n)
    assert size is not None
    generator = np.random.default_rng(7)
    samples = generator.normal(size, sd, size=(20_000, n))
    found = np.mean(scipy_stats.ttest_1samp(samples, 0, axis=1).pvalue < 0.05)
    assert float(found) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(("repositories", "trials"), [(8, 1), (8, 4), (14, 2)])
def test_the_planned_design_finds_its_printed_difference_four_times_in_five(
    repositories: int, trials: int
) -> None:
    """As a report compares: over repositories, of three scenarios each, by Holm's first of two."""
    import numpy as np

    split = statistics.VarianceSplit(repository=0.004, scenario=0.006, trial=0.02)
    topics = {
        f"{repository}/{scenario}": Topic(repository=str(repository))
        for repository in range(repositories)
        for scenario in range(3)
    }
    planned = PlannedRun(
        clusters=Clusters(topics=topics, comparisons=2),
        measured={"one": list(topics), "other": list(topics)},
        trials=trials,
        cells=1,
        usd=None,
        usd_is_likely=False,
    )
    spread = DifferenceSpread(split=split, low=1.0, high=1.0, basis="known")
    (server,) = power_of_plan(planned, spread, 0.05).servers
    assert server.low is not None

    draw = np.random.default_rng(11)
    shape = (600, repositories, 3, trials)
    between = draw.normal(0, 0.004**0.5, shape[:2])[:, :, None, None]
    within = draw.normal(0, 0.006**0.5, shape[:3])[:, :, :, None]
    runs = (server.low + between + within + draw.normal(0, 0.02**0.5, shape)).mean(axis=(2, 3))
    found = [statistics.ClusterMean(figures=tuple(run)).p <= 0.025 for run in runs.tolist()]
    assert sum(found) / len(found) == pytest.approx(0.8, abs=0.05)
