"""`fairtrial server`: the servers that there are, and what one does in the sandbox."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from runner.cli import opening, options, shapes
from runner.cli.output import FAILED, OK, show, show_either, tell


class Verb(options.Request):
    action: Literal["list", "check", "tools", "call"] = options.said()
    names: tuple[str, ...] = options.said(
        "[NAME …]", "default: every server; tools: NAME; call: NAME TOOL '{\"key\": …}'"
    )
    scenario: str = options.said(
        "--scenario SCENARIO",
        "whose repository to mount (default: one the server has a health probe for)",
    )
    testbed: bool = options.said("--testbed", "every server is MCP-AgentBench's testbed")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    checkout = opening.open_checkout(request.root)
    known = checkout.catalog.testbed if request.testbed else checkout.catalog.servers
    if request.action == "list":
        return _list(known, as_json=request.json)
    return (
        _check(request, checkout, known) if request.action == "check" else _ask(request, checkout)
    )


def _list(known: shapes.LazyMapping[shapes.LoadedServer], *, as_json: bool) -> int:
    sound = known.sound()
    lines = [f"{name:26} {it.spec.version:10} {it.spec.title}" for name, it in sound.items()]
    specs = [server.spec.model_dump(mode="json") for server in sound.values()]
    show_either(specs, "\n".join(lines), as_json=as_json)
    for name, problems in known.broken().items():
        tell(f"broken: {name}: {'; '.join(map(str, problems))}")
    return OK


def _check(request: Verb, checkout: shapes.Checkout, known: Iterable[str]) -> int:
    from runner.report.card import card_text

    cards = [_card_of(checkout, name, request.scenario) for name in request.names or known]
    shown = [card.model_dump(mode="json") for card in cards]
    show_either(shown, "\n".join(map(card_text, cards)), as_json=request.json)
    return OK if all(card.canary_passed for card in cards) else FAILED


def _card_of(checkout: shapes.Checkout, name: str, scenario: str) -> shapes.ServerCard:
    from runner.runs.prepare import check_server
    from runner.servers.lock_checks import lock_remarks

    server, catalog = checkout.server(name), checkout.catalog
    beside = catalog.testbed if name in catalog.testbed else catalog.servers
    card = check_server(checkout, name, scenario)
    return card.model_copy(update={"locks": lock_remarks(server, beside.sound().values())})


def _ask(request: Verb, checkout: shapes.Checkout) -> int:
    """Its tools, or what one of them answers."""
    from runner.authoring.onboarding import calling
    from runner.records import load_json

    name, tool, arguments = [*request.names, "", "", ""][:3]
    stood = calling.stand(checkout, name, request.scenario)
    if request.action == "tools" or not tool:
        tools = stood.tools()
        shown = [tool.model_dump(mode="json", by_alias=True) for tool in tools]
        return show_either(shown, "\n".join(calling.tools_lines(tools)), as_json=request.json)
    result = stood.call(tool, load_json(arguments or "{}"))
    show(result.text)
    tell(f"{'an error' if result.is_error else 'answered'} in {result.wall_sec:.2f} s")
    return FAILED if result.is_error else OK
