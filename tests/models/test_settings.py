"""Keys stay in memory."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from runner.agents.models import open_model
from runner.agents.models.model_settings import HIDDEN, Endpoint, ModelSettings
from tests.benchmarks.test_scenarios import SCENARIOS, arm, prepared

KEY = "sk-very-secret-0123456789"
URL = "https://me:password@gateway.internal.example:8443/v1"
SETTINGS = ModelSettings(anthropic=Endpoint(key=KEY, url=URL), openai=Endpoint(key=KEY, url=URL))


def test_no_repr_shows_a_key_or_an_address() -> None:
    run = replace(prepared(arm("shell")), models=SETTINGS)
    for shown in (repr(SETTINGS), str(SETTINGS), repr(run)):
        assert KEY not in shown
        assert "gateway" not in shown
        assert "password" not in shown


def test_what_a_run_stands_on_takes_its_keys_along_to_another_machine() -> None:
    run = replace(prepared(arm("shell")), models=SETTINGS)
    assert pickle.loads(pickle.dumps(run)).models == SETTINGS


def test_a_cell_says_nothing_of_a_key_and_only_a_digest_of_where_its_model_is() -> None:
    run = replace(prepared(arm("shell")), models=SETTINGS)
    cells = SCENARIOS.cells(run, ["claude-test"], trials=1)
    text = cells[0].model_dump_json()
    for secret in (KEY, "gateway", "password"):
        assert secret not in text


@pytest.mark.parametrize(
    ("changed", "is_another"),
    [
        ({"key": "another"}, False),
        ({"url": "https://gateway.internal.example:8443/v1/"}, False),
        ({"url": "https://gateway.internal.example:8443/v2"}, True),
        ({"url": "https://elsewhere.example/v1"}, True),
    ],
)
def test_another_place_is_another_model_and_another_key_is_not(
    changed: dict[str, str], is_another: bool
) -> None:
    there = replace(SETTINGS, anthropic=replace(SETTINGS.anthropic, **changed))
    first, second = (open_model("claude-test", settings) for settings in (SETTINGS, there))
    assert (first.identity != second.identity) == is_another


@pytest.mark.parametrize("changed", [{"thinking_tokens": 0}, {"output_tokens": 99}])
def test_what_a_turn_may_take_makes_another_model(changed: dict[str, Any]) -> None:
    first = open_model("openai:m", SETTINGS)
    assert first.identity != open_model("openai:m", replace(SETTINGS, **changed)).identity


def test_a_providers_message_is_shown_without_what_it_quotes() -> None:
    said = f"Incorrect API key {KEY} or sk-ab*****yz for {URL} at gateway.internal.example:8443"
    said += ", that is gateway.internal.example"
    hidden = SETTINGS.anthropic.hide(said)
    assert HIDDEN in hidden
    for secret in (KEY, "sk-ab", "password", "gateway"):
        assert secret not in hidden
    assert Endpoint().hide("nothing to hide") == "nothing to hide"
