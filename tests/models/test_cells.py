"""Cells that a language model answers: the real command, a container, and a double of the API."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Delay, Reply, ToolCall

from runner.records.transcript_files import read_transcript
from tests.checkout import REFERENCE, SHELL_FIRST, Checkout, make
from tests.helpers import PATIENCE_SEC, wait_until
from tests.judges.reader import Seen, reading, said

pytestmark = pytest.mark.docker
ASKED = ("--scenario", "small", "--server", "good", "--ungated", *SHELL_FIRST)
KEY = "sk-very-secret-0123456789"


@pytest.fixture(scope="module")
def checkout(
    tmp_path_factory: pytest.TempPathFactory, engine: docker.DockerClient, base_image: str
) -> Iterator[Checkout]:
    """A small checkout, and nothing left of it on the engine."""
    made = make(tmp_path_factory.mktemp("models") / "checkout")
    yield made
    made.remove(engine)


def run(
    checkout: Checkout, double: LLMock, name: str, *arguments: str, model: str = "claude-test"
) -> subprocess.CompletedProcess[str]:
    """A run of the small scenario in both arms."""
    asked = ["run", *ASKED, "--run", name]
    return checkout.said(
        *asked,
        "--model",
        model,
        *arguments,
        ANTHROPIC_API_KEY=KEY,
        ANTHROPIC_BASE_URL=double.base_url("anthropic"),
        OPENAI_API_KEY=KEY,
        OPENAI_BASE_URL=double.base_url("openai"),
    )


def script_an_answer(double: LLMock) -> None:
    """For one cell: a look-up, then the reference answer."""
    double.add(Reply(tool_calls=(ToolCall("shell", {"command": "grep -n def app.py"}),)))
    double.reply(REFERENCE)


def every_byte(done: subprocess.CompletedProcess[str], folder: Path) -> Iterator[tuple[str, str]]:
    """What a run shows and leaves behind, by where it is."""
    yield "stdout", done.stdout
    yield "stderr", done.stderr
    for path in sorted(folder.rglob("*")):
        yield path.name, path.name
        if path.is_file():
            yield str(path), path.read_bytes().decode(errors="replace")


@pytest.mark.parametrize("model", ["claude-test", "openai:test"])
def test_a_language_model_answers_in_both_arms_and_is_paid_for_once(
    checkout: Checkout, llmock: LLMock, model: str
) -> None:
    for _ in ("shell", "good"):
        script_an_answer(llmock)
    name = f"answered-{model.partition(':')[0]}"
    priced = ["--prices", prices(checkout)]
    done = run(checkout, llmock, name, *priced, model=model)
    assert done.returncode == 0, done.stderr
    assert checkout.outcomes(name) == {"shell": ["answered"], "good": ["answered"]}
    events = read_transcript(checkout.attempt(name, "good") / "transcript.jsonl")
    assert [event.type for event in events] == TYPES_OF_AN_ANSWER
    report: dict[str, Any] = json.loads((checkout.run_folder(name) / "report.json").read_text())
    assert report["language_models"] == [model]
    for arm in report["arms"]:
        require_costs_that_add_up(arm["costs"])
    require_block_told(checkout.run_folder(name), report)
    shell, good = report["arms"]
    assert good["costs"]["phases"]["schemas"] > shell["costs"]["phases"]["schemas"]
    requests = len(llmock.requests)
    again = run(checkout, llmock, name, *priced, model=model)
    assert again.returncode == 0, again.stderr
    assert len(llmock.requests) == requests, "finished cells are not paid for twice"


TYPES_OF_AN_ANSWER = "system prompt usage tool_call tool_result prose usage step_end".split()


def require_costs_that_add_up(costs: dict[str, Any]) -> None:
    """Tokens are those of their phases, and dollars those of the tokens, at PRICES."""
    phases = {name: count for name, count in costs["phases"].items() if name != "estimated"}
    assert sum(phases.values()) == costs["all_tokens"]
    assert all(phases[name] > 0 for name in ("prompts", "schemas", "results", "prose", "arguments"))
    paid = costs["input_tokens"] + costs["output_tokens"] + costs["cache_read_tokens"] / 10
    assert costs["usd"] == pytest.approx(paid / 1000, abs=1e-4)
    assert costs["usd"] > 0


def require_block_told(folder: Path, report: Any) -> None:
    """The only block's order and seed are in the plan, the results and the report."""
    plan = json.loads((folder / "plan.json").read_text())
    order = plan["study"]["blocks"][0]["order"]
    assert (plan["study"]["seed"], sorted(order)) == (220, ["good", "shell"])
    placed = {}
    for path in folder.glob("cells/*/attempt-1/result.json"):
        result = json.loads(path.read_text())
        placed[result["cell"]["server"]] = result["block"]
    assert [placed[server]["place"] for server in order] == [1, 2]
    assert placed["shell"]["taken_up_at"] == placed["good"]["taken_up_at"]
    assert placed["shell"]["machine"] == placed["good"]["machine"] != ""
    (block,) = report["sections"][0]["blocks"]
    assert (report["seed"], block["order"], block["later"]) == (220, order, {})
    assert block["taken_up_at"] == placed["shell"]["taken_up_at"]


def test_no_byte_of_a_run_holds_the_key_or_the_address(checkout: Checkout, llmock: LLMock) -> None:
    script_an_answer(llmock)
    llmock.add(Reply(tool_calls=(ToolCall("shell", {"command": "env; cat /proc/*/environ"}),)))
    llmock.reply(REFERENCE)
    done = run(checkout, llmock, "hidden")
    assert done.returncode == 0, done.stderr
    address = llmock.url.partition("//")[2]
    places = list(every_byte(done, checkout.run_folder("hidden")))
    assert any("dispatch_all" in text for _, text in places), "nothing was looked at"
    for where, text in places:
        assert KEY not in text, where
        assert address not in text, where


def test_a_key_that_is_refused_ends_the_run_at_its_first_cell(
    checkout: Checkout, llmock: LLMock
) -> None:
    llmock.fail(401, times=None, message=f"invalid x-api-key {KEY}")
    done = run(checkout, llmock, "refused", "--trials", "3")
    assert done.returncode == 1
    assert "the API key is not accepted (401)" in done.stderr
    assert "hint: check ANTHROPIC_API_KEY" in done.stderr
    assert len(llmock.requests) == 1
    assert checkout.outcomes("refused") == {"shell": ["provider_failed"]}
    for where, text in every_byte(done, checkout.run_folder("refused")):
        assert KEY not in text, where


def test_without_a_key_nothing_is_begun(checkout: Checkout) -> None:
    done = checkout.said(
        "run",
        "--model",
        "claude-test",
        "--run",
        "keyless",
        ANTHROPIC_API_KEY="",
        ANTHROPIC_BASE_URL="",
    )
    assert done.returncode == 1
    assert "ANTHROPIC_API_KEY is not set" in done.stderr
    assert not checkout.run_folder("keyless").exists()


PRICES = """\
date: "2026-01-31"
models:
  anthropic:claude-test: {input: 1000, cache_write: 1000, cache_read: 100, output: 1000}
  openai:test: {input: 1000, cache_write: 1000, cache_read: 100, output: 1000}
"""


def prices(checkout: Checkout) -> str:
    """A price file by which a turn costs dollars."""
    checkout.write("prices.yaml", PRICES)
    return str(checkout.root / "prices.yaml")


def test_a_cell_that_has_used_up_its_dollars_is_out_of_budget(
    checkout: Checkout, llmock: LLMock
) -> None:
    call = ToolCall("shell", {"command": "cat app.py; date +%s%N"})
    llmock.add(Reply(tool_calls=(call,), times=None))
    done = run(checkout, llmock, "dear", "--prices", prices(checkout), "--cell-dollars", "2")
    assert done.returncode == 0, done.stderr
    assert checkout.outcomes("dear") == {"shell": ["out_of_budget"], "good": ["out_of_budget"]}
    assert "of $2.00" in checkout.reason("dear", "shell")
    page = (checkout.run_folder("dear") / "report.md").read_text()
    assert "Dollars at prices of 2026-01-31" in page


def test_a_run_past_its_cap_ends_and_a_higher_cap_goes_on(
    checkout: Checkout, llmock: LLMock
) -> None:
    for _ in range(4):
        script_an_answer(llmock)
    listed = prices(checkout)
    capped = run(checkout, llmock, "capped", "--prices", listed, "--max-dollars", "0.05")
    assert capped.returncode == 1
    assert "the run has spent what it may" in capped.stderr
    assert "--max-dollars" in capped.stderr
    assert checkout.outcomes("capped") == {"shell": ["cancelled"]}
    paid = len(llmock.requests)
    assert paid == 1
    again = run(checkout, llmock, "capped", "--prices", listed, "--max-dollars", "0.05")
    assert again.returncode == 1
    assert len(llmock.requests) == paid, "what was spent before counts"
    llmock.reset()
    for _ in range(2):
        script_an_answer(llmock)
    raised = run(checkout, llmock, "capped", "--prices", listed, "--max-dollars", "1000")
    assert raised.returncode == 0, raised.stderr
    assert checkout.outcomes("capped")["shell"][-1] == "answered"


def test_a_cap_that_nothing_could_hold_is_refused(checkout: Checkout, llmock: LLMock) -> None:
    done = run(checkout, llmock, "unpriced", "--max-dollars", "1")
    assert done.returncode == 1
    assert "claude-test has no price" in done.stderr
    assert llmock.requests == []


def test_a_dry_run_asks_nobody_and_leaves_nothing(checkout: Checkout, llmock: LLMock) -> None:
    done = run(checkout, llmock, "dry", "--dry-run", "--trials", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("4 cells: 1 scenario × 2 arms × 1 model × 2 trials")
    assert llmock.requests == []
    assert not checkout.run_folder("dry").exists()


def test_a_chat_model_that_reasons_in_text_answers_a_cell(
    checkout: Checkout, llmock: LLMock
) -> None:
    look = '[{"name": "shell", "arguments": {"command": "cat app.py"}}]'
    for _ in ("shell", "good"):
        llmock.reply(f"<reasoning>Look.</reasoning><tool_calls>{look}</tool_calls>")
        llmock.reply(f"<tool_calls>[]</tool_calls><answer>{REFERENCE}</answer>")
    done = run(checkout, llmock, "react", "--agent", "react", model="openai:small")
    assert done.returncode == 0, done.stderr
    assert checkout.outcomes("react") == {"shell": ["answered"], "good": ["answered"]}
    attempt = checkout.attempt("react", "good")
    assert json.loads((attempt / "result.json").read_text())["fingerprint"]["agent"] == "react"
    assert "mcp__good__echo" in str(llmock.last_request.body["messages"][0])


def test_a_run_killed_in_its_seventh_turn_keeps_what_is_finished_and_tells_what_was_lost(
    checkout: Checkout, llmock: LLMock, engine: docker.DockerClient
) -> None:
    script_an_answer(llmock)
    looks = [ToolCall("shell", {"command": f"true {turn}"}) for turn in range(6)]
    llmock.add(*[Reply(tool_calls=(look,)) for look in looks])
    argv = checkout.argv("run", *ASKED, "--run", "killed", "--model", "claude-test")
    argv += ["--prices", prices(checkout)]
    secrets = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": llmock.base_url("anthropic")}
    # The ninth request is the second cell's seventh turn; it hangs until the runner is dead.
    llmock.add(*[Delay(0) for _ in range(8)], Delay(PATIENCE_SEC))
    process = subprocess.Popen(
        argv, env={**os.environ, **secrets}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        cut = checkout.run_folder("killed") / "cells"
        wait_until(lambda: turns_in(cut) == 8, "six turns of the second cell were recorded")
    finally:
        process.kill()
        process.wait(timeout=PATIENCE_SEC)
    assert checkout.outcomes("killed") == {"shell": ["answered"]}
    finished = bytes_of(checkout.attempt("killed", "shell"))
    cut_turns = usage_of_partial(cut)
    assert len(cut_turns) == 6
    llmock.reset()
    script_an_answer(llmock)
    done = run(checkout, llmock, "killed", "--prices", prices(checkout))
    assert done.returncode == 0, done.stderr
    assert len(llmock.requests) == 2, "the cut cell begins anew, and the finished one is kept"
    assert checkout.outcomes("killed") == {"shell": ["answered"], "good": ["answered"]}
    report = json.loads((checkout.run_folder("killed") / "report.json").read_text())
    (lost,) = [arm["costs"] for arm in report["arms"] if arm["server"] == "good"]
    assert bytes_of(checkout.attempt("killed", "shell")) == finished
    paid = sum(turn["input_tokens"] + turn["output_tokens"] for turn in cut_turns)
    assert lost["lost_tokens"] == paid
    # At a thousand dollars a million, every token a tenth of a cent.
    assert lost["lost_usd"] == pytest.approx(paid / 1000)
    (told,) = report["lost"]
    assert (told["model"], told["why"], told["attempts"]) == ("claude-test", "cut", 1)
    assert told["usd"] == lost["lost_usd"]
    (block,) = report["sections"][0]["blocks"]
    assert list(block["later"]) == ["good"], "its block was completed later"
    page = (checkout.run_folder("killed") / "report.md").read_text()
    assert "What attempts cost that were cut or broken" in page
    for where, text in every_byte(done, checkout.run_folder("killed")):
        assert KEY not in text, where


def bytes_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Each file's bytes, and when it was last written."""
    files = {}
    for path in sorted(folder.iterdir()):
        files[path.name] = (path.read_bytes(), path.stat().st_mtime_ns)
    return files


def usage_of_partial(cells: Path) -> list[dict[str, int]]:
    """Turns recorded in the one attempt that was cut."""
    (path,) = cells.glob("*/attempt-*.partial/transcript.jsonl")
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [event for event in events if event["type"] == "usage"]


def turns_in(cells: Path) -> int:
    """Turns recorded so far, in every attempt."""
    paths = cells.glob("*/attempt-*/transcript.jsonl")
    return sum(path.read_text().count('"type":"usage"') for path in paths)


def test_a_stream_that_always_breaks_and_a_refusal_end_their_own_cells_alone(
    checkout: Checkout, llmock: LLMock
) -> None:
    llmock.disconnect(after_chunks=2, times=4)
    llmock.add(Reply(text="I would rather not.", finish_reason="content_filter", times=None))
    done = run(checkout, llmock, "broken")
    assert done.returncode == 1
    assert "1 of 2 cells are not measured" in done.stderr
    assert checkout.outcomes("broken") == {"shell": ["provider_failed"], "good": ["refused"]}
    assert "4 attempts" in checkout.reason("broken", "shell")
    requests = len(llmock.requests)
    llmock.reset()
    script_an_answer(llmock)
    again = run(checkout, llmock, "broken")
    assert again.returncode == 0, again.stderr
    assert checkout.outcomes("broken") == {
        "shell": ["provider_failed", "answered"],
        "good": ["refused"],
    }, "a refusal is a measurement"
    assert (requests, len(llmock.requests)) == (5, 2)


def test_blocks_beside_one_another_do_not_pass_the_run_s_cap_unsaid(
    checkout: Checkout, llmock: LLMock
) -> None:
    call = ToolCall("shell", {"command": "date +%s%N"})
    llmock.add(Reply(tool_calls=(call,), times=None))
    asked = ["--trials", "3", "--jobs", "3", "--api-jobs", "2", "--max-dollars", "12"]
    done = run(checkout, llmock, "beside", "--prices", prices(checkout), *asked)
    assert done.returncode == 1
    said = re.search(r"what it may: \$([\d.]+) of \$12\.00", done.stderr)
    assert said is not None, done.stderr
    turns = []
    for text in checkout.transcripts("beside"):
        events = [json.loads(line) for line in text.splitlines()]
        turns += [event for event in events if event["type"] == "usage"]
    assert len(turns) == len(llmock.requests), "every turn that was paid for is recorded"
    spent = [(turn["input_tokens"] + turn["output_tokens"]) / 1000 for turn in turns]
    assert sum(spent) <= 12 + max(spent)
    kinds = {kind for kinds in checkout.outcomes("beside").values() for kind in kinds}
    assert kinds == {"cancelled"}


def test_megabytes_of_bytes_that_are_no_text_reach_the_model_as_a_marked_part(
    checkout: Checkout, llmock: LLMock
) -> None:
    flood = "head -c 20000000 /dev/urandom; printf '\\377\\376 the end'"
    for _ in ("shell", "good"):
        llmock.add(Reply(tool_calls=(ToolCall("shell", {"command": flood}),)))
        llmock.reply(REFERENCE)
    done = run(checkout, llmock, "flood")
    assert done.returncode == 0, done.stderr
    assert checkout.outcomes("flood") == {"shell": ["answered"], "good": ["answered"]}
    (result,) = llmock.last_request.body["messages"][-1]["content"]
    assert len(result["content"]) < 40_000
    assert "characters left out here" in result["content"]
    assert result["content"].endswith("the end")


def test_a_run_is_judged_by_a_model_and_its_report_says_so(checkout: Checkout) -> None:
    def rule(seen: Seen) -> dict[str, Any]:
        quote = " ".join(seen.answer.split()[:12])
        return {"facts": {name: said(quote) for name in seen.facts}, "false_claims": []}

    asked = ["run", "--run", "judged", "--scenario", "small", "--server", "good", "--ungated"]
    with reading(rule) as reader:
        done = checkout.said(
            *asked,
            "--judge",
            "model:claude-test",
            ANTHROPIC_API_KEY=KEY,
            ANTHROPIC_BASE_URL=reader.url,
        )
    assert done.returncode == 0, done.stderr
    # Each answer is read twice; where both arms say the same, it is one answer.
    assert len(reader.seen) == 2 * len({seen.text for seen in reader.seen})
    report = json.loads((checkout.run_folder("judged") / "report.json").read_text())
    assert report["judges"] == ["model:claude-test"]
    for arm in report["arms"]:
        assert arm["fairness"]["parts"]["llm_quality"]["value"] > 0
    # The provider is gone, and so is the key.
    again = checkout.said("report", "judged", "--ungated", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["judges"] == ["model:claude-test"]
    assert not any(KEY in text for _, text in every_byte(done, checkout.run_folder("judged")))


def test_a_judge_without_a_key_ends_the_run_before_any_cell_is_paid_for(checkout: Checkout) -> None:
    asked = ["run", "--run", "no-judge", "--scenario", "small", "--server", "good", "--ungated"]
    done = checkout.said(*asked, "--judge", "model:claude-test")
    assert done.returncode == 1 and "ANTHROPIC_API_KEY is not set" in done.stderr
    assert not checkout.run_folder("no-judge").exists()
