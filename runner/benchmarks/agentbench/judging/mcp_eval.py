"""MCP-Eval: did the answer give the user what was asked for? Pass or fail, by the outcome alone.

A judge sees the query, the reference answer and the model's answer; never a tool call. `values`,
the default, is deterministic (values.py). `model:<id>` reads by the paper's principles, in our own
words, and its verdict is what stands in its last tag: of 95 replies of published judges, one parser
took 21 failures for successes because the word "success" stood somewhere in the text.

Source: seed 003, section 2.3 and the evaluation prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, Generic, Protocol, TypeVar, cast

from runner.agents.models import full_name, is_language_model, kind_name, require_known
from runner.agents.models.model_settings import Endpoint
from runner.benchmarks.agentbench.judging.values import ValueFound, compare_values
from runner.benchmarks.agentbench.queries import Query
from runner.protocols import Model, Turn, UserMessage
from runner.records import Record, Unscored, canonical_json, digest_of
from runner.scoring.judges.checklist.hidden import visible
from runner.scoring.judges.form import BrokenReply, Question, fenced
from runner.scoring.judges.judge_requests import Ask, Asking
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.support.errors import FairtrialError, NoReply

R = TypeVar("R")
VERSION = "1"
"""Raise it if the form of a request changes; the prompt's text counts by itself."""
VALUES = "values"
OUTPUT_TOKENS = 8192
SILENCE = "there is no answer"
PROMPT = "mcp_eval_prompt.md"


class Judgment(Record):
    """What a judge says of one answer."""

    passed: bool
    reason: str
    values: tuple[ValueFound, ...] = ()
    """Of the judge that looks for values."""


JudgmentOrUnscored = Judgment | Unscored


class OutcomeJudge(Protocol):
    """Of queries and answers; `judge` has an event loop of its own."""

    @property
    def name(self) -> str:
        """As `--judge` takes it."""
        ...

    def judge(self, answers: Sequence[tuple[Query, str]]) -> list[JudgmentOrUnscored]:
        """One for each, in their order; Unscored where a model gave no verdict, twice.

        Raises NoVerdict if the model cannot be reached, ProviderRefused if it never could,
        SpendingCap if nothing may be spent any more.
        """
        ...


def open_outcome_judge(name: str, settings: JudgeSettings) -> OutcomeJudge:
    """Raises FairtrialError for a name that no judge has, or a model that cannot judge."""
    if name == VALUES:
        return ValuesJudge()
    kind, _, model = name.partition(":")
    if kind != "model" or not model:
        hint = f"there are: {VALUES}, model:<id> with an id that --model takes"
        raise FairtrialError(f"no judge of outcomes is called {name!r}", hint=hint)
    return ModelOutcomeJudge(model, settings)


# --- deterministic ------------------------------------------------------------------------------


class ValuesJudge:
    """OutcomeJudge: passes what asserts every value of the reference."""

    name = VALUES

    def judge(self, answers: Sequence[tuple[Query, str]]) -> list[JudgmentOrUnscored]:
        return [self._judged(query, answer) for query, answer in answers]

    def _judged(self, query: Query, answer: str) -> Judgment:
        if is_silent(answer):
            return Judgment(passed=False, reason=SILENCE)
        found = compare_values(query, answer)
        wanting = [f"{one.text}: {one.standing}" for one in found if one.standing != "found"]
        reason = "; ".join(wanting) or "every value of the reference is asserted"
        return Judgment(passed=not wanting, reason=reason, values=found)


def is_silent(answer: str) -> bool:
    return not visible(answer).strip()


# --- a model ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TextQuestion(Generic[R]):
    """judges.form.Question whose reply is prose with tags in it."""

    system: str
    text: str
    reader: Callable[[str], R]
    """Raises BrokenReply."""
    schema: dict[str, Any] = field(default_factory=dict)

    def read(self, arguments: Mapping[str, Any]) -> R:
        return self.reader(str(arguments.get("text", "")))


class TextAsking(Asking):
    """Asking for prose; a reply that cannot be used, twice, leaves the others their verdicts."""

    async def _reply(self, model: Model, asked: UserMessage, request: Question[Any]) -> Turn:
        turn = await model.turn(request.system, [asked], (), timeout_sec=self.settings.reply_sec)
        return replace(turn, calls=(), text=canonical_json({"text": turn.text}))

    async def _ask(self, model: Model, ask: Ask[R]) -> R:
        try:
            return await super()._ask(model, ask)
        except NoReply as error:
            return cast("R", Unscored(reason=error.what))


@dataclass(frozen=True, kw_only=True)
class JudgeModel:
    """A model that judges, and what its replies follow from apart from the request."""

    name: str
    endpoint: str
    """Digest of where it is reached."""
    asking: TextAsking
    basis: list[Any]


def judge_model(model: str, settings: JudgeSettings) -> JudgeModel:
    """Raises FairtrialError for a model that there is not, or that judges nothing."""
    require_known(model)
    endpoint = getattr(settings.models, kind_name(model), None)
    if not is_language_model(kind_name(model)) or not isinstance(endpoint, Endpoint):
        hint = f"judge with a language model behind an API, or with --judge {VALUES}"
        raise FairtrialError(f"{model} judges nothing", hint=hint)
    limits = replace(settings.models, thinking_tokens=0, output_tokens=OUTPUT_TOKENS)
    place = settings.judging.endpoints.get(model, endpoint.digest)
    return JudgeModel(
        name=model,
        endpoint=place,
        asking=TextAsking(model, replace(settings, models=limits)),
        basis=[full_name(model), place, OUTPUT_TOKENS, VERSION],
    )


class ModelOutcomeJudge:
    """OutcomeJudge: a language model. What it says is kept, and paid for once."""

    def __init__(self, model: str, settings: JudgeSettings) -> None:
        """As judge_model. A key is asked for when a request is made."""
        self.model = judge_model(model, settings)
        self.name = f"model:{model}"

    def judge(self, answers: Sequence[tuple[Query, str]]) -> list[JudgmentOrUnscored]:
        asks: list[Ask[JudgmentOrUnscored] | None] = []
        for place, (query, answer) in enumerate(answers):
            asks.append(None if is_silent(answer) else self._ask(place, query, answer))
        said = self.model.asking.said([ask for ask in asks if ask is not None])
        silence = Judgment(passed=False, reason=SILENCE)
        return [silence if ask is None else said[ask.key] for ask in asks]

    def _ask(self, place: int, query: Query, answer: str) -> Ask[JudgmentOrUnscored]:
        blocks = {
            "REQUEST": query.query,
            "REFERENCE": query.reference_answer,
            "ANSWER": visible(answer),
        }
        text = f"{fenced(blocks)}\nJudge the answer."
        return text_ask(self.model, prompt(PROMPT), text, read_judgment, place)


def text_ask(
    model: JudgeModel, system: str, text: str, reader: Callable[[str], R], place: int
) -> Ask[R]:
    """`place`: of the answer among those asked about, for the record."""
    request = TextQuestion(system=system, text=text, reader=reader)
    return Ask(key=digest_of([model.basis, system, text]), step=place, request=request)


def prompt(name: str) -> str:
    """As it is shipped."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def endpoints_of(judge: OutcomeJudge) -> dict[str, str]:
    """As Judging keeps it: a report without the address knows the judge's replies again."""
    if isinstance(judge, ModelOutcomeJudge):
        return {judge.model.name: judge.model.endpoint}
    return {}


# --- replies ------------------------------------------------------------------------------------


def read_judgment(reply: str) -> Judgment:
    """Raises BrokenReply without a verdict in the last tag."""
    verdict = last_tag(reply, "judgment", ("pass", "fail"))
    return Judgment(passed=verdict == "pass", reason=reason_in(reply))


def last_tag(reply: str, tag: str, allowed: Sequence[str]) -> str:
    """What the last tag of that name says. Raises BrokenReply.

    Only the last: a reason quotes the answer, and the answer may hold a verdict of its own.
    """
    opened = list(re.finditer(rf"<{tag}>", reply, re.IGNORECASE))
    if not opened:
        raise BrokenReply(f"it has no <{tag}> tag")
    end = re.compile(rf"</{tag}>", re.IGNORECASE).search(reply, opened[-1].end())
    if end is None:
        raise BrokenReply(f"its last <{tag}> tag is not closed")
    said = reply[opened[-1].end() : end.start()].strip().casefold()
    if said not in allowed:
        raise BrokenReply(f"its last <{tag}> says {said[:40]!r}, not one of {', '.join(allowed)}")
    return said


def reason_in(reply: str) -> str:
    """Of a reply with a verdict; the whole of what stands before it, if there is no tag."""
    match = re.search(r"<reason>(.*?)(?:</reason>|<judgment>|<kind>|\Z)", reply, re.S | re.I)
    return (match[1] if match else re.split(r"<(?:judgment|kind)>", reply)[0]).strip()
