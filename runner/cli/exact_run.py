"""`fairtrial run --exact`: questions with a key, those that are there or made of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli import running
from runner.cli.opening import asked_judge, open_checkout
from runner.cli.output import tell
from runner.cli.verbs import run as run_verb

if TYPE_CHECKING:
    from runner.catalog.checkout import Checkout

OF_A_REPOSITORY = 60
"""Questions that are made of one."""


def run_exact(request: run_verb.Verb) -> int:
    """Raises FairtrialError if there is no such question, or none that proves itself."""
    if request.exact.repo and any(":" in name for name in request.servers):
        return _tried(request)
    checkout, runs = open_checkout(request.root), None
    if request.exact.repo:
        checkout, names, runs = _made(request, checkout)
    else:
        names = _drawn(checkout.choose_questions(request.scenarios), request.exact.questions)
    whole = replace(request, scenarios=tuple(names), trials=request.trials)
    judge = asked_judge(None, request.spending)
    return running.run(whole, run_verb.subject_of(whole, checkout, judge), runs)


def _drawn(names: Sequence[str], count: int | None) -> list[str]:
    """The same ones each time, of all repositories alike."""
    from runner.records import digest_of

    if not names:
        from runner.support.errors import FairtrialError

        hint = "--repo PATH makes some of a repository"
        raise FairtrialError("there are no questions with a key", hint=hint)
    drawn = sorted(names, key=digest_of)[:count]
    return [name for name in names if name in {*drawn}]


def _made(request: run_verb.Verb, checkout: Checkout) -> tuple[Checkout, list[str], Path | None]:
    """The checkout with the questions in it, their ids, and where the run goes."""
    from runner.authoring.exact.own_questions import OwnQuestions, make_questions
    from runner.authoring.onboarding.starting import begin
    from runner.records import digest_of

    asked = OwnQuestions(
        repo=request.exact.repo,
        count=request.exact.questions or OF_A_REPOSITORY,
        commit=request.exact.commit,
        dirty=request.exact.dirty,
        label=request.exact.label,
    )
    project, runs = checkout.project, None
    if project is None:
        # What ships stays what ships: a folder of ours holds the questions and the run.
        project = checkout.state / "exact" / digest_of(vars(asked))[:12]
        runs = project / "runs"
        begin(project)
    names = make_questions(asked, project, checkout.state, checkout.environ, tell)
    own = checkout.over(project)
    _require_proven(own, names)
    return own, names, runs


def _require_proven(checkout: Checkout, names: Sequence[str]) -> None:
    """Raises CatalogError with every question that a worse answer would win."""
    from runner.gate.scenario_checks import prove
    from runner.scoring.judges.exact import Exact
    from runner.support.errors import CatalogError

    problems = []
    for name in names:
        loaded = checkout.scenario(name)
        problems += prove(loaded, checkout.files(loaded), Exact())
    checkout.close_files()
    if problems:
        raise CatalogError(problems)
    tell(f"{len(names)} of {len(names)} questions prove themselves")


def _tried(request: run_verb.Verb) -> int:
    """A server that is in no catalog yet is tried: defined and proven first."""
    raise NotImplementedError
