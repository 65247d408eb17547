"""The gate's verbs. `verify` opens it or says why not; `propose`, `accept` and `regrade` are how a lock moves, each generation on record.

- a rubric, a reference, a judge, the scoring, a new scenario: `accept`, only where the anchors still rank as graded by hand, and the
  reference answer still earns what a right answer earns
- gold, transcripts, held-out scenarios: `regrade`, which starts a new chain that every later report shows; never together with a rubric
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runner.anchors import agreement, chain, frozen, material, verdicts
from runner.anchors.frozen import ANCHORS, digest_tree, is_frozen, scenario_of
from runner.anchors.material import Anchor
from runner.catalog import LoadedScenario, load_catalog
from runner.errors import (
    AnchorsDisagree,
    AnchorsDrifted,
    Drift,
    FairtrialError,
    GateError,
    NoVerdict,
)
from runner.protocols import Judge
from runner.records import (
    AnchorScore,
    AnchorsLock,
    AnswerStep,
    Chain,
    Correlation,
    Gate,
    GateVerdict,
    JudgeLock,
    Verdict,
)

MIN_RHO = 0.85
"""Seed 002, step 5. Equality passes."""
MIN_TRANSCRIPTS = 12
"""Over three anchors rho can only be ±1 or ±0.5; below a dozen one pair decides it."""
MIN_REFERENCE, MIN_REFERENCE_CRITERION = 0.9, 0.5
"""What a scenario's own reference answer must earn under an accepted rubric: on the whole, and in each criterion."""
_EXACT = 1e-9
ACCEPT = "undo it; or `fairtrial anchors propose` shows what it does, `fairtrial anchors accept --reason …` takes it; --ungated goes on"
REGRADE = "grades and transcripts change by `fairtrial anchors regrade --reason …` alone, which every later report shows; or undo it"


@dataclass(frozen=True, kw_only=True)
class Examined:
    """The anchors, what the judge said of each, and what follows."""

    anchors: tuple[Anchor, ...]
    said: tuple[Verdict, ...]
    verdict: GateVerdict


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
class Proposal:
    """What `accept` would do with the files as they are."""

    changes: tuple[Drift, ...]
    rho_before: float | None
    verdict: GateVerdict
    moves: tuple[Move, ...]
    refusals: tuple[GateError, ...]
    """Why `accept` would refuse, the first of them as its exit code; empty where it would not."""


# --- verify ---------------------------------------------------------------------------------


def verify(root: Path, judge: Judge, *, scenarios: Collection[str] | None = None) -> GateVerdict:
    """The gate's verdict; `refusal` says where it is closed because the anchors disagree.

    `scenarios`: those in use; every one in the lock by default. Held-out ones are always checked. Raises AnchorsDrifted with every
    drift, NoVerdict where a verdict is missing and the judge is out of reach.
    """
    lock = chain.read_chain(root)[-1]
    drifts = [
        *_file_drifts(root, lock, scenarios),
        *_scoring_drifts(lock),
        *_judge_drifts(lock, judge),
    ]
    if drifts:
        raise AnchorsDrifted(drifts, hint=ACCEPT)
    if judge.name not in lock.judges:
        what = f"no generation holds a verdict of the judge {judge.name}; there are: {', '.join(sorted(lock.judges))}"
        raise NoVerdict(
            what,
            hint=f"`fairtrial anchors accept --judge {judge.name} --reason …` has it judge the anchors",
        )
    examined = _examine(root, judge, lock)
    return examined.verdict.model_copy(update={"unlocked": _unlocked(root, lock)})


def require(verdict: GateVerdict) -> None:
    """Raises AnchorsDisagree where the verdict does not open the gate."""
    if verdict.refusal:
        raise AnchorsDisagree(
            verdict.refusal,
            hint="`fairtrial verify-anchors` shows the pairs; --ungated goes on and marks it",
        )


def gate_record(root: Path, verdict: GateVerdict) -> Gate:
    """What a report shows of the gate that stood in front of it."""
    generations = chain.read_chain(root)
    lock, seen = generations[-1], verdict.transcripts
    return Gate(
        judge=verdict.judge,
        rho=round(seen.rho or 0.0, 3),
        low=_rounded(seen.low),
        high=_rounded(seen.high),
        transcripts=seen.n,
        generation=lock.generation,
        lock=chain.digest_of_lock(lock),
        reason=lock.reason,
        chain_started=lock.chain.date,
        chain_reason=lock.chain.reason,
        regrades=tuple(
            f"{past.date}, generation {past.generation}: {past.reason}"
            for past in generations
            if past.kind == "regrade"
        ),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _file_drifts(root: Path, lock: AnchorsLock, scenarios: Collection[str] | None) -> list[Drift]:
    """Of the held-out scenarios and those in use; by default of all in the lock.

    By id: a folder of the same name in another suite could stand in for a locked one.
    """
    found, links = digest_tree(root)
    held = {_id_of(path) for path in lock.files}
    used = (
        held
        if scenarios is None
        else {*scenarios, *(_id_of(path) for path in lock.files if path.startswith(ANCHORS))}
    )

    def concerns(path: str) -> bool:
        return path.startswith(ANCHORS) or _id_of(path) in used & held

    unheld = [
        Drift(where=f"scenario {name}", what="no generation holds it")
        for name in sorted(used - held)
    ]
    return [
        *links,
        *unheld,
        *frozen.compare(
            *(
                {path: files[path] for path in files if concerns(path)}
                for files in (lock.files, found)
            )
        ),
    ]


def _id_of(path: str) -> str:
    """The id of the scenario in whose folder a file lies."""
    return scenario_of(path).rstrip("/").rpartition("/")[2]


def _scoring_drifts(lock: AnchorsLock) -> Iterator[Drift]:
    now = frozen.scoring_in_use()
    for name in sorted({*now, *lock.scoring}):
        if now.get(name) != lock.scoring.get(name):
            yield Drift(
                where=f"scoring {name}",
                what="changed",
                expected=str(lock.scoring.get(name, "")),
                found=str(now.get(name, "")),
            )


def _judge_drifts(lock: AnchorsLock, judge: Judge) -> Iterator[Drift]:
    locked = lock.judges.get(judge.name)
    if locked and locked.identity != judge.identity:
        what = "its code, prompt, model or parameters changed"
        yield Drift(
            where=f"judge {judge.name}", what=what, expected=locked.identity, found=judge.identity
        )


def _unlocked(root: Path, lock: AnchorsLock) -> tuple[str, ...]:
    locked = {scenario_of(path) for path in lock.files}
    return tuple(
        sorted({scenario_of(path) for path in _in_scenarios(digest_tree(root)[0])} - locked)
    )


def _in_scenarios(files: Mapping[str, str]) -> dict[str, str]:
    """Files of scenarios, and whatever else lies in held-out."""
    return {
        path: digest
        for path, digest in files.items()
        if scenario_of(path).endswith("/") or path.startswith(ANCHORS)
    }


# --- what the anchors say -------------------------------------------------------------------


def _examine(root: Path, judge: Judge, lock: AnchorsLock | None) -> Examined:
    """Judge every anchor under the rubrics as they are. `lock` gives the gold's weights and the verdicts to believe."""
    anchors = material.load_anchors(load_catalog(root), lock.gold_weights if lock else None)
    locked = lock.judges[judge.name].verdicts if lock and judge.name in lock.judges else {}
    said = verdicts.verdicts_of(root, judge, anchors, locked)
    return Examined(
        anchors=tuple(anchors),
        said=tuple(said),
        verdict=_verdict(judge, anchors, said, lock.generation if lock else 0),
    )


def _verdict(
    judge: Judge, anchors: Sequence[Anchor], said: Sequence[Verdict], generation: int
) -> GateVerdict:
    scores = [
        AnchorScore(transcript=anchor.name, gold=anchor.gold, judged=verdict.quality)
        for anchor, verdict in zip(anchors, said, strict=True)
    ]
    overall = _correlate(scores)
    return GateVerdict(
        judge=judge.name,
        identity=judge.identity,
        generation=generation,
        transcripts=overall,
        steps=_step_level(anchors, said),
        scenarios={
            name: _correlate(
                [
                    score
                    for score, anchor in zip(scores, anchors, strict=True)
                    if anchor.scenario == name
                ]
            )
            for name in sorted({anchor.scenario for anchor in anchors})
        },
        disagreements=agreement.disagreements(scores),
        scores=tuple(scores),
        refusal=_refusal(overall),
    )


def _correlate(scores: Sequence[AnchorScore]) -> Correlation:
    return agreement.correlate([score.gold for score in scores], [score.judged for score in scores])


def _step_level(anchors: Sequence[Anchor], said: Sequence[Verdict]) -> Correlation:
    gold = [value for anchor in anchors for value in anchor.gold_steps]
    judged = [step.quality for verdict in said for step in verdict.steps]
    return agreement.correlate(
        gold, judged, [index for index, anchor in enumerate(anchors) for _ in anchor.gold_steps]
    )


def _refusal(overall: Correlation) -> str:
    if overall.n < MIN_TRANSCRIPTS:
        return (
            f"{overall.n} frozen transcripts are too few to rank by; {MIN_TRANSCRIPTS} is the least"
        )
    if overall.rho is None:
        return f"there is no rank correlation: {overall.reason}"
    if overall.rho < MIN_RHO - _EXACT:
        return f"Spearman's rho between judged scores and hand grades is {overall.rho:.3f}, below {MIN_RHO}"
    return ""


# --- how a lock moves -----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What differs from the lock, by the verb that may take it."""

    grading: tuple[Drift, ...] = ()
    """`regrade`: gold, transcripts, held-out scenarios; one that comes or goes takes its rubric with it."""
    judging: tuple[Drift, ...] = ()
    """`accept`: rubrics, references, judge, scoring, and scenarios outside held-out."""
    added: tuple[Drift, ...] = ()
    """`accept`: scenarios outside held-out that no generation holds."""

    @property
    def every(self) -> tuple[Drift, ...]:
        return (*self.grading, *self.judging, *self.added)


def propose(root: Path, judge: Judge) -> Proposal:
    """What `accept` would do, and which transcripts would move. Changes nothing.

    Raises AnchorsDrifted where the chain itself does not hold, CatalogError where a file cannot be read, NoVerdict as `verify` does.
    """
    lock = _in_force(root)
    changes = _changes(root, lock, judge)
    examined = _examine(root, judge, lock)
    before = lock.judges[judge.name] if lock and judge.name in lock.judges else None
    return Proposal(
        changes=changes.every,
        rho_before=before.rho if before else None,
        verdict=examined.verdict,
        moves=tuple(_moves(before.scores, examined.verdict.scores)) if before else (),
        refusals=tuple(_refusals(root, judge, changes, examined.verdict, everything=lock is None)),
    )


def accept(root: Path, judge: Judge, *, reason: str, date: str) -> Examined:
    """Write the next generation with rubrics, references, judge and scoring as they are; the first where there is no lock.

    Raises AnchorsDrifted where gold, transcripts or a held-out scenario changed, AnchorsDisagree where the gate does not pass, and
    FairtrialError where there is nothing to accept.
    """
    reason = _given(reason)
    lock = _in_force(root)
    changes = _changes(root, lock, judge)
    if lock and not changes.every:
        raise FairtrialError(
            "nothing changed since the last generation",
            where=chain.LOCK,
            hint="`fairtrial verify-anchors` checks it",
        )
    if changes.grading:
        raise AnchorsDrifted(changes.grading, hint=REGRADE)
    examined = _examine(root, judge, lock)
    for refusal in _refusals(root, judge, changes, examined.verdict, everything=lock is None):
        raise refusal
    # Other judges' verdicts on a held-out rubric that changed are stale; they have to be accepted anew.
    stale = any(drift.where.startswith(ANCHORS) for drift in changes.judging)
    others = (
        {name: other for name, other in lock.judges.items() if name != judge.name}
        if lock and not stale
        else {}
    )
    started = lock.chain if lock else Chain(started=1, date=date, reason=reason)
    next_lock = AnchorsLock(
        generation=lock.generation + 1 if lock else 1,
        kind="accept" if lock else "first",
        date=date,
        reason=reason,
        chain=started,
        previous=chain.digest_of_lock(lock) if lock else None,
        files=_in_scenarios(digest_tree(root)[0]),
        scoring=frozen.scoring_in_use(),
        gold_weights=lock.gold_weights if lock else _weights(root),
        judges=others,
    )
    return _write(root, judge, examined, next_lock)


def regrade(root: Path, judge: Judge, *, reason: str, date: str) -> Examined:
    """Write a generation with gold, transcripts and held-out scenarios as they are, and start a new chain with it.

    It is written even where rho falls below the gate's, which then stays closed until a rubric is accepted; not where there is no rho at
    all. Raises AnchorsDrifted where a rubric, a judge or the scoring changed as well: whoever moves both could fit one to the other.
    """
    reason = _given(reason)
    lock = chain.read_chain(root)[-1]
    changes = _changes(root, lock, judge)
    if changes.judging:
        raise AnchorsDrifted(
            changes.judging,
            hint="`fairtrial anchors accept` these first, with the old grades; or undo them",
        )
    if not changes.grading:
        raise FairtrialError(
            "no grade and no transcript changed",
            where=chain.LOCK,
            hint="edit gold_scores.json or transcripts/ first",
        )
    examined = _examine(root, judge, lock.model_copy(update={"gold_weights": _weights(root)}))
    if examined.verdict.transcripts.rho is None or examined.verdict.transcripts.n < MIN_TRANSCRIPTS:
        require(examined.verdict)
    number = lock.generation + 1
    kept = {path: digest for path, digest in lock.files.items() if not path.startswith(ANCHORS)}
    graded = {
        path: digest for path, digest in digest_tree(root)[0].items() if path.startswith(ANCHORS)
    }
    next_lock = AnchorsLock(
        generation=number,
        kind="regrade",
        date=date,
        reason=reason,
        previous=chain.digest_of_lock(lock),
        chain=Chain(started=number, date=date, reason=reason),
        files=kept | graded,
        scoring=lock.scoring,
        gold_weights=_weights(root),
        judges={},
    )
    return _write(root, judge, examined, next_lock)


def _write(root: Path, judge: Judge, examined: Examined, lock: AnchorsLock) -> Examined:
    stored = verdicts.write_verdicts(root, judge, examined.anchors, examined.said)
    scores = {score.transcript: score.judged for score in examined.verdict.scores}
    entry = JudgeLock(
        identity=judge.identity,
        rho=examined.verdict.transcripts.rho or 0.0,
        scores=scores,
        verdicts=stored,
    )
    judges = {**lock.judges, judge.name: entry}
    chain.write_generation(root, lock.model_copy(update={"judges": judges}))
    verdicts.forget_verdicts(root, {key for held in judges.values() for key in held.verdicts})
    return replace(
        examined, verdict=examined.verdict.model_copy(update={"generation": lock.generation})
    )


def _in_force(root: Path) -> AnchorsLock | None:
    return chain.read_chain(root)[-1] if chain.exists(root) else None


def _given(reason: str) -> str:
    if not reason.strip():
        raise FairtrialError(
            "a generation needs a reason",
            hint='--reason "what changed, and why"; it is shown in every later report',
        )
    return reason.strip()


def _weights(root: Path) -> dict[str, dict[str, dict[str, float]]]:
    return {
        loaded.scenario.id: material.rubric_weights(loaded.rubric)
        for loaded in material.held_out(load_catalog(root))
    }


def _changes(root: Path, lock: AnchorsLock | None, judge: Judge) -> Changes:
    """Everything that differs from the lock; nothing where there is none yet. Raises AnchorsDrifted for links: no verb takes those."""
    files, links = digest_tree(root)
    if links:
        raise AnchorsDrifted(links, hint="put a plain file in its place")
    if lock is None:
        return Changes()
    then, now = ({scenario_of(path) for path in side} for side in (lock.files, files))
    drifts = frozen.compare(lock.files, _in_scenarios(files))

    def is_grading(drift: Drift) -> bool:
        return drift.where.startswith(ANCHORS) and (
            is_frozen(drift.where) or scenario_of(drift.where) not in then & now
        )

    grading = [drift for drift in drifts if is_grading(drift)]
    added = [
        drift for drift in drifts if drift not in grading and scenario_of(drift.where) not in then
    ]
    judging = [drift for drift in drifts if drift not in grading and drift not in added]
    judging += [*_scoring_drifts(lock), *_judge_drifts(lock, judge)]
    if judge.name not in lock.judges:
        judging.append(
            Drift(
                where=f"judge {judge.name}",
                what="has judged no generation yet",
                found=judge.identity,
            )
        )
    return Changes(grading=tuple(grading), judging=tuple(judging), added=tuple(added))


def _refusals(
    root: Path, judge: Judge, changes: Changes, verdict: GateVerdict, *, everything: bool
) -> Iterator[GateError]:
    """Why `accept` would not write; `everything`: hold every reference answer to its rubric, not just those that changed."""
    if changes.grading:
        yield AnchorsDrifted(changes.grading, hint=REGRADE)
    if verdict.refusal:
        yield AnchorsDisagree(
            verdict.refusal,
            hint="the rubrics do not rank the anchors as the hand grades do; nothing was written",
        )
    catalog = load_catalog(root)
    changed = {_id_of(drift.where) for drift in changes.every}
    for name in sorted(catalog.scenarios if everything else changed & set(catalog.scenarios)):
        if short := "; ".join(_reference_short(catalog.scenarios[name], judge)):
            hint = "a rubric that a right answer fails measures something else; nothing was written"
            yield AnchorsDisagree(
                f"its reference answer no longer earns what a right answer earns: {short}",
                where=name,
                hint=hint,
            )


def _reference_short(loaded: LoadedScenario, judge: Judge) -> Iterator[str]:
    """Where the reference answer falls short. Most scenarios have no anchors: this is what vouches for their rubrics."""
    steps = [
        AnswerStep(name=step.name, prompt=step.prompt, text=text, completed=True)
        for step, text in zip(loaded.scenario.steps, loaded.reference, strict=True)
    ]
    said = judge.judge(loaded.rubric, steps, [step.must_cite for step in loaded.scenario.steps])
    if said.quality < MIN_REFERENCE - _EXACT:
        yield f"quality {said.quality:.2f}, below {MIN_REFERENCE}"
    for step in said.steps:
        for name, criterion in step.criteria.items():
            if criterion.score < MIN_REFERENCE_CRITERION - _EXACT:
                yield f"{step.name}, {name}: {criterion.score:.2f}, below {MIN_REFERENCE_CRITERION} ({criterion.reason})"


def _moves(before: Mapping[str, float], scores: Sequence[AnchorScore]) -> Iterator[Move]:
    """Transcripts whose judged score changed, the furthest first."""
    after = {score.transcript: score.judged for score in scores}
    ranks = [
        {
            name: 1 + sum(other > value for other in values.values())
            for name, value in values.items()
        }
        for values in (before, after)
    ]
    changed = [
        score
        for score in scores
        if score.transcript in before and abs(before[score.transcript] - score.judged) > _EXACT
    ]
    for score in sorted(changed, key=lambda score: -abs(before[score.transcript] - score.judged)):
        name = score.transcript
        yield Move(
            transcript=name,
            gold=score.gold,
            before=before[name],
            after=score.judged,
            rank_before=ranks[0][name],
            rank_after=ranks[1][name],
        )
