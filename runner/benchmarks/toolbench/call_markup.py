"""Calls in the markup that models were taught: XML of several kinds, and what is none of it.

What a model thinks aloud or repeats of a tool's result is no answer, and is taken out first. Every
pass is linear, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from runner.benchmarks.toolbench.lenient_json import UnreadableError, parse_lenient_json

MOST_TAGS = 20_000
"""Of one text that are looked at."""
MOST_HEADS = 1_000
_ASIDE = re.compile(
    r"<(?P<closes>/)?(?P<name>think|thinking|thought|reasoning|scratchpad|reflection"
    r"|tool_results?|tool_response|tool_outputs?|function_results?|function_response|observation)"
    r"(?:\s[^<>]{0,200})?>",
    re.I,
)
_OBSERVED = re.compile(
    r"^[*_]{0,2}(?:observation|tool (?:result|response|output))[*_]{0,2}\s?:.*$", re.I | re.M
)
_TOKEN = re.compile(r"<[|｜][^<>|｜\n]{1,40}[|｜]>")
_HEAD = re.compile(
    r"<invoke\s+name=[\"'](?P<invoked>[^\"'<>]{1,256})[\"']\s*>"
    r"|<function=[\"']?(?P<function>[^\"'<>]{1,256})[\"']?>"
    r"|<tool_call>\s*(?P<called>[A-Za-z_][\w.-]{0,127})\s*(?=<arg_key>|</tool_call>)"
    r"|<tool_name>\s*(?P<named>[A-Za-z_][\w.-]{0,127})\s*</tool_name>"
)
_END = re.compile(r"</(?:invoke|function|tool_call|parameters)>")
_ARGUMENT = re.compile(
    r"<parameter(?:\s+name=|=)[\"']?(?P<key>[^\"'<>]{1,128})[\"']?[^<>]{0,80}>"
    r"(?P<value>[^<]*+(?:<(?!/?parameter\b)[^<]*+)*+)</parameter>"
    r"|<arg_key>(?P<arg>[^<>]{1,128})</arg_key>\s{0,8}"
    r"<arg_value>(?P<given>[^<]*+(?:<(?!/?arg_)[^<]*+)*+)</arg_value>"
    r"|<(?P<tag>(?!tool_name|parameter|arg_)[A-Za-z_]\w{0,127})>(?P<inner>[^<]*+)</(?P=tag)>"
)
"""A value ends where another begins, so that what is never closed is not read again and again."""


def without_asides(text: str) -> str:
    """Without what is thought aloud, a tool's results, and a template's special tokens."""
    text = "".join(_outside(text))
    return _TOKEN.sub("\n", _OBSERVED.sub("", text))


def _outside(text: str) -> Iterator[str]:
    begin, opened = 0, ""
    for count, tag in enumerate(_ASIDE.finditer(text)):
        name = tag["name"].lower()
        if count == MOST_TAGS:
            break
        if opened:
            if tag["closes"] and name == opened:
                begin, opened = tag.end(), ""
        elif not tag["closes"]:
            yield text[begin : tag.start()]
            begin, opened = tag.start(), name
        elif name.startswith(("think", "reason")):
            begin = tag.end()  # its beginning stood in the prompt
    # What is never closed hides nothing but itself, if nothing of an answer follows.
    if not opened:
        yield text[begin:]


def marked_calls(
    text: str, tools: Mapping[str, Mapping[str, Any]] | Collection[str]
) -> Iterator[tuple[str, Any]]:
    """(name, arguments) of each call in XML, in order."""
    heads = list(islice(_HEAD.finditer(text), MOST_HEADS))
    for place, head in enumerate(heads):
        name = next(filter(None, head.groups())).strip()
        limit = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        end = _END.search(text, head.end(), limit)
        body = text[head.end() : end.start() if end else limit]
        yield name, _arguments(body, schemas_of(name, tools))


def _arguments(body: str, schemas: Mapping[str, Any]) -> dict[str, Any]:
    if body.strip().startswith("{"):
        try:
            value = parse_lenient_json(body)
        except UnreadableError:
            return {}
        return value if isinstance(value, dict) else {}
    if "</" not in body:
        return {}
    found = {}
    for part in _ARGUMENT.finditer(body):
        key = part["key"] or part["arg"] or part["tag"]
        value = part["value"] or part["given"] or part["inner"] or ""
        found[key.strip()] = typed(value.strip(), schemas.get(key.strip()))
    return found


def schemas_of(
    name: str, tools: Mapping[str, Mapping[str, Any]] | Collection[str]
) -> Mapping[str, Any]:
    """The schemas of a tool's arguments by name, in order; empty where they are not known."""
    if not isinstance(tools, Mapping):
        return {}
    for known in (name, name.rpartition("__")[2], name.rpartition(".")[2]):
        if known in tools:
            found: Mapping[str, Any] = tools[known]
            return found
    return {}


def typed(text: str, schema: Any) -> Any:
    """A value that is written without quotes: by its schema, else JSON that is no text."""
    if isinstance(schema, Mapping) and schema.get("type") == "string":
        return text
    try:
        return parse_lenient_json(text)
    except UnreadableError:
        return text
