"""Which symbol a sentence names for a citation, and how certain that is.

Only the nearest symbol counts, before the citation first. It is certain if nothing but strict glue
(a bracket, a dash, `is defined at`) stands between the two, and a guess if more does. An accusation
rests on no guess.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from runner.grounding.naming import (
    IDENT,
    RECEIVER,
    CodeSpan,
    checked,
    inside,
    is_compound,
    span_at,
    span_before,
    symbol_of,
)
from runner.grounding.tongues import IS_AT

_WORD = re.compile(
    rf"""
    (?<![\w`./\\@$~-]) (?P<sign>@)?
    (?: \(\*?{RECEIVER}\)\. )?                                  # (*Engine).
    (?P<name>~?{IDENT}(?:(?:::|[.\#]){IDENT})*[?!]?)            # full_dispatch, Router::new
    (?P<generic><[^<>\n]{{0,80}}>)?                             # Query<T>
    (?:/\d{{1,2}}(?!\w))?                                       # put/2
    (?P<call>\((?:[^()\n]++|\([^()\n]{{0,80}}+\)){{0,20}}+\))?  # wsgi_app(environ, start)
    (?![\w`/\\]|[.:\#]\w)                                       # not src/, a.py:3
    """,
    re.X,
)
_KIND_WORD = r"""
    method|function|func|class|property|helper|constant|const|struct|trait|field|decorator|type
    |macro|enum|interface|attribute|variable|test|module|constructor|hook|handler|fixture
    |generator|coroutine|iterator|endpoint|route|view|command|mixin|descriptor|plugin|provider
    |definition|declaration|implementation|callback|middleware|wrapper|option|flag|getter|setter
"""
_GLUE_WORD = rf"""
    the|a|an|is|are|was|at|in|on|from|of|via|see|near|around|inside|within|file|lines?|located
    |defined|declared|implemented|found|lives|introduced|defines|declares|{_KIND_WORD}
    |source|body|signature|impl|async|static|public|private
    |which|that|its|begins|starts|starting|sits|here|currently|approximately|approx|about
    |called|used|invoked|checked|read|set|raised|thrown|registered|created|built|run|itself
    |can|may|be|{IS_AT}
    |[a-z]{{2,12}}ed|first|once|twice|again|only|then|later|also|always
"""
_GLUE = re.compile(
    rf"""
    (?: [ \t.─·]{{2,200}} | \([^()\n]{{1,60}}\) | \b(?:{_GLUE_WORD})\b
      | [\s`*_'(\[\]),:~→>@=–—-]
    ){{0,40}}+ \Z
    """,
    re.I | re.X,
)
"""`` ` is defined in ` `` between a symbol and its citation, to the citation's beginning."""
_STRICT_GLUE = re.compile(
    rf"""
    [`*_)\]]{{0,4}}
    (?: \s? \( | [ \t]{{2,200}}                           # `foo` (a.py:3), columns of a tree
      | [ \t]{{0,2}} (?:(?:{_KIND_WORD})\s)? (?:          # `foo` method
          [(\[—–:@-]{{1,2}}                               # `foo`: a.py:3
        | ,[ ](?=line)
        | (?:,?[ ]?(?:is|are|was|can\sbe)\s)?
          (?:,?[ ]?(?:defined|declared|implemented|located|found|introduced|called|used)\s)?
          (?:at|in|on)
        | lives\s(?:at|in)
      )?
    )
    [ \t]{{0,2}} (?:(?:the\s)?(?:file|lines?)\s)? [`*_'(\[]{{0,4}} \Z
    """,
    re.I | re.X,
)
"""The part of the glue that leaves no doubt about what stands at the lines."""
_LIGHT_GLUE = re.compile(r"[\s`*_'()\[\],:]{1,8}")
"""No word at all: what else the sentence speaks of does not come between."""
_JOINER = r"(?:\s?[,/&+|]|,?\s(?:and|or|vs\.?|versus)\b)\s?(?:(?:the|then|and)\s)?"
_JOINED = re.compile(
    rf"""
    (?: \w(?:\(\))?[`][*_]{{0,2}} | \w\(\) | _\w{{1,30}} | [a-z][A-Z]\w{{0,30}})  # `f`, f(), a_b
    {_JOINER} [`*_(]{{0,4}} \Z
    """,
    re.X,
)
"""Before a symbol: another one, which the same lines may be of."""
_DENIED = re.compile(
    r"""
    \b(?:
        (?: not|no|never|without|unlike|like|than|except|outside             # not `foo`
          | bypass(?:es|ed|ing)? | skip(?:s|ped|ping)? | avoid(?:s|ed|ing)? | instead\sof
          | lack(?:s|ed|ing)?
        )
        (?:\s(?:the|a|an|its|this|each|same))?                               # unlike the
    |
        (?:in|within|inside)\s(?:the|a|an|its|this|each|same)                # in the
    )
    [\s`*_(]*\Z
    """,
    re.I | re.X,
)
"""Before a symbol: it is denied, or it is where the thing is, not the thing."""
_INDIRECT = re.compile(
    r"""
    \b(?:of|from|in|into|inside|within|on|to|for|with|against|by|de|del|du|des|di|von|van)
    (?:\s(?:the|a|an|its|this|each|same))? [\s`*_(]* \Z
    """,
    re.I | re.X,
)
"""Before a symbol: the sentence is of something else, which may be what stands at the lines."""
_SEE = re.compile(r"[`*_]{0,4},?\s(?:see|look\sat|refer\sto|open)\s[`*_(]{0,4}\Z")
"""Behind a symbol: "For `open`, see a.py:3"."""
_SEARCHED = re.compile(r"[ \t]*[\w./@+-]{1,200}:\d{1,7}:")
"""The row of a search: what it shows is of its own line."""
_OBJECT = re.compile(r"\b(?!(?:this|its|class|alias)\b)[a-z]{3,}s\s[`*_]{0,3}\Z")
"""Before a symbol: a verb, of which it is the object: "catches it and runs `open` — a.py:3"."""
_LEADING = frozenset(
    f"the a an and or both then also see where this that its {_KIND_WORD.replace('|', ' ')}".split()
)
"""Words before a symbol that the lines are of: "the class `Shop`"."""
_PLANNED = frozenset("add create introduce implement write define".split())
_DASH = re.compile(r"[`*_)]{0,4}\s?(?:[—–-]{1,2}|:)\s")
_COMMA = re.compile(r"[`*_)]{0,4},\s[`*_]{0,2}\Z")
_FRAME = re.compile(r"[`\"]?,\sin\s(?P<name>[\w.<>]{1,100})[`]?[ \t]*(?=\n|\Z)")
"""Of a traceback: `File "a.py", line 3, in open`."""
_OPENS = re.compile(r"[\s>*_`#•+-]{0,8}(?:\d{1,3}[.)]\s{1,3})?[*_`(]{0,4}\Z")
"""All that stands before the first word of a sentence or a list item."""
_KIND = re.compile(r"\b(?:class|struct|trait|interface|enum)\s[*_]{0,2}\Z")  # the class Flask
_ELLIPSIS = re.compile(r"(?:/[ ]?|…|\*|\.\.)_\Z")  # set_up/_down, *_handler: only part of a name
_AFTER = re.compile(
    r"""
    [`*_\])]{0,4} [ \t]{0,2}              # `a.py:3`
    (?:[—–:-]{1,2}|is|defines|declares|=|,(?=[ ]`[^`\n]{1,80}`\)))?  # a.py:3 — `foo`
    [ \t]{0,2} [*_(]{0,3}                 # a.py:3 (`foo`)
    (?:(?:the|a|an|then|otherwise|also|actual|here|finally)\s){0,3}  # a.py:3 then `foo`
    (?=[`\w(])
    """,
    re.X,
)
_LINKS = re.compile(r"(?:->|→|=>|\n|\A)[ \t*-]{0,8}\Z")
_FILLED = re.compile(r"\b(?!is|defines|declares)[a-z]")
_PUNCTUATION = re.compile(r"[—–:=-]|\w")
_LOOK_BACK, _LOOK_AHEAD = 240, 160
"""Characters. Without these bounds, a text of nothing but symbols would take quadratic time."""


class Attached(NamedTuple):
    """The symbol that a text names for a citation."""

    symbol: str
    certain: bool
    """False if our reading of the words between the two may be wrong: no accusation rests on it."""
    at: int = -1
    """Where it begins, in characters of the chunk."""
    loose: int = 0
    """Signs of a plain claim that it lacks: it is no code span; a sentence speaks of it."""
    other: str | None = None
    """The other word that may be meant."""


class _LastNamed(NamedTuple):
    """What a text names last before a citation, and where."""

    symbol: str | None
    low: int
    """Where the text begins that may name it."""
    begin: int
    end: int


def symbol_before(text: str, low: int, at: int, spans: list[CodeSpan]) -> Attached | None:
    """The symbol that text[low:at] names last, with only glue between it and `at`.

    `at` may lie inside a code span.
    """
    first, low = low, max(_own_row(text, low, at), at - _LOOK_BACK)
    at = _before_own_span(text, at, spans)
    named = _last_word(text, at, _last_span(text, low, at, spans))
    glue = _glue(text[named.end : at]) if named.symbol else None
    if named.symbol is None or glue is None:
        return None
    before = text[max(first, named.begin - 48) : named.begin]
    strict = glue.strict
    indirect = bool(_INDIRECT.search(before)) and not _SEE.match(text, named.end, at)
    if _DENIED.search(before) or (indirect and not glue.light):
        return None
    if glue.leads_in and not _OPENS.match(before):
        strict = False
        if text[named.begin] != "`":
            return None
    if _JOINED.search(before):
        return Attached(named.symbol, False, named.begin, other=_listed_before(before))
    plain = text[named.begin] == "@" or (named.symbol[-1] in "!?" and text[named.begin] != "`")
    between = text[named.end : at]
    if _COMMA.fullmatch(between) and _OPENS.match(before):  # - `open`, a.py:3
        strict = True
    if _DASH.match(between) and _OBJECT.search(before):
        strict = False
    certain = strict and not plain and not indirect
    is_code = text[named.begin] == "`" or text[named.end - 1] == ")"
    loose = (not is_code) + _is_spoken_of(before)
    return Attached(named.symbol, certain, named.begin, loose)


def _own_row(text: str, low: int, at: int) -> int:
    """Behind the row of a search that ends before `at`; `low` if there is none."""
    end = text.rfind("\n", low, at)
    if end < 0 or not _SEARCHED.match(text, text.rfind("\n", 0, end) + 1, end):
        return low
    return end + 1


def _is_spoken_of(before: str) -> bool:
    """A word before a symbol makes it an object ("which wraps `foo`") or part of a plan ("add a
    method `foo`").
    """
    said = before.rstrip("`*_\"'(")
    words = said[-40:].lower().split()
    if not words or not said.endswith(" "):
        return False
    last = words[-1].strip("*_")
    return (last.isalpha() and last not in _LEADING) or not _PLANNED.isdisjoint(words)


class _Glue(NamedTuple):
    """What stands between a symbol and its citation."""

    strict: bool
    light: bool
    leads_in: bool


# The same few are between most symbols and their citations.
@lru_cache(maxsize=4096)
def _glue(between: str) -> _Glue | None:
    """None if it is more than glue."""
    if not _GLUE.match(between):
        return None
    strict = bool(_STRICT_GLUE.match(between))
    light = strict or bool(_LIGHT_GLUE.fullmatch(between))
    return _Glue(strict, light, _is_lead_in(between))


def _listed_before(before: str) -> str | None:
    """The last name of a list that goes on: `` `open` and ``."""
    name = re.search(r"(\w++)\W{0,6}(?:and|or|vs|versus)?\W{0,4}(?:the\W{1,4})?\Z", before)
    return name[1] if name else None


def _is_lead_in(between: str) -> bool:
    """`Callers that skip Shop: a.py:3` gives places of the callers."""
    return between.lstrip("`*_)").startswith(":")


def _before_own_span(text: str, at: int, spans: list[CodeSpan]) -> int:
    """`src/app.py:42` alone in its backticks: its symbol is named before them."""
    own = span_before(spans, at)
    if own and at < own.end and not text[own.begin + 1 : at].strip():
        return own.begin
    return at


def _last_span(text: str, low: int, at: int, spans: list[CodeSpan]) -> _LastNamed:
    """The last code span that ends before `at`, and its symbol; no symbol if there is none."""
    span = span_before(spans, at)
    if span and at < span.end:
        # `foo src/app.py:42`: only words of the same span.
        low = max(low, span.begin + 1)
    elif span and span.begin >= low:
        return _LastNamed(symbol_of(inside(text, span)), low, *span)
    return _LastNamed(None, low, low, low)


def _last_word(text: str, at: int, named: _LastNamed) -> _LastNamed:
    """The last bare word behind what is named already that is a symbol; else that."""
    for word in _WORD.finditer(text, named.end, at):
        symbol = _symbol_of_word(word, after_kind=_follows_kind(word, named.low))
        if symbol and not _is_partial(word, symbol):
            named = _LastNamed(symbol, named.low, *word.span())
    return named


def _follows_kind(word: re.Match[str], low: int) -> bool:
    """`the class Flask`: without `class`, an English word."""
    if not word["name"][0].isupper():
        return False
    return bool(_KIND.search(word.string, max(low, word.start() - 12), word.start()))


def _symbol_of_word(word: re.Match[str], *, after_kind: bool = False) -> str | None:
    plain = after_kind or bool(word["call"] or word["generic"] or word["sign"])
    return checked(word["receiver"], word["name"], plain=plain or _is_marked_link(word))


def _is_marked_link(word: re.Match[str]) -> bool:
    """`-> route! :12`: a plain word with a mark, in a chain; elsewhere it ends a sentence."""
    if word["name"][-1:] not in ("!", "?"):
        return False
    return bool(_LINKS.search(word.string, max(0, word.start() - 12), word.start()))


def _is_partial(word: re.Match[str], symbol: str) -> bool:
    begin = word.start()
    before = word.string[max(0, begin - 3) : begin]
    return bool(_ELLIPSIS.search(before + symbol[:1]))


def symbol_after(text: str, at: int, high: int, spans: list[CodeSpan]) -> Attached | None:
    """The symbol that follows directly: in a code span, or as a word that looks like code.

    In the citation's own code span, only a declaration or a name of several words counts.
    """
    high = _line_end(text, at, min(high, at + _LOOK_AHEAD))
    if frame := _FRAME.match(text, at, high):
        return _attached(symbol_of(frame["name"]), frame.start("name"), certain=True)
    own = span_before(spans, at)
    if own and at < own.end - 1:
        return _attached(_named_in(text[at : own.end - 1].strip()), at, certain=True)
    gap = _AFTER.match(text, at, high)
    if gap is None:
        return None
    span = span_at(spans, gap.end())
    if span and span.end <= high:
        certain = not _FILLED.search(gap[0]) and not _has_own_place(text, gap[0], span.end)
        named = _attached(symbol_of(inside(text, span)), span.begin, certain=certain)
        # `a.py:3): foo` tells what happens there.
        return named and named._replace(loose=int(":" in gap[0]))
    word = _WORD.match(text, gap.end(), high)
    if word is None:
        return None
    certain = not _PUNCTUATION.search(gap[0]) and not _has_own_place(text, gap[0], word.end())
    named = _attached(_symbol_of_word(word), word.start(), certain=certain)
    return named and named._replace(loose=int(not word["call"]))


_OWN_PLACE = re.compile(r"[ ](?:at[ ]|@[ ]?)?[`(]{0,2}(?:[\w./-]{1,200}\.\w{1,8})?(?::|\#L?)\d")
"""Behind a name, the place that it has itself: `shop.py:3 (open_shop shop.py:34)`."""
_PLACE_IN_BRACKET = re.compile(r"[^()\n,;]{1,24}(?<=[ '\"`@⇒]):\d")
"""The same in a bracket: `shop.py:3 (LIMIT = 20 :15)`."""


def _has_own_place(text: str, gap: str, end: int) -> bool:
    return bool(_OWN_PLACE.match(text, end) or ("(" in gap and _PLACE_IN_BRACKET.match(text, end)))


def _attached(symbol: str | None, at: int, *, certain: bool) -> Attached | None:
    if symbol is None:
        return None
    return Attached(symbol, certain, at)


def _line_end(text: str, at: int, high: int) -> int:
    """A symbol on the next line is that line's."""
    end = text.find("\n", at, high)
    if end < 0:
        return high
    return end


def _named_in(rest: str) -> str | None:
    """`src/app.py:42 fn route_layer` names it, `src/app.py:42 returns early` nothing."""
    symbol = symbol_of(rest)
    if symbol and (" " in rest or is_compound(symbol)):
        return symbol
    return None


# --- several at once ------------------------------------------------------------------------

_VERB = r"""
    (?:is\s)?(?:defined|declared|implemented|called|used|invoked|checked|read|set|raised|thrown
    |registered|created|tested|documented|exported|re-exported|overridden)
    (?:\s(?:again|at|in|on|from|by)){0,2}\s
"""
_CONTINUES = re.compile(
    rf"""
    [`\]*_]{{0,4}} (?:(?:\)[`*_]{{0,3}})?,?\s?(?:(?:and|then|but)\s)? (?P<verb>{_VERB})
      | {_JOINER} | \s?(?:→|->)\s?)
    [`*_(\[]{{0,4}} (?:lines?\s)? \Z
    """,
    re.I | re.X,
)
"""Between two places of one symbol: "`foo`, called at a.py:3, defined at b.py:9"."""
_MOST_NAMES = 12
_FAR = 60
"""Characters between two places of one list."""


def goes_on(text: str, close: int, begin: int) -> str | None:
    """What ties a citation to the one before, if it is another place of the same symbol.

    A verb, or nothing but a joiner (`""`); None if it is no such thing.
    """
    if begin - close > _FAR:
        return None
    found = _CONTINUES.match(text[close:begin])
    if found is None:
        return None
    return found["verb"] or ""


def is_list(text: str, close: int, begin: int) -> bool:
    """True if only a joiner stands between two citations: `a.py:3 vs b.py:9`."""
    return goes_on(text, close, begin) == ""


def names_before(text: str, low: int, at: int, spans: list[CodeSpan]) -> list[Attached]:
    """The names of a list that ends before `at`: "`open` vs `close` (", the first one first."""
    names: list[Attached] = []
    last = symbol_before(text, low, at, spans)
    while last and len(names) < _MOST_NAMES:
        names.append(last)
        last = _joined_before(text, low, last.at, spans)
    return names[::-1]


def _joined_before(text: str, low: int, at: int, spans: list[CodeSpan]) -> Attached | None:
    """The name that a joiner, and nothing else, stands between and `at`."""
    named = _last_word(text, at, _last_span(text, max(low, at - _LOOK_BACK), at, spans))
    if named.symbol is None or not _ONLY_JOINER.match(text, named.end, at):
        return None
    return Attached(named.symbol, certain=False, at=named.begin)


_ONLY_JOINER = re.compile(rf"[`*_)]{{0,3}}{_JOINER}[`*_(]{{0,3}}\Z")
