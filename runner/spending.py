"""What tokens cost, what a run has spent, and the caps on both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import CatalogError, FairtrialError, SpendingCap
from runner.models import is_language_model, kind_name, kind_of
from runner.records import Cell, Price, PriceList, parse_yaml, read_text
from runner.store import RunStore
from runner.transcript import usage_in

LIMIT_BYTES = 1_000_000
FREE = Price(input=0.0, cache_write=0.0, cache_read=0.0, output=0.0)
if TYPE_CHECKING:
    from runner.requests import RunRequest


@dataclass(frozen=True, kw_only=True)
class Spending:
    """Prices, and what may be spent. Plain values, as all that cells stand on."""

    prices: PriceList | None = None
    """Of the run's models alone."""
    cell_usd: float | None = None
    """Of one cell; its scenario's budget may be tighter."""
    run_usd: float | None = None
    """Of the run, every attempt counted."""

    @property
    def priced(self) -> dict[str, Price]:
        """The run's models that have a price, by the names they were asked for."""
        return self.prices.models if self.prices else {}

    def cell_limit_usd(self, budget_usd: float | None) -> float | None:
        limits = [limit for limit in (self.cell_usd, budget_usd) if limit is not None]
        return min(limits, default=None)


def read_prices(path: Path | None) -> PriceList:
    """The user's price file, or the one that is shipped.

    Raises CatalogError for what is no price file, FairtrialError if it cannot be read.
    """
    if path is None:
        shipped = resources.files("runner").joinpath("prices.yaml")
        return parse_yaml(shipped.read_text("utf-8"), PriceList, where="prices.yaml")
    hint = "runner/prices.yaml, the shipped one, shows the form"
    if not path.is_file():
        raise FairtrialError("there is no price file", where=str(path), hint=hint)
    try:
        text = read_text(path, where=str(path), limit_bytes=LIMIT_BYTES)
        return parse_yaml(text, PriceList, where=str(path))
    except CatalogError as error:
        raise CatalogError(list(error.problems), hint=hint) from error


def spending_for(request: RunRequest, models: Sequence[str]) -> Spending:
    """What a run's cells may cost, at the prices of its models.

    Raises FairtrialError for a cap that nothing could hold: a language model without a price.
    """
    listed = read_prices(request.prices)
    priced = {}
    for model in models:
        price = price_of(listed, model)
        if price is not None:
            priced[model] = price
        elif is_language_model(kind_name(model)) and (request.cell_usd or request.run_usd):
            hint = "give one with --prices FILE, or go on without a cap"
            raise FairtrialError(f"{model} has no price, so no cap could hold", hint=hint)
    return Spending(
        prices=PriceList(date=listed.date, models=priced),
        cell_usd=request.cell_usd,
        run_usd=request.run_usd,
    )


def price_of(prices: PriceList, model: str) -> Price | None:
    """By the model's whole name, or that without the date of a snapshot; never by likeness.

    `claude-sonnet-4-5-20250929` and `anthropic:claude-sonnet-4-5` are one model.
    """
    kind = kind_of(model)
    if kind is not None and kind.free:
        return FREE
    name = model if ":" in model else f"anthropic:{model}"
    undated = re.sub(r"-(\d{8}|\d{4}-\d\d-\d\d)$", "", name)
    return prices.models.get(name) or prices.models.get(undated)


# --- a run ----------------------------------------------------------------------------------


def spent_usd(store: RunStore, priced: dict[str, Price]) -> float:
    """What every attempt of the run has cost, broken, cut and running ones included."""
    total = 0.0
    for cell in store.plan().cells:
        price = priced.get(cell.model)
        if price is not None:
            total += _spent_on(store, cell, price)
    return total


def _spent_on(store: RunStore, cell: Cell, price: Price) -> float:
    total = 0.0
    for path in store.cell_folder(cell.id).glob("attempt-*/transcript.jsonl"):
        total += sum(map(price.cost_usd, usage_in(path)))
    return total


def left_usd(store: RunStore, spending: Spending) -> float | None:
    """What the run may still spend; None without a cap. Raises SpendingCap if that is nothing."""
    if spending.run_usd is None:
        return None
    left = spending.run_usd - spent_usd(store, spending.priced)
    if left <= 0:
        raise SpendingCap
    return left
