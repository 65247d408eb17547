"""The built wheel, without a checkout: unpacked into a folder that nothing may write to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.catalog.project import init
from runner.gate import gate
from runner.records import BY_MANIFEST
from runner.report import gate_text
from runner.scoring.judges.checklist.checklist import Checklist
from runner.support.build_hook import shipped_files
from tests.checkout import ROOT
from tests.helpers import PATIENCE_SEC
from tests.test_pages import BLOCKS, fits

TRACKED = ("runner", "scenarios", "images", "locks", "Dockerfile", "pyproject.toml")
FILES = ("README.md", "LICENSE")
MAIN = "from runner.cli.main import main; raise SystemExit(main())"


@dataclass(frozen=True)
class Installed:
    """A wheel's content on the path, before the checkout's own code."""

    packages: Path
    caches: Path

    def fairtrial(
        self, folder: Path, *arguments: str, **env: str
    ) -> subprocess.CompletedProcess[str]:
        environ = {
            **os.environ,
            "PYTHONPATH": str(self.packages),
            "PYTHONSAFEPATH": "1",
            "XDG_CACHE_HOME": str(self.caches),
            **env,
        }
        return subprocess.run(
            [sys.executable, "-c", MAIN, *arguments],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SEC,
            check=False,
        )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build in the checkout would race with one beside it."""
    source = tmp_path_factory.mktemp("source")
    for name in TRACKED:
        _copy(ROOT / name, source / name)
    for name in FILES:
        _copy(ROOT / name, source / name)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(source / "dist")],
        cwd=source,
        check=True,
        capture_output=True,
        timeout=PATIENCE_SEC,
    )
    (built,) = (source / "dist").glob("*.whl")
    return built


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    packages = tmp_path_factory.mktemp("packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    _set_modes(packages, 0o500)
    yield Installed(packages=packages, caches=tmp_path_factory.mktemp("caches"))
    _set_modes(packages, 0o700)


def _set_modes(folder: Path, mode: int) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(mode)


# --- what it carries ----------------------------------------------------------------------------


def test_the_wheel_carries_every_file_that_ships_and_its_digest(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("runner/shipped/")}
        manifest = json.loads(archive.read("runner/shipped/MANIFEST"))
    carried = {name.removeprefix("runner/shipped/") for name in names} - {"MANIFEST"}
    assert carried == set(manifest) == set(shipped_files(ROOT))
    assert {"Dockerfile", "locks/anchors.lock", "images/base/bootstrap.sh"} <= carried
    assert not [name for name in names if "__pycache__" in name or "/." in name]


def test_the_wheel_carries_what_every_language_is_made_of(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    files = [path for path in (ROOT / "runner/grounding/languages").rglob("*") if path.is_file()]
    assert files
    assert {path.relative_to(ROOT).as_posix() for path in files} <= names


# --- what works there ---------------------------------------------------------------------------


def test_the_gate_says_there_what_it_says_in_the_checkout(
    installed: Installed, tmp_path: Path
) -> None:
    there = installed.fairtrial(tmp_path, "verify-anchors", "--json")
    assert there.returncode == 0, there.stderr
    # Here they are taken as accepted: there they were judged anew, and have to say the same.
    here = gate.verify(ROOT, Checklist())
    ours = {"passed": not here.refusal, **json.loads(here.model_dump_json())}
    theirs = json.loads(there.stdout)
    # There is no git beside an installed package.
    assert theirs.pop("history") == BY_MANIFEST
    ours.pop("history")
    assert theirs == ours
    assert list(tmp_path.iterdir()) == []
    # The page shows the same. To judge everything a second time for it would take as long again.
    (page,) = (it for it in BLOCKS if it.name == "gate.md: fairtrial verify-anchors")
    ((_, shown),) = page.commands
    said = (gate_text.gate_text(here), gate_text.standing_text(here), "the gate is open")
    assert fits(shown, "\n".join(said))


def test_a_project_is_made_and_proven_with_the_wheel_alone(
    installed: Installed, tmp_path: Path
) -> None:
    made = installed.fairtrial(tmp_path, "init", "mine")
    assert made.returncode == 0, made.stderr
    done = installed.fairtrial(tmp_path / "mine", "check")
    assert "ok   own/example-handler-lookup" in done.stdout, done.stderr
    assert done.returncode == 0
    assert not (tmp_path / "mine/.fairtrial").exists()


@pytest.mark.docker
def test_a_gated_run_of_ones_own_scenario_needs_its_lock(
    installed: Installed, tmp_path: Path
) -> None:
    list(init(tmp_path))
    asked = ("run", "--scenario", "example-handler-lookup", "--server", "shell", "--run", "a")
    rubric = tmp_path / "scenarios/own/example-handler-lookup/rubric.yaml"
    rubric.write_text(rubric.read_text(encoding="utf-8") + "# easier\n", encoding="utf-8")
    refused = installed.fairtrial(tmp_path, *asked)
    assert refused.returncode == 3
    assert "locks/project.lock says" in refused.stderr
    assert "rubric.yaml: changed" in refused.stderr
    assert installed.fairtrial(tmp_path, "lock").returncode == 0
    done = installed.fairtrial(tmp_path, *asked)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs/a/report.html").is_file()


# --- what it refuses ----------------------------------------------------------------------------


def test_an_edited_installed_file_is_refused(wheel: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    edited = packages / "runner/shipped/images/servers/mcp-ripgrep/server.yaml"
    edited.write_text(edited.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    done = Installed(packages=packages, caches=tmp_path).fairtrial(tmp_path, "check")
    assert done.returncode == 1
    assert "images/servers/mcp-ripgrep/server.yaml: changed" in done.stderr
    assert "hint: install fairtrial again" in done.stderr


def test_a_missing_engine_is_told_without_speaking_of_a_checkout(
    installed: Installed, tmp_path: Path
) -> None:
    nowhere = f"unix://{tmp_path}/none.sock"
    done = installed.fairtrial(tmp_path, "server", "check", "mcp-ripgrep", DOCKER_HOST=nowhere)
    assert done.returncode == 1
    assert "no Docker Engine answers" in done.stderr
    assert "hint: it is where DOCKER_HOST says" in done.stderr
    assert "checkout" not in done.stderr


@pytest.mark.docker
def test_nothing_is_written_beside_the_installed_code(installed: Installed, tmp_path: Path) -> None:
    done = installed.fairtrial(tmp_path, "server", "check", "mcp-ripgrep")
    assert done.returncode == 0, done.stderr
    # Root may write into any folder, whatever its mode says.
    assert not [*(installed.packages / "runner/shipped").rglob(".fairtrial")]
    assert (installed.caches / "fairtrial/images.json").is_file()
