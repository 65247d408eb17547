"""The `model:<id>` judge: a language model reads, code counts (counting.py).

For each step the model gets the facts of the rubric, the source lines that prove them, and the
step's answer, as data (form.py). It returns what the answer says of each fact, with a quote; how
much a fact weighs, and whether a place is right, it is not asked. It sees no arm, no trace and no
other answer. What it cannot do: find a mistake about what the shown lines do not show.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from runner.agents.models import full_name, is_language_model, kind_name, require_known
from runner.agents.models.model_settings import Endpoint
from runner.protocols import LineSource
from runner.records import (
    AnswerStep,
    MustCite,
    Rating,
    Rubric,
    RubricStep,
    Usage,
    Verdict,
    canonical_json,
    digest_of,
)
from runner.scoring.judges import counting, form
from runner.scoring.judges.checklist.hidden import visible
from runner.scoring.judges.checklist.parsed_answer import FactKey, facts_of
from runner.scoring.judges.combining import combined, mean
from runner.scoring.judges.counting import (
    CountedStep,
    Counting,
    StepReading,
    unanswered,
    verdict_of,
)
from runner.scoring.judges.form import ClaimReading, FactQuestion, FactReading, Reading, Shown
from runner.scoring.judges.inputs import judging_code, verdict_inputs
from runner.scoring.judges.judge_requests import Ask, Asking, JudgeEstimate, ToJudge
from runner.scoring.judges.judge_settings import JudgeSettings
from runner.scoring.judges.pairwise import PairAsk, pair
from runner.support.errors import FairtrialError, NoReply, NoVerdict
from runner.support.token_estimate import CHARS_PER_TOKEN

OUTPUT_TOKENS = 8192
"""Of one reply. Thinking is off: a forced call takes none."""
FEWEST_LINES = 14
"""Shown of a place: a shorter one with as many lines before it as after it."""
TOKENS_PER_FACT = 60
"""Of a reply, as it is estimated: an id, a verdict and a quote."""


@dataclass(frozen=True, kw_only=True)
class _JudgedStep:
    """A step of the rubric, its answer, and the source that its facts cite."""

    number: int
    rubric: RubricStep
    answer: AnswerStep | None
    """None where a reader sees no text."""
    must_find: Sequence[MustCite]
    shown: Mapping[FactKey, Sequence[Shown]]


@dataclass(frozen=True, kw_only=True)
class FactAsk(Ask[Reading]):
    """A batch of a step's facts, in one reading of the answer."""

    duplicate: int
    facts: Mapping[str, FactKey]
    """Id in the request -> the fact."""


class ModelJudge:
    """protocols.Judge. `judge` has an event loop of its own: it is not called from within one."""

    deterministic = False

    def __init__(self, model: str, settings: JudgeSettings) -> None:
        """Raises FairtrialError for a model that there is not, or that follows a program.

        A key is asked for when a request is made: what is kept can be read without one.
        """
        require_known(model)
        if not is_language_model(kind_name(model)):
            hint = "judge with a language model, or with --judge checklist"
            raise FairtrialError(f"{model} follows a program and judges nothing", hint=hint)
        endpoint = getattr(settings.models, kind_name(model), None)
        if not isinstance(endpoint, Endpoint):
            hint = "serve the weights, and judge with model:openai:<id> and OPENAI_BASE_URL"
            raise FairtrialError(f"{model} has no API that a judge could ask", hint=hint)
        self.model, self.name = model, f"model:{model}"
        self.judging = settings.judging
        self.at_once = settings.at_once
        self.endpoint = self.judging.endpoints.get(model, endpoint.digest)
        limits = replace(settings.models, thinking_tokens=0, output_tokens=OUTPUT_TOKENS)
        self.asking = Asking(model, replace(settings, models=limits))
        # What a single reply follows from, apart from its request and the duplicate's number.
        self._basis = [
            [full_name(model), self.endpoint, OUTPUT_TOKENS],
            [form.VERSION, form.system_prompt(), self.judging.form, self.judging.batch],
        ]
        parameters = [self.judging.seed, self.judging.duplicates]
        self.identity = digest_of([self._basis, parameters, judging_code(counting)])

    def judge(
        self,
        rubric: Rubric,
        answer: Sequence[AnswerStep],
        must_find: Sequence[Sequence[MustCite]],
        source: LineSource | None = None,
    ) -> Verdict:
        """The mean of its duplicates. A step of the rubric without an answer scores 0.

        Raises NoVerdict if a reply cannot be had or used, ProviderRefused if none ever could,
        SpendingCap if nothing may be spent any more.
        """
        steps = list(_steps(rubric, answer, must_find, source))
        asks = list(self._asks(steps))
        said = self.asking.said(asks)
        inputs = verdict_inputs(rubric, answer, must_find)
        readings = []
        for number in range(1, self.judging.duplicates + 1):
            own = [ask for ask in asks if ask.duplicate == number]
            counted = [_counted(step, own, said) for step in steps]
            readings.append(verdict_of(self, inputs, counted))
        if len(readings) == 1:
            return readings[0]
        ratings = [_rating(number, reading) for number, reading in enumerate(readings, 1)]
        return combined(rubric, readings, mean, judge=self, ratings=ratings)

    # --- what is asked --------------------------------------------------------------------------

    def estimate(self, answers: Iterable[ToJudge]) -> JudgeEstimate:
        """What is left to ask of some answers. Raises NoVerdict without a source."""
        by_key = {ask.key: ask for one in answers for ask in self._asks(list(_steps(*one)))}
        asks = list(by_key.values())
        missing = [ask for ask in asks if self.asking.kept(ask) is None]
        chars = [len(form.system_prompt()) + len(ask.request.text) for ask in missing]
        chars += [len(canonical_json(ask.request.schema)) for ask in missing]
        usage = Usage(
            step=0,
            turn=0,
            input_tokens=sum(chars) // CHARS_PER_TOKEN,
            output_tokens=TOKENS_PER_FACT * sum(len(ask.facts) + 1 for ask in missing),
            wall_sec=0.0,
            estimated=True,
        )
        return JudgeEstimate(
            judge=self.name,
            calls=len(missing),
            kept=len(asks) - len(missing),
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            usd=self.asking.settings.purse.cost_usd(self.model, [usage]),
        )

    def read_ahead(self, answers: Iterable[ToJudge]) -> None:
        """Have what is missing said of some answers together, so that `judge` finds it kept.

        Raises as `judge` does, but for a reply that cannot be used, which is `judge`'s to name.
        """
        asks = {ask.key: ask for one in answers for ask in self._asks(list(_steps(*one)))}
        with contextlib.suppress(NoReply):
            self.asking.said(list(asks.values()))

    def pairs(
        self,
        rubric: Rubric,
        answers: tuple[Sequence[AnswerStep], Sequence[AnswerStep]],
        source: LineSource | None,
    ) -> Iterator[PairAsk]:
        """Of every step that both answers have, in the rubric's order."""
        nowhere: list[tuple[MustCite, ...]] = [()] * len(answers[0])
        first, second = (list(_steps(rubric, one, nowhere, source)) for one in answers)
        for one, other in zip(first, second, strict=True):
            if one.answer is None or other.answer is None:
                continue
            asked = []
            for place, (key, fact) in enumerate(facts_of(one.rubric).items(), 1):
                shown = tuple(one.shown[key])
                asked.append(FactQuestion(id=f"f{place}", says=fact.says, shown=shown))
            yield pair(self._basis, one.number, asked, (one.answer, other.answer))

    def _asks(self, steps: Sequence[_JudgedStep]) -> Iterator[FactAsk]:
        for step in steps:
            if step.answer is not None:
                for duplicate in range(1, self.judging.duplicates + 1):
                    yield from self._asks_of(step, step.answer, duplicate)

    def _asks_of(self, step: _JudgedStep, answer: AnswerStep, duplicate: int) -> Iterator[FactAsk]:
        facts = facts_of(step.rubric)
        order = list(facts)
        # In one order alone, what stands first or last would always be read alike.
        seed = f"{self.judging.seed} {step.rubric.name} {duplicate}"
        random.Random(seed).shuffle(order)  # noqa: S311 - an order to be repeated
        ids = {f"f{place}": key for place, key in enumerate(order, 1)}
        asked = []
        for name, key in ids.items():
            asked.append(FactQuestion(id=name, says=facts[key].says, shown=tuple(step.shown[key])))
        text = visible(answer.text)
        for request in form.batches(asked, self.judging.batch, answer.prompt, text):
            yield FactAsk(
                key=digest_of([self._basis, request.text, request.schema, duplicate]),
                step=step.number,
                duplicate=duplicate,
                facts={fact.id: ids[fact.id] for fact in request.asked},
                request=request,
            )


def _steps(
    rubric: Rubric,
    answer: Sequence[AnswerStep],
    must_find: Sequence[Sequence[MustCite]],
    source: LineSource | None,
) -> Iterator[_JudgedStep]:
    answered: dict[str, tuple[AnswerStep, Sequence[MustCite]]] = {}
    for text, places in zip(answer, must_find, strict=True):
        if visible(text.text).strip():
            answered[text.name] = text, places
    for number, step in enumerate(rubric.steps):
        own, places = answered.get(step.name, (None, ()))
        shown = dict(shown_with_facts(step, source)) if own else {}
        yield _JudgedStep(number=number, rubric=step, answer=own, must_find=places, shown=shown)


def shown_with_facts(
    step: RubricStep, source: LineSource | None
) -> Iterator[tuple[FactKey, Sequence[Shown]]]:
    """The lines of the source that a model sees with each fact. Raises NoVerdict without one."""
    for key, fact in facts_of(step).items():
        yield key, [_read(place, source) for place in fact.cites]


def _read(place: MustCite, source: LineSource | None) -> Shown:
    if source is None:
        raise NoVerdict("the judge reads the lines that facts cite, and no source is at hand")
    end = place.end or place.line
    # A call alone does not show the branch that it stands in.
    margin = max(0, FEWEST_LINES - (end - place.line)) // 2
    line, end = max(1, place.line - margin), end + margin
    return Shown(path=place.path, line=line, end=end, text=source.lines(place.path, line, end))


# --- what is counted ------------------------------------------------------------------------


def _counted(
    step: _JudgedStep, asks: Sequence[FactAsk], said: Mapping[str, Reading]
) -> CountedStep:
    """A step in one duplicate; the asks are those of the duplicate."""
    if step.answer is None:
        return unanswered(step.rubric)
    own = [ask for ask in asks if ask.step == step.number]
    counting = Counting(step.rubric, step.answer, step.must_find, step.shown)
    return counting.count(_put_together(own, said))


def _put_together(asks: Sequence[FactAsk], said: Mapping[str, Reading]) -> StepReading:
    """The batches of a step."""
    facts: dict[FactKey, FactReading] = {}
    claims: list[ClaimReading] = []
    for ask in asks:
        reading = said[ask.key]
        for name, key in ask.facts.items():
            facts[key] = reading.facts[name]
        claims += reading.false_claims
    return StepReading(facts=facts, false_claims=claims)


def _rating(number: int, verdict: Verdict) -> Rating:
    return Rating(
        judge=verdict.judge, duplicate=number, quality=verdict.quality, steps=verdict.steps
    )
