"""Where is it re-exported, so that others can import it from elsewhere?"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import tree_sitter

from runner.authoring.drafting.syntax import Parsed
from runner.authoring.drafting.tree import ASIDE_FOLDERS, TEST_PATH
from runner.authoring.exact.kind import MOST, Ground, Kind, near_misses, question
from runner.records import MustCite
from runner.records.exact import ExactQuestion

_LANGUAGES = frozenset("python typescript tsx javascript rust".split())
_STARS = re.compile(
    rb"^\s*from\s+([.\w]+)\s+import\s*\(?\s*\*|export(?:\s+type)?\s*\*(?:\s*as\s+\w+)?\s*from\s*['\"]([^'\"]+)|"
    rb"\bpub(?:\([^)]*\))?\s+use\s+([\w:]+)::\*",
    re.M,
)
_WHAT = {
    "python": "an import of it by its name in an `__init__.py`",
    "rust": "a `pub use` of it by its name",
}
_IN_SCRIPTS = "an `export … from` of it by its name"
_CLIMB = 8
_DOTTED = (".py", ".pyi", ".rs")
_STATEMENTS = frozenset("import_from_statement import_statement export_statement".split())
_RENAMES = frozenset("aliased_import".split())
_ENDING = re.compile(r"(?:\.d)?\.(?:[cm]?[jt]sx?|pyi?)$")
_CLIMB_TO_STATEMENT = 5


def _subjects(ground: Ground) -> Sequence[str]:
    defined = ground.tree.definitions
    return [name for name in ground.names if len(defined[name]) == 1]


def _ask(ground: Ground, name: str) -> ExactQuestion | None:
    found = _exports(ground, name)
    if not found or len(found) > MOST:
        return None
    return _question(ground, name, found)


def _ask_of_none(ground: Ground, name: str) -> ExactQuestion | None:
    """Imported elsewhere, and by none of the places that make a name public."""
    found = _exports(ground, name)
    if found is None or found or len(ground.tree.holders[name]) < 2:
        return None
    return _question(ground, name, [])


def _question(ground: Ground, name: str, places: Sequence[MustCite]) -> ExactQuestion:
    ((path, definition),) = ground.tree.definitions[name]
    what = _WHAT.get(ground.tree.code[path].language, _IN_SCRIPTS)
    return question(
        "public_names",
        name,
        f"Where is `{name}` re-exported, so that it can be imported from elsewhere than the file"
        f" that defines it? A re-export is {what}, outside of the tests: each of its lines counts"
        " that holds the name, and no other import.",
        places=places,
        optional=[
            MustCite(path=path, line=definition.line, symbol=name),
            *_stars_above(ground, {it.path for it in places}),
            *_named_in_strings(ground, name, {it.path for it in places} | {path}),
        ],
        wrong=[*_imports(ground, name), *near_misses(ground, name)],
    )


def _exports(ground: Ground, name: str) -> list[MustCite] | None:
    """All of them; None if there may be others, or if something else may be meant."""
    ((path, definition),) = ground.tree.definitions[name]
    home = ground.tree.code[path]
    aside = TEST_PATH.search(path) or ASIDE_FOLDERS.search(path)
    if home.language not in _LANGUAGES or definition.owners or aside:
        return None
    if home.kind(definition) not in ("function", "class"):
        return None
    if any(_hands_on(it, path) for it in ground.kept("stars", _stars)):
        return None
    found = []
    for where in ground.tree.holders[name]:
        parsed = ground.tree.code[where]
        if where == path or TEST_PATH.search(where):
            continue
        for at, line in parsed.file.occurrences.lines_of(name):
            if parsed.outline.is_mute(at):
                continue
            role = _role(parsed, at, name)
            if role is None:
                return None
            if role:
                found.append(MustCite(path=where, line=line, symbol=name))
    return found


def is_re_export(parsed: Parsed, line: int, name: str) -> bool:
    """Does the line hold the name as what a re-export hands on?"""
    return any(
        _role(parsed, at, name)
        for at, where in parsed.file.occurrences.lines_of(name)
        if where == line and not parsed.outline.is_mute(at)
    )


def _role(parsed: Parsed, at: int, name: str) -> bool | None:
    """True of a re-export, False of every other use, None of one under another name."""
    node = parsed.node_at(at, name)
    for _ in range(_CLIMB):
        if node is None:
            return False
        if node.child_by_field_name("alias") is not None or _is_handed_on(node):
            return None
        if node.type in ("import_from_statement", "export_statement", "use_declaration"):
            return _is_export(parsed, node)
        above = node.parent
        # `version` of `from shop.version import __version__`
        if above and node in (above.child_by_field_name(it) for it in ("module_name", "path")):
            return False
        node = above
    return False


def _is_handed_on(node: tree_sitter.Node) -> bool:
    """`export { open }` of what was imported: a re-export, and none by the prompt's words."""
    clause = node.parent
    statement = clause.parent if clause else None
    return (
        node.type == "export_specifier"
        and statement is not None
        and statement.child_by_field_name("source") is None
    )


def _is_export(parsed: Parsed, node: tree_sitter.Node) -> bool:
    if node.type == "import_from_statement":
        return parsed.path.endswith("__init__.py")
    if node.type == "export_statement":
        return node.child_by_field_name("source") is not None
    return any(it.type == "visibility_modifier" for it in node.named_children)


class _Star(NamedTuple):
    """A line that imports or exports all that a module has."""

    path: str
    line: int
    module: str


def _stars(ground: Ground) -> list[_Star]:
    found = []
    for parsed in ground.tree.code.values():
        if parsed.language in _LANGUAGES:
            for hit in _STARS.finditer(parsed.source):
                module = next(filter(None, hit.groups())).decode("utf-8", "replace")
                begin = hit.end() - len(hit[0].lstrip())
                found.append(_Star(parsed.path, parsed.file.occurrences.line(begin), module))
    return found


def _hands_on(star: _Star, path: str) -> bool:
    """All of that file? By its last name alone, where the path begins with no dot."""
    if star.module.startswith("."):
        return means(star.module, star.path, path)
    parts = re.split(r"::|\." if star.path.endswith(_DOTTED) else "/", star.module)
    return _stem("/".join(parts)) == _stem(path)


def _stars_above(ground: Ground, paths: Iterable[str]) -> list[MustCite]:
    """Lines that hand the name on without naming it: it is public by them too."""
    known, found = set(paths), set[_Star]()
    for _ in range(_CLIMB):
        more = {
            it
            for it in ground.kept("stars", _stars)
            if it not in found and any(_hands_on(it, path) for path in known)
        }
        if not more:
            break
        found |= more
        known |= {it.path for it in more}
    return [MustCite(path=it.path, line=it.line) for it in sorted(found)[:MOST]]


def _stem(path: str) -> str:
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    return folders[-1] if folders and stem in ("index", "__init__", "mod", "lib") else stem


def _imports(ground: Ground, name: str) -> Iterator[MustCite]:
    for path in ground.tree.holders[name]:
        for use in ground.tree.code[path].uses(name):
            if use.kind == "import":
                yield MustCite(path=path, line=use.line, symbol=name)


def _named_in_strings(ground: Ground, name: str, paths: set[str]) -> Iterator[MustCite]:
    """`__all__`, and what is said of it, where it is defined or re-exported."""
    for path in sorted(paths):
        parsed = ground.tree.code[path]
        for at, line in parsed.file.occurrences.lines_of(name):
            if parsed.outline.is_mute(at):
                yield MustCite(path=path, line=line)


# --- which file an import means: by the path that it writes, and never by a guess -----------------


def module_at(parsed: Parsed, at: int, name: str) -> str | None:
    """The module that a name is imported or re-exported from; None if it is, or gets, another."""
    node = parsed.node_at(at, name)
    for _ in range(_CLIMB_TO_STATEMENT):
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


KIND = Kind(kind="public_names", subjects=_subjects, ask=_ask)
NONE = Kind(kind="public_names", subjects=_subjects, ask=_ask_of_none, share=0.3)
