"""`offline`: a deterministic navigator that needs no key. It checks plumbing and servers, and ranks nobody.

From a step's prompt it takes the names to look for; it looks them up with the tools of its arm, follows what it finds for several turns,
and writes an answer that cites what it saw. It gets what every model gets, the prompts and the tools, and so cannot know a gold answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.protocols import Call, Message, ToolMessage, ToolSpec, Turn, UserMessage
from runner.records import digest_of

VERSION = 2
TURNS, CALLS_PER_TURN, NAMES, FOLLOWED, SHOWN = 7, 3, 5, 6, 14
WORKSPACE = "/workspace/"
COMMON = frozenset(
    "the and for with from that this what which when where into your you are not every each about before after only list next agent "
    "file line function method class test tests code change name names path paths call calls caller callers given hand map find show "
    "tell how why does step one two all any must should would could them they their then than have has been will source repository if "
    "else return print len str int self super range isinstance type set dict tuple format append get join items keys values assert "
    "raise import def async await new".split()
)
DEFINES = re.compile(
    r"^\s*(?:export\s+|default\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|abstract\s+|final\s+|unsafe\s+|const\s+)*"
    r"(?:def|class|func|fn|function|interface|type|struct|enum|trait|module|#\s*define|const|let|var|object|namespace|macro_rules!)\b"
)
PATH = r"(?:[\w@.+\-]+/)*[\w@.+\-]+\.[A-Za-z][A-Za-z0-9]{0,7}"
LOCATED = re.compile(
    rf"(?P<path>/?{PATH})[:#]L?(?P<line>\d+)(?:[:\-]\d+)?(?:[:\-](?P<text>[^\n]*))?"
)
NAMES_FILE = re.compile(
    rf"(?:^|[\s\"'`(\[:*#])(?P<path>/?(?:[\w@.+\-]+/)+[\w@.+\-]+\.[A-Za-z]\w{{0,7}}|{PATH})(?=$|[\s\"'`)\],:*(])"
)
NUMBERED = re.compile(
    r"^\s*(?:[Ll]ine\s+|L)?(?P<line>\d{1,6})(?:\s*[:|│→\t]|,? column|\s{2,})(?P<text>.*)$"
)
FILE_KEYS = (
    "file",
    "path",
    "file_path",
    "filepath",
    "relative_path",
    "relativePath",
    "uri",
    "filename",
)
LINE_KEYS = (
    "line",
    "start_line",
    "startLine",
    "line_number",
    "lineNumber",
    "lineno",
    "row",
    "start",
)
AVOID = frozenset(
    "delete rename replace insert write edit memory clear configure create refresh set register restart remove onboarding safe "
    "watcher temp rebuild build index settings diagnose diagnostics metadata move initial".split()
)
ROLES = {
    "definition": frozenset({"definition", "symbol", "symbols", "declaration", "body", "node"}),
    "references": frozenset(
        {"references", "referencing", "usage", "usages", "callers", "incoming", "find_usage"}
    ),
    "search": frozenset(
        {"search", "grep", "find", "query", "text", "explore", "locate", "pattern"}
    ),
}


@dataclass(frozen=True, order=True, kw_only=True)
class Finding:
    """One line seen in a tool's result."""

    path: str
    line: int
    text: str

    @property
    def in_tests(self) -> bool:
        return re.search(r"(^|[/_.])(tests?|spec|__tests__)([/_.]|$)", self.path) is not None

    @property
    def in_prose(self) -> bool:
        return (
            re.search(
                r"\.(md|rst|txt|html?|json|lock|ya?ml|toml)$|(^|/)(docs?|changelog)/",
                self.path.lower(),
            )
            is not None
        )

    def defines(self, name: str) -> bool:
        """A keyword that defines, and this name next after it, or a C function's head."""
        after = re.compile(rf"(?:[\w*&<>\[\]]+\s+|\([^)]*\)\s*)?[*&]?{re.escape(name)}(?!\w)")
        keyword = DEFINES.match(self.text)
        if keyword:
            return after.match(self.text[keyword.end() :].lstrip()) is not None
        return re.match(rf"[A-Za-z_][\w \t*]*\b{re.escape(name)}\s*\([^;]*$", self.text) is not None

    def names(self, name: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.text) is not None


def names_in(prompt: str) -> list[str]:
    """The names a prompt asks about, most telling first: quoted code, then dotted, snake_case and CamelCase words, else plain words."""
    quoted = [
        part
        for text in re.findall(r"`([^`\n]{2,80})`", prompt)
        for part in reversed(re.findall(r"[A-Za-z_]\w{2,}", text))
    ]
    shaped = re.findall(
        r"\b(?:[A-Za-z]+_\w+|_\w+|[a-z]+[A-Z]\w+|[A-Z][a-z0-9]+[A-Z]\w*|\w+(?=\(\)))", prompt
    )
    names = [name for name in dict.fromkeys([*quoted, *shaped]) if name.lower() not in COMMON]
    plain = [word for word in re.findall(r"\b[a-z]{5,}\b", prompt.lower()) if word not in COMMON]
    spare = sorted(set(plain), key=lambda word: (-plain.count(word), -len(word), word))
    return names if len(names) > 1 else list(dict.fromkeys([*names, *spare]))


def findings_in(text: str) -> list[Finding]:
    """Every located line of a result: grep's, JSON's, or numbered lines below a file's name."""
    try:
        found = list(_in_json(json.loads(text), ""))
    except (ValueError, RecursionError):
        found = list(_in_text(text))
    return list(dict.fromkeys(item for item in found if item.line > 0))


def _in_json(value: Any, path: str) -> Iterator[Finding]:
    if isinstance(value, dict):
        path = next(
            (_relative(str(value[key])) for key in FILE_KEYS if isinstance(value.get(key), str)),
            path,
        )
        line = next((value[key] for key in LINE_KEYS if isinstance(value.get(key), int)), None)
        shown = next(
            (
                value[key]
                for key in ("text", "content", "snippet", "signature", "name")
                if isinstance(value.get(key), str)
            ),
            "",
        )
        if path and line is not None:
            yield Finding(path=path, line=line, text=shown.split("\n")[0][:200])
        for key, item in value.items():
            yield from _in_json(
                item, _relative(key) if re.fullmatch(PATH, _relative(key)) else path
            )
    elif isinstance(value, list):
        for item in value:
            yield from _in_json(item, path)
    elif isinstance(value, str):
        yield from _in_text(value, path)


def _in_text(text: str, path: str = "") -> Iterator[Finding]:
    for line in text.splitlines():
        located = list(LOCATED.finditer(line))
        for match in located:
            yield Finding(
                path=_relative(match["path"]),
                line=int(match["line"]),
                text=(match["text"] or line).strip("\r")[:200],
            )
        if located:
            continue
        numbered = NUMBERED.match(line)
        if numbered and path:
            yield Finding(path=path, line=int(numbered["line"]), text=numbered["text"][:200])
        elif named := NAMES_FILE.search(line):
            path = _relative(named["path"])


def _relative(path: str) -> str:
    return path.removeprefix("file://").removeprefix(WORKSPACE).removeprefix("./")


# --- hands: how an arm's tools are used -----------------------------------------------------


def _shell(command: str) -> tuple[str, dict[str, Any]]:
    return "shell", {"command": command}


def grep(name: str) -> tuple[str, dict[str, Any]]:
    return _shell(
        f"rg -n --no-heading --sort path -w -m 12 --max-columns 180 -e {_quoted(name)} . | head -n 80"
    )


def grep_definition(name: str) -> tuple[str, dict[str, Any]]:
    words = "def|class|func|fn|function|interface|type|struct|enum|trait|const|let|var|static|impl|#define"
    pattern = rf"\b({words})\b[^=;]{{0,60}}\b{name}\b|^[A-Za-z_][\w \*]*\b{name}\s*\("
    return _shell(
        f"rg -n --no-heading --sort path -m 5 --max-columns 180 -e {_quoted(pattern)} . | head -n 30"
    )


def grep_tests(name: str) -> tuple[str, dict[str, Any]]:
    where = "-g '*test*' -g '**/test*/**'"
    return _shell(
        f"rg -n --no-heading --sort path -w -m 6 --max-columns 180 {where} -e {_quoted(name)} . | head -n 60"
    )


def read(path: str, line: int) -> tuple[str, dict[str, Any]]:
    script = f'FNR>={max(1, line - 2)} && FNR<={line + 45} {{print FILENAME":"FNR":"$0}}'
    return _shell(f"awk {_quoted(script)} {_quoted(path)}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def choose(tools: Sequence[ToolSpec], role: str) -> list[ToolSpec]:
    """A server's tools for a role, best first, by name and description; none that would write."""
    scored = []
    for tool in tools:
        name = set(re.split(r"[^a-z]+", tool.name.split("__")[-1].lower()))
        if tool.origin != "server" or name & AVOID:
            continue
        described = set(re.findall(r"[a-z]+", tool.description.lower()[:300]))
        score = 3 * len(name & ROLES[role]) + len(described & ROLES[role])
        if name & ROLES[role] or score >= 2:
            scored.append((-score, len(tool.name), tool.name, tool))
    return [tool for *_, tool in sorted(scored, key=lambda item: item[:3])]


NAME_KEYS = (
    "pattern",
    "query",
    "symbol_name",
    "symbol",
    "name_path_pattern",
    "name_path",
    "text",
    "search",
    "identifier",
    "name",
    "regex",
)
"""Keys that take the name looked for, the most usual first."""


def fill(tool: ToolSpec, name: str, place: Finding | None) -> dict[str, Any] | None:
    """Arguments from a tool's input schema: the name to look for, a place already seen. None where something required is unknown."""
    properties: dict[str, Any] = tool.input_schema.get("properties") or {}
    required = set(tool.input_schema.get("required") or ())
    texts = [key for key, schema in properties.items() if schema.get("type", "string") == "string"]
    asks = next((key for wanted in NAME_KEYS for key in texts if wanted == _snake(key)), None)
    if asks is None:
        return None
    arguments: dict[str, Any] = {asks: name}
    for key in sorted(required - {asks}):
        value = _argument(_snake(key), properties.get(key, {}), name, place, tool.description)
        if value is None:
            return None
        arguments[key] = value
    return arguments


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).lower()


def _argument(
    key: str, schema: dict[str, Any], name: str, place: Finding | None, description: str
) -> Any:
    value: Any = name
    kind = schema.get("type")
    if "default" in schema:
        value = schema["default"]
    elif schema.get("enum"):
        value = schema["enum"][0]
    elif kind in ("boolean", "array", "object"):
        value = {"boolean": False, "array": [], "object": {}}[kind]
    elif kind in ("integer", "number"):
        value = (
            place.line if place and "line" in key else 1 if "char" in key or "col" in key else 20
        )
    elif "project" in key:
        value = "workspace"
    elif "kind" in key or "language" in key or "glob" in key:
        value = None
    elif any(word in key for word in ("path", "file", "dir", "uri")):
        value = _place_argument(key, place, f"{description} {schema.get('description', '')}")
    return value


def _place_argument(key: str, place: Finding | None, described: str) -> str | None:
    if "file" in key and "dir" not in described.lower():
        return (
            None
            if place is None
            else (WORKSPACE + place.path if "absolute" in described.lower() else place.path)
        )
    return WORKSPACE.rstrip("/") if "absolute" in described.lower() or "dir" in key else "."


# --- the model ------------------------------------------------------------------------------


@dataclass
class Search:
    """What one step has looked for and seen."""

    prompt: str
    names: list[str]
    queue: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    turns: int = 0
    trail: list[str] = field(default_factory=list)
    """Names followed from one body to the next, in order."""

    def push(self, *wanted: tuple[str, dict[str, Any]] | None) -> None:
        for item in wanted:
            key = json.dumps(item, sort_keys=True)
            if item is not None and key not in self.asked:
                self.asked.add(key)
                self.queue.append(item)

    def place_of(self, name: str) -> Finding | None:
        hits = [item for item in self.found if item.names(name)]
        return min(
            hits,
            key=lambda item: (not item.defines(name), item.in_prose, item.in_tests),
            default=None,
        )

    @property
    def about_tests(self) -> bool:
        return re.search(r"\btests?\b|\bcoverage\b", self.prompt.lower()) is not None


class Offline:
    """protocols.Model. Stateful: one instance serves one cell."""

    name = "offline"
    language_model = False
    identity = digest_of({"model": "offline", "version": VERSION})

    def __init__(self) -> None:
        self._search: Search | None = None
        self._ids = 0

    async def turn(
        self,
        system: str,
        conversation: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        timeout_sec: float,
    ) -> Turn:  # noqa: ARG002 - it never waits
        """Looks at the newest message only; its tokens are estimated as characters / 4."""
        last = conversation[-1]
        seen = len(system) if len(conversation) == 1 else 0
        if isinstance(last, UserMessage):
            seen += len(last.text)
            self._search = self._begin(last.text, tools)
        search = self._search
        assert search is not None  # noqa: S101 - a conversation starts with a user's message
        if isinstance(last, ToolMessage):
            seen += sum(len(result.text) for result in last.results)
            self._absorb(search, last, tools)
        batch, search.queue = search.queue[:CALLS_PER_TURN], search.queue[CALLS_PER_TURN:]
        search.turns += 1
        if not batch or search.turns > TURNS:
            text = write_answer(search)
            return Turn(
                text=text,
                calls=(),
                stop="end",
                input_tokens=seen // 4,
                output_tokens=len(text) // 4,
                estimated=True,
            )
        calls = tuple(self._call(*item) for item in batch)
        wrote = sum(len(json.dumps(call.arguments)) + len(call.tool) for call in calls)
        return Turn(
            text="",
            calls=calls,
            stop="tool_use",
            input_tokens=seen // 4,
            output_tokens=wrote // 4,
            estimated=True,
        )

    def write_artifacts(self, folder: Path) -> None:
        """It keeps nothing of a cell."""

    def _call(self, tool: str, arguments: dict[str, Any]) -> Call:
        self._ids += 1
        return Call(id=f"call_{self._ids}", tool=tool, arguments=arguments)

    def _begin(self, prompt: str, tools: Sequence[ToolSpec]) -> Search:
        search = Search(prompt=prompt, names=names_in(prompt)[:NAMES])
        for name in search.names:
            self._look_up(search, name, tools)
        return search

    def _look_up(self, search: Search, name: str, tools: Sequence[ToolSpec]) -> None:
        wanted = [
            call
            for role in ROLES
            if (call := _server_call(tools, role, name, search.place_of(name)))
        ]
        if wanted:
            search.push(*wanted[:2])
        else:
            search.push(grep_definition(name), grep(name))
        if search.about_tests and not any(tool.origin == "server" for tool in tools):
            search.push(grep_tests(name))

    def _absorb(self, search: Search, message: ToolMessage, tools: Sequence[ToolSpec]) -> None:
        fresh = [item for result in message.results for item in findings_in(result.text)]
        known = set(search.found)
        search.found += [item for item in dict.fromkeys(fresh) if item not in known]
        if not fresh:
            # A server that answers nothing must not leave its arm without an answer: a real agent would fall back to the shell.
            search.push(
                *(grep_definition(name) for name in search.names),
                *(grep(name) for name in search.names[:2]),
            )
        for name in [*search.names, *search.trail]:
            place = search.place_of(name)
            if place is not None and place.defines(name):
                search.push(read(place.path, place.line))
            elif name in search.names:
                search.push(_server_call(tools, "references", name, place), grep_definition(name))
        for name in _called(search)[: FOLLOWED - len(search.trail)]:
            search.trail.append(name)
            self._look_up(search, name, tools)


def _server_call(
    tools: Sequence[ToolSpec], role: str, name: str, place: Finding | None
) -> tuple[str, dict[str, Any]] | None:
    for tool in choose(tools, role):
        arguments = fill(tool, name, place)
        if arguments is not None:
            return tool.name, arguments
    return None


def _called(search: Search) -> list[str]:
    """Names called in the bodies read so far, in order, which nobody has followed yet."""
    bodies = {
        (place.path, place.line)
        for name in search.names
        if (place := search.place_of(name)) is not None and place.defines(name)
    }
    inside = [
        item
        for item in search.found
        if any(item.path == path and line < item.line <= line + 45 for path, line in bodies)
    ]
    called = [
        name for item in inside for name in re.findall(r"\b([A-Za-z_]\w{3,})\s*\(", item.text)
    ]
    return [
        n
        for n in dict.fromkeys(called)
        if n.lower() not in COMMON and n not in search.names and n not in search.trail
    ]


def write_answer(search: Search) -> str:
    """Markdown with a citation for every claim; what was not found is said."""
    names = [*search.names, *search.trail]
    placed = {name: place for name in names if (place := search.place_of(name)) is not None}
    defined = [(name, place) for name, place in placed.items() if place.defines(name)]
    out = ["What I found, in the order I followed it.", ""]
    out += [
        f"- `{place.path}:{place.line}` defines `{name}`: `{_code(place.text)}`"
        for name, place in defined
    ]
    listed = {(place.path, place.line) for _, place in defined}
    others = [
        item for item in search.found if (item.path, item.line) not in listed and item.text.strip()
    ]
    uses = [item for item in others if any(item.names(name) for name in search.names)]
    for title, in_tests in (("Where these names are used", False), ("In the tests", True)):
        if items := [item for item in uses if item.in_tests == in_tests]:
            out += [
                "",
                f"{title}:",
                "",
                *(f"- `{i.path}:{i.line}` has `{_code(i.text)}`" for i in _spread(items)),
            ]
    missing = [name for name in search.names if name not in placed]
    out += ["", _doubt(missing, len(uses))]
    return "\n".join(out)


def _doubt(missing: list[str], uses: int) -> str:
    unseen = f"I did not find {', '.join(f'`{name}`' for name in missing)}. " if missing else ""
    return f"{unseen}I saw {uses} further lines that use these names; dynamic calls and code outside this repository were not looked at."


def _spread(items: list[Finding]) -> list[Finding]:
    """A few of each file rather than many of the first."""
    order: dict[str, int] = {}
    ranked = []
    for item in items:
        order[item.path] = order.get(item.path, 0) + 1
        ranked.append((order[item.path], item))
    return [
        item for _, item in sorted(ranked, key=lambda pair: (pair[1].in_prose, pair[0]))[:SHOWN]
    ]


def _code(text: str) -> str:
    return text.strip().replace("`", "'")[:100]
