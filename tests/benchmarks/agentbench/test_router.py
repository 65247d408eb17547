"""Several servers in one real cell: none of them harms another, and what befell it is said."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.benchmarks.agentbench.testbed.router import Router, routed_tools
from runner.benchmarks.agentbench.testbed.testbed import CellSpec, open_cell
from runner.records import ServerSpec
from runner.sandbox import transport
from runner.sandbox.base_image import BaseImage
from runner.sandbox.builder import BuilderEnv
from runner.sandbox.engine import Engine
from runner.sandbox.session import McpResult
from runner.support.errors import ServerError
from tests.benchmarks.agentbench.servers import LIMITS, installed, one_volume, spec, with_tools
from tests.helpers import PATIENCE_SEC

pytestmark = pytest.mark.docker
Work = Callable[[Router], Awaitable[Any]]
Use = Callable[..., Any]


@pytest.fixture(scope="module")
def volume(engine: Engine, base: BaseImage, builder_env: BuilderEnv) -> Iterator[str]:
    with one_volume(engine, base, builder_env) as name:
        yield name


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def quick_waste(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bound, sooner: what is thrown away is read at no more than 20 MB/s."""
    monkeypatch.setattr(transport, "WASTE_LIMIT_BYTES", 4_000_000)


@pytest.fixture
def use(engine: Engine, base_image: str, volume: str, notes: list[str], tmp_path: Path) -> Use:
    """Open a router over these servers in a fresh cell, and do something with it."""

    def use(work: Work, *specs: ServerSpec, listings: Any = None, **changes: Any) -> Any:
        servers = installed(volume, *specs)
        if listings:
            servers = [replace(one, listing=listings.get(one.name)) for one in servers]
        cell = CellSpec(
            image=base_image,
            limits=LIMITS,
            servers=servers,
            deadline_sec=PATIENCE_SEC,
            **{"tools_at_most": 128, **changes},
        )

        async def main() -> Any:
            async with open_cell(engine, cell, note=notes.append, logs=tmp_path) as router:
                return await work(router)

        return asyncio.run(main())

    return use


async def say(router: Router, server: str, text: str = "here", **asked: Any) -> McpResult:
    return await router.call(router.named(server, "echo"), {"text": text}, **asked)


async def names(router: Router) -> list[str]:
    return [tool.name for tool in router.tools]


async def listings_of(router: Router) -> Any:
    return router.listings


async def say_to_good(router: Router) -> McpResult:
    return await say(router, "good")


# --- behind one interface -----------------------------------------------------------------------


def test_a_call_reaches_the_server_that_it_names_though_another_has_the_same_tool(
    use: Use,
) -> None:
    which = {"tools/call": "text(os.environ['WHO'])"}
    servers = [
        spec("first", which, env={"WHO": "alive, first"}),
        spec("second", which, env={"WHO": "alive, second"}),
    ]

    async def work(router: Router) -> list[str]:
        assert await names(router) == [
            "first__echo",
            "first__bad",
            "second__echo",
            "second__bad",
        ]
        return [(await say(router, name)).text for name in ("first", "second")]

    assert use(work, *servers) == ["alive, first", "alive, second"]


def test_each_server_has_its_own_install_and_its_own_state(use: Use) -> None:
    where = "text('alive ' + os.environ['HOME'] + ' ' + sys.argv[0] + ' ' + os.environ['X'])"
    write = "open(os.environ['HOME'] + '/own', 'x').close(); " + where
    servers = [
        spec(name, {"tools/call": where, "bad": write}, env={"X": "{state}/x"})
        for name in ("a", "b")
    ]

    async def work(router: Router) -> list[str]:
        for name in ("a", "b"):
            assert not (await router.call(router.named(name, "bad"), {})).is_error
        return [(await say(router, name)).text for name in ("a", "b")]

    assert use(work, *servers) == [
        "alive /var/lib/server/a /opt/servers/a/server.py /var/lib/server/a/x",
        "alive /var/lib/server/b /opt/servers/b/server.py /var/lib/server/b/x",
    ]


def test_servers_start_beside_one_another_and_answer_beside_one_another(use: Use) -> None:
    # Each waits until the other has been asked too: one after the other, both would wait in vain.
    meet = """
import pathlib
pathlib.Path('/tmp', os.environ['ME']).touch()
while not pathlib.Path('/tmp', os.environ['OTHER']).exists(): time.sleep(0.01)
"""
    script = {
        "initialize": meet + "welcome()",
        "bad": meet.replace("ME']", "ME'] + '2'").replace("OTHER']", "OTHER'] + '2'")
        + "text('met')",
    }
    servers = [
        spec("a", script, env={"ME": "a", "OTHER": "b"}),
        spec("b", script, env={"ME": "b", "OTHER": "a"}),
    ]

    async def work(router: Router) -> list[str]:
        calls = [router.call(router.named(name, "bad"), {}) for name in ("a", "b")]
        return [result.text for result in await asyncio.gather(*calls)]

    assert use(work, *servers) == ["met", "met"]


# --- one that misbehaves ------------------------------------------------------------------------


def test_one_that_never_initialises_is_named_and_the_others_answer(
    use: Use, notes: list[str]
) -> None:
    mute = spec("mute", {"initialize": "pass"}, initialize_timeout_sec=2)

    async def work(router: Router) -> tuple[list[str], McpResult]:
        return await names(router), await say_to_good(router)

    offered, result = use(work, mute, spec("good"))
    assert (offered, result.text) == (["good__echo", "good__bad"], "here")
    silence = "the server did not initialise in 2 s"
    assert notes == [
        f"mute did not start, and is tried again: {silence}",
        f"mute is gone: {silence}",
    ]


def test_one_that_floods_stdout_is_given_up_and_the_others_answer(
    use: Use, notes: list[str], quick_waste: None
) -> None:
    flood = spec("flood", {"initialize": "while True: out('x' * 60_000)"})

    assert use(say_to_good, flood, spec("good")).text == "here"
    assert notes[-1].startswith("flood is gone: the server ended before it was initialised (4,")


def test_one_that_is_late_among_others_is_tried_again(use: Use, notes: list[str]) -> None:
    # The first process finds no mark and says nothing; its successor finds one.
    slow = "import pathlib; mark = pathlib.Path('/tmp/tried')\n"
    slow += "if mark.exists(): welcome()\nelse: mark.touch()"
    late = spec("late", {"initialize": slow}, initialize_timeout_sec=10)

    async def work(router: Router) -> McpResult:
        return await say(router, "late")

    assert use(work, late, required=["late"]).text == "here"
    assert notes == [
        "late did not start, and is tried again: the server did not initialise in 10 s"
    ]


def test_one_whose_canary_fails_is_named(use: Use, notes: list[str]) -> None:
    blind = spec("blind", {"echo": "text('')"})

    assert use(names, blind, spec("good")) == ["good__echo", "good__bad"]
    why = "canary: expected 'alive' in the result, which was: (nothing)"
    assert notes == [f"blind did not start, and is tried again: {why}", f"blind is gone: {why}"]


def test_one_that_hangs_costs_its_own_call_alone(use: Use, notes: list[str]) -> None:
    stuck = spec("stuck", {"bad": "time.sleep(3600)"})

    async def work(router: Router) -> list[McpResult]:
        hanging = asyncio.create_task(router.call(router.named("stuck", "bad"), {}, timeout_sec=3))
        others = [await say(router, "good", str(number)) for number in range(20)]
        assert not hanging.done()
        return [*others, await hanging]

    *others, hung = use(work, stuck, spec("good"))
    assert [result.text for result in others] == list(map(str, range(20)))
    assert (hung.is_error, hung.text) == (True, "bad gave no answer in 3 s")
    assert notes == ["stuck hangs: bad gave no answer in 3 s"]


def test_a_result_of_10_mb_is_refused_and_the_server_goes_on(use: Use) -> None:
    big = spec("big", {"bad": "text('x' * 10_000_000)"})

    async def work(router: Router) -> list[McpResult]:
        return [await router.call(router.named("big", "bad"), {}), await say(router, "big")]

    refused, after = use(work, big)
    assert refused.is_error
    assert "at most 8,388,608 are read" in refused.text
    assert after.text == "here"


DIES = {"bad": "sys.stderr.write('no more\\n'); sys.stderr.flush(); os._exit(3)"}


def test_one_that_dies_is_started_again_and_its_call_is_not_made_twice(
    use: Use, notes: list[str]
) -> None:
    count = "open('/tmp/calls', 'a').write('x'); " + DIES["bad"]
    many = "text(open('/tmp/calls').read())"

    async def work(router: Router) -> list[McpResult]:
        died = await router.call(router.named("frail", "bad"), {})
        counted = await router.call(router.named("other", "bad"), {})
        return [died, await say(router, "frail"), counted]

    died, after, counted = use(work, spec("frail", {"bad": count}), spec("other", {"bad": many}))
    assert died.is_error
    assert "ended while it answered bad (its process ended with 3); it last said: no more" in (
        died.text
    )
    assert "frail was started again, and this call was not made a second time" in died.text
    assert (after.text, counted.text) == ("here", "x")
    assert notes[0].startswith("frail ended, and is started again: the server ended while")


def test_one_that_dies_again_is_gone_and_says_so_at_once(use: Use, notes: list[str]) -> None:
    async def work(router: Router) -> list[McpResult]:
        tool = router.named("frail", "bad")
        dead = [await router.call(tool, {}) for _ in range(3)]
        assert set(router.gone) == {"frail"}
        return [*dead, await say_to_good(router)]

    _, second, third, other = use(work, spec("frail", DIES), spec("good"))
    assert second.text.startswith("the server frail is gone: it ended a second time")
    assert third.text == second.text
    assert other.text == "here"
    assert len(notes) == 2


def test_of_several_calls_that_a_death_cuts_one_starts_the_server_again(
    use: Use, notes: list[str]
) -> None:
    async def work(router: Router) -> list[McpResult]:
        tool = router.named("frail", "bad")
        return list(await asyncio.gather(*(router.call(tool, {}) for _ in range(3))))

    cut = use(work, spec("frail", {"bad": "time.sleep(0.5); " + DIES["bad"]}))
    assert all("was started again" in result.text for result in cut)
    assert len(notes) == 1


PROCESSES = """
processes = filter(str.isdigit, os.listdir('/proc'))
found = [open('/proc/' + number + '/cmdline').read() for number in processes]
text(str(sum('/flo' + 'od/server.py' in argv for argv in found)))
"""


def test_a_process_that_was_given_up_goes_on_beside_nobody(use: Use, quick_waste: None) -> None:
    flood = "while True: out('x' * 60_000)"

    async def work(router: Router) -> list[McpResult]:
        count = router.named("other", "bad")
        before = await router.call(count, {})
        flooded = await router.call(router.named("flood", "bad"), {})
        return [before, flooded, await router.call(count, {})]

    before, flooded, after = use(
        work, spec("flood", {"bad": flood}), spec("other", {"bad": PROCESSES})
    )
    assert "flood was started again" in flooded.text
    # The server, and what stands in front of it to say how it ends.
    assert (before.text, after.text) == ("2", "2")


# --- one that is required -----------------------------------------------------------------------


def test_a_required_server_that_does_not_start_or_is_gone_ends_the_cell(use: Use) -> None:
    async def die(router: Router) -> None:
        tool = router.named("frail", "bad")
        first = await router.call(tool, {})
        assert "was started again" in first.text
        await router.call(tool, {})

    mute = spec("mute", {"initialize": "pass"}, initialize_timeout_sec=2)
    with pytest.raises(ServerError, match="did not initialise"):
        use(die, mute, required=["mute"])
    with pytest.raises(ServerError, match="frail: it ended a second time"):
        use(die, spec("frail", DIES), required=["frail"])


# --- what is offered ----------------------------------------------------------------------------


def test_a_server_of_300_tools_is_turned_away_and_the_others_stay(
    use: Use, notes: list[str]
) -> None:
    many = spec("many", with_tools(*(f"t{number}" for number in range(299))))

    assert use(names, many, spec("good")) == ["good__echo", "good__bad"]
    assert notes == ["many is gone: it has 300 tools, and 128 of at most 128 are left"]
    with pytest.raises(ServerError, match="300 tools"):
        use(names, many, required=["many"])


def test_one_that_does_not_start_is_offered_as_it_was_planned_and_answers_nothing(
    use: Use,
) -> None:
    listings = use(listings_of, spec("mute"))
    mute = spec("mute", {"initialize": "pass"}, initialize_timeout_sec=2)

    async def work(router: Router) -> tuple[list[str], McpResult]:
        return await names(router), await say(router, "mute")

    offered, result = use(work, mute, listings=listings)
    assert offered == [tool.name for tool in routed_tools("mute", listings["mute"])]
    assert (result.is_error, result.text[:27]) == (True, "the server mute is gone: th")


def test_one_that_lists_other_tools_than_were_planned_is_not_believed(
    use: Use, notes: list[str]
) -> None:
    listings = use(listings_of, spec("turns"))
    use(listings_of, spec("turns", with_tools("new")), listings=listings)
    assert notes[-1] == "turns is gone: it lists other tools than before"


def test_one_that_sleeps_is_offered_and_starts_when_it_is_called(
    use: Use, notes: list[str]
) -> None:
    listings = use(listings_of, spec("late"), spec("never"))
    mute = spec("never", {"initialize": "pass"}, initialize_timeout_sec=2)

    async def work(router: Router) -> list[McpResult]:
        first = await asyncio.gather(*(say(router, "late") for _ in range(3)))
        return [*first, await say(router, "never")]

    *first, dead = use(work, spec("late"), mute, listings=listings, asleep=["late", "never"])
    assert [result.text for result in first] == ["here"] * 3
    assert dead.text == (
        "the server never is gone: it did not start: the server did not initialise in 2 s"
    )
    assert len(notes) == 1
