"""The door of the models' room: a model is a name, and what makes one for a cell."""

from __future__ import annotations

from collections.abc import Callable

from runner.errors import FairtrialError
from runner.models.offline import Offline
from runner.models.replay import Replay
from runner.protocols import Model

MODELS: dict[str, Callable[[str], Model]] = {
    "offline": lambda _: Offline(),
    "replay": Replay,
}


def open_model(name: str) -> Model:
    """A fresh model for one cell: `offline` or `replay:<path>`. Raises FairtrialError for any other name."""
    kind, _, argument = name.partition(":")
    if kind not in MODELS or (kind == "replay") != bool(argument):
        known = "`offline` and `replay:<transcript.jsonl>`"
        raise FairtrialError(f"there is no model {name!r}", hint=f"this version has {known}")
    return MODELS[kind](argument)


def is_language_model(name: str) -> bool:
    """Does a language model answer under this name? A kind that this version lacks is taken for one."""
    kind = name.partition(":")[0]
    if kind not in MODELS:
        return True
    return getattr(MODELS[kind], "language_model", False)
