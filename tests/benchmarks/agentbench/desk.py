"""A checkout with two small servers of a testbed, and drafts of queries for them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker

from runner.records import ServerSpec
from runner.sandbox.base_image import read_pins
from runner.servers.definition_rules import places_among
from runner.servers.volume import volume_name
from tests.checkout import BASE_FILES, ROOT, SESSION, Checkout, copy
from tests.helpers import PATIENCE_SEC
from tests.tiny_server import Folder

SOURCE = r"""
import json, sys
calls = 0
def answer(tool, given):
    global calls
    calls += 1
    if tool == "multiply":
        return "product: %g" % (given["a"] * given["b"]), False
    if tool == "spell" and not str(given["number"]).isdigit():
        return "no digits: %s" % given["number"], True
    if tool == "spell":
        return " ".join("zero one two three four five six seven eight nine".split()[int(d)]
                        for d in str(given["number"])), False
    if tool == "tick":
        return "tick number %d" % calls, False
    return "no tool is called " + tool, True
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, wanted = asked["method"], asked.get("params", {})
    result = {}
    if method == "initialize":
        result = {"protocolVersion": wanted["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "desk", "version": "9"}}
    elif method == "tools/list":
        result = {"tools": [{"name": name, "description": name, "inputSchema": {"type": "object"}}
                            for name in ("multiply", "spell", "tick")]}
    elif method == "tools/call":
        text, failed = answer(wanted["name"], wanted.get("arguments", {}))
        result = {"content": [{"type": "text", "text": text}], "isError": failed}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def server(name: str) -> dict[str, Any]:
    canary = {
        "repository": "*",
        "call": {"tool": "multiply", "arguments": {"a": 12, "b": 12}},
        "contains": "144",
    }
    return {
        "name": name,
        "title": name,
        "version": "1.0",
        "licence": "Apache-2.0",
        "homepage": "https://example.org",
        "command": ["python3", "{install}/server.py"],
        "files": {"server.py": f"# {SESSION}{SOURCE}"},
        "line_base": 1,
        "canaries": [canary],
        "initialize_timeout_sec": PATIENCE_SEC,
        "call_timeout_sec": PATIENCE_SEC,
    }


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


def make(folder: Path, *queries: dict[str, Any]) -> Checkout:
    """Their drafts lie in `drafts.yaml`."""
    for name in BASE_FILES:
        copy(ROOT / name, folder / name)
    made = Checkout(folder, commit="")
    (folder / "scenarios").mkdir()
    for name in ("sums", "words"):
        made.write(f"images/servers/testbed/{name}/server.yaml", server(name))
    # Through JSON: what two queries share would be written as an alias, which no reader takes.
    made.write("drafts.yaml", json.loads(json.dumps({"queries": queries})))
    return made


def remove_volumes(engine: docker.DockerClient) -> None:
    """What these servers were installed into."""
    recipe = read_pins(ROOT).recipe
    for name in ("sums", "words"):
        folder = Folder(ServerSpec.model_validate_json(json.dumps(server(name))), Path())
        # A test that failed early may not have installed it.
        with suppress(docker.errors.NotFound):
            volume = volume_name(folder, recipe, places_among(name))
            engine.api.remove_volume(volume, force=True)
