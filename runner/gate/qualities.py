"""What a judge gave each side of each pair: asked now, or stored under locks/ as accepted.

A judge is asked about hundreds of steps, so its answers are kept as one figure each, in one file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from runner.gate.frozen import canonical_text
from runner.gate.pairs import Pair, StepQuestion
from runner.protocols import Comparing, Judge, Log
from runner.records import (
    Examination,
    JudgeLock,
    KeptFact,
    KeptReading,
    Sha256,
    StoredExamination,
    Verdict,
    parse_json,
)
from runner.records.run_store import write_whole
from runner.scoring.judges.checklist.hidden import visible
from runner.scoring.judges.quotes import find_quote
from runner.scoring.judges.replies import file_stem
from runner.scoring.rank_agreement import DECIMALS
from runner.support.errors import AnchorsDrifted, CatalogError, Drift, NoVerdict
from runner.support.tree_digest import digest_of_bytes

EXAMINATIONS = "locks/examinations"
TELL_EVERY = 50
"""Questions: a model takes some seconds for each."""
TAKE_BACK = "take the committed file back, or delete it: an examination comes from its judge alone"


def ask(
    judge: Judge,
    questions: Iterable[StepQuestion],
    known: Mapping[str, float],
    log: Log,
    *,
    readings: dict[str, KeptReading] | None = None,
) -> dict[str, float]:
    """Key of each question -> the judge's figure; asked only for those that are not `known`.

    A question on which the judge reaches no verdict is left out. `readings` gets what it read.
    """
    every = {question.key: question for question in questions}
    figures = {key: known[key] for key in every if key in known}
    open_ones = [question for key, question in every.items() if key not in known]
    for number, question in enumerate(open_ones, start=1):
        if number % TELL_EVERY == 0:
            log(f"examining {judge.name}: {number} of {len(open_ones)} answers to one step")
        verdict = _verdict_on(judge, question)
        if verdict is not None:
            figures[question.key] = round(verdict.quality, DECIMALS)
            if readings is not None:
                readings[question.key] = _kept(verdict)
    return figures


def _verdict_on(judge: Judge, question: StepQuestion) -> Verdict | None:
    try:
        return judge.judge(
            question.rubric, (question.answer,), (question.must_find,), question.source
        )
    except NoVerdict:
        return None


def _kept(verdict: Verdict) -> KeptReading:
    facts = []
    for fact in verdict.facts:
        facts.append(KeptFact(verdict=fact.verdict, quote=fact.quote, credit=fact.credit))
    claims = tuple(claim.quote for claim in verdict.false_claims)
    return KeptReading(facts=tuple(facts), false_claims=claims)


def compare_pairs(
    judge: Judge, pairs: Iterable[Pair], known: Mapping[str, float], log: Log
) -> dict[str, float]:
    """Key of each pair -> 1 if the better is preferred in both orders, 0 if the other is, else 0.5.

    Empty for a judge that compares nothing; a pair without a verdict is left out.
    """
    if not isinstance(judge, Comparing):
        return {}
    every = {pair.key: pair for pair in pairs}
    figures = {key: known[key] for key in every if key in known}
    open_ones = [pair for key, pair in every.items() if key not in known]
    for number, pair in enumerate(open_ones, start=1):
        if number % TELL_EVERY == 0:
            log(f"examining {judge.name}: {number} of {len(open_ones)} pairs side by side")
        with contextlib.suppress(NoVerdict):
            figures[pair.key] = _preference(judge, pair)
    return figures


def _preference(judge: Comparing, pair: Pair) -> float:
    # In one order alone, a judge that always likes the first would win every pair.
    forward = _preferred(judge, pair.better, pair.other)
    backward = _preferred(judge, pair.other, pair.better)
    if (forward, backward) == ("first", "second"):
        return 1.0
    if (forward, backward) == ("second", "first"):
        return 0.0
    return 0.5


def _preferred(judge: Comparing, one: StepQuestion, two: StepQuestion) -> str:
    return judge.prefers(one.rubric, (one.answer, two.answer), one.must_find, one.source)


# --- as accepted ----------------------------------------------------------------------------


def stored(root: Path, judge: Judge, lock: JudgeLock | None) -> StoredExamination | None:
    """What the lock vouches for; None if it holds nothing, or of another judge.

    Raises AnchorsDrifted if the file is not what was accepted.
    """
    if lock is None or lock.examination is None or lock.identity != judge.identity:
        return None
    path = root / _place(judge)
    if not path.is_file() and not path.is_symlink():
        return None
    if drifts := list(_drifts(path, _place(judge), lock.examination)):
        raise AnchorsDrifted(drifts, hint=TAKE_BACK)
    try:
        return parse_json(path.read_bytes(), StoredExamination, where=_place(judge))
    except CatalogError as error:
        drift = Drift(where=_place(judge), what="is no examination")
        raise AnchorsDrifted([drift], hint=TAKE_BACK) from error


def _drifts(path: Path, where: str, accepted: Sha256) -> Iterator[Drift]:
    # A link could show one figure to a reader and another to the gate.
    if path.is_symlink():
        yield Drift(where=where, what="is a symbolic link")
        return
    found = digest_of_bytes(path.read_bytes())
    if found != accepted:
        what = "is not the examination that was accepted"
        yield Drift(where=where, what=what, expected=accepted, found=found)


def refuse_others(judge: Judge, said: Mapping[str, float], accepted: Mapping[str, float]) -> None:
    """Raises AnchorsDrifted if a deterministic judge says anything else than was accepted."""
    changed = [key for key, figure in accepted.items() if said.get(key, figure) != figure]
    if changed:
        what = f"{judge.name} no longer says what was accepted, {len(changed)} times"
        raise AnchorsDrifted(
            [Drift(where=_place(judge), what=what)],
            hint="its identity should have changed with it",
        )


def refuse_invented(
    judge: Judge, questions: Iterable[StepQuestion], readings: Mapping[str, KeptReading]
) -> None:
    """Raises AnchorsDrifted if what earned or cost something is quoted from no such answer."""
    if not readings:
        return
    invented = 0
    for question in {question.key: question for question in questions}.values():
        reading = readings.get(question.key)
        text = visible(question.answer.text)
        quotes = _quotes(reading) if reading else ()
        invented += any(find_quote(quote, text) is None for quote in quotes)
    if invented:
        what = f"quotes what the answer does not hold, in {invented} readings"
        raise AnchorsDrifted([Drift(where=_place(judge), what=what)], hint=TAKE_BACK)


def _quotes(reading: KeptReading) -> Iterator[str]:
    # Of several readings the nearest to their mean is shown, which may have found nothing.
    yield from (fact.quote for fact in reading.facts if fact.credit and fact.quote)
    yield from reading.false_claims


def write(
    root: Path,
    judge: Judge,
    examination: Examination,
    figures: Mapping[str, float],
    readings: Mapping[str, KeptReading],
) -> Sha256:
    """Store them; returns the file's digest, for the lock."""
    record = StoredExamination(
        judge=judge.name,
        identity=judge.identity,
        examination=examination,
        qualities=dict(figures),
        readings=dict(readings),
    )
    text = canonical_text(record)
    write_whole(root / _place(judge), text)
    return digest_of_bytes(text.encode())


def forget(root: Path, keep: Iterable[str]) -> None:
    """Remove the files of judges that are not in the lock any more; git keeps them."""
    kept = {f"{file_stem(name)}.json" for name in keep}
    for path in (root / EXAMINATIONS).glob("*.json"):
        if path.name not in kept:
            path.unlink()


def _place(judge: Judge) -> str:
    return f"{EXAMINATIONS}/{file_stem(judge.name)}.json"
