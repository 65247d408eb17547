"""The command line: the one place that prints, reads the environment and exits.

Each verb has a parser, a frozen request (requests.py) and a function that takes it; the function
imports what it needs when it runs, so that --help answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys

from runner import __version__

TYPE_CHECKING = False  # importing typing, pathlib and json here would cost --help half of its time
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from collections.abc import Sequence as Seq
    from pathlib import Path
    from typing import Any

    from runner.benchmarks.toolbench.cells import PreparedTasks
    from runner.benchmarks.toolbench.results import ConfusionReport
    from runner.benchmarks.toolbench.tasks import Task
    from runner.checkout import Checkout
    from runner.errors import GateError
    from runner.models.settings import ModelSettings, Weights
    from runner.prepared import PreparedRun
    from runner.protocols import Executor
    from runner.records import Gate, Judging, Record, Scorecard
    from runner.report.grid import Table
    from runner.report.records import Report
    from runner.requests import (
        AnchorsRequest,
        AttestRequest,
        CheckRequest,
        CleanRequest,
        ConfuseRequest,
        GatePolicy,
        GroundRequest,
        ImportRequest,
        ImportScenarioRequest,
        JudgedRequest,
        JudgeNoiseRequest,
        JudgeRequest,
        LockRequest,
        ReportRequest,
        Request,
        RunRequest,
        ScoreRequest,
        ServerRequest,
        TaskChoice,
        ToolbenchReportRequest,
        ToolbenchRequest,
        ToolbenchRunRequest,
        VerifyAnchorsRequest,
        VerifyReportRequest,
    )
    from runner.spending import Spending
    from runner.store import LoadedCell, LoadedRun, RunStore

    Verbs = argparse._SubParsersAction[argparse.ArgumentParser]

OK, FAILED, OUR_BUG, INTERRUPTED = 0, 1, 70, 130
DEMO_SCENARIOS = ("flask-error-handling", "zod-issue-messages")
DEMO_SERVERS = ("shell", "mcp-ripgrep", "code-index-mcp")
WIDEST_COLUMNS = 120
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
TURN_TOKENS = 8192
AGENT = "tool_calling"
MODEL_HELP = (
    "offline, claude-ID, anthropic:ID, openai:ID, local:PATH.gguf or replay:PATH (default: offline)"
)
CONTEXT_TOKENS = 16_384
CONTRADICTIONS_TOLD = 20
DESCRIPTION = (
    "Give an MCP server a fair trial: does attaching it make a coding agent's\n"
    "answers better, or does it only burn tokens?"
)
EXIT_CODES = """\
exit codes:
  0 done   1 something you can fix (the message says what, where, and a hint)   2 usage
  3 anchors drifted   4 anchors disagree   5 no verdict   70 our bug
  130 interrupted (the same command goes on)
"""


def main(argv: Seq[str] | None = None) -> None:
    """Parse, run the verb, and exit with its code."""
    from runner.streams import make_lasting

    stdout = make_lasting()
    try:
        arguments = _parser().parse_args(argv)
        code = _run_verb(arguments.start, arguments)
    except SystemExit as end:  # --help, --version, or words that are no command
        code = int(end.code or OK)
    sys.stdout.flush()
    if stdout.loss and code == OK:
        tell(f"error: the result could not be written to stdout: {stdout.loss}")
        tell("hint: nothing else is lost; say the same command again with room for what it says")
        code = FAILED
    sys.exit(code)


def _run_verb(start: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    from runner.errors import FairtrialError, of_system
    from runner.interrupts import heeded

    try:
        with heeded():
            return start(arguments)
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
        if refusal is None:
            return _report_our_bug(arguments.root)
        tell(f"error: {refusal}")
        return refusal.exit_code


def _report_our_bug(root: str) -> int:
    import time
    import traceback
    from pathlib import Path

    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    log = Path(root) / ".fairtrial" / "logs" / name
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


# --- running ------------------------------------------------------------------------------------


def run(request: RunRequest) -> int:
    if request.dry_run:
        return _show_estimate(request)
    return _run_cells(request)


def _run_cells(request: RunRequest) -> int:
    from dataclasses import replace

    from runner import plan
    from runner.agents import AGENTS
    from runner.catalog import pick
    from runner.executors import EXECUTORS
    from runner.models import agent_for
    from runner.models.weights import served
    from runner.spending import spent
    from runner.store import RunStore

    checkout = _judging_checkout(request)
    scenarios = checkout.choose_scenarios(request.scenarios)
    servers = checkout.choose_servers(request.servers)
    models, settings, spending = _models(request)
    agent = request.agent or agent_for(models)
    pick(AGENTS, agent, "agent")
    executor = pick(EXECUTORS, request.executor, "executor")(jobs=request.jobs)
    name = request.name or plan.default_name(scenarios, servers, models, request.trials, agent)
    plan.check_name(name)
    store = RunStore(_runs(request) / name)
    _judge_as(checkout, request, store)
    _require_judges(checkout)
    gate = _pass_gate(request.gate, checkout, scenarios)
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
        return _show_report(store, checkout, loaded, gate, as_json=request.json)


def _models(request: RunRequest) -> tuple[list[str], ModelSettings, Spending]:
    """The models asked for, each known to open, how, and what they may cost."""
    from dataclasses import replace

    from runner.models import open_model
    from runner.models.weights import located
    from runner.spending import spending_for

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
    from runner import plan
    from runner.benchmarks import BENCHMARKS
    from runner.sandbox.engine import sweep

    benchmark = BENCHMARKS[prepared.benchmark]
    for line in benchmark.left_out(prepared):
        tell(f"left out: {line}")
    sweep(checkout.engine, run=store.label)
    wanted = plan.Wanted(
        cells=benchmark.cells(prepared, models, request.trials),
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
    from runner.interrupts import run_until_done
    from runner.plan import unfinished
    from runner.report.progress import live

    blocks = unfinished(planned)
    cells = sum(map(len, blocks))
    finished = len(planned.cells) - cells
    priced = prepared.spending.has_price_of({item.cell.model for item in planned.cells})
    with live(cells, sys.stderr, finished=finished, priced=priced) as progress:
        run_until_done(executor.run(blocks, prepared, store, progress))


def _show_estimate(request: RunRequest) -> int:
    from runner.estimate import Asked, estimate
    from runner.models import require_known
    from runner.models.weights import short_name
    from runner.spending import spending_for

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
    from runner.models import kind_of

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
    from runner.audit import with_cards

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
    scenarios = {cell.scenario for cell in store.plan().cells}
    gate = _pass_gate(request.gate, checkout, scenarios)
    loaded = checkout.audit(store).whole()
    return _show_report(store, checkout, loaded, gate, as_json=request.json)


def attest(request: AttestRequest) -> int:
    from runner.attest import statement_of
    from runner.store import write_whole

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
    gate = _pass_gate(policy, checkout, {cell.scenario for cell in store.plan().cells})
    return checkout.report(checkout.audit(store).whole(), gate=gate)


def verify_report(request: VerifyReportRequest) -> int:
    from runner import attest
    from runner.errors import GateError
    from runner.records.attestation import read_statement

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


def _show_report(
    store: RunStore, checkout: Checkout, loaded: LoadedRun, gate: Gate | None, *, as_json: bool
) -> int:
    from runner.report import terminal
    from runner.report.files import write_report

    built = checkout.report(loaded, gate=gate)
    paths = list(write_report(built, store.folder))
    if as_json:
        show(built.model_dump_json(indent=2))
    else:
        width = min(_terminal_columns(), WIDEST_COLUMNS)
        show(terminal.render(built, width=width, colour=sys.stdout.isatty()))
        for path in paths:
            tell(f"wrote {path}")
    return max(_code_for_broken_cells(loaded), _code_for_contradictions(store, loaded))


# --- what was run elsewhere ---------------------------------------------------------------------


def import_cells(request: ImportRequest) -> int:
    from runner import plan
    from runner.importers.runs import arrivals, import_cells
    from runner.store import RunStore

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
        return _show_report(store, checkout, loaded, gate, as_json=request.json)


def import_scenario(request: ImportScenarioRequest) -> int:
    from runner.importers.scenarios import import_scenario

    imported = import_scenario(request)
    if request.json:
        show_json(imported.as_json())
    else:
        show(imported.as_text())
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
    proofs = []
    for proof in _checkout(request).prove(request.scenarios):
        proofs.append(proof)
        if not request.json:
            show(proof.as_text())
    failed = sum(1 for proof in proofs if proof.problems)
    if request.json:
        show_json([proof.as_json() for proof in proofs])
    else:
        show(f"{len(proofs) - failed} of {len(proofs)} scenarios prove themselves")
    return FAILED if failed else OK


def lock(request: LockRequest) -> int:
    for line in _checkout(request).lock(check=request.check):
        show(line)
    return OK


def server(request: ServerRequest) -> int:
    if request.action == "list":
        return _list_servers(request)
    return _check_servers(request)


def _list_servers(request: ServerRequest) -> int:
    known = _checkout(request).catalog.servers
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
    names = request.names or tuple(checkout.catalog.servers)
    cards = [checkout.check_server(name, request.scenario) for name in names]
    if request.json:
        show_json([card.model_dump(mode="json") for card in cards])
    else:
        for card in cards:
            show(card_text(card))
    if all(card.canary_passed for card in cards):
        return OK
    return FAILED


def ground(request: GroundRequest) -> int:
    import json

    from runner.grounding.command import ground_file
    from runner.grounding.files import GitFiles
    from runner.report.citations import citations_text
    from runner.repository import open_repository

    cache = _cache(request)
    repository, commit = open_repository(
        request.repo, request.commit, cache / "repositories", environ=dict(os.environ)
    )
    files = GitFiles(repository, commit)
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
    return OK


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
    from runner.benchmarks.toolbench.data import load_chosen

    return load_chosen(
        chosen.data,
        difficulties=chosen.difficulties,
        categories=chosen.categories,
        limit=chosen.limit,
    )


def _list_tasks(tasks: Seq[Task]) -> int:
    from runner.benchmarks.toolbench.data import counted

    show("\n".join([*counted(tasks), f"{len(tasks)} tasks"]))
    return OK


def _score_responses(request: ToolbenchRequest, tasks: Seq[Task], problems: list[str]) -> int:
    from runner.benchmarks.toolbench.responses import read_responses
    from runner.benchmarks.toolbench.scoring import Scorer, answers_to, report_of
    from runner.benchmarks.toolbench.shown import tables_of
    from runner.errors import FairtrialError

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

    from runner.benchmarks.toolbench import runs
    from runner.benchmarks.toolbench.variants import read_variant
    from runner.errors import FairtrialError
    from runner.executors import EXECUTORS
    from runner.models.weights import served
    from runner.plan import check_name
    from runner.store import RunStore

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
    from runner.benchmarks.toolbench.estimate import estimated
    from runner.models import require_known
    from runner.models.weights import short_name
    from runner.spending import spending_for

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
    store: RunStore, prepared: PreparedRun, models: Seq[str], request: ToolbenchRunRequest
) -> LoadedRun:
    from runner import plan
    from runner.benchmarks import BENCHMARKS

    benchmark = BENCHMARKS[prepared.benchmark]
    for line in benchmark.left_out(prepared):
        tell(f"left out: {line}")
    wanted = plan.Wanted(
        cells=benchmark.cells(prepared, models, request.trials),
        # No judge, and so no gate: calls are compared with labels.
        ungated=True,
        prices=prepared.spending.prices,
        seed=request.seed,
        benchmark=prepared.benchmark,
    )
    return plan.load_or_create_plan(store, wanted)


def toolbench_report(request: ToolbenchReportRequest) -> int:
    return _report_tasks(request, request.run, compat=request.compat, as_json=request.json)


def _report_tasks(request: Request, run: str, *, compat: str, as_json: bool) -> int:
    from runner.benchmarks.toolbench.run_files import write_report
    from runner.benchmarks.toolbench.run_report import report_of_run
    from runner.benchmarks.toolbench.shown import tables_of_run

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
    from runner.audit import Audit
    from runner.benchmarks.toolbench.cells import BENCHMARK
    from runner.benchmarks.toolbench.runs import read_setup

    read_setup(store)
    return Audit(store=store, checkout=_checkout(request), benchmark=BENCHMARK).evidence()


def toolbench_confuse(request: ConfuseRequest) -> int:
    from runner.benchmarks.toolbench.shown import comparison_tables, confusion_tables

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
    from runner.benchmarks.toolbench.data import load
    from runner.benchmarks.toolbench.responses import read_responses
    from runner.benchmarks.toolbench.scoring import Scorer, answers_to
    from runner.errors import FairtrialError

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
    from runner.benchmarks.toolbench.run_report import labelled, read_run
    from runner.errors import FairtrialError

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
    from runner.benchmarks.toolbench.runs import read_setup, runs_of_tasks
    from runner.benchmarks.toolbench.variants import read_variant
    from runner.errors import FairtrialError

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


def judge(request: JudgeRequest) -> int:
    if request.run:
        return _judge_run(request)
    return _judge_answer(request)


def _judge_answer(request: JudgeRequest) -> int:
    from runner.judging import judge_file, verdict_json
    from runner.report.judged import verdict_text

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
    from runner.judges.pairwise import pair_lines
    from runner.judging import compare_close, estimate
    from runner.report.judged import run_json, run_text

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
    from runner.judge_noise import noise_of
    from runner.report.judged import noise_text

    noise = noise_of(_store(request, request.run))
    if request.json:
        show_json(noise.model_dump(mode="json"))
    else:
        show(noise_text(noise))
    return OK


def clean(request: CleanRequest) -> int:
    for line in _checkout(request).clean(everything=request.everything):
        show(line)
    return OK


# --- the gate -----------------------------------------------------------------------------------


def verify_anchors(request: VerifyAnchorsRequest) -> int:
    from runner.anchors import gate
    from runner.errors import GateError
    from runner.report.gate import gate_text, standing_text

    try:
        checkout = _judging_checkout(request)
        verdict = gate.verify(
            request.root, checkout.judge, sources=checkout.source, pairs="again", log=tell
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
    from runner.anchors import gate
    from runner.report.gate import proposal_text

    checkout = _judging_checkout(request)
    proposal = gate.propose(request.root, checkout.judge, sources=checkout.source, log=tell)
    show(proposal_text(proposal))
    if proposal.refusals:
        return proposal.refusals[0].exit_code
    return OK


def _write_generation(request: AnchorsRequest) -> int:
    from datetime import UTC, datetime

    from runner.anchors import chain, gate
    from runner.report.gate import gate_text, standing_text

    moves = {"accept": gate.accept, "regrade": gate.regrade}
    today = datetime.now(UTC).date().isoformat()
    checkout = _judging_checkout(request)
    examined = moves[request.action](
        request.root,
        checkout.judge,
        reason=request.reason,
        date=today,
        sources=checkout.source,
        log=tell,
    )
    show(gate_text(examined.verdict))
    show(standing_text(examined.verdict))
    generation = chain.read_chain(request.root)[-1]
    number = f"generation {generation.generation} ({generation.kind})"
    tell(f"wrote {chain.LOCK}, {number}; commit locks/")
    gate.require(examined.verdict)
    return OK


def _pass_gate(policy: GatePolicy, checkout: Checkout, scenarios: Collection[str]) -> Gate | None:
    """What stands in front of the result; None if the policy goes on without it.

    Raises GateError if the gate is closed and the policy requires it.
    """
    from runner.anchors import gate
    from runner.errors import GateError

    if policy == "skip":
        return None
    try:
        verdict = gate.verify(
            checkout.root,
            checkout.judge,
            scenarios=scenarios,
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


# --- what verbs share ---------------------------------------------------------------------------


def _checkout(request: Request) -> Checkout:
    from runner.checkout import Checkout

    # Git and npm get this environment; a hook of theirs has no use for a model's key.
    environ = {name: value for name, value in os.environ.items() if name not in KEYS}
    return Checkout(root=request.root, state=_state(request), environ=environ, log=tell)


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
    from runner.judges.replies import Replies
    from runner.judging import with_endpoints
    from runner.records import Judging

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

    judging = request.judging or store.judging() or Judging()
    _set_judge(checkout, request, judging, store.judged, 0.0)


def _set_judge(
    checkout: Checkout, request: JudgedRequest, judging: Judging, replies: Path, spent_usd: float
) -> None:
    from runner.judges import models_of
    from runner.judges.settings import JudgeSettings
    from runner.spending import purse_for

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

    from runner.models.settings import LocalSettings

    # No cell is at work while answers are judged.
    threads = os.cpu_count() or 1
    local = LocalSettings(files=request.weights, threads=threads, context_tokens=4096)
    return replace(_providers(), local=local)


def _require_judges(checkout: Checkout) -> None:
    """A judge's wrong name or missing key must not come to light when all cells are paid for."""
    from runner.judges import models_of
    from runner.models import open_model

    settings = checkout.judge_settings
    for model in models_of(settings.judging.judges):
        open_model(model, settings.models)
    _ = checkout.judge


def _model_settings(request: RunRequest) -> ModelSettings:
    from dataclasses import replace

    from runner.models.settings import ApiSlots, LocalSettings

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
    from runner.models.settings import Endpoint, ModelSettings

    anthropic_key, openai_key = (os.environ.get(name, "") for name in KEYS)
    return ModelSettings(
        anthropic=Endpoint(key=anthropic_key, url=os.environ.get("ANTHROPIC_BASE_URL", "")),
        openai=Endpoint(key=openai_key, url=os.environ.get("OPENAI_BASE_URL", "")),
    )


def _state(request: Request) -> Path:
    return request.root / ".fairtrial"


def _cache(request: Request) -> Path:
    """For verbs that work anywhere: the checkout's own, else the user's.

    Without it, `fairtrial ground` would leave a `.fairtrial` in whatever folder it is run in.
    """
    from pathlib import Path

    if (request.root / "scenarios").is_dir():
        return _state(request)
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "fairtrial"


def _runs(request: Request) -> Path:
    return request.root / "runs"


def _store(request: Request, run: str) -> RunStore:
    """By the run's name under runs/, or by the path of its folder."""
    from pathlib import Path

    from runner.store import RunStore

    given = Path(run)
    if given.is_dir():
        return RunStore(given)
    return RunStore(_runs(request) / run)


# --- parsers, one per verb ----------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fairtrial",
        description=DESCRIPTION,
        epilog=EXIT_CODES,
        formatter_class=_help_formatter,
    )
    parser.add_argument("--version", action="version", version=f"fairtrial {__version__}")
    parser.add_argument(
        "--root",
        default=".",
        help="the folder that holds scenarios/, images/ and locks/ (default: this one)",
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for add_verb in (
        _add_demo,
        _add_cell,
        _add_run,
        _add_score,
        _add_report,
        _add_attest,
        _add_verify_report,
        _add_import,
        _add_check,
        _add_lock,
        _add_server,
        _add_verify_anchors,
        _add_anchors,
        _add_ground,
        _add_toolbench,
        _add_judge_verb,
        _add_judge_noise,
        _add_clean,
    ):
        add_verb(verbs)
    return parser


def _help_formatter(prog: str) -> argparse.HelpFormatter:
    # Left to find the width itself, argparse imports shutil: a fifth of what --help costs.
    return argparse.RawDescriptionHelpFormatter(prog, width=_help_columns() - 2)


def _verb_formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=_help_columns() - 2)


def _help_columns() -> int:
    """As shutil.get_terminal_size has it: COLUMNS, else the terminal's width, else 80."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # stdout is closed, or no terminal
        return 80


def _add(
    verbs: Verbs, name: str, start: Callable[[argparse.Namespace], int], text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=text, description=text, formatter_class=_verb_formatter
    )
    parser.set_defaults(start=start)
    return parser


def _root(arguments: argparse.Namespace) -> Path:
    from pathlib import Path

    return Path(arguments.root).resolve()


def _add_demo(verbs: Verbs) -> None:
    text = "compare the shell with two servers on two scenarios, and write the report"
    parser = _add(verbs, "demo", _start_demo, text)
    _add_run_name(parser)
    _add_json(parser, "print report.json instead of the table")
    _add_jobs(parser)


def _start_demo(arguments: argparse.Namespace) -> int:
    from runner.requests import RunRequest

    request = RunRequest(
        root=_root(arguments),
        scenarios=DEMO_SCENARIOS,
        servers=DEMO_SERVERS,
        models=("offline",),
        agent=AGENT,
        threads=1,
        context_tokens=CONTEXT_TOKENS,
        thinking_tokens=TURN_TOKENS,
        output_tokens=TURN_TOKENS,
        cell_usd=None,
        dry_run=False,
        trials=1,
        jobs=arguments.jobs,
        executor="local",
        name=arguments.run,
        gate="prefer",
        json=arguments.json,
    )
    return run(request)


def _add_cell(verbs: Verbs) -> None:
    parser = _add(verbs, "cell", _start_cell, "run one cell: a scenario with a server")
    parser.add_argument("scenario")
    parser.add_argument("server")
    parser.add_argument("--model", default="offline", help=MODEL_HELP)
    _add_model_limits(parser)
    _add_spending(parser)
    _add_judge(parser)
    _add_run_name(parser)
    _add_json(parser, "print report.json instead of the table")
    _add_ungated(parser)


def _start_cell(arguments: argparse.Namespace) -> int:
    from runner.requests import RunRequest

    request = RunRequest(
        root=_root(arguments),
        scenarios=(arguments.scenario,),
        servers=(arguments.server,),
        models=(arguments.model,),
        agent=arguments.agent,
        threads=arguments.threads,
        context_tokens=arguments.context_tokens,
        thinking_tokens=arguments.thinking_tokens,
        output_tokens=arguments.output_tokens,
        cell_usd=arguments.cell_dollars,
        **_judged(arguments),
        dry_run=arguments.dry_run,
        trials=1,
        jobs=1,
        executor="local",
        name=arguments.run,
        gate=arguments.gate,
        json=arguments.json,
    )
    return run(request)


def _add_run(verbs: Verbs) -> None:
    text = "run scenarios × servers × models × trials, score them, and write the report"
    parser = _add(verbs, "run", _start_run, text)
    _add_repeatable(parser, "--scenario", "repeatable (default: all of scenarios/core)")
    _add_repeatable(parser, "--server", "repeatable; `shell` is always an arm (default: all)")
    _add_repeatable(parser, "--model", f"repeatable; {MODEL_HELP}")
    _add_model_limits(parser)
    _add_spending(parser)
    _add_judge(parser)
    parser.add_argument(
        "--trials",
        type=_at_least_one,
        default=1,
        metavar="N",
        help=(
            "cells of each kind (default: 1); fixed before, and there is no rule that stops a run "
            "when its figures please: looking until they do finds differences that are not there"
        ),
    )
    _add_study(parser)
    parser.add_argument(
        "--executor", default="local", metavar="NAME", help="where cells run (default: local)"
    )
    _add_run_name(parser)
    _add_json(parser, "print report.json instead of the table")
    _add_jobs(parser)
    _add_ungated(parser)


def _start_run(arguments: argparse.Namespace) -> int:
    from runner.requests import RunRequest

    request = RunRequest(
        root=_root(arguments),
        scenarios=tuple(arguments.scenario),
        servers=tuple(arguments.server),
        **_asked(arguments),
        **_judged(arguments),
        executor=arguments.executor,
        gate=arguments.gate,
    )
    return run(request)


def _add_score(verbs: Verbs) -> None:
    text = "score a run again from its transcripts, with no Docker"
    parser = _add(verbs, "score", _start_score, text)
    parser.add_argument("run", metavar="RUN")
    _add_json(parser, "one scorecard a line")
    _add_judge(parser)
    _add_judge_spending(parser)


def _start_score(arguments: argparse.Namespace) -> int:
    from runner.requests import ScoreRequest

    request = ScoreRequest(
        root=_root(arguments), run=arguments.run, json=arguments.json, **_judged(arguments)
    )
    return score(request)


def _add_report(verbs: Verbs) -> None:
    text = (
        "score a run again, show its report, and write report.md, report.json and report.html; "
        "exit 1 if its files contradict each other"
    )
    parser = _add(verbs, "report", _start_report, text)
    parser.add_argument("run", metavar="RUN")
    _add_judge(parser)
    _add_ungated(parser)
    _add_json(parser)


def _start_report(arguments: argparse.Namespace) -> int:
    from runner.requests import ReportRequest

    request = ReportRequest(
        root=_root(arguments),
        run=arguments.run,
        judging=_judging(arguments),
        gate=arguments.gate,
        json=arguments.json,
    )
    return report(request)


def _add_attest(verbs: Verbs) -> None:
    text = "write digests of a run, its report and its locks, for verify-report elsewhere"
    parser = _add(verbs, "attest", _start_attest, text)
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--output", metavar="FILE", help="default: stdout")
    _add_ungated(parser)


def _start_attest(arguments: argparse.Namespace) -> int:
    from runner.requests import AttestRequest

    request = AttestRequest(
        root=_root(arguments),
        run=arguments.run,
        gate=arguments.gate,
        output=_optional_path(arguments.output),
    )
    return attest(request)


def _add_verify_report(verbs: Verbs) -> None:
    text = "make an attested report again from its transcripts; exit 1 names what differs"
    parser = _add(verbs, "verify-report", _start_verify_report, text)
    parser.add_argument("file", metavar="FILE", help="as `fairtrial attest` wrote it")
    parser.add_argument(
        "--run", default="", metavar="RUN", help="name or folder (default: what the file names)"
    )
    _add_json(parser)


def _start_verify_report(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from runner.requests import VerifyReportRequest

    request = VerifyReportRequest(
        root=_root(arguments), file=Path(arguments.file), run=arguments.run, json=arguments.json
    )
    return verify_report(request)


def _add_import(verbs: Verbs) -> None:
    text = "bring in what was run elsewhere, marked as such: transcripts, or a scenario"
    parser = verbs.add_parser(
        "import", help=text, description=text, formatter_class=_verb_formatter
    )
    kinds = parser.add_subparsers(title="what", metavar="WHAT", required=True)
    _add_import_claude_code(kinds)
    _add_import_scenario(kinds)


def _add_import_claude_code(kinds: Verbs) -> None:
    text = (
        "make cells of Claude Code's stream-json transcripts, score them, and report them as "
        "imported; several files of one arm are its trials"
    )
    parser = _add(kinds, "claude-code", _start_import_cells, text)
    parser.add_argument(
        "file", nargs="+", metavar="[SERVER=]FILE", help="a transcript, of --server or of its own"
    )
    parser.add_argument("--scenario", required=True, metavar="S", help="what it answers")
    parser.add_argument(
        "--server", default="", metavar="X", help="the arm; `shell` is the baseline"
    )
    parser.add_argument(
        "--mounted", default="", metavar="NAME", help="what Claude Code called it (default: X)"
    )
    _add_run_name(parser)
    _add_ungated(parser)
    _add_json(parser, "print report.json instead of the table")


def _start_import_cells(arguments: argparse.Namespace) -> int:
    from runner.requests import ImportRequest

    request = ImportRequest(
        root=_root(arguments),
        files=tuple(arguments.file),
        scenario=arguments.scenario,
        server=arguments.server,
        mounted=arguments.mounted,
        name=arguments.run,
        gate=arguments.gate,
        json=arguments.json,
    )
    return import_cells(request)


def _add_import_scenario(kinds: Verbs) -> None:
    text = (
        "write a scenario and its rubric from the YAML of luuuc/sense's bench, unreviewed: what "
        "its form does not hold (facts, places, a reference) is left out and said"
    )
    parser = _add(kinds, "scenario", _start_import_scenario, text)
    parser.add_argument("file", metavar="FILE", help="<name>.yaml, beside <name>.rubric.yaml")
    parser.add_argument("--rubric", metavar="FILE", help="if it is somewhere else")
    parser.add_argument("--repo", required=True, metavar="URL", help="the repository it asks about")
    parser.add_argument("--commit", required=True, metavar="SHA", help="the full commit")
    parser.add_argument("--language", required=True, metavar="NAME", help="such as python")
    parser.add_argument("--id", default="", metavar="NAME", help="default: the file's name")
    parser.add_argument("--tokens", type=_at_least_one, metavar="N", help="the budget's ceiling")
    parser.add_argument("--wall-sec", type=_at_least_one, metavar="N", help="the budget's ceiling")
    _add_json(parser)


def _start_import_scenario(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from runner.requests import ImportScenarioRequest

    request = ImportScenarioRequest(
        root=_root(arguments),
        file=Path(arguments.file),
        rubric=_optional_path(arguments.rubric),
        url=arguments.repo,
        commit=arguments.commit,
        id=arguments.id,
        language=arguments.language,
        tokens=arguments.tokens,
        wall_sec=arguments.wall_sec,
        json=arguments.json,
    )
    return import_scenario(request)


def _add_check(verbs: Verbs) -> None:
    text = "prove the scenarios: gold passes, silence and cheats fail"
    parser = _add(verbs, "check", _start_check, text)
    parser.add_argument("scenario", nargs="*", metavar="SCENARIO")
    _add_json(parser)


def _start_check(arguments: argparse.Namespace) -> int:
    from runner.requests import CheckRequest

    scenarios = tuple(arguments.scenario)
    return check(CheckRequest(root=_root(arguments), scenarios=scenarios, json=arguments.json))


def _add_lock(verbs: Verbs) -> None:
    parser = _add(verbs, "lock", _start_lock, "pin every repository and image in locks/")
    check_help = "change nothing; exit 1 if a lock is out of date"
    parser.add_argument("--check", action="store_true", help=check_help)


def _start_lock(arguments: argparse.Namespace) -> int:
    from runner.requests import LockRequest

    return lock(LockRequest(root=_root(arguments), check=arguments.check))


def _add_server(verbs: Verbs) -> None:
    text = "list the servers, or examine some in the sandbox"
    parser = _add(verbs, "server", _start_server, text)
    parser.add_argument("action", choices=("list", "check"))
    parser.add_argument("name", nargs="*", metavar="NAME", help="default: every server")
    parser.add_argument(
        "--scenario",
        default="",
        help="whose repository to mount (default: one the server has a canary for)",
    )
    _add_json(parser)


def _start_server(arguments: argparse.Namespace) -> int:
    from runner.requests import ServerRequest

    request = ServerRequest(
        root=_root(arguments),
        action=arguments.action,
        names=tuple(arguments.name),
        scenario=arguments.scenario,
        json=arguments.json,
    )
    return server(request)


def _add_verify_anchors(verbs: Verbs) -> None:
    text = "the gate: anchors unchanged, still ranked as graded by hand; does the judge rank?"
    parser = _add(verbs, "verify-anchors", _start_verify_anchors, text)
    parser.add_argument(
        "--require",
        choices=["screens", "ranks"],
        default="screens",
        help="exit 4 unless the judge does so much (default: screens)",
    )
    _add_json(parser)
    _add_judge(parser)
    _add_judge_spending(parser)


def _start_verify_anchors(arguments: argparse.Namespace) -> int:
    from runner.requests import VerifyAnchorsRequest

    request = VerifyAnchorsRequest(
        root=_root(arguments),
        require=arguments.require,
        json=arguments.json,
        **_judged(arguments),
    )
    return verify_anchors(request)


def _add_anchors(verbs: Verbs) -> None:
    text = "show what a changed rubric does to the anchors, accept it, or grade them anew"
    parser = _add(verbs, "anchors", _start_anchors, text)
    parser.add_argument("action", choices=("propose", "accept", "regrade"))
    parser.add_argument(
        "--reason",
        default="",
        help="what changed, and why; accept and regrade keep it for every later report",
    )
    _add_judge(parser)
    _add_judge_spending(parser)


def _start_anchors(arguments: argparse.Namespace) -> int:
    from runner.requests import AnchorsRequest

    request = AnchorsRequest(
        root=_root(arguments),
        action=arguments.action,
        reason=arguments.reason,
        **_judged(arguments),
    )
    return anchors(request)


def _add_ground(verbs: Verbs) -> None:
    text = "verify the citations of any text or transcript against a commit"
    parser = _add(verbs, "ground", _start_ground, text)
    parser.add_argument(
        "--repo",
        required=True,
        metavar="PATH_OR_URL",
        help="a repository that git can read or clone",
    )
    parser.add_argument(
        "--commit", required=True, metavar="SHA", help="the full commit the text speaks of"
    )
    parser.add_argument(
        "--root",
        action="append",
        default=[],
        dest="root_path",
        metavar="PATH",
        help="an absolute path by which the text calls the repository; repeatable",
    )
    _add_json(parser, "one JSON object per file")
    parser.add_argument(
        "file", nargs="+", metavar="FILE", help="Markdown, plain text, or a transcript"
    )


def _start_ground(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from runner.requests import GroundRequest

    request = GroundRequest(
        root=_root(arguments),
        repo=arguments.repo,
        commit=arguments.commit,
        roots=tuple(arguments.root_path),
        files=tuple(map(Path, arguments.file)),
        json=arguments.json,
    )
    return ground(request)


def _add_toolbench(verbs: Verbs) -> None:
    text = "MCPToolBench++: does a model find, choose and call the right MCP tools?"
    parser = verbs.add_parser(
        "toolbench", help=text, description=text, formatter_class=_verb_formatter
    )
    actions = parser.add_subparsers(title="what", metavar="WHAT", required=True)
    _add_toolbench_run(actions)
    _add_toolbench_score(actions)
    _add_toolbench_report(actions)
    _add_toolbench_confuse(actions)
    _add_toolbench_check(actions)


def _add_task_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", nargs="+", metavar="DATA", help="files or folders of the benchmark's data, or URLs"
    )
    _add_repeatable(parser, "--difficulty", "repeatable; easy, single, hard, multi or medium")
    _add_repeatable(parser, "--category", "repeatable; such as browser; case does not matter")
    parser.add_argument(
        "-n", type=_at_least_one, metavar="N", help="only the first N of these tasks"
    )
    parser.add_argument("--list", action="store_true", help="say how many tasks there are of each")


def _task_choice(arguments: argparse.Namespace) -> TaskChoice:
    from runner.requests import TaskChoice

    return TaskChoice(
        data=tuple(arguments.data),
        difficulties=tuple(arguments.difficulty),
        categories=tuple(arguments.category),
        limit=arguments.n,
    )


def _add_compat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--compat", choices=("mcpbr",), default="", help="score as that tool does, to the letter"
    )


def _add_toolbench_run(actions: Verbs) -> None:
    text = "put tasks to models, score the calls that they ask for, and report; nothing is executed"
    parser = _add(actions, "run", _start_toolbench_run, text)
    _add_task_choice(parser)
    _add_repeatable(parser, "--model", f"repeatable; {MODEL_HELP}")
    parser.add_argument(
        "--mode",
        choices=("native", "json"),
        default="native",
        help="native: the tools go to the API as tools; json: one prompt that asks for a JSON "
        "array (default: native)",
    )
    parser.add_argument(
        "--prompt",
        metavar="FILE",
        help="another prompt, with {problem_statement} or {query} where the task has to stand",
    )
    parser.add_argument(
        "--variant",
        metavar="FILE",
        help="a server.yaml with other names or descriptions of tools, measured beside them",
    )
    parser.add_argument(
        "--trials", type=_at_least_one, default=1, metavar="N", help="of each task (default: 1)"
    )
    _add_model_limits(parser)
    _add_spending(parser)
    _add_study(parser)
    _add_run_name(parser)
    _add_json(parser, "print report.json instead of the tables")
    _add_jobs(parser)


def _start_toolbench_run(arguments: argparse.Namespace) -> int:
    from runner.requests import ToolbenchRunRequest

    request = ToolbenchRunRequest(
        root=_root(arguments),
        chosen=_task_choice(arguments),
        mode=arguments.mode,
        prompt=_optional_path(arguments.prompt),
        variant=_optional_path(arguments.variant),
        list=arguments.list,
        scenarios=(),
        servers=(),
        **_asked(arguments),
        prices=_optional_path(arguments.prices),
        run_usd=arguments.max_dollars,
        executor="local",
        gate="skip",
    )
    return toolbench_run(request)


def _add_toolbench_score(actions: Verbs) -> None:
    text = "score answers from a file, or a run again from its transcripts (DATA is its name then)"
    parser = _add(actions, "score", _start_toolbench_score, text)
    _add_task_choice(parser)
    parser.add_argument(
        "--responses", metavar="FILE", help="what was answered: {uuid: answer}, or lines of JSON"
    )
    _add_compat(parser)
    _add_json(parser)


def _start_toolbench_score(arguments: argparse.Namespace) -> int:
    from runner.requests import ToolbenchRequest

    request = ToolbenchRequest(
        root=_root(arguments),
        chosen=_task_choice(arguments),
        responses=_optional_path(arguments.responses),
        list=arguments.list,
        compat=arguments.compat,
        json=arguments.json,
    )
    return toolbench_score(request)


def _add_toolbench_check(actions: Verbs) -> None:
    text = "score the data's own labels (all must resolve), and list what is wrong with the data"
    parser = _add(actions, "check", _start_toolbench_check, text)
    _add_task_choice(parser)
    _add_json(parser)


def _start_toolbench_check(arguments: argparse.Namespace) -> int:
    from runner.requests import ToolbenchRequest

    request = ToolbenchRequest(
        root=_root(arguments),
        chosen=_task_choice(arguments),
        responses=None,
        list=arguments.list,
        compat="",
        json=arguments.json,
    )
    return toolbench_check(request)


def _add_toolbench_report(actions: Verbs) -> None:
    text = "report a run of tasks again, from its transcripts and its data"
    parser = _add(actions, "report", _start_toolbench_report, text)
    parser.add_argument("run", metavar="RUN", help="its name under runs/, or its folder")
    _add_compat(parser)
    _add_json(parser)


def _start_toolbench_report(arguments: argparse.Namespace) -> int:
    from runner.requests import ToolbenchReportRequest

    request = ToolbenchReportRequest(
        root=_root(arguments),
        run=arguments.run,
        compat=arguments.compat,
        json=arguments.json,
    )
    return toolbench_report(request)


def _add_toolbench_confuse(actions: Verbs) -> None:
    text = (
        "which tools a model takes for which others; of two runs, two responses, or runs with "
        "--variant, also what changed, task by task"
    )
    parser = _add(actions, "confuse", _start_toolbench_confuse, text)
    parser.add_argument(
        "source",
        nargs="*",
        metavar="RUN|SERVER",
        help="runs (default: all runs of tasks), and servers whose tools are shown (default: all); "
        "with --responses, the data they answer",
    )
    _add_repeatable(parser, "--responses", "repeatable; a file of answers, as `score` reads it")
    _add_repeatable(parser, "--server", "repeatable; only tools of this server")
    parser.add_argument(
        "--variant", metavar="FILE", help="only runs made with this server.yaml (`run --variant`)"
    )
    _add_json(parser)


def _start_toolbench_confuse(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from runner.requests import ConfuseRequest

    request = ConfuseRequest(
        root=_root(arguments),
        sources=tuple(arguments.source),
        responses=tuple(map(Path, arguments.responses)),
        servers=tuple(arguments.server),
        variant=_optional_path(arguments.variant),
        json=arguments.json,
    )
    return toolbench_confuse(request)


def _add_judge_verb(verbs: Verbs) -> None:
    text = (
        "judge any answer to a scenario (quality, steps, criteria, each fact), "
        "or the answers of a run again"
    )
    parser = _add(verbs, "judge", _start_judge, text)
    parser.add_argument("run", nargs="?", default="", metavar="RUN")
    parser.add_argument("--scenario", default="", help="whose rubric to judge by")
    parser.add_argument(
        "--answer",
        metavar="FILE",
        help='a transcript (.jsonl), or JSON {"steps": [{"name": …, "text": …}]}',
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="of a run: say what it would take, and spend nothing",
    )
    parser.add_argument(
        "--pairwise",
        action="store_true",
        help="of a run: compare the answers of close arms with the shell's side by side, in both "
        "orders; a preference that the order decides is a tie",
    )
    _add_judge(parser)
    _add_judge_spending(parser)
    _add_json(parser)
    parser.set_defaults(refuse=parser.error)


def _start_judge(arguments: argparse.Namespace) -> int:
    from runner.requests import JudgeRequest

    is_answer = bool(arguments.scenario and arguments.answer)
    if bool(arguments.run) == bool(arguments.scenario or arguments.answer) or (
        not arguments.run and not is_answer
    ):
        arguments.refuse("give RUN, or --scenario S with --answer FILE")
    if (arguments.dry_run or arguments.pairwise) and not arguments.run:
        arguments.refuse("--dry-run and --pairwise are of a RUN")
    request = JudgeRequest(
        root=_root(arguments),
        run=arguments.run,
        scenario=arguments.scenario,
        answer=_optional_path(arguments.answer),
        dry_run=arguments.dry_run,
        pairwise=arguments.pairwise,
        json=arguments.json,
        **_judged(arguments),
    )
    return judge(request)


def _add_judge_noise(verbs: Verbs) -> None:
    text = "how far a judge's readings of one answer lie apart, and what may be ranked"
    parser = _add(verbs, "judge-noise", _start_judge_noise, text)
    parser.add_argument("run", metavar="RUN")
    _add_json(parser)


def _start_judge_noise(arguments: argparse.Namespace) -> int:
    from runner.requests import JudgeNoiseRequest

    request = JudgeNoiseRequest(root=_root(arguments), run=arguments.run, json=arguments.json)
    return judge_noise(request)


def _add_clean(verbs: Verbs) -> None:
    text = (
        "remove what killed runners left; "
        "with --all every container, volume, image and cache of ours"
    )
    parser = _add(verbs, "clean", _start_clean, text)
    parser.add_argument("--all", action="store_true")


def _start_clean(arguments: argparse.Namespace) -> int:
    from runner.requests import CleanRequest

    return clean(CleanRequest(root=_root(arguments), everything=arguments.all))


# --- options of several verbs -------------------------------------------------------------------


def _add_run_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--run",
        default="",
        metavar="NAME",
        help="the run's folder under runs/ (default: made from what is asked)",
    )


def _add_model_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agent",
        default="",
        metavar="NAME",
        help="how it calls tools: tool_calling, react or json_actions "
        f"(default: {AGENT}, and json_actions for local weights)",
    )
    parser.add_argument(
        "--threads",
        type=_at_least_one,
        default=_half_of_the_processors(),
        metavar="N",
        help="for local weights (default: half of this machine's)",
    )
    parser.add_argument(
        "--context-tokens",
        type=_at_least_one,
        default=CONTEXT_TOKENS,
        metavar="N",
        help=f"room for a conversation with local weights (default: {CONTEXT_TOKENS})",
    )
    parser.add_argument(
        "--thinking-tokens",
        type=_whole_number,
        default=TURN_TOKENS,
        metavar="N",
        help=f"a turn's, at most; 0 for none (default: {TURN_TOKENS})",
    )
    parser.add_argument(
        "--output-tokens",
        type=_at_least_one,
        default=TURN_TOKENS,
        metavar="N",
        help=f"a turn's, at most, thinking apart (default: {TURN_TOKENS})",
    )


def _add_spending(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what it would take and could find, and spend nothing",
    )
    parser.add_argument(
        "--prices", metavar="FILE", help="dollars per million tokens (default: runner/prices.yaml)"
    )
    parser.add_argument(
        "--cell-dollars", type=_dollars, metavar="USD", help="what one cell may cost"
    )
    parser.add_argument(
        "--max-dollars",
        type=_dollars,
        metavar="USD",
        help="what the run may cost, every attempt counted; the run ends there and can go on",
    )


def _add_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seed",
        type=_whole_number,
        metavar="N",
        help="draws the order of the arms in each block (default: made from the run's name)",
    )
    parser.add_argument(
        "--pass-at",
        type=_unit,
        metavar="F",
        help="the fairness from which on a trial passes, for pass^k (default: 0.5)",
    )
    parser.add_argument(
        "--api-jobs",
        type=_at_least_one,
        metavar="N",
        help="requests at a time at one provider, over all cells; waiting is no agent's time",
    )


def _add_json(parser: argparse.ArgumentParser, text: str = "for scripts") -> None:
    parser.add_argument("--json", action="store_true", help=text)


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        type=_at_least_one,
        default=1,
        metavar="N",
        help=(
            "blocks at a time (a block: all arms of one scenario, model and trial, one after "
            "another); more than 1 makes seconds noisier"
        ),
    )


def _add_ungated(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ungated",
        action="store_const",
        const="skip",
        default="require",
        dest="gate",
        help="go on without a passing gate; every page of the result says UNGATED",
    )


def _add_judge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="NAME",
        help="checklist, model:ID with an ID as --model takes it, or local:PATH.gguf, weights on "
        "this machine; several make a panel, whose median counts (default: as the run was judged "
        "before, else checklist)",
    )
    parser.add_argument(
        "--judge-form",
        choices=("tool", "schema"),
        default="tool",
        help="schema: for a model whose native tool calls fail (default: tool)",
    )
    parser.add_argument(
        "--judge-batch",
        type=_at_least_one,
        default=8,
        metavar="N",
        help="facts of one request, at most (default: 8)",
    )
    parser.add_argument(
        "--judge-seed",
        type=_whole_number,
        default=0,
        metavar="N",
        help="of the order of facts (default: 0)",
    )
    parser.add_argument(
        "--duplicates",
        type=_at_least_one,
        default=2,
        metavar="N",
        help="a model's readings of each answer; their mean counts (default: 2)",
    )


def _add_judge_spending(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prices", metavar="FILE", help="dollars per million tokens (default: runner/prices.yaml)"
    )
    parser.add_argument(
        "--max-dollars",
        type=_dollars,
        metavar="USD",
        help="what judging may cost, earlier judging of the run counted",
    )


def _judging(arguments: argparse.Namespace) -> Judging | None:
    """None if no judge is named: a run is then judged as it was before."""
    from runner.records import Judging

    if not arguments.judge:
        return None
    return Judging(
        judges=tuple(arguments.judge),
        form=arguments.judge_form,
        batch=arguments.judge_batch,
        seed=arguments.judge_seed,
        duplicates=arguments.duplicates,
    )


def _asked(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields of RunRequest that say which models are asked, how often and within what."""
    return {
        "models": tuple(arguments.model) or ("offline",),
        "agent": arguments.agent,
        "threads": arguments.threads,
        "context_tokens": arguments.context_tokens,
        "thinking_tokens": arguments.thinking_tokens,
        "output_tokens": arguments.output_tokens,
        "cell_usd": arguments.cell_dollars,
        "dry_run": arguments.dry_run,
        "trials": arguments.trials,
        "jobs": arguments.jobs,
        "api_jobs": arguments.api_jobs,
        "seed": arguments.seed,
        "pass_at": arguments.pass_at,
        "name": arguments.run,
        "json": arguments.json,
    }


def _judged(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields of JudgedRequest."""
    from runner.models.weights import located

    judging = _judging(arguments)
    files: dict[str, Weights] = {}
    if judging is not None:
        names, files = located(judging.judges, tell)
        digests = {name: file.sha256 for name, file in files.items()}
        judging = judging.model_copy(update={"judges": tuple(names), "weights": digests})
    return {
        "judging": judging,
        "weights": files,
        "prices": _optional_path(arguments.prices),
        "run_usd": arguments.max_dollars,
    }


def _add_repeatable(parser: argparse.ArgumentParser, option: str, text: str) -> None:
    parser.add_argument(option, action="append", default=[], metavar="NAME", help=text)


def _half_of_the_processors() -> int:
    # The other half is the container's, where commands and the server run.
    return max(1, (os.cpu_count() or 1) // 2)


def _at_least_one(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _dollars(text: str) -> float:
    try:
        dollars = float(text)
    except ValueError:
        dollars = 0.0
    if not 0 < dollars < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of dollars")
    return dollars


def _unit(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no figure from 0 to 1")
    return share


def _optional_path(text: str | None) -> Path | None:
    from pathlib import Path

    return Path(text) if text else None


def _whole_number(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


if __name__ == "__main__":
    main()
