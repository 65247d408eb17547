"""What a person sees while a run goes on."""

from __future__ import annotations

import io
import itertools
import time

import pytest

from runner.report import progress
from runner.report.progress import HowFar, live
from tests.report.loaded import cell, result


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The moment that it is: what a test puts in its one place."""
    moment = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])
    return moment


def far(**changes: int | bool) -> HowFar:
    return HowFar(**{"cells": 70, "finished": 2, "priced": True, "began": 1000.0, **changes})  # type: ignore[arg-type]


def test_the_line_holds_cells_broken_ones_tokens_dollars_and_the_time_left(
    clock: list[float],
) -> None:
    run = far()
    assert str(run) == "2/72 cells · 0 tokens · $0.00 · time left unknown"
    for kind in ("answered", "out_of_time", "sandbox_failed"):
        run.add_cell(result(cell("alpha"), kind))
    run.add_turn(81_234, 0.519)
    clock[0] += 360
    # 3 cells in 360 s: 67 more take 8,040 s.
    assert str(run) == "4/72 cells, 1 broken · 81.2k tokens · $0.52 · ~2 h 14 min left"


def test_a_model_without_a_price_has_no_dollars() -> None:
    assert "$" not in str(far(priced=False))


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (812_345, "812.3k"), (12_345_678, "12.3M")],
)
def test_tokens_stay_short(tokens: int, shown: str) -> None:
    run = far()
    run.add_turn(tokens, 0)
    assert f"· {shown} tokens ·" in str(run)


def test_without_a_terminal_a_line_comes_a_minute_and_one_at_the_end(clock: list[float]) -> None:
    stream = io.StringIO()
    with live(2, stream) as told:
        told.spent(5000, 0.1)
        clock[0] += progress.INTERVAL_SEC - 1
        told.spent(1000, 0.1)
        assert "tokens" not in stream.getvalue()
        clock[0] += 1
        told.spent(1000, 0.1)
        assert stream.getvalue().count("tokens") == 1
        told.ended(result(cell("alpha")))
        assert stream.getvalue().count("tokens") == 1
        told.ended(result(cell("bravo")))
    lines = [line.partition(" ")[2] for line in stream.getvalue().splitlines()]
    assert lines[0] == "0/2 cells · 7.0k tokens · $0.30 · time left unknown"
    assert lines[-1] == "2/2 cells · 7.0k tokens · $0.30 · done"


def test_on_a_terminal_the_line_is_live() -> None:
    stream = Terminal()
    with live(2, stream) as told:
        told.started(cell("alpha"))
        told.spent(5000, 0.1)
        told.ended(result(cell("alpha")))
    assert "5.0k tokens" in stream.getvalue()
    assert "alpha × shell: answered" in stream.getvalue()
    assert "\x1b[2K" in stream.getvalue(), "it is drawn over, not written anew"


def test_the_line_fits_a_terminal_of_80_columns(clock: list[float]) -> None:
    run = far(cells=900, finished=90)
    for _ in itertools.repeat(None, 9):
        run.add_cell(result(cell("alpha"), "sandbox_failed"))
    run.add_turn(99_900_000, 999.0)
    clock[0] += 9000
    # Beside it: what turns, a bar of 8 and the time.
    assert len(str(run)) <= 80 - 2 - 9 - 8


def test_a_run_of_any_size_is_one_screen_that_shows_who_has_been_at_work_longest() -> None:
    screen = Terminal()
    cells = [cell(f"s{number}") for number in range(60)]
    with live(10_000, screen) as told:
        for number, item in enumerate(cells):
            told.started(item)
            told.says(item, f"on worker-{number}")
        told.workers("60 at work, cells begun: worker-0 1; 1 take none")
        time.sleep(0.3)  # the screen is drawn ten times a second
    # On a busy machine a screen of the last start may be drawn late, and is drawn over.
    drawn = "".join(screen.getvalue().split("\x1b[")).rpartition("0/10000 cells")[2]
    assert "s0 × shell: on worker-0" in drawn
    assert "s59" not in drawn
    assert "and 52 more cells" in drawn
    assert "1 take none" in drawn


def test_in_a_large_run_only_what_went_wrong_gets_a_line(clock: list[float]) -> None:
    log = io.StringIO()
    with live(10_000, log) as told:
        told.started(cell("alpha"))
        told.ended(result(cell("alpha")))
        told.ended(result(cell("beta"), "sandbox_failed"))
        told.workers("4 at work")
        clock[0] += 61
        told.spent(10, 0.0)
    assert "alpha" not in log.getvalue()
    assert "beta × shell: sandbox_failed" in log.getvalue()
    assert log.getvalue().splitlines()[-1].endswith("4 at work")
