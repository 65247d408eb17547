"""A judge's stored verdicts go stale with whatever could change them, and with nothing else."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runner.code_identity import imported_sources
from runner.judges.checklist import NO_PART_IN_VERDICTS, Checklist

ROOT = Path(__file__).resolve().parents[2]

LOADED = """
import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps([name for name in sys.modules if name.split(".")[0] == "runner"]))
"""
AT_THE_DOOR = {"runner", "runner.judges", "runner.grounding", "runner.protocols"}
"""Loaded with the judge's module; it uses nothing of theirs."""
OTHER_JUDGES = {
    f"runner.judges.{name}"
    for name in (
        "asking combining counting form local model nearest pairwise panel quotes replies settings"
    ).split()
} | {"runner.judges.stored", "runner.judges.sources"}


def sources() -> set[str]:
    """Modules whose code is the judge's identity."""
    paths = imported_sources("runner.judges.checklist", apart_from=NO_PART_IN_VERDICTS)
    return {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths}


def loaded_by(*modules: str) -> set[str]:
    """Our modules that a fresh Python has loaded once it has imported these."""
    command = [sys.executable, "-c", LOADED, *modules]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return set(json.loads(printed))


def test_every_module_that_the_judge_loads_is_in_its_identity() -> None:
    apart = loaded_by(*NO_PART_IN_VERDICTS)
    assert loaded_by("runner.judges.checklist") - apart - AT_THE_DOOR - sources() == set()


def test_the_sources_are_the_room_s_own_and_the_reader_of_citations() -> None:
    judges = {f"runner.judges.{path.stem}" for path in (ROOT / "runner/judges").glob("*.py")}
    readers = {"runner.grounding.inline", "runner.grounding.patterns", "runner.grounding.pointing"}
    assert judges - {"runner.judges.__init__"} - OTHER_JUDGES <= sources()
    assert {*readers, "runner.text"} <= sources()


# --- a changed copy of our code ---------------------------------------------------------------

IDENTITY = "from runner.judges.checklist import Checklist; print(Checklist().identity)"


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


def edited(name: str, old: str, new: str) -> str:
    source = (ROOT / "runner" / name).read_text(encoding="utf-8")
    assert source.count(old) == 1, f"{name} holds {old!r} {source.count(old)} times"
    return source.replace(old, new)


@pytest.mark.parametrize("name", ["judges/checklist.py", "grounding/patterns.py"])
def test_new_comments_docstrings_and_formatting_leave_it(copy: Path, name: str) -> None:
    source = (ROOT / "runner" / name).read_text(encoding="utf-8")
    tree = ast.parse(source)
    tree.body[0] = ast.Expr(ast.Constant("Another docstring."))
    rewritten = ast.unparse(ast.fix_missing_locations(tree)) + "\n# no comment of before is left\n"
    assert rewritten != source
    assert identity_with(copy, name, rewritten) == Checklist().identity


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (
            "judges/places.py",
            "UNCITED, MISCITED = 1.0, 0.75, 0.5, 0.45",
            "UNCITED, MISCITED = 1.0, 0.75, 0.5, 0.4",
        ),
        ("judges/reading.py", "len(places) > MAX_PLACES", "len(places) >= MAX_PLACES"),
        ("judges/terms.py", "{0,5}", "{0,6}"),
        ("judges/units.py", "MAX_WORDS = 70", "MAX_WORDS = 71"),
        ("grounding/pointing.py", "TOLERANCE = 5", "TOLERANCE = 6"),
        ("text.py", '"NFKC"', '"NFC"'),
    ],
)
def test_a_changed_constant_operator_or_pattern_changes_it(
    copy: Path, name: str, old: str, new: str
) -> None:
    assert identity_with(copy, name, edited(name, old, new)) != Checklist().identity


def test_a_changed_record_leaves_it_since_the_inputs_are_digested_as_read(copy: Path) -> None:
    name = "records/cells.py"
    source = (ROOT / "runner" / name).read_text(encoding="utf-8")
    assert identity_with(copy, name, f"{source}\nANOTHER = 1\n") == Checklist().identity
