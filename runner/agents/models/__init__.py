"""The door of the models' room: a kind of model is a name, and what makes one for a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from runner.agents.models.model_settings import ModelSettings
from runner.agents.models.offline.navigator import Offline
from runner.agents.models.replay import Replay, remarks
from runner.protocols import Model
from runner.records import DEFAULT_AGENT, Fingerprint
from runner.support.errors import FairtrialError


@dataclass(frozen=True, kw_only=True)
class ModelKind:
    """What `MODELS` holds: how a model of this kind is asked for, made and told about."""

    open: Callable[[str, ModelSettings], Model]
    """Makes the model of one cell from what stands behind the colon of its name."""
    language_model: bool
    agent: str = DEFAULT_AGENT
    """A name in AGENTS: how it is asked unless the user says."""
    recorded_system: Callable[[str], str] | None = None
    """Of a recording, by what stands behind the colon: what the agent that made it was told."""
    free: bool = False
    """A language model whose tokens cost no dollars."""
    cache: Literal["none", "provider", "local"] = "none"
    """Who may keep the turns before, so that they are not read again."""
    argument: str = ""
    """What has to stand behind the colon, as help shows it; empty if nothing may."""
    notice: str = ""
    """What the reader of its report has to know first, if it is no language model."""
    remarks: Callable[[Path], Iterator[str]] | None = None
    """What its artifacts in an attempt's folder say to a person, line by line."""


def _open_claude(model: str, settings: ModelSettings) -> Model:
    from runner.agents.models.claude import Claude  # noqa: PLC0415 - the SDK takes a second to import

    return Claude(model, settings)


def _open_chat(model: str, settings: ModelSettings) -> Model:
    _require_openai(f"openai:{model}", extra="openai")
    from runner.agents.models.chat import ChatCompletions  # noqa: PLC0415 - the SDK is an extra

    return ChatCompletions(model, settings)


def _open_local(file: str, settings: ModelSettings) -> Model:
    _require_openai(f"local:{file}", extra="local")
    from runner.agents.models.local_model import LocalModel  # noqa: PLC0415 - the SDK is an extra

    return LocalModel(file, settings)


def _require_openai(model: str, *, extra: str) -> None:
    if find_spec("openai") is None:
        raise FairtrialError(
            f"{model} needs the openai package, which is not installed",
            hint=f"install it with `pip install 'fairtrial[{extra}]'`",
        )


MODELS: dict[str, ModelKind] = {
    "offline": ModelKind(
        open=lambda _, __: Offline(),
        language_model=False,
        notice="Made with the offline model: it checks plumbing and servers, and ranks nobody.",
    ),
    "replay": ModelKind(
        open=lambda path, _: Replay(path),
        language_model=False,
        argument="<transcript.jsonl>",
        notice=(
            "Made from a replayed recording: it shows where tools answer differently now, "
            "and ranks nobody."
        ),
        recorded_system=lambda path: Replay(path).recorded_system,
        remarks=remarks,
    ),
    "anthropic": ModelKind(
        open=_open_claude, language_model=True, cache="provider", argument="<id>"
    ),
    "openai": ModelKind(open=_open_chat, language_model=True, cache="provider", argument="<id>"),
    "local": ModelKind(
        open=_open_local,
        language_model=True,
        # Small models fail at native calls, and hold to a schema.
        agent="json_actions",
        free=True,
        cache="local",
        argument="<path.gguf>",
    ),
}
BARE = {"claude-": "anthropic"}
"""How ids begin that need no kind before them."""


def open_model(name: str, settings: ModelSettings | None = None) -> Model:
    """A fresh model for one cell, by the name that a user gives it.

    Raises FairtrialError if no kind of model goes by that name, or its provider needs a key.
    """
    require_known(name)
    kind, argument = kind_and_argument(name)
    return MODELS[kind].open(argument, settings or ModelSettings())


def require_known(name: str) -> None:
    """Raises FairtrialError if no kind of model goes by that name."""
    kind, argument = kind_and_argument(name)
    if kind not in MODELS or bool(argument) != bool(MODELS[kind].argument):
        *others, last = spellings()
        hint = f"this version has {', '.join(others)} and {last}"
        raise FairtrialError(f"there is no model {name!r}", hint=hint)


def kind_and_argument(name: str) -> tuple[str, str]:
    """`offline` -> offline, nothing; `anthropic:x` -> anthropic, x; `claude-x` -> anthropic, it."""
    for beginning, kind in BARE.items():
        if name.startswith(beginning):
            return kind, name
    kind, _, argument = name.partition(":")
    return kind, argument


def spellings() -> list[str]:
    """How each kind is asked for: `offline`, `replay:<transcript.jsonl>`."""
    names = []
    for name, kind in MODELS.items():
        suffix = f":{kind.argument}" if kind.argument else ""
        names.append(f"`{name}{suffix}`")
    return names


def full_name(name: str) -> str:
    """With its kind: `anthropic:claude-x` of `claude-x`."""
    kind, argument = kind_and_argument(name)
    return f"{kind}:{argument}" if argument else kind


def kind_name(name: str) -> str:
    """The name in `MODELS` of what a model's name asks for: `replay` of `replay:<path>`."""
    return kind_and_argument(name)[0]


def kind_of(name: str) -> ModelKind | None:
    """The kind of a model that a run names; None if this version has no such kind."""
    return MODELS.get(kind_name(name))


def cache_and_jobs(name: str, settings: ModelSettings) -> tuple[str, int | None]:
    """The cache that serves a model's cells, and how many of them run beside one another.

    None for what answers elsewhere: there the cells beside one another share no cache and no core,
    and a run that goes on with another --jobs is still one run.
    """
    kind = kind_of(name)
    cache = "none" if kind is None else kind.cache
    if cache != "local":
        return cache, None
    return ("local" if settings.local.jobs == 1 else "none"), settings.local.jobs


def kind_that_answered(fingerprint: Fingerprint) -> str:
    """The name of a kind in `MODELS`, whatever the model was called in the run's files."""
    for name, kind in MODELS.items():
        # A kind that takes no argument has one identity, which no other name can hide.
        if (
            not kind.argument
            and kind.open("", ModelSettings()).identity == fingerprint.model_identity
        ):
            return name
    return fingerprint.model_kind


def is_language_model(kind: str) -> bool:
    """True unless the kind follows a program. One that this version does not have counts as one."""
    return kind not in MODELS or MODELS[kind].language_model
