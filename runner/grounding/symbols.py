"""Where a symbol is in one file: its definitions, its uses in code, and the spans of its definitions.

tree-sitter parses a cited blob when it is first asked about, never a whole tree. What a parse says is kept as an Outline: definitions, the
bytes that are no code (comments, strings), and the rows a parse error touches. Uses are found by searching the source for the name and
dropping what lies in those bytes, so an outline stays small enough to cache.
"""

from __future__ import annotations

import bisect
import ctypes
import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import tree_sitter

from runner.grounding.cache import Cache

LARGEST_BYTES = 2_000_000
"""Trees take 27 times the source (measured); a larger file is generated or data, and is searched as text."""
PARSE_SEC = 10.0
_CHUNK_BYTES = 65_536
_QUERIES = Path(__file__).with_name("queries")
_FORMAT = "1"
"""Raised when an outline's meaning changes, so that no cache of the old meaning is read."""

_WHEELS: dict[str, tuple[str, str]] = {
    "bash": ("tree_sitter_bash", "language"),
    "c": ("tree_sitter_c", "language"),
    "c_sharp": ("tree_sitter_c_sharp", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "kotlin": ("tree_sitter_kotlin", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "python": ("tree_sitter_python", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "scala": ("tree_sitter_scala", "language"),
    "swift": ("tree_sitter_swift", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
"""Official grammar wheels: module, function."""
_BUNDLED = (
    "elixir",
    "erlang",
    "haskell",
    "hcl",
    "julia",
    "lua",
    "objc",
    "ocaml",
    "perl",
    "r",
    "sql",
)
"""Loaded out of tree-sitter-languages' shared library, where it is installed."""
LANGUAGES = (*_WHEELS, *_BUNDLED)

_BY_EXTENSION = {
    extension: language
    for language, extensions in {
        "bash": "sh bash zsh bats ksh",
        "c": "c",
        "c_sharp": "cs",
        "cpp": "cc cpp cxx c++ hpp hh hxx h++ ipp inl tpp cu cuh ino",
        "elixir": "ex exs",
        "erlang": "erl hrl",
        "go": "go",
        "haskell": "hs",
        "hcl": "tf hcl tfvars",
        "java": "java",
        "javascript": "js mjs cjs jsx",
        "julia": "jl",
        "kotlin": "kt kts",
        "lua": "lua",
        "objc": "m mm",
        "ocaml": "ml",
        "perl": "pl pm t",
        "php": "php phtml inc",
        "python": "py pyi",
        "r": "r",
        "ruby": "rb rake gemspec ru",
        "rust": "rs",
        "scala": "scala sc sbt",
        "sql": "sql",
        "swift": "swift",
        "tsx": "tsx",
        "typescript": "ts mts cts",
    }.items()
    for extension in extensions.split()
}
_BY_NAME = {
    "Rakefile": "ruby",
    "Gemfile": "ruby",
    "Vagrantfile": "ruby",
    "Podfile": "ruby",
    "Fastfile": "ruby",
    "SConstruct": "python",
}
_CPP_HEADER = re.compile(rb"^\s*(?:class|namespace|template\s*<|using\s)|\w::\w|\bpublic:", re.M)
_SHEBANG = re.compile(
    rb"#!\S*?(?:/env\s+(?:-S\s+)?)?/?(?P<name>python|bash|zsh|sh|ruby|perl|node|lua)[\d.]*\s"
)
_SHELLS = {"sh": "bash", "zsh": "bash", "node": "javascript"}


def language_of(path: str, source: bytes) -> str | None:
    """The grammar for a file, by name, extension or shebang; None where there is none."""
    name = path.rpartition("/")[2]
    if name in _BY_NAME:
        return _BY_NAME[name]
    extension = name.rpartition(".")[2].lower() if "." in name[1:] else ""
    if extension == "h":
        return "cpp" if _CPP_HEADER.search(source) else "c"
    if extension:
        return _BY_EXTENSION.get(extension)
    shebang = _SHEBANG.match(source[:200])
    return _SHELLS.get(shebang["name"].decode(), shebang["name"].decode()) if shebang else None


_PRELUDE = {"lua": b"--[[]]"}
"""Put before a source: the bundled Lua scanner starts in the middle of a string (on this core) until a comment resets it."""


# --- grammars -------------------------------------------------------------------------------


class Grammar(NamedTuple):
    language: tree_sitter.Language
    query: tree_sitter.Query
    prelude: bytes
    identity: str
    """Digest of grammar version, core version and query: part of a cached outline's name."""


def query_text(language: str) -> str:
    """The definition query of a language."""
    return (_QUERIES / f"{'typescript' if language == 'tsx' else language}.scm").read_text(
        encoding="utf-8"
    )


@cache
def grammar(language: str) -> Grammar | None:
    """A language's grammar and query; None where its package is not installed. Raises QueryError where a query does not compile."""
    loaded = _from_wheel(language) if language in _WHEELS else _from_bundle(language)
    if loaded is None:
        return None
    parser_language, version = loaded
    text = query_text(language)
    parts = (_FORMAT, language, version, importlib.metadata.version("tree-sitter"), text)
    query, prelude = tree_sitter.Query(parser_language, text), _PRELUDE.get(language, b"")
    return Grammar(
        parser_language, query, prelude, hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    )


def _from_wheel(language: str) -> tuple[tree_sitter.Language, str] | None:
    module, function = _WHEELS[language]
    try:
        pointer = getattr(importlib.import_module(module), function)()
        return tree_sitter.Language(pointer), importlib.metadata.version(module.replace("_", "-"))
    except ImportError:
        return None


def _from_bundle(language: str) -> tuple[tree_sitter.Language, str] | None:
    """The package's own `get_parser` fails on this core; the grammars in its library do not. It is never imported, only opened."""
    spec = importlib.util.find_spec("tree_sitter_languages")
    library = Path(spec.origin).with_name("languages.so") if spec and spec.origin else None
    if library is None or not library.is_file():
        return None
    pointer = getattr(ctypes.CDLL(str(library)), f"tree_sitter_{language}")
    pointer.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    return tree_sitter.Language(
        capsule(pointer(), b"tree_sitter.Language", None)
    ), importlib.metadata.version("tree-sitter-languages")


# --- outlines -------------------------------------------------------------------------------


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


class Outline(NamedTuple):
    definitions: tuple[Definition, ...]
    mute: tuple[int, ...]
    """Bytes in comments and strings: start, end, start, end, …, ascending; interpolated code is left out."""
    broken: tuple[tuple[int, int], ...]
    """Lines that a parse error touches."""


class TextOnly(NamedTuple):
    """No outline, and why."""

    reason: str


def outline_of(path: str, source: bytes, blob_sha: str, cache: Cache | None) -> Outline | TextOnly:
    """The outline of a blob, out of the cache where it is there."""
    if len(source) > LARGEST_BYTES:
        return TextOnly(f"larger than {LARGEST_BYTES // 1_000_000} MB, searched as text")
    language = language_of(path, source)
    if language is None:
        return TextOnly("no grammar for this kind of file, searched as text")
    loaded = grammar(language)
    if loaded is None:
        return TextOnly(f"the grammar for {language} is not installed, searched as text")
    key = f"outline {loaded.identity} {blob_sha}"
    kept = _kept(cache.get(key)) if cache else None
    if kept is not None:
        return kept
    parsed = _parse(source, loaded)
    if cache and isinstance(parsed, Outline):
        cache.put(key, json.dumps(parsed, separators=(",", ":")).encode())
    return parsed


def _kept(data: bytes | None) -> Outline | None:
    """A cached outline; None where there is none or it is damaged."""
    try:
        definitions, mute, broken = json.loads(data or b"")
        found = tuple(
            Definition(n, tuple(o), int(h), int(li), int(s), int(e), int(a))
            for n, o, h, li, s, e, a in definitions
        )
        return Outline(found, tuple(map(int, mute)), tuple((int(a), int(b)) for a, b in broken))
    except (ValueError, TypeError):
        return None


def _parse(source: bytes, loaded: Grammar) -> Outline | TextOnly:
    source = loaded.prelude + source
    deadline = time.monotonic() + PARSE_SEC

    def chunk(offset: int, _point: object) -> bytes:
        return source[offset : offset + _CHUNK_BYTES]

    def late(*_: object) -> bool:
        return time.monotonic() > deadline

    try:
        # A parse of bytes cannot be stopped: the core ignores progress_callback there.
        tree = tree_sitter.Parser(loaded.language).parse(chunk, progress_callback=late)
    except ValueError:
        return TextOnly(f"not parsed within {PARSE_SEC:g} s, searched as text")
    outline, shift = _outline(source, tree.root_node, loaded), len(loaded.prelude)
    if not shift:
        return outline
    moved = tuple(d._replace(at=d.at - shift) for d in outline.definitions)
    return outline._replace(definitions=moved, mute=tuple(at - shift for at in outline.mute))


def _outline(source: bytes, root: tree_sitter.Node, loaded: Grammar) -> Outline:
    found: dict[int, _Found] = {}
    scopes: list[tuple[int, int, str]] = []
    nodes: dict[str, list[tree_sitter.Node]] = {
        "comment": [],
        "string": [],
        "code": [],
        "header": [],
    }
    for _, match in tree_sitter.QueryCursor(loaded.query).matches(root):
        if "definition" in match:
            _add_definition(source, match, found)
        elif "scope" in match:
            scopes += [
                (match["scope"][0].start_byte, match["scope"][0].end_byte, _text(source, node))
                for node in match["scope.name"]
            ]
        else:
            for kind, list_ in match.items():
                nodes[kind] += list_
    above = _lines_above(
        source,
        (n for n in nodes["comment"] + nodes["header"] if n.start_byte or not loaded.prelude),
    )
    owners = _owners(found, scopes)
    definitions = [
        Definition(
            f.name, (*f.scope, *owners[at]), _header(f.start, above), f.line, f.start, f.end, at
        )
        for at, f in sorted(found.items())
    ]
    mute = _mute(nodes["comment"] + nodes["string"], nodes["code"])
    return Outline(tuple(definitions), mute, tuple(_broken(root)) if root.has_error else ())


class _Found(NamedTuple):
    """A definition before its owners are known."""

    name: str
    scope: tuple[str, ...]
    """Written with the name: C++'s `Shop::`, Go's receiver."""
    line: int
    start: int
    end: int
    begin: int
    close: int
    """Bytes of the whole node."""


def _add_definition(
    source: bytes, match: dict[str, list[tree_sitter.Node]], found: dict[int, _Found]
) -> None:
    """One name may match several patterns (a decorated function): its widest definition counts."""
    whole = match["definition"][0]
    for node in match.get("name", match.get("qualified", [])):
        *scope, name = (
            re.split(r"::|\.|:", _text(source, node))
            if "qualified" in match
            else [_text(source, node)]
        )
        receiver = tuple(_text(source, r) for r in match.get("receiver", ()))
        known = found.get(node.start_byte)
        if known is None or whole.end_byte - whole.start_byte > known.close - known.begin:
            name = name.strip().strip("\"'").lstrip("$@:")
            lines = (node.end_point[0] + 1, whole.start_point[0] + 1, _last_line(whole))
            found[node.start_byte] = _Found(
                name, (*scope, *receiver), *lines, whole.start_byte, whole.end_byte
            )


def _text(source: bytes, node: tree_sitter.Node) -> str:
    return source[node.start_byte : node.end_byte].decode(
        "utf-8", "replace"
    )  # node.text reads through the callback: 30 times slower


def _last_line(node: tree_sitter.Node) -> int:
    """A node that ends at column 0 (C's preprocessor lines do) ends on the line before."""
    row, column = node.end_point
    return int(row) + (1 if column or row == node.start_point[0] else 0)


def _lines_above(source: bytes, nodes: Iterable[tree_sitter.Node]) -> dict[int, int]:
    """Last line -> first line of every comment and attribute that stands on lines of its own."""
    above = {}
    for node in nodes:
        begin = node.start_byte
        if not source[begin - node.start_point[1] : begin].strip():
            above[_last_line(node)] = node.start_point[0] + 1
    return above


def _header(start: int, above: dict[int, int]) -> int:
    while start - 1 in above:
        start = min(above[start - 1], start - 1)
    return start


def _owners(
    found: dict[int, _Found], scopes: list[tuple[int, int, str]]
) -> dict[int, tuple[str, ...]]:
    """What encloses each definition, outermost first; names that share one node (`a, b = …`) do not enclose each other."""
    spans: list[tuple[int, int, str, int | None]] = [
        (f.begin, f.close, f.name, at) for at, f in found.items()
    ]
    spans += [(begin, close, name, None) for begin, close, name in scopes]
    owners: dict[int, tuple[str, ...]] = {}
    open_: list[tuple[int, int, str]] = []
    for begin, close, name, at in sorted(spans, key=lambda span: (span[0], -span[1])):
        open_ = [outer for outer in open_ if outer[1] > begin]
        if at is not None:
            owners[at] = tuple(outer for low, high, outer in open_ if (low, high) != (begin, close))
        open_.append((begin, close, name))
    return owners


def _mute(quiet: Iterable[tree_sitter.Node], code: Iterable[tree_sitter.Node]) -> tuple[int, ...]:
    """Bytes where the innermost of the nested nodes is a comment or a string."""
    marks = [(n.start_byte, -n.end_byte, True) for n in quiet] + [
        (n.start_byte, -n.end_byte, False) for n in code
    ]
    bounds: list[int] = []
    open_: list[tuple[int, bool]] = []

    def switch(at: int) -> None:
        bounds.pop() if bounds and bounds[-1] == at else bounds.append(at)

    def close_until(at: int) -> None:
        while open_ and open_[-1][0] <= at:
            end, mute = open_.pop()
            if mute != (open_[-1][1] if open_ else False):
                switch(end)

    for start, end, mute in sorted(marks):
        close_until(start)
        if mute != (open_[-1][1] if open_ else False):
            switch(start)
        open_.append((-end, mute))
    close_until(2**62)
    return tuple(bounds)


def _broken(root: tree_sitter.Node) -> list[tuple[int, int]]:
    """Lines of every error and missing node; walks only the subtrees that have one."""
    found, queue = [], [root]
    while queue:
        node = queue.pop()
        if node.is_error or node.is_missing:
            found.append((node.start_point[0] + 1, node.end_point[0] + 1))
        elif node.has_error:
            queue += node.children
    return sorted(found)


# --- one file's answers ---------------------------------------------------------------------

_WORD_BYTE = rb"A-Za-z0-9_\x80-\xff"
_SELVES = frozenset({"self", "this", "super", "Self", "cls", "static", "parent"})
_SEPARATOR = re.compile(r"::|->|[.#$\\]")


class Places(NamedTuple):
    """Where a symbol is in one file, in lines."""

    definitions: tuple[Definition, ...]
    uses: tuple[int, ...]
    words: tuple[int, ...]
    """Every line that holds the name as a word, comments and strings included."""


class SourceFile:
    """One file at the commit, and what its outline says."""

    def __init__(self, path: str, source: bytes, outline: Callable[[], Outline | TextOnly]) -> None:
        self.path, self.source, self._make = path, source, outline
        self.line_count = source.count(b"\n") + (1 if source and not source.endswith(b"\n") else 0)
        self._outline: Outline | TextOnly | None = None
        self._places: dict[str, Places] = {}
        self.chances: dict[tuple[str, int], float] = {}
        """Worked out before, by symbol and width: a spray of one symbol would else take quadratic time."""

    @property
    def outline(self) -> Outline | TextOnly:
        if self._outline is None:
            self._outline = self._make()
        return self._outline

    def places(self, symbol: str) -> Places:
        """Definitions, uses and words of a symbol; a qualifier filters the definitions."""
        if symbol not in self._places:
            self._places[symbol] = self._find(symbol)
        return self._places[symbol]

    def broken_near(self, start: int, end: int, reach: int) -> bool:
        """True where a parse error touches the lines or their surroundings."""
        outline = self.outline
        return isinstance(outline, Outline) and any(
            low - reach <= end and start <= high + reach for low, high in outline.broken
        )

    def _find(self, symbol: str) -> Places:
        *qualifiers, name = _SEPARATOR.split(symbol)
        found = [
            (hit.start(), self.source.count(b"\n", 0, hit.start()) + 1)
            for hit in _word(name).finditer(self.source)
        ]
        words = tuple(dict.fromkeys(line for _, line in found))
        outline = self.outline
        if isinstance(outline, TextOnly):
            return Places((), (), words)
        named = [d for d in outline.definitions if d.name == name]
        kept = self._qualified(named, outline, qualifiers[-1] if qualifiers else "")
        names = {d.at for d in outline.definitions if d.name == name}
        uses = (
            line
            for at, line in found
            if at not in names and bisect.bisect_right(outline.mute, at) % 2 == 0
        )
        return Places(tuple(kept), tuple(dict.fromkeys(uses)), words)

    def _qualified(
        self, named: list[Definition], outline: Outline, qualifier: str
    ) -> list[Definition]:
        """Definitions that the qualifier owns. One that names nothing here (an instance, a module, a subclass elsewhere) filters nothing;
        one that is a type of this file, or that no word of this file and its path bears out, does."""
        if not qualifier or qualifier in _SELVES:
            return named
        owned = [d for d in named if qualifier in d.owners]
        if owned:
            return owned
        types = [d for d in outline.definitions if d.name == qualifier and d.end > d.start]
        if types or any(qualifier in d.owners for d in outline.definitions):
            return [d for d in named if any(self._inherits(kind, d) for kind in types)]
        known = (
            qualifier[:1].islower()
            or _word(qualifier).search(self.source)
            or qualifier.lower() in re.split(r"[/.]", self.path.lower())
        )
        return named if known else []

    def _inherits(self, kind: Definition, member: Definition) -> bool:
        """A type whose head names the owner of the member: `class B(A)`; Go embeds in the body."""
        head = self.source[kind.at : kind.at + 400]
        if not self.path.endswith(".go"):
            head = head.partition(b"{")[0].split(b"\n    ")[0]
        return any(_word(owner).search(head) for owner in member.owners if owner != kind.name)


@lru_cache(maxsize=4096)
def _word(name: str) -> re.Pattern[bytes]:
    word = re.escape(name.encode())
    before = rb"(?<![" + _WORD_BYTE + rb"])" if name[:1].isalnum() or name[:1] == "_" else b""
    return re.compile(before + word + rb"(?![" + _WORD_BYTE + rb"])")


def nearest(lines: Sequence[int], start: int, end: int) -> int | None:
    """Lines between an interval and the nearest of some ascending lines; 0 inside it."""
    if not lines:
        return None
    place = bisect.bisect_left(lines, start)
    after = max(0, lines[place] - end) if place < len(lines) else None
    before = start - lines[place - 1] if place else None
    return min(d for d in (after, before) if d is not None)


def apart(low: int, high: int, start: int, end: int) -> int:
    """Lines between two intervals; 0 where they touch."""
    return max(0, low - end, start - high)


def any_of(values: Iterable[Any]) -> int | None:
    """The smallest, or None where there is none."""
    kept = [value for value in values if value is not None]
    return min(kept) if kept else None
