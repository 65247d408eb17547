"""`fairtrial ground`, on its own, away from any checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
import zlib
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from tests.checkout import git, repository, said

KEYS = (
    "written path start end symbol resolution status reason held_by definition_lines distance "
    "weight weak"
).split()


@pytest.fixture
def upstream(tmp_path: Path) -> tuple[Path, str]:
    folder = tmp_path / "upstream"
    return folder, repository(folder)


def ground(
    upstream: tuple[Path, str], cwd: Path, *arguments: str, home: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": home or str(cwd / "home"), "XDG_CACHE_HOME": "", **env}
    with chdir(cwd):
        return said(
            ["ground", "--repo", str(upstream[0]), "--commit", upstream[1], *arguments],
            **environment,
        )


def test_a_hallucination_fails_the_verb_if_it_has_to_be_strict(
    upstream: tuple[Path, str], tmp_path: Path
) -> None:
    (tmp_path / "right.md").write_text("See README.\n")
    (tmp_path / "wrong.md").write_text("`vanish` (app.py:2)\n")
    assert ground(upstream, tmp_path, "wrong.md").returncode == 0
    assert ground(upstream, tmp_path, "--strict", "wrong.md").returncode == 1
    assert ground(upstream, tmp_path, "--strict", "right.md").returncode == 0


def test_the_commit_behind_a_name_is_told(upstream: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("See README.\n")
    head = git(upstream[0], "rev-parse", "HEAD")
    done = ground((upstream[0], "HEAD"), tmp_path, "--json", "a.md")
    assert json.loads(done.stdout)["commit"] == head
    assert f"HEAD is {head}" in done.stderr


def test_json_is_one_object_a_file_with_exactly_the_promised_keys(
    upstream: tuple[Path, str], tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text(
        "`App.finish_up` (/home/me/code/app.py:5). It calls `vanish` (app.py:2); see README.\n"
    )
    (tmp_path / "b.txt").write_text("Nothing cited.\n")
    done = ground(upstream, tmp_path, "--json", "--root", "/home/me/code", "a.md", "b.txt")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert list(first) == ["file", "commit", "summary", "citations"]
    assert (
        list(first["summary"])
        == (
            "total grounded unresolved hallucinated weighted_rate strict_rate headline_rate "
            "chance_rate named_rate weak shifted"
        ).split()
    )
    assert all(list(citation) == KEYS for citation in first["citations"])
    assert (first["file"], first["commit"], first["summary"]["total"]) == ("a.md", upstream[1], 2)
    rows = [
        (c["path"], c["start"], c["symbol"], c["status"], c["definition_lines"])
        for c in first["citations"]
        if c["start"]
    ]
    assert rows == [
        ("app.py", 5, "App.finish_up", "grounded", [5]),
        ("app.py", 2, "vanish", "hallucinated", []),
    ]
    assert second["citations"] == []
    assert second["summary"]["headline_rate"] is None


def test_it_leaves_nothing_in_the_folder_it_is_called_in(
    upstream: tuple[Path, str], tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("app.py:5\n")
    ground(upstream, tmp_path, "a.md")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md", "home", "upstream"]


def test_it_works_where_nothing_can_be_cached(upstream: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("`finish_up` is at app.py:5\n")
    done = ground(upstream, tmp_path, "a.md", home="/proc/nowhere")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 citation: 1 grounded, 0 unresolved, 0 hallucinated" in done.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [("gone.md", "cannot be read"), (".", "cannot be read"), ("binary.md", "not UTF-8 text")],
)
def test_a_file_that_is_no_text_says_so_with_a_hint(
    upstream: tuple[Path, str], tmp_path: Path, name: str, said: str
) -> None:
    (tmp_path / "binary.md").write_bytes(bytes(range(256)))
    done = ground(upstream, tmp_path, name)
    assert done.returncode == 1
    assert said in done.stderr
    assert "hint: " in done.stderr


# --- a repository that lies about its objects -----------------------------------------------

FORGED = "class App:\n    def vanish(self):\n        return 1\n"
INVENTION = "`vanish` (app.py:2) does it.\n"


def loose(objects: Path, sha: str, content: bytes) -> None:
    """A blob under the name of another."""
    path = objects / sha[:2] / sha[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(zlib.compress(b"blob %d\0%b" % (len(content), content)))


def a_replaced_blob(folder: Path, commit: str) -> dict[str, str]:
    git(folder, "replace", git(folder, "rev-parse", f"{commit}:app.py"), forged_blob(folder))
    return {}


def a_replaced_tree(folder: Path, commit: str) -> dict[str, str]:
    git(folder, "replace", git(folder, "rev-parse", f"{commit}^{{tree}}"), forged_tree(folder))
    return {}


def a_replaced_commit(folder: Path, commit: str) -> dict[str, str]:
    forged = git(folder, "commit-tree", "-m", "forged", forged_tree(folder))
    git(folder, "replace", commit, forged)
    return {}


def replacements_under_another_name(folder: Path, commit: str) -> dict[str, str]:
    blob = git(folder, "rev-parse", f"{commit}:app.py")
    git(folder, "update-ref", f"refs/evil/{blob}", forged_blob(folder))
    return {"GIT_REPLACE_REF_BASE": "refs/evil"}


def an_object_folder_in_the_environment(folder: Path, commit: str) -> dict[str, str]:
    evil = folder.parent / "evil-objects"
    shutil.copytree(folder / ".git/objects", evil)
    loose(evil, git(folder, "rev-parse", f"{commit}:app.py"), FORGED.encode())
    return {"GIT_OBJECT_DIRECTORY": str(evil)}


def another_repository_in_the_environment(folder: Path, commit: str) -> dict[str, str]:
    evil = folder.parent / "evil"
    shutil.copytree(folder, evil)
    a_replaced_blob(evil, commit)
    return {"GIT_DIR": str(evil / ".git"), "GIT_COMMON_DIR": str(evil / ".git")}


def a_setting_in_the_environment(folder: Path, commit: str) -> dict[str, str]:
    a_replaced_blob(folder, commit)
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.useReplaceRefs",
        "GIT_CONFIG_VALUE_0": "true",
    }


def forged_blob(folder: Path) -> str:
    (folder / "forged").write_text(FORGED)
    return git(folder, "hash-object", "-w", "forged")


def forged_tree(folder: Path) -> str:
    index = {"GIT_INDEX_FILE": str(folder / "forged-index")}
    entry = f"100644,{forged_blob(folder)},app.py"
    git(folder, "update-index", "--add", "--cacheinfo", entry, **index)
    return git(folder, "write-tree", **index)


LIES = [
    a_replaced_blob,
    a_replaced_tree,
    a_replaced_commit,
    replacements_under_another_name,
    an_object_folder_in_the_environment,
    another_repository_in_the_environment,
    a_setting_in_the_environment,
]


@pytest.mark.parametrize("lie", LIES)
def test_an_invention_stays_one_whatever_the_repository_or_the_environment_says(
    upstream: tuple[Path, str], tmp_path: Path, lie: Callable[[Path, str], dict[str, str]]
) -> None:
    (tmp_path / "a.md").write_text(INVENTION)
    done = ground(upstream, tmp_path, "--json", "a.md", **lie(*upstream))
    assert done.returncode == 0, done.stderr
    (citation,) = json.loads(done.stdout)["citations"]
    assert citation["status"] == "hallucinated"


def test_a_blob_that_is_not_what_its_name_says_is_refused(
    upstream: tuple[Path, str], tmp_path: Path
) -> None:
    folder, commit = upstream
    loose(folder / ".git/objects", git(folder, "rev-parse", f"{commit}:app.py"), FORGED.encode())
    (tmp_path / "a.md").write_text(INVENTION)
    done = ground(upstream, tmp_path, "--json", "a.md")
    assert (done.returncode, done.stdout) == (1, "")
    assert "app.py: " in done.stderr and "is damaged" in done.stderr
