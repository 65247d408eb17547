"""`fairtrial run --exact`: questions with a key, those that are there or made of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli.options import said
from runner.cli.output import tell

if TYPE_CHECKING:
    from runner.catalog.checkout import Checkout

OF_A_REPOSITORY = 60
"""Questions that are made of one."""


@dataclass(frozen=True, kw_only=True)
class ExactChoice:
    """Questions whose whole answer is a key: scored by code, and asked of no judge."""

    exact: bool = said(
        "--exact", "questions scored by a key: the project's, else all that ship; one trial each"
    )
    arms: str = said("--arms A,B", "as --server, between commas", "")
    questions: int | None = said(
        "--questions N", "so many: drawn from those that are there, or made of --repo (60)", None
    )
    repo: str = said("--repo PATH_OR_URL", "with --exact: make them of this", "")
    label: str = said("--label NAME", "of --repo in files and reports (default: own)", "")
    commit: str | None = said("--commit COMMIT", "of --repo (default: HEAD)", None)
    dirty: bool = said("--dirty", "take --repo's files as they are")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a run asks."""

    checkout: Checkout
    """With the questions in it."""
    names: tuple[str, ...]
    runs: Path | None = None
    """Where the run goes, if that is not the project's."""


def questions_for(choice: ExactChoice, scenarios: Sequence[str], checkout: Checkout) -> Asked:
    """Raises FairtrialError if there is no such question, or none can be made."""
    if choice.repo:
        return _made(choice, checkout)
    names = checkout.choose_questions(scenarios)
    return Asked(checkout=checkout, names=_drawn(names, choice.questions))


def _drawn(names: Sequence[str], count: int | None) -> tuple[str, ...]:
    """The same ones each time, of all repositories alike."""
    from runner.records import digest_of
    from runner.support.errors import FairtrialError

    if not names:
        hint = "--repo PATH makes some of a repository"
        raise FairtrialError("there are no questions with a key", hint=hint)
    drawn = {*sorted(names, key=digest_of)[:count]}
    return tuple(name for name in names if name in drawn)


def _made(choice: ExactChoice, checkout: Checkout) -> Asked:
    from runner.authoring.exact.own_questions import OwnQuestions, make_questions
    from runner.authoring.onboarding.starting import begin
    from runner.records import digest_of

    asked = OwnQuestions(
        repo=choice.repo,
        count=choice.questions or OF_A_REPOSITORY,
        commit=choice.commit,
        dirty=choice.dirty,
        label=choice.label,
    )
    project, runs = checkout.project, None
    if project is None:
        # What ships stays what ships: a folder of ours holds the questions and the run.
        project = checkout.state / "exact" / digest_of(vars(asked))[:12]
        runs = project / "runs"
        begin(project)
    names = make_questions(asked, project, checkout.state, checkout.environ, tell)
    return Asked(checkout=checkout.over(project), names=tuple(names), runs=runs)
