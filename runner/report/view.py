"""A loaded run as a report counts it: its arms, and which of their cells may be compared.

Broken and unfinished cells stay in every denominator. A cell whose fingerprint differs from its
baseline's in anything but the server is compared with nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from runner.agents.models import is_language_model, kind_name, kind_that_answered
from runner.records import Cell, Fairness, Fingerprint, Imported, Verdict, is_candidate
from runner.records.arms import NO_TOOLS_ARM
from runner.records.run_store import LoadedCell, LoadedRun
from runner.report.clusters import Clusters, Topic
from runner.runs.importing.imported_cell import KIND
from runner.scoring import statistics
from runner.support.code_digest import makes_figures

K = TypeVar("K")
T = TypeVar("T")
SHELL = "shell"
FingerprintDifferences = Mapping[str, tuple[str, ...]]
"""Cell id -> what keeps it out of every comparison."""


@dataclass(frozen=True, kw_only=True)
class ArmView:
    """One arm's planned cells, in the whole run or in one scenario."""

    model: str
    server: str
    label: str
    """The server's name; with the model's, if a run has several."""
    scenario: str | None
    """None: all of them."""
    cells: tuple[LoadedCell, ...]
    differs: FingerprintDifferences
    unpaired: frozenset[str]
    """Ids of measured cells that have no counterpart in the other arm: none to compare with."""
    clusters: Clusters
    """Of the whole run."""

    @property
    def is_shell(self) -> bool:
        return self.server == SHELL

    @property
    def has_server(self) -> bool:
        return self.server not in (SHELL, NO_TOOLS_ARM)

    @cached_property
    def measured(self) -> tuple[LoadedCell, ...]:
        """Those whose evidence is believed."""
        return tuple(filter(is_measured, self.cells))

    @cached_property
    def paired(self) -> tuple[LoadedCell, ...]:
        """The measured cells that have their counterpart in the other arm."""
        return tuple(cell for cell in self.measured if cell.cell.id not in self.unpaired)

    @cached_property
    def usable(self) -> tuple[LoadedCell, ...]:
        """The paired cells that may be compared."""
        return tuple(cell for cell in self.paired if cell.cell.id not in self.differs)

    @cached_property
    def by_scenario(self) -> Mapping[str, ArmView]:
        # Made once: searched for each scenario anew, n cells would be looked at n² times.
        groups = grouped(self.cells, lambda cell: cell.cell.scenario)
        return {scenario: self._with(scenario, cells) for scenario, cells in groups.items()}

    def within(self, scenario: str) -> ArmView:
        """The same arm in one scenario; without cells if none were planned there."""
        return self.by_scenario.get(scenario) or self._with(scenario, [])

    def _with(self, scenario: str | None, cells: Sequence[LoadedCell]) -> ArmView:
        return replace(self, scenario=scenario, cells=tuple(cells))

    def beside(self, other: ArmView) -> ArmView:
        """Of these cells, those whose counterpart the other arm has in use."""
        theirs = set(map(trial_of, other.usable))
        return self._with(self.scenario, [cell for cell in self.usable if trial_of(cell) in theirs])


@dataclass(frozen=True, kw_only=True)
class RunView:
    """The plan's cells as they stand."""

    cells: tuple[LoadedCell, ...]
    models: tuple[str, ...]
    arms: tuple[ArmView, ...]
    """Models in the plan's order, shell first in each."""
    scenarios: tuple[str, ...]
    clusters: Clusters
    differs: FingerprintDifferences
    kinds: Mapping[str, tuple[str, ...]]
    """Model, as it was called -> the kinds of model that answered under that name."""

    @property
    def language_models(self) -> tuple[str, ...]:
        """Names under which nothing but a language model answered."""
        return tuple(
            model for model in self.models if all(map(is_language_model, self.kinds[model]))
        )

    @property
    def servers(self) -> tuple[str, ...]:
        return unique(arm.server for arm in self.arms)

    def label(self, cell: Cell) -> str:
        return _label(cell.model, cell.server, self.models)

    def arms_of(self, model: str) -> Iterator[ArmView]:
        for arm in self.arms:
            if arm.model == model:
                yield arm

    def shell_of(self, arm: ArmView) -> ArmView | None:
        """The baseline: the shell's arm of the same model, in the same scenario."""
        for other in self.arms_of(arm.model):
            if other.is_shell:
                if arm.scenario is None:
                    return other
                return other.within(arm.scenario)
        return None


@makes_figures
def view_of(run: LoadedRun, topics: Mapping[str, Topic] | None = None) -> RunView:
    """`topics`: what the scenarios ask about; of one that is not there, its tree is known."""
    cells = tuple(_planned_cells(run))
    models = unique(cell.cell.model for cell in cells)
    differs = _what_differs(cells)
    clusters = _clusters(cells, topics or {})
    return RunView(
        cells=cells,
        models=models,
        arms=tuple(_arms(cells, models, differs, clusters)),
        scenarios=unique(cell.cell.scenario for cell in cells),
        clusters=clusters,
        differs=differs,
        kinds=_kinds(cells),
    )


def _clusters(cells: Sequence[LoadedCell], topics: Mapping[str, Topic]) -> Clusters:
    planned = grouped(cells, lambda cell: cell.cell.scenario)
    known = {name: topics.get(name) or _topic(own) for name, own in planned.items()}
    arms = {(of.cell.model, of.cell.server) for of in cells if is_candidate(of.cell.server)}
    return Clusters(topics=known, comparisons=max(1, len(arms)))


def _topic(cells: Sequence[LoadedCell]) -> Topic:
    """Of a scenario that left the catalog: by the tree that its cells saw."""
    trees = unique(fingerprint.tree for fingerprint in fingerprints(cells))
    return Topic(repository=trees[0] if trees else "")


def _kinds(cells: Sequence[LoadedCell]) -> dict[str, tuple[str, ...]]:
    kinds = grouped(cells, lambda cell: cell.cell.model)
    return {model: unique(map(_kind, inside)) for model, inside in kinds.items()}


def _kind(cell: LoadedCell) -> str:
    """Of a result that nobody believes too: what it says of itself is no reason for silence."""
    if cell.result is None or cell.result.fingerprint is None:
        return kind_name(cell.cell.model)
    return kind_that_answered(cell.result.fingerprint)


def _planned_cells(run: LoadedRun) -> Iterator[LoadedCell]:
    loaded = {cell.cell.id: cell for cell in run.cells}
    for planned in run.plan.cells:
        # A cell that was lost from the disk is unfinished. Left out, it would leave the
        # denominator, and deleting the bad cells would make a better run.
        missing = LoadedCell(cell=planned, result=None, attempts=0)
        yield loaded.get(planned.id, missing)


def _arms(
    cells: Sequence[LoadedCell],
    models: Sequence[str],
    differs: FingerprintDifferences,
    clusters: Clusters,
) -> Iterator[ArmView]:
    arms = grouped(cells, lambda cell: (cell.cell.model, cell.cell.server))
    unpaired = frozenset(_unpaired(cells, differs))
    for model, server in sorted(arms, key=lambda arm: (models.index(arm[0]), arm[1] != SHELL)):
        yield ArmView(
            model=model,
            server=server,
            label=_label(model, server, models),
            scenario=None,
            cells=tuple(arms[model, server]),
            differs=differs,
            unpaired=unpaired,
            clusters=clusters,
        )


def _unpaired(cells: Sequence[LoadedCell], differs: FingerprintDifferences) -> Iterator[str]:
    """Measured cells beside which the shell, or every server, is missing.

    None in a run of the shell alone, or without one: there is nothing to pair with.
    """
    sides = {cell.cell.server == SHELL for cell in cells}
    if len(sides) < 2:
        return
    measured = list(filter(is_measured, cells))
    comparable = [cell for cell in measured if cell.cell.id not in differs]
    present = {(cell.cell.block, cell.cell.server == SHELL) for cell in comparable}
    for cell in measured:
        if (cell.cell.block, cell.cell.server != SHELL) not in present:
            yield cell.cell.id


def is_import(model: str) -> bool:
    """By its name, which the audit holds against the cell's own file."""
    return kind_name(model) == KIND


def _label(model: str, server: str, models: Sequence[str]) -> str:
    if len(models) > 1:
        return f"{server} ({model})"
    if is_import(model):
        return f"{server} (imported)"
    return server


# --- what keeps cells apart -----------------------------------------------------------------


def _what_differs(cells: Sequence[LoadedCell]) -> FingerprintDifferences:
    """Every measured cell against its baseline: the shell's first of its scenario and model."""
    measured = list(filter(is_measured, cells))
    compared = grouped(measured, lambda cell: (cell.cell.scenario, cell.cell.model))
    differs = {}
    for group in compared.values():
        baseline = _baseline(group)
        import_ = _first_import(group)
        for cell in group:
            reasons = _beside(import_, cell) if import_ else _against(baseline, cell)
            if reasons:
                differs[cell.cell.id] = reasons
    return differs | dict(_elsewhere(measured))


def _elsewhere(measured: Sequence[LoadedCell]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Cells that ran on another machine than their block's shell did."""
    for block in grouped(measured, lambda cell: cell.cell.block).values():
        machines = {cell.cell.server: _machine(cell) for cell in block}
        baseline = machines.get(SHELL) or next(iter(machines.values()))
        for cell in block:
            if _machine(cell) != baseline:
                found = f"machine: {_machine(cell)} against {baseline} in its block"
                yield cell.cell.id, (found,)


def _machine(cell: LoadedCell) -> str:
    """Empty for a result of a version that did not record it."""
    if cell.result is None or cell.result.block is None:
        return ""
    return cell.result.block.machine


def _baseline(group: Sequence[LoadedCell]) -> Fingerprint | None:
    """The shell's first fingerprint; without a shell, the first of any arm."""
    for cell in sorted(group, key=lambda cell: cell.cell.server != SHELL):
        fingerprint = fingerprint_of(cell)
        if fingerprint is not None:
            return fingerprint
    return None


_OF_AN_IMPORT = ("harness", "harness_version", "model", "permissions", "prompts")
"""What imported cells of a comparison have in common."""


def _first_import(group: Sequence[LoadedCell]) -> Imported | None:
    """The shell's first; without a shell, the first of any arm."""
    for cell in sorted(group, key=lambda cell: cell.cell.server != SHELL):
        if imported_of(cell) is not None:
            return imported_of(cell)
    return None


def _beside(import_: Imported, cell: LoadedCell) -> tuple[str, ...]:
    own = imported_of(cell)
    if own is None:
        return ("it was measured here, and its baseline was imported",)
    differing = []
    for name in _OF_AN_IMPORT:
        theirs, ours = getattr(import_, name), getattr(own, name)
        if theirs != ours:
            differing.append(f"{name}: {str(theirs)[:40]} against {str(ours)[:40]}")
    return tuple(differing)


def _against(baseline: Fingerprint | None, cell: LoadedCell) -> tuple[str, ...]:
    fingerprint = fingerprint_of(cell)
    if fingerprint is not None and baseline is not None:
        return tuple(statistics.differences(baseline, fingerprint))
    if cell.result is not None and cell.result.outcome.kind == "server_crashed":
        # Otherwise a server that dies before its fingerprint is known would shed its worst cells.
        return ()
    return ("no fingerprint was recorded, so nothing shows that it ran as the others did",)


# --- of one cell ----------------------------------------------------------------------------


def is_measured(cell: LoadedCell) -> bool:
    """Measured, and its evidence believed."""
    return cell.measured and cell.believed


def trial_of(cell: LoadedCell) -> statistics.Trial:
    return cell.cell.scenario, cell.cell.trial


def fairness_of(cell: LoadedCell) -> Fairness | None:
    if cell.scorecard is None or not is_measured(cell):
        # A card beside a broken cell is not believed: a fault of ours is never scored.
        return None
    return cell.scorecard.fairness


def imported_of(cell: LoadedCell) -> Imported | None:
    """None if it was measured here."""
    return None if cell.result is None else cell.result.imported


def fingerprint_of(cell: LoadedCell) -> Fingerprint | None:
    if cell.result is None or not cell.believed:
        return None
    return cell.result.fingerprint


def fairness_halves(cells: Iterable[LoadedCell]) -> Iterator[Fairness]:
    """Of the cells that have one."""
    for cell in cells:
        fairness = fairness_of(cell)
        if fairness is not None:
            yield fairness


def verdicts(cells: Iterable[LoadedCell]) -> Iterator[Verdict]:
    """Of the cells that were judged."""
    for fairness in fairness_halves(cells):
        if fairness.verdict is not None:
            yield fairness.verdict


def fingerprints(cells: Iterable[LoadedCell]) -> Iterator[Fingerprint]:
    """Of the cells that have one."""
    for cell in cells:
        fingerprint = fingerprint_of(cell)
        if fingerprint is not None:
            yield fingerprint


# --- small ----------------------------------------------------------------------------------


def unique(values: Iterable[T]) -> tuple[T, ...]:
    """Each value once, in the order of their first appearance."""
    return tuple(dict.fromkeys(values))


def grouped(values: Iterable[T], key_of: Callable[[T], K]) -> dict[K, list[T]]:
    """Values by key, keys and values in the order of their first appearance."""
    groups: dict[K, list[T]] = {}
    for value in values:
        groups.setdefault(key_of(value), []).append(value)
    return groups
