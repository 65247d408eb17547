"""Answers built to game a scenario, from its own prompts, rubric and places.

They know what is asked for, and nothing of the repository but its files' names and lengths.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from runner.protocols import Files
from runner.records import ContrastPair, Fact, Rubric, RubricStep, Scenario, Step

SPRAY_PER_FILE = 40
SPRAY_FILES = 60


class ScenarioWithRubric(Protocol):
    """A scenario as the catalog loads it."""

    @property
    def scenario(self) -> Scenario: ...
    @property
    def rubric(self) -> Rubric: ...
    @property
    def reference(self) -> tuple[str, ...]:
        """The reference answer: one text a step."""
        ...

    @property
    def contrast_pairs(self) -> tuple[ContrastPair, ...]: ...
    @property
    def suite(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class _StepDemands:
    """What one step asks for."""

    prompt: str
    keywords: tuple[tuple[str, ...], ...]
    """A line each: the value of every check, then the terms of every fact."""
    paths: tuple[str, ...]
    """Files that hold a place of the step or of a fact, sorted."""

    @property
    def words(self) -> Iterator[str]:
        return itertools.chain.from_iterable(self.keywords)

    @property
    def lines(self) -> Iterator[str]:
        return (" ".join(words) for words in self.keywords)


@dataclass(frozen=True, kw_only=True)
class AdversarialAnswer:
    text: Callable[[_StepDemands, Files], str]
    """The answer to one step."""
    fix: str
    """What to change in a scenario that it wins."""


def cheats(loaded: ScenarioWithRubric, files: Files) -> dict[str, list[str]]:
    """Name of the cheat -> one text a step."""
    steps = []
    for step, rubric_step in zip(loaded.scenario.steps, loaded.rubric.steps, strict=True):
        steps.append(_asked(step, rubric_step))
    texts = {}
    for name, cheat in CHEATS.items():
        texts[name] = [cheat.text(asked, files) for asked in steps]
    return texts


def _asked(step: Step, rubric_step: RubricStep) -> _StepDemands:
    keywords: list[tuple[str, ...]] = []
    for check in step.checks:
        # `min_files` has a number for its value, and no word.
        if isinstance(check.value, str):
            keywords.append((check.value,))
    places = list(step.must_cite)
    for fact in rubric_step.facts:
        keywords.append(tuple(_terms(fact)))
        places += fact.cites
    paths = {place.path for place in places}
    return _StepDemands(prompt=step.prompt, keywords=tuple(keywords), paths=tuple(sorted(paths)))


def _terms(fact: Fact) -> Iterator[str]:
    for group in fact.terms:
        for term in group:
            yield term.rstrip("*")


# --- one step's text ------------------------------------------------------------------------


def _prompt(asked: _StepDemands, _: Files) -> str:
    return asked.prompt


def _spray(asked: _StepDemands, files: Files) -> str:
    """Lines all over every file asked for, facts' words beside them, and many others' heads."""
    places = []
    for path in asked.paths:
        for line in _everywhere(files.read(path)):
            places.append(f"{path}:{line}")
    words = itertools.cycle(asked.lines)
    sprayed = [f"- {place} {line}" for place, line in zip(places, words, strict=False)]
    every = files.paths()
    others = sorted(every - set(asked.paths))[:: max(1, len(every) // SPRAY_FILES)]
    return "\n".join([*sprayed, *(f"- {path}:1" for path in others)])


def _everywhere(content: bytes) -> range:
    lines = content.count(b"\n") + 1
    return range(1, lines, max(1, lines // SPRAY_PER_FILE))


def _soup(asked: _StepDemands, _: Files) -> str:
    return " ".join(asked.words)


def _keyword_lines(asked: _StepDemands, _: Files) -> str:
    return "\n".join(f"- {line}" for line in asked.lines)


def _guesses(asked: _StepDemands, _: Files) -> str:
    """Each fact's words beside the first line of a file asked for: the right file, any line."""
    paths = itertools.cycle(asked.paths or ("README.md",))
    guessed = zip(asked.lines, paths, strict=False)
    return "\n".join(f"- {line} ({path}:1)" for line, path in guessed)


def _soup_after_prompt(asked: _StepDemands, _: Files) -> str:
    return f"{asked.prompt}\n\n{', '.join(asked.words)}."


_KEYWORDS_FIX = (
    "its facts are met by keywords alone; give them `cites`, or terms that need a statement"
)
PASTED_PROMPT = "the pasted prompt"
CHEATS = {
    PASTED_PROMPT: AdversarialAnswer(
        text=_prompt,
        fix="take what the answer has to find out of the prompt",
    ),
    "a spray of places": AdversarialAnswer(
        text=_spray,
        fix="its facts are met by places alone; give them terms that say what holds there",
    ),
    "keyword soup": AdversarialAnswer(text=_soup, fix=_KEYWORDS_FIX),
    "a line of keywords for each fact": AdversarialAnswer(text=_keyword_lines, fix=_KEYWORDS_FIX),
    "a line of keywords and a guessed place for each fact": AdversarialAnswer(
        text=_guesses,
        fix="too many of its facts ask for no place; give more of them `cites`",
    ),
    "keyword soup after the prompt": AdversarialAnswer(
        text=_soup_after_prompt,
        fix="its facts are met by the prompt's own words; give them `cites`, or other terms",
    ),
}
