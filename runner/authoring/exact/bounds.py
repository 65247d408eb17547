"""Which of the questions that are made are asked: none that can be gamed, not too many of a sort.

How many of a sort there may be is a share of those that are made, not of those asked for.
Of 400 that were asked for, a quarter was more than all that a small repository has: most of what it
had were of no place, and whoever always said so would have won.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from runner.catalog.catalog import loaded_question
from runner.gate.exact_pairs import ask_pairs
from runner.protocols import Files, Log
from runner.records.exact import ExactKind, ExactQuestion, ExactQuestions
from runner.scoring.judges.exact_judge import Exact
from runner.support.errors import FairtrialError

_FEWEST = 12
"""The bound on kinds gives way before it leaves fewer, which could rank nobody. The bound on none
never gives way."""
_KINDS = [it for it in get_args(ExactKind) if it != "past_fix"]


def proven(folder: str, asked: ExactQuestions, files: Files, log: Log) -> list[ExactQuestion]:
    """Without those of which a worse answer is worth as much as the key; each of them is told.

    The gate asks it of all that ship.
    """
    kept = []
    # What is parsed for one answer is what the next one cites.
    with tempfile.TemporaryDirectory(prefix="fairtrial-") as cache:
        for question in asked.questions:
            loaded = loaded_question(folder, asked, question)
            lost = ask_pairs(Exact(), loaded, files, cache_dir=Path(cache)).lost
            if lost:
                log(f"left out: {question.name}: {lost[0][0]} scores as much as the key")
            else:
                kept.append(question)
    return kept


def most_of_kind(count: int) -> int:
    """A quarter of so many that are asked for; of few, two. Of those that are made it is half: some
    repositories have three kinds, and a quarter of each would throw most of them away.
    """
    return max(count // 4, 2)


def most_of_none(count: int) -> int:
    """Of no place: a quarter, and of three none at all."""
    return count // 4


def settled(
    found: Sequence[ExactQuestion], left: Sequence[ExactQuestion], count: int, log: Log
) -> list[ExactQuestion]:
    """Those that are asked, of what is left of all that were found; a line says why they are few.

    Raises FairtrialError if all that is left is of no place.
    """
    kept = within_bounds(_trimmed(left, count))
    if left and not kept:
        hint = "whoever always says so would be right; a larger repository has others"
        raise FairtrialError("the answer of all that was drawn here is none", hint=hint)
    if len(kept) < count:
        log(_why_fewer(found, kept, count))
    return kept


def _trimmed(questions: Sequence[ExactQuestion], count: int) -> list[ExactQuestion]:
    """Half drawn, in the order of the draw; each sort up to its share of so many."""
    by_kind: Counter[str] = Counter()
    kept: list[ExactQuestion] = []
    for drawn, most in ((True, (count + 1) // 2), (False, count)):
        for question in questions:
            kind = question.key.kind
            fits = by_kind[kind] < most_of_kind(count) and len(kept) < most
            if not question.key.places:
                fits = fits and len(_of_none(kept)) < most_of_none(count)
            if question.drawn == drawn and fits:
                by_kind[kind] += 1
                kept.append(question)
    return kept


def within_bounds(questions: Sequence[ExactQuestion]) -> list[ExactQuestion]:
    """Without the surplus: of the sort that has most, the last that was made goes first."""
    kept = list(questions)
    while surplus := _surplus(kept):
        fullest = _counts(surplus).most_common(1)[0][0]
        kept.remove([it for it in surplus if it.key.kind == fullest][-1])
    return kept


def _surplus(kept: Sequence[ExactQuestion]) -> list[ExactQuestion]:
    """All of a sort that there are too many of; nothing where there is none."""
    none = _of_none(kept)
    if len(none) > most_of_none(len(kept)):
        return none
    fullest, most = _counts(kept).most_common(1)[0] if kept else ("", 0)
    if len(kept) <= _FEWEST or most <= len(kept) // 2:
        return []
    return [it for it in kept if it.key.kind == fullest]


def _counts(questions: Sequence[ExactQuestion]) -> Counter[str]:
    return Counter(it.key.kind for it in questions)


def _of_none(questions: Sequence[ExactQuestion]) -> list[ExactQuestion]:
    return [it for it in questions if not it.key.places]


def _why_fewer(found: Sequence[ExactQuestion], kept: Sequence[ExactQuestion], count: int) -> str:
    had, has = _counts(found), _counts(kept)
    kinds = ", ".join(f"{it} {has[it]} of {had[it]}" if had[it] else f"{it} 0" for it in _KINDS)
    return (
        f"{len(kept)} questions of {count}: a quarter of them at most is of no place, and half of"
        f" one kind (of {_FEWEST} or fewer, more may be). Kept of those that were made: {kinds};"
        f" of no place {len(_of_none(kept))} of {len(_of_none(found))}"
    )
