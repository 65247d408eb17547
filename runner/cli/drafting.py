"""The model that writes or tries drafts of queries, for `agentbench generate` and `annotate`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli.opening import environ_without_keys
from runner.cli.options import MODEL_HELP, Turns, group, max_dollars, prices, said
from runner.cli.output import tell
from runner.cli.running import model_settings

if TYPE_CHECKING:
    from runner.agents.models.model_settings import ModelSettings
    from runner.agents.spending import JudgeBudget


@dataclass(frozen=True, kw_only=True)
class WriterOptions:
    model: str = said("--model NAME", MODEL_HELP, "offline")
    turns: Turns = group(Turns)
    prices: Path | None = prices()
    run_usd: float | None = max_dollars("what it may cost; it can go on later")


@contextmanager
def answering(
    writer: WriterOptions, *others: str
) -> Iterator[tuple[str, ModelSettings, JudgeBudget]]:
    """The model's name, how it is reached while the block lasts, and what it may cost.

    `others`: models that are asked as well.
    """
    from runner.agents.models import open_model
    from runner.agents.models.weights_server import locate_weights, served
    from runner.agents.spending import purse_for

    names, files = locate_weights([writer.model, *others], tell)
    settings = model_settings(writer.turns)
    settings = replace(settings, local=replace(settings.local, files=files))
    # A wrong name or no key must not cost the minutes that servers take.
    for name in names:
        open_model(name, settings)
    purse = purse_for(names, writer.prices, writer.run_usd)
    with served(names, settings, environ_without_keys(), tell) as reached:
        yield names[0], reached, purse
