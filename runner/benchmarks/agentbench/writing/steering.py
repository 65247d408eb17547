"""What each draft is to be like: a model that is asked the same question writes the same case.

Every aim is a list, and drafts go through each in an order of their own, so that a seed repeats and
no combination comes again soon: the lists' lengths have no factor in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.benchmarks.agentbench.queries import Category
from runner.records import digest_of

DOMAINS = (
    "bookkeeping in a small firm",
    "a hospital ward or surgery",
    "a museum, archive or library",
    "farming, forestry or gardening",
    "shipping, ports or logistics",
    "a school or evening class",
    "a building site or workshop",
    "a kitchen, bakery or brewery",
    "insurance and claims",
    "a town hall or public office",
    "sport, clubs and events",
    "a laboratory or testing house",
    "human resources",
    "a theatre, festival or broadcaster",
    "surveying, maps and land",
    "energy and water supply",
    "a charity or parish",
    "a shop and its stock",
    "research and statistics",
    "law and notaries",
    "travel and hotels",
    "hobbies and family history",
    "networks and help desks",
)
ANSWERS = (
    "an amount or a measure",
    "a name or a record among many",
    "a date or a time",
    "a short list in an order",
    "a yes or no that stands on a figure, said with it",
    "a text, code or formatted value to paste somewhere",
    "what is wrong: the entry, step or figure that does not agree",
)
LENGTHS = (
    "800 to 1,000 characters: circumstances, what was tried, what it is for",
    "450 to 700 characters",
    "800 to 1,000 characters: with side remarks and figures that are not needed",
)
TWISTS = (
    "The obvious first place to look gives nothing, and another one has it.",
    "A tool that almost fits would give a plausible wrong answer.",
    "One of the figures that the person gives has to be converted or corrected first.",
    "Nothing special: plain work, done carefully.",
)
CALLS = ("4", "5 or 6", "7 or 8", "9 or 10", "4 or 5")
"""For sequences and parallel calls."""
MOST_TOLD = 12
"""Earlier drafts that a plan is shown."""
TOLD_CHARS = 160


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What one draft is to be like."""

    domain: str
    answer: str
    length: str
    twist: str
    calls: str

    def as_text(self) -> str:
        return (
            f"domain: {self.domain}\ncalls: {self.calls}\nkind of answer: {self.answer}\n"
            f"length of the message: {self.length}\ndifficulty: {self.twist}"
        )


def aim_of(category: Category, seed: int, number: int) -> Aim:
    """`number`: of the draft in its category."""

    def taken(values: Sequence[str]) -> str:
        in_order = sorted(values, key=lambda value: digest_of([seed, category, value]))
        return in_order[number % len(in_order)]

    is_single = category.endswith("single-call")
    return Aim(
        domain=taken(DOMAINS),
        answer=taken(ANSWERS),
        length=taken(LENGTHS),
        twist=taken(TWISTS),
        calls="1" if is_single else taken(CALLS),
    )


def planned_text(planned: Sequence[str]) -> str:
    """The last drafts' persons and scenarios, a line each: what is not to come again."""
    lines = [" ".join(text.split())[:TOLD_CHARS] for text in planned[-MOST_TOLD:]]
    return "\n".join(f"- {line}" for line in lines)
