"""Which arms ran together, in which order and when; and what is not known of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from runner.records import Block, CellResult, Plan
from runner.records.run_store import LoadedCell
from runner.report.records import BlockOrder, BlockReport
from runner.report.view import ArmView, RunView, grouped, is_measured
from runner.runs.plan import blocks_of


def block_reports(view: RunView, plan: Plan) -> Iterator[BlockReport]:
    """In the order in which they were planned."""
    cells = grouped(view.cells, lambda cell: cell.cell.block)
    for block in blocks_of(plan):
        yield _block(block, cells[block.key])


def _block(block: Block, cells: Sequence[LoadedCell]) -> BlockReport:
    """Of its measured cells: a broken attempt was not what an arm is compared by."""
    results = [cell.result for cell in cells if cell.result and is_measured(cell)]
    placed = [(result, result.block) for result in results if result.block]
    began = min((stands.taken_up_at for _, stands in placed), default="")
    later = [result for result, stands in placed if stands.taken_up_at != began]
    return BlockReport(
        scenario=block.scenario,
        model=block.model,
        trial=block.trial,
        order=block.order,
        taken_up_at=began,
        span_sec=_span_sec(results),
        later={result.cell.server: result.started_at for result in later},
        machines=tuple(sorted({stands.machine for _, stands in placed})),
    )


def _span_sec(results: Sequence[CellResult]) -> float | None:
    """From the first cell's beginning to the last one's end."""
    if not results:
        return None
    try:
        began = min(datetime.fromisoformat(result.started_at) for result in results)
        ended = max(map(_ended, results))
        return round((ended - began).total_seconds(), 2)
    except (ValueError, TypeError):
        # Whatever a result has there that is no moment, the rest of the report stands.
        return None


def _ended(result: CellResult) -> datetime:
    if result.timings is None:
        raise ValueError("it ran elsewhere, and nobody knows when")
    return datetime.fromisoformat(result.started_at) + timedelta(seconds=result.timings.total_sec)


def order_of(arm: ArmView, blocks: Sequence[BlockReport]) -> BlockOrder:
    """Where the arm stood in its blocks."""
    own = [block for block in blocks if block.model == arm.model and arm.server in block.order]
    return BlockOrder(
        blocks=len(own),
        first=sum(block.order[0] == arm.server for block in own),
        last=sum(block.order[-1] == arm.server for block in own),
        later=sum(arm.server in block.later for block in own),
    )
