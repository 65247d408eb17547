"""`fairtrial merge`: one run of the shards that several machines ran."""

from __future__ import annotations

from contextlib import ExitStack

from runner.cli import opening, options, output
from runner.cli.options import Request, said


class Verb(Request):
    shards: tuple[str, ...] = said("RUN …", "a shard: a folder, or its name under runs/")
    name: str = said("--run NAME", "the run's folder under runs/ (default: as it was named)")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    from runner.runs.plan import check_name
    from runner.runs.shards import merge

    shards = [opening.open_run(request.root, shard) for shard in request.shards]
    name = request.name or shards[0].plan().run
    check_name(name)
    into = opening.open_run(request.root, str(opening.runs_of(request.root) / name))
    with ExitStack() as locks:
        for store in (into, *shards):
            locks.enter_context(store.lock())
        merged = merge(shards, into)
    if request.json:
        output.show_json({"run": name, **vars(merged)})
    measured = f"{merged.measured} of {merged.cells} cells are measured"
    output.tell(f"{name}: {measured}; {merged.arrived} attempts are new here")
    output.tell(f"next: `fairtrial report {name}`")
    return output.OK
