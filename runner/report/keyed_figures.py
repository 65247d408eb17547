"""What a report of questions with a key has besides: F1 in its parts, by kind, and by question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from runner.records import ExactKind, Verdict
from runner.records.arms import NO_TOOLS_ARM
from runner.records.run_store import LoadedCell
from runner.report.clusters import Topic
from runner.report.figures import bounds, figure_of, key_f1, of_shares, rounded, values
from runner.report.records import Keyed, KeyedArm, KeyedKind, KeyedQuestion
from runner.report.view import ArmView, RunView, fairness_of, verdicts
from runner.scoring import statistics
from runner.scoring.judges.exact_judge import BESIDE, FOUND
from runner.support.code_digest import makes_figures

BY_HEART = 0.5
"""F1 without any tool from which on a question is taken for one that the model knows."""
NEEDS_SERVER = 0.5
"""What a text search gets less than, of a question that asks for more than one."""
FEWEST = 6
"""Groups of questions of a kind below which their mean has no interval."""


@makes_figures
def keyed(view: RunView) -> Keyed | None:
    """None if a question of the run has no key."""
    if not view.clusters.by_keys:
        return None
    return Keyed(
        where=view.clusters.where,
        arms=tuple(map(_arm, view.arms)),
        kinds=tuple(_kinds(view)),
        questions=tuple(_questions(view)),
    )


def contaminated(keyed: Keyed | None) -> str:
    """What a reader must know of questions that a model knows by heart; empty if there are none."""
    questions = keyed.questions if keyed else ()
    known = sum(bool(it.by_heart) for it in questions)
    if not known:
        return ""
    return (
        f"CONTAMINATED: {known} of {len(questions)} questions are answered without any tool "
        f"(F1 of {BY_HEART} or more), so they say little of a tool."
    )


# --- arms -----------------------------------------------------------------------------------


def _arm(arm: ArmView) -> KeyedArm:
    hard = [name for name, topic in arm.clusters.topics.items() if _needs_server(topic)]
    judged = list(verdicts(arm.usable))
    return KeyedArm(
        label=arm.label,
        f1=figure_of(arm, key_f1),
        recall=_mean_of(judged, FOUND),
        precision=_mean_of(judged, BESIDE),
        hard=figure_of(_of(arm, hard), key_f1) if hard else None,
        wrong_lines=sum(fact.place == "wrong_line" for it in judged for fact in it.facts),
        near_misses=sum(len(verdict.false_claims) for verdict in judged),
    )


def places_found(arm: ArmView) -> float | None:
    """Recall, the mean over answers to questions that have places; None where there is none."""
    return _mean_of(verdicts(arm.usable), FOUND) if arm.clusters.by_keys else None


def _needs_server(topic: Topic) -> bool:
    return topic.grep_f1 is not None and topic.grep_f1 < NEEDS_SERVER


def _of(arm: ArmView, scenarios: Sequence[str]) -> ArmView:
    """The same arm over some of the questions."""
    kept = {*scenarios}
    return replace(arm, cells=tuple(it for it in arm.cells if it.cell.scenario in kept))


def _mean_of(judged: Iterable[Verdict], criterion: str) -> float | None:
    """Of the questions that have places: whether there are none has neither."""
    found = [
        step.criteria[criterion].score
        for verdict in judged
        for step in verdict.steps
        if criterion in step.criteria
    ]
    return rounded(statistics.mean(found)) if found else None


# --- kinds ----------------------------------------------------------------------------------


def _kinds(view: RunView) -> Iterator[KeyedKind]:
    by_kind: dict[ExactKind, list[str]] = {}
    for name, topic in view.clusters.topics.items():
        if topic.asks is not None:
            by_kind.setdefault(topic.asks, []).append(name)
    for kind in sorted(by_kind):
        for arm in view.arms:
            yield _kind(kind, _of(arm, by_kind[kind]), view)


def _kind(kind: ExactKind, arm: ArmView, view: RunView) -> KeyedKind:
    figure = figure_of(arm, key_f1)
    low, high = bounds(of_shares(_interval(arm, values(arm.usable, key_f1))))
    shell = view.shell_of(arm)
    judged = list(verdicts(arm.usable))
    found = KeyedKind(
        kind=kind,
        label=arm.label,
        f1=figure.model_copy(update={"low": low, "high": high}),
        recall=_mean_of(judged, FOUND),
        precision=_mean_of(judged, BESIDE),
    )
    if arm.is_shell or shell is None:
        return found
    names = [cell.cell.scenario for cell in arm.cells]
    differences = statistics.trial_differences(
        values(_of(shell, names).usable, key_f1), values(arm.usable, key_f1)
    )
    if not differences:
        return found
    low, high = bounds(_interval(arm, differences))
    means = arm.clusters.means(statistics.scenario_means(differences))
    delta = rounded(statistics.mean(means))
    return found.model_copy(update={"delta": delta, "delta_low": low, "delta_high": high})


def _interval(
    arm: ArmView, by_trial: Mapping[statistics.Trial, float]
) -> statistics.Interval | None:
    """95 %, over groups of questions or repositories; each kind by itself."""
    means = arm.clusters.means(statistics.scenario_means(by_trial))
    if len(means) < FEWEST:
        return None
    return statistics.ClusterMean(figures=means).interval()


# --- questions ------------------------------------------------------------------------------


def _questions(view: RunView) -> Iterator[KeyedQuestion]:
    for name, topic in sorted(view.clusters.topics.items()):
        scores = {arm.label: _score(arm.within(name)) for arm in view.arms}
        if topic.asks is not None:
            yield KeyedQuestion(
                id=name,
                kind=topic.asks,
                grep_f1=topic.grep_f1,
                f1=scores,
                by_heart=tuple(_knowing(view, name)),
            )


def _score(arm: ArmView) -> float | None:
    found = list(values(arm.usable, key_f1).values())
    return rounded(statistics.mean(found)) if found else None


def _knowing(view: RunView, name: str) -> Iterator[str]:
    """Models that answer it without any tool. That there is none is said without knowing it."""
    for arm in view.arms:
        if arm.server == NO_TOOLS_ARM and any(map(_knows, arm.within(name).usable)):
            yield arm.model


def _knows(cell: LoadedCell) -> bool:
    fairness = fairness_of(cell)
    if fairness is None or fairness.verdict is None or not fairness.verdict.facts:
        return False
    return fairness.verdict.quality >= BY_HEART
