"""What a server says has to be run first is taken from its own words."""

from __future__ import annotations

from runner.trying.setting_up import commands_named


def test_the_command_said_most_often_is_first() -> None:
    texts = ['[DB] none. Run "tool build" first to analyze.', "run `tool init`", "Run: tool build"]
    assert commands_named(texts) == ["tool build", "tool init"]


def test_what_never_ends_and_what_is_no_command_is_not_run() -> None:
    texts = ["Run `tool serve` in another shell", "use `path`", 'Run "tool build; rm -rf x" first']
    assert commands_named(texts) == []
