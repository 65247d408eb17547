"""An answer without what its reader would not be shown: a fact hidden there was not said."""

from __future__ import annotations

import re

_SHOWN_OR_HIDDEN = re.compile(
    r"""
    (?P<code>
        ^[ \t]*(?P<fence>```|~~~).*?(?:^[ \t]*(?P=fence)|\Z)
        | (?P<ticks>`{1,4})[^`\n]*(?P=ticks)
    )
    | <!--                                                  # a comment
    | ^[ ]{0,3}\[//\]:                                      # [//]: # (a comment as well)
    | <(?P<tag>details|template|script|style|\w+)\b(?P<how>[^<>]{0,400})>
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_NEVER_SHOWN = frozenset({"template", "script", "style"})
_UNSEEN_STYLE = re.compile(
    r"""
    \bhidden\b | \bdisplay\s*:\s*none | \bvisibility\s*:\s*hidden | \bopacity\s*:\s*0(?![.\d]*[1-9])
    | \bfont-size\s*:\s*0 | (?<![-\w])color\s*[:=]\s*["']?\s*(?:white|\#fff(?:fff)?\b|transparent)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def visible(text: str) -> str:
    """Without comments and elements that a page does not show; code is shown as it is."""
    shown: list[str] = []
    at = 0
    while match := _SHOWN_OR_HIDDEN.search(text, at):
        end = match.end()
        if not match["code"]:
            end = _hidden_until(text, match)
        shown.append(text[at : match.start()])
        if match["code"] or end == match.end():
            shown.append(match[0])
        at = end
    return "".join([*shown, text[at:]])


def _hidden_until(text: str, match: re.Match[str]) -> int:
    """Where what begins here ends; the match's own end if it is shown."""
    tag = match["tag"]
    if not tag:
        return _behind(text, "-->" if match[0] == "<!--" else "\n", match.end())
    if not _is_hidden(tag.lower(), match["how"]):
        return match.end()
    return _behind(text, f"</{tag}>", match.end())


def _behind(text: str, close: str, at: int) -> int:
    """Behind the next `close`; what is never closed hides all that follows."""
    found = re.compile(re.escape(close), re.IGNORECASE).search(text, at)
    return found.end() if found else len(text)


def _is_hidden(tag: str, how: str) -> bool:
    if tag == "details":
        return not re.search(r"\bopen\b", how)
    return tag in _NEVER_SHOWN or bool(_UNSEEN_STYLE.search(how))
