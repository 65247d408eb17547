"""How a server may be started: what its author shows in the README, and what is usual."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from runner.trying import tables
from runner.trying.words import plain

SHOWN = "as its README shows"
MOST = 9
"""Ways to start that are tried."""
_BLOCK = re.compile(
    r"\"command\"\s*:\s*\"(?P<command>[^\"\n]+)\"\s*,\s*\"args\"\s*:\s*(?P<args>\[[^\]]{0,600}\])"
    r"(?:\s*,\s*\"env\"\s*:\s*(?P<env>\{[^{}]{0,600}\}))?"
)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_NAMES_A_PLACE = re.compile(r"PATH|DIR|ROOT|WORKSPACE|PROJECT|REPO|FOLDER", re.IGNORECASE)
_PATH = re.compile(
    r"^(?:[~/.$<%]|[A-Za-z]:[\\/]|\{|your|path|/)|(?:path|project|repo|workspace|director|folder)s?"
    r"[^=]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What stands behind the program, and its environment."""

    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    why: str
    """Where it comes from, for the person."""

    def __str__(self) -> str:
        words = " ".join(self.args) or "no arguments"
        sets = "".join(f" {name}={value}" for name, value in self.env.items())
        return f"{words}{sets} ({self.why})"


def launches(readme: str, names: Sequence[str], *, reads_tables: bool = False) -> list[Launch]:
    """Bare, as the README has it, with the workspace as argument, then the usual flags.

    `names`: of the package and its entry points, by which the README's commands are known.
    `reads_tables`: it gets the repository as a table where its README has one of the author's.
    """
    ways: list[Launch] = []
    shown = [*_shown(readme, names), *_shown_in_shell(readme, names)]
    usual = list(_usual())
    if reads_tables:
        shown = [_with_tables(way) for way in _shown(readme, names, keep=True)]
        shown += _shown_in_shell(readme, names)
        why = "the repository as a table"
        usual = [*(Launch(args=args, why=why) for args in tables.ways()), *usual]
    for way in (Launch(why="bare"), *shown, *usual):
        if not any((way.args, way.env) == (other.args, other.env) for other in ways):
            ways.append(way)
    return ways[:MOST]


def _usual() -> Iterator[Launch]:
    yield Launch(args=("{workspace}",), why="the workspace as argument")
    for flag in ("--mcp", "--stdio"):
        yield Launch(args=(flag,), why="usual")
    for flag in ("--project", "--repository", "--root"):
        yield Launch(args=(flag, "{workspace}"), why="usual")


def secrets_in(readme: str) -> list[str]:
    """Variables of the README's own configuration that hold a key or a password."""
    names = []
    for block in _BLOCK.finditer(readme):
        names += [name for name in _object(block["env"]) if _SECRET.search(name)]
    return list(dict.fromkeys(names))


def _with_tables(way: Launch) -> Launch:
    args = [tables.placed(word) if _is_path(word) else "" for word in way.args]
    found = tuple(known or _placed(word) for known, word in zip(args, way.args, strict=True))
    return Launch(args=_once(found), env=way.env, why=way.why)


def _shown(readme: str, names: Sequence[str], *, keep: bool = False) -> Iterator[Launch]:
    """`keep`: the author's own paths as they are."""
    for block in _BLOCK.finditer(readme):
        try:
            given = [part for word in json.loads(block["args"]) for part in _parted(str(word))]
            words = [block["command"], *given]
        except ValueError:
            continue
        args = _behind_the_program(words, names)
        if args is not None:
            env = dict(_settings(_object(block["env"])))
            placed = tuple(args) if keep else _once(map(_placed, args))
            yield Launch(args=placed, env=env, why=SHOWN)


_RUNNERS = frozenset(
    "npx bunx uvx uv pipx node python python3 bun deno claude codex gemini".split()
)
_SERVING = frozenset("mcp serve server start stdio start-mcp-server".split())
_NOT_HERE = re.compile(r"[|<>;&`$]|--(?:help|version|port|host)\b|\b(?:sse|https?|install)\b")
"""In a line of a shell: another program beside it, or a way that is not spoken over stdin."""
_MOST_LINES = 3


def _shown_in_shell(readme: str, names: Sequence[str]) -> Iterator[Launch]:
    """`uvx NAME --root /path`, `FOLDER=/path NAME serve`: lines of a shell that start it."""
    found: list[Launch] = []
    for line in readme.replace("\\\n", " ").splitlines():
        way = _in_shell(line.strip().removeprefix("$ "), names) if len(line) < 400 else None
        if way is not None and way not in found:
            found.append(way)
    yield from found[:_MOST_LINES]


def _in_shell(line: str, names: Sequence[str]) -> Launch | None:
    """None if it starts nothing, or starts it bare."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None
    is_set = [re.match(r"[A-Z][A-Z0-9_]*=", word) is not None for word in words]
    first = is_set.index(False) if False in is_set else len(words)
    args = _behind_the_program(words[first:], names)
    if args is None or not _is_started(words[first:], args) or _NOT_HERE.search(" ".join(args)):
        return None
    env = dict(_places_in(dict(word.split("=", 1) for word in words[:first])))
    said = [word for word in args if not re.fullmatch(r"\[.*\]|\.\.\.", word)]
    way = Launch(args=_once(map(_placed, said)), env=env, why=SHOWN)
    return way if said or env else None


def _is_started(words: Sequence[str], args: Sequence[str]) -> bool:
    """By its name or by what runs packages, to serve: `NAME search "x"` answers and ends."""
    program = words[: len(words) - len(args)]
    by = [word for word in program[:-1] if not word.startswith("-")]
    first = args[0] if args else ""
    serves = not first or first in _SERVING or first.startswith("-") or _is_path(first)
    return serves and (not by or by[0] in _RUNNERS)


def _places_in(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """With our folder where one of the author's own is named, and no file of the author's."""
    for name, value in env.items():
        if name in variables_in(name):
            yield name, "{workspace}"
        elif re.search(r"\.(?:db|sqlite3?|json)$", value):
            yield name, f"{{state}}/{value.rpartition('/')[2]}"
        elif not _SECRET.search(name) and not _is_path(value):
            yield name, value


def _parted(word: str) -> list[str]:
    """`--root /path` in one pair of quotes is a flag and its value."""
    flag, space, value = word.partition(" ")
    return [flag, value] if space and flag.startswith("--") and "=" not in flag else [word]


def _settings(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Without keys, and without what stands for a value of the reader's own."""
    for name, value in env.items():
        if _SECRET.search(name):
            continue
        if not _is_path(value):
            yield name, value
        elif _NAMES_A_PLACE.search(name):
            yield name, "{workspace}"


def _once(args: Iterable[str]) -> tuple[str, ...]:
    """`/path/one /path/two` are one workspace here."""
    kept: list[str] = []
    for word in args:
        if not (word == "{workspace}" and kept[-1:] == [word]):
            kept.append(word)
    return tuple(kept)


def _object(text: str | None) -> dict[str, str]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str)}


def _behind_the_program(words: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """None if the command is another program's."""
    last = None
    for place, word in enumerate(words):
        # `@scope/name@1.2.3`, `name==1.2`, `git+…/name`, `./dist/index.js`
        plain = re.sub(r"(?<=.)(@[\w.^~-]+|==.*|\[.*\])$", "", word)
        if plain in names or plain.rpartition("/")[2] in names:
            last = place
    if last is None:
        return None
    return list(words[last + 1 :])


def _placed(word: str) -> str:
    """With `{workspace}` where the README has a path of its author's."""
    flag, equals, value = word.partition("=")
    if equals and flag.startswith("-") and _is_path(value):
        return f"{flag}={{workspace}}"
    if not word.startswith("-") and _is_path(word):
        return "{workspace}"
    return word


def _is_path(word: str) -> bool:
    return bool(_PATH.search(word)) and word not in (".git",)


_PLACES = (
    "projects?|repos?|repository|repositories|roots?|workspaces?|dirs?|directory|directories|paths?"
    "|folders?"
)
_OPTION = re.compile(
    rf"(?P<flag>--(?:[a-z][a-z-]*-)?(?:{_PLACES})(?:-?(?:path|root|dir|directory))?|--allow)"
    r"[ =](?P<value><[^>]+>|\[[^\]]+\]|[A-Z][A-Z_]+)"
)
_NOT_A_PROJECT = re.compile(r"log|cache|config|data|db|output|index|state|static|cert|key")
_COMMANDS = re.compile(
    r"^[ \t]+(mcp|serve|server|start|stdio|start-mcp-server|run)(?![\w-])", re.MULTILINE
)
_SERVES = re.compile(
    r"^[ \t]+(?P<word>[a-z][\w-]*)(?: [\[<A-Z][^\n]*?)?[ \t]{2,}(?P<about>[^\n]*\bMCP\b[^\n]*)",
    re.MULTILINE,
)
_STARTS = re.compile(r"\b(?:start|run|serve|launch|expose|server)", re.IGNORECASE)
_CONFIGURES = re.compile(r"\b(?:config|install|set ?up|setup|add|remov|regist|list|generat|wire)")


_DENIED = re.compile(
    r"access (?:is )?denied|(?:not|isn't) (?:an? )?allowed|outside (?:of )?(?:the |any )?"
    r"(?:allowed|permitted|configured|workspace|project|root)|no allowed director|allowlist",
    re.IGNORECASE,
)


def launches_if_denied(errors: Iterable[str]) -> list[Launch]:
    """Options that open a folder, for one that says that ours is closed to it."""
    if not any(map(_DENIED.search, errors)):
        return []
    why = "it says that our folder is not allowed"
    flags = ("--allow", "--allowed-directories", "--allow-dir", "--allowed-paths")
    return [Launch(args=(flag, "{workspace}"), why=why) for flag in flags]


_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_FOLDER_ENDS = frozenset(
    "DIR DIRECTORY PATH ROOT WORKSPACE PROJECT REPO REPOSITORY FOLDER VAULT CODEBASE CORPUS "
    "DOCS NOTES".split()
)
_MOST_VARIABLES = 2


def variables_in(text: str) -> list[str]:
    """Variables whose name says that they hold where the project is, the first named first."""
    names = dict.fromkeys(_VARIABLE.findall(text))
    found = [name for name in names if name.rpartition("_")[2] in _FOLDER_ENDS]
    return [name for name in found if not _holds_another(name)][:_MOST_VARIABLES]


def _holds_another(name: str) -> bool:
    words = {word.lower() for word in name.split("_")}
    return bool(_SECRET.search(name) or words & _OTHER_FOLDERS)


_OTHER_FOLDERS = frozenset(
    "log logs cache config data db output index state static cert home bin embeddings model models "
    "history tmp temp python node ld token backup trash install template templates"
    # A stand-in for the reader's own path is no variable: FULL_PATH_TO_YOUR_PROJECT.
    " your my".split()
)


def launches_with(variables: Iterable[str], launch: Launch, why: str) -> list[Launch]:
    """The same, with our folder in a variable of the server's."""
    sets = [{**launch.env, name: "{workspace}"} for name in variables if name not in launch.env]
    return [Launch(args=launch.args, env=env, why=why) for env in sets]


def launches_in_help(text: str, behind: tuple[str, ...] = ()) -> list[Launch]:
    """Options that take a project's folder, and commands that serve.

    `behind`: the words it was started with when it said this; they stay if the usage names them.
    """
    text = plain(text)
    flags = []
    for option in _OPTION.finditer(text):
        if not _NOT_A_PROJECT.search(option["flag"]):
            flags.append(option["flag"])
    kept = behind if behind and _usage_names(text, behind) else ()
    why = "its own usage names it"
    ways = [(flag, "{workspace}") for flag in dict.fromkeys(flags)]
    commands = [(word,) for word in _commands_in(text)]
    return [Launch(args=(*kept, *words), why=why) for words in [*commands, *ways]][:4]


def _commands_in(text: str) -> list[str]:
    """Those that say that they serve MCP, before those that are only called so."""
    told = [
        found["word"]
        for found in _SERVES.finditer(text)
        if _STARTS.search(found["about"]) and not _CONFIGURES.search(found["about"].lower())
    ]
    return list(dict.fromkeys([*told, *_COMMANDS.findall(text)]))


def _usage_names(text: str, words: Sequence[str]) -> bool:
    """`Usage: tool mcp [OPTIONS] COMMAND` is said of `tool mcp`."""
    usage = re.search(r"usage:([^\n]*)", text, re.IGNORECASE)
    return usage is not None and all(word in usage[1].split() for word in words)
