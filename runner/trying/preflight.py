"""One question to both arms, before minutes and dollars are spent: is the server used at all?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from runner.prepared import PreparedRun
from runner.records import ToolCall, ToolResult
from runner.store import RunStore
from runner.transcript import iter_transcript


def one_question(prepared: PreparedRun) -> PreparedRun:
    """The same with the first step of each scenario alone."""
    scenarios = {
        name: replace(
            item, scenario=item.scenario.model_copy(update={"steps": item.scenario.steps[:1]})
        )
        for name, item in prepared.scenarios.items()
    }
    return replace(prepared, scenarios=scenarios)


@dataclass(frozen=True, kw_only=True)
class ServerUse:
    """How the server's tools fared in one conversation."""

    calls: int
    errors: int
    first_error: str
    failure: str
    """Why its cell is no measurement; empty if it is one."""


def server_use(store: RunStore) -> ServerUse:
    """Of the cells that are not the shell's."""
    calls, results, failure = {}, [], ""
    for cell in store.plan().cells:
        attempt = store.counted_attempt(cell.id)
        if cell.server == "shell" or attempt is None:
            continue
        loaded = store.load_cell(cell)
        if not loaded.measured:
            failure = _why(loaded.result.outcome.model_dump()) if loaded.result else "it was cut"
        for event in iter_transcript(attempt.path / "transcript.jsonl"):
            if isinstance(event, ToolCall) and event.origin == "server":
                calls[event.call_id] = event.tool
            if isinstance(event, ToolResult) and event.call_id in calls:
                results.append(event)
    errors = [result.text for result in results if result.is_error]
    first = " ".join(errors[0].split())[:160] if errors else ""
    return ServerUse(calls=len(calls), errors=len(errors), first_error=first, failure=failure)


def _why(outcome: dict[str, object]) -> str:
    return str(outcome.get("reason") or outcome.get("kind"))


def remarks(use: ServerUse, network_attempts: int) -> Iterator[str]:
    """What the person must know before the run goes on."""
    if use.failure:
        yield f"its cell is no measurement: {use.failure}"
    elif not use.calls:
        yield "your server was never called: this run would compare the shell with itself"
    elif use.errors == use.calls:
        yield f"every one of {use.calls} calls was an error, such as: {use.first_error}"
    else:
        yield f"{use.calls} calls of its tools, {use.errors} errors"
    if network_attempts:
        yield f"{network_attempts} network attempts were refused: a cell has no network"
