"""Fresh hashed locks of what is to be tried, by the registries' own clients."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from runner.errors import EngineError, SourceError
from runner.records import load_json
from runner.sandbox.base_build import HostTools, find_uv
from runner.sandbox.builder import BuilderEnv, BuilderSpec, open_builder, tar_of
from runner.sandbox.engine import Engine, engine_faults
from runner.sandbox.places import AGENT
from runner.trying.asked import Npm, Pypi
from runner.trying.scripts import allowed

PYTHON = "3.11"
"""What the base image has; a package that asks for more cannot be installed in it."""
LOCK_LIMIT_SEC = 300
_LAST_LINES = 6
_FOLDER = "/tmp/lock"  # noqa: S108 - in a container of its own
_NPM_SCRIPT = """
mkdir {folder} && cd {folder} && cp /given.json package.json
npm install --package-lock-only --ignore-scripts --omit=dev --omit-lockfile-registry-resolved \
    --no-audit --no-fund --no-update-notifier --loglevel=error "$@" || exit
"""


@dataclass(frozen=True, kw_only=True)
class Locker:
    """Where locks are made: uv on this machine, npm in a builder container."""

    root: Path
    """Of the checkout: it may hold uv."""
    engine: Engine
    image: str
    env: BuilderEnv

    # --- PyPI -----------------------------------------------------------------------------------

    def lock_python(self, requirements: str, folder: Path, *, before: str = "") -> None:
        """Write requirements.in and .txt. `before`: a date; what is younger is not looked at.

        Raises SourceError.
        """
        (folder / "requirements.in").write_text(requirements, encoding="utf-8")
        command = [str(find_uv(self.root)), "pip", "compile", "--quiet", "--universal"]
        command += ["--generate-hashes", "--no-header", "--no-annotate", "--no-config"]
        command += ["--no-emit-index-url", "--no-emit-find-links", "--python-version", PYTHON]
        if before:
            command += ["--exclude-newer", before]
        command += [str(folder / "requirements.in"), "-o", str(folder / "requirements.txt")]
        with tempfile.TemporaryDirectory() as scratch:
            tools = HostTools(root=self.root, env=self.env, scratch=Path(scratch))
            hint = f"check its name and version; the sandbox has Python {PYTHON}"
            tools.run(command, "its packages could not be locked", hint=hint)

    def lock_pypi(self, asked: Pypi, folder: Path, *, before: str = "") -> None:
        needs = "".join(f"{need}\n" for need in (asked.requirement, *asked.also))
        self.lock_python(needs, folder, before=before)

    # --- npm ------------------------------------------------------------------------------------

    def lock_npm(self, asked: Npm, folder: Path, *, before: str = "") -> None:
        needs = {asked.name: asked.wanted, **dict.fromkeys(asked.also, "latest")}
        self.lock_node(needs, folder, before=before, scripts=allowed(asked.scripts))
        _pin_exactly(folder, asked.name, *asked.also)

    def lock_node(
        self,
        dependencies: Mapping[str, str],
        folder: Path,
        *,
        before: str = "",
        scripts: Mapping[str, bool],
    ) -> None:
        """Write package.json and package-lock.json. Raises SourceError.

        `scripts`: npm's `allowScripts`, packages whose install scripts are run.
        """
        given = {"private": True, "dependencies": dict(dependencies)}
        if scripts:
            given["allowScripts"] = dict(scripts)
        arguments = [f"--before={before}"] if before else []
        (folder / "package.json").write_text(_json_text(given), encoding="utf-8")
        locked = self._run_npm(_json_text(given), arguments)
        (folder / "package-lock.json").write_bytes(locked)

    def released(self, asked: Npm | Pypi, version: str) -> str:
        """The day after a version came out, as 2026-05-01; empty if nobody says."""
        if isinstance(asked, Npm):
            return self._released_npm(asked.name, version)
        return self._released_pypi(asked.name, version)

    def _released_npm(self, name: str, version: str) -> str:
        command = ["npm", "view", f"{name}@{version}", "time", "--json"]
        try:
            times = load_json(self._in_builder(command))
            day = datetime.fromisoformat(times[version])
        except (SourceError, ValueError, KeyError, TypeError):
            return ""
        return (day + timedelta(days=1)).strftime("%Y-%m-%d")

    def _released_pypi(self, name: str, version: str) -> str:
        """By halves: uv says of a day whether the version was there."""
        today = datetime.now(UTC).date()
        without, there = date(2024, 10, 1), today  # the protocol is younger than that
        while (there - without).days > 1:
            middle = without + (there - without) / 2
            if self._is_there(f"{name}=={version}", middle):
                there = middle
            else:
                without = middle
        return there.isoformat() if there < today else ""

    def _is_there(self, requirement: str, day: date) -> bool:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            (folder / "in.txt").write_text(requirement, encoding="utf-8")
            command = [str(find_uv(self.root)), "pip", "compile", "--quiet", "--no-deps"]
            command += ["--no-config", "--python-version", PYTHON]
            command += ["--exclude-newer", day.isoformat(), str(folder / "in.txt")]
            try:
                HostTools(root=self.root, env=self.env, scratch=folder).run(command, "no", hint="")
            except EngineError:
                return False
        return True

    def _in_builder(self, command: list[str]) -> str:
        """What a command prints in a builder container. Raises SourceError."""
        spec = BuilderSpec(
            image=self.image,
            command=["timeout", str(LOCK_LIMIT_SEC), *command],
            user=AGENT,
            environment={"HOME": "/tmp"},  # noqa: S108 - in a container of its own
            network=self.env,
        )
        failure = "a registry's client could not be run in a container"
        with engine_faults(failure, kind=SourceError), open_builder(self.engine, spec) as builder:
            if builder.run() != 0:
                raise SourceError(builder.output(last_lines=_LAST_LINES))
            return builder.output(stderr=False)

    def _run_npm(self, given: str, arguments: list[str]) -> bytes:
        script = _NPM_SCRIPT.format(folder=_FOLDER)
        spec = BuilderSpec(
            image=self.image,
            command=["timeout", str(LOCK_LIMIT_SEC), "sh", "-c", script, "npm", *arguments],
            user=AGENT,
            environment={"HOME": "/tmp/home"},  # noqa: S108 - in a container of its own
            network=self.env,
        )
        failure = "npm could not be run in a container"
        with engine_faults(failure, kind=SourceError), open_builder(self.engine, spec) as builder:
            builder.put(tar_of({"given.json": given.encode()}))
            if builder.run() != 0:
                message = f"its packages could not be locked: {_complaint(builder.output())}"
                raise SourceError(message, hint=_hint(message))
            files = builder.files(f"{_FOLDER}/package-lock.json")
        if len(files) != 1:
            raise SourceError("npm left no lock", hint="try again")
        return files[0]


def _hint(complaint: str) -> str:
    if "ETARGET" in complaint:
        return (
            "a version that it, or a package below it, asks for is not in the registry: take an "
            "older one, npm:NAME@VERSION, or the packages of a day, --before DATE"
        )
    return "check its name and version, and the network"


def _complaint(output: str) -> str:
    """npm's first words; its last ones say where its log is, in a container that is gone."""
    lines = [line.removeprefix("npm error").strip() for line in output.splitlines()]
    said = [line for line in lines if " " in line and "complete log" not in line]
    return " | ".join(list(dict.fromkeys(said))[:2])


def _pin_exactly(folder: Path, name: str, *also: str) -> None:
    """Write the versions that npm chose into both files: `latest` is another one tomorrow."""
    lock = folder / "package-lock.json"
    locked: dict[str, Any] = load_json(lock.read_text(encoding="utf-8"))
    packages = locked["packages"]
    versions = {one: packages[f"node_modules/{one}"]["version"] for one in (name, *also)}
    packages[""]["dependencies"] = versions
    # npm calls the lock after the folder it was made in.
    locked["name"] = name.rpartition("/")[2]
    packages[""].pop("name", None)
    lock.write_text(_json_text(locked), encoding="utf-8")
    path = folder / "package.json"
    given = {**load_json(path.read_text(encoding="utf-8")), "dependencies": versions}
    path.write_text(_json_text(given), encoding="utf-8")


def _json_text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
