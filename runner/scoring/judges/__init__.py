"""The door of the judges' room: a kind of judge is a name, and what makes one.

`checklist` stands for itself; `model:<id>` names a model as `--model` does, `local:<path.gguf>` is
weights on this machine. Several make a panel.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.protocols import Judge
from runner.scoring.judges.checklist.checklist import Checklist
from runner.support.errors import FairtrialError

if TYPE_CHECKING:
    from runner.scoring.judges.judge_settings import JudgeSettings


@dataclass(frozen=True, kw_only=True)
class JudgeKind:
    """What `JUDGES` holds."""

    open: Callable[[str, JudgeSettings], Judge]
    """Makes the judge from what stands behind the colon of its name."""
    argument: str = ""
    """What has to stand behind the colon, as help shows it; empty if nothing may."""


def _model(model: str, settings: JudgeSettings) -> Judge:
    from runner.scoring.judges.model import ModelJudge  # noqa: PLC0415 - most verbs judge with no model

    return ModelJudge(model, settings)


def _local(name: str, settings: JudgeSettings) -> Judge:
    from runner.scoring.judges.local_judge import LocalJudge  # noqa: PLC0415 - see _model

    return LocalJudge(name, settings)


JUDGES: dict[str, JudgeKind] = {
    "checklist": JudgeKind(open=lambda _, __: Checklist()),
    "model": JudgeKind(open=_model, argument="<id>"),
    "local": JudgeKind(open=_local, argument="<path.gguf>"),
}


def open_judge(settings: JudgeSettings) -> Judge:
    """The judge that is asked for, or a panel of several.

    Raises FairtrialError for a name that no judge has, or one that is given twice.
    """
    names = settings.judging.judges
    if len(set(names)) < len(names):
        raise FairtrialError("a judge is given twice", hint="--duplicates asks one judge again")
    judges = [_open(name, settings) for name in names]
    if len(judges) == 1:
        return judges[0]
    from runner.scoring.judges.panel import Panel  # noqa: PLC0415 - most verbs have one judge

    return Panel(judges)


def _open(name: str, settings: JudgeSettings) -> Judge:
    kind, _, argument = name.partition(":")
    if kind not in JUDGES or bool(argument) != bool(JUDGES[kind].argument):
        hint = f"there are: {', '.join(_spellings())}; an <id> is one that --model takes"
        if closest := difflib.get_close_matches(name, JUDGES, n=1, cutoff=0.5):
            hint = f"did you mean {closest[0]}? {hint}"
        raise FairtrialError(f"no judge is called {name!r}", hint=hint)
    return JUDGES[kind].open(argument, settings)


def _spellings() -> list[str]:
    """How each kind is asked for: `checklist`, `model:<id>`."""
    spellings = []
    for name, kind in JUDGES.items():
        suffix = f":{kind.argument}" if kind.argument else ""
        spellings.append(f"{name}{suffix}")
    return spellings


def models_of(names: tuple[str, ...]) -> list[str]:
    """The models among judges, by the names that --model takes."""
    models = [name.partition(":")[2] for name in names if name.startswith("model:")]
    return models + [name for name in names if name.startswith("local:")]
