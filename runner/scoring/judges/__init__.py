"""The door of the judges' room: a kind of judge is a name, and what makes one.

`checklist` stands for itself; `model:<id>` names a model as `--model` does, `local:<path.gguf>` is
weights on this machine. Several make a panel.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
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
    model: Callable[[str], str] | None = None
    """Names the model that it asks, as --model does, by what stands behind the colon."""
    caveat: str = ""
    """What a report says its verdicts do not show; `{judge}` stands for its name."""


def _model(model: str, settings: JudgeSettings) -> Judge:
    from runner.scoring.judges.model import ModelJudge  # noqa: PLC0415 - most verbs judge with no model

    return ModelJudge(model, settings)


def _local(name: str, settings: JudgeSettings) -> Judge:
    from runner.scoring.judges.local_judge import LocalJudge  # noqa: PLC0415 - see _model

    return LocalJudge(name, settings)


def _exact(_: str, __: JudgeSettings) -> Judge:
    from runner.scoring.judges.exact_judge import Exact  # noqa: PLC0415 - it brings the grounding room

    return Exact()


EXACT = "exact"
JUDGES: dict[str, JudgeKind] = {
    "checklist": JudgeKind(
        open=lambda _, __: Checklist(),
        caveat="That an answer is good beyond the facts its rubric lists: the checklist judge sees "
        "those and nothing else, and an answer that is right in other words can miss them.",
    ),
    "model": JudgeKind(
        open=_model,
        argument="<id>",
        model=lambda model: model,
        caveat="That an answer is right where the cited source does not show it: {judge} read "
        "the rubric's facts, the lines that prove them and the answer, and nothing else.",
    ),
    "local": JudgeKind(
        open=_local,
        argument="<path.gguf>",
        model=lambda name: f"local:{name}",
        caveat="That what a quote says is true: {judge} is a small model that read one fact and "
        "one passage at a time, and takes many a fact that is turned round for stated.",
    ),
    EXACT: JudgeKind(
        open=_exact,
        caveat="That an answer explains anything: the exact judge sees which places it cites, and "
        "none of its words.",
    ),
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
    models = []
    for name in names:
        kind, _, argument = name.partition(":")
        if kind in JUDGES and (model := JUDGES[kind].model):
            models.append(model(argument))
    return models


def caveats_of(judges: Sequence[str]) -> Iterator[str]:
    """What the verdicts of judges do not show, and those of panels that one is in."""
    for name, kind in JUDGES.items():
        for judge in judges:
            is_in = f"{name}:" in judge if kind.argument else name == judge
            if kind.caveat and is_in:
                yield kind.caveat.format(judge=judge)
