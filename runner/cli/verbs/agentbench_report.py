"""`fairtrial agentbench report`: a run's answers judged by their outcome."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli import options
from runner.cli.ending import code_of, tell_spent
from runner.cli.opening import AskedJudge, asked_judge, judge_settings, open_checkout, open_run
from runner.cli.options import JudgeSpending, Request, group, said
from runner.cli.output import show_tables, tell

if TYPE_CHECKING:
    from runner.catalog.checkout import Checkout
    from runner.records.run_store import RunStore
    from runner.scoring.judges.judge_settings import JudgeSettings


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    run: str = said("RUN", "its name under runs/, or its folder")
    judge: str = said(
        "--judge NAME",
        "values, which looks for the reference's values and costs nothing, or model:ID with "
        "an ID as --model takes it (default: as the run was judged before, else values)",
        "",
    )
    verdicts: Path | None = said(
        "--verdicts FILE.csv",
        "write a line for each answer: add a column for each person who judges them, and "
        "`fairtrial agreement` says what the judge is worth",
        None,
    )
    spending: JudgeSpending = group(JudgeSpending)
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.benchmarks.agentbench.query_run import read_setup
    from runner.records import Judging

    judging = Judging(judges=(request.judge,), duplicates=1) if request.judge else None
    asked = asked_judge(judging, request.spending)
    store = open_run(request.root, request.run)
    read_setup(store)  # before its lock, which would make a folder of a name that is no run's
    checkout = open_checkout(request.root)
    with store.lock():
        return report(checkout, asked, store, verdicts=request.verdicts, as_json=request.json)


def report(
    checkout: Checkout,
    asked: AskedJudge,
    store: RunStore,
    *,
    verdicts: Path | None = None,
    as_json: bool,
) -> int:
    """While the run's lock is held."""
    from runner.benchmarks import BENCHMARKS
    from runner.benchmarks.agentbench.judging.mcp_eval import endpoints_of, open_outcome_judge
    from runner.benchmarks.agentbench.query_benchmark import BENCHMARK
    from runner.benchmarks.agentbench.report.query_report import report_of_run
    from runner.benchmarks.agentbench.report.query_report_files import write_report, write_verdicts
    from runner.benchmarks.agentbench.report.query_tables import tables_of_run
    from runner.runs.audit import Audit

    whole = Audit(store=store, checkout=checkout, benchmark=BENCHMARKS[BENCHMARK]).evidence()
    settings = _judge(checkout, asked, store)
    judge = open_outcome_judge(settings.judging.judges[0], settings)
    store.write_judging(settings.judging.model_copy(update={"endpoints": endpoints_of(judge)}))
    built = report_of_run(store, whole, judge)
    written = [*write_report(built, store.folder)]
    if verdicts is not None:
        written.append(write_verdicts(built, verdicts))
    for path in written:
        tell(f"wrote {path}")
    show_tables(built, tables_of_run(built), as_json=as_json)
    tell_spent(settings.purse)
    return code_of(store, whole)


def _judge(checkout: Checkout, asked: AskedJudge, store: RunStore) -> JudgeSettings:
    """What is asked for, else what judged the run before; what a model says is kept with it."""
    from runner.benchmarks.agentbench.judging.mcp_eval import VALUES
    from runner.records import Judging
    from runner.scoring.judges.replies import Replies

    judging = asked.judging or store.judging() or Judging(judges=(VALUES,))
    spent_usd = Replies(folder=store.judged).spent_usd()
    return judge_settings(checkout, asked, judging, store.judged, spent_usd)
