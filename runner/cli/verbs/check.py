"""`fairtrial check`: every scenario proves itself, and with none named every query too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.cli import opening, options, shapes
from runner.cli.output import FAILED, OK, show, show_json, tell
from runner.support.errors import EngineError


class Verb(options.Request):
    scenarios: tuple[str, ...] = options.said("[SCENARIO …]")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    checkout = opening.open_checkout(request.root)
    proofs = []
    for proof in _proofs(checkout, request.scenarios):
        proofs.append(proof)
        if not request.json:
            show(proof.as_text())
    failed = sum(1 for proof in proofs if proof.problems)
    if not request.json:
        show(f"{len(proofs) - failed} of {len(proofs)} scenarios prove themselves")
    queries = [] if request.scenarios else _prove_suite(checkout, request)
    if request.json:
        show_json([*(proof.as_json() for proof in proofs), *(one.as_json() for one in queries)])
    return FAILED if failed or any(proof.problems for proof in queries) else OK


def _proofs(checkout: shapes.Checkout, names: Sequence[str]) -> Iterator[shapes.ScenarioProof]:
    """Each scenario's, as it is found; if none is named, of all, or of the project's."""
    from runner.authoring.drafting.scenario_files import left_to_write
    from runner.gate import scenario_checks
    from runner.scoring.judges import judge_settings, open_judge

    judge = open_judge(judge_settings.JudgeSettings())
    chosen = [checkout.scenario(name) for name in names]
    if not names:
        yield from scenario_checks.broken_folders(checkout.catalog)
        sound = checkout.catalog.scenarios.sound().values()
        chosen = [it for it in sound if checkout.project is None or checkout.is_own(it.folder)]
    for loaded in chosen:
        name, problems = f"{loaded.suite}/{loaded.scenario.id}", [*left_to_write(loaded.folder)]
        problems += scenario_checks.prove(loaded, checkout.files(loaded), judge)
        problems += _tests_of(checkout, loaded)
        yield scenario_checks.ScenarioProof(scenario=name, problems=tuple(problems))


def _tests_of(checkout: shapes.Checkout, loaded: shapes.LoadedScenario) -> list[shapes.Problem]:
    """Of the repository, run in a cell if an engine answers."""
    from runner.runs.environment_check import problems_of_tests

    if loaded.scenario.environment is None:
        return []
    try:
        _ = checkout.engine
    except EngineError as error:
        tell(f"{error.what}: the tests of {loaded.scenario.id}'s repository are not run")
        return []
    return problems_of_tests(checkout, loaded)


def _prove_suite(checkout: shapes.Checkout, request: Verb) -> Sequence[shapes.QueryProof]:
    """MCP-AgentBench's queries, executed if an engine answers."""
    from runner.benchmarks.agentbench.proof.suite import FOLDER
    from runner.cli.verbs import agentbench_check

    if checkout.project or not any((checkout.root / FOLDER).glob("*.yaml")):
        return []
    try:
        _ = checkout.engine
        static = False
    except EngineError as error:
        tell(f"{error.what}: no trajectory of {FOLDER} is executed, their files alone are checked")
        static = True
    everything = agentbench_check.Verb(root=request.root, static=static, json=request.json)
    return agentbench_check.prove(checkout, everything)
