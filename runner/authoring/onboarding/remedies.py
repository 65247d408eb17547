"""What is changed where a server does not start or shows nothing, in the order it is tried.

Every remedy was counted: one that no server needs goes. Above each stands what it answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from runner.authoring.onboarding import fetched, installs, repository_choice
from runner.authoring.onboarding.canaries import FoundCanary
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


@dataclass(frozen=True)
class Remedy(Generic[Find]):
    """One thing that may be missing, and what is done about it."""

    find: Find
    """What it would change; nothing where nothing calls for it."""
    hits: int
    """Servers it was applied to on their way to a canary."""
    most: int = 1
    """Times that it is used for one server."""


Install = Remedy[Callable[["OnboardingState", "Start"], list[Change]]]
Way = Remedy[Callable[["SearchContext", "StartAttempt"], list[Launch]]]
Telling = Remedy[Callable[[SettingUp], Awaitable[FoundCanary | None]]]

# It fetches grammars, tables of tokens or an embedding model when it runs.
SUPPLIES = (
    Remedy(fetched.GRAMMARS, hits=6),
    Remedy(fetched.TOKENIZER_SUPPLY, hits=6),
    Remedy(fetched.MODEL_SUPPLY, hits=8),
)
"""With what is locked: nobody waits for a complaint."""
# A language server, linter or other program is not there.
PROGRAMS: tuple[Install, ...] = (Remedy(installs.program, hits=1, most=3),)
INSTALLS: tuple[Install, ...] = (
    # It says that it listens at a port.
    Remedy(installs.over_http, RECORDED),
    # A native part is not there.
    Remedy(installs.install_scripts, RECORDED, most=3),
    # A module is not there, or a name is gone from the protocol's library.
    Remedy(installs.missing_package, hits=25, most=3),
    # No way starts the program that was chosen.
    Remedy(installs.other_entries, hits=1),
    *PROGRAMS,
    # It fails inside a package.
    Remedy(installs.as_of_its_release, hits=1),
)
# A write in a folder of the repository's is refused that is none of its own.
FOLDER: Remedy[Callable[[StartAttempt], tuple[str, ...]]] = Remedy(installs.own_folders, hits=4)
# It does not start, or a running server shuts out a program of its own.
PROGRAM_FIRST: Remedy[Callable[[SearchContext, StartAttempt], list[str]]] = Remedy(
    installs.programs_first, RECORDED
)
# It shows nothing of the first, or asks for a file that this has not.
REPOSITORY: Remedy[Callable[[OnboardingState, StartAttempt], bool]] = Remedy(
    repository_choice.choose_by_failing, hits=1
)
WAYS: tuple[Way, ...] = (
    # It does not start, or shows nothing.
    Remedy(installs.by_its_help, hits=1),
    # A file where it is started is refused, or a folder that is not its own.
    Remedy(installs.on_a_copy, RECORDED),
    # Its README or its complaint names a variable that holds a project.
    Remedy(installs.with_variables, hits=1),
)
TOLD: tuple[Telling, ...] = (
    # An answer says to run one of its own programs first.
    Remedy(SettingUp.run_named, hits=1),
    # An answer spells a call of another tool.
    Remedy(SettingUp.call_spelled, hits=1),
    # A tool opens, adds, clones or indexes a project.
    Remedy(SettingUp.tell_tools, hits=4),
    # Its README builds an index.
    Remedy(SettingUp.run_shown, RECORDED),
)
"""Where nothing shows."""
# It says that it is busy, or was told something.
LAST: tuple[Telling, ...] = (Remedy(SettingUp.wait, RECORDED),)
FINDERS: tuple[Telling, ...] = (
    # Another tool's error names a program of its own.
    Remedy(SettingUp.run_for_finding, hits=1),
    # What finds things errs, or can be given an index.
    Remedy(SettingUp.index_for_finding, RECORDED),
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
