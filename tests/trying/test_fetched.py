"""Which servers get grammars, and what they are linked as."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.records import WarmUp
from runner.trying.fetched import PACKAGES, is_link, linked, packages_for, version_without
from runner.trying.scripts import unrun_scripts

NEWER = "mcp==1.2.0\ntree-sitter-language-pack==1.25.0 \\\n    --hash=sha256:0\n"


@pytest.mark.parametrize(
    ("lock", "version"),
    [
        (NEWER, "1.25.0"),
        (NEWER.replace("==1.25", "==0.13"), ""),
        ("not-tree-sitter-language-pack==1.0\n", ""),
        ("", ""),
    ],
)
def test_only_a_library_that_brings_none_gets_them(lock: str, version: str, tmp_path: Path) -> None:
    locked = tmp_path / "requirements.txt"
    assert packages_for(locked, ()) == ()
    locked.write_text(lock)
    assert version_without(lock) == version
    assert packages_for(locked, ()) == (PACKAGES if version else ())
    assert packages_for(locked, ("none",)) == ()


def test_they_are_linked_where_that_version_of_the_library_looks(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(NEWER)
    assert linked(tmp_path) == ()
    dependencies = ", ".join(f'"{name}": "1.0.0"' for name in PACKAGES)
    (tmp_path / "package.json").write_text(f'{{"dependencies": {{{dependencies}}}}}')
    (step,) = linked(tmp_path)
    assert step.shell is not None
    assert "/tree-sitter-language-pack/v1.25.0/libs" in step.shell
    assert is_link(step)
    assert not is_link(WarmUp(shell="tool init"))


def test_nobody_is_told_to_run_the_install_scripts_of_grammars(tmp_path: Path) -> None:
    places = {f"node_modules/{name}": {"hasInstallScript": True} for name in (*PACKAGES, "other")}
    lock = str({"packages": places}).replace("'", '"').replace("True", "true")
    (tmp_path / "package-lock.json").write_text(lock)
    (only,) = unrun_scripts(tmp_path)
    assert only.startswith("other ")
