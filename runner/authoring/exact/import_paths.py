"""Which file does an import mean? By the path that it writes, and never by a guess."""

from __future__ import annotations

import posixpath
import re

from runner.authoring.drafting.syntax import Parsed

_STATEMENTS = frozenset("import_from_statement import_statement export_statement".split())
_RENAMES = frozenset("aliased_import".split())
_ENDING = re.compile(r"(?:\.d)?\.(?:[cm]?[jt]sx?|pyi?)$")
_CLIMB = 5


def module_at(parsed: Parsed, at: int, name: str) -> str | None:
    """The module that a name is imported or re-exported from; None if it is, or gets, another."""
    node = parsed.node_at(at, name)
    for _ in range(_CLIMB):
        if node is None or node.type in _RENAMES or node.child_by_field_name("alias") is not None:
            return None
        if node.type in _STATEMENTS:
            field = "module_name" if node.type == "import_from_statement" else "source"
            module = node.child_by_field_name(field)
            return (module.text or b"").decode("utf-8", "replace").strip("'\"") if module else None
        node = node.parent
    return None


def means(module: str, importing: str, path: str) -> bool:
    """Does an import of `module` in one file mean the other?"""
    written = (
        _python(module, importing)
        if importing.endswith((".py", ".pyi"))
        else _script(module, importing)
    )
    home = _without_ending(path)
    if written is None:
        return False
    whole = written.startswith("/")
    return home == written[1:] if whole else f"/{home}".endswith(f"/{written}")


def _without_ending(path: str) -> str:
    return re.sub(r"(?:^|/)(?:index|__init__)$", "", _ENDING.sub("", path))


def _python(module: str, importing: str) -> str | None:
    """Of the tree if it begins with `/`, else the end of a path."""
    dots = len(module) - len(module.lstrip("."))
    names = module.lstrip(".").replace(".", "/")
    if not dots:
        return names
    folder = importing
    for _ in range(dots):
        folder = posixpath.dirname(folder)
    return posixpath.normpath(posixpath.join("/", folder, names))


def _script(module: str, importing: str) -> str | None:
    if not module.startswith("."):
        return None
    place = posixpath.normpath(posixpath.join("/", posixpath.dirname(importing), module))
    return _without_ending(place)
