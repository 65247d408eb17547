"""Requests to the model of a judge: asked once more if broken, kept, paid for once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from runner.agents.models import open_model
from runner.agents.models.wire import load_json
from runner.agents.text_tool_calls import ConstrainedModel
from runner.agents.usage import usage_of
from runner.protocols import LineSource, Message, Model, ToolSpec, Turn, UserMessage
from runner.records import AnswerStep, Count, MustCite, Record, Rubric, Usage
from runner.scoring.judges import form
from runner.scoring.judges.form import BrokenReply, Question
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.scoring.judges.replies import KeptReply, Replies
from runner.support.errors import FairtrialError, NoReply, NoVerdict, ProviderError, ProviderRefused
from runner.support.interrupts import run_until_done

R = TypeVar("R")
ATTEMPTS = 2


@runtime_checkable
class ForcedModel(Protocol):
    """A model that can be made to call a tool."""

    async def forced_turn(
        self, system: str, conversation: Sequence[Message], tool: ToolSpec, *, timeout_sec: float
    ) -> Turn:
        """Raises ProviderError if the provider fails, TimeoutError past the deadline."""
        ...


@dataclass(frozen=True, kw_only=True)
class Ask(Generic[R]):
    """One request, and what it is about."""

    key: str
    """Digest of all that its reply follows from."""
    step: int
    request: Question[R]


class ToJudge(NamedTuple):
    """What `Judge.judge` takes."""

    rubric: Rubric
    answer: Sequence[AnswerStep]
    must_find: Sequence[Sequence[MustCite]]
    source: LineSource | None


class JudgeEstimate(Record):
    """What is left to ask one judge of a run."""

    judge: str
    calls: Count
    kept: Count
    """Replies that are there already and cost nothing."""
    input_tokens: Count
    """Estimated as characters / 4."""
    output_tokens: Count
    usd: float | None
    """None if the model has no price."""
    hours: float | None = None
    """Of weights on this machine, at two threads; None for a model behind an API."""


class Asking:
    """One model, and what is kept of its replies."""

    def __init__(self, model: str, settings: JudgeSettings) -> None:
        self.model, self.settings = model, settings
        self._replies = Replies(folder=settings.replies) if settings.replies else None

    def kept(self, ask: Ask[R]) -> R | None:
        """What costs nothing any more; None if it has to be asked for."""
        kept = self._replies.get(ask.key) if self._replies else None
        if kept is None or kept.arguments is None:
            return None
        try:
            return ask.request.read(kept.arguments)
        except BrokenReply:
            return None

    def said(self, asks: Sequence[Ask[R]]) -> dict[str, R]:
        """Of every request, by its key.

        What is answered is kept, whatever became of the rest. Raises NoVerdict if a reply cannot be
        had or used, ProviderRefused if none ever could, SpendingCap if nothing may be spent any
        more.
        """
        said: dict[str, R] = {}
        missing = []
        for ask in asks:
            if kept := self.kept(ask):
                said[ask.key] = kept
            else:
                missing.append(ask)
        if missing:
            run_until_done(self._ask_all(missing, said))
        return said

    async def _ask_all(self, asks: Sequence[Ask[R]], said: dict[str, R]) -> None:
        slots = asyncio.Semaphore(self.settings.at_once)
        model = open_model(self.model, self.settings.models)

        failures: list[FairtrialError] = []

        async def ask_one(ask: Ask[R]) -> None:
            async with slots:
                # What one request met, such as a time-out, says nothing of the next. A model that
                # is out of reach would let each of them wait.
                if not all(isinstance(failure, NoReply) for failure in failures):
                    return
                try:
                    said[ask.key] = await self._ask(model, ask)
                except FairtrialError as error:
                    # Raised here, it would cancel the others, which are paid for all the same.
                    failures.append(error)

        try:
            async with asyncio.TaskGroup() as tasks:
                for ask in asks:
                    tasks.create_task(ask_one(ask))
        finally:
            await model.close()
        if failures:
            raise _worst(failures, len(asks))

    async def _ask(self, model: Model, ask: Ask[R]) -> R:
        """Raises NoVerdict if no reply has the form that was asked for."""
        earlier = self._replies.get(ask.key) if self._replies else None
        spent = list(earlier.asked if earlier else ())
        problem = ""
        for _ in range(ATTEMPTS):
            self.settings.purse.require()
            started = time.monotonic()
            turn = await self._turn(model, ask.request, problem)
            usage = usage_of(turn, ask.step, len(spent), time.monotonic() - started)
            self.settings.purse.add(self.model, usage)
            spent.append(usage)
            try:
                arguments = _arguments(turn)
                reading = ask.request.read(arguments)
            except BrokenReply as broken:
                problem = str(broken)
                self._keep(ask, spent, None, problem)
            else:
                self._keep(ask, spent, arguments)
                return reading
        raise NoReply(f"{self.model} gave no reply that could be used, twice: {problem}")

    async def _turn(self, model: Model, request: Question[Any], problem: str) -> Turn:
        text = request.text
        if problem:
            text += f"\n\nYour last reply could not be used ({problem}). Report again, in full."
        try:
            turn = await self._reply(model, UserMessage(text=text), request)
        except ProviderRefused:
            # Every further answer would fail alike: the verb ends here.
            raise
        except TimeoutError as error:
            limit_sec = self.settings.reply_sec
            raise NoReply(f"{self.model} gave no whole reply in {limit_sec:g} s") from error
        except ProviderError as error:
            raise NoVerdict(f"{self.model} cannot be reached: {error}") from error
        if turn.stop == "context_full":
            hint = "ask with a smaller --judge-batch"
            raise NoReply("facts and answer are longer than the model takes", hint=hint)
        return turn

    async def _reply(self, model: Model, asked: UserMessage, request: Question[Any]) -> Turn:
        system, limit_sec = request.system, self.settings.reply_sec
        if self.settings.judging.form == "schema" and isinstance(model, ConstrainedModel):
            return await model.constrained_turn(
                system, [asked], request.schema, timeout_sec=limit_sec
            )
        if self.settings.judging.form == "tool" and isinstance(model, ForcedModel):
            return await model.forced_turn(system, [asked], _tool(request), timeout_sec=limit_sec)
        raise ProviderRefused(
            f"{model.name} cannot be held to the form of a judge's reply",
            hint="choose another --judge-form, or another model",
        )

    def _keep(
        self,
        ask: Ask[Any],
        spent: Sequence[Usage],
        arguments: dict[str, Any] | None,
        problem: str = "",
    ) -> None:
        if self._replies is None:
            return
        reply = KeptReply(
            key=ask.key,
            model=self.model,
            asked=tuple(spent),
            usd=self.settings.purse.cost_usd(self.model, spent),
            arguments=arguments,
            problem=problem,
        )
        self._replies.put(reply)


def _worst(failures: Sequence[FairtrialError], asked: int) -> FairtrialError:
    """The one that would meet every request, if there is one; else the first, with the count."""
    for failure in failures:
        if not isinstance(failure, NoReply):
            return failure
    first, count = failures[0], len(failures)
    if count == asked == 1:
        return first
    what = f"{count} of {asked} requests without a reply that can be used, the first: {first.what}"
    return NoReply(what, hint=first.hint or "judge again: the others' replies are kept")


def _tool(request: Question[Any]) -> ToolSpec:
    return ToolSpec(
        name=form.TOOL,
        description="Report what you have read.",
        input_schema=request.schema,
        origin="shell",
    )


def _arguments(turn: Turn) -> dict[str, Any]:
    """What a forced call or a constrained reply holds. Raises BrokenReply."""
    if turn.stop == "max_tokens":
        raise BrokenReply("it was cut off by the limit of output tokens")
    for call in turn.calls:
        if call.tool == form.TOOL:
            if call.problem:
                raise BrokenReply(call.problem)
            return call.arguments
    try:
        value = load_json(turn.text)
    except ValueError as error:
        raise BrokenReply(f"neither a call nor JSON ({turn.stop}): {error}") from error
    if not isinstance(value, dict):
        raise BrokenReply("it is no JSON object")
    return value
