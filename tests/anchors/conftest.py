"""The plant, made once; each test has a copy of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.anchors.material import Tree
from tests.anchors.plant import Fairtrial, make_plant
from tests.checkout import ended


@pytest.fixture(scope="session")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plant")
    make_plant(root, tmp_path_factory.mktemp("upstream"))
    return root


@pytest.fixture
def tree(plant: Path, tmp_path: Path) -> Tree:
    shutil.copytree(plant, tmp_path / "plant")
    return Tree(tmp_path / "plant")


@pytest.fixture
def fairtrial(
    tree: Tree, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Fairtrial:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tree.root.parent / "caches"))

    def command(*words: str, root: Path = tree.root) -> tuple[int, str, str]:
        return ended("--root", root, *words), *capsys.readouterr()

    return command
