"""`offline`, where real tools answer: it picks tools by words, and tells what came back.

It is no language model and ranks nobody. It passes where one call by the words of the request gives
the very answer, and shows that a run goes from end to end in both modes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from runner.agents.models.offline.picker import Picker, programs_turn
from runner.benchmarks.agentbench.query_prompts import query_in
from runner.protocols import Call, Message, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import digest_of
from runner.support.text import cut

VERSION = 1
TOLD_CHARS = 4000
_NUMBER = re.compile(r"(?<![\w.])\d{1,15}(?:\.\d{1,10})?(?!\w)")
OBSERVED = "\n\nObservation"


class Guesser(Picker):
    """protocols.Model. Holds nothing between turns."""

    identity = digest_of({"model": "offline", "guesser": VERSION, "picker": Picker.identity})

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,
    ) -> Turn:
        """Calls natively where tools are given, else in the tags of the react agent."""
        last = conversation[-1]
        if isinstance(last, ToolMessage):
            return _says(_cut("\n\n".join(result.text for result in last.results)), system)
        asked = last.text if isinstance(last, UserMessage) else ""
        if tools:
            return await self._picks(asked, tools, timeout_sec)
        if OBSERVED in asked:
            return _says(_tagged([], asked.partition(OBSERVED)[2].partition("\n")[2]), system)
        picked = await self._picks(asked, list(_listed(system)), timeout_sec)
        calls = [{"name": call.tool, "arguments": call.arguments} for call in picked.calls]
        return _says(_tagged(calls, "" if calls else "Nothing here helps."), system)

    async def _picks(self, asked: str, tools: Sequence[ToolSpec], timeout_sec: float) -> Turn:
        query = query_in(asked)
        request = UserMessage(text=query)
        turn = await super().turn("", [request], tools, timeout_sec=timeout_sec)
        return replace(turn, calls=tuple(_with_numbers(call, query) for call in turn.calls))


def _with_numbers(call: Call, query: str) -> Call:
    """Where a call has several numbers, they are the query's in its order."""
    found = [float(number) for number in _NUMBER.findall(query)]
    arguments = dict(call.arguments)
    for key in [key for key, value in arguments.items() if type(value) in (int, float)]:
        if found:
            number = found.pop(0)
            arguments[key] = int(number) if number.is_integer() else number
    return replace(call, arguments=arguments)


def _cut(text: str) -> str:
    return cut(text, TOLD_CHARS)[0]


def _says(text: str, system: str) -> Turn:
    return programs_turn(text, (), len(system), len(text))


def _tagged(calls: Sequence[object], answer: str) -> str:
    return (
        f"<reasoning>By the words of the request.</reasoning>\n"
        f"<tool_calls>{json.dumps(calls)}</tool_calls>\n<answer>{_cut(answer)}</answer>"
    )


def _listed(system: str) -> Iterator[ToolSpec]:
    """The tools that the react agent writes into its prompt, a line of JSON each."""
    for line in system.splitlines():
        if line.startswith('{"arguments"'):
            tool = json.loads(line)
            yield ToolSpec(
                name=tool["name"],
                description=tool["description"],
                input_schema=tool["arguments"],
                origin="server",
            )
