"""Fresh hashed locks of what is to be tried, by the registries' own clients."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

from runner.authoring.onboarding.fetched import GRAMMARS, OVERRIDES, also_of_pypi, packages_for
from runner.authoring.onboarding.scripts import allowed
from runner.authoring.onboarding.server_source import NpmPackage, PypiPackage
from runner.authoring.onboarding.with_packages import of_registry
from runner.records import Python, load_json
from runner.sandbox.base_build import HostTools, find_uv
from runner.sandbox.builder import Builder, BuilderEnv, BuilderSpec, open_builder, tar_of
from runner.sandbox.cell_layout import AGENT_USER
from runner.sandbox.engine import Engine, engine_faults
from runner.servers.lock_checks import plain_name
from runner.support.errors import EngineError, SourceError

PYTHONS: tuple[Python, ...] = get_args(Python)
"""What the base image has, the one that servers get if they run on it first."""
LOCK_LIMIT_SEC = 300
_WANTS_PYTHON = re.compile(r"requested Python version .* does not satisfy|only supports? >=?3\.")
_OTHER_PYTHON = re.compile(r"does not satisfy Python\s?([<>=!~][^\s,]*)")
_PLATFORM = "x86_64-manylinux_2_28"
_FOLDER = "/tmp/lock"  # noqa: S108 - in a container of its own
_NPM_SCRIPT = """
mkdir {folder} && cd {folder} && cp /given.json package.json
lock() {{
  npm install --package-lock-only --ignore-scripts --omit=dev --omit-lockfile-registry-resolved \
      --no-audit --no-fund --no-update-notifier --loglevel=error "$@"
}}
# Of peers that disagree npm's first lock is one that its own `npm ci` refuses.
lock "$@" && lock "$@" || exit
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

    def lock_python(
        self,
        requirements: str,
        folder: Path,
        *,
        before: str = "",
        pythons: Sequence[Python] = PYTHONS,
    ) -> Python:
        """Write requirements.in and .txt; returns the first of `pythons` that will do.

        `before`: a date; what is younger is not looked at. Raises EngineError with uv's words.
        """
        (folder / "requirements.in").write_text(requirements, encoding="utf-8")
        for python in pythons[:-1]:
            try:
                self._compile(folder, python, before)
            except EngineError as error:
                if not _WANTS_PYTHON.search(error.what):
                    raise
            else:
                return python
        try:
            self._compile(folder, pythons[-1], before)
        except EngineError as error:
            raise _led_by_python(error) from error
        return pythons[-1]

    def _compile(self, folder: Path, python: Python, before: str) -> None:
        """For every Python from that one on."""
        # uv keeps the versions of a lock that is there.
        (folder / "requirements.txt").unlink(missing_ok=True)
        command = [*self._compiler(python), "--universal", "--generate-hashes", "--no-header"]
        command += ["--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
        if before:
            command += ["--exclude-newer", before]
        command += [str(folder / "requirements.in"), "-o", str(folder / "requirements.txt")]
        hint = f"check its name and version; the sandbox has Python {' and '.join(PYTHONS)}"
        with self._host_tools() as tools:
            tools.run(command, "its packages could not be locked", hint=hint)

    @contextmanager
    def _host_tools(self) -> Iterator[HostTools]:
        with tempfile.TemporaryDirectory() as scratch:
            yield HostTools(root=self.root, env=self.env, scratch=Path(scratch))

    def _compiler(self, python: Python) -> list[str]:
        command = [str(find_uv(self.root)), "pip", "compile", "--quiet", "--no-config"]
        # Unless told which to use, uv fetches a Python of that version from the web.
        return [*command, "--python", sys.executable, "--python-version", python]

    def downloads(self, folder: Path, python: Python) -> dict[str, int]:
        """Package of PyPI's in the lock -> bytes, as far as its registry tells; empty if not."""
        lock = folder / "requirements.txt"
        if not lock.exists():
            return {}
        command = [*self._compiler(python), "--no-deps", "--python-platform", _PLATFORM]
        with self._host_tools() as tools:
            told = tools.scratch / "pylock.toml"
            try:
                tools.run([*command, str(lock), "-o", str(told)], "no sizes", hint="")
                return sizes_in(told.read_text(encoding="utf-8"))
            except (EngineError, OSError, ValueError):
                return {}

    def lock_pypi(self, asked: PypiPackage, folder: Path, *, before: str = "") -> Python:
        """And what is brought for it. Raises EngineError with uv's words, or SourceError."""
        python = self._lock_requirements(asked, folder, before)
        needed = self.lock_supplies(asked.programs, folder, python, before)
        if latest := (*of_registry(asked.programs, "npm"), *needed):
            self.lock_node(dict.fromkeys(latest, "latest"), folder, before=before, scripts={})
            _pin_exactly(folder, *latest)
        return python

    def lock_supplies(
        self, programs: Sequence[str], folder: Path, python: Python, before: str
    ) -> tuple[str, ...]:
        """What a library would fetch and a registry has: see fetched.py. Returns npm's packages.

        Those of PyPI are locked beside the requirements, if they go together.
        """
        asked, lock = folder / "requirements.in", folder / "requirements.txt"
        for one in also_of_pypi(lock, programs, is_oldest=python == PYTHONS[0]):
            needs, locked = asked.read_text(encoding="utf-8"), lock.read_text(encoding="utf-8")
            asked.write_text(f"{needs}{one}\n", encoding="utf-8")
            try:
                self._compile(folder, python, before)
            except EngineError:
                asked.write_text(needs, encoding="utf-8")
                lock.write_text(locked, encoding="utf-8")
        return packages_for(lock, programs)

    def _lock_requirements(self, asked: PypiPackage, folder: Path, before: str) -> Python:
        """For the newer Python where its newest version asks for it: no user gets an older one."""
        programs = of_registry(asked.programs, "pypi")
        needs = "".join(f"{need}\n" for need in (asked.requirement, *asked.also, *programs))
        python = self.lock_python(needs, folder, before=before)
        version = locked_version(folder, asked.name)
        newer = f"{asked.name}>{version}"
        if asked.version or python == PYTHONS[-1] or not self._resolves(newer, PYTHONS[-1], before):
            return python
        return self._at_newest(asked.name, folder, python, before)

    def _at_newest(self, name: str, folder: Path, python: Python, before: str) -> Python:
        """For the newer Python if that gives a newer version; else the lock stays as it was."""
        lock, version = folder / "requirements.txt", locked_version(folder, name)
        found = lock.read_text(encoding="utf-8")
        with suppress(EngineError):
            self._compile(folder, PYTHONS[-1], before)
            if locked_version(folder, name) != version:
                return PYTHONS[-1]
        lock.write_text(found, encoding="utf-8")
        return python

    # --- npm ------------------------------------------------------------------------------------

    def lock_npm(self, asked: NpmPackage, folder: Path, *, before: str = "") -> None:
        also = (*asked.also, *of_registry(asked.programs, "npm"))
        needs = {asked.name: asked.wanted, **dict.fromkeys(also, "latest")}
        self.lock_node(needs, folder, before=before, scripts=allowed(asked.scripts))
        _pin_exactly(folder, asked.name, *also)
        if programs := of_registry(asked.programs, "pypi"):
            requirements = "".join(f"{one}\n" for one in programs)
            # The Python on every server's path.
            self.lock_python(requirements, folder, before=before, pythons=PYTHONS[:1])

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
        given: dict[str, Any] = {"private": True, "dependencies": dict(dependencies)}
        if GRAMMARS.packages[0] in dependencies:
            given["overrides"] = OVERRIDES
        if scripts:
            given["allowScripts"] = dict(scripts)
        arguments = [f"--before={before}"] if before else []
        (folder / "package.json").write_text(_json_text(given), encoding="utf-8")
        locked = self._run_npm(_json_text(given), arguments)
        (folder / "package-lock.json").write_bytes(locked)

    def released(self, asked: NpmPackage | PypiPackage, version: str) -> str:
        """The day after a version came out, as 2026-05-01; empty if nobody says."""
        if isinstance(asked, PypiPackage):
            return self._released_pypi(asked.name, version)
        words = ("npm", "view", f"{asked.name}@{version}", "time", "--json")
        try:
            with self._client(*words) as builder:
                if builder.run() != 0:
                    return ""
                day = datetime.fromisoformat(load_json(builder.output(stderr=False))[version])
        except (SourceError, ValueError, KeyError, TypeError):
            return ""
        return (day + timedelta(days=1)).strftime("%Y-%m-%d")

    def _released_pypi(self, name: str, version: str) -> str:
        """By halves: uv says of a day whether the version was there."""
        today = datetime.now(UTC).date()
        without, there = date(2024, 10, 1), today  # the protocol is younger than that
        while (there - without).days > 1:
            middle = without + (there - without) / 2
            if self._resolves(f"{name}=={version}", PYTHONS[-1], middle.isoformat()):
                there = middle
            else:
                without = middle
        return there.isoformat() if there < today else ""

    def _resolves(self, requirement: str, python: Python, before: str) -> bool:
        """Alone, without what it needs."""
        with self._host_tools() as tools:
            asked = tools.scratch / "in.txt"
            asked.write_text(requirement, encoding="utf-8")
            command = [*self._compiler(python), "--no-deps", str(asked)]
            if before:
                command += ["--exclude-newer", before]
            try:
                tools.run(command, "no", hint="")
            except EngineError:
                return False
        return True

    @contextmanager
    def _client(self, *command: str) -> Iterator[Builder]:
        """npm in a builder container. Raises SourceError."""
        spec = BuilderSpec(
            image=self.image,
            command=["timeout", str(LOCK_LIMIT_SEC), *command],
            user=AGENT_USER,
            environment={"HOME": "/tmp/home"},  # noqa: S108 - in a container of its own
            network=self.env,
        )
        failure = "npm could not be run in a container"
        with engine_faults(failure, kind=SourceError), open_builder(self.engine, spec) as builder:
            yield builder

    def _run_npm(self, given: str, arguments: list[str]) -> bytes:
        script = _NPM_SCRIPT.format(folder=_FOLDER)
        with self._client("sh", "-c", script, "npm", *arguments) as builder:
            builder.put(tar_of({"given.json": given.encode()}))
            if builder.run() != 0:
                message = f"its packages could not be locked: {_complaint(builder.output())}"
                raise SourceError(message, hint=_hint(message))
            files = builder.files(f"{_FOLDER}/package-lock.json")
        if len(files) != 1:
            raise SourceError("npm left no lock", hint="try again")
        return files[0]


def _led_by_python(error: EngineError) -> EngineError:
    """The Python that is not here first; uv advises on a project, and here is none."""
    wanted = _OTHER_PYTHON.search(error.what)
    if wanted is None:
        return error
    lead = f"it asks for Python {wanted[1]}, and the sandbox has {' and '.join(PYTHONS)}"
    cause = error.what.partition("\nhint: ")[0].rstrip()
    hint = "take an older version that runs on one of these, if there is one: pypi:NAME==VERSION"
    return EngineError(f"{lead}\n{cause}", hint=hint)


def sizes_in(pylock: str) -> dict[str, int]:
    """Of each package its largest wheel, else its source. Raises ValueError if it is no lock."""
    sizes = {}
    for package in tomllib.loads(pylock).get("packages", ()):
        wheels = [wheel.get("size", 0) for wheel in package.get("wheels", ())]
        sizes[package["name"]] = max(wheels, default=package.get("sdist", {}).get("size", 0))
    return sizes


def pythons_for(wanted: str) -> Sequence[Python]:
    """Those that a project's `requires-python` lets in, by its lower bound; all if it has none."""
    bound = re.search(r"(?:>=?|~=|==)\s*3\.(\d+)", wanted)
    least = int(bound[1]) if bound else 0
    fit = tuple(one for one in PYTHONS if int(one.partition(".")[2]) >= least)
    return fit or PYTHONS[-1:]


def locked_version(folder: Path, package: str) -> str:
    """As the fresh lock has it; empty if it does not say."""
    if (folder / "package.json").exists():
        given = load_json((folder / "package.json").read_text(encoding="utf-8"))
        if version := given["dependencies"].get(package):
            return str(version)
    lock = folder / "requirements.txt"
    text = lock.read_text(encoding="utf-8") if lock.exists() else ""
    found = re.search(rf"^{re.escape(plain_name(package))}==(\S+)", text, re.MULTILINE)
    return found[1] if found else ""


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
