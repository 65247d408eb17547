"""`fairtrial ground`, on its own, away from any checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import repository

KEYS = [
    "written",
    "path",
    "start",
    "end",
    "symbol",
    "resolution",
    "status",
    "reason",
    "held_by",
    "definition_lines",
    "distance",
]


@pytest.fixture
def upstream(tmp_path: Path) -> tuple[Path, str]:
    folder = tmp_path / "upstream"
    return folder, repository(folder)


def ground(
    upstream: tuple[Path, str], cwd: Path, *arguments: str, home: str = ""
) -> subprocess.CompletedProcess[str]:
    argv = [
        str(Path(sys.executable).parent / "fairtrial"),
        "ground",
        "--repo",
        str(upstream[0]),
        "--commit",
        upstream[1],
        *arguments,
    ]
    environment = {**os.environ, "HOME": home or str(cwd / "home"), "XDG_CACHE_HOME": ""}
    return subprocess.run(
        argv, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_json_is_one_object_a_file_with_exactly_the_promised_keys(
    upstream: tuple[Path, str], tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text(
        "`App.finish_up` (/home/me/code/app.py:5) and `vanish` (app.py:2); see README.\n"
    )
    (tmp_path / "b.txt").write_text("Nothing cited.\n")
    done = ground(upstream, tmp_path, "--json", "--root", "/home/me/code", "a.md", "b.txt")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert list(first) == ["file", "commit", "summary", "citations"]
    assert list(first["summary"]) == [
        "total",
        "grounded",
        "unresolved",
        "hallucinated",
        "strict_rate",
        "headline_rate",
        "chance_rate",
    ]
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
