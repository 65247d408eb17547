"""The command line: the one place that prints, reads the environment and exits. Each verb imports what it needs when it runs."""

from __future__ import annotations

import argparse
import os
import sys

from runner import __version__

TYPE_CHECKING = False  # importing typing, pathlib and json here would cost --help half of its time
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path
    from typing import Any

    from runner.checkout import Checkout
    from runner.errors import GateError
    from runner.protocols import Judge
    from runner.records import Gate, Scorecard
    from runner.report.records import Report
    from runner.store import LoadedRun, RunStore

OK, OUR_BUG, INTERRUPTED = 0, 70, 130
DEMO_SCENARIOS, DEMO_SERVERS = (
    ("flask-error-handling", "zod-issue-messages"),
    ("shell", "mcp-ripgrep", "code-index-mcp"),
)
EXIT_CODES = """\
exit codes:
  0 done   1 something you can fix (the message says what, where, and a hint)   2 usage
  3 anchors drifted   4 anchors disagree   5 no verdict   70 our bug   130 interrupted (the same command goes on)
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, run the verb, and exit with its code."""
    arguments = _parser().parse_args(argv)
    sys.exit(_run(arguments.verb_function, arguments))


def _run(verb: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    from runner.errors import FairtrialError

    try:
        return verb(arguments)
    except FairtrialError as error:
        tell(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        tell("interrupted: what is finished is kept, and the same command goes on from here")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (`head`, a pager) has what it wanted; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception:
        return _our_bug(arguments)


def _our_bug(arguments: argparse.Namespace) -> int:
    import time
    import traceback
    from pathlib import Path

    log = (
        Path(arguments.root)
        / ".fairtrial"
        / "logs"
        / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    )
    text = f"fairtrial {__version__}, Python {sys.version}\n{traceback.format_exc()}"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text, encoding="utf-8")
        tell(f"error: this is a bug of ours, not yours\nhint: please report it with {log}")
    except OSError:
        tell(f"error: this is a bug of ours, not yours, and its log could not be written\n{text}")
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


# --- verbs ----------------------------------------------------------------------------------


def verb_demo(arguments: argparse.Namespace) -> int:
    arguments.scenario, arguments.server, arguments.model = (
        list(DEMO_SCENARIOS),
        list(DEMO_SERVERS),
        ["offline"],
    )
    arguments.trials, arguments.ungated = (
        1,
        None,
    )  # behind the gate where it is open, marked where it is not
    return verb_run(arguments)


def verb_cell(arguments: argparse.Namespace) -> int:
    arguments.scenario, arguments.server, arguments.model = (
        [arguments.scenario],
        [arguments.server],
        [arguments.model],
    )
    arguments.trials, arguments.jobs = 1, 1
    return verb_run(arguments)


def verb_run(arguments: argparse.Namespace) -> int:
    from runner import plan
    from runner.executors.local import run_all, run_until_done
    from runner.models import open_model
    from runner.run import run_label
    from runner.sandbox.engine import sweep
    from runner.store import RunStore

    checkout = _workshop(arguments)
    scenarios, servers = checkout.choose(arguments.scenario, arguments.server)
    models = list(dict.fromkeys(arguments.model)) or ["offline"]
    for model in models:
        open_model(model)  # a wrong name must not cost the minutes that images and volumes take
    gate = _gate(arguments, checkout, scenarios)
    name = arguments.run or plan.default_name(scenarios, servers, models, arguments.trials)
    store = RunStore(_runs(arguments) / name)
    prepared = checkout.prepare(scenarios, servers)
    for line in plan.left_out(prepared):
        tell(f"left out: {line}; add one to its server.yaml to measure it there")
    with store.lock():
        sweep(prepared.client, run=run_label(store.folder))
        run = plan.load_or_create_plan(
            store, plan.cells(prepared, models, arguments.trials), ungated=gate is None
        )
        waiting = plan.unfinished(run)
        if len(waiting) < len(run.cells):
            tell(f"{len(run.cells) - len(waiting)} of {len(run.cells)} cells are finished and kept")
        with _progress(len(waiting)) as progress:
            run_until_done(run_all(waiting, prepared, store, progress, jobs=arguments.jobs))
        _score(store, checkout)
        _tell_differences(store)
        return _report(store, checkout, gate, as_json=arguments.json)


def verb_score(arguments: argparse.Namespace) -> int:
    store, checkout = _store(arguments), _workshop(arguments)
    with store.lock():
        if arguments.json:
            _score(store, checkout, lambda card: show(card.model_dump_json()))
        else:
            show(
                f"scored {_score(store, checkout)} of {len(store.plan().cells)} cells of {store.folder.name}"
            )
    return OK


def verb_report(arguments: argparse.Namespace) -> int:
    store, checkout = _store(arguments), _workshop(arguments)
    gate = _gate(arguments, checkout, {cell.scenario for cell in store.plan().cells})
    if gate:
        _require_judged_alike(store, checkout)
    return _report(store, checkout, gate, as_json=arguments.json)


def verb_check(arguments: argparse.Namespace) -> int:
    checkout = _workshop(arguments)
    proofs = []
    for proof in checkout.prove(arguments.scenario):
        proofs.append(proof)
        if not arguments.json:
            show(proof.as_text())
    bad = sum(1 for proof in proofs if proof.problems)
    if arguments.json:
        show_json([proof.as_json() for proof in proofs])
    else:
        show(f"{len(proofs) - bad} of {len(proofs)} scenarios prove themselves")
    return 1 if bad else OK


def verb_lock(arguments: argparse.Namespace) -> int:
    for line in _workshop(arguments).lock(check=arguments.check):
        show(line)
    return OK


def verb_server(arguments: argparse.Namespace) -> int:
    checkout = _workshop(arguments)
    if arguments.action == "list":
        known = checkout.catalog.servers
        if arguments.json:
            show_json([server.spec.model_dump(mode="json") for server in known.values()])
        else:
            for name, server in known.items():
                show(f"{name:26} {server.spec.version:10} {server.spec.title}")
        return OK
    cards = [
        checkout.check_server(name, arguments.scenario)
        for name in arguments.name or list(checkout.catalog.servers)
    ]
    if arguments.json:
        show_json([card.model_dump(mode="json") for card in cards])
    else:
        from runner.report.card import card_text

        for card in cards:
            show(card_text(card))
    return OK if all(card.canary_passed for card in cards) else 1


def verb_verify_anchors(arguments: argparse.Namespace) -> int:
    from runner.anchors import gate
    from runner.errors import GateError
    from runner.report.gate import gate_text

    try:
        verdict = gate.verify(_root(arguments), _judge(arguments))
    except GateError as error:
        if arguments.json:
            show_json(_refused(error))
        raise
    if arguments.json:
        show_json({"passed": not verdict.refusal, **verdict.model_dump(mode="json")})
    else:
        show(gate_text(verdict))
    gate.require(verdict)
    if not arguments.json:
        show("the gate is open")
    return OK


def _refused(error: GateError) -> dict[str, Any]:
    drifts = [vars(drift) for drift in getattr(error, "drifts", ())]
    return {
        "passed": False,
        "exit_code": error.exit_code,
        "refusal": error.what,
        "hint": error.hint,
        "drifts": drifts,
    }


def verb_anchors(arguments: argparse.Namespace) -> int:
    from datetime import UTC, datetime

    from runner.anchors import chain, gate
    from runner.report.gate import gate_text, proposal_text

    root, judge = _root(arguments), _judge(arguments)
    if arguments.action == "propose":
        proposal = gate.propose(root, judge)
        show(proposal_text(proposal))
        return proposal.refusals[0].exit_code if proposal.refusals else OK
    move = gate.accept if arguments.action == "accept" else gate.regrade
    examined = move(root, judge, reason=arguments.reason, date=datetime.now(UTC).date().isoformat())
    show(gate_text(examined.verdict))
    lock = chain.read_chain(root)[-1]
    tell(f"wrote {chain.LOCK}, generation {lock.generation} ({lock.kind}); commit locks/")
    gate.require(examined.verdict)
    return OK


def _judge(arguments: argparse.Namespace) -> Judge:
    from runner.catalog import pick
    from runner.judges import JUDGES

    return pick(JUDGES, arguments.judge, "judge")()


def verb_ground(arguments: argparse.Namespace) -> int:
    import json
    from pathlib import Path

    from runner.grounding.command import ground_file
    from runner.grounding.files import GitFiles
    from runner.report.citations import citations_text
    from runner.repository import open_repository

    state = _cache(arguments)
    repository, commit = open_repository(
        arguments.repo, arguments.commit, state / "repositories", environ=dict(os.environ)
    )
    files = GitFiles(repository, commit)
    for name in arguments.file:
        told, grounding = ground_file(
            Path(name),
            files,
            roots=arguments.root_path,
            cache_dir=state / "grounding",
            repo_urls=[arguments.repo],
        )
        if arguments.json:
            show(json.dumps(told, ensure_ascii=False, allow_nan=False))
        else:
            show(citations_text(name, files.commit, grounding.citations, grounding.summary))
    return OK


def verb_clean(arguments: argparse.Namespace) -> int:
    for line in _workshop(arguments).clean(everything=arguments.all):
        show(line)
    return OK


# --- what verbs share -----------------------------------------------------------------------


def _workshop(arguments: argparse.Namespace) -> Checkout:
    from runner.checkout import Checkout

    return Checkout(
        root=_root(arguments), state=_state(arguments), environ=dict(os.environ), log=tell
    )


def _root(arguments: argparse.Namespace) -> Path:
    from pathlib import Path

    return Path(arguments.root).resolve()


def _state(arguments: argparse.Namespace) -> Path:
    return _root(arguments) / ".fairtrial"


def _cache(arguments: argparse.Namespace) -> Path:
    """For verbs that work anywhere: the checkout's own, else the user's, so that no other folder is littered."""
    from pathlib import Path

    if (_root(arguments) / "scenarios").is_dir():
        return _state(arguments)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairtrial"


def _runs(arguments: argparse.Namespace) -> Path:
    return _root(arguments) / "runs"


def _store(arguments: argparse.Namespace) -> RunStore:
    from pathlib import Path

    from runner.store import RunStore

    given = Path(arguments.run)
    return RunStore(given if given.is_dir() else _runs(arguments) / arguments.run)


def _score(
    store: RunStore, checkout: Checkout, seen: Callable[[Scorecard], None] = lambda _: None
) -> int:
    """How many cells were scored. One scorecard in memory at a time: a run may have thousands."""
    count = 0
    for card in checkout.score(store):
        store.write_scorecard(card)
        seen(card)
        count += 1
    return count


def _tell_differences(store: RunStore) -> None:
    """Where a replayed recording's tools answer otherwise now."""
    from runner.models.replay import read_differences

    for cell in store.plan().cells:
        counted = store.counted_attempt(cell.id)
        told = read_differences(counted[0]) if counted else None
        if told is None:
            continue
        tell(
            f"{cell.scenario} × {cell.server}: {len(told.differences)} of {told.compared} replayed tool results differ"
        )
        for item in told.differences[:5]:
            tell(
                f"  step {item.step + 1}, {item.tool}\n    recorded: {item.recorded}\n    now:      {item.now}"
            )


def _gate(
    arguments: argparse.Namespace, checkout: Checkout, scenarios: Collection[str]
) -> Gate | None:
    """What stands in front of the result; None where --ungated goes on without. Raises GateError where it is closed."""
    from runner.anchors import gate
    from runner.errors import GateError

    if arguments.ungated:
        return None
    try:
        verdict = gate.verify(checkout.root, checkout.judge, scenarios=scenarios)
        gate.require(verdict)
        return gate.gate_record(checkout.root, verdict)
    except GateError as error:
        if arguments.ungated is not None:
            raise
        tell(f"UNGATED: {error.what}")
        return None


def _require_judged_alike(store: RunStore, checkout: Checkout) -> None:
    from runner.anchors.in_use import SCORE_AGAIN, judged_otherwise
    from runner.errors import AnchorsDrifted

    drifts = list(judged_otherwise(store, checkout.catalog, checkout.judge))
    if drifts:
        raise AnchorsDrifted(drifts, hint=SCORE_AGAIN)


def _report(store: RunStore, checkout: Checkout, gate: Gate | None, *, as_json: bool) -> int:
    from runner.report import terminal

    run = store.load()
    report = checkout.report(run, gate=gate)
    paths = _write_report(store, report)
    if as_json:
        show(report.model_dump_json(indent=2))
    else:
        show(terminal.render(report, width=min(_width(), 120), colour=sys.stdout.isatty()))
        tell("\n".join(f"wrote {path}" for path in paths))
    return OK if _all_measured(run) else 1


def _all_measured(run: LoadedRun) -> bool:
    broken = [item for item in run.cells if not item.measured]
    if broken:
        tell(
            f"error: {len(broken)} of {len(run.cells)} cells are not measured\nhint: the same `fairtrial run` tries them again"
        )
    return not broken


def _write_report(store: RunStore, report: Report) -> list[Path]:
    from runner.report.files import write_report

    return list(write_report(report, store.folder))


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def _progress(cells: int) -> Any:
    from runner.report.progress import live

    return live(cells, sys.stderr)


# --- the parser -----------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fairtrial",
        description="Give an MCP server a fair trial: does attaching it make a coding agent's answers better, or does it only burn tokens?",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fairtrial {__version__}")
    parser.add_argument(
        "--root",
        default=".",
        help="the folder that holds scenarios/, images/ and locks/ (default: this one)",
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)

    def verb(
        name: str, function: Callable[[argparse.Namespace], int], text: str
    ) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=text)
        made.set_defaults(verb_function=function)
        return made

    demo = verb(
        "demo",
        verb_demo,
        "compare the shell with two servers on two scenarios, and write the report",
    )
    cell = verb("cell", verb_cell, "run one cell: a scenario with a server")
    cell.add_argument("scenario")
    cell.add_argument("server")
    cell.add_argument(
        "--model", default="offline", help="offline, or replay:PATH (default: offline)"
    )
    run = verb(
        "run",
        verb_run,
        "run scenarios × servers × models × trials, score them, and write the report",
    )
    run.add_argument(
        "--scenario",
        action="append",
        default=[],
        metavar="NAME",
        help="repeatable (default: all of scenarios/core)",
    )
    run.add_argument(
        "--server",
        action="append",
        default=[],
        metavar="NAME",
        help="repeatable; `shell` is always an arm (default: all)",
    )
    run.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME",
        help="repeatable; offline, or replay:PATH (default: offline)",
    )
    run.add_argument(
        "--trials",
        type=_at_least_one,
        default=1,
        metavar="N",
        help="cells of each kind (default: 1)",
    )
    for made in (demo, cell, run):
        made.add_argument(
            "--run",
            default="",
            metavar="NAME",
            help="the run's folder under runs/ (default: made from what is asked)",
        )
        made.add_argument(
            "--json", action="store_true", help="print report.json instead of the table"
        )
    for made in (demo, run):
        made.add_argument(
            "--jobs",
            type=_at_least_one,
            default=1,
            metavar="N",
            help="cells at a time; more than 1 makes seconds noisier",
        )
    score = verb("score", verb_score, "score a run again from its transcripts, with no Docker")
    score.add_argument("run", metavar="RUN")
    report = verb(
        "report",
        verb_report,
        "show a run's report, and write report.md, report.json and report.html",
    )
    report.add_argument("run", metavar="RUN")
    for made in (cell, run, report):
        made.add_argument(
            "--ungated",
            action="store_true",
            help="go on without a passing gate; every page of the result says UNGATED",
        )
    check = verb("check", verb_check, "prove the scenarios: gold passes, silence and cheats fail")
    check.add_argument("scenario", nargs="*", metavar="SCENARIO")
    lock = verb("lock", verb_lock, "pin every repository and image in locks/")
    lock.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 where a lock is out of date"
    )
    _server_parser(verb("server", verb_server, "list the servers, or examine some in the sandbox"))
    score.add_argument("--json", action="store_true", help="one scorecard a line")
    for made in (report, check):
        made.add_argument("--json", action="store_true", help="for scripts")
    gate = verb(
        "verify-anchors",
        verb_verify_anchors,
        "the gate: anchors unchanged, and still ranked as graded by hand",
    )
    gate.add_argument("--json", action="store_true", help="for scripts")
    anchors = verb(
        "anchors",
        verb_anchors,
        "show what a changed rubric does to the anchors, accept it, or grade them anew",
    )
    anchors.add_argument("action", choices=("propose", "accept", "regrade"))
    anchors.add_argument(
        "--reason",
        default="",
        help="what changed, and why; accept and regrade keep it for every later report",
    )
    for made in (gate, anchors):
        made.add_argument(
            "--judge",
            default="checklist",
            metavar="NAME",
            help="whose verdicts (default: checklist)",
        )
    _ground_parser(
        verb(
            "ground", verb_ground, "verify the citations of any text or transcript against a commit"
        )
    )
    clean = verb(
        "clean",
        verb_clean,
        "remove what killed runners left; with --all every container, volume, image and cache of ours",
    )
    clean.add_argument("--all", action="store_true")
    return parser


def _server_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "check"))
    parser.add_argument("name", nargs="*", metavar="NAME", help="default: every server")
    parser.add_argument(
        "--scenario",
        default="",
        help="whose repository to mount (default: one the server has a canary for)",
    )
    parser.add_argument("--json", action="store_true", help="for scripts")


def _ground_parser(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument("--json", action="store_true", help="one JSON object per file")
    parser.add_argument(
        "file", nargs="+", metavar="FILE", help="Markdown, plain text, or a transcript"
    )


def _at_least_one(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


if __name__ == "__main__":
    main()
