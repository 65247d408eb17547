"""questions.yaml of a repository: written, read, and held against other programs again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from runner.authoring.drafting.scenario_files import flow, values_of
from runner.authoring.drafting.tree import Tree
from runner.authoring.exact.checking import Opinion, opinions_on
from runner.catalog.checkout import Checkout
from runner.catalog.locks import read_repos_lock
from runner.grounding.commit_files import GitFiles
from runner.records import Source, parse_yaml, read_text
from runner.records.exact import ExactQuestion, ExactQuestions
from runner.records.repositories import PLAIN, is_plain_name, plain_name
from runner.repositories.folders import cache_of
from runner.repositories.local_labels import open_source
from runner.repositories.repository import Repository
from runner.support.errors import FairtrialError
from runner.support.text import some_of

SUITE = "scenarios/exact"
FILE = "questions.yaml"
_LARGEST_BYTES = 8 * 2**20
_COLUMNS = 100
_SHOWN_PLACES = 4
LONGEST_FOLDER = 23
"""With a question's name behind it, it is a scenario's id of at most 64 characters."""


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


def open_repository(checkout: Checkout, source: Source, *, pinned: bool) -> Repository:
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
    data = values_of(questions)
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
                lines += [f"        - {flow(place)}\n" for place in places]
    return "".join(lines)


def _dumped(data: object) -> str:
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=_COLUMNS)
    return text


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
    repository = open_repository(checkout, read.repository, pinned=True)
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
        by_question: dict[str, list[Opinion]] = defaultdict(list)
        for opinion in suite.opinions:
            if opinion.said.answered:
                by_question[opinion.said.question].append(opinion)
        for said in by_question.values():
            by_row[said[0].said.kind, said[0].said.language].append(said)
    rows = [_row(kind, language, said) for (kind, language), said in sorted(by_row.items())]
    return [*rows, _row("all", "", [said for some in by_row.values() for said in some])]


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
    return plain_name(bare)[:LONGEST_FOLDER]


def require_folder_name(name: str) -> None:
    """Raises FairtrialError if no scenario could begin with it."""
    if not is_plain_name(name) or len(name) > LONGEST_FOLDER:
        what = f"a folder's name is of {PLAIN}, {LONGEST_FOLDER} at most"
        hint = f"--name {plain_name(name)[:LONGEST_FOLDER] or 'shop'}"
        raise FairtrialError(what, where=f"--name {name}", hint=hint)
