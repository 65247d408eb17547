"""An API key in what others wrote, however they spelt it.

A text is searched for the key as a reader takes it in: escapes decoded, and then letters and digits
alone, each with its place in the text. What stands there is held against the few ways to write the
key's bytes. So a new way to break, escape or mark up a key needs no line here.
"""

from __future__ import annotations

import base64
import html
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_letters, digits
from typing import NamedTuple

HIDDEN = "[hidden]"
SECRET_CHARS = 8
"""A shorter key, such as `none`, keeps nobody out: it is hidden where it is a whole word."""
PIECE_CHARS = 12
"""A shorter piece of a key may be anybody's."""
_GRAM, _STEP = 5, 4
"""Every run of eight letters holds five that are looked up, if each fourth place is."""
_LETTERS = frozenset(ascii_letters + digits)
_OTHERS = bytes(code for code in range(128) if chr(code) not in _LETTERS)
_MASK = re.compile(r"[*#\u2022\u25cf\u00b7\u2026]+|\.{2,}|[xX]{4,}")
_LEFT, _RIGHT = 3, 2
"""As many signs of a key's two ends around a mask tell whose they are."""
_OWN_CHARS = 4
"""Of a piece, behind how its provider's keys begin."""
_ESCAPE = re.compile(
    r"""
    (?:\\x|%(?:25)*)(?P<byte>[0-9a-f]{2})       # \x2f %2F %252f
    | \\u(?P<code>[0-9a-f]{4})                  # \u002F
    | &(?:amp;)*(?P<entity>\#?\w{2,8};)         # &#47; &amp;#x2f; &sol;
    | \\+(?=\\)                                 # escaped once more
    | \\(?P<break>[nrt])                        # of JSON
    | \\                                        # \/ \_
    | [\u00ad\u200b-\u200f\u2060\ufeff]+        # nobody sees them
    """,
    re.I | re.X,
)
_PASSES = 3
"""A text may be escaped once more by whoever quotes it."""
_HEAD = re.compile(r"(?:[a-z]{1,10}\d{0,2}[-_]){1,3}")
"""sk-ant-api03-"""
_NO_WORD = re.compile(r"\d|[a-z][A-Z]")


def without_key(text: str, key: str, *, in_part: bool = False) -> str:
    """The text with `[hidden]` for the key, and for pieces of it.

    `in_part`: for three signs of either end beside a mask, too, and for a short key where it is a
    whole word. Takes time in proportion to the text.
    """
    if len(key) < SECRET_CHARS:
        word = re.compile(rf"(?<!\w){re.escape(key)}(?!\w)", re.I)
        return word.sub(HIDDEN, text) if in_part else text
    shown, at = [], 0
    for begin, end in sorted(_spans(text, key, in_part)):
        if begin >= at:
            shown += [text[at:begin], HIDDEN]
        at = max(at, end)
    return "".join((*shown, text[at:]))


def _spans(text: str, key: str, in_part: bool) -> Iterator[tuple[int, int]]:
    read = _read(text)
    for begin, end in _wanted(key).spans(read.text, in_part):
        yield read.begins[begin], read.ends[end - 1]


# --- a text without its escapes ------------------------------------------------------------------


@dataclass(frozen=True)
class _Read:
    text: str
    begins: Sequence[int]
    """Where each sign of it begins in the text that was written."""
    ends: Sequence[int]


def _read(text: str) -> _Read:
    read = _Read(text, range(len(text)), range(1, len(text) + 1))
    for _ in range(_PASSES):
        if _ESCAPE.search(read.text) is None:
            break
        read = _decoded(read)
    return read


def _decoded(read: _Read) -> _Read:
    signs, at = list[str](), 0
    begins, ends = list[int](), list[int]()
    for match in _ESCAPE.finditer(read.text):
        begin, end = match.span()
        sign = _sign(match)
        signs += (read.text[at:begin], sign)
        begins += [*read.begins[at:begin], *[read.begins[begin]] * len(sign)]
        ends += [*read.ends[at:begin], *[read.ends[end - 1]] * len(sign)]
        at = end
    return _Read(
        "".join((*signs, read.text[at:])), [*begins, *read.begins[at:]], [*ends, *read.ends[at:]]
    )


def _sign(match: re.Match[str]) -> str:
    if code := match["byte"] or match["code"]:
        return chr(int(code, 16))
    if match["break"]:
        return "\n"
    return html.unescape(f"&{match['entity']}") if match["entity"] else ""


# --- a key ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Spelling:
    letters: str
    """Small ones and digits alone: what else a key holds may be escaped or left out."""
    places: Sequence[int]
    """Of each in the key."""

    def run(self, letters: str, at: int, where: int) -> _Run:
        """As far as the letters around `at` are those around `where`."""
        begin, first = at, where
        while begin and first and letters[begin - 1] == self.letters[first - 1]:
            begin, first = begin - 1, first - 1
        end, last = at, where
        while letters[end : end + 1] == self.letters[last : last + 1] != "":
            end, last = end + 1, last + 1
        return _Run(begin, end, self.places[first:last])


class _Run(NamedTuple):
    begin: int
    end: int
    places: Sequence[int]
    """In the key."""


@dataclass(frozen=True)
class _Wanted:
    """What is looked for of one key."""

    key: str
    is_random: bool
    """`no-key-required` is a phrase: pieces of it, or the words alone, are anybody's."""
    grams: Mapping[str, Sequence[tuple[_Spelling, int]]]
    """Five letters -> the spellings that hold them, and where."""

    def spans(self, text: str, in_part: bool) -> Iterator[tuple[int, int]]:
        yield from self._pieces(text)
        yield from self._masked(text, in_part)
        whole = re.compile(re.escape(self.key), re.I)
        yield from (match.span() for match in whole.finditer(text))

    def _pieces(self, text: str) -> Iterator[tuple[int, int]]:
        """Of the key or of pieces of it, in any of its spellings."""
        letters = text.encode("ascii", "ignore").translate(None, _OTHERS).lower().decode()
        kept, at = list[int](), 0
        while at <= len(letters) - _GRAM:
            found = self.grams.get(letters[at : at + _GRAM])
            run = self._told(letters, at, found) if found else None
            at += _STEP
            if run is not None:
                at = run.end
                kept = kept or [place for place, sign in enumerate(text) if sign in _LETTERS]
                yield kept[run.begin], kept[run.end - 1] + 1

    def _told(self, letters: str, at: int, found: Sequence[tuple[_Spelling, int]]) -> _Run | None:
        """The longest run around `at` that tells a piece of the key."""
        runs = (spelling.run(letters, at, where) for spelling, where in found)
        told = [run for run in runs if self._tells(run.places)]
        return max(told, key=lambda run: run.end - run.begin, default=None)

    def _tells(self, places: Sequence[int]) -> bool:
        begin, end = min(places), max(places) + 1
        # The first and the last letter of base64 hold something of what stands around, too.
        if end - begin >= len(self.key) - 2:
            return True
        if not self.is_random or end - begin < PIECE_CHARS:
            return False
        # How a provider's keys begin may be the answer.
        own = self.key[max(begin, _head_chars(self.key)) : end]
        return len(own) >= _OWN_CHARS and _NO_WORD.search(own) is not None

    def _masked(self, text: str, in_part: bool) -> Iterator[tuple[int, int]]:
        """The key's two ends with a mask in between; `in_part`: one end of it, too."""
        key, size = self.key.lower(), len(self.key)
        for mask in _MASK.finditer(text):
            begin, end = mask.span()
            left = _shared(text[max(0, begin - size) : begin].lower(), key, _LEFT)
            if not left and not in_part:
                continue
            right = _shared(text[end : end + size].lower()[::-1], key[::-1], _RIGHT)
            first, last = begin - left, end + right
            is_word = not (text[first - 1 : first].isalnum() or text[last : last + 1].isalnum())
            is_end = in_part and is_word and (left or right > _RIGHT)
            if is_end or (left and right):
                yield first, last


def _shared(text: str, key: str, least: int) -> int:
    """How many signs of the key's beginning the text ends with; 0 for fewer than `least`."""
    at = text.find(key[:least])
    while at >= 0 and not key.startswith(text[at:]):
        at = text.find(key[:least], at + 1)
    return len(text) - at if at >= 0 else 0


@lru_cache(maxsize=16)
def _wanted(key: str) -> _Wanted:
    key = _read(key).text
    plain = [(sign.lower(), at) for at, sign in enumerate(key) if sign in _LETTERS]
    letters = {sign for sign, _ in plain}
    is_random = len(plain) >= PIECE_CHARS and len(letters) >= 8 and _NO_WORD.search(key) is not None
    written = [plain, plain[::-1]] if is_random else []
    for case in dict.fromkeys((key, key.upper(), key.lower())):
        data = case.encode()
        written += [*_in_base(4, data), *_in_base(5, data), *_in_base(6, data)]
    grams = defaultdict[str, list[tuple[_Spelling, int]]](list)
    for one in written:
        spelling = _Spelling("".join(sign for sign, _ in one), [place for _, place in one])
        for where in range(len(one) - _GRAM + 1):
            grams[spelling.letters[where : where + _GRAM]].append((spelling, where))
    return _Wanted(key, is_random, dict(grams))


_ENCODE = {4: base64.b16encode, 5: base64.b32encode, 6: base64.b64encode}
"""By the bits of a letter."""


def _in_base(bits: int, data: bytes) -> Iterator[list[tuple[str, int]]]:
    """Each letter that the data alone decide, and of which byte, wherever they begin in a group."""
    for before in range(math.lcm(bits, 8) // 8):
        text = _ENCODE[bits](bytes(before) + data).decode().lower()
        own = range(before * 8, (before + len(data)) * 8)
        yield [
            (sign, at * bits // 8 - before)
            for at, sign in enumerate(text)
            if sign in _LETTERS and at * bits in own and (at + 1) * bits - 1 in own
        ]


def _head_chars(key: str) -> int:
    head = _HEAD.match(key)
    return head.end() if head else 0
