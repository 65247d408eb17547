"""A report's tables, as every form prints them: the same cells, laid out by terminal.py, markdown.py and page.py.

All text that came from a scenario, a server or an answer passes through `clean` here; each form then escapes for itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from runner.records import Gate
from runner.report.records import Arm, FairnessFigures, Figure, Report, ScenarioReport
from runner.scoring import ADOPTION, FAIRNESS
from runner.scoring.weights import Parts, formula

DASH = "—"
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
"""Terminal colours, cursor moves, titles and links: without this their visible rests would stand in the text."""
TEXT_SHOWN = 300
"""Characters of one untrusted text; the whole stands in report.json."""


@dataclass(frozen=True, kw_only=True)
class Column:
    short: str
    full: str
    """What it says where there is room."""
    text: bool = False
    """Words, not figures: aligned left and wrapped."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A fairness in [0, 1], its interval, and the shell's for reference."""

    value: float
    low: float | None
    high: float | None
    shell: float | None


@dataclass(frozen=True, kw_only=True)
class Table:
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    bars: tuple[Bar | None, ...] = field(default=())


def clean(text: str, limit: int = TEXT_SHOWN) -> str:
    """One line, no control or direction characters (a terminal would obey them, a page would turn round), clipped with a mark."""
    spaced = "".join(" " if char.isspace() else char for char in _ANSI.sub("", text))
    line = " ".join(
        "".join(char for char in spaced if unicodedata.category(char)[0] != "C").split()
    )
    return line if len(line) <= limit else f"{line[:limit].rstrip()}… ({len(line):,} characters)"


# --- cells ----------------------------------------------------------------------------------


def score(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"


def signed(value: float | None) -> str:
    return DASH if value is None else f"{value:+.3f}"


def interval(low: float | None, high: float | None) -> str:
    return DASH if low is None or high is None else f"{low:.3f}–{high:.3f}"


def signed_interval(low: float | None, high: float | None) -> str:
    return DASH if low is None or high is None else f"{low:+.3f} to {high:+.3f}"


def count(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}"


def tenth(value: float | None) -> str:
    return DASH if value is None else f"{value:,.1f}"


def hundredth(value: float | None) -> str:
    return DASH if value is None else f"{value:,.2f}"


def ratio(value: float | None) -> str:
    return DASH if value is None else f"×{value:.2f}"


class _Notes:
    """Reasons, numbered as they come up."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def figure(self, label: str, name: str, figure: Figure) -> str:
        """The value, or `unscored` with a mark; a mean that misses cells carries a mark as well."""
        shown = "unscored" if figure.value is None else score(figure.value)
        if not figure.reasons:
            return shown if figure.planned else "unscored"
        line = f"{label}, {name}: {'; '.join(clean(reason) for reason in figure.reasons)}"
        if line not in self.lines:
            self.lines.append(line)
        return f"{shown} [{self.lines.index(line) + 1}]"

    def parts(
        self, label: str, parts: Parts, figures: Mapping[str, Figure], whole: Figure
    ) -> Iterator[str]:
        """As `figure`, without a mark if the whole's already says which cells are missing."""
        for name, part in parts.items():
            figure = figures[name]
            if figure.value is not None and set(figure.reasons) <= set(whole.reasons):
                yield score(figure.value)
            else:
                yield self.figure(label, part.label, figure)

    def numbered(self) -> tuple[str, ...]:
        return tuple(f"[{number}] {line}" for number, line in enumerate(self.lines, start=1))


# --- tables of the run ----------------------------------------------------------------------

ARM = Column(short="arm", full="arm", text=True)


def tally(report: Report) -> Table:
    names = {
        "planned": "planned",
        "measured": "measured",
        "broken": "broken",
        "unfinished": "to do",
        "attempts": "tries",
    }
    rows = [
        (
            clean(arm.label),
            *(count(getattr(arm.tally, name)) for name in names),
            _outcomes(arm.tally.outcomes.items()),
        )
        for arm in report.arms
    ]
    return Table(
        title="Cells: planned, measured, broken",
        columns=(
            ARM,
            *(Column(short=short, full=name) for name, short in names.items()),
            Column(short="outcomes", full="outcomes", text=True),
        ),
        rows=tuple(rows),
        notes=(
            "A broken cell is a fault of ours: run again on resume, never scored, never dropped from those planned.",
        ),
    )


def _outcomes(outcomes: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in outcomes) or DASH


def fairness(report: Report) -> Table:
    shells = {arm.model: arm.fairness.score.value for arm in report.arms if arm.server == "shell"}
    rows = [(clean(arm.label), arm.fairness) for arm in report.arms]
    notes = (f"{formula(FAIRNESS)}; means over scenarios.",)
    bars = tuple(_bar(arm.fairness.score, shells.get(arm.model)) for arm in report.arms)
    return _fairness_table("Fairness: was the answer better?", rows, notes, bars)


def _part_columns(parts: Parts) -> Iterator[Column]:
    for part in parts.values():
        yield Column(short=part.short, full=part.heading or part.label)


def _fairness_columns() -> tuple[Column, ...]:
    return (
        ARM,
        Column(short="fairness", full="fairness"),
        Column(short="95 %", full="95 % interval"),
        *_part_columns(FAIRNESS),
        Column(short="cells", full="cells / planned"),
    )


def _fairness_table(
    title: str,
    rows: Sequence[tuple[str, FairnessFigures]],
    notes: tuple[str, ...] = (),
    bars: tuple[Bar | None, ...] = (),
) -> Table:
    noted = _Notes()
    cells = tuple(_fairness_row(noted, label, figures) for label, figures in rows)
    return Table(
        title=title,
        columns=_fairness_columns(),
        rows=cells,
        notes=(*notes, *noted.numbered()),
        bars=bars,
    )


def _fairness_row(noted: _Notes, label: str, figures: FairnessFigures) -> tuple[str, ...]:
    whole = figures.score
    return (
        label,
        noted.figure(label, "fairness", whole),
        interval(whole.low, whole.high),
        *noted.parts(label, FAIRNESS, figures.parts, whole),
        f"{whole.cells}/{whole.planned}",
    )


def _bar(figure: Figure, shell: float | None) -> Bar | None:
    return (
        None
        if figure.value is None
        else Bar(value=figure.value, low=figure.low, high=figure.high, shell=shell)
    )


def delta(report: Report) -> Table:
    rows = tuple(
        (
            clean(arm.label),
            signed(arm.delta.value),
            signed_interval(arm.delta.low, arm.delta.high),
            score(arm.delta.noise_floor) if arm.delta.value is not None else DASH,
            f"{arm.delta.scenarios}/{arm.delta.pairs}" if arm.delta.value is not None else DASH,
            arm.delta.says,
        )
        for arm in report.arms
    )
    return Table(
        title="Difference from shell, paired by scenario and trial",
        columns=(
            ARM,
            Column(short="Δ", full="Δ fairness"),
            Column(short="95 %", full="95 % interval"),
            Column(short="noise", full="noise floor"),
            Column(short="n/pairs", full="scenarios / pairs"),
            Column(short="which says", full="which says", text=True),
        ),
        rows=rows,
    )


def adoption(report: Report) -> Table:
    noted = _Notes()
    return Table(
        title="Adoption: was the server used? (in no fairness figure)",
        columns=(
            ARM,
            Column(short="adoption", full="adoption"),
            *_part_columns(ADOPTION),
            Column(short="calls", full="server calls"),
            Column(short="errors", full="server errors"),
            Column(short="shell", full="shell calls"),
            Column(short="searches", full="shell searches"),
        ),
        rows=tuple(_adoption_row(noted, arm) for arm in report.arms),
        notes=(
            f"{formula(ADOPTION)}. The shell arm has no server to adopt.",
            *noted.numbered(),
        ),
    )


def _adoption_row(noted: _Notes, arm: Arm) -> tuple[str, ...]:
    used, label = arm.adoption, clean(arm.label)
    if used is None:
        return (label, DASH, *[DASH] * len(ADOPTION), DASH, DASH, DASH, DASH)
    return (
        label,
        noted.figure(label, "adoption", used.score),
        *noted.parts(label, ADOPTION, used.parts, used.score),
        count(used.server_calls),
        count(used.server_errors),
        count(used.shell_calls),
        count(used.shell_searches),
    )


_PARTS_OF_GROUNDING = (
    ("total", Column(short="cited", full="citations")),
    ("grounded", Column(short="grounded", full="grounded")),
    ("exact", Column(short="exact", full="exact path")),
    ("suffix", Column(short="suffix", full="shortened path")),
    ("ambiguous", Column(short="ambig.", full="ambiguous path")),
    ("missing", Column(short="missing", full="missing path")),
    ("other_commit", Column(short="other commit", full="other commit")),
    ("hallucinated", Column(short="halluc.", full="hallucinated")),
)


def grounding(report: Report) -> Table:
    return Table(
        title="Citations: the parts",
        columns=(ARM, *(column for _, column in _PARTS_OF_GROUNDING)),
        rows=tuple(
            (
                clean(arm.label),
                *(count(getattr(arm.grounding, name)) for name, _ in _PARTS_OF_GROUNDING),
            )
            for arm in report.arms
        ),
        notes=(
            "Pooled over the arm's cells. Paths are exact, shortened, ambiguous, missing or of another commit; what holds is grounded, "
            "what does not is hallucinated.",
        ),
    )


def rates(report: Report) -> Table:
    noted = _Notes()
    rows = []
    for arm in report.arms:
        parts = arm.grounding
        held = (
            f"{score(parts.definition_rate)} ({parts.definition_only}/{parts.with_symbol})"
            if parts.with_symbol
            else DASH
        )
        recall = noted.figure(clean(arm.label), "must-cite recall", arm.fairness.must_cite_recall)
        unresolved = count(parts.unresolved)
        shown = (score(parts.strict_rate), score(parts.headline_rate), score(parts.chance_rate))
        rows.append((clean(arm.label), *shown, held, unresolved, recall))
    return Table(
        title="Citations: the rates those parts give",
        columns=(
            ARM,
            Column(short="strict", full="strict rate"),
            Column(short="headline", full="headline rate"),
            Column(short="chance", full="chance rate"),
            Column(short="definition", full="definition only"),
            Column(short="unres.", full="unresolved"),
            Column(short="recall", full="must-cite recall"),
        ),
        rows=tuple(rows),
        notes=(
            "Strict: grounded by an exact path. Headline: by an exact or shortened one. Chance: random lines of the same files. "
            "Definition only: held by a definition, of those that name a symbol.",
            *noted.numbered(),
        ),
    )


def agent_costs(report: Report) -> Table:
    rows = []
    for arm in report.arms:
        spent, mark = arm.costs, "~" if arm.costs.tokens_estimated else ""
        tokens = (
            mark + count(value) if value is not None else DASH
            for value in (spent.input_tokens, spent.output_tokens)
        )
        seconds = (
            hundredth(spent.agent_sec),
            ratio(spent.seconds_vs_shell),
            hundredth(spent.backoff_sec),
        )
        rows.append((clean(arm.label), *tokens, ratio(spent.tokens_vs_shell), *seconds))
    return Table(
        title="Costs of the agent, per cell",
        columns=(
            ARM,
            Column(short="tokens in", full="uncached input tokens"),
            Column(short="out", full="output tokens"),
            Column(short="vs shell", full="tokens against shell"),
            Column(short="agent s", full="agent seconds"),
            Column(short="vs shell", full="seconds against shell"),
            Column(short="back-off s", full="API back-off seconds"),
        ),
        rows=tuple(rows),
        notes=("~ estimated as characters / 4.",)
        if any(arm.costs.tokens_estimated for arm in report.arms)
        else (),
    )


def server_costs(report: Report) -> Table:
    names = (
        ("create_sec", Column(short="create s", full="container seconds")),
        ("initialize_sec", Column(short="init s", full="initialise seconds")),
        ("warm_up_sec", Column(short="index s", full="warm-up and index seconds")),
        ("canary_sec", Column(short="canary s", full="canary seconds")),
        ("peak_memory_mb", Column(short="peak MB", full="peak memory, MB")),
        ("state_mb", Column(short="index MB", full="index on disk, MB")),
    )
    return Table(
        title="Costs of the arm, apart from every score",
        columns=(ARM, *(column for _, column in names)),
        rows=tuple(
            (clean(arm.label), *(_seconds_or_mb(arm, name) for name, _ in names))
            for arm in report.arms
        ),
        notes=("Seconds are means per cell; memory and disk the largest seen.",),
    )


def _seconds_or_mb(arm: Arm, name: str) -> str:
    show = hundredth if name.endswith("_sec") else tenth
    return show(getattr(arm.costs, name))


def context_costs(report: Report) -> Table:
    names = (
        ("schema_chars", Column(short="schemas, chars", full="tool schemas, characters")),
        (
            "schema_tokens",
            Column(short="schemas, ~tokens", full="tool schemas, tokens (estimated)"),
        ),
        (
            "instructions_chars",
            Column(short="instructions, chars", full="instructions, characters"),
        ),
    )
    return Table(
        title="What the server adds to the agent's context",
        columns=(ARM, *(column for _, column in names)),
        rows=tuple(
            (clean(arm.label), *(count(getattr(arm.costs, name)) for name, _ in names))
            for arm in report.arms
        ),
        notes=("The largest seen; tokens are estimated as characters / 4.",),
    )


def noise(report: Report) -> Table:
    return Table(
        title="Noise floor: what duplicates of one cell differ by",
        columns=(
            Column(short="layer", full="layer", text=True),
            Column(short="sd", full="standard deviation"),
            Column(short="limit", full="95 % limit between two figures"),
            Column(short="groups", full="cells repeated"),
            Column(short="figures", full="figures"),
        ),
        rows=tuple(
            (seen.layer, score(seen.sd), score(seen.limit), count(seen.groups), count(seen.figures))
            for seen in report.noise
        ),
        notes=() if report.noise else ("Unknown: nothing was repeated.",),
    )


def faults(report: Report) -> Table:
    rows = (
        (
            f"{clean(seen.scenario)}, {clean(seen.arm)}, trial {seen.trial}",
            seen.outcome,
            "a measurement" if seen.is_measurement else "broken",
            count(seen.attempts),
            clean(seen.reason),
        )
        for seen in report.faults
    )
    return Table(
        title="Broken cells and crashed servers",
        columns=(
            Column(short="cell", full="cell", text=True),
            Column(short="outcome", full="outcome", text=True),
            Column(short="counts as", full="counts as", text=True),
            Column(short="tries", full="attempts"),
            Column(short="reason", full="reason", text=True),
        ),
        rows=tuple(rows),
    )


def incomparable(report: Report) -> Table:
    rows = (
        (
            f"{clean(seen.scenario)}, {clean(seen.arm)}, trial {seen.trial}",
            "; ".join(clean(field_) for field_ in seen.differs),
        )
        for seen in report.incomparable
    )
    return Table(
        title="Not compared: cells that differ from their baseline in more than the server",
        columns=(
            Column(short="cell", full="cell", text=True),
            Column(short="what differs", full="what differs", text=True),
        ),
        rows=tuple(rows),
    )


def of_run(report: Report) -> tuple[Table, ...]:
    """The run's tables in the order a report says them; those about trouble only where there is some."""
    troubles = tuple(table for table in (faults(report), incomparable(report)) if table.rows)
    scores = (
        fairness(report),
        delta(report),
        noise(report),
        adoption(report),
        grounding(report),
        rates(report),
    )
    return (
        tally(report),
        *troubles,
        *scores,
        agent_costs(report),
        server_costs(report),
        context_costs(report),
    )


# --- tables of one scenario -----------------------------------------------------------------


def scenario_scores(section: ScenarioReport) -> Table:
    table = _fairness_table(
        "Fairness in this scenario", [(clean(arm.label), arm.fairness) for arm in section.arms]
    )
    columns = (*table.columns, Column(short="Δ", full="Δ against shell"))
    rows = tuple(
        (*row, signed(arm.delta.value)) for row, arm in zip(table.rows, section.arms, strict=True)
    )
    return Table(title=table.title, columns=columns, rows=rows, notes=table.notes)


def scenario_cells(section: ScenarioReport) -> Table:
    rows = (
        (
            clean(arm.label),
            str(cell.trial),
            cell.cell_id,
            cell.outcome or "not finished",
            score(cell.fairness) if cell.fairness is not None else clean(cell.unscored),
            f"{cell.failed_total}/{cell.cited_total}",
            clean(cell.reason),
        )
        for arm in section.arms
        for cell in arm.cells
    )
    return Table(
        title="Cells",
        columns=(
            ARM,
            Column(short="trial", full="trial"),
            Column(short="cell", full="cell", text=True),
            Column(short="outcome", full="outcome", text=True),
            Column(short="fairness", full="fairness, or why none", text=True),
            Column(short="failed", full="failed / cited"),
            Column(short="reason", full="how it ended", text=True),
        ),
        rows=tuple(rows),
    )


def commentary(section: ScenarioReport) -> Table:
    rows = (
        (
            f"{clean(arm.label)} · {cell.trial}",
            clean(said.step),
            clean(said.criterion),
            score(said.score),
            clean(said.reason),
        )
        for arm in section.arms
        for cell in arm.cells
        for said in cell.commentary
    )
    return Table(
        title="What the judge said of each criterion (commentary; ranks nobody)",
        columns=(
            Column(short="arm · trial", full="arm · trial", text=True),
            Column(short="step", full="step", text=True),
            Column(short="criterion", full="criterion", text=True),
            Column(short="score", full="score"),
            Column(short="reason", full="reason", text=True),
        ),
        rows=tuple(rows),
    )


def failed_citations(section: ScenarioReport) -> Table:
    found = [
        (clean(arm.label), cell, cited)
        for arm in section.arms
        for cell in arm.cells
        for cited in cell.failed
    ]
    more = tuple(
        f"{clean(arm.label)}, trial {cell.trial}: {cell.failed_total - len(cell.failed)} more of {cell.failed_total} are not listed."
        for arm in section.arms
        for cell in arm.cells
        if cell.failed_total > len(cell.failed)
    )
    rows = tuple(
        (
            f"{label} · {cell.trial}",
            clean(cited.written, 120),
            cited.status,
            cited.resolution,
            clean(cited.reason),
        )
        for label, cell, cited in found
    )
    return Table(
        title="Citations that failed",
        columns=(
            Column(short="arm · trial", full="arm · trial", text=True),
            Column(short="as written", full="as written", text=True),
            Column(short="status", full="status", text=True),
            Column(short="path", full="path", text=True),
            Column(short="reason", full="reason", text=True),
        ),
        rows=rows,
        notes=more,
    )


def of_scenario(section: ScenarioReport) -> tuple[Table, ...]:
    details = tuple(
        table for table in (failed_citations(section), commentary(section)) if table.rows
    )
    return (scenario_scores(section), scenario_cells(section), *details)


# --- head and foot --------------------------------------------------------------------------


def answer(report: Report) -> str:
    """What the question got, per server, in the words of the comparison."""
    said = [(clean(arm.label), arm.delta) for arm in report.arms if arm.server != "shell"]
    if said and all(delta_.judgement == "not_ranked" for _, delta_ in said):
        return "nobody is ranked: no language model answered"
    return "; ".join(f"{label}: {delta_.says}" for label, delta_ in said) or DASH


def facts(report: Report) -> tuple[tuple[str, str], ...]:
    """Name and text of what was run."""
    return (
        ("answer", answer(report)),
        ("run", clean(report.run)),
        ("date", clean(report.created_at)),
        ("model", ", ".join(map(clean, report.models))),
        ("judge", ", ".join(map(clean, report.judges)) or DASH),
        ("servers", ", ".join(map(clean, report.servers))),
        ("scenarios", ", ".join(map(clean, report.scenarios))),
        ("trials", str(report.trials)),
    )


def repeat(report: Report) -> tuple[Table, ...]:
    seen = report.repeat
    shared = {"plan": seen.plan_digest} | {
        name: ", ".join(values) or DASH for name, values in seen.versions.items()
    }
    groups = {
        "The same for every cell": {"": shared},
        "Servers": seen.servers,
        "Scenarios": seen.scenarios,
    }
    if report.gate:
        groups = {"The gate": {"": _gate_facts(report.gate)}, **groups}
    return tuple(_facts_table(title, group) for title, group in groups.items())


def _gate_facts(gate: Gate) -> dict[str, str]:
    agreement = f"{gate.rho:.3f} [{interval(gate.low, gate.high)}] over {gate.transcripts} transcripts graded by hand"
    return {
        "judge": gate.judge,
        "Spearman's rho": agreement,
        "generation": f"{gate.generation}: {gate.reason}",
        "lock": gate.lock,
        "graded": f"{gate.chain_started}: {gate.chain_reason}",
        "regraded since": "; ".join(gate.regrades) or "never",
    }


def _facts_table(title: str, group: Mapping[str, Mapping[str, str]]) -> Table:
    rows = tuple(
        (clean(f"{owner} {name.replace('_', ' ')}"), clean(value) or DASH)
        for owner, held in group.items()
        for name, value in held.items()
    )
    columns = (
        Column(short="what", full="what", text=True),
        Column(short="value", full="value", text=True),
    )
    return Table(title=title, columns=columns, rows=rows)
