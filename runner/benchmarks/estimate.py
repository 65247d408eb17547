"""What a run would take, before anything is spent: every `… run --dry-run` prints one."""

from __future__ import annotations

from collections.abc import Iterator

from runner.records import Count, Record


class Amounts(Record):
    """What some cells take."""

    tokens: Count
    """Input and output; what is read from caches comes on top, and the dollars hold it."""
    usd: float | None
    """None if the model has no price."""
    calls: Count | None = None
    """Of tools; None if nothing is called, or nothing is known of it."""
    hours: float | None = None

    def __str__(self) -> str:
        parts = [] if self.calls is None else [f"{self.calls:,} calls"]
        parts.append(f"{self.tokens:,} tokens")
        parts.append("no price" if self.usd is None else f"${self.usd:,.2f}")
        if self.hours is not None:
            parts.append(f"{self.hours:,.1f} hours")
        return ", ".join(parts)


class ModelEstimate(Record):
    model: str
    cells: Count
    at_least: Amounts | None = None
    """Input of first requests alone, estimated from characters; None if it is not looked at."""
    at_most: Amounts | None = None
    """None if nothing bounds it."""
    likely: Amounts | None = None
    """As earlier cells of the model took; None if there are none."""
    earlier_cells: Count | None = None
    """None if no earlier run is looked at."""

    def lines(self) -> Iterator[str]:
        yield f"{self.model}, {self.cells} cells"
        if self.at_least is not None:
            yield f"  at least  {self.at_least}"
        if self.at_most is not None:
            yield f"  at most   {self.at_most}"
        if self.likely is not None:
            yield f"  likely    {self.likely} (as {self.earlier_cells} earlier cells)"
        elif self.earlier_cells is not None:
            nobody = "no cell of this model has been measured here"
            yield f"  likely    unknown: {nobody}; a run of one cell shows it"


class Estimate(Record):
    models: tuple[ModelEstimate, ...]
    prices_date: str
    notes: tuple[str, ...] = ()
    """What is in no figure, a sentence each."""

    def lines(self) -> Iterator[str]:
        """As a person reads it."""
        for model in self.models:
            yield from model.lines()
        yield f"prices of {self.prices_date}"
        yield from self.notes
