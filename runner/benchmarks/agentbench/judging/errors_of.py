"""Why did an answer fail? What a rule can tell from the transcript, and what a model says.

A rule's signs are facts and no verdict: a cell can have several, or none. A judge's kind is one of
the paper's four, with its reason. The judge of the outcome sees no call; this one is asked
afterwards, of failures alone, and its word changes no verdict.

Source: seed 003, section 3.3, "Error Analysis".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from runner.benchmarks.agentbench.judging.mcp_eval import (
    JudgeModel,
    Judgment,
    last_tag,
    prompt,
    reason_in,
    text_ask,
)
from runner.benchmarks.agentbench.judging.quantities import Quantity, is_same, quantities
from runner.benchmarks.agentbench.judging.wanted import wanted, without_markup
from runner.benchmarks.agentbench.queries import Query
from runner.records import (
    Event,
    Note,
    Outcome,
    Prose,
    Record,
    ToolCall,
    ToolResult,
    Unscored,
    Usage,
)
from runner.scoring.judges.checklist.hidden import visible
from runner.scoring.judges.form import fenced
from runner.scoring.judges.judge_requests import Ask

ErrorKind = Literal["misinterpretation", "refusal", "omission", "hallucination"]
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
Sign = Literal[
    "no answer",
    "limit reached",
    "no tool called",
    "every call failed",
    "left out what a tool said",
    "figure from nowhere",
]
SIGNS: tuple[Sign, ...] = get_args(Sign)
LEAST_DIGITS = 3
"""Of a figure that is looked for: smaller ones number lists, and stand everywhere."""
RESULT_CHARS = 1500
"""Of one result, and of one call's arguments, that a judge of failures is shown."""
CALLS_SHOWN = 30
PROMPT = "error_prompt.md"
TOLD_TO_ANSWER = "told to answer"
"""How agents/tool_calling.py's note of it begins."""


@dataclass(frozen=True, kw_only=True)
class Called:
    """A call and what it gave."""

    tool: str
    arguments: str
    """JSON."""
    result: str | None
    """None if nothing came back."""
    is_error: bool


@dataclass(frozen=True, kw_only=True)
class QueryTranscript:
    """What a transcript says of one query."""

    answer: str
    """The prose of the last turn, if it called nothing."""
    calls: tuple[Called, ...]
    actions: int
    """Calls, and turns without one."""
    tokens: int
    """Of all turns, in and out, caches included: what the model was given and wrote."""
    limit_reached: bool = False
    """It was told to answer, or cut."""


class ErrorLabel(Record):
    """What a model says a failure is."""

    kind: ErrorKind
    reason: str


class FailureDiagnosis(Record):
    """Why one answer failed, as far as it can be told."""

    signs: tuple[Sign, ...]
    strange: tuple[str, ...] = ()
    """Figures that neither the query nor a tool has."""
    label: ErrorLabel | Unscored | None = None
    """Of a judge that is a model; None if there is none."""


# --- the transcript -----------------------------------------------------------------------------


def told_in(events: Iterable[Event]) -> QueryTranscript:
    """The answer is the prose of the turn that called nothing, as the paper's loop ends there."""
    events = list(events)
    turns = [event.turn for event in events if isinstance(event, Usage)]
    calling = {event.turn for event in events if isinstance(event, ToolCall)}
    last = max(turns, default=-1)
    prose = [event.text for event in events if isinstance(event, Prose) and event.turn == last]
    calls = tuple(_calls(events))
    spent = [event for event in events if isinstance(event, Usage)]
    return QueryTranscript(
        answer="" if last in calling else "\n\n".join(prose).strip(),
        calls=calls,
        actions=len(calls) + len(set(turns) - calling),
        limit_reached=any(
            isinstance(event, Note) and event.text.startswith(TOLD_TO_ANSWER) for event in events
        ),
        tokens=sum(one.input_tokens + one.cache_read_tokens + one.output_tokens for one in spent),
    )


def _calls(events: Sequence[Event]) -> Iterator[Called]:
    results = {
        (event.turn, event.call_id): event for event in events if isinstance(event, ToolResult)
    }
    for event in events:
        if isinstance(event, ToolCall):
            result = results.get((event.turn, event.call_id))
            yield Called(
                tool=event.tool,
                arguments=json.dumps(event.arguments, ensure_ascii=False),
                result=result.text if result else None,
                is_error=result.is_error if result else True,
            )


# --- by rule ------------------------------------------------------------------------------------


def signs_of(
    query: Query, told: QueryTranscript, outcome: Outcome, judgment: Judgment
) -> FailureDiagnosis:
    """Of an answer that failed."""
    strange = tuple(_strange(query, told))
    found: list[Sign] = []
    if not told.answer:
        found.append("no answer")
    if told.limit_reached or outcome.kind.startswith("out_of_"):
        found.append("limit reached")
    if not told.calls:
        found.append("no tool called")
    elif all(call.is_error for call in told.calls):
        found.append("every call failed")
    if any(_left_out(query, told, judgment)):
        found.append("left out what a tool said")
    if strange:
        found.append("figure from nowhere")
    return FailureDiagnosis(signs=tuple(found), strange=strange)


def _left_out(query: Query, told: QueryTranscript, judgment: Judgment) -> Iterator[str]:
    """Values of the reference that a tool gave, and the answer does not hold."""
    results = "\n".join(call.result or "" for call in told.calls if not call.is_error)
    absent = {one.text for one in judgment.values if one.standing == "absent"}
    for value in query.values:
        is_absent = value.text in absent if judgment.values else not _holds(value.text, told.answer)
        shown = value.shown or value.text
        if is_absent and (_holds(shown, results) or _holds(value.text, results)):
            yield value.text


def _holds(value: str, text: str) -> bool:
    return bool(wanted(value).mentions(without_markup(text)))


def _strange(query: Query, told: QueryTranscript) -> Iterator[str]:
    """Figures of the answer that are in no result and not in the query, rounded or not."""
    if not told.calls:
        # From memory, all of them are; that is another sign.
        return
    answer = without_markup(told.answer)
    known = [*quantities(without_markup(query.query))]
    for call in told.calls:
        known += quantities(f"{call.arguments}\n{call.result or ''}")
    seen = set()
    for said in _outermost(quantities(answer)):
        text = answer[said.start : said.end].strip()
        is_figure = said.digits >= LEAST_DIGITS and text not in seen
        if is_figure and not any(_is_from(said, one) for one in known):
            seen.add(text)
            yield text


def _outermost(found: Iterable[Quantity]) -> Iterator[Quantity]:
    """Without the 345 of 12 345."""
    end = -1
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if one.end > end:
            end = one.end
            yield one


def _is_from(said: Quantity, known: Quantity) -> bool:
    """Is it that figure, with its unit or without, or rounded?"""
    bare = Quantity(**{**vars(known), "unit": ""})
    return is_same(known, said, None) or is_same(bare, said, None)


# --- by a model ---------------------------------------------------------------------------------


def label_ask(
    model: JudgeModel, query: Query, told: QueryTranscript, judgment: Judgment, place: int
) -> Ask[ErrorLabel | Unscored]:
    """What a judge is asked about a failure; see mcp_eval.TextAsking."""
    blocks = {
        "REQUEST": query.query,
        "REFERENCE": query.reference_answer,
        "ANSWER": visible(told.answer) or "(none)",
        "VERDICT": judgment.reason,
        "CALLS": "\n\n".join(_shown(told.calls)) or "(none)",
    }
    text = f"{fenced(blocks)}\nSay what kind of failure it is."
    return text_ask(model, prompt(PROMPT), text, read_label, place)


def read_label(reply: str) -> ErrorLabel:
    """Raises BrokenReply without a kind in the last tag."""
    said = last_tag(reply, "kind", ERROR_KINDS)
    return ErrorLabel.model_validate({"kind": said, "reason": reason_in(reply)})


def _shown(calls: Sequence[Called]) -> Iterator[str]:
    for number, call in enumerate(calls[:CALLS_SHOWN], 1):
        kind = "error" if call.is_error else "result"
        result = "(nothing came back)" if call.result is None else _clipped(call.result)
        yield f"{number}. {call.tool} {_clipped(call.arguments)}\n{kind}: {result}"
    if len(calls) > CALLS_SHOWN:
        yield f"… {len(calls) - CALLS_SHOWN} calls more"


def _clipped(text: str) -> str:
    if len(text) <= RESULT_CHARS:
        return text
    half = RESULT_CHARS // 2
    return f"{text[:half]}… {len(text) - RESULT_CHARS:,} characters …{text[-half:]}"
