"""Which of a run's files to believe: each is held against the others (docs/evidence.md).

Plan, results and transcripts are evidence. An attempt whose evidence contradicts itself is in no
figure, keeps its place in the denominator, and is named. A scorecard follows from its transcript:
it is made again, and where the file says otherwise, that is named and the file is not believed.
Digests show accidents and careless edits. Who writes transcript, result and digest anew is not
found out: they are no signature.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from runner.agents.models import kind_name, kind_that_answered
from runner.catalog.checkout import Checkout
from runner.protocols import Judge
from runner.records import Cell, Contradiction, Plan, Scorecard, Sha256, Verdict, digest_of
from runner.records.run_store import SCORECARD, EndedAttempt, LoadedCell, LoadedRun, RunStore
from runner.records.transcript_files import extent_of
from runner.runs.benchmark import Benchmark
from runner.runs.importing.imported_run import differing
from runner.runs.score_cache import ScoreCache, open_score_cache
from runner.scoring.judges.stored import Stored
from runner.support.code_digest import makes_figures
from runner.support.errors import CatalogError

FIELDS_SHOWN = 5
"""Of one scorecard: an edited transcript would list every field there is."""
ROUNDING = 1e-9
"""Sums of another version of Python differ by less."""
NOTHING_THERE = "nothing"
JUDGED_BY = "fairness.verdict.identity"


@makes_figures
@dataclass(frozen=True, kw_only=True)
class Audit:
    """One run, and the checkout that knows its scenarios."""

    store: RunStore
    checkout: Checkout
    benchmark: Benchmark
    judge: Judge | None = None
    """Of the answers; None for a benchmark that has no scorecards."""

    @property
    def required_judge(self) -> Judge:
        if self.judge is None:
            raise ValueError("scorecards need a judge")
        return self.judge

    # --- evidence -------------------------------------------------------------------------------

    def evidence(self) -> LoadedRun:
        """The run as it is believed, without scorecards.

        Raises CatalogError for a plan or a result that cannot be read.
        """
        run = self.store.load()
        contradictions = [*self._unplanned(run.plan)]
        cells = []
        # Taken anew for each attempt, a run of n cells would digest its n cells n times.
        digest = run.plan.digest
        for item in run.cells:
            against = list(self._against(item, run.plan, digest))
            contradictions += [*against, *self._beside(item)]
            cells.append(replace(item, believed=not against))
        if gated := self._gated(run):
            contradictions.append(gated)
            run = replace(run, plan=run.plan.model_copy(update={"ungated": True}))
        return replace(run, cells=tuple(cells), contradictions=tuple(contradictions))

    def _unplanned(self, plan: Plan) -> Iterator[Contradiction]:
        planned = {cell.id for cell in plan.cells}
        for folder in sorted((self.store.folder / "cells").glob("*")):
            if folder.name not in planned:
                # A bad cell that left the plan would leave the denominator with it.
                yield Contradiction(
                    where=self._where(folder), field="", says="a cell", found="not in plan.json"
                )

    def _gated(self, run: LoadedRun) -> Contradiction | None:
        if run.plan.ungated:
            return None
        made = [attempt.result.ungated for item in run.cells for attempt in item.ended]
        if not any(made):
            return None
        found = f"{sum(made)} of {len(made)} attempts were made without a gate"
        return Contradiction(where="plan.json", field="ungated", says="false", found=found)

    def _against(self, item: LoadedCell, plan: Plan, digest: Sha256) -> Iterator[Contradiction]:
        """What keeps a cell out of every figure."""
        cell, counted = item.cell, item.counted
        yield from self._lost_attempts(cell)
        for attempt in item.ended:
            found = _found(attempt, cell, digest)
            yield from self._differing(attempt.path / "result.json", found)
        # Tasks are in no catalog, and nobody imports them.
        if counted is not None and plan.benchmark is None:
            yield from self._imported(cell, counted)
        if counted is not None and counted.result.outcome.is_measurement:
            yield from self._of_the_counted(cell, counted)

    def _imported(self, cell: Cell, attempt: EndedAttempt) -> Iterator[Contradiction]:
        """An imported cell is what its file gives today, whatever its result calls it."""
        loaded = self.checkout.catalog.scenarios.get(cell.scenario)
        # Where its scenario is gone, a measured cell is named for that; an imported one as well.
        if loaded is not None:
            found = differing(cell, attempt, loaded.scenario)
            yield from self._differing(attempt.path / "result.json", found)

    def _of_the_counted(self, cell: Cell, attempt: EndedAttempt) -> Iterator[Contradiction]:
        result = attempt.result
        extent = extent_of(attempt.transcript)
        found = {
            "": (result.transcript, extent.digest or NOTHING_THERE),
            "events": (str(result.events), str(extent.events)),
        }
        yield from self._differing(attempt.transcript, found)
        differing = self.benchmark.differing(cell, result, self.checkout)
        yield from self._differing(attempt.path / "result.json", differing)

    def _differing(self, path: Path, found: dict[str, tuple[str, str]]) -> Iterator[Contradiction]:
        where = self._where(path)
        for field, (says, is_so) in found.items():
            if says != is_so:
                yield Contradiction(where=where, field=field, says=says, found=is_so)

    def _lost_attempts(self, cell: Cell) -> Iterator[Contradiction]:
        numbers = self.store.attempt_numbers(cell.id)
        where = self._where(self.store.cell_folder(cell.id))
        # The one that is gone may have been the measurement that somebody did not like.
        for number in sorted(set(range(1, max(numbers, default=0))) - set(numbers)):
            yield Contradiction(
                where=where, field="", says=f"attempt-{max(numbers)}", found=f"no attempt-{number}"
            )
        for number in sorted(set(numbers)):
            if numbers.count(number) > 1:
                found = f"{numbers.count(number)} of that number"
                yield Contradiction(where=where, field="", says=f"attempt-{number}", found=found)

    def _beside(self, item: LoadedCell) -> Iterator[Contradiction]:
        """What is not read, and changes no figure."""
        for path in self.store.strays(item.cell.id):
            found = "no attempt and no scorecard; it was not read"
            yield Contradiction(where=self._where(path), field="", says=path.name, found=found)
        counted = item.counted
        for attempt in item.ended:
            if counted is None or not counted.result.outcome.is_measurement:
                break
            if attempt.number > counted.number:
                found = f"attempt-{counted.number} had measured the cell; it was not used"
                says = attempt.path.name
                yield Contradiction(
                    where=self._where(attempt.path), field="", says=says, found=found
                )

    def _where(self, path: Path) -> str:
        return path.relative_to(self.store.folder).as_posix()

    # --- scores ---------------------------------------------------------------------------------

    def cards(self, run: LoadedRun, *, anew: bool = False) -> Iterator[Scorecard]:
        """A scorecard for every cell that is measured and believed, one in memory at a time.

        `anew`: a judge whose verdicts vary is asked again; else what it said is taken, if it was
        said of this answer and rubric. A deterministic one is always asked.

        What the scorers keep between cells is thrown away: a cache is a file too, and whoever
        edits one would decide what is grounded.
        """
        with tempfile.TemporaryDirectory(prefix="fairtrial-") as scratch, self._files():
            for item in run.cells:
                if item.measured and item.believed and item.counted is not None:
                    judge = self._judge(item.cell, anew=anew)
                    yield self._card(item.cell, item.counted, judge, Path(scratch))

    def _card(self, cell: Cell, attempt: EndedAttempt, judge: Judge, scratch: Path) -> Scorecard:
        """Kept from before if nothing that it follows from has changed; else made."""
        kept = self._kept
        # What a judge says that varies is kept beside the run, not here.
        if kept is None or not self.required_judge.deterministic:
            return self._made(cell, attempt, judge, scratch)
        basis = self.benchmark.basis(cell, self.checkout)
        name = digest_of([basis, attempt.result.transcript, judge.name, judge.identity])
        card = kept.get(name)
        if card is None:
            card = self._made(cell, attempt, judge, scratch)
            kept.put(name, card)
        return card

    @cached_property
    def _kept(self) -> ScoreCache | None:
        return open_score_cache(self.checkout.state / "scores", self.checkout.environ)

    def _made(self, cell: Cell, attempt: EndedAttempt, judge: Judge, scratch: Path) -> Scorecard:
        return self.benchmark.score(
            cell, attempt.transcript, self.checkout, judge=judge, cache_dir=scratch
        )

    @contextmanager
    def _files(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.checkout.close_files()

    def _judge(self, cell: Cell, *, anew: bool) -> Judge:
        judge = self.required_judge
        if judge.deterministic or anew:
            return judge
        return Stored(judge, self._stored_verdict(cell))

    def _stored_verdict(self, cell: Cell) -> Verdict | None:
        with suppress(CatalogError):  # an unreadable card is named where it is compared
            card = self.store.stored_scorecard(cell.id)
            if card is not None:
                return card.fairness.verdict
        return None

    def whole(self) -> LoadedRun:
        """The run with the scorecards that its transcripts give; what their files say is checked.

        Raises what `evidence` does.
        """
        run = self.evidence()
        run = with_cards(run, self.cards(run))
        contradictions = list(run.contradictions)
        for item in run.cells:
            contradictions += self._scorecard(item)
        return replace(run, contradictions=tuple(contradictions))

    def _scorecard(self, item: LoadedCell) -> Iterator[Contradiction]:
        where = self._where(self.store.cell_folder(item.cell.id) / SCORECARD)
        try:
            stored = self.store.stored_scorecard(item.cell.id)
        except CatalogError as error:
            says = error.problems[0].message
            yield Contradiction(where=where, field="", says=says, found="not of this version")
            return
        if stored is None or not item.believed:
            return
        if item.scorecard is None:
            found = "a cell that is not measured has no scores"
            yield Contradiction(where=where, field="", says="a scorecard", found=found)
            return
        differences = list(_differences(stored.model_dump(), item.scorecard.model_dump()))
        # Code that moved makes another judge of the same name: where every figure and every quote
        # is what was said, nothing is contradicted.
        if [field for field, _, _ in differences] == [JUDGED_BY]:
            return
        for field, says, found in differences[:FIELDS_SHOWN]:
            yield Contradiction(where=where, field=field, says=says, found=found)
        more = len(differences) - FIELDS_SHOWN
        if more > 0:
            yield Contradiction(where=where, field="", says="", found=f"{more} more differ")


def with_cards(run: LoadedRun, cards: Iterable[Scorecard]) -> LoadedRun:
    """Each card at its cell."""
    scored = {card.cell_id: card for card in cards}
    cells = [replace(item, scorecard=scored.get(item.cell.id)) for item in run.cells]
    return replace(run, cells=tuple(cells))


def _found(attempt: EndedAttempt, cell: Cell, digest: Sha256) -> dict[str, tuple[str, str]]:
    """Key path -> what a result says, and what it has to say where it stands.

    `digest`: the plan's.
    """
    result = attempt.result
    found = {
        "digest": (result.digest, result.digest_found),
        "cell": (result.cell.id, cell.id),
        "attempt": (str(result.attempt), str(attempt.number)),
        "plan": (result.plan, digest),
    }
    if result.fingerprint is not None:
        kind = kind_that_answered(result.fingerprint)
        found["fingerprint.model"] = (result.fingerprint.model, cell.model)
        # A kind has many models, and a name that is of its kind contradicts nothing.
        if kind_name(cell.model) != kind:
            found["cell.model"] = (cell.model, kind)
    return found


# --- what differs ---------------------------------------------------------------------------


def _differences(says: Any, found: Any, field: str = "") -> Iterator[tuple[str, str, str]]:
    """Key path, and both values, of every leaf in which two plain values differ."""
    if isinstance(says, dict) and isinstance(found, dict):
        for key in dict.fromkeys([*says, *found]):
            yield from _differences(
                says.get(key, NOTHING_THERE),
                found.get(key, NOTHING_THERE),
                f"{field}.{key}".lstrip("."),
            )
    elif isinstance(says, (list, tuple)) and isinstance(found, (list, tuple)):
        if len(says) != len(found):
            yield field, f"{len(says)} items", f"{len(found)} items"
            return
        for index, (one, other) in enumerate(zip(says, found, strict=True)):
            yield from _differences(one, other, f"{field}[{index}]")
    elif not _same(says, found):
        yield field, _shown(says), _shown(found)


def _same(says: object, found: object) -> bool:
    if isinstance(says, float) and isinstance(found, float):
        return abs(says - found) <= ROUNDING
    return says == found


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "values" if value else "{}"
    return str(value)[:80]
