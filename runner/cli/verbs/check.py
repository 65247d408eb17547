"""`fairtrial check`: every scenario proves itself, and with none named every query too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.cli import options
from runner.cli.opening import open_checkout
from runner.cli.options import Request, said
from runner.cli.output import FAILED, OK, show, show_json, tell

if TYPE_CHECKING:
    from runner.benchmarks.agentbench.proof.proving import QueryProof
    from runner.catalog.catalog import LoadedScenario
    from runner.catalog.checkout import Checkout
    from runner.gate.scenario_checks import ScenarioProof


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    scenarios: tuple[str, ...] = said("[SCENARIO …]", default=())
    json: bool = options.as_json()


def run(request: Verb) -> int:
    checkout = open_checkout(request.root)
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


def _proofs(checkout: Checkout, names: Sequence[str]) -> Iterator[ScenarioProof]:
    """Each scenario's, as it is found; if none is named, of all, or of the project's."""
    from runner.authoring.drafting.scenario_files import left_to_write
    from runner.gate.scenario_checks import ScenarioProof, broken_folders, prove
    from runner.scoring.judges import open_judge
    from runner.scoring.judges.judge_settings import JudgeSettings

    judge = open_judge(JudgeSettings())
    if not names:
        yield from broken_folders(checkout.catalog)
    chosen = [checkout.scenario(name) for name in names]
    for loaded in chosen or _to_prove(checkout):
        problems = [*left_to_write(loaded.folder)]
        problems += prove(loaded, checkout.files(loaded), judge)
        yield ScenarioProof(
            scenario=f"{loaded.suite}/{loaded.scenario.id}", problems=tuple(problems)
        )


def _to_prove(checkout: Checkout) -> list[LoadedScenario]:
    sound = checkout.catalog.scenarios.sound().values()
    return [it for it in sound if checkout.project is None or checkout.is_own(it.folder)]


def _prove_suite(checkout: Checkout, request: Verb) -> Sequence[QueryProof]:
    """MCP-AgentBench's queries, executed if an engine answers."""
    from runner.benchmarks.agentbench.proof.suite import FOLDER
    from runner.cli.verbs import agentbench_check
    from runner.support.errors import EngineError

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
