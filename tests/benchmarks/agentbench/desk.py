"""A checkout with two small servers of a testbed, and drafts of queries for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker

from runner.records import Canary, McpCall, ServerSpec
from runner.sandbox.base_image import read_pins
from runner.servers.definition_rules import places_among
from runner.servers.volume import volume_name
from tests.benchmarks.agentbench.servers import spec
from tests.checkout import BASE_FILES, ROOT, Checkout, copy
from tests.tiny_server import Folder

SCRIPT = {
    "tools/list": "result({'tools': [tool(it) for it in ('multiply', 'spell', 'tick', 'fall')]})",
    "multiply": "a = asked['params']['arguments']; text('product: %g' % (a['a'] * a['b']))",
    "spell": """
number = str(asked["params"]["arguments"]["number"])
words = "zero one two three four five six seven eight nine".split()
if number.isdigit():
    text(" ".join(words[int(digit)] for digit in number))
else:
    said = {"type": "text", "text": "no digits: " + number}
    result({"content": [said], "isError": True})
""",
    "fall": "sys.exit('no more of this')",
    "tick": "ticks = globals().get('ticks', 0) + 1; text('tick number %d' % ticks)",
}
ALIVE = Canary(
    repository="*",
    call=McpCall(tool="multiply", arguments={"a": 12, "b": 12}),
    contains="144",
)


def server(name: str) -> ServerSpec:
    return spec(name, SCRIPT, canaries=(ALIVE,))


def multiply(a: Any, b: Any, server: str = "sums", **more: Any) -> dict[str, Any]:
    return {"server": server, "tool": "multiply", "arguments": {"a": a, "b": b}, **more}


SINGLE = {
    "id": "seats",
    "category": "single-server-single-call",
    "query": "The hall has 37 rows of 53 seats. How many people fit?",
    "servers": ["sums"],
    "reference_answer": "1961 people fit.",
    "values": [{"text": "1961", "call": 1}],
    "calls": [multiply(37, 53)],
    "provenance": "written for a test",
}
CHAIN = {
    "id": "cheque",
    "category": "multi-server-sequential-call",
    "query": "37 tickets at 53 each: write the sum on the cheque in words, digit by digit.",
    "servers": ["sums", "words"],
    "reference_answer": "One nine six one.",
    "values": [{"text": "one nine six one", "call": 2}],
    "calls": [
        multiply(37, 53, gives={"sum": r"product: (\d+)"}),
        {"server": "words", "tool": "spell", "arguments": {"number": "{{sum}}"}},
    ],
    "provenance": "written for a test",
}
CLOCK = {
    **SINGLE,
    "id": "clock",
    "query": "Which tick is it?",
    "calls": [{"server": "sums", "tool": "tick"}],
}


DESK = {name: server(name) for name in ("sums", "words")}


def make(folder: Path, *queries: dict[str, Any]) -> Checkout:
    """Their drafts lie in `drafts.yaml`."""
    made = make_with(DESK, folder)
    # Through JSON: what two queries share would be written as an alias, which no reader takes.
    made.write("drafts.yaml", json.loads(json.dumps({"queries": queries})))
    return made


def make_with(testbed: Mapping[str, ServerSpec], folder: Path) -> Checkout:
    for name in BASE_FILES:
        copy(ROOT / name, folder / name)
    made = Checkout(folder, commit="")
    (folder / "scenarios").mkdir()
    for name, one in testbed.items():
        path = f"images/servers/testbed/{name}/server.yaml"
        made.write(path, one.model_dump(mode="json", exclude_none=True))
    return made


def remove_volumes(engine: docker.DockerClient, testbed: Mapping[str, ServerSpec] = DESK) -> None:
    """What these servers were installed into."""
    recipe = read_pins(ROOT).recipe
    for name, one in testbed.items():
        # A test that failed early may not have installed it.
        with suppress(docker.errors.NotFound):
            volume = volume_name(Folder(one, Path()), recipe, places_among(name))
            engine.api.remove_volume(volume, force=True)
