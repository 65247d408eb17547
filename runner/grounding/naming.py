"""Which symbol a sentence names for a citation. Conservative: a symbol read wrongly turns an honest citation into an invention.

Only the nearest symbol counts, before the citation first, and only where nothing but glue (brackets, dashes, `at`, `defined in`, a kind
of thing) stands between the two. A code span names a symbol; a bare word does so where no English word looks like it.
"""

from __future__ import annotations

import bisect
import re
from itertools import pairwise

from runner.grounding.words import EXTENSIONS, LITERALS

_IDENT = r"[^\W\d]\w*"
_DECLARED = re.compile(
    r"(?:(?:async|pub(?:\(\w+\))?|export|default|static|abstract|final|override|public|private|protected|internal|inline|virtual|unsafe|extern"
    r"|open|suspend|data|sealed|readonly|declare)\s+){0,4}"
    r"(?:def|class|func|fn|fun|function\*?|struct|enum|trait|interface|type|const|let|var|val|static|macro|module|namespace|object|protocol"
    rf"|extension|record|union|impl|\#define|macro_rules!)\s+(?:\(\s*(?:{_IDENT}\s+)?\*?(?P<receiver>{_IDENT})(?:\[[^\]]*\])?\s*\)\s*)?"
    rf"(?P<name>[*&]?{_IDENT}(?:(?:::|\.|\#){_IDENT})*[?!]?)"
)
_NAME = re.compile(
    rf"[&*@#.]{{0,2}}(?:\(\*?(?P<receiver>{_IDENT})\)\.)?(?P<name>{_IDENT}(?:(?:::|->|[.#$\\]){_IDENT})*[?!]?)"
    r"(?P<call>\(.*\))?(?:\[\])?\.?$",
    re.S,
)
_GENERICS = re.compile(r"(?:::)?<[^<>]{0,80}>")
_WORD = re.compile(
    rf"(?<![\w`./\\@$-])(?:\(\*(?P<receiver>{_IDENT})\)\.)?(?P<name>{_IDENT}(?:(?:::|[.#]){_IDENT})*)(?P<call>\(\))?(?![\w`/\\]|[.:#]\w)"
)
_GLUE_WORD = (
    r"the|a|an|is|are|was|at|in|on|from|of|via|see|near|around|inside|within|file|lines?|located|defined|declared|implemented|found|lives"
    r"|introduced|defines|declares|definition|declaration|implementation|method|function|func|class|property|helper|constant|const|struct"
    r"|trait|field|decorator|type|macro|enum|interface|attribute|variable|test|module|source|body|signature|impl|async|static|public|private"
    r"|which|that|its|begins|starts|starting|sits|here|currently|approximately|approx|about"
)
_GLUE = re.compile(rf"(?:[\s`*_'(\[\]),:~→>@=–—-]|\b(?:{_GLUE_WORD})\b){{0,40}}\Z", re.I)
_DENIED = re.compile(
    r"\b(?:(?:not|never|no|without|unlike|of|from|into|on|to|for|with|like|than|against)(?:\s(?:the|a|an|its|this|each|same))?"
    r"|(?:in|within|inside)\s(?:the|a|an|its|this|each|same))[\s`*_(]*\Z",
    re.I,
)
"""Before a symbol: it is denied, or it is where the thing is, not the thing."""
_KIND = re.compile(r"\b(?:class|struct|trait|interface|enum)\s[*_]{0,2}\Z")
_ELLIPSIS = re.compile(r"(?:/ ?|…|\*|\.\.)_\Z")
_AFTER = re.compile(
    r"[`*_\])]{0,4}[ \t]{0,2}(?:[—–:-]{1,2}|is|defines|declares|=)?[ \t]{0,2}[*_(]{0,3}(?=[`\w(])"
)
_SPAN = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")


def symbol_of(span: str) -> str | None:
    """The symbol that a code span is, or declares: `Flask.wsgi_app`, `def f(x)`, `func (c *Context) Next()`; None for anything else."""
    text = span.strip()
    declared = _DECLARED.match(text)
    if declared:
        return _usable(declared["receiver"], declared["name"], plain=True)
    for _ in range(3):
        text = _GENERICS.sub("", text)
    whole = _NAME.match(text)
    return _usable(whole["receiver"], whole["name"], plain=True) if whole else None


def _usable(receiver: str | None, name: str, *, plain: bool) -> str | None:
    name = name.lstrip("*&")
    last = re.split(r"::|->|[.#$\\]", name)[-1]
    owned = (
        last != name and name[:1].isupper()
    )  # `QuerySet.delete` is a symbol, `delete` alone may be an HTTP verb
    if (
        (last.lower() in LITERALS and not owned)
        or (len(last) < 2 and not receiver)
        or name.isdigit()
    ):
        return None
    if (
        "." in name
        and last.lower() in EXTENSIONS
        and "(" not in name
        and len(last) <= 4
        and last.islower()
    ):
        return None  # a file name
    if not plain and not _looks_like_code(name):
        return None
    return f"{receiver}.{name}" if receiver else name


def _looks_like_code(name: str) -> bool:
    """No English word: an inner underscore, an inner capital after a small letter, a qualifier."""
    inner = name.strip("_")
    if "_" in inner or name.startswith("__"):
        return True
    if "::" in name or "#" in name:
        return True
    if "." in name:
        return any(c.isupper() or c == "_" for c in name)
    return any(a.islower() and b.isupper() for a, b in pairwise(inner)) and inner not in _PROPER


_PROPER = frozenset(
    "GitHub GitLab JavaScript TypeScript GraphQL PyPI MySQL PostgreSQL SQLite MongoDB YouTube OpenAI macOS DevOps".split()
)


def spans_of(text: str) -> list[tuple[int, int]]:
    """Where the code spans of a chunk begin and end, backticks included."""
    return [(span.start(), span.end()) for span in _SPAN.finditer(text)] if "`" in text else []


def symbol_before(text: str, low: int, at: int, spans: list[tuple[int, int]]) -> str | None:
    """The symbol that text[low:at] names last, with only glue between it and `at`; `at` may lie inside a code span."""
    low = max(low, at - 240)
    place = bisect.bisect_right(spans, (at, -1)) - 1
    inside = place >= 0 and spans[place][0] < at < spans[place][1]
    if (
        inside and not text[spans[place][0] + 1 : at].strip()
    ):  # the span is the citation's own: what names its symbol stands before it
        at, place, inside = spans[place][0], place - 1, False
    begin, end = -1, low
    symbol: str | None = None
    if inside:
        end = low = max(low, spans[place][0] + 1)
    elif place >= 0 and spans[place][0] >= low:
        begin, end = spans[place]
        symbol = symbol_of(text[begin + 1 : end - 1])
    for word in _WORD.finditer(text, end, at):
        kind = word["name"][0].isupper() and _KIND.search(
            text, max(low, word.start() - 12), word.start()
        )
        name = _usable(word["receiver"], word["name"], plain=bool(word["call"] or kind))
        if name and not _ELLIPSIS.search(text[max(0, word.start() - 3) : word.start()] + name[:1]):
            begin, end, symbol = word.start(), word.end(), name
    if symbol is None or not _GLUE.match(text[end:at]):
        return None
    return None if _DENIED.search(text[max(low, begin - 16) : begin]) else symbol


def symbol_after(text: str, at: int, high: int, spans: list[tuple[int, int]]) -> str | None:
    """The symbol that follows directly: a code span, or in the citation's own code span a declaration."""
    line_end = text.find("\n", at, high)
    high = min(high, at + 160) if line_end < 0 else min(line_end, at + 160)
    place = bisect.bisect_right(spans, (at, -1)) - 1
    if place >= 0 and spans[place][0] < at < spans[place][1] - 1:
        rest = text[at : spans[place][1] - 1].strip()
        return symbol_of(rest) if _DECLARED.match(rest) else None
    gap = _AFTER.match(text, at, high)
    after = spans[place + 1] if gap and place + 1 < len(spans) else None
    if place >= 0 and gap and spans[place][0] >= at:
        after = spans[place]
    if gap and after and after[0] == gap.end() and after[1] <= high:
        return symbol_of(text[after[0] + 1 : after[1] - 1])
    word = _WORD.match(text, gap.end(), high) if gap else None
    return _usable(word["receiver"], word["name"], plain=bool(word["call"])) if word else None
