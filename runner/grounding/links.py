"""Commands, links and URLs of a chunk: blanked, so that nothing in them is read as a path.

Every offset stays: what is blanked is as long as before. Links and URLs may cite on their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote

from runner.grounding.commit_files import PathIndex
from runner.grounding.mentions import MOST_MENTIONS, Cite
from runner.grounding.naming import CodeSpan, symbol_of
from runner.grounding.paths import clean_path
from runner.grounding.patterns import COLON_TAIL, LineRange, anchor_lines, intervals
from runner.grounding.word_lists import COMMANDS

_CODE_SPAN = re.compile(r"(?P<ticks>`(?<!``)`?)(?!`)(?P<code>[^`\n]{1,400})(?P=ticks)(?!`)")
_COMMAND = re.compile(r"(?:\$\s+|(?:\w+=\S+\s+){0,3})(?P<word>[\w.-]+)\s+\S")  # LC_ALL=C grep -n
_LINK = re.compile(
    r"""
    \[ (?P<text>(?:[^\[\]\n]|\[[^\[\]\n]{0,80}\]){1,300}) \]         # [the loop [1]]
    \( \s?<?
    (?P<target>
        [^()\s<>]{1,1000}(?:\([^()\s]{0,80}\)[^()\s<>]{0,400})?      # (web/(auth)/page.tsx)
      | (?<=<)[^<>\n]{1,500}                                         # (<docs/my guide.md>)
    )
    >? (?:\s+\"[^\"\n]{0,200}\")? \s? \)                             # (app.py "the app")
    """,
    re.X,
)
_URL = re.compile(
    r"""
    (?:https?|ftp|file|git|ssh|wss?|vscode(?:-insiders)?|cursor|windsurf|zed|idea)://[^\s<>\"'`|]{1,2000}
  | \bwww\.[^\s<>\"'`|]{1,500}
    """,
    re.X,
)
_FILE_URL = re.compile(
    r"(?:file:/{2}(?:localhost)?|(?:vscode(?:-insiders)?|cursor|windsurf|zed|idea)://file)(?=[\w./])"
)
"""Of a file of this machine: `file:///home/me/app.py:42`, `vscode://file/home/me/app.py:42`."""
_BLOB = re.compile(
    r"""
    https?:// (?P<site>[^/]+) / (?P<repo>.+?) /  # github.com/owner/name/
    (?:-/)? (?:blob|blame|raw|src|tree) /        # GitLab has `-/blob/`
    (?P<rest>[^?\#]+)                            # main/src/app.py
    (?:\?[^\#]*)? (?:\#(?P<anchor>.*))? \Z       # ?plain=1#L42
    """,
    re.X,
)


class _LinkTarget(NamedTuple):
    """What a link points to in the repository."""

    written: str
    path: str
    lines: list[LineRange]


class MaskedText:
    """A chunk with its commands, links and URLs blanked, and what the links cite.

    `lines_in` reads the lines that a link's words give for a path.
    """

    def __init__(
        self, text: str, index: PathIndex, lines_in: Callable[[str], list[LineRange]]
    ) -> None:
        self.index = index
        self.lines_in = lines_in
        self.cites: list[Cite] = []
        self.spans: list[CodeSpan] = []
        """Code spans that are no commands."""
        if "`" in text:
            text = _CODE_SPAN.sub(self._mask_command, text)
        if "](" in text:
            text = _LINK.sub(self._mask_link, text)
        if "://" in text or "www." in text:
            text = _URL.sub(self._mask_url, text)
        self.text = text

    def _mask_command(self, span: re.Match[str]) -> str:
        """`grep -n foo src/app.py:42` quotes what the agent ran, and cites nothing."""
        code = span["code"]
        if not code.isidentifier():
            command = _COMMAND.match(code)
            if code.startswith("$ ") or (command and command["word"] in COMMANDS):
                return _blank(span)
        self.spans.append(CodeSpan(*span.span()))
        return span[0]

    def _mask_link(self, link: re.Match[str]) -> str:
        if len(self.cites) >= MOST_MENTIONS:
            return _blank(link)
        if "://" in link["target"] and not _FILE_URL.match(link["target"]):
            if self._cite_blob(link["target"], link.span(), link["text"]):
                return _blank(link)
            return _words_alone(link)
        target = self._target(link["target"])
        if target is None:
            return _words_alone(link)
        if self._cite_target(link, target):
            return _blank(link)
        # [the app](src/app.py), line 42: its path stays, for lines that follow.
        return " " + target.written.ljust(len(link[0]) - 1)

    def _cite_target(self, link: re.Match[str], target: _LinkTarget) -> bool:
        """A link counts once: through its target if that has lines, else through its words."""
        symbol = None
        if target.lines:
            symbol = _symbol_of_words(link["text"])
        lines = target.lines or self.lines_in(link["text"])
        if not lines:
            return False
        begin, close = link.span()
        cite = Cite(
            begin=begin, close=close, path=target.path, lines=lines, symbol=symbol, named=True
        )
        self.cites.append(cite)
        return True

    def _target(self, target: str) -> _LinkTarget | None:
        """`src/app.py`, `src/app.py:42`, `src/app.py#L42`; None if it is no file's."""
        path, _, anchor = _FILE_URL.sub("", target).partition("#")
        lines = anchor_lines(anchor)
        tail = COLON_TAIL.search(path)
        if tail:
            path = path[: tail.start()]
            lines = intervals(tail[0])
        known = clean_path(unquote(path), self.index, has_line=bool(lines))
        if known is None:
            return None
        return _LinkTarget(path, known, lines)

    def _mask_url(self, url: re.Match[str]) -> str:
        if scheme := _FILE_URL.match(url[0]):  # a path like any other
            return " " * scheme.end() + url[0][scheme.end() :]
        if len(self.cites) >= MOST_MENTIONS:
            return _blank(url)
        target = url[0].rstrip(".,;:!?)]}*_")  # the sentence's, not the URL's
        begin = url.start()
        self._cite_blob(target, (begin, begin + len(target)), "")
        return _blank(url)

    def _cite_blob(self, url: str, place: tuple[int, int], words: str) -> bool:
        """True if the URL shows a file of this repository, and so cites it."""
        blob = _BLOB.match(url)
        if blob is None:
            return False
        shown = self.index.blob(f"{blob['site']}/{blob['repo']}", unquote(blob["rest"]))
        if shown is None:
            return False
        begin, close = place
        cite = Cite(
            begin=begin,
            close=close,
            path=shown.path,
            lines=anchor_lines(blob["anchor"] or ""),
            ref=shown.ref,
            symbol=_symbol_in_ticks(words),
            named=True,
        )
        self.cites.append(cite)
        return True


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _words_alone(link: re.Match[str]) -> str:
    """A link to elsewhere: `[src/app.py:42](https://example.com)` cites by its words."""
    return (" " + link["text"]).ljust(len(link[0]))


def _symbol_of_words(words: str) -> str | None:
    """[`run`](a.py#L4), [Flask.run](a.py#L4); but [runs](a.py#L4) is a word."""
    symbol = symbol_of(words.strip("`* "))
    if symbol and any(c in symbol for c in "._:"):
        return symbol
    return _symbol_in_ticks(words)


def _symbol_in_ticks(words: str) -> str | None:
    if "`" not in words:
        return None
    return symbol_of(words.strip("`* "))
