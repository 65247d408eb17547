"""The one way that text becomes markup: whatever is not made here is escaped."""

from __future__ import annotations

from html import escape

from markupsafe import Markup

VOID = frozenset({"br", "circle", "input", "line", "path", "rect"})
"""Drawn or written without anything inside."""


def element(name: str, *inside: object, **attributes: object) -> Markup:
    """`<name attributes>inside</name>`, every text in it escaped; an attribute of None is left out.

    `class_` is class, and `_` in a name a hyphen: `text_anchor`.
    """
    words = [Markup("<{}").format(name)]
    for key, value in attributes.items():
        if value is not None:
            # As plain text: what is markup already may hold a quote that would end the value.
            told = str.__str__(value) if isinstance(value, str) else str(value)
            words.append(Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), told))
    if name in VOID and not inside:
        return Markup("").join([*words, Markup("/>")])
    closing = Markup("</{}>").format(name)
    return Markup("").join([*words, Markup(">"), joined(*inside), closing])


def joined(*inside: object) -> Markup:
    """One after another; None and False are nothing, so that a part may be absent."""
    told = (one for one in inside if one is not None and one is not False)
    return Markup("").join(one if isinstance(one, Markup) else _between_tags(one) for one in told)


def _between_tags(one: object) -> Markup:
    """Quotes end nothing there, and code is full of them: escaped, they are a twentieth of it."""
    return Markup(escape(str(one), quote=False))  # noqa: S704
