"""How a symbol is written, and what its parts are called in an outline."""

from __future__ import annotations

import re

SEPARATOR = re.compile(r"::|->|[.#$\\]")
"""Between a qualifier and a name: `Router::new`, `this->next`, `Flask.run`, `Shop#open`, `A\\B`."""

_OWNERS = r"(?P<owners>(?:[^\W\d]\w{0,99}(?:<[^<>]{0,80}>)?(?:::|\.)){0,9})"
_OPERATOR = re.compile(
    rf"""
    (?<![\w.:]) {_OWNERS} (?:(?:im|ex)plicit\s)? operator (?P<sign>
        \s?\(\s?\) | \s?\[\s?\]                                # operator(), operator[]
      | \s?""\s?\w{{1,80}}                                     # operator""_km
      | \s?[-+*/%^&|~!=<>,]{{1,3}}                              # operator==
      | \s(?:new|delete|true|false|bool|char|int|long|float|double|string
          |[A-Z]\w{{0,80}}|std::\w{{1,80}})                     # operator bool, operator new[]
        (?:\s?[*&]|\[\])?
    )
    """,
    re.X,
)
_OTHER = re.compile(
    rf"""
    {_OWNERS} (?:
        ~[^\W\d]\w{{0,99}}              # ~Shop
      | this\s?\[[^\]]{{0,200}}\]        # this[int at]
      | (?:[^\W\d]\w{{0,99}})?+\[Symbol\.\w{{1,99}}\]  # [Symbol.iterator]
      | \#[^\W\d]\w{{0,99}}             # #count
      | [^\W\d]\w{{0,99}}'{{1,3}}        # foldl'
    )
    (?=\(|$)
    | '[^\W\d]\w{{0,99}}$              # 'label
    | [^\W\d]\w{{0,99}}::\$[^\W\d]\w{{0,99}}$  # Shop::$stock
    """,
    re.X,
)
_SIGN = r"[^\w\s()\[\]{}\"'`,;#\\]"
_SIGNED = re.compile(
    rf"(?:[^\W\d]\w{{0,99}}(?:::|[.#]))?(?:\({_SIGN}{{1,6}}\)|{_SIGN}{{1,6}}|\[\]=?)"
)
_CHARACTERS = frozenset("= / | . : ? & @ $ % * - -- // -> => .. ... && ||".split())
"""Far more often characters that a text speaks of than names that a file defines."""
_MACRO = re.compile(
    r"[a-z_]\w{0,60}!?(?:\(|\s):(?P<name>[^\W\d]\w{0,99}[?!=]?)\)?(?:,.{0,200})?", re.S
)
"""`has_many :letters, dependent: :destroy` is of `letters`."""
_INDEXER = re.compile(r"(?:^|(?<=\.))this\s?\[[^\]]{0,200}\]?$")

_WELL_KNOWN = re.compile(r"\.?\[(Symbol\.\w+)\]")
_TYPE_ARGUMENT = re.compile(r"<[^<>]{0,80}>")
_TYPE_ARGUMENTS = re.compile(
    r"(?<=\w)(?:\[[A-Za-z_][\w\s,.*]{0,99}\]|<[A-Za-z_][\w\s,.:]{0,99}>)(?=$|::|\.)"
)
_SIGNS = re.compile(r"(?:^\(?|(?<=\w)(?:::|[.#]))(?P<sign>[^\w\s()\"'`,;]{1,8}+)\)?$")
MARK = re.compile(r"(?<=\w)[!?=]$")
"""Ruby's `save!`, `empty?` and `total=`; a call of Rust's macro."""
_ARITY = re.compile(r"/\d{1,2}$")


def parts_of(symbol: str) -> list[str]:
    """The qualifiers of a symbol as it is written, and its name as an outline gives it.

    `Shop::operator ->` is Shop and `operator->`; `Shop.this[int at]` is Shop and `this[]`;
    `[Symbol.iterator]` is Symbol and iterator; `Shop.<init>` is Shop and Shop; `Map[K, V]` is Map;
    `Shop#<=>` is Shop and `<=>`; `open/2` is `open`; `Shop::$stock` is Shop and stock.
    """
    if symbol.isidentifier():
        return [symbol]
    operator = _OPERATOR.search(symbol)
    if operator:
        owners = SEPARATOR.split(_TYPE_ARGUMENT.sub("", operator["owners"]))
        return [*filter(None, owners), _operator(operator["sign"])]
    indexer = _INDEXER.search(symbol)
    if indexer:
        return [*filter(None, SEPARATOR.split(symbol[: indexer.start()])), "this[]"]
    signs = _SIGNS.search(symbol)
    if signs:
        return [*filter(None, SEPARATOR.split(symbol[: signs.start()])), signs["sign"]]
    symbol = _TYPE_ARGUMENTS.sub("", _WELL_KNOWN.sub(r".\1", symbol))
    *owners, name = map(_plain, SEPARATOR.split(symbol))
    parts = [*filter(None, owners), name]
    if parts[-1] == "<init>" and len(parts) > 1:
        return [*parts[:-1], parts[-2]]
    return parts


def special_of(text: str) -> str | None:
    """The symbol that a code span is or declares, if no plain name is it; None for anything else.

    `Shop& Shop::operator=(const Shop&)` is `Shop::operator=`.
    """
    if is_sign(text):
        return text
    macro = _MACRO.fullmatch(text)
    if macro:
        return macro["name"]
    other = _OTHER.match(text)
    if other:
        return other[0]
    operator = _OPERATOR.search(text)
    if operator is None:
        return None
    return operator["owners"] + _operator(operator["sign"])


def is_sign(symbol: str) -> bool:
    """`<=>`, `(<+>)`, `Shop#[]`: an operator of some languages, in most texts no name."""
    return symbol not in _CHARACTERS and bool(_SIGNED.fullmatch(symbol))


def _plain(part: str) -> str:
    """Without brackets, quotes, sigils and arity: `["open"]`, `@items`, `'label`, `open/2`."""
    return _ARITY.sub("", part.strip('[]`"').lstrip("'@:"))


def _operator(sign: str) -> str:
    """A word keeps its space: `operator bool`."""
    compact = "".join(sign.split())
    if compact[0].isalpha() or compact[0] == "_":
        return f"operator {compact}"
    return f"operator{compact}"
