"""How a verb ends: a run's report on the screen and on disk, and the exit code that follows."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli.output import FAILED, OK, show, table_columns, tell

if TYPE_CHECKING:
    from runner.agents.spending import JudgeBudget
    from runner.catalog.checkout import Checkout
    from runner.records import Gate, Shard, Since
    from runner.records.run_store import LoadedCell, LoadedRun, RunStore
    from runner.report.records import Report

CONTRADICTIONS_TOLD = 20


def report_of(run: LoadedRun, checkout: Checkout, gate: Gate | None) -> Report:
    """`gate`: what stood in front of it; without one every page says UNGATED."""
    from runner.report.build_report import build_report

    if gate is None:
        run = replace(run, plan=run.plan.model_copy(update={"ungated": True}))
    known = checkout.catalog.scenarios.sound().items()
    scenarios = {name: loaded.scenario for name, loaded in known}
    servers = {name: loaded.spec for name, loaded in checkout.catalog.servers.sound().items()}
    accepted = _since(run, checkout, gate)
    return build_report(run, scenarios, servers, gate=gate, since=accepted)


def _since(run: LoadedRun, checkout: Checkout, gate: Gate | None) -> Since | None:
    """What was accepted after the run was planned, up to the gate's generation."""
    from runner.gate.chain import read_chain
    from runner.gate.rescoring import since

    if gate is None or run.plan.ungated:
        return None
    generations = read_chain(checkout.root)[: gate.generation]
    return since(generations, run.plan, gate.judge)


def show_report(
    store: RunStore, built: Report, run: LoadedRun, *, as_json: bool, full: bool = False
) -> int:
    from runner.report.report_files import write_report

    paths = list(write_report(built, store.folder))
    if as_json:
        show(built.model_dump_json(indent=2))
    else:
        show(screen(built, page_of(store), full=full))
    # One line: three of them would push the first screen's head out of the terminal.
    names = ", ".join(path.name for path in paths)
    tell(f"wrote {names} in {_from_here(store.folder)}")
    return code_of(store, run)


def screen(built: Report, page: str, *, full: bool) -> str:
    from runner.report import terminal, terminal_first

    colour = sys.stdout.isatty()
    if full:
        return terminal.render(built, width=table_columns(), colour=colour)
    return terminal_first.render(built, page, width=table_columns(), colour=colour).rstrip()


def page_of(store: RunStore) -> str:
    return _from_here(store.folder / "report.html")


def _from_here(path: Path) -> str:
    """As it can be opened from the folder that the command was given in."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def end_shard(store: RunStore, shard: Shard) -> int:
    """Of a shard there is no report: figures of a part would be read as the run's."""
    from runner.runs.shards import of_shard

    run = store.load()
    ours = of_shard(run, shard)
    measured = f"{sum(item.measured for item in ours.cells)} of {len(ours.cells)} cells"
    tell(f"shard {shard} of {run.plan.run}, plan {run.plan.digest[:12]}: {measured} are measured")
    tell(f"next: `fairtrial merge` with the folders of all {shard.of} makes one run of them")
    return _code_for_broken_cells(ours)


def tell_spent(purse: JudgeBudget) -> None:
    if purse.calls:
        dollars = f"${purse.usd:,.4f}" if purse.priced else "no price"
        tell(f"judging took {purse.calls} calls, {purse.tokens:,} tokens, {dollars}")


# --- exit codes ---------------------------------------------------------------------------------


def code_of(store: RunStore, run: LoadedRun) -> int:
    """FAILED if a cell is not measured, or a file contradicts another; both are told."""
    return max(_code_for_broken_cells(run), code_for_contradictions(store, run))


def code_for_contradictions(store: RunStore, run: LoadedRun) -> int:
    found = run.contradictions
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


def _code_for_broken_cells(run: LoadedRun) -> int:
    broken = [item for item in run.cells if not item.measured]
    if not broken:
        return OK
    tell(f"error: {len(broken)} of {len(run.cells)} cells are not measured")
    if any(item.result is not None and item.result.imported for item in broken):
        tell("hint: an imported cell is not run again: import a whole transcript of it")
        return FAILED
    verb = "run" if run.plan.benchmark is None else f"{run.plan.benchmark} run"
    tell(f"hint: the same `fairtrial {verb}` tries them again")
    for server in sorted(_servers_not_ready(broken)):
        tell(f"hint: `fairtrial server check {server}` shows why it was not ready")
    return FAILED


def _servers_not_ready(cells: Iterable[LoadedCell]) -> set[str]:
    from runner.records import server_of

    names = set()
    for item in cells:
        if item.result is not None and item.result.outcome.kind == "server_not_ready":
            names.add(server_of(item.cell.server))
    return names
