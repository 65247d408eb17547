"""How agents write paths and lines: one pattern for all of it, built from parts.

Every pattern is linear: a repeat is bounded or possessive, and none can start inside its own match.
The parts hold no bare blank and no bare `#`, so that they mean the same in a verbose pattern.
"""

from __future__ import annotations

import re

from runner.grounding.word_lists import FILE_NAMES

LineRange = tuple[int, int]
"""First and last line, 1-based and inclusive."""

# --- one line or range ----------------------------------------------------------------------

_DASH = r"[-‐‑–—−]"
_JOINED = rf"(?:{_DASH}|\.\.\.?)"  # 42-60, 42..60
_SPACED = (
    r"(?:"
    rf"\s?{_DASH}\s?"  # 42 – 60
    r"|\s?\.\.\.?\s?"  # 42 ... 60
    r"|\s(?:to|through|thru|until)\s(?:line\s)?"  # 42 to line 60
    r")"
)
_LINE = r"\d{1,7}"
_COLUMN = r"(?:[:C]\d{1,5})?"  # 42:8, L42C8
_STOP = r"(?:ff?\b)?(?![\w%]|\.\d|-\d)"  # 42ff; not 42px, 42%, 4.2, 2024-01


def _item(to: str, first: str = _LINE, last: str = _LINE) -> str:
    """`42`, `L42`, `~42`, or a range whose ends `to` joins."""
    return rf"[Ll~≈]?{first}{_COLUMN}(?:{to}[Ll:]?{last}{_COLUMN})?{_STOP}"


_ITEM = _item(_JOINED)
_LOOSE_ITEM = _item(_SPACED)
_ONE = re.compile(_item(_SPACED, rf"(?P<first>{_LINE})", rf"(?P<last>{_LINE})"))


def intervals(listed: str, *, between: bool = False) -> list[LineRange]:
    """`42`, `42-60`, `42:8` (a column), `1476-80` (short for 1476-1480), `1, 7 and 9`.

    With `between`, "42 and 60" is the range and not the two lines.
    """
    if listed.isdecimal() and len(listed) < 8:  # most are one number, and need no pattern
        return [(int(listed), int(listed))]
    found = [_interval(item["first"], item["last"]) for item in _ONE.finditer(listed)]
    if between and len(found) == 2 and " and " in listed:
        return [(found[0][0], found[1][1])]
    return found


def _interval(first: str, last: str | None) -> LineRange:
    if last is None:
        return int(first), int(first)
    if int(last) < int(first) and len(last) < len(first):
        last = first[: -len(last)] + last  # 1476-80
    return ordered(int(first), int(last))


def ordered(start: int, end: int) -> LineRange:
    """`60-42` as 42-60."""
    return min(start, end), max(start, end)


_ANCHOR = re.compile(
    r"""
    (?:lines?-|[Ll])?                # #L42, #lines-42, #42
    (?P<first>\d{1,7})(?:C\d+)?      # #L42C8
    (?:[-:–](?:L|l)?                 # #L42-L60, #lines-42:60
        (?P<last>\d{1,7})(?:C\d+)?
    )?\Z
    """,
    re.X,
)


def anchor_lines(anchor: str) -> list[LineRange]:
    """The lines of a URL's `#…`; none if it is something else's, such as a heading's."""
    lines = _ANCHOR.match(anchor)
    if lines is None:
        return []
    return [_interval(lines["first"], lines["last"])]


# --- lists ----------------------------------------------------------------------------------

_LINKING = (
    "and|or|in|of|to|for|from|with|where|which|that|is|are|but|then|so|because|via|on|at|as|by"
    "|after|before|inside|the|a|an|its|this|these|both|when|if|while|do|does|both|calls|returns"
)
_NAME_AHEAD = r"[A-Za-z]\w{0,60}(?:_|[a-z][A-Z]|\.\w|::|\(\))"  # open_shop, openShop, Shop.open
NAME_AHEAD = re.compile(_NAME_AHEAD)
"""A word that is code: `open_shop`, `openShop`, `Shop.open`."""
_HTTP = r"(?!(?:20[0-6]|30[1-8]|4[0-2]\d|50[0-5])\s[A-Z][a-z])"
"""Before a listed number: not `404 Not Found`."""
_NO_COUNT = rf"(?![^\S\n]+(?!(?:{_LINKING})\b|{_NAME_AHEAD})[a-z])"
"""Behind a listed number: `42, 2 handlers` counts handlers; `42 and 51 the loop` counts nothing."""
_APART = r"\s?(?:,\s?(?:and|or|&)\s|[,;/&+]|and\s|or\s)\s?(?:and\s)?"  # `42, and 51`, `42/51`
_SEPARATOR = rf"{_APART}(?:lines?\s)?:?"  # `42; and line 51`, `:42, :51`
_TICKS = r"[`*_\"']{0,3}"
# Not of `a.py:3, line 9`, which may give the line of another file.
_JOINED_LIST = rf"{_ITEM}(?:[,/]{_ITEM}|{_APART}:?{_HTTP}{_ITEM}{_NO_COUNT}){{0,60}}"  # 1,7-8, 9
_SPACED_LIST = (
    rf"{_LOOSE_ITEM}(?:{_SEPARATOR}{_HTTP}{_LOOSE_ITEM}{_NO_COUNT}){{0,60}}"  # 1 to 7 and 9
)
_NUMBER = rf"\d{{1,6}}(?:{_DASH}\d{{1,6}})?"  # 42, 42-60

DIRECT = re.compile(
    rf"""
    (?: {_TICKS}(?:@?[:：]|::|=)                                 # a.py:42, `a.py`:42, a.py@:42
      | {_TICKS}@(?=[Ll]?\d)                                    # a.py@42
      | \#(?:[Ll]ines?-)?(?=L|\d{{1,7}}(?:-\d{{1,7}})?(?![\w-]))  # a.py#L42, #lines-42-60, #42
    )
    [\[({{`*]{{0,2}}(?P<list>{_JOINED_LIST})
    """,
    re.X,
)
"""Right behind a path: `:42`, `` `:42 ``, `#L42`."""
SPACED = re.compile(
    rf"""
    {_TICKS}(?:\s\(\d{{1,3}}\s[a-z]{{1,12}}\)(?=:))?              # a.py (2 calls): 42, 51
    (?: :\s{_TICKS} | \s[—–|→:]\s | \s[-=]>\s | \s-\s(?=\d) | \sat\s | \s@\s? | \s  # `a.py` — 42
      | :?\s\[(?=\d{{1,6}}(?:,\s?\d{{1,6}}){{0,60}}\])             # a.py [42, 51]
      | (?:,|\s{{2,80}}|\t)(?=\d{{1,6}}\s*\Z)                     # a.py,42 and no more
      | ,?\s(?=\d{{1,6}}{_DASH}\d{{2,6}})                       # `a.py` 42-60
      | ,\s(?=\d{{2,6}}[`,)])                                 # (`a.py`, 42)
    )
    (?P<list>{_JOINED_LIST})
    {_TICKS}
    (?= [,;)\]|—–] | \s\| | \.?(?:\s*\Z|\n) | \.\s | \s[—–(\[|→-] | \sper-
      | (?<=\d[-–]\d)\s | (?<=\d[-–]\d\d)\s | (?<=\d[-–]\d\d\d)\s | (?<=\d[-–]\d\d\d\d)\s )
    """,
    re.X,
)
"""Behind a path and a blank, where nothing that could be counted follows: `a.py: 42`."""
CALLED = re.compile(
    rf"""
    \((?P<list>{_LINE}(?:{_DASH}{_LINE})?) (?:[,:]\d{{1,4}})? \)  # a.cpp(42), a.cpp(42,8)
    """,
    re.X,
)
"""Right behind a path, as compilers write: `(42)`, `(42,8)` with a column."""
IN_BRACKET = re.compile(
    rf"""
    {_TICKS}\s\([`:~]?
    (?P<list>\d{{2,6}}(?:{_DASH}\d{{1,6}})?(?:,\s?{_NUMBER}){{0,40}})`?\)
    """,
    re.X,
)
"""Behind a path and a blank: `a.cpp (42)`, `` `a.cpp` (42, 51) ``."""
MEMBER = re.compile(
    rf"""
    (?: ::? | \# | \s>\s ) (?P<name>[A-Za-z_]\w{{0,80}}+(?:(?:::|[.\#])\w{{1,80}}+){{0,4}}+[?!]?)
    (?:\(\))? @?: (?P<list>{_JOINED_LIST})
    """,
    re.X,
)
"""Right behind a path, a name and its line: `a.py:Shop.open:42`, `a.py::test_it:42`."""
NEXT = re.compile(
    rf"""
    [`*_]{{0,3}} \s \([^()\n]{{1,60}}\) (?:,|\s/)  # `a.py:1` (first),
    (?:\sand)? \s
    (?P<list>{_NUMBER}) (?=\s\()           # and 7 (second)
    """,
    re.X,
)
COLON_TAIL = re.compile(rf":{_ITEM}\Z")
"""The end of a link's target: `src/app.py:42`."""

# --- paths ----------------------------------------------------------------------------------

_DRIVE = r"(?:[A-Za-z]:(?=[\\/]))?"  # C:\
_SEGMENT = (
    r"(?:[\w.@$+~%\-\u0300-\u036f\u2600-\u27bf\U0001f300-\U0001faff]{1,300}+"  # app.py, @x, a+b
    r"|\[{1,2}[\w.\-]{1,80}\]{1,2}"  # [id], [[...slug]]
    r"|\([\w.\-]{1,80}\)(?=/))"  # (auth)/
)
_PATH = (
    r"(?<![\w.@$+~%\-/\\\]])"
    # It holds a dot or a slash with a word behind it: most words are turned away here.
    rf"(?={_DRIVE}[\w@$+~%\-\[\]()]{{0,120}}+(?:\.{{1,2}}[\w/\\]|[/\\][\w\[(@.\U0001f300-\U0001faff]))"
    rf"{_DRIVE}[/\\]?{_SEGMENT}{{1,9}}+(?:[/\\]{{1,2}}{_SEGMENT}{{1,9}}+){{0,60}}+"
)
_NAMES = "|".join(FILE_NAMES)
_BARE_NAME = (
    rf"(?<![\w./\\:-])(?:{_NAMES})(?![\w/\\.])"  # Makefile
    r"|(?<![\w./\\:-])[A-Za-z][\w-]{1,60}+(?=`?:\d)"  # tool:3
)

# --- a name and its line --------------------------------------------------------------------

_NAME = (
    r"[A-Za-z_$][\w$]{0,80}+(?:(?:::|->|[.\#])[A-Za-z_$][\w$]{0,80}+){0,8}+[?!]?"
    r"(?P<call>\([^()\n]{0,80}\))?"  # run(), run(x)
)
_NAMED = (
    rf"(?P<name>{_NAME})(?P<mark>`?(?:\s?@\s?:?\s?|:)`?)(?=[Ll~≈]?\d)"
    rf"(?P<named>{_JOINED_LIST})(?!/[a-z])"
)
NAMED = re.compile(_NAMED)
"""A name with its line: `run:42`, `run@:42`, `` `run`:42 ``, `Shop.open()@42`."""

# --- everything that may cite ---------------------------------------------------------------

_SHORT = rf"(?<!\d)\d{{2,5}}(?:{_DASH}\d{{2,6}})?(?!\d|,\d{{3}})"
_LINES_WORD = (
    r"(?:[Ll]ines?|LINES?|[Ll]ns?\b\.?|ll?\.)(?:\(s\))?(?!\[)"  # line, Lines, ln., ll., line(s)
    r"(?:\s(?:numbers?|nos?\.?))?"  # line numbers, line no.
    r"[:#=]?[`*_\"']{0,3}\s{0,2}[:#=]?\s{0,2}[`*_\"'(\[]{0,3}"  # **Lines:** `
)
_LINES = (
    r"(?<![\w\-])"
    rf"(?:{_LINES_WORD}|L(?=\d)|at\s(?=\d{{2,6}}{_DASH}\d{{2,6}}\b))"  # lines, L42, at 42-60
    rf"(?P<list>{_SPACED_LIST})"
)
# A path and a line phrase begin where no word goes on: tested once for each character, that saves
# the search most of its time. A word that a blank or a comma follows is neither a path nor a name
# with its line, and needs be read but once.
_SURE = rf"""
    (?<!\w)(?:
        (?P<lines>{_LINES})                                    # lines 42 to 60
      | (?=[.@$+~%\-/\\\[(]|\w[\w$]*+(?:[^\s\w,;]|\s@)|{_NAMES})
        (?:
            (?P<path>{_PATH}|{_BARE_NAME})                     # src/app.py
          | {_NAMED}                                           # run@:42
        )
    )
  | :(?<![^\s(`,/>~*@+;→—–|]:)(?P<bare>{_JOINED_LIST})         # `a.py:42` and `:51`
  | `(?P<ticked>{_NUMBER})`                                    # `a.py:42`, `51`
"""
_DOUBTFUL = rf"""
  | (?m:^)[ \t>│├└─|]{{0,12}}[`*_]{{0,3}}                         # 42-60: run
    (?P<row>\d{{1,6}}(?:[-–]L?\d{{1,6}})?)
    (?=[`*_]{{0,3}}(?: :(?![\d:]) | \s?[—–│|→]\s? | \s-\s | [ ]{{2,}} | \t | \*\*\s
      | \s(?=`|\w{{1,60}}\() | [ ][A-Za-z_]\w{{0,80}}(?:[_(.]|[a-z][A-Z]) ))
  | \((?<![\w\]]\()                                            # `open_shop` (42, 51)
    (?P<parens>~?\d{{2,6}}(?:{_DASH}\d{{1,6}})?(?:,\s?~?{_NUMBER}){{0,40}})
    (?: \) | (?=[,;:]\s[`*_A-Za-z]) )                           # (42, the loop)
  | (?:[,;/&(\[] | (?<=[\s,]) (?:and|or|then|to|→|->)\s)\s?          # (244 handlers, 250 bypass)
    (?P<worded>\d{{2,6}}(?:{_DASH}\d{{1,6}})?) (?=\s[*_`]{{0,2}}[A-Za-z_])
  | (?<=[\s(])(?=[*_`~\d])[*_`]{{0,2}}~?                        # the loop head 332
    (?P<loose>{_SHORT}(?:(?:,\s|\s?[+/]\s?|,?\sand\s){_SHORT}){{0,20}}+)
    (?= [*_`]{{0,2}}(?:\s*\Z | [,.;:)\]](?!\d) | \s?\n | \s[`(—–→] | \s[-=]+>
      | \s(?:and|or|if|when|while|then|where|by|so|versus|vs)\b
      | \sin\s[`*_]{{0,2}}[\w./-]{{1,80}}\.\w | (?<=\d)\sof\s(?:the\s)?same\s ) )
  | (?<=\s)(?:on|at|where)\s~?(?P<pointed>{_SHORT})(?=\s[a-z])   # on 145 for the rest
"""
EVENT = re.compile(_SURE + _DOUBTFUL, re.X)
_PLAIN_WORD = (
    rf"(?![Ll](?:ines?|ns?|l)?\b|LINE|{_NAMES})[A-Za-z]++[.,;]?[ ](?=[A-Za-z])"  # no `line no. 42`
)
_NO_EVENT = re.compile(
    rf"""
    (?: (?:(?<!\w)(?:{_PLAIN_WORD})++)                          # it returns, and
      | (?!{re.sub(r"[(][?]P<[a-z]+>", "(?:", _SURE + _DOUBTFUL)}) (?:\w++|\W) )*+
    """,
    re.X,
)


def next_event(text: str, at: int) -> re.Match[str] | None:
    """As `EVENT.search`, in half of the time: of a sentence it steps over whole words."""
    begin = _NO_EVENT.match(text, at)
    return EVENT.match(text, begin.end()) if begin else None


# --- what stands between --------------------------------------------------------------------

_ENDS = r"(?<!(?:e\.g|i\.e).)(?<!(?:vs|cf|ll|ln)[.!?;\n])(?<!\bl[.!?;\n])"
"""Behind a mark: `e.g. A`, `l. 42` end nothing."""
_ASKED = rf"{_ENDS}[)\"'*_\]]{{0,3}}(?:\s+(?=[A-Z`*\"_#-])|\n)"
# Each alternative begins with its mark: a search then skips what is none at once.
SENTENCE_END = re.compile(
    rf"""
      \.{_ENDS}[)\"'`*_\]]{{0,3}}(?:\s+(?=[A-Z`*\"(\[_#-])|\n)  # it returns.) Then
    | !{_ASKED} | \?{_ASKED}                                   # does it? Then; not `valid?` (
    | ;{_ENDS}\s                                              # it returns; then
    | \n{_ENDS}\s*\n                                         # a blank line
    """,
    re.X | re.S,
)
_BETWEEN = r"""
    [`*_\"')\]]{0,4} [\s,(\[:–—-]{0,4}                      # `src/app.py` (lines
    (?:(?:at|on|in|around|near|approx\.?|from|starting|starts|see|between|about)\s+){0,2}
    [`*_\"'(]{0,2}
"""
PHRASE_AHEAD = re.compile(_BETWEEN + r"(?=[Ll]|at\s\d)", re.X)
"""Behind most paths stands no word of lines: those need no search."""
ADJACENT = re.compile(_BETWEEN + r"\Z", re.X)
"""All that stands between a path and its lines: ", starting at "."""
OF = re.compile(
    r"""
    [`*_\"')\],]{0,4}\s*
    (?:
      (?:(?:which|that)\s)?
      (?:(?:is|are|was|lives?|sits?|stands?|belongs?|resides?|found|steht|liegt|ist|est|está|esta
        |fica|находится|befindet\ssich|se\sencuentra|se\strouve)\s+)?            # is in
      (?:(?:defined|declared|located|found|called|implemented|definiert|definido|définie?)\s+)?
      (?:of|in|from|inside|within|(?<=belongs\s)to|en|em|dans|в|im|在|位于)\s*(?:the\s+)?(?:file\s+)?
      (?<=\W|[在于])[`*\"'(\[]{0,4}                                              # of the file `
    | [(\[][`*\"']{0,3} )                                                      # (`
    """,
    re.X,
)
"""All that stands between lines and their path: " of the ", ") is defined in "."""
OF_NEXT = re.compile(
    r"""
    [`*_\"')\].]{0,4}\s{0,2}
    (?:[*_]{0,3}(?:[Ff]ile|[Pp]ath|[Ll]ocation|Datei)[*_]{0,3}:[*_]{0,3}\s?)?  # **File:** `
    (?:[—–:|-]\s?)?(?:`[^`\n]{1,80}`\s?(?=[—–(\[:|-]))?                       # : `run`
    [—–(\[:|-]?\s?[`*\"']{0,3}                                                # (`
    """,
    re.X,
)
"""The same where no path stands before: "line 42 — `src/app.py`", "line 42: `run` (src/app.py)"."""
RESPECTIVELY = re.compile(
    r"[`*)]{0,3},?\s(?:respectively|bzw\b|respectivement|respectivamente|соответственно)"
)
"""Behind as many lines as there are paths before them."""
CHAIN = re.compile(r"`?(?:\s*\([^()\n]{0,80}\))?\s*(?:,|/|and|&|,\s*and)\s*\Z")
"""All that stands between the items of a list: `` ` (first), ``."""
NAMED_BEFORE = re.compile(r"(?:`|\w_\w*|_\w+|[a-z][A-Z]\w*|\w\.\w+|\(\)),?[ ]\Z", re.X)
"""Code before a bracket: `` `f` (42) ``, `open_shop (42)`, `openShop (42)`, `run() (42)`."""
IN_PARENTHESES = re.compile(r"[`*_]{0,3}\s?\([^()\n]{1,80}\)")
"""A bracket right behind a citation: `a.py:1 (foo)`."""

# --- what is no line ------------------------------------------------------------------------

COUNTED = re.compile(
    r"""
    \b(?:lines|files?|tests?|times|call(?:s|ers|\ssites?)?|references?|refs|match(?:es)?|hits?
      |results?|occurrences?|usages?|uses|counts?|bytes|chars|characters|[KMG]i?B|[mnu]s|secs?
      |seconds?|minutes|hours|days|items|entries|rows|commits?|LOC|percent|more|of|others?|total
    )\b
    """,
    re.I | re.X,
)
"""What is counted: `12 tests`, `340 lines`, "matches: a.cpp (12)"."""
HOST = re.compile(
    r"(?:host|localhost|port|addr|address|server|url|redis|db|mongo|postgres|mysql)\Z", re.I
)
LONG_NAME = re.compile(r"(?<!\w)\w+_\w+_\w+`?[ ]\Z")
"""A name of three words or more, as no HTTP code has: `test_it_works (204)`."""
ESCAPED = re.compile(
    r"(?P<code>`[^`\n]{1,400}`)|(?<![^\s`])(?P<word>[^\s`\\]{0,120}(?:\\[_*~#\[\]().+!-][^\s`\\]{0,120}){1,60}+(?!\\\w))"
)
"""Words in which Markdown's own characters are escaped; code spans are left as they are."""
SETTING = re.compile(
    r"(?:timeout|width|height|size|depth|max|min|limit|counts?|retries|version|step|phase|level"
    r"|priority|status|code|page|weight|total|score|exit|ratio|note|part|item|node|python|ruby"
    r"|golang|figure|table|chapter|section|issue|rfc|http|utf|sha|md)\Z",
    re.I,
)
"""A word that numbers follow which are no lines: `timeout:30`."""
COUNTED_BEFORE = re.compile(
    r"""
    \b(?:lines|files|tests|times|calls|callers|references|refs|matches|hits|results|occurrences
      |usages|counts?|bytes|chars|items|entries|rows|commits|total|duration|score|budget|users
      |requests|errors|age|ratio|rate|limit|size|timeout)[`*_]{0,2}\s\(?\Z
    """,
    re.I | re.X,
)
"""Before a number in brackets: "tests (12)"."""
NUMBERED = re.compile(
    r"""
    (?: (?<![\w.])(?:issues?|prs?|pulls?|rfcs?|bugs?|tickets?|ports?|error|status|codes?|https?
      |version|v|step|steps|phase|part|page|chapter|section|rule|item|case|test|limit|size|width
      |height|depth|length|max|min|maximum|minimum|timeout|default|value|number|count|total|level
      |priority|returns?|returned|exits?|exit|of|by|than|to|over|under|up|most|least|about|every
      |within|after|before|is|are|was|be|equals?|only|all|another|other|with
      |has|have|had|gets?|sends?|takes?|wants?|needs?|java|python|node|ruby|go|rust|php|jdk|es|deno
      |bun|windows|android|ios|macos|utf|sha|md|crc|base|iso|ansi|posix|c|c\+\+|react|vue|rails
      |were|been|score|scores|budget|duration|took|spent|costs?|price|age|rate|ratio|speed|latency
      |memory|requests|users|errors|index|waits?|sleeps?|weight|capacity|percent|threshold|quota
      |year|since|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|a|an|the|some|roughly|nearly)
      | [<>=×+*/$€£%±^&|≈\d] | i\.e\.,? | e\.g\.,?
    )
    [\s#"'`*_:]{1,4}[~≈]?\Z
    """,
    re.I | re.X,
)
"""Before a number that is no line: "issue ", "up to ", "Java "."""
ALIAS_DEFINED = re.compile(
    r"(?<![\w.])[`*_\"']{0,2}(?P<alias>[A-Z][A-Z0-9]{0,9})[`*_\"']{0,2}\s?(?:=|:=|≙|→)\s?"
    r"[`*_(\"']{0,3}(?P<path>[\w./-]{3,200}\.\w{1,8})"
)
"""`RTAF = internal/ReflectiveTypeAdapterFactory.java`."""
ALIAS_SIGN = re.compile(r"[=≙→]\s?[`*_(\"']{0,3}[\w./-]{3,200}\.\w")
"""Most texts have none, which is told in a tenth of the time."""
BRACKETED = re.compile(rf"\((?:`{_NUMBER}`(?:,\s)?){{1,20}}\)")
"""Lines in code marks: "noted (`318-320`)", "(`216-219`, `84-91`)"."""
CODES_BEHIND = 80
SAME_FILE = re.compile(
    r"(?<!\w)(?:[Tt]he\s)?[Ss]ame\sfile\b|(?<!\w)[Ii]bid\.?(?=[,;:)\s])"
    r"|\A(?:[-*+•]\s)?[`*_]{0,2}[Ss]ame(?=[`*_]{0,2}\s[—–:-])"
)
"""The file named last: "same file :115", "- same — 33-53"."""
_WITHOUT = (
    r"(?:numbers|lines|refs|references|:N{1,9})\s(?:without|with\sno)\s(?:an?\s)?(?:file|path|name)"
)
_SAID = r"(?:said|noted|stated|otherwise|given|named|marked|specified|I\ssay)"
DEFAULT_AFTER = re.compile(
    rf"""
    [`*_)\"']{{0,4}}\s(?:unless|if\snot|except\swhere)\s{_SAID}
    | [^\n]{{0,120}}?\b{_WITHOUT}
    | [^\n]{{0,40}}\bis\sthe\sdefault\sfile
    """,
    re.X | re.I,
)
"""Behind a path that all lines without one belong to: " unless said otherwise"."""
DEFAULT_BEFORE = re.compile(
    rf"""
    (?: \b(?:plain|bare|all|every)\b[^.\n]{{0,20}}?(?:numbers?|lines?|refs?|:N+)\b[^.\n]{{0,30}}
        (?:=|\b(?:is|are|means?|refers?\sto|points?\s(?:in)?to|in|into|of|from)\b)
      | \b{_WITHOUT}\b[^.\n]{{0,40}}
      | \b(?:unless|if\sno)\b[^.\n]{{0,30}}\b{_SAID}\b[^.\n]{{0,40}}
    ) [\s`*_("':]{{0,5}}(?:the\sfile\s)?[`*_]{{0,2}}\Z
    """,
    re.X | re.I,
)
"""Before such a path: "plain :NNN = ", "line numbers without a file are of "."""
ROUND = re.compile(
    r"\d+00|\d?000|128|256|512|1024|2048|4096|8192|16384|32768|65535|65536|19[89]\d|20[0-3]\d"
)
"""Numbers that are more often values, or years, than lines."""
QUALIFIED = re.compile(
    r"(?<![\w.:#])(?P<owner>[A-Z]\w{1,80}+)(?:::|[.\#])\w{1,80}+[!?]?(?:\(\))?"
    r"[`*_]{0,3}[\s:@(~]{0,4}\Z"
)
"""Before its lines, a member whose class may have a file of its own: `` `Parser.flatten` (``."""
AT = re.compile(r"(?<![\w.])(?:(?P<verb>[\w?!]{1,20})[`)*,]{0,3}\s)?(?:at|on|where)[ ]~?\Z")
"""Before a line: "dispatches at ", "on "."""
SERVING = re.compile(r"(?:listen|serv|bind|bound|run|port)\w{0,4}\Z", re.I)
"""Before `on`, a verb that a port follows."""
LIMITING = re.compile(
    r"(?:capp|limit|max|set|fix|pegg|stopp?|peak|default|tim|listen|serv|bind|bound|run|answer|expir)"
    r"(?:ed|s|ing|out|es)?\Z",
    re.I,
)
"""Before `at`, a verb that sets a number: "capped at 500"."""
FUNCTION_WORD = re.compile(
    r"(?:for|has|have|had|does|did|the|a|an|its|this|that|these|which|who|with|without|in|to"
    r"|of|and|or|but|if|when|while|then|where|because|since|so|as|by|from|already|again|also|never"
    r"|only|not|no|would|will|can|may|must|passes|calls|returns|sets|checks|does|comes|goes|starts"
    r"|near|inside|below|above|after|before|instead)\b"
)
"""Behind a line that is no number of things."""

LEAD = re.compile(
    r"""
    (?>
    (?!(?:That|This|It|There|Calls|Uses|Invokes|Imports|Wraps|Mirrors|Follows|Reads|Then)\b)
    (?: [^a-z\s]*[A-Z_`][^\s]{0,80} | [^\w\s]{1,8} | \d{1,3}[.)]?          # `Shop`, **, 1.
      | (?:in|at|the|file|see|from|is|of|inside|within|and|method|function|class|struct|module
        |defined|lives|located|found|path|line|lines)[,:]?
      | [\w.]{0,60}_[\w.()]{0,60} | [a-z]+[A-Z][\w.()]{0,60} | [\w.]{1,60}\(\)
    ) \s*+
    )*+
    """,
    re.X,
)
"""What may stand before a path that a text begins with."""
FRAME = re.compile(r"\bat\s[\w.$@/<>]{1,180}\(\Z")
"""Of a trace, before its file: `at java.base/java.lang.Thread.run(`."""
