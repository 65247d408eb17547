"""A new part of a score is one function and one line; all that is printed follows from it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from runner.records import Cell, Score, Scored, ToolTrace
from runner.records.run_store import LoadedCell
from runner.report import html, markdown, terminal
from runner.report.build_report import build_report
from runner.report.report_files import render_json
from runner.scoring import ADOPTION, FAIRNESS, score_cell
from runner.scoring.fairness import Evidence
from runner.scoring.judges.checklist.checklist import Checklist
from runner.scoring.score_parts import Part
from tests.report.loaded import catalog, cell, loaded, measured, scorecard
from tests.scoring.material import RUBRIC, SCENARIO, TREE
from tests.test_transcript import WHOLE


def brevity(evidence: Evidence) -> Score:
    """A toy: full marks for an answer of fewer than a thousand words."""
    words = sum(len(step.text.split()) for step in evidence.answer.steps)
    return Scored(value=float(words < 1000), detail=f"{words} words")


def patience(trace: ToolTrace) -> Score:
    """A toy: half marks for every trace."""
    return Scored(value=0.5, detail=f"{trace.steps} steps")


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A toy in each dict, at the cost of another part: the weights still sum to 1."""
    monkeypatch.setitem(FAIRNESS, "llm_quality", replace(FAIRNESS["llm_quality"], weight=0.30))
    monkeypatch.setitem(ADOPTION, "tool_fluency", replace(ADOPTION["tool_fluency"], weight=0.10))
    toy = Part(score=brevity, weight=0.25, label="brevity", short="brief")
    monkeypatch.setitem(FAIRNESS, "brevity", toy)
    slow = Part(score=patience, weight=0.5, label="patience", short="patient", heading="waiting")
    monkeypatch.setitem(ADOPTION, "patience", slow)


def value(score: Score) -> float:
    assert isinstance(score, Scored)
    return score.value


def with_toys(of: Cell) -> LoadedCell:
    card = scorecard(of, 0.5)
    parts = {**card.fairness.parts, "brevity": Scored(value=0.321)}
    used = {**card.adoption.parts, "patience": Scored(value=0.123)}
    halves = {
        "fairness": card.fairness.model_copy(update={"parts": parts}),
        "adoption": card.adoption.model_copy(update={"parts": used}),
    }
    return replace(measured(of, 0.5), scorecard=card.model_copy(update=halves))


@pytest.mark.usefixtures("toys")
def test_a_new_part_is_scored_and_counts_with_its_weight() -> None:
    judge = Checklist()
    card = score_cell(
        WHOLE, SCENARIO, RUBRIC, cell_id="c", server="codegraph", files=TREE, judge=judge
    )
    fairness, adoption = card.fairness, card.adoption
    assert value(fairness.parts["brevity"]) == 1.0
    assert value(adoption.parts["patience"]) == 0.5

    others = [("keyword_coverage", 0.10), ("llm_quality", 0.30), ("citation_grounding", 0.15)]
    total = sum(weight * value(fairness.parts[name]) for name, weight in others)
    total += 0.20 * value(fairness.parts["efficiency"])
    assert value(fairness.score) == pytest.approx(total + 0.25 * 1.0)
    fluency, found = (adoption.parts[name] for name in ("tool_fluency", "discoverability"))
    expected = 0.10 * value(fluency) + 0.40 * value(found) + 0.50 * 0.5
    assert value(adoption.score) == pytest.approx(expected)


@pytest.mark.usefixtures("toys")
def test_a_new_part_is_a_column_in_every_form_of_a_report() -> None:
    run = loaded([with_toys(cell("alpha")), with_toys(cell("alpha", "codegraph"))])
    report = build_report(run, *catalog(run))

    arms = json.loads(render_json(report))["arms"]
    assert arms[1]["fairness"]["parts"]["brevity"]["value"] == 0.321
    assert arms[1]["adoption"]["parts"]["patience"]["value"] == 0.123
    for text, brevity_heading, patience_heading in (
        (terminal.render(report), " brief ", " patient "),
        (markdown.render(report), "| brevity |", "| waiting |"),
        (html.render(report), ">brevity</th>", ">waiting</th>"),
    ):
        words = " ".join(text.split())  # a terminal wraps the formula
        assert brevity_heading in words and patience_heading in words
        assert "0.321" in words and "0.123" in words
        assert "+ 0.25 brevity; means over groups of questions." in words
        assert "+ 0.50 patience. The shell arm" in words


@pytest.mark.usefixtures("toys")
def test_a_card_from_before_a_part_is_not_scored_yet() -> None:
    run = loaded([measured(cell("alpha"), 0.5)])
    figure = build_report(run, *catalog(run)).arms[0].fairness.parts["brevity"]
    assert figure.value is None
    assert figure.reasons == ("not scored yet (1 of 1 cells)",)
