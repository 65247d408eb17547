"""Two answers to one step beside one another, for arms whose figures lie too close together.

A model is asked which is better, in both orders. A preference that the order decides is a tie, and
so is one whose quote is not in the answer that it is for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any, Literal

from pydantic import ValidationError

from runner.records import AnswerStep, Count, Record, digest_of
from runner.scoring.judges.checklist.hidden import visible
from runner.scoring.judges.form import BrokenReply, FactQuestion, closed_object, facts_block, fenced
from runner.scoring.judges.judge_requests import Ask
from runner.scoring.judges.quotes import find_quote

Preferred = Literal["first", "second", "tie"]


class Preference(Record):
    """A reply, read."""

    quote_1: str
    quote_2: str
    better: Literal["1", "2", "neither"]


@dataclass(frozen=True, kw_only=True)
class PairRequest:
    """form.Question: two answers in one order."""

    asked: tuple[FactQuestion, ...]
    question: str
    answers: tuple[str, str]

    @property
    def system(self) -> str:
        return resources.files(__package__).joinpath("pair_prompt.md").read_text("utf-8")

    @cached_property
    def text(self) -> str:
        blocks = {"QUESTION": self.question, "FACTS": facts_block(self.asked)}
        for number, answer in enumerate(self.answers, 1):
            blocks[f"ANSWER {number}"] = answer
        return f"{fenced(blocks)}\nReport which answer is better."

    @property
    def schema(self) -> dict[str, Any]:
        text = {"type": "string"}
        better = {"type": "string", "enum": ["1", "2", "neither"]}
        return closed_object({"quote_1": text, "quote_2": text, "better": better})

    def read(self, arguments: Mapping[str, Any]) -> Preference:
        """Raises BrokenReply for what does not fit the schema."""
        try:
            return Preference.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            raise BrokenReply(str(error.errors()[0]["msg"])) from error

    def preferred(self, said: Preference) -> int | None:
        """0 or 1, the answer's place in this order; None without a quote that it holds."""
        if said.better == "neither":
            return None
        place = int(said.better) - 1
        quote = (said.quote_1, said.quote_2)[place]
        return place if find_quote(quote, self.answers[place]) else None


@dataclass(frozen=True, kw_only=True)
class PairAsk:
    """One step's two answers, asked about in both orders."""

    forward: Ask[Preference]
    backward: Ask[Preference]

    @property
    def asks(self) -> tuple[Ask[Preference], Ask[Preference]]:
        return self.forward, self.backward

    def preferred(self, said: Mapping[str, Preference]) -> Preferred:
        """Of the first answer or the second, whatever the order."""
        first = _preferred(self.forward, said)
        second = _preferred(self.backward, said)
        if first is None or second is None or first == second:
            return "tie"
        return "first" if first == 0 else "second"


def _preferred(ask: Ask[Preference], said: Mapping[str, Preference]) -> int | None:
    request = ask.request
    assert isinstance(request, PairRequest)  # noqa: S101 - `pair` makes no other
    return request.preferred(said[ask.key])


def pair(
    basis: object, step: int, asked: Sequence[FactQuestion], answers: tuple[AnswerStep, AnswerStep]
) -> PairAsk:
    """`basis`: what a reply follows from beside the request."""
    made = []
    first, second = (visible(answer.text) for answer in answers)
    for texts in ((first, second), (second, first)):
        request = PairRequest(asked=tuple(asked), question=answers[0].prompt, answers=texts)
        key = digest_of([basis, request.system, request.text])
        made.append(Ask(key=key, step=step, request=request))
    return PairAsk(forward=made[0], backward=made[1])


# --- an arm against the shell ---------------------------------------------------------------


class PairTally(Record):
    """Of an arm's answers beside the shell's, a pair of trials each."""

    arm: str
    wins: Count
    ties: Count
    losses: Count
    p: float
    """Two-sided sign test over wins and losses; 1 if there is none."""


def tally(arm: str, results: Sequence[Preferred]) -> PairTally:
    """`first` is the arm's."""
    wins, losses = results.count("first"), results.count("second")
    return PairTally(
        arm=arm,
        wins=wins,
        ties=results.count("tie"),
        losses=losses,
        p=sign_test(wins, losses),
    )


def majority(steps: Sequence[Preferred]) -> Preferred:
    """Of a trial's steps."""
    first, second = steps.count("first"), steps.count("second")
    if first == second:
        return "tie"
    return "first" if first > second else "second"


def sign_test(wins: int, losses: int) -> float:
    """How often a fair coin would be as far from even: exact, two-sided."""
    n, fewer = wins + losses, min(wins, losses)
    tail = sum(math.comb(n, k) for k in range(fewer + 1))
    return float(min(1.0, 2 * tail / 2**n))


def pair_lines(tallies: Sequence[PairTally]) -> Iterator[str]:
    """As a person reads them."""
    for item in tallies:
        yield (
            f"{item.arm} beside the shell, both orders: {item.wins} preferred, {item.ties} tied, "
            f"{item.losses} passed over (sign test p = {item.p:.3f})"
        )
