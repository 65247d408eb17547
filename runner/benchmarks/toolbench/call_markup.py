"""Calls in the markup that models were taught: XML of several kinds, and what is none of it.

What a model thinks aloud or repeats of a tool's result is no answer, and is taken out first. Every
pass is linear, whatever the text.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
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
    r"^[*_]{0,2}(?:observation|tool (?:result|response|output))[*_]{0,2}\s?:[^\S\n]{0,8}\S.*$",
    re.I | re.M,
)
_ANALYSIS = re.compile(
    r"<\|channel\|>analysis<\|message\|>[^<]*+(?:<(?!\|(?:end|call|return|start|channel)\|>)[^<]*+)*+"
)
"""What gpt-oss thinks aloud, in the place of `<think>`."""
_TOKEN = re.compile(r"<[|｜][^<>|｜\n]{1,40}[|｜]>")
_CALLS = re.compile(r"tool|call|python_tag|action", re.I)
CALL_MARK = "\x1e"
"""Where a template's token stood that opens or closes calls: white space to every other reader."""
_DIALECT = re.compile(
    r"<(/?)(?:[|｜][A-Za-z]{1,16}[|｜]|[A-Za-z][\w-]{0,24}[:|]|[a-z]{1,16}_)"
    r"(?=(?:function_calls?|tool_calls?|invoke|parameter|arg_key|arg_value|arguments|think)\b)"
)
"""What a family of models sets before the same tags: `<｜DSML｜invoke`, `<longcat_arg_key>`."""
_FLOWER = re.compile(r"✿(FUNCTION|ARGS|RESULT|RETURN)✿:?[^\S\n]?")
_FLOWERS = {"FUNCTION": "\nAction: ", "ARGS": "\nAction Input: "}
"""Qwen's, as others write them."""
_QUOTED = re.compile(r"(<[|｜]\"[|｜]>|<escape>)(.*?)\1", re.S)
_ARGS = re.compile(r"\[ARGS\](?=\s{0,8}\{)")
_BOT_CALL = re.compile(r"^Call:(?=[^\n]*?<bot_end>)", re.M)
"""NexusRaven's, behind whose end it says why."""
_NAMED_FENCE = re.compile(
    r"^(?P<name>[A-Za-z_][\w.-]{0,127}+)[^\S\n]{0,8}\n(?P<opens>```python\s{1,8})tool_call\(", re.M
)
"""ChatGLM3's: a tool's name, and a function of one name for all in a fence."""
_HEAD = re.compile(
    r"<(?:invoke|function|tool|tool_call|function_call)\s*name=[\"'](?P<invoked>[^\"'<>]{1,256})[\"'][^<>]{0,80}>"
    r"|<?\bfunction=[\"']?(?P<function>[^\"'<>]{1,256})[\"']?>"
    r"|(?<![\w.-])(?P<keyed>[^\W\d][\w.-]{0,127}+)\s{0,8}(?:<tool_sep>\s{0,8})?(?=<arg_key>|</tool_call>)"
    r"|<(?P<of>tool|function|(?:tool_)?name)>\s{0,8}(?P<named>[^\W\d][\w.-]{0,127})\s{0,8}</(?P=of)>"
    r"|<(?P<tag>[^\W\d][\w.-]{0,127})>"
)
"""A call's name: an attribute, bare before its arguments, a tag's text, or the tag itself."""
_EXPLICIT = ("invoked", "function")
_CDATA = ("<![CDATA[", "]]>")
_ENTITY = re.compile(r"&#?\w{1,8};")
"""What HTML takes without a semicolon would spoil `?a=1&region=eu`."""
_END = re.compile(r"</(?:invoke|function|tool|tool_call|function_call|parameters|arguments)>")
_WRAPPED = re.compile(r"\s{0,8}<(?:arguments|parameters|input)>(?=\s{0,8}\{)")
_INPUT = re.compile(r"<tool_input>([^<]*+)(?:</tool_input>)?")
_PARAMETER = "(?:[a-z]{1,16}:)?(?:parameter_name|parameter|param|argument|arg)"
_ARGUMENT = re.compile(
    rf"<{_PARAMETER}(?:\s*name=|=)[\"']?(?P<key>[^\"'<>]{{1,128}})[\"']?[^<>]{{0,80}}>"
    rf"(?P<value>[^<]*+(?:<(?!/?{_PARAMETER}\b)[^<]*+)*+)"
    rf"(?:</{_PARAMETER}>|(?=<{_PARAMETER}\b))"
    rf"|<{_PARAMETER}>(?P<loose>[^<>]{{1,128}})</{_PARAMETER}>\s{{0,8}}(?P<put>[^<]+)"
    r"|<arg_key>(?P<arg>[^<>]{1,128})</arg_key>\s{0,8}"
    r"<arg_value>(?P<given>[^<]*+(?:<(?!/?arg_)[^<]*+)*+)</arg_value>"
    r"|<(?P<tag>(?!tool_name|parameter|arg_)[A-Za-z_]\w{0,127})>(?P<inner>[^<]*+)</(?P=tag)>"
)
"""A value ends where another begins, so that what is never closed is not read again and again."""


def without_asides(text: str) -> str:
    """Without what is thought aloud, a tool's results, and a template's special tokens.

    Tags of families of models are written as others write them, and quotes as JSON's.
    """
    text = _QUOTED.sub(lambda quote: json.dumps(quote[2], ensure_ascii=False), text)
    text = _FLOWER.sub(lambda sign: _FLOWERS.get(sign[1], "\n"), _ANALYSIS.sub("", text))
    text = _ARGS.sub(" ", "".join(_outside(_DIALECT.sub(r"<\1", text))))
    text = _BOT_CALL.sub(CALL_MARK, _TOKEN.sub(_line, _OBSERVED.sub("", text)))
    return _NAMED_FENCE.sub(r"\g<opens>\g<name>(", text)


def _line(token: re.Match[str]) -> str:
    return f"\n{CALL_MARK}" if _CALLS.search(token[0]) else "\n"


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
    elif text.rstrip().endswith("</tool_call>"):
        # Thought was never ended, and the call is what the model stopped with.
        yield text[max(begin, text.rfind("<tool_call>")) :]


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call as it stands in a text; its arguments are what XML, Python or JSON makes of them."""

    name: str
    arguments: Any
    begin: int
    end: int


def marked_calls(
    text: str, tools: Mapping[str, Mapping[str, Any]] | Collection[str]
) -> Iterator[TextCall]:
    """Each call in XML, in order."""
    heads = list(
        islice(filter(lambda head: _may_call(head, tools), _HEAD.finditer(text)), MOST_HEADS)
    )
    for place, head in enumerate(heads):
        name = str(head[str(head.lastgroup)]).strip()
        limit = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        end = _end_of(head, text, limit)
        found = _arguments(text[head.end() : end or limit], schemas_of(name, tools))
        if end or found:
            # What is neither closed nor has arguments is a mention: "I thought of <function=x>".
            yield TextCall(name, found, head.start(), end or limit)


def _may_call(head: re.Match[str], tools: Collection[str]) -> bool:
    """Bare words and tags are calls only if the task offers such a tool."""
    return head.lastgroup in _EXPLICIT or is_offered(str(head[str(head.lastgroup)]), tools)


def _end_of(head: re.Match[str], text: str, limit: int) -> int | None:
    if head.lastgroup == "tag":
        end = text.find(f"</{head['tag']}>", head.end(), limit)
        return None if end < 0 else end
    found = _END.search(text, head.end(), limit)
    return found.start() if found else None


def is_offered(name: str, tools: Collection[str]) -> bool:
    """By its whole name, or by what stands behind a server's."""
    if name in tools:
        return True
    return any(name.rpartition(mark)[2] in tools for mark in ("__", ".", "/", ":"))


def _arguments(body: str, schemas: Mapping[str, Any]) -> dict[str, Any]:
    body = _WRAPPED.sub("", body, count=1)
    given = _INPUT.fullmatch(body.strip())
    if given and len(schemas) == 1:
        ((key, schema),) = schemas.items()
        return {key: typed(_plain_text(given[1].strip()), schema)}
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
        key = part["key"] or part["arg"] or part["loose"] or part["tag"]
        value = part["value"] or part["given"] or part["put"] or part["inner"] or ""
        found[key.strip()] = typed(_plain_text(value.strip()), schemas.get(key.strip()))
    only = next(iter(found)) if len(found) == 1 else ""
    whole = only in ("arguments", "parameters") and only not in schemas
    return found[only] if whole and isinstance(found[only], dict) else found


def _plain_text(value: str) -> str:
    """A value as XML means it."""
    opens, closes = _CDATA
    if value.startswith(opens) and value.endswith(closes):
        return value[len(opens) : -len(closes)]
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), value)


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
        return python_value(text) if text[:1] in ("[", "{", "(") else text


def python_value(text: str) -> Any:
    """`{'in_stock': True}`; the text itself if it is none."""
    try:
        value = ast.literal_eval(text)
        json.dumps(value)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return text
    return value
