"""How a verb ends: a run's report on the screen and on disk, and the exit code that follows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from runner.cli import shapes
from runner.cli.output import FAILED, OK, show, table_columns, tell

CONTRADICTIONS_TOLD = 20


def show_report(
    of: shapes.ScenarioRun, run: shapes.LoadedRun, gate: shapes.Gate | None, request: Any
) -> int:
    """Its report, written beside it and shown as the request's `json` and `full` say."""
    from runner.report.report_files import write_exports, write_report

    built, folder = of.report(run, gate), of.store.folder
    try:
        paths = write_report(built, folder, of.page_data(run))
    finally:
        of.checkout.close_files()
    paths += write_exports(built, folder, getattr(request, "formats", ()))
    if request.json:
        show(built.model_dump_json(indent=2))
    else:
        show(screen(built, page_of(of.store), full=request.full))
    # One line: three of them would push the first screen's head out of the terminal.
    names = ", ".join(path.name for path in paths)
    tell(f"wrote {names} in {_from_here(folder)}")
    return code_of(of.store, run)


def screen(built: shapes.Report, page: str, *, full: bool) -> str:
    from runner.report import terminal, terminal_first

    colour = sys.stdout.isatty()
    if full:
        return terminal.render(built, width=table_columns(), colour=colour)
    return terminal_first.render(built, page, width=table_columns(), colour=colour).rstrip()


def open_page(store: shapes.RunStore) -> None:
    """In whatever browser this machine has; one without any is told where the page lies."""
    import webbrowser

    page = store.folder / "report.html"
    if not webbrowser.open(page.resolve().as_uri()):
        tell(f"no browser here: the page is {_from_here(page)}")


def page_of(store: shapes.RunStore) -> str:
    return _from_here(store.folder / "report.html")


def _from_here(path: Path) -> str:
    """As it can be opened from the folder that the command was given in."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def end_shard(store: shapes.RunStore, shard: shapes.Shard) -> int:
    """Of a shard there is no report: figures of a part would be read as the run's."""
    from runner.runs.shards import of_shard

    run = store.load()
    ours = of_shard(run, shard)
    measured = f"{sum(item.measured for item in ours.cells)} of {len(ours.cells)} cells"
    tell(f"shard {shard} of {run.plan.run}, plan {run.plan.digest[:12]}: {measured} are measured")
    tell(f"next: `fairtrial merge` with the folders of all {shard.of} makes one run of them")
    return _code_for_broken_cells(ours)


def tell_spent(purse: shapes.JudgeBudget) -> None:
    if purse.calls:
        dollars = f"${purse.usd:,.4f}" if purse.priced else "no price"
        tell(f"judging took {purse.calls} calls, {purse.tokens:,} tokens, {dollars}")


# --- exit codes ---------------------------------------------------------------------------------


def code_of(store: shapes.RunStore, run: shapes.LoadedRun) -> int:
    """FAILED if a cell is not measured, or a file contradicts another; both are told."""
    return max(_code_for_broken_cells(run), code_for_contradictions(store, run))


def code_for_contradictions(store: shapes.RunStore, run: shapes.LoadedRun) -> int:
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


def _code_for_broken_cells(run: shapes.LoadedRun) -> int:
    from runner.records import server_of

    broken = [item for item in run.cells if not item.measured]
    if not broken:
        return OK
    tell(f"error: {len(broken)} of {len(run.cells)} cells are not measured")
    if any(item.result is not None and item.result.imported for item in broken):
        tell("hint: an imported cell is not run again: import a whole transcript of it")
        return FAILED
    verb = "run" if run.plan.benchmark is None else f"{run.plan.benchmark} run"
    tell(f"hint: the same `fairtrial {verb}` tries them again")
    results = [(server_of(item.cell.server), item.result) for item in broken]
    waiting = {name for name, it in results if it and it.outcome.kind == "server_not_ready"}
    for server in sorted(waiting):
        tell(f"hint: `fairtrial server check {server}` shows why it was not ready")
    return FAILED
