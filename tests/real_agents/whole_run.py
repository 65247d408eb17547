"""What has to hold of a run of two steps in both arms, whichever agent it is of."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.real_agents.cells import KEY, SECOND, Attempted, Cells, Ran
from tests.real_agents.policies import ANSWER, failing_first, looking
from tests.real_agents.scripted_provider import Asked, Policy, Reply, Usage

TWO_STEPS = ("--scenario", "two-steps", "--server", "good")


def whole_run(cells: Cells) -> Ran:
    ran = cells.run(looking(), *TWO_STEPS, name="whole")
    assert ran.code == 0, ran.said
    return ran


def require_whole(ran: Ran, title: str) -> None:
    _require_compared(ran, title)
    _require_treated(ran)
    _require_one_session(ran)
    _require_no_key(ran)


def _require_compared(ran: Ran, title: str) -> None:
    assert [it.outcome for it in ran.attempts] == ["answered", "answered"], ran.said
    assert ran.screen.splitlines()[0].endswith(f" · {title}")
    report = json.loads((ran.folder / "report.json").read_text())
    assert report["incomparable"] == [] and report["contradictions"] == []
    assert ran.of("shell").program == ran.of("good").program


def _require_treated(ran: Ran) -> None:
    calls = {name: ran.of(name).of("tool_call") for name in ("shell", "good")}
    assert [it["origin"] for it in calls["shell"]] == ["shell"] * 2
    assert [it["origin"] for it in calls["good"]] == ["server", "shell"] * 2
    results = {it["call_id"]: it for it in ran.of("good").of("tool_result")}
    first = results[calls["good"][0]["call_id"]]
    assert first["text"].endswith("hello") and not first["is_error"]
    command = calls["shell"][0]["arguments"]["command"]
    assert "rg -n" in command


def _require_one_session(ran: Ran) -> None:
    last = ran.asked[-1]
    assert SECOND in last.text and "Trace what" in last.text and ANSWER in last.text
    for it in ran.attempts:
        assert [end["stop"] for end in it.of("step_end")] == ["end", "end"]
        own = [usage for usage in it.of("usage") if not usage.get("subagent")]
        assert [usage["output_tokens"] for usage in own] == [30, 40, 30, 40]
        assert "not seen" not in it.notes


def require_read_by_every_verb(cells: Cells, ran: Ran, server: str = "good") -> None:
    """What is made of a run afterwards is the same as for any agent of ours."""
    asked = ("--scenario", "two-steps", "--server", server)
    checkout = cells.checkout
    cards = [path.read_bytes() for path in sorted(ran.folder.glob("cells/*/scorecard.json"))]
    # It resumes: what is finished is not asked for again.
    resumed = cells.run(looking(), *asked, name=ran.name)
    assert resumed.code == 0 and resumed.asked == [], resumed.said
    for words in (("score", ran.name), ("judge", ran.name), ("report", ran.name, "--ungated")):
        done = checkout.said(*words)
        assert done.returncode == 0, done.stderr
    after = [path.read_bytes() for path in sorted(ran.folder.glob("cells/*/scorecard.json"))]
    assert cards and after == cards
    _require_attested(cells, ran)
    _require_replayed(cells, ran, asked)


def _require_attested(cells: Cells, ran: Ran) -> None:
    file = str(cells.checkout.root / "attested.json")
    made = cells.checkout.said("attest", ran.name, "--ungated", "--output", file)
    assert made.returncode == 0, made.stderr
    verified = cells.checkout.said("verify-report", file)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def _require_replayed(cells: Cells, ran: Ran, asked: tuple[str, ...]) -> None:
    """Its calls are played against today's tools, and the server's answers are as they were."""
    words = ("--ungated", "--run", "played", "--model", f"replay:{ran.folder}", *asked)
    done = cells.checkout.said("run", *words)
    assert done.returncode == 0, done.stderr
    for server, calls in (("shell", 2), (asked[-1], 4)):
        attempt = cells.checkout.attempt("played", server)
        assert json.loads((attempt / "result.json").read_text())["outcome"]["kind"] == "answered"
        found = json.loads((attempt / "differences.json").read_text())
        assert found["compared"] == calls
        # An agent's own shell words its results in its own way; none of them has failed.
        differing = found["differences"]
        assert [it for it in differing if it["tool"].startswith("mcp__")] == []
        assert not any(it["now_is_error"] for it in differing)


def _require_no_key(ran: Ran) -> None:
    sent = {it.headers.get("authorization", it.headers.get("x-api-key")) for it in ran.asked}
    assert sent <= {KEY, f"Bearer {KEY}"}
    for path in ran.folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


# --- a provider that fails ----------------------------------------------------------------------

FAULTS = (
    Reply(status=429, headers=(("retry-after", "1"),)),
    Reply(status=529),
    Reply(text="Half of an ans", usage=Usage(input_tokens=900), cut=True),
)


def require_faults_waited_out(cells: Cells) -> None:
    policy = failing_first(FAULTS, looking())
    shell = cells.run(policy, "--scenario", "small", "--server", "shell").of("shell")
    assert shell.outcome == "answered", shell.reason
    assert "Half of an ans" not in shell.prose
    assert sum(it["retries"] for it in shell.of("usage")) == 3
    timings = shell.result["timings"]
    assert timings["backoff_sec"] > 0.5
    assert timings["backoff_sec"] + timings["agent_sec"] < timings["total_sec"]


# --- a long conversation ------------------------------------------------------------------------

ASKS = (
    "CONTEXT CHECKPOINT COMPACTION",
    "Create a new anchored summary",
    "create a detailed summary of the conversation",
)
"""How agents ask for a summary."""
SUMMARY = Usage(input_tokens=400_300, output_tokens=55)
WHOLE = Usage(input_tokens=400_000, output_tokens=30)


def summing_up(asked: Asked) -> Reply:
    """Most agents go by the tokens that they are told of; Claude Code, by a refusal."""
    if is_asked_to_sum_up(asked):
        return Reply(text="<summary>Summed up.</summary>", usage=SUMMARY)
    if "Summed up." in asked.text or not asked.tools:
        return Reply(text=ANSWER)
    if "I look." in asked.text:
        return Reply(status=400, error="prompt is too long: 400030 tokens > 200000 maximum")
    return replace(looking("cat app.py")(asked), usage=WHOLE)


OF_A_SUBAGENT = Reply(text="Said by a subagent.", usage=Usage(output_tokens=77))


def require_subagent_apart(cells: Cells, policy: Policy) -> None:
    """The policy has a subagent asked, which replies OF_A_SUBAGENT."""
    run = cells.run(policy, "--scenario", "small", "--server", "shell")
    shell = run.of("shell")
    assert shell.outcome == "answered"
    assert OF_A_SUBAGENT.text not in shell.prose and ANSWER in shell.prose
    others = [it for it in shell.of("usage") if it.get("subagent")]
    assert [it["output_tokens"] for it in others] == [77]


def require_summed_up(cells: Cells) -> None:
    """A conversation grows past what the model takes, and goes on from a summary of it."""
    cells.add_scenario("much", tokens=10_000_000)
    run = cells.run(summing_up, "--scenario", "much", "--server", "good")
    assert [it.outcome for it in run.attempts] == ["answered"] * 2, run.said
    assert [is_asked_to_sum_up(it) for it in run.asked].count(True) == 2
    for it in run.attempts:
        _require_summary_counted(it)
    assert run.of("good").program == run.of("shell").program
    # What the server said before is on the record.
    calls = [it["call_id"] for it in run.of("good").of("tool_call") if it["origin"] == "server"]
    results = [it["text"] for it in run.of("good").of("tool_result") if it["call_id"] in calls]
    assert [text.rpartition("hello")[1] for text in results] == ["hello"]


def _require_summary_counted(it: Attempted) -> None:
    (summary,) = [usage for usage in it.of("usage") if usage.get("subagent") == "compaction"]
    assert (summary["input_tokens"], summary["output_tokens"]) == (400_300, 55)
    assert "summed its conversation up" in it.notes and "not seen" not in it.notes
    assert ANSWER in it.prose and "Summed up." not in it.prose
    # The conversation itself is counted once: what asks for the summary, and it, are new.
    scored = json.loads((it.folder.parent / "scorecard.json").read_text())
    others = [usage for usage in it.of("usage") if usage.get("subagent") == "helper"]
    titles = sum(usage["input_tokens"] + usage["output_tokens"] for usage in others)
    whole = 400_030 + 270 + 55 + 10
    assert scored["fairness"]["effort"]["new_tokens"] - titles == whole


def is_asked_to_sum_up(asked: Asked) -> bool:
    last = json.dumps((asked.body.get("input") or asked.body["messages"])[-1])
    return any(words in last for words in ASKS)
