"""compare.json: what a server's new version changes, and whether a gate lets it pass."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from runner.records.record import Count, NonNegative, Record, Seconds

VersionCheck = Literal[
    "start",
    "tools",
    "schema",
    "tokens",
    "probe",
    "ready",
    "index",
    "memory",
    "disk",
    "install",
    "dependencies",
    "network",
    "stdout",
    "protocol",
    "session",
    "exact",
    "model",
]
"""What two versions are held against each other by, in the order of the page."""
VERSION_CHECKS: tuple[VersionCheck, ...] = get_args(VersionCheck)
Weight = Literal["regression", "note", "better"]
"""`note`: to be read, and no reason to stop. `better`: of a figure past the same margin."""
VersionVerdict = Literal["no_regression", "regression", "too_few"]


class VersionChange(Record):
    """One thing that the head has otherwise than the base."""

    check: VersionCheck
    name: str
    """Stable from run to run: `tools:gone:search_files`. `--allow` takes it."""
    weight: Weight
    says: str
    """A sentence without its end."""
    base: str = ""
    head: str = ""
    """What each has there, as text; empty if it has nothing."""
    path: str = ""
    """Of the head's folder, the file that it stands in; empty of a package or an image."""
    line: Count = 0
    """1-based; 0 if unknown."""
    allowed: str | None = None
    """Why it is meant; None if nobody said so."""

    @property
    def stops(self) -> bool:
        return self.weight == "regression" and self.allowed is None


class VersionReading(Record):
    """One examination in a fresh cell."""

    initialize_sec: Seconds
    ready_sec: Seconds
    """From the server's start to the third pass of its health probe, warm-up included."""
    index_sec: Seconds
    """Of its warm-up alone."""
    memory_mb: float | None
    disk_mb: float | None
    """Its own folder after the probe; None of an image."""
    network_attempts: Count
    stray_lines: Count
    probe_passed: bool


class VersionSide(Record):
    """One of the two versions, as it was installed and examined."""

    asked: str
    """As the person wrote it."""
    server: str
    """Its arm's name: the package, and its version or the digest of its files."""
    version: str
    fault: str = ""
    """Why nothing of it could be examined; empty if it was."""
    protocol: str = ""
    tools: tuple[str, ...] = ()
    schema_tokens: Count = 0
    """Estimated: characters / 4."""
    install_mb: NonNegative = 0
    packages: dict[str, str] = Field(default_factory=dict)
    """npm or pypi, a colon and the name -> the versions that are installed."""
    unpinned: str = ""
    """What no lock holds, in words."""
    readings: tuple[VersionReading, ...] = ()
    reused: Count = 0
    """Cells that an earlier run had measured, with the same inputs on the same machine."""


class VersionFigure(Record):
    """A measured figure of both: one of them differs past the margin only if all readings do."""

    check: VersionCheck
    unit: str
    base: tuple[float, ...]
    head: tuple[float, ...]
    margin: NonNegative
    """Share of the base's that the head may have more."""
    floor: NonNegative
    """In the unit: less than that more is nothing."""


class VersionAnswer(Record):
    """A question that both answered."""

    scenario: str
    trial: Annotated[int, Field(ge=1)]
    model: str
    base: float
    head: float
    """F1 of a question with a key, fairness of any other."""
    shell: float | None = None


class PairedAnswers(Record):
    """Head against base, pair by pair."""

    model: str
    language_model: bool
    by_keys: bool = False
    """Does every question have a key? Else the figure is fairness, in which seconds count."""
    pairs: Count
    clusters: Count
    cluster: str
    mean: float
    """Head less base."""
    low: float | None
    high: float | None
    """Of 90 %, by which two one-sided tests of 5 % go; None of too few."""
    margin: NonNegative
    p_worse: float | None
    """One-sided, of the head being worse by the margin or more."""
    p_better: float | None
    """One-sided, of it being better by the margin or more."""
    says: Literal["equivalent", "no_worse", "worse", "too_few"]
    more: Count | None = None
    """Clusters that would tell beyond those that there are; None if none would, or none is needed.
    """


class VersionComparison(Record):
    """compare.json"""

    fairtrial: str
    created_at: str
    machine: str
    repository: str
    """That both were examined on."""
    verdict: VersionVerdict
    sentence: str
    base: VersionSide
    head: VersionSide
    checks: tuple[VersionCheck, ...]
    """That were made."""
    not_asked: tuple[str, ...] = ()
    """What could not be had here, a sentence each."""
    changes: tuple[VersionChange, ...]
    figures: tuple[VersionFigure, ...] = ()
    calls: Count = 0
    """Of the session that was replayed on both."""
    unstable: Count = 0
    """Of them those whose answer differs from one start of the base to the next."""
    answers: tuple[VersionAnswer, ...] = ()
    paired: tuple[PairedAnswers, ...] = ()
    wall_sec: Seconds


# --- fairtrial.yaml -----------------------------------------------------------------------------


class AllowedChange(Record):
    """A change that is meant: it is shown, and stops nothing."""

    name: str
    """As VersionChange.name; `*` stands for any letters."""
    reason: Annotated[str, Field(min_length=1)]


class CompareSettings(Record):
    """What a project declares before it looks at a result."""

    margins: dict[VersionCheck, NonNegative] = Field(default_factory=dict)
    """Of a figure the share of the base's, of `session` the share of a call's lines, of `exact` and
    `model` a difference of F1."""
    max_schema_tokens: Count | None = None
    only: tuple[VersionCheck, ...] = ()
    """Checks to make; empty for all."""
    allow: tuple[AllowedChange, ...] = ()
    questions: Annotated[int, Field(ge=1)] | None = None


class ProjectSettings(Record):
    """fairtrial.yaml, at a project's top."""

    compare: CompareSettings = CompareSettings()
