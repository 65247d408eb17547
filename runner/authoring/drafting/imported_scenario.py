"""A scenario and its rubric from the YAML of a published harness (github luuuc/sense, bench/).

That form asks free-text questions and holds no facts, no places to cite and no reference answer, so
what is written here is `unreviewed`: keywords, grounding and efficiency are scored, quality is not,
and `fairtrial check` refuses it until somebody writes what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError

from runner.catalog.catalog import IMPORTED_SCENARIOS
from runner.records import (
    Budget,
    Check,
    Criterion,
    GitSource,
    Record,
    Rubric,
    RubricStep,
    Scenario,
    Step,
    UnitInterval,
    parse_yaml,
    read_text,
)
from runner.records.run_store import write_whole
from runner.support.errors import CatalogError, FairtrialError, Problem

MAX_FILE_BYTES = 512 * 1024
NO_ACTIONS_LIMIT = 1000
"""That harness counts no calls."""
_allows = partial(Budget, actions=NO_ACTIONS_LIMIT)
_UNKNOWN = _allows(tokens=30_000, wall_sec=480, usd=1.5)
CEILINGS = {
    "flask": _allows(tokens=15_000, wall_sec=320, usd=1.0),
    "gin": _allows(tokens=15_000, wall_sec=320, usd=1.0),
    "javalin": _allows(tokens=15_000, wall_sec=480, usd=1.75),
    "axum": _allows(tokens=20_000, wall_sec=480, usd=1.75),
    "discourse": _allows(tokens=30_000, wall_sec=480, usd=2.0),
    "nextjs": _allows(tokens=40_000, wall_sec=720, usd=2.25),
}
"""What it allows for a repository: its bench/SCORING.md, May 2026. Tokens are uncached ones, cache
writes left out."""


# --- its form -------------------------------------------------------------------------------


class SenseCheck(Record):
    type: str
    value: str
    required: bool
    layer: Literal["fairness", "adoption"] = "fairness"
    description: str = ""


class SenseStep(Record):
    name: str
    prompt: str
    checks: tuple[SenseCheck, ...] = ()


class SenseScenario(Record):
    name: str
    repo: str
    description: str = ""
    steps: tuple[SenseStep, ...]
    scoring: dict[str, Any] = Field(default_factory=dict)


class SenseCriterion(Record):
    weight: UnitInterval
    question: str


class SenseRubricStep(Record):
    name: str
    criteria: dict[str, SenseCriterion]


class SenseRubric(Record):
    audience: str
    steps: tuple[SenseRubricStep, ...]


# --- as ours --------------------------------------------------------------------------------

_KINDS: Mapping[str, str] = {
    "word": "word",
    "phrase": "phrase",
    "contains": "contains",
    "transcript_contains": "contains",
    "exact": "exact",
    "starts_with": "starts_with",
    "response_richness": "min_files",
}
_OUTSIDE_PROSE = frozenset({"mcp_tool_used", "no_grep", "diff_contains"})
"""They look at calls and edits, which no check of ours sees."""
_ALWAYS_LEFT_OUT = (
    "facts of the criteria: its questions are free text, so the quality of an answer is not scored",
    "must_cite places: it lists none, so grounding is precision alone",
    "a reference answer: it has none, so nothing proves that a right answer scores",
    "its weights of correctness and efficiency: fairness has one formula here",
)


@dataclass(frozen=True, kw_only=True)
class ImportedScenario:
    """What was written, and what was not."""

    scenario: Scenario
    rubric: Rubric
    folder: Path
    left_out: tuple[str, ...]

    def as_text(self) -> str:
        lines = [f"wrote {self.folder} (unreviewed)", "left out:"]
        lines += [f"  {line}" for line in self.left_out]
        lines.append("next: `fairtrial lock` pins its repository; runs with it are --ungated")
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        folder = str(self.folder)
        return {"id": self.scenario.id, "folder": folder, "left_out": list(self.left_out)}


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """What is asked of it."""

    file: Path
    language: str
    rubric: Path | None = None
    """None for the file beside it."""
    id: str = ""
    """Empty for the file's own name."""
    tokens: int | None = None
    wall_sec: int | None = None
    """Ceilings; None for what that harness documents for the repository."""


def import_scenario(wanted: ImportRequest, project: Path, source: GitSource) -> ImportedScenario:
    """Write the folder into the project, about that source.

    Raises CatalogError with every problem, FairtrialError if it is there.
    """
    rubric_file = wanted.rubric or wanted.file.with_suffix(".rubric.yaml")
    theirs = _read(wanted.file, SenseScenario)
    their_rubric = _read(rubric_file, SenseRubric)
    left_out = (*_left_out(theirs), *_ALWAYS_LEFT_OUT)
    name = wanted.id or re.sub(r"[^a-z0-9._-]+", "-", wanted.file.stem.lower()).strip("-._")
    with _as_problems(wanted.file):
        scenario = _scenario(theirs, wanted, source, name, left_out)
    with _as_problems(rubric_file):
        rubric = _rubric(their_rubric)
    _require_same_steps(scenario, rubric, rubric_file)
    folder = project / "scenarios" / IMPORTED_SCENARIOS / scenario.id
    if folder.exists():
        hint = "choose another name with --id, or remove it"
        raise FairtrialError("that scenario is there already", where=str(folder), hint=hint)
    write_whole(folder / "scenario.yaml", _as_yaml(scenario))
    write_whole(folder / "rubric.yaml", _as_yaml(rubric))
    return ImportedScenario(scenario=scenario, rubric=rubric, folder=folder, left_out=left_out)


def _read(path: Path, record: type[Any]) -> Any:
    text = read_text(path, where=str(path), limit_bytes=MAX_FILE_BYTES)
    return parse_yaml(text, record, where=str(path))


@contextmanager
def _as_problems(path: Path) -> Iterator[None]:
    """What a record of ours refuses, as problems of the file it comes from."""
    try:
        yield
    except ValidationError as error:
        problems = []
        for item in error.errors():
            keys = ".".join(map(str, item["loc"]))
            problems.append(Problem(where=f"{path} {keys}".rstrip(), message=item["msg"]))
        raise CatalogError(problems) from error


def _scenario(
    theirs: SenseScenario,
    wanted: ImportRequest,
    source: GitSource,
    name: str,
    left_out: tuple[str, ...],
) -> Scenario:
    allowed = CEILINGS.get(theirs.repo, _UNKNOWN)
    return Scenario(
        id=name,
        title=theirs.name.strip(),
        description=" ".join(theirs.description.split()),
        repository=source,
        language=wanted.language,
        slant="unknown: its author says nothing of it",
        unreviewed=f"imported from {wanted.file.name} of luuuc/sense; left out: "
        + "; ".join(left_out),
        budget=Budget(
            tokens=wanted.tokens or allowed.tokens,
            wall_sec=wanted.wall_sec or allowed.wall_sec,
            actions=NO_ACTIONS_LIMIT,
            usd=allowed.usd,
        ),
        steps=tuple(map(_step, theirs.steps)),
    )


def _step(theirs: SenseStep) -> Step:
    kept = [it for it in theirs.checks if it.layer == "fairness" and it.type in _KINDS]
    prompt = " ".join(theirs.prompt.split())
    return Step(name=theirs.name, prompt=prompt, checks=tuple(map(_check, kept)))


def _check(theirs: SenseCheck) -> Check:
    kind = _KINDS[theirs.type]
    value: str | int = theirs.value
    if kind == "min_files" and theirs.value.isdigit():
        value = int(theirs.value)
    return Check.model_validate({"kind": kind, "value": value, "required": theirs.required})


def _left_out(theirs: SenseScenario) -> Iterator[str]:
    for step in theirs.steps:
        for check in step.checks:
            if check.layer == "adoption" or check.type in _OUTSIDE_PROSE:
                yield f"{step.name!r}: {check.type} {check.value}, which looks at calls or edits"
            elif check.type not in _KINDS:
                yield f"{step.name!r}: {check.type} {check.value}, a check unknown here"


def _rubric(theirs: SenseRubric) -> Rubric:
    steps = []
    for step in theirs.steps:
        criteria = {
            name: Criterion(weight=made.weight, question=" ".join(made.question.split()), facts=())
            for name, made in step.criteria.items()
        }
        steps.append(RubricStep(name=step.name, criteria=criteria))
    return Rubric(audience=" ".join(theirs.audience.split()), steps=tuple(steps))


def _require_same_steps(scenario: Scenario, rubric: Rubric, rubric_file: Path) -> None:
    asked, judged = ([step.name for step in one.steps] for one in (scenario, rubric))
    if asked != judged:
        message = f"the steps are {judged}, the scenario's are {asked}; same names, same order"
        raise CatalogError([Problem(where=f"{rubric_file} steps", message=message)])


def _as_yaml(record: Record) -> str:
    values = record.model_dump(mode="json", exclude_defaults=True)
    text: str = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=140)
    return text
