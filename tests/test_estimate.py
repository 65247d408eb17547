"""What a run would take, before anything is spent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.agents.spending import Spending
from runner.benchmarks.scenarios.scenario_estimate import (
    ASSUMED_SD,
    EstimateRequest,
    estimate_scenarios,
)
from runner.catalog.catalog import load_catalog
from runner.records import Price, PriceList
from runner.records.run_store import LoadedCell, RunStore
from runner.scoring import statistics
from tests.checkout import ROOT
from tests.report.loaded import MODEL, cell, loaded, measured

CATALOG = load_catalog(ROOT)
SIX = [name for name, item in CATALOG.scenarios.items() if item.suite != "held-out"]
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
    assert model.at_most.tokens == 6 * sum(budget.tokens for budget in budgets)
    assert (model.at_most.usd, model.likely) == (None, None)
    text = "\n".join(estimated.lines())
    assert text.startswith("36 cells: 6 scenarios × 2 arms × 1 models × 3 trials")
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
    assert told["smallest_difference"] == pytest.approx(0.1425, abs=0.001)
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
        return model.at_most.hours

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
    assert model.at_most.usd is not None
    assert model.at_most.usd > 36 * 0.18


def test_a_run_of_another_version_is_no_reason_to_refuse(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "plan.json").write_text('{"version": 0}')
    assert estimate_scenarios(asked(), CATALOG, tmp_path).models[0].likely is None


def test_caps_bound_the_ceiling(tmp_path: Path) -> None:
    capped = Spending(prices=PRICES, cell_usd=0.5)
    (model,) = estimate_scenarios(asked(spending=capped), CATALOG, tmp_path).models
    assert model.at_most.usd == pytest.approx(36 * 0.5)
    (model,) = estimate_scenarios(
        asked(spending=replace(capped, run_usd=3.0)), CATALOG, tmp_path
    ).models
    assert model.at_most.usd == 3.0


def test_a_pair_that_is_left_out_is_not_counted(tmp_path: Path) -> None:
    servers = ["shell", *CATALOG.servers]
    (model,) = estimate_scenarios(asked(servers=servers, trials=1), CATALOG, tmp_path).models
    planned = 0
    for name in SIX:
        repository = CATALOG.scenarios[name].scenario.repository.label
        for item in CATALOG.servers.values():
            planned += any(one.repository in (repository, "*") for one in item.spec.canaries)
    assert model.cells == 6 + planned
    assert model.cells < 6 * len(servers), "the catalog no longer has such a pair"


def test_the_smallest_difference_needs_enough_scenarios(tmp_path: Path) -> None:
    few = estimate_scenarios(asked(scenarios=SIX[:5]), CATALOG, tmp_path)
    assert few.smallest_difference is None
    assert "6 scenarios are the least" in "\n".join(few.lines())
    six = estimate_scenarios(asked(), CATALOG, tmp_path)
    assert (six.sd, six.sd_is_assumed) == (ASSUMED_SD, True)
    assert six.smallest_difference == pytest.approx(0.1425, abs=0.001)


def test_earlier_runs_say_how_far_scenarios_differ(tmp_path: Path) -> None:
    cells = []
    for name, gain in [("alpha", 0.0), ("beta", 0.1), ("gamma", 0.2)]:
        cells += [measured(cell(name), 0.5), measured(cell(name, "codegraph"), 0.5 + gain)]
    keep(tmp_path / "before", cells)
    estimated = estimate_scenarios(asked(), CATALOG, tmp_path)
    assert not estimated.sd_is_assumed
    assert estimated.sd == pytest.approx(0.1)


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
