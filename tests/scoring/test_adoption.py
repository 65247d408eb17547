from __future__ import annotations

import pytest

from runner.records import Adoption, Scored, ToolTrace, TraceCall, Unscored
from runner.scoring.adoption import runs_search, score_adoption


def call(origin: str, *, step: int = 0, command: str = "", is_error: bool = False) -> TraceCall:
    return TraceCall.model_validate(
        {
            "step": step,
            "origin": origin,
            "tool": "shell" if origin == "shell" else "find_symbol",
            "arguments": {"command": command} if command else {},
            "is_error": is_error,
            "size_chars": 10,
            "wall_sec": 0.1,
        }
    )


def value(adoption: Adoption, name: str) -> float:
    score = adoption.parts[name]
    assert isinstance(score, Scored)
    return score.value


@pytest.mark.parametrize(
    "command",
    [
        "grep -rn dispatch src",
        "rg dispatch",
        "cat a.py | grep def",
        "cat a.py|grep def",
        "find . -name '*.py'",
        "git grep dispatch",
        "git -C src --no-pager grep dispatch",
        "bash -lc 'rg dispatch'",
        "ls && timeout 5 rg x",
        "find . -print0 | xargs -0 -n 1 grep x",
        "FOO=1 /usr/bin/grep x",
        "x=$(grep a b); echo $x",
        "if grep -q x y; then ls; fi",
        "for f in *; do ag x $f; done",
        "(fd x)",
        "bash <<'EOF'\ngrep x\nEOF",
        "ls\nrg x",
        "echo 'open | rg x",
        "ack x",
        "sudo grep x y",
    ],
)
def test_a_search_is_seen_wherever_the_command_stands(command: str) -> None:
    assert runs_search(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat grep.py",
        "sed -n '1,40p' find.py",
        "echo grep",
        "echo 'a | grep b'",
        "git log -3",
        "ls -la",
        "python -m rg",
        "",
        "cat <<'EOF' > s.sh\ngrep x\nEOF\nls",
        "head -n 5 src/find/rg.txt",
    ],
)
def test_reading_a_file_that_is_called_after_a_search_is_no_search(command: str) -> None:
    assert not runs_search(command)


def test_fluency_is_good_server_calls_over_server_calls_and_searches() -> None:
    calls = (
        call("server"),
        call("server", is_error=True),
        call("shell", command="rg x"),
        call("shell", command="cat a.py"),
    )
    adoption = score_adoption(ToolTrace(steps=2, calls=calls), server="codegraph")
    assert value(adoption, "tool_fluency") == pytest.approx(1 / 3)
    assert (
        adoption.server_calls,
        adoption.server_errors,
        adoption.shell_calls,
        adoption.shell_searches,
    ) == (2, 1, 2, 1)


def test_a_step_is_discovered_by_a_call_that_succeeded() -> None:
    calls = (call("server", step=0), call("server", step=0), call("server", step=1, is_error=True))
    adoption = score_adoption(ToolTrace(steps=4, calls=calls), server="codegraph")
    assert value(adoption, "discoverability") == 0.25


def test_the_sum_is_sixty_to_forty() -> None:
    adoption = score_adoption(
        ToolTrace(steps=2, calls=(call("server", step=0),)), server="codegraph"
    )
    assert isinstance(adoption.score, Scored) and adoption.score.value == pytest.approx(0.6 + 0.2)


def test_a_server_that_was_never_called_was_not_adopted() -> None:
    adoption = score_adoption(ToolTrace(steps=2, calls=()), server="codegraph")
    assert isinstance(adoption.score, Scored) and adoption.score.value == 0.0


def test_the_shell_arm_has_a_dash_and_not_a_zero() -> None:
    adoption = score_adoption(
        ToolTrace(steps=2, calls=(call("shell", command="rg x"),)), server="shell"
    )
    assert adoption.score == Unscored(reason="structural: the shell arm has no server to adopt")
    assert adoption.shell_searches == 1


def test_calling_the_server_for_its_own_sake_cannot_make_up_for_searching_with_the_shell() -> None:
    """The cheat: one idle server call a step, the work done with grep."""
    idle = [call("server", step=step) for step in range(4)]
    work = [call("shell", step=step, command="grep -rn x .") for step in range(4) for _ in range(9)]
    adoption = score_adoption(ToolTrace(steps=4, calls=tuple(idle + work)), server="codegraph")
    assert value(adoption, "tool_fluency") == pytest.approx(0.1)
