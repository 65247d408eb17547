"""`fairtrial agentbench report`: a run's answers judged by their outcome."""

from __future__ import annotations

from pathlib import Path

from runner.cli import ending, opening, options, output, shapes


class Verb(options.Request):
    run: str = options.said("RUN", "its name under runs/, or its folder")
    judge: str = options.said(
        "--judge NAME",
        "values, which looks for the reference's values and costs nothing, or model:ID with "
        "an ID as --model takes it (default: as the run was judged before, else values)",
    )
    verdicts: Path | None = options.said(
        "--verdicts FILE.csv",
        "write a line for each answer: add a column for each person who judges them, and "
        "`fairtrial agreement` says what the judge is worth",
    )
    spending: options.JudgeSpending = options.group(options.JudgeSpending)
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.benchmarks.agentbench.query_run import read_setup
    from runner.records import Judging

    judging = Judging(judges=(request.judge,), duplicates=1) if request.judge else None
    asked = opening.asked_judge(judging, request.spending)
    store = opening.open_run(request.root, request.run)
    read_setup(store)  # before its lock, which would make a folder of a name that is no run's
    checkout = opening.open_checkout(request.root)
    with store.lock():
        return report(checkout, asked, store, verdicts=request.verdicts, as_json=request.json)


def report(
    checkout: shapes.Checkout,
    asked: shapes.AskedJudge,
    store: shapes.RunStore,
    *,
    verdicts: Path | None = None,
    as_json: bool,
) -> int:
    """While the run's lock is held. Who judged the run before, judges it if nobody is asked for."""
    from runner.benchmarks.agentbench.judging import mcp_eval
    from runner.benchmarks.agentbench.query_benchmark import Agentbench
    from runner.benchmarks.agentbench.report import query_report, query_tables, query_verdicts
    from runner.records import Judging
    from runner.report.report_files import write_tables
    from runner.runs.audit import Audit

    whole = Audit(store=store, checkout=checkout, benchmark=Agentbench()).evidence()
    judging = asked.judging or store.judging() or Judging(judges=(mcp_eval.VALUES,))
    settings = asked.of_run(checkout, judging, store)
    judge = mcp_eval.open_outcome_judge(judging.judges[0], settings)
    store.write_judging(judging.model_copy(update={"endpoints": mcp_eval.endpoints_of(judge)}))
    built = query_report.report_of_run(store, whole, judge)
    tables, plots = query_tables.tables_of_run(built), query_tables.plots_of_run(built)
    written = [*write_tables(built, built.run, store.folder, tables, plots)]
    if verdicts is not None:
        written.append(query_verdicts.write_verdicts(built, verdicts))
    for path in written:
        output.tell(f"wrote {path}")
    output.show_tables(built, tables, as_json=as_json)
    ending.tell_spent(settings.purse)
    return ending.code_of(store, whole)
