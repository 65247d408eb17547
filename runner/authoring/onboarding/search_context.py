"""Where a try looks: in the sandbox, at a repository whose symbols are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runner.authoring.onboarding.targets import TargetSymbol
from runner.protocols import Log
from runner.records import Limits
from runner.sandbox.engine import Engine

POLLS = (5, 15, 30)
"""Seconds between looks at an index that is being built."""


@dataclass(frozen=True, kw_only=True)
class SearchContext:
    """Where it is looked for: the engine, a repository's image, the server's volume."""

    engine: Engine
    image: str
    limits: Limits
    volume: str | None
    """None for a server that is an image."""
    symbols: tuple[TargetSymbol, ...]
    paths: frozenset[str]
    """Of the repository: what is there is no folder of the server's own."""
    log: Log
    programs: tuple[str, ...] = ()
    """Commands of its README that build an index, for one that names none itself."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What its own words may call its programs -> the program."""
    variables: tuple[str, ...] = ()
    """Of its README, those that hold where the project is."""
    help_text: str | None = None
    """What it says to `--help`; None before it was asked."""
    own_folders: tuple[str, ...] = ()
    """Of its README, those called after itself: where it may write without saying so."""
    polls: tuple[float, ...] = POLLS
    """Seconds to wait for an index that is being built, before each further look."""
    failed: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)
    """Programs of its own that did not run to a good end, with where they might write."""
    unasked: frozenset[str] = frozenset()
    """Tools that are asked for no canary."""
    deadly: set[str] = field(default_factory=set)
    """Tools that ended the server when they were asked."""
    lent: set[tuple[str, ...]] = field(default_factory=set)
    """Private folders with which the repository's tree is ready for an image."""
