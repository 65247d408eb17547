"""A server's own programs: which have to be run first, by its words, and how they are run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runner.authoring.onboarding.command_words import own_file
from runner.authoring.onboarding.copying import on_copy, without_copy
from runner.authoring.onboarding.server_stderr import NO_START, own_words, without_terminal_codes
from runner.records import ServerSpec
from runner.sandbox.cell_layout import SERVER_USER, STATE, WORKSPACE
from runner.sandbox.container import Container
from runner.servers.definition_rules import fill_placeholders
from runner.servers.examine import exports

SETUP_SEC = 300
_MOST_COMMANDS = 3
_SHOWN_CHARS = 300
_SEEN_CHARS = 12_000
_NOT_ITS_OWN = 127
_PYTHON = "python3"
_HELD = re.compile(
    r"\banother\b[^\n]{0,40}\b(?:process|instance)\b|\balready (?:open|running|in use|locked)\b"
    r"|\b(?:is|file|database) locked\b|\b(?:set|acquire|obtain|get)\b[^\n]{0,20}\block\b",
    re.IGNORECASE,
)
_LOG = re.compile(rf"(?:{STATE}|/tmp)/[\w./-]+\.log\b")
_LOG_BYTES, _LOG_SEC = 4000, 10


async def end_of_log(container: Container, said: str) -> str:
    """Of the log that it names where it ends: why it ended may stand in no other place."""
    named = _LOG.search(said)
    if named is None:
        return ""
    command = f"tail -c {_LOG_BYTES} {shlex.quote(named[0])}"
    result = await container.shell(command, timeout_sec=_LOG_SEC, user=SERVER_USER)
    return result.output if result.exit_code == 0 else ""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How a program ended."""

    good: bool
    output: str
    """The end of it."""
    failed: str = ""
    """How, in words; empty for a program that is none of the server's."""

    @property
    def is_shut_out(self) -> bool:
        """Another process holds what it would write: the server that runs beside it."""
        return bool(self.failed and _HELD.search(self.output))


async def run_program(container: Container, spec: ServerSpec, command: str) -> Ran:
    """As the server's user, if it is a program that the server brought."""
    there: str = fill_placeholders(on_copy(command, spec))
    script = f"{exports(spec)}{_guard(command)}{there} </dev/null"
    result = await container.shell(script, timeout_sec=SETUP_SEC, user=SERVER_USER)
    output = result.output[-_SEEN_CHARS:]
    if result.exit_code == 0 and not result.timed_out:
        return Ran(good=True, output=output)
    if result.exit_code == _NOT_ITS_OWN:
        return Ran(good=False, output=output)
    end = "does not end" if result.timed_out else f"ends with {result.exit_code}"
    logged = await end_of_log(container, output)
    output = f"{output}\n{logged}"[-_SEEN_CHARS:]
    said = own_words(logged) or own_words(result.output)
    said = said or without_terminal_codes(result.output).strip()[-_SHOWN_CHARS:]
    return Ran(good=False, output=output, failed=f"{command} {end}: {said or 'it says nothing'}")


def wants_embeddings(ran: Ran) -> bool:
    """Did it fail for want of a model that is somewhere else?"""
    return bool(ran.failed and re.search(r"\bembedding", ran.output, re.IGNORECASE))


def flag_without_embeddings(help_text: str) -> str:
    """Of its own help, the flag that leaves them out; empty for none."""
    found = re.search(r"--(?:no|skip|without|disable)-embed[a-z-]*", help_text)
    return found[0] if found else ""


def _guard(command: str) -> str:
    """Ends the shell unless a command's program is the server's own.

    A text of its answers may name any program: `rm` is none of its own.
    """
    program, _, rest = command.partition(" ")
    if program == _PYTHON:
        return f"[ -f {shlex.quote(fill_placeholders(rest.split()[0]))} ] || exit {_NOT_ITS_OWN}; "
    place: str = fill_placeholders("{install}")
    found = f'"$(command -v {shlex.quote(program)})"'
    return f"case {found} in {place}/*) ;; *) exit {_NOT_ITS_OWN};; esac; "


def runnable(command: str, spec: ServerSpec) -> str:
    program, _, rest = command.partition(" ")
    # A server that is built as a program of another language has its tools built too.
    is_built = without_copy(spec.command)[0].startswith("{install}/")
    path = spec.env.get("PYTHONPATH", "")
    is_python = path.endswith("{install}/python") and program != _PYTHON
    if is_python and not is_built:
        # Whatever Python the script's own first line names.
        return f"{_PYTHON} {{install}}/python/bin/{program} {rest}".rstrip()
    return command


# --- named in its words -------------------------------------------------------------------------

_RUN = re.compile(
    # "Run `tool init` then `tool build`", "Create one with: tool init"
    r"\b(?:[Rr]un|[Ee]xecute|[Uu]se|[Tt]ry|then(?=\s+[`'\"])"
    r"|(?:[Cc]reate|[Bb]uild|[Gg]enerate) (?:it|one|an? \w+|the \w+) with)\b:?\s+"
    r"(?:([`'\"])(?P<quoted>[\w.@/-]+(?: [\w./=-]+){0,4})\1"
    rf"|(?P<bare>[a-z][\w.-]+(?: [a-z][\w-]+| {WORKSPACE}\b)?))"
)
_USELESS = NO_START | frozenset(
    "mcp serve server start restart watch search query find grep show list explore explain".split()
)
"""What never ends, or makes nothing."""
_UNBUILT = re.compile(
    r"\b(?:no|not|missing|cannot|does ?n[o']t)\b.*\b(?:index|indexed|database|db|graph)\b"
    r"|\b(?:run|build|create|generate|index|init)\b.*\bfirst\b|\bno such table\b",
    re.IGNORECASE,
)


def commands_named(texts: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """`Run "tool build" first`: what its answers say has to be run, the most often said first.

    `names`: what its programs may be called -> the program. One of those may stand alone.
    """
    said: dict[str, int] = {}
    for text in texts:
        for found in _RUN.finditer(text):
            command = _command(found["quoted"] or found["bare"], names)
            if command and not _USELESS & set(command.split()[1:]):
                said[command] = said.get(command, 0) + 1
    return sorted(said, key=lambda command: -said[command])[:_MOST_COMMANDS]


def _command(words: str, names: Mapping[str, str]) -> str:
    """Empty for a single word that is no program's name."""
    program, space, rest = words.partition(" ")
    rest = rest.replace(WORKSPACE, "{workspace}")
    known = names.get(program.rpartition("/")[2])
    if known is None:
        return f"{program} {rest}" if space else ""
    return f"{known} {rest}".rstrip()


def says_unbuilt(text: str) -> bool:
    """Does it miss an index, or anything that has to be made first?"""
    return bool(_UNBUILT.search(text))


# --- shown in its README ------------------------------------------------------------------------

_BUILDS = frozenset(
    "init index build scan analyze analyse ingest sync reindex indexer extract update "
    "bootstrap".split()
)
_NEVER_DONE = frozenset({"--watch", "--dry-run", "--help", "--interactive", "--daemon"})
"""With these a program does not end, or builds nothing."""
_OF_ITSELF = frozenset({"update"})
"""Without a place it may fetch a newer version of the program."""
_PLACE = re.compile(r"^(?:[/~<$%{]|path|your)", re.IGNORECASE)
_WORD = re.compile(r"[\w./<>~${}=@:-]+")
_BEFORE_PROGRAM = re.compile(r"^[ \t]*(?:[$>%] )?(?:npx (?:-y )?|uvx )?(?=\w)")


def commands_shown(readme: str, names: Sequence[str]) -> list[str]:
    """`NAME init`, `NAME-index /your/path`: what its README shows, and what builds an index.

    `names`: of its programs.
    """
    shown = (*readme.splitlines(), *re.findall(r"`([^`\n]+)`", readme))
    lines = (_BEFORE_PROGRAM.sub("", line).partition(" #")[0] for line in shown)
    found = (_building(line.split(), names) for line in lines)
    return list(dict.fromkeys(filter(None, found)))[:_MOST_COMMANDS]


def _building(words: Sequence[str], names: Sequence[str]) -> str:
    """With `{workspace}` where it has a path of its author's; empty if it builds none."""
    if not words or words[0] not in names:
        return ""
    program, *rest = words
    if rest[:1] and rest[0] in _BUILDS:
        verb, rest = [rest[0]], rest[1:]
    elif re.split(r"[-_]", program)[-1] in _BUILDS:
        verb = []
    else:
        return ""
    has_place = any(word == "." or _PLACE.match(word) for word in rest)
    if not all(map(_may_stand, rest)) or (_OF_ITSELF & set(verb) and not has_place):
        return ""
    places = ["{workspace}" if _PLACE.match(word) else word for word in rest]
    files = map(own_file, rest)
    placed = [file or place for file, place in zip(files, places, strict=True)]
    return " ".join([program, *verb, *placed])


def _may_stand(word: str) -> bool:
    """A flag, the folder, a place, or a file of its own."""
    known = word == "." or word.startswith("-") or own_file(word)
    is_fit = known or _PLACE.match(word)
    return bool(_WORD.fullmatch(word) and is_fit) and word not in _NEVER_DONE
