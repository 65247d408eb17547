"""The table of mutations has floors: what is changed in a shipped reference is told from it."""

from __future__ import annotations

import math

import pytest

from runner.grounding.commit_files import GitFiles
from runner.grounding.outlines import TextOnly
from runner.grounding.overlap import Overlap
from runner.grounding.shifts import shifted
from runner.grounding.symbols import SourceFile
from runner.support.errors import FairtrialError
from tests.mutations import Answer, Claim, Outcome, outcomes, shipped

SCENARIOS = ("click-option-values", "fastify-request-hooks", "werkzeug-upload-limits")


@pytest.fixture(scope="module")
def answers() -> list[Answer]:
    try:
        return list(shipped(SCENARIOS))
    except FairtrialError as error:
        pytest.skip(f"a repository of the shipped scenarios is out of reach: {error}")


@pytest.fixture(scope="module")
def table(answers: list[Answer]) -> dict[str, Outcome]:
    return {outcome.change: outcome for outcome in outcomes(answers)}


def test_what_the_references_cite_holds_and_is_seldom_weak(table: dict[str, Outcome]) -> None:
    honest = table["none"]
    assert (honest.named > 80, honest.bare > 80) == (True, True)
    assert (honest.plain, honest.weighted) == (1.0, 1.0)
    assert (honest.marked_named <= 0.05, honest.marked_bare <= 0.12) == (True, True)
    assert honest.trust is not None
    assert honest.trust >= 0.9


@pytest.mark.parametrize("change", ["path", "past the end"])
def test_an_invented_path_or_line_is_always_caught(table: dict[str, Outcome], change: str) -> None:
    outcome = table[change]
    assert (outcome.caught_named, outcome.caught_bare) == (1, 1)
    assert (outcome.plain, outcome.weighted, outcome.trust) == (0, 0, 0)


@pytest.mark.parametrize(
    ("change", "caught", "marked", "rates"),
    [
        ("8 lines off", 0.12, 0.28, (0.88, 0.66)),
        ("20 lines off", 0.4, 0.33, (0.55, 0.45)),
        ("50 lines off", 0.75, 0.45, (0.22, 0.2)),
        ("200 lines off", 0.92, 0.5, (0.08, 0.1)),
    ],
)
def test_the_weighted_rate_falls_with_each_shift_and_the_plain_one_hardly(
    table: dict[str, Outcome],
    change: str,
    caught: float,
    marked: float,
    rates: tuple[float, float],
) -> None:
    outcome = table[change]
    weighted, trust = rates
    assert outcome.caught_named >= caught
    assert outcome.marked_bare >= marked
    assert outcome.weighted is not None
    assert outcome.trust is not None
    assert (outcome.weighted <= weighted, outcome.trust <= trust) == (True, True)
    assert outcome.plain > outcome.weighted


def test_another_symbol_of_the_file_or_an_invented_owner_is_caught(
    table: dict[str, Outcome],
) -> None:
    assert table["symbol swapped"].caught_named >= 0.85
    assert table["qualifier invented"].caught_named >= 0.9
    assert table["another file"].caught_named >= 0.95


# --- the overlap's power --------------------------------------------------------------------


def percentiles(answers: list[Answer], by: int) -> list[float]:
    found: list[float] = []
    for answer in answers:
        overlap = Overlap()
        with GitFiles(answer.repository, answer.commit) as files:
            for claim in answer.claims:
                found += _percentile(overlap, claim, files.read(claim.path), by)
    return found


def _percentile(overlap: Overlap, claim: Claim, source: bytes, by: int) -> list[float]:
    file = SourceFile(claim.path, source, lambda: TextOnly("not parsed"))
    lines = (
        shifted((claim.start, claim.end), by, file.line_count) if by else (claim.start, claim.end)
    )
    judged = overlap.judge(file, f"{claim.said} {claim.symbol or ''}", lines)
    return [] if judged.percentile is None else [judged.percentile]


def auc(right: list[float], wrong: list[float]) -> float:
    """The chance that a right place ranks above a wrong one, ties half."""
    pairs = [(one > other) + (one == other) / 2 for one in right for other in wrong]
    return math.fsum(pairs) / len(pairs)


@pytest.mark.parametrize(("by", "floor"), [(8, 0.78), (20, 0.83), (50, 0.86), (200, 0.89)])
def test_what_is_said_tells_right_lines_from_shifted_ones(
    answers: list[Answer], by: int, floor: float
) -> None:
    assert auc(percentiles(answers, 0), percentiles(answers, by)) >= floor
