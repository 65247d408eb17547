"""What may not be concluded from a run.

Made from the run itself, so that no reader has to know what to look for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from runner.agents.models import is_language_model, kind_name
from runner.report.records import ArmReport, Report, ScenarioReport
from runner.scoring.judges import caveats_of, models_of
from runner.scoring.statistics import least_clusters

BROKEN_SHARE = 0.05
"""Above this share of broken cells, what is left may be an easier run than the one planned."""
CHANCE_MARGIN = 0.10
"""A grounding rate less than this above the chance rate says little."""
MANY_REPOSITORIES = 20


def not_concluded(report: Report) -> tuple[str, ...]:
    """Every caveat that applies to this report, the gravest first."""
    sentences: list[str] = []
    for caveat in CAVEATS:
        sentences.extend(caveat(report))
    return tuple(sentences)


def _model(report: Report) -> Iterator[str]:
    answering = report.language_models
    if not answering:
        yield (
            "Whether any server helps an agent: no language model answered. "
            "The figures show that the path works, and what servers cost."
        )
    elif len(answering) < len(report.models):
        yield (
            "Anything from the arms of offline or replayed models: "
            "no language model answered there."
        )
    elif len(answering) == 1:
        yield f"That another model would gain or lose alike: only {answering[0]} answered."


def _imported(report: Report) -> Iterator[str]:
    if report.imported:
        yield (
            f"IMPORTED: anything from {len(report.imported)} cells as if they were measured here. "
            "Nothing shows that their arms differed in the server alone, that the shell's arm "
            "could not reach it, or that the commit was the scenario's."
        )


def _unreviewed(report: Report) -> Iterator[str]:
    for section in report.sections:
        if section.unreviewed:
            yield f"That {section.id} asks for the right things. Unreviewed: {section.unreviewed}."


def _gate(report: Report) -> Iterator[str]:
    if report.ungated:
        yield (
            "UNGATED: that the rubrics and the judge still measure what they did. "
            "No anchor was checked before this run."
        )


def _rescored(report: Report) -> Iterator[str]:
    if report.since and report.since.rescored_under:
        yield (
            "That these figures could have been had when the run was made: what scores it was "
            f"accepted later, in generation {report.since.rescored_under}, by somebody who could "
            "have read the answers."
        )


def _screening(report: Report) -> Iterator[str]:
    if report.standing == "ranks":
        return
    if report.keyed:
        yield "UNRANKED: that any arm finds more than another; see the notice above."
        return
    yield (
        "SCREENING: that any arm's answers are better than another's. The judge has not shown that "
        "it tells right from wrong; a difference is a reason to read the answers."
    )
    if report.gate is None:
        return
    if report.gate.unmet:
        first, *others = report.gate.unmet
        more = f"; {len(others)} more: `fairtrial verify-anchors` lists them" if others else ""
        yield f"What the judge was asked for and did not reach: {first}{more}."


def _contradictions(report: Report) -> Iterator[str]:
    if report.contradictions:
        yield (
            "That this run stands as it was measured: "
            f"{len(report.contradictions)} times a file says something else than its evidence. "
            "Figures are made from what holds together."
        )


def _people(report: Report) -> Iterator[str]:
    if report.gate and not report.gate.people and not report.keyed:
        yield (
            "That a person would grade as the gate's gold does: no person has graded an anchor "
            "yet, only language models."
        )


def _judge(report: Report) -> Iterator[str]:
    yield from caveats_of(report.judges)
    for judge, model in _of_one_family(report):
        yield (
            f"That {judge} is a stranger to the answers: the agent's model, {model}, is of its "
            "family, and models favour what their own kind writes."
        )
    if len(report.judges) > 1:
        judges = ", ".join(report.judges)
        yield f"That quality is on one scale: {len(report.judges)} judges spoke ({judges})."


def _of_one_family(report: Report) -> Iterator[tuple[str, str]]:
    """Each judge that is a model, with the first model of the run that is of its family."""
    for judge in report.judges:
        names = tuple(judge.removeprefix("panel:").split("+"))
        families = {_family(model) for model in models_of(names)}
        for model in report.models:
            if is_language_model(kind_name(model)) and _family(model) in families:
                yield judge, model
                break


def _family(model: str) -> str:
    """`claude` of `anthropic:claude-sonnet-4-6`, `qwen` of `local:Qwen2.5-Coder.gguf`."""
    name = re.split(r"[:/]", model.lower())[-1]
    letters = re.match(r"[a-z]+", name)
    return letters.group() if letters else name


def _broken(report: Report) -> Iterator[str]:
    for arm in report.arms:
        tally = arm.tally
        if tally.broken > BROKEN_SHARE * tally.planned:
            yield (
                f"That {arm.label}'s figures hold for the whole plan: {tally.broken} of "
                f"{tally.planned} cells broke and are in no mean. Run again to resume them."
            )
        if tally.unfinished:
            yield (
                f"That {arm.label} is done: {tally.unfinished} of {tally.planned} cells are not "
                "finished."
            )


def _unscored(report: Report) -> Iterator[str]:
    for arm in report.arms:
        measured = arm.tally.measured
        absent = measured - arm.tally.unpaired - arm.fairness.score.cells
        if absent > 0:
            yield (
                f"That {arm.label}'s fairness speaks for all its measured cells: {absent} of "
                f"{measured} are in no mean."
            )


def _incomparable(report: Report) -> Iterator[str]:
    if report.incomparable:
        yield (
            f"Anything from {len(report.incomparable)} measured cells whose fingerprints differ "
            "from their baseline's in more than the server: they are listed, and compared with "
            "nobody."
        )


def _size(report: Report) -> Iterator[str]:
    sampled = report.sampled
    least = least_clusters(sampled.comparisons)
    if sampled.cluster == "question":
        yield (
            f"Anything about other repositories: {sampled.repositories} were asked about, and "
            f"{least} are the least that a comparison of {sampled.comparisons} servers can tell "
            "from a coin."
        )
        if sampled.questions < sampled.least:
            yield (
                f"That an arm beats another on these: {sampled.questions} groups of questions "
                f"about the same files are fewer than {sampled.least}."
            )
    elif sampled.repositories < MANY_REPOSITORIES:
        yield (
            f"Small differences: {sampled.repositories} repositories give wide intervals, and a "
            "server that fails rarely may not have failed in any of them."
        )


def _noise(report: Report) -> Iterator[str]:
    trials = [layer for layer in report.noise if layer.layer != "judge"]
    if not trials:
        yield (
            "What duplicates of the same cell differ by: every cell ran once, so the noise floor "
            "is unknown."
        )
    elif all(layer.sd == 0 for layer in trials):
        # A deterministic model repeats itself exactly; a floor of 0 would let anything pass it.
        yield (
            "That another model would repeat itself as these trials did: they are identical, so a "
            "noise floor of 0 is this setting's own."
        )


def _blocks(report: Report) -> Iterator[str]:
    if report.seed is None:
        yield (
            "That the order of the arms did not matter: it was not drawn, and the same arm may "
            "have come first each time."
        )
    later = sum(bool(block.later) for section in report.sections for block in section.blocks)
    if later:
        yield (
            f"That all arms met the machine and the provider at the same time: in {later} blocks "
            "cells were run later than the rest, after they broke or were cut."
        )


def _slants(report: Report) -> Iterator[str]:
    sections = report.sections
    if len(sections) > 1 and _alike(sections, lambda section: section.slant.strip().casefold()):
        yield (
            "That a server of another kind would do as well: every scenario has the same slant "
            f"({sections[0].slant.strip()})."
        )
    if _alike(sections, lambda section: section.language):
        yield f"Anything about other languages: all scenarios are in {sections[0].language}."
    if _alike(sections, lambda section: section.repository):
        yield (
            "Anything about other code: all scenarios ask about one repository "
            f"({sections[0].repository})."
        )


def _alike(sections: Sequence[ScenarioReport], value_of: Callable[[ScenarioReport], str]) -> bool:
    return len(set(map(value_of, sections))) == 1


def _chance(report: Report) -> Iterator[str]:
    for arm in report.arms:
        rates = arm.grounding
        if rates.headline_rate is None or rates.chance_rate is None:
            continue
        if rates.headline_rate - rates.chance_rate < CHANCE_MARGIN:
            yield (
                f"That {arm.label}'s citations point where they mean to: "
                f"{rates.headline_rate:.3f} are grounded, and random lines of the same files "
                f"would reach {rates.chance_rate:.3f}."
            )


def _versions(report: Report) -> Iterator[str]:
    for arm in report.arms:
        if len(_definitions(report, arm)) > 1:
            yield (
                f"That {arm.label} is one server: its cells ran with more than one definition of "
                "it."
            )


def _definitions(report: Report, arm: ArmReport) -> list[str]:
    """`a…, b…` -> both digests."""
    facts = report.repeat.servers.get(arm.server, {})
    return facts.get("server_spec", "").split(", ")


def _substitutes(report: Report) -> Iterator[str]:
    for arm in report.arms:
        for sentence in arm.substitutes:
            yield f"That {arm.label} does for its users what it did here. {sentence}"


def _estimates(report: Report) -> Iterator[str]:
    if any(arm.costs.tokens_estimated for arm in report.arms):
        yield (
            "Exact token costs: some are estimated as characters / 4, and efficiency rests on them."
        )


def _unpaired(report: Report) -> Iterator[str]:
    for arm in report.arms:
        if arm.tally.unpaired:
            yield (
                f"Anything from {arm.tally.unpaired} of {arm.label}'s {arm.tally.measured} "
                "measured cells: their counterparts are not there to compare with."
            )


def _always(report: Report) -> Iterator[str]:
    yield (
        "That nobody rewrote the run: digests show accidents and careless edits, and are no "
        "signature."
    )
    yield (
        "That criterion scores rank anyone: they fluctuate more than a scenario's figure and are "
        "printed as commentary."
    )
    if any(arm.adoption for arm in report.arms):
        yield (
            "That a server which is called more is better: adoption says how it was used, and is "
            "in no fairness figure."
        )


CAVEATS: tuple[Callable[[Report], Iterator[str]], ...] = (
    _model,
    _imported,
    _unreviewed,
    _gate,
    _rescored,
    _screening,
    _contradictions,
    _broken,
    _unscored,
    _incomparable,
    _unpaired,
    _size,
    _noise,
    _blocks,
    _people,
    _judge,
    _chance,
    _slants,
    _versions,
    _substitutes,
    _estimates,
    _always,
)
