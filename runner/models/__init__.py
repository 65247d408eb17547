"""The door of the models' room: a kind of model is a name, and what makes one for a cell."""

from __future__ import annotations

from runner.errors import FairtrialError
from runner.models.offline import Offline
from runner.models.replay import Replay, remarks
from runner.protocols import Model, ModelKind

MODELS: dict[str, ModelKind] = {
    "offline": ModelKind(
        open=lambda _: Offline(),
        language_model=False,
        notice="Made with the offline model: it checks plumbing and servers, and ranks nobody.",
    ),
    "replay": ModelKind(
        open=Replay,
        language_model=False,
        argument="<transcript.jsonl>",
        notice=(
            "Made from a replayed recording: it shows where tools answer differently now, "
            "and ranks nobody."
        ),
        remarks=remarks,
    ),
}


def open_model(name: str) -> Model:
    """A fresh model for one cell, by the name that a user gives it.

    Raises FairtrialError if no kind of model goes by that name.
    """
    kind, _, argument = name.partition(":")
    if kind not in MODELS or bool(argument) != bool(MODELS[kind].argument):
        hint = f"this version has {' and '.join(spellings())}"
        raise FairtrialError(f"there is no model {name!r}", hint=hint)
    return MODELS[kind].open(argument)


def spellings() -> list[str]:
    """How each kind is asked for: `offline`, `replay:<transcript.jsonl>`."""
    names = []
    for name, kind in MODELS.items():
        suffix = f":{kind.argument}" if kind.argument else ""
        names.append(f"`{name}{suffix}`")
    return names


def kind_of(name: str) -> ModelKind | None:
    """The kind of a model that a run names; None if this version has no such kind."""
    return MODELS.get(name.partition(":")[0])


def is_language_model(name: str) -> bool:
    """True unless the name is of a kind that follows a program. An unknown kind counts as one."""
    kind = kind_of(name)
    return kind is None or kind.language_model
