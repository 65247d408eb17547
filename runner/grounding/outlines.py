"""What one parse of a file says: its definitions, the bytes that are no code, the broken lines.

tree-sitter parses a cited blob when it is first asked about, never a whole tree. What a parse says
is kept as an Outline, which is small enough to cache.
"""

from __future__ import annotations

import bisect
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain, groupby
from typing import Any, NamedTuple

import tree_sitter

from runner.grounding.cache import Cache
from runner.grounding.components import code_of, is_component, text_of
from runner.grounding.grammars import Grammar, SourcePatch, grammar, language_of

LARGEST_BYTES = 2_000_000
"""Trees take 27 times the source (measured); a larger file is generated or data, and is searched as
text."""
PARSE_SEC = 10.0
MOST_ERROR_WORK = 10**9
"""Σ children² of the nodes that are parse errors. The children of an error lie in no balanced tree,
and a query takes quadratic time over them: 2 s for this many, two minutes for 200,000 brackets."""
_DEEPEST_MACRO = 3
"""Macros in macros that are read. Each level is a parse of its own."""
_MOST_MACROS = 2_000
"""Read at each level. The parser looks through all ranges for each: 30,000 take minutes."""
WIDEST_INDENT = 1_000
"""Bytes. What is further to the right stands on no line of its own."""
_MOST_OWNERS = 32
"""Names of what encloses a definition. Without this, one line of 10,000 names that share a body
would take minutes."""
_DEEPEST = 50_000
"""Levels of a tree that a query looks into. A cursor counts them in 16 bits, and a query over more
takes quadratic time: minutes for 60,000 functions in each other."""
_CHUNK_BYTES = 4_096
"""Read at once. A scanner that looks back, and every predicate of a query, reads a chunk anew:
Haskell took six times as long in chunks of 64 kB."""
_END_OF_FILE = 2**62


class Definition(NamedTuple):
    """One definition. Lines are 1-based and inclusive."""

    name: str
    owners: tuple[str, ...]
    """Names of what encloses it, Go's receiver, Rust's impl type and trait, C++'s scope."""
    header: int
    """First line of its decorators, attributes and doc comment."""
    line: int
    """Of the name."""
    start: int
    end: int
    at: int
    """Byte of the name."""


class _OutlineParts(NamedTuple):
    definitions: tuple[Definition, ...]
    mute: tuple[int, ...]
    """Bytes in comments and strings: start, end, start, end, …, ascending. Interpolated code is
    left out."""
    broken: tuple[tuple[int, int], ...]
    """Lines that are searched as text too, because a parse error touches them or they are a
    template: first and last of each."""


class Outline(_OutlineParts):
    """What is asked of it once for each symbol is looked up: an answer may name every word of a
    large file."""

    def named(self, name: str) -> Sequence[Definition]:
        return self._by_name.get(name, ())

    def in_any_case(self, name: str) -> Sequence[Definition]:
        return self._by_lower_name.get(name.lower(), ())

    def owned(self, name: str, owner: str) -> Sequence[Definition]:
        """The definitions of a name inside of one owner."""
        if name not in self._by_owner:
            self._by_owner[name] = _by_owner(self.named(name))
        return self._by_owner[name].get(owner, ())

    def has_owner(self, name: str) -> bool:
        return name in self._owners

    def is_broken(self, start: int, end: int) -> bool:
        """True if a parse error touches one of these lines."""
        if not self.broken:
            return False
        place = bisect.bisect_right(self.broken, (end, _END_OF_FILE))
        return place > 0 and self._broken_to[place - 1] >= start

    @cached_property
    def _by_name(self) -> dict[str, list[Definition]]:
        named: dict[str, list[Definition]] = defaultdict(list)
        for definition in self.definitions:
            named[definition.name].append(definition)
        return dict(named)

    @cached_property
    def _by_lower_name(self) -> dict[str, list[Definition]]:
        named: dict[str, list[Definition]] = defaultdict(list)
        for definition in self.definitions:
            named[definition.name.lower()].append(definition)
        return dict(named)

    @cached_property
    def _by_owner(self) -> dict[str, dict[str, list[Definition]]]:
        return {}

    @cached_property
    def _owners(self) -> frozenset[str]:
        return frozenset(chain.from_iterable(d.owners for d in self.definitions))

    @cached_property
    def _broken_to(self) -> list[int]:
        """The last line that any of the broken places so far touches."""
        return list(accumulate((last for _, last in self.broken), max))

    def is_mute(self, at: int) -> bool:
        """True if a byte stands in a comment or a string."""
        return _is_inside(self.mute, at)


def _by_owner(definitions: Iterable[Definition]) -> dict[str, list[Definition]]:
    owned: dict[str, list[Definition]] = defaultdict(list)
    for definition in definitions:
        for owner in dict.fromkeys(definition.owners):
            owned[owner].append(definition)
    return dict(owned)


class TextOnly(NamedTuple):
    """No outline, and why."""

    reason: str


def outline_of(path: str, source: bytes, blob_sha: str, cache: Cache | None) -> Outline | TextOnly:
    """The outline of a blob, out of the cache if it is there."""
    loaded = _grammar_for(path, source)
    if isinstance(loaded, TextOnly):
        return loaded
    if cache is None:
        return _outline(path, source, loaded)
    key = f"outline {loaded.identity} {blob_sha}"
    cached = _from_json(cache.get(key))
    if cached is not None:
        return cached
    outline = _outline(path, source, loaded)
    # A parse that ran out of time may have met a busy machine: it is tried again.
    if isinstance(outline, Outline):
        cache.put(key, _to_json(outline))
    return outline


def _outline(path: str, source: bytes, loaded: Grammar) -> Outline | TextOnly:
    if not is_component(path):
        return _parse(source, loaded)
    outline = _parse(code_of(source), loaded)
    if isinstance(outline, TextOnly):
        return outline
    return _with_text(outline, source, text_of(source))


def _with_text(outline: Outline, source: bytes, parts: Iterable[tuple[int, int]]) -> Outline:
    """With a component's template: no code, and searched as text."""
    mute, broken = list(outline.mute), list(outline.broken)
    for begin, end in parts:
        mute += [begin, end]
        broken.append((_line_at(source, begin), _line_at(source, end)))
    return outline._replace(mute=tuple(sorted(mute)), broken=tuple(sorted(broken)))


def _line_at(source: bytes, at: int) -> int:
    return source.count(b"\n", 0, at) + 1


def _grammar_for(path: str, source: bytes) -> Grammar | TextOnly:
    if len(source) > LARGEST_BYTES:
        return TextOnly(f"larger than {LARGEST_BYTES // 1_000_000} MB, searched as text")
    language = language_of(path, source)
    if language is None:
        return TextOnly("no grammar for this kind of file, searched as text")
    loaded = grammar(language)
    if loaded is None:
        return TextOnly(f"the grammar for {language} is not installed, searched as text")
    return loaded


def _to_json(outline: Outline) -> bytes:
    return json.dumps(outline, separators=(",", ":")).encode()


def _from_json(data: bytes | None) -> Outline | None:
    """A cached outline; None if there is none or it is damaged."""
    try:
        definitions, mute, broken = json.loads(data or b"")
        return Outline(
            definitions=tuple(_definition(fields) for fields in definitions),
            mute=tuple(map(int, mute)),
            broken=tuple((int(first), int(last)) for first, last in broken),
        )
    except (ValueError, TypeError):
        return None


def _definition(fields: Iterable[Any]) -> Definition:
    name, owners, *numbers = fields
    header, line, start, end, at = map(int, numbers)
    return Definition(name, tuple(owners), header, line, start, end, at)


# --- parsing --------------------------------------------------------------------------------


def _parse(source: bytes, loaded: Grammar) -> Outline | TextOnly:
    source = loaded.prelude + source
    tree = _best_tree(source, loaded)
    if tree is None:
        return TextOnly(f"not parsed within {PARSE_SEC:g} s, searched as text")
    errors = list(_errors(tree.root_node))
    if _error_work(errors) > MOST_ERROR_WORK:
        return TextOnly("too broken to be parsed, searched as text")
    captures = _Captures(source, tree.root_node, loaded)
    _take_items(captures, source, loaded)
    return _without_prelude(captures.outline(errors), len(loaded.prelude))


def _best_tree(source: bytes, loaded: Grammar) -> tree_sitter.Tree | None:
    """Of the source, or of one of the same length in which what breaks this grammar is mended.

    Names are read from the source itself.
    """
    source = _mended(source, loaded.macros)
    tree = _tree(source, loaded)
    if tree is None or not tree.root_node.has_error or not loaded.mends:
        return tree
    other = _tree(_mended(source, loaded.mends), loaded)
    if other is None or _error_bytes(other) >= _error_bytes(tree):
        return tree
    return other


def _mended(source: bytes, mends: tuple[SourcePatch, ...]) -> bytes:
    if not mends:
        return source
    mended = bytearray(source)
    for pattern, filler in mends:
        for hit in pattern.finditer(source):
            mended[hit.start() : hit.end()] = filler * len(hit[0])
    return bytes(mended)


def _error_bytes(tree: tree_sitter.Tree) -> int:
    """What is missing has no bytes, and counts as one."""
    return sum(max(1, node.end_byte - node.start_byte) for node in _errors(tree.root_node))


def _take_items(captures: _Captures, source: bytes, loaded: Grammar) -> None:
    """What macros wrap: `cfg_unix! { fn open() {} }` is tokens to the grammar until read anew."""
    for _ in range(_DEEPEST_MACRO):
        # All in one parse: one for each of thousands would take far longer.
        items = captures.nodes.pop("items", [])[:_MOST_MACROS]
        ranges = [_inside_braces(node) for node in items]
        tree = _tree(source, loaded, ranges) if ranges else None
        if tree is None or _error_work(_errors(tree.root_node)) > MOST_ERROR_WORK:
            return
        captures.ends = [one.end_byte for one in ranges]
        captures.take(tree.root_node)


def _inside_braces(node: tree_sitter.Node) -> tree_sitter.Range:
    (row, column), (last_row, last_column) = node.start_point, node.end_point
    return tree_sitter.Range(
        tree_sitter.Point(row, column + 1),
        tree_sitter.Point(last_row, last_column - 1),
        node.start_byte + 1,
        node.end_byte - 1,
    )


def _error_work(errors: Iterable[tree_sitter.Node]) -> int:
    return sum(node.child_count**2 for node in errors)


def _without_prelude(outline: Outline, length: int) -> Outline:
    """The same in bytes of the file itself."""
    if not length:
        return outline
    definitions = tuple(d._replace(at=d.at - length) for d in outline.definitions)
    mute = tuple(at - length for at in outline.mute)
    return outline._replace(definitions=definitions, mute=mute)


def _tree(
    source: bytes, loaded: Grammar, ranges: Sequence[tree_sitter.Range] = ()
) -> tree_sitter.Tree | None:
    """Of the whole source, or of ranges of it; None if the parse takes too long."""
    # By the clock on the wall, a busy or stopped machine would make inventions of true citations.
    deadline = time.thread_time() + PARSE_SEC

    def chunk(offset: int, _point: object) -> bytes:
        return source[offset : offset + _CHUNK_BYTES]

    def late(*_: object) -> bool:
        return time.thread_time() > deadline

    try:
        # A parse of bytes cannot be stopped: the core ignores progress_callback there.
        parser = tree_sitter.Parser(loaded.language, included_ranges=list(ranges))
        return parser.parse(chunk, progress_callback=late)
    except ValueError:
        return None


class _RawDefinition(NamedTuple):
    """A definition before its owners and its header are known."""

    name: str
    scope: tuple[str, ...]
    """Written with the name: C++'s `Shop::`, Go's receiver."""
    line: int
    start: int
    end: int
    begin: int
    close: int
    """Bytes of the whole node."""

    @property
    def weight(self) -> tuple[int, int]:
        return self.close - self.begin, len(self.scope)


def _draft(
    name: str, scope: tuple[str, ...], at: tree_sitter.Node, whole: tree_sitter.Node
) -> _RawDefinition:
    return _RawDefinition(
        name=name,
        scope=scope,
        line=at.end_point[0] + 1,
        start=whole.start_point[0] + 1,
        end=_last_line(whole),
        begin=whole.start_byte,
        close=whole.end_byte,
    )


class _Spelled(NamedTuple):
    """A name as it is written."""

    node: tree_sitter.Node
    name: str
    scope: tuple[str, ...]


class _EnclosingNode(NamedTuple):
    """What may enclose definitions."""

    begin: int
    close: int
    name: str
    at: int | None
    """Byte of the name if it is a definition itself; None for a scope, such as Rust's impl."""

    @property
    def place(self) -> tuple[int, int]:
        return self.begin, self.close


class _Frame(NamedTuple):
    """What encloses the definitions up to a byte."""

    close: int
    names: tuple[str, ...]


QueryMatch = dict[str, list[tree_sitter.Node]]
_KINDS = frozenset({"comment", "string", "code", "header", "closed", "opened", "items"})


_DraftKey = tuple[int, str]
"""A byte and the name there: Kotlin's `constructor` is also its class's name."""


class _Captures:
    """What a grammar's query finds in one source.

    | capture | is |
    |---|---|
    | definition | the whole of a definition |
    | variable | the same, unless a `closed` node is the nearest around it: a function's own |
    | name | the name; all names in it if it is a pattern |
    | qualified | a name with its owners: `Shop::open` |
    | assigned | a name and what it is set to: `ll='ls -l'` |
    | declarator | what C wraps around a name: `*(*name)[3]` |
    | receiver | an owner that stands beside the name |
    | at | the place of a name that is spelled elsewhere, or nowhere |
    | scope, scope.name | what owns definitions and is none |
    | closed, opened | what hides variables, and what inside of it does not |
    | items | a macro's tokens that are definitions |
    | comment, string, code | code is what a string interpolates |
    | header | an attribute that stands beside its definition |

    `#set! name` gives a name, `#set! prefix` what a name begins with.
    """

    def __init__(self, source: bytes, root: tree_sitter.Node, loaded: Grammar) -> None:
        self.source = source
        self.prelude = loaded.prelude
        self.query = loaded.query
        self.drafts: dict[_DraftKey, _RawDefinition] = {}
        self.variables: dict[_DraftKey, _RawDefinition] = {}
        self.scopes: list[_EnclosingNode] = []
        self.ends: list[int] = []
        """Where each macro's tokens end: what reaches over one is an error, and no definition."""
        self.nodes: defaultdict[str, list[tree_sitter.Node]] = defaultdict(list)
        self.take(root)

    def take(self, root: tree_sitter.Node) -> None:
        cursor = tree_sitter.QueryCursor(self.query)
        cursor.set_max_start_depth(_DEEPEST)
        for pattern, match in cursor.matches(root):
            self._take(match, pattern)

    def outline(self, errors: Iterable[tree_sitter.Node]) -> Outline:
        self._keep_outer_variables()
        quiet = self.nodes["comment"] + self.nodes["string"]
        return Outline(
            definitions=tuple(self._definitions()),
            mute=_insides(quiet, self.nodes["code"]),
            broken=tuple(sorted(map(_lines_of, errors))),
        )

    def _keep_outer_variables(self) -> None:
        local = _insides(self.nodes["closed"], self.nodes["opened"])
        for key, draft in self.variables.items():
            if not _is_inside(local, draft.begin):
                self.drafts.setdefault(key, draft)

    def _take(self, match: QueryMatch, pattern: int) -> None:
        if "definition" in match:
            self._take_definition(match, pattern, match["definition"][0], self.drafts)
        elif "variable" in match:
            self._take_definition(match, pattern, match["variable"][0], self.variables)
        elif "scope" in match:
            self._take_scope(match)
        else:
            for kind in match.keys() & _KINDS:
                self.nodes[kind] += match[kind]

    def _take_scope(self, match: QueryMatch) -> None:
        whole = match["scope"][0]
        for node in match["scope.name"]:
            block = _EnclosingNode(whole.start_byte, whole.end_byte, self._text(node), None)
            self.scopes.append(block)

    def _take_definition(
        self,
        match: QueryMatch,
        pattern: int,
        whole: tree_sitter.Node,
        drafts: dict[_DraftKey, _RawDefinition],
    ) -> None:
        """One name may match several patterns (a decorated function): its widest counts, and of
        equals the one with more owners."""
        if bisect.bisect(self.ends, whole.start_byte) != bisect.bisect_left(
            self.ends, whole.end_byte
        ):
            return
        settings = self.query.pattern_settings(pattern)
        receivers = tuple(map(self._text, match.get("receiver", ())))
        for spelled in self._spelled(match):
            at = match.get("at", [spelled.node])[0]
            name = settings.get("name") or (settings.get("prefix") or "") + spelled.name
            draft = _draft(name, (*spelled.scope, *receivers), at, whole)
            known = drafts.get((at.start_byte, name))
            if known is None or known.weight < draft.weight:
                drafts[at.start_byte, name] = draft

    def _spelled(self, match: QueryMatch) -> Iterator[_Spelled]:
        for node in match.get("declarator", ()):
            yield from self._declared(node)
        for node in match.get("qualified", ()):
            # Shop::open, Shop.open, Shop:open, Shop\Stock
            *scope, name = re.split(r"::|[.:\\]", self._text(node))
            yield _Spelled(node, _clean(name), tuple(filter(None, map(str.strip, scope))))
        for node in match.get("assigned", ()):
            yield _Spelled(node, self._text(node).partition("=")[0].strip("\"' "), ())
        for node in match.get("name", ()):
            for leaf in _leaves(node):
                yield _Spelled(leaf, _clean(self._text(leaf)), ())

    def _declared(self, node: tree_sitter.Node) -> Iterator[_Spelled]:
        """The name in a declarator of C or C++, and the scopes written with it."""
        scope: list[str] = []
        inner: tree_sitter.Node | None = node
        while inner:
            node = inner
            owner = node.child_by_field_name("scope")
            scope += [self._text(owner).partition("<")[0].strip()] if owner else []
            inner = _inner_declarator(node)
        if node.type == "operator_cast":  # operator bool() const
            target = node.child_by_field_name("type")
            yield _Spelled(node, f"operator {self._text(target or node)}", tuple(scope))
        elif node.type.endswith(("identifier", "_name")):
            yield _Spelled(node, _clean(self._text(node)), tuple(scope))

    def _text(self, node: tree_sitter.Node) -> str:
        # node.text reads through the callback: 30 times slower.
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _definitions(self) -> Iterator[Definition]:
        first_lines = self._first_lines_above()
        owners = _owners(self._blocks())
        for key, draft in sorted(self.drafts.items()):
            yield Definition(
                name=draft.name,
                owners=(*owners[key], *draft.scope),
                header=_header(draft.start, first_lines),
                line=draft.line,
                start=draft.start,
                end=draft.end,
                at=key[0],
            )

    def _blocks(self) -> Iterator[_EnclosingNode]:
        for (at, name), draft in self.drafts.items():
            yield _EnclosingNode(draft.begin, draft.close, name, at)
        yield from self.scopes

    def _first_lines_above(self) -> dict[int, int]:
        """Last line -> first line of each comment and attribute on lines of its own."""
        first_lines: dict[int, int] = {}
        for node in self.nodes["comment"] + self.nodes["header"]:
            is_prelude = self.prelude and not node.start_byte
            if not is_prelude and self._begins_line(node):
                first_lines[_last_line(node)] = node.start_point[0] + 1
        return first_lines

    def _begins_line(self, node: tree_sitter.Node) -> bool:
        """`x = 1 // trailing` says nothing of the line below."""
        begin, column = node.start_byte, node.start_point[1]
        # A minified file is one line: copied up to each comment, it would take quadratic time.
        if column > WIDEST_INDENT:
            return False
        return not self.source[begin - column : begin].strip()


def _last_line(node: tree_sitter.Node) -> int:
    """A node that ends at column 0 (C's preprocessor lines do) ends on the line before."""
    row, column = int(node.end_point[0]), int(node.end_point[1])
    if column or row == node.start_point[0]:
        return row + 1
    return row


def _header(start: int, first_lines: dict[int, int]) -> int:
    while start - 1 in first_lines:
        start = min(first_lines[start - 1], start - 1)
    return start


def _owners(blocks: Iterable[_EnclosingNode]) -> dict[_DraftKey, tuple[str, ...]]:
    """The names of what encloses each definition, outermost first; only the innermost few."""
    owners: dict[_DraftKey, tuple[str, ...]] = {}
    enclosing: list[_Frame] = []
    in_order = sorted(blocks, key=lambda block: (block.begin, -block.close))
    for (begin, close), sharing in groupby(in_order, key=lambda block: block.place):
        while enclosing and enclosing[-1].close <= begin:
            enclosing.pop()
        outers = enclosing[-1].names if enclosing else ()
        # Names that share one node (`a, b = …`) do not enclose each other.
        names = [_take_owners(owners, block, outers) for block in sharing]
        enclosing.append(_Frame(close, (*outers, *names)[-_MOST_OWNERS:]))
    return owners


def _take_owners(
    owners: dict[_DraftKey, tuple[str, ...]], block: _EnclosingNode, outers: tuple[str, ...]
) -> str:
    """A block's name, its own owners noted."""
    if block.at is not None:
        owners[block.at, block.name] = outers
    return block.name


def _lines_of(node: tree_sitter.Node) -> tuple[int, int]:
    return node.start_point[0] + 1, node.end_point[0] + 1


def _errors(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The outermost error and missing nodes; walks only the subtrees that have one."""
    queue = [root]
    while queue:
        node = queue.pop()
        if node.is_error or node.is_missing:
            yield node
        elif node.has_error:
            queue += node.children


# --- names ----------------------------------------------------------------------------------

_WRAPPERS = frozenset({"parenthesized_declarator", "reference_declarator", "variadic_declarator"})
_PATTERNS = frozenset(
    """
    object_pattern array_pattern pair_pattern assignment_pattern object_assignment_pattern
    rest_pattern pattern_list tuple_pattern list_pattern list_splat_pattern
    structured_binding_declarator
    """.split()
)


_SIGIL = re.compile(r"""(?:[$@%:]++|r\#)(?=[\w"'])""")
_QUOTED = re.compile(r"""(["'`])(?P<name>.+)\1""", re.S)


def _clean(name: str) -> str:
    """As an author writes it: without quotes, backticks, `$` (PHP), `@` (Ruby), `r#` (Rust), the
    colon of a key (Elixir), and C++'s `operator ==` as `operator==`.

    An operator (`$+$`, `:+:`) and a name with a prime (`go'`) stay whole.
    """
    name = name.strip()
    sigil = _SIGIL.match(name)
    if sigil:
        name = name[sigil.end() :]
    quoted = _QUOTED.fullmatch(name)
    if quoted:
        return quoted["name"]
    if name[:1].isalnum():
        name = name.rstrip(":@")
    if name.startswith(("operator", "~")):
        return re.sub(r"\s*([^\w\s])\s*", r"\1", name)
    return name


def _inner_declarator(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """What a declarator wraps; None if it is the name."""
    if node.type == "operator_cast":
        return None
    inner = node.child_by_field_name("declarator")
    if node.type in ("qualified_identifier", "template_function", "template_type"):
        return node.child_by_field_name("name")
    if node.type == "attributed_declarator":
        return node.named_child(0)
    if inner is None and node.type in _WRAPPERS and node.named_child_count:
        return node.named_child(node.named_child_count - 1)
    return inner


def _leaves(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The names that a pattern binds; a name itself."""
    if node.type not in _PATTERNS:
        yield node
        return
    queue = [node]
    while queue:
        node = queue.pop()
        if node.type in _PATTERNS:
            queue += _parts(node)
        elif "identifier" in node.type:
            yield node


def _parts(pattern: tree_sitter.Node) -> list[tree_sitter.Node]:
    """`{key: value}` binds the value, `{name = other}` the name."""
    bound = pattern.child_by_field_name("value") or pattern.child_by_field_name("left")
    return [bound] if bound else pattern.named_children


# --- what lies inside of what ---------------------------------------------------------------


class _Region(NamedTuple):
    begin: int
    close: int
    inside: bool


def _is_inside(bounds: tuple[int, ...], at: int) -> bool:
    """An odd number of bounds stands before what is inside."""
    return bisect.bisect_right(bounds, at) % 2 == 1


def _insides(
    inner: Iterable[tree_sitter.Node], outer: Iterable[tree_sitter.Node]
) -> tuple[int, ...]:
    """Bytes where the innermost of the nested nodes is one of the first: a string, not the code in
    it; a function, not the class in it. Start, end, start, end, …, ascending.
    """
    regions = [*_regions(inner, inside=True), *_regions(outer, inside=False)]
    regions.sort(key=lambda region: (region.begin, -region.close, region.inside))
    bounds = _Bounds()
    for region in regions:
        bounds.close_until(region.begin)
        bounds.open(region)
    bounds.close_until(_END_OF_FILE)
    return tuple(bounds.bytes)


def _regions(nodes: Iterable[tree_sitter.Node], *, inside: bool) -> Iterator[_Region]:
    for node in nodes:
        yield _Region(node.start_byte, node.end_byte, inside)


class _Bounds:
    """Where the inside begins and ends, as nested regions open and close in order."""

    def __init__(self) -> None:
        self.bytes: list[int] = []
        self._open: list[_Region] = []

    def open(self, region: _Region) -> None:
        if region.inside != self._inside():
            self._switch(region.begin)
        self._open.append(region)

    def close_until(self, at: int) -> None:
        while self._open and self._open[-1].close <= at:
            region = self._open.pop()
            if region.inside != self._inside():
                self._switch(region.close)

    def _inside(self) -> bool:
        return bool(self._open) and self._open[-1].inside

    def _switch(self, at: int) -> None:
        if self.bytes and self.bytes[-1] == at:
            self.bytes.pop()  # two neighbouring strings are one run
        else:
            self.bytes.append(at)
