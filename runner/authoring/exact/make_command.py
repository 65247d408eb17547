"""What `fairtrial exact make` does: made, held against other programs, and written."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import yaml
from pydantic import TypeAdapter

from runner.authoring.drafting.command import keep
from runner.authoring.drafting.tree import Tree
from runner.authoring.exact.bounds import proven, settled
from runner.authoring.exact.checking import agreed, opinions_on
from runner.authoring.exact.making import questions_about, questions_of
from runner.authoring.exact.past_fixes import past_fixes
from runner.authoring.exact.question_files import (
    folder_name,
    open_repository,
    require_folder_name,
    require_new,
    write_questions,
)
from runner.catalog.checkout import Checkout
from runner.catalog.project import require_catalog_place
from runner.grounding.commit_files import GitFiles
from runner.records import CommitSha, Source
from runner.records.exact import ExactQuestion
from runner.repositories.folders import OwnRepository, own_source
from runner.repositories.local_labels import history_of, label_of
from runner.support.errors import FairtrialError

_SPARE = 2
"""Made for each that is wanted: those on which the programs differ are not asked."""
_HELD_BACK = 3
"""One of so many is in no example of the documentation."""
_LONGEST_ID = 64
_NO_FIX_HINT = "leave --from-history out; a shallow clone has no history"


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
    """Of the folder; empty for the source's own."""
    licence: str
    unchecked: bool
    """Without a second opinion: no engine is needed."""


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
        yield _of_tree(checkout, request, source_of(request.source), into)
        return
    label = label_of(into, request.repo, request.label)
    own_at = partial(
        own_source,
        request.repo,
        dirty=False,
        state=checkout.state,
        label=label,
        environ=checkout.environ,
    )
    own = own_at(commit=request.commit)
    for note in own.notes:
        checkout.log(note)
    if not request.from_history:
        keep(into, own)
        yield _of_tree(checkout.over(into), request, own.source, into)
        return
    history = history_of(own, request.repo, checkout.state, checkout.environ)
    made = 0
    for parent, path in _of_history(own, history, request, into):
        keep(into, own_at(commit=parent))
        made += 1
        yield path
    if not made:
        what = "no past fix of it can be asked about: one name has to stand in all that it changed"
        raise FairtrialError(what, where=request.repo, hint=_NO_FIX_HINT)


def _of_tree(checkout: Checkout, request: MakeRequest, source: Source, into: Path) -> Path:
    """Write scenarios/exact/<name>/questions.yaml below `into`; where it is.

    Raises FairtrialError if nothing can be asked or some are there already, SandboxError if a
    program cannot be.
    """
    name = request.name or folder_name(source.label)
    require_new(into, name)
    repository = open_repository(checkout, source, pinned=False)
    count, log = request.questions, checkout.log
    with GitFiles(repository.path, repository.commit) as files:
        tree = Tree(files)
        wanted = count if request.unchecked else _SPARE * count
        made = questions_of(tree, source, wanted, request.seed, licence=request.licence)
        kept: Sequence[ExactQuestion] = made.questions
        if not request.unchecked:
            kept = agreed(kept, opinions_on(checkout, repository, tree, kept))
        sure = made.model_copy(update={"questions": tuple(kept)})
        kept = proven(name, sure, files, log)
    log(f"{len(made.questions)} made, {len(made.questions) - len(kept)} left out")
    kept = _held_back(settled(made.questions, kept, count, log), request.seed)
    if not kept:
        raise FairtrialError("no question of it is left", where=source.label)
    whole = made.model_copy(update={"questions": tuple(kept)})
    return write_questions(into, name, whole)


def _of_history(
    own: OwnRepository, history: Path, request: MakeRequest, into: Path
) -> Iterator[tuple[CommitSha, Path]]:
    """A file for each past fix, about the commit before it; that commit, and where the file is.

    `history`: a git directory with the commits before the source's.
    """
    for fix in islice(past_fixes(history, own.commit), request.questions):
        source = own.source.model_copy(update={"commit": fix.parent})
        with GitFiles(history, fix.parent) as files:
            made = questions_about(Tree(files), source, [fix.question], request.seed)
        # The question's name stands in the folder's too, and both in the scenario's id.
        room = _LONGEST_ID - 2 * len(fix.question.name) - len("-.")
        name = f"{(request.name or folder_name(own.source.label))[:room]}-{fix.question.name}"
        require_new(into, name)
        yield fix.parent, write_questions(into, name, made)


def _held_back(questions: Sequence[ExactQuestion], seed: int) -> list[ExactQuestion]:
    lot = random.Random(f"held back {seed}")  # noqa: S311 - a published draw
    chosen = set(lot.sample(range(len(questions)), len(questions) // _HELD_BACK))
    return [
        it.model_copy(update={"held_back": number in chosen}) for number, it in enumerate(questions)
    ]


def source_of(text: str) -> Source:
    """`{kind: pypi, name: …, version: …, sha256: …}`. Raises FairtrialError if it is none."""
    try:
        return TypeAdapter[Source](Source).validate_python(yaml.safe_load(text))
    except (ValueError, yaml.YAMLError) as error:
        hint = "{kind: pypi, name: flask, version: 3.1.2, sha256: …}, as a scenario's repository"
        raise FairtrialError(f"no source: {error}", where="--source", hint=hint) from error
