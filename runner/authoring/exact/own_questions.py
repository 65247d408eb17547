"""Questions about a repository of one's own: made, written into a project, and pinned there."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from runner.authoring.drafting.command import keep
from runner.authoring.drafting.tree import Tree
from runner.authoring.exact.making import questions_of
from runner.catalog.catalog import EXACT, loaded_question
from runner.catalog.exact_questions import QUESTIONS_FILE
from runner.catalog.project import write_project_lock
from runner.gate.exact_pairs import ask_pairs
from runner.grounding.commit_files import GitFiles
from runner.protocols import Log
from runner.records import ExactQuestions, parse_yaml, read_text
from runner.records.run_store import write_whole
from runner.repositories.folders import own_source
from runner.repositories.local_labels import label_of
from runner.scoring.judges.exact_judge import Exact
from runner.support.errors import FairtrialError

SEED = 1
"""Of the draw: the same tree is asked the same questions, today and on any machine."""
LIMIT_BYTES = 10_000_000


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
    name = own.source.local_label or own.pin.commit[:12]
    path = project / "scenarios" / EXACT / name / QUESTIONS_FILE
    if path.is_file():
        found = _kept(path, own.source.label)
        log(f"{len(found.questions)} questions about {name} are there already, in {path.parent}")
    else:
        with GitFiles(own.path, own.commit) as files:
            tree = Tree(files)
            log(f"read {len(tree.code)} files of code, most of it {tree.language}")
            made = questions_of(tree, own.source, asked.count, SEED, licence="not asked for")
            found = _proven(name, made, files, log)
        write_whole(path, text_of(found))
        log(f"made {len(found.questions)} questions whose whole answer is proven: {path}")
    keep(project, own)
    write_project_lock(project)
    return [f"{name}.{it.name}" for it in found.questions]


def _proven(folder: str, made: ExactQuestions, files: GitFiles, log: Log) -> ExactQuestions:
    """Without those of which a worse answer is worth as much as the key: they could be gamed."""
    kept = []
    with tempfile.TemporaryDirectory() as cache:
        for question in made.questions:
            loaded = loaded_question(folder, made, question)
            lost = ask_pairs(Exact(), loaded, files, cache_dir=Path(cache)).lost
            if lost:
                log(f"left out: {question.name}: {lost[0][0]} is worth as much as the key")
            else:
                kept.append(question)
    if not kept:
        raise FairtrialError("no question that was made proves itself", where=made.repository.label)
    return made.model_copy(update={"questions": tuple(kept)})


def _kept(path: Path, label: str) -> ExactQuestions:
    text = read_text(path, where=str(path), limit_bytes=LIMIT_BYTES)
    found = parse_yaml(text, ExactQuestions, where=str(path))
    if found.repository.label != label:
        hint = "remove that folder to have questions made of this one"
        what = f"the questions there are about {found.repository.label}"
        raise FairtrialError(what, where=str(path), hint=hint)
    return found


def text_of(questions: ExactQuestions) -> str:
    """As questions.yaml holds them: each begins with its name."""
    values = questions.model_dump(mode="json", exclude_defaults=True)
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=110)
