"""questions.yaml of a repository: made, held against other programs, written, and checked again."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

from runner.authoring.drafting.tree import Tree
from runner.authoring.exact.bounds import settled
from runner.authoring.exact.checking import Opinion, agreed, opinions_on
from runner.authoring.exact.making import questions_about, questions_of
from runner.authoring.exact.past_fix import past_fixes
from runner.authoring.exact.proven import proven
from runner.catalog.checkout import Checkout
from runner.catalog.locks import read_repos_lock
from runner.grounding.commit_files import GitFiles
from runner.records import CommitSha, Record, Source, parse_yaml, read_text
from runner.records.exact import ExactQuestion, ExactQuestions
from runner.records.repositories import PLAIN, is_plain_name, plain_name
from runner.repositories.folders import OwnRepository, cache_of
from runner.repositories.local_labels import open_source
from runner.repositories.repository import Repository
from runner.support.errors import FairtrialError
from runner.support.text import some_of

SUITE = "scenarios/exact"
FILE = "questions.yaml"
_SPARE = 2
"""Made for each that is wanted: those on which the programs differ are not asked."""
_HELD_BACK = 3
"""One of so many is in no example of the documentation."""
_LARGEST_BYTES = 8 * 2**20
_COLUMNS = 100
_SHOWN_PLACES = 4
_LONGEST_ID = 64
_LONGEST_FOLDER = 23
"""With a question's name behind it, it is a scenario's id of at most 64 characters."""


@dataclass(frozen=True, kw_only=True)
class SuiteRequest:
    """What is asked of `fairtrial exact make`."""

    source: Source
    questions: int
    seed: int
    name: str = ""
    """Of the folder; empty for the source's own."""
    licence: str = ""
    unchecked: bool = False
    """Without a second opinion: no engine is needed."""


def make_suite(checkout: Checkout, request: SuiteRequest, into: Path) -> Path:
    """Write scenarios/exact/<name>/questions.yaml below `into`; where it is.

    Raises FairtrialError if nothing can be asked or some are there already, SandboxError if a
    program cannot be.
    """
    name = request.name or folder_name(request.source.label)
    require_new(into, name)
    repository = _opened(checkout, request.source, pinned=False)
    count, log = request.questions, checkout.log
    with GitFiles(repository.path, repository.commit) as files:
        tree = Tree(files)
        wanted = count if request.unchecked else _SPARE * count
        made = questions_of(tree, request.source, wanted, request.seed, licence=request.licence)
        kept: Sequence[ExactQuestion] = made.questions
        if not request.unchecked:
            kept = agreed(kept, opinions_on(checkout, repository, tree, kept))
        sure = made.model_copy(update={"questions": tuple(kept)})
        kept = proven(name, sure, files, log)
    log(f"{len(made.questions)} made, {len(made.questions) - len(kept)} left out")
    kept = _held_back(settled(made.questions, kept, count, log), request.seed)
    if not kept:
        raise FairtrialError("no question of it is left", where=request.source.label)
    whole = made.model_copy(update={"questions": tuple(kept)})
    return write_questions(into, name, whole)


def make_of_history(
    own: OwnRepository, history: Path, request: SuiteRequest, into: Path
) -> Iterator[tuple[CommitSha, Path]]:
    """A file for each past fix, about the commit before it; that commit, and where the file is.

    `history`: a git directory with the commits before the source's.
    """
    for fix in past_fixes(history, own.commit, request.questions):
        source = own.source.model_copy(update={"commit": fix.parent})
        with GitFiles(history, fix.parent) as files:
            made = questions_about(Tree(files), source, [fix.question], request.seed)
        # The question's name stands in the folder's too, and both in the scenario's id.
        room = _LONGEST_ID - 2 * len(fix.question.name) - len("-.")
        name = f"{(request.name or folder_name(own.source.label))[:room]}-{fix.question.name}"
        require_new(into, name)
        yield fix.parent, write_questions(into, name, made)


def require_new(into: Path, name: str) -> None:
    """Answers to the questions that are there would be scored by keys of others.

    Raises FairtrialError.
    """
    folder = into / SUITE / name
    if (folder / FILE).exists():
        hint = "choose another folder with --name, or remove it"
        raise FairtrialError("questions are there already", where=str(folder), hint=hint)


def write_questions(into: Path, name: str, questions: ExactQuestions) -> Path:
    path = into / SUITE / name / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_text(questions), encoding="utf-8")
    return path


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


def _opened(checkout: Checkout, source: Source, *, pinned: bool) -> Repository:
    pins = read_repos_lock(checkout.root) if pinned else None
    if pins is not None and checkout.project is not None:
        pins = read_repos_lock(checkout.project) | pins
    return open_source(
        source,
        project=checkout.project or checkout.root,
        cache=cache_of(checkout.state),
        pins=pins,
        environ=checkout.environ,
        npm=checkout.npm,
    )


# --- the file -----------------------------------------------------------------------------------


def _text(questions: ExactQuestions) -> str:
    """Places on one line each, prompts folded."""
    data = _plain(questions)
    head = {key: value for key, value in data.items() if key != "questions"}
    lines = [_dumped(head)]
    lines.append("questions:\n")
    for question in data["questions"]:
        key = question.pop("key")
        text = _dumped(question)
        lines += [
            f"  {'-' if number == 0 else ' '} {line}\n"
            for number, line in enumerate(text.splitlines())
        ]
        lines.append(f"    key:\n      kind: {key['kind']}\n")
        for name in ("places", "optional", "wrong"):
            if places := key.get(name):
                lines.append(f"      {name}:\n")
                lines += [f"        - {_flow(place)}\n" for place in places]
    return "".join(lines)


def _plain(record: Record) -> dict[str, Any]:
    return record.model_dump(mode="json", exclude_defaults=True)


def _dumped(data: object) -> str:
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=_COLUMNS)
    return text


def _flow(data: object) -> str:
    text: str = yaml.safe_dump(
        data, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000
    )
    return text.strip()


def read_suite(path: Path) -> ExactQuestions:
    text = read_text(path, where=str(path), limit_bytes=_LARGEST_BYTES)
    return parse_yaml(text, ExactQuestions, where=str(path))


# --- checked again ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CheckedSuite:
    """A repository's questions, and what every program says of them."""

    name: str
    questions: tuple[ExactQuestion, ...]
    opinions: tuple[Opinion, ...]

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Questions about which no program says anything now."""
        answered = {it.said.question for it in self.opinions if it.said.answered}
        return tuple(it.name for it in self.questions if it.name not in answered)


def check_suite(checkout: Checkout, folder: Path) -> CheckedSuite:
    read = read_suite(folder / FILE)
    repository = _opened(checkout, read.repository, pinned=True)
    with GitFiles(repository.path, repository.commit) as files:
        opinions = opinions_on(checkout, repository, Tree(files), read.questions)
    return CheckedSuite(name=folder.name, questions=read.questions, opinions=tuple(opinions))


@dataclass(frozen=True, kw_only=True)
class AgreementRow:
    """Of one kind and one language."""

    kind: str
    language: str
    questions: int
    """About which a program answered."""
    agree: int
    places: int
    confirmed: int
    """By every program that answered."""

    def as_text(self) -> str:
        found = f"{self.confirmed} of {self.places} places found" if self.places else "no places"
        return (
            f"{self.kind:<17} {self.language:<11} "
            f"keys confirmed: {self.agree:>4} of {self.questions:<4}  {found}"
        )


def agreement(suites: Iterable[CheckedSuite]) -> list[AgreementRow]:
    """By kind and language; the last row is of all."""
    by_row: dict[tuple[str, str], list[list[Opinion]]] = defaultdict(list)
    for suite in suites:
        for said in _by_question(suite.opinions).values():
            row = (said[0].said.kind, said[0].said.language)
            by_row[row].append(said)
    rows = [_row(kind, language, said) for (kind, language), said in sorted(by_row.items())]
    return [*rows, _row("all", "", [said for some in by_row.values() for said in some])]


def _by_question(opinions: Iterable[Opinion]) -> Mapping[str, list[Opinion]]:
    found: dict[str, list[Opinion]] = defaultdict(list)
    for opinion in opinions:
        if opinion.said.answered:
            found[opinion.said.question].append(opinion)
    return found


def _row(kind: str, language: str, questions: Sequence[Sequence[Opinion]]) -> AgreementRow:
    least = [min(said, key=lambda it: it.said.confirmed).said for said in questions]
    return AgreementRow(
        kind=kind,
        language=language,
        questions=len(questions),
        agree=sum(all(it.said.agrees for it in said) for said in questions),
        places=sum(it.confirmed + len(it.missing) for it in least),
        confirmed=sum(it.confirmed for it in least),
    )


def differences(suite: CheckedSuite) -> list[str]:
    """A line each, to be opened by hand: keys on which a program differs, or now says nothing."""
    confirmed = {(it.name, program) for it in suite.questions for program in it.confirmed_by}
    lines = []
    for opinion in suite.opinions:
        said = opinion.said
        # A program that confirmed a key and falls silent would otherwise leave no trace.
        fell_silent = not said.answered and (said.question, opinion.program) in confirmed
        if said.differs or fell_silent:
            lines.append(f"{suite.name}.{said.question}: {opinion.program} {_shown(opinion)}")
    return lines


def _shown(opinion: Opinion) -> str:
    said = opinion.said
    if not said.answered:
        return "confirmed this key before and gave no answer this time"
    parts = []
    for what, places in (
        ("does not find", said.missing),
        ("finds what the key does not have:", said.extra),
    ):
        if places:
            shown = some_of([f"{path}:{line}" for path, line in places], _SHOWN_PLACES)
            parts.append(f"{what} {shown}")
    return "; ".join(parts)


def folder_name(label: str) -> str:
    """`pypi:flask==3.1.2` → `flask`; `git:local:shop@…` → `shop`."""
    bare = re.split(r"==|(?<=.)@", label.partition(":")[2])[0].removeprefix("local:")
    bare = bare.rstrip("/").removesuffix(".git").rpartition("/")[2]
    return plain_name(bare)[:_LONGEST_FOLDER]


def require_folder_name(name: str) -> None:
    """Raises FairtrialError if no scenario could begin with it."""
    if not is_plain_name(name) or len(name) > _LONGEST_FOLDER:
        what = f"a folder's name is of {PLAIN}, {_LONGEST_FOLDER} at most"
        hint = f"--name {plain_name(name)[:_LONGEST_FOLDER] or 'shop'}"
        raise FairtrialError(what, where=f"--name {name}", hint=hint)
