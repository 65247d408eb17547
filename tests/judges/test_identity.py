"""A judge's stored verdicts go stale with whatever could change them, and with nothing else."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runner.scoring.judges.checklist.checklist import Checklist
from runner.support.code_digest import definitions_in_use

ROOT = Path(__file__).resolve().parents[2]

REACHED = set("facts_of FactHits Sentence visible json_blocks points_at fold Place".split())
"""From the room's own modules, the reader of citations and the text that all of them share."""


def test_what_the_judge_reads_with_is_in_its_identity() -> None:
    found = definitions_in_use(Checklist)
    assert found.keys() >= REACHED
    assert not {"ModelJudge", "LocalJudge", "Panel", "RunStore", "GitFiles"} & found.keys()


# --- a changed copy of our code ---------------------------------------------------------------

IDENTITY = (
    "from runner.scoring.judges.checklist.checklist import Checklist; print(Checklist().identity)"
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "runner", folder / "runner", ignore=ignored)
    return folder


def identity_with(copy: Path, name: str, source: str) -> str:
    """The identity that a judge has if one file of our code is another."""
    path = copy / "runner" / name
    original = path.read_text(encoding="utf-8")
    path.write_text(source, encoding="utf-8")
    command = [sys.executable, "-B", "-c", IDENTITY]
    try:
        run = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=True)
    finally:
        path.write_text(original, encoding="utf-8")
    return run.stdout.strip()


def edited(old: str, new: str) -> tuple[str, str]:
    """The one file of our code that holds a text, and what it is with another there."""
    holders = []
    for path in (ROOT / "runner").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if old in source:
            name = path.relative_to(ROOT / "runner").as_posix()
            holders.append((name, source.replace(old, new)))
    assert len(holders) == 1, f"{old!r} stands in {[name for name, _ in holders]}"
    return holders[0]


@pytest.mark.parametrize("name", ["scoring/judges/checklist/checklist.py", "grounding/patterns.py"])
def test_new_comments_docstrings_and_formatting_leave_it(copy: Path, name: str) -> None:
    source = (ROOT / "runner" / name).read_text(encoding="utf-8")
    tree = ast.parse(source)
    tree.body[0] = ast.Expr(ast.Constant("Another docstring."))
    rewritten = ast.unparse(ast.fix_missing_locations(tree)) + "\n# no comment of before is left\n"
    assert rewritten != source
    assert identity_with(copy, name, rewritten) == Checklist().identity


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "UNCITED, MISCITED = 1.0, 0.75, 0.5, 0.45",
            "UNCITED, MISCITED = 1.0, 0.75, 0.5, 0.4",
        ),
        ("len(places) > MAX_PLACES", "len(places) >= MAX_PLACES"),
        ("MAX_WORDS = 70", "MAX_WORDS = 71"),
        ("TOLERANCE = 5", "TOLERANCE = 6"),
        ('"NFKC"', '"NFC"'),
    ],
)
def test_a_changed_constant_operator_or_pattern_changes_it(copy: Path, old: str, new: str) -> None:
    assert identity_with(copy, *edited(old, new)) != Checklist().identity


def test_a_changed_record_leaves_it_since_the_inputs_are_digested_as_read(copy: Path) -> None:
    name = "records/cells.py"
    source = (ROOT / "runner" / name).read_text(encoding="utf-8")
    assert identity_with(copy, name, f"{source}\nANOTHER = 1\n") == Checklist().identity
