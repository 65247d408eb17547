"""`fairtrial import claude-code`: cells of transcripts that another harness made."""

from __future__ import annotations

from runner.cli import ending, opening, options, output, shapes
from runner.cli.options import Request, said


class Verb(Request):
    files: tuple[str, ...] = said("[SERVER=]FILE …", "a transcript, of --server or of its own")
    scenario: str = said("--scenario S", "what it answers", required=True)
    server: str = said("--server X", "the arm; `shell` is the baseline")
    mounted: str = said("--mounted NAME", "what Claude Code called it (default: X)")
    name: str = options.run_name()
    gate: shapes.GatePolicy = options.ungated()
    json: bool = options.as_json("print report.json instead of the first screen")
    full: bool = options.full()


def run(request: Verb) -> int:
    from runner.runs import plan
    from runner.runs.importing.imported_run import arrivals, import_cells
    from runner.scoring.judges import judge_settings, open_judge

    name = request.name or f"{request.scenario[:55]}-imported"
    run = opening.open_scenario_run(request.root, str(opening.runs_of(request.root) / name))
    store, checkout = run.store, run.checkout
    plan.check_name(name)
    files = arrivals(request.files, request.server, request.mounted)
    checkout.scenario(request.scenario)
    judge = open_judge(judge_settings.JudgeSettings())
    gate = run.pass_gate(request.gate, judge, [request.scenario])
    with store.lock():
        stamp = gate.stamp if gate else None
        made = import_cells(store, checkout, request.scenario, files, gate=stamp)
        output.tell(f"{len(made.cells)} imported cells are in {store.folder.name}")
        return ending.show_report(run, run.scored(judge), gate, request)
