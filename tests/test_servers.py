"""A server under test: its definition, its warm-up and health probe, and the doctor."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from runner.records import Canary, KnownName, Limits, McpCall, ServerSpec, WarmUp
from runner.report.card import card_text
from runner.sandbox.base_image import BaseImage
from runner.sandbox.builder import BuilderEnv, tar_of
from runner.sandbox.container import Container, ContainerSpec, open_container
from runner.sandbox.engine import Engine
from runner.sandbox.session import ServerSession
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog
from runner.servers import examine
from runner.servers.definition_rules import (
    definition_problems,
    fill_placeholders,
    launch,
    pick_canary,
)
from runner.servers.examine import (
    POLL_SEC,
    CanaryResult,
    Readiness,
    check_server,
    line_base,
    network_attempts,
    open_server,
    require_canary,
    try_canary,
    warm_up_call,
)
from runner.servers.volume import ServerVolume, ensure_volume
from runner.support.errors import CatalogError, NotReadyError, ServerError
from tests.helpers import PATIENCE_SEC
from tests.local_server import SCRIPTED, local_server
from tests.tiny_server import ROOT, Checkout, Folder, read_server, spec_of, tiny_folder

SHIPPED = sorted(path.parent for path in (ROOT / "images/servers").glob("*/server.yaml"))
FLASK = "pypi:flask==3.1.2"


# --- placeholders and launch ----------------------------------------------------------------


def test_placeholders_are_replaced_at_any_depth_and_other_braces_are_left() -> None:
    filled = fill_placeholders(
        {"a": ["{workspace}/src", {"b": "{state}"}], "c": '{"x": 1} ${HOME} {other}', "n": 1}
    )
    assert filled == {
        "a": ["/workspace/src", {"b": "/var/lib/server"}],
        "c": '{"x": 1} ${HOME} {other}',
        "n": 1,
    }


def test_every_unknown_placeholder_is_listed_with_its_place() -> None:
    spec = spec_of(
        command=("run", "{instal}/x"),
        env={"A": "{stat}"},
        warm_up=(WarmUp(call=McpCall(tool="t", arguments={"p": ["{w}"]})),),
    )
    with pytest.raises(CatalogError) as caught:
        launch(spec)
    listed = [str(problem) for problem in caught.value.problems]
    assert [line.partition(":")[0] for line in listed] == [
        "tiny/server.yaml command[1]",
        "tiny/server.yaml env.A",
        "tiny/server.yaml warm_up[0].call.arguments.p[0]",
    ]
    assert "{install}" in listed[0]


def test_a_file_or_private_folder_that_leaves_its_place_is_a_problem() -> None:
    bad = spec_of(
        files={"/etc/passwd": "", "../x": "", "ok/x.json": ""}, private=("/tmp", ".", ".index")
    )
    assert [p.message.split("'")[1] for p in definition_problems(bad, "server.yaml")] == [
        "/etc/passwd",
        "../x",
        "/tmp",
        ".",
    ]


def test_a_server_keeps_its_temporary_files_where_the_agent_cannot_read_them() -> None:
    assert launch(spec_of()).env["TMPDIR"] == "/var/lib/server"
    assert launch(spec_of(env={"TMPDIR": "{state}/t"})).env["TMPDIR"] == "/var/lib/server/t"


OPEN = WarmUp(call=McpCall(tool="open", arguments={"path": "{workspace}"}))
BY_HANDLE = Canary(
    repository="*",
    call=McpCall(tool="find", arguments={"repo": "{answer.repo_id}", "name": "wsgi_app"}),
    contains="app.py:3",
)


@pytest.mark.parametrize(
    ("warm_up", "place"),
    [
        ((), "canaries[0].call.arguments.repo"),
        ((WarmUp(shell="index"),), "canaries[0].call.arguments.repo"),
        ((WarmUp(shell="index {answer.repo_id}"), OPEN), "warm_up[0].shell"),
        ((WarmUp(call=BY_HANDLE.call), OPEN), "warm_up[0].call.arguments.repo"),
    ],
)
def test_an_answer_that_no_warm_up_call_can_have_given_yet_is_a_problem(
    warm_up: tuple[WarmUp, ...], place: str
) -> None:
    (found,) = definition_problems(spec_of(warm_up=warm_up, canaries=(BY_HANDLE,)), "server.yaml")
    assert found.where == f"server.yaml {place}"
    assert found.message.startswith("{answer.repo_id}: no warm-up call is made before it: add a")


def test_a_handle_may_follow_a_call_and_may_not_be_what_a_canary_looks_for() -> None:
    steps = (OPEN, WarmUp(call=BY_HANDLE.call))
    assert definition_problems(spec_of(warm_up=steps, canaries=(BY_HANDLE,)), "server.yaml") == []
    echo = BY_HANDLE.model_copy(update={"contains": "{answer.repo_id}"})
    (found,) = definition_problems(spec_of(warm_up=steps, canaries=(echo,)), "server.yaml")
    assert found.where == "server.yaml canaries[0].contains"


# --- the shipped servers --------------------------------------------------------------------


def test_the_six_servers_are_shipped() -> None:
    names = {folder.name for folder in SHIPPED}
    assert names >= set(
        "mcp-ripgrep code-index-mcp mcp-server-tree-sitter cclsp serena-agent codegraph".split()
    )


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda f: f.name)
def test_a_shipped_server_is_whole_and_has_a_canary_that_shows_a_line(folder: Path) -> None:
    spec = read_server(folder).spec
    assert spec.name == folder.name
    assert definition_problems(spec, str(folder)) == []
    assert launch(spec).argv
    canary = pick_canary(spec, FLASK)
    passed = CanaryResult(passed=True, wanted=canary.contains, text=canary.contains, wall_sec=0)
    assert line_base(canary, passed) == spec.line_base


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda f: f.name)
def test_every_package_of_a_shipped_server_is_pinned_by_hash_and_names_no_address(
    folder: Path,
) -> None:
    assert node_packages(folder) + python_packages(folder) > 0


def node_packages(folder: Path) -> int:
    """How many its lock pins, each one checked."""
    if not (folder / "package-lock.json").exists():
        return 0
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    packages.pop("", None)  # the folder itself
    for entry in packages.values():
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry
    wanted = json.loads((folder / "package.json").read_text())["dependencies"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    return len(packages)


def python_packages(folder: Path) -> int:
    """How many its lock pins, each one checked."""
    if not (folder / "requirements.txt").exists():
        return 0
    text = (folder / "requirements.txt").read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    for entry in entries:
        assert re.match(r"[\w.-]+==[\w.]+", entry)
        assert "--hash=sha256:" in entry
    assert "://" not in text
    for line in (folder / "requirements.in").read_text().split():
        assert "==" not in line or f"\n{line} " in f"\n{text}"
    return len(entries)


# --- warm-up and health probe, over a real session ------------------------------------------------


@asynccontextmanager
async def session_with(*answers: str) -> AsyncIterator[ServerSession]:
    """A server whose tool `find` gives one answer after the other, and the last for ever."""
    script = {
        "initialize": f"answers = {list(answers)!r}; welcome()",
        "find": "text(answers[0]); answers = answers[1:] or answers",
    }
    async with local_server("-c", SCRIPTED, json.dumps(script)) as session:
        yield session


async def ready_with(*answers: str, **changes: Any) -> Readiness:
    async with session_with(*answers) as session:
        return await require_canary(session, spec_of(**changes), FLASK)


FOUND = "src/app.py:3: def wsgi_app"


@pytest.mark.parametrize("answer", ["", "[]", "indexed 0 functions", "app.py:2"])
def test_a_server_that_answers_politely_with_nothing_is_not_ready(answer: str) -> None:
    with pytest.raises(
        NotReadyError, match=r"tiny: canary: expected 'app.py:3' in the result, which was: "
    ) as caught:
        asyncio.run(ready_with(answer, ready_timeout_sec=1))
    assert (answer or "(nothing)") in str(caught.value)
    assert "hint: `fairtrial server check tiny` shows more" in str(caught.value)


def test_an_index_built_in_the_background_is_waited_for() -> None:
    readiness = asyncio.run(ready_with("indexing", "indexing", FOUND))
    assert (readiness.is_ready, readiness.tries, readiness.passes) == (True, 5, 3)
    assert readiness.wall_sec >= 2 * POLL_SEC


def test_a_server_that_is_ready_is_asked_three_times_without_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A pause would end this test in an hour.
    monkeypatch.setattr(examine, "POLL_SEC", 3600)
    readiness = asyncio.run(ready_with(FOUND))
    assert (readiness.tries, readiness.passes) == (3, 3)


@pytest.mark.parametrize("answers", [(FOUND, ""), (FOUND, FOUND, ""), ("", FOUND, "", FOUND)])
def test_a_canary_that_passes_once_and_fails_then_is_not_ready(answers: tuple[str, ...]) -> None:
    with pytest.raises(NotReadyError, match="canary: it passed, then failed: expected"):
        asyncio.run(ready_with(*answers))


def test_an_error_that_quotes_the_wanted_text_passes_no_canary() -> None:
    async def run() -> None:
        quotes = "result({'isError': True, 'content': [{'type': 'text', 'text': 'app.py:3'}]})"
        async with local_server("-c", SCRIPTED, json.dumps({"find": quotes})) as session:
            await require_canary(session, spec_of(ready_timeout_sec=1), FLASK)

    with pytest.raises(NotReadyError, match=r"which was: app\.py:3"):
        asyncio.run(run())


def test_a_server_that_dies_in_its_canary_has_crashed() -> None:
    async def run() -> None:
        async with local_server("-c", SCRIPTED, json.dumps({"find": "os._exit(1)"})) as session:
            await require_canary(session, spec_of(), FLASK)

    with pytest.raises(ServerError, match="the server ended while it answered find") as caught:
        asyncio.run(run())
    assert not isinstance(caught.value, NotReadyError)


async def found_by_handle(opened: str) -> CanaryResult:
    """What a health probe gives that asks with what `open` answered."""
    script = {
        "open": f"text({opened!r})",
        "find": "text('app.py:3' if asked['params']['arguments']['repo'] == 7 else 'none')",
    }
    async with local_server("-c", SCRIPTED, json.dumps(script)) as session:
        assert OPEN.call is not None
        await warm_up_call(session, OPEN.call, PATIENCE_SEC)
        return await try_canary(session, BY_HANDLE)


def test_a_canary_asks_with_what_the_warm_up_of_its_session_was_answered() -> None:
    assert asyncio.run(found_by_handle('{"repo_id": 7}')).passed
    assert not asyncio.run(found_by_handle('{"repo_id": 8}')).passed


def test_a_handle_that_the_warm_up_was_not_answered_with_is_named_with_those_it_was() -> None:
    with pytest.raises(NotReadyError, match="no warm-up call answered with 'repo_id'") as caught:
        asyncio.run(found_by_handle('{"project_id": 7}'))
    assert "hint: they answered with: project_id" in str(caught.value)


def test_a_canary_that_finds_its_text_measures_the_line_base() -> None:
    result = asyncio.run(ready_with(FOUND)).last
    assert (result.passed, result.text) == (True, FOUND)
    assert line_base(spec_of().canaries[0], result) == 1
    zero_based = spec_of().canaries[0].model_copy(update={"contains": "app.py:2"})
    assert line_base(zero_based, result) == 0
    failed = CanaryResult(passed=False, wanted="app.py:3", text="", wall_sec=0.0)
    assert line_base(spec_of().canaries[0], failed) is None


def test_the_repositorys_own_canary_comes_before_the_one_for_any() -> None:
    own = Canary(repository=FLASK, call=McpCall(tool="own"), contains="x")
    spec = spec_of(canaries=(*spec_of().canaries, own))
    assert pick_canary(spec, FLASK) == own
    assert pick_canary(spec, "npm:zod@4.1.0").call.tool == "find"
    with pytest.raises(ServerError, match="no health probe for npm:zod"):
        pick_canary(spec_of(canaries=(own,)), "npm:zod@4.1.0")


KNOWN = KnownName(symbol="url_for", path="src/app.py", language="python")


def test_a_probe_for_any_repository_asks_for_a_name_that_is_known_to_be_there() -> None:
    asks = Canary(
        repository="*",
        call=McpCall(tool="find", arguments={"q": ["{known.symbol}"], "in": "{workspace}"}),
        contains="{known.path}:",
        languages=("python",),
    )
    spec = spec_of(canaries=(asks,))
    found = pick_canary(spec, "npm:zod@4.1.0", KNOWN)
    assert found.call.arguments == {"q": ["url_for"], "in": "{workspace}"}
    assert found.contains == "src/app.py:"
    assert definition_problems(spec, "here") == []
    # Of a repository in another language, or of which no name is known, it would prove nothing.
    with pytest.raises(ServerError, match="no health probe"):
        pick_canary(spec, "npm:zod@4.1.0", KNOWN.model_copy(update={"language": "go"}))
    with pytest.raises(ServerError, match="no health probe"):
        pick_canary(spec, "npm:zod@4.1.0")
    wrong = spec_of(canaries=(asks.model_copy(update={"call": _asking("{known.line}")}),))
    assert "no placeholder {known.line}" in str(definition_problems(wrong, "here"))


def _asking(text: str) -> McpCall:
    return McpCall(tool="find", arguments={"q": text})


@pytest.mark.parametrize("name", ["mcp-ripgrep", "code-index-mcp", "serena-agent", "codegraph"])
def test_four_shipped_servers_can_be_measured_where_a_name_is_known(name: str) -> None:
    (folder,) = [it for it in SHIPPED if it.name == name]
    spec = read_server(folder).spec
    found = pick_canary(spec, "git:local:shop@1", KNOWN)
    assert "url_for" in str(found.call.arguments)
    assert "src/app.py" in found.contains
    # What it is asked does not hold what it has to answer.
    assert "src/app.py" not in str(found.call.arguments)


# --- in the engine --------------------------------------------------------------------------

REPOSITORY = {
    "src/app.py": (
        b"import sys\n\ndef wsgi_app(environ):\n    return handle(environ)\n\n\n"
        b"def handle(environ):\n    return sys.argv\n"
    ),
    "README.md": b"# A tiny repository\n",
}


@pytest.fixture(scope="module")
def workspace(engine: Engine, base_image: str) -> Iterator[str]:
    """A workspace image with two files."""
    # Two machines on one engine may share process ids, and one would remove the other's image.
    tag = uuid.uuid4().hex
    made = engine.api.create_container(base_image, ["true"], labels={"fairtrial": "test"})
    try:
        engine.api.put_archive(made["Id"], "/workspace", tar_of(REPOSITORY))
        image = engine.api.commit(made["Id"], "fairtrial/test-servers", tag)["Id"]
    finally:
        engine.api.remove_container(made["Id"], force=True)
    yield image
    engine.api.remove_image(f"fairtrial/test-servers:{tag}")


@pytest.fixture(scope="module")
def checkout(engine: Engine, base: BaseImage, builder_env: BuilderEnv) -> Checkout:
    return Checkout(engine, base, builder_env)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, checkout: Checkout) -> Iterator[Folder]:
    """Its volume is built once: a test changes how it is started, and none of its files."""
    yield from checkout.with_volume_removed(tiny_folder(tmp_path_factory.mktemp("tiny")))


@pytest.mark.docker
def test_the_doctor_reports_a_servers_stray_lines_traces_and_network_attempts(
    checkout: Checkout, workspace: str, tiny: Folder
) -> None:
    card = anyio.run(_check, checkout, tiny.spec, checkout.volume(tiny), workspace)
    assert (card.server_info, card.tools, card.canary_passed, card.line_base_measured) == (
        "tiny 9",
        ("find",),
        True,
        1,
    )
    assert (card.stray_lines, card.stray) == (1, ("listening",))
    assert (card.files_written, card.paths_written, card.network_attempts) == (
        1,
        ("/tmp/left-behind",),
        3,  # one for each call of the health probe
    )
    shown = card_text(card)
    assert shown.count("\n    hint ") == 2, shown
    assert card.canary_text == "app.py:3: def wsgi_app(environ):\n"
    assert card.schema_chars == len(
        '{"description":"finds","inputSchema":{"type":"object"},"name":"find"}'
    )
    assert card.initialize_sec > 0
    assert card.peak_memory_mb is not None


async def _check(checkout: Checkout, spec: ServerSpec, volume: ServerVolume, image: str) -> Any:
    return await check_server(
        checkout.engine, spec, volume, image=image, repository=FLASK, limits=Limits()
    )


@pytest.mark.docker
def test_a_failed_canary_is_on_the_card_not_lost_in_an_error(
    checkout: Checkout, workspace: str, tiny: Folder
) -> None:
    wrong_line = tiny.spec.canaries[0].model_copy(update={"contains": "app.py:99"})
    blind = tiny.spec.model_copy(update={"canaries": (wrong_line,), "ready_timeout_sec": 1})
    card = anyio.run(_check, checkout, blind, checkout.volume(tiny), workspace)
    assert (card.canary_passed, card.canary_wanted, card.line_base_measured) == (
        False,
        "app.py:99",
        None,
    )
    assert card.canary_tries > 1, "it was not waited for"
    assert card.canary_passes == 0
    assert "app.py:3" in card.canary_text
    assert "tries failed)" in card_text(card)


@pytest.mark.docker
def test_the_doctor_says_that_a_canary_flaps(
    checkout: Checkout, workspace: str, tiny: Folder
) -> None:
    once = tiny.spec.model_copy(update={"env": {"ANSWERS_ONCE": "1"}})
    card = anyio.run(_check, checkout, once, checkout.volume(tiny), workspace)
    assert (card.canary_passed, card.canary_tries, card.canary_passes) == (False, 2, 1)
    shown = card_text(card)
    assert shown.startswith("tiny FAILS")
    assert "FLAPS, it passed and then failed" in shown


@pytest.mark.docker
def test_a_warm_up_that_fails_says_what_it_printed(
    checkout: Checkout, workspace: str, tiny: Folder
) -> None:
    command = 'echo "index: $WHY in {state}"; exit 3'
    failing = WarmUp(shell=command, timeout_sec=PATIENCE_SEC)
    changes = {"env": {"WHY": "no room"}, "warm_up": (failing,)}
    broken = tiny.spec.model_copy(update=changes)
    with pytest.raises(ServerError, match="ended with 3: index: no room in /var/lib/server"):
        anyio.run(_check, checkout, broken, checkout.volume(tiny), workspace)


def cell_of(
    checkout: Checkout, image: str, volume: str | None = None
) -> AbstractAsyncContextManager[Container]:
    spec = ContainerSpec(
        image=image, limits=Limits(), deadline_sec=PATIENCE_SEC, server_volume=volume
    )
    return open_container(checkout.engine, spec)


@pytest.mark.docker
def test_the_agent_can_neither_read_nor_run_nor_find_what_the_server_brings(
    checkout: Checkout, workspace: str, tiny: Folder
) -> None:
    volume = checkout.volume(tiny)

    async def run() -> list[str]:
        log = ServerLog(stderr=StderrFile(None))
        places = (
            "ls /opt/server",
            "cat /opt/server/server.py",
            "/opt/server/bin/hello",
            "ls /var/lib/server",
        )
        async with (
            cell_of(checkout, workspace, volume.name) as container,
            open_server(container, tiny.spec, log),
        ):
            tries = (*places, "for p in $(pgrep -u server); do cat /proc/$p/environ; done")
            outputs = []
            for command in tries:
                done = await container.shell(command, timeout_sec=PATIENCE_SEC)
                outputs.append(done.output)
            return outputs

    for output in anyio.run(run):
        assert "denied" in output
        assert "TMPDIR" not in output


NETWORK = """
import contextlib, socket, sys
def loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            client.send(b"x")
def datagram():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))
attempts = {
    "tcp": lambda: socket.create_connection(("192.0.2.1", 443), 1),
    "udp": datagram,
    "dns": lambda: socket.getaddrinfo("example.org", 443),
    "refused": lambda: socket.create_connection(("127.0.0.1", 9), 1),
}
kind = sys.argv[1]
if kind == "loopback":
    loopback()
elif kind == "localhost":
    socket.getaddrinfo("localhost", 80)
else:
    with contextlib.suppress(OSError):
        attempts[kind]()
"""


@pytest.mark.docker
def test_connections_and_lookups_that_leave_the_cell_are_counted_and_loopback_is_not(
    checkout: Checkout, workspace: str
) -> None:
    async def run() -> dict[str, int]:
        counted = {}
        async with cell_of(checkout, workspace) as container:
            for kind in ("loopback", "refused", "localhost", "tcp", "udp", "dns"):
                before = await network_attempts(container)
                command = f"python3 - {kind} <<'END'\n{NETWORK}\nEND"
                result = await container.shell(command, timeout_sec=PATIENCE_SEC, user="server")
                assert result.exit_code == 0, result.output
                counted[kind] = await network_attempts(container) - before
        return counted

    counted = anyio.run(run)
    assert counted.pop("dns") >= 1
    assert counted == {"loopback": 0, "refused": 0, "localhost": 0, "tcp": 1, "udp": 1}


@pytest.mark.docker
@pytest.mark.parametrize(
    ("name", "call", "contains"),
    [
        (
            "mcp-ripgrep",
            McpCall(tool="search", arguments={"pattern": "def wsgi_app", "path": "{workspace}"}),
            "/src/app.py:3:",
        ),
        (
            "code-index-mcp",
            McpCall(
                tool="get_symbol_body",
                arguments={"file_path": "src/app.py", "symbol_name": "wsgi_app"},
            ),
            '"line": 3,',
        ),
    ],
)
def test_a_shipped_server_starts_in_a_cell_finds_a_line_and_tries_no_network(
    checkout: Checkout, workspace: str, name: str, call: McpCall, contains: str
) -> None:
    server = read_server(ROOT / "images/servers" / name)
    volume = ensure_volume(checkout.engine, server, checkout.base, checkout.env, print)
    locks = "node_modules/.package-lock.json package-lock.json"
    left = checkout.as_root(volume.name, f"cd /opt/server; ls -A {locks} 2>/dev/null || :")
    assert left == ""
    canary = Canary(repository="*", call=call, contains=contains, line=3, timeout_sec=PATIENCE_SEC)
    changes = {"canaries": (canary,), "initialize_timeout_sec": PATIENCE_SEC}
    spec = server.spec.model_copy(update=changes)
    card = anyio.run(_check, checkout, spec, volume, workspace)
    assert (card.canary_passed, card.line_base_measured, card.network_attempts) == (
        True,
        spec.line_base,
        0,
    ), card.canary_text
    assert all(path.startswith("/var/lib/server/") for path in card.paths_written)
