"""MCP through the sandbox, with a well-behaved server and with every kind of bad one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from runner.records import Limits
from runner.sandbox import stream
from runner.sandbox.container import ContainerSpec, open_container
from runner.sandbox.engine import Engine
from runner.sandbox.session import ServerSession, as_text, open_session
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import BadAnswerError, ServerLog
from runner.support.errors import ServerError
from tests.helpers import PATIENCE_SEC

pytestmark = pytest.mark.docker
SOURCE = (Path(__file__).parent / "mcp_server.py.txt").read_text(encoding="utf-8")
Use = Callable[..., Any]


@pytest.fixture
def use(engine: Engine, base_image: str, tmp_path: Path) -> Use:
    """Start the test server in a fresh cell, behaving as `mode` says, and use its session."""

    def once(
        mode: str,
        work: Callable[[ServerSession], Coroutine[Any, Any, Any]],
        log: ServerLog | None = None,
        timeout_sec: float = PATIENCE_SEC,
    ) -> Any:
        limits = Limits(memory_mb=512)
        spec = ContainerSpec(image=base_image, limits=limits, deadline_sec=PATIENCE_SEC)
        argv = ["python3", "-c", SOURCE, mode]
        server_log = log or ServerLog(stderr=StderrFile(tmp_path / "stderr.log"))

        async def main() -> Any:
            async with (
                open_container(engine, spec) as container,
                open_session(
                    container, argv, {}, server_log, initialize_timeout_sec=timeout_sec
                ) as session,
            ):
                return await work(session)

        return asyncio.run(main())

    return once


async def nothing(session: ServerSession) -> ServerSession:
    return session


def test_a_server_answers_as_its_own_user_at_the_repository_root(use: Use) -> None:
    async def work(session: ServerSession) -> tuple[str, str, Any]:
        who = await session.call("whoami", {}, timeout_sec=PATIENCE_SEC)
        echo = await session.call("echo", {"text": "naïve ☃"}, timeout_sec=PATIENCE_SEC)
        return who.text, echo.text, session.tool_listing

    who, echo, tools = use("good", work)
    assert (who, echo) == ("10002 /workspace /var/lib/server", "naïve ☃")
    assert tools.names == ("echo", "whoami", "big", "hang", "die", "grow", "late", "orphan")
    assert (tools.server_info, tools.instructions_chars) == ("test 1", len("Use echo."))


def test_a_result_of_eight_megabytes_arrives_whole(use: Use) -> None:
    async def work(session: ServerSession) -> int:
        result = await session.call("big", {"chars": 8_000_000}, timeout_sec=PATIENCE_SEC)
        return len(result.text)

    assert use("good", work) == 8_000_000


def test_a_server_that_never_answers_ends_at_its_deadline(use: Use) -> None:
    log = ServerLog(stderr=StderrFile(None))
    with pytest.raises(ServerError, match="did not initialise in 1 s"):
        use("silent", nothing, log, timeout_sec=1)
    assert log.ended == "", "it was not the deadline that ended it"


def test_a_server_that_dies_at_start_says_so_with_its_last_words(use: Use) -> None:
    with pytest.raises(ServerError, match=r"before it was initialised .*no module named mcp"):
        use("dies", nothing)


def test_a_server_that_floods_stderr_is_read_no_further(
    use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "STDERR_FLOOD_BYTES", 4_000_000)
    with pytest.raises(ServerError, match="more than 4,000,000 bytes on stderr"):
        use("grumble", nothing)


def test_stray_lines_on_stdout_are_counted_and_do_not_stop_a_server(use: Use) -> None:
    log = ServerLog(stderr=StderrFile(None))

    async def work(session: ServerSession) -> str:
        return (await session.call("echo", {"text": "fine"}, timeout_sec=PATIENCE_SEC)).text

    assert use("babble", work, log) == "fine"
    assert (log.stray_lines, log.stray[0]) == (50, "loading 0")


def test_what_the_work_raises_comes_out_as_itself(use: Use) -> None:
    async def work(_: ServerSession) -> None:
        raise LookupError("ours")

    with pytest.raises(LookupError, match="ours"):
        use("good", work)


def test_what_is_no_text_is_shown_as_what_it_is() -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    text = {"type": "text", "text": "a picture:"}
    page = {"type": "resource", "resource": {"uri": "file:///a", "text": "a page"}}
    assert as_text({"content": [text, image, page]}) == "a picture:\n[image]\na page"


def test_thousands_of_levels_in_a_result_break_the_protocol_and_nothing_else() -> None:
    deep: Any = 1
    for _ in range(3000):
        deep = [deep]
    with pytest.raises(BadAnswerError, match="no JSON"):
        as_text({"content": [], "structuredContent": deep})
