"""What tokens cost, what a run has spent, and the caps on both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import CatalogError, FairtrialError, SpendingCap
from runner.judges.replies import Replies
from runner.models import is_language_model, kind_name
from runner.records import Cell, Price, PriceList, Usage, parse_yaml, read_text
from runner.store import RunStore
from runner.transcript import usage_in

LIMIT_BYTES = 1_000_000
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
            raise _no_cap(model)
    return Spending(
        prices=PriceList(date=listed.date, models=priced),
        cell_usd=request.cell_usd,
        run_usd=request.run_usd,
    )


def price_of(prices: PriceList, model: str) -> Price | None:
    """By the model's whole name, or that without the date of a snapshot; never by likeness.

    `claude-sonnet-4-5-20250929` and `anthropic:claude-sonnet-4-5` are one model.
    """
    name = model if ":" in model else f"anthropic:{model}"
    undated = re.sub(r"-(\d{8}|\d{4}-\d\d-\d\d)$", "", name)
    return prices.models.get(name) or prices.models.get(undated)


# --- a run ----------------------------------------------------------------------------------


def spent_usd(store: RunStore, priced: dict[str, Price]) -> float:
    """What every attempt has cost, broken, cut and running ones included, and what judging did."""
    total = Replies(folder=store.judged).spent_usd()
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


def purse_for(
    models: Sequence[str], prices: Path | None, cap_usd: float | None, spent_usd: float = 0.0
) -> Purse:
    """What judges that are models may cost. Raises FairtrialError for a cap that could not hold."""
    listed = read_prices(prices)
    priced = {}
    for model in models:
        price = price_of(listed, model)
        if price is not None:
            priced[model] = price
        elif cap_usd is not None:
            raise _no_cap(model)
    left_usd = None if cap_usd is None else cap_usd - spent_usd
    return Purse(priced=priced, left_usd=left_usd)


def _no_cap(model: str) -> FairtrialError:
    hint = "give one with --prices FILE, or go on without a cap"
    return FairtrialError(f"{model} has no price, so no cap could hold", hint=hint)


# --- judging --------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Purse:
    """What judges that are models may still cost, and what they have cost since it was opened."""

    priced: dict[str, Price] = field(default_factory=dict)
    """Model -> its price, by the name it was asked for."""
    left_usd: float | None = None
    """None without a cap."""
    calls: int = 0
    tokens: int = 0
    """Uncached input and output."""
    usd: float = 0.0
    """Of the models that have a price."""

    def require(self) -> None:
        """Raises SpendingCap if nothing is left. Requests under way can each pass the cap."""
        if self.left_usd is not None and self.usd >= self.left_usd:
            raise SpendingCap

    def add(self, model: str, usage: Usage) -> None:
        self.calls += 1
        self.tokens += usage.input_tokens + usage.output_tokens
        self.usd += self.cost_usd(model, [usage]) or 0.0

    def cost_usd(self, model: str, spent: Sequence[Usage]) -> float | None:
        """None if the model has no price."""
        if model not in self.priced:
            return None
        return sum(map(self.priced[model].cost_usd, spent))
