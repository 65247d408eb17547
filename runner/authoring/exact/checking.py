"""`fairtrial exact check`: every key, held against programs that are not ours.

Each runs in a container without network, on a copy of the repository at its commit.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.authoring.drafting.tree import Tree
from runner.authoring.exact.language_servers import HOME, ROOT, Program, programs_for
from runner.authoring.exact.second_opinion import KeyComparison, KeyLookUp, asks_of, compared
from runner.catalog.checkout import Checkout
from runner.records.exact import ExactQuestion
from runner.repositories.repository import Repository
from runner.sandbox import lsp_host
from runner.sandbox.builder import BuilderSpec, open_builder, tar_of
from runner.sandbox.cell_layout import SERVER_USER, WORKSPACE
from runner.sandbox.engine import engine_faults
from runner.sandbox.workspace import ensure_workspace
from runner.servers.volume import ensure_volume
from runner.support.errors import SandboxError

PROGRAMS_FOLDER = "images/programs"
LIMIT_SEC = 2_000
_JOB = "job.json"
_SHOWN_LINES = 5


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What one program says of one key."""

    program: str
    """`pyright 1.1.414`"""
    said: KeyComparison


@dataclass(frozen=True, kw_only=True)
class _ProgramFolder:
    """What an install is made from."""

    spec: Program
    folder: Path


def opinions_on(
    checkout: Checkout, repository: Repository, tree: Tree, questions: Sequence[ExactQuestion]
) -> list[Opinion]:
    """Of every program that knows a language of theirs. Raises SandboxError if one cannot run."""
    sources = tree.of_sources()
    built = tree.code.keys() - sources.code.keys()
    asks = {it.name: asks_of(it, sources) for it in questions}
    languages = {ask.language for some in asks.values() for ask in some}
    found = []
    for program in programs_for(sorted(languages)):
        wanted = [
            ask for some in asks.values() for ask in some if program.knows(ask.language, ask.method)
        ]
        answers = _answers(checkout, repository, tree, program, wanted) if wanted else {}
        for question in questions:
            # A program that knows but one of two languages would miss the other's places.
            if asks[question.name] and set(asks[question.name]) <= set(wanted):
                said = compared(question, sources, asks[question.name], answers, built)
                found.append(Opinion(program=program.shown, said=said))
    return found


def _answers(
    checkout: Checkout,
    repository: Repository,
    tree: Tree,
    program: Program,
    asks: Sequence[KeyLookUp],
) -> Mapping[str, Sequence[Sequence[Any]] | None]:
    engine, log = checkout.engine, checkout.log
    workspace = ensure_workspace(
        engine, repository, checkout.base_image, state_dir=checkout.state, log=log
    )
    installing = _ProgramFolder(spec=program, folder=checkout.root / PROGRAMS_FOLDER / program.name)
    volume = ensure_volume(engine, installing, checkout.base, checkout.builder_env, log)
    source = Path(lsp_host.__file__).read_text(encoding="utf-8")
    spec = BuilderSpec(
        image=workspace.id,
        command=["python3", "-I", "-c", source, f"/{_JOB}"],
        user=SERVER_USER,
        environment={"HOME": HOME},
        volume=volume.name,
    )
    log(f"asking {program.shown} where {len(asks)} names are used or defined")
    with engine_faults(f"cannot ask {program.name}"), open_builder(engine, spec) as builder:
        builder.put(tar_of({_JOB: json.dumps(_job(program, tree, asks)).encode()}))
        exit_code = builder.run(deadline_sec=LIMIT_SEC)
        told = builder.output(stderr=False)
        said = builder.output(last_lines=_SHOWN_LINES)
    if exit_code != 0:
        raise SandboxError(f"{program.shown} stopped: {said}", where=repository.commit)
    result = json.loads(told)
    log(f"{program.shown} answered after {result['wall_sec']:.0f} s")
    answers: Mapping[str, Any] = result["answers"]
    return answers


def _job(program: Program, tree: Tree, asks: Sequence[KeyLookUp]) -> dict[str, Any]:
    """As lsp_host.py reads it."""
    options = dict(program.options(tree))
    return {
        "tree": WORKSPACE,
        "root": ROOT,
        "removed": list(program.removed),
        "files": dict(program.written(tree)),
        "copied": dict(program.copied),
        "command": list(program.command),
        "environment": dict(program.environment),
        "options": options,
        "settings": options.get("settings", {}),
        "settle_sec": program.settle_sec,
        "ready_sec": program.ready_sec,
        "asks": [ask.as_json() for ask in asks],
    }


# --- what comes of it ---------------------------------------------------------------------------


def agreed(questions: Iterable[ExactQuestion], opinions: Iterable[Opinion]) -> list[ExactQuestion]:
    """Those on which no program differs, each with the programs that confirmed it."""
    by_question: dict[str, list[Opinion]] = defaultdict(list)
    for opinion in opinions:
        by_question[opinion.said.question].append(opinion)
    kept = []
    for question in questions:
        some = by_question[question.name]
        if not any(it.said.differs for it in some):
            confirmed = tuple(sorted(it.program for it in some if it.said.agrees))
            kept.append(question.model_copy(update={"confirmed_by": confirmed}))
    return kept
