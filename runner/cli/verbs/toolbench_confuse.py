"""`fairtrial toolbench confuse`: which tools a model takes for which others."""

from __future__ import annotations

from pathlib import Path

from runner.cli import opening, options, output, shapes, task_choice
from runner.support.errors import FairtrialError


class Verb(options.Request):
    sources: tuple[str, ...] = options.said(
        "[RUN|SERVER …]",
        "runs (default: all runs of tasks), and servers whose tools are shown (default: all); "
        "with --responses, the data they answer",
    )
    responses: tuple[Path, ...] = options.said(
        "--responses NAME", "repeatable; a file of answers, as `score` reads it"
    )
    servers: tuple[str, ...] = options.repeatable("--server", "; only tools of this server")
    variant: Path | None = options.said(
        "--variant FILE", "only runs made with this server.yaml (`run --variant`)"
    )
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.benchmarks.toolbench.task_tables import comparison_table, confusion_tables

    report = _of_responses(request) if request.responses else _of_runs(request)
    shown = [part for found in report.confusions for part in confusion_tables(found)]
    shown += map(comparison_table, report.comparisons)
    return output.show_tables(report, shown, as_json=request.json)


def _of_responses(request: Verb) -> shapes.ConfusionReport:
    from runner.benchmarks.toolbench import confusion, responses, task_files

    if not request.sources or request.variant is not None:
        hint = "give the data that they answer, and no --variant: a file of answers names none"
        raise FairtrialError("--responses cannot be read so", hint=hint)
    tasks = task_files.load(request.sources).tasks
    found = [responses.labelled_responses(tasks, path) for path in request.responses]
    return confusion.confusion_report(found, request.servers)


def _of_runs(request: Verb) -> shapes.ConfusionReport:
    from runner.benchmarks.toolbench import confusion, task_report, task_run

    named = {name: opening.open_run(request.root, name) for name in request.sources}
    runs = [store for store in named.values() if store.has_plan()]
    servers = [name for name, store in named.items() if not store.has_plan()]
    found = []
    for store in task_run.runs_to_confuse(opening.runs_of(request.root), runs, request.variant):
        try:
            read = task_report.read_run(store, task_choice.believed(request.root, store))
        except FairtrialError as error:
            if runs:
                raise
            output.tell(f"left out: {error}")  # nobody named it, and its data may be gone
            continue
        task_choice.tell_some(list(read.problems))
        name = store.folder.name
        # Runs that nobody put side by side may be of other data, and asked otherwise.
        found += [task_report.labelled(name, arm, apart=not runs) for arm in read.answers.arms]
    return confusion.confusion_report(found, [*request.servers, *servers])
