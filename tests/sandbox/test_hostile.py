"""Servers that lie, flood, stammer and die: each ends as its own outcome, and in bounded memory."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from runner.sandbox import transport
from runner.sandbox.session import McpResult, ServerSession
from runner.sandbox.stream import StderrFile
from runner.sandbox.transport import ServerLog, has_too_many_values
from runner.support.errors import ServerError
from tests.conftest import ROOT
from tests.helpers import PATIENCE_SEC
from tests.local_server import SCRIPTED, Script, local_server

T = TypeVar("T")
Work = Callable[[ServerSession], Coroutine[Any, Any, T]]


async def using(
    script: Script,
    work: Work[T],
    *,
    log: ServerLog | None = None,
    timeout_sec: float = PATIENCE_SEC,
) -> T:
    argv = ("-c", SCRIPTED, json.dumps(script))
    async with local_server(*argv, log=log, timeout_sec=timeout_sec) as session:
        return await work(session)


def use(script: Script, work: Work[T], *, log: ServerLog | None = None) -> T:
    return asyncio.run(using(script, work, log=log))


async def all_at_once(works: Mapping[str, Coroutine[Any, Any, T]]) -> dict[str, T | BaseException]:
    """What each ends in, by its name. Each waits in vain: one after the other takes minutes."""
    ends = await asyncio.gather(*works.values(), return_exceptions=True)
    return dict(zip(works, ends, strict=True))


async def nothing(_: ServerSession) -> None:
    pass


# --- before its first call: the server's fault --------------------------------------------------

LIST = "tools/list"
INVALID = "input schema of 'bad' is invalid"
REFUSES = """say('"error":{"code":-32000,"message":"%s"}' % ("no licence, " * 10**5))"""
DEEP = """say('"result":{"a":%s}' % ('[' * 50_000 + ']' * 50_000))"""
BOTTOMLESS = """
schema = {}
for _ in range(200):
    schema = {'items': schema}
result({'tools': [tool('bad', properties={'a': schema})]})
"""
HUGE_PAGE = "result({'tools': [tool('a') | {'description': 'x' * 20_000_000}]})"
HUGE_PAGES = """
one = tool(str(id)) | {'description': 'x' * 5_000_000}
result({'nextCursor': 'a', 'tools': [one]})
"""
FULL_PAGES = """
many = [tool(f'{id}-{n}') for n in range(600)]
result({'nextCursor': 'a', 'tools': many})
"""
DISGUISED = """
tools = '[{"name":"a","inputSchema":{"type":"object","default":1e999}}]'
say('"result":{"tools":%s}' % tools)
"""


def with_property(schema: str) -> str:
    """A tools/list with one tool, whose one property has this schema."""
    return f"result({{'tools': [tool('bad', properties={{'a': {schema}}})]}})"


INTRODUCTIONS = {
    "the result is a list": ("result([1])", "neither a result nor an error"),
    "the result is empty": ("result({})", "protocolVersion"),
    "no server info": ("welcome(serverInfo=None)", "serverInfo"),
    "server info is a text": ("welcome(serverInfo='x')", "serverInfo"),
    "capabilities are a text": ("welcome(capabilities='x')", "capabilities"),
    "instructions are a number": ("welcome(instructions=5)", "instructions"),
    "NaN in the handshake": ("welcome(x=float('nan'))", "NaN, which is not JSON"),
    "an unknown version": ("welcome(protocolVersion='1999-01-01')", "1999-01-01"),
    "a version of megabytes": ("welcome(protocolVersion='9' * 10**6)", "version '9999"),
    "a version that is a number": ("welcome(protocolVersion=7)", "protocolVersion"),
    "endless instructions": ("welcome(instructions='x' * 10**6)", "at most 200,000"),
    "an answer of 9 MB": ("welcome(x='y' * 9_000_000)", "at most 8,388,608"),
    "it refuses at length": (REFUSES, "refused to initialise: error -32000: no licence"),
    "it dies": ("os._exit(3)", "before it was initialised"),
    "it says nothing": ("pass", "did not initialise in 3 s"),
    "garbage without an end": ("\nwhile True: out('hm')", "more than 10,000 lines"),
}
LISTINGS = {
    "it dies": ("os._exit(3)", "before it was initialised"),
    "half a list, and it dies": ("out('{\"json', end=''); os._exit(0)", "before it was"),
    "no tools": ("result({})", "tools"),
    "tools are a text": ("result({'tools': 'all'})", "tools"),
    "a tool is a number": ("result({'tools': [5]})", "tools.0"),
    "a tool without a name": ("result({'tools': [{'inputSchema': {}}]})", "name"),
    "an empty name": ("result({'tools': [tool('')]})", "name has 0 characters"),
    "a name of megabytes": ("result({'tools': [tool('x' * 10**6)]})", "name has 1,000,000"),
    "two tools of one name": ("result({'tools': [tool('a'), tool('a')]})", "two tools 'a'"),
    "no schema": ("result({'tools': [{'name': 'bad'}]})", "inputSchema"),
    "a schema that is a text": (
        "result({'tools': [{'name': 'bad', 'inputSchema': 'x'}]})",
        "inputSchema",
    ),
    "a schema of arrays": (
        "result({'tools': [{'name': 'bad', 'inputSchema': {'type': 'array'}}]})",
        "inputSchema.type",
    ),
    "properties are a list": ("result({'tools': [tool('bad', properties=[])]})", "properties"),
    "an unknown type": (with_property("{'type': 'strin'}"), f"{INVALID}: there is no type"),
    "a type of lists": (with_property("{'type': [[]]}"), f"{INVALID}: there is no type"),
    "required is a text": (with_property("{'items': {'required': 'b'}}"), f"{INVALID}: `req"),
    "a number for a schema": (with_property("{'anyOf': [5]}"), f"{INVALID}: 5 stands where"),
    "an enum that is no list": (with_property("{'enum': {}}"), f"{INVALID}: `enum`"),
    "a schema without a bottom": (BOTTOMLESS, f"{INVALID}: it is nested deeper than 64"),
    "past all stacks": (DEEP, "did not initialise in 3 s, 1 lines .* not JSON-RPC"),
    "NaN in a schema": (with_property("{'default': float('nan')}"), "NaN, which is not JSON"),
    "an infinity in disguise": (DISGUISED, "not JSON compliant"),
    "a cursor that is a number": ("result({'tools': [], 'nextCursor': 5})", "nextCursor"),
    "one cursor for ever": ("result({'tools': [], 'nextCursor': 'a'})", "more than 100 pages"),
    "very many tools": ("result({'tools': [tool('x')] * 1001})", "more than 1,000 tools"),
    "tools on every page": (FULL_PAGES, "more than 1,000 tools"),
    "pages of megabytes": (HUGE_PAGES, "more than 2,097,152 bytes"),
    "a page of 20 MB": (HUGE_PAGE, r"has 20,\d+,\d+ bytes; at most 8,388,608"),
    "a page of empty objects": ("result({'tools': [{}] * 400_000})", "at most 100,000 values"),
    "it lists for ever": (
        "time.sleep(0.2); result({'tools': [], 'nextCursor': 'a'})",
        "did not initialise in 3 s",
    ),
}
STARTS = {
    **{name: ("initialize", *case) for name, case in INTRODUCTIONS.items()},
    **{f"listing: {name}": (LIST, *case) for name, case in LISTINGS.items()},
}
START_SEC = 3
SILENT_STARTS = {name for name, case in STARTS.items() if "did not initialise" in case[2]}


def check_start(reason: str, end: object) -> None:
    assert isinstance(end, ServerError)
    assert re.search(reason, str(end)), str(end)[:500]
    assert len(str(end)) < 1000, "the server's megabytes are in the record of its end"


@pytest.mark.parametrize("name", [name for name in STARTS if name not in SILENT_STARTS])
def test_what_a_server_breaks_before_its_first_call_is_the_servers_fault(name: str) -> None:
    asked, script, reason = STARTS[name]
    with pytest.raises(ServerError) as caught:
        use({asked: script}, nothing)
    check_start(reason, caught.value)


def test_a_server_that_is_not_ready_in_time_is_at_fault() -> None:
    works = {}
    for name in SILENT_STARTS:
        asked, script, _ = STARTS[name]
        works[name] = using({asked: script}, nothing, timeout_sec=START_SEC)
    ends = asyncio.run(all_at_once(works))
    assert len(ends) == 3
    for name, end in ends.items():
        check_start(STARTS[name][2], end)


# --- a call: an error result, and the session goes on -------------------------------------------


NO_ANSWER = "^bad gave no answer in 2 s"
STRAY = NO_ANSWER + ", 1 lines on stdout were not JSON-RPC"
BROKEN = "^the server's result breaks the protocol"
LONG = f"{BROKEN}: its answer has [0-9,]+ bytes; at most 8,388,608 are read$"
MANY = f"{BROKEN}: its answer has [0-9,]+ bytes; at most 100,000 values are read$"
BUSY = """say('"error":{"code":-32000,"message":"busy"}')"""
LATE = """say('"error":{"code":-32001,"message":"late"}')"""
NAN = "result({'content': [], 'structuredContent': {'a': float('nan')}})"
INFINITY = "result({'content': [{'type': 'text', 'text': 'x'}], 'x': float('inf')})"
INFINITE = """say('"result":{"content":[],"structuredContent":{"a":1e999}}')"""
ID_LAST = """out('{"result":{"a":"%s"},"jsonrpc":"2.0","id":%d}' % ('x' * 9_000_000, id))"""
ID_INSIDE = """
long = 'x' * 5_000_000
out('{"jsonrpc":"2.0","a":"%s","id":%d,"b":"%s"}' % (long, id, long))
"""
TINY_BLOCKS = """
block = '{"type":"text","text":""},'
say('"result":{"content":[%s]}' % (block * 2_500_000))
"""
CALLS = {
    "error -32000, though it lives": (BUSY, "^error -32000: busy$"),
    "error -32001, though it answers": (LATE, "^error -32001: late$"),
    "an error without a code": ("""say('"error":{}')""", "^error None: None$"),
    "an error that is a text": ("""say('"error":"x"')""", BROKEN),
    "neither result nor error": ("""say('"x":1')""", BROKEN),
    "no content": ("result({})", f"{BROKEN}: its content is no list"),
    "content is a text": ("result({'content': 'x'})", f"{BROKEN}: its content is no list"),
    "a block is a text": ("result({'content': ['x']})", f"{BROKEN}: a block"),
    "a block without a text": ("result({'content': [{'type': 'text'}]})", f"{BROKEN}: a block"),
    "a text is a number": ("result({'content': [{'type': 'text', 'text': 5}]})", BROKEN),
    "NaN in structured content": (NAN, f"{BROKEN}: its answer holds NaN, which is not JSON"),
    "Infinity beside a text": (INFINITY, f"{BROKEN}: its answer holds Infinity"),
    "an infinity in disguise": (INFINITE, f"{BROKEN}: its structured content is no JSON"),
    "a number of 5,000 digits": ("""say('"result":%s' % ('9' * 5000))""", STRAY),
    "a wrong id": ("id = 999; text('x')", f"{NO_ANSWER}$"),
    "an id that is True": ("id = True; text('x')", f"{NO_ANSWER}$"),
    "no id": ("id = None; text('x')", f"{NO_ANSWER}$"),
    "an id that is a list": ("id = [id]; text('x')", f"{NO_ANSWER}$"),
    "half an answer": ('out(\'{"jsonrpc":"2.0","id":%d,"resu\' % id)', STRAY),
    "no version of JSON-RPC": ('out(\'{"id":%d,"result":{}}\' % id)', STRAY),
    "another version": ('out(\'{"jsonrpc":"1.0","id":%d,"result":{}}\' % id)', STRAY),
    "a list of answers": ('out(\'[{"jsonrpc":"2.0","id":%d,"result":{}}]\' % id)', STRAY),
    "a number": ("out('5')", STRAY),
    "nested past all stacks": (DEEP, STRAY),
    "no answer": ("pass", f"{NO_ANSWER}$"),
    "an empty line": ("out('')", f"{NO_ANSWER}$"),
    "a result of 9 MB": ("text('x' * 9_000_000)", LONG),
    "9 MB, the id last": (ID_LAST, LONG),
    "10 MB, the id inside": (ID_INSIDE, LONG),
    "64 MB of tiny blocks": (TINY_BLOCKS, LONG),
    "7 MB of empty objects": ("""say('"result":[%s0]' % ('{},' * 2_300_000))""", MANY),
    "7 MB of empty texts": ("""say('"result":[%s0]' % ('"",' * 2_300_000))""", MANY),
    "90,000 broken blocks": ("result({'content': [0] * 90_000})", f"{BROKEN}: a block"),
}


async def bad_then_good(session: ServerSession) -> tuple[McpResult, McpResult]:
    bad = await session.call("bad", {}, timeout_sec=PATIENCE_SEC)
    good = await session.call("echo", {"text": "still here"}, timeout_sec=PATIENCE_SEC)
    return bad, good


async def bad_in_vain(session: ServerSession) -> tuple[McpResult, McpResult]:
    bad = await session.call("bad", {}, timeout_sec=2)
    good = await session.call("echo", {"text": "still here"}, timeout_sec=PATIENCE_SEC)
    return bad, good


def check_call(said: str, bad: McpResult, good: McpResult) -> None:
    assert bad.is_error
    assert re.search(said, bad.text), bad.text[:500]
    assert (good.text, good.is_error) == ("still here", False)


SILENT_CALLS = {name for name, (_, said) in CALLS.items() if "gave no answer" in said}


@pytest.mark.parametrize("name", [name for name in CALLS if name not in SILENT_CALLS])
def test_a_bad_answer_is_an_error_result_and_the_server_goes_on(name: str) -> None:
    script, said = CALLS[name]
    check_call(said, *use({"bad": script}, bad_then_good))


def test_what_answers_nobody_is_waited_for_and_the_server_goes_on() -> None:
    works = {name: using({"bad": CALLS[name][0]}, bad_in_vain) for name in SILENT_CALLS}
    ends = asyncio.run(all_at_once(works))
    assert len(ends) == 13
    for name, end in ends.items():
        assert not isinstance(end, BaseException), name
        check_call(CALLS[name][1], *end)


# --- what is odd and harmless -------------------------------------------------------------------

LATIN_1 = """
sys.stdout.reconfigure(encoding="latin-1")
say('"result":{"content":[{"type":"text","text":"na\\xefve"}]}')
"""
FOR_NOBODY = "real, id = id, 4; text('no'); id = real; text('x')"
NOTIFIES = """
for _ in range(5000):
    out('{"jsonrpc":"2.0","method":"notifications/message"}')
text('x')
"""
ASKS = """out('{"jsonrpc":"2.0","id":1,"method":"roots/list"}'); text('x')"""
RESOURCE = "result({'content': [{'type': 'resource', 'resource': {'text': 'x'}}]})"
HARMLESS = {
    "its id as a text": ("id = str(id); text('x')", "x"),
    "half a character": ("text('a\\ud83d')", "a?"),
    "both halves": ("text('\\ud83d\\ude00')", "\N{GRINNING FACE}"),
    "bytes that are no text": (LATIN_1, "na\N{REPLACEMENT CHARACTER}ve"),
    "an unknown block": ("result({'content': [{'type': 'hologram'}]})", "[hologram]"),
    "a resource": (RESOURCE, "x"),
    "a resource of nothing": ("result({'content': [{'type': 'resource'}]})", "[resource]"),
    "structured content": ("result({'content': [], 'structuredContent': {'a': 1}})", '{"a":1}'),
    "nothing": ("result({'content': []})", ""),
    "an answer for nobody": (FOR_NOBODY, "x"),
    "two answers": ("text('x'); text('y')", "x"),
    "notifications first": (NOTIFIES, "x"),
    "a question first": (ASKS, "x"),
    "7 MB of punctuation": ("text('[{,' * 2_300_000)", "[{," * 2_300_000),
    "7 MB of quotes": ("text('\\\\\",' * 1_300_000)", '\\",' * 1_300_000),
}


@pytest.mark.parametrize(
    ("script", "said"), [pytest.param(*case, id=name) for name, case in HARMLESS.items()]
)
def test_what_is_odd_and_harmless_is_read(script: str, said: str) -> None:
    result, good = use({"bad": script}, bad_then_good)
    assert (result.text, result.is_error) == (said, False)
    assert (good.text, good.is_error) == ("still here", False)


def test_a_server_may_ask_whether_its_client_lives() -> None:
    ping = """call_id = id; out('{"jsonrpc":"2.0","id":"p","method":"ping"}')"""
    heard = "said = json.dumps(asked); id = call_id; text(said)"
    result, _ = use({"bad": ping, "an answer": heard}, bad_then_good)
    assert json.loads(result.text) == {"jsonrpc": "2.0", "id": "p", "result": {}}


def test_a_call_given_up_is_called_off_and_its_late_answer_is_nobodys() -> None:
    late = "call_id = id"
    called_off = "id = call_id; text('late'); said = json.dumps(asked['params'])"

    async def work(session: ServerSession) -> tuple[McpResult, McpResult]:
        bad = await session.call("bad", {}, timeout_sec=1)
        return bad, await session.call("echo", {}, timeout_sec=PATIENCE_SEC)

    script = {"bad": late, "notifications/cancelled": called_off, "echo": "text(said)"}
    bad, heard = use(script, work)
    assert bad.text == "bad gave no answer in 1 s"
    assert json.loads(heard.text) == {"requestId": 3}


# --- a server that is gone, or has to go --------------------------------------------------------

CUT = "out('{\"jsonrpc\":', end=''); os._exit(0)"
NOTIFIES_FOR_EVER = """
while True:
    out('{"jsonrpc":"2.0","method":"notifications/message"}')
"""
GONE = {
    "it dies": ("os._exit(3)", "while it answered bad"),
    "it closes its stdout": ("os.close(1); time.sleep(600)", "while it answered bad"),
    "half an answer, and it dies": (CUT, "while it answered bad"),
    "a line without an end": ("\nwhile True: out('x' * 65536, end='')", "answered nothing"),
    "notifications without an end": (NOTIFIES_FOR_EVER, "10,001 messages in a row"),
    "empty lines without an end": ("\nwhile True: out('\\n' * 65536)", "10,001 messages in"),
    "lines of nothing much": ("\nwhile True: out('hm')", "more than 10,000 lines on stdout"),
}


@pytest.fixture
def quick_waste(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bounds, sooner: what is thrown away is read at no more than 20 MB/s."""
    monkeypatch.setattr(transport, "WASTE_LIMIT_BYTES", 4_000_000)
    monkeypatch.setattr(transport, "WASTE_LIMIT_MESSAGES", 10_000)


@pytest.mark.parametrize(
    ("script", "reason"), [pytest.param(*case, id=name) for name, case in GONE.items()]
)
def test_a_server_that_ends_or_floods_is_gone_and_says_why(
    script: str, reason: str, quick_waste: None
) -> None:
    with pytest.raises(ServerError, match=reason):
        use({"bad": script}, bad_then_good)


@pytest.mark.parametrize("code", ["", ',"exit_code":"x"', ',"exit_code":null'])
def test_a_server_cannot_forge_its_end_in_a_way_that_fails_us(code: str) -> None:
    log = ServerLog(stderr=StderrFile(None), ticket="t")
    params = f'{{"ticket":"t"{code}}}'
    end = f'{{"jsonrpc":"2.0","method":"fairtrial/ended","params":{params}}}'
    result, good = use({"bad": f"out({end!r}); text('x')"}, bad_then_good, log=log)
    assert (result.text, good.text, log.exit_code) == ("x", "still here", None)


def test_a_flood_between_two_calls_ends_the_server_too(quick_waste: None) -> None:
    log = ServerLog(stderr=StderrFile(None))

    async def work(session: ServerSession) -> None:
        await session.call("bad", {}, timeout_sec=PATIENCE_SEC)
        while not log.ended:
            await asyncio.sleep(0.01)
        await session.call("echo", {}, timeout_sec=PATIENCE_SEC)

    with pytest.raises(ServerError, match=r"while it answered echo .*that answered nothing"):
        use({"bad": "text('x')\nwhile True: out('x' * 65536, end='')"}, work, log=log)


def test_a_server_that_asks_and_never_reads_is_read_no_further() -> None:
    log = ServerLog(stderr=StderrFile(None))
    ask = """
while True:
    out('{"jsonrpc":"2.0","id":"%s","method":"ping"}' % ('p' * 50_000))
"""

    async def work(session: ServerSession) -> str:
        return (await session.call("bad", {}, timeout_sec=2)).text

    assert use({"bad": ask}, work, log=log) == "bad gave no answer in 2 s"
    assert log.ended == ""


@pytest.mark.parametrize(
    ("line", "too_many"),
    [
        (b"[" + b"0," * 90_000 + b"0]", False),
        (b"[" + b"0," * 110_000 + b"0]", True),
        (b'{"text": "' + b"{[," * 1_000_000 + b'"}', False),
        (b'{"text": "' + b'\\",' * 1_000_000 + b'"}', False),
        (b'{"text": "' + b"\\\\" * 1_000_000 + b'"}', False),
        # A string that ends in a backslash: what follows it is outside again.
        (b'{"a": "\\\\", "b": [' + b"0," * 110_000 + b"0]}", True),
        (b'["' + b'","' * 600_000 + b'"]', True),
    ],
)
def test_values_are_counted_without_the_texts_between_them(line: bytes, too_many: bool) -> None:
    assert has_too_many_values(line) is too_many


# --- memory -------------------------------------------------------------------------------------

PEAK_LIMIT_MB = 500
LARGEST_READ = """
block = '{"type":"text","text":"%s"},' % ('x' * 200)
say('"result":{"content":[%s0]}' % (block * 33_000))
"""
FULL_LISTING = """
many = [tool(f'{id}-{n}', properties={str(m): {} for m in range(100)}) for n in range(900)]
result({'tools': many, 'nextCursor': 'a'})
"""


async def suffer(script: Script) -> None:
    """Three cells' worth of such a server at once."""

    async def one() -> None:
        argv = ("-c", SCRIPTED, json.dumps(script))
        with suppress(ServerError):
            async with local_server(*argv) as session:
                await bad_then_good(session)

    await asyncio.gather(one(), one(), one())


def suffer_all() -> int:
    """Kilobytes at the peak of this process."""
    for script in ({"bad": TINY_BLOCKS}, {"bad": LARGEST_READ}, {LIST: FULL_LISTING}):
        asyncio.run(suffer(script))
    # Not ru_maxrss: that begins with the peak of the process which started this one.
    found = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1))


def test_the_worst_servers_three_at_once_cannot_fill_the_runners_memory() -> None:
    # In a process of its own: this one has held the megabytes of other tests.
    code = "from tests.sandbox.test_hostile import suffer_all; print(suffer_all())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert int(done.stdout) / 1000 < PEAK_LIMIT_MB
