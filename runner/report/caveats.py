"""What may not be concluded from a run: made from the run itself, so that no reader has to know what to look for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from runner.models import is_language_model
from runner.report.records import Report
from runner.stats import MIN_SCENARIOS

BROKEN_SHARE = 0.05
"""Above this share of broken cells what is left may be an easier run than the one planned."""
CHANCE_MARGIN = 0.10


def not_concluded(report: Report) -> tuple[str, ...]:
    """Every caveat that holds for this report, the gravest first."""
    return tuple(sentence for caveat in CAVEATS for sentence in caveat(report))


def _model(report: Report) -> Iterator[str]:
    answering = [model for model in report.models if is_language_model(model)]
    if not answering:
        yield "Whether any server helps an agent: no language model answered. The figures show that the path works, and what servers cost."
    elif len(answering) < len(report.models):
        yield "Anything from the arms of offline or replayed models: no language model answered there."
    elif len(report.models) == 1:
        yield f"That another model would gain or lose alike: only {report.models[0]} answered."


def _gate(report: Report) -> Iterator[str]:
    if report.ungated:
        yield "UNGATED: that the rubrics and the judge still measure what they did. No anchor was checked before this run."


def _judge(report: Report) -> Iterator[str]:
    if "checklist" in report.judges:
        yield (
            "That an answer is good beyond the facts its rubric lists: the checklist judge sees those and nothing else, and an answer "
            "that is right in other words can miss them."
        )
    if len(report.judges) > 1:
        yield f"That quality is on one scale: {len(report.judges)} judges spoke ({', '.join(report.judges)})."


def _broken(report: Report) -> Iterator[str]:
    for arm in report.arms:
        tally = arm.tally
        if tally.broken and tally.broken > BROKEN_SHARE * tally.planned:
            yield (
                f"That {arm.label}'s figures hold for the whole plan: {tally.broken} of {tally.planned} cells broke and are in no mean. "
                "Run again to resume them."
            )
        if tally.unfinished:
            yield f"That {arm.label} is done: {tally.unfinished} of {tally.planned} cells are not finished."


def _unscored(report: Report) -> Iterator[str]:
    for arm in report.arms:
        absent = arm.tally.measured - arm.fairness.score.cells
        if absent > 0:
            yield f"That {arm.label}'s fairness speaks for all its measured cells: {absent} of {arm.tally.measured} are in no mean."


def _incomparable(report: Report) -> Iterator[str]:
    if report.incomparable:
        yield (
            f"Anything from {len(report.incomparable)} measured cells whose fingerprints differ from their baseline's in more than the "
            "server: they are listed, and compared with nobody."
        )


def _size(report: Report) -> Iterator[str]:
    n = len(report.scenarios)
    if n < MIN_SCENARIOS:
        yield (
            f"That an arm beats another: with {n} scenario{'s' if n != 1 else ''} no pattern of wins can be told from a coin "
            f"(two-sided sign test at 5 %); {MIN_SCENARIOS} are the least."
        )
    elif n < 20:
        yield (
            f"Small differences: {n} scenarios give wide intervals, and at n = {MIN_SCENARIOS} a 95 % one holds the truth about 93 % of "
            "the time."
        )
    compared = [
        arm for arm in report.arms if arm.delta.judgement in ("higher", "lower", "no_difference")
    ]
    if len(compared) > 1:
        chance = 1 - 0.95 ** len(compared)
        yield (
            f"That a single difference is no accident: {len(compared)} comparisons at 95 % raise at least one false alarm up to "
            f"{chance:.0%} of the time."
        )


def _noise(report: Report) -> Iterator[str]:
    if not report.noise:
        yield "What duplicates of the same cell differ by: every cell ran once, so the noise floor is unknown."
    elif all(layer.sd == 0 for layer in report.noise):
        yield "That another model would repeat itself as these trials did: they are identical, so a noise floor of 0 is this setting's own."


def _slants(report: Report) -> Iterator[str]:
    slants = {section.slant.strip().casefold() for section in report.sections}
    if len(report.sections) > 1 and len(slants) == 1:
        yield f"That a server of another kind would do as well: every scenario has the same slant ({report.sections[0].slant.strip()})."
    languages = {section.language for section in report.sections}
    if len(languages) == 1 and report.sections:
        yield f"Anything about other languages: all scenarios are in {languages.pop()}."
    repositories = {section.repository for section in report.sections}
    if len(repositories) == 1 and report.sections:
        yield f"Anything about other code: all scenarios ask about one repository ({repositories.pop()})."


def _chance(report: Report) -> Iterator[str]:
    for arm in report.arms:
        parts = arm.grounding
        if (
            parts.headline_rate is not None
            and parts.chance_rate is not None
            and parts.headline_rate - parts.chance_rate < CHANCE_MARGIN
        ):
            yield (
                f"That {arm.label}'s citations point where they mean to: {parts.headline_rate:.3f} are grounded, and random lines of the "
                f"same files would reach {parts.chance_rate:.3f}."
            )


def _versions(report: Report) -> Iterator[str]:
    for arm in report.arms:
        if ", " in report.repeat.servers.get(arm.server, {}).get("server_spec", ""):
            yield f"That {arm.label} is one server: its cells ran with more than one definition of it."


def _estimates(report: Report) -> Iterator[str]:
    if any(arm.costs.tokens_estimated for arm in report.arms):
        yield "Exact token costs: some are estimated as characters / 4, and efficiency rests on them."


def _always(report: Report) -> Iterator[str]:
    yield "That criterion scores rank anyone: they fluctuate more than a scenario's figure and are printed as commentary."
    if any(arm.adoption for arm in report.arms):
        yield "That a server which is called more is better: adoption says how it was used, and is in no fairness figure."


CAVEATS: tuple[Callable[[Report], Iterator[str]], ...] = (
    _model,
    _gate,
    _broken,
    _unscored,
    _incomparable,
    _size,
    _noise,
    _judge,
    _chance,
    _slants,
    _versions,
    _estimates,
    _always,
)
