"""`fairtrial toolbench confuse`: which tools a model takes for which others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli import options
from runner.cli.opening import open_run, runs_of
from runner.cli.options import Request, repeatable, said
from runner.cli.output import OK, show_tables, tell
from runner.cli.task_choice import believed, tell_some

if TYPE_CHECKING:
    from runner.benchmarks.toolbench.task_results import ConfusionReport


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    sources: tuple[str, ...] = said(
        "[RUN|SERVER …]",
        "runs (default: all runs of tasks), and servers whose tools are shown (default: all); "
        "with --responses, the data they answer",
        (),
    )
    responses: tuple[Path, ...] = said(
        "--responses NAME", "repeatable; a file of answers, as `score` reads it", ()
    )
    servers: tuple[str, ...] = repeatable("--server", "; only tools of this server")
    variant: Path | None = said(
        "--variant FILE", "only runs made with this server.yaml (`run --variant`)", None
    )
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.benchmarks.toolbench.task_tables import comparison_tables, confusion_tables

    report = _of_responses(request) if request.responses else _of_runs(request)
    shown = [part for found in report.confusions for part in confusion_tables(found)]
    shown += comparison_tables(report.comparisons)
    show_tables(report, shown, as_json=request.json)
    return OK


def _of_responses(request: Verb) -> ConfusionReport:
    from runner.benchmarks.toolbench.confusion import confusion_report
    from runner.benchmarks.toolbench.responses import labelled_responses
    from runner.benchmarks.toolbench.task_files import load
    from runner.support.errors import FairtrialError

    if not request.sources or request.variant is not None:
        hint = "give the data that they answer, and no --variant: a file of answers names none"
        raise FairtrialError("--responses cannot be read so", hint=hint)
    tasks = load(request.sources).tasks
    found = [labelled_responses(tasks, path) for path in request.responses]
    return confusion_report(found, request.servers)


def _of_runs(request: Verb) -> ConfusionReport:
    from runner.benchmarks.toolbench.confusion import confusion_report
    from runner.benchmarks.toolbench.task_report import labelled, read_run
    from runner.benchmarks.toolbench.task_run import runs_to_confuse
    from runner.support.errors import FairtrialError

    named = {name: open_run(request.root, name) for name in request.sources}
    runs = [store for store in named.values() if store.has_plan()]
    servers = [name for name, store in named.items() if not store.has_plan()]
    found = []
    for store in runs_to_confuse(runs_of(request.root), runs, request.variant):
        try:
            read = read_run(store, believed(request.root, store))
        except FairtrialError as error:
            if runs:
                raise
            tell(f"left out: {error}")  # nobody named it, and its data may be gone
            continue
        tell_some(list(read.problems))
        name = store.folder.name
        # Runs that nobody put side by side may be of other data, and asked otherwise.
        found += [labelled(name, arm, apart=not runs) for arm in read.answers.arms]
    return confusion_report(found, [*request.servers, *servers])
