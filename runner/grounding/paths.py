"""Is this a path? A file of the tree is; any other text must have a shape that only paths have."""

from __future__ import annotations

from runner.grounding.commit_files import PathIndex
from runner.grounding.word_lists import (
    EXTENSIONS,
    FILE_NAMES,
    FOREIGN_PARTS,
    FOREIGN_ROOTS,
    PRODUCTS,
    SUFFIX_TLDS,
)


def clean_path(token: str, index: PathIndex, *, has_line: bool) -> str | None:
    """The token as a path, without the punctuation around it; None if it is none."""
    path = _without_closing_brackets(token.rstrip(".-~+$%…@"))
    if path.startswith("~") and path[1:2] not in "/\\":  # ~app.py:42
        path = path.lstrip("~")
    # A file of the tree may be called `@scope/x.ts`, `__init__.py`, `_x_`: as written goes first.
    if path and index.resolve(path).resolution != "missing":
        return path
    for known in (path.lstrip("@"), path.strip("_")):
        if known not in ("", path) and index.resolve(known).resolution != "missing":
            return known
    if _shaped_like_a_path(path.replace("\\", "/"), index, has_line=has_line):
        return path
    return None


def _without_closing_brackets(path: str) -> str:
    """`src/app.py)` loses a bracket that was opened before it, `app/[id]` none."""
    while path and path[-1] in ")]":
        opened = path.count("[") + path.count("(")
        closed = path.count("]") + path.count(")")
        if opened >= closed:
            break
        path = path[:-1]
    return path


def _shaped_like_a_path(path: str, index: PathIndex, *, has_line: bool) -> bool:
    first, slash, _ = path.lstrip("./").partition("/")
    name = path.rpartition("/")[2]
    if not slash and (not has_line or _is_bare_extension(name) or name.lower() in PRODUCTS):
        return False
    if not _is_file_name(name, index):
        return False
    if path.startswith(FOREIGN_ROOTS) or any(part in path for part in FOREIGN_PARTS):
        return False
    # `example.com/x.py` is a web address or a Go module; `.github/x.yml` is a file.
    web_address = bool(slash) and "." in first and first.rpartition(".")[2] in SUFFIX_TLDS
    return path.startswith(".") or not web_address


def _is_bare_extension(name: str) -> bool:
    """An extension alone: `the .py files (line 3)`."""
    stem, dot, _ = name.rpartition(".")
    return bool(dot) and not stem


def _is_file_name(name: str, index: PathIndex) -> bool:
    _, dot, extension = name.rpartition(".")
    if dot and (extension.lower() in EXTENSIONS or extension in index.extensions):
        return True
    return name.partition(".")[0] in FILE_NAMES  # Makefile, Dockerfile.dev
