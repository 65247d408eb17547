"""scenarios/ and images/servers/, read and checked. Whatever is wrong is said at once, each with file and key.

A folder is read when it is asked for: one broken scenario does not stop a verb that names another. Asking for all of them reads all,
and raises every problem of every file together.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Collection, ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from runner.errors import CatalogError, FairtrialError, Problem
from runner.records import Record, Rubric, Scenario, ServerSpec, digest_of, parse_yaml

SHELL = "shell"
"""The baseline arm: built in, no folder, no command."""
HELD_OUT = "held-out"
LOCK_FILES = ("requirements.txt", "package.json", "package-lock.json")
MAX_FILE_BYTES = 512 * 1024
"""PyYAML reads about 100 KB/s; a file beyond this is not one somebody wrote."""
_SAID_ONLY = frozenset({"title", "homepage", "licence", "notes"})
"""Keys of a server that no cell can see."""

T = TypeVar("T")
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, kw_only=True)
class LoadedScenario:
    scenario: Scenario
    rubric: Rubric
    reference: tuple[str, ...]
    """The reference answer: one text a step."""
    suite: str
    folder: Path


@dataclass(frozen=True, kw_only=True)
class LoadedServer:
    spec: ServerSpec
    folder: Path
    digest: str
    """Of its definition, but for what no cell can see, and its package locks."""


@dataclass
class LazyMapping(Mapping[str, T], Generic[T]):
    """Name -> what its folder holds, read on first use; all of them together by `values()`, `items()` and `check()`."""

    folders: Mapping[str, Path]
    read: Callable[[Path], T]
    stray: tuple[Problem, ...] = ()
    """Problems that belong to no one folder."""
    _known: dict[str, T] = field(default_factory=dict)

    def __getitem__(self, name: str) -> T:
        """Raises CatalogError with every problem of that folder, KeyError where there is no such folder."""
        if name not in self._known:
            self._known[name] = self.read(self.folders[name])
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.folders)

    def __len__(self) -> int:
        return len(self.folders)

    def __contains__(self, name: object) -> bool:
        return name in self.folders

    def items(self) -> ItemsView[str, T]:
        self.check()
        return super().items()

    def values(self) -> ValuesView[T]:
        self.check()
        return super().values()

    def check(self) -> None:
        """Raises CatalogError with every problem of every folder."""
        _raise(self.problems())

    def problems(self) -> list[Problem]:
        found = list(self.stray)
        for name in self:
            with _collected(found):
                self[name]
        return found


@dataclass(frozen=True, kw_only=True)
class Catalog:
    scenarios: LazyMapping[LoadedScenario]
    servers: LazyMapping[LoadedServer]

    def check(self) -> None:
        """Raises CatalogError with every problem of both shelves."""
        _raise([*self.scenarios.problems(), *self.servers.problems()])


def load_catalog(root: Path) -> Catalog:
    """The catalog of a checkout, sorted by name. Nothing is read before it is asked for. Raises FairtrialError where there is none."""
    missing = [name for name in ("scenarios", "images/servers") if not (root / name).is_dir()]
    if missing:
        what = f"no folder {' and no '.join(missing)} here"
        raise FairtrialError(
            what, where=str(root), hint="run fairtrial in its checkout, or name it with --root"
        )
    folders = [folder for suite in _folders(root / "scenarios") for folder in _folders(suite)]
    by_name = {folder.name: folder for folder in reversed(folders)}
    stray = tuple(
        Problem(
            where=_where(folder),
            message=f"{_where(by_name[folder.name])} has the same id; choose another",
        )
        for folder in folders
        if by_name[folder.name] != folder
    )
    servers = {folder.name: folder for folder in _folders(root / "images/servers")}
    scenarios = dict(sorted(by_name.items()))
    return Catalog(
        scenarios=LazyMapping(scenarios, _read_scenario, stray),
        servers=LazyMapping(servers, _read_server),
    )


def pick(known: Mapping[str, T], name: str, kind: str = "scenario") -> T:
    """The one of that name. Raises FairtrialError with the closest names, or CatalogError where its folder is broken."""
    if name in known:
        return known[name]
    closest = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(closest)}?"
        if closest
        else f"there are: {', '.join(known) or 'none'}"
    )
    raise FairtrialError(f"no {kind} is called {name!r}", hint=hint)


def _folders(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.iterdir() if path.is_dir() and not path.name.startswith((".", "__"))
    )


def _where(path: Path) -> str:
    """As from the checkout's top: `scenarios/core/x/scenario.yaml`, `images/servers/x/server.yaml`."""
    parts = path.parts
    top = max((i for i, part in enumerate(parts) if part in ("scenarios", "images")), default=0)
    return "/".join(parts[top:])


def _raise(problems: list[Problem]) -> None:
    if problems:
        raise CatalogError(problems)


@contextlib.contextmanager
def _collected(problems: list[Problem]) -> Iterator[None]:
    """What goes wrong inside joins `problems`, so that the next file is read too."""
    try:
        yield
    except CatalogError as error:
        problems += error.problems


# --- one file -------------------------------------------------------------------------------


def _text(path: Path) -> str:
    """Raises CatalogError where the file is missing, too large or not plain UTF-8."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise CatalogError(
            [Problem(where=_where(path), message=f"cannot be read: {error.strerror}")]
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise CatalogError(
            [Problem(where=_where(path), message=f"larger than {MAX_FILE_BYTES // 1024} KB")]
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CatalogError(
            [
                Problem(
                    where=_where(path),
                    message=f"not UTF-8: byte {error.start} is 0x{data[error.start]:02x}",
                )
            ]
        ) from error
    if text.startswith("\ufeff"):
        raise CatalogError(
            [
                Problem(
                    where=_where(path),
                    message="begins with a byte-order mark; save it as UTF-8 without one",
                )
            ]
        )
    return text


def _record(path: Path, record: type[R], problems: list[Problem]) -> R | None:
    with _collected(problems):
        return parse_yaml(_text(path), record, where=_where(path))
    return None


def _unknown_files(folder: Path, known: Collection[str]) -> Iterator[Problem]:
    """A file that nobody reads is a misspelt one that somebody believes in."""
    for path in sorted(folder.iterdir()):
        if path.name not in known:
            closest = difflib.get_close_matches(path.name, known, n=1)
            meant = (
                f"did you mean {closest[0]}?" if closest else f"known: {', '.join(sorted(known))}"
            )
            yield Problem(where=_where(path), message=f"nothing reads this file; {meant}")


# --- scenarios ------------------------------------------------------------------------------


def _read_scenario(folder: Path) -> LoadedScenario:
    suite = folder.parent.name
    known = {
        "scenario.yaml",
        "rubric.yaml",
        "reference",
        *(("transcripts", "gold_scores.json") if suite == HELD_OUT else ()),
    }
    problems = list(_unknown_files(folder, known))
    scenario = _record(folder / "scenario.yaml", Scenario, problems)
    rubric = _record(folder / "rubric.yaml", Rubric, problems)
    reference: tuple[str, ...] = ()
    if scenario:
        problems += _scenario_problems(folder, scenario)
        with _collected(problems):
            reference = _read_reference(folder / "reference", len(scenario.steps))
    if scenario and rubric:
        problems += _rubric_problems(folder, scenario, rubric)
    if problems or not scenario or not rubric:
        raise CatalogError(problems)
    return LoadedScenario(
        scenario=scenario, rubric=rubric, reference=reference, suite=suite, folder=folder
    )


def _scenario_problems(folder: Path, scenario: Scenario) -> Iterator[Problem]:
    where = _where(folder / "scenario.yaml")
    if scenario.id != folder.name:
        yield Problem(
            where=f"{where} id", message=f"is {scenario.id!r}, but the folder is {folder.name!r}"
        )
    names = [step.name for step in scenario.steps]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Problem(
                where=f"{where} steps[{index}].name",
                message=f"an earlier step is called {name!r} too",
            )
    if not any(step.must_cite for step in scenario.steps):
        yield Problem(
            where=f"{where} steps",
            message="no step has a `must_cite`, so one safe citation would have full recall",
        )


def _rubric_problems(folder: Path, scenario: Scenario, rubric: Rubric) -> Iterator[Problem]:
    expected, found = [step.name for step in scenario.steps], [step.name for step in rubric.steps]
    if expected != found:
        message = f"the steps are {found}, the scenario's are {expected}; same names, same order"
        yield Problem(where=f"{_where(folder / 'rubric.yaml')} steps", message=message)


def _read_reference(folder: Path, steps: int) -> tuple[str, ...]:
    names = [f"{number}.md" for number in range(1, steps + 1)]
    problems = list(_unknown_files(folder, names)) if folder.is_dir() else []
    texts = []
    for name in names:
        with _collected(problems):
            texts.append(_text(folder / name))
            if not texts[-1].strip():
                problems.append(Problem(where=_where(folder / name), message="is empty"))
    _raise(problems)
    return tuple(texts)


# --- servers --------------------------------------------------------------------------------


def _read_server(folder: Path) -> LoadedServer:
    from runner.server_spec import problems as launch_problems  # noqa: PLC0415 - it imports docker and mcp; scenarios alone need neither

    problems = list(_unknown_files(folder, ("server.yaml", "requirements.in", *LOCK_FILES)))
    spec = _record(folder / "server.yaml", ServerSpec, problems)
    locks: dict[str, str] = {}
    for name in LOCK_FILES:
        if (folder / name).exists():
            with _collected(problems):
                locks[name] = _text(folder / name)
    problems += _lock_problems(folder, locks)
    if spec and not spec.files and not {"requirements.txt", "package-lock.json"} & set(locks):
        what = "nothing is installed: it needs requirements.txt (with hashes), package-lock.json, or `files` in server.yaml"
        problems.append(Problem(where=_where(folder), message=what))
    if spec:
        problems += launch_problems(spec, _where(folder / "server.yaml"))
        if spec.name != folder.name or folder.name == SHELL:
            message = f"is {spec.name!r}, but the folder is {folder.name!r}; `{SHELL}` is the built-in baseline's"
            problems.append(
                Problem(where=f"{_where(folder / 'server.yaml')} name", message=message)
            )
    if problems or not spec:
        raise CatalogError(problems)
    seen = spec.model_dump(mode="json", exclude=set(_SAID_ONLY))
    return LoadedServer(spec=spec, folder=folder, digest=digest_of({"spec": seen, "locks": locks}))


def _lock_problems(folder: Path, locks: Mapping[str, str]) -> Iterator[Problem]:
    if ("package.json" in locks) != ("package-lock.json" in locks):
        yield Problem(
            where=_where(folder), message="package.json and package-lock.json go together"
        )
