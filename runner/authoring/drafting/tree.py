"""A commit's code, read whole: who is defined once, and where it is surely called.

A place is kept only if the parse and the imports prove it. A name with one doubtful place in code
is given up: a question whose answer holds a guess is worse than no question.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

from runner.authoring.drafting.ancestry import Ancestry
from runner.authoring.drafting.doubts import Inclusions, doubt_of
from runner.authoring.drafting.syntax import NameUse, Parsed, parse
from runner.grounding.commit_files import GitFiles
from runner.grounding.outlines import LARGEST_BYTES, Definition
from runner.grounding.word_lists import BUILTINS

TEST_PATH = re.compile(
    r"(?:^|/)(?:(?:[\w.-]*[._-])?(?:[Tt]ests?|[Ss]pecs?)|testing|__tests__|testdata|fixtures?|"
    r"\w*[a-z]Tests?)/|"
    r"(?:^|/)test_[^/]*$|_(?:test|spec)\.\w+$|\.(?:test|spec)\.\w+$|Tests?\.\w+$|(?:^|/)conftest\.py$"
)
ASIDE_FOLDERS = re.compile(
    r"(?:^|/)(?:vendor|node_modules|third_party|thirdparty|deps|dist|build|examples?|samples?|"
    r"snippets?|docs?|benchmarks?|bench|generated|gen|migrations|scripts|tools)/|"
    r"\.min\.js$|\.pb\.|_pb2|\.g\.|\.d\.ts$",
    re.I,
)
"""What is seldom what a developer asks about; its calls count all the same."""
PROSE = re.compile(
    r"\.(?:md|markdown|rst|adoc|txt|json|ya?ml|toml|lock|csv|svg|xml|html?|po|pot|map|snap)$|"
    r"(?:^|/)(?:CHANGE|HISTORY|NEWS|README|LICEN|AUTHORS|CONTRIBUT)",
    re.I,
)
_MARKED_UP = re.compile(r"\.(?:x?html?|xml|ya?ml|txt)$", re.I)
_RUN = re.compile(
    rb"<%.*?%>|\{\{.*?\}\}|\{%.*?%\}|<\?(?!xml).*?\?>|<script\b.*?</script>|\bon\w+\s*=\s*\"[^\"]*\"",
    re.S | re.I,
)
"""What a template or a page runs: the rest of it is prose."""
_SETTINGS = re.compile(r"\.(?:ya?ml|toml)$", re.I)
_QUALIFIED = re.compile(rb"\w+(?:\.|::?|#)\w[\w.:#]*")
"""`command: 'Stats.fill_cache'`, `main = "shop.cli:run"`: what a schedule or an installer calls."""
_DOCUMENTS = re.compile(r"(?:^|/)docs?/")
_BUILT = re.compile(r"(?:^|/)(?:dist|build|node_modules|esm|cjs|umd|bundles?|out)/|\.min\.[cm]?js$")
_SCRIPT = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?$")
_TYPED = re.compile(r"(?<!\.d)\.[cm]?tsx?$")
_FEWEST_SOURCES = 5
"""Files: with fewer, what was built is all that there is to ask about."""
_COMPANION = "Companion"
"""What Kotlin calls an object in a class that is given no name: every class may have one."""
_DECLARATORS = ("field_declaration", "declaration", "init_declarator")
_TYPE_PARAMETER = re.compile(r"[A-Z]\d?")
"""`S` of `fun <S : Sink> S.write()`."""
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*")
_KIN = {"tsx": "typescript", "javascript": "typescript", "cpp": "c"}
"""Languages that call each other by name."""


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
    """In a file of tests."""
    is_case: bool = False
    """That function is a test itself, not what tests share."""


@dataclass(frozen=True, kw_only=True)
class FunctionWithCalls:
    """A function defined once, and every place that surely calls it."""

    name: str
    owner: str
    shown: str
    """With its class, and what that stands in if there are several of its name."""
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
            elif b"\0" not in source[:8000] and (text := _unread(path, source)):
                self.texts[path] = text

    def of_sources(self) -> Tree:
        """The same without what was built from its sources; all of it, if little else is there."""
        written = {path for path in self.code if not _BUILT.search(path)}
        stems = {_SCRIPT.sub("", path) for path in written if _TYPED.search(path)}
        kept = {path for path in written if not _is_twin(path, stems)}
        if len(kept) < _FEWEST_SOURCES or len(kept) == len(self.code):
            return self
        tree = copy(self)
        tree.code = {path: parsed for path, parsed in self.code.items() if path in kept}
        return tree

    @property
    def language(self) -> str:
        """That most of the code outside of tests is in, by bytes."""
        sizes: Counter[str] = Counter()
        for path, parsed in self.code.items():
            if not TEST_PATH.search(path) and not ASIDE_FOLDERS.search(path):
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
    def ancestry(self) -> Ancestry:
        return Ancestry(self.code.values())

    @cached_property
    def _inclusions(self) -> Inclusions:
        return Inclusions(self.code.values())

    @cached_property
    def holders(self) -> dict[str, list[str]]:
        """Name that is defined somewhere -> the code files that hold it as a word."""
        return self._holders((path, it.source) for path, it in self.code.items())

    @cached_property
    def written(self) -> dict[str, list[str]]:
        """Name that is defined somewhere -> files that are not read as code, and hold it."""
        return self._holders(self.texts.items())

    def _holders(self, sources: Iterable[tuple[str, bytes]]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path, source in sources:
            # In the order of the file: a set has another one in each process, and so would a draw.
            for word in dict.fromkeys(_WORD.findall(source)):
                name = word.decode("utf-8", "replace")
                if name in self.definitions:
                    found[name].append(path)
        return dict(found)

    def symbol(self, name: str) -> FunctionWithCalls | str:
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
        return FunctionWithCalls(
            name=name,
            owner=definition.owners[-1] if definition.owners else "",
            shown=self.shown(path, definition),
            path=path,
            definition=definition,
            declared=tuple(Spot(path=where, line=it.line) for where, it in declared),
            calls=tuple(calls[0]),
            doubtful_tests=calls[1],
            written=tuple(self.written.get(name, ())),
        )

    def may_lose(self, name: str) -> bool:
        """May a class have it that a parser lost its way in, so that nobody knows?"""
        return any(self.code[path].may_lose(name) for path in self.holders[name])

    def shown(self, path: str, definition: Definition) -> str:
        """`Till.open`; `Shop.Till.open` if there is another `Till`, or a `Companion` has it."""
        *around, owner = self._types_around(path, definition) or ("",)
        homes = {
            it.owners
            for where, it in self.definitions.get(owner, ())
            if self.code[where].kind(it) == "class"
        }
        tells = owner != _COMPANION and len(homes) < 2
        parts = [owner] if tells else [*around[-1:], owner]
        return ".".join([*filter(None, parts), definition.name])

    def _types_around(self, path: str, definition: Definition) -> tuple[str, ...]:
        """Its owners, from outside in; none if a function has it: nobody calls it by that."""
        owners = list(definition.owners)
        parsed = self.code[path]
        while owners:
            around = [
                it
                for it in parsed.outline.named(owners[-1])
                if it.start <= definition.start and definition.end <= it.end
            ]
            if not around and not _TYPE_PARAMETER.fullmatch(owners[-1]):
                break
            if not around or any(parsed.kind(it) == "function" for it in around):
                return ()
            if not any(self._is_field(parsed, it) for it in around):
                break
            owners.pop()
        return tuple(owners)

    @staticmethod
    def _is_field(parsed: Parsed, definition: Definition) -> bool:
        """`when` of C's `enum { EARLY, LATE } when;`, which is no type."""
        at = parsed.name_at(definition)
        return next(parsed.types_around(at, definition.name), "") in _DECLARATORS

    def doubt_of(
        self,
        use: NameUse,
        uses: Sequence[NameUse],
        parsed: Parsed,
        home: Parsed,
        definition: Definition,
    ) -> str:
        """Why a place may be about something else of that name; empty if it is sure."""
        doubt = doubt_of(use, uses, parsed, home, definition)
        doubt = doubt or self.ancestry.doubt_of(use, uses, parsed, definition)
        if doubt or use.kind != "call" or parsed is home or use.receiver:
            return doubt
        declaring = {path for path, _ in self.definitions[definition.name]}
        if parsed.language in ("c", "cpp") and not self._inclusions.sees(parsed.path, declaring):
            return "stands where no declaration of it is surely included"
        return ""

    def _all_calls(self, path: str, definition: Definition) -> tuple[list[Spot], bool] | str:
        """In every file, and whether one in the tests is in doubt; or the first doubt elsewhere."""
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
        return spots, doubtful

    def _calls(self, where: str, path: str, definition: Definition) -> list[Spot] | str:
        """The calls in one file; or why one of its places is doubtful."""
        parsed, home = self.code[where], self.code[path]
        uses = parsed.uses(definition.name)
        if uses and _kin(parsed) != _kin(home):
            return f"{where} is in another language"
        spots = []
        for use in uses:
            doubt = self.doubt_of(use, uses, parsed, home, definition)
            if doubt:
                return f"{where}:{use.line} {doubt}"
            if use.kind == "call":
                spots.append(_spot(parsed, use))
        return spots


def _unread(path: str, source: bytes) -> bytes:
    """What may be code of a file that has no grammar here."""
    if not PROSE.search(path):
        return source
    if _DOCUMENTS.search(path):
        return b""
    run = _RUN.findall(source) if _MARKED_UP.search(path) else []
    called = _QUALIFIED.findall(source) if _SETTINGS.search(path) else []
    return b"\n".join([*run, *called])


def _is_twin(path: str, stems: set[str]) -> bool:
    """`v4/core.js` and `v4/core.d.ts`, beside `src/v4/core.ts` or `v4/core.ts`."""
    if _TYPED.search(path) or not _SCRIPT.search(path):
        return False
    stem = _SCRIPT.sub("", path)
    return stem in stems or f"src/{stem}" in stems


def _kin(parsed: Parsed) -> str:
    return _KIN.get(parsed.language, parsed.language)


def _spot(parsed: Parsed, use: NameUse) -> Spot:
    path, is_test = parsed.path, bool(TEST_PATH.search(parsed.path))
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
        is_case=is_test and parsed.is_test(around),
    )


def is_telling_name(name: str) -> bool:
    return len(name) >= 5 and not name.startswith("__") and name not in BUILTINS
