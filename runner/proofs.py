"""What `fairtrial check` proves of every scenario before it measures anyone: gold passes, silence fails, and cheats lose.

The cheats are made from the scenario itself, so that each new scenario proves itself:

- silence: no text in any step
- the prompt, pasted back
- a spray: places all over the files the scenario asks for, and every other file
- keyword stuffing, four ways: one soup, a line for each fact, the same with a guessed place on it, and soup after the pasted prompt
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from runner.errors import Problem
from runner.grounding.outlines import outline_of
from runner.grounding.pointing import TOLERANCE
from runner.grounding.symbols import SourceFile
from runner.protocols import Files, Judge
from runner.records import (
    Answer,
    AnswerStep,
    Check,
    Effort,
    Fairness,
    MustCite,
    Rubric,
    Scenario,
    Scored,
)
from runner.scoring.fairness import WEIGHTS, score_fairness

REFERENCE_FLOOR = 0.9
CHEAT_MARGIN = 0.25
PROMPT_CEILING = 0.5


class Loaded(Protocol):
    """A scenario as the catalog loads it."""

    @property
    def scenario(self) -> Scenario: ...
    @property
    def rubric(self) -> Rubric: ...
    @property
    def reference(self) -> tuple[str, ...]:
        """The reference answer: one text a step."""
        ...


def prove(loaded: Loaded, files: Files, judge: Judge) -> list[Problem]:
    """Everything that keeps the scenario from being measured with; empty when it is proven."""
    problems = [*_structure(loaded), *_places(loaded, files)]
    # Scores of a scenario whose places do not exist, or whose steps do not line up, would only repeat it in other words.
    return problems or [*_scores(loaded, files, judge)]


# --- structure and places -------------------------------------------------------------------


def _structure(loaded: Loaded) -> Iterator[Problem]:
    names = [step.name for step in loaded.scenario.steps]
    if len(set(names)) != len(names):
        yield Problem(
            where=f"{loaded.scenario.id}/scenario.yaml steps",
            message="two steps have one name; give each its own",
        )
    if [step.name for step in loaded.rubric.steps] != names:
        yield Problem(
            where=f"{loaded.scenario.id}/rubric.yaml steps",
            message=f"not the scenario's steps; expected, in order: {names}",
        )
    if len(loaded.reference) != len(names):
        yield Problem(
            where=f"{loaded.scenario.id}/reference",
            message=f"{len(loaded.reference)} answers for {len(names)} steps; write reference/1.md to reference/{len(names)}.md",
        )


def _places(loaded: Loaded, files: Files) -> Iterator[Problem]:
    for at, step in enumerate(loaded.scenario.steps):
        for number, place in enumerate(step.must_cite):
            yield from _place(
                place, files, f"{loaded.scenario.id}/scenario.yaml steps[{at}].must_cite[{number}]"
            )
    for at, rubric_step in enumerate(loaded.rubric.steps):
        for name, criterion in rubric_step.criteria.items():
            for number, fact in enumerate(criterion.facts):
                where = f"{loaded.scenario.id}/rubric.yaml steps[{at}].criteria.{name}.facts[{number}].cites"
                for index, place in enumerate(fact.cites):
                    yield from _place(place, files, f"{where}[{index}]")


def _place(place: MustCite, files: Files, where: str) -> Iterator[Problem]:
    """A place must hold at the commit: the file is there, its lines are, and its symbol is defined within ±5 of them."""
    if place.path not in files.paths():
        yield Problem(
            where=where,
            message=f"{place.path} is not a file at the commit; check its spelling and case",
        )
        return
    content = files.read(place.path)
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    last = place.end or place.line
    if last < place.line:
        yield Problem(where=where, message=f"end {place.end} comes before line {place.line}")
    elif last > lines:
        yield Problem(
            where=where,
            message=f"line {last} is past the end of {place.path}, which has {lines} lines",
        )
    elif place.symbol:
        near = _definitions(place, files)
        if not any(place.line - TOLERANCE <= line <= last + TOLERANCE for line in near):
            found = (
                f"it is defined at {', '.join(map(str, near))}"
                if near
                else "no definition of it is found"
            )
            yield Problem(
                where=where,
                message=f"{place.symbol} is not defined within ±{TOLERANCE} of lines {place.line}–{last}: {found}",
            )


def _definitions(place: MustCite, files: Files) -> tuple[int, ...]:
    """Lines on which the verifier's own resolver finds the symbol defined."""
    source, sha = files.read(place.path), files.blob_sha(place.path)
    file = SourceFile(place.path, source, lambda: outline_of(place.path, source, sha, None))
    return tuple(definition.line for definition in file.places(place.symbol or "").definitions)


# --- scores ---------------------------------------------------------------------------------


def _scores(loaded: Loaded, files: Files, judge: Judge) -> Iterator[Problem]:
    # Nine answers cite the same files: parsed once, they take a third of the time.
    with tempfile.TemporaryDirectory() as cache:
        yield from _scored(loaded, files, judge, Path(cache))


def _scored(loaded: Loaded, files: Files, judge: Judge, cache_dir: Path) -> Iterator[Problem]:
    def score(texts: Sequence[str]) -> Fairness:
        return _score(loaded, texts, files, judge, cache_dir)

    where = f"{loaded.scenario.id}/reference"
    reference = score(loaded.reference)
    for name, value in _parts(reference).items():
        if value < REFERENCE_FLOOR:
            yield Problem(
                where=where,
                message=f"{name} is {value:.2f}, below {REFERENCE_FLOOR}: {_why(reference, name)}",
            )
    silence = score([""] * len(loaded.reference))
    for name, value in {**_parts(silence), "efficiency": _value(silence, "efficiency")}.items():
        if value:
            yield Problem(
                where=where, message=f"an empty answer scores {value:.2f} on {name}, not 0"
            )
    for cheat, texts in cheats(loaded, files).items():
        yield from _cheat_loses(loaded.scenario.id, cheat, reference, score(texts))


def _cheat_loses(
    scenario: str, cheat: str, reference: Fairness, scored: Fairness
) -> Iterator[Problem]:
    got = {
        "fairness without efficiency": worth(scored),
        "llm_quality": _value(scored, "llm_quality"),
    }
    best = {
        "fairness without efficiency": worth(reference),
        "llm_quality": _value(reference, "llm_quality"),
    }
    for name, value in got.items():
        if best[name] - value < CHEAT_MARGIN:
            yield Problem(
                where=scenario,
                message=f"{cheat} gets {value:.2f} of {name}, the reference {best[name]:.2f}; {_FIXES[cheat]}",
            )
        elif cheat == "the pasted prompt" and value >= PROMPT_CEILING:
            yield Problem(
                where=scenario, message=f"{cheat} gets {value:.2f} of {name}; {_FIXES[cheat]}"
            )


def worth(fairness: Fairness) -> float:
    """Fairness with efficiency left out and the other weights scaled up to 1: a cheat costs nothing, so its efficiency says nothing."""
    parts = {name: weight for name, weight in WEIGHTS.items() if name != "efficiency"}
    return sum(weight * _value(fairness, name) for name, weight in parts.items()) / sum(
        parts.values()
    )


def _parts(fairness: Fairness) -> dict[str, float]:
    """What is asked of the reference. A scenario without must_cite places has no recall to prove."""
    names = ["keyword_coverage", "citation_grounding", "llm_quality"]
    return {
        name: _value(fairness, name)
        for name in names + ["must_cite_recall"] * isinstance(fairness.must_cite_recall, Scored)
    }


def _value(fairness: Fairness, name: str) -> float:
    score = getattr(fairness, name)
    return score.value if isinstance(score, Scored) else 0.0


def _why(fairness: Fairness, name: str) -> str:
    if name == "llm_quality" and fairness.verdict:
        said = [
            (step.name, criterion, verdict)
            for step in fairness.verdict.steps
            for criterion, verdict in step.criteria.items()
        ]
        return " | ".join(
            f"{step}, {criterion}: {verdict.reason}"
            for step, criterion, verdict in said
            if verdict.score < 1
        )
    bad = [
        f"{c.written} ({c.reason})"
        for c in fairness.citations
        if c.status != "grounded" and c.start is not None
    ]
    score = getattr(fairness, name)
    why = score.detail if isinstance(score, Scored) else score.reason
    return f"{why}; {'; '.join(bad)}" if name == "citation_grounding" and bad else str(why)


def _score(
    loaded: Loaded, texts: Sequence[str], files: Files, judge: Judge, cache_dir: Path | None = None
) -> Fairness:
    steps = loaded.scenario.steps
    answer = Answer(
        steps=tuple(
            AnswerStep(name=step.name, prompt=step.prompt, text=text, completed=bool(text.strip()))
            for step, text in zip(steps, texts, strict=True)
        )
    )
    done = sum(step.completed for step in answer.steps)
    effort = Effort(
        input_tokens=0,
        output_tokens=0,
        agent_sec=0,
        backoff_sec=0,
        actions=0,
        steps_completed=done,
        steps=len(steps),
        tokens_estimated=True,
    )
    return score_fairness(
        loaded.scenario,
        loaded.rubric,
        answer,
        effort,
        files=files,
        judge=judge,
        cache_dir=cache_dir,
    )


# --- cheats ---------------------------------------------------------------------------------

_SPRAY_PER_FILE = 40
_SPRAY_FILES = 60

_FIXES = {
    "the pasted prompt": "take what the answer has to find out of the prompt",
    "a spray of places": "its facts are met by places alone; give them terms that say what holds there",
    "keyword soup": "its facts are met by keywords alone; give them `cites`, or terms that need a statement",
    "a line of keywords for each fact": "its facts are met by keywords alone; give them `cites`, or terms that need a statement",
    "a line of keywords and a guessed place for each fact": "too many of its facts ask for no place; give more of them `cites`",
    "keyword soup after the prompt": "its facts are met by the prompt's own words; give them `cites`, or other terms",
}


def cheats(loaded: Loaded, files: Files) -> dict[str, list[str]]:
    """Name -> one text a step."""
    words = [_keywords(loaded, at) for at in range(len(loaded.scenario.steps))]
    prompts = [step.prompt for step in loaded.scenario.steps]
    return {
        "the pasted prompt": prompts,
        "a spray of places": [_spray(loaded, at, files) for at in range(len(prompts))],
        "keyword soup": [" ".join(word for line in lines for word in line) for lines in words],
        "a line of keywords for each fact": [
            "\n".join(f"- {' '.join(line)}" for line in lines) for lines in words
        ],
        "a line of keywords and a guessed place for each fact": [
            _guesses(loaded, at) for at in range(len(prompts))
        ],
        "keyword soup after the prompt": [
            f"{prompt}\n\n{', '.join(word for line in lines for word in line)}."
            for prompt, lines in zip(prompts, words, strict=True)
        ],
    }


def _keywords(loaded: Loaded, at: int) -> list[list[str]]:
    """Every check's value, then every term of every fact: a line each."""
    checks: list[Check] = [
        check for check in loaded.scenario.steps[at].checks if isinstance(check.value, str)
    ]
    facts = [
        fact for criterion in loaded.rubric.steps[at].criteria.values() for fact in criterion.facts
    ]
    return [[str(check.value)] for check in checks] + [
        [term.rstrip("*") for group in fact.terms for term in group] for fact in facts
    ]


def _guesses(loaded: Loaded, at: int) -> str:
    """Each fact's words beside the first line of a file that the step asks for: right file, no idea where in it."""
    asked = sorted(_asked(loaded, at)) or ["README.md"]
    lines = _keywords(loaded, at)
    return "\n".join(
        f"- {' '.join(line)} ({asked[number % len(asked)]}:1)" for number, line in enumerate(lines)
    )


def _asked(loaded: Loaded, at: int) -> set[str]:
    facts = [
        fact for criterion in loaded.rubric.steps[at].criteria.values() for fact in criterion.facts
    ]
    return {
        place.path
        for place in (
            *loaded.scenario.steps[at].must_cite,
            *(place for fact in facts for place in fact.cites),
        )
    }


def _spray(loaded: Loaded, at: int, files: Files) -> str:
    """Lines all over every file the step asks for, the words of one fact after the other beside them, and the head of many others."""
    asked = _asked(loaded, at)
    others = sorted(files.paths() - asked)[:: max(1, len(files.paths()) // _SPRAY_FILES)]
    keywords = itertools.cycle([" ".join(line) for line in _keywords(loaded, at)])
    places = [f"{path}:{line}" for path in sorted(asked) for line in _everywhere(files.read(path))]
    return "\n".join(
        [
            *(f"- {place} {words}" for place, words in zip(places, keywords, strict=False)),
            *(f"- {path}:1" for path in others),
        ]
    )


def _everywhere(content: bytes) -> range:
    lines = content.count(b"\n") + 1
    return range(1, lines, max(1, lines // _SPRAY_PER_FILE))
