"""Which grammar a file has, and the queries that find its definitions (tree-sitter)."""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import tree_sitter

from runner.grounding.components import is_component, language_of_scripts
from runner.grounding.language import FOLDER, LANGUAGES, Language, Replacement

_FORMAT = "4"
"""Raised when an outline's meaning changes, so that no cache of the old meaning is read."""

_BY_EXTENSION = {
    extension: name for name, one in LANGUAGES.items() for extension in one.all_extensions
}
_BY_NAME = {file: name for name, one in LANGUAGES.items() for file in one.names}
_BY_INTERPRETER = {program: name for name, one in LANGUAGES.items() for program in one.interpreters}
_CPP_HEADER = re.compile(rb"^\s*(?:class|namespace|template\s*<|using\s)|\w::\w|\bpublic:", re.M)
"""What C has not."""
_SHEBANG = re.compile(
    rf"""
    \#!\S*?                                       # #!/usr/bin
    (?:/env\s+(?:-S\s+)?)?/?                      # /env -S
    (?P<name>{"|".join(_BY_INTERPRETER)})[\d.]*   # python3.11
    \s
    """.encode(),
    re.X,
)


def language_of(path: str, source: bytes) -> str | None:
    """The grammar for a file, by name, extension or shebang; None if there is none."""
    name = path.rpartition("/")[2]
    if name in _BY_NAME:
        return _BY_NAME[name]
    extension = _extension(name)
    if not extension:
        return _language_of_script(source)
    if is_component(path):
        return language_of_scripts(source)
    if extension == "h":
        return "cpp" if _CPP_HEADER.search(source) else "c"
    return _BY_EXTENSION.get(extension)


def _extension(name: str) -> str:
    """A leading dot makes none: `.bashrc` has no extension."""
    if "." not in name[1:]:
        return ""
    return name.rpartition(".")[2].lower()


def _language_of_script(source: bytes) -> str | None:
    shebang = _SHEBANG.match(source[:200])
    return None if shebang is None else _BY_INTERPRETER[shebang["name"].decode()]


# --- grammars -------------------------------------------------------------------------------

SourcePatch = tuple[re.Pattern[bytes], bytes]
"""What a grammar stumbles over, and the byte put in place of each of its bytes."""


class Grammar(NamedTuple):
    language: tree_sitter.Language
    query: tree_sitter.Query
    prelude: bytes
    macros: tuple[SourcePatch, ...]
    mends: tuple[SourcePatch, ...]
    identity: str
    """Digest of grammar, core, query and language.toml: part of a cached outline's name."""


class _LoadedGrammar(NamedTuple):
    language: tree_sitter.Language
    version: str


@cache
def grammar(language: str) -> Grammar | None:
    """A language's grammar and query; None if its package is not installed.

    Raises QueryError if a query does not compile.
    """
    known = LANGUAGES[language]
    loaded = _from_wheel(known) if known.package else _from_bundle(language)
    if loaded is None:
        return None
    query = _query(language)
    mends = known.mends or (LANGUAGES[known.like].mends if known.like else ())
    return Grammar(
        language=loaded.language,
        query=tree_sitter.Query(loaded.language, query),
        prelude=known.prelude.encode(),
        macros=_compiled(known.macros),
        mends=_compiled(mends),
        identity=_identity(language, loaded.version, query, known, mends),
    )


def _query(language: str) -> str:
    path = FOLDER / language / "tags.scm"
    if not path.is_file():
        path = FOLDER / LANGUAGES[language].like / "tags.scm"
    return path.read_text(encoding="utf-8")


def _compiled(mends: Iterable[Replacement]) -> tuple[SourcePatch, ...]:
    return tuple(
        (re.compile(mend.pattern.encode(), re.M | re.X), mend.filler.encode()) for mend in mends
    )


def _identity(name: str, version: str, query: str, known: Language, mends: object) -> str:
    core = importlib.metadata.version("tree-sitter")
    parts = "\0".join((_FORMAT, name, version, core, query, repr((known, mends))))
    return hashlib.sha256(parts.encode()).hexdigest()[:24]


def _from_wheel(known: Language) -> _LoadedGrammar | None:
    try:
        module = importlib.import_module(known.package.replace("-", "_"))
        pointer = getattr(module, known.function)()
        version = importlib.metadata.version(known.package)
    except ImportError:
        return None
    return _LoadedGrammar(tree_sitter.Language(pointer), version)


def _from_bundle(language: str) -> _LoadedGrammar | None:
    """Out of the library of tree-sitter-languages, which is never imported, only opened.

    The package's own `get_parser` fails on this core; the grammars in its library do not.
    """
    library = _bundled_library()
    if library is None:
        return None
    function = getattr(ctypes.CDLL(str(library)), f"tree_sitter_{language}")
    function.restype = ctypes.c_void_p  # else a pointer of 64 bits loses half of them
    capsule = _capsule(function())
    version = importlib.metadata.version("tree-sitter-languages")
    return _LoadedGrammar(tree_sitter.Language(capsule), version)


def _bundled_library() -> Path | None:
    spec = importlib.util.find_spec("tree_sitter_languages")
    if spec is None or not spec.origin:
        return None
    library = Path(spec.origin).with_name("languages.so")
    if not library.is_file():
        return None
    return library


def _capsule(pointer: int) -> object:
    """The pointer as the wheels hand it over; a bare int is deprecated."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule: object = new(pointer, b"tree_sitter.Language", None)
    return capsule
