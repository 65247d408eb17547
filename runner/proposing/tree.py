"""A commit's code, read whole: who is defined once, and where it is surely called.

A place is kept only if the parse and the imports prove it. A name with one doubtful place in code
is given up: a question whose answer holds a guess is worse than no question.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from runner.grounding.files import GitFiles
from runner.grounding.outlines import LARGEST_BYTES, Definition
from runner.grounding.words import BUILTINS
from runner.proposing.syntax import Parsed, Use, parse

TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|testing|specs?|__tests__|testdata|fixtures?|androidTest|\w+[Tt]est)/|"
    r"(?:^|/)test_[^/]*$|_(?:test|spec)\.\w+$|\.(?:test|spec)\.\w+$|Tests?\.\w+$|(?:^|/)conftest\.py$"
)
ASIDE = re.compile(
    r"(?:^|/)(?:vendor|node_modules|third_party|thirdparty|deps|dist|build|examples?|samples?|docs?|"
    r"benchmarks?|bench|generated|gen|migrations|scripts|tools)/|\.min\.js$|\.pb\.|_pb2|\.g\.|\.d\.ts$"
)
"""What is seldom what a developer asks about; its calls count all the same."""
PROSE = re.compile(
    r"\.(?:md|markdown|rst|adoc|txt|json|ya?ml|toml|lock|csv|svg|xml|html?|po|pot|map|snap)$|"
    r"(?:^|/)(?:CHANGE|HISTORY|NEWS|README|LICEN|AUTHORS|CONTRIBUT)",
    re.I,
)
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*")
_SELVES = frozenset("self this super Self cls static parent $this @ super()".split())
_IMPORTING = frozenset("python javascript typescript tsx".split())
"""Where a bare name of another file has to be imported by name."""


_KIN = {"tsx": "typescript", "javascript": "typescript", "cpp": "c"}
"""Languages that call each other by name."""
_IMPORT_LINES = 40
_PYTHON_MODULE = re.compile(r"\bfrom\s+([\w.]+)\s+import\b")
_MODULE = re.compile(_PYTHON_MODULE.pattern + r"|(?:\bfrom|\brequire\()\s*['\"]([^'\"]+)")


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A place, and the function that it is in."""

    path: str
    line: int
    inside: str = ""
    """Empty at a file's top level."""
    start: int = 0
    """First line of that function: two of a file may bear one name."""
    owner: str = ""
    """The class that the function is in."""
    is_test: bool = False


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A function defined once, and every place that surely calls it."""

    name: str
    owner: str
    path: str
    definition: Definition
    declared: tuple[Spot, ...]
    """Prototypes, in C and C++."""
    calls: tuple[Spot, ...]
    doubtful_tests: bool
    """Something in the tests bears the name too, and may be another."""
    written: tuple[str, ...]
    """Files that are not read as code, and hold the name."""

    @property
    def own_calls(self) -> tuple[Spot, ...]:
        return tuple(it for it in self.calls if not it.is_test)

    @property
    def test_calls(self) -> tuple[Spot, ...]:
        return tuple(it for it in self.calls if it.is_test)

    @property
    def shown(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name


class _Calls(NamedTuple):
    spots: tuple[Spot, ...]
    doubtful_tests: bool


class Tree:
    """Every file of a commit; code is parsed when it is first asked for."""

    def __init__(self, files: GitFiles) -> None:
        self.files = files
        self.code: dict[str, Parsed] = {}
        self.texts: dict[str, bytes] = {}
        paths = sorted(files.paths())
        for path, source in zip(paths, files.read_many(paths), strict=True):
            parsed = None
            if len(source) <= LARGEST_BYTES:
                parsed = parse(path, source, files.blob_sha(path))
            if parsed is not None:
                self.code[path] = parsed
            elif not PROSE.search(path) and b"\0" not in source[:8000]:
                self.texts[path] = source

    @property
    def language(self) -> str:
        """That most of the code outside of tests is in, by bytes."""
        sizes: Counter[str] = Counter()
        for path, parsed in self.code.items():
            if not TEST_PATH.search(path) and not ASIDE.search(path):
                sizes[parsed.language] += len(parsed.source)
        return sizes.most_common(1)[0][0] if sizes else "text"

    @cached_property
    def definitions(self) -> dict[str, list[tuple[str, Definition]]]:
        found: dict[str, list[tuple[str, Definition]]] = defaultdict(list)
        for path, parsed in self.code.items():
            for definition in parsed.outline.definitions:
                found[definition.name].append((path, definition))
        return dict(found)

    @cached_property
    def holders(self) -> dict[str, list[str]]:
        """Name that is defined somewhere -> the code files that hold it as a word."""
        found: dict[str, list[str]] = defaultdict(list)
        for path, parsed in self.code.items():
            for word in set(_WORD.findall(parsed.source)):
                name = word.decode("utf-8", "replace")
                if name in self.definitions:
                    found[name].append(path)
        return dict(found)

    def symbol(self, name: str) -> Symbol | str:
        """All that is proven of a name; or why nothing is."""
        places = self.definitions.get(name, [])
        kinds = [(self.code[path].kind(it), path, it) for path, it in places]
        defined = [(path, it) for kind, path, it in kinds if kind == "function"]
        declared = [(path, it) for kind, path, it in kinds if kind == "prototype"]
        if len(defined) != 1:
            return f"{len(defined)} functions of that name are defined"
        if {kind for kind, _, _ in kinds} - {"function", "prototype", "import"}:
            return "something else is called so too"
        if any(self.code[path].language not in ("c", "cpp") for path, _ in declared):
            return "it has signatures beside its definition"
        path, definition = defined[0]
        calls = self._all_calls(path, definition)
        if isinstance(calls, str):
            return calls
        return Symbol(
            name=name,
            owner=definition.owners[-1] if definition.owners else "",
            path=path,
            definition=definition,
            declared=tuple(Spot(path=where, line=it.line) for where, it in declared),
            calls=calls.spots,
            doubtful_tests=calls.doubtful_tests,
            written=tuple(self._written(name)),
        )

    def _all_calls(self, path: str, definition: Definition) -> _Calls | str:
        """In every file; or the first doubt outside of the tests."""
        spots: list[Spot] = []
        doubtful = False
        for where in self.holders[definition.name]:
            found = self._calls(where, path, definition)
            if not isinstance(found, str):
                spots += found
            elif TEST_PATH.search(where):
                doubtful = True
            else:
                return found
        return _Calls(tuple(spots), doubtful)

    def _written(self, name: str) -> Iterator[str]:
        word = re.compile(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)")
        return (path for path, source in self.texts.items() if word.search(source))

    def _calls(self, where: str, path: str, definition: Definition) -> list[Spot] | str:
        """The calls in one file; or why one of its places is doubtful."""
        parsed, home = self.code[where], self.code[path]
        uses = parsed.uses(definition.name)
        if uses and _kin(parsed) != _kin(home):
            return f"{where} is in another language"
        spots = []
        for use in uses:
            doubt = _doubt(use, uses, parsed, home, definition)
            if doubt:
                return f"{where}:{use.line} {doubt}"
            if use.kind == "call":
                spots.append(_spot(where, use))
        return spots


def _kin(parsed: Parsed) -> str:
    return _KIN.get(parsed.language, parsed.language)


def _spot(path: str, use: Use) -> Spot:
    is_test = bool(TEST_PATH.search(path))
    around = use.inside
    if around is None:
        return Spot(path=path, line=use.line, is_test=is_test)
    return Spot(
        path=path,
        line=use.line,
        inside=around.name,
        start=around.start,
        owner=around.owners[-1] if around.owners else "",
        is_test=is_test,
    )


def _doubt(
    use: Use, uses: Sequence[Use], parsed: Parsed, home: Parsed, definition: Definition
) -> str:
    """Why a place may be about something else of that name; empty if it is sure."""
    if use.kind == "other":
        return "is no call"
    if use.kind != "call":
        return ""
    if not use.receiver or use.receiver in _SELVES:
        return _doubt_of_bare(use, uses, parsed, home, definition)
    last = re.split(r"\.|::|->|\\", use.receiver)[-1]
    if last in definition.owners or _is_of_type(last, use, parsed, definition.owners):
        return ""
    if not definition.owners or home.language == "rust":
        return _doubt_of_module(last, parsed, home)
    return f"is called on `{use.receiver}`, whose type is not written there"


def _doubt_of_bare(
    use: Use, uses: Sequence[Use], parsed: Parsed, home: Parsed, definition: Definition
) -> str:
    """Of `open()` and `self.open()`."""
    if parsed is home:
        return ""
    if use.receiver:
        return "" if definition.owners else "is called on itself"
    if home.language == "go":
        same = parsed.path.rpartition("/")[0] == home.path.rpartition("/")[0]
        return "" if same and not definition.owners else "is of another package"
    if home.language in _IMPORTING:
        return _doubt_of_import(uses, parsed, home)
    return "" if is_compound(definition.name) else "is a common name"


def _doubt_of_import(uses: Sequence[Use], parsed: Parsed, home: Parsed) -> str:
    imports = [it.line for it in uses if it.kind == "import"]
    if not imports:
        return "is not imported by name"
    lines = parsed.source.split(b"\n")
    sure = all(_names_home(lines, line, home.path) for line in imports)
    return "" if sure else "is imported from elsewhere"


def _names_home(lines: Sequence[bytes], line: int, path: str) -> bool:
    """Does the import around a line name the file, a folder of it, or a place beside it?"""
    here = lines[line - 1].decode("utf-8", "replace")
    # An import of many names may begin (Python) or end (JavaScript) lines away.
    before = b" ".join(lines[max(0, line - _IMPORT_LINES) : line]).decode("utf-8", "replace")
    after = b" ".join(lines[line - 1 : line + _IMPORT_LINES]).decode("utf-8", "replace")
    module = _MODULE.search(here) or _last(_PYTHON_MODULE, before) or _MODULE.search(after)
    if module is None:
        return here.lstrip().startswith(("exports", "module.exports", "export"))
    written = next(filter(None, module.groups()))
    *folders, name = path.split("/")
    known = {name.partition(".")[0], *folders} - {"src", "lib", ""}
    return written.startswith(".") or bool({*re.split(r"[./]", written)} & known)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    hits = list(pattern.finditer(text))
    return hits[-1] if hits else None


def _doubt_of_module(last: str, parsed: Parsed, home: Parsed) -> str:
    """A function called on a module: on its file, its folder or its package."""
    *folders, name = home.path.split("/")
    stem = name.partition(".")[0]
    known = {stem, *folders[-1:], "crate"}
    if home.language == "go":
        package = re.search(rb"^package\s+(\w+)", home.source, re.M)
        known = {package[1].decode()} if package else set()
        if f'/{last}"'.encode() not in parsed.source:
            return f"is called on `{last}`, which is not imported"
    if last in known and not re.search(rf"\b{re.escape(last)}\s*=[^=]".encode(), parsed.source):
        return ""
    return f"is called on `{last}`, which may be anything"


def _is_of_type(last: str, use: Use, parsed: Parsed, owners: Sequence[str]) -> bool:
    """Is the receiver declared as one of the owners, in the function or else in the file?"""
    if not re.fullmatch(r"@?[A-Za-z_]\w*", last):
        return False
    name = re.escape(last)
    for owner in owners:
        kind = re.escape(owner)
        declared = re.compile(
            rf"\b{kind}\b(?:<[^<>;(){{}}]*>)?[\s*&]+{name}\b|"  # Shop shop
            rf"(?<![\w.]){name}\s*:\s*[&*]?(?:mut\s+|const\s+)?{kind}\b|"  # shop: Shop
            rf"(?<![\w.]){name}\s+\*?{kind}\b|"  # shop *Shop
            rf"(?<![\w.]){name}\s*:?=\s*(?:await\s+)?(?:new\s+|&)?{kind}\s*(?:[({{]|\.new\b|::new\b)"
        )
        if declared.search(_text_around(use, parsed)):
            return True
    return False


def _text_around(use: Use, parsed: Parsed) -> str:
    """The function that a use is in: what another calls so may be another type."""
    if use.inside is None:
        return ""
    lines = parsed.source.split(b"\n")[use.inside.start - 1 : use.line]
    return b"\n".join(lines).decode("utf-8", "replace")


def is_compound(name: str) -> bool:
    """`parse_config`, `parseConfig`: of two words or more, and so seldom anybody else's."""
    return bool(re.search(r"[a-z0-9]_+[A-Za-z]|[a-z0-9][A-Z]", name)) and len(name) >= 7


def is_telling(name: str) -> bool:
    return len(name) >= 5 and not name.startswith("__") and name not in BUILTINS
