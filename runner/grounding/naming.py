"""Which symbol a sentence names for a citation.

It is conservative: a symbol read wrongly turns an honest citation into an invention. Only the
nearest symbol counts, before the citation first, and only if nothing but glue (brackets, dashes,
`at`, `defined in`, a kind of thing) stands between the two. A code span names a symbol; a bare word
does so if no English word looks like it.
"""

from __future__ import annotations

import bisect
import re
from itertools import pairwise
from typing import NamedTuple

from runner.grounding.spelling import parts_of, special_of
from runner.grounding.words import EXTENSIONS, LITERALS

_IDENT = r"[^\W\d]\w*"
_RECEIVER = rf"(?P<receiver>{_IDENT})"
_DECLARED = re.compile(
    rf"""
    (?: (?: async | pub(?:\(\w+\))?  # pub(crate) fn
        | export | default | static | abstract | final | override | public | private | protected
        | internal | inline | virtual | unsafe | extern | open | suspend | data | sealed | readonly
        | declare
        ) \s+
    ){{0,4}}
    (?: def | class | func | fn | fun | function\*? | struct | enum | trait | interface | type
    | const | let | var | val | static | macro | module | namespace | object | protocol | extension
    | record | union | impl | \#define | macro_rules!
    ) \s+
    (?: \( \s* (?:{_IDENT}\s+)? \*?{_RECEIVER} (?:\[[^\]]*\])? \s* \) \s* )?  # (c *Context)
    (?P<name>[*&]?{_IDENT}(?:(?:::|\.|\#){_IDENT})*[?!]?)                     # Router::new, empty?
    """,
    re.X,
)
_NAME = re.compile(
    rf"""
    [&*@\#.]{{0,2}}                                         # &self, @decorator, .method
    (?: \(\*?{_RECEIVER}\)\. )?                             # (*Engine).
    (?P<name>{_IDENT}(?:(?:::|->|[.\#$\\]){_IDENT})*[?!]?)  # Flask.wsgi_app, empty?
    (?P<call>\(.*\))?                                       # (environ, start)
    (?:\[(?:[A-Z][\w\s,.*]{{0,80}})?\])?                      # [], [K, V]
    \.?$                                                    # the sentence's full stop
    """,
    re.S | re.X,
)
_GENERICS = re.compile(r"(?:::)?<[^<>]{0,80}>")  # Layer<S>, Vec::<u8>
_WORD = re.compile(
    rf"""
    (?<![\w`./\\@$-])
    (?: \(\*{_RECEIVER}\)\. )?                    # (*Engine).
    (?P<name>{_IDENT}(?:(?:::|[.\#]){_IDENT})*)   # full_dispatch, Router::new
    (?P<call>\(\))?                               # wsgi_app()
    (?![\w`/\\]|[.:\#]\w)                         # not src/, a.py:3
    """,
    re.X,
)
_GLUE_WORD = r"""
    the|a|an|is|are|was|at|in|on|from|of|via|see|near|around|inside|within|file|lines?|located
    |defined|declared|implemented|found|lives|introduced|defines|declares
    |definition|declaration|implementation|method|function|func|class|property|helper
    |constant|const|struct|trait|field|decorator|type|macro|enum|interface|attribute|variable|test
    |module|source|body|signature|impl|async|static|public|private
    |which|that|its|begins|starts|starting|sits|here|currently|approximately|approx|about
"""
_KIND_WORD = r"""
    method|function|func|class|property|helper|constant|const|struct|trait|field|decorator|type
    |macro|enum|interface|attribute|variable|test|module|constructor|hook|handler|fixture
    |definition|declaration|implementation
"""
_GLUE = re.compile(rf"(?:[\s`*_'(\[\]),:~→>@=–—-]|\b(?:{_GLUE_WORD})\b){{0,40}}\Z", re.I | re.X)
"""`` ` is defined in ` `` between a symbol and its citation, to the citation's beginning."""
_STRICT_GLUE = re.compile(
    rf"""
    [`*_)\]]{{0,4}} \s{{0,2}}
    (?:(?:{_KIND_WORD})\s)?                                # `foo` method
    (?: [(\[—–:@-]{{1,2}}                                  # `foo` (a.py:3), `foo`: a.py:3
      | (?:(?:is|are|was)\s)?
        (?:(?:defined|declared|implemented|located|found|introduced)\s)?
        (?:at|in)                                         # `foo` is defined at
      | lives\s(?:at|in)
    )?
    \s{{0,2}} (?:(?:the\s)?(?:file|lines?)\s)? [`*_'(\[]{{0,4}} \Z
    """,
    re.I | re.X,
)
"""The part of the glue that leaves no doubt about what stands at the lines."""
_JOINED = re.compile(
    r"""
    (?: \w(?:\(\))?`[*_]{0,2} | \w\(\) | _\w{1,30} | [a-z][A-Z]\w{0,30})  # `f`, f(), a_b, aB
    (?: \s?[,/&+|] | ,?\s(?:and|or|vs\.?|versus) ) \s? [`*_(]{0,4} \Z
    """,
    re.X,
)
"""Before a symbol: another one, which the same lines may be of."""
_DENIED = re.compile(
    r"""
    \b(?:
        (?:not|never|no|without|unlike|of|from|into|on|to|for|with|like|than|against)  # not `foo`
        (?:\s(?:the|a|an|its|this|each|same))?                                         # unlike the
    |
        (?:in|within|inside)\s(?:the|a|an|its|this|each|same)                          # in the
    )
    [\s`*_(]*\Z
    """,
    re.I | re.X,
)
"""Before a symbol: it is denied, or it is where the thing is, not the thing."""
_KIND = re.compile(r"\b(?:class|struct|trait|interface|enum)\s[*_]{0,2}\Z")  # the class Flask
_ELLIPSIS = re.compile(r"(?:/[ ]?|…|\*|\.\.)_\Z")  # set_up/_down, *_handler: only part of a name
_AFTER = re.compile(
    r"""
    [`*_\])]{0,4} [ \t]{0,2}              # `a.py:3`
    (?:[—–:-]{1,2}|is|defines|declares|=)?  # a.py:3 — `foo`
    [ \t]{0,2} [*_(]{0,3}                 # a.py:3 (`foo`)
    (?=[`\w(])
    """,
    re.X,
)
_PUNCTUATION = re.compile(r"[—–:=-]|\w")
_CODE_SPAN = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_LOOK_BACK, _LOOK_AHEAD = 240, 160
"""Characters. Without these bounds, a text of nothing but symbols would take quadratic time."""


class Span(NamedTuple):
    """A code span: from its first backtick to behind its last."""

    begin: int
    end: int


def spans_of(text: str) -> list[Span]:
    """The code spans of a chunk, in order."""
    if "`" not in text:
        return []
    return [Span(*span.span()) for span in _CODE_SPAN.finditer(text)]


def symbol_of(span: str) -> str | None:
    """The symbol that a code span is, or declares; None for anything else.

    `Flask.wsgi_app`, `def f(x)`, `func (c *Context) Next()`.
    """
    text = span.strip()
    special = special_of(text)
    if special:
        return special
    declared = _DECLARED.match(text)
    if declared:
        return _symbol(declared["receiver"], declared["name"], plain=True)
    for _ in range(3):  # Map<K, Vec<Box<V>>>
        text = _GENERICS.sub("", text)
    whole = _NAME.match(text)
    if whole is None:
        return None
    return _symbol(whole["receiver"], whole["name"], plain=True)


def _symbol(receiver: str | None, name: str, *, plain: bool) -> str | None:
    """A name as a symbol; None for a literal, a file's name or, unless `plain` will do, a word."""
    name = name.lstrip("*&")
    last = parts_of(name)[-1]
    if name.isdigit() or (len(last) < 2 and not receiver):
        return None
    if _is_literal(name, last) or _is_file_name(name, last):
        return None
    if not plain and not _looks_like_code(name):
        return None
    if receiver:
        return f"{receiver}.{name}"
    return name


def _is_literal(name: str, last: str) -> bool:
    """`QuerySet.delete` is a symbol, `delete` alone may be an HTTP verb."""
    owned = last != name and name[:1].isupper()
    return last.lower() in LITERALS and not owned


def _is_file_name(name: str, last: str) -> bool:
    """`app.py`, `yarn.lock`; but `Shop.Lock` and `Shop.description` are symbols."""
    short = len(last) <= 4 and last.islower()
    return "." in name and short and last in EXTENSIONS


def _looks_like_code(name: str) -> bool:
    """No English word has an inner underscore, a capital after a small letter, or a qualifier."""
    inner = name.strip("_")
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
    macOS DevOps
    """.split()
)


# --- around a citation ----------------------------------------------------------------------


class Attached(NamedTuple):
    """The symbol that a text names for a citation."""

    symbol: str
    certain: bool
    """False if our reading of the words between the two may be wrong: no accusation rests on it."""


class _Named(NamedTuple):
    """What a text names last before a citation, and where."""

    symbol: str | None
    low: int
    """Where the text begins that may name it."""
    begin: int
    end: int


def symbol_before(text: str, low: int, at: int, spans: list[Span]) -> Attached | None:
    """The symbol that text[low:at] names last, with only glue between it and `at`.

    `at` may lie inside a code span.
    """
    low = max(low, at - _LOOK_BACK)
    at = _before_own_span(text, at, spans)
    named = _last_word(text, at, _last_span(text, low, at, spans))
    between = text[named.end : at]
    if named.symbol is None or not _GLUE.match(between):
        return None
    if _DENIED.search(text[max(named.low, named.begin - 16) : named.begin]):
        return None
    certain = bool(_STRICT_GLUE.match(between)) and not _is_listed(text, named)
    return Attached(named.symbol, certain)


def _is_listed(text: str, named: _Named) -> bool:
    """`` `open` and `close` (a.py:3) ``: the line may be of either."""
    before = text[max(named.low, named.begin - 48) : named.begin]
    return bool(_JOINED.search(before))


def _before_own_span(text: str, at: int, spans: list[Span]) -> int:
    """`src/app.py:42` alone in its backticks: its symbol is named before them."""
    own = span_before(spans, at)
    if own and at < own.end and not text[own.begin + 1 : at].strip():
        return own.begin
    return at


def span_before(spans: list[Span], at: int) -> Span | None:
    """The last span that begins before `at`."""
    place = bisect.bisect_left(spans, (at, -1))
    if place == 0:
        return None
    return spans[place - 1]


def _last_span(text: str, low: int, at: int, spans: list[Span]) -> _Named:
    """The last code span that ends before `at`, and its symbol; no symbol if there is none."""
    span = span_before(spans, at)
    if span and at < span.end:
        # `foo src/app.py:42`: only words of the same span.
        low = max(low, span.begin + 1)
    elif span and span.begin >= low:
        return _Named(symbol_of(_inside(text, span)), low, *span)
    return _Named(None, low, low, low)


def _inside(text: str, span: Span) -> str:
    return text[span.begin + 1 : span.end - 1]


def _last_word(text: str, at: int, named: _Named) -> _Named:
    """The last bare word behind what is named already that is a symbol; else that."""
    for word in _WORD.finditer(text, named.end, at):
        symbol = _symbol_of_word(word, after_kind=_follows_kind(word, named.low))
        if symbol and not _is_partial(word, symbol):
            named = _Named(symbol, named.low, *word.span())
    return named


def _follows_kind(word: re.Match[str], low: int) -> bool:
    """`the class Flask`: without `class`, an English word."""
    if not word["name"][0].isupper():
        return False
    return bool(_KIND.search(word.string, max(low, word.start() - 12), word.start()))


def _symbol_of_word(word: re.Match[str], *, after_kind: bool = False) -> str | None:
    plain = after_kind or bool(word["call"])
    return _symbol(word["receiver"], word["name"], plain=plain)


def _is_partial(word: re.Match[str], symbol: str) -> bool:
    begin = word.start()
    before = word.string[max(0, begin - 3) : begin]
    return bool(_ELLIPSIS.search(before + symbol[:1]))


def symbol_after(text: str, at: int, high: int, spans: list[Span]) -> Attached | None:
    """The symbol that follows directly: in a code span, or as a word that looks like code.

    In the citation's own code span, only a declaration counts.
    """
    high = _line_end(text, at, min(high, at + _LOOK_AHEAD))
    own = span_before(spans, at)
    if own and at < own.end - 1:
        return _attached(_declared_in(text[at : own.end - 1].strip()), certain=True)
    gap = _AFTER.match(text, at, high)
    if gap is None:
        return None
    span = _span_at(spans, gap.end())
    if span and span.end <= high:
        return _attached(symbol_of(_inside(text, span)), certain=True)
    word = _WORD.match(text, gap.end(), high)
    if word is None:
        return None
    return _attached(_symbol_of_word(word), certain=not _PUNCTUATION.search(gap[0]))


def _attached(symbol: str | None, *, certain: bool) -> Attached | None:
    if symbol is None:
        return None
    return Attached(symbol, certain)


def _line_end(text: str, at: int, high: int) -> int:
    """A symbol on the next line is that line's."""
    end = text.find("\n", at, high)
    if end < 0:
        return high
    return end


def _span_at(spans: list[Span], at: int) -> Span | None:
    place = bisect.bisect_left(spans, (at, -1))
    if place < len(spans) and spans[place].begin == at:
        return spans[place]
    return None


def _declared_in(rest: str) -> str | None:
    """`src/app.py:42 fn route_layer` names it, `src/app.py:42 returns early` nothing."""
    if not _DECLARED.match(rest):
        return None
    return symbol_of(rest)
