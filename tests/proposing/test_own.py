"""A repository of one's own: read as it is, named by a label, never written to. Real git."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from runner.grounding.commit_files import GitFiles
from runner.records import GitSource
from runner.records.repositories import RepoPin
from runner.repositories.folders import own_source
from runner.repositories.local_labels import LOCAL_FILE, open_source, remember
from runner.support.errors import CatalogError, LockError, SourceError
from tests.checkout import git
from tests.proposing.trees import commit


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Two commits; then one file is changed, one is new, and one is ignored."""
    folder = tmp_path / "secret-shop"
    for text in ("price = 1\n", "price = 2\n"):
        commit(folder, {"price.py": text, ".gitignore": "*.key\n"})
    (folder / "price.py").write_text("price = 3\n")
    (folder / "new.py").write_text("new = 1\n")
    (folder / "api.key").write_text("hunter2\n")
    return folder


def digests(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file under a folder: its content and when it was written."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path.relative_to(folder))] = (data, path.stat().st_mtime_ns)
    return found


def test_uncommitted_files_are_counted_and_left_out(shop: Path, tmp_path: Path) -> None:
    own = own_source(str(shop), None, False, tmp_path / "state")
    assert own.commit == git(shop, "rev-parse", "HEAD")
    assert GitFiles(own.path, own.commit).read("price.py") == b"price = 2\n"
    assert own.notes[-1] == "2 uncommitted files are left out; --dirty takes them"


def test_any_revision_of_a_folder_becomes_its_full_commit(shop: Path, tmp_path: Path) -> None:
    first = git(shop, "rev-parse", "HEAD~1")
    own = own_source(str(shop), "main~1", False, tmp_path / "state")
    assert (own.source.commit, own.notes[0]) == (first, f"main~1 is {first}")


def test_dirty_takes_what_git_would_add_and_nothing_that_is_ignored(
    shop: Path, tmp_path: Path
) -> None:
    own = own_source(str(shop), None, True, tmp_path / "state")
    files = GitFiles(own.path, own.commit)
    assert files.paths() == {".gitignore", "new.py", "price.py"}
    assert files.read("price.py") == b"price = 3\n"
    again = own_source(str(shop), None, True, tmp_path / "another state")
    assert again.commit == own.commit, "equal files are an equal commit"


def test_the_users_repository_stays_byte_for_byte_as_it_is(shop: Path, tmp_path: Path) -> None:
    before = digests(shop)
    own_source(str(shop), None, False, tmp_path / "state")
    own_source(str(shop), None, True, tmp_path / "state")
    assert digests(shop) == before


def test_a_clean_folder_is_its_head_even_with_dirty(shop: Path, tmp_path: Path) -> None:
    git(shop, "stash", "-u", "-q")
    own = own_source(str(shop), None, True, tmp_path / "state")
    assert (own.commit, own.notes) == (git(shop, "rev-parse", "HEAD"), ("nothing is uncommitted",))


def test_dirty_with_a_commit_is_refused(shop: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="--dirty has no commit to name"):
        own_source(str(shop), "HEAD", True, tmp_path / "state")


def test_a_folder_without_git_is_taken_only_with_dirty(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "main.go").write_text("package main\n")
    with pytest.raises(SourceError, match="not a git repository") as refused:
        own_source(str(folder), None, False, tmp_path / "state")
    assert "--dirty" in refused.value.hint
    own = own_source(str(folder), None, True, tmp_path / "state")
    assert GitFiles(own.path, own.commit).paths() == {"main.go"}
    assert "no git repository" in own.notes[0]
    assert not (folder / ".git").exists()


def test_a_repository_inside_of_a_folder_is_left_out_and_said(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer/a.py").write_text("a = 1\n")
    shop.rename(tmp_path / "outer/shop")
    own = own_source(str(tmp_path / "outer"), None, True, tmp_path / "state")
    assert GitFiles(own.path, own.commit).paths() == {"a.py"}
    assert own.notes[-1] == "1 folder in it is a repository of its own, and left out"


def test_a_url_is_pinned_at_what_its_branch_is_now(shop: Path, tmp_path: Path) -> None:
    url = f"file://{shop}"
    head = git(shop, "rev-parse", "HEAD")
    for revision in (None, "main", head):
        own = own_source(url, revision, False, tmp_path / "state", environ=os.environ)
        assert own.source == GitSource(kind="git", url=url, commit=head)
    with pytest.raises(SourceError, match="no branch or tag 'nowhere'"):
        own_source(url, "nowhere", False, tmp_path / "state", environ=os.environ)
    for nothing in ("nowhere", "/no/where", "../nowhere"):
        with pytest.raises(SourceError, match="no such folder, and no URL"):
            own_source(nothing, None, False, tmp_path / "state")


def opened(source: GitSource, project: Path, cache: Path, pin: RepoPin | None = None) -> str:
    pins = None if pin is None else {source.label: pin}
    return open_source(source, project=project, cache=cache, pins=pins).commit


def test_a_label_is_found_where_this_machine_says_and_only_there(
    shop: Path, tmp_path: Path
) -> None:
    own = own_source(str(shop), None, False, tmp_path / "state", label="shop")
    assert own.source.label == f"git:local:shop@{own.commit}"
    assert "secret-shop" not in own.source.model_dump_json(), "a tracked file holds no path"
    with pytest.raises(SourceError, match="no folder of this machine is local:shop") as missing:
        opened(own.source, tmp_path, tmp_path / "cache")
    assert LOCAL_FILE in missing.value.hint
    remember(tmp_path, "other", tmp_path)
    remember(tmp_path, "shop", shop)
    assert opened(own.source, tmp_path, tmp_path / "cache", own.pin) == own.commit


def test_a_label_that_leads_to_other_content_is_refused(shop: Path, tmp_path: Path) -> None:
    own = own_source(str(shop), None, False, tmp_path / "state", label="shop")
    remember(tmp_path, "shop", shop)
    lie = own.pin.model_copy(update={"files": 99})
    with pytest.raises(LockError, match="but locked as 99"):
        opened(own.source, tmp_path, tmp_path / "cache", lie)


def test_files_taken_with_dirty_are_made_again_until_they_change(
    shop: Path, tmp_path: Path
) -> None:
    own = own_source(str(shop), None, True, tmp_path / "state", label="shop")
    remember(tmp_path, "shop", shop)
    shutil.rmtree(tmp_path / "state")
    cache = tmp_path / "state/repositories"
    assert opened(own.source, tmp_path, cache, own.pin) == own.commit
    shutil.rmtree(tmp_path / "state")
    (shop / "new.py").write_text("new = 2\n")
    with pytest.raises(SourceError) as gone:
        opened(own.source, tmp_path, cache, own.pin)
    assert "the files have changed since" in gone.value.hint


def test_a_path_is_no_label(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a label is a plain name"):
        GitSource(kind="git", url="local:/home/me/shop", commit="0" * 40)
    (tmp_path / LOCAL_FILE).write_text("repos: {}\n")
    source = GitSource(kind="git", url="local:shop", commit="0" * 40)
    with pytest.raises(CatalogError):
        opened(source, tmp_path, tmp_path)
