"""Programs that are asked for a second opinion: which is asked what; and one of them, asked."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import docker
import pytest

from runner.authoring.drafting.tree import Tree
from runner.authoring.exact.checking import Opinion, opinions_on
from runner.authoring.exact.language_servers import PROGRAMS, programs_for
from runner.catalog.checkout import Checkout
from runner.grounding.commit_files import GitFiles
from runner.records import GitSource
from runner.records.exact import ExactQuestion
from runner.repositories.repository import Repository, fetch_source
from runner.sandbox.workspace import ensure_workspace
from tests.checkout import ROOT
from tests.exact.test_keys import key_in
from tests.proposing.trees import commit

C_SHARP = {
    "src/Till.cs": """\
namespace Shop
{
    public abstract class Till
    {
        public abstract int CountMoney(int from);
    }

    public class Drawer : Till
    {
        public override int CountMoney(int from) => from + 1;
    }

    public class Box : Drawer
    {
        public override int CountMoney(int from) => from;
    }

    public static class Tax
    {
        public static int RoundItDown(int money) => money;
    }
}
""",
    "src/Day.cs": """\
using Shop;

namespace Open
{
    public class Day
    {
        // Tax.RoundItDown(1) was here before
        public int Close(int money)
        {
            var half = Tax.RoundItDown(money / 2);
            return half + Tax.RoundItDown(
                money);
        }
    }
}
""",
}
CALLS = [("src/Day.cs", 10), ("src/Day.cs", 11)]


def test_of_kotlin_no_definition_and_no_implementation_is_asked_for() -> None:
    (program,) = programs_for(["kotlin"])
    assert program.name == "jdtls"
    assert program.knows("kotlin", "references")
    assert not program.knows("kotlin", "definition")
    assert not program.knows("kotlin", "implementation")
    assert program.knows("java", "implementation")
    assert not program.knows("python", "references")


@pytest.mark.parametrize("language", ["ruby", "php"])
def test_of_some_languages_no_program_speaks(language: str) -> None:
    assert programs_for([language]) == []


def test_what_speaks_for_a_compiler_is_installed_beside_it() -> None:
    assert PROGRAMS["roslyn"].files.keys() == {"adapter.py"}
    assert PROGRAMS["pyright"].files == {}


@pytest.mark.docker
def test_csharps_own_compiler_confirms_a_key_and_differs_from_one_that_is_wrong(
    tmp_path: Path, engine: docker.DockerClient
) -> None:
    # A comment of its own makes the commit this test's, and its workspace too.
    files = {**C_SHARP, "src/Own.cs": f"// {uuid4().hex}\n"}
    sha = commit(tmp_path / "shop", files)
    source = GitSource(kind="git", url=f"file://{tmp_path}/shop", commit=sha)
    place = fetch_source(source, cache=tmp_path / "cache", pins=None)
    tree = Tree(GitFiles(place.path, sha))
    calls = key_in(tree, "callers", "RoundItDown")
    under = key_in(tree, "overriders", "Till.CountMoney")
    assert [(it.path, it.line) for it in calls.key.places] == CALLS
    short = calls.key.model_copy(update={"places": calls.key.places[1:], "optional": ()})
    wrong = calls.model_copy(update={"name": "short", "key": short})
    said = _said(place, tree, [calls, under, wrong], engine)
    found = {it.said.question: it.said for it in said}
    assert (found[calls.name].agrees, found[calls.name].confirmed) == (True, 2)
    assert (found[under.name].agrees, found[under.name].confirmed) == (True, 2)
    assert CALLS[0] in found["short"].extra


def _said(
    place: Repository, tree: Tree, questions: list[ExactQuestion], engine: docker.DockerClient
) -> list[Opinion]:
    state = ROOT / ".fairtrial"
    checkout = Checkout(root=ROOT, state=state, environ=dict(os.environ), log=print)
    try:
        return opinions_on(checkout, place, tree, questions)
    finally:
        # It is there already: this asks for its id.
        made = ensure_workspace(engine, place, checkout.base_image, state_dir=state, log=print)
        engine.api.remove_image(made.id, force=True)
