"""`fairtrial toolbench` as a user has it: exit codes, and what it prints."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.toolbench.records import call, record
from tests.checkout import ended

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "mcptoolbench" / "published"
RIGHT = [{"name": "get_stock_price", "parameters": {"symbol": "AAPL"}}]


def run(*arguments: object) -> int:
    return ended("toolbench", *arguments)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    records = [
        record(uuid="f1"),
        record(call("get_news", {}), uuid="f2", query="What is new?"),
        record(call("list_markets"), call("get_news"), uuid="b1", category="browser", query="x"),
    ]
    (tmp_path / "data.json").write_text(json.dumps(records), encoding="utf-8")
    return tmp_path / "data.json"


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    answers = {"f1": RIGHT, "f2": "I would call get_news().", "b1": "nothing", "zz": "?"}
    (tmp_path / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    return tmp_path / "answers.json"


def test_list_says_what_there_is_and_needs_no_answers(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("score", data, "--list") == 0
    assert capsys.readouterr().out.splitlines() == [
        "browser, hard: 1",
        "finance, easy: 2",
        "3 tasks",
    ]


def test_score_prints_categories_difficulties_and_remarks(
    data: Path, responses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("score", data, "--responses", responses) == 0

    shown = capsys.readouterr().out
    for words in ("By category", "By difficulty", "browser", "finance", "easy", "hard"):
        assert words in shown
    assert "66.7%" in shown
    assert "an answer to 'zz', which is no task" in shown
    assert "calls were found as json: 1, none: 1, text: 1" in shown


def test_json_holds_every_result(
    data: Path, responses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("score", data, "--responses", responses, "--json") == 0

    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [one["uuid"] for one in report["results"]] == ["f1", "f2", "b1"]
    assert report["total"]["resolved"]["value"] == pytest.approx(2 / 3)


def test_filters_may_be_repeated_and_combined(
    data: Path, responses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filters = ["--category", "FINANCE", "--category", "browser", "--difficulty", "easy", "-n", "1"]

    assert run("score", data, "--responses", responses, "--json", *filters) == 0
    assert json.loads(capsys.readouterr().out)["total"]["tasks"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--difficulty", "tough"],
            ["no difficulty 'tough'", "hint: one of easy, single, hard, multi, medium\n"],
        ),
        (
            ["--category", "weather"],
            ["no category 'weather'", "hint: the data has browser, finance\n"],
        ),
        (
            ["--category", "browser", "--difficulty", "easy"],
            ["no task is left", "hint: there are browser, hard: 1, finance, easy: 2\n"],
        ),
        ([], ["give --responses FILE"]),
        (["--responses", "nowhere.json"], ["nowhere.json"]),
    ],
)
def test_what_the_user_can_mend_ends_in_1_and_says_how(
    data: Path, arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("score", data, *arguments) == 1
    said = capsys.readouterr().err
    assert all(word in said for word in words), said


@pytest.mark.parametrize("arguments", [["nonsense"], ["score"], ["score", "x", "-n", "0"]])
def test_a_wrong_command_ends_in_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert "toolbench" in capsys.readouterr().err


def test_check_says_that_gold_resolves_and_lists_what_is_wrong(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = record(call("get_stock_price", {"symbol": 5}), uuid="f3", query="y")
    data.write_text(json.dumps([*json.loads(data.read_text()), broken]), encoding="utf-8")

    assert run("check", data) == 0

    *listed, last = capsys.readouterr().out.splitlines()
    assert last == "gold: 4 of 4 tasks are resolved by their own labels"
    assert listed == [
        "f3: the label of get_stock_price breaks its schema: symbol: 5 is not of type 'string'"
    ]


def test_check_ends_in_1_where_gold_does_not_resolve(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text(json.dumps([record(function_call_label=[])]), encoding="utf-8")

    assert run("check", data, "--json") == 1
    assert len(json.loads(capsys.readouterr().out)["unresolved_gold"]) == 1


def test_compat_is_said_to_be_that_tool_s_scores(
    data: Path, responses: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("score", data, "--responses", responses, "--compat", "mcpbr") == 0

    shown = capsys.readouterr().out
    assert "scored as mcpbr does" in shown
    assert "0.0%" in shown


def test_gold_of_the_published_data_resolves(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(os.environ.get("MCPTOOLBENCH_DATA", PUBLISHED))
    if not folder.is_dir():
        pytest.skip("the published data is not here: name its folder in MCPTOOLBENCH_DATA")

    assert run("check", folder, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tasks"] >= 699
    assert found["unresolved_gold"] == []
