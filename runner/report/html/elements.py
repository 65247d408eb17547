"""The one way that text becomes markup: whatever is not made here is escaped."""

from __future__ import annotations

from functools import cache
from html import escape

from markupsafe import Markup

VOID = frozenset({"br", "circle", "input", "line", "path", "rect"})
"""Drawn or written without anything inside."""


def element(name: str, *inside: object, **attributes: object) -> Markup:
    """`<name attributes>inside</name>`, every text in it escaped; an attribute of None is left out.

    `class_` is class, and `_` in a name a hyphen: `text_anchor`.
    """
    # Joined as plain text, each part escaped: `Markup.format` took half of a large run's report.
    words = [f"<{name}"]
    for key, value in attributes.items():
        if value is not None:
            # Of markup too: a quote in it would end the value.
            words.append(f' {_named(key)}="{escape(str(value))}"')
    if name in VOID and not inside:
        words.append("/>")
    else:
        words += [">", *map(_between_tags, inside), f"</{name}>"]
    return Markup("".join(words))  # noqa: S704


@cache
def _named(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def joined(*inside: object) -> Markup:
    """One after another; None and False are nothing, so that a part may be absent."""
    # Each is escaped here, or was made here.
    return Markup("".join(map(_between_tags, inside)))  # noqa: S704


def _between_tags(part: object) -> str:
    """Quotes end nothing there, and code is full of them: escaped, they are a twentieth of it."""
    if isinstance(part, Markup):
        return part
    return "" if part is None or part is False else escape(str(part), quote=False)
