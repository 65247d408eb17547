"""A reference made from a trajectory that passed: its calls, what feeds them, its values.

What comes of it is a proposal, for `check` to hold to the rules and for a person to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from runner.benchmarks.agentbench.proof.query_rules import (
    Trajectory,
    half_of_last_digit,
    superfluous,
)
from runner.benchmarks.agentbench.proof.trajectory import (
    NUMBER,
    NotGiven,
    as_text,
    given_by,
    has_telling_number,
    leaves,
    stands,
    stands_in,
)
from runner.benchmarks.agentbench.queries import Query, ReferenceCall, ReferenceValue
from runner.benchmarks.agentbench.writing.drafts import DraftTrial, QueryDraft, ToolUsed
from runner.records import load_json

TOKEN = re.compile(r"\w(?:[\w.,:/+-]*\w)?")
CONTEXT_CHARS = 24
PLAIN_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"


class NotDerivable(Exception):  # noqa: N818 - it sends a draft to an expert
    """Why a trajectory makes no reference."""


def derived(draft: QueryDraft, trial: DraftTrial) -> Query:
    """The draft as a query, with the trial's answer for its reference, and the calls it needs.

    Raises NotDerivable if the answer holds nothing that a result shows.
    """
    calls = [call for call in trial.calls if not call.is_error and call.result]
    while True:
        query = _query(draft, trial, _fed(draft.query, calls))
        idle = superfluous(Trajectory(query))
        if not idle or len(calls) == 1:
            return query
        # Models look at more than they need. One at a time: of two alike one is needed.
        del calls[idle[0]]


def _query(draft: QueryDraft, trial: DraftTrial, calls: Sequence[ReferenceCall]) -> Query:
    values = values_in(trial.answer, draft.query, calls)
    if not values:
        raise NotDerivable("the answer holds no value that a result shows and the query does not")
    try:
        return Query(
            id=draft.id,
            category=draft.category,
            query=draft.query,
            servers=tuple(dict.fromkeys(call.server for call in calls)),
            reference_answer=trial.answer,
            values=tuple(values),
            calls=tuple(calls),
            provenance=draft.provenance,
            unreviewed=True,
        )
    except ValidationError as error:
        raise NotDerivable(str(error.errors()[0]["msg"])) from error


# --- values ---------------------------------------------------------------------------------


def values_in(answer: str, query: str, calls: Sequence[ReferenceCall]) -> list[ReferenceValue]:
    """What the answer says that a result shows, and neither the query nor its call's arguments."""
    found: dict[str, ReferenceValue] = {}
    for text in [*_tokens(answer), *_words(answer, calls)]:
        if text not in found and not stands_in(query, text):
            value = _value(text, calls)
            if value is not None:
                found[text] = value
    return list(found.values())


def _tokens(answer: str) -> Iterator[str]:
    """Figures, dates, codes: what holds a digit. Short ones are in any text by chance."""
    for token in TOKEN.findall(answer):
        if re.search(r"\d", token) and (len(token) >= 4 or has_telling_number(token)):
            yield token


def _words(answer: str, calls: Sequence[ReferenceCall]) -> Iterator[str]:
    """Texts of a result that the answer repeats: all of a short one, or values of a JSON one."""
    for call in calls:
        for text in _texts_of(call.result):
            if 3 <= len(text) <= 200 and stands(text, answer) and not NUMBER.fullmatch(text):
                yield text


def _texts_of(result: str) -> list[str]:
    try:
        value = load_json(result)
    except ValueError:
        return [result.strip()]
    return [leaf for leaf in leaves(value) if isinstance(leaf, str)]


def _value(text: str, calls: Sequence[ReferenceCall]) -> ReferenceValue | None:
    """With the last call that shows it: what came before is fed to that one."""
    for number, call in reversed(list(enumerate(calls, 1))):
        if stands_in(as_text(call.arguments), text):
            continue
        if stands(text, call.result):
            return ReferenceValue(text=text, call=number)
        if shown := _rounded_from(text, call.result):
            return ReferenceValue(text=text, call=number, shown=shown)
    return None


def _rounded_from(text: str, result: str) -> str:
    """The number in the result that `text` is, as it stands there; empty if there is none."""
    if not NUMBER.fullmatch(text) or not has_telling_number(text):
        return ""
    told, half = float(text.replace(",", "")), half_of_last_digit(text)
    for shown in NUMBER.findall(result):
        if abs(float(shown.replace(",", "")) - told) <= half * (1 + 1e-9):
            return str(shown)
    return ""


# --- feeding --------------------------------------------------------------------------------


def _fed(query: str, calls: Sequence[ToolUsed]) -> list[ReferenceCall]:
    """The calls with `{{name}}` wherever an argument is what only an earlier result shows."""
    feeding = _Feeding(query)
    for call in calls:
        arguments = feeding.fed(call.arguments)
        made = ReferenceCall(
            server=call.server, tool=call.tool, arguments=arguments, result=call.result
        )
        feeding.calls.append(made)
    return feeding.calls


@dataclass
class _Feeding:
    query: str
    calls: list[ReferenceCall] = field(default_factory=list)
    """Those so far, with what they give to later ones."""
    names: int = 0

    def fed(self, value: Any) -> Any:
        """The argument, with every part of it that an earlier call gives replaced by a name."""
        if isinstance(value, dict):
            return {key: self.fed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fed(item) for item in value]
        if isinstance(value, bool) or value is None or stands(str(value), self.query):
            return value
        name = self._given(value)
        if not name:
            return value
        is_figure = isinstance(value, str) and re.fullmatch(PLAIN_NUMBER, value)
        return f"{{{{{name}|text}}}}" if is_figure else f"{{{{{name}}}}}"

    def _given(self, value: Any) -> str:
        """The name by which an earlier call gives it now; empty if none can."""
        name = f"value{self.names + 1}"
        for index, call in enumerate(self.calls):
            if pattern := _pattern(value, call, name):
                gives = {**call.gives, name: pattern}
                self.calls[index] = call.model_copy(update={"gives": gives})
                self.names += 1
                return name
        return ""


def _pattern(value: Any, call: ReferenceCall, name: str) -> str:
    """What finds the value in the call's result by what stands around it; empty if nothing does."""
    text = str(value)
    if stands(text, as_text(call.arguments)) or not stands(text, call.result):
        return ""
    start = call.result.index(text) if text in call.result else -1
    if start < 0:
        return ""
    before = re.escape(call.result[max(0, start - CONTEXT_CHARS) : start].split("\n")[-1])
    after = re.escape(call.result[start + len(text) :].split("\n")[0][:CONTEXT_CHARS]) or "$"
    group = PLAIN_NUMBER if re.fullmatch(PLAIN_NUMBER, text) else ".+?"
    pattern = f"{before}({group}){after}"
    try:
        finds = given_by(call.model_copy(update={"gives": {name: pattern}}), call.result)[name]
    except NotGiven:
        return ""
    return pattern if finds == text else ""
