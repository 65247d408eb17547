"""Queries from a model to a suite, as a person does it: a real API's double, real servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall

from runner.benchmarks.agentbench.writing.drafts import read_drafts
from tests.benchmarks.agentbench.desk import make
from tests.checkout import Checkout

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("desk")]
CATEGORY = "multi-server-sequential-call"
PLAN = """\
<selected_tools>
sums/multiply: the sum
words/spell: the cheque wants words
</selected_tools>
<user_profile>A treasurer, chatty.</user_profile>
<scenario>37 tickets at 53 each.</scenario>
<objective>The sum in words, digit by digit.</objective>
"""
MESSAGE = "We sold 37 tickets at 53 each, and the cheque wants the sum digit by digit in words!"
ANSWER = "Write: one nine six one."
WRONG = "Write: about two thousand, 2177 I think."


def said(checkout: Checkout, double: LLMock, *words: str) -> str:
    """What the verb shows; it must end well."""
    env = {"ANTHROPIC_BASE_URL": double.base_url("anthropic"), "ANTHROPIC_API_KEY": "sk-test"}
    done = checkout.said("agentbench", *words, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_query_goes_from_a_model_over_its_trials_and_a_reader_into_a_suite(
    llmock: LLMock, tmp_path: Path
) -> None:
    checkout = make(tmp_path / "desk")
    file, suite = str(tmp_path / "work.yaml"), tmp_path / "suite"
    suite.mkdir()
    model = ("--model", "anthropic:test-model")
    for reply in ("<no_scene>nothing fits</no_scene>", PLAN, MESSAGE):
        llmock.reply(reply)
    shown = said(checkout, llmock, "generate", file, "--category", CATEGORY, "-n", "2", *model)
    assert f"no draft of {CATEGORY} (no_scene): nothing fits" in shown
    assert f": {MESSAGE}\n" in shown
    name = read_drafts(Path(file)).drafts[0].id

    product = ToolCall("sums__multiply", {"a": 37, "b": 53})
    for answer in (ANSWER, WRONG):
        llmock.add(Reply(tool_calls=(product,)))
        llmock.add(Reply(tool_calls=(ToolCall("words__spell", {"number": 1961}),)))
        llmock.reply(answer)
    shown = said(checkout, llmock, "annotate", file, "-k", "2", *model)
    assert shown == f"{name}: 50% passed; a person has to read it\n"
    (draft,) = read_drafts(Path(file)).drafts
    assert [trial.passed for trial in draft.trials] == [True, False]
    assert "2177 is in no result" in draft.trials[1].reason

    of_it = ("review", file, "--id", name)
    assert "proposed: Write: one nine six one." in said(checkout, llmock, *of_it)
    accept = ("--action", "accept", "--reviewer", "Ada", "--into", str(suite))
    assert said(checkout, llmock, *of_it, *accept) == f"{name}: accepted\n"
    shown = said(checkout, llmock, "check", str(suite))
    assert "1 of 1 queries prove themselves; 2 calls executed" in shown


def test_a_draft_whose_trials_fail_waits_for_an_expert(llmock: LLMock, tmp_path: Path) -> None:
    checkout = make(tmp_path / "desk")
    file = str(tmp_path / "work.yaml")
    model = ("--model", "anthropic:test-model")
    for reply in (PLAN, MESSAGE):
        llmock.reply(reply)
    said(checkout, llmock, "generate", file, "--category", CATEGORY, *model)
    for reply in (WRONG, "It passes.", "As I said, it passes."):
        llmock.reply(reply)
    for reply in (WRONG, "<judgment>pass</judgment>? No: <judgment>fail</judgment>"):
        llmock.reply(reply)
    judge = ("--judge", "model:anthropic:test-model", "-k", "2")
    shown = said(checkout, llmock, "annotate", file, *judge, *model)
    (draft,) = read_drafts(Path(file)).drafts
    assert shown == f"{draft.id}: 0% passed; it needs an expert\n"
    assert [trial.passed for trial in draft.trials] == [None, False]
    done = checkout.said(
        "agentbench",
        "review",
        file,
        "--id",
        draft.id,
        "--action",
        "accept",
        "--reviewer",
        "Ada",
        "--into",
        str(tmp_path / "suite.yaml"),
    )
    assert done.returncode == 1
    assert "needs an expert" in done.stderr
    assert not (tmp_path / "suite.yaml").exists()


def test_a_stand_in_writes_no_queries(tmp_path: Path) -> None:
    done = make(tmp_path).said("agentbench", "generate", str(tmp_path / "work.yaml"))
    assert done.returncode == 1
    assert "offline writes no queries" in done.stderr
