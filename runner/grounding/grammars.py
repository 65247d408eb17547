"""Which grammar a file has, and the queries that find its definitions (tree-sitter)."""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import importlib.metadata
import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import tree_sitter

from runner.grounding.components import is_component, language_of_scripts

_QUERIES = Path(__file__).with_name("queries")
_FORMAT = "4"
"""Raised when an outline's meaning changes, so that no cache of the old meaning is read."""

_WHEELS: dict[str, tuple[str, str]] = {
    "bash": ("tree_sitter_bash", "language"),
    "c": ("tree_sitter_c", "language"),
    "c_sharp": ("tree_sitter_c_sharp", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "kotlin": ("tree_sitter_kotlin", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "python": ("tree_sitter_python", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "scala": ("tree_sitter_scala", "language"),
    "swift": ("tree_sitter_swift", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
"""Official grammar wheels: module, function."""
_BUNDLED = (
    "elixir",
    "erlang",
    "haskell",
    "hcl",
    "julia",
    "lua",
    "objc",
    "ocaml",
    "perl",
    "r",
    "sql",
)
"""Loaded out of tree-sitter-languages' shared library, if that is installed."""
LANGUAGES = (*_WHEELS, *_BUNDLED)

_EXTENSIONS = {
    "bash": "sh bash zsh bats ksh",
    "c": "c",
    "c_sharp": "cs",
    "cpp": "cc cpp cxx c++ hpp hh hxx h++ ipp inl tpp cu cuh ino",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "go": "go",
    "haskell": "hs",
    "hcl": "tf hcl tfvars",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "julia": "jl",
    "kotlin": "kt kts",
    "lua": "lua",
    "objc": "m mm",
    "ocaml": "ml",
    "perl": "pl pm t",
    "php": "php phtml inc",
    "python": "py pyi",
    "r": "r",
    "ruby": "rb rake gemspec ru",
    "rust": "rs",
    "scala": "scala sc sbt",
    "sql": "sql",
    "swift": "swift",
    "tsx": "tsx",
    "typescript": "ts mts cts",
}


def _languages_by_extension() -> dict[str, str]:
    languages: dict[str, str] = {}
    for language, extensions in _EXTENSIONS.items():
        languages |= dict.fromkeys(extensions.split(), language)
    return languages


_BY_EXTENSION = _languages_by_extension()
_BY_NAME = {
    "Rakefile": "ruby",
    "Gemfile": "ruby",
    "Vagrantfile": "ruby",
    "Podfile": "ruby",
    "Fastfile": "ruby",
    "SConstruct": "python",
}
_CPP_HEADER = re.compile(rb"^\s*(?:class|namespace|template\s*<|using\s)|\w::\w|\bpublic:", re.M)
"""What C has not."""
_SHEBANG = re.compile(
    rb"""
    \#!\S*?                                               # #!/usr/bin
    (?:/env\s+(?:-S\s+)?)?/?                              # /env -S
    (?P<name>python|bash|zsh|sh|ruby|perl|node|lua)[\d.]*  # python3.11
    \s
    """,
    re.X,
)
_BY_INTERPRETER = {"sh": "bash", "zsh": "bash", "node": "javascript"}


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
    if shebang is None:
        return None
    interpreter = shebang["name"].decode()
    return _BY_INTERPRETER.get(interpreter, interpreter)


# --- grammars -------------------------------------------------------------------------------

_PRELUDE = {"lua": b"--[[]]"}
"""Put before a source: the bundled Lua scanner starts in the middle of a string (on this core)
until a comment resets it."""


Mend = tuple[re.Pattern[bytes], bytes]
"""What a grammar stumbles over, and the byte put in place of each of its bytes."""
# A line that is a macro and no more; but not an enum's last member.
_MACRO_LINE: Mend = (
    re.compile(
        rb"^[ \t]{0,99}[A-Z][A-Z0-9]{0,99}_[A-Z0-9_]{1,99}(?:\([^()\n]{0,199}\))?[ \t]{0,99}$"
        rb"(?!\s{0,199}\})",
        re.M,
    ),
    b" ",
)
# LUA_API lua_State *lua_newstate (
_MACRO_HEAD: Mend = (
    re.compile(
        rb"^[A-Z][A-Z0-9_]{2,99}(?=[ \t]{1,9}\w{1,99}[ \t*&]{1,9}\w{1,99}[ \t]{0,9}\()", re.M
    ),
    b" ",
)
_MENDS: dict[str, tuple[Mend, ...]] = {
    "c": (_MACRO_LINE, _MACRO_HEAD),
    "cpp": (_MACRO_LINE, _MACRO_HEAD),
    "c_sharp": (
        # Both sides of a condition, where a statement goes on in each.
        (re.compile(rb"^[ \t]{0,99}#(?:if|elif|else|endif)\b[^\n]{0,999}$", re.M), b" "),
    ),
    "kotlin": (
        (re.compile(rb"(?<=[^\s{;,(]) (?=\})"), b";"),  # { val one = 1 }
        # A name that is a modifier elsewhere: `open = true`.
        (re.compile(rb"(?<![\w.@`])(?:open|data|inner|value)(?=[ \t]{0,9}[.=(+-])"), b"x"),
        (re.compile(rb"(?<![\w.@`])(?:get|set)(?=[ \t]{0,9}=)"), b"x"),
        (re.compile(rb"^[ \t]{0,99}context\([^()\n]{0,200}\)[ \t]{0,99}$", re.M), b" "),
        (re.compile(rb"@\w{1,99}(?=[ \t]{1,9}[gs]et\b)"), b" "),
    ),
}
"""Tried on a source that does not parse; kept if less of it is an error then."""
_EXPORT = rb"[A-Z][A-Z0-9_]{2,99}(?:\([^()\n]{0,99}\))?"
_MACROS: dict[str, tuple[Mend, ...]] = {
    "cpp": (
        # class SHOP_API Shop : public Base {, which is read as a function
        (
            re.compile(
                rb"(?:(?<=\bclass )|(?<=\bstruct ))" + _EXPORT + rb"(?=[ \t]{1,9}[A-Za-z_]\w{0,99}"
                rb"(?:<[^<>;{}\n]{0,99}>)?(?:\s{1,9}final)?\s{0,99}[:{])"
            ),
            b" ",
        ),
    ),
}
"""Put right in every source: it parses, and means something else."""


class Grammar(NamedTuple):
    language: tree_sitter.Language
    query: tree_sitter.Query
    prelude: bytes
    macros: tuple[Mend, ...]
    mends: tuple[Mend, ...]
    identity: str
    """Digest of grammar version, core version and query: part of a cached outline's name."""


class _Loaded(NamedTuple):
    language: tree_sitter.Language
    version: str


def query_text(language: str) -> str:
    """The definition query of a language."""
    if language == "tsx":
        language = "typescript"
    return (_QUERIES / f"{language}.scm").read_text(encoding="utf-8")


@cache
def grammar(language: str) -> Grammar | None:
    """A language's grammar and query; None if its package is not installed.

    Raises QueryError if a query does not compile.
    """
    load = _from_wheel if language in _WHEELS else _from_bundle
    loaded = load(language)
    if loaded is None:
        return None
    query = query_text(language)
    return Grammar(
        language=loaded.language,
        query=tree_sitter.Query(loaded.language, query),
        prelude=_PRELUDE.get(language, b""),
        macros=_MACROS.get(language, ()),
        mends=_MENDS.get(language, ()),
        identity=_identity(language, loaded.version, query),
    )


def _identity(language: str, version: str, query: str) -> str:
    core = importlib.metadata.version("tree-sitter")
    parts = "\0".join((_FORMAT, language, version, core, query))
    return hashlib.sha256(parts.encode()).hexdigest()[:24]


def _from_wheel(language: str) -> _Loaded | None:
    module, function = _WHEELS[language]
    try:
        pointer = getattr(importlib.import_module(module), function)()
        version = importlib.metadata.version(module.replace("_", "-"))
    except ImportError:
        return None
    return _Loaded(tree_sitter.Language(pointer), version)


def _from_bundle(language: str) -> _Loaded | None:
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
    return _Loaded(tree_sitter.Language(capsule), version)


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
