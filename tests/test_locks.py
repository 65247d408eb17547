"""Locks are written whole, read strictly, and a drift is said by name."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from runner.catalog.catalog import load_catalog
from runner.catalog.locks import (
    REPOS_LOCK,
    address_problems,
    harness_digest,
    read_repos_lock,
    write_locks,
    write_repos_lock,
)
from runner.records import GitSource, RepoPin
from runner.repositories.repository import fetch_source
from runner.sandbox.base_image import RECIPE
from runner.support.errors import CatalogError, LockError
from tests.test_catalog import replace, scenario, server
from tests.test_workspace import git, pinned, upstream

__all__ = ["pinned", "upstream"]
ROOT = Path(__file__).resolve().parent.parent
PIN = RepoPin(commit="1" * 40, tree="2" * 40, files=3)


@pytest.fixture
def root(tmp_path: Path, pinned: GitSource) -> Path:
    """A checkout with a scenario on a local repository, one server, and the base image's recipe."""
    folder = scenario(tmp_path, "good")
    replace(folder / "scenario.yaml", "/repo", pinned.url)
    replace(folder / "scenario.yaml", "1" * 40, pinned.commit)
    server(tmp_path, "helper")
    # `lock` digests the base image's recipe as well.
    for name in RECIPE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def lock(root: Path, *, check: bool = False) -> list[str]:
    return write_locks(root, load_catalog(root), cache=root / "cache", check=check)


def test_a_lock_reads_back_as_written_one_line_a_source(tmp_path: Path) -> None:
    pins = {"pypi:b==1": PIN, "git:é@1": PIN}
    write_repos_lock(tmp_path, pins)
    assert read_repos_lock(tmp_path) == pins
    assert (tmp_path / REPOS_LOCK).read_text().splitlines() == [
        "{",
        '"git:é@1":{"commit":"' + "1" * 40 + '","files":3,"tree":"' + "2" * 40 + '"},',
        '"pypi:b==1":{"commit":"' + "1" * 40 + '","files":3,"tree":"' + "2" * 40 + '"}',
        "}",
    ]


def test_without_a_lock_nothing_is_pinned(tmp_path: Path) -> None:
    assert read_repos_lock(tmp_path) == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"a": 1}',
        '{"a": {"commit": "1"}}',
        '{"a": {}, "a": {}}',
        "\x00",
        json.dumps({"a": PIN.model_dump() | {"note": 1}}),
        json.dumps({"a": PIN.model_dump() | {"files": -1}}),
    ],
)
def test_a_lock_that_was_tampered_with_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "locks").mkdir()
    (tmp_path / REPOS_LOCK).write_text(text)
    with pytest.raises(LockError, match=r"locks/repos\.lock: cannot be read.*\nhint"):
        read_repos_lock(tmp_path)


def test_locking_pins_every_repository_and_then_rests(root: Path, pinned: GitSource) -> None:
    changes = "\n".join(lock(root))
    assert f"{pinned.label}: new, commit {pinned.commit[:12]}, 6 files" in changes
    assert read_repos_lock(root)[pinned.label].commit == pinned.commit
    assert lock(root) == ["1 repository and the base image are as locked"]
    assert lock(root, check=True) == lock(root)


def test_a_check_changes_nothing_and_names_the_drift(root: Path, pinned: GitSource) -> None:
    lock(root)
    lie = {pinned.label: PIN, "pypi:gone==1": PIN}
    write_repos_lock(root, lie)
    with pytest.raises(LockError) as caught:
        lock(root, check=True)
    said = str(caught.value)
    moved = f"{pinned.label}: commit 111111111111 (tree 222222222222)"
    assert f"{moved} becomes {pinned.commit[:12]}" in said
    assert "pypi:gone==1: no scenario uses it any more" in said
    assert read_repos_lock(root) == lie


def test_a_changed_base_recipe_is_a_drift_too(root: Path) -> None:
    lock(root)
    replace(root / "Dockerfile", "ripgrep", "ripgrep tree")
    with pytest.raises(LockError, match=r"locks/images\.lock: base\.recipe"):
        lock(root, check=True)
    lock(root)
    lock(root, check=True)


def test_a_package_lock_with_an_address_is_refused_by_line(root: Path) -> None:
    folder = root / "images/servers/helper"
    (folder / "requirements.txt").write_text(
        "x==1 --hash=sha256:00\n--index-url https://packages.example/simple\n"
    )
    # `funding` is an address too, and nothing is downloaded from it.
    package = {
        "resolved": "https://packages.example/x.tgz",
        "funding": "https://example.com/give",
    }
    (folder / "package-lock.json").write_text(json.dumps({"packages": {"node_modules/x": package}}))
    assert [problem.where for problem in address_problems(root)] == [
        "images/servers/helper/requirements.txt:2",
        "images/servers/helper/package-lock.json packages.node_modules/x.resolved",
    ]
    (folder / "package.json").write_text("{}")
    with pytest.raises(CatalogError, match="holds a download address"):
        lock(root)


def test_no_committed_lock_names_a_place_to_download_from() -> None:
    assert list(address_problems(ROOT)) == []
    for path in (ROOT / "locks").rglob("*.*"):
        assert not re.search(r"https?://", path.read_text(encoding="utf-8")), path


def test_the_committed_lock_pins_every_shipped_scenario() -> None:
    shipped = load_catalog(ROOT).scenarios.values()
    labels = {loaded.scenario.repository.label for loaded in shipped}
    assert set(read_repos_lock(ROOT)) == labels


def test_a_fresh_clone_gets_the_locked_commits_from_the_registry(tmp_path: Path) -> None:
    # The real thing, once: an sdist from the machine's own index becomes the locked commit.
    source = load_catalog(ROOT).scenarios["flask-error-handling"].scenario.repository
    repository = fetch_source(source, cache=tmp_path, pins=read_repos_lock(ROOT))
    assert git(repository.path, "rev-list", "--all") == repository.commit


def test_the_harness_digest_is_a_constant_of_this_version() -> None:
    assert harness_digest() == harness_digest()
    assert re.fullmatch(r"[0-9a-f]{64}", harness_digest())
