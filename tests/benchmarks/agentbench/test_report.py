"""A run of queries, judged and reported: the paper's averages, and runs made by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from runner.benchmarks import BENCHMARKS
from runner.benchmarks.agentbench.judging.mcp_eval import Judgment, ValuesJudge
from runner.benchmarks.agentbench.queries import CATEGORIES, Query
from runner.benchmarks.agentbench.report.query_report import (
    average_of,
    group,
    groups,
    report_of_run,
)
from runner.benchmarks.agentbench.report.query_results import (
    QueriesReport,
    QueryResult,
    average_of_categories,
)
from runner.benchmarks.without_scorecard import wilson
from runner.records import Unscored
from runner.records.run_store import RunStore
from tests.benchmarks.agentbench.answered import CALL, DAY, HEAT, MASS, query
from tests.benchmarks.agentbench.judged_run import Said, made_run
from tests.benchmarks.agentbench.test_mcp_eval import NAME, reply, saying
from tests.checkout import ended
from tests.judges.reader import Seen, block

# --- the paper's table 1 ------------------------------------------------------------------------

TABLE_1 = {
    # model and method: single/parallel/sequential of one server, then of several; Avg.
    "GPT-4o, ReAct": (47, 35, 30, 33, 13, 9, 27.8),
    "o3-mini, ReAct": (56, 63, 41, 48, 50, 49, 51.2),
    "Claude 3.7 Sonnet, ReAct": (60, 52, 51, 58, 32, 39, 48.7),
    "Claude 4 Sonnet, ReAct": (62, 50, 57, 66, 27, 33, 49.2),
    "Gemini 2.5 Flash, ReAct": (54, 54, 42, 63, 30, 34, 46.2),
    "Gemini 2.5 Pro, ReAct": (58, 53, 43, 58, 38, 44, 49.0),
    "GPT-4o, TC": (53, 41, 25, 38, 12, 15, 30.7),
    "o3-mini, TC": (64, 52, 41, 66, 33, 44, 50.0),
    "Claude 3.7 Sonnet, TC": (63, 48, 47, 69, 39, 52, 53.0),
    "Claude 4 Sonnet, TC": (61, 54, 52, 74, 53, 54, 58.0),
    "Kimi K2, ReAct": (70, 64, 69, 63, 52, 41, 59.8),
    "DeepSeek V3, ReAct": (59, 58, 55, 61, 36, 45, 52.3),
    "DeepSeek R1, ReAct": (75, 57, 53, 58, 42, 40, 54.2),
    "Qwen3-235B-A22B, ReAct": (78, 69, 69, 68, 54, 50, 64.7),
    "Kimi K2, TC": (63, 61, 65, 70, 48, 59, 61.0),
    "DeepSeek V3, TC": (59, 38, 35, 58, 36, 26, 42.0),
    "Qwen3-235B-A22B, TC": (68, 57, 65, 20, 14, 17, 40.2),
}


@pytest.mark.parametrize("row", TABLE_1)
def test_every_published_average_follows_from_its_row(row: str) -> None:
    # All 17 do, to the one decimal that is printed: none of them had to be excepted.
    *rates, published = TABLE_1[row]
    assert average_of_categories([float(rate) for rate in rates]) == published


def test_a_row_with_100_queries_a_category_gives_the_published_average_again() -> None:
    *rates, published = TABLE_1["GPT-4o, ReAct"]
    made = []
    for category, rate in zip(CATEGORIES, rates, strict=True):
        for number in range(100):
            made.append(result(f"{category}-{number}", category, passed=number < rate))
    found = tuple(groups(made, CATEGORIES, lambda one: one.category))
    assert average_of(found) == published
    assert [one.name for one in found] == list(CATEGORIES)
    first = found[0].rate
    assert (first.value, first.low, first.high) == (0.47, *wilson(47, 100))


def test_fewer_than_six_categories_have_no_average() -> None:
    made = [result(name, name, passed=True) for name in CATEGORIES[:5]]
    assert average_of(tuple(groups(made, CATEGORIES, lambda one: one.category))) is None


def result(name: str, category: Any, *, passed: bool | None, trial: int = 1) -> QueryResult:
    verdict = Unscored(reason="twice") if passed is None else Judgment(passed=passed, reason="")
    return QueryResult(
        query=name, category=category, trial=trial, outcome="answered", answer="a",
        verdict=verdict, failure=None, actions=1, tokens=1,
    )  # fmt: skip


def test_trials_of_one_query_count_as_one_query() -> None:
    made = [result("a", CATEGORIES[0], passed=number < 2, trial=number) for number in range(4)]
    made.append(result("b", CATEGORIES[0], passed=True))
    found = group("all", made)
    assert (found.queries, found.answers, found.passed) == (2, 5, 3)
    assert found.rate.value == pytest.approx((0.5 + 1) / 2)


def test_an_unscored_answer_is_in_no_rate() -> None:
    made = [result("a", CATEGORIES[0], passed=True), result("b", CATEGORIES[0], passed=None)]
    found = group("all", made)
    assert (found.queries, found.answers, found.rate.value) == (2, 1, 1.0)


# --- runs ---------------------------------------------------------------------------------------

AMONG = query("among", MASS.query, "12.34 kg.", "12.34 kg", category="multi-server-single-call")
QUERIES = (MASS, HEAT, DAY, CALL, AMONG)
GOOD, BAD = "claude-good", "claude-bad"
SAID: dict[tuple[str, str], Said | None] = {
    ("mass", GOOD): Said(answer="12.34 kg", results=["12.34 kg"], tokens=500),
    ("heat", GOOD): Said(
        answer="Porto 15.2 °C, Bergen 8.6 °C", results=["15.2", "8.6"], tokens=500
    ),
    ("day", GOOD): Said(answer="Tuesday, 10 June 2031", results=["2031-06-10"], tokens=500),
    ("call", GOOD): Said(answer="22:00", results=["23:00"], tokens=500),
    ("among", GOOD): Said(answer="12.34 kg", results=["12.34 kg"], tokens=500),
    ("mass", BAD): Said(answer="About 13 kg."),
    ("heat", BAD): Said(answer="", results=["x"] * 30, outcome="out_of_actions"),
    ("day", BAD): Said(answer="", outcome="provider_failed"),
    ("call", BAD): None,
    ("among", BAD): Said(answer="12.34 kg", results=["12.34 kg"]),
}


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return made_run(tmp_path / "runs" / "made", SAID, QUERIES)


def fairtrial(*arguments: object) -> int:
    return ended("agentbench", "report", *arguments)


def test_a_run_is_judged_and_every_cell_stays_in_the_count(store: RunStore) -> None:
    found = report_of_run(store, store.load(), ValuesJudge())
    good, bad = found.models
    assert (good.planned, good.measured, good.total.passed) == (5, 5, 4)
    assert (bad.planned, bad.measured, bad.total.passed) == (5, 3, 1)
    assert good.total.rate.value == 0.8
    assert [(one.name, one.passed, one.answers) for one in good.by_scope] == [
        ("single-server", 3, 4),
        ("multi-server", 1, 1),
    ]
    assert {one.name: one.passed for one in good.by_dependency} == {
        "single-call": 2,
        "parallel-call": 2,
    }
    assert (good.tokens_per_query, good.actions_per_query) == (1100.0, 2.2)


def test_failures_show_what_rules_can_tell(store: RunStore) -> None:
    good, bad = report_of_run(store, store.load(), ValuesJudge()).models
    assert bad.signs["no tool called"] == bad.signs["limit reached"] == 1
    assert bad.signs["no answer"] == 1 and bad.kinds["refusal"] == 0
    assert good.signs["left out what a tool said"] == 1
    (failed,) = [one for one in good.results if one.failure]
    assert failed.query == "call" and failed.failure is not None and failed.failure.label is None


def test_the_report_is_written_in_all_forms_with_its_plot(
    store: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two cells are not measured: the command says so by its code.
    assert fairtrial(store.folder) == 1
    shown = capsys.readouterr().out
    for words in ("Judged by `values`", "By server scope", "80.0", "claude-bad", "no tool called"):
        assert words in shown
    written = json.loads((store.folder / "report.json").read_text("utf-8"))
    jsonschema.validate(written, QueriesReport.model_json_schema())
    assert [row["planned"] for row in written["models"]] == [5, 5] and written["ranks"] is False
    assert "| claude-good |" in (store.folder / "report.md").read_text("utf-8")
    page = (store.folder / "report.html").read_text("utf-8")
    assert page.count("<circle") == 2 and "claude-good: 1,100 tokens per query, 80 %" in page
    assert "tokens per query" in page and page.count("<script") == 1


def test_a_run_of_a_program_says_so_first_and_ranks_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = made_run(tmp_path / "made", {("mass", "offline"): Said(answer="12.34 kg")}, QUERIES)
    assert fairtrial(store.folder) == 0
    first = "\n".join(capsys.readouterr().out.splitlines()[:3])
    assert "Made with the offline model" in first and "Nobody is ranked" in first
    page = (store.folder / "report.html").read_text("utf-8")
    assert page.index("Nobody is ranked") < page.index("Pass rate")


def test_what_an_answer_says_is_no_markup_in_a_report(tmp_path: Path) -> None:
    loud = "<script>alert(1)</script> | \x1b[31m 99.123 kg"
    store = made_run(tmp_path / "made", {("mass", GOOD): Said(answer=loud, results=["x"])}, [MASS])
    assert fairtrial(store.folder) == 0
    page = (store.folder / "report.html").read_text("utf-8")
    # The page's own, and none of an answer's.
    assert page.count("<script") == 1 and "<script>alert" not in page and "\x1b" not in page


def test_a_transcript_that_was_edited_is_in_no_rate(store: RunStore) -> None:
    from runner.benchmarks.agentbench.query_benchmark import BENCHMARK
    from runner.catalog.checkout import Checkout
    from runner.runs.audit import Audit

    cell = store.plan().cells[3]
    attempt = store.counted_attempt(cell.id)
    assert cell.scenario == "call" and attempt is not None
    text = attempt.transcript.read_text("utf-8")
    attempt.transcript.write_text(text.replace("22:00", "23:00"), encoding="utf-8")
    checkout = Checkout(root=store.folder, state=store.folder, environ={}, log=print)
    loaded = Audit(store=store, checkout=checkout, benchmark=BENCHMARKS[BENCHMARK]).evidence()
    good = report_of_run(store, loaded, ValuesJudge()).models[0]
    assert (good.measured, good.total.passed) == (4, 4)
    assert report_of_run(store, loaded, ValuesJudge()).problems


# --- a judge that is a model --------------------------------------------------------------------


def reads(seen: Seen) -> str:
    if "CALLS" in seen.text:
        kind = "refusal" if "(none)" in block(seen.text, "CALLS") else "omission"
        return f"<reason>It shows.</reason><kind>{kind}</kind>"
    answer, reference = block(seen.text, "ANSWER"), block(seen.text, "REFERENCE")
    agrees = any(word in reference for word in answer.split() if word[0].isdigit())
    return reply("pass" if agrees else "fail")


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none")
    return monkeypatch


def test_a_model_judges_labels_failures_and_is_asked_once(
    store: RunStore, no_key: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with saying(reads) as reader:
        no_key.setenv("ANTHROPIC_BASE_URL", reader.url)
        assert fairtrial(store.folder, "--judge", f"model:{NAME}") == 1
        told = capsys.readouterr()
        assert "judging took" in told.err and "held against" in told.out
        asked = len(reader.seen)
        report = json.loads((store.folder / "report.json").read_text("utf-8"))
        good, bad = report["models"]
        assert good["total"]["passed"] == 4
        assert (good["kinds"]["omission"], bad["kinds"]["refusal"]) == (1, 1)

        # Judged again as before, from what is kept: nothing is asked, and no key is needed.
        no_key.delenv("ANTHROPIC_API_KEY")
        no_key.delenv("ANTHROPIC_BASE_URL")
        assert fairtrial(store.folder) == 1
        assert len(reader.seen) == asked
        assert json.loads((store.folder / "report.json").read_text("utf-8")) == report


def test_verdicts_are_a_table_that_people_can_add_to(
    store: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "verdicts.csv"
    fairtrial(store.folder, "--verdicts", table)
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 and {row["values"] for row in rows} == {"pass", "fail"}
    with table.open("w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0], "ann"])
        writer.writeheader()
        writer.writerows({**row, "ann": row["values"]} for row in rows)
    capsys.readouterr()
    assert not ended("agreement", table, "--people", "ann", "--json")
    found = json.loads(capsys.readouterr().out)["beside"][0]
    assert (found["rater"], found["agreement"]["value"]) == ("values", 1.0)


def test_a_run_of_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fairtrial(tmp_path) == 1
    assert "error" in capsys.readouterr().err


def test_a_query_that_the_run_does_not_hold_is_named(tmp_path: Path) -> None:
    held: list[Query] = [HEAT]
    store = made_run(tmp_path / "made", {("mass", GOOD): Said(answer="12.34 kg")}, held)
    found = report_of_run(store, store.load(), ValuesJudge())
    assert found.problems == ("mass: the run holds no such query",)
    assert found.models[0].measured == 0
