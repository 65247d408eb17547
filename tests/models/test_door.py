"""Which models there are, and what is said of a name that is none."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from runner.agents.models import (
    MODELS,
    ModelKind,
    cache_and_jobs,
    is_language_model,
    kind_name,
    kind_of,
    open_model,
    spellings,
)
from runner.agents.models.model_settings import LocalSettings, ModelSettings
from runner.cli.options import MODEL_NAMES, JudgeChoice
from runner.scoring.judges import JUDGES
from runner.support.errors import FairtrialError
from tests.helpers import Scripted


@pytest.mark.parametrize("name", ["gpt-5", "offline:fast", "replay", "replay:", ""])
def test_a_name_that_is_no_model_is_answered_with_those_there_are(name: str) -> None:
    with pytest.raises(FairtrialError, match="there is no model") as error:
        open_model(name)
    *others, last = spellings()
    assert error.value.hint == f"this version has {', '.join(others)} and {last}"
    assert "`replay:<transcript.jsonl>`" in others


def test_help_names_every_kind_of_model_and_of_judge() -> None:
    # It imports neither door, so that it answers at once: a name that is missing is not found.
    [judges] = [item for item in fields(JudgeChoice) if item.name == "judges"]
    for name, model in MODELS.items():
        assert in_help(name, model.argument).search(MODEL_NAMES), name
    for name, judge in JUDGES.items():
        assert in_help(name, judge.argument).search(judges.metadata["how"]["help"]), name


def in_help(name: str, argument: str) -> re.Pattern[str]:
    return re.compile(rf"\b{name}:[A-Z]" if argument else rf"\b{name}\b")


def test_only_a_program_is_no_language_model() -> None:
    names = ["offline", "replay:runs/x", "claude-sonnet-5", "of-a-later-version:x"]
    kinds = [kind_name(name) for name in names]
    assert kinds == ["offline", "replay", "anthropic", "of-a-later-version"]
    assert list(map(is_language_model, kinds)) == [False, False, True, True]
    assert kind_of("claude-sonnet-5") is MODELS["anthropic"]
    assert kind_of("of-a-later-version:x") is None


def test_jobs_are_told_apart_where_cells_share_a_cache_and_nowhere_else() -> None:
    def told(name: str, jobs: int) -> tuple[str, int | None]:
        return cache_and_jobs(name, ModelSettings(local=LocalSettings(jobs=jobs)))

    assert [told("local:a.gguf", jobs) for jobs in (1, 2, 3)] == [
        ("local", 1),
        ("none", 2),
        ("none", 3),
    ]
    for name in ("claude-sonnet-5", "openai:gpt"):
        assert told(name, 1) == told(name, 8) == ("provider", None)
    assert told("offline", 8) == ("none", None)


def test_a_new_kind_of_model_is_one_line_at_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = ModelKind(open=lambda _, __: Scripted(), language_model=True, argument="<id>")
    monkeypatch.setitem(MODELS, "toy", kind)
    assert isinstance(open_model("toy:1"), Scripted)
    assert is_language_model("toy")
    with pytest.raises(FairtrialError) as error:
        open_model("toy")
    assert "`toy:<id>`" in error.value.hint
