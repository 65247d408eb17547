"""Where is a constant or a field used?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runner.authoring.drafting.doubts import is_compound
from runner.authoring.drafting.syntax import NameUse, Parsed
from runner.authoring.drafting.tree import TEST_PATH
from runner.authoring.exact.kind import MOST, Ground, Kind, near_misses, other_lines, question
from runner.records import MustCite
from runner.records.exact import ExactQuestion

_FEWEST = 2
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_WITH_FIELDS = frozenset("c cpp go rust".split())
"""Whose grammars tell a field's name from every other."""
_QUALIFIED = re.compile(r"qualified|scope")
"""`Shop::LIMIT`: its `name` is no name that is given there."""
_FIELD, _TYPE = "field_identifier", "type_identifier"
_NO_TYPES = frozenset(b"return else do case goto sizeof const let mut in as typedef".split())
_IFDEFS = frozenset(("preproc_ifdef", "preproc_elifdef"))


def _subjects(ground: Ground) -> Sequence[str]:
    defined = ground.tree.definitions
    return [
        it
        for it in ground.names
        if len(defined[it]) == 1 and (_is_constant(it) or _is_field(ground, it))
    ]


def _is_constant(name: str) -> bool:
    return bool(_CONSTANT.fullmatch(name))


def _is_field(ground: Ground, name: str) -> bool:
    path, definition = ground.tree.definitions[name][0]
    parsed = ground.tree.code[path]
    if parsed.language not in _WITH_FIELDS or not is_compound(name) or not definition.owners:
        return False
    return parsed.node_type(definition.at, name) == _FIELD and parsed.kind(definition) == "other"


def _ask(ground: Ground, name: str) -> ExactQuestion | None:
    ((path, definition),) = ground.tree.definitions[name]
    home = ground.tree.code[path]
    if home.kind(definition) != "other" or TEST_PATH.search(path):
        return None
    if ground.may_be_run_elsewhere(name):
        return None
    places = _uses(ground, name)
    lines = {(it.path, it.line) for it in places}
    if not _FEWEST <= len(lines) <= MOST or (path, definition.line) in lines:
        return None
    shown = ground.tree.shown(path, definition)
    at = MustCite(path=path, line=definition.line, symbol=name)
    optional = [at]
    for where in ground.tree.holders[name]:
        optional += other_lines(ground, where, name)
    return question(
        "uses",
        name,
        f"Where is `{shown}` used? Every line of code that reads it or sets it anew counts,"
        " wherever in this repository it is, tests included: no imports, no comments, no strings,"
        " not its definition.",
        places=places,
        optional=optional,
        wrong=near_misses(ground, name),
    )


def _uses(ground: Ground, name: str) -> list[MustCite]:
    """Every use; none at all if one is in doubt."""
    found = []
    for path in ground.tree.holders[name]:
        parsed = ground.tree.code[path]
        used = parsed.uses(name)
        in_code = [it for it in used if not parsed.outline.is_mute(it.at)]
        if any(parsed.outline.is_broken(it.line, it.line) for it in used):
            return []
        for use in in_code:
            if use.kind in ("definition", "import") or _is_tested(use, parsed, name):
                continue
            if _is_doubtful(ground, name, use, in_code, parsed):
                return []
            found.append(MustCite(path=path, line=use.line, symbol=name))
    return found


def _is_tested(use: NameUse, parsed: Parsed, name: str) -> bool:
    """`#ifdef MOST_COINS`, `#undef MOST_COINS`: neither reads it, and some would name them."""
    node = parsed.node_at(use.at, name)
    above = node.parent if node else None
    if above is None:
        return False
    if above.type == "preproc_call":
        directive = above.child_by_field_name("directive")
        return directive is not None and directive.text == b"#undef"
    return above.type == "preproc_defined" or (
        above.type in _IFDEFS and above.child_by_field_name("name") == node
    )


def _is_doubtful(
    ground: Ground, name: str, use: NameUse, uses: Sequence[NameUse], parsed: Parsed
) -> bool:
    ((path, definition),) = ground.tree.definitions[name]
    home = ground.tree.code[path]
    if not _is_constant(name):
        # A setter that a macro makes is called by the field's name; C calls what a field holds.
        if use.kind == "call" and parsed.language != "c":
            return True
        if parsed.language not in _WITH_FIELDS or parsed.node_type(use.at, name) != _FIELD:
            return True
        return _is_of_another_type(ground, name, use, parsed)
    if parsed.language != home.language and {parsed.language, home.language} != {"c", "cpp"}:
        return True
    before = parsed.receiver_of_value(use.at, name)
    if before is None or _is_made_anew(use, parsed, name):
        return True
    called = use._replace(kind="call", receiver=before, inside=parsed.function_at(use.line))
    return bool(ground.tree.doubt_of(called, uses, parsed, home, definition))


def _is_of_another_type(ground: Ground, name: str, use: NameUse, parsed: Parsed) -> bool:
    """`it->ai_next` of a `struct addrinfo *it` that the system defines, and not the repository."""
    receiver = parsed.receiver_of_value(use.at, name) or ""
    variable = re.fullmatch(r"[\s(*&]*([A-Za-z_]\w*)[\s)]*(?:\[[^\[\]]*\])?", receiver)
    around = parsed.function_at(use.line)
    if variable is None or around is None:
        return False
    return any(
        not _is_own_type(ground, it) for it in _declared(variable[1], parsed, around.start, use.at)
    )


def _declared(variable: str, parsed: Parsed, first_line: int, end: int) -> Iterator[str]:
    """The types that a variable has been written with since a line."""
    name = variable.encode()
    written = re.compile(
        rb"\b([A-Za-z_][\w.:]*)(?:<[^<>;(){}]*>)?(?:\s*(?:\*+|&(?!&))\s*(?:\w+\s+)?|\s+)"
        rb"(?:\w+\s*,\s*\*?)*%b\b\s*[;,=)\[]|"  # struct addrinfo *first, *it;
        rb"(?<![\w.])%b\s*:\s*&?(?:'\w+\s+)?(?:mut\s+)?([\w:]*\b[A-Z]\w*)|"  # it: &mut Till
        rb"[(,]\s*%b\s+\*?([\w.]*\b[A-Z]\w*)" % (name, name, name)  # it *http.Request
    )
    begin = sum(map(len, parsed.source.split(b"\n")[: first_line - 1])) + first_line - 1
    for hit in written.finditer(parsed.source, begin, end):
        found = next(filter(None, hit.groups()))
        if found not in _NO_TYPES and not parsed.outline.is_mute(hit.start(hit.lastindex or 0)):
            yield re.split(r"::|\.", found.decode("utf-8", "replace"))[-1]


def _is_own_type(ground: Ground, name: str) -> bool:
    return any(
        ground.tree.code[path].node_type(it.at, name) == _TYPE
        for path, it in ground.tree.definitions.get(name, ())
    )


def _is_made_anew(use: NameUse, parsed: Parsed, name: str) -> bool:
    """`LIMITS = cls.LIMITS` in a function: what it reads from there on is a variable of its own."""
    node = parsed.node_at(use.at, name)
    above = node.parent if node else None
    if above is None or parsed.function_at(use.line) is None or _QUALIFIED.search(above.type):
        return False
    return node in (above.child_by_field_name("left"), above.child_by_field_name("name"))


KIND = Kind(kind="uses", subjects=_subjects, ask=_ask)
