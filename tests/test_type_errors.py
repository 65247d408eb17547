"""What the two scores keep apart is kept apart by their types: a mix-up is a type error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WRONG = "  # wrong"
TRACE_FOR_FAIRNESS = """\
from runner.records import Answer, Effort, Rubric, Scenario, ToolTrace
from runner.protocols import Files
from runner.scoring.adoption import tool_fluency
from runner.scoring.fairness import score_fairness
from runner.scoring.keywords import keyword_coverage

def mix(s: Scenario, r: Rubric, a: Answer, t: ToolTrace, e: Effort, f: Files) -> None:
    score_fairness(s, r, a, e, files=f, judge=None)
    tool_fluency(t)
    score_fairness(s, r, t, e, files=f, judge=None)  # wrong
    keyword_coverage(s, t, [1])  # wrong
    tool_fluency(a)  # wrong
"""
PART_OF_THE_OTHER = """\
from runner.scoring import ADOPTION, FAIRNESS

FAIRNESS["grounding_again"] = FAIRNESS["citation_grounding"]
ADOPTION["fluency_again"] = ADOPTION["tool_fluency"]
FAIRNESS["fluency"] = ADOPTION["tool_fluency"]  # wrong
ADOPTION["grounding"] = FAIRNESS["citation_grounding"]  # wrong
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[int, str]]]:
    """File -> line and text of each error in it."""
    folder = tmp_path_factory.mktemp("mix_ups")
    (folder / "trace.py").write_text(TRACE_FOR_FAIRNESS)
    (folder / "part.py").write_text(PART_OF_THE_OTHER)
    # Where the lint of the whole tree keeps what it knows, other options would throw it away.
    options = ("--strict", "--follow-imports=silent", "--cache-dir=.mypy_cache/mix_ups")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, folder / "trace.py", folder / "part.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    errors: dict[str, list[tuple[int, str]]] = {}
    for line in done.stdout.splitlines():
        if ": error: " in line:
            path, number, text = line.split(":", 2)
            errors.setdefault(Path(path).name, []).append((int(number), text))
    return errors


def wrong(source: str) -> list[int]:
    return [at for at, line in enumerate(source.splitlines(), 1) if line.endswith(WRONG)]


def test_handing_the_trace_to_a_fairness_scorer_is_a_type_error(
    found: dict[str, list[tuple[int, str]]],
) -> None:
    assert [number for number, _ in found["trace.py"]] == wrong(TRACE_FOR_FAIRNESS)
    assert all("[arg-type]" in text for _, text in found["trace.py"])


def test_a_part_of_one_score_among_the_other_s_is_a_type_error(
    found: dict[str, list[tuple[int, str]]],
) -> None:
    assert [number for number, _ in found["part.py"]] == wrong(PART_OF_THE_OTHER)
