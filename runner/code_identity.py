"""What a piece of our own code does, as a digest: of its syntax tree, not of its bytes.

A stored result may be used again only if the code that made it would make it again. Comments,
docstrings and formatting change nothing that runs, and leave the digest as it is; everything else
changes it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import threading
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from runner.records import Sha256

_SPELLING = frozenset({"type_comment", "kind", "ctx"})
"""Fields of the tree that say how something was written, and nothing about what runs."""
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of the tree that hold statements, or what holds them."""
_ONE_AT_A_TIME = threading.Lock()
"""CPython 3.11 counts the depth of a tree for all threads together: two that parse side by side
may end in `SystemError: AST constructor recursion depth mismatch`."""


def code_digest(sources: Iterable[Path]) -> Sha256:
    """Of what the Python files do, in the order given; the same on every Python we support."""
    read = (_read(path.read_bytes()) for path in sources)
    return _sha256(f"[{','.join(code.plain for code in read)}]")


def source_digest(source: bytes) -> Sha256:
    """Of what one Python file does, by its bytes."""
    return _sha256(_read(source).plain)


def _sha256(text: str) -> Sha256:
    return hashlib.sha256(text.encode()).hexdigest()


class _Code(NamedTuple):
    """What a file is known by."""

    plain: str
    """Its tree without its spelling, as JSON."""
    imports: tuple[str, ...]
    is_relative: bool
    """It has a relative import."""


# Every verb behind the gate reads a hundred files three times: for two digests and their imports.
@lru_cache(maxsize=1024)
def _read(source: bytes) -> _Code:
    with _ONE_AT_A_TIME:
        tree = ast.parse(source)
    found = list(_import_statements(tree.body))
    is_relative = any(isinstance(it, ast.ImportFrom) and it.level for it in found)
    return _Code(_plain(tree), tuple(_imported(found)), is_relative)


# --- which files ----------------------------------------------------------------------------


def module_files(package: str, *names: str) -> Iterator[Path]:
    """The files of a package's modules by name, or of all its modules, sorted."""
    folder = Path(str(resources.files(package)))
    for path in sorted(folder.glob("*.py")):
        if not names or path.stem in names:
            yield path


def imported_sources(module: str, *, apart_from: Collection[str] = ()) -> list[Path]:
    """The files of a module and of all of our modules that it imports, directly or not.

    Sorted by module. What is imported for type checking or inside a function counts too; the
    package around a module counts if it is imported by its own name.
    `apart_from`: modules that cannot change the result, whose imports are not followed either.
    """
    return list(imported_modules([module], apart_from=apart_from).values())


def imported_modules(roots: Iterable[str], *, apart_from: Collection[str] = ()) -> dict[str, Path]:
    """The same by name, of several modules together."""
    # A list kept by hand would be one module short one day, and a stored result outlive its code.
    waiting = list(roots)
    tops = {name.partition(".")[0] for name in waiting}
    files: dict[str, Path] = {}
    while waiting:
        name = waiting.pop()
        if name in files or name in apart_from or name.partition(".")[0] not in tops:
            continue
        path = _module_path(name)
        if path is not None:
            files[name] = path
            waiting += _imports(path.read_bytes(), name)
    return {name: files[name] for name in sorted(files)}


def _module_path(module: str) -> Path | None:
    """A module's file, or None if the name is no module's (`from runner.text import fold`)."""
    top, *parts = module.split(".")
    path = Path(str(resources.files(top))).joinpath(*parts)
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _imports(source: bytes, module: str) -> tuple[str, ...]:
    code = _read(source)
    if code.is_relative:
        raise ValueError(f"{module}: a relative import, which nothing here follows")
    return code.imports


def _import_statements(body: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Those inside of functions too; no expression holds one, and most of a tree is expressions."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        for name in _BLOCKS:
            yield from _import_statements(getattr(node, name, ()))


def _imported(statements: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[str]:
    """The names that a module imports; of `from a import b`, both `a` and `a.b`."""
    for node in statements:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        else:
            source = node.module or ""
            yield source
            for alias in node.names:
                yield f"{source}.{alias.name}"


# --- a tree without its spelling ------------------------------------------------------------


def _plain(node: object) -> str:
    """A syntax tree as JSON. Empty fields are left out: newer Pythons have more."""
    if isinstance(node, list):
        return f"[{','.join([_plain(item) for item in node if not _is_docstring(item)])}]"
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


def _is_docstring(node: object) -> bool:
    """A text that stands alone: a docstring, or the note under a constant or a field."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
