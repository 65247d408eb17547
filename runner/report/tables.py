"""A report's tables, as every form prints them: terminal.py, markdown.py and html/ lay them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

from runner.records import Citation, Contradiction, Gate, Since, Standing, is_candidate
from runner.report.grid import (
    DASH,
    Bar,
    Column,
    Notes,
    Table,
    clean,
    count,
    formed,
    hundredth,
    interval,
    number,
    ratio,
    score,
    signed,
    signed_interval,
    table,
    tenth,
    words,
)
from runner.report.keyed_tables import of_keys
from runner.report.records import (
    AdoptionFigures,
    ArmPair,
    ArmReport,
    BlockReport,
    CellReport,
    Commentary,
    Delta,
    Fault,
    Figure,
    HalfFigures,
    ImportedCell,
    Incomparable,
    LostTurns,
    NoiseLayer,
    PairedBaseline,
    PassChance,
    PlacedCell,
    Report,
    ScenarioArm,
    ScenarioReport,
    ShiftedParts,
    Variation,
)
from runner.report.view import unique
from runner.scoring import ADOPTION, FAIRNESS
from runner.scoring.score_parts import Parts, formula
from runner.support.text import counted

OF_FAIRNESS = "Δ fairness"
TOGETHER = "95 % interval, all comparisons together"
C = TypeVar("C")
T = TypeVar("T")
A = TypeVar("A", bound=ArmReport | ScenarioArm | PairedBaseline)


def of_run(report: Report, *, each: bool = True) -> tuple[Table, ...]:
    """The run's tables in a report's order; those about trouble only if there is some.

    `each`: with the one that has a row for each question with a key.
    """
    troubles = _if_any(
        contradictions(report),
        imported(report),
        table("Broken cells and crashed servers", FAULTS, report.faults),
        table(NOT_COMPARED, INCOMPARABLE, report.incomparable),
    )
    return (
        tally(report),
        *troubles,
        *_if_any(lost(report)),
        blocks(report),
        *(of_keys(report.keyed, each=each) if report.keyed else ()),
        fairness(report),
        deltas(report),
        *_if_any(between(report), varies(report)),
        *_if_any(passes(report)),
        noise(report),
        adoption(report),
        grounding(report),
        rates(report),
        worth(report),
        agent_costs(report),
        tokens(report),
        phases(report),
        server_costs(report),
        context_costs(report),
    )


def of_scenario(section: ScenarioReport, of: Report) -> tuple[Table, ...]:
    """A scenario's tables; the details only if there are some.

    Of a large run the details of the first trials: with all of them no browser opens the page.
    """
    shown = _first_trials(section, CELLS_SHOWN // len(of.sections))
    said = [_Placed(it.place, one) for it in _cells(shown) for one in it.cell.commentary]
    details = _if_any(
        trials(section),
        table("Blocks", SCENARIO_BLOCKS, shown.blocks),
        failed_citations(shown),
        table(COMMENTED, COMMENTARY, said),
    )
    left_out = _count(section) - _count(shown)
    notes = [f"{left_out:,} more, with all that is said of them, are in report.json."]
    cells = table("Cells", CELLS, _cells(shown), notes=notes if left_out else ())
    return (scenario_scores(section), cells, *details)


def _first_trials(section: ScenarioReport, most: int) -> ScenarioReport:
    """With the cells and blocks of as many trials as have `most` cells, none of them in part."""
    trials = sorted(cell.trial for arm in section.arms for cell in arm.cells)
    if len(trials) <= most:
        return section
    end = trials[most]
    arms = []
    for arm in section.arms:
        cells = tuple(cell for cell in arm.cells if cell.trial < end)
        arms.append(arm.model_copy(update={"cells": cells}))
    blocks = tuple(block for block in section.blocks if block.trial < end)
    return section.model_copy(update={"arms": tuple(arms), "blocks": blocks})


def _count(section: ScenarioReport) -> int:
    return sum(len(arm.cells) for arm in section.arms)


def _if_any(*found: Table) -> list[Table]:
    return [one for one in found if one.rows]


def _arm(arm: ArmReport | ScenarioArm | PairedBaseline) -> str:
    return clean(arm.label)


ARM: Column[ArmReport | ScenarioArm | PairedBaseline] = words("arm", _arm)


class _Placed(NamedTuple, Generic[T]):
    """A row of what an arm, or one of its cells, has by the dozen."""

    place: str
    of: T


def _rows(report: Report) -> Iterator[ArmReport | PairedBaseline]:
    """The arms, each with the shell over its own pairs where the shell's row is of others."""
    for arm in report.arms:
        yield arm
        if arm.beside is not None:
            yield arm.beside


# --- cells ----------------------------------------------------------------------------------


def _outcomes(arm: ArmReport) -> str:
    """`answered 5, sandbox_failed 1`."""
    return ", ".join(f"{kind} {times}" for kind, times in arm.tally.outcomes.items()) or DASH


def _place(cell: PlacedCell) -> str:
    return f"{clean(cell.scenario)}, {clean(cell.arm)}, trial {cell.trial}"


TALLY: tuple[Column[ArmReport], ...] = (
    ARM,
    number("planned", lambda arm: count(arm.tally.planned)),
    number("measured", lambda arm: count(arm.tally.measured)),
    number("broken", lambda arm: count(arm.tally.broken)),
    number("to do", lambda arm: count(arm.tally.unfinished), full="unfinished"),
    number("tries", lambda arm: count(arm.tally.attempts), full="attempts"),
    words("outcomes", _outcomes),
)
CONTRADICTIONS: tuple[Column[Contradiction], ...] = (
    words("file", lambda found: clean(found.where)),
    words("field", lambda found: clean(found.field) or DASH),
    words("says", lambda found: clean(found.says, 80)),
    words("found", lambda found: clean(found.found, 80)),
)
CONTRADICTIONS_SHOWN = 50
CELLS_SHOWN = 600
"""With their verdicts, over all scenarios: some 5 MB of a page."""
FAULTS: tuple[Column[Fault], ...] = (
    words("cell", _place),
    words("outcome", lambda fault: fault.outcome),
    words("counts as", lambda fault: "a measurement" if fault.is_measurement else "broken"),
    number("tries", lambda fault: count(fault.attempts), full="attempts"),
    words("reason", lambda fault: clean(fault.reason)),
)
IMPORTED: tuple[Column[ImportedCell], ...] = (
    words("cell", _place),
    words("file", lambda cell: clean(cell.file)),
    words("sha256", lambda cell: cell.source[:12]),
    words("harness", lambda cell: clean(cell.harness)),
    number("usd", lambda cell: hundredth(cell.usd), full="dollars, as it says"),
)
NOT_COMPARED = "Not compared: cells that differ from their baseline in more than the server"
INCOMPARABLE: tuple[Column[Incomparable], ...] = (
    words("cell", _place),
    words("what differs", lambda cell: "; ".join(map(clean, cell.differs))),
)


def imported(report: Report) -> Table:
    notes = [
        "Seconds are the other harness's own, of a machine nobody here knows: model, tools, "
        "retries and waits together. There is no figure of a sandbox.",
    ]
    losses = Counter(text for cell in report.imported for text in cell.degraded)
    notes += [f"Of {count} of them: {clean(text)}." for text, count in losses.items()]
    return table("Imported: where the cells come from", IMPORTED, report.imported, notes=notes)


def tally(report: Report) -> Table:
    notes = [
        "A broken cell is no measurement: our fault, or a server that was not ready. It is run "
        "again on resume, never scored, never dropped from those planned.",
        *_in_no_figure(report),
    ]
    return table("Cells: planned, measured, broken", TALLY, report.arms, notes=notes)


def _in_no_figure(report: Report) -> Iterator[str]:
    for arm in report.arms:
        if arm.tally.unpaired:
            yield (
                f"{_arm(arm)}: {arm.tally.unpaired} of {arm.tally.measured} measured cells are "
                "unpaired, and in no figure."
            )
        if arm.tally.contradicted:
            yield (
                f"{_arm(arm)}: {arm.tally.contradicted} cells are in no figure, nor among those "
                "measured: their files contradict each other."
            )


def contradictions(report: Report) -> Table:
    shown = report.contradictions[:CONTRADICTIONS_SHOWN]
    notes = []
    more = len(report.contradictions) - len(shown)
    if more:
        notes.append(f"{more} more are in report.json.")
    title = "Files that say something else than their evidence"
    return table(title, CONTRADICTIONS, shown, notes=notes)


# --- blocks, and what was lost ------------------------------------------------------------------


def _later(block: BlockReport) -> str:
    """`mcp-ripgrep at 2026-…`."""
    return ", ".join(f"{clean(server)} at {at}" for server, at in block.later.items()) or DASH


BLOCKS: tuple[Column[ArmReport], ...] = (
    ARM,
    number("blocks", lambda arm: count(arm.order.blocks)),
    number("first", lambda arm: count(arm.order.first), full="ran first"),
    number("last", lambda arm: count(arm.order.last), full="ran last"),
    number("later", lambda arm: count(arm.order.later), full="run later than their block"),
)
SCENARIO_BLOCKS: tuple[Column[BlockReport], ...] = (
    number("trial", lambda block: str(block.trial)),
    words("model", lambda block: clean(block.model)),
    words("order", lambda block: ", ".join(map(clean, block.order)), full="order of its arms"),
    words("from", lambda block: clean(block.taken_up_at) or DASH, full="taken up at"),
    number("s", lambda block: hundredth(block.span_sec), full="seconds from first to last"),
    words("later", _later, full="run later"),
)
LOST: tuple[Column[LostTurns], ...] = (
    words("model", lambda lost: clean(lost.model)),
    words("why", lambda lost: lost.why),
    number("tries", lambda lost: count(lost.attempts), full="attempts"),
    number("tokens in", lambda lost: count(lost.input_tokens), full="uncached input tokens"),
    number("cached", lambda lost: count(lost.cache_read_tokens), full="read from caches"),
    number("out", lambda lost: count(lost.output_tokens), full="output tokens"),
    number("$", lambda lost: formed(lost.usd, "{:.4f}"), full="US dollars"),
)


def blocks(report: Report) -> Table:
    """A block: all arms of one scenario, model and trial."""
    notes = [
        "A block is all arms of one scenario, model and trial, one after another on one machine. "
        f"{_drawn(report)}"
    ]
    if any(arm.order.later for arm in report.arms):
        notes.append("Later: the cell broke or was cut, and its block was taken up again for it.")
    return table("Blocks: what ran together, in which order", BLOCKS, report.arms, notes=notes)


def _drawn(report: Report) -> str:
    if report.seed is None:
        return "Their order was not drawn: this run was imported, or made by an earlier version."
    return f"Their order was drawn by seed {report.seed}."


def lost(report: Report) -> Table:
    notes = [
        "In no figure. Cut: the runner was killed or interrupted, or met its cap; such a cell "
        "starts anew, whole. A turn that was under way then is paid for and not counted here."
    ]
    title = "What attempts cost that were cut or broken"
    return table(title, LOST, report.lost, notes=notes)


# --- fairness and adoption ------------------------------------------------------------------


def _part_columns(
    notes: Notes, parts: Parts, half_of: Callable[[A], HalfFigures | None]
) -> Iterator[Column[A]]:
    """A column for each part, under the headings that its line in the dict gives it."""
    for name, part in parts.items():
        show = _part_cell(notes, name, part.label, half_of)
        yield number(part.short, show, full=part.heading or part.label)


def _part_cell(
    notes: Notes, name: str, label: str, half_of: Callable[[A], HalfFigures | None]
) -> Callable[[A], str]:
    def show(arm: A) -> str:
        half = half_of(arm)
        if half is None:
            return DASH
        return notes.part(_arm(arm), label, half.parts[name], half.score)

    return show


def _fairness_columns(notes: Notes) -> Iterator[Column[A]]:
    def half(arm: A) -> HalfFigures:
        return arm.fairness

    def whole(arm: A) -> str:
        return notes.figure(_arm(arm), "fairness", arm.fairness.score)

    def cells(arm: A) -> str:
        return f"{arm.fairness.score.cells}/{arm.fairness.score.planned}"

    yield ARM
    yield number("fairness", whole)
    yield number("95 %", _fairness_reach, full="95 % interval")
    yield from _part_columns(notes, FAIRNESS, half)
    yield number("cells", cells, full="cells / planned")


def _fairness_reach(arm: ArmReport | ScenarioArm | PairedBaseline) -> str:
    return interval(arm.fairness.score.low, arm.fairness.score.high)


FAIRNESS_TITLES: dict[Standing, str] = {
    "ranks": "Fairness: was the answer better?",
    "screens": "Fairness of the answers",
}


def fairness(report: Report) -> Table:
    notes = Notes()
    plain = table(
        FAIRNESS_TITLES[report.standing],
        list(_fairness_columns(notes)),
        _rows(report),
        notes=[f"{formula(FAIRNESS)}; means over {_clusters(report)}."],
        numbered=notes,
    )
    return replace(plain, bars=tuple(_bars(report)))


def _bars(report: Report) -> Iterator[Bar | None]:
    shells = {}
    for arm in report.arms:
        if arm.server == "shell":
            shells[arm.model] = arm.fairness.score.value
    for arm in report.arms:
        if arm.beside is None:
            yield _bar(arm, shells.get(arm.model))
        else:
            shell = arm.beside.fairness.score.value
            yield _bar(arm, shell)
            yield _bar(arm.beside, shell)


def _bar(row: ArmReport | PairedBaseline, shell: float | None) -> Bar | None:
    figure = row.fairness.score
    if figure.value is None:
        return None
    return Bar(value=figure.value, low=figure.low, high=figure.high, shell=shell)


def scenario_scores(section: ScenarioReport) -> Table:
    notes = Notes()
    columns: list[Column[ScenarioArm]] = list(_fairness_columns(notes))
    columns.append(number("Δ", lambda arm: signed(arm.delta.value), full="Δ against shell"))
    return table("Fairness in this scenario", columns, section.arms, numbered=notes)


def _noise_floor(arm: ArmReport) -> str:
    if arm.delta.value is None:
        return DASH
    return score(arm.delta.noise_floor)


def _sizes(delta: Delta) -> str:
    if delta.value is None:
        # `0/0/0` would say that pairs were looked for; the shell's own row has no such pairs.
        return DASH
    return f"{delta.clusters}/{delta.scenarios}/{delta.pairs}"


def judged(delta: Delta) -> str:
    """What the difference says, and how large a one may have been missed."""
    if delta.could_miss is None:
        return delta.says
    return f"{delta.says}; one of {score(delta.could_miss)} could have been missed"


DIFFERENCE: tuple[Column[ArmReport | ArmPair], ...] = (
    number("Δ", lambda row: signed(row.delta.value), full=OF_FAIRNESS),
    number("95 %", lambda row: signed_interval(row.delta.low, row.delta.high), full=TOGETHER),
    number("p", lambda row: score(row.delta.p), full="p, adjusted"),
)
JUDGED: tuple[Column[ArmReport | ArmPair], ...] = (
    number("n", lambda row: _sizes(row.delta), full="clusters / scenarios / pairs"),
    words("which says", lambda row: judged(row.delta)),
)
DELTA: tuple[Column[ArmReport], ...] = (
    ARM,
    *DIFFERENCE,
    number("noise", _noise_floor, full="noise floor"),
    *JUDGED,
)


def deltas(report: Report) -> Table:
    title = "Difference from shell, paired by scenario and trial"
    columns = _of_f1(DELTA) if report.keyed else DELTA
    return table(
        title, columns, report.arms, notes=[*_about_clusters(report), *_about_margin(report)]
    )


def _of_f1(columns: Sequence[Column[C]]) -> list[Column[C]]:
    """Where every question has a key, F1 is what arms are compared in."""
    return [replace(it, full="Δ F1") if it.full == OF_FAIRNESS else it for it in columns]


def _clusters(report: Report) -> str:
    return "repositories" if report.sampled.cluster == "repository" else "groups of questions"


def _about_clusters(report: Report) -> Iterator[str]:
    sampled = report.sampled
    if sampled.cluster == "repository":
        repositories = counted(sampled.repositories, "repository", "repositories")
        yield f"Means are over {repositories}, each the mean of its scenarios."
    else:
        yield (
            f"Means are over {counted(sampled.questions, 'group')} of questions about the same "
            "files, of "
            f"{counted(sampled.repositories, 'repository', 'repositories')}."
        )
    if sampled.comparisons > 1:
        yield (
            f"Intervals and p pay for {sampled.comparisons} comparisons (Holm): of equal arms "
            "one run in twenty calls any of them different."
        )


def _about_margin(report: Report) -> Iterator[str]:
    if report.margin is not None:
        yield f"Declared before the run: a difference below {report.margin:g} matters to nobody."


BETWEEN: tuple[Column[ArmPair], ...] = (
    words("server", lambda pair: clean(pair.first)),
    words("against", lambda pair: clean(pair.second)),
    *DIFFERENCE,
    *JUDGED,
)


def between(report: Report) -> Table:
    count = len(report.between)
    notes = [f"Intervals and p pay for {count} comparisons (Holm)."] if count > 1 else []
    columns = _of_f1(BETWEEN) if report.keyed else BETWEEN
    return table("Servers against each other", columns, report.between, notes=notes)


VARIES: tuple[Column[_Placed[Variation]], ...] = (
    words("arm", lambda row: row.place),
    number("repos", lambda row: score(row.of.repository_sd), full="between repositories"),
    number("scen.", lambda row: score(row.of.scenario_sd), full="between scenarios"),
    number("trials", lambda row: score(row.of.trial_sd), full="between trials"),
    number("judge", lambda row: score(row.of.judge_sd), full="between readings"),
    number("removable", lambda it: formed(it.of.trial_share, "{:.0%}"), full="removable by trials"),
)


def varies(report: Report) -> Table:
    found = [_Placed(_arm(arm), arm.varies) for arm in report.arms if arm.varies is not None]
    notes = [
        "Standard deviations of one paired difference. Trials hold what the judge's readings vary "
        "by. Removable: the share of the mean's variance that ever more trials would take away."
    ]
    return table("What differences from shell vary by", VARIES, found, notes=notes)


NOISE: tuple[Column[NoiseLayer], ...] = (
    words("layer", lambda noise: noise.layer),
    number("sd", lambda noise: score(noise.sd), full="standard deviation"),
    number("limit", lambda noise: score(noise.limit), full="95 % limit between two figures"),
    number("groups", lambda noise: count(noise.groups), full="cells repeated"),
    number("figures", lambda noise: count(noise.figures)),
)


def noise(report: Report) -> Table:
    notes = []
    if not report.noise:
        notes.append("Unknown: nothing was repeated.")
    title = "Noise floor: what duplicates of one cell differ by"
    return table(title, NOISE, report.noise, notes=notes)


# --- trials -------------------------------------------------------------------------------------


PASSES: tuple[Column[_Placed[PassChance]], ...] = (
    words("arm", lambda row: row.place),
    number("k", lambda row: count(row.of.k)),
    number("pass^k", lambda row: score(row.of.all_of_k)),
    number("95 %", lambda row: interval(row.of.low, row.of.high), full="95 % interval"),
    number("pass@k", lambda row: score(row.of.any_of_k)),
    number("n", lambda row: count(row.of.scenarios), full="scenarios"),
)
TRIALS: tuple[Column[ScenarioArm], ...] = (
    ARM,
    number("passed", lambda arm: f"{arm.trials.passed}/{arm.trials.scored}"),
    number("planned", lambda arm: count(arm.trials.planned)),
    number("mean", lambda arm: score(arm.trials.mean), full="mean fairness"),
    number("sd", lambda arm: score(arm.trials.sd), full="standard deviation"),
    number("lowest", lambda arm: score(arm.trials.lowest)),
    number("highest", lambda arm: score(arm.trials.highest)),
)


def passes(report: Report) -> Table:
    """Without rows if nothing was repeated."""
    notes = [
        f"A trial passes from a fairness of {score(report.pass_at)} on, which was fixed before the "
        "run, as the number of trials was. pass^k: the chance that k of k trials pass, "
        "C(passed, k) / C(scored, k); pass@k: that one of them does. Means over the n scenarios "
        "with k scored trials."
    ]
    title = "Trials: how often an arm passes every time"
    return table(title, PASSES, _passes(report), notes=notes)


def _passes(report: Report) -> Iterator[_Placed[PassChance]]:
    if report.trials > 1:
        for arm in report.arms:
            for chance in arm.passes:
                yield _Placed(_arm(arm), chance)


def trials(section: ScenarioReport) -> Table:
    """Without rows if nothing was repeated."""
    repeated = [arm for arm in section.arms if arm.trials.planned > 1]
    return table("Trials: what they scored and how far they lie apart", TRIALS, repeated)


# --- adoption -----------------------------------------------------------------------------------


def _if_adopted(show: Callable[[AdoptionFigures], str]) -> Callable[[ArmReport], str]:
    def cell(arm: ArmReport) -> str:
        if arm.adoption is None:
            # Zeros for the shell would read as a server that nobody used.
            return DASH
        return show(arm.adoption)

    return cell


CALLS: tuple[Column[ArmReport], ...] = (
    number("calls", _if_adopted(lambda used: count(used.server_calls)), full="server calls"),
    number("errors", _if_adopted(lambda used: count(used.server_errors)), full="server errors"),
    number("shell", _if_adopted(lambda used: count(used.shell_calls)), full="shell calls"),
    number("searches", _if_adopted(lambda used: count(used.shell_searches)), full="shell searches"),
)


def _adoption_columns(notes: Notes) -> Iterator[Column[ArmReport]]:
    def half(arm: ArmReport) -> HalfFigures | None:
        return arm.adoption

    def whole(arm: ArmReport) -> str:
        if arm.adoption is None:
            return DASH
        return notes.figure(_arm(arm), "adoption", arm.adoption.score)

    yield ARM
    yield number("adoption", whole)
    yield from _part_columns(notes, ADOPTION, half)
    yield from CALLS


def adoption(report: Report) -> Table:
    notes = Notes()
    return table(
        "Adoption: was the server used? (in no fairness figure)",
        list(_adoption_columns(notes)),
        report.arms,
        notes=[f"{formula(ADOPTION)}. The shell arm has no server to adopt."],
        numbered=notes,
    )


# --- citations ------------------------------------------------------------------------------

GROUNDING: tuple[Column[ArmReport], ...] = (
    ARM,
    number("cited", lambda arm: count(arm.grounding.total), full="citations"),
    number("grounded", lambda arm: count(arm.grounding.grounded)),
    number("exact", lambda arm: count(arm.grounding.exact), full="exact path"),
    number("suffix", lambda arm: count(arm.grounding.suffix), full="shortened path"),
    number("ambig.", lambda arm: count(arm.grounding.ambiguous), full="ambiguous path"),
    number("missing", lambda arm: count(arm.grounding.missing), full="missing path"),
    number("other commit", lambda arm: count(arm.grounding.other_commit)),
    number("binding", lambda arm: count(arm.grounding.binding), full="unsure binding"),
    number("halluc.", lambda arm: count(arm.grounding.hallucinated), full="hallucinated"),
)


def grounding(report: Report) -> Table:
    note = (
        "Pooled over the arm's cells. Paths are exact, shortened, ambiguous, missing or of another "
        "commit. What holds is grounded, what does not is hallucinated or, where the file or word "
        "that is meant is a guess of ours, a binding that is unsure."
    )
    return table("Citations: the parts", GROUNDING, report.arms, notes=[note])


def _by_definition(arm: ArmReport) -> str:
    """`0.500 (3/6)`."""
    parts = arm.grounding
    if not parts.with_symbol:
        return DASH
    return f"{score(parts.definition_rate)} ({parts.definition_only}/{parts.with_symbol})"


def _rate_columns(notes: Notes) -> Iterator[Column[ArmReport]]:
    def recall(arm: ArmReport) -> str:
        return notes.figure(_arm(arm), "must-cite recall", arm.fairness.must_cite_recall)

    yield ARM
    yield number("weighted", lambda arm: score(arm.grounding.weighted_rate), full="weighted rate")
    yield number("strict", lambda arm: score(arm.grounding.strict_rate), full="strict rate")
    yield number("headline", lambda arm: score(arm.grounding.headline_rate), full="headline rate")
    yield number("chance", lambda arm: score(arm.grounding.chance_rate), full="chance rate")
    yield number("definition", _by_definition, full="definition only")
    yield number("unres.", lambda arm: count(arm.grounding.unresolved), full="unresolved")
    yield number("recall", recall, full="must-cite recall")


WORTH: tuple[Column[ArmReport], ...] = (
    ARM,
    number("named", lambda arm: score(arm.grounding.named_rate), full="names a symbol"),
    number("weak", lambda arm: count(arm.grounding.weak), full="grounded, and weak"),
    number("weighted", lambda arm: score(arm.grounding.weighted_rate), full="weighted rate"),
    number("20 off", lambda arm: score(_shifted(arm, 20).weighted_rate), full="20 lines off"),
    number("200 off", lambda arm: score(_shifted(arm, 200).weighted_rate), full="200 lines off"),
    number("headline", lambda arm: score(arm.grounding.headline_rate), full="headline rate"),
    number("20 off", lambda arm: score(_shifted(arm, 20).headline_rate), full="20 lines off"),
    number("200 off", lambda arm: score(_shifted(arm, 200).headline_rate), full="200 lines off"),
)
_NOT_SHIFTED = ShiftedParts(lines=0, weighted_rate=None, headline_rate=None)


def _shifted(arm: ArmReport, lines: int) -> ShiftedParts:
    return next((one for one in arm.grounding.shifted if one.lines == lines), _NOT_SHIFTED)


def worth(report: Report) -> Table:
    note = (
        "The same answers with every line moved by 20 and by 200: what a rate keeps then says that "
        "lines exist, not that they are the right ones. Named: the share that names a symbol. "
        "Weak: grounded, and the lines hold next to nothing of what is said of them."
    )
    return table("Citations: what those rates are worth", WORTH, report.arms, notes=[note])


def rates(report: Report) -> Table:
    notes = Notes()
    note = (
        "Weighted: a citation counts by the share of its file's places that would not have held. "
        "Strict: grounded by an exact path. Headline: by an exact or shortened one. "
        "Chance: random lines of the same files. "
        "Definition only: held by a definition, of those that name a symbol."
    )
    return table(
        "Citations: the rates those parts give",
        list(_rate_columns(notes)),
        report.arms,
        notes=[note],
        numbered=notes,
    )


# --- costs ----------------------------------------------------------------------------------


def _tokens(arm: ArmReport | PairedBaseline, tokens: int | None) -> str:
    """`~12,000` if estimated."""
    if tokens is None or not arm.costs.tokens_estimated:
        return count(tokens)
    return f"~{count(tokens)}"


def _billed(arm: ArmReport) -> int | None:
    if arm.costs.input_tokens is None or arm.costs.output_tokens is None:
        return None
    return arm.costs.input_tokens + arm.costs.output_tokens


def _phase(arm: ArmReport, name: str) -> str:
    if arm.costs.phases is None:
        return DASH
    mark = "~" if arm.costs.phases.estimated else ""
    return f"{mark}{count(getattr(arm.costs.phases, name))}"


AGENT_COSTS: tuple[Column[ArmReport | PairedBaseline], ...] = (
    ARM,
    number("new", lambda arm: _tokens(arm, arm.costs.new_tokens), full="new tokens"),
    number(
        "tokens in", lambda arm: _tokens(arm, arm.costs.input_tokens), full="uncached input tokens"
    ),
    number("out", lambda arm: _tokens(arm, arm.costs.output_tokens), full="output tokens"),
    number("vs shell", lambda it: ratio(it.costs.tokens_vs_shell), full="new tokens against shell"),
    number("agent s", lambda arm: hundredth(arm.costs.agent_sec), full="agent seconds"),
    number("vs shell", lambda arm: ratio(arm.costs.seconds_vs_shell), full="seconds against shell"),
    number("back-off s", lambda arm: hundredth(arm.costs.backoff_sec), full="API back-off seconds"),
)
TOKENS: tuple[Column[ArmReport], ...] = (
    ARM,
    number("billed", lambda arm: _tokens(arm, _billed(arm)), full="uncached and written"),
    number("cached", lambda arm: count(arm.costs.cache_read_tokens), full="read from caches"),
    number("stored", lambda arm: count(arm.costs.cache_write_tokens), full="written to caches"),
    number("all", lambda arm: _tokens(arm, arm.costs.all_tokens), full="all, caches included"),
    number("at end", lambda arm: count(arm.costs.context_tokens), full="context at the end"),
    number("$", lambda arm: formed(arm.costs.usd, "{:.4f}"), full="US dollars"),
    number("retries", lambda arm: count(arm.costs.retries), full="API retries, in total"),
    number("malformed", lambda arm: count(arm.costs.malformed), full="malformed turns, in total"),
)
TOKEN_BREAKDOWN: tuple[Column[ArmReport], ...] = (
    ARM,
    number("prompts", lambda arm: _phase(arm, "prompts"), full="system and prompts"),
    number("schemas", lambda arm: _phase(arm, "schemas"), full="tool schemas"),
    number("results", lambda arm: _phase(arm, "results"), full="tool results"),
    number("replies", lambda arm: _phase(arm, "replies"), full="its own earlier turns"),
    number("thinking", lambda arm: _phase(arm, "thinking")),
    number("prose", lambda arm: _phase(arm, "prose")),
    number("calls", lambda arm: _phase(arm, "arguments"), full="call arguments"),
)
SERVER_COSTS: tuple[Column[ArmReport], ...] = (
    ARM,
    number("create s", lambda arm: hundredth(arm.costs.create_sec), full="container seconds"),
    number("init s", lambda arm: hundredth(arm.costs.initialize_sec), full="initialise seconds"),
    number("index s", lambda it: hundredth(it.costs.warm_up_sec), full="warm-up and index seconds"),
    number(
        "probe s",
        lambda arm: hundredth(arm.costs.canary_sec),
        full="seconds of the health probe until ready",
    ),
    number("peak MB", lambda arm: tenth(arm.costs.peak_memory_mb), full="peak memory, MB"),
    number("index MB", lambda arm: tenth(arm.costs.state_mb), full="index on disk, MB"),
)
CONTEXT_COSTS: tuple[Column[ArmReport], ...] = (
    ARM,
    number(
        "schemas, chars",
        lambda arm: count(arm.costs.schema_chars),
        full="tool schemas, characters",
    ),
    number(
        "schemas, ~tokens",
        lambda arm: count(arm.costs.schema_tokens),
        full="tool schemas, tokens (estimated)",
    ),
    number(
        "instructions, chars",
        lambda arm: count(arm.costs.instructions_chars),
        full="instructions, characters",
    ),
)


def agent_costs(report: Report) -> Table:
    notes = ["New: each token of a conversation once, whatever cache served it."]
    if any(arm.costs.tokens_estimated for arm in report.arms):
        notes.append("~ estimated as characters / 4.")
    notes += _queued(report)
    return table("Costs of the agent, per cell", AGENT_COSTS, _rows(report), notes=notes)


def tokens(report: Report) -> Table:
    notes = ["Billed: input that came from no cache, and output. Stored is part of it, cached not."]
    if report.prices is not None and report.prices.models:
        notes.append(f"Dollars at prices of {report.prices.date}.")
    asked = unique(arm.model for arm in report.arms if not arm.imported)
    unpriced = [model for model in asked if not _has_price(report, model)]
    if unpriced:
        listed = ", ".join(map(clean, unpriced))
        notes.append(f"No price is known for {listed}; `run --prices FILE` gives one.")
    return table("Tokens and dollars, per cell", TOKENS, report.arms, notes=notes)


def _queued(report: Report) -> Iterator[str]:
    for arm in report.arms:
        if arm.costs.queued_sec:
            yield (
                f"{_arm(arm)}: {hundredth(arm.costs.queued_sec)} s of its back-off were spent "
                "waiting for a place among --api-jobs."
            )


def _has_price(report: Report, model: str) -> bool:
    if model not in report.language_models:
        return True
    return report.prices is not None and model in report.prices.models


def phases(report: Report) -> Table:
    notes = [
        "The first four sum to all input, caches included, the last three to the output; "
        "~ shared out by characters."
    ]
    return table("What the tokens were of, per cell", TOKEN_BREAKDOWN, report.arms, notes=notes)


def server_costs(report: Report) -> Table:
    note = "Seconds are means per cell; memory and disk the largest seen."
    title = "Costs of the arm, apart from every score"
    return table(title, SERVER_COSTS, report.arms, notes=[note])


def context_costs(report: Report) -> Table:
    note = "The largest seen; tokens are estimated as characters / 4."
    title = "What the server adds to the agent's context"
    return table(title, CONTEXT_COSTS, report.arms, notes=[note])


# --- details of one scenario ----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _CellOf:
    """A cell, and the arm that it is listed under."""

    arm: ScenarioArm
    cell: CellReport

    @property
    def place(self) -> str:
        return f"{clean(self.arm.label)} · {self.cell.trial}"


def _cells(section: ScenarioReport) -> Iterator[_CellOf]:
    for arm in section.arms:
        for cell in arm.cells:
            yield _CellOf(arm=arm, cell=cell)


def _fairness_or_why_none(of: _CellOf) -> str:
    if of.cell.fairness is None:
        return clean(of.cell.unscored)
    return score(of.cell.fairness)


CELLS: tuple[Column[_CellOf], ...] = (
    words("arm", lambda of: _arm(of.arm)),
    number("trial", lambda of: str(of.cell.trial)),
    words("cell", lambda of: of.cell.cell_id),
    words("outcome", lambda of: of.cell.outcome or "not finished"),
    words("fairness", _fairness_or_why_none, full="fairness, or why none"),
    number(
        "failed", lambda of: f"{of.cell.failed_total}/{of.cell.cited_total}", full="failed / cited"
    ),
    words("reason", lambda of: clean(of.cell.reason), full="how it ended"),
)
COMMENTED = "What the judge said of each criterion (commentary; ranks nobody)"
COMMENTARY: tuple[Column[_Placed[Commentary]], ...] = (
    words("arm · trial", lambda row: row.place),
    words("step", lambda row: clean(row.of.step)),
    words("criterion", lambda row: clean(row.of.criterion)),
    number("score", lambda row: score(row.of.score)),
    words("reason", lambda row: clean(row.of.reason)),
)
FAILED: tuple[Column[_Placed[Citation]], ...] = (
    words("arm · trial", lambda row: row.place),
    words("as written", lambda row: clean(row.of.written, 120)),
    words("status", lambda row: row.of.status),
    words("path", lambda row: row.of.resolution),
    words("reason", lambda row: clean(row.of.reason)),
)


def failed_citations(section: ScenarioReport) -> Table:
    failed = [_Placed(of.place, it) for of in _cells(section) for it in of.cell.failed]
    return table("Citations that failed", FAILED, failed, notes=tuple(_not_listed(section)))


def _not_listed(section: ScenarioReport) -> Iterator[str]:
    for of in _cells(section):
        total = of.cell.failed_total
        more = total - len(of.cell.failed)
        if more:
            yield f"{_arm(of.arm)}, trial {of.cell.trial}: {more} more of {total} are not listed."


# --- head and foot --------------------------------------------------------------------------


def answer(report: Report) -> str:
    """What the question got, per server, in the words of the comparison."""
    compared = [arm for arm in report.arms if is_candidate(arm.server)]
    if compared and all(arm.delta.judgement == "not_ranked" for arm in compared):
        if any(arm.imported for arm in compared):
            return "nobody is ranked: these cells were imported"
        return _why_nobody(report)
    return "; ".join(said_of(compared)) or DASH


def said_of(arms: Iterable[ArmReport]) -> Iterator[str]:
    """`codegraph, cclsp: no difference detected (one of 0.120 could have been missed)`."""
    said: dict[str, list[ArmReport]] = {}
    for arm in arms:
        said.setdefault(arm.delta.says, []).append(arm)
    for says, own in said.items():
        missed = [arm.delta.could_miss for arm in own if arm.delta.could_miss is not None]
        most = f" (one of {score(max(missed))} could have been missed)" if missed else ""
        yield f"{', '.join(map(_arm, own))}: {says}{most}"


def _why_nobody(report: Report) -> str:
    if report.keyed and not report.language_models:
        alone = report.keyed.arms[0].f1.value
        return (
            "nobody is ranked: no language model answered. A text search alone gets F1 "
            f"{DASH if alone is None else score(alone)}{report.keyed.where}; a server's F1 is "
            "what the same program finds with it"
        )
    if not report.language_models:
        return "nobody is ranked: no language model answered"
    if report.imported:
        return "nobody is ranked: another harness ran the cells"
    if report.keyed:
        return "nobody is ranked: nothing vouches for the keys"
    return "nobody is ranked: the figures are for screening"


def _grounded(arm: ArmReport) -> str:
    return f"{arm.grounding.grounded}/{arm.grounding.total}"


def _worked(used: AdoptionFigures) -> str:
    return f"{count(used.server_calls - used.server_errors)}/{count(used.server_calls)}"


def _or_unscored(figure: Figure) -> str:
    return "unscored" if figure.value is None else score(figure.value)


SUMMARY: tuple[Column[ArmReport], ...] = (
    ARM,
    number("fairness", lambda arm: _or_unscored(arm.fairness.score)),
    number("95 %", _fairness_reach, full="95 % interval"),
    number("Δ shell", lambda arm: signed(arm.delta.value), full="Δ against shell"),
    number("adoption", _if_adopted(lambda used: score(used.score.value))),
    number("grounded", _grounded, full="grounded citations"),
    number("halluc.", lambda arm: count(arm.grounding.hallucinated), full="hallucinated"),
    number("tokens", lambda arm: _tokens(arm, arm.costs.new_tokens), full="new tokens per cell"),
    number("calls ok", _if_adopted(_worked), full="server calls that worked"),
)


def _f1(arm: ArmReport) -> Figure:
    return arm.fairness.parts["llm_quality"]


SUMMARY_BY_KEYS: tuple[Column[ArmReport], ...] = (
    ARM,
    number("F1", lambda arm: _or_unscored(_f1(arm))),
    number("95 %", lambda arm: interval(_f1(arm).low, _f1(arm).high), full="95 % interval"),
    number("Δ shell", lambda arm: signed(arm.delta.value), full="Δ against shell"),
    number("fairness", lambda arm: _or_unscored(arm.fairness.score)),
    *SUMMARY[4:5],
    *SUMMARY[7:],
)


def summary(report: Report) -> Table:
    """A line an arm: what a first screen shows of all the others."""
    notes = []
    for arm in report.arms:
        for reason in arm.fairness.score.reasons:
            notes.append(f"{_arm(arm)}, fairness: {clean(reason)}")
    columns = SUMMARY_BY_KEYS if report.keyed else SUMMARY
    return table("Arms", columns, report.arms, notes=notes)


def facts(report: Report) -> tuple[tuple[str, str], ...]:
    """Name and text of what was run."""
    return (
        ("answer", answer(report)),
        ("run", clean(report.run)),
        ("date", clean(report.created_at)),
        ("model", ", ".join(map(clean, report.models))),
        ("judge", _judge(report)),
        ("servers", ", ".join(map(clean, report.servers))),
        ("scenarios", ", ".join(map(clean, report.scenarios))),
        ("trials", str(report.trials)),
    )


def _judge(report: Report) -> str:
    if report.keyed:
        return report.ranked_by or "none: every question has a key"
    return f"{', '.join(map(clean, report.judges)) or DASH} ({report.standing})"


FACTS: tuple[Column[_Placed[str]], ...] = (
    words("what", lambda fact: fact.place),
    words("value", lambda fact: clean(fact.of) or DASH),
)


SEARCHED = "found by the agent's own search for tools, which its model is offered in their place"


def provenance(report: Report) -> Iterator[tuple[str, str]]:
    """What a figure of the run stands on, in a strip; the tables of `repeat` have all of it."""
    yield "plan", report.repeat.plan_digest
    yield "evidence", report.repeat.evidence_digest
    if report.seed is not None:
        yield "seed", str(report.seed)
    for name, values in report.repeat.versions.items():
        yield name, ", ".join(clean(value, 80) for value in values)
    for server in report.searched:
        yield f"tools of {clean(server)}", SEARCHED
    for scenario, held in report.repeat.scenarios.items():
        if "commit" in held:
            yield f"commit of {clean(scenario)}", clean(held["commit"])
    if report.gate is not None:
        yield "lock", f"generation {report.gate.generation}, {report.gate.lock}"
    yield (
        "attestation",
        # It holds the page's digest: a page that held its digest in turn could not be written.
        f"made after this page, by `fairtrial attest {clean(report.run)}`, since it holds the "
        "page's digest. It is of this page's run if it names the same evidence",
    )


def repeat(report: Report) -> tuple[Table, ...]:
    """What a stranger needs to run it again."""
    tables = [
        _facts_table("The same for every cell", {"": _shared(report)}),
        _facts_table("Servers", report.repeat.servers),
        _facts_table("Scenarios", report.repeat.scenarios),
    ]
    if report.gate:
        tables.insert(0, _facts_table("The gate", {"": _gate_facts(report.gate, report.since)}))
    return tuple(tables)


def _shared(report: Report) -> dict[str, str]:
    shared = {"plan": report.repeat.plan_digest, "evidence": report.repeat.evidence_digest}
    for name, values in report.repeat.versions.items():
        shared[name] = ", ".join(values)
    return shared


def _examined(gate: Gate) -> dict[str, str]:
    facts = {}
    if gate.own:
        facts["judge accepted"] = f"by a project's own lock, {gate.own}"
    if gate.short:
        facts["judge examined"] = "by the short form: a part of the anchors and pairs"
    return facts


def _gate_facts(gate: Gate, since: Since | None) -> dict[str, str]:
    accepted = "; ".join(since.accepted) if since else ""
    return {
        "judge": f"{gate.judge}, which {gate.standing}",
        **{f"not met, {number}": text for number, text in enumerate(gate.unmet, start=1)},
        **_examined(gate),
        "Spearman's rho": _rho(gate),
        "generation": f"{gate.generation}: {gate.reason}",
        "lock": gate.lock,
        "graded": f"{gate.chain_started}: {gate.chain_reason}",
        "regraded since": "; ".join(gate.regrades) or "never",
        "run planned under": _planned(since),
        "accepted since": accepted or "nothing",
        "its past": gate.history or "committed, and read whole",
    }


def _rho(gate: Gate) -> str:
    if gate.rho is None:
        return "none: it reads keys, and no anchor has one"
    reach = interval(gate.low, gate.high)
    return f"{gate.rho:.3f} [{reach}] over {gate.transcripts} transcripts graded by hand"


def _planned(since: Since | None) -> str:
    if since is None or since.planned is None:
        return "not on record"
    return f"generation {since.planned.generation}"


def _facts_table(title: str, by_owner: Mapping[str, Mapping[str, str]]) -> Table:
    rows = []
    for owner, named in by_owner.items():
        for name, value in named.items():
            rows.append(_Placed(clean(f"{owner} {name.replace('_', ' ')}"), value))
    return table(title, FACTS, rows)
