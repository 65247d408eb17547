"""What a judge must pass before it ranks anyone; one that does not, screens.

Rho over all anchors opens the gate, and is easy: a rater that asks only whether an answer is junk
comes close to it. So it is asked as well whether the judge

- gives an answer more than the same made worse (pairs.py), in nine of ten pairs of each kind
- orders the anchors that are no junk, surely better than any rater that does not read
- is held against gold on which two graders agree: else nobody can be
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from runner.gate.calibration_data import Anchor
from runner.gate.pairs import (
    CONTRAST,
    PADDED,
    PERTURBATIONS,
    SHUFFLED,
    Pair,
    cited,
    counts,
    is_junk,
    is_won,
    shuffled_steps,
)
from runner.gate.scenario_checks import MIN_CONTRAST_PAIRS
from runner.records import (
    Concordance,
    Correlation,
    Examination,
    Requirement,
    Standing,
    TrivialRater,
)
from runner.scoring import statistics
from runner.scoring.judge_repeatability import SMALLEST_DELTA
from runner.scoring.rank_agreement import ROUNDING, concordance, correlate, rho_of

MIN_WON = 0.9
"""Of the pairs of each kind."""
CHANGES = {
    SHUFFLED: f", worth at least {SMALLEST_DELTA} less",
    PADDED: f", worth less than {SMALLEST_DELTA} more",
}
"""What is asked of kinds in which a small change is none."""
MIN_PAIRS = 20
"""Of a kind made by code: with fewer, a coin would pass 0.9 now and then."""
MIN_CONTRAST_PAIRS_OF_A_KIND = 10
"""Below it a kind of contrast pair counts with the others alone."""
MIN_AGREEMENT = 0.85
"""Rho and concordance over the anchors that are no junk."""
MIN_ALPHA = 0.8
"""Krippendorff's own bound for data to draw conclusions from."""
GAP = 0.1
"""Two anchors closer than that by hand need not be told apart."""

ExaminationMode = Literal["new", "again", "none"]
"""Which pairs a judge is asked about.

`new`: those on which nothing is accepted. `again`: all, if it is deterministic, and it has to say
what was accepted; else none. `none`: the examination is taken as it was accepted."""
AMONG = "among anchors that are no junk"

Qualities = Mapping[str, float]
"""Key of a question -> what the judge gave. One that it could not judge is left out."""


def examination(
    anchors: Sequence[Anchor],
    judged: Sequence[float],
    pairs: Sequence[Pair],
    qualities: Qualities,
    *,
    short: bool = False,
) -> Examination:
    """`judged`: the quality of each anchor, in order; `qualities`: of each side of each pair.

    `short`: anchors and pairs are those of the short form.
    """
    worth = [(anchor, quality) for anchor, quality in zip(anchors, judged, strict=True)]
    worth = [(anchor, quality) for anchor, quality in worth if not is_junk(anchor)]
    kept = [anchor for anchor, _ in worth]
    gold = [anchor.gold for anchor in kept]
    scores = [quality for _, quality in worth]
    measured = _RankAgreement(rho=correlate(gold, scores), pairs=concordance(gold, scores, GAP))
    trivial = tuple(_trivial(anchors, kept, qualities))
    requirements = (
        *_of_pairs(pairs, qualities, least=_least_contrasts(anchors, short=short)),
        *_of_agreement(measured, trivial),
        _of_gold(kept),
    )
    standing: Standing = "screens"
    if all(asked.passed for asked in requirements):
        standing = "ranks"
    return Examination(
        standing=standing,
        requirements=requirements,
        trivial=trivial,
        rho=measured.rho,
        concordance=measured.pairs,
        alpha=_alpha(kept),
    )


def _least_contrasts(anchors: Sequence[Anchor], *, short: bool) -> int:
    scenarios = 1 if short else len({anchor.scenario for anchor in anchors})
    return MIN_CONTRAST_PAIRS * scenarios


def not_examined() -> Examination:
    """Of a judge that no accepted examination vouches for: it screens."""
    none = Requirement(
        name="an accepted examination",
        figure=None,
        n=0,
        bound=1,
        must="at least",
        passed=False,
        note="`fairtrial anchors accept` examines the judge",
    )
    return Examination(
        standing="screens",
        requirements=(none,),
        trivial=(),
        rho=correlate([], []),
        concordance=Concordance(share=None, pairs=0),
        alpha=None,
    )


def requirement_text(asked: Requirement) -> str:
    """`citations removed: 0.933, at least 0.90, n = 60`, and why it is not met."""
    figure = "none" if asked.figure is None else f"{asked.figure:.3f}"
    text = f"{asked.name}: {figure}, {asked.must} {asked.bound:.2f}, n = {asked.n}"
    if asked.note:
        text += f" ({asked.note})"
    return text


def requirement_line(asked: Requirement) -> str:
    """As a table has it, a line each."""
    met = "met    " if asked.passed else "NOT MET"
    return f"  {met}  {requirement_text(asked)}"


# --- pairs ----------------------------------------------------------------------------------


def _of_pairs(pairs: Sequence[Pair], qualities: Qualities, *, least: int) -> Iterator[Requirement]:
    yield from _of_kinds(pairs, qualities, least=least, lead=by_quality, suffix="")
    # Of a judge that only grades, nobody asks which of two it prefers.
    if any(pair.key in qualities for pair in pairs):
        suffix = ", side by side in both orders"
        yield from _of_kinds(pairs, qualities, least=least, lead=_side_by_side, suffix=suffix)


def _of_kinds(
    pairs: Sequence[Pair], qualities: Qualities, *, least: int, lead: Lead, suffix: str
) -> Iterator[Requirement]:
    for kind in PERTURBATIONS:
        of_kind = [pair for pair in pairs if pair.kind == kind]
        name = kind + (suffix or CHANGES.get(kind, ""))
        yield _won(name, of_kind, qualities, least=MIN_PAIRS, lead=lead)
    for kind, of_kind in contrasts_asked(pairs).items():
        fewest = least if kind == CONTRAST else MIN_CONTRAST_PAIRS_OF_A_KIND
        won = _won(kind + suffix, of_kind, qualities, least=fewest, lead=lead)
        yield _with_note(won, _not_asked(pairs, kind))


def _not_asked(pairs: Sequence[Pair], kind: str) -> str:
    left_out = sum(pair.kind.startswith(kind) and not pair.asked for pair in pairs)
    return f"{left_out} turn what no fact asks for, and are not asked" if left_out else ""


def _with_note(asked: Requirement, note: str) -> Requirement:
    notes = [it for it in (asked.note, note) if it]
    return asked.model_copy(update={"note": "; ".join(notes)})


def contrasts_asked(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """All contrast pairs that a fact asks for, and each kind's that has enough to stand alone."""
    by_hand = [pair for pair in pairs if pair.kind.startswith(CONTRAST) and pair.asked]
    asked = {CONTRAST: by_hand}
    for kind in sorted({pair.kind for pair in by_hand}):
        of_kind = [pair for pair in by_hand if pair.kind == kind]
        # Without this a judge that likes every "not" could pass on the other kinds.
        if len(of_kind) >= MIN_CONTRAST_PAIRS_OF_A_KIND:
            asked[kind] = of_kind
    return asked


def _won(
    name: str, pairs: Sequence[Pair], qualities: Qualities, *, least: int, lead: Lead
) -> Requirement:
    n = len(pairs)
    leads = [lead(pair, qualities) for pair in pairs]
    won = sum(wins(pair, ahead) for pair, ahead in zip(pairs, leads, strict=True))
    share = won / n if n else None
    unjudged = leads.count(None)
    notes = [drift] if (drift := _adding_up(pairs, leads)) else []
    if n < least:
        notes.append(f"too few pairs; {least} are the least")
    if unjudged:
        notes.append(f"{unjudged} without a verdict")
    enough = share is not None and share >= MIN_WON - ROUNDING
    return Requirement(
        name=name,
        figure=share,
        n=n,
        bound=MIN_WON,
        must="at least",
        passed=enough and n >= least and not drift,
        note="; ".join(notes),
    )


def wins(pair: Pair, lead: float | None) -> bool:
    """`lead`: None if the judge came to no verdict."""
    return lead is not None and is_won(lead, no_gain=pair.no_gain, ruined=pair.ruined)


def _adding_up(pairs: Sequence[Pair], leads: Sequence[float | None]) -> str:
    """Why gains too small to count are no noise, which cancels out; empty if they may be it."""
    small = []
    for pair, lead in zip(pairs, leads, strict=True):
        if pair.no_gain and lead is not None and not counts(abs(lead)):
            small.append(-lead)
    if not small:
        return ""
    # Two standard errors: the deviation of what lies within ± SMALLEST_DELTA is no larger than it.
    mean, most = statistics.mean(small), 2 * SMALLEST_DELTA / math.sqrt(len(small))
    if mean <= most + ROUNDING:
        return ""
    return f"small changes add up: {mean:+.3f} on the mean, and chance explains {most:.3f}"


Lead = Callable[[Pair, Qualities], float | None]
"""How far the better side of a pair is ahead; None if the judge came to no verdict."""


def by_quality(pair: Pair, qualities: Qualities) -> float | None:
    better, other = qualities.get(pair.better.key), qualities.get(pair.other.key)
    if better is None or other is None:
        return None
    return better - other


def _side_by_side(pair: Pair, qualities: Qualities) -> float | None:
    preference = qualities.get(pair.key)
    if preference is None:
        return None
    return preference - 0.5


# --- agreement ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _RankAgreement:
    rho: Correlation
    pairs: Concordance


def _of_agreement(
    measured: _RankAgreement, trivial: Sequence[TrivialRater]
) -> Iterator[Requirement]:
    """That both figures are high, and that no rater that does not read could have them."""
    rho, pairs = measured.rho, measured.pairs
    best_rho = _best([rater.rho or 0.0 for rater in trivial], trivial)
    best_share = _best([rater.concordance or 0.0 for rater in trivial], trivial)
    against = "lower bound against the best trivial rater"
    yield _reaches(f"rho {AMONG}", rho.rho, rho.n, note=rho.reason)
    yield _above(f"rho's {against}", rho.low, rho.n, best_rho)
    yield _reaches(f"pairs ordered alike {AMONG}", pairs.share, pairs.pairs)
    yield _above(f"their {against}", pairs.low, pairs.pairs, best_share)


def _best(figures: Sequence[float], trivial: Sequence[TrivialRater]) -> float:
    # A rater that is not known may be as good as anyone.
    if any(rater.concordance is None for rater in trivial):
        return 1.0
    return max(figures)


def _reaches(name: str, figure: float | None, n: int, *, note: str = "") -> Requirement:
    passed = figure is not None and figure >= MIN_AGREEMENT - ROUNDING
    return Requirement(
        name=name,
        figure=figure,
        n=n,
        bound=MIN_AGREEMENT,
        must="at least",
        passed=passed,
        note=note,
    )


def _above(name: str, figure: float | None, n: int, bound: float) -> Requirement:
    note = "" if figure is not None else "no interval over so few"
    passed = figure is not None and figure > bound + ROUNDING
    return Requirement(
        name=name, figure=figure, n=n, bound=bound, must="above", passed=passed, note=note
    )


# --- raters that do not read ----------------------------------------------------------------


def _junk_flag(anchor: Anchor) -> float:
    """It even knows the gold: nobody could flag junk better."""
    return float(not is_junk(anchor))


def _length(anchor: Anchor) -> float:
    return sum(len(step.text) for step in anchor.answer)


def _citations(anchor: Anchor) -> float:
    """Distinct places cited, step by step."""
    return sum(len(set(cited(step.text))) for step in anchor.answer)


TRIVIAL: dict[str, Callable[[Anchor], float]] = {
    "is it junk?": _junk_flag,
    "length": _length,
    "number of citations": _citations,
}
JUDGE_OF_SHUFFLED = "this judge, given shuffled words"


def _trivial(
    anchors: Sequence[Anchor], kept: Sequence[Anchor], qualities: Qualities
) -> Iterator[TrivialRater]:
    """`kept`: the anchors that are no junk."""
    for name, rate in TRIVIAL.items():
        over_all = _rho(anchors, [rate(anchor) for anchor in anchors])
        yield _rater(name, kept, [rate(anchor) for anchor in kept], over_all)
    shuffled = [_shuffled_quality(anchor, qualities) for anchor in kept]
    known = [quality for quality in shuffled if quality is not None]
    if len(known) == len(kept):
        yield _rater(JUDGE_OF_SHUFFLED, kept, known, None)
    else:
        yield TrivialRater(name=JUDGE_OF_SHUFFLED, rho=None, concordance=None, rho_all=None)


def _rater(
    name: str, kept: Sequence[Anchor], ratings: Sequence[float], over_all: float | None
) -> TrivialRater:
    gold = [anchor.gold for anchor in kept]
    return TrivialRater(
        name=name,
        rho=_rho(kept, ratings),
        concordance=concordance(gold, ratings, GAP).share,
        rho_all=over_all,
    )


def _rho(anchors: Sequence[Anchor], ratings: Sequence[float]) -> float | None:
    return rho_of([anchor.gold for anchor in anchors], ratings)


def _shuffled_quality(anchor: Anchor, qualities: Qualities) -> float | None:
    """Of the whole anchor; None if a step of it has no verdict."""
    steps = [qualities.get(question.key) for question in shuffled_steps(anchor)]
    known = [quality for quality in steps if quality is not None]
    if len(known) < len(steps):
        return None
    return statistics.mean(known)


# --- gold -----------------------------------------------------------------------------------


def _of_gold(kept: Sequence[Anchor]) -> Requirement:
    """Where two graders differ, a judge that agrees with one has learnt that one's taste."""
    alpha = _alpha(kept)
    twice = sum(len(anchor.gradings) > 1 for anchor in kept)
    note = ""
    passed = alpha is not None and alpha >= MIN_ALPHA - ROUNDING
    if twice < len(kept):
        note = f"{len(kept) - twice} of {len(kept)} were graded once"
        passed = False
    elif not passed:
        note = "the gold is not good enough to judge a judge by"
    return Requirement(
        name=f"alpha of the two gradings {AMONG}",
        figure=alpha,
        n=twice,
        bound=MIN_ALPHA,
        must="at least",
        passed=passed,
        note=note,
    )


def _alpha(kept: Sequence[Anchor]) -> float | None:
    return statistics.alpha(anchor.gradings for anchor in kept)
