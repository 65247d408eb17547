"""What follows from our code is made once, and anew as soon as the code is another."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.support import code_cache
from runner.support.code_cache import kept


@pytest.fixture(params=["one process", "one after the other"])
def another_process(request: pytest.FixtureRequest) -> Callable[[], None]:
    """What the process before remembered is gone, or there was none."""
    return code_cache._MADE.clear if request.param == "one after the other" else lambda: None


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = tmp_path / "code"
    (folder / "part").mkdir(parents=True)
    (folder / "part/words.py").write_text("A = 1\n")
    return folder


class Maker:
    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> dict[str, str]:
        self.asked += 1
        return {"A": str(self.asked)}


def test_it_is_made_once_while_no_file_changes(
    top: Path, another_process: Callable[[], None]
) -> None:
    make = Maker()
    for _ in range(3):
        assert kept("digests", top, make) == {"A": "1"}
        another_process()
    (top / "part/words.md").write_text("no code")
    assert kept("digests", top, make) == {"A": "1"}


def test_another_text_name_or_number_of_files_makes_it_anew(
    top: Path, another_process: Callable[[], None]
) -> None:
    make = Maker()
    kept("digests", top, make)
    another_process()
    (top / "part/words.py").write_text("A = 2\n")
    assert kept("digests", top, make) == {"A": "2"}
    (top / "part/words.py").rename(top / "part/letters.py")
    assert kept("digests", top, make) == {"A": "3"}
    (top / "more.py").touch()
    assert kept("digests", top, make) == {"A": "4"}
    assert kept("others", top, make) == {"A": "5"}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"code": 1}'])
def test_a_damaged_file_is_made_anew(top: Path, text: str) -> None:
    make = Maker()
    kept("digests", top, make)
    (file,) = top.rglob("*.json")
    file.write_text(text)
    for _ in range(2):
        code_cache._MADE.clear()
        assert kept("digests", top, make) == {"A": "2"}


def test_where_python_keeps_nothing_neither_do_we(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    kept("digests", top, Maker())
    assert list(top.iterdir()) == [top / "part"]


def test_a_folder_that_takes_no_file_is_no_error(top: Path) -> None:
    (top / "__pycache__").write_text("")
    assert kept("digests", top, Maker()) == {"A": "1"}
