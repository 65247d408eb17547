"""Keyword coverage: was the obvious vocabulary there?

A smoke test, a tenth of fairness (docs/scores.md):

    coverage = Σ(hits_required + ½·hits_bonus) / Σ(total_required + ½·total_bonus)

over the checks of all steps, each looked for in that step's answer only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from runner.records import Answer, Check, Scenario, Score, Scored, Unscored
from runner.support.text import at_word_edges, fold

SEMANTICS = "1"
"""Raise it if the meaning of a check changes: the anchors' lock holds it."""
BONUS_WEIGHT = 0.5


def keyword_coverage(scenario: Scenario, answer: Answer, files_cited: Sequence[int]) -> Score:
    """`files_cited`: per step, how many distinct files of the commit its answer cites.

    Unscored if the scenario has no checks.
    """
    hit = total = 0.0
    missing: list[str] = []
    for step, step_answer, files in zip(scenario.steps, answer.steps, files_cited, strict=True):
        for check in step.checks:
            weight = 1.0 if check.required else BONUS_WEIGHT
            total += weight
            if passes(check, step_answer.text, files):
                hit += weight
            else:
                missing.append(_name_of(check))
    if not total:
        return Unscored(reason="the scenario has no keyword checks")
    detail = "every check hit"
    if missing:
        detail = f"missing: {', '.join(missing)}"
    return Scored(value=hit / total, detail=detail)


def _name_of(check: Check) -> str:
    if check.kind == "min_files":
        return f"{check.value} files cited"
    return str(check.value)


def passes(check: Check, text: str, files_cited: int) -> bool:
    """Does one step's answer pass one check?"""
    if isinstance(check.value, int):
        return files_cited >= check.value
    if check.kind == "exact":
        return unicodedata.normalize("NFC", check.value) in unicodedata.normalize("NFC", text)
    pattern = _pattern(check.kind, check.value)
    return any(map(pattern.search, variants(text)))


# --- texts ----------------------------------------------------------------------------------

_EMPHASIS = re.compile(r"[*`]+|~~")
_UNDERSCORE_EMPHASIS = re.compile(r"(?<!\w)_(?=[^_\s])([^\n]{0,80}?[^_\s])_(?!\w)")


@lru_cache(maxsize=64)
def variants(text: str) -> tuple[str, ...]:
    """The text as folded, and the same without Markdown emphasis if it has any."""
    # Both: `**word**` is the word, and a check for `**kwargs` must still find it.
    folded = fold(text)
    plain = _UNDERSCORE_EMPHASIS.sub(r"\1", _EMPHASIS.sub("", folded))
    if plain == folded:
        return (folded,)
    return (folded, plain)


# --- patterns -------------------------------------------------------------------------------

_LINE_MARKS = r"^[ \t]*(?:(?:[-*+>#|]+|\d{1,3}[.)])[ \t]+)*"
"""What may stand before a line's text: `  - `, `> 1. `, `## `."""


@lru_cache(maxsize=4096)
def _pattern(kind: str, value: str) -> re.Pattern[str]:
    if kind in ("word", "phrase"):
        return _whole_word(value)
    literal = re.escape(fold(value))
    if kind == "starts_with":
        return re.compile(_LINE_MARKS + literal, re.IGNORECASE | re.MULTILINE)
    return re.compile(literal, re.IGNORECASE)


def _whole_word(value: str) -> re.Pattern[str]:
    """Matches the value if it is no part of a longer identifier, in any case.

    A space matches any run of spaces.
    """
    value = fold(value).strip()
    body = r"\s+".join(map(re.escape, value.split()))
    return re.compile(at_word_edges(body, value), re.IGNORECASE)
