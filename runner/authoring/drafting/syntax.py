"""What a name is at one place of a file, by the parse around it: called, defined, imported, other.

Whatever is not surely one of the first three is `other`: a parameter, a variable, a key, a value
that is handed on. A question about a name with such a place is not asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice, takewhile
from typing import Literal, NamedTuple

import tree_sitter

from runner.grounding.grammars import grammar, language_of
from runner.grounding.outlines import Definition, Outline, outline_of
from runner.grounding.symbols import SourceFile

DefinitionKind = Literal["function", "prototype", "class", "import", "other"]
"""Of a definition."""
FUNCTIONS = frozenset(
    """
    function_definition function_declaration method_declaration method_definition function_item
    method singleton_method local_function_statement generator_function_declaration
    function_statement method_definition_statement local_function_definition_statement
    """.split()
)
_PROTOTYPES = frozenset("declaration function_signature function_signature_item".split())
_CLASSES = re.compile(r"class|interface|trait|struct|object_declaration|protocol|module|impl_item")
_PARTS = re.compile(r"declarator|parameter|body")
_IMPORTS = re.compile(r"import|^use_|using_d|export_(?:clause|specifier)")
"""C#'s `using_statement` is a block of code, and no `using_directive`."""
_MEMBERS = re.compile(
    r"attribute|member_(?:expression|access)|field_expression|selector_expression|navigation|"
    r"scoped_identifier|qualified_identifier|scope_resolution"
)
_PATHS = re.compile(_MEMBERS.pattern + r"|field_access|class_constant_access")
"""With what no call is written as."""
_KEYS = re.compile(r"parameter|keyword_argument|^pair|argument_name|^argument$|alias|label")
_CALLS = frozenset(
    """
    call call_expression function_call function_call_expression member_call_expression
    nullsafe_member_call_expression scoped_call_expression invocation_expression method_invocation
    decorator
    """.split()
)
_CALLEES = ("function", "method", "name")
_RECEIVERS = ("receiver", "object", "scope")
_EXPORTS = re.compile(rb"\s*(?:module\.)?exports\b")
_EXPORTED = frozenset("assignment_expression member_expression object pair".split())
"""Between `exports.open =` and a name that it exports: a call there, or a name in a function there,
is a use like any other."""
_BINDS = re.compile(r"parameter|assignment|pair|alias|undef|exception_variable|^for$|pattern|hash")
"""Where a bare Ruby name is no call."""
_STRINGS = frozenset(
    """
    string string_literal encapsed_string template_string interpreted_string_literal
    raw_string_literal interpolated_string_expression string_value
    """.split()
)
_QUALIFIED = re.compile(rb"(?:\w*::)+(?=\w)")
_CLIMB = 6
_TEST_NAME = re.compile(r"(?:test|Test|Benchmark|Example|Fuzz)(?:_|[A-Z]|$)")
_TEST_MARK = re.compile(
    rb"@\w*Test\b|\[(?:Fact|Theory|Test|TestMethod|TestCase)\b|#\[(?:\w+::)*test\b"
)


class NameUse(NamedTuple):
    """A name at one place."""

    at: int
    line: int
    kind: Literal["call", "definition", "import", "other"]
    receiver: str = ""
    """What stands before a called name: `self`, `shop`, `Shop`; empty for a bare call."""
    inside: Definition | None = None
    """The innermost function around it."""


class Parsed:
    """A code file with its outline and its tree."""

    def __init__(self, path: str, source: bytes, language: str, outline: Outline) -> None:
        self.path, self.source, self.language = path, source, language
        self.outline = outline
        self.file = SourceFile(path, source, lambda: outline)

    @cached_property
    def root(self) -> tree_sitter.Node | None:
        loaded = grammar(self.language)
        if loaded is None or loaded.prelude:  # its bytes would be others
            return None
        return tree_sitter.Parser(loaded.language).parse(self.source).root_node

    @cached_property
    def functions(self) -> tuple[Definition, ...]:
        return tuple(it for it in self.outline.definitions if self.kind(it) == "function")

    @cached_property
    def classes(self) -> tuple[Definition, ...]:
        return tuple(it for it in self.outline.definitions if self.kind(it) == "class")

    def kind(self, definition: Definition) -> DefinitionKind:
        """What is defined there."""
        node = self.node_at(self.name_at(definition), definition.name)
        for above in islice(ancestors(node), _CLIMB):
            if above.type in FUNCTIONS:
                return "function"
            if above.type in _PROTOTYPES:
                return "prototype"
            if _IMPORTS.search(above.type) or self._is_required(above):
                return "import"
            if _CLASSES.search(above.type) and not _PARTS.search(above.type):
                return "class"
            if not re.search(
                r"declarator|decorated|scope_resolution|qualified_identifier|pattern", above.type
            ):
                break
        return "other"

    def name_at(self, definition: Definition) -> int:
        """Byte of `Till` in Ruby's `class Shop::Till`, whose definition is at `Shop`."""
        hit = _QUALIFIED.match(self.source, definition.at) if self.language == "ruby" else None
        return hit.end() if hit else definition.at

    def _is_required(self, node: tree_sitter.Node) -> bool:
        """`const { open } = require('./shop')`"""
        value = node.child_by_field_name("value")
        if node.type != "variable_declarator" or value is None:
            return False
        return self._text(value).startswith("require(")

    def uses(self, name: str) -> list[NameUse]:
        """Every place where the name is code."""
        defined = {it.at: it for it in self.outline.named(name)}
        found = []
        for at in self.file.occurrences.of(name):
            line = self.file.occurrences.line(at)
            if not self.outline.is_mute(at):
                found.append(self._use(at, name, defined.get(at)))
            elif self._is_meant_in_string(at, name):
                found.append(NameUse(at, line, "other"))
        return found

    def _is_meant_in_string(self, at: int, name: str) -> bool:
        """`send("open")`, and PHP's `"{$shop->open()}"`: called, and no call to the parser."""
        node = self.root and self.root.named_descendant_for_byte_range(at, at + len(name.encode()))
        for _ in range(_CLIMB):
            if node is None or "comment" in node.type:
                return False
            if node.type in _STRINGS:
                break
            node = node.parent
        line = self.file.occurrences.line(at)
        if self.outline.is_broken(line, line):
            # Behind a quote that the parser took for a beginning, code passes for a string.
            return True
        if node is None or node.type not in _STRINGS or self._is_exported(node):
            return False
        before = self.source[node.start_byte : at].decode("utf-8", "replace")
        called = self.source.startswith(b"(", at + len(name.encode()))
        return self._text(node).strip("'\"`") == name or (called and "{" in before)

    def _is_exported(self, node: tree_sitter.Node) -> bool:
        """`__all__ = ["open"]`"""
        above = node.parent.parent if node.parent else None
        left = above.child_by_field_name("left") if above else None
        return left is not None and self._text(left) == "__all__"

    def _use(self, at: int, name: str, definition: Definition | None) -> NameUse:
        line = self.file.occurrences.line(at)
        if definition is not None:
            kind = self.kind(definition)
            return NameUse(at, line, "import" if kind == "import" else "definition")
        node = self.node_at(at, name)
        if node is None or self.outline.is_broken(line, line):
            return NameUse(at, line, "other")
        if self._is_imported(node):
            return NameUse(at, line, "import")
        receiver = self._receiver(node)
        if receiver is None:
            return NameUse(at, line, "other")
        return NameUse(at, line, "call", receiver, self.function_at(line))

    def function_at(self, line: int) -> Definition | None:
        """The innermost around a line; a decorator stands before its function, not in it."""
        return _innermost(self.functions, line)

    def class_at(self, line: int) -> Definition | None:
        return _innermost(self.classes, line)

    def is_test(self, function: Definition) -> bool:
        """By its name, or by what is written above it."""
        return bool(_TEST_NAME.match(function.name) or _TEST_MARK.search(self.head_of(function)))

    def head_of(self, function: Definition) -> bytes:
        """What is written above it, and the line of its name."""
        return b"\n".join(self.source.split(b"\n")[function.header - 1 : function.line])

    def node_at(self, at: int, name: str) -> tree_sitter.Node | None:
        if self.root is None:
            return None
        node = self.root.named_descendant_for_byte_range(at, at + len(name.encode()))
        return node if node and self._text(node) == name else None

    def types_around(self, at: int, name: str) -> Iterator[str]:
        """The grammar's words for what a name stands in, from the inside out, with a class last."""
        for above in ancestors(self.node_at(at, name)):
            yield above.type
            if _CLASSES.search(above.type) and not _PARTS.search(above.type):
                break

    def may_lose(self, name: str) -> bool:
        """Stands it where the parser went wrong, or below that in no class: may one have it?"""
        if not self.outline.broken:
            return False
        lines = map(self.file.occurrences.line, self.file.occurrences.of(name))
        outside = (it.line - 1 for it in self.outline.named(name) if not it.owners)
        return any(self.outline.is_broken(it, it) for it in lines) or any(
            self.outline.is_broken(1, it) for it in outside
        )

    def node_type(self, at: int, name: str) -> str:
        """The grammar's word for a name at a byte; empty if it stands in no node of its own."""
        node = self.node_at(at, name)
        return node.type if node else ""

    def receiver_of_value(self, at: int, name: str) -> str | None:
        """What stands before a name that is read or set: `shop`, `Shop`; empty for a bare one.

        None if it is no value: a keyword, a parameter, a key.
        """
        name_node = node = self.node_at(at, name)
        if name_node is None or node is None:
            return None
        while node.parent and _PATHS.search(node.parent.type):
            if node.parent.end_byte != name_node.end_byte:
                break
            node = node.parent
        above = node.parent
        if above is None or (node == name_node and _is_key(node, above)):
            return None
        before = self.source[node.start_byte : name_node.start_byte]
        return before.decode("utf-8", "replace").strip().rstrip(".:?!->")

    def _text(self, node: tree_sitter.Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _is_imported(self, node: tree_sitter.Node) -> bool:
        around = islice(ancestors(node), _CLIMB)
        return any(_IMPORTS.search(it.type) for it in around) or self._is_handed_on(node)

    def _is_handed_on(self, node: tree_sitter.Node) -> bool:
        """`exports.open = open`, `module.exports = { open }`"""
        exported = takewhile(lambda it: it.type in _EXPORTED, ancestors(node))
        lefts = (it.child_by_field_name("left") for it in exported)
        return any(left and _EXPORTS.match(left.text or b"") for left in lefts)

    def _receiver(self, node: tree_sitter.Node) -> str | None:
        """What the name is called on; None if it is not called here."""
        name, above = node, node.parent
        # `shop.till.open`, as far as `open` is its last part
        while above and _MEMBERS.search(above.type) and above.end_byte == node.end_byte:
            node, above = above, above.parent
        if above is None:
            return None
        if not _is_called(node, above):
            bare = self.language == "ruby" and node == name and name.type == "identifier"
            return "" if bare and not _BINDS.search(above.type) else None
        before = self.source[node.start_byte : name.start_byte].decode("utf-8", "replace")
        if node == name:
            fields = (above.child_by_field_name(field) for field in _RECEIVERS)
            before = "".join(self._text(it) for it in fields if it)
        return before.strip().rstrip(".:?!->")


def ancestors(node: tree_sitter.Node | None) -> Iterator[tree_sitter.Node]:
    """What a node stands in, from the inside out."""
    while node is not None and node.parent is not None:
        node = node.parent
        yield node


def _innermost(definitions: Iterable[Definition], line: int) -> Definition | None:
    around = [it for it in definitions if it.line <= line <= it.end]
    return max(around, key=lambda it: (it.start, -it.end), default=None)


def _is_key(node: tree_sitter.Node, above: tree_sitter.Node) -> bool:
    if not _KEYS.search(above.type):
        return False
    valued = above.child_by_field_name("value")
    return valued != node and not (above.type == "argument" and above.named_child_count == 1)


def _is_called(node: tree_sitter.Node, above: tree_sitter.Node) -> bool:
    if above.type not in _CALLS:
        return False
    if any(above.child_by_field_name(field) == node for field in _CALLEES):
        return True
    return above.type in ("call_expression", "invocation_expression", "decorator") and (
        above.named_children[:1] == [node]
    )


def parse(path: str, source: bytes, blob_sha: str) -> Parsed | None:
    """None for what has no grammar, or is too large or too broken to be read."""
    language = language_of(path, source)
    if language is None:
        return None
    outline = outline_of(path, source, blob_sha, None)
    if not isinstance(outline, Outline):
        return None
    return Parsed(path, source, language, outline)
