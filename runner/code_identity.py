"""What a piece of our own code does, as a digest: of its syntax tree, not of its bytes.

A stored result may be used again only if the code that made it would make it again. Comments,
docstrings and formatting change nothing that runs, and leave the digest as it is; everything else
changes it.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from importlib import resources
from pathlib import Path

from runner.records import Sha256, digest_of

_SPELLING = frozenset({"type_comment", "kind", "ctx"})
"""Fields of the tree that say how something was written, and nothing about what runs."""
_ONE_AT_A_TIME = threading.Lock()
"""CPython 3.11 counts the depth of a tree for all threads together: two that parse side by side
may end in `SystemError: AST constructor recursion depth mismatch`."""


def code_digest(sources: Iterable[Path]) -> Sha256:
    """Of what the Python files do, in the order given; the same on every Python we support."""
    return digest_of([_plain(_parsed(path.read_bytes())) for path in sources])


@lru_cache(maxsize=1024)
def source_digest(source: bytes) -> Sha256:
    """Of what one Python file does, by its bytes."""
    return digest_of(_plain(_parsed(source)))


def _parsed(source: bytes) -> ast.Module:
    with _ONE_AT_A_TIME:
        return ast.parse(source)


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


@lru_cache(maxsize=1024)
def _imports(source: bytes, module: str) -> tuple[str, ...]:
    return tuple(_imported(_parsed(source), module))


def _imported(tree: ast.Module, module: str) -> Iterator[str]:
    """The names that a module imports; of `from a import b`, both `a` and `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{module}: a relative import, which nothing here follows")
            source = node.module or ""
            yield source
            for alias in node.names:
                yield f"{source}.{alias.name}"


# --- a tree without its spelling ------------------------------------------------------------


def _plain(node: object) -> object:
    """A syntax tree as lists and texts. Empty fields are left out: newer Pythons have more."""
    if isinstance(node, list):
        return [_plain(item) for item in node if not _is_docstring(item)]
    if not isinstance(node, ast.AST):
        # Not repr(): which characters it escapes depends on the interpreter's Unicode tables.
        return ascii(node)
    if isinstance(node, ast.JoinedStr):
        # Python 3.12 ends a nested format, `{name:{width}}`, in a text of no letters.
        node = ast.JoinedStr([item for item in node.values if not _is_empty_text(item)])
    fields = []
    for name, value in ast.iter_fields(node):
        if _counts(name, value):
            fields.append((name, _plain(value)))
    return [type(node).__name__, fields]


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
