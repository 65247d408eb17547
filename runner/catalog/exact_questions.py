"""A question whose whole answer is a key, as the scenario of one step that runs and scores take."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runner.grounding.grammars import language_of
from runner.records import (
    ANSWER_FORM,
    ExactKind,
    ExactQuestion,
    ExactQuestions,
    KnownName,
    MustCite,
    Rubric,
    RubricStep,
    Scenario,
    Step,
)

QUESTIONS_FILE = "questions.yaml"
STEP = "answer"
_NAME = re.compile(r"^ *- name: +['\"]?([a-z0-9][a-z0-9._-]{0,63})['\"]? *$", re.MULTILINE)
_DEFINED_ONCE: frozenset[ExactKind] = frozenset({"callers", "test_callers", "uses"})
_ASKS: dict[ExactKind, str] = {
    "callers": "who calls it",
    "test_callers": "which tests call it",
    "overriders": "who overrides or implements it",
    "uses": "where it is used",
    "signature_edits": "what a new parameter changes",
    "which_definition": "which definition a call reaches",
    "public_names": "where it is exported",
    "path_to_sink": "every hop from an entry to a sink",
    "past_fix": "what else a past fix changed",
}


def names_in(text: str) -> list[str]:
    """The questions of a file by their lines `- name: …`: parsed, 300 would take every verb 2 s."""
    return _NAME.findall(text)


def names_of_questions(folder: Path) -> list[str]:
    """None of a file that is not there or cannot be read: reading it in whole says why."""
    try:
        return names_in((folder / QUESTIONS_FILE).read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return []


def problems_of_names(text: str, asked: ExactQuestions) -> Iterator[str]:
    """A question that no verb could name, or a name without a question."""
    found, there = names_in(text), [it.name for it in asked.questions]
    for name in there:
        if name not in found:
            yield f"the question {name} has to begin with a line `- name: {name}`"
    for name in found:
        if name not in there:
            yield f"the line `- name: {name}` begins no question"


def scenario_of(folder: str, asked: ExactQuestions, question: ExactQuestion) -> Scenario:
    step = Step(
        name=STEP,
        prompt=f"{question.prompt.rstrip()}\n\n{ANSWER_FORM}",
        # What stands at a place need not be defined there, which is what a step's symbol says.
        must_cite=tuple(it.model_copy(update={"symbol": None}) for it in question.key.places),
    )
    return Scenario(
        id=f"{folder}.{question.name}",
        title=f"{asked.title}: {_ASKS[question.key.kind]}",
        description=question.prompt,
        repository=asked.repository,
        language=asked.language,
        slant=f"asks {_ASKS[question.key.kind]}: the table by kind says whom that favours",
        budget=asked.budget,
        steps=(step,),
        known=known_in(asked),
        asks=question.key.kind,
        grep_f1=question.grep_f1,
    )


def known_in(asked: ExactQuestions) -> KnownName | None:
    """The same for all of a repository's cells: the longest name that a key says is defined once.

    What an answer may cite besides is the definition first, with its name. It is of the language
    that most questions are about, which need not be the repository's: a server that does not read
    it would be asked in vain. Of a name with forty hits a server may show the first ten.
    """
    asked_in = Counter(map(_language_of, asked.questions))
    named: list[tuple[Any, MustCite]] = []
    for question in asked.questions:
        for place in question.key.optional:
            language = language_of(place.path, b"")
            # Of two languages that are asked about alike, the repository's own.
            liked = asked_in[language], language == asked.language
            rare = question.key.kind in _DEFINED_ONCE, len(place.symbol or "")
            if place.symbol:
                named.append(((liked, rare), place))
    if not named:
        return None
    place = max(named, key=lambda it: it[0])[1]
    language = language_of(place.path, b"") or asked.language
    return KnownName(symbol=place.symbol or "", path=place.path, language=language)


def _language_of(question: ExactQuestion) -> str | None:
    places = question.key.places or question.key.optional
    return language_of(places[0].path, b"") if places else None


def rubric_of(question: ExactQuestion) -> Rubric:
    step = RubricStep(name=STEP, key=question.key)
    return Rubric(audience="another coding agent", steps=(step,))


def reference_of(question: ExactQuestion) -> str:
    """What earns all: each place once, and how many there are."""
    places = question.key.places
    lines = [f"- `{it.path}:{it.line}` {it.symbol or ''}".rstrip() for it in places]
    return "\n".join([*lines, "", f"FOUND: {len(places)}"]).lstrip()
