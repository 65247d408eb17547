"""What one try stands on, what the person said, and what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.authoring.onboarding.launches import Launch
from runner.authoring.onboarding.server_source import ServerSource
from runner.catalog.catalog import LoadedScenario
from runner.catalog.checkout import Checkout
from runner.records import McpCall, ServerCard, WarmUp

DEFAULT_SCENARIO = "flask-error-handling"
"""Its repository is small: a cell takes seconds."""
_QUESTIONS = "the questions of "
AskPerson = Callable[[str, Sequence[str]], str]
"""Puts a question to the person: (question, choices) -> the choice. Empty if nobody is there."""


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """What the person said instead of letting it be guessed."""

    args: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    entry: str = ""
    warm_up: tuple[WarmUp, ...] = ()
    canary: tuple[McpCall, str] | None = None
    """A call, and what its answer must contain."""
    private: tuple[str, ...] = ()
    """Folders of the repository that it may write, as its own."""
    before: str = ""
    """A date: packages younger than that are not looked at."""
    http: str | None = None
    """`PORT[/PATH]` of a server that speaks HTTP, empty for what it opens; None to have it guessed.
    """


@dataclass(frozen=True, kw_only=True)
class OnboardedServer:
    """A server that is defined and proven."""

    folder: Path
    """The project: images/servers/<name>/ and locks/ in it."""
    server: str
    scenario: str
    card: ServerCard
    guesses: tuple[str, ...]
    writing_tools: tuple[str, ...]
    wall_sec: float


@dataclass(kw_only=True)
class OnboardingState:
    """One try: what it stands on, and what it has guessed so far."""

    checkout: Checkout
    asked: ServerSource
    given: Overrides
    loaded: LoadedScenario
    """The scenario whose questions are asked."""
    ask: AskPerson
    name: str
    """The server's, in files and reports."""
    project: Path
    """A folder of this try's own."""
    guesses: list[str] = field(default_factory=list)
    mends: list[str] = field(default_factory=list)
    """Of the guesses those that a remedy of its install made: without them it did not go so far."""
    chosen: bool = False
    """The scenario is a guess too."""
    started: float = field(default_factory=time.monotonic)
    launch: Launch | None = None
    """How the last try started it."""
    keep: Callable[[Launch | None], None] = lambda _: None
    """Writes what is known by now where the next try finds it."""

    @property
    def folder(self) -> Path:
        return self.project / "images" / "servers" / self.name

    def guess(self, what: str, option: str) -> None:
        """Say it, once: what is installed anew is guessed anew."""
        if f"{what} [{option}]" in self.guesses:
            return
        self.guesses.append(f"{what} [{option}]")
        self.say(f"  guessed: {what}; {option} overrides it")

    def choose(self, loaded: LoadedScenario, why: str = "") -> None:
        """Ask the questions of this scenario, which nobody asked for."""
        self.guesses = [told for told in self.guesses if not told.startswith(_QUESTIONS)]
        self.loaded, self.chosen = loaded, True
        because = f": {why}" if why else ""
        self.guess(f"{_QUESTIONS}{loaded.scenario.id}{because}", "--scenario ID or --repo PATH")

    def say(self, text: str) -> None:
        self.checkout.log(text)
