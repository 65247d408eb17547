"""The gate's verbs. `verify` opens it or says why not; the others show and write generations.

- a rubric, a reference, a judge, the scoring, a new scenario: `accept`, only if the anchors still
  rank as graded by hand, and the reference answer still earns what a right answer earns
- gold, transcripts, held-out scenarios: `regrade`, which starts a new chain that every later report
  shows; never together with a rubric
- `preview_accept` says what `accept` would do
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.catalog.catalog import HELD_OUT, Catalog, LoadedScenario, load_catalog
from runner.gate import calibration_data, chain, frozen, own_judges, own_pairs, qualities, verdicts
from runner.gate.anchor_sheet import PEOPLE, people_of
from runner.gate.changes import (
    Changes,
    changes_since,
    file_drifts,
    id_of,
    in_scenarios,
    judge_drifts,
    loaded_drifts,
    only,
    scoring_drifts,
    unlocked,
)
from runner.gate.examination import MIN_TRANSCRIPTS, Examined, examine, silent
from runner.gate.frozen import ANCHORS
from runner.gate.qualifying import how_to_examine
from runner.gate.requirements import ExaminationMode, requirement_text
from runner.gate.scenario_checks import REFERENCE_FLOOR
from runner.protocols import ByKey, Judge, Log, OpenLineSource
from runner.records import (
    AnchorScore,
    AnchorsLock,
    Chain,
    Gate,
    GateVerdict,
    JudgeLock,
    Judging,
    OwnJudge,
    Standing,
)
from runner.scoring.rank_agreement import ROUNDING
from runner.scoring.steps import answer_steps, must_find
from runner.support.errors import (
    AnchorsDisagree,
    AnchorsDrifted,
    Drift,
    FairtrialError,
    GateError,
    NoVerdict,
)
from runner.support.tree_digest import digest_tree

MIN_REFERENCE_CRITERION = 0.5
"""What a reference answer must earn in each criterion; on the whole it is REFERENCE_FLOOR."""
ACCEPT = (
    "undo it; or `fairtrial anchors propose` shows what it does, "
    "`fairtrial anchors accept --reason …` takes it; --ungated goes on"
)
LOADED = "files changed while they were read; say the same command again"
REGRADE = (
    "grades and transcripts change by `fairtrial anchors regrade --reason …` alone, "
    "which every later report shows; or undo it"
)


# --- verify ---------------------------------------------------------------------------------


def verify(  # noqa: PLR0913 - how a judge is verified, each by its name
    root: Path,
    judge: Judge,
    *,
    scenarios: Collection[str] | None = None,
    sources: OpenLineSource | None = None,
    pairs: ExaminationMode = "none",
    log: Log = silent,
    catalog: Catalog | None = None,
    project: Path | None = None,
) -> GateVerdict:
    """The gate's verdict; its `refusal` says why the gate is closed if the anchors disagree.

    `scenarios`: ids of those in use; every one in the lock by default. Held-out ones are always
    checked. `sources`: for a judge that reads the cited lines. `pairs`: whether the judge is
    examined anew; see examination.ExaminationMode. `catalog`: what the caller goes by, read or
    still to be read; the gate vouches for what it holds. `project`: whose own lock may hold the
    judge. Raises AnchorsDrifted with every drift, NoVerdict if a verdict is missing and the judge
    is out of reach.
    """
    generations, history = chain.read_chain_and_past(root)
    lock, kept, own = own_judges.laid_over(root, project, generations[-1], judge)
    drifts = file_drifts(root, lock, scenarios)
    drifts += scoring_drifts(lock)
    drifts += judge_drifts(lock, judge)
    if drifts:
        raise AnchorsDrifted(drifts, hint=ACCEPT)
    if judge.name not in lock.judges:
        known = ", ".join(sorted(lock.judges))
        raise NoVerdict(
            f"no generation holds a verdict of the judge {judge.name}; there are: {known}",
            hint=how_to_examine(judge),
        )
    catalog = catalog or load_catalog(root)
    examined = examine(
        kept, judge, lock, sources, pairs=pairs, log=log, catalog=catalog, in_use=scenarios
    )
    # Afterwards: by now everything that was asked for has been read, and is not read again.
    if drifts := loaded_drifts(catalog, lock, scenarios):
        raise AnchorsDrifted(drifts, hint=LOADED)
    found = {
        "unlocked": unlocked(root, lock),
        "history": history.remark,
        "own": f"{own.date}: {own.reason}" if own else "",
        "people": people_of(root, (project or root) / PEOPLE),
    }
    return examined.verdict.model_copy(update=found)


def require(verdict: GateVerdict) -> None:
    """Raises AnchorsDisagree if the verdict does not open the gate."""
    if verdict.refusal:
        raise AnchorsDisagree(
            verdict.refusal,
            hint="`fairtrial verify-anchors` shows the pairs; --ungated goes on and marks it",
        )


def require_standing(verdict: GateVerdict, standing: Standing) -> None:
    """Raises AnchorsDisagree if the judge screens and is asked to rank."""
    unmet = verdict.examination.unmet
    if standing == "ranks" and verdict.examination.standing != "ranks":
        raise AnchorsDisagree(
            f"the judge {verdict.judge} screens: "
            f"{len(unmet)} of {len(verdict.examination.requirements)} requirements are not met",
            hint="`fairtrial verify-anchors` lists them with their figures",
        )


def gate_record(root: Path, verdict: GateVerdict) -> Gate:
    """What a report shows of the gate that stood in front of it."""
    generations = chain.read_chain(root)
    lock, overall = generations[-1], verdict.transcripts
    return Gate(
        judge=verdict.judge,
        rho=_rounded(overall.rho),
        low=_rounded(overall.low),
        high=_rounded(overall.high),
        transcripts=overall.n,
        generation=lock.generation,
        lock=chain.digest_of_lock(lock),
        reason=lock.reason,
        chain_started=lock.chain.date,
        chain_reason=lock.chain.reason,
        regrades=tuple(_regrades(generations)),
        history=verdict.history,
        standing=verdict.examination.standing,
        unmet=tuple(map(requirement_text, verdict.examination.unmet)),
        short=verdict.short,
        own=verdict.own,
        people=verdict.people,
    )


def _rounded(value: float | None) -> float | None:
    if value is None:
        return None
    return round(value, 3)


def _regrades(generations: Sequence[AnchorsLock]) -> Iterator[str]:
    for lock in generations:
        if lock.kind == "regrade":
            yield f"{lock.date}, generation {lock.generation}: {lock.reason}"


# --- propose --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Move:
    """A transcript whose judged score the change moves."""

    transcript: str
    gold: float
    before: float
    after: float
    rank_before: int
    """1 is the best."""
    rank_after: int


@dataclass(frozen=True, kw_only=True)
class AcceptPreview:
    """What `accept` would do with the files as they are."""

    changes: tuple[Drift, ...]
    rho_before: float | None
    verdict: GateVerdict
    moves: tuple[Move, ...]
    refusals: tuple[GateError, ...]
    """Why `accept` would refuse, the first of them as its exit code; empty if it would not."""


def preview_accept(
    root: Path, judge: Judge, *, sources: OpenLineSource | None = None, log: Log = silent
) -> AcceptPreview:
    """What `accept` would do, and which transcripts would move. Changes nothing.

    Raises AnchorsDrifted if the chain itself is broken, CatalogError if a file cannot be read,
    NoVerdict as `verify` does.
    """
    lock = _in_force(root)
    changes = changes_since(root, lock, judge)
    verdict = examine(root, judge, lock, sources, pairs="new", log=log).verdict
    rho_before: float | None = None
    moves: Sequence[Move] = ()
    if lock and judge.name in lock.judges:
        before = lock.judges[judge.name]
        rho_before = before.rho
        moves = _moves(before.scores, verdict.scores)
    refusals = _refusals(root, judge, changes, verdict, sources, lock=lock)
    return AcceptPreview(
        changes=changes.every,
        rho_before=rho_before,
        verdict=verdict,
        moves=tuple(moves),
        refusals=tuple(refusals),
    )


def _moves(before: Mapping[str, float], scores: Sequence[AnchorScore]) -> list[Move]:
    """Transcripts whose judged score changed, the furthest first."""
    after = {score.transcript: score.judged for score in scores}
    ranks_before, ranks_after = _ranks(before), _ranks(after)
    moves = []
    for score in scores:
        name = score.transcript
        if name not in before or abs(before[name] - score.judged) <= ROUNDING:
            continue
        move = Move(
            transcript=name,
            gold=score.gold,
            before=before[name],
            after=score.judged,
            rank_before=ranks_before[name],
            rank_after=ranks_after[name],
        )
        moves.append(move)
    return sorted(moves, key=lambda move: -abs(move.before - move.after))


def _ranks(scores: Mapping[str, float]) -> dict[str, int]:
    """Equal scores share the better rank."""
    ranks = {}
    for name, score in scores.items():
        ranks[name] = 1 + sum(other > score for other in scores.values())
    return ranks


# --- accept ---------------------------------------------------------------------------------


def accept(  # noqa: PLR0913 - what a generation is made of, each by its name
    root: Path,
    judge: Judge,
    *,
    reason: str,
    date: str,
    sources: OpenLineSource | None = None,
    log: Log = silent,
    short: bool = False,
    judging: Judging | None = None,
) -> Examined:
    """Write the next generation with rubrics, references, judge and scoring as they are.

    It is the first if there is no lock. `short`: the judge is examined by the short form.
    `judging`: how it is asked, to be kept in its entry. Raises AnchorsDrifted if gold, transcripts
    or a held-out scenario changed, AnchorsDisagree if the gate does not pass, and FairtrialError
    if there is nothing to accept.
    """
    reason = checked_reason(reason)
    lock = _in_force(root)
    changes = changes_since(root, lock, judge)
    if lock and not changes.every and not _may_gain(root, lock, judge, short=short):
        raise FairtrialError(
            "nothing changed since the last generation",
            where=chain.ANCHORS_LOCK,
            hint="`fairtrial verify-anchors` checks it",
        )
    if changes.grading:
        raise AnchorsDrifted(changes.grading, hint=REGRADE)
    examined = examine(root, judge, lock, sources, pairs="new", log=log, short=short)
    refusals = _refusals(root, judge, changes, examined.verdict, sources, lock=lock)
    for refusal in refusals:
        raise refusal
    if lock is None:
        new = _first_lock(root, reason=reason, date=date)
    else:
        new = _next_lock(
            lock,
            kind="accept",
            date=date,
            reason=reason,
            files=in_scenarios(digest_tree(root)[0]),
            scoring=frozen.scoring_in_use(),
            judges=_other_judges(lock, judge, changes),
        )
    return _write(root, judge, examined, new, judging)


def _may_gain(root: Path, lock: AnchorsLock, judge: Judge, *, short: bool) -> bool:
    """May a judge be examined on more: on the whole, or on keys that another one took in?"""
    if not isinstance(judge, ByKey):
        return bool(lock.judges[judge.name].short) and not short
    believed = examine(root, judge, lock, pairs="none").verdict.examination
    return not all(it.passed for it in believed.requirements)


def accept_own(  # noqa: PLR0913 - see accept
    root: Path,
    project: Path,
    judge: Judge,
    *,
    reason: str,
    date: str,
    sources: OpenLineSource | None = None,
    log: Log = silent,
    short: bool = False,
    judging: Judging | None = None,
) -> Examined:
    """Write a judge into a project's own lock, examined on the anchors that ship.

    Raises AnchorsDrifted if what ships is not as locked, AnchorsDisagree if the gate does not open.
    """
    reason = checked_reason(reason)
    lock = chain.read_chain(root)[-1]
    if drifts := [*file_drifts(root, lock, ()), *scoring_drifts(lock)]:
        raise AnchorsDrifted(drifts, hint=ACCEPT)
    # What ships says of another judge of that name is no answer of this one.
    others = {name: entry for name, entry in lock.judges.items() if name != judge.name}
    bare = lock.model_copy(update={"judges": others})
    catalog = load_catalog(root)
    examined = examine(
        project, judge, bare, sources, pairs="new", log=log, catalog=catalog, short=short
    )
    require(examined.verdict)
    entry = OwnJudge(
        date=date,
        reason=reason,
        generation=lock.generation,
        lock=chain.digest_of_lock(lock),
        judge=_judge_lock(project, judge, examined, judging),
    )
    own_judges.write_own_judge(project, judge.name, entry)
    return examined


def _first_lock(root: Path, *, reason: str, date: str) -> AnchorsLock:
    return AnchorsLock(
        generation=1,
        kind="first",
        date=date,
        reason=reason,
        chain=Chain(started=1, date=date, reason=reason),
        previous=None,
        files=in_scenarios(digest_tree(root)[0]),
        scoring=frozen.scoring_in_use(),
        gold_weights=_rubrics_weights(root),
        judges={},
    )


def _next_lock(lock: AnchorsLock, **changed: Any) -> AnchorsLock:
    """The generation behind one, with no judge in it but those of `changed`."""
    link = {"generation": lock.generation + 1, "previous": chain.digest_of_lock(lock), "judges": {}}
    return AnchorsLock.model_validate({**dict(lock), **link, **changed})


def _other_judges(lock: AnchorsLock, judge: Judge, changes: Changes) -> dict[str, JudgeLock]:
    """The judges whose verdicts still hold."""
    # Verdicts on a held-out rubric that changed are stale; they have to be accepted anew.
    if any(drift.where.startswith(ANCHORS) for drift in changes.judging):
        return {}
    return {name: other for name, other in lock.judges.items() if name != judge.name}


def _refusals(  # noqa: PLR0913 - what a generation is refused for, each by its name
    root: Path,
    judge: Judge,
    changes: Changes,
    verdict: GateVerdict,
    sources: OpenLineSource | None,
    *,
    lock: AnchorsLock | None,
) -> Iterator[GateError]:
    """Why `accept` would not write.

    Without a lock, every reference answer is judged by its rubric, not just those that changed.
    """
    if changes.grading:
        yield AnchorsDrifted(changes.grading, hint=REGRADE)
    if verdict.refusal:
        yield AnchorsDisagree(
            verdict.refusal,
            hint="the rubrics do not rank the anchors as the hand grades do; nothing was written",
        )
    catalog = load_catalog(root)
    names = set(catalog.scenarios)
    if lock is not None:
        names &= {id_of(drift.where) for drift in changes.every}
    if isinstance(judge, ByKey):
        yield from _unread_rubrics(names, judge)
        return
    for name in sorted(names):
        if catalog.scenarios[name].rubric.is_keyed:
            continue  # its judge is `exact`, which is examined on it
        shortfalls = list(_shortfalls(catalog.scenarios[name], judge, sources))
        if shortfalls:
            what = "its reference answer no longer earns what a right answer earns: "
            yield AnchorsDisagree(
                what + "; ".join(shortfalls),
                where=name,
                hint=(
                    "a rubric that a right answer fails measures something else; "
                    "nothing was written"
                ),
            )
        if lock is not None and catalog.scenarios[name].suite != HELD_OUT:
            yield from _disorder(root, lock, catalog.scenarios[name], judge, sources)


def _unread_rubrics(names: Collection[str], judge: Judge) -> Iterator[GateError]:
    """What a judge that reads no rubric must not let in."""
    if changed := sorted(names):
        yield AnchorsDisagree(
            f"{judge.name} reads no rubric, and {', '.join(changed)} changed as well",
            hint="`fairtrial anchors accept` them first, with a judge that does",
        )


def _disorder(
    root: Path,
    lock: AnchorsLock,
    loaded: LoadedScenario,
    judge: Judge,
    sources: OpenLineSource | None,
) -> Iterator[GateError]:
    source = sources(loaded.scenario.id) if sources else None
    if lost := own_pairs.disorder(root, lock, loaded, judge, source):
        yield AnchorsDisagree(
            lost,
            where=loaded.scenario.id,
            hint=(
                "the accepted reference answer has to stay better than itself with its words "
                "shuffled, its citations removed or a fact turned round; nothing was written"
            ),
        )


def _shortfalls(
    loaded: LoadedScenario, judge: Judge, sources: OpenLineSource | None
) -> Iterator[str]:
    """What the reference answer does not earn."""
    if loaded.scenario.unreviewed:
        yield "it has none, and nobody has reviewed it; review it, or keep it elsewhere"
        return
    # Most scenarios have no anchors: this alone vouches for their rubrics.
    steps = answer_steps(loaded.scenario, loaded.reference)
    source = sources(loaded.scenario.id) if sources else None
    verdict = judge.judge(loaded.rubric, steps, must_find(loaded.scenario), source)
    if verdict.quality < REFERENCE_FLOOR - ROUNDING:
        yield f"quality {verdict.quality:.2f}, below {REFERENCE_FLOOR}"
    for step in verdict.steps:
        for name, criterion in step.criteria.items():
            if criterion.score < MIN_REFERENCE_CRITERION - ROUNDING:
                yield (
                    f"{step.name}, {name}: {criterion.score:.2f}, "
                    f"below {MIN_REFERENCE_CRITERION} ({criterion.reason})"
                )


# --- regrade --------------------------------------------------------------------------------


def regrade(  # noqa: PLR0913 - see accept
    root: Path,
    judge: Judge,
    *,
    reason: str,
    date: str,
    sources: OpenLineSource | None = None,
    log: Log = silent,
) -> Examined:
    """Write a generation with gold, transcripts and held-out scenarios as they are: a new chain.

    It is written even if rho falls below the gate's, which then stays closed until a rubric is
    accepted; not if there is no rho at all. Raises AnchorsDrifted if a rubric, a judge or the
    scoring changed as well: whoever moves both could fit one to the other.
    """
    reason = checked_reason(reason)
    lock = chain.read_chain(root)[-1]
    changes = changes_since(root, lock, judge)
    if changes.judging:
        raise AnchorsDrifted(
            changes.judging,
            hint="`fairtrial anchors accept` these first, with the old grades; or undo them",
        )
    if not changes.grading:
        raise FairtrialError(
            "no grade and no transcript changed",
            where=chain.ANCHORS_LOCK,
            hint="edit gold_scores.json or transcripts/ first",
        )
    new = _next_lock(
        lock,
        kind="regrade",
        date=date,
        reason=reason,
        chain=Chain(started=lock.generation + 1, date=date, reason=reason),
        files=_regraded_files(root, lock),
        gold_weights=_rubrics_weights(root),
    )
    # Stored verdicts still count: only the gold is weighed anew, with today's rubrics.
    weighed_anew = lock.model_copy(update={"gold_weights": new.gold_weights})
    examined = examine(root, judge, weighed_anew, sources, pairs="new", log=log)
    overall = examined.verdict.transcripts
    if overall.rho is None or overall.n < MIN_TRANSCRIPTS:
        require(examined.verdict)
    return _write(root, judge, examined, new)


def _regraded_files(root: Path, lock: AnchorsLock) -> dict[str, str]:
    """Held-out files as they are, all others as they were locked."""
    # A new core scenario is `accept`'s to take, and must not slip in beside new grades.
    files, _ = digest_tree(root)
    kept = {path: digest for path, digest in lock.files.items() if not path.startswith(ANCHORS)}
    return kept | only(files, ids=())


# --- a generation ---------------------------------------------------------------------------


def _write(
    root: Path,
    judge: Judge,
    examined: Examined,
    lock: AnchorsLock,
    judging: Judging | None = None,
) -> Examined:
    """Store the verdicts, and the generation `lock` with the judge's entry in it."""
    judges = {**lock.judges, judge.name: _judge_lock(root, judge, examined, judging)}
    chain.write_generation(root, lock.model_copy(update={"judges": judges}))
    in_use: set[str] = set()
    for entry in judges.values():
        in_use |= entry.verdicts.keys()
    verdicts.forget_verdicts(root, in_use)
    qualities.forget(root, judges)
    verdict = examined.verdict.model_copy(update={"generation": lock.generation})
    return replace(examined, verdict=verdict)


def _judge_lock(root: Path, judge: Judge, examined: Examined, judging: Judging | None) -> JudgeLock:
    verdict = examined.verdict
    examination = qualities.write(
        root, judge, verdict.examination, examined.qualities, examined.readings
    )
    return JudgeLock(
        identity=judge.identity,
        rho=verdict.transcripts.rho or 0.0,
        scores={score.transcript: score.judged for score in verdict.scores},
        verdicts=verdicts.write_verdicts(root, judge, examined.anchors, examined.judged),
        standing=verdict.examination.standing,
        examination=examination,
        short=True if verdict.short else None,
        judging=judging,
    )


def _in_force(root: Path) -> AnchorsLock | None:
    if not chain.exists(root):
        return None
    return chain.read_chain(root)[-1]


def checked_reason(reason: str) -> str:
    if not reason.strip():
        raise FairtrialError(
            "a generation needs a reason",
            hint='--reason "what changed, and why"; it is shown in every later report',
        )
    return reason.strip()


def _rubrics_weights(root: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Held-out scenario -> step -> criterion -> weight, as today's rubrics have them."""
    weights = {}
    for loaded in calibration_data.held_out(load_catalog(root)):
        weights[loaded.scenario.id] = calibration_data.rubric_weights(loaded.rubric)
    return weights
