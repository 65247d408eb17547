"""A loaded run as a Report, from what is on disk: no Docker, no model, no judge.

All figures are made in this room's view, figures, comparison and costs. Fairness and adoption never
meet in one figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.agents.models import MODELS
from runner.records import (
    BY_MANIFEST,
    ArmError,
    ArmServer,
    Citation,
    Gate,
    Plan,
    Price,
    Scenario,
    Scored,
    ServerSpec,
    Since,
    Standing,
    Verdict,
    is_self_check,
    server_of,
)
from runner.records.arms import NO_TOOLS_ARM
from runner.records.run_store import LoadedCell, LoadedRun
from runner.report.blocks import block_reports, order_of
from runner.report.caveats import not_concluded
from runner.report.clusters import topics_of
from runner.report.comparison import Comparisons, noise_layers
from runner.report.costs import costs, lost_turns
from runner.report.figures import (
    adoption_figures,
    fairness_figures,
    grounding_parts,
    rounded,
    whole_fairness,
    why_missing,
)
from runner.report.keyed_figures import contaminated, keyed
from runner.report.records import (
    ArmReport,
    BlockReport,
    CellReport,
    Commentary,
    Fault,
    ImportedCell,
    Incomparable,
    PairedBaseline,
    Report,
    Sampled,
    ScenarioArm,
    ScenarioReport,
    Tally,
)
from runner.report.repeat import how_to_repeat
from runner.report.trials import pass_chances, trials_of
from runner.report.view import (
    SHELL,
    ArmView,
    RunView,
    fairness_of,
    fingerprints,
    imported_of,
    is_import,
    unique,
    verdicts,
    view_of,
)
from runner.runs.plan import margin_of, pass_at_of
from runner.scoring.statistics import least_clusters
from runner.support.text import some_of

FAILED_SHOWN = 10
"""Failed citations listed per cell; the rest are counted."""
UNGATED = (
    "UNGATED: no gate stood in front of this run, so nothing vouches for its rubrics or its judge."
)

RESCORED = (
    "RESCORED UNDER GENERATION {under}: the run is older than what it is scored by. Changed since "
    "it was planned: {changed}. Accepted since: {reasons}."
)
SELF_CHECK = (
    "SELF-CHECK: {arms}. These arms are no servers to choose from: a twin has to come out like its "
    "server, and moved lines have to come out below it."
)
HISTORY = "THE LOCK'S PAST: {remark}, so nothing vouches for which generation came when."
CHANGES_SHOWN = 5
FEW_GRADED = " So few questions refuse nothing, and bear nothing out."
REFUSED_BY_PEOPLE = " The judge's word ranks nobody here: its error may be all of it."
IMPORTED_CAVEAT = (
    "IMPORTED: another harness ran these cells. No sandbox of ours held the arms apart or counted "
    "their seconds; scores are made here from its transcripts, and rank nobody."
)
FEW = "Of fewer {clusters} than a comparison needs ({count} of {least}): it ranks nobody."
CONTRADICTED_CAVEAT = (
    "CONTRADICTED: {count} times a file of this run says something else than its evidence. "
    "Scores are made again from the transcripts; cells whose evidence does not hold are in no "
    "figure."
)


def build_report(  # noqa: PLR0913 - what a report is made of, each by its name
    run: LoadedRun,
    scenarios: Mapping[str, Scenario],
    servers: Mapping[str, ServerSpec],
    *,
    gate: Gate | None = None,
    since: Since | None = None,
    arm_errors: Sequence[ArmError] = (),
) -> Report:
    """What `runs/<run>` shows. A scenario or server that left the catalog is shown by its name.

    `gate`: what stood in front of it; a run that began without one stays ungated, whatever stands
    there now. `since`: what was accepted after the run was planned. `arm_errors`: what people's
    grades say of the judge; one that may be all of a difference lets it rank nobody.
    """
    view = view_of(run, topics_of(scenarios))
    # A run that began without a gate has no judge that anybody vouches for.
    shown = None if run.plan.ungated else gate
    standing: Standing = shown.standing if shown else "screens"
    if any(error.refuses for error in arm_errors):
        standing = "screens"
    made = _made_with(view, run.plan, standing)
    by_keys = keyed(view)
    report = Report(
        notices=(
            *_notices(view, run, shown, since),
            contaminated(by_keys),
            *map(arm_error_text, arm_errors),
            *_screening(view, standing, shown),
        ),
        arm_errors=tuple(arm_errors),
        ungated=run.plan.ungated,
        gate=shown,
        since=since,
        keyed=by_keys,
        standing=standing,
        language_model=view.models == view.language_models,
        question=_question(_servers(view), standing, _agents(view), by_keys=view.clusters.by_keys),
        run=run.plan.run,
        created_at=run.plan.created_at,
        models=view.models,
        agents=_agents(view),
        searched=unique(it.server for it in fingerprints(view.cells) if it.tools_searched),
        language_models=view.language_models,
        judges=unique(verdict.judge for verdict in verdicts(view.cells)),
        scenarios=view.scenarios,
        sampled=view.clusters.sampled,
        servers=view.servers,
        trials=max((cell.trial for cell in run.plan.cells), default=0),
        seed=run.plan.study.seed if run.plan.study else None,
        pass_at=made.pass_at,
        margin=made.compared.margin,
        lost=tuple(lost_turns(view, made.prices)),
        arms=tuple(_arm(made, arm, servers.get(server_of(arm.server))) for arm in view.arms),
        between=tuple(made.compared.between()),
        contradictions=run.contradictions,
        imported=tuple(_imported(view)),
        faults=tuple(_faults(view)),
        incomparable=tuple(_incomparable(view)),
        noise=tuple(noise_layers(view)),
        sections=tuple(_section(made, name, scenarios.get(name)) for name in view.scenarios),
        not_concluded=(),
        repeat=how_to_repeat(run, view, scenarios, servers),
        prices=run.plan.prices,
    )
    told = tuple(filter(None, [report.ranked_by, *report.notices]))
    return report.model_copy(update={"notices": told, "not_concluded": not_concluded(report)})


# --- head -----------------------------------------------------------------------------------


def _notices(
    view: RunView, run: LoadedRun, gate: Gate | None, since: Since | None
) -> Iterator[str]:
    """What a reader must know before any figure."""
    answered = {kind for kinds in view.kinds.values() for kind in kinds}
    for name, kind in MODELS.items():
        if name in answered and not kind.language_model:
            yield kind.notice or f"Made with {name}, which is no language model: it ranks nobody."
    checks = [ArmServer.of(arm) for arm in view.servers if is_self_check(arm)]
    if checks:
        yield SELF_CHECK.format(arms="; ".join(f"{it.name} is {it.describe()}" for it in checks))
    if any(map(is_import, view.models)):
        yield IMPORTED_CAVEAT
    if view.language_models:
        yield from _few(view.clusters.sampled)
    if run.plan.ungated:
        yield UNGATED
    if since and since.rescored_under:
        yield RESCORED.format(
            under=since.rescored_under,
            changed=some_of(since.changed, CHANGES_SHOWN),
            reasons="; ".join(since.accepted) or "none on record",
        )
    # A wheel's files are held to its MANIFEST, which the gate's facts say: nobody could mend it.
    if gate and gate.history not in ("", BY_MANIFEST) and not run.plan.ungated:
        yield HISTORY.format(remark=gate.history)
    if run.contradictions:
        yield CONTRADICTED_CAVEAT.format(count=len(run.contradictions))


def _few(sampled: Sampled) -> Iterator[str]:
    if sampled.cluster == "question" and sampled.questions < sampled.least:
        least = least_clusters(sampled.comparisons)
        yield FEW.format(clusters="repositories", count=sampled.repositories, least=least)


def arm_error_text(error: ArmError) -> str:
    """`server × model: people graded 12 of 40 questions …`"""
    said = (
        f"{error.arm}: people graded {error.graded} of {error.questions} questions. Of the judge's "
        f"difference in quality of {error.judged:+.3f}, {error.error:+.3f} "
        f"[{error.error_low:+.3f}, {error.error_high:+.3f}] is an error that only this arm meets "
        f"(p = {error.p:.3f}); corrected: {error.corrected:+.3f} "
        f"[{error.low:+.3f}, {error.high:+.3f}]."
    )
    if error.is_thin:
        return said + FEW_GRADED
    return said + (REFUSED_BY_PEOPLE if error.refuses else "")


def _screening(view: RunView, standing: Standing, gate: Gate | None) -> Iterator[str]:
    if standing == "ranks":
        return
    if view.clusters.by_keys:
        why = f"requirements not met: {len(gate.unmet)}" if gate else "no gate vouches for its keys"
        yield f"UNRANKED: {why}. F1 is what it is, and no arm is ranked by it."
        return
    if gate is None:
        why = "no gate vouches for its judge"
    else:
        why = f"the judge {gate.judge} screens (requirements not met: {len(gate.unmet)})"
        if gate.standing == "ranks":
            why = f"people's grades do not bear out the judge {gate.judge}"
    yield f"SCREENING: {why}. Figures say where to look closer; no arm is ranked."


def _servers(view: RunView) -> tuple[str, ...]:
    return unique(server_of(arm) for arm in view.servers if arm not in (SHELL, NO_TOOLS_ARM))


def _agents(view: RunView) -> tuple[str, ...]:
    """Those that are programs, as the provider met them."""
    programs = [it.program for it in fingerprints(view.cells) if it.program]
    return unique(program.title for program in programs)


def _question(
    servers: Sequence[str], standing: Standing, agents: Sequence[str], *, by_keys: bool
) -> str:
    agent = " or ".join(agents) or "the agent"
    if not servers:
        return f"How well does {agent} answer with a shell alone?"
    *others, last = servers
    listed = f"{', '.join(others)} or {last}" if others else last
    if by_keys:
        return f"Does {agent} find the right places with {listed} attached, and at what cost?"
    if standing == "screens":
        return f"What does {agent} answer with {listed} attached, and what does it cost?"
    return (
        f"Does attaching {listed} make {agent}'s answers better than a shell alone does, "
        "or does it only burn tokens?"
    )


# --- arms -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _FigureInputs:
    """What an arm's figures are made with."""

    compared: Comparisons
    blocks: tuple[BlockReport, ...]
    pass_at: float
    prices: Mapping[str, Price]


def _made_with(view: RunView, plan: Plan, standing: Standing) -> _FigureInputs:
    return _FigureInputs(
        compared=Comparisons(view=view, standing=standing, margin=margin_of(plan)),
        blocks=tuple(block_reports(view, plan)),
        pass_at=pass_at_of(plan),
        prices=plan.prices.models if plan.prices else {},
    )


def _arm(made: _FigureInputs, arm: ArmView, spec: ServerSpec | None) -> ArmReport:
    compared = made.compared
    shell = compared.view.shell_of(arm)
    return ArmReport(
        label=arm.label,
        model=arm.model,
        server=arm.server,
        imported=is_import(arm.model),
        title=_title(arm, spec),
        version=_version(arm, spec),
        substitutes=spec.substitutes if spec else (),
        tally=_tally(arm),
        fairness=fairness_figures(arm),
        delta=compared.delta(arm),
        adoption=adoption_figures(arm),
        grounding=grounding_parts(arm),
        costs=costs(arm, shell, made.prices.get(arm.model)),
        varies=compared.varies(arm),
        beside=_beside(arm, shell),
        order=order_of(arm, made.blocks),
        passes=tuple(pass_chances(arm, made.pass_at)),
    )


def _beside(arm: ArmView, shell: ArmView | None) -> PairedBaseline | None:
    """The shell over the server's pairs alone: over more of them it is another set of tasks."""
    if shell is None or arm.is_shell:
        return None
    same = shell.beside(arm)
    if len(same.cells) == len(shell.usable):
        return None
    return PairedBaseline(
        label="shell, same cells",
        fairness=fairness_figures(same),
        costs=costs(same, None),
    )


def _title(arm: ArmView, spec: ServerSpec | None) -> str:
    if is_self_check(arm.server):
        return ArmServer.of(arm.server).describe()
    if spec:
        return spec.title
    if arm.is_shell:
        return "the baseline: a shell and no server"
    return arm.server


def _version(arm: ArmView, spec: ServerSpec | None) -> str:
    """What ran; the catalog may have moved on since."""
    ran = unique(fingerprint.server_version for fingerprint in fingerprints(arm.cells))
    if ran or spec is None:
        return ", ".join(ran)
    return spec.version


def _tally(arm: ArmView) -> Tally:
    ended = [cell.result.outcome for cell in arm.cells if cell.result]
    contradicted = sum(cell.measured and not cell.believed for cell in arm.cells)
    return Tally(
        planned=len(arm.cells),
        measured=len(arm.measured),
        unpaired=len(arm.measured) - len(arm.paired),
        contradicted=contradicted,
        broken=len(ended) - len(arm.measured) - contradicted,
        unfinished=len(arm.cells) - len(ended),
        attempts=sum(cell.attempts for cell in arm.cells),
        outcomes=dict(Counter(outcome.kind for outcome in ended)),
    )


# --- cells that ended badly, or stand apart -------------------------------------------------


def _place(view: RunView, cell: LoadedCell) -> dict[str, Any]:
    """The fields of a PlacedCell."""
    planned = cell.cell
    return {
        "cell_id": planned.id,
        "scenario": planned.scenario,
        "arm": view.label(planned),
        "trial": planned.trial,
    }


def _faults(view: RunView) -> Iterator[Fault]:
    for cell in view.cells:
        # What a result says that nobody believes is listed with what contradicts it.
        if cell.result is None or not cell.believed:
            continue
        outcome = cell.result.outcome
        # A crashed server is a measurement, and its owner needs the reason as much as we need ours.
        if not outcome.is_measurement or outcome.kind == "server_crashed":
            yield Fault(
                **_place(view, cell),
                outcome=outcome.kind,
                is_measurement=outcome.is_measurement,
                reason=outcome.reason,
                attempts=cell.attempts,
            )


def _imported(view: RunView) -> Iterator[ImportedCell]:
    for cell in view.cells:
        found = imported_of(cell)
        if found is not None:
            yield ImportedCell(
                **_place(view, cell),
                harness=f"{found.harness} {found.harness_version}".strip(),
                model=found.model,
                file=found.file,
                source=found.source,
                usd=found.usd,
                degraded=found.degraded,
            )


def _incomparable(view: RunView) -> Iterator[Incomparable]:
    for cell in view.cells:
        if cell.cell.id in view.differs:
            yield Incomparable(
                **_place(view, cell),
                differs=view.differs[cell.cell.id],
            )


# --- scenarios ------------------------------------------------------------------------------


def _section(made: _FigureInputs, name: str, scenario: Scenario | None) -> ScenarioReport:
    arms = tuple(_scenario_arms(made, name))
    blocks = tuple(block for block in made.blocks if block.scenario == name)
    if scenario is None:
        return ScenarioReport(
            id=name,
            title=name,
            description="no longer in the catalog",
            slant="unknown: no longer in the catalog",
            repository="unknown",
            language="unknown",
            steps=0,
            arms=arms,
            blocks=blocks,
        )
    return ScenarioReport(
        id=name,
        title=scenario.title,
        description=scenario.description,
        slant=scenario.slant,
        unreviewed=scenario.unreviewed,
        repository=scenario.repository.label,
        language=scenario.language,
        steps=len(scenario.steps),
        arms=arms,
        blocks=blocks,
    )


def _scenario_arms(made: _FigureInputs, scenario: str) -> Iterator[ScenarioArm]:
    for whole in made.compared.view.arms:
        arm = whole.within(scenario)
        if arm.cells:
            yield ScenarioArm(
                label=arm.label,
                fairness=fairness_figures(arm),
                delta=made.compared.delta(arm),
                trials=trials_of(arm, made.pass_at),
                cells=tuple(_cell(arm, cell) for cell in arm.cells),
            )


def _cell(arm: ArmView, cell: LoadedCell) -> CellReport:
    ended = cell.result.outcome if cell.result else None
    report = CellReport(
        cell_id=cell.cell.id,
        trial=cell.cell.trial,
        outcome=ended.kind if ended else None,
        reason=ended.reason if ended else "not finished",
        unscored=why_missing(arm, cell, whole_fairness),
    )
    fairness = fairness_of(cell)
    if fairness is None:
        return report
    failed = tuple(_failed(fairness.citations))
    details: dict[str, object] = {
        "failed": failed[:FAILED_SHOWN],
        "failed_total": len(failed),
        "cited_total": fairness.grounding.total,
    }
    if isinstance(fairness.score, Scored):
        details["fairness"] = rounded(fairness.score.value)
    if fairness.verdict is not None:
        details["judge"] = fairness.verdict.judge
        details["commentary"] = tuple(_commentary(fairness.verdict))
    return report.model_copy(update=details)


def _failed(citations: Iterable[Citation]) -> Iterator[Citation]:
    for citation in citations:
        # A file cited without a line is in no count, so it can fail in none.
        if citation.start is not None and citation.status != "grounded":
            yield citation


def _commentary(verdict: Verdict) -> Iterator[Commentary]:
    for step in verdict.steps:
        for name, criterion in step.criteria.items():
            score = rounded(criterion.score)
            yield Commentary(step=step.name, criterion=name, score=score, reason=criterion.reason)
