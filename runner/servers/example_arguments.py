"""Arguments of a tool from its input schema, for a name and a place in a repository.

Shared by who looks for a health probe and by the offline navigator: a call that one of them can
make, the other can make too. Nothing goes by a server's name, only by the keys, types and
descriptions.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import PurePosixPath
from typing import Any

from runner.grounding.commit_files import SANDBOX_ROOT
from runner.servers.tool_answers import WHOLE, ToolAnswers

MOST = 8
"""Sets of arguments for one tool."""
_DEEPEST = 4
"""Levels of objects in objects that are filled; a schema may refer to itself."""
_LIMIT = 20
_CONTEXT_LINES = 20
_COLUMN = 5


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a call may be about."""

    name: str
    """A symbol's, or a word to look for."""
    path: str = ""
    """Of a file, from the repository's top; empty if none is known."""
    line: int = 0
    """1-based, in that file; 0 if unknown."""
    language: str = ""
    """Of the code, such as `python`; empty to go by the file."""
    root: str = SANDBOX_ROOT
    """Where the repository is."""
    label: str = "workspace"
    """What a project is called where a tool wants a name for it."""
    handles: ToolAnswers = field(default_factory=dict)
    """Key -> what the tool that opened or indexed it answered under that key."""


Schema = Mapping[str, Any]


def arguments_for(
    schema: Schema, target: Target, *, described: str = "", optional: bool = True
) -> Iterator[dict[str, Any]]:
    """Sets of arguments, the likeliest first, each once; none if something required is unknown.

    First what is required alone, then with what is optional and known. `described`: the tool's
    description.
    """
    filler = _Filler(schema, target, described.lower())
    seen: list[dict[str, Any]] = []
    sets = filler.sets(with_optional=False)
    if optional:
        sets = _taking_turns(sets, filler.sets(with_optional=True))
    for arguments in sets:
        if arguments not in seen:
            seen.append(arguments)
            yield arguments
        if len(seen) >= MOST:
            return


def unknown_keys(schema: Schema, target: Target) -> list[str]:
    """The required arguments that nothing is known of: a handle, a key, an address."""
    filler = _Filler(schema, target, "")
    required = [key for key in filler.required if not filler.values(key)]
    return sorted(required)


def takes_command(schema: Schema, described: str) -> bool:
    """Is it a shell, which may be told to look? `described`: the tool's description."""
    filler = _Filler(schema, Target(name=""), described.lower())
    keys = [key for key, about in filler.properties.items() if "enum" not in _mapping(about)]
    return any(filler.is_command(set(key_words(key))) for key in keys)


def takes_name(schema: Schema, described: str = "") -> bool:
    """Is there a text argument that a symbol's name or a word to look for can go into?"""
    mark = "the-name-itself"
    filler = _Filler(schema, Target(name=mark), described.lower())
    # A key that nothing is known of gets the name too, and may be a commit's.
    known = _NAMES | _ASKS | (_COMMANDS if takes_command(schema, described) else set())
    keys = [key for key in filler.properties if set(key_words(key)) & known]
    return any(mark in str(filler.values(key)[:1]) for key in keys)


def _taking_turns(
    first: Iterator[dict[str, Any]], second: Iterator[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    sides = [first, second]
    while sides:
        for side in list(sides):
            # The required alone fail or work at once; variants of them come after the fuller call.
            found = list(islice(side, 1))
            if not found:
                sides.remove(side)
            yield from found


# --- one schema ---------------------------------------------------------------------------------

_SECRET = {"token", "password", "secret", "credential", "credentials", "apikey", "auth"}
_HANDLES = {"id", "handle", "uuid", "cursor", "session", "hash", "sha"}
ROOT_ARGUMENTS = frozenset(
    {"root", "dir", "directory", "folder", "workspace", "cwd", "project", "repo", "repository"}
)
"""Words of a key that takes the repository's folder."""
_CLONED = {"repo", "repository", "git", "clone"}
"""With `url`, what git clones: a folder is as good."""
_FILES = {"file", "filename", "filepath", "uri", "module", "document"}
_FOLDER = r"director|folder|project|repositor|root|codebase|workspace"
_LINES = {"line", "row", "lineno"}
_COLUMNS = {"character", "char", "column", "col", "offset"}
_GLOBS = {"glob", "globs", "include", "includes", "extension", "extensions", "exclude", "excludes"}
_EXTENSIONS = {"extension", "extensions", "ext", "exts", "suffix", "suffixes"}
_REFS = {"branch", "ref", "revision", "commit", "rev"}
_ASKS = {"question", "task", "prompt", "intent", "goal", "instruction"}
_COMMANDS = {"command", "cmd"}
_SHELL = re.compile(
    r"\b(?:shell|terminal|bash|console|powershell|argv)\b|\bcommand[- ]line\b"
    r"|\b(?:run|execute|runs|executes|running|executing)\b[^.\n]{0,40}\bcommands?\b"
)
_SORTS = {"type", "mode", "kind", "format", "style", "level"}
_NAMES = {
    "query", "queries", "symbol", "symbols", "name", "names", "pattern", "patterns", "text",
    "search", "keyword", "keywords", "regex", "term", "terms", "identifier", "identifiers",
    "function", "class", "method", "word", "needle", "q", "string",
}  # fmt: skip
_LANGUAGES = {
    "py": "python", "pyi": "python", "ts": "typescript", "tsx": "tsx", "js": "javascript",
    "mjs": "javascript", "cjs": "javascript", "jsx": "javascript", "go": "go", "rs": "rust",
    "java": "java", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "rb": "ruby", "php": "php",
    "cs": "csharp", "kt": "kotlin", "scala": "scala", "swift": "swift", "sh": "bash",
    "ex": "elixir", "exs": "elixir", "lua": "lua", "zig": "zig",
}  # fmt: skip


class _Filler:
    """The values that each key of one object's schema may take."""

    def __init__(self, schema: Schema, target: Target, described: str, depth: int = 0) -> None:
        self.target, self.described, self.depth = target, described, depth
        self.definitions = _mapping(schema.get("$defs")) or _mapping(schema.get("definitions"))
        self.properties = _mapping(schema.get("properties"))
        required = schema.get("required")
        self.required = [key for key in required if isinstance(key, str)] if required else []

    def sets(self, *, with_optional: bool) -> Iterator[dict[str, Any]]:
        keys = list(self.required)
        if with_optional:
            keys += [key for key in self.properties if key not in keys and self._helps(key)]
        known = {key: self.values(key) for key in keys}
        if any(not known[key] for key in self.required):
            return
        known = {key: values for key, values in known.items() if values}
        yield {key: values[0] for key, values in known.items()}
        # One key varied at a time: all of them at once would be hundreds of calls.
        for place in range(1, max(map(len, known.values()), default=0)):
            yield {key: values[min(place, len(values) - 1)] for key, values in known.items()}
        for key, values in known.items():
            for value in values[1:]:
                yield {**{other: known[other][0] for other in known}, key: value}

    def _helps(self, key: str) -> bool:
        """An optional argument that says where to look, or for what."""
        words = set(key_words(key))
        # A default of null says that it may be left out, and no more.
        given = _mapping(self.properties[key]).get("default")
        if given is not None and not words & (ROOT_ARGUMENTS | {"path"}):
            return False
        places = ROOT_ARGUMENTS | _FILES | _NAMES | {"path", "language", "lang"}
        return bool(words & places) and not words & (
            _GLOBS | {"type", "kind", "exclude", "output", "max"}
        )

    def values(self, key: str) -> list[Any]:
        """Likeliest first; none if nothing is known."""
        schema = self._resolved(_mapping(self.properties.get(key)))
        return self._values(key, schema)

    def _resolved(self, schema: Schema) -> Schema:
        """With a reference followed, and one of several kinds chosen."""
        for _ in range(_DEEPEST):
            if isinstance(schema.get("$ref"), str):
                name = schema["$ref"].rpartition("/")[2]
                schema = {**_mapping(self.definitions.get(name)), **_without(schema, "$ref")}
            for choice in ("anyOf", "oneOf", "allOf"):
                options = schema.get(choice)
                if isinstance(options, list):
                    kept = [o for o in map(_mapping, options) if o.get("type") != "null"]
                    schema = {**(kept[0] if kept else {}), **_without(schema, choice)}
        return schema

    def _values(  # noqa: PLR0911 - a kind of value a line
        self, key: str, schema: Schema
    ) -> list[Any]:
        if "const" in schema:
            return [schema["const"]]
        if handle := handle_for(key, self.target.handles):
            return [self.target.handles[handle]]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self._choices(schema)
        kind = schema.get("type", "string")
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), "string")
        if kind == "boolean":
            return [schema.get("default", False)]
        if kind in ("integer", "number"):
            return self._numbers(key, schema)
        if kind == "array":
            return self._arrays(key, schema)
        if kind == "object":
            return self._objects(schema)
        return self._texts(key, schema)

    def _choices(self, schema: Schema) -> list[Any]:
        choices = list(schema["enum"])
        first = [schema["default"]] if schema.get("default") in choices else []
        first += [one for one in choices if str(one).lower() == self._language()]
        return list(dict.fromkeys([*first, *choices]))[:MOST]

    def _numbers(self, key: str, schema: Schema) -> list[Any]:
        words = set(key_words(key))
        if words & _LINES or words & {"start", "from", "begin"}:
            values = [self.target.line or 1, max(0, (self.target.line or 1) - 1)]
        elif words & {"end", "to", "stop", "until"}:
            values = [(self.target.line or 1) + _CONTEXT_LINES]
        elif words & _COLUMNS:
            values = [_COLUMN, 1]
        elif "default" in schema:
            values = [schema["default"]]
        else:
            values = [_LIMIT]
        return [_within(value, schema) for value in values]

    def _arrays(self, key: str, schema: Schema) -> list[Any]:
        items = self._resolved(_mapping(schema.get("items")))
        if items.get("type") == "object" and self.depth >= _DEEPEST:
            return []
        if self.is_command(set(key_words(key))):
            return [shlex.split(command) for command in self._commands()]
        singular = key.removesuffix("s") if len(key) > 1 else key
        values = [[value] for value in self._values(singular, items)]
        if not values and not schema.get("minItems"):
            return [[]]
        return values

    def _objects(self, schema: Schema) -> list[Any]:
        if self.depth >= _DEEPEST:
            return []
        inner = {**schema, "$defs": self.definitions}
        filler = _Filler(inner, self.target, self.described, self.depth + 1)
        return list(islice(filler.sets(with_optional=False), 3))

    def _texts(self, key: str, schema: Schema) -> list[Any]:
        words = key_words(key)
        said = schema.get("description") or self._said_of(key)
        about = f"{said} {schema.get('title', '')}".lower()
        known = set(words)
        sorts = choices_said(about) if known & _SORTS else []
        commands = self._commands() if self.is_command(known) else []
        values = commands or sorts or self._text_values(words, known, about)
        if isinstance(schema.get("default"), str) and schema["default"]:
            values = list(dict.fromkeys([*values[:1], schema["default"], *values[1:]]))
        return values

    def _said_of(self, key: str) -> str:
        """Where a tool's description has a list of its arguments, as docstrings do."""
        line = rf"^[ \t]*[-*]?[ \t]*`?{re.escape(key.lower())}`?[ \t]*(?:\([^)\n]*\))?:[ \t]*(.+)$"
        found = re.search(line, self.described, re.MULTILINE)
        return found[1] if found else ""

    def _text_values(  # noqa: PLR0911 - one rule a line, the first that holds
        self, words: list[str], known: set[str], about: str
    ) -> list[Any]:
        if _is_unknown(known) and not self._clones(known):
            return []
        if known & _EXTENSIONS:
            return self._extensions()
        if known & _GLOBS:
            return ["**/*"]
        if known & {"language", "lang"}:
            return list(filter(None, [self._language()]))
        if known & _LINES:
            return [str(self.target.line or 1)]
        if words[-1] in _HANDLES and not known & (ROOT_ARGUMENTS | _NAMES):
            return []
        if known & _FILES:
            return self._files("uri" in known)
        if known & (ROOT_ARGUMENTS | {"url"}):
            return self._roots(known)
        if known & {"path", "paths"} and not _is_of_a_symbol(words):
            return self._paths(about)
        return self._words_looked_for(known, about)

    def _clones(self, known: set[str]) -> bool:
        """A tool that clones takes a folder where it asks for a URL."""
        return "url" in known and bool(re.search(r"\bclon(?:e|es|ing)\b", self.described))

    def _roots(self, known: set[str]) -> list[Any]:
        if "url" in known:
            return [self.target.root, f"file://{self.target.root}"]
        if known & {"name", "id", "alias", "key"}:
            return [self.target.label, self.target.root]
        if known == {"project"}:
            # As it was registered; a key that wants its path says so.
            return [self.target.label, self.target.root, "."]
        return [self.target.root, "."]

    def _language(self) -> str:
        return self.target.language or language_of_path(self.target.path)

    def _words_looked_for(self, known: set[str], about: str) -> list[Any]:
        if known & _NAMES and not known & _REFS:
            return self._names(about)
        if known & _ASKS:
            return [f"Where is {self.target.name} defined?"]
        if choices := choices_said(about):
            return choices
        if known & _REFS or re.search(r"\b(commit|branch|revision)\b", about):
            return self._revisions()
        if re.search(r"\b(absolute|relative)? ?path\b", about):
            return self._paths(about)
        return [self.target.name]

    def _names(self, about: str) -> list[Any]:
        """The name; of files, where it is files that are found by a pattern."""
        last = PurePosixPath(self.target.path).name
        globs = [*([f"**/{last}"] if last else []), "**/*"]
        if re.search(r"\bglobs?\b", about):
            return [*globs, self.target.name]
        if re.search(r"\bglobs?\b|\bfile ?names?\b|files? (?:by|matching|whose)\b", self.described):
            return [self.target.name, *([last] if last else []), *globs]
        return [self.target.name]

    def is_command(self, words: set[str]) -> bool:
        """Of a key: does a shell run what stands there?"""
        return bool(words & _COMMANDS) and _SHELL.search(self.described) is not None

    def _commands(self) -> list[Any]:
        """What looks, in a shell: nothing else is ever run in one."""
        root = self.target.root
        file = [f"cat {root}/{shlex.quote(self.target.path)}"] if self.target.path else []
        return [f"grep -rnw -e {shlex.quote(self.target.name)} {root}", *file]

    def _extensions(self) -> list[Any]:
        suffix = PurePosixPath(self.target.path).suffix
        endings = [end for end, language in _LANGUAGES.items() if language == self._language()]
        known = suffix.removeprefix(".") or next(iter(endings), "py")
        return [f".{known}", known]

    def _revisions(self) -> list[Any]:
        """git's own form of a file at a commit too: first, of a tool that says it takes one."""
        of_file = [f"HEAD:{self.target.path}"] if self.target.path else []
        said = re.search(r"\w>?:<?path", self.described)
        return [*of_file, "HEAD"] if said else ["HEAD", *of_file]

    def _files(self, as_uri: bool) -> list[Any]:
        if not self.target.path:
            return []
        absolute = f"{self.target.root}/{self.target.path}"
        if as_uri:
            return [f"file://{absolute}", absolute]
        if "absolute" in self.described:
            return [absolute, self.target.path]
        return [self.target.path, absolute]

    def _paths(self, about: str) -> list[Any]:
        """Of a file or of a folder, as the key's own words say, else the tool's."""
        folders = [self.target.root, "."]
        files = self._files(as_uri=False)
        if re.search(r"\bfiles?\b", about) and not re.search(_FOLDER, about):
            # A folder would be an error, and is none of its own words.
            return files
        for text in (about, self.described):
            folder = _first(text, _FOLDER)
            file = _first(text, r"\bfiles?\b")
            if folder != file and not (self._has_file_key() and file < folder):
                return [*files, *folders] if file < folder else [*folders, *files]
        return [*folders, *files]

    def _has_file_key(self) -> bool:
        """Beside `file`, `path` is where the repository is."""
        return any(_FILES & set(key_words(key)) for key in self.properties)


def _is_unknown(words: set[str]) -> bool:
    """Does a key ask for a secret, or for an address that no path can stand for?"""
    is_secret = bool(words & _SECRET) or {"api", "key"} <= words
    return is_secret or ("url" in words and not words & {"path", *_CLONED})


def _is_of_a_symbol(words: list[str]) -> bool:
    """`name_path` is where a symbol is in others, and no file's."""
    return bool(set(pairwise(words)) & {("name", "path"), ("symbol", "path")})


def choices_said(about: str) -> list[str]:
    """What a description says an argument may be, as `local` or `remote`, where no enum does."""
    if re.search(r"\b(e\.g|for example|such as|like)\b", about):
        return []
    said = re.findall(r"(?<!\w)[\"'`]([a-z][a-z0-9_-]{1,30})[\"'`](?!\w)", about)
    return list(dict.fromkeys(said))[:MOST] if len(set(said)) > 1 else []


def _first(text: str, pattern: str) -> int:
    """Where a pattern is first found; past every text if nowhere."""
    found = re.search(pattern, text)
    return found.start() if found else 10**9


def _within(value: Any, schema: Schema) -> Any:
    low, high = schema.get("minimum"), schema.get("maximum")
    if isinstance(low, (int, float)):
        value = max(value, low)
    if isinstance(high, (int, float)):
        value = min(value, high)
    return value


def language_of_path(path: str) -> str:
    """As tools spell it; empty if none is known by that extension."""
    return _LANGUAGES.get(PurePosixPath(path).suffix.removeprefix("."), "")


def said_of_itself(name: str, description: str | None) -> str:
    """A tool's description; the words of its name, where it has none."""
    return description or " ".join(key_words(name))


def key_words(key: str) -> list[str]:
    """`filePath` is file and path."""
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower()
    return [word for word in re.split(r"[^a-z0-9]+", snake) if word] or [""]


def _mapping(value: Any) -> Mapping[str, Any]:
    # `true` is a schema too: it takes anything, and says nothing.
    return value if isinstance(value, Mapping) else {}


def _without(schema: Schema, key: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != key}


_HANDLE_CHARS = 200
_PROJECTS = frozenset({"repo", "project", "repository"})
_LISTED = {"repos": "repo", "projects": "project", "repositories": "repository"}
"""What a list of them is called -> one of them."""
PROJECT_LISTS = frozenset(_LISTED)


def handles_in(answers: ToolAnswers) -> dict[str, str | int]:
    """What an answer calls the project by: what its keys say is a handle. See answers.py."""
    return {key: value for key, value in answers.items() if _is_handle(key, value)}


def _is_handle(key: str, value: str | int) -> bool:
    words = key_words(key)
    names_one = words[-1] in _HANDLES or bool(set(words) & _PROJECTS) or bool(_project_of(key))
    is_short = len(str(value)) <= _HANDLE_CHARS
    return is_short and (names_one or key == WHOLE)


def _project_of(key: str) -> str:
    """`projects.name` is a project; empty for what is no name of one in a list."""
    outer, _, inner = key.lower().rpartition(".")
    one = _LISTED.get(outer, "")
    return one if inner in ("name", one) else ""


def handle_for(key: str, handles: ToolAnswers) -> str:
    """The key of the handle that an argument asks for, or takes as the only one; empty for none."""
    words = key_words(key)
    named = {"_".join(key_words(known)): known for known in handles}
    if found := named.get("_".join(words)):
        return found
    if words[0] in _PROJECTS and set(words[1:]) <= {"name"}:
        return next((known for known in handles if _project_of(known) == words[0]), "")
    if words[-1] not in _HANDLES:
        return ""
    plain = [known for name, known in named.items() if name in (words[-1], WHOLE)]
    other = [known for name, known in named.items() if name.endswith(f"_{words[-1]}")]
    alone = [found for found in (plain, other) if len(found) == 1]
    return alone[0][0] if alone else ""
