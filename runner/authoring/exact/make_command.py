"""What `fairtrial exact make` does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.authoring.drafting.command import keep
from runner.authoring.exact.question_files import (
    SuiteRequest,
    make_of_history,
    make_suite,
    require_folder_name,
    source_of,
)
from runner.catalog.checkout import Checkout
from runner.catalog.project import require_catalog_place
from runner.repositories.folders import OwnRepository, own_source
from runner.repositories.local_labels import history_of, label_of
from runner.support.errors import FairtrialError


@dataclass(frozen=True, kw_only=True)
class MakeRequest:
    """What is asked of it: a source, or a repository of one's own."""

    source: str
    repo: str
    commit: str | None
    label: str
    questions: int
    seed: int
    from_history: bool
    name: str
    licence: str
    unchecked: bool


def made_files(checkout: Checkout, request: MakeRequest, into: Path) -> Iterator[Path]:
    """Each questions.yaml, as it is written.

    Raises FairtrialError if nothing can be asked, if it is not said about what, or if `into` is no
    place for them.
    """
    if bool(request.source) == bool(request.repo):
        raise FairtrialError("either --source or --repo says what is asked about", where="make")
    require_catalog_place(into)
    if request.name:
        require_folder_name(request.name)
    if request.source:
        yield make_suite(checkout, _wanted(request, None), into)
        return
    label = label_of(into, request.repo, request.label)
    own = _own(checkout, request, label, request.commit)
    for note in own.notes:
        checkout.log(note)
    if not request.from_history:
        keep(into, own)
        yield make_suite(checkout.over(into), _wanted(request, own), into)
        return
    history = history_of(own, request.repo, checkout.state, checkout.environ)
    for parent, path in make_of_history(own, history, _wanted(request, own), into):
        keep(into, _own(checkout, request, label, parent))
        yield path


def _own(checkout: Checkout, request: MakeRequest, label: str, commit: str | None) -> OwnRepository:
    return own_source(
        request.repo, commit, False, checkout.state, label=label, environ=checkout.environ
    )


def _wanted(request: MakeRequest, own: OwnRepository | None) -> SuiteRequest:
    return SuiteRequest(
        source=own.source if own else source_of(request.source),
        questions=request.questions,
        seed=request.seed,
        name=request.name,
        licence=request.licence,
        unchecked=request.unchecked,
    )
