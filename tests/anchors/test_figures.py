"""The lock holds all code that makes a figure: an edit closes the gate, a comment does not."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.gate.chain import read_chain
from runner.gate.changes import scoring_drifts
from runner.gate.figure_code import NO_PART_IN_FIGURES, code_in_use
from runner.support import code_digest
from runner.support.errors import Drift
from tests.anchors.material import Tree, accept, locked, verify
from tests.anchors.test_cheats import drifted

RUNNER = Path(__file__).resolve().parents[2] / "runner"
MUST = {
    "Audit",
    "Comparisons",
    "FAIRNESS",
    "ADOPTION",
    "RunStore",
    "ScenarioEvidence",
    "ScoreCache",
    "open_score_cache",
    "correlate",
    "efficiency",
    "extract",
    "fairness_figures",
    "fold",
    "step_citations",
    "keyword_coverage",
    "trial_differences",
    "score_cell",
    "split",
    "view_of",
    "languages/python/tags.scm",
    "languages/python/language.toml",
}
"""Where the weights, the efficiency, the citations, the calls and the statistics are made."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return locked(tmp_path_factory.mktemp("locked"))


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of our code, which the gate takes for ours."""
    folder = tmp_path / "runner"
    shutil.copytree(RUNNER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    copied = SimpleNamespace(files=lambda package: tmp_path.joinpath(*package.split(".")))
    monkeypatch.setattr(code_digest, "resources", copied)
    return folder


def path_of(copy: Path, name: str) -> Path:
    """Where a definition stands, or a query lies."""
    if name.endswith((".scm", ".toml")):
        return copy / "grounding" / name
    definition = re.compile(rf"^(?:(?:async )?def |class )?{name}\b(?:\(|:|\[| =)", re.M)
    paths = [path for path in copy.rglob("*.py") if definition.search(path.read_text())]
    assert len(paths) == 1, f"{name} stands in {paths}"
    return paths[0]


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return list(map(ast.unparse, targets))


def mutated(source: str, name: str) -> str:
    """The same with one more statement in a function or class, or another constant."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            node.body.insert(1, ast.parse("MADE_UP = 1").body[0])
        elif isinstance(node, ast.Assign | ast.AnnAssign) and name in _targets(node):
            # What it names stays named: only so is every other definition reached as before.
            was = node.value or ast.Constant(value=None)
            node.value = ast.List(elts=[ast.Constant(value="made up"), was])
    return ast.unparse(tree)


def drifts(checkout: Tree) -> list[Drift]:
    return list(scoring_drifts(read_chain(checkout.root)[-1]))


def test_every_name_that_is_left_out_is_a_definition_of_ours() -> None:
    """One that was renamed would leave out whatever takes its name later."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in RUNNER.rglob("*.py"))
    for name in NO_PART_IN_FIGURES:
        assert re.search(rf"^(?:class )?{name}\b(?:\(|:)", text, re.M), name


def test_the_lock_holds_what_makes_a_figure() -> None:
    assert code_in_use().keys() >= MUST


def test_each_change_of_what_makes_a_figure_closes_the_gate_and_is_named(
    checkout: Tree, copy: Path
) -> None:
    assert drifts(checkout) == []
    for name in MUST:
        path = path_of(copy, name)
        source = path.read_text(encoding="utf-8")
        path.write_text(f"{source}(x)" if "." in name else mutated(source, name))
    assert {f"scoring {name}" for name in MUST} <= {drift.where for drift in drifts(checkout)}


def test_comments_and_formatting_of_all_our_code_change_nothing(checkout: Tree, copy: Path) -> None:
    for path in copy.rglob("*.py"):
        spelt = ast.unparse(ast.parse(path.read_bytes()))
        path.write_text(f"# as it was\n{spelt}\n# the end\n", encoding="utf-8")
    assert drifts(checkout) == []


def test_definitions_move_between_files_without_closing_the_gate(
    checkout: Tree, copy: Path
) -> None:
    scoring = copy / "scoring"
    (scoring / "effort.py").write_text((scoring / "efficiency.py").read_text())
    (scoring / "efficiency.py").unlink()
    for path in copy.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        path.write_text(source.replace("runner.scoring.efficiency", "runner.scoring.effort"))
    assert drifts(checkout) == []


@pytest.mark.parametrize(
    ("table", "entry"),
    [("MODELS", '"another": ModelKind(notice="another")'), ("JUDGES", '"another": None')],
)
def test_a_new_model_or_judge_closes_no_gate(
    checkout: Tree, copy: Path, table: str, entry: str
) -> None:
    path = path_of(copy, table)
    path.write_text(f"{path.read_text()}\n{table} = {table} | {{{entry}}}\n")
    assert drifts(checkout) == []


def test_a_new_language_or_a_figure_that_only_a_report_shows_closes_no_gate(
    checkout: Tree, copy: Path
) -> None:
    another = copy / "grounding/languages/another"
    another.mkdir()
    (another / "tags.scm").write_text("(x)")
    path = path_of(copy, "build_report")
    path.write_text(mutated(path.read_text(), "build_report"))
    assert drifts(checkout) == []


def test_a_definition_that_a_figure_is_newly_made_with_is_told_with_who_uses_it(
    checkout: Tree, copy: Path
) -> None:
    (copy / "scoring/kindness.py").write_text("def gift():\n    return 0.1\n")
    path = copy / "scoring/efficiency.py"
    source = path.read_text()
    path.write_text(
        source.replace(
            "def efficiency(", "from runner.scoring.kindness import gift\n\n\ndef efficiency("
        ).replace("    tokens = ", "    gift()\n    tokens = ", 1)
    )
    assert path.read_text().count("gift()") == 1
    assert "scoring efficiency" in [drift.where for drift in drifts(checkout)]


def test_the_gate_names_the_definition_with_exit_3_until_it_is_accepted(
    tmp_path_factory: pytest.TempPathFactory, copy: Path
) -> None:
    tree = locked(tmp_path_factory.mktemp("own"))
    path = copy / "scoring/efficiency.py"
    path.write_text(mutated(path.read_text(), "efficiency"))
    assert drifted(tree) == ["scoring efficiency"]
    accept(tree, reason="tokens weigh less")
    assert verify(tree).generation == 2
