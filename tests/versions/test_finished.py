"""Two finished runs as two versions: paired by question and trial, whatever the arms are called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.authoring.versions.finished_runs import FinishedVersion, compared_runs
from runner.records.run_store import LoadedRun
from runner.records.versions import CompareSettings, VersionComparison
from runner.support.errors import FairtrialError
from tests.report.loaded import NAMES, catalog, cell, fingerprint, loaded, measured, result


def of_server(*figures: float, name: str = "codegraph") -> LoadedRun:
    cells = [measured(cell(it), 0.4) for it in NAMES[: len(figures)]]
    cells += [measured(cell(it, name), value) for it, value in zip(NAMES, figures, strict=False)]
    return loaded(cells)


def compared(base: LoadedRun, head: LoadedRun) -> VersionComparison:
    scenarios = catalog(base)[0] | catalog(head)[0]
    first, second = FinishedVersion(asked="b", run=base), FinishedVersion(asked="h", run=head)
    return compared_runs(first, second, scenarios, CompareSettings(margins={"model": 0.03}))


def test_a_model_that_answers_worse_by_more_than_the_margin_is_a_regression() -> None:
    found = compared(of_server(*[0.6] * 7), of_server(*[0.4] * 7))
    assert found.verdict == "regression"
    assert [it.name.rpartition(":")[0] for it in found.changes] == ["model:worse"]
    assert found.paired[0].language_model
    assert [it.shell for it in found.answers] == [0.4] * 7


def test_equal_answers_are_equivalent_and_too_few_of_them_leave_it_open() -> None:
    found = compared(of_server(*[0.6] * 7), of_server(*[0.6] * 7))
    assert (found.verdict, found.paired[0].says) == ("no_regression", "equivalent")
    found = compared(of_server(*[0.6] * 3), of_server(*[0.6] * 3))
    assert found.verdict == "too_few"
    assert "about 2 more would" in found.sentence


def test_cells_of_another_engine_are_no_pair() -> None:
    base, head = of_server(*[0.6] * 7), of_server(*[0.6] * 7)
    moved = []
    for it in head.cells:
        elsewhere = fingerprint(it.cell, kernel="another")
        own = result(it.cell).model_copy(update={"fingerprint": elsewhere})
        moved.append(replace(it, result=own))
    with pytest.raises(FairtrialError, match="no pair of cells"):
        compared(base, LoadedRun(plan=head.plan, cells=tuple(moved)))


def test_a_run_of_several_servers_is_no_version() -> None:
    both = loaded([measured(cell("alpha", name), 0.5) for name in ("codegraph", "cclsp")])
    with pytest.raises(FairtrialError, match="has 2 servers"):
        compared(both, both)
