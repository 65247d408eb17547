"""Methods of Rust traits and who implements them: what the `impl` blocks of a tree say."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import tree_sitter

from runner.authoring.drafting.families import FEWEST, MOST, ClassMember, Family, spread
from runner.authoring.drafting.syntax import Parsed
from runner.authoring.drafting.tree import ASIDE_FOLDERS, TEST_PATH, Tree

_BODIES = frozenset(("source_file", "mod_item", "declaration_list"))
_METHODS = frozenset(("function_item", "function_signature_item"))
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_ANY_TRAIT = re.compile(rb"\bimpl\b[^{};]*\$\w+\s*(?:<[^{};]*>)?\s+for\b")
"""A macro that is handed the trait."""
_CONFIGURED = re.compile(rb"\bcfg\s*\(.*\btest\b", re.S)
_INERT = re.compile(
    rb"#\[\s*(?:doc|allow|expect|warn|deny|cfg|must_use|deprecated|async_trait|diagnostic::)\b"
)
_SHORTEST = 2
"""A type of one letter is a parameter: `impl<T> Draw for T`."""


class _TraitBlock(NamedTuple):
    """A trait, or an implementation of one."""

    parsed: Parsed
    node: tree_sitter.Node
    name: str
    """Of the type that implements it, or of the trait itself; empty for what has no name."""
    in_tests: bool


def trait_families(tree: Tree) -> list[Family]:
    """As `families` gives them: a trait's method, and each type outside of tests that has it."""
    traits, blocks = _read(tree)
    code = [_COMMENT.sub(b"", parsed.source) for parsed in _rust(tree)]
    if any(map(_ANY_TRAIT.search, code)):
        return []
    found: list[Family] = []
    for name, some in traits.items():
        once = len(some) == 1 and not some[0].in_tests and not _is_expanded(some[0].node)
        if once and not _may_lack(code, name, blocks[name]):
            found += _families(some[0], [it for it in blocks[name] if not it.in_tests])
    return spread(found)


def _families(trait: _TraitBlock, blocks: Sequence[_TraitBlock]) -> Iterator[Family]:
    for name, base in _methods(trait).items():
        members = [own[name] for it in blocks if name in (own := _methods(it))]
        if FEWEST <= len(members) + 1 <= MOST and len(name) > 3:
            under = sorted(members, key=lambda it: (it.path, it.line))
            yield Family(base=trait.name, name=name, members=(base, *under), of="types", joint="::")


def _methods(block: _TraitBlock) -> dict[str, ClassMember]:
    body = block.node.child_by_field_name("body")
    found = {}
    for node in body.named_children if body else ():
        name = node.child_by_field_name("name")
        if node.type in _METHODS and name is not None:
            found[_text(name)] = ClassMember(
                owner=block.name,
                path=block.parsed.path,
                line=name.start_point[0] + 1,
                end=node.end_point[0] + 1,
            )
    return found


def _is_expanded(node: tree_sitter.Node) -> bool:
    """Under an attribute that may make implementations: `#[enum_dispatch]`."""
    above = node.prev_named_sibling
    while above is not None and (above.type == "attribute_item" or "comment" in above.type):
        if above.type == "attribute_item" and not _INERT.match(above.text or b""):
            return True
        above = above.prev_named_sibling
    return False


def _may_lack(code: Sequence[bytes], trait: str, blocks: Sequence[_TraitBlock]) -> bool:
    """Is there an implementation that only a macro makes, under another name, or of a namesake?"""
    named = Counter(it.name for it in blocks if not it.in_tests)
    if any(many > 1 or len(name) < _SHORTEST for name, many in named.items()):
        return True
    word = re.escape(trait.encode())
    begun = re.compile(rb"\bimpl\b[^{};]*\b%b\s*(?:<[^{};]*>)?\s+for\b" % word)
    other = re.compile(
        rb"#\s*\[[^\]]*\b%b\b|\b%b\s+as\b|\b(?:std|core|alloc)::[\w:{},\s]*\b%b\b"
        % (word, word, word)
    )
    written = sum(len(begun.findall(source)) for source in code)
    return written != len(blocks) or any(map(other.search, code))


# --- reading --------------------------------------------------------------------------------


def _read(tree: Tree) -> tuple[dict[str, list[_TraitBlock]], dict[str, list[_TraitBlock]]]:
    """Traits by name, and the blocks that implement one by the name of the trait."""
    traits: dict[str, list[_TraitBlock]] = defaultdict(list)
    blocks: dict[str, list[_TraitBlock]] = defaultdict(list)
    for parsed in _rust(tree):
        aside = bool(TEST_PATH.search(parsed.path) or ASIDE_FOLDERS.search(parsed.path))
        for node, in_tests in _items(parsed.root, aside):
            trait = _name_of(node.child_by_field_name("trait"))
            if node.type == "trait_item":
                name = _name_of(node.child_by_field_name("name"))
                traits[name].append(_TraitBlock(parsed, node, name, in_tests))
            elif trait:
                name = _name_of(node.child_by_field_name("type"))
                blocks[trait].append(_TraitBlock(parsed, node, name, in_tests))
    return traits, blocks


def _rust(tree: Tree) -> Iterator[Parsed]:
    return (parsed for parsed in tree.code.values() if parsed.language == "rust")


def _items(
    node: tree_sitter.Node | None, in_tests: bool
) -> Iterator[tuple[tree_sitter.Node, bool]]:
    """Traits and implementations, and whether they are there for tests alone."""
    configured = False
    for child in node.named_children if node else ():
        if child.type in ("trait_item", "impl_item"):
            yield child, in_tests or configured
        elif child.type in _BODIES:
            yield from _items(child, in_tests or configured)
        if child.type == "attribute_item":
            configured = configured or bool(_CONFIGURED.search(child.text or b""))
        elif "comment" not in child.type:
            configured = False


def _name_of(node: tree_sitter.Node | None) -> str:
    """`Shop` of `shop::Shop<T>`, `&mut Shop` and `dyn Shop`; empty for what has no name."""
    while node is not None and node.type not in ("type_identifier", "primitive_type"):
        inner = node.child_by_field_name("name") or node.child_by_field_name("type")
        node = inner or node.child_by_field_name("trait")
    return _text(node) if node else ""


def _text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
