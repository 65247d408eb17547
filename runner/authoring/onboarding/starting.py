"""From what the person asked to the first step."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from runner.authoring.drafting.command import DraftRequest, new_scenarios
from runner.authoring.exact.own_questions import OwnQuestions, make_questions
from runner.authoring.onboarding import learnt
from runner.authoring.onboarding.onboarding_state import (
    DEFAULT_SCENARIO,
    AskPerson,
    OnboardedServer,
    OnboardingState,
    Overrides,
)
from runner.authoring.onboarding.programs import SETUP_SEC
from runner.authoring.onboarding.server_source import (
    LocalPath,
    NpmPackage,
    ServerSource,
    read_asked,
    slug_of,
)
from runner.authoring.onboarding.with_packages import with_packages
from runner.catalog.locks import REPOS_LOCK
from runner.catalog.project import PROJECT_LOCK, write_project_lock
from runner.records import McpCall, WarmUp, digest_of
from runner.repositories.local_labels import LOCAL_FILE
from runner.runs.prepare import install
from runner.sandbox.cell_layout import WORKSPACE
from runner.support.errors import FairtrialError
from runner.support.file_lock import lock_or_refuse

SHELL = "shell"
"""`--warm-up shell COMMAND` runs a command; with an object behind it, it is a tool's name."""
STEPS = 4
"""Of a repository of the person's own about which nothing can be asked that has a key."""
QUESTIONS = 20
"""With a key, that a try asks: a screen's worth of minutes."""

if TYPE_CHECKING:
    from runner.catalog.checkout import Checkout


@dataclass(frozen=True, kw_only=True)
class About:
    """What the server is measured with: a scenario, or a repository of the person's own."""

    scenarios: tuple[str, ...] = ()
    """Of a try one at most; empty for one that ships."""
    repo: str = ""
    """A path or URL to ask about; empty for a scenario's."""
    commit: str | None = None
    """None for HEAD."""
    dirty: bool = False
    """Take the files of a folder as they are."""
    questions: int = QUESTIONS
    """With a key, that are made of `repo`, or drawn of those that ship."""


@contextmanager
def opened(  # noqa: PLR0913 - what a person says, and where it is done
    asked: ServerSource,
    given: Overrides,
    about: About,
    checkout: Checkout,
    ask: AskPerson,
    *,
    name: str = "",
) -> Iterator[OnboardingState]:
    """The first step, in a project of the try's own that no other try may write meanwhile.

    `name`: of the server; empty for its package's. Raises FairtrialError for what cannot be read,
    BusyError if the same is being tried.
    """
    name = name or name_for(asked, checkout)
    project = _project_of(checkout.state / "tries" / name, about)
    with lock_or_refuse(project / ".lock", what="this try", hint="wait for it to end"):
        begin(project)
        scenario = _scenario(about, checkout, project)
        own = checkout.over(project)
        try:
            steps = OnboardingState(
                checkout=own,
                asked=asked,
                given=given,
                loaded=own.scenario(scenario),
                ask=ask,
                name=name,
                project=project,
            )
            if not about.scenarios and not about.repo:
                steps.choose(steps.loaded)
            key = learnt.key_of(asked, given, vars(about))
            learnt.recall(steps, key)
            steps.keep = partial(learnt.keep, steps, key)
            yield steps
        finally:
            own.close_files()


def read_server(words: tuple[str, ...], bring: tuple[str, ...], scripts: str) -> ServerSource:
    """The server that a person names: one word, or the words of a command.

    `bring`: `npm:NAME` or `pypi:NAME` of programs that it runs and does not bring, or `none`.
    `scripts`: npm packages whose install scripts are run, between commas; `none`; empty to guess.
    """
    asked = read_asked(words[0], ()) if len(words) == 1 else read_asked("", words)
    if bring:
        asked = with_packages(asked, bring)
    if not scripts:
        return asked
    if not isinstance(asked, (NpmPackage, LocalPath)):
        raise FairtrialError("only packages of npm have install scripts", where="--scripts")
    return replace(asked, scripts=tuple(scripts.split(",")))


def name_for(asked: ServerSource, checkout: Checkout) -> str:
    """A name that ships stays what ships."""
    slug = slug_of(asked)
    known = {*checkout.catalog.servers.folders, *checkout.catalog.testbed.folders}
    return f"try-{slug}" if slug in known else slug


def _project_of(tried: Path, about: About) -> Path:
    """What is asked about has its own, at each commit, or an older report lost its scenarios."""
    if not about.repo and not about.scenarios:
        return tried
    place = str(Path(about.repo).resolve()) if Path(about.repo).is_dir() else about.repo
    which = [place, about.commit, about.dirty, *about.scenarios]
    return tried.with_name(f"{tried.name}-{digest_of(which)[:8]}")


def last_try(tried: Path) -> Path | None:
    """The project of the last try of a server, whatever it was asked about; None without one."""
    every = [tried, *tried.parent.glob(f"{tried.name}-{'[0-9a-f]' * 8}")]
    begun = [it for it in every if (it / PROJECT_LOCK).is_file()]
    return max(begun, key=lambda it: (it / PROJECT_LOCK).stat().st_mtime, default=None)


def begin(project: Path, anew: Sequence[str] = ("images", "scenarios", "locks")) -> None:
    """A project that is fresh but for its runs, and for what is not `anew`."""
    for name in anew:
        shutil.rmtree(project / name, ignore_errors=True)
    for name in ("images/servers", "scenarios", "locks"):
        (project / name).mkdir(parents=True, exist_ok=True)
    write_project_lock(project)


def _scenario(about: About, checkout: Checkout, project: Path) -> str:
    """The scenario's id; one of the person's own is copied or made in the try's project."""
    if len(about.scenarios) + bool(about.repo) > 1:
        hint = "one is enough to begin with; --save it, then `fairtrial run` with many"
        raise FairtrialError("a try has one scenario", where="--scenario, --repo", hint=hint)
    if about.repo:
        return _with_keys(about, checkout, project) or _proposed(about, checkout, project)
    name = about.scenarios[0] if about.scenarios else DEFAULT_SCENARIO
    loaded = checkout.scenario(name)
    if checkout.project is not None and checkout.is_own(loaded.folder):
        copy_scenario(loaded.folder, checkout.project, project)
    return name


def copy_scenario(folder: Path, source: Path, project: Path) -> None:
    """A scenario, and what says where its repository is."""
    shutil.copytree(folder, project / folder.relative_to(source))
    for name in (REPOS_LOCK, LOCAL_FILE):
        if (source / name).is_file():
            shutil.copy(source / name, project / name)


def _with_keys(about: About, checkout: Checkout, project: Path) -> str:
    """The first of the questions whose whole answer is proven; empty if there are none."""
    try:
        return own_questions(about, checkout, project)[0]
    except FairtrialError as error:
        checkout.log(f"  {error.what}")
        return ""


def own_questions(about: About, checkout: Checkout, project: Path) -> list[str]:
    """Made about a repository of the person's own. Raises FairtrialError."""
    asked = OwnQuestions(
        repo=about.repo, count=about.questions, commit=about.commit, dirty=about.dirty
    )
    return make_questions(asked, project, checkout.state, checkout.environ, checkout.log)


def questions_of(checkout: Checkout, scenario: str, count: int) -> tuple[str, ...]:
    """What a try asks: questions with a key about the scenario's repository, else the scenario."""
    loaded = checkout.scenario(scenario)
    found = checkout.questions_about(loaded.scenario.repository.label)
    if loaded.question is None:
        found = sorted(found, key=digest_of)[:count]
    return tuple(found) or (scenario,)


def _proposed(about: About, checkout: Checkout, project: Path) -> str:
    """Questions about a repository whose answers can be proven, and that nobody has read."""
    wanted = DraftRequest(repo=about.repo, commit=about.commit, dirty=about.dirty, questions=STEPS)
    checkout.log("proposing questions whose answers can be proven")
    (made,) = new_scenarios(wanted, project, checkout.state, checkout.environ, checkout.log)
    return made.id


@dataclass(frozen=True, kw_only=True)
class OverridesAsWritten:
    """What a person says of a server, as it is written on a command line."""

    args: str | None = None
    """As a shell would read them; None to have them guessed."""
    env: tuple[str, ...] = ()
    """NAME=VALUE each."""
    entry: str = ""
    warm_up: tuple[tuple[str, str], ...] = ()
    """A tool, and its arguments as JSON."""
    canary: tuple[str, str, str] | None = None
    """A tool, its arguments as JSON, and a text its answer must contain."""
    private: tuple[str, ...] = ()
    """Folders in the repository."""
    before: str = ""
    http: str | None = None
    """`PORT[/PATH]`, empty for the port that it opens; None to have it guessed."""


def given(said: OverridesAsWritten) -> Overrides:
    """Raises FairtrialError for what cannot be read so."""
    canary = None
    if said.canary is not None:
        tool, arguments, text = said.canary
        canary = (McpCall(tool=tool, arguments=_object(arguments, "--probe")), text)
    return Overrides(
        args=None if said.args is None else tuple(shlex.split(said.args)),
        env=dict(_variable(text) for text in said.env),
        entry=said.entry,
        warm_up=tuple(_step(tool, arguments) for tool, arguments in said.warm_up),
        canary=canary,
        private=tuple(map(_folder, said.private)),
        before=said.before,
        http=_port(said.http),
    )


def _port(text: str | None) -> str | None:
    if text and not re.fullmatch(r"\d{1,5}(/\S*)?", text):
        hint = "such as 8000 or 8000/mcp; alone, it stands behind the server's name"
        raise FairtrialError("it is no PORT[/PATH]", where=f"--http {text}", hint=hint)
    return text


def _step(tool: str, arguments: str) -> WarmUp:
    if tool == SHELL and not arguments.lstrip().startswith("{"):
        return WarmUp(shell=arguments, timeout_sec=SETUP_SEC)
    call = McpCall(tool=tool, arguments=_object(arguments, "--warm-up"))
    return WarmUp(call=call, timeout_sec=SETUP_SEC)


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        hint = 'in quotes, such as \'{"path": "{workspace}"}\''
        raise FairtrialError(f"no JSON: {error}", where=where, hint=hint) from error
    if not isinstance(value, dict):
        raise FairtrialError("arguments are an object", where=where, hint="such as '{}'")
    return value


def _folder(text: str) -> str:
    """As server.yaml has it. Raises FairtrialError for what lies elsewhere."""
    place = PurePosixPath(text.removeprefix(f"{WORKSPACE}/"))
    if place.is_absolute() or ".." in place.parts or not place.parts:
        hint = "a folder of the repository's, such as .index"
        raise FairtrialError(
            "it is no folder in the repository", where=f"--private {text}", hint=hint
        )
    return str(place)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise FairtrialError("it is no NAME=VALUE", where=f"--env {text}", hint="such as A=1")
    return name, value


def run_name(
    checkout: Checkout,
    tried: OnboardedServer,
    questions: Sequence[str],
    models: Sequence[str],
    trials: int,
) -> str:
    """Of the same server and questions the same, so that a killed run goes on.

    Installed by a newer version of ours, it is another: its cells would be refused.
    """
    loaded = checkout.server(tried.server)
    volume = install(checkout, loaded).volume or ""
    inputs = [loaded.digest, volume, *questions, *models, trials]
    return f"{tried.server[:48]}-{digest_of(inputs)[:8]}"
