"""scenarios/ and images/servers/, read and checked: every problem at once, each with file and key.

A folder is read when it is asked for: one broken scenario does not stop a verb that names another.
`sound()` leaves the broken ones out; asking for all of them reads all, and raises every problem of
every file together.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
from collections.abc import Callable, Collection, ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from runner.catalog.exact_questions import (
    QUESTIONS_FILE,
    names_of_questions,
    problems_of_names,
    reference_of,
    rubric_of,
    scenario_of,
)
from runner.records import (
    ContrastPair,
    ContrastPairs,
    ExactQuestion,
    ExactQuestions,
    Record,
    Rubric,
    Scenario,
    ServerSpec,
    Sha256,
    digest_of,
    parse_yaml,
    read_text,
)
from runner.records.arms import NO_TOOLS_ARM
from runner.servers.definition_rules import LOCK_FILES, probe_for
from runner.servers.definition_rules import definition_problems as launch_problems
from runner.servers.environment import FOLDER as LOCKS_FOLDER
from runner.servers.environment import KNOWN_FILES, LOCKS, TestPackages, packages_of
from runner.support.errors import CatalogError, FairtrialError, Problem
from runner.support.text import some_of

SHELL = "shell"
"""The baseline arm: built in, no folder, no command."""
HELD_OUT = "held-out"
IMPORTED_SCENARIOS = "imported"
EXACT = "exact"
"""scenarios/exact/<repository>/questions.yaml: each question is a scenario of one step."""
MENDED = "run `fairtrial check` after mending them"
APART = frozenset({HELD_OUT, IMPORTED_SCENARIOS, EXACT})
"""Suites that no run takes unasked."""
TESTBED = "testbed"
"""images/servers/testbed/: MCP-AgentBench's servers, which no scenario is measured with."""
CONTRAST_FILE = "turned.yaml"
MAX_FILE_BYTES = 512 * 1024
"""PyYAML reads about 100 KB/s; a file beyond this is not one somebody wrote."""
_ONLY_SHOWN = frozenset({"title", "homepage", "licence", "notes", "substitutes"})
"""Keys of a server that a report shows and no cell can see."""
_SERVER_FILES = frozenset({"server.yaml", "requirements.in", *LOCK_FILES})

T = TypeVar("T")
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, kw_only=True)
class LoadedScenario:
    scenario: Scenario
    rubric: Rubric
    reference: tuple[str, ...]
    """The reference answer: one text a step."""
    contrast_pairs: tuple[ContrastPair, ...] = ()
    """The reference with one fact made false, for the gate to ask a judge about."""
    suite: str
    folder: Path
    digests: Mapping[str, str] = field(default_factory=dict)
    """Path from the checkout's top -> digest of the text that was parsed, with LF line ends.

    The file may be another by the time somebody looks there again."""
    question: ExactQuestion | None = None
    """What it was made of, if its whole answer is a key."""

    @property
    def packages(self) -> TestPackages | None:
        return packages_of(self.scenario, self.folder)

    @cached_property
    def asked(self) -> Sha256:
        return questions_digest(self.scenario)

    @cached_property
    def scored_by(self) -> Sha256:
        """Of all that scores follow from."""
        scenario, rubric = self.scenario, self.rubric
        # What its cells held beside the repository changes no score of a transcript.
        asked = scenario.model_dump(mode="json", exclude={"environment"})
        return digest_of([asked, rubric.model_dump(mode="json")])


@dataclass(frozen=True, kw_only=True)
class LoadedServer:
    spec: ServerSpec
    folder: Path
    digest: str
    """Of what a cell can see of its definition, and of its package locks."""


@dataclass
class LazyMapping(Mapping[str, T], Generic[T]):
    """Name -> its folder's content, read on first use; `values()` and `items()` read all."""

    folders: Mapping[str, Path]
    """A folder of questions stands here once for each of them."""
    read: Callable[[str, Path], T]
    stray: tuple[Problem, ...] = ()
    """Problems that belong to no one folder."""
    _loaded: dict[str, T] = field(default_factory=dict)

    def __getitem__(self, name: str) -> T:
        """Raises CatalogError with every problem of the folder, KeyError if there is no folder."""
        if name not in self._loaded:
            self._loaded[name] = self.read(name, self.folders[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.folders)

    def __len__(self) -> int:
        return len(self.folders)

    # Mapping's own would read the folder, and raise if it is broken, only to say that it is there.
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
        problems = list(self.stray)
        for found in self.broken().values():
            problems += found
        return problems

    def broken(self) -> dict[str, tuple[Problem, ...]]:
        """Name -> its problems, of every folder that has some."""
        broken: dict[str, tuple[Problem, ...]] = {}
        for name in self:
            problems: list[Problem] = []
            with _collected(problems):
                self[name]
            if problems:
                broken[name] = tuple(problems)
        return broken

    def sound(self) -> dict[str, T]:
        """Every folder's content but those of the broken, which no other's reader needs."""
        broken = self.broken()
        return {name: self[name] for name in self if name not in broken}


@dataclass(frozen=True, kw_only=True)
class Catalog:
    scenarios: LazyMapping[LoadedScenario]
    servers: LazyMapping[LoadedServer]
    testbed: LazyMapping[LoadedServer]

    def sound_scenarios(self) -> dict[str, Scenario]:
        return {name: loaded.scenario for name, loaded in self.scenarios.sound().items()}

    def check(self) -> None:
        """Raises CatalogError with every problem of every scenario and server."""
        everything = (self.scenarios, self.servers, self.testbed)
        _raise([problem for part in everything for problem in part.problems()])


def load_catalog(root: Path, project: Path | None = None) -> Catalog:
    """The catalog of a checkout, sorted by name; nothing is read before it is asked for.

    `project`: a user's own folder, laid over it. A name that ships stays what ships: the folder of
    the project that has it too is a problem. Raises FairtrialError if there is no catalog under
    `root`.
    """
    missing = [name for name in ("scenarios", "images/servers") if not (root / name).is_dir()]
    if missing:
        raise FairtrialError(
            f"no folder {' and no '.join(missing)} here",
            where=str(root),
            hint="run fairtrial in its checkout, or name it with --root",
        )
    shipped = _catalog_under(root)
    if project is None:
        return shipped
    return _laid_over(shipped, _catalog_under(project))


def _catalog_under(root: Path) -> Catalog:
    by_id, stray = _scenario_folders(root / "scenarios")
    servers = {folder.name: folder for folder in _folders(root / "images/servers")}
    testbed, strangers = _testbed_folders(servers.pop(TESTBED, None), servers)
    return Catalog(
        scenarios=LazyMapping(by_id, _ScenarioReader(), tuple(stray)),
        servers=LazyMapping(servers, _read_server),
        testbed=LazyMapping(testbed, _read_server, tuple(strangers)),
    )


# --- a project's, laid over what ships -----------------------------------------------------------


SHIPS = "ships with fairtrial under the same name; choose another"
ANCHORS_STAY = f"the suite {HELD_OUT} is the gate's; put it into another"


def _laid_over(shipped: Catalog, own: Catalog) -> Catalog:
    folders = own.scenarios.folders.items()
    # Anchors of somebody's own would let a judge be judged by its own grades.
    anchors = [name for name, folder in folders if folder.parent.name == HELD_OUT]
    scenarios = _less(own.scenarios, anchors, ANCHORS_STAY)
    servers = _less(own.servers, shipped.testbed, SHIPS)
    return Catalog(
        scenarios=_both(shipped.scenarios, scenarios),
        servers=_both(shipped.servers, servers),
        testbed=_both(shipped.testbed, own.testbed),
    )


def _both(shipped: LazyMapping[T], own: LazyMapping[T]) -> LazyMapping[T]:
    own = _less(own, shipped, SHIPS)
    sources = dict.fromkeys(shipped.folders.values(), shipped)
    sources |= dict.fromkeys(own.folders.values(), own)
    return LazyMapping(
        dict(sorted({**shipped.folders, **own.folders}.items())),
        lambda name, folder: sources[folder][name],
        (*shipped.stray, *own.stray),
    )


def _less(own: LazyMapping[T], names: Collection[str], message: str) -> LazyMapping[T]:
    """Without those names; each that it has is a problem."""
    kept = {name: folder for name, folder in own.folders.items() if name not in names}
    refused = [folder for name, folder in own.folders.items() if name in names]
    problems = [Problem(where=_where(folder), message=message) for folder in refused]
    return LazyMapping(kept, own.read, (*own.stray, *problems))


# --- folders -------------------------------------------------------------------------------------


def _testbed_folders(
    testbed: Path | None, servers: Mapping[str, Path]
) -> tuple[dict[str, Path], list[Problem]]:
    """Name -> folder, and a problem for every name that a server outside has too."""
    if testbed is None:
        return {}, []
    folders = {folder.name: folder for folder in _folders(testbed)}
    message = "a server outside the testbed has the same name; choose another"
    taken = sorted(folders.keys() & servers)
    return folders, [Problem(where=_where(folders[name]), message=message) for name in taken]


def _scenario_folders(scenarios: Path) -> tuple[dict[str, Path], list[Problem]]:
    """Id -> folder, sorted by id; and a problem for every folder whose id another suite has."""
    by_id: dict[str, Path] = {}
    stray: list[Problem] = []
    for suite in _folders(scenarios):
        for name, folder in _ids_of_suite(suite):
            first = by_id.setdefault(name, folder)
            if first != folder:
                message = f"{_where(first)} has the same id; choose another"
                stray.append(Problem(where=_where(folder), message=message))
    return dict(sorted(by_id.items())), stray


def _ids_of_suite(suite: Path) -> Iterator[tuple[str, Path]]:
    for folder in _folders(suite):
        if suite.name != EXACT:
            yield folder.name, folder
            continue
        # A folder that cannot be read stands under its own name, so that somebody hears of it.
        for name in names_of_questions(folder) or [""]:
            yield f"{folder.name}.{name}".rstrip("."), folder


def _folders(parent: Path) -> list[Path]:
    # `.git`, `__pycache__` and the like are nobody's scenario.
    if not parent.is_dir():
        return []
    return sorted(
        path for path in parent.iterdir() if path.is_dir() and not path.name.startswith((".", "__"))
    )


def can_be_measured(server: ServerSpec | None, scenario: Scenario) -> bool:
    """False if nothing can prove that the server sees this repository.

    Its silence there would pass for its answer.
    """
    if server is None:
        return True
    return probe_for(server, scenario.repository.label, scenario.known) is not None


def pick(known: Mapping[str, T], name: str, kind: str = "scenario") -> T:
    """The one of that name.

    Raises FairtrialError with the closest names, or CatalogError if its folder is broken.
    """
    if name in known:
        return known[name]
    hint = f"there are: {some_of(list(known)) or 'none'}"
    if closest := difflib.get_close_matches(name, known, n=3, cutoff=0.5):
        hint = f"did you mean {' or '.join(closest)}?"
    if kind == "server":
        hint += " (`fairtrial try … --save` keeps one that was tried)"
    raise FairtrialError(f"no {kind} is called {name!r}", hint=hint)


# --- problems -------------------------------------------------------------------------------


def _where(path: Path) -> str:
    """From the checkout's top: `scenarios/core/x/scenario.yaml`, `images/servers/x/server.yaml`."""
    top = 0
    # The last of them: the checkout itself may lie in a folder called `images`.
    for index, part in enumerate(path.parts):
        if part in ("scenarios", "images"):
            top = index
    return "/".join(path.parts[top:])


def _raise(problems: list[Problem]) -> None:
    if problems:
        raise CatalogError(problems, hint=MENDED)


@contextlib.contextmanager
def _collected(problems: list[Problem]) -> Iterator[None]:
    """What goes wrong inside joins `problems`, so that the next file is read too."""
    try:
        yield
    except CatalogError as error:
        problems += error.problems


def _text(path: Path) -> str:
    return read_text(path, where=_where(path), limit_bytes=MAX_FILE_BYTES)


FileTexts = dict[str, str]
"""Path from the checkout's top -> the text that was read there, once."""


def _noted(path: Path, texts: FileTexts) -> str:
    texts[_where(path)] = text = _text(path)
    return text


def _digests(texts: FileTexts) -> dict[str, str]:
    # As anchors.frozen digests a file: CRLF line ends hold the same text.
    return {
        where: hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()
        for where, text in texts.items()
    }


def _record(path: Path, record: type[R], problems: list[Problem], texts: FileTexts) -> R | None:
    with _collected(problems):
        return parse_yaml(_noted(path, texts), record, where=_where(path))
    return None


def _unknown_files(folder: Path, known: Collection[str]) -> Iterator[Problem]:
    """Unknown files are usually typos; report them."""
    for path in sorted(folder.iterdir()):
        if path.name in known:
            continue
        hint = f"known: {', '.join(sorted(known))}"
        if closest := difflib.get_close_matches(path.name, known, n=1):
            hint = f"did you mean {closest[0]}?"
        yield Problem(where=_where(path), message=f"nothing reads this file; {hint}")


# --- scenarios ------------------------------------------------------------------------------


class _ScenarioReader:
    """Reads a scenario's folder; of a folder of questions, all at the first that is asked for."""

    def __init__(self) -> None:
        self._questions: dict[Path, dict[str, LoadedScenario]] = {}

    def __call__(self, name: str, folder: Path) -> LoadedScenario:
        if folder.parent.name != EXACT:
            return _read_scenario(folder)
        if folder not in self._questions:
            self._questions[folder] = _read_questions(folder)
        return self._questions[folder][name]


def _read_questions(folder: Path) -> dict[str, LoadedScenario]:
    """The scenario of each question, by its id."""
    problems = list(_unknown_files(folder, {QUESTIONS_FILE}))
    texts: FileTexts = {}
    path = folder / QUESTIONS_FILE
    asked = _record(path, ExactQuestions, problems, texts)
    if asked:
        for message in problems_of_names(texts[_where(path)], asked):
            problems.append(Problem(where=_where(path), message=message))
    if problems or not asked:
        raise CatalogError(problems, hint=MENDED)
    loaded = {}
    for question in asked.questions:
        one = loaded_question(folder.name, asked, question)
        loaded[one.scenario.id] = replace(one, folder=folder, digests=_digests(texts))
    return loaded


def loaded_question(folder: str, asked: ExactQuestions, question: ExactQuestion) -> LoadedScenario:
    """`folder`: the name of the one that holds, or is to hold, its file."""
    return LoadedScenario(
        scenario=scenario_of(folder, asked, question),
        rubric=rubric_of(question),
        reference=(reference_of(question),),
        suite=EXACT,
        folder=Path(folder),
        question=question,
    )


def _read_scenario(folder: Path) -> LoadedScenario:
    suite = folder.parent.name
    problems = list(_unknown_files(folder, _scenario_files(suite)))
    texts: FileTexts = {}
    scenario = _record(folder / "scenario.yaml", Scenario, problems, texts)
    rubric = _record(folder / "rubric.yaml", Rubric, problems, texts)
    reference: tuple[str, ...] = ()
    contrast_pairs = _read_contrast_pairs(folder / CONTRAST_FILE, problems, texts)
    if scenario:
        problems += _scenario_problems(folder, scenario)
        problems += _environment_problems(folder / LOCKS_FOLDER, scenario)
        problems += _contrast_problems(folder, scenario, contrast_pairs)
        with _collected(problems):
            reference = _read_reference(folder / "reference", scenario, texts)
    if scenario and rubric:
        problems += _rubric_problems(folder, scenario, rubric)
    if problems or not scenario or not rubric:
        raise CatalogError(problems, hint=MENDED)
    return LoadedScenario(
        scenario=scenario,
        rubric=rubric,
        reference=reference,
        contrast_pairs=contrast_pairs,
        suite=suite,
        folder=folder,
        digests=_digests(texts),
    )


def _scenario_files(suite: str) -> frozenset[str]:
    files = frozenset({"scenario.yaml", "rubric.yaml", "reference", CONTRAST_FILE, LOCKS_FOLDER})
    # Anywhere else grades would look as if somebody went by them.
    if suite == HELD_OUT:
        files |= {"transcripts", "gold_scores.json"}
    return files


def _scenario_problems(folder: Path, scenario: Scenario) -> Iterator[Problem]:
    where = _where(folder / "scenario.yaml")
    if scenario.id != folder.name:
        message = f"is {scenario.id!r}, but the folder is {folder.name!r}"
        yield Problem(where=f"{where} id", message=message)
    earlier: set[str] = set()
    for index, step in enumerate(scenario.steps):
        if step.name in earlier:
            message = f"an earlier step is called {step.name!r} too"
            yield Problem(where=f"{where} steps[{index}].name", message=message)
        earlier.add(step.name)
    if not scenario.unreviewed and not any(step.must_cite for step in scenario.steps):
        message = "no step has a `must_cite`, so one safe citation would have full recall"
        yield Problem(where=f"{where} steps", message=message)


def _environment_problems(folder: Path, scenario: Scenario) -> Iterator[Problem]:
    """`folder`: of its locks."""
    if folder.is_dir():
        yield from _unknown_files(folder, KNOWN_FILES)
    if scenario.environment is None and folder.exists():
        message = "scenario.yaml says nothing of an `environment`, and nothing reads these files"
        yield Problem(where=_where(folder), message=message)
    if scenario.environment is not None and not any((folder / name).is_file() for name in LOCKS):
        message = f"holds no lock: one of {', '.join(LOCKS)}"
        yield Problem(where=_where(folder), message=message)


def _rubric_problems(folder: Path, scenario: Scenario, rubric: Rubric) -> Iterator[Problem]:
    expected = [step.name for step in scenario.steps]
    found = [step.name for step in rubric.steps]
    if expected != found:
        message = f"the steps are {found}, the scenario's are {expected}; same names, same order"
        yield Problem(where=f"{_where(folder / 'rubric.yaml')} steps", message=message)
    if scenario.unreviewed:
        return
    for step in rubric.steps:
        for name, criterion in step.criteria.items():
            if not criterion.facts:
                where = f"{_where(folder / 'rubric.yaml')} {step.name}.{name}.facts"
                yield Problem(where=where, message="is empty: no answer could meet it")


def _read_contrast_pairs(
    path: Path, problems: list[Problem], texts: FileTexts
) -> tuple[ContrastPair, ...]:
    """None where there is no such file: a scenario can be measured with before it has pairs."""
    if not path.exists():
        return ()
    read = _record(path, ContrastPairs, problems, texts)
    return () if read is None else read.pairs


def _contrast_problems(
    folder: Path, scenario: Scenario, contrast_pairs: Sequence[ContrastPair]
) -> Iterator[Problem]:
    names = [step.name for step in scenario.steps]
    for index, pair in enumerate(contrast_pairs):
        if pair.step not in names:
            where = f"{_where(folder / CONTRAST_FILE)} pairs[{index}].step"
            yield Problem(
                where=where, message=f"is {pair.step!r}; the scenario's steps are {names}"
            )


def _read_reference(folder: Path, scenario: Scenario, texts: FileTexts) -> tuple[str, ...]:
    if scenario.unreviewed and not folder.exists():
        return ()
    names = [f"{number}.md" for number in range(1, len(scenario.steps) + 1)]
    problems: list[Problem] = []
    if folder.is_dir():
        problems += _unknown_files(folder, names)
    answers = []
    for name in names:
        with _collected(problems):
            text = _noted(folder / name, texts)
            if not text.strip():
                problems.append(Problem(where=_where(folder / name), message="is empty"))
            answers.append(text)
    _raise(problems)
    return tuple(answers)


# --- servers --------------------------------------------------------------------------------


def _read_server(_: str, folder: Path) -> LoadedServer:
    problems = list(_unknown_files(folder, _SERVER_FILES))
    spec = _record(folder / "server.yaml", ServerSpec, problems, {})
    locks = _read_locks(folder, problems)
    if spec:
        problems += _server_problems(folder, spec, locks)
    if problems or not spec:
        raise CatalogError(problems, hint=MENDED)
    unseen = {*_ONLY_SHOWN, *(() if spec.image else ("image", "http"))}
    definition = spec.model_dump(mode="json", exclude=unseen)
    digest = digest_of({"spec": definition, "locks": locks})
    return LoadedServer(spec=spec, folder=folder, digest=digest)


def _read_locks(folder: Path, problems: list[Problem]) -> dict[str, str]:
    """File name -> text."""
    locks: dict[str, str] = {}
    for name in LOCK_FILES:
        if (folder / name).exists():
            with _collected(problems):
                locks[name] = _text(folder / name)
    # A package.json alone pins nothing, and npm installs nothing from a lock alone.
    if ("package.json" in locks) != ("package-lock.json" in locks):
        message = "package.json and package-lock.json go together"
        problems.append(Problem(where=_where(folder), message=message))
    return locks


def _server_problems(folder: Path, spec: ServerSpec, locks: Mapping[str, str]) -> Iterator[Problem]:
    installs = "requirements.txt" in locks or "package-lock.json" in locks
    if installs and spec.image:
        message = "an image is its own lock: package locks beside it install nothing"
        yield Problem(where=_where(folder), message=message)
    if not installs and not spec.files and not spec.image:
        message = (
            "nothing is installed: it needs requirements.txt (with hashes), package-lock.json, "
            "or `files` or `image` in server.yaml"
        )
        yield Problem(where=_where(folder), message=message)
    where = _where(folder / "server.yaml")
    yield from launch_problems(spec, where)
    if spec.name != folder.name or folder.name in (SHELL, NO_TOOLS_ARM):
        message = (
            f"is {spec.name!r}, but the folder is {folder.name!r}; "
            f"`{SHELL}` and `{NO_TOOLS_ARM}` are built in"
        )
        yield Problem(where=f"{where} name", message=message)


def questions_digest(scenario: Scenario) -> str:
    """Of what the agent is asked and allowed: a changed rubric or title asks for no new run."""
    asked = scenario.model_dump(mode="json", include={"repository", "budget", "known"})
    return digest_of({**asked, "prompts": [step.prompt for step in scenario.steps]})
