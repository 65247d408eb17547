"""From what the person asked to the first step."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from runner.errors import FairtrialError
from runner.records import McpCall, WarmUp, digest_of
from runner.trying.asked import read_asked
from runner.trying.flow import DEFAULT_SCENARIO, Ask, Given, Steps
from runner.trying.searching import SETUP_SEC

if TYPE_CHECKING:
    from runner.checkout import Checkout
    from runner.requests import RunRequest, TryRequest


def steps_for(request: TryRequest, checkout: Checkout, ask: Ask) -> Steps:
    """Raises FairtrialError for what cannot be read."""
    if len(request.scenarios) > 1:
        hint = (
            "one is enough to begin with; --save it, then `fairtrial run --scenario A --scenario B`"
        )
        raise FairtrialError("a try has one scenario", where="--scenario", hint=hint)
    name = request.scenarios[0] if request.scenarios else DEFAULT_SCENARIO
    steps = Steps(
        checkout=checkout,
        asked=read_asked(request.asked, request.command),
        given=_given(request),
        loaded=checkout.scenario(name),
        ask=ask,
    )
    if not request.scenarios:
        steps.guess(f"the questions of {name}", "--scenario ID")
    return steps


def _given(request: TryRequest) -> Given:
    canary = None
    if request.canary is not None:
        tool, arguments, text = request.canary
        canary = (McpCall(tool=tool, arguments=_object(arguments, "--canary")), text)
    return Given(
        args=None if request.args is None else tuple(shlex.split(request.args)),
        env=dict(_variable(text) for text in request.env),
        entry=request.entry,
        warm_up=tuple(_step(tool, arguments) for tool, arguments in request.warm_up),
        canary=canary,
        before=request.before,
    )


def _step(tool: str, arguments: str) -> WarmUp:
    call = McpCall(tool=tool, arguments=_object(arguments, "--warm-up"))
    return WarmUp(call=call, timeout_sec=SETUP_SEC)


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        hint = 'in quotes, such as \'{"path": "{workspace}"}\''
        raise FairtrialError(f"no JSON: {error}", where=where, hint=hint) from error
    if not isinstance(value, dict):
        raise FairtrialError("arguments are an object", where=where, hint="such as '{}'")
    return value


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise FairtrialError("it is no NAME=VALUE", where=f"--env {text}", hint="such as A=1")
    return name, value


def run_name(checkout: Checkout, request: RunRequest) -> str:
    """Of the same server and questions the same, so that a killed run goes on."""
    server = request.servers[0]
    inputs = [checkout.server(server).digest, *request.scenarios, *request.models, request.trials]
    return f"{server[:48]}-{digest_of(inputs)[:8]}"
