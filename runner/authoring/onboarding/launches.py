"""How a server may be started: what its author shows in the README, and what is usual."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources

from runner.authoring.onboarding.command_words import (
    SECRET,
    behind_the_program,
    is_path,
    named_in,
    once,
    shown_in_shell,
    with_workspace,
)
from runner.authoring.onboarding.server_stderr import NO_START, without_terminal_codes
from runner.records import ServerSpec

SHOWN = "as its README shows"
USUAL = "usual"
MOST = 9
"""Ways to start that are tried."""
_BLOCK = re.compile(
    r"\bcommand\"?\s*[:=]\s*\"(?P<command>[^\"\n]+)\"\s*,?\s*"
    # VS Code has "type" between them, Codex writes TOML.
    r"(?:\"(?!args)\w+\"\s*:\s*(?:\"[^\"\n]*\"|\w+)\s*,\s*)?"
    r"\"?args\"?\s*[:=]\s*(?P<args>\[[^\]]{0,600}\])"
    r"(?:\s*,\s*\"env\"\s*:\s*(?P<env>\{[^{}]{0,600}\}))?"
)
_NO_JSON = re.compile(r",(?=\s*[\]}])|(?<=[\s,])//[^\n]*")
"""What authors write all the same: a comma at the end, a comment."""
_NAMES_A_PLACE = re.compile(r"PATH|DIR|ROOT|WORKSPACE|PROJECT|REPO|FOLDER", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What stands behind the program, and its environment."""

    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    copied: bool = False
    """On a copy of the repository, which it may write."""
    why: str
    """Where it comes from, for the person."""

    def is_like(self, other: Launch) -> bool:
        return replace(self, why="") == replace(other, why="")

    def __str__(self) -> str:
        words = " ".join(self.args) or "no arguments"
        sets = "".join(f" {name}={value}" for name, value in self.env.items())
        where = " on a copy" if self.copied else ""
        return f"{words}{sets}{where} ({self.why})"


def launches(readme: str, names: Sequence[str]) -> list[Launch]:
    """Bare, as the README has it, with the workspace as argument, then the usual flags.

    `names`: of the package and its entry points, by which the README's commands are known.
    """
    ways: list[Launch] = []
    lines = [Launch(args=args, env=env, why=SHOWN) for args, env in shown_in_shell(readme, names)]
    named = [Launch(args=args, why="its README names it") for args in named_in(readme, names)]
    for way in (Launch(why="bare"), *_shown(readme, names), *lines, *named, *_usual()):
        if not any(map(way.is_like, ways)):
            ways.append(way)
    return ways[:MOST]


def _usual() -> Iterator[Launch]:
    yield Launch(args=("{workspace}",), why="the workspace as argument")
    for flag in ("--mcp", "--stdio"):
        yield Launch(args=(flag,), why=USUAL)
    for flag in ("--project", "--repository", "--root"):
        yield Launch(args=(flag, "{workspace}"), why=USUAL)


def secrets_in(readme: str) -> list[str]:
    """Variables of the README's own configuration that hold a key or a password."""
    names = []
    for block in _BLOCK.finditer(readme):
        names += [name for name in _object(block["env"]) if SECRET.search(name)]
    return list(dict.fromkeys(names))


def _shown(readme: str, names: Sequence[str]) -> Iterator[Launch]:
    for block in _BLOCK.finditer(readme):
        try:
            given = [
                part
                for word in json.loads(_NO_JSON.sub("", block["args"]))
                for part in _parted(str(word))
            ]
            words = [block["command"], *given]
        except ValueError:
            continue
        args = behind_the_program(words, names)
        if args is not None:
            env = dict(_settings(_object(block["env"])))
            yield Launch(args=once(map(with_workspace, args)), env=env, why=SHOWN)


def _parted(word: str) -> list[str]:
    """`--root /path` in one pair of quotes is a flag and its value."""
    flag, space, value = word.partition(" ")
    return [flag, value] if space and flag.startswith("--") and "=" not in flag else [word]


def _settings(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Without keys, and without what stands for a value of the reader's own."""
    for name, value in env.items():
        if SECRET.search(name):
            continue
        if not is_path(value):
            yield name, value
        elif _NAMES_A_PLACE.search(name):
            yield name, "{workspace}"


def _object(text: str | None) -> dict[str, str]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str)}


_PLACES = (
    "projects?|repos?|repository|repositories|roots?|workspaces?|dirs?|directory|directories|paths?"
    "|folders?"
)
_OPTION = re.compile(
    rf"(?P<flag>--(?:[a-z][a-z-]*-)?(?:{_PLACES})(?:-?(?:path|root|dir|directory))?|--allow)"
    r"[ =](?P<value><[^>]+>|\[[^\]]+\]|[A-Z][A-Z_]+)"
)
_NOT_A_PROJECT = re.compile(r"log|cache|config|data|db|output|index|state|static|cert|key")
_SERVING = "mcp|serve|server|start|stdio|start-mcp-server|run"
_COMMANDS = re.compile(
    # With the program's name before it, nothing but its own words may follow: it may be prose.
    rf"^[ \t]+(?:(?P<alone>{_SERVING})(?![\w-])"
    rf"|[\w-]+[ \t](?P<word>{_SERVING})(?:[ \t]{{2,}}|$))",
    re.MULTILINE,
)
_CHOICES = re.compile(r"^usage:[^{]{0,300}\{(?P<words>[\w,-]+)\}", re.MULTILINE | re.IGNORECASE)
"""`usage: tool mcp [-h] {serve,stop}`"""
_SERVES = re.compile(
    r"^[ \t]+(?:[\w-]+[ \t])?(?P<word>[a-z][\w-]*)(?: [\[<A-Z][^\n]*?)?[ \t]{2,}"
    r"(?P<about>[^\n]*\bMCP\b[^\n]*)",
    re.MULTILINE,
)
_STARTS = re.compile(r"\b(?:start|run|serve|launch|expose|server)", re.IGNORECASE)
_CONFIGURES = re.compile(r"\b(?:config|install|set ?up|setup|add|remov|regist|list|generat|wire)")


def launches_with(variables: Iterable[str], launch: Launch, why: str) -> list[Launch]:
    """The same, with our folder in a variable of the server's."""
    sets = [{**launch.env, name: "{workspace}"} for name in variables if name not in launch.env]
    return [Launch(args=launch.args, env=env, why=why) for env in sets]


def launches_in_help(text: str) -> list[Launch]:
    """Options that take a project's folder, and commands that serve."""
    text = without_terminal_codes(text)
    flags = []
    for option in _OPTION.finditer(text):
        if not _NOT_A_PROJECT.search(option["flag"]):
            flags.append(option["flag"])
    why = "its own usage names it"
    ways = [(flag, "{workspace}") for flag in dict.fromkeys(flags)]
    commands = [(word,) for word in _commands_in(text)]
    return [Launch(args=words, why=why) for words in [*commands, *ways]][:4]


def _commands_in(text: str) -> list[str]:
    """Those that say that they serve MCP, before those that are only called so."""
    told = [
        found["word"]
        for found in _SERVES.finditer(text)
        if _STARTS.search(found["about"]) and not _CONFIGURES.search(found["about"].lower())
    ]
    called = [found["alone"] or found["word"] for found in _COMMANDS.finditer(text)]
    choices = [word for found in _CHOICES.finditer(text) for word in found["words"].split(",")]
    offered = [word for word in choices if re.fullmatch(_SERVING, word)]
    return [it for it in dict.fromkeys([*told, *called, *offered]) if it not in NO_START]


# --- over HTTP: behind http_bridge.py, in its cell ------------------------------------------------

BRIDGE = "http_bridge.py"
_LISTENS = re.compile(
    r"\b(?:listening|listens|running|serving|started|available)\b.{0,60}?"
    r"(?:https?://\S+|\bport:? ?\d{2,5}|(?:localhost|127\.0\.0\.1|0\.0\.0\.0):\d{2,5})",
    re.IGNORECASE | re.DOTALL,
)


def listens(said: Iterable[str]) -> bool:
    """Does a server say that it waits at a port? `said`: its stderr, and stray lines of stdout."""
    return any(_LISTENS.search(text) for text in said)


def bridged(spec: ServerSpec, where: str) -> ServerSpec:
    """Behind the bridge. `where`: `PORT`, `PORT/PATH`, or empty for what it is found to open.

    An image is left as it is: the bridge runs beside it, in the cell.
    """
    if spec.image is not None:
        return spec.model_copy(update={"http": where})
    text = resources.files("runner.sandbox").joinpath(BRIDGE).read_text("utf-8")
    words = [where] if where else []
    return spec.model_copy(
        update={
            "files": {**spec.files, BRIDGE: text},
            "command": ("python3", f"{{install}}/{BRIDGE}", *words, "--", *spec.command),
        }
    )


def over_http(ways: Iterable[Launch]) -> list[Launch]:
    """The same ways, and before them the usual words for it."""
    usual = (("--transport", "streamable-http"), ("--transport", "http"), ("--http",))
    words = [Launch(args=args, why="usual for HTTP") for args in usual]
    return [Launch(why="bare, over HTTP"), *words, *ways]
