"""`fairtrial import claude-code`: cells of transcripts that another harness made."""

from __future__ import annotations

from dataclasses import dataclass

from runner.cli import options
from runner.cli.ending import report_of, show_report
from runner.cli.opening import open_checkout, pass_gate, runs_of
from runner.cli.options import GatePolicy, Request, said
from runner.cli.output import tell
from runner.cli.running import score_run


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    files: tuple[str, ...] = said("[SERVER=]FILE …", "a transcript, of --server or of its own")
    scenario: str = said("--scenario S", "what it answers", required=True)
    server: str = said("--server X", "the arm; `shell` is the baseline", "")
    mounted: str = said("--mounted NAME", "what Claude Code called it (default: X)", "")
    name: str = options.run_name()
    gate: GatePolicy = options.ungated()
    json: bool = options.as_json("print report.json instead of the first screen")
    full: bool = options.full()


def run(request: Verb) -> int:
    from runner.records.run_store import RunStore
    from runner.runs import plan
    from runner.runs.importing.imported_run import arrivals, import_cells
    from runner.scoring.judges import open_judge
    from runner.scoring.judges.judge_settings import JudgeSettings

    checkout = open_checkout(request.root)
    name = request.name or f"{request.scenario[:55]}-imported"
    plan.check_name(name)
    files = arrivals(request.files, request.server, request.mounted)
    checkout.scenario(request.scenario)
    judge = open_judge(JudgeSettings())
    gate = pass_gate(request.gate, checkout, judge, [request.scenario])
    store = RunStore(runs_of(request.root) / name)
    with store.lock():
        stamp = gate.stamp if gate else None
        made = import_cells(store, checkout, request.scenario, files, gate=stamp)
        tell(f"{len(made.cells)} imported cells are in {store.folder.name}")
        whole = score_run(store, checkout, judge)
        built = report_of(whole, checkout, gate)
        return show_report(store, built, whole, as_json=request.json, full=request.full)
