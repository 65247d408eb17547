"""The model that writes or tries drafts of queries, for `agentbench generate` and `annotate`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.cli import opening, options, output, running, shapes


class WriterOptions(options.Words):
    model: str = options.said("--model NAME", options.MODEL_HELP, "offline")
    turns: options.Turns = options.group(options.Turns)
    prices: Path | None = options.prices()
    run_usd: options.Dollars | None = options.said(
        "--max-dollars USD", "what it may cost; it can go on later"
    )


@contextmanager
def answering(
    writer: WriterOptions, *others: str
) -> Iterator[tuple[str, shapes.ModelSettings, shapes.JudgeBudget]]:
    """The model's name, how it is reached while the block lasts, and what it may cost.

    `others`: models that are asked as well.
    """
    from runner.agents.models.weights_server import served
    from runner.agents.spending import purse_for

    names, settings = running.opened_models([writer.model, *others], writer.turns)
    purse = purse_for(names, writer.prices, writer.run_usd)
    with served(names, settings, opening.environ_without_keys(), output.tell) as reached:
        yield names[0], reached, purse
