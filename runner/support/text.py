"""Texts shown shorter, texts that look the same made equal, and numbers with their nouns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_TYPOGRAPHIC = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "‐": "-", "‑": "-", "\u00a0": " "}
)


def fold(text: str) -> str:
    """One spelling for what looks the same: forms, quotes, hyphens and invisible characters."""
    normalised = unicodedata.normalize("NFKC", text)
    return _INVISIBLE.sub("", normalised).translate(_TYPOGRAPHIC)


def at_word_edges(body: str, value: str) -> str:
    """The pattern `body`, which matches `value`, for where that is no part of a longer word."""
    # An edge that is no word character (`C++`, `(…)`) needs no boundary: nothing can continue it.
    before = r"(?<!\w)" if re.match(r"\w", value) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", value) else ""
    return before + body + after


def cut(text: str, limit_chars: int) -> tuple[str, bool]:
    """Head and tail of a text, and True if something was left out between them."""
    return join_cut(text[:limit_chars], text[limit_chars:], len(text), limit_chars)


def join_cut(head: str, tail: str, size_chars: int, limit_chars: int) -> tuple[str, bool]:
    """Head and tail of a text of `size_chars` as the model sees it, and True if it was cut.

    `head` and `tail` hold up to `limit_chars` each: the whole text, if it is no longer than both
    together. A cut text says how many characters were left out, and where.
    """
    if size_chars <= limit_chars:
        return head + tail, False
    keep = limit_chars // 2
    first = _to_line_end(head[:keep])
    last = _from_line_start((head[keep:] + tail)[-keep:])
    left_out = size_chars - len(first) - len(last)
    gap = f"[... {left_out:,} of {size_chars:,} characters left out here ...]"
    return f"{first}\n{gap}\n{last}", True


def _to_line_end(text: str) -> str:
    # A truncated path looks like another path, so whole lines only (unless one line is all).
    end = text.rfind("\n")
    return text[:end] if end > len(text) // 2 else text


def _from_line_start(text: str) -> str:
    start = text.find("\n")
    return text[start + 1 :] if 0 <= start < len(text) // 2 else text


def first_line(text: str) -> str:
    """With the next where it ends in a colon: `Command failed:` alone says nothing."""
    first, *others = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    return f"{first} {others[0]}" if first.endswith(":") and others else first


def counted(count: int, noun: str, nouns: str = "") -> str:
    """`1 call`, `2 calls`. `nouns`: where an s does not make it several."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def some_of(names: Sequence[str], most: int = 6) -> str:
    """`a, b, c and 3 more`."""
    shown = ", ".join(names[:most])
    more = len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown
