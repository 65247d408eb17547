"""One record of the benchmark, read in every form in which it is published or documented.

The data says `input` for a call's arguments; documentation and other loaders say `parameters`,
some say `arguments`. A label may be a JSON string. What a record says against itself is kept as it
is and named as a problem (defects.py): a repaired label would be one that nobody published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from runner.benchmarks.toolbench.lenient_json import UnreadableError, parse_lenient_json
from runner.records import canonical_json
from runner.support.errors import Problem

CallType = Literal["single", "multi"]
CALL_TYPES: tuple[str, ...] = get_args(CallType)
ARGUMENT_KEYS = ("input", "parameters", "arguments")
SCHEMA_KEYS = ("input_schema", "inputSchema", "parameters", "schema")


@dataclass(frozen=True, kw_only=True)
class Tool:
    """What a task offers the model."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    """Empty where the record has none."""
    server: str
    """Empty where the record does not say."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """One call of a task's label."""

    name: str
    server: str
    arguments: Mapping[str, Any]
    similar: frozenset[str]
    """Names of tools that the label lets stand for this one."""
    output: str = field(default="", compare=False)
    """What the call returned when the label was made, as JSON; empty if that was not recorded."""

    @property
    def accepted(self) -> frozenset[str]:
        return self.similar | {self.name}

    def accepts(self, name: str) -> bool:
        return name == self.name or name in self.similar


@dataclass(frozen=True, kw_only=True)
class Task:
    """A query, the tools offered for it, and the calls expected."""

    id: str
    query: str
    category: str
    call_type: str
    """As written; `difficulty` maps it."""
    tools: tuple[Tool, ...]
    expected: tuple[Expected, ...]
    """Empty if the record has no label that can be read."""
    raw_label: Any = field(default=None, compare=False, repr=False)
    """As published, for `--compat`."""

    @cached_property
    def servers(self) -> frozenset[str]:
        """Folded names of every server that the record speaks of."""
        named = [tool.server for tool in self.tools] + [call.server for call in self.expected]
        return frozenset(fold_server(name) for name in named if name)

    @cached_property
    def tool_names(self) -> frozenset[str]:
        return frozenset([tool.name for tool in self.tools])

    @cached_property
    def argument_schemas(self) -> Mapping[str, Mapping[str, Any]]:
        """Tool -> its arguments in their schema's order, each with what it may be."""
        properties = {tool.name: tool.input_schema.get("properties") for tool in self.tools}
        return {
            name: found if isinstance(found, Mapping) else {} for name, found in properties.items()
        }

    def knows(self, name: str) -> bool:
        """Is it of a tool offered, expected, or similar to one expected?"""
        return name in self.tool_names or any(call.accepts(name) for call in self.expected)

    def argument_names(self, name: str) -> tuple[str, ...]:
        """In the order of the tool's schema; empty where the task offers no such tool or schema."""
        return tuple(self.argument_schemas.get(name, ()))

    def owners_of(self, name: str) -> frozenset[str]:
        """Folded servers of the tools of that name; empty where the record does not say whose."""
        offered = [tool.server for tool in self.tools if tool.name == name]
        expected = [call.server for call in self.expected if call.accepts(name)]
        return frozenset(map(fold_server, offered + expected))

    @property
    def difficulty(self) -> str:
        """`easy` for single calls, `hard` for several, else what the record says."""
        return {"single": "easy", "multi": "hard"}.get(self.call_type, self.call_type)


@lru_cache(maxsize=4096)
def fold_server(name: str) -> str:
    """`Google-Maps` and `google_maps` are one server, written by two clients."""
    return name.lower().replace("-", "_").replace(" ", "_")


def read_task(raw: Mapping[str, Any], where: str, problems: list[Problem]) -> Task:
    """One record; what cannot be read of it is appended to `problems`."""
    reader = _TaskParser(where, problems)
    label = reader.decoded(raw.get("function_call_label"), "function_call_label")
    expected = tuple(reader.expected(label))
    return Task(
        id=reader.text(raw, "uuid"),
        query=reader.text(raw, "query"),
        category=reader.text(raw, "category"),
        call_type=reader.text(raw, "call_type").lower(),
        tools=tuple(reader.tools(raw)),
        expected=expected,
        raw_label=raw.get("function_call_label"),
    )


@dataclass(frozen=True)
class _TaskParser:
    where: str
    problems: list[Problem]

    def _tell(self, key: str, message: str) -> None:
        self.problems.append(Problem(where=f"{self.where} {key}", message=message))

    def text(self, raw: Mapping[str, Any], key: str) -> str:
        value = raw.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        self._tell(key, "it is missing, empty or no text")
        return ""

    def decoded(self, value: Any, key: str) -> Any:
        """What a JSON string holds; any other value as it is."""
        if not isinstance(value, str):
            return value
        try:
            return parse_lenient_json(value)
        except UnreadableError:
            self._tell(key, "it is a text that is no JSON")
            return None

    def expected(self, label: Any) -> Iterator[Expected]:
        if isinstance(label, Mapping):  # one call that nobody put into a list
            label = [label]
        if not isinstance(label, list) or not label:
            self._tell("function_call_label", "no call is expected: nothing can be scored")
            return
        for index, call in enumerate(label):
            key = f"function_call_label[{index}]"
            if isinstance(call, Mapping) and isinstance(call.get("name"), str):
                yield Expected(
                    name=call["name"].strip(),
                    server=_text_of(call.get("mcp_server")),
                    arguments=self._arguments(call, key),
                    similar=frozenset(_similar_names(call.get("similar_tools"))),
                    output=canonical_json(call["output"]) if call.get("output") else "",
                )
            else:
                self._tell(key, "it is no call with a name")

    def _arguments(self, call: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        for name in ARGUMENT_KEYS:
            if name not in call:
                continue
            arguments = self.decoded(call[name], f"{key}.{name}")
            if isinstance(arguments, Mapping):
                return arguments
            if arguments is not None:
                self._tell(f"{key}.{name}", "it is no object of arguments")
        return {}

    def tools(self, raw: Mapping[str, Any]) -> Iterator[Tool]:
        """From `tools`, with servers and schemas that only `mcp_tools_dict` knows."""
        by_server = self.decoded(raw.get("mcp_tools_dict"), "mcp_tools_dict")
        known = dict(_defined(by_server))
        listed = self.decoded(raw.get("tools"), "tools")
        if not isinstance(listed, list):
            listed = list(known)
        seen: set[str] = set()
        for index, tool in enumerate(listed):
            found = _tool(tool, known)
            if found is None:
                self._tell(f"tools[{index}]", "it is no tool with a name")
            elif found.name in seen:
                self._tell(f"tools[{index}]", f"{found.name} is offered twice: the first stands")
            else:
                seen.add(found.name)
                yield found


_Known = tuple[str, Mapping[str, Any]]
"""What `mcp_tools_dict` says of a tool: its server, and its definition, empty for a name alone."""


def _tool(tool: Any, known: Mapping[str, _Known]) -> Tool | None:
    if isinstance(tool, str):
        # The documented form lists names, and keeps their definitions in the dict.
        definition = known[tool][1] if tool in known else {}
        tool = {**definition, "name": tool}
    if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str):
        return None
    name = tool["name"].strip()
    if not name:
        return None
    server = known[name][0] if name in known else ""
    return Tool(
        name=name,
        description=_text_of(tool.get("description")),
        input_schema=_schema_of(tool),
        server=_text_of(tool.get("mcp_server")) or server,
    )


def _schema_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((tool[key] for key in SCHEMA_KEYS if isinstance(tool.get(key), Mapping)), {})


def _defined(tools: Any) -> Iterator[tuple[str, _Known]]:
    """Each tool by its name, out of {server: [tool]} or {tool: definition}."""
    if not isinstance(tools, Mapping):
        return
    for key, value in tools.items():
        if isinstance(value, Mapping):
            yield key, ("", value)
        elif isinstance(value, list):
            yield from _of_server(key, value)


def _of_server(server: str, tools: Iterable[Any]) -> Iterator[tuple[str, _Known]]:
    for tool in tools:
        if isinstance(tool, str):
            yield tool, (server, {})
        elif isinstance(tool, Mapping) and isinstance(tool.get("name"), str):
            yield tool["name"], (server, tool)


def _similar_names(similar: Any) -> Iterator[str]:
    if not isinstance(similar, list):
        return
    for tool in similar:
        name = tool.get("name") if isinstance(tool, Mapping) else tool
        if isinstance(name, str) and name.strip():
            yield name.strip()


def _text_of(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
