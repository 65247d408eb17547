"""What a run has spent so far, by its transcripts and by what its judges said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from runner.agents.spending import Account, Spending
from runner.records import Cell, NewTokens, Price, Usage
from runner.records.run_store import RunStore
from runner.records.transcript_files import usage_in
from runner.scoring.judges.replies import Replies
from runner.support.errors import FairtrialError


def account_of(
    store: RunStore, spending: Spending, told: Callable[[int, float], None] = lambda *_: None
) -> Account:
    """The run's account as its transcripts have it; `told` gets that first, and then each turn's.

    They are read once: read again for each cell, a run of n cells would read them n² times.
    """
    tokens, spent_usd = spent(store, spending.priced)
    told(tokens, spent_usd)
    return spending.account(tokens, spent_usd, told)


def spent(store: RunStore, priced: Mapping[str, Price]) -> tuple[int, float]:
    """New tokens and dollars of every attempt, broken, cut and running ones included; and the
    dollars that judging took."""
    tokens, usd = 0, Replies(folder=store.judged).spent_usd()
    for cell in store.plan().cells:
        price = priced.get(cell.model)
        for turns in _by_attempt(store, cell):
            tokens += NewTokens.of(turns)
            usd += 0.0 if price is None else sum(map(price.cost_usd, turns))
    return tokens, usd


def usage_of(store: RunStore, cell: Cell) -> Iterator[Usage]:
    """Of every attempt at the cell."""
    for turns in _by_attempt(store, cell):
        yield from turns


def _by_attempt(store: RunStore, cell: Cell) -> Iterator[list[Usage]]:
    """Each attempt's turns. What a kill has spoilt ends its transcript's own."""
    for path in store.cell_folder(cell.id).glob("attempt-*/transcript.jsonl"):
        turns: list[Usage] = []
        with suppress(FairtrialError):
            for usage in usage_in(path):
                turns.append(usage)  # noqa: PERF402 - those before the spoilt part count
        yield turns
