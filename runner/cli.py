"""The command line: the one place that prints, reads the environment and exits.

Each verb has a parser (arguments.py), a frozen request (requests.py) and a function that takes it;
the function imports what it needs when it runs, so that --help answers at once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys

from runner import __version__
from runner.arguments import FIRST_SCREEN, make_parser

TYPE_CHECKING = False  # importing typing, pathlib and json here would cost --help half of its time
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from collections.abc import Sequence as Seq
    from pathlib import Path
    from typing import Any

    from runner.agents.models.model_settings import ModelSettings
    from runner.agents.spending import Purse, Spending
    from runner.authoring.onboarding.onboarding_state import Tried
    from runner.benchmarks.agentbench.judging.mcp_eval import OutcomeJudge
    from runner.benchmarks.agentbench.proof.proving import QueryProof
    from runner.benchmarks.agentbench.queries import Category, Query
    from runner.benchmarks.agentbench.writing.drafts import Draft, Drafts
    from runner.benchmarks.toolbench.task_benchmark import PreparedTasks
    from runner.benchmarks.toolbench.task_results import ConfusionReport
    from runner.benchmarks.toolbench.tasks import Task
    from runner.catalog.catalog import LazyMapping, LoadedServer
    from runner.catalog.checkout import Checkout
    from runner.catalog.project import Places
    from runner.records import Gate, Judging, Record, Scorecard, ServerCard
    from runner.records.run_store import LoadedCell, LoadedRun, RunStore
    from runner.report.grid import Table
    from runner.report.records import Report
    from runner.requests import (
        AgentbenchReportRequest,
        AgentbenchRunRequest,
        AgreementRequest,
        AnchorsRequest,
        AnnotateRequest,
        AttestRequest,
        CheckRequest,
        CleanRequest,
        ConfuseRequest,
        DraftsRequest,
        GatePolicy,
        GenerateRequest,
        GroundRequest,
        ImportRequest,
        ImportScenarioRequest,
        InitRequest,
        JudgedRequest,
        JudgeNoiseRequest,
        JudgeRequest,
        LockRequest,
        NewScenarioRequest,
        QueriesRequest,
        RecordRequest,
        ReportRequest,
        Request,
        ReviewRequest,
        RunRequest,
        ScoreRequest,
        ServerRequest,
        ServerToolsRequest,
        TaskChoice,
        ToolbenchReportRequest,
        ToolbenchRequest,
        ToolbenchRunRequest,
        TryRequest,
        VerifyAnchorsRequest,
        VerifyReportRequest,
    )
    from runner.runs.executors import Executor
    from runner.runs.run_inputs import PreparedRun
    from runner.support.errors import EngineError, GateError, Problem

OK, FAILED, OUR_BUG, INTERRUPTED = 0, 1, 70, 130
WIDEST_COLUMNS = 120
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
CONTRADICTIONS_TOLD = 20


def main(argv: Seq[str] | None = None) -> None:
    """Parse, run the verb, and exit with its code."""
    from runner.support.streams import make_lasting

    stdout = make_lasting()
    try:
        arguments = make_parser(_help_columns()).parse_args(argv)
        code = _run_verb(arguments)
    except SystemExit as end:  # --help, --version, or words that are no command
        code = int(end.code or OK)
    sys.stdout.flush()
    if stdout.loss and code == OK:
        tell(f"error: the result could not be written to stdout: {stdout.loss}")
        tell("hint: nothing else is lost; say the same command again with room for what it says")
        code = FAILED
    sys.exit(code)


def _run_verb(arguments: argparse.Namespace) -> int:
    from runner.support.errors import FairtrialError, of_system
    from runner.support.interrupts import heeded

    try:
        with heeded():
            request = arguments.request_of(arguments)
            return VERBS[arguments.verb](_located(request))
    except FairtrialError as error:
        tell(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        # Streams that were cut in the middle of a read say so when they are collected: a traceback
        # of GitPython's, of which nobody could make anything.
        sys.unraisablehook = lambda _: None
        tell("interrupted: what is finished is kept, and the same command goes on from here")
        return INTERRUPTED
    except Exception as error:
        refusal = of_system(error) if isinstance(error, OSError) else None
        refusal = refusal or _lost_engine(error)
        if refusal is None:
            return _report_our_bug(arguments.root)
        tell(f"error: {refusal}")
        return refusal.exit_code


def _lost_engine(error: Exception) -> EngineError | None:
    # Loading the SDK takes a third of a second; before it is loaded nothing talks to an engine.
    if "docker" not in sys.modules:
        return None
    from runner.sandbox.engine import lost

    return lost(error)


def _located(request: Request) -> Request:
    """With the weights of its judges, and their digests, if it names some."""
    from dataclasses import replace

    from runner.agents.models.weights_server import located
    from runner.requests import JudgedRequest

    if not isinstance(request, JudgedRequest) or request.judging is None:
        return request
    names, files = located(request.judging.judges, tell)
    digests = {name: file.sha256 for name, file in files.items()}
    judging = request.judging.model_copy(update={"judges": tuple(names), "weights": digests})
    return replace(request, judging=judging, weights=files)


def _report_our_bug(root: str) -> int:
    import time
    import traceback
    from pathlib import Path

    from runner.catalog.project import state_of

    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    log = state_of(Path(root), _caches()) / "logs" / name
    text = f"fairtrial {__version__}, Python {sys.version}\n{traceback.format_exc()}"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text, encoding="utf-8")
    except OSError:
        tell(f"error: this is a bug of ours, not yours, and its log could not be written\n{text}")
    else:
        tell(f"error: this is a bug of ours, not yours\nhint: please report it with {log}")
    return OUR_BUG


def tell(text: str) -> None:
    """To the person: stderr, so that stdout stays what a script asked for."""
    print(text, file=sys.stderr, flush=True)


def show(text: str) -> None:
    """The verb's result: stdout."""
    print(text, flush=True)


def show_json(value: Any) -> None:
    import json

    show(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _help_columns() -> int:
    """As shutil.get_terminal_size has it: COLUMNS, else the terminal's width, else 80."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # stdout is closed, or no terminal
        return 80


def first_screen(request: Request) -> int:  # noqa: ARG001 - as every verb
    show(FIRST_SCREEN.rstrip())
    return OK


# --- running ------------------------------------------------------------------------------------


def run(request: RunRequest) -> int:
    if request.dry_run:
        return _show_estimate(request)
    return _run_cells(request)


def _run_cells(
    request: RunRequest,
    checkout: Checkout | None = None,
    runs: Path | None = None,
    shown: Callable[..., int] | None = None,
) -> int:
    """`checkout`, `runs`, `shown`: of a try, which has a project and a screen of its own."""
    from dataclasses import replace

    from runner.agents import AGENTS
    from runner.agents.choosing import agent_for
    from runner.agents.models.replay import arms_to_play
    from runner.agents.models.weights_server import served
    from runner.catalog.catalog import pick
    from runner.records.run_store import RunStore
    from runner.runs import plan
    from runner.runs.executors import EXECUTORS
    from runner.runs.spent import spent

    checkout = checkout or _judging_checkout(request)
    scenarios = checkout.choose_scenarios(request.scenarios)
    servers = checkout.choose_servers(request.servers)
    models, settings, spending = _models(request)
    servers = arms_to_play(servers, request.servers, models)
    agent = request.agent or agent_for(models)
    pick(AGENTS, agent, "agent")
    executor = pick(EXECUTORS, request.executor, "executor")(jobs=request.jobs)
    name = request.name or plan.default_name(scenarios, servers, models, request.trials, agent)
    plan.check_name(name)
    store = RunStore((runs or _runs(request)) / name)
    _judge_as(checkout, request, store)
    _require_judges(checkout)
    gate = _pass_gate(request.gate, checkout, scenarios, servers)
    made_ready = checkout.prepare(scenarios, servers)
    prepared = replace(made_ready, agent=agent, models=settings, spending=spending)
    with store.lock():
        planned = _plan(request, checkout, store, prepared, models, gate=gate)
        _tell_finished(planned)
        asked = {item.cell.model for item in planned.cells if not item.measured}
        with served(asked, settings, checkout.environ, tell) as answering:
            _execute(executor, planned, replace(prepared, models=answering), store)
        _judge_in(checkout, request, store, spent(store, spending.priced)[1])
        loaded = _score(store, checkout)
        _tell_remarks(store)
        how = {"as_json": request.json, "full": request.full}
        return (shown or _show_report)(store, checkout, loaded, gate, **how)


# --- trying a server by its name ----------------------------------------------------------------


def try_server(request: TryRequest) -> int:
    from dataclasses import replace
    from functools import partial

    from runner.authoring.onboarding.flow import find_out
    from runner.authoring.onboarding.saving import save
    from runner.authoring.onboarding.starting import opened, run_name
    from runner.report.card import card_text

    checkout = _judging_checkout(request)
    # A wrong name or no key must not cost the minutes that come before it is asked.
    _models(request)
    with opened(request, checkout, _choose) as steps:
        tried = find_out(steps)
    if request.save is not None:
        tell(f"saved: {save(tried, request.save)}")
    if request.dry_run:
        show(card_text(tried.card))
        return OK
    own, runs = checkout.over(tried.folder), tried.folder / "runs"
    asked = replace(request, scenarios=(tried.scenario,), servers=(tried.server,))
    for remark in _preflight(asked, own, runs, tried):
        tell(f"  {remark}")
    tell("5/6 measuring the pairs of cells")
    named = replace(asked, name=request.name or run_name(own, asked))
    return _run_cells(named, own, runs, partial(_show_tried, tried))


def _preflight(request: RunRequest, checkout: Checkout, runs: Path, tried: Tried) -> Iterator[str]:
    """One question to both arms, by the navigator that costs nothing."""
    import shutil
    from dataclasses import replace

    from runner.authoring.onboarding.calling import stand
    from runner.authoring.onboarding.preflight import (
        one_question,
        remarks,
        require_used,
        server_use,
    )
    from runner.records.run_store import RunStore
    from runner.runs.executors.local_executor import Local

    tell("4/6 one question to the shell and to the server, by the offline navigator")
    shutil.rmtree(runs / "preflight", ignore_errors=True)
    store = RunStore(runs / "preflight")
    prepared = one_question(checkout.prepare(request.scenarios, ("shell", *request.servers)))
    first = replace(request, models=("offline",), trials=1, seed=None, pass_at=None)
    with store.lock():
        planned = _plan(first, checkout, store, prepared, ("offline",), gate=None)
        _execute(Local(jobs=1), planned, prepared, store)
    use = server_use(store)
    yield from remarks(use, tried.card.network_attempts)
    stood = stand(checkout, tried.server, tried.scenario)
    yield from require_used(use, request.models, tried.server, stood.tools)


def _show_tried(  # noqa: PLR0913 - as _show_report, and what was tried
    tried: Tried,
    store: RunStore,
    checkout: Checkout,
    loaded: LoadedRun,
    gate: Gate | None,
    *,
    as_json: bool,
    full: bool,
) -> int:
    from runner.authoring.onboarding.screen import screen
    from runner.report.report_files import write_report

    built = checkout.report(loaded, gate=gate)
    list(write_report(built, store.folder))
    tell("6/6 the result")
    if as_json:
        show(built.model_dump_json(indent=2))
    else:
        page = _from_here(store.folder / "report.html")
        show(_screen(built, page, full=True) if full else screen(built, tried, page))
    return max(_code_for_broken_cells(loaded), _code_for_contradictions(store, loaded))


def _choose(question: str, choices: Seq[str]) -> str:
    """What the person chooses; empty if nobody is there to be asked."""
    if not sys.stdin.isatty():
        return ""
    for number, choice in enumerate(choices, 1):
        tell(f"  {number} {choice}")
    print(f"{question} [1-{len(choices)}] ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip()
    is_one = answer.isdigit() and 1 <= int(answer) <= len(choices)
    return choices[int(answer) - 1] if is_one else ""


def _models(request: RunRequest) -> tuple[list[str], ModelSettings, Spending]:
    """The models asked for, each known to open, how, and what they may cost."""
    from dataclasses import replace

    from runner.agents.models import open_model
    from runner.agents.models.weights_server import located
    from runner.agents.spending import spending_for

    models, files = located(request.models, tell)
    settings = _model_settings(request)
    settings = replace(settings, local=replace(settings.local, files=files))
    for model in models:
        # A wrong name or no key must not cost the minutes that images and volumes take.
        open_model(model, settings)
    return models, settings, spending_for(request, models)


def _plan(  # noqa: PLR0913 - what a plan is made of, each by its name
    request: RunRequest,
    checkout: Checkout,
    store: RunStore,
    prepared: PreparedRun,
    models: Seq[str],
    *,
    gate: Gate | None,
) -> LoadedRun:
    from runner.agents.models.replay import require_recordings
    from runner.benchmarks import BENCHMARKS
    from runner.runs import plan
    from runner.sandbox.engine import sweep

    benchmark = BENCHMARKS[prepared.benchmark]
    for line in benchmark.left_out(prepared):
        tell(f"left out: {line}")
    cells = benchmark.cells(prepared, models, request.trials)
    require_recordings(cells)
    sweep(checkout.engine, run=store.label)
    wanted = plan.Wanted(
        cells=cells,
        ungated=gate is None,
        prices=prepared.spending.prices,
        seed=request.seed,
        pass_at=request.pass_at,
        gate=gate.stamp if gate else None,
    )
    return plan.load_or_create_plan(store, wanted)


def _execute(
    executor: Executor, planned: LoadedRun, prepared: PreparedRun, store: RunStore
) -> None:
    from runner.benchmarks import BENCHMARKS
    from runner.report.progress import live
    from runner.runs.plan import unfinished
    from runner.support.interrupts import run_until_done

    blocks = unfinished(planned)
    cells = sum(map(len, blocks))
    finished = len(planned.cells) - cells
    priced = prepared.spending.has_price_of({item.cell.model for item in planned.cells})
    with live(cells, sys.stderr, finished=finished, priced=priced) as progress:
        run_until_done(
            executor.run(blocks, prepared, store, progress, BENCHMARKS[prepared.benchmark])
        )


def _show_estimate(request: RunRequest) -> int:
    from runner.agents.models import require_known
    from runner.agents.models.weights_server import short_name
    from runner.agents.spending import spending_for
    from runner.benchmarks.scenarios.scenario_estimate import Asked, estimate

    checkout = _checkout(request)
    models = list(dict.fromkeys(map(short_name, request.models)))
    for model in models:
        require_known(model)
    asked = Asked(
        scenarios=checkout.choose_scenarios(request.scenarios),
        servers=checkout.choose_servers(request.servers),
        models=models,
        trials=request.trials,
        jobs=request.jobs,
        spending=spending_for(request, models),
    )
    estimated = estimate(asked, checkout.catalog, _runs(request))
    if request.json:
        show_json(estimated.model_dump(mode="json"))
    else:
        show("\n".join(estimated.lines()))
    return OK


def _tell_finished(run: LoadedRun) -> None:
    finished = sum(item.measured for item in run.cells)
    if finished:
        tell(f"{finished} of {len(run.cells)} cells are finished and kept")


def _tell_remarks(store: RunStore) -> None:
    """What the models' own artifacts have to say, such as a replay's differences."""
    from runner.agents.models import kind_of

    for cell in store.plan().cells:
        kind = kind_of(cell.model)
        if kind is None or kind.remarks is None:
            continue
        attempt = store.counted_attempt(cell.id)
        lines = list(kind.remarks(attempt.path)) if attempt else []
        if lines:
            tell(f"{cell.scenario} × {cell.server}: " + "\n".join(lines))


def score(request: ScoreRequest) -> int:
    store, checkout = _store(request, request.run), _judging_checkout(request)
    with store.lock():
        _judge_in(checkout, request, store)
        audit = checkout.audit(store)
        found = audit.evidence()
        scored = 0
        # One scorecard in memory at a time: a run may have thousands.
        for card in audit.cards(found, anew=True):
            store.write_scorecard(card)
            scored += 1
            if request.json:
                show(card.model_dump_json())
    if not request.json:
        show(f"scored {scored} of {len(found.cells)} cells of {store.folder.name}")
    return _code_for_contradictions(store, found)


def _score(store: RunStore, checkout: Checkout) -> LoadedRun:
    """The run with its scorecards, each written as it is made."""
    from runner.runs.audit import with_cards

    audit = checkout.audit(store)
    found = audit.evidence()
    is_slow = not checkout.judge.deterministic

    def written(cards: Iterable[Scorecard]) -> Iterator[Scorecard]:
        for number, card in enumerate(cards, 1):
            store.write_scorecard(card)
            if is_slow:
                tell(f"judged {number} of {len(found.cells)} cells: {card.cell_id}")
            yield card

    return with_cards(found, written(audit.cards(found, anew=True)))


def report(request: ReportRequest) -> int:
    store, checkout = _store(request, request.run), _judging_checkout(request)
    _judge_as(checkout, request, store)
    gate = _pass_gate_of(request.gate, checkout, store)
    loaded = checkout.audit(store).whole()
    return _show_report(store, checkout, loaded, gate, as_json=request.json, full=request.full)


def attest(request: AttestRequest) -> int:
    from runner.records.run_store import write_whole
    from runner.report.report_digests import statement_of

    store, checkout = _store(request, request.run), _judging_checkout(request)
    _judge_as(checkout, request, store)
    statement = statement_of(checkout.root, store, _built(store, checkout, request.gate))
    text = statement.model_dump_json(by_alias=True, indent=1)
    if request.output is None:
        show(text)
    else:
        write_whole(request.output, text + "\n")
        tell(f"wrote {request.output}: sign it, or put it where it cannot be changed later")
    return OK


def _built(store: RunStore, checkout: Checkout, policy: GatePolicy) -> Report:
    """A run's report as its transcripts give it now; nothing is written."""
    gate = _pass_gate_of(policy, checkout, store)
    return checkout.report(checkout.audit(store).whole(), gate=gate)


def verify_report(request: VerifyReportRequest) -> int:
    from runner.records.attestation import read_statement
    from runner.report import report_digests as attest
    from runner.support.errors import GateError

    statement = read_statement(request.file)
    store = _store(request, request.run or statement.predicate.run)
    checkout = _judging_checkout(request)
    _judge_as(checkout, request, store)
    found = [*attest.file_differences(statement, store)]
    found += attest.basis_differences(statement, checkout.root)
    versions = list(attest.version_differences(statement))
    policy: GatePolicy = "skip" if statement.predicate.ungated else "require"
    code = OK
    try:
        found += attest.report_differences(statement, _built(store, checkout, policy))
    except GateError as error:
        # Listed with the rest: what differs says why it is closed.
        found.append(attest.Difference(where="gate", attested="open", found=error.what))
        code = error.exit_code
    if request.json:
        differences = {"differences": found, "versions": versions}
        lists = {name: [vars(item) for item in items] for name, items in differences.items()}
        show_json({"passed": not found, **lists})
    else:
        _show_verified(found, versions, figures=len(statement.predicate.figures))
    return code or (FAILED if found else OK)


def _show_verified(found: Seq[object], versions: Seq[object], *, figures: int) -> None:
    for item in versions:
        tell(f"another version here: {item}")
    if not found:
        show(f"the report stands: {figures} figures come out of the transcripts as attested")
        return
    show("\n".join(map(str, found)))
    tell(f"error: {len(found)} things are not as attested")
    tell("hint: verify in a checkout of the commit that holds the attested locks")


def _show_report(  # noqa: PLR0913 - a run, what it was scored by, and how it is shown
    store: RunStore,
    checkout: Checkout,
    loaded: LoadedRun,
    gate: Gate | None,
    *,
    as_json: bool,
    full: bool = False,
) -> int:
    from runner.report.report_files import write_report

    built = checkout.report(loaded, gate=gate)
    paths = list(write_report(built, store.folder))
    if as_json:
        show(built.model_dump_json(indent=2))
    else:
        show(_screen(built, _from_here(store.folder / "report.html"), full=full))
    # One line: three of them would push the first screen's head out of the terminal.
    names = ", ".join(path.name for path in paths)
    tell(f"wrote {names} in {_from_here(store.folder)}")
    return max(_code_for_broken_cells(loaded), _code_for_contradictions(store, loaded))


def _screen(built: Report, page: str, *, full: bool) -> str:
    from runner.report import terminal, terminal_first

    width = min(_terminal_columns(), WIDEST_COLUMNS)
    colour = sys.stdout.isatty()
    if full:
        return terminal.render(built, width=width, colour=colour)
    return terminal_first.render(built, page, width=width, colour=colour).rstrip()


def _from_here(path: Path) -> str:
    """As it can be opened from the folder that the command was given in."""
    from pathlib import Path

    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


# --- what was run elsewhere ---------------------------------------------------------------------


def import_cells(request: ImportRequest) -> int:
    from runner.records.run_store import RunStore
    from runner.runs import plan
    from runner.runs.importing.imported_run import arrivals, import_cells

    checkout = _checkout(request)
    name = request.name or f"{request.scenario[:55]}-imported"
    plan.check_name(name)
    files = arrivals(request.files, request.server, request.mounted)
    checkout.scenario(request.scenario)
    gate = _pass_gate(request.gate, checkout, [request.scenario])
    store = RunStore(_runs(request) / name)
    with store.lock():
        made = import_cells(
            store,
            checkout,
            request.scenario,
            files,
            gate=gate.stamp if gate else None,
        )
        tell(f"{len(made.cells)} imported cells are in {store.folder.name}")
        loaded = _score(store, checkout)
        return _show_report(store, checkout, loaded, gate, as_json=request.json, full=request.full)


def import_scenario(request: ImportScenarioRequest) -> int:
    from runner.authoring.drafting.command import keep
    from runner.authoring.drafting.imported_scenario import import_scenario
    from runner.catalog.project import require_place
    from runner.repositories.local_labels import named_source

    project = _places(request).top
    require_place(project)
    source, own = named_source(
        request.repo,
        request.commit,
        label=request.label,
        project=project,
        state=_state(request),
        environ=dict(os.environ),
    )
    imported = import_scenario(request, project, source)
    if own is not None:
        keep(project, own)
    if request.json:
        show_json(imported.as_json())
    else:
        show(imported.as_text())
    return OK


def scenario_new(request: NewScenarioRequest) -> int:
    from runner.authoring.drafting.command import new_scenarios

    into = (request.into or _places(request).top).resolve()
    made = new_scenarios(request, into, _state(request), dict(os.environ), tell)
    if request.json:
        show_json([it.as_json() for it in made])
        return OK
    for it in made:
        show(it.as_text())
    # Every verb looks for a project in the folder it is run in.
    show(f"next: `fairtrial check {made[0].id}` says what is left to write")
    return OK


def _code_for_contradictions(store: RunStore, loaded: LoadedRun) -> int:
    found = loaded.contradictions
    if not found:
        return OK
    tell(f"error: {len(found)} times a file of this run says something else than its evidence")
    for item in found[:CONTRADICTIONS_TOLD]:
        tell(f"  {item}")
    if len(found) > CONTRADICTIONS_TOLD:
        tell(f"  … and {len(found) - CONTRADICTIONS_TOLD} more, in report.json")
    tell(
        f"hint: `fairtrial score {store.folder.name}` writes scorecards again; any other file: "
        "take it from a copy, or measure (or import) again under another name with --run"
    )
    return FAILED


def _code_for_broken_cells(loaded: LoadedRun) -> int:
    broken = [item for item in loaded.cells if not item.measured]
    if not broken:
        return OK
    tell(f"error: {len(broken)} of {len(loaded.cells)} cells are not measured")
    if any(item.result is not None and item.result.imported for item in broken):
        tell("hint: an imported cell is not run again: import a whole transcript of it")
        return FAILED
    verb = "run" if loaded.plan.benchmark is None else f"{loaded.plan.benchmark} run"
    tell(f"hint: the same `fairtrial {verb}` tries them again")
    for server in sorted(_servers_not_ready(broken)):
        tell(f"hint: `fairtrial server check {server}` shows why it was not ready")
    return FAILED


def _servers_not_ready(cells: Iterable[LoadedCell]) -> set[str]:
    names = set()
    for item in cells:
        if item.result is not None and item.result.outcome.kind == "server_not_ready":
            names.add(item.cell.server)
    return names


def _terminal_columns() -> int:
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


# --- scenarios, locks and servers ---------------------------------------------------------------


def check(request: CheckRequest) -> int:
    checkout = _checkout(request)
    proofs = []
    for proof in checkout.prove(request.scenarios):
        proofs.append(proof)
        if not request.json:
            show(proof.as_text())
    failed = sum(1 for proof in proofs if proof.problems)
    if not request.json:
        show(f"{len(proofs) - failed} of {len(proofs)} scenarios prove themselves")
    queries = [] if request.scenarios else _check_suite(checkout, request)
    if request.json:
        show_json([*(proof.as_json() for proof in proofs), *(one.as_json() for one in queries)])
    return FAILED if failed or any(proof.problems for proof in queries) else OK


def _check_suite(checkout: Checkout, request: CheckRequest) -> Seq[QueryProof]:
    """MCP-AgentBench's queries, executed if an engine answers."""
    from runner.benchmarks.agentbench.proof.suite import FOLDER
    from runner.requests import QueriesRequest
    from runner.support.errors import EngineError

    if checkout.project or not any((checkout.root / FOLDER).glob("*.yaml")):
        return []
    try:
        _ = checkout.engine
        static = False
    except EngineError as error:
        tell(f"{error.what}: no trajectory of {FOLDER} is executed, their files alone are checked")
        static = True
    everything = QueriesRequest(
        root=request.root,
        source=None,
        ids=(),
        categories=(),
        unreviewed=False,
        static=static,
        json=request.json,
    )
    return _prove_queries(checkout, everything)


def init(request: InitRequest) -> int:
    from runner.catalog import project

    for line in project.init(request.folder):
        tell(line)
    # Every verb looks for a project in the folder it is run in.
    show(f"{request.folder} is a project: `cd` there, then `fairtrial check`")
    return OK


def lock(request: LockRequest) -> int:
    from runner.catalog.project import require_writable

    require_writable(_places(request), in_project=True)
    for line in _checkout(request).lock(check=request.check):
        show(line)
    return OK


def server(request: ServerRequest) -> int:
    if request.action == "list":
        return _list_servers(request)
    return _check_servers(request)


def _servers_of(checkout: Checkout, request: ServerRequest) -> LazyMapping[LoadedServer]:
    if request.testbed:
        return checkout.catalog.testbed
    return checkout.catalog.servers


def _list_servers(request: ServerRequest) -> int:
    known = _servers_of(_checkout(request), request)
    sound = known.sound()
    if request.json:
        show_json([server.spec.model_dump(mode="json") for server in sound.values()])
    else:
        for name, server in sound.items():
            show(f"{name:26} {server.spec.version:10} {server.spec.title}")
    for name, problems in known.broken().items():
        tell(f"broken: {name}: {'; '.join(map(str, problems))}")
    return OK


def _check_servers(request: ServerRequest) -> int:
    from runner.report.card import card_text

    checkout = _checkout(request)
    names = request.names or tuple(_servers_of(checkout, request))
    cards = [_card_of(checkout, name, request.scenario) for name in names]
    if request.json:
        show_json([card.model_dump(mode="json") for card in cards])
    else:
        for card in cards:
            show(card_text(card))
    if all(card.canary_passed for card in cards):
        return OK
    return FAILED


def server_tools(request: ServerToolsRequest) -> int:
    from runner.authoring.onboarding.calling import stand, tools_lines
    from runner.records import load_json

    stood = stand(_checkout(request), request.name, request.scenario)
    if request.tool:
        result = stood.call(request.tool, load_json(request.arguments))
        show(result.text)
        tell(f"{'an error' if result.is_error else 'answered'} in {result.wall_sec:.2f} s")
        return FAILED if result.is_error else OK
    tools = stood.tools()
    if request.json:
        show_json([tool.model_dump(mode="json", by_alias=True) for tool in tools])
    else:
        show("\n".join(tools_lines(tools)))
    return OK


def _card_of(checkout: Checkout, name: str, scenario: str) -> ServerCard:
    from runner.servers.lock_checks import lock_remarks

    server = checkout.server(name)
    catalog = checkout.catalog
    beside = catalog.testbed if name in catalog.testbed else catalog.servers
    card = checkout.check_server(name, scenario)
    return card.model_copy(update={"locks": lock_remarks(server, beside.sound().values())})


def ground(request: GroundRequest) -> int:
    import json

    from runner.grounding.command import ground_file
    from runner.grounding.commit_files import GitFiles
    from runner.report.citation_text import citations_text
    from runner.repositories.repository import open_repository

    cache = _state(request)
    repository, commit = open_repository(
        request.repo, request.commit, cache / "repositories", environ=dict(os.environ)
    )
    if not commit.startswith(request.commit):
        tell(f"{request.commit} is {commit}; what is not committed is not looked at")
    files = GitFiles(repository, commit)
    hallucinated = 0
    for path in request.files:
        as_json, grounding = ground_file(
            path,
            files,
            roots=request.roots,
            cache_dir=cache / "grounding",
            repo_urls=[request.repo],
        )
        if request.json:
            show(json.dumps(as_json, ensure_ascii=False, allow_nan=False))
        else:
            text = citations_text(str(path), commit, grounding.citations, grounding.summary)
            show(text)
        hallucinated += grounding.summary.hallucinated
    return FAILED if request.strict and hallucinated else OK


def toolbench_score(request: ToolbenchRequest) -> int:
    if request.responses is None and request.chosen.is_one_source and not request.list:
        name = request.chosen.data[0]
        if _store(request, name).has_plan():
            return _report_tasks(request, name, compat=request.compat, as_json=request.json)
    tasks, problems = _tasks(request.chosen)
    if request.list:
        return _list_tasks(tasks)
    return _score_responses(request, tasks, problems)


def _tasks(chosen: TaskChoice) -> tuple[Seq[Task], list[str]]:
    from runner.benchmarks.toolbench.task_files import load_chosen

    return load_chosen(
        chosen.data,
        difficulties=chosen.difficulties,
        categories=chosen.categories,
        limit=chosen.limit,
    )


def _list_tasks(tasks: Seq[Task]) -> int:
    from runner.benchmarks.toolbench.task_files import counted

    show("\n".join([*counted(tasks), f"{len(tasks)} tasks"]))
    return OK


def _score_responses(request: ToolbenchRequest, tasks: Seq[Task], problems: list[str]) -> int:
    from runner.benchmarks.toolbench.responses import read_responses
    from runner.benchmarks.toolbench.task_scoring import Scorer, answers_to, report_of
    from runner.benchmarks.toolbench.task_tables import tables_of
    from runner.support.errors import FairtrialError

    if request.responses is None:
        hint = "give --responses FILE"
        raise FairtrialError("there are no answers to score", hint=hint)
    responses = read_responses(request.responses)
    problems += map(str, responses.problems)
    problems += responses.unknown(tasks)
    scorer = Scorer(compat=request.compat)
    results = [scorer.result(one) for one in answers_to(tasks, responses.by_task)]
    report = report_of(tasks, results, compat=request.compat, problems=problems)
    _show_tables(report, tables_of(report), as_json=request.json)
    return OK


def _show_tables(record: Record, tables: Seq[Table], *, as_json: bool) -> None:
    from runner.report.terminal import render_tables

    if as_json:
        show_json(record.model_dump(mode="json"))
    else:
        width = min(_terminal_columns(), WIDEST_COLUMNS)
        show(render_tables(tables, width=width))


def toolbench_check(request: ToolbenchRequest) -> int:
    from runner.benchmarks.toolbench.defects import defects, unresolved_gold

    tasks, problems = _tasks(request.chosen)
    if request.list:
        return _list_tasks(tasks)
    problems += map(str, defects(tasks))
    unresolved = list(map(str, unresolved_gold(tasks)))
    if request.json:
        show_json({"tasks": len(tasks), "unresolved_gold": unresolved, "defects": problems})
    else:
        show("\n".join([*problems, *unresolved, _gold_sentence(tasks, unresolved)]))
    return FAILED if unresolved else OK


def _gold_sentence(tasks: Seq[Task], unresolved: Seq[str]) -> str:
    resolved = len(tasks) - len({line.partition(": ")[0] for line in unresolved})
    return f"gold: {resolved} of {len(tasks)} tasks are resolved by their own labels"


def toolbench_run(request: ToolbenchRunRequest) -> int:
    from dataclasses import replace

    from runner.agents.models.weights_server import served
    from runner.benchmarks.toolbench import task_run as runs
    from runner.benchmarks.toolbench.variants import read_variant
    from runner.records.run_store import RunStore
    from runner.runs.executors import EXECUTORS
    from runner.runs.plan import check_name
    from runner.support.errors import FairtrialError

    if request.agent or request.pass_at is not None:
        hint = "`--mode` says how they are asked, and what resolves is the benchmark's own rule"
        raise FairtrialError("tasks know neither --agent nor --pass-at", hint=hint)
    setup = runs.Setup(
        data=tuple(map(runs.located, request.chosen.data)),
        difficulties=request.chosen.difficulties,
        categories=request.chosen.categories,
        limit=request.chosen.limit,
        mode=request.mode,
        prompt=runs.prompt_of(request.mode, request.prompt),
        variant=read_variant(request.variant) if request.variant else None,
    )
    tasks, problems = setup.tasks()
    if request.list:
        return _list_tasks(tasks)
    _tell_some(problems)
    chosen = setup.prepared(tasks)
    if request.dry_run:
        return _show_task_estimate(chosen, request)
    models, settings, spending = _models(request)
    prepared = runs.prepared_run(chosen, settings, spending)
    name = request.name or runs.default_name(setup, models, request.trials)
    check_name(name)
    store = RunStore(_runs(request) / name)
    with store.lock():
        planned = _plan_tasks(store, prepared, models, request)
        runs.write_setup(store, setup, chosen)
        _tell_finished(planned)
        asked = {item.cell.model for item in planned.cells if not item.measured}
        with served(asked, settings, os.environ, tell) as answering:
            executor = EXECUTORS["local"](jobs=request.jobs)
            _execute(executor, planned, replace(prepared, models=answering), store)
        _tell_remarks(store)
        return _report_tasks(request, str(store.folder), compat="", as_json=request.json)


def _tell_some(problems: Seq[str]) -> None:
    for line in problems[:CONTRADICTIONS_TOLD]:
        tell(f"data: {line}")
    if len(problems) > CONTRADICTIONS_TOLD:
        tell(f"data: and {len(problems) - CONTRADICTIONS_TOLD} more (`toolbench check` lists all)")


def _show_task_estimate(tasks: PreparedTasks, request: ToolbenchRunRequest) -> int:
    from runner.agents.models import require_known
    from runner.agents.models.weights_server import short_name
    from runner.agents.spending import spending_for
    from runner.benchmarks.toolbench.task_estimate import estimated

    models = list(dict.fromkeys(map(short_name, request.models)))
    for model in models:
        require_known(model)
    found = estimated(tasks, models, request.trials, spending_for(request, models).priced)
    if request.json:
        show_json(found.model_dump(mode="json"))
    else:
        show("\n".join(found.lines()))
    return OK


def _plan_tasks(
    store: RunStore, prepared: PreparedRun, models: Seq[str], request: RunRequest
) -> LoadedRun:
    from runner.benchmarks import BENCHMARKS
    from runner.runs import plan

    benchmark = BENCHMARKS[prepared.benchmark]
    for line in benchmark.left_out(prepared):
        tell(f"left out: {line}")
    wanted = plan.Wanted(
        cells=benchmark.cells(prepared, models, request.trials),
        # The gate is of scenarios and their judges: neither benchmark has any.
        ungated=True,
        prices=prepared.spending.prices,
        seed=request.seed,
        benchmark=prepared.benchmark,
    )
    return plan.load_or_create_plan(store, wanted)


def toolbench_report(request: ToolbenchReportRequest) -> int:
    return _report_tasks(request, request.run, compat=request.compat, as_json=request.json)


def _report_tasks(request: Request, run: str, *, compat: str, as_json: bool) -> int:
    from runner.benchmarks.toolbench.task_report import report_of_run
    from runner.benchmarks.toolbench.task_report_files import write_report
    from runner.benchmarks.toolbench.task_tables import tables_of_run

    store = _store(request, run)
    loaded = _tasks_as_believed(request, store)
    report = report_of_run(store, loaded, compat=compat)
    if not compat:
        # Written so, that tool's scores would pass for ours.
        for path in write_report(report, store.folder):
            tell(f"wrote {path}")
    _show_tables(report, tables_of_run(report), as_json=as_json)
    return max(_code_for_broken_cells(loaded), _code_for_contradictions(store, loaded))


def _tasks_as_believed(request: Request, store: RunStore) -> LoadedRun:
    from runner.benchmarks import BENCHMARKS
    from runner.benchmarks.toolbench.task_benchmark import BENCHMARK
    from runner.benchmarks.toolbench.task_run import read_setup
    from runner.runs.audit import Audit

    read_setup(store)
    return Audit(
        store=store, checkout=_checkout(request), benchmark=BENCHMARKS[BENCHMARK]
    ).evidence()


def toolbench_confuse(request: ConfuseRequest) -> int:
    from runner.benchmarks.toolbench.task_tables import comparison_tables, confusion_tables

    if request.responses:
        report = _confusion_of_responses(request)
    else:
        report = _confusion_of_runs(request)
    shown = [part for found in report.confusions for part in confusion_tables(found)]
    shown += comparison_tables(report.comparisons)
    _show_tables(report, shown, as_json=request.json)
    return OK


def _confusion_of_responses(request: ConfuseRequest) -> ConfusionReport:
    from runner.benchmarks.toolbench.confusion import Labelled, confusion_report
    from runner.benchmarks.toolbench.responses import read_responses
    from runner.benchmarks.toolbench.task_files import load
    from runner.benchmarks.toolbench.task_scoring import Scorer, answers_to
    from runner.support.errors import FairtrialError

    if not request.sources or request.variant is not None:
        hint = "give the data that they answer, and no --variant: a file of answers names none"
        raise FairtrialError("--responses cannot be read so", hint=hint)
    data, scorer = load(request.sources), Scorer()
    found = []
    for path in request.responses:
        by_task = read_responses(path).by_task
        answered = [task for task in data.tasks if task.id in by_task]
        results = [scorer.result(one) for one in answers_to(answered, by_task)]
        found.append(Labelled(label=str(path), against="", tasks=answered, results=results))
    return confusion_report(found, request.servers)


def _confusion_of_runs(request: ConfuseRequest) -> ConfusionReport:
    from runner.benchmarks.toolbench.confusion import confusion_report
    from runner.benchmarks.toolbench.task_report import labelled, read_run
    from runner.support.errors import FairtrialError

    named = {name: _store(request, name) for name in request.sources}
    runs = [store for store in named.values() if store.has_plan()]
    servers = [name for name, store in named.items() if not store.has_plan()]
    found = []
    for store in _runs_to_confuse(request, runs):
        try:
            read = read_run(store, _tasks_as_believed(request, store))
        except FairtrialError as error:
            if runs:
                raise
            tell(f"left out: {error}")  # nobody named it, and its data may be gone
            continue
        _tell_some(list(read.problems))
        name = store.folder.name
        # Runs that nobody put side by side may be of other data, and asked otherwise.
        found += [labelled(name, arm, apart=not runs) for arm in read.answers.arms]
    return confusion_report(found, [*request.servers, *servers])


def _runs_to_confuse(request: ConfuseRequest, named: list[RunStore]) -> list[RunStore]:
    """Those that are named, else all; of these, those with the variant that is asked for."""
    from runner.benchmarks.toolbench.task_run import read_setup, runs_of_tasks
    from runner.benchmarks.toolbench.variants import read_variant
    from runner.support.errors import FairtrialError

    runs = named or runs_of_tasks(_runs(request))
    if not runs:
        hint = "`fairtrial toolbench run DATA --model M` makes one"
        raise FairtrialError("there is no run of tasks", where=str(_runs(request)), hint=hint)
    if request.variant is None:
        return runs
    variant = read_variant(request.variant)
    runs = [store for store in runs if read_setup(store).variant == variant]
    if not runs:
        hint = f"`fairtrial toolbench run DATA --model M --variant {request.variant}` measures it"
        raise FairtrialError("no run measured this variant", where=str(request.variant), hint=hint)
    return runs


def agentbench_run(request: AgentbenchRunRequest) -> int:
    from dataclasses import replace

    from runner.agents.models.weights_server import served
    from runner.benchmarks.agentbench import query_run as runs
    from runner.records.run_store import RunStore
    from runner.runs.executors import EXECUTORS
    from runner.runs.plan import check_name, seed_of
    from runner.sandbox.engine import sweep
    from runner.support.errors import FairtrialError

    if request.agent or request.pass_at is not None:
        hint = "`--mode` says how they are asked, and an answer passes or fails"
        raise FairtrialError("queries know neither --agent nor --pass-at", hint=hint)
    checkout = _checkout(request)
    queries = _queries(checkout, request)
    if request.list:
        show("\n".join(runs.counted(queries)))
        return OK
    name = request.name or runs.default_name(queries, request.mode, request.models, request.trials)
    check_name(name)
    seed = seed_of(name) if request.seed is None else request.seed
    if request.dry_run:
        return _show_query_estimate(checkout, request, queries, seed)
    models, settings, spending = _models(request)
    store = RunStore(_runs(request) / name)
    with store.lock():
        # What a killed run left behind would go on taking this run's memory.
        sweep(checkout.engine, run=store.label)
        ready = runs.make_ready(checkout, queries, request.mode, seed)
        prepared = replace(ready.prepared, models=settings, spending=spending)
        planned = _plan_tasks(store, prepared, models, request)
        runs.write_setup(store, ready.setup)
        _tell_finished(planned)
        asked = {item.cell.model for item in planned.cells if not item.measured}
        with served(asked, settings, os.environ, tell) as answering:
            executor = EXECUTORS["local"](jobs=request.jobs)
            _execute(executor, planned, replace(prepared, models=answering), store)
    _tell_outcomes(store)
    return _report_queries(request, store, as_json=request.json)


def _queries(checkout: Checkout, request: AgentbenchRunRequest) -> list[Query]:
    """Those that are chosen. Raises CatalogError with every problem of the suite."""
    from runner.benchmarks.agentbench.proof.suite import FOLDER, chosen, load_suite

    source = request.suite or checkout.root / FOLDER
    known = {*checkout.catalog.testbed, *checkout.catalog.servers}
    suite = load_suite(source, testbed=known)
    suite.sound()
    wanted = chosen(
        suite.queries,
        ids=request.ids,
        categories=request.categories,
        servers=request.servers,
    )
    return [loaded.query for loaded in wanted][: request.limit]


def _show_query_estimate(
    checkout: Checkout, request: AgentbenchRunRequest, queries: Seq[Query], seed: int
) -> int:
    from runner.agents.models import require_known
    from runner.agents.models.weights_server import short_name
    from runner.agents.spending import spending_for
    from runner.benchmarks.agentbench.query_estimate import estimated

    models = list(dict.fromkeys(map(short_name, request.models)))
    for model in models:
        require_known(model)
    found = estimated(
        checkout,
        queries,
        request.mode,
        seed,
        models=models,
        trials=request.trials,
        prices=spending_for(request, models).priced,
    )
    if request.json:
        show_json(found.model_dump(mode="json"))
    else:
        show("\n".join(found.lines()))
    return OK


def _tell_outcomes(store: RunStore) -> None:
    from runner.benchmarks.agentbench.outcomes import outcomes_of

    tell("\n".join(outcomes_of(store.load()).lines()))


def agentbench_report(request: AgentbenchReportRequest) -> int:
    store = _store(request, request.run)
    return _report_queries(request, store, verdicts=request.verdicts, as_json=request.json)


def _report_queries(
    request: JudgedRequest, store: RunStore, *, verdicts: Path | None = None, as_json: bool
) -> int:
    from runner.benchmarks import BENCHMARKS
    from runner.benchmarks.agentbench.query_benchmark import BENCHMARK
    from runner.benchmarks.agentbench.query_run import read_setup
    from runner.benchmarks.agentbench.report.query_report import report_of_run
    from runner.benchmarks.agentbench.report.query_report_files import write_report, write_verdicts
    from runner.benchmarks.agentbench.report.query_tables import tables_of_run
    from runner.runs.audit import Audit

    read_setup(store)
    checkout = _checkout(request)
    with store.lock():
        loaded = Audit(store=store, checkout=checkout, benchmark=BENCHMARKS[BENCHMARK]).evidence()
        report = report_of_run(store, loaded, _outcome_judge(checkout, request, store))
        written = [*write_report(report, store.folder)]
    if verdicts is not None:
        written.append(write_verdicts(report, verdicts))
    for path in written:
        tell(f"wrote {path}")
    _show_tables(report, tables_of_run(report), as_json=as_json)
    _tell_spent(checkout)
    return max(_code_for_broken_cells(loaded), _code_for_contradictions(store, loaded))


def _outcome_judge(checkout: Checkout, request: JudgedRequest, store: RunStore) -> OutcomeJudge:
    """What is asked for, else what judged the run before; what a model says is kept with it."""
    from runner.benchmarks.agentbench.judging.mcp_eval import (
        VALUES,
        endpoints_of,
        open_outcome_judge,
    )
    from runner.records import Judging
    from runner.scoring.judges.replies import Replies

    judging = request.judging or store.judging() or Judging(judges=(VALUES,))
    spent_usd = Replies(folder=store.judged).spent_usd()
    _set_judge(checkout, request, judging, store.judged, spent_usd)
    judge = open_outcome_judge(judging.judges[0], checkout.judge_settings)
    store.write_judging(judging.model_copy(update={"endpoints": endpoints_of(judge)}))
    return judge


def agentbench_check(request: QueriesRequest) -> int:
    proofs = _prove_queries(_checkout(request), request)
    if request.json:
        show_json([proof.as_json() for proof in proofs])
    return FAILED if any(proof.problems for proof in proofs) else OK


def _prove_queries(checkout: Checkout, request: QueriesRequest) -> Seq[QueryProof]:
    """Shown as they are found, unless JSON is asked for. Raises EngineError if none answers."""
    import time

    from runner.benchmarks.agentbench.proof.proving import prove_executed, prove_files, summary
    from runner.benchmarks.agentbench.proof.suite import FOLDER, chosen, load_suite

    started = time.monotonic()
    source = request.source or checkout.root / FOLDER
    known = {*checkout.catalog.testbed, *checkout.catalog.servers}
    suite = load_suite(source, testbed=known, unreviewed=request.unreviewed)
    suite.sound()
    wanted = chosen(suite.queries, ids=request.ids, categories=request.categories)
    proofs: list[QueryProof] = []

    def told(proof: QueryProof) -> None:
        proofs.append(proof)
        if not request.json:
            show(proof.as_text())

    if request.static:
        for proof in prove_files(wanted):
            told(proof)
    else:
        prove_executed(checkout, wanted, told)
    if not request.json:
        show(summary(proofs, time.monotonic() - started))
    return proofs


def agentbench_record(request: RecordRequest) -> int:
    from runner.benchmarks.agentbench.proof.proving import record_file

    unsound = 0

    def told(name: str, problems: Seq[Problem]) -> None:
        nonlocal unsound
        unsound += bool(problems)
        show("\n".join([f"{'FAIL' if problems else 'ok  '} {name}", *map(_indented, problems)]))

    record_file(_checkout(request), request.file, request.ids, told)
    return FAILED if unsound else OK


def _indented(problem: Problem) -> str:
    return f"     {problem}"


def agentbench_generate(request: GenerateRequest) -> int:
    from runner.agents.models import open_model
    from runner.benchmarks.agentbench.writing.drafts import Draft, Failure
    from runner.benchmarks.agentbench.writing.workshop import (
        Order,
        generate_drafts,
        listings_of,
        require_writer,
    )
    from runner.benchmarks.agentbench.writing.writer import Writer

    require_writer(request.model)
    checkout, drafted = _checkout(request), 0

    def told(made: Draft | Failure) -> None:
        nonlocal drafted
        drafted += isinstance(made, Draft)
        if isinstance(made, Draft):
            show(f"{made.id}: {made.query}")
        else:
            show(f"no draft of {made.category} ({made.kind}): {made.problem}")

    with _answering(request) as (model, settings, purse):
        order = Order(
            categories=_categories(request.categories),
            count=request.count,
            seed=request.seed,
            model=model,
        )
        offered = listings_of(checkout, request.servers)
        writer = Writer(model=open_model(model, settings), purse=purse)
        generate_drafts(request.file, order, offered, writer, told)
    tell(f"{request.file}: `fairtrial agentbench annotate` tries what is new")
    return OK if drafted else FAILED


def _categories(asked: Seq[str]) -> Seq[Category]:
    """Those that are asked for, or all. Raises FairtrialError for one that there is not."""
    from runner.benchmarks.agentbench.queries import CATEGORIES
    from runner.catalog.catalog import pick

    known: dict[str, Category] = {category: category for category in CATEGORIES}
    return [pick(known, name, "category") for name in asked] or CATEGORIES


def agentbench_annotate(request: AnnotateRequest) -> int:
    from functools import partial

    from runner.benchmarks.agentbench.query_benchmark import open_for_queries
    from runner.benchmarks.agentbench.writing.annotate import Trying
    from runner.benchmarks.agentbench.writing.trial_judges import open_trial_judge
    from runner.benchmarks.agentbench.writing.workshop import annotate_drafts

    def told(draft: Draft) -> None:
        rate = "unjudged" if draft.pass_rate is None else f"{draft.pass_rate:.0%} passed"
        show(f"{draft.id}: {rate}; {READERS[draft.stage]}")

    checkout = _checkout(request)
    with _answering(request) as (model, settings, purse):
        trying = Trying(
            open_model=partial(open_for_queries, model, settings),
            mode=request.mode,
            result_chars=checkout.limits.result_chars,
            purse=purse,
            judge=open_trial_judge(request.judge, settings, purse),
            tries=request.tries,
        )
        annotate_drafts(checkout, request.file, trying, told, ids=request.ids)
    tell(f"{request.file}: `fairtrial agentbench review` lists what is to be read")
    return OK


READERS = {"read": "a person has to read it", "expert": "it needs an expert"}


@contextlib.contextmanager
def _answering(request: DraftsRequest) -> Iterator[tuple[str, ModelSettings, Purse]]:
    """The model's name, how it is reached while the block lasts, and what it may cost."""
    from dataclasses import replace

    from runner.agents.models import open_model
    from runner.agents.models.model_settings import LocalSettings
    from runner.agents.models.weights_server import located, served
    from runner.agents.spending import purse_for
    from runner.requests import AnnotateRequest

    names = [request.model]
    if isinstance(request, AnnotateRequest) and request.judge.startswith("model:"):
        names.append(request.judge.removeprefix("model:"))
    names, files = located(names, tell)
    local = LocalSettings(
        files=files, threads=request.threads, context_tokens=request.context_tokens
    )
    settings = replace(
        _providers(),
        local=local,
        thinking_tokens=request.thinking_tokens,
        output_tokens=request.output_tokens,
    )
    # A wrong name or no key must not cost the minutes that servers take.
    for name in names:
        open_model(name, settings)
    purse = purse_for(names, request.prices, request.run_usd)
    with served(names, settings, os.environ, tell) as answering:
        yield names[0], answering, purse


def agentbench_review(request: ReviewRequest) -> int:
    from runner.benchmarks.agentbench.proof.yaml_records import write_yaml
    from runner.benchmarks.agentbench.writing.drafts import draft_called, read_drafts
    from runner.benchmarks.agentbench.writing.review import draft_text, queue_text, starting_point

    drafts = read_drafts(request.file)
    if not request.id:
        show("\n".join(queue_text(drafts)))
        return OK
    draft = draft_called(drafts, request.id)
    if request.edit_to is not None:
        write_yaml(request.edit_to, starting_point(draft))
        tell(f"wrote {request.edit_to}: edit it, and give it with --from")
        return OK
    if not request.action:
        show("\n".join(draft_text(draft)))
        return OK
    return _review(request, drafts, draft)


def _review(request: ReviewRequest, drafts: Drafts, draft: Draft) -> int:
    """Decide; what is accepted is proved first, and then put into its suite."""
    from runner.benchmarks.agentbench.writing.drafts import replaced, write_drafts
    from runner.benchmarks.agentbench.writing.review import (
        Review,
        add_to_suite,
        edited_query,
        require_place,
        review,
    )

    said = Review(
        action=request.action or "accept",
        reviewer=request.reviewer,
        note=request.note,
        message=request.query,
        edited=edited_query(request.edited, draft.id) if request.edited else None,
    )
    reviewed = review(draft, said)
    if reviewed.accepted is not None:
        place = require_place(request.into)
        if not request.static and not _proved(_checkout(request), reviewed.accepted):
            return FAILED
        tell(f"{draft.id} is in {add_to_suite(place, reviewed.accepted)}")
    write_drafts(request.file, replaced(drafts, reviewed.draft))
    show(f"{draft.id}: {reviewed.draft.stage}")
    return OK


def _proved(checkout: Checkout, query: Query) -> bool:
    """Is its trajectory, executed now, as it was recorded? Raises EngineError if none answers."""
    from runner.benchmarks.agentbench.proof.proving import prove_executed
    from runner.benchmarks.agentbench.proof.suite import LoadedQuery

    proofs: list[QueryProof] = []
    loaded = LoadedQuery(query=query, where=query.id, file=checkout.root)
    prove_executed(checkout, [loaded], proofs.append)
    for proof in proofs:
        if proof.problems:
            show(proof.as_text())
    return not any(proof.problems for proof in proofs)


def judge(request: JudgeRequest) -> int:
    if request.run:
        return _judge_run(request)
    return _judge_answer(request)


def _judge_answer(request: JudgeRequest) -> int:
    from runner.report.verdict_text import verdict_text
    from runner.runs.judging import judge_file, verdict_json

    checkout = _judging_checkout(request)
    loaded = checkout.scenario(request.scenario)
    _require_judges(checkout)
    name = loaded.scenario.id
    assert request.answer is not None  # noqa: S101 - the parser asks for one of the two
    try:
        verdict, silent = judge_file(request.answer, loaded, checkout)
    finally:
        checkout.close_files()
    for step in silent:
        tell(f"the step {step} has no text, and scores 0")
    if request.json:
        show_json(verdict_json(name, verdict))
    else:
        show(verdict_text(name, verdict))
    _tell_spent(checkout)
    return OK


def _judge_run(request: JudgeRequest) -> int:
    from runner.report.verdict_text import run_json, run_text
    from runner.runs.judging import compare_close, estimate
    from runner.scoring.judges.pairwise import pair_lines

    store, checkout = _store(request, request.run), _judging_checkout(request)
    if request.dry_run:
        _judge_as(checkout, request, store)
        estimated = estimate(checkout, store)
        if request.json:
            show_json(estimated.model_dump(mode="json"))
        else:
            show("\n".join(estimated.lines()))
        return OK
    with store.lock():
        _judge_in(checkout, request, store)
        loaded = _score(store, checkout)
        pairs = compare_close(loaded, checkout, store) if request.pairwise else []
        checkout.close_files()
    if request.json:
        show_json(run_json(loaded) | {"pairs": [item.model_dump() for item in pairs]})
    else:
        show("\n".join([run_text(loaded), *pair_lines(pairs)]))
    _tell_spent(checkout)
    return _code_for_contradictions(store, loaded)


def _tell_spent(checkout: Checkout) -> None:
    purse = checkout.judge_settings.purse
    if purse.calls:
        dollars = f"${purse.usd:,.4f}" if purse.priced else "no price"
        tell(f"judging took {purse.calls} calls, {purse.tokens:,} tokens, {dollars}")


def judge_noise(request: JudgeNoiseRequest) -> int:
    from runner.report.verdict_text import noise_text
    from runner.scoring.judge_repeatability import noise_of

    noise = noise_of(_store(request, request.run))
    if request.json:
        show_json(noise.model_dump(mode="json"))
    else:
        show(noise_text(noise))
    return OK


def agreement(request: AgreementRequest) -> int:
    from runner.report.ratings_tables import tables_of
    from runner.scoring.ratings_file import Columns, read_ratings, report_of

    columns = Columns(
        item=request.item,
        category=request.category,
        people=request.people,
        raters=request.raters,
    )
    report = report_of(read_ratings(request.file, columns))
    _show_tables(report, tables_of(report), as_json=request.json)
    return OK


def clean(request: CleanRequest) -> int:
    for line in _checkout(request).clean(everything=request.everything):
        show(line)
    return OK


# --- the gate -----------------------------------------------------------------------------------


def verify_anchors(request: VerifyAnchorsRequest) -> int:
    from runner.gate import gate
    from runner.report.gate_text import gate_text, standing_text
    from runner.support.errors import GateError

    try:
        checkout = _judging_checkout(request)
        verdict = gate.verify(
            checkout.root, checkout.judge, sources=checkout.source, pairs="again", log=tell
        )
    except GateError as error:
        if request.json:
            show_json(_refusal_json(error))
        raise
    if request.json:
        show_json({"passed": not verdict.refusal, **verdict.model_dump(mode="json")})
    else:
        show(gate_text(verdict))
        show(standing_text(verdict))
    gate.require(verdict)
    gate.require_standing(verdict, request.require)
    if not request.json:
        show("the gate is open")
    return OK


def _refusal_json(error: GateError) -> dict[str, Any]:
    drifts = [vars(drift) for drift in getattr(error, "drifts", ())]
    return {
        "passed": False,
        "exit_code": error.exit_code,
        "refusal": error.what,
        "hint": error.hint,
        "drifts": drifts,
    }


def anchors(request: AnchorsRequest) -> int:
    if request.action == "propose":
        return _propose_anchors(request)
    return _write_generation(request)


def _propose_anchors(request: AnchorsRequest) -> int:
    from runner.gate import gate
    from runner.report.gate_text import proposal_text

    checkout = _judging_checkout(request)
    proposal = gate.propose(checkout.root, checkout.judge, sources=checkout.source, log=tell)
    show(proposal_text(proposal))
    if proposal.refusals:
        return proposal.refusals[0].exit_code
    return OK


def _write_generation(request: AnchorsRequest) -> int:
    from datetime import UTC, datetime

    from runner.catalog.project import require_writable
    from runner.gate import chain, gate
    from runner.report.gate_text import gate_text, standing_text

    require_writable(_places(request), in_project=False)
    moves = {"accept": gate.accept, "regrade": gate.regrade}
    today = datetime.now(UTC).date().isoformat()
    checkout = _judging_checkout(request)
    examined = moves[request.action](
        checkout.root,
        checkout.judge,
        reason=request.reason,
        date=today,
        sources=checkout.source,
        log=tell,
    )
    show(gate_text(examined.verdict))
    show(standing_text(examined.verdict))
    generation = chain.read_chain(checkout.root)[-1]
    number = f"generation {generation.generation} ({generation.kind})"
    tell(f"wrote {chain.LOCK}, {number}; commit locks/")
    gate.require(examined.verdict)
    return OK


def _pass_gate(
    policy: GatePolicy,
    checkout: Checkout,
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
            checkout.judge,
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


def _pass_gate_of(policy: GatePolicy, checkout: Checkout, store: RunStore) -> Gate | None:
    """For the scenarios a run used. Its servers are behind it: the plan holds their digests."""
    return _pass_gate(policy, checkout, {cell.scenario for cell in store.plan().cells})


# --- what verbs share ---------------------------------------------------------------------------


def _checkout(request: Request) -> Checkout:
    from runner.catalog.checkout import Checkout
    from runner.catalog.project import require_as_built

    # Git and npm get this environment; a hook of theirs has no use for a model's key.
    environ = {name: value for name, value in os.environ.items() if name not in KEYS}
    places = _places(request)
    require_as_built(places.shipped)
    return Checkout(
        root=places.shipped, project=places.project, state=places.state, environ=environ, log=tell
    )


def _judging_checkout(request: JudgedRequest) -> Checkout:
    """With the judge that is asked for, which keeps what it is told under .fairtrial."""
    from runner.records import Judging

    checkout = _checkout(request)
    _set_judge(checkout, request, request.judging or Judging(), _state(request) / "judged", 0.0)
    return checkout


def _judge_in(
    checkout: Checkout, request: JudgedRequest, store: RunStore, spent_usd: float | None = None
) -> None:
    """Judge a run: by what is asked for, else as before. What models say is kept in its folder."""
    from runner.records import Judging
    from runner.runs.judging import with_endpoints
    from runner.scoring.judges.replies import Replies

    # Before its judge is looked for: a run of queries has one that judges no scorecard.
    checkout.require_scorecards(store)
    if spent_usd is None:
        spent_usd = Replies(folder=store.judged).spent_usd()
    judging = request.judging or store.judging() or Judging()
    # Another place may hold another model of that name: what is asked now is asked where it is now.
    judging = judging.model_copy(update={"endpoints": {}})
    _set_judge(checkout, request, judging, store.judged, spent_usd)
    _require_judges(checkout)
    store.write_judging(with_endpoints(judging, checkout.judge))


def _judge_as(checkout: Checkout, request: JudgedRequest, store: RunStore) -> None:
    """For a report, which repeats verdicts: nothing is asked, and no key is needed."""
    from runner.records import Judging

    checkout.require_scorecards(store)
    judging = request.judging or store.judging() or Judging()
    _set_judge(checkout, request, judging, store.judged, 0.0)


def _set_judge(
    checkout: Checkout, request: JudgedRequest, judging: Judging, replies: Path, spent_usd: float
) -> None:
    from runner.agents.spending import purse_for
    from runner.scoring.judges import models_of
    from runner.scoring.judges.judge_settings import JudgeSettings

    models = models_of(judging.judges)
    checkout.judge_settings = JudgeSettings(
        judging=judging,
        models=_judges_models(request),
        replies=replies,
        environ=checkout.environ,
        log=tell,
        purse=purse_for(models, request.prices, request.run_usd if models else None, spent_usd),
    )


def _judges_models(request: JudgedRequest) -> ModelSettings:
    from dataclasses import replace

    from runner.agents.models.model_settings import LocalSettings

    # No cell is at work while answers are judged.
    threads = os.cpu_count() or 1
    local = LocalSettings(files=request.weights, threads=threads, context_tokens=4096)
    return replace(_providers(), local=local)


def _require_judges(checkout: Checkout) -> None:
    """A judge's wrong name or missing key must not come to light when all cells are paid for."""
    from runner.agents.models import open_model
    from runner.scoring.judges import models_of

    settings = checkout.judge_settings
    for model in models_of(settings.judging.judges):
        open_model(model, settings.models)
    _ = checkout.judge


def _model_settings(request: RunRequest) -> ModelSettings:
    from dataclasses import replace

    from runner.agents.models.model_settings import ApiSlots, LocalSettings

    return replace(
        _providers(),
        local=LocalSettings(
            threads=request.threads,
            context_tokens=request.context_tokens,
            one_at_a_time=request.jobs == 1,
        ),
        thinking_tokens=request.thinking_tokens,
        output_tokens=request.output_tokens,
        slots=ApiSlots(request.api_jobs),
    )


def _providers() -> ModelSettings:
    """The only place that knows a key; it is handed on in memory, and nothing writes it."""
    from runner.agents.models.model_settings import Endpoint, ModelSettings

    anthropic_key, openai_key = (os.environ.get(name, "") for name in KEYS)
    return ModelSettings(
        anthropic=Endpoint(key=anthropic_key, url=os.environ.get("ANTHROPIC_BASE_URL", "")),
        openai=Endpoint(key=openai_key, url=os.environ.get("OPENAI_BASE_URL", "")),
    )


def _places(request: Request) -> Places:
    """Asked by nearly every verb, some of which work in any folder at all."""
    from runner.catalog.project import find_places

    return find_places(request.root, _caches())


def _caches() -> Path:
    from pathlib import Path

    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _state(request: Request) -> Path:
    return _places(request).state


def _runs(request: Request) -> Path:
    return _places(request).top / "runs"


def _store(request: Request, run: str) -> RunStore:
    """By the run's name under runs/, or by the path of its folder."""
    from pathlib import Path

    from runner.records.run_store import RunStore

    given = Path(run)
    if given.is_dir():
        return RunStore(given)
    return RunStore(_runs(request) / run)


VERBS: dict[str, Callable[[Any], int]] = {
    "": first_screen,
    "run": run,
    "try": try_server,
    "score": score,
    "report": report,
    "attest": attest,
    "verify-report": verify_report,
    "import_cells": import_cells,
    "import_scenario": import_scenario,
    "scenario_new": scenario_new,
    "init": init,
    "check": check,
    "lock": lock,
    "server": server,
    "server_tools": server_tools,
    "verify-anchors": verify_anchors,
    "anchors": anchors,
    "ground": ground,
    "toolbench_run": toolbench_run,
    "toolbench_score": toolbench_score,
    "toolbench_report": toolbench_report,
    "toolbench_confuse": toolbench_confuse,
    "toolbench_check": toolbench_check,
    "agentbench_run": agentbench_run,
    "agentbench_report": agentbench_report,
    "agentbench_check": agentbench_check,
    "agentbench_record": agentbench_record,
    "agentbench_generate": agentbench_generate,
    "agentbench_annotate": agentbench_annotate,
    "agentbench_review": agentbench_review,
    "judge": judge,
    "judge-noise": judge_noise,
    "agreement": agreement,
    "clean": clean,
}
"""What each name in arguments.py's parsers does with its request."""


if __name__ == "__main__":
    main()
