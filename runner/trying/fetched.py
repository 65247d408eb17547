"""What libraries fetch when it is first used, brought beforehand: a cell has no network.

tree-sitter-language-pack has no grammars since its first version: every parse fails in a cell,
often in silence. npm has the usual ones, built. DuckDB's extensions are in PyPI. Linked into the
library's own cache, both are found there as if they had been fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from runner.records import WarmUp
from runner.trying.asked import NONE

LIBRARY = "tree-sitter-language-pack"
_SINCE = 1
"""The first major version of it that brings none."""
_LANGUAGES = (
    "bash c c-sharp cpp css go html java javascript json make php python regex rst ruby rust "
    "typescript"
).split()
_OTHERS = "hcl lua markdown toml xml yaml".split()
PACKAGES = (
    *(f"tree-sitter-{language}" for language in _LANGUAGES),
    *(f"@tree-sitter-grammars/tree-sitter-{language}" for language in _OTHERS),
)
"""Of npm: those that bring a build for Linux, of a few megabytes."""
OVERRIDES = {"tree-sitter": "0.25.0"}
"""For npm: each of them asks for another version of its binding, which nothing here loads."""
OLDER = "tree-sitter-languages"
"""Of PyPI, for Python 3.11: some thirty others, of 2023, such as SQL's."""
_LOCKED = re.compile(rf"^{LIBRARY}==(?P<version>(?P<major>\d+)\S*)", re.MULTILINE)
_SCRIPT = """\
libs="${XDG_CACHE_HOME:-$HOME/.cache}/LIBRARY/vVERSION/libs" && mkdir -p "$libs"
older={install}/python/tree_sitter_languages/languages.so
[ ! -f $older ] || for name in OTHERS; do ln -sf $older "$libs/libtree_sitter_$name.so"; done
case $(uname -m) in x86_64) platform=linux-x64;; *) platform=linux-arm64;; esac
for built in $(find {install}/node_modules -path "*/prebuilds/$platform/*tree-sitter-*.node"); do
  name=$(basename "$built" .node | tr - _)
  ln -sf "$built" "$libs/lib${name#*+}.so"
done
ln -sf libtree_sitter_typescript.so "$libs/libtree_sitter_tsx.so"
ln -sf libtree_sitter_markdown.so "$libs/libtree_sitter_markdown_inline.so"
"""
_OF_OLDER = (
    "commonlisp dockerfile dot elisp elixir elm embedded_template erlang fortran gomod hack "
    "haskell jsdoc julia kotlin objc ocaml perl ql r scala sql sqlite tsq"
)


_EXTENSION_OF_PYPI = "duckdb-extension-"
_LACKS_EXTENSION = re.compile(
    r"download extension \"(?P<name>\w+)\" at URL \"[^\"]*/v(?P<version>[\d.]+)/"
)
_EXTENSIONS_SCRIPT = """\
case $(uname -m) in x86_64) platform=linux_amd64;; *) platform=linux_arm64;; esac
for built in {install}/python/duckdb_extension_*/extensions/v*/*.duckdb_extension; do
  version=$(basename "$(dirname "$built")") && folder="$HOME/.duckdb/extensions/$version/$platform"
  mkdir -p "$folder" && ln -sf "$built" "$folder/"
done
"""


def version_without(lock: str) -> str:
    """The version of the library that brings no grammars, in requirements.txt; empty if none is."""
    found = _LOCKED.search(lock)
    return found["version"] if found and int(found["major"]) >= _SINCE else ""


def packages_for(lock: Path, programs: Iterable[str]) -> tuple[str, ...]:
    """npm's, for a server that is locked so. `programs`: what a person brings, `none` for none."""
    if NONE in programs or not lock.exists():
        return ()
    return PACKAGES if version_without(lock.read_text(encoding="utf-8")) else ()


def linked(folder: Path) -> tuple[WarmUp, ...]:
    """The steps before a server starts that put them in their place."""
    lock = folder / "requirements.txt"
    text = lock.read_text(encoding="utf-8") if lock.exists() else ""
    extensions = (WarmUp(shell=_EXTENSIONS_SCRIPT),) if _EXTENSION_OF_PYPI in text else ()
    return (*grammars_linked(folder), *extensions)


def grammars_linked(folder: Path) -> tuple[WarmUp, ...]:
    """None if the server has none."""
    lock, package = folder / "requirements.txt", folder / "package.json"
    if not (lock.exists() and package.exists() and PACKAGES[0] in package.read_text("utf-8")):
        return ()
    version = version_without(lock.read_text(encoding="utf-8"))
    if not version:
        return ()
    words = {"LIBRARY": LIBRARY, "VERSION": version, "OTHERS": _OF_OLDER}
    return (WarmUp(shell=re.sub("|".join(words), lambda word: words[word[0]], _SCRIPT)),)


def is_link(step: WarmUp) -> bool:
    script = step.shell or ""
    return script == _EXTENSIONS_SCRIPT or f"/{LIBRARY}/v" in script


def notes_on(folder: Path) -> tuple[str, ...]:
    """What a reader of the report should know."""
    if not grammars_linked(folder):
        return ()
    return (
        f"{LIBRARY} would fetch its grammars when it runs; here they are npm's builds, whose "
        "versions may differ, and a language that has none is not parsed.",
    )


def extension_lacked(text: str) -> str:
    """The package with the DuckDB extension that could not be fetched; empty for none."""
    found = _LACKS_EXTENSION.search(text)
    return f"{_EXTENSION_OF_PYPI}{found['name']}=={found['version']}" if found else ""
