"""What a symbol looks like, in a code span or as a bare word of a sentence.

A symbol read wrongly turns an honest citation into an invention. A code span names one if it is a
name, a call or a declaration; a bare word does so if no English word looks like it.
"""

from __future__ import annotations

import bisect
import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from runner.grounding.spelling import parts_of, special_of
from runner.grounding.word_lists import EXTENSIONS, KEYWORDS

IDENT = r"[^\W\d]\w*"
RECEIVER = rf"(?P<receiver>{IDENT})"
_MODIFIER = r"""
    async | pub(?:\(\w+\))?  # pub(crate) fn
    | export | default | static | abstract | final | override | public | private | protected
    | internal | inline | virtual | unsafe | extern | open | suspend | data | sealed | readonly
    | declare | local | case(?=\s+(?:class|object)\b)
"""
_KIND = r"""
    def[pm]? | defmacrop? | class | func | fn | fun | function\*? | struct | enum | trait
    | interface | type | const | let | var | val | static | macro | module | namespace | object
    | protocol | extension | record | union | impl | \#define | macro_rules!
    | defmodule | defprotocol | defimpl | defguardp? | defdelegate | newtype | instance | typealias
    | associatedtype | actor | given | sub | @(?:callback | macrocallback | spec | typep? | opaque)
    | data(?=\s+[A-Z])
"""
_DECLARED = re.compile(
    rf"""
    (?: (?:{_MODIFIER}) \s+ ){{0,4}}
    (?:{_KIND}) \s+
    (?: \( \s* (?:{IDENT}\s+)? \*?{RECEIVER} (?:\[[^\]]*\])? \s* \) \s* )?    # (c *Context)
    (?P<name>[*&]?{IDENT}(?:(?:::|\.|\#){IDENT})*(?:[?!]|=(?=\())?)           # Router::new, empty?
    """,
    re.X,
)
_TYPED = re.compile(
    rf"""
    (?: (?:{_MODIFIER}) \s+ ){{0,4}}
    (?! (?:return|await|new|yield|throw|else|raise|not|in|case|go|defer|assert|del|puts|{_KIND})\s )
    {IDENT}(?:(?:::|\.){IDENT})*(?:\[\]|[*&]|\s[*&])? \s+       # List<String>
    (?P<name>{IDENT}(?:::{IDENT})*) \(.*\) (?:\s*(?:const|throws\s\w+))? \s*[{{;]? $  # make(int x)
    """,
    re.S | re.X,
)
_NAME = re.compile(
    rf"""
    [&*@\#.$]{{0,2}}                                            # &self, @decorator, .method
    (?: \(\*?{RECEIVER}\)\. )?                                  # (*Engine).
    (?P<name>
        ~?{IDENT}(?:(?:::\$?|->|[.\#$\\])~?{IDENT})*            # Flask.wsgi_app, A::~A, A::$b
        (?:[?!]|=$)?                                            # empty?, save!, total=
    )
    (?:/\d{{1,2}})?                                             # put/2
    (?P<call>\(.*\))?                                           # (environ, start)
    (?:\[(?:[A-Z][\w\s,.*]{{0,80}})?\])?                         # [], [K, V]
    (?: \s?(?:->|:)\s?[\w\[\]|&?*., ]{{1,80}} (?<=[\w\]?]) )?   # -> Response
    \.?$                                                        # the sentence's full stop
    """,
    re.S | re.X,
)
_TEST = re.compile(r"TEST(?:_F|_P)?\(\s*\w+\s*,\s*(?P<name>\w+)\s*\)$")
"""Googletest's `TEST(Suite, name)`."""
_HYPHENED = re.compile(r"[a-z][a-z0-9]*+(?:-[a-z0-9]+)+")
_GENERICS = re.compile(r"(?:::)?<[^<>]{0,80}>(?!\w)")  # Layer<S>, Vec::<u8>; not to_<x>_format
_CODE_SPAN = re.compile(r"`(?<!``)([^`\n]{1,200})`(?!`)")


class CodeSpan(NamedTuple):
    """A code span: from its first backtick to behind its last."""

    begin: int
    end: int


def spans_of(text: str) -> list[CodeSpan]:
    """The code spans of a chunk, in order."""
    if "`" not in text:
        return []
    return [CodeSpan(*span.span()) for span in _CODE_SPAN.finditer(text)]


def span_before(spans: list[CodeSpan], at: int) -> CodeSpan | None:
    """The last span that begins before `at`."""
    place = bisect.bisect_left(spans, (at, -1))
    if place == 0:
        return None
    return spans[place - 1]


def span_at(spans: list[CodeSpan], at: int) -> CodeSpan | None:
    """The span that begins at `at`."""
    place = bisect.bisect_left(spans, (at, -1))
    if place < len(spans) and spans[place].begin == at:
        return spans[place]
    return None


def inside(text: str, span: CodeSpan) -> str:
    """A span without its backticks."""
    return text[span.begin + 1 : span.end - 1]


@lru_cache(maxsize=4096)
def symbol_of(span: str) -> str | None:
    """The symbol that a code span is, or declares; None for anything else.

    `Flask.wsgi_app`, `def f(x)`, `func (c *Context) Next()`, `List<String> make(int x)`.
    """
    text = span.strip()
    if text.isascii() and text.isidentifier():  # most are, and need none of the patterns
        return checked(None, text, plain=True)
    return _declared(text)


def _declared(text: str) -> str | None:
    special = special_of(text)
    if special:
        return special
    case = _TEST.match(text)
    if case:
        return case["name"]
    if _HYPHENED.fullmatch(text):  # deploy-all
        return text
    for _ in range(3 if "<" in text else 0):  # Map<K, Vec<Box<V>>>
        text = _GENERICS.sub("", text)
    typed = _TYPED.match(text)
    if typed:
        return checked(None, typed["name"], plain=True)
    found = _DECLARED.match(text) or _NAME.match(text)
    if found is None:
        return None
    return checked(found["receiver"], found["name"], plain=True)


def declared_name(line: str) -> str | None:
    """The name that a line of code declares."""
    found = _DECLARED.match(line.strip())
    return checked(found["receiver"], found["name"], plain=True) if found else None


def checked(receiver: str | None, name: str, *, plain: bool) -> str | None:
    """A name as a symbol; None for a keyword, a file's name or, unless `plain` will do, a word."""
    name = name.lstrip("*&")
    last = _last_part(name)
    if name.isdigit() or (len(last) < 2 and not (receiver or (plain and len(name) > 3))):
        return None
    if name in KEYWORDS or _is_file_name(name, last):
        return None
    if not plain and not _looks_like_code(name):
        return None
    if receiver:
        return f"{receiver}.{name}"
    return name


def _last_part(name: str) -> str:
    if name.isidentifier():  # most are, and are taken apart much faster
        return name
    return parts_of(name)[-1]


def _is_file_name(name: str, last: str) -> bool:
    """`app.py`, `yarn.lock`; but `Shop.Lock` and `Shop.description` are symbols."""
    sure = last in {"swift", "scala", "svelte"} or (len(last) <= 4 and last.islower())
    return "." in name and sure and last in EXTENSIONS


def _looks_like_code(name: str) -> bool:
    """No English word has an inner underscore, a capital after a small letter, or a qualifier."""
    inner = name.strip("_~?!")
    if "_" in inner or name.startswith("__") or "::" in name or "#" in name:
        return True
    if "." in name:  # `e.g`, `this.that`: only a capital or an underscore makes it code
        return any(c.isupper() or c == "_" for c in name)
    return _is_camel_case(inner) and inner not in _PROPER


def _is_camel_case(name: str) -> bool:
    return any(a.islower() and b.isupper() for a, b in pairwise(name))


def is_compound(symbol: str) -> bool:
    """Several words in one, as no English word has: `open_shop`, `Shop.open`, `openShop`."""
    return bool(_COMPOUND.search(symbol.strip("_")))


_COMPOUND = re.compile(r"[_.#]|::|[a-z][A-Z]")
_PROPER = frozenset(
    """
    GitHub GitLab JavaScript TypeScript GraphQL PyPI MySQL PostgreSQL SQLite MongoDB YouTube OpenAI
    macOS DevOps CoffeeScript WebSocket WebSockets LaTeX iOS FreeBSD OpenSSL PowerShell
    """.split()
)
