"""`fairtrial run --exact`: questions with a key, those that are there or made of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runner.cli import output, shapes
from runner.cli.options import Words, said

OF_A_REPOSITORY = 60
"""Questions that are made of one."""


class ExactChoice(Words):
    """Questions whose whole answer is a key: scored by code, and asked of no judge."""

    exact: bool = said(
        "--exact", "questions scored by a key: the project's, else all that ship; one trial each"
    )
    arms: str = said("--arms A,B", "as --server, between commas")
    questions: int | None = said(
        "--questions N", "so many: drawn from those that are there, or made of --repo (60)"
    )
    repo: str = said("--repo PATH_OR_URL", "with --exact: make them of this")
    label: str = said("--label NAME", "of --repo in files and reports (default: own)")
    commit: str | None = said("--commit COMMIT", "of --repo (default: HEAD)")
    dirty: bool = said("--dirty", "take --repo's files as they are")


@dataclass(frozen=True, kw_only=True)
class AskedQuestions:
    """What a run asks."""

    checkout: shapes.Checkout
    """With the questions in it."""
    names: tuple[str, ...]
    runs: Path | None = None
    """Where the run goes, if that is not the project's."""


def judged_by_keys(
    checkout: shapes.Checkout, judge: shapes.AskedJudge, scenarios: Sequence[str]
) -> shapes.AskedJudge:
    """Where every question has a key nobody else is asked: nothing is left to judge."""
    from runner.records import Judging
    from runner.scoring.judges import EXACT

    if not all(checkout.scenario(name).rubric.is_keyed for name in scenarios):
        return judge
    return replace(judge, judging=Judging(judges=(EXACT,)))


def questions_for(
    choice: ExactChoice, scenarios: Sequence[str], checkout: shapes.Checkout
) -> AskedQuestions:
    """Raises FairtrialError if there is no such question, or none can be made."""
    if choice.repo:
        return _made(choice, checkout)
    names = checkout.choose_questions(scenarios)
    return AskedQuestions(checkout=checkout, names=_drawn(names, choice.questions))


def _drawn(names: Sequence[str], count: int | None) -> tuple[str, ...]:
    """The same ones each time, of all repositories alike."""
    from runner.records import digest_of
    from runner.support.errors import FairtrialError

    if not names:
        hint = "--repo PATH makes some of a repository"
        raise FairtrialError("there are no questions with a key", hint=hint)
    drawn = {*sorted(names, key=digest_of)[:count]}
    return tuple(name for name in names if name in drawn)


def _made(choice: ExactChoice, checkout: shapes.Checkout) -> AskedQuestions:
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
    names = make_questions(asked, project, checkout.state, checkout.environ, output.tell)
    return AskedQuestions(checkout=checkout.over(project), names=tuple(names), runs=runs)
