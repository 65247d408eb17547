"""Pairs of answers of which everybody can say which is better, for a judge to be asked about.

Each is about one step alone. The better one is a step of an anchor that is no junk, or of a
held-out scenario's reference answer; the other is made from it (perturbations.py), or has one fact
made false by hand (contrast pairs, turned.yaml).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

from runner.catalog.catalog import CONTRAST_FILE, LoadedScenario
from runner.gate import perturbations
from runner.gate.calibration_data import Anchor
from runner.grounding.extract import extract
from runner.grounding.pointing import points_at
from runner.grounding.unlisted import UnlistedFiles
from runner.protocols import LineSource
from runner.records import AnswerStep, ContrastPair, MustCite, Rubric, RubricStep, digest_of
from runner.scoring.judge_repeatability import SMALLEST_DELTA
from runner.scoring.judges.inputs import verdict_inputs
from runner.scoring.rank_agreement import ROUNDING
from runner.scoring.steps import answer_steps, must_find
from runner.support.errors import CatalogError, Problem

JUNK = 0.1
"""An anchor graded no higher is junk. To tell junk from the rest is easy; the rest is the test."""
MOST_PAIRS = 60
"""Of one kind made by code. More would cost a model's judgement each, and say little more."""
SHUFFLED = "words shuffled in each sentence"
PADDED = "padded with what is true and not asked for"
CONTRAST = "turned round by hand"
"""What a contrast pair is called in locks, which hold it since before it had that name."""

_FILES = UnlistedFiles()


@dataclass(frozen=True, kw_only=True)
class StepQuestion:
    """One step's answer, for a judge to be asked about by itself."""

    scenario: str
    rubric: Rubric
    """Of this step alone."""
    answer: AnswerStep
    must_find: tuple[MustCite, ...]
    source: LineSource | None

    @cached_property
    def key(self) -> str:
        """Digest of all that its quality depends on, apart from the judge."""
        inputs = verdict_inputs(self.rubric, (self.answer,), (self.must_find,))
        return digest_of([self.scenario, inputs])

    def with_text(self, text: str) -> StepQuestion:
        answer = self.answer.model_copy(update={"text": text})
        return StepQuestion(
            scenario=self.scenario,
            rubric=self.rubric,
            answer=answer,
            must_find=self.must_find,
            source=self.source,
        )


@dataclass(frozen=True, kw_only=True)
class Pair:
    kind: str
    name: str
    """What it was made from."""
    better: StepQuestion
    other: StepQuestion
    no_gain: bool = False
    """The other need not be worse; it must not be better."""
    ruined: bool = False
    """All of the other is made worse, and not one fact or place of some twenty."""
    asked: bool = True
    """Not of a contrast pair that turns what no fact of the rubric asks for."""

    @cached_property
    def key(self) -> str:
        """Of the two side by side, as a question's is of one."""
        return digest_of([self.better.key, self.other.key])

    @property
    def lot(self) -> str:
        """Decides whether it is drawn. Of its name alone: a rubric's edit draws no other pairs."""
        return digest_of([perturbations.SEED, self.kind, self.name])


def counts(change: float) -> bool:
    """Two readings of one text may differ by less."""
    return change >= SMALLEST_DELTA - ROUNDING


def is_won(lead: float, *, no_gain: bool, ruined: bool = False) -> bool:
    """`lead`: how far the better side of a pair is ahead."""
    if no_gain:
        return not counts(-lead)
    # One fact in seven weighs so little that no reader could take that much for it.
    return counts(lead) if ruined else lead > ROUNDING


@dataclass(frozen=True, kw_only=True)
class _StepMaterial:
    """What there is to change an answer to one step with."""

    asked: tuple[MustCite, ...]
    """Every place that the step or a fact of it asks for."""
    files: tuple[str, ...]
    """Of the commit: those that the scenario's rubric and steps name."""
    elsewhere: tuple[str, ...]
    """Lines of the reference to other steps that say nothing this one asks for."""


@dataclass(frozen=True, kw_only=True)
class _Original:
    """A step's answer that is worth something."""

    name: str
    question: StepQuestion
    step: _StepMaterial

    @property
    def text(self) -> str:
        return self.question.answer.text


# --- steps ----------------------------------------------------------------------------------


def is_junk(anchor: Anchor) -> bool:
    return anchor.gold <= JUNK


def questions_of(anchor: Anchor) -> list[StepQuestion]:
    """One for each step, in order."""
    steps = []
    for step, answer, places in zip(
        anchor.rubric.steps, anchor.answer, anchor.must_find, strict=True
    ):
        question = StepQuestion(
            scenario=anchor.scenario,
            rubric=_of_one(anchor.rubric, step),
            answer=answer,
            must_find=places,
            source=anchor.source,
        )
        steps.append(question)
    return steps


def shuffled_steps(anchor: Anchor) -> list[StepQuestion]:
    """The whole anchor with the words of its sentences shuffled, step by step."""
    shuffled = []
    for question in questions_of(anchor):
        text = perturbations.shuffled(question.answer.text)
        shuffled.append(question.with_text(text))
    return shuffled


def _of_one(rubric: Rubric, step: RubricStep) -> Rubric:
    return rubric.model_copy(update={"steps": (step,)})


def _reference(loaded: LoadedScenario, source: LineSource | None) -> list[StepQuestion]:
    steps = []
    answers = answer_steps(loaded.scenario, loaded.reference)
    places = must_find(loaded.scenario)
    for step, answer, asked in zip(loaded.rubric.steps, answers, places, strict=True):
        question = StepQuestion(
            scenario=loaded.scenario.id,
            rubric=_of_one(loaded.rubric, step),
            answer=answer,
            must_find=asked,
            source=source,
        )
        steps.append(question)
    return steps


def _originals(
    loaded: LoadedScenario, anchors: Iterable[Anchor], reference: Sequence[StepQuestion]
) -> Iterator[_Original]:
    """Steps of anchors of this scenario, as far as they are worth something, and the reference's.

    A step that is graded as junk is left out of an anchor that is not.
    """
    steps = list(_steps(loaded))
    for anchor in anchors:
        if is_junk(anchor):
            continue
        graded = zip(questions_of(anchor), anchor.gold_steps, steps, strict=True)
        for question, gold, step in graded:
            if gold > JUNK:
                yield _original(anchor.name, question, step)
    for question, step in zip(reference, steps, strict=True):
        yield _original(f"{loaded.scenario.id}/reference", question, step)


def _original(name: str, question: StepQuestion, step: _StepMaterial) -> _Original:
    return _Original(name=f"{name}, {question.answer.name}", question=question, step=step)


def _steps(loaded: LoadedScenario) -> Iterator[_StepMaterial]:
    asked = []
    for step, places in zip(loaded.rubric.steps, must_find(loaded.scenario), strict=True):
        of_facts = chain.from_iterable(fact.places for fact in step.facts)
        asked.append((*places, *of_facts))
    files = tuple(sorted({place.path for place in chain(*asked)}))
    for step, places in zip(loaded.rubric.steps, asked, strict=True):
        elsewhere = tuple(_elsewhere(loaded, step, places))
        yield _StepMaterial(asked=places, files=files, elsewhere=elsewhere)


def _elsewhere(
    loaded: LoadedScenario, step: RubricStep, asked: Sequence[MustCite]
) -> Iterator[str]:
    for other, text in zip(loaded.scenario.steps, loaded.reference, strict=True):
        if other.name == step.name:
            continue
        for line in text.split("\n"):
            # What bears on this step as well would be right to earn something.
            if cited(line) and not _hit(line, asked) and not _bears_on(line, step):
                yield line


def _bears_on(line: str, step: RubricStep) -> bool:
    """Could the line be meant to state a fact of the step? Two of its terms are enough."""
    words = line.lower()
    for fact in step.facts:
        found = sum(any(_plain(term) in words for term in group) for group in fact.terms)
        if found >= min(2, len(fact.terms)):
            return True
    return False


def _plain(term: str) -> str:
    return term.lower().strip("*` ")


def _hit(text: str, asked: Iterable[MustCite]) -> set[MustCite]:
    """The places of those asked for that a text points at."""
    ours = cited(text)
    return {place for place in asked if any(points_at(*one, place) for one in ours)}


# Each kind of pair asks it of every original again.
@lru_cache(maxsize=1024)
def cited(text: str) -> tuple[tuple[str, int, int], ...]:
    """Path, first and last line of each place that a text points at."""
    return tuple(
        (mention.path, *mention.lines) for mention in extract(text, _FILES) if mention.lines
    )


# --- pairs made by code ---------------------------------------------------------------------


Perturbation = Callable[[_Original], str]


def _shuffled(original: _Original) -> str:
    return perturbations.shuffled(original.text)


def _moved_20(original: _Original) -> str:
    return perturbations.moved(original.text, 20)


def _moved_200(original: _Original) -> str:
    return perturbations.moved(original.text, 200)


def _in_other_files(original: _Original) -> str:
    return perturbations.in_other_files(original.text, original.step.files)


def _uncited(original: _Original) -> str:
    return perturbations.uncited(original.text)


def _padded(original: _Original) -> str:
    return perturbations.padded(original.text, original.step.elsewhere)


CITATIONS: dict[str, Perturbation] = {
    "citations moved by 20 lines": _moved_20,
    "citations moved by 200 lines": _moved_200,
    "each citation moved to another file": _in_other_files,
    "citations removed": _uncited,
}
"""They make a pair only where fewer of the places asked for are cited than before."""
PERTURBATIONS: dict[str, Perturbation] = {SHUFFLED: _shuffled, **CITATIONS, PADDED: _padded}


def pairs_of(
    anchors: Sequence[Anchor],
    scenarios: Sequence[LoadedScenario],
    *,
    most: int | None = MOST_PAIRS,
) -> list[Pair]:
    """Every pair, by kind; of one made by code at most so many, if not None.

    `scenarios`: the held-out ones, to which the anchors belong.

    Raises CatalogError if a contrast pair does not fit its reference.
    """
    originals: list[_Original] = []
    by_hand: list[Pair] = []
    sources = {anchor.scenario: anchor.source for anchor in anchors}
    for loaded in scenarios:
        name = loaded.scenario.id
        own = [anchor for anchor in anchors if anchor.scenario == name]
        reference = _reference(loaded, sources.get(name))
        originals += _originals(loaded, own, reference)
        by_hand += contrast_pairs(loaded, sources.get(name))
    pairs: list[Pair] = []
    for kind, change in PERTURBATIONS.items():
        pairs += drawn(_changed(kind, change, originals), most)
    return pairs + by_hand


def _changed(kind: str, change: Perturbation, originals: Iterable[_Original]) -> Iterator[Pair]:
    for original in originals:
        text = change(original)
        if text != original.text and _is_fair(kind, original, text):
            yield Pair(
                kind=kind,
                name=original.name,
                better=original.question,
                other=original.question.with_text(text),
                no_gain=kind == PADDED,
                ruined=kind == SHUFFLED,
            )


def _is_fair(kind: str, original: _Original, text: str) -> bool:
    """Can a judge know? Wrong lines moved elsewhere are as wrong as before."""
    if kind not in CITATIONS:
        return True
    return len(_hit(text, original.step.asked)) < len(_hit(original.text, original.step.asked))


def drawn(pairs: Iterable[Pair], most: int | None) -> list[Pair]:
    """The same ones each time, of all scenarios alike; all of them without a limit."""
    chosen = sorted(pairs, key=lambda pair: pair.lot)[:most]
    return sorted(chosen, key=lambda pair: pair.name)


# --- pairs made by hand ---------------------------------------------------------------------


def contrast_pairs(loaded: LoadedScenario, source: LineSource | None = None) -> list[Pair]:
    """The reference's steps, and the same with one fact turned round.

    Raises CatalogError with every pair whose `right` does not stand exactly once in its step.
    """
    steps = {question.answer.name: question for question in _reference(loaded, source)}
    pairs: list[Pair] = []
    problems: list[Problem] = []
    for index, pair in enumerate(loaded.contrast_pairs):
        better = steps[pair.step]
        if better.answer.text.count(pair.right) != 1:
            where = f"scenarios/{loaded.suite}/{loaded.scenario.id}/{CONTRAST_FILE} pairs[{index}]"
            message = f"{pair.right!r} does not stand once in the reference answer"
            problems.append(Problem(where=where, message=message))
        else:
            pairs.append(_contrast_pair(loaded.scenario.id, pair, better))
    if problems:
        raise CatalogError(problems, hint="`fairtrial check` says what is asked of a pair")
    return pairs


def _contrast_pair(scenario: str, pair: ContrastPair, better: StepQuestion) -> Pair:
    return Pair(
        kind=f"{CONTRAST}: {pair.kind}",
        name=f"{scenario}/reference, {pair.step}: {pair.wrong}",
        better=better,
        other=better.with_text(better.answer.text.replace(pair.right, pair.wrong)),
        asked=pair.is_asked,
    )
