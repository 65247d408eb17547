"""What stays on disk, whatever kills the runner."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runner.records import Cell, CellResult, Outcome, OutcomeKind, Plan
from runner.records.run_store import RunStore, write_whole
from runner.support.errors import BusyError, CatalogError, FairtrialError
from tests.helpers import NO_TIME, cell

NOW = "2026-01-01T00:00:00+00:00"


def result(given: Cell, kind: OutcomeKind, attempt: int) -> CellResult:
    return CellResult(
        cell=given,
        attempt=attempt,
        outcome=Outcome(kind=kind, reason="test"),
        fingerprint=None,
        timings=NO_TIME,
        peak_memory_mb=None,
        state_mb=None,
        started_at=NOW,
        plan="a" * 64,
        ungated=False,
        transcript="b" * 64,
        events=0,
    )


CELL = cell()


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """A run with one cell planned."""
    store = RunStore(tmp_path / "run")
    store.write_plan(Plan(run="test", created_at=NOW, ungated=False, cells=(CELL,)))
    return store


def attempt(store: RunStore, kind: OutcomeKind) -> None:
    begun = store.begin(CELL)
    store.finish(begun, result(CELL, kind, begun.number))


# --- attempts -----------------------------------------------------------------------------------


def test_a_broken_attempt_is_kept_and_does_not_count_once_a_measurement_is_there(
    store: RunStore,
) -> None:
    attempt(store, "sandbox_failed")
    assert not store.load_cell(CELL).measured
    attempt(store, "answered")
    loaded = store.load_cell(CELL)
    assert (loaded.measured, loaded.attempts) == (True, 2)
    assert loaded.result is not None
    assert loaded.result.attempt == 2
    assert (store.cell_folder(CELL.id) / "attempt-1" / "result.json").is_file()


def test_the_first_measurement_counts_and_no_later_one_can_replace_it(store: RunStore) -> None:
    attempt(store, "out_of_time")
    attempt(store, "answered")
    loaded = store.load_cell(CELL)
    assert loaded.result is not None
    assert loaded.result.outcome.kind == "out_of_time"


def test_an_attempt_that_was_cut_off_is_kept_and_is_no_result(store: RunStore) -> None:
    begun = store.begin(CELL)
    (begun.path / "transcript.jsonl").write_text("{}\n")
    loaded = store.load_cell(CELL)
    assert (loaded.result, loaded.attempts) == (None, 1)
    assert store.begin(CELL).path.name == "attempt-2.partial"
    assert begun.path.is_dir()


def test_more_than_nine_attempts_keep_their_order(store: RunStore) -> None:
    # By name, attempt-10 comes before attempt-2.
    for _ in range(11):
        attempt(store, "provider_failed")
    loaded = store.load_cell(CELL)
    assert loaded.result is not None
    assert (loaded.result.attempt, loaded.attempts) == (11, 11)


# --- processes that are killed, or in each other's way ------------------------------------------


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the code in a process of its own, with the folder as its one argument."""
    argv = [sys.executable, "-c", code, str(folder)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


LOCK = """\
import os, sys
from pathlib import Path
from runner.records.run_store import RunStore
with RunStore(Path(sys.argv[1])).lock():
"""


def test_a_second_runner_is_kept_out_and_told_who_is_in(store: RunStore) -> None:
    with store.lock():
        second = python(LOCK + "    pass", store.folder)
    assert f"another runner (process {os.getpid()}) is at work on this run" in second.stderr
    assert python(LOCK + "    pass", store.folder).returncode == 0


def test_the_lock_of_a_killed_runner_is_gone_with_it(tmp_path: Path) -> None:
    killed = python(LOCK + "    os.kill(os.getpid(), 9)", tmp_path)
    # One that ended of something else has released its lock in good order.
    assert killed.returncode == -9
    with RunStore(tmp_path).lock(), pytest.raises(BusyError), RunStore(tmp_path).lock():
        pass


WRITE_ON_A_FULL_DISK = """\
import resource, signal, sys
from pathlib import Path
from runner.records.run_store import write_whole
# Ignored, or the process would die of it instead of being told that the disk is full.
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
write_whole(Path(sys.argv[1]), "x" * 100_000)
"""


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_whole(path, "old")
    done = python(WRITE_ON_A_FULL_DISK, path)
    assert "cannot write: File too large" in done.stderr
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# --- plans --------------------------------------------------------------------------------------


def test_a_run_that_is_not_there_says_how_runs_come_to_be(tmp_path: Path) -> None:
    with pytest.raises(FairtrialError, match="no such run"):
        RunStore(tmp_path / "nothing").plan()


def test_a_damaged_plan_says_which_file_and_key(store: RunStore) -> None:
    path = store.folder / "plan.json"
    path.write_text(path.read_text().replace('"trial": 1', '"trial": 0'))
    with pytest.raises(CatalogError, match=r"plan\.json cells\[0\]\.trial"):
        store.plan()


def test_every_input_that_could_change_the_outcome_changes_the_cells_id() -> None:
    cells = [
        cell(),
        cell("other"),
        cell(trial=2),
        cell(commit="a"),
        cell(commit="b"),
        cell(image="a"),
        cell(limits="a"),
    ]
    assert len({cell.id for cell in cells}) == 7
    assert cell(a="1", b="2").id == cell(b="2", a="1").id


def test_a_result_of_an_earlier_version_is_refused_with_what_to_do(store: RunStore) -> None:
    attempt(store, "answered")
    path = store.cell_folder(CELL.id) / "attempt-1/result.json"
    old = json.loads(path.read_text())
    del old["transcript"]
    path.write_text(json.dumps(old))
    with pytest.raises(CatalogError, match=r"attempt-1/result\.json transcript") as error:
        store.load()
    assert "measure again under another name with --run" in error.value.hint


@pytest.mark.parametrize("name", ["attempt-0", "attempt--1", "attempt-01", "attempt-1.bak", "x"])
def test_only_what_a_runner_named_is_an_attempt(store: RunStore, name: str) -> None:
    attempt(store, "out_of_time")
    first = store.cell_folder(CELL.id) / "attempt-1"
    shutil.copytree(first, first.with_name(name))
    assert store.attempt_numbers(CELL.id) == [1]
    assert [path.name for path in store.strays(CELL.id)] == [name]
    assert store.begin(CELL).number == 2


def test_a_link_is_no_attempt(store: RunStore, tmp_path: Path) -> None:
    attempt(store, "answered")
    first = store.cell_folder(CELL.id) / "attempt-1"
    first.rename(tmp_path / "elsewhere")
    first.symlink_to(tmp_path / "elsewhere")
    assert store.counted_attempt(CELL.id) is None


def test_a_changed_copy_of_a_record_keeps_nothing_that_was_computed_of_the_other() -> None:
    assert CELL.id == CELL.id
    other = CELL.model_copy(update={"trial": 2})
    assert other.id == Cell(**{**dict(CELL), "trial": 2}).id != CELL.id
