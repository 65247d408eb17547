"""The one way that text becomes markup: whatever is not made here is escaped."""

from __future__ import annotations

from markupsafe import Markup, escape

VOID = frozenset({"br", "circle", "input", "line", "path", "rect"})
"""Drawn or written without anything inside."""


def element(name: str, *inside: object, **attributes: object) -> Markup:
    """`<name attributes>inside</name>`, every text in it escaped; an attribute of None is left out.

    `class_` is class, and `_` in a name a hyphen: `text_anchor`.
    """
    opening = name
    for key, value in attributes.items():
        if value is not None:
            opening += f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
    if name in VOID and not inside:
        return Markup(f"<{opening}/>")  # noqa: S704 - each value in it is escaped above
    return Markup(f"<{opening}>{joined(*inside)}</{name}>")  # noqa: S704 - here and by `joined`


def joined(*inside: object) -> Markup:
    """One after another; None and False are nothing, so that a part may be absent."""
    parts = [escape(one) for one in inside if one is not None and one is not False]
    return Markup("".join(parts))  # noqa: S704 - each part is escaped
