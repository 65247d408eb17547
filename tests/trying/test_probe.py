"""What an installed Python package brings that can be started, read off its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

SOURCE = (
    resources.files("runner.authoring.onboarding")
    .joinpath("probe.py.txt")
    .read_text(encoding="utf-8")
)


def entries(
    root: Path,
    *files: str,
    readme: str = "",
    scripts: str = "",
    record: Sequence[str] = (),
    key: str = "entries",
    texts: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Of the package `acme`, installed with these files. `record`: of those that are there."""
    folder = root / "python"
    about = folder / "acme-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Name: acme\nVersion: 1.0\n\n{readme}")
    (about / "entry_points.txt").write_text(scripts)
    for file in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((texts or {}).get(file, ""))
    (about / "RECORD").write_text("".join(f"{file},sha256=0,0\n" for file in (*files, *record)))
    names: dict[str, Any] = {}
    # Its last lines run it on /opt/server.
    exec(SOURCE.partition("\nkind, name =")[0], names)
    found: dict[str, Any] = names["python"](root, "acme")[key]
    return found


def test_scripts_come_first(tmp_path: Path) -> None:
    scripts = "[console_scripts]\nacme = acme:main\n"
    found = entries(tmp_path, "acme/__init__.py", "acme/__main__.py", scripts=scripts)
    assert found == {"acme": ["python3", "{install}/python/bin/acme"]}


def test_a_module_that_can_be_run_is_kept_for_want_of_a_script_that_starts(tmp_path: Path) -> None:
    scripts = "[console_scripts]\nacme = acme:main\n"
    files = ("acme/__init__.py", "acme/__main__.py")
    found = entries(tmp_path / "a", *files, scripts=scripts, key="spare")
    assert found == {"acme": ["python3", "-m", "acme"]}
    assert entries(tmp_path / "b", *files, key="spare") == {}


def test_a_module_that_is_called_a_server_and_is_a_program_is_kept_too(tmp_path: Path) -> None:
    scripts = "[console_scripts]\nacme = acme:main\n"
    files = ("acme/__init__.py", "acme/server.py", "acme/mcp_server.py", "acme/mcp_types.py")
    before = "if __name__ == '__main__': ..."
    programs = {"acme/server.py": before, "acme/mcp_server.py": before}
    found = entries(tmp_path, *files, scripts=scripts, key="spare", texts=programs)
    assert list(found) == ["acme.mcp_server", "acme.server"]
    assert found["acme.server"] == ["python3", "-m", "acme.server"]


def test_a_package_that_can_be_run_is_run(tmp_path: Path) -> None:
    found = entries(tmp_path, "acme/__init__.py", "acme/__main__.py")
    assert found == {"acme": ["python3", "-m", "acme"]}


def test_a_part_that_a_clients_configuration_starts_stands_beside_scripts_it_does_not_name(
    tmp_path: Path,
) -> None:
    scripts = "[console_scripts]\nacme = acme:main\n"
    readme = '"command": "python", "args": ["-m", "acme.server"]'
    files = ("acme/__init__.py", "acme/server.py")
    found = entries(tmp_path / "a", *files, readme=readme, scripts=scripts)
    assert list(found) == ["acme", "acme.server"]
    named = readme + ' or "command": "acme"'
    assert list(entries(tmp_path / "b", *files, readme=named, scripts=scripts)) == ["acme"]


def test_a_part_that_can_be_run_is_found_though_nothing_names_it(tmp_path: Path) -> None:
    found = entries(tmp_path, "acme/__init__.py", "acme/mcp/__main__.py", "acme/x.py")
    assert found == {"acme.mcp": ["python3", "-m", "acme.mcp"]}
    assert entries(tmp_path / "b", "acme/__init__.py", "acme/x.py") == {}


def test_a_program_of_another_language_is_started_as_it_is(tmp_path: Path) -> None:
    built = tmp_path / "python/bin/acme-native"
    built.parent.mkdir(parents=True)
    built.write_bytes(b"\x7fELF\x02")
    (built.parent / "acme-script").write_text("#!/bin/sh\n")
    record = ("../../bin/acme-native", "../../bin/acme-script")
    assert entries(tmp_path, record=record) == {"acme-native": ["{install}/python/bin/acme-native"]}
