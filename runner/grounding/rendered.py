"""Markdown -> HTML in which no text is markup: no link, image or tag of the text's becomes one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from markdown_it.token import Token

_MOST_NESTED = 20
_NEVER = ["image", "link", "autolink", "html_inline", "html_block", "reference"]
"""What would lead out of the page, or begin an element of the text's choice."""


@cache
def _parser() -> MarkdownIt:
    options = {"html": False, "maxNesting": _MOST_NESTED}
    return MarkdownIt("commonmark", options).enable("table").disable(_NEVER)


def rendered(text: str, shown: Callable[[str], str]) -> str:
    """`shown` makes HTML of each piece of text, and is the only one that does: it escapes."""
    parser = _parser()

    def plain(_: Any, tokens: list[Token], at: int, *__: Any) -> str:
        return shown(tokens[at].content)

    def code(_: Any, tokens: list[Token], at: int, *__: Any) -> str:
        return f"<code>{shown(tokens[at].content)}</code>"

    def block(_: Any, tokens: list[Token], at: int, *__: Any) -> str:
        return f"<pre><code>{shown(tokens[at].content)}</code></pre>\n"

    rules = {"text": plain, "code_inline": code, "fence": block, "code_block": block}
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            # A heading of the text's would stand among the page's own.
            token.tag = "p"
        if token.type == "heading_open":
            token.attrs = {"class": "heading"}
        elif token.attrs and token.type in ("th_open", "td_open", "ordered_list_open"):
            token.attrs = {}  # of a table's alignment: a style, which the page's policy refuses
    return str(parser.renderer.render(tokens, parser.options, {}))
