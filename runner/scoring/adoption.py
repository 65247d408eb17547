"""Adoption: was the server used, and used well? Beside fairness, never inside it (DESIGN.md, Scores).

It is the weighted sum of the parts in `ADOPTION`. A new part is a function of a `ToolTrace`, and a line there.
Its scorers see calls alone, and no word of the answer.
"""

from __future__ import annotations

import itertools
import re
import shlex

from runner.protocols import AdoptionScorer
from runner.records import Adoption, Score, Scored, ToolTrace, TraceCall, Unscored
from runner.scoring.weights import Part, weighted

STRUCTURAL = Unscored(reason="structural: the shell arm has no server to adopt")

SEARCH_COMMANDS = frozenset(
    {
        "grep",
        "egrep",
        "fgrep",
        "zgrep",
        "rgrep",
        "rg",
        "ag",
        "ack",
        "ack-grep",
        "find",
        "fd",
        "fdfind",
        "locate",
    }
)
_GIT_SEARCHES = frozenset({"grep", "ls-files"})
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ash"})
_PREFIXES = frozenset(
    {
        "sudo",
        "env",
        "time",
        "timeout",
        "nice",
        "nohup",
        "command",
        "exec",
        "xargs",
        "stdbuf",
        "builtin",
    }
)
_SEPARATORS = frozenset({";", "&", "&&", "|", "|&", "||", "(", ")", ";;", "\n"})
_KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "fi", "done", "time"}
)
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?\n\s*\2[ \t]*(?=\n|\Z)", re.DOTALL)
_FED_TO_A_SHELL = re.compile(r"\b(?:bash|sh|dash|zsh)\b[^\n|;]*<<")
_MAX_DEPTH = 4


def tool_fluency(trace: ToolTrace) -> Score:
    """Successful server calls / (all server calls + shell searches). An arm that called neither was not fluent: 0."""
    server = [call for call in trace.calls if call.origin == "server"]
    good = sum(not call.is_error for call in server)
    searches = sum(searches_the_tree(call) for call in trace.calls)
    asked = len(server) + searches
    detail = f"{good} of {len(server)} server calls succeeded, {searches} shell searches"
    return Scored(value=good / asked if asked else 0.0, detail=detail)


def discoverability(trace: ToolTrace) -> Score:
    """Steps in which a server call succeeded / steps."""
    found = {call.step for call in trace.calls if call.origin == "server" and not call.is_error}
    return Scored(
        value=len(found) / trace.steps if trace.steps else 0.0,
        detail=f"{len(found)} of {trace.steps} steps",
    )


ADOPTION: dict[str, Part[AdoptionScorer]] = {
    "tool_fluency": Part(
        score=tool_fluency, weight=0.60, label="fluency", short="fluency", heading="tool fluency"
    ),
    "discoverability": Part(
        score=discoverability, weight=0.40, label="discoverability", short="discov."
    ),
}


def score_adoption(trace: ToolTrace, *, server: str) -> Adoption:
    """The adoption half of a scorecard. For `shell` every score is structurally unscored: a dash in a report, 0 in no average."""
    parts: dict[str, Score] = {
        name: STRUCTURAL if server == "shell" else part.score(trace)
        for name, part in ADOPTION.items()
    }
    calls = [call for call in trace.calls if call.origin == "server"]
    return Adoption(
        score=weighted(parts, ADOPTION),
        parts=parts,
        server_calls=len(calls),
        server_errors=sum(call.is_error for call in calls),
        shell_calls=len(trace.calls) - len(calls),
        shell_searches=sum(searches_the_tree(call) for call in trace.calls),
    )


def searches_the_tree(call: TraceCall) -> bool:
    """Does a shell call run a search (grep, rg, find, `git grep`, …) as a command? `cat grep.py` and `echo grep` do not."""
    command = call.arguments.get("command")
    return call.origin == "shell" and isinstance(command, str) and runs_search(command)


def runs_search(command: str, depth: int = 0) -> bool:
    """True where any command word in the line is a search; looks into pipelines, `bash -c`, xargs, substitutions and `find -exec`."""
    if depth > _MAX_DEPTH:
        return False
    if not _FED_TO_A_SHELL.search(command):  # a script written to a file is text, not a search
        command = _HERE_DOCUMENT.sub(r" \3 ", command)
    inner = [
        text for pair in re.findall(r"\$\(([^()]*)\)|`([^`]*)`", command) for text in pair if text
    ]
    return any(runs_search(text, depth + 1) for text in inner) or any(
        _is_search(words, depth) for words in _commands(command)
    )


def _commands(line: str) -> list[list[str]]:
    """The simple commands of a line, each as its words."""
    commands: list[list[str]] = [[]]
    for token in _tokens(line):
        if token in _SEPARATORS or (token in _KEYWORDS and not commands[-1]):
            commands.append([])
        else:
            commands[-1].append(token)
    return [words for words in commands if words]


def _tokens(line: str) -> list[str]:
    lexer = shlex.shlex(
        line.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=";&|()"
    )
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except (
        ValueError
    ):  # an unbalanced quote: the shell would refuse it too, but a here-document may hold one
        return re.findall(r"[;&|()]+|[^\s;&|()]+", line)


def _is_search(words: list[str], depth: int) -> bool:
    words = _without_prefixes(words)
    if not words:
        return False
    name = words[0].rsplit("/", 1)[-1]
    if name in _SHELLS:
        scripts = [
            after for flag, after in itertools.pairwise(words) if re.fullmatch(r"-[a-z]*c", flag)
        ]
        return any(runs_search(script, depth + 1) for script in scripts)
    if name == "git":
        return any(word in _GIT_SEARCHES for word in _git_verb(words))
    return name in SEARCH_COMMANDS


def _without_prefixes(words: list[str]) -> list[str]:
    """The words from the command on: assignments, `sudo`, `timeout 5`, `xargs -0 -n1` and the like taken off."""
    prefixed = False
    while words:
        first = words[0].rsplit("/", 1)[-1]
        if first in _PREFIXES:
            prefixed = True
        elif not (
            re.match(r"\w+=", first) or (prefixed and re.match(r"-|\d+[smh]?$|\{\}$", first))
        ):
            return words
        words = words[1:]
    return words


def _git_verb(words: list[str]) -> list[str]:
    """`git -C dir grep` -> ["grep"]."""
    takes_value = False
    for word in words[1:]:
        if takes_value:
            takes_value = False
        elif word in ("-C", "-c", "--git-dir", "--work-tree"):
            takes_value = True
        elif not word.startswith("-"):
            return [word]
    return []
