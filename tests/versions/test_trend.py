"""`fairtrial trend`: figures of one server by version, and nothing that only looks like one."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from runner.cli.main import main
from runner.records.versions import VersionAnswer, VersionComparison
from runner.report.report_files import render_json
from runner.report.version_trend import trend_of, trend_table, version_key
from tests.versions.test_pure import comparison


def compared(runs: Path, base: str, head: str, figures: tuple[float, ...], *names: str) -> None:
    answers = tuple(
        VersionAnswer(scenario=name, trial=1, model="offline", base=0.5, head=figure)
        for name, figure in zip(names, figures, strict=True)
    )
    found: VersionComparison = comparison()
    sides = {
        "base": found.base.model_copy(update={"server": f"ledger-{base}", "version": base}),
        "head": found.head.model_copy(update={"server": f"ledger-{head}", "version": head}),
    }
    made = found.model_copy(update={"answers": answers, **sides})
    folder = runs / f"compare-ledger-{head}"
    folder.mkdir(parents=True)
    (folder / "compare.json").write_text(render_json(made), "utf-8")


def test_versions_stand_in_their_order_and_enough_questions_have_an_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = [f"q{at}" for at in range(12)]
    compared(tmp_path, "1.9.0", "1.10.0", (0.5, 1.0) * 6, *many)
    points = trend_of("ledger", tmp_path)
    assert [(it.version, it.value) for it in points] == [("1.9.0", 0.5), ("1.10.0", 0.75)]
    assert points[1].low is not None
    assert points[1].low < 0.75
    drawing = tmp_path / "t.svg"
    words = ["--root", str(tmp_path), "trend", "ledger", "--runs", str(tmp_path)]
    with pytest.raises(SystemExit) as end:
        main([*words, "--svg", str(drawing)])
    assert end.value.code == 0
    assert "1.10.0" in capsys.readouterr().out
    texts = [it.text or "" for it in ElementTree.fromstring(drawing.read_text("utf-8")).iter()]
    assert [it for it in texts if it in ("1.9.0", "1.10.0")] == ["1.9.0", "1.10.0"]


def test_other_questions_are_another_series_and_another_server_is_none(tmp_path: Path) -> None:
    compared(tmp_path, "1.0.0", "1.1.0", (1.0,), "q1")
    compared(tmp_path, "1.1.0", "1.2.0", (0.2,), "q2")
    points = trend_of("ledger", tmp_path)
    assert len({it.series for it in points}) == 2
    assert all(it.low is None for it in points)
    assert "are no trend" in " ".join(trend_table("ledger", points).notes)
    assert trend_of("ledge", tmp_path) == []
    assert trend_of("other", tmp_path) == []
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/compare.json").write_text("{}")
    assert len(trend_of("ledger", tmp_path)) == len(points)


def test_a_version_of_numbers_is_no_text() -> None:
    assert sorted(["1.10.0", "1.9.2", "1.9.10"], key=version_key) == ["1.9.2", "1.9.10", "1.10.0"]
