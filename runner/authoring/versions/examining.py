"""Both versions examined in turns, and a session of calls replayed on each."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from runner.authoring.onboarding.calling import Stand
from runner.authoring.onboarding.tool_roles import for_looking
from runner.authoring.versions.defining import DefinedVersion
from runner.authoring.versions.session_changes import ReplayedAnswer
from runner.records import McpCall, ServerCard, ToolCall, canonical_json
from runner.records.run_store import RunStore
from runner.records.transcript_files import iter_transcript
from runner.records.versions import VersionCheck, VersionReading, VersionSide
from runner.runs.prepare import check_server
from runner.sandbox.session import ServerSession
from runner.servers.definition_rules import PLACEHOLDERS, fill_call
from runner.servers.example_arguments import Target, arguments_for
from runner.servers.lock_checks import locked_packages
from runner.support.errors import FairtrialError, ServerError

if TYPE_CHECKING:
    import mcp_types

_UNUSUAL = r"[^A-Za-z0-9_-]"
"""What no name of a tool holds that a model is told."""
READINGS = 3
"""Examinations of each version."""
_NOISY: frozenset[VersionCheck] = frozenset(
    ("probe", "ready", "index", "memory", "disk", "network", "stdout")
)
_BY_TOOLS: frozenset[VersionCheck] = frozenset(("start", "tools", "schema", "session"))
"""That need each tool's schema, for which a cell of its own is started."""
MOST_CALLS = 90
"""Of a replayed session."""
MOST_SEC = 90
"""Of a replayed session, in the base: what it has not answered by then is asked of nobody."""
MOST_SLOWER, SLACK_SEC = 4, 30
"""Times as long, and as many seconds besides, that the same calls may take once more."""
LEAST_CALLS = 20
"""Of a session that recorded fewer they are made again: some servers fail after a while."""
MOST_EXAMPLES = 4
"""Calls of each tool, whatever a program called of it: what lists a folder refuses a file, and both
being refused would hide whatever changed; and who asks for one file sees nothing of a commit."""
MOST_STARTS = 4
"""Of a server that ends in the middle of a session: behind that, its other calls are not made."""


@dataclass(frozen=True, kw_only=True)
class ExaminedVersion:
    """One version's readings, and its tools."""

    side: VersionSide
    stand: Stand
    tools: tuple[mcp_types.Tool, ...] = ()


def side_of(defined: DefinedVersion, stand: Stand) -> ExaminedVersion:
    """Before anything of it is started."""
    side = VersionSide(
        asked=defined.asked,
        server=stand.server.spec.name,
        version=defined.spec.version,
        packages=locked_packages(stand.server),
        unpinned=defined.facts.unpinned,
    )
    return ExaminedVersion(side=side, stand=stand)


def examined(
    base: ExaminedVersion, head: ExaminedVersion, only: Sequence[VersionCheck] = ()
) -> tuple[ExaminedVersion, ExaminedVersion]:
    """With their readings, in turns that change: what drifts meanwhile meets both alike.

    `only`: the checks that are asked for; one reading does where none of them is noisy.
    """
    turns = READINGS if _NOISY & {*(only or _NOISY)} else 1
    found = [base, head]
    if _BY_TOOLS & {*(only or _BY_TOOLS)}:
        found = [with_tools(one) for one in found]
    for turn in range(turns):
        for place in (0, 1) if turn % 2 == 0 else (1, 0):
            found[place] = with_reading(found[place])
    return found[0], found[1]


def with_tools(one: ExaminedVersion) -> ExaminedVersion:
    try:
        tools = one.stand.tools()
    except ServerError as error:
        return _faulty(one, error)
    return replace(one, tools=tools)


def with_reading(one: ExaminedVersion) -> ExaminedVersion:
    """One more examination, in a fresh cell; none of a version that cannot be examined."""
    if one.side.fault:
        return one
    stand = one.stand
    try:
        card = check_server(stand.checkout, one.side.server, stand.loaded.scenario.id)
    except ServerError as error:
        return _faulty(one, error)
    update = {
        "protocol": card.protocol,
        "tools": card.tools,
        "schema_tokens": card.schema_tokens,
        "install_mb": round(card.install_mb, 1),
        "readings": (*one.side.readings, _reading(card)),
    }
    side = one.side.model_copy(update=update)
    return replace(one, side=side)


def _faulty(one: ExaminedVersion, error: FairtrialError) -> ExaminedVersion:
    fault = error.what.splitlines()[0]
    return replace(one, side=one.side.model_copy(update={"fault": fault}))


def _reading(card: ServerCard) -> VersionReading:
    return VersionReading(
        initialize_sec=card.initialize_sec,
        ready_sec=card.initialize_sec + card.warm_up_sec + card.ready_sec,
        index_sec=card.warm_up_sec,
        memory_mb=card.peak_memory_mb,
        disk_mb=card.state_mb,
        network_attempts=card.network_attempts,
        stray_lines=card.stray_lines,
        probe_passed=card.canary_passed,
    )


# --- a session ------------------------------------------------------------------------------------


def calls_to_replay(
    one: ExaminedVersion, recorded: Sequence[McpCall], target: Target
) -> list[McpCall]:
    """The health probe, what a session recorded, and calls of each tool that only reads."""
    label = one.stand.loaded.scenario.repository.label
    probes = [it.call for it in one.stand.server.spec.canaries if it.repository in (label, "*")]
    own = {f"__{re.sub(_UNUSUAL, '_', tool.name)}": tool.name for tool in one.tools}
    asked = [*probes[:1], *(it for call in recorded for it in _by_own_name(call, own))]
    calls = each_once(asked, list(example_calls(one.tools, target)))
    rounds = max(1, -(-LEAST_CALLS // max(1, len(calls))))
    return calls * rounds


def each_once(asked: Sequence[McpCall], examples: Sequence[Sequence[McpCall]]) -> list[McpCall]:
    """What was asked, then an example of each tool, then the next of each; some of all if many."""
    turns = [call for turn in zip_longest(*examples) for call in turn if call is not None]
    kept: dict[str, McpCall] = {}
    for call in [*asked[: max(MOST_CALLS // 3, MOST_CALLS - len(turns))], *turns]:
        kept.setdefault(canonical_json([call.tool, call.arguments]), call)
    return list(kept.values())[:MOST_CALLS]


def _by_own_name(call: McpCall, own: Mapping[str, str]) -> Iterator[McpCall]:
    """The model knows the tool as `mcp__SERVER__TOOL`, and no server does."""
    for ending in sorted(own, key=len, reverse=True):
        if call.tool.endswith(ending):
            yield call.model_copy(update={"tool": own[ending]})
            return


def example_calls(tools: Sequence[mcp_types.Tool], target: Target) -> Iterator[list[McpCall]]:
    """The calls of each tool, the likeliest first; none of one that nothing is known for."""
    for tool in for_looking(tools):
        described = tool.description or ""
        known = arguments_for(tool.input_schema, target, described=described, optional=False)
        if found := list(islice(known, MOST_EXAMPLES)):
            yield [McpCall(tool=tool.name, arguments=it) for it in found]


def recorded_calls(store: RunStore, arm: str) -> list[McpCall]:
    """What the arm's cells called of its server, in their order."""
    calls = []
    for cell in store.plan().cells:
        attempt = store.counted_attempt(cell.id) if cell.server == arm else None
        for event in iter_transcript(attempt.transcript) if attempt else ():
            if isinstance(event, ToolCall) and event.origin == "server":
                calls.append(McpCall(tool=event.tool, arguments=event.arguments))
    return calls


def replayed(
    stand: Stand, calls: Sequence[McpCall], most_sec: float = MOST_SEC
) -> list[ReplayedAnswer]:
    """One answer a call, in one session; in another one behind a call that ended it.

    No call is begun once they have taken `most_sec`.
    """
    answers: list[ReplayedAnswer] = []
    for _ in range(MOST_STARTS):
        if len(answers) == len(calls) or seconds_of(answers) > most_sec:
            break
        try:
            asyncio.run(_replay(stand, calls, answers, most_sec))
        except ServerError as error:
            what = error.what.splitlines()[0]
            answers.append(ReplayedAnswer(text="", is_error=True, died=what))
    return answers


def seconds_of(answers: Sequence[ReplayedAnswer]) -> float:
    return sum(it.wall_sec for it in answers)


async def _replay(
    stand: Stand, calls: Sequence[McpCall], answers: list[ReplayedAnswer], most_sec: float
) -> None:
    """`answers`: of the calls before; each answer is put there as it comes."""
    async with stand.session() as session:
        for call in calls[len(answers) :]:
            if seconds_of(answers) > most_sec:
                return
            answers.append(await _answer(session, call, stand.server.spec.call_timeout_sec))


async def _answer(session: ServerSession, call: McpCall, limit_sec: float) -> ReplayedAnswer:
    filled = fill_call(call, PLACEHOLDERS, session.answers)
    result = await session.call(call.tool, filled, timeout_sec=limit_sec)
    return ReplayedAnswer(text=result.text, is_error=result.is_error, wall_sec=result.wall_sec)
