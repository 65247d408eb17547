"""The door of the models' room: a kind of model is a name, and what makes one for a cell."""

from __future__ import annotations

from runner.errors import FairtrialError
from runner.models.offline import Offline
from runner.models.replay import Replay, remarks
from runner.protocols import Model, ModelKind
from runner.records import Fingerprint

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


def kind_name(name: str) -> str:
    """The name in `MODELS` of what a model's name asks for: `replay` of `replay:<path>`."""
    return name.partition(":")[0]


def kind_of(name: str) -> ModelKind | None:
    """The kind of a model that a run names; None if this version has no such kind."""
    return MODELS.get(kind_name(name))


def kind_that_answered(fingerprint: Fingerprint) -> str:
    """The name of a kind in `MODELS`, whatever the model was called in the run's files."""
    for name, kind in MODELS.items():
        # A kind that takes no argument has one identity, which no other name can hide.
        if not kind.argument and kind.open("").identity == fingerprint.model_identity:
            return name
    return fingerprint.model_kind


def is_language_model(kind: str) -> bool:
    """True unless the kind follows a program. One that this version does not have counts as one."""
    return kind not in MODELS or MODELS[kind].language_model
