"""A contributor's afternoon: a new model or verb is one definition and one line (CONTRIBUTING.md).

A judge: tests/judges/test_verbs.py. A language: tests/grounding/test_languages.py.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from runner.agents.models import MODELS, ModelKind, open_model, spellings
from runner.cli import verbs
from runner.cli.main import OLD_WORDS, main, make_parser
from runner.cli.options import Request, said
from runner.cli.output import OK, show
from runner.protocols import Message, ToolSpec, Turn

ROOT = Path(__file__).resolve().parent.parent


class Echo:
    """A `Model` that says what it was told last."""

    name = "echo"
    identity = "e" * 64
    language_model = False

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,
    ) -> Turn:
        return Turn(
            text=str(conversation[-1]), calls=(), stop="end", input_tokens=1, output_tokens=1
        )

    def write_artifacts(self, folder: Path) -> None:
        pass

    async def close(self) -> None:
        pass


def test_a_model_is_one_definition_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = ModelKind(open=lambda _, __: Echo(), language_model=False, notice="It echoes.")
    monkeypatch.setitem(MODELS, "echo", kind)
    assert isinstance(open_model("echo"), Echo)
    assert "`echo`" in spellings()
    words = ["--root", str(ROOT), "run", "--model", "echo", "--server", "shell", "--dry-run"]
    with pytest.raises(SystemExit) as end:
        main([*words, "--scenario", "flask-error-handling"])
    assert end.value.code == OK
    assert "echo" in capsys.readouterr().out


class Hello(Request):
    whom: str = said("WHOM")
    loud: bool = said("--loud", "in capitals")


def greet(request: Hello) -> int:
    show(f"hello {request.whom}".upper() if request.loud else f"hello {request.whom}")
    return OK


def test_a_verb_is_one_file_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = ModuleType("runner.cli.verbs.hello")
    file.Verb, file.run = Hello, greet  # type: ignore[attr-defined]  # as the file defines them
    monkeypatch.setitem(sys.modules, file.__name__, file)
    monkeypatch.setitem(verbs.VERBS, "hello", "greet somebody")
    assert "greet somebody" in make_parser(80).format_help()
    with pytest.raises(SystemExit) as end:
        main(["hello", "you", "--loud"])
    assert (end.value.code, capsys.readouterr().out) == (OK, "HELLO YOU\n")


@pytest.mark.parametrize(("old", "new"), OLD_WORDS.items())
def test_an_option_s_old_name_still_works_with_a_note(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["try", "--help", f"{old}=x"])
    assert end.value.code == OK
    told = capsys.readouterr()
    assert told.err == f"note: {old} is called {new} now\n"
    assert new in told.out and old not in told.out


def test_a_server_s_own_option_of_an_old_name_is_left_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["try", "--nonsense", "--", "serve", "--bring", "tea"])
    assert "is called" not in capsys.readouterr().err
