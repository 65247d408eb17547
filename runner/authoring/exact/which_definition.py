"""Which of several definitions of one name does a call reach?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from runner.authoring.drafting.ancestry import BARE_MAY_BE_METHODS
from runner.authoring.drafting.families import has_nameless_heir
from runner.authoring.drafting.questions import lines_of
from runner.authoring.drafting.syntax import NameUse, Parsed
from runner.authoring.drafting.tree import ASIDE_FOLDERS, TEST_PATH
from runner.authoring.exact.kind import HALF_TEST, Ground, Kind, is_near, question
from runner.authoring.exact.public_names import means, module_at
from runner.grounding.outlines import Definition
from runner.records import MustCite
from runner.records.exact import ExactQuestion

_FEWEST, _MOST = 2, 8
"""Definitions."""
_SELVES = frozenset("self this cls $this @".split())
_OF_SCRIPTS = frozenset(
    "function_expression generator_function function_declaration object class".split()
)
_OWN_SELF = {
    "kotlin": frozenset("lambda_literal anonymous_function object_literal".split()),
    "ruby": frozenset("block do_block singleton_class singleton_method".split()),
    "php": frozenset("anonymous_class anonymous_function arrow_function".split()),
    "python": frozenset(("lambda",)),
    **dict.fromkeys(("javascript", "typescript", "tsx"), _OF_SCRIPTS),
}
"""What may be run on something else than an object of the class that it stands in: in Kotlin
`with(bell) { ring() }`, in Ruby `def self.day`."""
_OF_CLASS = re.compile(rb"\bstatic\b|@(?:class|static)method\b")
_TOLD_APART = frozenset("python javascript typescript tsx".split())
"""Where a class may have two functions of a name, one of its objects and one of its own."""
_IMPORTING = frozenset("python javascript typescript tsx".split())


class _Namesake(NamedTuple):
    path: str
    definition: Definition

    @property
    def owner(self) -> str:
        return self.definition.owners[-1] if self.definition.owners else ""

    @property
    def place(self) -> MustCite:
        it = self.definition
        return lines_of(self.path, it.line, it.end, it.name)


class _ReachingCall(NamedTuple):
    parsed: Parsed
    use: NameUse
    uses: Sequence[NameUse]
    """Of the name, in that file."""


def _subjects(ground: Ground) -> Sequence[str]:
    defined = ground.tree.definitions
    return [it for it in ground.names if _FEWEST <= len(defined[it]) <= _MOST]


def _ask(ground: Ground, name: str) -> ExactQuestion | None:
    known = list(_functions(ground, name))
    if not _FEWEST <= len(known) <= _MOST:
        return None
    reached = [(call, it) for call in _calls(ground, name) if (it := _reached(ground, call, known))]
    if not reached:
        return None
    # A call in another file than what it reaches needs a look there.
    call, target = min(
        reached, key=lambda it: (it[0].parsed.path == it[1].path, it[0].parsed.path, it[0].use.at)
    )
    return _question(call, target, known)


def _question(
    call: _ReachingCall, target: _Namesake, known: Sequence[_Namesake]
) -> ExactQuestion | None:
    name, path, line = target.definition.name, call.parsed.path, call.use.line
    here = MustCite(path=path, line=line, symbol=name)
    # Whoever only says again where the call is would be right, or nearly so.
    if any(is_near(here, it.place) for it in known):
        return None
    imports = [MustCite(path=path, line=it.line) for it in call.uses if it.kind == "import"]
    return question(
        "which_definition",
        f"{name}-{path.rpartition('/')[2]}-{line}",
        f"`{path}:{line}` calls `{name}`. This repository has several functions of that name."
        " Which one does that call reach? Its definition counts, and no other.",
        places=[target.place],
        optional=[here, *imports],
        wrong=[it.place.model_copy(update={"end": None}) for it in known if it is not target],
    )


def _functions(ground: Ground, name: str) -> Iterator[_Namesake]:
    """All of that name; none if something else is called so, or a signature stands alone."""
    found = []
    for path, definition in ground.tree.definitions[name]:
        kind = ground.tree.code[path].kind(definition)
        if kind == "import":
            continue
        if kind != "function":
            return
        found.append(_Namesake(path, definition))
    yield from found


def _calls(ground: Ground, name: str) -> Iterator[_ReachingCall]:
    for path in sorted(ground.tree.holders[name]):
        if TEST_PATH.search(path) or HALF_TEST.search(path) or ASIDE_FOLDERS.search(path):
            continue
        parsed = ground.tree.code[path]
        uses = parsed.uses(name)
        for use in uses:
            if use.kind == "call" and use.inside is not None:
                yield _ReachingCall(parsed, use, uses)


# --- what it reaches ----------------------------------------------------------------------------


def _reached(ground: Ground, call: _ReachingCall, known: Sequence[_Namesake]) -> _Namesake | None:
    """The one definition that the language's own rules lead to; None if it takes a guess."""
    language = call.parsed.language
    alike = [it for it in known if ground.tree.code[it.path].language == language]
    receiver = call.use.receiver
    if receiver in _SELVES or (not receiver and language in BARE_MAY_BE_METHODS):
        found = _of_own_class(ground, call, alike)
    elif not receiver:
        found = _of_file(call, alike) or _imported(call, alike) or _of_package(call, alike)
    else:
        found = _of_named(ground, call, alike)
    return found[0] if len(found) == 1 else None


def _of_own_class(
    ground: Ground, call: _ReachingCall, known: Sequence[_Namesake]
) -> list[_Namesake]:
    """Its class has it, and nothing that may come before that class has another."""
    around = call.use.inside
    owner = around.owners[-1] if around and around.owners else ""
    own = [it for it in known if owner and it.owner == owner]
    if len(own) != 1 or own[0].path != call.parsed.path or _count(ground, owner) != 1:
        return []
    name = own[0].definition.name
    if ground.tree.may_lose(name) or _may_be_anothers(call, own[0].definition):
        return []
    tree, others = ground.tree, [it.owner for it in known if it is not own[0]]
    if any(tree.ancestry.may_override(it, owner) for it in others):
        return []
    if has_nameless_heir(tree, {owner, *tree.ancestry.below(owner)}, name):
        return []
    return own


def _may_be_anothers(call: _ReachingCall, own: Definition) -> bool:
    """Or nobody's: of another object than one of its class, or of a variable."""
    use, parsed = call.use, call.parsed
    if not use.receiver and any(_is_variable(it, use.inside) for it in call.uses):
        return True
    return _has_own_self(parsed, use.at, own.name) or any(
        it is None or _is_of_class(parsed, it) or _has_own_self(parsed, it.at, it.name)
        for it in (use.inside, own)
    )


def _has_own_self(parsed: Parsed, at: int, name: str) -> bool:
    """Stands it in what may be run on another object? Java: in a class without a name."""
    types = list(parsed.types_around(at, name))
    if ("class_body", "object_creation_expression") in pairwise(types):
        return True
    return not _OWN_SELF.get(parsed.language, frozenset()).isdisjoint(types)


def _is_variable(use: NameUse, around: Definition | None) -> bool:
    """A parameter or a variable of the function, which its own call reaches first."""
    return use.kind == "other" and around is not None and around.header <= use.line <= around.end


def _is_of_class(parsed: Parsed, function: Definition) -> bool:
    """`static`; or, in Kotlin, of another: `fun Bell.day() = ring()` looks for the bell's first."""
    if parsed.language == "kotlin":
        return parsed.source[: function.at].rstrip().endswith(b".")
    told_apart = parsed.language in _TOLD_APART
    return told_apart and bool(_OF_CLASS.search(parsed.head_of(function)))


def _count(ground: Ground, owner: str) -> int:
    """Classes of that name; Rust's `impl` and C++'s outer definitions are none."""
    places = ground.tree.definitions.get(owner, ())
    return sum(ground.tree.code[path].kind(it) == "class" for path, it in places)


def _of_file(call: _ReachingCall, known: Sequence[_Namesake]) -> list[_Namesake]:
    """A function of the file's top level, whose name nothing else in the file bears."""
    if any(it.kind in ("import", "other") for it in call.uses):
        return []
    here = [it for it in known if it.path == call.parsed.path]
    return here if all(not it.owner for it in here) else []


def _imported(call: _ReachingCall, known: Sequence[_Namesake]) -> list[_Namesake]:
    if call.parsed.language not in _IMPORTING or any(it.kind == "other" for it in call.uses):
        return []
    imports = [it for it in call.uses if it.kind == "import"]
    if len(imports) != 1 or any(it.kind == "definition" for it in call.uses):
        return []
    module = module_at(call.parsed, imports[0].at, known[0].definition.name) if known else None
    if module is None:
        return []
    return [it for it in known if not it.owner and means(module, call.parsed.path, it.path)]


def _of_package(call: _ReachingCall, known: Sequence[_Namesake]) -> list[_Namesake]:
    """Go: a function of the same folder."""
    if call.parsed.language != "go" or any(it.kind != "call" for it in call.uses):
        return []
    folder = call.parsed.path.rpartition("/")[0]
    return [it for it in known if not it.owner and it.path.rpartition("/")[0] == folder]


def _of_named(ground: Ground, call: _ReachingCall, known: Sequence[_Namesake]) -> list[_Namesake]:
    """`Shop.open()`, `Shop::open()`: a class defined once; `shop.Open()`: a package of Go."""
    last = re.split(r"\.|::|->|\\", call.use.receiver)[-1]
    if call.parsed.language == "go":
        if f'/{last}"'.encode() not in call.parsed.source:
            return []
        return [it for it in known if not it.owner and it.path.split("/")[-2:-1] == [last]]
    if not last[:1].isupper() or _count(ground, last) != 1:
        return []
    return [it for it in known if it.owner == last]


KIND = Kind(kind="which_definition", subjects=_subjects, ask=_ask)
