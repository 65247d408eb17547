"""Questions about a repository of one's own: made, written into a project, and pinned there."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.authoring.drafting.command import keep
from runner.authoring.drafting.tree import Tree
from runner.authoring.exact.bounds import proven, settled
from runner.authoring.exact.making import questions_of
from runner.authoring.exact.question_files import folder_name, read_suite, write_questions
from runner.catalog.catalog import EXACT
from runner.catalog.exact_questions import QUESTIONS_FILE
from runner.catalog.project import write_project_lock
from runner.grounding.commit_files import GitFiles
from runner.protocols import Log
from runner.records import ExactQuestions
from runner.repositories.folders import OwnRepository, own_source
from runner.repositories.local_labels import label_of
from runner.support.errors import FairtrialError

SEEDS = range(1, 9)
"""Of the draw: the same tree is asked the same questions, today and on any machine."""


@dataclass(frozen=True, kw_only=True)
class OwnQuestions:
    """What is asked for."""

    repo: str
    """A path or URL."""
    count: int
    commit: str | None = None
    """None for HEAD."""
    dirty: bool = False
    """Take a folder's files as they are."""
    label: str = ""
    """What a folder is called in files and reports; empty for one of our own."""


def make_questions(
    asked: OwnQuestions, project: Path, state: Path, environ: Mapping[str, str], log: Log
) -> list[str]:
    """Their ids; they are in the project's scenarios/exact/, and its locks hold them.

    Those that are there already stay. Raises FairtrialError if nothing can be proven, or if what
    is there is about another commit.
    """
    label = label_of(project, asked.repo, asked.label)
    own = own_source(asked.repo, asked.commit, asked.dirty, state, label=label, environ=environ)
    for note in own.notes:
        log(note)
    # A label may be longer than a scenario's id has room for.
    name = folder_name(own.source.label) if own.source.local_label else own.pin.commit[:12]
    path = project / "scenarios" / EXACT / name / QUESTIONS_FILE
    if path.is_file():
        # Its lock stays as it is too: what was edited since has to be looked at and locked.
        found = _kept(path, own.source.label)
        log(f"{len(found.questions)} questions about {name} are there already, in {path.parent}")
    else:
        found = _made(name, asked, own, log)
        write_questions(project, name, found)
        keep(project, own)
        write_project_lock(project)
        log(f"made {len(found.questions)} questions whose whole answer is proven: {path}")
        check = f"fairtrial --root {shlex.quote(str(project))} exact check {name}"
        log(f"  no second program has confirmed them yet: `{check}` asks one")
    # The first is what a server is tried with: one of no place would show nothing of it.
    placed_first = sorted(found.questions, key=lambda it: not it.key.places)
    return [f"{name}.{it.name}" for it in placed_first]


def _made(name: str, asked: OwnQuestions, own: OwnRepository, log: Log) -> ExactQuestions:
    with GitFiles(own.path, own.commit) as files:
        tree = Tree(files)
        log(f"read {len(tree.code)} files of code, most of it {tree.language}")
        for seed in SEEDS:
            made = questions_of(tree, own.source, asked.count, seed, licence="not asked for")
            kept = proven(name, made, files, log)
            # In a small repository one draw may spend every name on what has no place.
            if any(it.key.places for it in kept):
                break
    if not kept:
        hint = "a larger repository, or one in a language that docs/keys.md lists"
        raise FairtrialError("no question that was made proves itself", hint=hint)
    asked_of = settled(made.questions, kept, asked.count, log)
    return made.model_copy(update={"questions": tuple(asked_of)})


def _kept(path: Path, label: str) -> ExactQuestions:
    found = read_suite(path)
    if found.repository.label != label:
        hint = "remove that folder to have questions made of this one"
        what = f"the questions there are about {found.repository.label}"
        raise FairtrialError(what, where=str(path), hint=hint)
    return found
