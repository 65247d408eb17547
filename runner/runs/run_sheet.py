"""A grading sheet of a run: whole blocks of cells, so that every arm's answers are graded alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.records import BlockKey, Cell, GradingSheet, digest_of
from runner.records.transcript_files import iter_transcript, split
from runner.runs.audit import Audit
from runner.scoring.grading import MOST, SheetEntry, sheet_of
from runner.support.errors import FairtrialError


def run_sheet(audit: Audit, seed: int) -> GradingSheet:
    """Of as many blocks, drawn by lot, as give no more than MOST answers to one step.

    Raises FairtrialError for a run without an answer that a rubric is for.
    """
    entries: list[SheetEntry] = []
    try:
        for cells in _by_lot(audit, seed):
            block = [entry for cell in cells for entry in _entries(audit, cell)]
            if entries and len(entries) + len(block) > MOST:
                break
            entries += block
    finally:
        audit.checkout.close_files()
    if not entries:
        raise FairtrialError("no cell has an answer to grade", where=audit.store.folder.name)
    return sheet_of(audit.store.folder.name, seed, entries)


def item_key(cell: Cell, step: str) -> str:
    return f"{cell.id}, {step}"


def _by_lot(audit: Audit, seed: int) -> Sequence[list[Cell]]:
    blocks: dict[BlockKey, list[Cell]] = {}
    for item in audit.evidence().cells:
        if item.believed and item.measured:
            blocks.setdefault(item.cell.block, []).append(item.cell)
    # Of a block with one arm left nothing could be compared.
    whole = {block: cells for block, cells in blocks.items() if len(cells) > 1}
    lots = sorted(whole, key=lambda block: digest_of(["blocks to grade", seed, *block]))
    return [whole[block] for block in lots]


def _entries(audit: Audit, cell: Cell) -> Iterator[SheetEntry]:
    loaded = audit.checkout.scenario(cell.scenario)
    counted = audit.store.counted_attempt(cell.id)
    if loaded.rubric.is_keyed or counted is None:
        return
    answer, _, _ = split(iter_transcript(counted.transcript), loaded.scenario)
    for step, text in zip(loaded.rubric.steps, answer.steps, strict=True):
        if step.facts:
            yield SheetEntry(key=item_key(cell, step.name), step=step, answer=text)
