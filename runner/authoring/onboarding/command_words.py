"""A README's commands: where they hold the author's own path, and how they start a server."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_PATH = re.compile(
    r"^(?:[~/.$<%]|[A-Za-z]:[\\/]|\{|your|path|/)|(?:path|project|repo|workspace|director|folder)s?"
    r"[^=]*$",
    re.IGNORECASE,
)


def once(args: Iterable[str]) -> tuple[str, ...]:
    """`/path/one /path/two` are one workspace here."""
    kept: list[str] = []
    for word in args:
        if not (word == "{workspace}" and kept[-1:] == [word]):
            kept.append(word)
    return tuple(kept)


def behind_the_program(words: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """None if the command is another program's."""
    last, modules = None, {_module(name) for name in names}
    for place, word in enumerate(words):
        # `@scope/name@1.2.3`, `name==1.2`, `git+…/name`, `./dist/index.js`
        plain = re.sub(r"(?<=.)(@[\w.^~-]+|==.*|\[.*\])$", "", word)
        if plain in names or plain.rpartition("/")[2] in names or _module(plain) in modules:
            last = place
    if last is None:
        return None
    return list(words[last + 1 :])


def _module(word: str) -> str:
    """`python -m acme_tool.server` starts acme-tool."""
    return word if "/" in word else word.replace("-", "_").partition(".")[0]


def own_file(word: str) -> str:
    """A database that it makes for itself, in its own folder; empty for another word."""
    found = re.fullmatch(r"(?:[^\s=]*/)?([\w.-]+\.(?:db|sqlite3?|duckdb))", word)
    return f"{{state}}/{found[1]}" if found else ""


def with_workspace(word: str) -> str:
    """With `{workspace}` where the README has a path of its author's."""
    flag, equals, value = word.partition("=")
    if equals and flag.startswith("-") and (own_file(value) or is_path(value)):
        return f"{flag}={with_workspace(value)}"
    if file := own_file(word):
        return file
    if not word.startswith("-") and is_path(word):
        return "{workspace}"
    return word


def is_path(word: str) -> bool:
    return bool(_PATH.search(word)) and word not in (".git",)


_NO_NAMES = frozenset("cache claude codex config cursor git github local npm venv vscode".split())
"""Folders of other programs."""


def folders_called_after(readme: str, names: Iterable[str]) -> tuple[str, ...]:
    """`.acme/` of a README of acme or acme-mcp: where such a program keeps what is its own."""
    said = dict.fromkeys(re.findall(r"(?<![\w.~-])\.([a-z][\w-]+)/", readme))
    words = {word for name in names for word in re.split(r"[^a-z0-9]+", name.lower())}
    called = {*words, *(name.rpartition("/")[2].lower() for name in names)} - _NO_NAMES
    return tuple(f".{name}" for name in said if name in called)


# --- variables ----------------------------------------------------------------------------------

_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_FOLDER_ENDS = frozenset(
    "DIR DIRECTORY PATH ROOT WORKSPACE PROJECT REPO REPOSITORY FOLDER VAULT CODEBASE CORPUS "
    "DOCS NOTES DIRS PATHS ROOTS PROJECTS REPOS REPOSITORIES WORKSPACES FOLDERS".split()
)
_MOST_VARIABLES = 2


def variables_in(text: str) -> list[str]:
    """Variables whose name says that they hold where the project is, the first named first."""
    names = dict.fromkeys(_VARIABLE.findall(text))
    found = [name for name in names if name.rpartition("_")[2] in _FOLDER_ENDS]
    return [name for name in found if not _holds_another(name)][:_MOST_VARIABLES]


def _holds_another(name: str) -> bool:
    words = {word.lower() for word in name.split("_")}
    return bool(SECRET.search(name) or words & _OTHER_FOLDERS)


_OTHER_FOLDERS = frozenset(
    "log logs cache config data db output index state static cert home bin embeddings model models "
    "history tmp temp python node ld token backup trash install template templates"
    # A stand-in for the reader's own path is no variable: FULL_PATH_TO_YOUR_PROJECT.
    " your my".split()
)


# --- lines of a shell -----------------------------------------------------------------------------

CommandAndEnv = tuple[tuple[str, ...], dict[str, str]]
"""What stands behind the program, and its environment."""
_RUNNERS = frozenset(
    "npx bunx uvx uv pipx node python python3 bun deno claude codex gemini".split()
)
_SERVING = frozenset("mcp serve server start stdio start-mcp-server".split())
_NOT_HERE = re.compile(r"[|<>;&`$]|--(?:help|version|port|host)\b|\b(?:sse|https?|install)\b")
"""In a line of a shell: another program beside it, or a way that is not spoken over stdin."""
_MOST_LINES = 3


def shown_in_shell(readme: str, names: Sequence[str]) -> Iterator[CommandAndEnv]:
    """`uvx NAME --root /path`, `FOLDER=/path NAME serve`: lines of a shell that start it."""
    found: list[CommandAndEnv] = []
    for line in readme.replace("\\\n", " ").splitlines():
        way = _in_shell(line.strip().removeprefix("$ "), names) if len(line) < 400 else None
        if way is not None and way not in found:
            found.append(way)
    yield from found[:_MOST_LINES]


def named_in(readme: str, names: Sequence[str]) -> list[tuple[str, ...]]:
    """`NAME mcp` anywhere in its words: what may stand behind the program."""
    programs = "|".join(re.escape(name) for name in names)
    found = re.findall(rf"(?<![\w/-])(?:{programs}) (mcp(?: serve| start)?|serve)(?![\w-])", readme)
    return [tuple(words.split()) for words in dict.fromkeys(found)][:2]


def _in_shell(line: str, names: Sequence[str]) -> CommandAndEnv | None:
    """None if it starts nothing, or starts it bare."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None
    is_set = [re.match(r"[A-Z][A-Z0-9_]*=", word) is not None for word in words]
    first = is_set.index(False) if False in is_set else len(words)
    args = behind_the_program(words[first:], names)
    if args is None or not _is_started(words[first:], args) or _NOT_HERE.search(" ".join(args)):
        return None
    env = dict(_places_in(dict(word.split("=", 1) for word in words[:first])))
    said = [word for word in args if not re.fullmatch(r"\[.*\]|\.\.\.", word)]
    return (once(map(with_workspace, said)), env) if said or env else None


def _is_started(words: Sequence[str], args: Sequence[str]) -> bool:
    """By its name or by what runs packages, to serve: `NAME search "x"` answers and ends."""
    program = words[: len(words) - len(args)]
    by = [word for word in program[:-1] if not word.startswith("-")]
    first = args[0] if args else ""
    serves = not first or first in _SERVING or first.startswith("-") or is_path(first)
    return serves and (not by or by[0] in _RUNNERS)


def _places_in(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """With our folder where one of the author's own is named, and no file of the author's."""
    for name, value in env.items():
        if name in variables_in(name):
            yield name, "{workspace}"
        elif re.search(r"\.(?:db|sqlite3?|json)$", value):
            yield name, f"{{state}}/{value.rpartition('/')[2]}"
        elif not SECRET.search(name) and not is_path(value):
            yield name, value
