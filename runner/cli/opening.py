"""What verbs work in: the folders, a checkout, a run, and the judge that is asked for.

The only place that reads the environment. Every verb imports it, for its help as well: what takes
long to import is imported where it is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from runner.cli import output, shapes
from runner.cli.options import JudgeSpending, RunSpending

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")


def places(root: Path) -> shapes.ProjectPaths:
    """Asked by nearly every verb, some of which work in any folder at all."""
    from runner.catalog.project import find_places

    return find_places(root, caches())


def caches() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def open_checkout(root: Path) -> shapes.Checkout:
    from runner.catalog.checkout import Checkout
    from runner.catalog.project import require_as_built

    found = places(root)
    require_as_built(found.shipped)
    return Checkout(
        root=found.shipped,
        project=found.project,
        state=found.state,
        environ=environ_without_keys(),
        log=output.tell,
    )


def environ_without_keys() -> dict[str, str]:
    """For git, npm and servers of weights: a hook of theirs has no use for a model's key."""
    return {name: value for name, value in os.environ.items() if name not in KEYS}


def runs_of(root: Path) -> Path:
    return places(root).top / "runs"


def open_run(root: Path, run: str) -> shapes.RunStore:
    """By the run's name under runs/, or by the path of its folder."""
    from runner.records.run_store import RunStore

    given = Path(run)
    return RunStore(given if given.is_dir() else runs_of(root) / run)


def providers() -> shapes.ModelSettings:
    """The only place that knows a key; it is handed on in memory, and nothing writes it."""
    from runner.agents.models.model_settings import Endpoint, ModelSettings

    anthropic_key, openai_key = (os.environ.get(name, "") for name in KEYS)
    return ModelSettings(
        anthropic=Endpoint(key=anthropic_key, url=os.environ.get("ANTHROPIC_BASE_URL", "")),
        openai=Endpoint(key=openai_key, url=os.environ.get("OPENAI_BASE_URL", "")),
    )


def asked_judge(
    judging: shapes.Judging | None = None, spending: JudgeSpending | RunSpending | None = None
) -> shapes.AskedJudge:
    """Raises FairtrialError for weights that are not there."""
    from runner.agents.models import model_settings, weights_server
    from runner.benchmarks.scenarios.scenario_run import AskedJudge

    files: Mapping[str, shapes.WeightsFile] = {}
    if judging is not None:
        names, files = weights_server.locate_weights(judging.judges, output.tell)
        digests = {name: file.sha256 for name, file in files.items()}
        judging = judging.model_copy(update={"judges": tuple(names), "weights": digests})
    caps = spending or JudgeSpending()
    # No cell is at work while answers are judged.
    threads = os.cpu_count() or 1
    local = model_settings.LocalSettings(files=files, threads=threads, context_tokens=4096)
    models = replace(providers(), local=local)
    return AskedJudge(
        judging=judging,
        models=models,
        prices=caps.prices,
        run_usd=caps.run_usd,
        # Not in the checkout: whoever asks for a verdict asks for no file there.
        replies=caches() / "fairtrial" / "judged",
    )


def open_scenario_run(
    root: Path, run: str, asked: shapes.AskedJudge | None = None
) -> shapes.ScenarioRun:
    from runner.benchmarks.scenarios.scenario_run import ScenarioRun

    store, checkout = open_run(root, run), open_checkout(root)
    return ScenarioRun(store=store, checkout=checkout, asked=asked or asked_judge())
