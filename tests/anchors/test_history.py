"""Every way we know to blind git to the past of the chain, and what the gate says then."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from runner.gate import chain, gate
from runner.gate.chain_history import history_of
from runner.scoring.judges.checklist.checklist import Checklist
from runner.support.errors import AnchorsDrifted
from runner.support.tree_digest import digest_of_file
from tests.anchors.material import Tree, locked, verify
from tests.anchors.test_cheats import accept_rewording, commit, drifted, forge, git, write_lock

ONE = "locks/anchors/1.lock"
Environment = Mapping[str, str]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return locked(tmp_path)


def head_of(tree: Tree) -> str:
    return tree.read(".git/refs/heads/main").strip()


# --- what is hidden is named, and what it hides is seen ------------------------------------------


def by_a_graft(tree: Tree) -> str:
    tree.write(".git/info/grafts", f"{head_of(tree)}\n")
    return ".git/info/grafts"


def by_a_shallow_file(tree: Tree) -> str:
    tree.write(".git/shallow", f"{head_of(tree)}\n")
    return ".git/shallow"


def by_a_replacement(tree: Tree) -> str:
    head = head_of(tree)
    git(tree, "replace", "--graft", "HEAD")
    return f".git/refs/replace/{head}"


@pytest.mark.parametrize("hide", [by_a_graft, by_a_shallow_file, by_a_replacement])
def test_what_hides_the_past_is_refused_and_what_it_hides_is_named(
    tree: Tree, hide: Callable[[Tree], str]
) -> None:
    commit(tree)
    write_lock(tree, forge(tree))
    commit(tree)
    hidden = hide(tree)
    assert drifted(tree) == [hidden, ONE]


@pytest.mark.parametrize("hide", [by_a_graft, by_a_shallow_file, by_a_replacement])
def test_what_hides_the_past_is_refused_though_nothing_was_rewritten(
    tree: Tree, hide: Callable[[Tree], str]
) -> None:
    commit(tree)
    tree.write("README", "x")
    commit(tree)
    hidden = hide(tree)
    assert drifted(tree) == [hidden]


def test_a_shallow_clone_is_refused_with_the_command_that_brings_the_past(
    tree: Tree, tmp_path: Path
) -> None:
    commit(tree)
    write_lock(tree, forge(tree))
    commit(tree)
    clone = cloned(tree, tmp_path, "--depth", "1")
    with pytest.raises(AnchorsDrifted, match=r"\.git/shallow: hides .*\n.*git fetch --unshallow"):
        gate.verify(clone, Checklist())


def test_a_clone_without_the_trees_of_the_past_is_refused(tree: Tree, tmp_path: Path) -> None:
    commit(tree)
    write_lock(tree, forge(tree))
    commit(tree)
    git(tree, "config", "uploadpack.allowFilter", "true")
    clone = cloned(tree, tmp_path, "--filter=tree:0")
    with pytest.raises(AnchorsDrifted, match=r"\.git: cannot be read: git diff-tree failed"):
        gate.verify(clone, Checklist())


def cloned(tree: Tree, tmp_path: Path, *options: str) -> Path:
    clone = tmp_path.with_name(f"{tmp_path.name}-clone")
    git(tree, "clone", "-q", *options, f"file://{tree.root}", str(clone))
    (clone / "images/servers").mkdir(parents=True, exist_ok=True)
    return clone


# --- the environment and the index ---------------------------------------------------------------


def elsewhere(tree: Tree, name: str, text: str = "") -> str:
    path = tree.root.with_name(f"{tree.root.name}-{name}")
    path.write_text(text)
    return str(path)


def graft_file(tree: Tree) -> Environment:
    return {"GIT_GRAFT_FILE": elsewhere(tree, "grafts", f"{head_of(tree)}\n")}


def shallow_file(tree: Tree) -> Environment:
    return {"GIT_SHALLOW_FILE": elsewhere(tree, "shallow", f"{head_of(tree)}\n")}


def object_folder(tree: Tree) -> Environment:
    return {"GIT_OBJECT_DIRECTORY": str(tree.root), "GIT_COMMON_DIR": str(tree.root)}


def another_index(tree: Tree) -> Environment:
    return {"GIT_INDEX_FILE": elsewhere(tree, "index")}


def another_repository(tree: Tree) -> Environment:
    other = tree.root / "other.git"
    git(tree, "init", "-q", "--bare", str(other))
    return {"GIT_DIR": str(other), "GIT_WORK_TREE": str(tree.root / "locks")}


def pathspecs_read_otherwise(_: Tree) -> Environment:
    return {"GIT_LITERAL_PATHSPECS": "1", "GIT_ICASE_PATHSPECS": "1", "GIT_NAMESPACE": "none"}


def settings_in_variables(_: Tree) -> Environment:
    settings = {"diff.relative": "true", "log.showRoot": "false", "diff.orderFile": os.devnull}
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def somebody_elses_folder(_: Tree) -> Environment:
    # git's own switch for its tests: every folder is somebody else's, and none is trusted.
    return {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}


def assumed_unchanged(tree: Tree) -> Environment:
    git(tree, "update-index", "--assume-unchanged", ONE, "locks/anchors.lock")
    return {}


def skipped_in_the_worktree(tree: Tree) -> Environment:
    git(tree, "update-index", "--skip-worktree", ONE, "locks/anchors.lock")
    return {}


def attributes_and_settings_of_the_repository(tree: Tree) -> Environment:
    tree.write(".git/info/attributes", "locks/** binary -diff filter=none ident\n")
    git(tree, "config", "diff.relative", "true")
    git(tree, "config", "core.ignoreStat", "true")
    git(tree, "config", "core.worktree", str(tree.root.parent))
    return {}


def an_index_that_is_gone(tree: Tree) -> Environment:
    (tree.root / ".git/index").unlink()
    return {}


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize(
    "blind",
    [
        graft_file,
        shallow_file,
        object_folder,
        another_index,
        another_repository,
        pathspecs_read_otherwise,
        settings_in_variables,
        somebody_elses_folder,
        assumed_unchanged,
        skipped_in_the_worktree,
        attributes_and_settings_of_the_repository,
        an_index_that_is_gone,
    ],
)
def test_no_variable_no_setting_and_no_index_hides_a_rewritten_chain(
    tree: Tree,
    blind: Callable[[Tree], Environment],
    committed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commit(tree)
    forged = forge(tree)
    if committed:
        write_lock(tree, forged)
        commit(tree)
    for name, value in blind(tree).items():
        monkeypatch.setenv(name, value)
    write_lock(tree, forged)
    assert drifted(tree) == [ONE]


# --- where nothing was looked at, it is said -----------------------------------------------------


def test_without_git_the_history_is_not_checked_and_that_is_said(tree: Tree) -> None:
    commit(tree)
    write_lock(tree, forge(tree))
    shutil.rmtree(tree.root / ".git")
    verdict = verify(tree)
    assert verdict.history == "history not checked: there is no .git here"
    assert gate.gate_record(tree.root, verdict).history == verdict.history


def test_a_manifest_of_ones_own_vouches_for_nothing(tree: Tree) -> None:
    names = [path for path in tree.root.rglob("*") if path.is_file()]
    digests = {path.relative_to(tree.root).as_posix(): digest_of_file(path) for path in names}
    tree.write("MANIFEST", json.dumps(digests))
    assert verify(tree).history == "history not checked: there is no .git here"


def test_a_repository_begun_anew_has_no_history_and_says_so(tree: Tree) -> None:
    git(tree, "init", "-q")
    assert verify(tree).history == "history not checked: nothing is committed here yet"


def test_a_whole_history_that_is_committed_needs_no_word(tree: Tree) -> None:
    commit(tree)
    assert verify(tree).history == ""
    accept_rewording(tree, "Ours.")
    assert verify(tree).history.startswith("locks/anchors.lock is not committed")
    commit(tree)
    assert verify(tree).history == ""


def test_line_ends_that_a_checkout_turned_are_no_change(tree: Tree) -> None:
    commit(tree)
    for path in (ONE, "locks/anchors.lock"):
        data = (tree.root / path).read_bytes()
        (tree.root / path).write_bytes(data.replace(b"\n", b"\r\n"))
    assert history_of(tree.root, chain.ANCHORS_LOCK, chain.GENERATIONS).drifts == ()


def test_a_link_to_a_repository_that_is_not_there_is_no_missing_history(tree: Tree) -> None:
    tree.write(".git", "gitdir: ../nowhere\n")
    assert drifted(tree) == [".git"]


def test_a_head_that_names_no_branch_is_no_fresh_start(tree: Tree) -> None:
    commit(tree)
    write_lock(tree, forge(tree))
    git(tree, "symbolic-ref", "HEAD", "refs/heads/none")
    assert drifted(tree) == [".git"]


def test_a_past_that_was_merged_away_behind_a_new_root_is_told(tree: Tree) -> None:
    commit(tree)
    git(tree, "checkout", "-q", "--orphan", "forged")
    write_lock(tree, forge(tree))
    commit(tree)
    # By first parents alone the forged chain was there from the first day.
    git(tree, "merge", "-q", "-s", "ours", "--allow-unrelated-histories", "-m", "x", "main")
    assert verify(tree).history == f"git holds another text of {ONE}, on a branch that was merged"
