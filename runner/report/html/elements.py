"""The one way that text becomes markup: whatever is not made here is escaped."""

from __future__ import annotations

from markupsafe import Markup, escape

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
            words.append(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"')
    closing = "/>" if name in VOID and not inside else f">{joined(*inside)}</{name}>"
    return Markup("".join([*words, closing]))  # noqa: S704


def joined(*inside: object) -> Markup:
    """One after another; None and False are nothing, so that a part may be absent."""
    # Each is escaped here, or was made here.
    return Markup("".join(map(escape, filter(_is_there, inside))))  # noqa: S704


def _is_there(part: object) -> bool:
    return part is not None and part is not False
