"""What a piece of our own code does, as a digest: of its syntax tree, not of its bytes.

A stored result may be used again only if the code that made it would make it again. Comments,
docstrings and formatting change nothing that runs, and leave the digest as it is; everything else
changes it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path

from runner.records import Sha256, digest_of

_SPELLING = frozenset({"type_comment", "kind", "ctx"})
"""Fields of the tree that say how something was written, and nothing about what runs."""


def code_digest(sources: Iterable[Path]) -> Sha256:
    """Of what the Python files do, in the order given; the same on every Python we support."""
    trees = [ast.parse(path.read_bytes()) for path in sources]
    return digest_of([_plain(tree) for tree in trees])


def module_files(package: str, *names: str) -> Iterator[Path]:
    """The files of a package's modules by name, or of all its modules, sorted."""
    folder = Path(str(resources.files(package)))
    for path in sorted(folder.glob("*.py")):
        if not names or path.stem in names:
            yield path


def _plain(node: object) -> object:
    """A syntax tree as lists and texts. Empty fields are left out: newer Pythons have more."""
    if isinstance(node, list):
        return [_plain(item) for item in node if not _is_docstring(item)]
    if not isinstance(node, ast.AST):
        # Not repr(): which characters it escapes depends on the interpreter's Unicode tables.
        return ascii(node)
    fields = [
        (name, _plain(value)) for name, value in ast.iter_fields(node) if _counts(name, value)
    ]
    return [type(node).__name__, fields]


def _counts(name: str, value: object) -> bool:
    return name not in _SPELLING and value is not None and value != []


def _is_docstring(node: object) -> bool:
    """A text that stands alone: a docstring, or the note under a constant or a field."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
