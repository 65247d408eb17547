"""How a run's cells ended, by category. Whether their answers pass is a judge's to say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from runner.records import Count, Record
from runner.records.run_store import LoadedRun


class Outcomes(Record):
    run: str
    cells: Count
    measured: Count
    by_category: dict[str, dict[str, Count]]
    """Category -> outcome -> cells; those that nothing has ended yet are `not run`."""
    not_measured: tuple[str, ...]
    """Each cell that is to be run again, and why."""

    def lines(self) -> Iterator[str]:
        yield f"{self.run}: {self.measured} of {self.cells} cells are measured"
        for category, kinds in self.by_category.items():
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            yield f"  {category}: {counts}"
        yield from self.not_measured


def outcomes_of(run: LoadedRun) -> Outcomes:
    by_category: dict[str, Counter[str]] = {}
    broken = []
    for item in run.cells:
        kind, reason = "not run", ""
        if item.result is not None:
            kind, reason = item.result.outcome.kind, item.result.outcome.reason
        by_category.setdefault(item.cell.inputs["category"], Counter())[kind] += 1
        if not item.measured:
            broken.append(f"{item.cell.scenario} × {item.cell.model}: {kind} {reason}".rstrip())
    return Outcomes(
        run=run.plan.run,
        cells=len(run.cells),
        measured=sum(item.measured for item in run.cells),
        by_category={name: dict(found) for name, found in by_category.items()},
        not_measured=tuple(broken),
    )
