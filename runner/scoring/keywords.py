"""Keyword coverage: was the obvious vocabulary there? A smoke test, a tenth of fairness (DESIGN.md, Scores; seed 002, step 2).

    coverage = Σ(hits_required + ½·hits_bonus) / Σ(total_required + ½·total_bonus)

over the checks of all steps, each looked for in that step's answer only.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from runner.records import Answer, Check, Scenario, Score, Scored, Unscored
from runner.text import fold

SEMANTICS = "1"
"""Raised when what a check means changes: the anchors' lock holds it."""
BONUS_WEIGHT = 0.5

_LINE_MARKS = re.compile(r"^[ \t]*(?:(?:[-*+>#|]+|\d{1,3}[.)])[ \t]+)*")
_UNDERSCORE_EMPHASIS = re.compile(r"(?<!\w)_(?=[^_\s])([^\n]{0,80}?[^_\s])_(?!\w)")


def keyword_coverage(scenario: Scenario, answer: Answer, files_cited: Sequence[int]) -> Score:
    """`files_cited`: per step, how many distinct files its answer cites that exist at the commit. Unscored where nothing is checked."""
    hit = total = 0.0
    missing: list[str] = []
    for step, said, files in zip(scenario.steps, answer.steps, files_cited, strict=True):
        for check in step.checks:
            weight = 1.0 if check.required else BONUS_WEIGHT
            total += weight
            if passes(check, said.text, files):
                hit += weight
            else:
                missing.append(
                    f"{check.value}" if check.kind != "min_files" else f"{check.value} files cited"
                )
    if not total:
        return Unscored(reason="the scenario has no keyword checks")
    return Scored(
        value=hit / total, detail=f"missing: {', '.join(missing)}" if missing else "every check hit"
    )


def passes(check: Check, text: str, files_cited: int) -> bool:
    """Does one step's answer pass one check?"""
    if isinstance(check.value, int):
        return files_cited >= check.value
    if check.kind == "exact":
        return unicodedata.normalize("NFC", check.value) in unicodedata.normalize("NFC", text)
    pattern = _pattern(check.kind, check.value)
    return any(pattern.search(variant) for variant in variants(text))


@lru_cache(maxsize=64)
def variants(text: str) -> tuple[str, ...]:
    """The text as folded, and the same without Markdown emphasis: `**word**` is the word, and `**kwargs` is still there to find."""
    raw = fold(text)
    plain = _UNDERSCORE_EMPHASIS.sub(r"\1", re.sub(r"[*`]+|~~", "", raw))
    return (raw,) if plain == raw else (raw, plain)


@lru_cache(maxsize=4096)
def whole_word(value: str) -> re.Pattern[str]:
    """Matches the value where it is not a part of a longer identifier; spaces match any run of spaces. Case does not matter.

    An edge that is no word character (`C++`, `(…)`) needs no boundary: nothing can continue it.
    """
    value = fold(value).strip()
    body = r"\s+".join(re.escape(part) for part in value.split())
    before = r"(?<!\w)" if re.match(r"\w", value) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", value) else ""
    return re.compile(before + body + after, re.IGNORECASE)


@lru_cache(maxsize=4096)
def _pattern(kind: str, value: str) -> re.Pattern[str]:
    if kind in ("word", "phrase"):
        return whole_word(value)
    literal = re.escape(fold(value))
    if kind == "starts_with":
        return re.compile(_LINE_MARKS.pattern + literal, re.IGNORECASE | re.MULTILINE)
    return re.compile(literal, re.IGNORECASE)
