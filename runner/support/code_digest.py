"""What our own code does, as digests: of its definitions, not of its files.

A stored result may be used again only if the code that made it would make it again. A definition
(a function, a class or a constant of a module) is known by its syntax tree and by what its names
mean. Comments, docstrings, formatting and import lines are free, and so is the module in which a
definition stands; everything else that runs counts.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeVar

_SPELLING = frozenset({"type_comment", "kind", "ctx"})
"""Fields of the tree that say how something was written, and nothing about what runs."""
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of the tree that hold statements, or what holds them."""
_ONE_AT_A_TIME = threading.Lock()
"""CPython 3.11 counts the depth of a tree for all threads together: two that parse side by side
may end in `SystemError: AST constructor recursion depth mismatch`."""
NOT_IMPORTED = ("TYPE_CHECKING", "__name__ == '__main__'")
"""Conditions of what does not run when a module is imported."""
STATEMENTS = "statements outside of definitions"
"""The key of what runs when a module is imported, and defines nothing."""

MARK = "makes_figures"

T = TypeVar("T")
Root = Callable[..., object] | ModuleType
"""A function, a class, or a module for all that it defines."""


# --- whole files ----------------------------------------------------------------------------


def code_digest(sources: Iterable[Path]) -> str:
    """SHA256 of what Python files do, in the order given; the same on every Python we support."""
    trees = (_plain(_tree(path.read_bytes())) for path in sources)
    return _sha256(f"[{','.join(trees)}]")


# --- definitions ----------------------------------------------------------------------------


def definitions_digest(*roots: Root, apart_from: Collection[str] = ()) -> str:
    """SHA256 of everything that `definitions_in_use` finds."""
    found = definitions_in_use(*roots, apart_from=apart_from)
    return _sha256(json.dumps(found, sort_keys=True))


def definitions_in_use(*roots: Root, apart_from: Collection[str] = ()) -> dict[str, str]:
    """Name -> SHA256 of every definition of ours that the roots name, directly or not.

    Definitions of one name share an entry. A type that an annotation names is named: it says which
    code a call on it reaches. `apart_from`: names that are not followed.
    """
    reached = _Reached(apart_from=frozenset(apart_from))
    for root in roots:
        reached.follow(root)
    return reached.digests()


def makes_figures(definition: T) -> T:
    """Marks where a figure begins: the gate's lock holds all code that the definition names."""
    return definition


def marked_definitions(*, apart_from: Collection[str] = ()) -> dict[str, str]:
    """As `definitions_in_use`, of everything of ours that is marked `@makes_figures`."""
    reached = _Reached(apart_from=frozenset(apart_from))
    for definition in _marked():
        reached.follow_definition(definition)
    return reached.digests()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class _CodeDefinition(NamedTuple):
    """What makes a name at the top of a module."""

    module: str
    name: str


@dataclass(frozen=True, kw_only=True)
class _Module:
    """What one file defines, where its other names come from, and what else runs in it."""

    definitions: Mapping[str, list[ast.stmt]]
    imported: Mapping[str, str]
    """A name of this file -> what it is elsewhere: `package.module.name`, or a module."""
    statements: list[ast.stmt]
    plain: dict[str, str] = field(default_factory=dict)
    """Of each definition that was asked for, its tree without its spelling."""
    names: dict[str, list[str]] = field(default_factory=dict)
    """Likewise, each name that it says, once."""


@dataclass(frozen=True, kw_only=True)
class _Reached:
    """The definitions that roots lead to, and the modules that were read to find them."""

    apart_from: frozenset[str]
    found: dict[_CodeDefinition, Mapping[str, str | _CodeDefinition]] = field(default_factory=dict)
    """Each with what its names mean: a definition of ours, or a name of another package."""
    modules: dict[str, _Module | None] = field(default_factory=dict)
    """None where a name that was looked for is no module."""

    def follow(self, root: Root) -> None:
        for definition in self._started(root):
            self.follow_definition(definition)

    def follow_definition(self, first: _CodeDefinition) -> None:
        waiting = [first]
        while waiting:
            definition = waiting.pop()
            if definition in self.found or definition.name in self.apart_from:
                continue
            meanings = self._meanings(definition)
            self.found[definition] = meanings
            waiting += [it for it in meanings.values() if isinstance(it, _CodeDefinition)]

    def digests(self) -> dict[str, str]:
        by_name: dict[str, list[_CodeDefinition]] = {}
        for definition in self.found:
            by_name.setdefault(definition.name, []).append(definition)
        digests = {}
        for name, definitions in sorted(by_name.items()):
            texts = sorted(self._text(it, by_name) for it in definitions)
            digests[name] = _sha256("\n".join(texts))
        return digests | {STATEMENTS: _sha256("\n".join(sorted(self._statements())))}

    def _text(
        self, definition: _CodeDefinition, by_name: Mapping[str, Sequence[_CodeDefinition]]
    ) -> str:
        """What it does: its tree, and those of its names that the tree leaves open."""
        names = {}
        for name, meaning in self.found[definition].items():
            if isinstance(meaning, str):
                names[name] = meaning
            # A caller that is turned from one `mean` to the other does something else, though
            # neither of the two changes.
            elif len(by_name.get(meaning.name, ())) > 1:
                names[name] = self._plain_text(meaning)
        return json.dumps([self._plain_text(definition), names], sort_keys=True)

    def _plain_text(self, definition: _CodeDefinition) -> str:
        module = self._required(definition.module)
        if definition.name not in module.plain:
            module.plain[definition.name] = _plain(module.definitions[definition.name])
        return module.plain[definition.name]

    def _statements(self) -> Iterator[str]:
        """What runs in these modules and in all that they import, and defines nothing: it could
        change what others define."""
        waiting, seen = [it.module for it in self.found], set()
        while waiting:
            name = waiting.pop()
            module = None if name in seen else self._module(name)
            seen.add(name)
            if module is None:
                continue
            for statement in module.statements:
                yield _plain(statement)
            for path in module.imported.values():
                waiting += [path, path.rpartition(".")[0]]

    # --- names ------------------------------------------------------------------------------

    def _started(self, root: Root) -> Iterator[_CodeDefinition]:
        if isinstance(root, ModuleType):
            for name in self._required(root.__name__).definitions:
                yield _CodeDefinition(root.__name__, name)
        else:
            yield _CodeDefinition(root.__module__, root.__qualname__)

    def _meanings(self, definition: _CodeDefinition) -> dict[str, str | _CodeDefinition]:
        own = self._required(definition.module)
        # Every verb behind the gate asks several times, and walking the trees is most of it.
        if definition.name not in own.names:
            said = _names(own.definitions[definition.name])
            own.names[definition.name] = list(dict.fromkeys(said))
        meanings = {}
        for name in own.names[definition.name]:
            if meaning := self._meaning(definition.module, own, name):
                meanings[name] = meaning
        return meanings

    def _meaning(self, where: str, own: _Module, name: str) -> str | _CodeDefinition | None:
        """None for what no other file decides: a local name, an attribute, a built-in."""
        first, _, attribute = name.partition(".")
        if first in own.definitions:
            return None if attribute else _CodeDefinition(where, first)
        if first not in own.imported:
            return None
        meant = own.imported[first]
        if not _is_ours(meant):
            return f"{meant}.{attribute}" if attribute else meant
        if self._module(meant):
            return self._elsewhere(f"{meant}.{attribute}") if attribute else None
        return None if attribute else self._elsewhere(meant)

    def _elsewhere(self, path: str) -> str | _CodeDefinition | None:
        """What `module.name` is, through as many modules as hand it on."""
        if not _is_ours(path):
            return path
        where, _, name = path.rpartition(".")
        module = self._module(where)
        if module is None:
            return None
        if name in module.definitions:
            return _CodeDefinition(where, name)
        return self._meaning(where, module, name)

    def _module(self, name: str) -> _Module | None:
        if name not in self.modules:
            path = _module_path(name)
            self.modules[name] = None if path is None else _read(path.read_bytes())
        return self.modules[name]

    def _required(self, name: str) -> _Module:
        module = self._module(name)
        if module is None:
            raise ValueError(f"{name} is no module of ours")
        return module


def _names(body: Iterable[ast.AST]) -> Iterator[str]:
    """Every `name`, and every `name.attribute`: the name may be a module's."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                yield node.id
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                yield f"{node.value.id}.{node.attr}"


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == __name__.partition(".")[0]


# --- one file -------------------------------------------------------------------------------


def package_folder(package: ModuleType) -> Path:
    """Of one of our packages, where its files are read."""
    return Path(str(resources.files(package.__name__)))


def _module_path(module: str) -> Path | None:
    """The file of a module of ours, or None: `runner.support.text.fold` is none."""
    if not _is_ours(module):
        return None
    top, *parts = module.split(".")
    # Text, since a thousand names are looked for each time, and paths cost more than the looking.
    path = "/".join([str(resources.files(top)), *parts])
    for candidate in (f"{path}.py", f"{path}/__init__.py"):
        if os.path.isfile(candidate):  # noqa: PTH113 - see above
            return Path(candidate)
    return None


def _marked() -> Iterator[_CodeDefinition]:
    top = Path(str(resources.files(__name__.partition(".")[0])))
    for path in sorted(top.rglob("*.py")):
        source = path.read_bytes()
        if f"\n@{MARK}\n".encode() in source.replace(b"\r\n", b"\n"):
            module = ".".join(path.relative_to(top.parent).with_suffix("").parts)
            for name, (statement, *_) in _read(source).definitions.items():
                if MARK in map(ast.unparse, getattr(statement, "decorator_list", ())):
                    yield _CodeDefinition(module.removesuffix(".__init__"), name)


# Every verb behind the gate reads a hundred files three times.
@lru_cache(maxsize=1024)
def _read(source: bytes) -> _Module:
    definitions: dict[str, list[ast.stmt]] = {}
    statements = []
    tree = _tree(source)
    for statement in tree.body:
        names = list(_defined(statement))
        for name in names:
            definitions.setdefault(name, []).append(statement)
        if not names and _runs(statement):
            statements.append(statement)
    imported = dict(_imported(_import_statements(tree.body)))
    return _Module(definitions=definitions, imported=imported, statements=statements)


def _tree(source: bytes) -> ast.Module:
    with _ONE_AT_A_TIME:
        return ast.parse(source)


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            for node in ast.walk(target):
                # `table["key"] = value` changes a table of another file, and defines nothing here.
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def _runs(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return ast.unparse(statement.test) not in NOT_IMPORTED
    return not _is_free(statement)


def _import_statements(body: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Those inside of functions too; no expression holds one, and most of a tree is expressions."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        for name in _BLOCKS:
            yield from _import_statements(getattr(node, name, ()))


def _imported(statements: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[tuple[str, str]]:
    """Each name that is imported, and what it is called where it is from."""
    for node in statements:
        if isinstance(node, ast.ImportFrom) and node.level:
            raise ValueError(f"line {node.lineno}: a relative import, which nothing here follows")
        for alias in node.names:
            path = alias.name
            if isinstance(node, ast.ImportFrom):
                path = f"{node.module}.{path}"
            elif alias.asname is None:
                path = path.partition(".")[0]
            yield alias.asname or path.rpartition(".")[2], path


# --- a tree without its spelling ------------------------------------------------------------


def _plain(node: object) -> str:
    """A syntax tree as JSON. Empty fields are left out: newer Pythons have more."""
    if isinstance(node, list):
        return f"[{','.join([_plain(item) for item in node if not _is_free(item)])}]"
    if not isinstance(node, ast.AST):
        # Not repr(): which characters it escapes depends on the interpreter's Unicode tables.
        return json.dumps(ascii(node))
    if isinstance(node, ast.JoinedStr):
        # Python 3.12 ends a nested format, `{name:{width}}`, in a text of no letters.
        node = ast.JoinedStr([item for item in node.values if not _is_empty_text(item)])
    fields = []
    for name, value in ast.iter_fields(node):
        if _counts(name, value):
            fields.append(f'["{name}",{_plain(value)}]')
    return f'["{type(node).__name__}",[{",".join(fields)}]]'


def _counts(name: str, value: object) -> bool:
    return name not in _SPELLING and value is not None and value != []


def _is_empty_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == ""


def _is_free(node: object) -> bool:
    """An import, or a text that stands alone: a docstring, or the note under a constant."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
