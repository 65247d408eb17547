"""Keys stay in memory."""

from __future__ import annotations

import base64
import json
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from runner.agents.models import open_model
from runner.agents.models.model_settings import Endpoint, ModelSettings
from runner.agents.models.spelt_keys import HIDDEN, PIECE_CHARS
from tests.benchmarks.test_scenarios import SCENARIOS, arm, prepared

KEY = "sk-very-secret-0123456789"
URL = "https://me:password@gateway.internal.example:8443/v1"
SLASHED = "gsk_Ab9/Zq+Xy7Lm2Np4Rt6Uv8Wx0Ya3Bc5De7Fg9H6789"
ROOT = Path(__file__).resolve().parents[2]
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


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "upper-case": str.upper,
    "base64": in_base64,
    "base64 behind a name": lambda key: in_base64(f"user:{key}, and more"),
    "base64 behind one byte": lambda key: in_base64(f"a{key}"),
    "base64 for addresses": lambda key: base64.urlsafe_b64encode(key.encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "base64 in two lines": lambda key: f"{in_base64(key)[:14]}\n{in_base64(key)[14:]}",
    "base64 of upper-case": lambda key: in_base64(key.upper()),
    "base32": lambda key: base64.b32encode(key.encode()).decode(),
    "hexadecimal with colons": lambda key: key.encode().hex(":"),
    "in JSON": lambda key: key.replace("/", "\\/").replace("6", r"\u0036"),
    "in JSON, letter by letter": lambda key: "".join(f"\\u{ord(sign):04x}" for sign in key),
    "in JSON of JSON": lambda key: json.dumps("".join(f"\\u{ord(sign):04x}" for sign in key)),
    "for addresses": lambda key: quote(key, safe=""),
    "for addresses, letter by letter": lambda key: "".join(f"%{ord(sign):02X}" for sign in key),
    "for addresses, twice": lambda key: "".join(f"%25{ord(sign):02X}" for sign in key),
    "HTML": lambda key: "".join(f"&#{ord(sign)};" for sign in key),
    "Markdown": lambda key: re.sub(r"([-_+])", r"\\\1", key),
    "over two lines": lambda key: f"{key[:15]}\n    {key[15:]}",
    "over two lines in JSON": lambda key: f"{key[:15]}\\n{key[15:]}",
    "with a sign that nobody sees": lambda key: f"{key[:10]}\u200b{key[10:]}",
    "spaced": " ".join,
    "reversed": lambda key: key[::-1],
    "the first twenty letters": lambda key: key[:20],
    "the last sixteen letters": lambda key: key[-16:],
    "masked between long ends": lambda key: f"{key[:12]}...{key[-8:]}",
    "masked": lambda key: f"{key[:6]}********{key[-4:]}",
    "masked by dots": lambda key: f"{key[:6]}...{key[-4:]}",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("key", [KEY, "AIzaVery-Secret_0123456789", SLASHED])
def test_a_key_is_hidden_however_it_is_spelt(key: str, spelling: str) -> None:
    spelt = SPELLINGS[spelling](key)
    endpoint = Endpoint(key=key)
    for hidden in (endpoint.hide(f"says {spelt}!"), endpoint.hide_key(f"says {spelt}!")):
        assert HIDDEN in hidden
        assert spelt[4:-4] not in hidden and "6789" not in hidden
        # Base64 of more than the key shows what stands around it.
        assert len(hidden.replace(HIDDEN, "")) < len("says !") + 2 * PIECE_CHARS


def test_what_stands_around_a_key_is_kept_as_it_is_spelt() -> None:
    text = rf"a%20b \u0041 {SLASHED.replace('/', '%2F')}&amp; \_c {SLASHED}\n"
    hidden = rf"a%20b \u0041 {HIDDEN}&amp; \_c {HIDDEN}\n"
    assert Endpoint(key=SLASHED).hide_key(text) == hidden


WORDS = ["sk-no-key-required", "lm-studio", "not-needed", "sk-0000000000000000000000"]


@pytest.mark.parametrize("key", [SLASHED, "sk-or-v1-9f86d081884c7d659a2feaa0c55ad015", *WORDS])
def test_no_text_without_a_key_loses_anything(key: str) -> None:
    for path in (*ROOT.glob("docs/*.md"), *ROOT.glob("locks/*.txt")):
        text = path.read_text("utf-8")
        assert Endpoint(key=key).hide_key(text) == text


def test_how_keys_begin_and_words_that_a_key_is_made_of_may_be_the_answer() -> None:
    answer = "Keys begin with sk-ant-api03-, and 0000000000000000 is none.\n"
    answer += "LM Studio: no key required, an API key is not needed."
    keys = [*WORDS, "sk-ant-api03-k3Jd_9sLmQ-wErTyUiOp12345AsDfGh"]
    assert [Endpoint(key=key).hide_key(answer) for key in keys] == [answer] * len(keys)


@pytest.mark.parametrize("masked", ["AIza****", "****6789", "AIzaV…"])
def test_one_end_of_a_masked_key_is_hidden_in_a_providers_message(masked: str) -> None:
    hidden = Endpoint(key="AIzaVery-Secret_0123456789").hide(f"wrong key {masked}")
    assert "AIza" not in hidden and "6789" not in hidden


def test_a_key_that_is_a_plain_word_leaves_the_words_around_it() -> None:
    endpoint = Endpoint(key="none", url="http://localhost:8080/v1")
    assert endpoint.hide("nonesuch model for none") == f"nonesuch model for {HIDDEN}"
    answer = "none of sk-learn's tests asks localhost"
    assert endpoint.hide_key(answer) == Endpoint(key=KEY).hide_key(answer) == answer
