"""`fairtrial run --exact`: questions with a key, those that are there or made of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from runner.cli import output, shapes
from runner.cli.options import RunSpending, Words, said

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
    label: str = said(
        "--label NAME",
        "of --repo in files and reports (default: own, and reports say `this repository`)",
    )
    commit: str | None = said("--commit COMMIT", "of --repo (default: HEAD)")
    dirty: bool = said("--dirty", "take --repo's files as they are")


class QuestionWords(Protocol):
    """What of a run's words is read here."""

    @property
    def exact(self) -> ExactChoice: ...
    @property
    def scenarios(self) -> tuple[str, ...]: ...
    @property
    def servers(self) -> tuple[str, ...]: ...
    @property
    def spending(self) -> RunSpending: ...


@dataclass(frozen=True, kw_only=True)
class AskedQuestions:
    """What a run asks."""

    checkout: shapes.Checkout
    """With the questions in it."""
    names: tuple[str, ...]
    servers: tuple[str, ...]
    """Arms, by names that the catalog knows."""
    to_come: frozenset[str] = frozenset()
    """Those among them that nothing is installed of: a dry run counts them in."""
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


def asked_by(request: QuestionWords, checkout: shapes.Checkout) -> AskedQuestions:
    """Raises FairtrialError if there is no such question, or none can be made."""
    if request.exact.repo:
        return _made(request, checkout)
    names = _drawn(checkout.choose_questions(request.scenarios), request.exact.questions)
    return AskedQuestions(checkout=checkout, names=names, servers=request.servers)


def require_defined(servers: Sequence[str]) -> None:
    """Raises FairtrialError for a package: it is defined for one repository."""
    from runner.authoring.onboarding.packages_asked import packages_in
    from runner.support.errors import FairtrialError

    for package in packages_in(servers):
        hint = "with --exact --repo PATH it is defined for that repository; for others, "
        hint += f"`fairtrial try {package} --save` keeps what it finds in a project"
        raise FairtrialError("a package is no server yet", where=package, hint=hint)


def _drawn(names: Sequence[str], count: int | None) -> tuple[str, ...]:
    """The same ones each time, of all repositories alike.

    In the order of the draw: a run that is cut short would have asked of the first repositories
    alone.
    """
    from runner.records import digest_of
    from runner.support.errors import FairtrialError

    if not names:
        hint = "--repo PATH makes some of a repository"
        raise FairtrialError("there are no questions with a key", hint=hint)
    return tuple(sorted(names, key=digest_of)[:count])


def _made(request: QuestionWords, checkout: shapes.Checkout) -> AskedQuestions:
    from runner.authoring.exact.own_questions import OwnQuestions, make_questions
    from runner.authoring.onboarding.packages_asked import packages_in

    choice, packages = request.exact, packages_in(request.servers)
    asked = OwnQuestions(
        repo=choice.repo,
        count=choice.questions or OF_A_REPOSITORY,
        commit=choice.commit,
        dirty=choice.dirty,
        label=choice.label,
    )
    project, runs = checkout.project, None
    if project is None or packages:
        project = _folder_of_ours(asked, packages, request.servers, checkout)
        runs = project / "runs"
        output.tell(f"a folder of ours holds it all: `fairtrial --root {project} …` works on it")
    names = make_questions(asked, project, checkout.state, checkout.environ, output.tell)
    found = AskedQuestions(
        checkout=checkout.over(project), names=tuple(names), servers=request.servers, runs=runs
    )
    return _with_servers(found, packages, project, dry=request.spending.dry_run)


def _folder_of_ours(
    asked: shapes.OwnQuestions,
    packages: Sequence[str],
    servers: Sequence[str],
    checkout: shapes.Checkout,
) -> Path:
    """With the questions and the run: what ships stays what ships, and a project what it was."""
    from runner.authoring.onboarding.definition_files import copy_servers
    from runner.authoring.onboarding.starting import begin
    from runner.records import digest_of

    project = checkout.state / "exact" / digest_of([vars(asked), *packages])[:12]
    begin(project, anew=("scenarios", "locks"))
    copy_servers(checkout, servers, project)
    return project


def _with_servers(
    found: AskedQuestions, packages: Sequence[str], project: Path, *, dry: bool
) -> AskedQuestions:
    """With each package defined for these questions' repository; in a dry run, as if it were."""
    from runner.authoring.onboarding import packages_asked

    if not packages:
        return found
    checkout = found.checkout
    if dry:
        named = packages_asked.names_to_come(packages, checkout)
        arms = packages_asked.arms_by_name(found.servers, named)
        return replace(found, servers=arms, to_come=frozenset(named.values()))
    named = packages_asked.define_all(packages, checkout, project, found.names[0], output.choose)
    arms = packages_asked.arms_by_name(found.servers, named)
    return replace(found, servers=arms, checkout=checkout.over(project))
