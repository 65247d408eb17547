"""What tokens cost, what a run has spent, and the caps on both."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from runner.agents.models import is_language_model, kind_name, kind_of
from runner.records import Price, PriceList, Usage, parse_yaml, read_text
from runner.support.errors import CatalogError, FairtrialError, SpendingCap

Told = Callable[[int, float], None]
"""Gets the new tokens and dollars of a turn."""
LIMIT_BYTES = 1_000_000
FREE = Price(input=0.0, cache_write=0.0, cache_read=0.0, output=0.0)


@dataclass(frozen=True, kw_only=True)
class Spending:
    """Prices, and what may be spent. Plain values, as all that cells stand on."""

    prices: PriceList | None = None
    """Of the run's models alone."""
    cell_usd: float | None = None
    """Of one cell; its scenario's budget may be tighter."""
    run_usd: float | None = None
    """Of the run, every attempt counted."""
    run_tokens: int | None = None
    """New tokens of the run, every attempt counted: a cap that needs no price."""

    @property
    def priced(self) -> dict[str, Price]:
        """The run's models that have a price, by the names they were asked for."""
        return self.prices.models if self.prices else {}

    @property
    def prices_date(self) -> str:
        return self.prices.date if self.prices else "no file"

    def has_price_of(self, models: Iterable[str]) -> bool:
        """Of every language model among them; what is none costs nothing."""
        asked = [model for model in models if is_language_model(kind_name(model))]
        return all(model in self.priced for model in asked)

    @property
    def is_capped(self) -> bool:
        return self.run_usd is not None or self.run_tokens is not None

    def cell_limit_usd(self, budget_usd: float | None) -> float | None:
        limits = [limit for limit in (self.cell_usd, budget_usd) if limit is not None]
        return min(limits, default=None)

    def account(self, tokens: int, usd: float, told: Told) -> Account:
        """The run's, of which as much is spent; `told` as Account has it."""
        return Account(
            cap_usd=self.run_usd,
            spent_usd=usd,
            cap_tokens=self.run_tokens,
            spent_tokens=tokens,
            told=told,
        )


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


def spending_for(
    prices: Path | None,
    cell_usd: float | None,
    run_usd: float | None,
    models: Sequence[str],
    run_tokens: int | None = None,
) -> Spending:
    """What a run's cells may cost, at the prices of its models.

    Raises FairtrialError for a cap that nothing could hold: a language model without a price.
    """
    capped = bool(cell_usd or run_usd)
    bound = [model for model in models if capped and is_language_model(kind_name(model))]
    return Spending(
        prices=_priced(models, prices, bound),
        cell_usd=cell_usd,
        run_usd=run_usd,
        run_tokens=run_tokens,
    )


def _priced(models: Iterable[str], prices: Path | None, bound: Collection[str]) -> PriceList:
    """`bound`: those that a cap has to hold."""
    listed = read_prices(prices)
    priced = {}
    for model in models:
        price = price_of(listed, model)
        if price is not None:
            priced[model] = price
        elif model in bound:
            hint = "give one with --prices FILE, or go on without a cap"
            raise FairtrialError(f"{model} has no price, so no cap could hold", hint=hint)
    return PriceList(date=listed.date, models=priced)


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


@dataclass(kw_only=True)
class _Cap:
    """On one of the two things that turns use up."""

    option: str
    shown: str
    """As `format` takes it: `${:.2f}`."""
    most: float | None
    spent: float
    largest: float = 0.0
    """Of the turns so far: what one that is under way may take."""

    def require_left(self, under_way: int) -> None:
        if self.most is None:
            return
        spent = f"{self.shown.format(self.spent)} of {self.shown.format(self.most)}"
        if self.spent >= self.most:
            raise SpendingCap(spent, self.option)
        if self.spent + (under_way + 1) * self.largest > self.most:
            largest = self.shown.format(self.largest)
            raise SpendingCap(f"{spent}, and turns cost up to {largest} here", self.option)

    def add(self, amount: float) -> None:
        self.spent += amount
        self.largest = max(self.largest, amount)


class Account:
    """What a run has spent, kept up to date by its cells. Shared by all of them, in one process.

    Without it, cells beside one another would each spend what the run has left.
    """

    def __init__(
        self,
        *,
        cap_usd: float | None = None,
        spent_usd: float = 0.0,
        cap_tokens: int | None = None,
        spent_tokens: int = 0,
        told: Told = lambda _tokens, _usd: None,
    ) -> None:
        """`told` gets the new tokens and dollars of each turn."""
        self._usd = _Cap(option="--max-dollars", shown="${:.2f}", most=cap_usd, spent=spent_usd)
        self._tokens = _Cap(
            option="--max-tokens", shown="{:,} new tokens", most=cap_tokens, spent=spent_tokens
        )
        self._told = told
        self._under_way = 0
        """Turns."""

    def require_left(self) -> None:
        """Raises SpendingCap if another turn could take the run past its cap."""
        self._usd.require_left(self._under_way)
        self._tokens.require_left(self._under_way)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Around a turn: what it may cost is kept from the turns beside it."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def add(self, tokens: int, usd: float) -> None:
        """Of a turn that has ended."""
        self._usd.add(usd)
        self._tokens.add(tokens)
        self._told(tokens, usd)


def purse_for(
    models: Sequence[str], prices: Path | None, cap_usd: float | None, spent_usd: float = 0.0
) -> JudgeBudget:
    """What judges that are models may cost. Raises FairtrialError for a cap that could not hold."""
    priced = _priced(models, prices, () if cap_usd is None else models).models
    left_usd = None if cap_usd is None else cap_usd - spent_usd
    return JudgeBudget(priced=priced, left_usd=left_usd)


# --- judging --------------------------------------------------------------------------------


@dataclass(kw_only=True)
class JudgeBudget:
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
            raise SpendingCap(f"${self.usd:.2f} by judging, of ${self.left_usd:.2f} that were left")

    def add(self, model: str, usage: Usage) -> None:
        self.calls += 1
        self.tokens += usage.input_tokens + usage.output_tokens
        self.usd += self.cost_usd(model, [usage]) or 0.0

    def cost_usd(self, model: str, spent: Sequence[Usage]) -> float | None:
        """None if the model has no price."""
        if model not in self.priced:
            return None
        return sum(map(self.priced[model].cost_usd, spent))
