"""A small run whose workers, scheduler and exchange are killed: what a study of days meets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scale.kills import survive


def test_kills_at_random_lose_no_result_and_pay_for_none_twice(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = survive(tmp_path, cells=120, workers=2, kills=3, seed=5)
    assert sum(run.kills.values()) == 3
    assert run.measured == run.unique == run.cells == 120
    assert run.paid_again == 0
    assert run.done_twice <= 3
    assert run.reports_alike
    assert capfd.readouterr().err == "", "what was lost and found again is no news in tracebacks"
