"""The `local:<path.gguf>` judge: a small model on this machine reads, one fact and one passage.

For each fact code looks up the passage of the step's answer that is nearest to it (nearest.py), and
the model is asked whether the passage states the fact: what counts is how probable `yes` is as the
next word of its reply, against `no`. Places, weights and sums are counted as the model judge's are
(counting.py); the passage is the quote. It sees no source, no arm, no trace and no other passage.

What it is worth (at commit b9a078c2, with Qwen2.5-Coder-1.5B-Instruct Q4_K_M), on 72 rows of
the five scenarios that its threshold was not fitted on, a third of each kind:

- AUC .85 (.78 to .92): .89 against facts that are absent, .80 against facts turned round by hand
- at the threshold .75 of the rows are read right (.67 to .83), and .67 by who always says no: 14 of
  24 stated, 20 of 24 turned, 20 of 24 absent
- a right passage has a higher chance than the same turned round 23 times in 24; at the threshold
  the two differ 10 times in 24. The gate asks for nine in ten: it screens.

These chances were read behind a beginning of the prompt that the server kept, which the judge does
not allow: over 20 rows they differ by .014 on average and .06 at most. Two rows in five that state
their fact are taken for absent, and nothing is ever `contradicted`. All of the gate's anchors and
pairs have not been read with it.
"""

from __future__ import annotations

import json
import math
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from runner.agents.models import weights_server
from runner.protocols import LineSource, Model, Turn, UserMessage
from runner.records import AnswerStep, Fact, MustCite, Rubric, RubricStep, Verdict, digest_of
from runner.scoring.judges.checklist.hidden import visible
from runner.scoring.judges.checklist.parsed_answer import FactKey, facts_of
from runner.scoring.judges.counting import (
    CountedStep,
    Counting,
    StepReading,
    unanswered,
    verdict_of,
)
from runner.scoring.judges.form import BrokenReply, FactReading, Question
from runner.scoring.judges.inputs import judging_code, verdict_inputs
from runner.scoring.judges.judge_requests import Ask, Asking, JudgeEstimate, ToJudge
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.scoring.judges.nearest import Nearest
from runner.scoring.judges.quotes import find_quote
from runner.support.errors import FairtrialError, NoVerdict, ProviderRefused
from runner.support.token_estimate import CHARS_PER_TOKEN

THRESHOLD = 0.44
"""Of `yes`, from which a fact counts as stated: the best balanced accuracy on 48 rows of four
scenarios, at commit b9a078c2 with Qwen2.5-Coder-1.5B-Instruct Q4_K_M (sha256 cc324af0…).
Other weights would want another one, and are read by this one all the same."""
BEGUN = '{"verdict": "'
YES, NO = ("yes", "y"), ("no", "n")
"""Whole, or the first letter, where that is a token of its own."""
MOST_CHARS = 2000
"""Of a passage: one endless word would not fit in the model's context."""
TOLD_EVERY = 20
"""Facts between two lines of progress."""
SEC_PER_FACT = 9.0
"""Measured with the same weights: about 160 tokens a request on two threads, beside other work."""


@dataclass(frozen=True, kw_only=True)
class Chance:
    """Of `yes`, against `no`."""

    yes: float

    @property
    def is_stated(self) -> bool:
        return self.yes >= THRESHOLD


@dataclass(frozen=True, kw_only=True)
class WordQuestion:
    """form.Question: a fact, and a passage as it is quoted."""

    fact: str
    passage: str

    @property
    def schema(self) -> dict[str, Any]:
        """None: its reply is one word, of which the probability counts."""
        return {}

    @property
    def system(self) -> str:
        return _prompt()

    @property
    def text(self) -> str:
        # As JSON, which no passage can end.
        asked = {"fact": self.fact, "passage": self.passage[:MOST_CHARS]}
        return json.dumps(asked, ensure_ascii=False)

    def read(self, arguments: Mapping[str, Any]) -> Chance:
        """`arguments`: token -> probability. Raises BrokenReply if neither word is among them."""
        yes = _probability(arguments, YES)
        total = yes + _probability(arguments, NO)
        if not total > 0:
            raise BrokenReply("neither yes nor no is among the words that the server tells")
        return Chance(yes=yes / total)


def _probability(of: Mapping[str, float], words: Collection[str]) -> float:
    """Of any of the words, however they are spelt."""
    return math.fsum(of[token] for token in of if token.strip().lower() in words)


@dataclass(frozen=True, kw_only=True)
class WordAsk(Ask[Chance]):
    fact: FactKey
    quote: str


class LocalJudge:
    """protocols.Judge. `judge` has an event loop of its own: it is not called from within one."""

    deterministic = False  # it says the same again, and takes minutes to

    def __init__(self, name: str, settings: JudgeSettings) -> None:
        """`name`: of the file, as settings know it.

        Raises FairtrialError without the package that serves it, or for a file nobody has read.
        """
        self.model = self.name = weights_server.PREFIX + name
        self.asking = WordAsking(self.model, settings)
        file = settings.models.local.files.get(name)
        sha256 = file.sha256 if file else settings.judging.weights.get(name)
        if sha256 is None:
            raise FairtrialError(f"no weights are called {name}", hint=weights_server.HINT)
        self._basis = [sha256, weights_server.server_version(), BEGUN, _prompt()]
        self.identity = digest_of(
            [self._basis, THRESHOLD, judging_code(LocalJudge, apart_from=["Asking"])]
        )

    def judge(
        self,
        rubric: Rubric,
        answer: Sequence[AnswerStep],
        must_find: Sequence[Sequence[MustCite]],
        source: LineSource | None = None,  # noqa: ARG002 - one passage is all that it can read
    ) -> Verdict:
        """A step of the rubric without an answer scores 0.

        Raises NoVerdict if the server ends or tells no probabilities.
        """
        asks = list(self._asks(rubric, answer))
        said = self.asking.said(asks)
        counted = []
        pairs = zip(answer, must_find, strict=True)
        answered = {step.name: (step, places) for step, places in pairs if _has_text(step)}
        for number, step in enumerate(rubric.steps):
            own = [ask for ask in asks if ask.step == number]
            counted.append(_counted(step, answered.get(step.name), own, said))
        return verdict_of(self, verdict_inputs(rubric, answer, must_find), counted)

    def estimate(self, answers: Iterable[ToJudge]) -> JudgeEstimate:
        """What is left to ask of some answers."""
        asks = [ask for one in answers for ask in self._asks(one.rubric, one.answer)]
        missing = [ask for ask in asks if self.asking.kept(ask) is None]
        chars = [len(ask.request.system) + len(ask.request.text) for ask in missing]
        return JudgeEstimate(
            judge=self.name,
            calls=len(missing),
            kept=len(asks) - len(missing),
            input_tokens=sum(chars) // CHARS_PER_TOKEN,
            output_tokens=len(missing),
            usd=0.0,
            hours=len(missing) * SEC_PER_FACT / 3600,
        )

    def _asks(self, rubric: Rubric, answer: Sequence[AnswerStep]) -> Iterator[WordAsk]:
        """Every request that the answer takes, kept or not."""
        texts = {step.name: step for step in filter(_has_text, answer)}
        for number, step in enumerate(rubric.steps):
            if step.name in texts:
                yield from self._asks_of(number, step, texts[step.name])

    def _asks_of(self, number: int, step: RubricStep, answer: AnswerStep) -> Iterator[WordAsk]:
        text = visible(answer.text)
        counting = Counting(step, answer, (), {})
        nearest = Nearest(counting.reading)
        for key, fact in facts_of(step).items():
            quote = _quote(nearest, fact, text)
            if quote:
                yield self.ask(number, key, fact.says, quote)

    def ask(self, step: int, key: FactKey, says: str, passage: str) -> WordAsk:
        """Whether a passage states a fact."""
        request = WordQuestion(fact=says, passage=passage)
        digest = digest_of([self._basis, request.text])
        return WordAsk(key=digest, step=step, request=request, fact=key, quote=passage)


def _has_text(step: AnswerStep) -> bool:
    return bool(visible(step.text).strip())


def _quote(nearest: Nearest, fact: Fact, text: str) -> str:
    """The passage nearest to a fact, or the longest part of it that stands in the answer so.

    Links and the rows of tables are read in other words than they are written in.
    """
    units = nearest.passage(fact)
    words = nearest.reading.quote(units).split() if units else []
    written = " ".join(text.split())
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length + 1):
            part = " ".join(words[start : start + length])
            if part in written:
                return part if find_quote(part, text) else ""
    return ""


def _counted(
    step: RubricStep,
    answered: tuple[AnswerStep, Sequence[MustCite]] | None,
    asks: Sequence[WordAsk],
    said: Mapping[str, Chance],
) -> CountedStep:
    if answered is None:
        return unanswered(step)
    facts = dict.fromkeys(facts_of(step), FactReading(quote="", verdict="absent"))
    for ask in asks:
        if said[ask.key].is_stated:
            facts[ask.fact] = FactReading(quote=ask.quote, verdict="stated")
    answer, places = answered
    return Counting(step, answer, places, {}).count(StepReading(facts=facts, false_claims=()))


@cache
def _prompt() -> str:
    return resources.files(__package__).joinpath("local_prompt.md").read_text("utf-8")


# --- asking ---------------------------------------------------------------------------------


class WordAsking(Asking):
    """Asks for the next word, of a server that is started when it is first needed."""

    def __init__(self, model: str, settings: JudgeSettings) -> None:
        super().__init__(model, settings)
        self._servers = ExitStack()
        weakref.finalize(self, self._servers.close)
        self._left = 0

    async def _ask_all(self, asks: Sequence[Ask[Any]], said: dict[str, Any]) -> None:
        self._serve()
        self._left = len(asks)
        minutes = math.ceil(len(asks) * SEC_PER_FACT / 60)
        self.settings.log(f"{self.model} reads {len(asks)} facts: about {minutes} minutes")
        try:
            await super()._ask_all(asks, said)
        except ProviderRefused as error:
            raise NoVerdict(error.what, hint=error.hint) from error

    async def _ask(self, model: Model, ask: Ask[Any]) -> Any:
        chance = await super()._ask(model, ask)
        self._left -= 1
        if self._left % TOLD_EVERY == 0 and self._left:
            self.settings.log(f"{self.model}: {self._left} facts of this answer are left")
        return chance

    async def _reply(self, model: Model, _: UserMessage, request: Question[Any]) -> Turn:
        from runner.agents.models.local_model import LocalModel  # noqa: PLC0415 - the SDK is an extra

        assert isinstance(model, LocalModel)  # noqa: S101 - by its name
        # The same again if a reply was broken: a remark on it would be another question.
        limit_sec = self.settings.reply_sec
        return await model.next_tokens(request.system, request.text, BEGUN, timeout_sec=limit_sec)

    def _serve(self) -> None:
        settings, name = self.settings, self.model.removeprefix(weights_server.PREFIX)
        if name in settings.models.local.served:
            return
        if name not in settings.models.local.files:
            raise NoVerdict(f"the file of {self.model} is not at hand", hint=weights_server.HINT)
        up = weights_server.served([self.model], settings.models, settings.environ, settings.log)
        self.settings = replace(settings, models=self._servers.enter_context(up))
