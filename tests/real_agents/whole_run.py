"""What has to hold of a run of two steps in both arms, whichever agent it is of."""

from __future__ import annotations

import json

from tests.real_agents.cells import KEY, SECOND, Cells, Ran
from tests.real_agents.policies import ANSWER, looking

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


def _require_no_key(ran: Ran) -> None:
    sent = {it.headers.get("authorization", it.headers.get("x-api-key")) for it in ran.asked}
    assert sent <= {KEY, f"Bearer {KEY}"}
    for path in ran.folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
