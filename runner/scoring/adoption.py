"""Adoption: was the server used, and used well? Beside fairness, never inside it.

It is the weighted sum of the parts in `ADOPTION` (docs/scores.md). A new part is a function of a
`ToolTrace`, and a line there. Its scorers see calls alone, and no word of the answer.
"""

from __future__ import annotations

import bisect
import itertools
import re
import shlex
from collections.abc import Iterator

from runner.protocols import AdoptionScorer
from runner.records import Adoption, Score, Scored, ToolTrace, TraceCall, Unscored
from runner.scoring.score_parts import Part, weighted

STRUCTURAL = Unscored(reason="structural: the shell arm has no server to adopt")


# --- the parts ------------------------------------------------------------------------------


def tool_fluency(trace: ToolTrace) -> Score:
    """Successful server calls / (all server calls + shell searches)."""
    calls = _server_calls(trace)
    succeeded = len(calls) - _errors(calls)
    searches = _searches(trace)
    return Scored(
        # An arm that called neither was not fluent: 0.
        value=_share(succeeded, len(calls) + searches),
        detail=f"{succeeded} of {len(calls)} server calls succeeded, {searches} shell searches",
    )


def discoverability(trace: ToolTrace) -> Score:
    """Steps in which a server call succeeded / steps."""
    steps = {call.step for call in _server_calls(trace) if not call.is_error}
    return Scored(
        value=_share(len(steps), trace.steps), detail=f"{len(steps)} of {trace.steps} steps"
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
    """The adoption half of a scorecard. For `shell`, every score is structurally unscored."""
    parts = dict(_part_scores(trace, server))
    calls = _server_calls(trace)
    return Adoption(
        score=weighted(parts, ADOPTION),
        parts=parts,
        server_calls=len(calls),
        server_errors=_errors(calls),
        shell_calls=len(trace.calls) - len(calls),
        shell_searches=_searches(trace),
    )


def _part_scores(trace: ToolTrace, server: str) -> Iterator[tuple[str, Score]]:
    for name, part in ADOPTION.items():
        # Scored, the shell's 0 would read as a server that nobody used.
        yield name, STRUCTURAL if server == "shell" else part.score(trace)


def _server_calls(trace: ToolTrace) -> list[TraceCall]:
    return [call for call in trace.calls if call.origin == "server"]


def _errors(calls: list[TraceCall]) -> int:
    return sum(call.is_error for call in calls)


def _searches(trace: ToolTrace) -> int:
    return sum(searches_the_tree(call) for call in trace.calls)


def _share(count: int, of: int) -> float:
    if not of:
        return 0.0
    return count / of


# --- does a command line search? ------------------------------------------------------------

SEARCH_COMMANDS = frozenset(
    "grep egrep fgrep zgrep rgrep rg ag ack ack-grep find fd fdfind locate".split()
)
SEARCH_TOOLS = frozenset({"Grep", "Glob"})
"""Of Claude Code, in imported cells: left out, its baseline would never have searched."""
_GIT_SEARCHES = frozenset({"grep", "ls-files"})
_GIT_OPTIONS_WITH_A_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree"})
_SHELLS = frozenset("bash sh dash zsh ash".split())
_PREFIXES = frozenset("sudo env time timeout nice nohup command exec xargs stdbuf builtin".split())
_SEPARATORS = frozenset({";", "&", "&&", "|", "|&", "||", "(", ")", ";;", "\n"})
_KEYWORDS = frozenset("if then else elif do while until ! { } fi done time".split())
_MAX_DEPTH = 4

_HERE_DOCUMENT = re.compile(
    r"""
    <<-?\s*               # `<<` or `<<-`
    (['"]?) (\w+) \1     # the mark that ends it: `EOF`, `'EOF'`, `"EOF"`
    """,
    re.VERBOSE,
)
_MARK = re.compile(r"\n[^\S\n]*(\w+)[ \t]*(?=\n|\Z)")
"""A line of one word alone, with the line end before it: where a here-document may end."""
_SHELL_WORD = re.compile(r"\b(?:bash|sh|dash|zsh)\b")
_SUBSTITUTION = re.compile(
    r"""
      \$\( ([^()]*) \)   # $(rg -l name)
    | `    ([^`]*)  `    # `rg -l name`
    """,
    re.VERBOSE,
)
_RUNS_A_SCRIPT = re.compile(r"-[a-z]*c")  # -c, -lc
_ASSIGNMENT = re.compile(r"\w+=")  # LANG=C
_PREFIX_ARGUMENT = re.compile(r"-|\d+[smh]?$|\{\}$")  # -n1, 5, 10s, {}


def searches_the_tree(call: TraceCall) -> bool:
    """Does a shell call run a search (grep, rg, find, `git grep`, …) as a command?

    `cat grep.py` and `echo grep` do not.
    """
    if call.origin == "shell" and call.tool in SEARCH_TOOLS:
        return True
    command = call.arguments.get("command")
    return call.origin == "shell" and isinstance(command, str) and runs_search(command)


def runs_search(command: str, depth: int = 0) -> bool:
    """Is any command word in the line a search?

    Looks into pipelines, `bash -c`, xargs, substitutions and `find -exec`.
    """
    if depth > _MAX_DEPTH:
        return False
    if not _is_fed_to_a_shell(command):
        # A script that is only written to a file is text: `cat <<EOF > find.sh` searches nothing.
        command = _without_here_documents(command)
    if any(runs_search(text, depth + 1) for text in _substitutions(command)):
        return True
    return any(_is_search(words, depth) for words in _commands(command))


def _is_fed_to_a_shell(command: str) -> bool:
    """`bash <<EOF`: the document is a script that runs."""
    for part in re.split(r"[\n|;]", command):
        shell = _SHELL_WORD.search(part)
        if shell and part.find("<<", shell.end()) >= 0:
            return True
    return False


def _without_here_documents(command: str) -> str:
    """The command with each document left out: only the rest of the line it begins on stays."""
    if "<<" not in command:
        return command
    documents = _Documents(command)
    kept, at = [], 0
    while begin := _HERE_DOCUMENT.search(command, at):
        line_end = documents.line_end(begin.end())
        end = documents.end(begin[2], line_end)
        if end is None:
            kept.append(command[at : begin.end()])
            at = begin.end()
        else:
            kept += (command[at : begin.start()], f" {command[begin.end() : line_end]} ")
            at = end
    return "".join([*kept, command[at:]])


class _Documents:
    """Where the lines of a command end, and the marks of its here-documents stand.

    Looked for anew behind each `<<`, a command of nothing else would take quadratic time.
    """

    def __init__(self, command: str) -> None:
        self._line_ends = [found.start() for found in re.finditer(r"\n", command)]
        self._line_ends.append(len(command))
        self._marks: dict[str, list[tuple[int, int]]] = {}
        for mark in _MARK.finditer(command):
            self._marks.setdefault(mark[1], []).append(mark.span())

    def line_end(self, at: int) -> int:
        return self._line_ends[bisect.bisect_left(self._line_ends, at)]

    def end(self, mark: str, line_end: int) -> int | None:
        """Behind the mark that ends the document that begins below `line_end`, if there is one."""
        marks = self._marks.get(mark, [])
        following = bisect.bisect_left(marks, (line_end + 1, 0))
        if following == len(marks):
            return None
        return marks[following][1]


def _substitutions(command: str) -> Iterator[str]:
    for in_parentheses, in_backticks in _SUBSTITUTION.findall(command):
        yield in_parentheses or in_backticks


def _commands(line: str) -> Iterator[list[str]]:
    """The simple commands of a line, each as its words."""
    words: list[str] = []
    for token in _tokens(line):
        # `then grep x` starts a command with a keyword; `echo then` only prints one.
        if token in _SEPARATORS or (token in _KEYWORDS and not words):
            if words:
                yield words
            words = []
        else:
            words.append(token)
    if words:
        yield words


def _tokens(line: str) -> list[str]:
    text = line.replace("\\\n", " ").replace("\n", " ; ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        # An unbalanced quote. The shell would refuse it too, but a here-document may hold one:
        # without this, `rg x <<EOF` with an apostrophe in its text would be no search.
        return re.findall(r"[;&|()]+|[^\s;&|()]+", line)


def _is_search(words: list[str], depth: int) -> bool:
    words = _without_prefixes(words)
    if not words:
        return False
    name = _command_name(words[0])
    if name in _SHELLS:
        return any(runs_search(script, depth + 1) for script in _scripts(words))
    if name == "git":
        return _git_verb(words) in _GIT_SEARCHES
    return name in SEARCH_COMMANDS


def _command_name(word: str) -> str:
    """`/usr/bin/rg` -> `rg`."""
    return word.rsplit("/", 1)[-1]


def _scripts(words: list[str]) -> Iterator[str]:
    """`bash -lc 'rg x'` -> `rg x`."""
    for flag, script in itertools.pairwise(words):
        if _RUNS_A_SCRIPT.fullmatch(flag):
            yield script


def _without_prefixes(words: list[str]) -> list[str]:
    """The words from the command on: `LANG=C sudo timeout 5 rg x` -> `rg x`."""
    prefixed = False
    for at, word in enumerate(words):
        name = _command_name(word)
        if name in _PREFIXES:
            prefixed = True
            continue
        belongs_to_prefix = prefixed and _PREFIX_ARGUMENT.match(name)
        if not belongs_to_prefix and not _ASSIGNMENT.match(name):
            return words[at:]
    return []


def _git_verb(words: list[str]) -> str:
    """`git -C dir grep` -> `grep`."""
    takes_value = False
    for word in words[1:]:
        if takes_value:
            takes_value = False
        elif word in _GIT_OPTIONS_WITH_A_VALUE:
            takes_value = True
        elif not word.startswith("-"):
            return word
    return ""
