"""What a turn's tokens were of: prompts, tools, results, the model's own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runner.protocols import Call, Message, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import TokenBreakdown, canonical_json


def token_breakdown(
    system: str, conversation: Sequence[Message], tools: Sequence[ToolSpec], turn: Turn
) -> TokenBreakdown:
    """`conversation`: what the model was given, the turn itself left out.

    Providers count input as a whole; it is shared out by characters.
    """
    shown = {"prompts": len(system), "schemas": schema_chars(tools), "results": 0, "replies": 0}
    for message in conversation:
        match message:
            case UserMessage():
                shown["prompts"] += len(message.text)
            case ToolMessage():
                shown["results"] += sum(len(result.text) for result in message.results)
            case Turn():
                shown["replies"] += sum(_written(message).values())
    given = apportion(turn.input_tokens + turn.cache_read_tokens, shown)
    return TokenBreakdown(estimated=True, **given, **_output(turn))


def _output(turn: Turn) -> dict[str, int]:
    written = _written(turn)
    if turn.thinking_tokens is None:
        return apportion(turn.output_tokens, written)
    # The one part that some providers count. What they show of it may be a summary.
    thinking = min(turn.thinking_tokens, turn.output_tokens)
    rest = {name: chars for name, chars in written.items() if name != "thinking"}
    return {"thinking": thinking, **apportion(turn.output_tokens - thinking, rest)}


def _written(turn: Turn) -> dict[str, int]:
    """Characters that the model wrote."""
    return {
        "thinking": len(turn.thinking),
        "prose": len(turn.text),
        "arguments": sum(map(_call_chars, turn.calls)),
    }


def _call_chars(call: Call) -> int:
    return len(call.tool) + len(canonical_json(call.arguments))


def schema_chars(tools: Sequence[ToolSpec]) -> int:
    """What the definitions of the tools add to every request."""
    total = 0
    for tool in tools:
        total += len(tool.name) + len(tool.description) + len(canonical_json(tool.input_schema))
    return total


def apportion(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Whole numbers in proportion to the weights; their sum is the total, to the last one.

    The largest remainders are rounded up. Without any weight the first name gets it all.
    """
    weight = sum(weights.values())
    if not weight:
        first = next(iter(weights))
        return {name: total if name == first else 0 for name in weights}
    shares = {name: total * part // weight for name, part in weights.items()}
    remainders = {name: total * part % weight for name, part in weights.items()}
    largest = sorted(weights, key=lambda name: -remainders[name])
    for name in largest[: total - sum(shares.values())]:
        shares[name] += 1
    return shares
