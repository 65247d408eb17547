"""Behind a mirror that only pip's configuration knows, builders still find their packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.sandbox.package_index import index_variables

MIRROR, OTHER = "https://mirror.example/simple", "https://other.example/simple"
BOTH = {"PIP_INDEX_URL": MIRROR, "UV_DEFAULT_INDEX": MIRROR}


def config(path: Path, text: str = f"[global]\nindex-url = {MIRROR}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(home: Path, **environ: str) -> dict[str, str]:
    return index_variables({"HOME": str(home), **environ}, system=home / "etc" / "pip.conf")


@pytest.mark.parametrize(
    "place",
    [
        "etc/pip.conf",
        ".pip/pip.conf",
        ".config/pip/pip.conf",
        "Library/Application Support/pip/pip.conf",
    ],
)
def test_pip_s_configured_mirror_reaches_uv_and_pip(tmp_path: Path, place: str) -> None:
    config(tmp_path / place)
    assert found(tmp_path) == BOTH


def test_a_virtual_environment_s_mirror_and_a_named_file_s_are_stronger(tmp_path: Path) -> None:
    config(tmp_path / ".pip" / "pip.conf", f"[global]\nindex-url = {OTHER}\n")
    config(tmp_path / "venv" / "pip.conf")
    assert found(tmp_path, VIRTUAL_ENV=str(tmp_path / "venv")) == BOTH
    named = config(tmp_path / "named.conf", f"[install]\nindex-url = {OTHER}\n")
    both = found(tmp_path, VIRTUAL_ENV=str(tmp_path / "venv"), PIP_CONFIG_FILE=str(named))
    assert set(both.values()) == {OTHER}


def test_a_variable_is_stronger_than_any_file_and_uv_s_own_than_pip_s(tmp_path: Path) -> None:
    config(tmp_path / ".pip" / "pip.conf")
    assert set(found(tmp_path, PIP_INDEX_URL=OTHER).values()) == {OTHER}
    own = {"UV_DEFAULT_INDEX": OTHER}
    assert found(tmp_path, **own) == own


def test_pip_told_to_read_no_file_has_no_mirror(tmp_path: Path) -> None:
    config(tmp_path / ".pip" / "pip.conf")
    assert found(tmp_path, PIP_CONFIG_FILE="/dev/null") == {}


@pytest.mark.parametrize("text", ["no section\n", "[global]\nindex-url =\n", "[global]\n", "\x00"])
def test_a_configuration_without_a_mirror_changes_nothing(tmp_path: Path, text: str) -> None:
    config(tmp_path / ".pip" / "pip.conf", text)
    assert found(tmp_path) == {}


def test_a_password_with_a_percent_sign_is_taken_as_it_is_written(tmp_path: Path) -> None:
    index = "https://me:a%40b@mirror.example/simple"
    config(tmp_path / ".pip" / "pip.conf", f"[global]\nindex-url = {index}\n")
    assert set(found(tmp_path).values()) == {index}
