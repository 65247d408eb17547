"""A proposed scenario as files that a person finishes: YAML with comments, and half a reference."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from runner.authoring.drafting.questions import TO_WRITE, StepDraft
from runner.records import GitSource, Record, Rubric, Scenario, parse_yaml
from runner.records.run_store import write_whole
from runner.support.errors import Problem

OWN = "own"
"""The suite of a user's scenarios."""
_STEP_BUDGET = {"tokens": 40_000, "wall_sec": 400, "actions": 30}
"""About what the shipped scenarios allow; for two steps at least."""
_COLUMNS = 110
_SLANT = f"{TO_WRITE}: whom do they favour, text search for a name, or a server that knows symbols?"
_TITLES = {"c": "C", "cpp": "C++", "c_sharp": "C#"}


@dataclass(frozen=True, kw_only=True)
class ScenarioDraft:
    """A scenario before it is written."""

    id: str
    source: GitSource
    language: str
    proposals: Sequence[StepDraft]
    origin: str
    """What it was proposed from: the tree, or a commit."""
    notes: Sequence[str] = ()
    """What a reader of scenario.yaml has to know."""


def write_draft(folder: Path, draft: ScenarioDraft) -> None:
    """scenario.yaml, rubric.yaml and reference/, each read again before it is written."""
    scenario, rubric = _scenario_text(draft), _rubric_text(draft)
    parse_yaml(scenario, Scenario, where="scenario.yaml")
    parse_yaml(rubric, Rubric, where="rubric.yaml")
    write_whole(folder / "scenario.yaml", scenario)
    write_whole(folder / "rubric.yaml", rubric)
    for number, proposal in enumerate(draft.proposals, start=1):
        write_whole(folder / "reference" / f"{number}.md", proposal.reference)


# --- what is left -------------------------------------------------------------------------------


def left_to_write(folder: Path) -> Iterator[Problem]:
    """Every line of a scenario's files that says that something is still to be written."""
    names = ["scenario.yaml", "rubric.yaml"]
    names += sorted(f"reference/{path.name}" for path in folder.glob("reference/*.md"))
    for name in names:
        path = folder / name
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        for number, line in enumerate(text.splitlines(), start=1):
            if TO_WRITE in line:
                where = f"scenarios/{folder.parent.name}/{folder.name}/{name}:{number}"
                yield Problem(where=where, message=_plain(line))


def _plain(line: str) -> str:
    """`to write: why each caller needs it`"""
    said = line.partition(TO_WRITE)[2].lstrip(": ").rstrip("'\" ")
    return f"still to write: {said}"


# --- texts --------------------------------------------------------------------------------------


def _scenario_text(draft: ScenarioDraft) -> str:
    unreviewed = (
        f"proposed from {draft.origin} by `fairtrial scenario new`, and read by nobody since"
    )
    about = "; ".join(it.about.partition(",")[0] for it in draft.proposals)
    # `who calls Shop.open` of `who calls Shop.open (shop.rb:3): 4 functions in 3 files`.
    title = "; ".join(re.split(r" \(|: ", it.about)[0] for it in draft.proposals)
    steps = max(len(draft.proposals), 2)
    lines = [
        "# Proposed, to be finished by hand: `fairtrial check` says what is left, line by line.",
        *(f"# {note}" for note in draft.notes),
        f"id: {draft.id}",
        f"title: {_scalar(title[:1].upper() + title[1:])}",
        *_folded("description", f"Proposed from {draft.origin}: {about}.", ""),
        f"repository: {flow(draft.source)}",
        f"language: {_TITLES.get(draft.language, draft.language)}",
        "# Which kind of server these questions favour, for the reader of a report.",
        *_folded("slant", _SLANT, ""),
        "# Read all of it, the prompts first; then take the next line out.",
        f"unreviewed: {_scalar(unreviewed)}",
        f"budget: {flow({name: most * steps for name, most in _STEP_BUDGET.items()})}",
        "steps:",
    ]
    for proposal in draft.proposals:
        lines += _step_lines(proposal)
    return "\n".join(lines) + "\n"


def _step_lines(proposal: StepDraft) -> Iterator[str]:
    step = proposal.step
    yield f"  # {proposal.about}"
    yield f"  - name: {step.name}"
    yield from _folded("prompt", step.prompt, "    ")
    yield "    # The prompt must not give these away."
    yield "    checks:"
    yield from (f"      - {flow(check)}" for check in step.checks)
    yield "    # Each was found by the parser, at the commit."
    yield "    must_cite:"
    yield from (f"      - {flow(place)}" for place in step.must_cite)


def _rubric_text(draft: ScenarioDraft) -> str:
    lines = [
        "# The facts here are proven by the parse; those of criteria without any are yours. A fact",
        "# is `says`, groups of alternative `terms`, and in `cites` the place that proves it:",
        "#   - says: main calls load_config to read the defaults",
        "#     terms: [[main], [default*, fallback]]",
        "#     cites: [{path: src/main.c, line: 12}]",
        '# Quote what YAML reads as no text: "off", "no", "404".',
        *_folded("audience", "A developer who will open only the places the answer names.", ""),
        "steps:",
    ]
    for proposal in draft.proposals:
        lines += _criteria_lines(proposal)
    return "\n".join(lines) + "\n"


def _criteria_lines(proposal: StepDraft) -> Iterator[str]:
    yield f"  - name: {proposal.rubric.name}"
    yield "    criteria:"
    for name, criterion in proposal.rubric.criteria.items():
        yield f"      {name}:"
        yield f"        weight: {criterion.weight:g}"
        yield f"        question: {_scalar(criterion.question)}"
        if not criterion.facts:
            yield f"        # {TO_WRITE}: facts that say {proposal.to_write[name]}"
            yield "        facts: []"
            continue
        yield "        facts:"
        for fact in criterion.facts:
            yield f"          - says: {_scalar(fact.says)}"
            yield f"            terms: {flow([list(group) for group in fact.terms])}"
            yield f"            cites: {flow([values_of(place) for place in fact.cites])}"


def _folded(key: str, text: str, indent: str) -> Iterator[str]:
    yield f"{indent}{key}: >-"
    width = _COLUMNS - len(indent)
    for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
        yield f"{indent}  {line}"


def values_of(record: Record) -> Any:
    return record.model_dump(mode="json", exclude_defaults=True)


def flow(value: Any) -> str:
    """On one line, as people write it: `{path: src/app.py, line: 774}`."""
    data = values_of(value) if isinstance(value, Record) else value
    text: str = yaml.safe_dump(
        data, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000
    )
    return text.strip()


def _scalar(text: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][^\n{}\[\]'\"&*|>%@`\\]*", text) and " #" not in text
    if plain and not re.search(r":(?: |$)", text):
        return text
    return flow([text])[1:-1]
