"""May a place be about something else of that name? By imports, packages and written types."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from runner.authoring.drafting.syntax import NameUse, Parsed
from runner.grounding.outlines import Definition

SELVES = frozenset("self this super Self cls static parent $this @ super()".split())
_IMPORTING = frozenset("python javascript typescript tsx".split())
"""Where a bare name of another file has to be imported by name."""
_IMPORT_LINES = 40
_PYTHON_MODULE = re.compile(r"\bfrom\s+([\w.]+)\s+import\b")
_MODULE = re.compile(_PYTHON_MODULE.pattern + r"|(?:\bfrom|\brequire\()\s*['\"]([^'\"]+)")
_DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*(?:(?P<begin>if\w*)[ \t]+(?P<test>[^\n]*)|(?P<end>endif)\b|"
    rb"include[ \t]+[\"<](?P<file>[^\">\n]+)[\">]|define[ \t]+(?P<name>\w+))",
    re.M,
)


def doubt_of(
    use: NameUse, uses: Sequence[NameUse], parsed: Parsed, home: Parsed, definition: Definition
) -> str:
    """Why a place may be about something else of that name; empty if it is sure."""
    if use.kind == "other":
        return "is no call"
    if use.kind != "call":
        return ""
    if not use.receiver or use.receiver in SELVES:
        return _doubt_of_bare(use, uses, parsed, home, definition)
    last = re.split(r"\.|::|->|\\", use.receiver)[-1]
    if last in definition.owners or _is_of_type(last, use, parsed, definition.owners):
        return ""
    if not definition.owners or home.language == "rust":
        return _doubt_of_module(last, parsed, home)
    return f"is called on `{use.receiver}`, whose type is not written there"


def _doubt_of_bare(
    use: NameUse, uses: Sequence[NameUse], parsed: Parsed, home: Parsed, definition: Definition
) -> str:
    """Of `open()` and `self.open()`."""
    if parsed is home:
        return ""
    if use.receiver:
        # `self.close()` of a class in another file may be that of a base from elsewhere.
        sure = definition.owners and is_compound(definition.name)
        return "" if sure else f"is called on `{use.receiver}` of another file"
    if home.language == "go":
        same = parsed.path.rpartition("/")[0] == home.path.rpartition("/")[0]
        return "" if same and not definition.owners else "is of another package"
    if home.language in _IMPORTING:
        return _doubt_of_import(uses, parsed, home)
    return "" if is_compound(definition.name) else "is a common name"


def _doubt_of_import(uses: Sequence[NameUse], parsed: Parsed, home: Parsed) -> str:
    imports = [it.line for it in uses if it.kind == "import"]
    if not imports:
        return "is not imported by name"
    lines = parsed.source.split(b"\n")
    sure = all(_names_home(lines, line, home.path) for line in imports)
    return "" if sure else "is imported from elsewhere"


def _names_home(lines: Sequence[bytes], line: int, path: str) -> bool:
    """Does the import around a line name the file, a folder of it, or a place beside it?"""
    here = lines[line - 1].decode("utf-8", "replace")
    # An import of many names may begin (Python) or end (JavaScript) lines away.
    before = b" ".join(lines[max(0, line - _IMPORT_LINES) : line]).decode("utf-8", "replace")
    after = b" ".join(lines[line - 1 : line + _IMPORT_LINES]).decode("utf-8", "replace")
    module = _MODULE.search(here) or _last(_PYTHON_MODULE, before) or _MODULE.search(after)
    if module is None:
        return here.lstrip().startswith(("exports", "module.exports", "export"))
    written = next(filter(None, module.groups()))
    *folders, name = path.split("/")
    known = {name.partition(".")[0], *folders} - {"src", "lib", ""}
    return written.startswith(".") or bool({*re.split(r"[./]", written)} & known)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    hits = list(pattern.finditer(text))
    return hits[-1] if hits else None


def _doubt_of_module(last: str, parsed: Parsed, home: Parsed) -> str:
    """A function called on a module: on its file, its folder or its package."""
    *folders, name = home.path.split("/")
    stem = name.partition(".")[0]
    known = {stem, *folders[-1:], "crate"}
    if home.language == "go":
        package = re.search(rb"^package\s+(\w+)", home.source, re.M)
        known = {package[1].decode()} if package else set()
        if f'/{last}"'.encode() not in parsed.source:
            return f"is called on `{last}`, which is not imported"
    if last in known and not re.search(rf"\b{re.escape(last)}\s*=[^=]".encode(), parsed.source):
        return ""
    return f"is called on `{last}`, which may be anything"


def _is_of_type(last: str, use: NameUse, parsed: Parsed, owners: Sequence[str]) -> bool:
    """Is the receiver declared as one of the owners, in the function or else in the file?"""
    if not re.fullmatch(r"@?[A-Za-z_]\w*", last):
        return False
    name = re.escape(last)
    for owner in owners:
        kind = re.escape(owner)
        declared = re.compile(
            rf"\b{kind}\b(?:<[^<>;(){{}}]*>)?[\s*&]+{name}\b|"  # Shop shop
            rf"(?<![\w.]){name}\s*:\s*[&*]?(?:mut\s+|const\s+)?{kind}\b|"  # shop: Shop
            rf"(?<![\w.]){name}\s+\*?{kind}\b|"  # shop *Shop
            rf"(?<![\w.]){name}\s*:?=\s*(?:await\s+)?(?:new\s+|&)?{kind}\s*(?:[({{]|\.new\b|::new\b)"
        )
        if declared.search(_text_around(use, parsed)):
            return True
    return False


def _text_around(use: NameUse, parsed: Parsed) -> str:
    """The function that a use is in: what another calls so may be another type."""
    if use.inside is None:
        return ""
    lines = parsed.source.split(b"\n")[use.inside.start - 1 : use.line]
    return b"\n".join(lines).decode("utf-8", "replace")


def is_compound(name: str) -> bool:
    """`parse_config`, `parseConfig`: of two words or more, and so seldom anybody else's."""
    return bool(re.search(r"[a-z0-9]_+[A-Za-z]|[a-z0-9][A-Z]", name)) and len(name) >= 7


# --- what C includes ------------------------------------------------------------------------------


class Inclusions:
    """What a file of C or C++ surely sees of another: by `#include`, whatever is configured.

    A function of the repository may bear a name that the system declares too (`epoll_create1`): a
    file that does not include the repository's own declaration calls the system's.
    """

    def __init__(self, code: Iterable[Parsed]) -> None:
        read = [it for it in code if it.language in ("c", "cpp")]
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for parsed in read:
            self._by_name[posixpath.basename(parsed.path)].append(parsed.path)
        self._included = {it.path: self._files(it) for it in read}

    def _files(self, parsed: Parsed) -> set[str]:
        found = (self._meant(it, parsed.path) for it in included(parsed.source))
        return {it for it in found if it}

    def _meant(self, written: str, including: str) -> str:
        """The file beside it, or the only one whose path ends so; empty if it may be another's."""
        own = posixpath.normpath(posixpath.join(posixpath.dirname(including), written))
        alike = self._by_name[posixpath.basename(written)]
        bare = re.sub(r"^(?:\.\.?/)+", "", written)
        ending = [it for it in alike if f"/{it}".endswith(f"/{bare}")]
        if own in alike:
            return own
        return ending[0] if len(ending) == 1 else ""

    def sees(self, path: str, declaring: Collection[str]) -> bool:
        """Does a file include one of the others, through others too?"""
        known, waiting = {path}, [path]
        while waiting:
            if waiting[-1] in declaring:
                return True
            more = self._included.get(waiting.pop(), set()) - known
            known |= more
            waiting += more
        return False


def included(source: bytes) -> list[str]:
    """But for what stands under an `#if`; a header's own guard is none."""
    found: list[str] = []
    under: list[bytes] = []
    for hit in _DIRECTIVE.finditer(source):
        if hit["begin"]:
            under.append(hit["test"].strip() if hit["begin"] == b"ifndef" else b"")
        elif hit["end"]:
            del under[-1:]
        elif hit["name"]:
            # `#ifndef SHOP_TILL_H`, `#define SHOP_TILL_H`: what follows is there once.
            under = [*under[:-1], b"guard"] if under and under[-1] == hit["name"] else under
        elif all(it == b"guard" for it in under):
            found.append(hit["file"].decode("utf-8", "replace"))
    return found
