"""What it takes to go past one machine: `just bench-scale`, or parts of it by their names.

kills       10,000 tiny cells on 4 workers, with 20 kills of worker, scheduler and exchange
efficiency  4 workers on cells of a second of waiting
size        a dry run of a million cells, and a report of ten thousand
shards      four shards merged, and one run
bucket      cells over S3
engines     two workers in two network namespaces, with an engine each: cells of `exact` questions
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from runner.catalog.checkout import Checkout
from tests.bench import COMMAND, Figure, run_child
from tests.conftest import ROOT
from tests.helpers import PATIENCE_SEC
from tests.scale.big_report import big_report
from tests.scale.engines import two_engines
from tests.scale.farm import Farm
from tests.scale.kills import figures_of, one_worker, survive
from tests.scale.over_s3 import over_s3
from tests.scale.telling import Told, execute, measured
from tests.scale.tiny import Ground, tiny_cells, tiny_run

MB = 1024


def at_most(name: str, value: float, bound: float, detail: str = "") -> Figure:
    return Figure(name=name, value=value, bound=bound, detail=detail)


def at_least(name: str, value: float, bound: float, detail: str = "") -> Figure:
    return Figure(name=name, value=value, bound=bound, detail=detail, at_least=True)


def kills(folder: Path) -> Iterator[Figure]:
    run = survive(folder, cells=10_000, workers=4, kills=20, seed=30)
    detail = ", ".join(f"{count} of {name}" for name, count in sorted(run.kills.items()))
    yield at_least("kills", sum(run.kills.values()), 20, detail)
    yield at_least("unique results of 10,000 cells", run.unique, 10_000, f"{run.took_sec:.0f} s")
    yield at_least("measured cells", run.measured, 10_000)
    yield at_most("cells done twice", run.done_twice, 20)
    yield at_most("finished cells that were paid again", run.paid_again, 0)
    yield at_least("report as one worker's, to the byte", float(run.reports_alike), 1)


def efficiency(folder: Path) -> Iterator[Figure]:
    cells = tiny_cells(60)
    ground = Ground(ledger=folder / "ledger", turn_sec=1.0, turns=1)
    with Farm(folder, workers=4) as farm:
        farm.wait(PATIENCE_SEC)
        store, prepared = tiny_run(folder / "run", cells, ground)
        execute(farm, store, prepared, Told())
    results = [item.result for item in store.load().cells if item.result is not None]
    moments = sorted(seconds(result.started_at) for result in results)
    took_sec = moments[-1] - moments[0] + 1
    yield at_least("share of time at work, 4 workers", len(cells) / 4 / took_sec, 0.9)


def seconds(moment: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(moment).timestamp()


def size(folder: Path) -> Iterator[Figure]:
    models = ("offline", "claude-sonnet-4-5", "claude-opus-4-1")
    words = [word for model in models for word in ("--model", model)]
    started = time.monotonic()
    dry = run_child([COMMAND, "run", "--dry-run", "--trials", "10000", *words])
    yield at_most("dry run of 1,140,000 cells, s", time.monotonic() - started, 60)
    yield at_most("its peak memory, MB", dry.peak_mb, MB)
    checkout = Checkout(root=ROOT, state=ROOT / ".fairtrial", environ=dict(os.environ), log=print)
    report = big_report(folder, checkout, trials=10_000)
    detail = f"{report.cells:,} cells, {report.cpu_sec:.0f} s of CPU"
    yield at_most("report of ten thousand cells, s", report.took_sec, 60, detail)
    yield at_most("its peak memory, MB", report.peak_mb, MB)


def shards(folder: Path) -> Iterator[Figure]:
    from tests.scale.sharded import four_shards

    whole, merged = four_shards(folder, cells=400)
    yield at_least("cells of four merged shards", measured(merged), 400)
    alike = figures_of(whole) == figures_of(merged)
    yield at_least("report as one run's, to the byte", float(alike), 1)


def bucket(folder: Path) -> Iterator[Figure]:
    store = over_s3(folder, cells=200, workers=2)
    yield at_least("cells over S3, of 200", measured(store), 200)
    alone = one_worker(folder, list(store.plan().cells))
    yield at_least("report as one worker's", float(figures_of(store) == figures_of(alone)), 1)


def engines(folder: Path) -> Iterator[Figure]:
    found = two_engines(folder)
    yield at_least("real cells measured", found.measured, found.cells)
    yield at_least("engines that ran them", found.engines, 2, found.hosts)
    yield at_least("arms that they ran, together", found.arms, 4)
    yield at_least("cells whose transcript is one machine's", found.alike, found.cells)
    yield at_most("containers left on them", found.left, 0)


PARTS: dict[str, Callable[[Path], Iterator[Figure]]] = {
    "efficiency": efficiency,
    "size": size,
    "shards": shards,
    "bucket": bucket,
    "engines": engines,
    "kills": kills,
}


def main() -> None:
    code = 0
    for name in sys.argv[1:] or PARTS:
        folder = Path(tempfile.mkdtemp(prefix=f"fairtrial-{name}-"))
        for figure in PARTS[name](folder):
            print(figure, flush=True)
            code = code if figure.holds else 1
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
