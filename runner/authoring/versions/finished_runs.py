"""Two finished runs as two versions: what was answered with each, and which tools were offered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from runner.authoring.versions import concluding
from runner.authoring.versions.tool_changes import gone, new
from runner.records import Scenario, is_candidate
from runner.records.run_store import LoadedRun
from runner.records.versions import (
    CompareSettings,
    VersionChange,
    VersionCheck,
    VersionComparison,
    VersionSide,
)
from runner.report.version_pairs import VersionPairs, with_earlier
from runner.support.errors import FairtrialError
from runner.support.token_estimate import estimated_tokens

CHECKS: tuple[VersionCheck, ...] = ("tools", "exact", "model")
"""That a run's cells say something of."""


@dataclass(frozen=True, kw_only=True)
class FinishedVersion:
    """A run, as the person named it, with its one server."""

    asked: str
    run: LoadedRun

    @property
    def arm(self) -> str:
        """Raises FairtrialError for a run of several servers, or of none."""
        found = dict.fromkeys(it.server for it in self.run.plan.cells if is_candidate(it.server))
        if len(found) != 1:
            hint = "a version is a run of one server, beside the shell"
            raise FairtrialError(f"this run has {len(found)} servers", where=self.asked, hint=hint)
        return next(iter(found))

    def side(self) -> VersionSide:
        prints = [
            it.result.fingerprint
            for it in self.run.cells
            if it.cell.server == self.arm and it.result and it.result.fingerprint
        ]
        listed = [it.tools for it in prints if it.tools]
        return VersionSide(
            asked=self.asked,
            server=self.arm,
            version=prints[0].server_version if prints else "unknown",
            tools=listed[0].names if listed else (),
            schema_tokens=estimated_tokens(listed[0].schema_chars) if listed else 0,
        )

    def only_as(self, name: str, *, beside: bool) -> LoadedRun:
        """Its server's cells under another name, for the two may have the same; with the shell's
        if they are wanted."""
        kept = [it for it in self.run.cells if it.cell.server == self.arm]
        renamed = [replace(it, cell=it.cell.model_copy(update={"server": name})) for it in kept]
        shells = [it for it in self.run.cells if beside and it.cell.server == "shell"]
        cells = (*shells, *renamed)
        plan = self.run.plan.model_copy(update={"cells": tuple(it.cell for it in cells)})
        return replace(self.run, plan=plan, cells=cells)


def compared_runs(
    base: FinishedVersion,
    head: FinishedVersion,
    scenarios: Mapping[str, Scenario],
    settings: CompareSettings,
) -> VersionComparison:
    """Raises FairtrialError if no pair of cells may be compared."""
    sides = base.side(), head.side()
    run = with_earlier(head.only_as("head", beside=True), base.only_as("base", beside=False))
    pairs = VersionPairs(run=run, scenarios=scenarios, base="base", head="head")
    answers = tuple(pairs.answers())
    if not answers:
        hint = "they need the same questions, model, engine and base image"
        raise FairtrialError("the runs have no pair of cells to compare", hint=hint)
    paired = tuple(pairs.paired(concluding.answers_margin(settings)))
    found = [*_tools(*sides), *concluding.answer_changes(answers, paired)]
    only = settings.only or CHECKS
    return concluding.comparison(
        sides,
        found,
        paired,
        settings,
        machine="",
        repository=f"{len({it.scenario for it in answers})} questions of two finished runs",
        checks=tuple(it for it in CHECKS if it in only),
        not_asked=("whatever needs the servers themselves: finished runs were compared",),
        answers=answers,
        wall_sec=0.0,
    )


def _tools(base: VersionSide, head: VersionSide) -> Iterator[VersionChange]:
    """By their names alone: a run keeps no more of a listing than its digest."""
    yield from (gone(name) for name in base.tools if name not in head.tools)
    yield from (new(name) for name in head.tools if name not in base.tools)
