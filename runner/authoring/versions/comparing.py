"""From two names to everything that differs: defined, examined, replayed, and concluded."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from runner.authoring.onboarding.calling import stand
from runner.authoring.onboarding.onboarding_state import DEFAULT_SCENARIO, AskPerson, Overrides
from runner.authoring.onboarding.server_source import ServerSource, slug_of
from runner.authoring.onboarding.starting import (
    About,
    begin,
    copy_scenario,
    own_questions,
    questions_of,
)
from runner.authoring.versions import concluding
from runner.authoring.versions.defining import DefinedVersion, Definer
from runner.authoring.versions.examining import (
    MOST_SLOWER,
    SLACK_SEC,
    ExaminedVersion,
    calls_to_replay,
    examined,
    replayed,
    seconds_of,
    side_of,
)
from runner.authoring.versions.session_changes import LOST, ReplayedSession, under_new_names
from runner.authoring.versions.side_changes import (
    figure_changes,
    figures_of,
    noise_changes,
    package_changes,
    start_changes,
)
from runner.authoring.versions.source_lines import SourceFiles
from runner.authoring.versions.tool_changes import renamed_tools, tool_changes
from runner.catalog.checkout import Checkout, relocked
from runner.records import McpCall, digest_of
from runner.records.run_store import LoadedRun
from runner.records.versions import (
    VERSION_CHECKS,
    CompareSettings,
    PairedAnswers,
    VersionAnswer,
    VersionChange,
    VersionCheck,
    VersionComparison,
    VersionSide,
)
from runner.report.version_pairs import VersionPairs
from runner.sandbox.engine import engine_facts
from runner.servers.example_arguments import Target
from runner.support.errors import FairtrialError
from runner.support.file_lock import lock_or_refuse

QUESTIONS = 8
"""With a key: two minutes hold them, beside the examinations."""
_ADVISORIES = "advisories of packages: no registry is asked here"


@dataclass(frozen=True, kw_only=True)
class AskedVersion:
    """A version as the person wrote it, and what that names."""

    words: str
    source: ServerSource


@dataclass(frozen=True, kw_only=True)
class ComparedWith:
    """Two versions, and what both are asked about."""

    base: AskedVersion
    head: AskedVersion
    given: Overrides = field(default_factory=Overrides)
    """How both are started, where that is not guessed."""
    about: About


@dataclass(frozen=True, kw_only=True)
class VersionPair:
    """Two versions in one project, defined."""

    checkout: Checkout
    """Over that project."""
    scenarios: tuple[str, ...]
    """The questions."""
    base: DefinedVersion
    head: DefinedVersion | None
    """None if it cannot be installed or started."""
    head_asked: AskedVersion
    fault: str = ""
    """Why there is no head."""
    arms: tuple[str, str] = ("", "")
    """Names of the two; empty without a head."""
    started: float

    @property
    def shown_name(self) -> str:
        """In both's tools' names: a model that reads versions there knows which is the new one."""
        return slug_of(self.base.source)

    @property
    def runs(self) -> Path:
        """Where cells are kept from one comparison to the next."""
        assert self.checkout.project is not None  # noqa: S101 - it is over one
        return self.checkout.project / "runs"


@contextmanager
def defined_pair(asked: ComparedWith, checkout: Checkout, ask: AskPerson) -> Iterator[VersionPair]:
    """Raises FairtrialError if the base cannot be installed or started."""
    started = time.monotonic()
    base, head = asked.base, asked.head
    project = checkout.state / "compare" / slug_of(base.source)
    with lock_or_refuse(project / ".lock", what="this comparison", hint="wait for it to end"):
        begin(project)
        names = _questions(asked.about, checkout, project)
        own = checkout.over(project)
        definer = Definer(checkout=own, scenario=names[0], given=asked.given, ask=ask)
        try:
            checkout.log(f"base: {base.words}")
            first = definer.define(base.words, base.source)
            checkout.log(f"head: {head.words}")
            second, fault = None, ""
            try:
                second = definer.define(head.words, head.source, first)
            except FairtrialError as error:
                fault = error.what
            arms = _written(first, second, project) if second else ("", "")
            yield VersionPair(
                checkout=relocked(checkout, project),
                scenarios=names,
                base=first,
                head=second,
                head_asked=head,
                fault=fault,
                arms=arms,
                started=started,
            )
        finally:
            own.close_files()


def _questions(about: About, checkout: Checkout, project: Path) -> tuple[str, ...]:
    """With a key, about one repository: those of the person's, or drawn of those that ship."""
    if about.repo:
        return tuple(own_questions(about, checkout, project))
    for name in about.scenarios:
        loaded = checkout.scenario(name)
        if checkout.project is not None and checkout.is_own(loaded.folder):
            copy_scenario(loaded.folder, checkout.project, project)
    if len(about.scenarios) > 1:
        return about.scenarios
    first = (*about.scenarios, DEFAULT_SCENARIO)[0]
    return questions_of(checkout.over(project), first, about.questions)


def _written(base: DefinedVersion, head: DefinedVersion, project: Path) -> tuple[str, str]:
    """Both in the project; a head that is the base again is its own arm all the same."""
    names = base.arm, head.arm if head.arm != base.arm else f"{head.arm}-again"
    base.named(project, names[0])
    head.named(project, names[1])
    return names


def run_name(pair: VersionPair, models: Sequence[str], trials: int) -> str:
    """The same for the same versions and questions, so that a killed comparison goes on."""
    digests = [pair.checkout.server(name).digest for name in pair.arms]
    inputs = [*digests, pair.shown_name, *pair.scenarios, *models, trials]
    return f"{pair.arms[1][:48]}-{digest_of(inputs)[:8]}"


# --- what differs -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AnsweredPair:
    """What a program or a model answered with each version."""

    run: LoadedRun
    """With the base's cells, wherever they were measured."""
    recorded: tuple[McpCall, ...]
    """What the base's cells called of its server."""
    reused: int = 0


@dataclass(frozen=True, kw_only=True)
class VersionComparing:
    """How two defined versions are compared."""

    pair: VersionPair
    settings: CompareSettings
    """The project's, with what the command line says over it."""
    answered: AnsweredPair | None = None
    """None if nobody was asked."""

    def compared(self) -> VersionComparison:
        if self.pair.head is None:
            return self._without_head()
        base, head = examined(*self._sides(), self.settings.only)
        if base.side.fault:
            where, hint = base.side.asked, "a base that does not work compares with nothing"
            raise FairtrialError(base.side.fault, where=where, hint=hint)
        session = self._replayed(base, head)
        answers, paired = self._answers()
        figures = tuple(figures_of(base.side, head.side, self.settings.margins))
        places = SourceFiles(source=self.pair.head_asked.source)
        found: list[VersionChange] = [
            *start_changes(base.side, head.side, self._otherwise(head)),
            *(tool_changes(base.tools, head.tools) if head.tools else ()),
            *figure_changes(figures, self.settings.max_schema_tokens),
            *noise_changes(base.side, head.side),
            *package_changes(base.side, head.side),
            *(session.changes(self.settings.margins.get("session", LOST)) if session else ()),
            *concluding.answer_changes(answers, paired),
        ]
        told = self._concluded(base.side, head.side, map(places.placed, found), paired)
        return told.model_copy(
            update={
                "figures": tuple(it for it in figures if it.check in told.checks),
                "calls": len(session.calls) if session else 0,
                "unstable": len(session.unstable) if session else 0,
                "answers": answers,
            }
        )

    def _otherwise(self, head: ExaminedVersion) -> str:
        """Nothing where the probe's tool is gone or renamed: that is said of the tool."""
        assert self.pair.head is not None  # noqa: S101 - see `compared`
        probes = {it.call.tool for it in self.pair.base.spec.canaries}
        if head.tools and not probes & {tool.name for tool in head.tools}:
            return ""
        return self.pair.head.facts.otherwise

    def _sides(self) -> tuple[ExaminedVersion, ExaminedVersion]:
        pair = self.pair
        assert pair.head is not None  # noqa: S101 - see `compared`
        stands = [stand(pair.checkout, name, pair.scenarios[0]) for name in pair.arms]
        return side_of(pair.base, stands[0]), side_of(pair.head, stands[1])

    def _replayed(self, base: ExaminedVersion, head: ExaminedVersion) -> ReplayedSession | None:
        if head.side.fault or not self._asks("session"):
            return None
        renamed = renamed_tools(base.tools, head.tools)
        known = base.stand.loaded.scenario.known
        target = Target(name=known.symbol, path=known.path) if known else Target(name="main")
        recorded = self.answered.recorded if self.answered else ()
        calls = calls_to_replay(base, recorded, target)
        # Of a tool that is gone each call fails, which is said already.
        there = {*head.side.tools, *renamed}
        calls = [call for call in calls if call.tool in there]
        base.stand.checkout.log(f"replaying {len(calls)} calls on both, on the base twice")
        first = replayed(base.stand, calls)
        most_sec = MOST_SLOWER * seconds_of(first) + SLACK_SEC
        again = replayed(base.stand, calls[: len(first)], most_sec)
        # What the base has not answered twice, in its time, is held against nobody.
        calls = calls[: len(again)]
        return ReplayedSession(
            calls=calls,
            base=first[: len(calls)],
            again=again,
            head=replayed(head.stand, under_new_names(calls, renamed), most_sec),
        )

    def _asks(self, check: VersionCheck) -> bool:
        return check in (self.settings.only or VERSION_CHECKS)

    def _answers(self) -> tuple[tuple[VersionAnswer, ...], tuple[PairedAnswers, ...]]:
        if self.answered is None:
            return (), ()
        checkout, arms = self.pair.checkout, self.pair.arms
        scenarios = {name: checkout.scenario(name).scenario for name in self.pair.scenarios}
        pairs = VersionPairs(run=self.answered.run, scenarios=scenarios, base=arms[0], head=arms[1])
        margin = concluding.answers_margin(self.settings)
        return tuple(pairs.answers()), tuple(pairs.paired(margin))

    def _without_head(self) -> VersionComparison:
        pair = self.pair
        base = VersionSide(asked=pair.base.asked, server="", version=pair.base.spec.version)
        head = VersionSide(
            asked=pair.head_asked.words, server="", version="unknown", fault=pair.fault
        )
        return self._concluded(base, head, start_changes(base, head, ""), ())

    def _concluded(
        self,
        base: VersionSide,
        head: VersionSide,
        found: Iterable[VersionChange],
        paired: Sequence[PairedAnswers],
    ) -> VersionComparison:
        found = list(found)
        reused = self.answered.reused if self.answered else 0
        sides = base.model_copy(update={"reused": reused}), head
        asked = concluding.in_order(found, self.settings.only)
        unmatched = concluding.unmatched(asked, self.settings.allow)
        checkout = self.pair.checkout
        label = checkout.scenario(self.pair.scenarios[0]).scenario.repository.label
        return concluding.comparison(
            sides,
            found,
            paired,
            self.settings,
            machine=engine_facts(checkout.engine).machine,
            repository=label,
            checks=tuple(it for it in VERSION_CHECKS if self._asks(it)),
            not_asked=(
                _ADVISORIES,
                *(f"{it.name} is allowed, and there is no such change" for it in unmatched),
            ),
            wall_sec=round(time.monotonic() - self.pair.started, 1),
        )
