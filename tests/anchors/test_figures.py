"""The lock holds every module that makes a figure: an edit closes the gate, a comment does not."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner import code_identity
from runner.anchors.chain import read_chain
from runner.anchors.changes import scoring_drifts
from runner.anchors.figures import code_in_use
from runner.errors import Drift
from tests.anchors.material import Tree, accept, locked, verify
from tests.anchors.test_cheats import drifted

RUNNER = Path(__file__).resolve().parents[2] / "runner"
MUST = {
    "runner.scoring.weights",
    "runner.scoring.efficiency",
    "runner.scoring.keywords",
    "runner.scoring.adoption",
    "runner.scoring.fairness",
    "runner.grounding.extract",
    "runner.grounding.verify",
    "runner.transcript",
    "runner.text",
    "runner.stats",
    "runner.audit",
    "runner.store",
    "runner.report.figures",
    "runner.report.comparison",
    "runner.report.view",
    "runner.anchors.agreement",
    "grounding/queries/python.scm",
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
    copied = SimpleNamespace(files=lambda top: tmp_path / top)
    monkeypatch.setattr(code_identity, "resources", copied)
    return folder


def path_of(copy: Path, name: str) -> Path:
    if name.endswith(".scm"):
        return copy / name
    module = copy.joinpath(*name.split(".")[1:])
    if module.with_suffix(".py").is_file():
        return module.with_suffix(".py")
    return module / "__init__.py"


class OneConstant(ast.NodeTransformer):
    """Changes the first constant inside a function or an assignment that is no docstring."""

    done = False

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant):
            return node
        return self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if self.done or not isinstance(node.value, int | float | str):
            return node
        self.done = True
        if isinstance(node.value, str):
            return ast.Constant(value=f"{node.value}x")
        return ast.Constant(value=node.value + 1)


def mutated(source: str) -> str:
    changed = OneConstant()
    text = ast.unparse(changed.visit(ast.parse(source)))
    if not changed.done:
        text += "\nMADE_UP = 1\n"
    return text


def drifts(checkout: Tree) -> list[Drift]:
    return list(scoring_drifts(read_chain(checkout.root)[-1]))


def test_the_lock_holds_what_makes_a_figure() -> None:
    assert code_in_use().keys() >= MUST


def test_one_constant_changed_in_any_module_that_makes_a_figure_closes_the_gate(
    checkout: Tree, copy: Path
) -> None:
    assert drifts(checkout) == []
    for name in code_in_use():
        path = path_of(copy, name)
        source = path.read_text(encoding="utf-8")
        path.write_text(f"{source}(x)" if name.endswith(".scm") else mutated(source))
        assert [drift.where for drift in drifts(checkout)] == [f"scoring {name}"], name
        path.write_text(source, encoding="utf-8")
    assert drifts(checkout) == []


def test_comments_and_formatting_of_all_our_code_change_nothing(checkout: Tree, copy: Path) -> None:
    for path in copy.rglob("*.py"):
        spelt = ast.unparse(ast.parse(path.read_bytes()))
        path.write_text(f"# as it was\n{spelt}\n# the end\n", encoding="utf-8")
    assert drifts(checkout) == []


def test_a_module_that_is_new_to_the_figures_is_locked_without_being_listed(
    checkout: Tree, copy: Path
) -> None:
    (copy / "scoring/kindness.py").write_text("GIFT = 0.1\n")
    efficiency = copy / "scoring/efficiency.py"
    efficiency.write_text(f"{efficiency.read_text()}\nfrom runner.scoring.kindness import GIFT\n")
    assert [drift.where for drift in drifts(checkout)] == [
        "scoring runner.scoring.efficiency",
        "scoring runner.scoring.kindness",
    ]


def test_the_gate_names_the_module_with_exit_3_until_it_is_accepted(
    tmp_path_factory: pytest.TempPathFactory, copy: Path
) -> None:
    tree = locked(tmp_path_factory.mktemp("own"))
    path = copy / "scoring/efficiency.py"
    path.write_text(mutated(path.read_text()))
    assert drifted(tree) == ["scoring runner.scoring.efficiency"]
    accept(tree, reason="tokens weigh less")
    assert verify(tree).generation == 2
