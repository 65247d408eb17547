"""What a call answered is found by key, however the server says it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.servers.tool_answers import is_refusal, says_busy, values_in_answer


@pytest.mark.parametrize(
    ("text", "structured", "key", "value"),
    [
        ('{"repo_id": "7f3a"}', None, "repo_id", "7f3a"),
        ('{"repo": {"id": 7}}', None, "repo.id", 7),
        ("opened", {"repo_id": "7f3a"}, "repo_id", "7f3a"),
        ('{"result": {"repo_id": "7f3a"}}', None, "repo_id", "7f3a"),
        ("", {"result": '{"repo_id": "7f3a"}'}, "repo_id", "7f3a"),
        ("Opened.\n- **Repo ID**: `7f3a`", None, "repo_id", "7f3a"),
        ("Opened it with session id 7f3a-11.", None, "session_id", "7f3a-11"),
        ("Repo ID: 7f3a", {"result": "Repo ID: 7f3a"}, "repo_id", "7f3a"),
        ("Opened repository with ID: repo_1", None, "id", "repo_1"),
        ("7f3a-11", None, "text", "7f3a-11"),
    ],
)
def test_a_key_of_an_answer_is_found(text: str, structured: Any, key: str, value: object) -> None:
    assert values_in_answer(text, structured)[key] == value


def test_one_handle_has_one_name() -> None:
    assert values_in_answer("Opened repository with ID: repo_1") == {"id": "repo_1"}


@pytest.mark.parametrize(
    "text", ["", "The index holds 7 files.", "[1, 2]", '{"a": [1], "b": null, "c": true}']
)
def test_prose_and_lists_hold_no_key(text: str) -> None:
    assert values_in_answer(text) == {}


def test_an_answer_of_a_million_keys_and_of_long_texts_is_bounded() -> None:
    keys = {f"key{number}": "x" for number in range(10_000)}
    assert len(values_in_answer(json.dumps(keys))) == 200
    assert values_in_answer(json.dumps({"body": "x" * 10_000})) == {}
    assert values_in_answer("[" * 100_000) == {}


def test_a_server_that_is_at_its_index_says_so_in_a_short_answer() -> None:
    assert says_busy('{"result": null, "reason": "indexing-in-progress"}')
    assert says_busy("The index is still being built: retry shortly")
    assert says_busy("Reindex queued for '/x'. Use reindex_status() to check progress.")
    assert says_busy("Project is currently indexing (40 %)")
    assert not says_busy("The index holds 7 files.")
    assert says_busy('{"status": "acme is indexing this repo: try again in a moment"}')
    assert not says_busy("It is indexed.")
    assert not says_busy("indexing-in-progress" + " def f(): pass" * 200)


def test_an_error_that_is_not_marked_as_one_is_known_by_what_it_says() -> None:
    assert is_refusal('{"error": "no such repository"}')
    assert is_refusal('{"success": false, "id": "x"}')
    assert not is_refusal('{"success": true, "error": null}')
    assert not is_refusal("error: none")
    assert is_refusal('[{"error": "No repo specified"}]')
    assert not is_refusal('[{"error": "gone"}, {"path": "a.py"}]')


def test_the_only_object_of_a_list_is_what_its_key_stands_for_and_of_two_neither_is() -> None:
    assert values_in_answer('{"repos": [{"repo": "local/app"}]}') == {"repos.repo": "local/app"}
    assert values_in_answer('{"repos": [{"repo": "a"}, {"repo": "b"}]}') == {}
