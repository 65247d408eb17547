"""`fairtrial server`: the servers that there are, and what one does in the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from runner.cli import options
from runner.cli.opening import open_checkout
from runner.cli.options import Request, said
from runner.cli.output import FAILED, OK, show, show_either, tell

if TYPE_CHECKING:
    from runner.catalog.catalog import LazyMapping, LoadedServer
    from runner.catalog.checkout import Checkout
    from runner.records import ServerCard


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    action: Literal["list", "check", "tools", "call"] = said()
    names: tuple[str, ...] = said(
        "[NAME …]", "default: every server; tools: NAME; call: NAME TOOL '{\"key\": …}'", ()
    )
    scenario: str = said(
        "--scenario SCENARIO",
        "whose repository to mount (default: one the server has a health probe for)",
        "",
    )
    testbed: bool = said("--testbed", "every server is MCP-AgentBench's testbed")
    json: bool = options.as_json()


def run(request: Verb) -> int:
    does = {"list": _list, "check": _check, "tools": _tools, "call": _call}
    return does[request.action](request, open_checkout(request.root))


def _known(checkout: Checkout, request: Verb) -> LazyMapping[LoadedServer]:
    return checkout.catalog.testbed if request.testbed else checkout.catalog.servers


def _list(request: Verb, checkout: Checkout) -> int:
    known = _known(checkout, request)
    sound = known.sound()
    lines = [f"{name:26} {it.spec.version:10} {it.spec.title}" for name, it in sound.items()]
    specs = [server.spec.model_dump(mode="json") for server in sound.values()]
    show_either(specs, "\n".join(lines), as_json=request.json)
    for name, problems in known.broken().items():
        tell(f"broken: {name}: {'; '.join(map(str, problems))}")
    return OK


def _check(request: Verb, checkout: Checkout) -> int:
    from runner.report.card import card_text

    names = request.names or tuple(_known(checkout, request))
    cards = [_card_of(checkout, name, request.scenario) for name in names]
    shown = [card.model_dump(mode="json") for card in cards]
    show_either(shown, "\n".join(map(card_text, cards)), as_json=request.json)
    return OK if all(card.canary_passed for card in cards) else FAILED


def _card_of(checkout: Checkout, name: str, scenario: str) -> ServerCard:
    from runner.runs.prepare import check_server
    from runner.servers.lock_checks import lock_remarks

    server = checkout.server(name)
    catalog = checkout.catalog
    beside = catalog.testbed if name in catalog.testbed else catalog.servers
    card = check_server(checkout, name, scenario)
    return card.model_copy(update={"locks": lock_remarks(server, beside.sound().values())})


def _tools(request: Verb, checkout: Checkout) -> int:
    from runner.authoring.onboarding.calling import stand, tools_lines

    name = request.names[0] if request.names else ""
    tools = stand(checkout, name, request.scenario).tools()
    shown = [tool.model_dump(mode="json", by_alias=True) for tool in tools]
    return show_either(shown, "\n".join(tools_lines(tools)), as_json=request.json)


def _call(request: Verb, checkout: Checkout) -> int:
    from runner.authoring.onboarding.calling import stand
    from runner.records import load_json

    name, tool, arguments = [*request.names, "", "", ""][:3]
    if not tool:
        return _tools(request, checkout)
    stood = stand(checkout, name, request.scenario)
    result = stood.call(tool, load_json(arguments or "{}"))
    show(result.text)
    tell(f"{'an error' if result.is_error else 'answered'} in {result.wall_sec:.2f} s")
    return FAILED if result.is_error else OK
