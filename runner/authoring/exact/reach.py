"""What no test could call, and what no class could override, by the rules of its language.

Whoever reads the definition knows that there is none: such a question says nothing of a search.
"""

from __future__ import annotations

import re

import tree_sitter

from runner.authoring.drafting.syntax import FUNCTIONS, Parsed, ancestors
from runner.authoring.drafting.tree import FunctionWithCalls
from runner.authoring.exact.kind import Ground
from runner.grounding.outlines import Definition

_SCRIPTS = frozenset("typescript tsx javascript".split())
_MARKS = re.compile(r"modifiers?$|^storage_class_specifier$|^static$")
_BODIES = re.compile(r"function|method|lambda|closure|constructor|accessor")
"""Of nodes that a function may stand in: nobody outside of them calls it by its name."""
_PLACES = re.compile(r"(?:class|struct|record|interface|enum)_declaration$")
_ACCESS = frozenset("public internal protected private".split())
_SETTLED = frozenset("private static final sealed".split())
_OPEN = frozenset("virtual abstract override open".split())
_CLOSED_UNLESS_OPEN = frozenset("c_sharp kotlin".split())
"""Where a method of a class is overridden only if it says that it may be."""
_HEADER = re.compile(r"\.(?:h|hh|hpp|hxx|inl)$")


def may_be_called_by_tests(ground: Ground, symbol: FunctionWithCalls) -> bool:
    parsed, definition = ground.tree.code[symbol.path], symbol.definition
    if symbol.name.startswith("#") or _is_shut_in(parsed, definition):
        return False
    if parsed.language in _SCRIPTS and not symbol.owner:
        return _is_exported(parsed, definition) or any(
            it.path != symbol.path for it in symbol.calls
        )
    return True


def may_be_overridden(parsed: Parsed, definition: Definition) -> bool:
    if definition.name.startswith("#"):
        return False
    nodes = _around(parsed, definition)
    if not nodes:  # a signature of a trait or an interface
        return True
    own, *around = nodes
    if _marks(own) & _SETTLED:
        return False
    place = next((it for it in around if _PLACES.search(it.type)), None)
    if parsed.language not in _CLOSED_UNLESS_OPEN or _is_interface(place):
        return True
    return bool(_marks(own) & _OPEN)


def _is_shut_in(parsed: Parsed, definition: Definition) -> bool:
    """Private, or of something private, or in another function."""
    nodes = _around(parsed, definition)
    if not nodes:
        return False
    own, *around = nodes
    if any(_BODIES.search(it.type) for it in around):
        return True
    if parsed.language in ("c", "cpp"):
        # One of a class is called by its name from anywhere.
        is_own = not definition.owners and not _HEADER.search(parsed.path)
        return is_own and "static" in _marks(own)
    if any("private" in _marks(it) for it in (own, *around)):
        return True
    place = next((it for it in around if _PLACES.search(it.type)), None)
    plain = parsed.language == "c_sharp" and place is not None and not _is_interface(place)
    return plain and not _marks(own) & _ACCESS and not _has(own, "explicit_interface_specifier")


def _is_exported(parsed: Parsed, definition: Definition) -> bool:
    """`export function open`, `export { open }`, `exports.open = open`"""
    around = _around(parsed, definition)
    if any(it.type == "export_statement" for it in around):
        return True
    return any(it.kind == "import" for it in parsed.uses(definition.name))


def _around(parsed: Parsed, definition: Definition) -> list[tree_sitter.Node]:
    """The function's node, and all that it stands in, from the inside out."""
    name = parsed.node_at(definition.at, definition.name)
    nodes = list(ancestors(name))
    own = next((at for at, it in enumerate(nodes) if it.type in FUNCTIONS), None)
    return [] if own is None else nodes[own:]


def _marks(node: tree_sitter.Node) -> frozenset[str]:
    """`private`, `static` and the like, as they stand before it."""
    texts = (it.text or b"" for it in node.children if _MARKS.search(it.type))
    return frozenset(b" ".join(texts).decode("utf-8", "replace").split())


def _is_interface(node: tree_sitter.Node | None) -> bool:
    return node is not None and (node.type == "interface_declaration" or _has(node, "interface"))


def _has(node: tree_sitter.Node, kind: str) -> bool:
    return any(it.type == kind for it in node.children)
