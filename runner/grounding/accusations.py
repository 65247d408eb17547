"""Why a citation that fails is no accusation: what of it is a guess of ours.

A word and lines are scored as a pair. Five signs make it a plain claim: only glue stands between
the two (`certain`), the word is written as code, it is no object of a sentence's verb, no other
name is said beside the lines, and the file defines it, or nothing in the tree has it. Where more
than one is missing, or where another pair fits (a name said beside the lines stands there), the
citation is no accusation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from runner.grounding.mentions import Mention
from runner.grounding.naming import is_compound, symbol_of
from runner.grounding.nearness import has_longer_word_near, has_mute_word_near, is_wide, kind_near
from runner.grounding.outlines import Outline
from runner.grounding.patterns import LineRange
from runner.grounding.pointing import TOLERANCE
from runner.grounding.spelling import MARK, parts_of
from runner.grounding.symbols import SourceFile

_MOST_MISSING = 1
"""Signs of a plain claim that an accusation may lack."""
_MOST_NAMES = 40
"""Words beside a citation that are looked for at its lines."""
_SHORTEST = 4
"""Letters: `get` and `run` are said of everything, and count at their very definition only."""
_WORD = re.compile(r"[^\W\d]\w{0,80}(?:(?:::|[.#])\w{1,80}){0,8}")
_SAID = re.compile(rf"`(?P<code>[^`\n]{{1,100}})`|{_WORD.pattern}")


_TO_BE_WRITTEN = re.compile(r"(?:My|Your|New|Custom|Example)(?=[A-Z]|$)")
"""`NewProvider.call`, in an answer that says where a provider is added."""


def doubts_of_word(
    mention: Mention, file: SourceFile, in_tree: Callable[[str], bool]
) -> Iterator[str]:
    """The lines exist, and the word that is not near them is a guess, or stands there unseen."""
    symbol, lines = mention.symbol, mention.lines
    if symbol is None or lines is None:
        return
    places = file.places(symbol)
    if places.unheard:  # An owner who is nowhere is an invention, unless it is yet to be written.
        if _TO_BE_WRITTEN.match(places.unheard):
            yield f"{places.unheard} may be a name for what somebody is to write"
        return
    if has_mute_word_near(file, symbol, lines):
        yield f"near the lines {symbol} is a word of a comment or a string"
    if has_longer_word_near(file, symbol, lines):
        yield f"near the lines stands a longer word than {symbol}, or one of another case"
    if is_wide(lines) and places.bodies.gap_to(lines) == 0:
        yield f"{symbol} is among the lines, which are too many to point at it"
    yield from _doubts_of_place(file, symbol, lines, in_tree)
    others = list(islice(_names_beside(mention), _MOST_NAMES))
    inner = islice(_words_in_code(mention), _MOST_NAMES)
    fits = next((name for name in (*others, *inner) if _stands_near(file, name, lines)), None)
    if fits:
        yield f"the lines may be of {fits}, which stands there"
        return
    missing = mention.loose + any(map(_is_code, others)) + (not _is_known(file, symbol, in_tree))
    if mention.weak or not mention.certain or missing > _MOST_MISSING:
        yield f"the text may mean {mention.other_word or 'another word'} and not {symbol}"


def _doubts_of_place(
    file: SourceFile, symbol: str, lines: LineRange, in_tree: Callable[[str], bool]
) -> Iterator[str]:
    """The lines are what the word is part of, or the word is what they are part of."""
    *owners, name = parts_of(symbol)
    if not owners and _holds_member(file, symbol, lines):
        yield f"the lines are in a member of {symbol}"
    owner = next((owner for owner in owners if _begins_at(file, owner, lines)), None)
    if owner and in_tree(MARK.sub("", name)):
        yield f"{owner} stands there, whose {name} may be meant"
    holder = _head_above(file, symbol, lines)
    if holder:
        yield f"the lines are the head of {holder}, which holds {symbol}"
    if lines == (1, 1) and file.places(symbol).words:
        yield f"line 1 may stand for the whole file, which has {symbol}"
    if not owners and name in file.path.split("/")[:-1]:
        yield f"{name} is the folder of the file"
    stranger = next((owner for owner in owners if _is_strange(file, owner)), None)
    if stranger and not file.places(symbol).definitions:
        yield f"{stranger} is no name of this file: what is said may be of another"


def _begins_at(file: SourceFile, owner: str, lines: LineRange) -> bool:
    return file.places(owner).headers.gap_to(lines) == 0


def _head_above(file: SourceFile, symbol: str, lines: LineRange) -> str | None:
    """`Shop.stock` at `class Shop:`: who cites where a body begins means what stands in it."""
    outline = file.outline
    if not isinstance(outline, Outline):
        return None
    places = file.places(symbol)
    inside = [places.headers, places.used]
    if not places.definitions:
        inside.append(places.written)
    for one in outline.definitions:
        if one.header <= lines[0] <= one.line < one.end:
            body = one.line + 1, one.end
            if any(ranges.gap_to(body) == 0 for ranges in inside):
                return one.name
    return None


def _is_strange(file: SourceFile, owner: str) -> bool:
    """A type or an attribute of another file; one small word may be an instance."""
    return (owner[:1].isupper() or is_compound(owner)) and not file.is_at_home(owner)


def _is_known(file: SourceFile, symbol: str, in_tree: Callable[[str], bool]) -> bool:
    """The file defines it, or it is an invention whichever file is meant."""
    return bool(file.places(symbol).definitions) or not in_tree(MARK.sub("", parts_of(symbol)[-1]))


def _holds_member(file: SourceFile, owner: str, lines: LineRange) -> bool:
    """Methods of Go and Rust stand outside of their type."""
    outline = file.outline
    if not isinstance(outline, Outline) or not outline.has_owner(owner):
        return False
    start, end = lines
    return any(
        owner in one.owners and one.start <= end and start <= one.end for one in outline.definitions
    )


def _names_beside(mention: Mention) -> Iterator[str]:
    """Each other name, and each longer word, that is said with the citation."""
    own = parts_of(mention.symbol or "")[-1]
    seen = {own, mention.symbol}
    for found in _SAID.finditer(f"{mention.said} {mention.beside}"):
        name = symbol_of(found["code"]) if found["code"] else None
        words = [name] if name else _WORD.findall(found[0])
        for word in words:
            if word not in seen and parts_of(word)[-1] != own:
                seen.add(word)
                yield word


def _words_in_code(mention: Mention) -> Iterator[str]:
    """`query` of `` `model.open { query(it) }` ``, whose name is `model.open`."""
    own = parts_of(mention.symbol or "")[-1]
    for found in _SAID.finditer(f"{mention.said} {mention.beside}"):
        words = _WORD.findall(found["code"] or "")
        yield from (word for word in words if parts_of(word)[-1] != own)


def _is_code(name: str) -> bool:
    return is_compound(name)


def _stands_near(file: SourceFile, name: str, lines: LineRange) -> bool:
    """A name at the lines; of a word that may be English, only a definition."""
    if is_compound(name):
        return kind_near(file, name, lines) in ("definition", "use", "literal")
    gap = file.places(name).headers.gap_to(lines)
    return gap is not None and gap <= (TOLERANCE if len(name) >= _SHORTEST else 0)
