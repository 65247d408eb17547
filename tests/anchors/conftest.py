"""The plant, made once; each test has a copy of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.anchors.material import Tree
from tests.anchors.plant import make_plant


@pytest.fixture(scope="session")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plant")
    make_plant(root, tmp_path_factory.mktemp("upstream"))
    return root


@pytest.fixture
def tree(plant: Path, tmp_path: Path) -> Tree:
    shutil.copytree(plant, tmp_path / "plant")
    return Tree(tmp_path / "plant")
