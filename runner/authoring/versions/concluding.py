"""Everything that was found of two versions, as one verdict and one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from runner import __version__
from runner.authoring.versions.named_change import named_change
from runner.records.versions import (
    VERSION_CHECKS,
    AllowedChange,
    CompareSettings,
    PairedAnswers,
    VersionAnswer,
    VersionChange,
    VersionCheck,
    VersionComparison,
    VersionSide,
    VersionVerdict,
    Weight,
)
from runner.scoring import statistics

MARGIN = 0.03
"""Of F1 or fairness: fairtrial.yaml or --margin may say another."""
NOTED = 0.005
"""What a question has to lose to be named."""
_QUESTIONS_NAMED = 3


def answers_margin(settings: CompareSettings) -> float:
    """Of what a program or a model answers."""
    return settings.margins.get("model", settings.margins.get("exact", MARGIN))


def answer_changes(
    answers: Sequence[VersionAnswer], paired: Sequence[PairedAnswers]
) -> Iterator[VersionChange]:
    """Of what a program or a model answered with each version's tools."""
    for one in paired:
        own = [it for it in answers if it.model == one.model]
        if one.language_model:
            yield from _of_model(one)
        else:
            yield from _of_program(one, own)


def _of_program(one: PairedAnswers, answers: Sequence[VersionAnswer]) -> Iterator[VersionChange]:
    """A program answers alike each time: what it finds no more is lost."""
    fell = [it for it in answers if it.base - it.head > NOTED]
    worse = sorted(fell, key=lambda it: it.head - it.base)
    sides = [it.base for it in answers], [it.head for it in answers]
    before, after = (f"{statistics.mean(figures):.3f}" for figures in sides)
    # A busy machine would lower the fairness of either: without keys it stops nothing.
    if one.by_keys and one.mean < -one.margin:
        named = ", ".join(_named(it) for it in worse[:_QUESTIONS_NAMED])
        says = f"F1 of {len(answers)} questions with a key: {before} → {after} "
        says += f"(margin {one.margin:g}); first {named}"
        yield named_change("exact", "worse", "regression", says, base=before, head=after)
        return
    for it in worse:
        yield named_change("exact", it.scenario, "note", f"the figure of {_named(it)}")


def _named(answer: VersionAnswer) -> str:
    return f"{answer.scenario} {answer.base:.2f} → {answer.head:.2f}"


def _of_model(one: PairedAnswers) -> Iterator[VersionChange]:
    interval = "" if one.low is None else f", 90 % interval {one.low:+.3f} to {one.high:+.3f}"
    says = f"with {one.model}, head less base is {one.mean:+.3f}{interval}, over {one.pairs} pairs"
    if one.says == "worse":
        says += f": worse by more than {one.margin:g}"
    weight: Weight = "regression" if one.says == "worse" else "note"
    yield named_change("model", f"{one.says}:{one.model}", weight, says)


# --- what is meant, and in which order it is read -----------------------------------------------


def with_allowed(
    changes: Iterable[VersionChange], allowed: Sequence[AllowedChange]
) -> Iterator[VersionChange]:
    for change in changes:
        reasons = [it.reason for it in allowed if fnmatchcase(change.name, it.name)]
        stops = change.weight == "regression" and reasons
        yield change.model_copy(update={"allowed": reasons[0]}) if stops else change


def in_order(changes: Iterable[VersionChange], only: Sequence[VersionCheck]) -> list[VersionChange]:
    """Of the asked checks: what stops first, then in the order of the checks."""
    kept = [it for it in changes if it.check in (only or VERSION_CHECKS)]
    weights = ("regression", "better", "note")

    def rank(change: VersionChange) -> tuple[bool, int, int]:
        place = VERSION_CHECKS.index(change.check)
        return (not change.stops, weights.index(change.weight), place)

    return sorted(kept, key=rank)


def unmatched(
    changes: Sequence[VersionChange], allowed: Sequence[AllowedChange]
) -> list[AllowedChange]:
    """Said to be meant, and not there: misspelt, or of an earlier pull request."""
    return [it for it in allowed if not any(fnmatchcase(one.name, it.name) for one in changes)]


# --- the verdict --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class VersionConclusion:
    verdict: VersionVerdict
    sentence: str


def comparison(
    sides: tuple[VersionSide, VersionSide],
    found: Iterable[VersionChange],
    paired: Sequence[PairedAnswers],
    settings: CompareSettings,
    **rest: Any,
) -> VersionComparison:
    """Of the asked checks, with what is meant marked so. `rest`: what else the record has."""
    changes = in_order(with_allowed(found, settings.allow), settings.only)
    conclusion = concluded(*sides, changes, paired)
    return VersionComparison(
        fairtrial=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=conclusion.verdict,
        sentence=conclusion.sentence,
        base=sides[0],
        head=sides[1],
        changes=tuple(changes),
        paired=tuple(paired),
        **rest,
    )


EXIT_CODES: Mapping[VersionVerdict, int] = {"no_regression": 0, "regression": 1, "too_few": 5}


def concluded(
    base: VersionSide,
    head: VersionSide,
    changes: Sequence[VersionChange],
    paired: Sequence[PairedAnswers],
) -> VersionConclusion:
    """`changes`: in order, of the asked checks."""
    named = f"{_told(head)} against {_told(base)}"
    stopping = [it for it in changes if it.stops]
    if stopping:
        count = len(stopping)
        what = "1 regression" if count == 1 else f"{count} regressions"
        sentence = f"{what} in {named}: {stopping[0].says}"
        sentence += f"; and {count - 1} more." if count > 1 else "."
        return VersionConclusion(verdict="regression", sentence=sentence)
    if undecided := [it for it in paired if it.language_model and it.says == "too_few"]:
        return VersionConclusion(verdict="too_few", sentence=_too_few(named, undecided[0]))
    return VersionConclusion(verdict="no_regression", sentence=_passes(named, changes, paired))


def _told(side: VersionSide) -> str:
    """As it was asked for, and its version if that does not say it."""
    return side.asked if side.version in side.asked else f"{side.asked} ({side.version})"


def _too_few(named: str, one: PairedAnswers) -> str:
    kind = "repositories" if one.cluster == "repository" else "groups of questions"
    more = "no number of them would tell" if one.more is None else f"about {one.more} more would"
    return (
        f"Too few to tell of {named}: {one.clusters} {kind} with {one.model} leave open whether "
        f"it is worse by {one.margin:g}; {more}."
    )


def _passes(named: str, changes: Sequence[VersionChange], paired: Sequence[PairedAnswers]) -> str:
    allowed = sum(it.allowed is not None for it in changes)
    notes = sum(it.weight == "note" for it in changes)
    parts = [f"No regression in {named}"]
    parts += [f"{allowed} allowed"] if allowed else []
    parts += [f"{notes} to read" if notes else "nothing changed that is looked at"]
    words = {"equivalent": "equivalent", "no_worse": "no worse"}
    for one in paired:
        if one.language_model and one.says in words:
            parts.append(f"{words[one.says]} within {one.margin:g} with {one.model}")
    return "; ".join(parts) + "."
