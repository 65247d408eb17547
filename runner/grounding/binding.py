"""Whose are lines that stand without a path, and is a bare number a line at all?

Each file that may be meant gets points for where the text names it and for how near its other
cited lines are; the most win. The runners-up are kept: a verdict tries them before it accuses.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from runner.grounding.commit_files import PathIndex
from runner.grounding.line_evidence import CLEAR, ENOUGH, FAR, Around, is_one_sentence, points_of
from runner.grounding.mentions import Cite
from runner.grounding.patterns import (
    DEFAULT_AFTER,
    DEFAULT_BEFORE,
    LEAD,
    QUALIFIED,
    RESPECTIVELY,
    LineRange,
)
from runner.grounding.text_tokens import Piece, Token

_SOON = 250
"""Characters behind a path that says where we are."""
MOST_CANDIDATES = 12
"""Files remembered for lines that are written without a path."""
_LATEST = 4
_LONGEST_LEAD = 160
_BRACKET = re.compile(r"`[^`\n]{1,200}`|[()\[\]]")

# --- points of a file ---------------------------------------------------------------------------

_IN_BRACKET, _GOES_ON, _SAID, _SOON_AFTER = 6.0, 5.5, 5.2, 4.5
"""Named in the same bracket; `:42` behind `a.py:3`; the sentence leads into it; just before."""
_DEFAULT, _SUBJECT, _MEMBER = 4.4, 4.2, 3.9
"""The text says whose lines are; the heading, item or object above; `Shop.open` of Shop.java."""
_BESIDE, _HERE, _ASIDE, _MAIN, _LAST = 3.4, 2.8, 2.5, 2.4, 2.0
"""In the sentence, with lines of its own; before it; in a bracket there; what the section began
with; the latest."""
_BEHIND, _BEFORE, _SOMEWHERE = 1.5, 1.0, 0.1
"""What follows in the sentence; anything before, where something else is the subject; above."""
_PASSED = 0.3
"""Less for each path that stands between."""
_FIRM = 4.0
"""Points of what the text is about just here."""
_LEAST = 1.0
"""Points without which a file that was named anywhere is none's."""
_RIVAL = 2.5
"""Points behind the first: so near, either may be meant."""
_NEARNESS = ((12, 2.0), (80, 1.3), (200, 0.0))
"""Lines to the nearest other of the file, and its points; a file cited elsewhere loses some."""
_ELSEWHERE = -1.2
_LESS_FOR_FIRM = 0.5


class Above(NamedTuple):
    """What stands above a piece."""

    file: str | None = None
    sure: bool = False
    """A heading, an item or an object is about that file; it was not only named last."""
    main: bool = False
    """What stands above began with it: less than being about it, more than naming it last."""


class KnownLines:
    """The files that a document has named so far, and the lines that it cites of each."""

    def __init__(self, index: PathIndex, pieces: Iterable[Piece] = ()) -> None:
        self.index = index
        self.default: str | None = None
        """The file of all lines without one, where the text says so of its section."""
        self._paths: dict[str, None] = {}
        self._bound: dict[str, list[int]] = {}
        self._written: dict[str, list[int]] = {}
        for piece in pieces:
            for token in piece.tokens:
                if token.path and token.lines:
                    cited = self._written.setdefault(self.key(token.path), [])
                    cited += (line for lines in token.lines for line in lines)
        for cited in self._written.values():
            cited.sort()

    @property
    def paths(self) -> tuple[str, ...]:
        """As written, the latest first."""
        return tuple(reversed(self._paths))

    @property
    def latest(self) -> str | None:
        return next(reversed(self._paths), None)

    def name(self, path: str) -> None:
        self._paths.pop(path, None)
        self._paths[path] = None
        # Unbounded, a text of nothing but paths would take quadratic time.
        if len(self._paths) > MOST_CANDIDATES:
            del self._paths[next(iter(self._paths))]

    def note(self, path: str, lines: Iterable[LineRange]) -> None:
        """These lines without a path are taken for the file's."""
        bound = self._bound.setdefault(self.key(path), [])
        for interval in lines:
            bound += interval
        del bound[:-8]

    def distance(self, path: str, line: int) -> int | None:
        """To the nearest line cited of this file, before or behind; None if there is none."""
        key = self.key(path)
        written = self._written.get(key, ())
        place = bisect.bisect_left(written, line)
        near = [*self._bound.get(key, ()), *written[max(0, place - 1) : place + 1]]
        return min((abs(line - cited) for cited in near), default=None)

    def key(self, path: str) -> str:
        return self.index.resolve(path).path


class _PathClaim(NamedTuple):
    """A path of the piece that lines behind it may belong to."""

    path: str
    end: int
    leads: bool
    """Nothing is said before it: what follows is about it."""
    bare: bool
    """It has no lines of its own: it says where we are, not what is elsewhere."""
    bracket: int
    """Where the innermost bracket around it begins; -1 for none."""


class _Owner(NamedTuple):
    path: str
    points: float
    base: float
    """Without those for nearness."""
    rivals: tuple[str, ...]
    in_sentence: bool
    distance: int | None


class Binder:
    """Goes through one piece from its beginning to its end, and gives each token its file."""

    def __init__(self, piece: Piece, above: Above, known: KnownLines) -> None:
        self.piece = piece
        self.text = piece.masked
        self.has_loose_lines = not all(token.path for token in piece.tokens)
        self.above = above
        self.known = known
        self.claims: list[_PathClaim] = []
        self.cites: list[Cite] = []
        self.paths: list[str] = []
        self.last: Cite | None = None
        """The last citation with lines."""
        self.begun: set[int] = set()
        """Brackets that begin with lines: their paths are asides."""

    def bind(self) -> list[Cite]:
        for place, token in enumerate(self.piece.tokens):
            if token.path:
                self._take_path(token)
            elif token.kind == "same":
                self._take_same(token)
            # A link to the top of a tree, `…/blob/main/`, is a path and names no file.
            elif token.kind not in ("foreign", "path"):
                self._take_lines(token, place)
        return self.cites

    @property
    def lead(self) -> str | None:
        """The path that the piece begins with, and is about."""
        return self.claims[0].path if self.claims and self.claims[0].leads else None

    # paths

    def _take_path(self, token: Token) -> None:
        if not token.apart:
            self._name(token.path, token.begin, token.close, bare=not token.lines)
            if not token.lines and self._is_default(token):
                self.known.default = token.path
        self._cite(cite_of(token, token.path)._replace(named=not token.apart))

    def _take_same(self, token: Token) -> None:
        """`same file`: whichever was named last."""
        if path := self.known.latest:
            self._name(path, token.begin, token.close, bare=not token.lines)
            if token.lines:
                self._cite(cite_of(token, path)._replace(named=True))
                self.known.note(path, token.lines)

    def _name(self, path: str, begin: int, end: int, *, bare: bool) -> None:
        # Only lines without a path ask for it, and most pieces have none.
        around = self._brackets.around(begin) if self.has_loose_lines else ()
        bracket = around[-1] if around else -1
        leads = not self.claims and self._is_lead(begin)
        self.claims.append(_PathClaim(path, end, leads, bare, bracket))
        self.paths.append(path)
        self.known.name(path)

    def _is_lead(self, begin: int) -> bool:
        """Nothing before the path is a sentence's verb: "**The shop** (", "In `"."""
        if begin > _LONGEST_LEAD:
            return False
        lead = LEAD.match(self.text, 0, begin)
        return lead is not None and lead.end() == begin

    def _is_default(self, token: Token) -> bool:
        """The text says that all lines without a file are of this one."""
        if DEFAULT_AFTER.match(self.text, token.close):
            return True
        return bool(DEFAULT_BEFORE.search(self.text[max(0, token.begin - 120) : token.begin]))

    def _cite(self, cite: Cite) -> None:
        self.cites.append(cite)
        if cite.lines:
            self.last = cite

    # lines

    def _take_lines(self, token: Token, place: int) -> None:
        if RESPECTIVELY.match(self.text, token.close) and (paths := self._paths_of_each(token)):
            for path, lines in zip(paths, token.lines, strict=True):
                self._cite(cite_of(token, path)._replace(lines=[lines], tied="sentence"))
            return
        owner = self._owner(token, place)
        if owner is None:
            return
        if token.kind == "named" and token.symbol == stem_of(owner.path):
            token = token._replace(symbol=None, coded=True)  # `Net:133` of Net.java
        sure, firm, path_end = self.above.sure, owner.base >= _FIRM, self._path_end
        around = Around(self.text, self.last, owner.distance, sure, firm, path_end)
        evidence = points_of(token, around)
        if evidence < ENOUGH:
            return
        in_sentence = owner.in_sentence and token.form != "parens"
        guess = evidence < CLEAR and token.form in ("parens", ":")
        cite = cite_of(token, owner.path)._replace(
            tied="sentence" if in_sentence else "context",
            rivals=owner.rivals,
            others=tuple(dict.fromkeys((*owner.rivals, *self.known.paths))),
            guess=guess,
        )
        self._cite(cite)
        if not guess:
            self.known.note(owner.path, token.lines)

    def _paths_of_each(self, token: Token) -> list[str]:
        """The last paths of the sentence, if there are as many as lines."""
        recent = self.claims[-len(token.lines) :]
        is_one = all(is_one_sentence(self.text, claim.end, token.begin) for claim in recent)
        fits = len(recent) == len(token.lines) > 1 and is_one and all(it.bare for it in recent)
        return [claim.path for claim in recent] if fits else []

    @property
    def _path_end(self) -> int:
        return self.claims[-1].end if self.claims else -9

    def _owner(self, token: Token, place: int) -> _Owner | None:
        """The file with the most points, if any has a claim."""
        points = self._points(token, place)
        if not points:
            return None
        line = token.lines[0][0]
        # Each file once, as it was written last.
        best: dict[str, tuple[float, float, str, int | None]] = {}
        for path, base in points.items():
            key, distance = self.known.key(path), self.known.distance(path, line)
            one = (base + _nearness(distance, base), base, path, distance)
            best[key] = max(best.get(key, one), one, key=lambda scored: scored[0])
        ranked = sorted(best.values(), key=lambda scored: -scored[0])
        total, base, path, distance = ranked[0]
        if base <= _SOMEWHERE and total < _LEAST:
            return None
        rivals = tuple(one[2] for one in ranked[1:4] if one[0] > total - _RIVAL)
        in_sentence = any(
            claim.path == path and is_one_sentence(self.text, claim.end, token.begin)
            for claim in self.claims[-4:]
        )
        return _Owner(path, total, base, rivals, in_sentence, distance)

    def _points(self, token: Token, place: int) -> dict[str, float]:
        points: dict[str, float] = {}

        def give(path: str | None, worth: float) -> None:
            if path and points.get(path, 0.0) < worth:
                points[path] = worth

        above, around = self.above, self._brackets.around(token.begin)
        self.begun.update(set(around[-1:]) - {claim.bracket for claim in self.claims[-8:]})
        default = None if above.sure else self.known.default
        give(default, _DEFAULT)
        for worth, claim in self._claims_at(token, around):
            # What the text says of its lines, only a file that a sentence leads into can change.
            give(claim.path, min(worth, _SUBJECT) if default and not claim.bare else worth)
        if above.sure:
            give(above.file, _SUBJECT)
        else:
            give(above.file, _MAIN if above.main else _LAST)
        if member := QUALIFIED.search(self.text[max(0, token.begin - 120) : token.begin]):
            give(self._file_called(member["owner"]), _MEMBER)
        if token.kind == "named":
            give(self._file_called(token.symbol or ""), _MEMBER)
        if not points:
            give(self._path_behind(token, place), _BEHIND)
        line = token.lines[0][0]
        for path in self.known.paths[:_LATEST]:
            distance = self.known.distance(path, line)
            if distance is not None and distance <= line // 2:  # small numbers are near all others
                give(path, _SOMEWHERE)
        return points

    def _claims_at(self, token: Token, around: Sequence[int]) -> Iterator[tuple[float, _PathClaim]]:
        """The piece's paths before a token, the latest first, and what each is worth."""
        listed = token.kind == "bare" or (token.kind == "named" and token.form != "")
        recent = self.claims[-8:]
        alone = len({claim.path for claim in recent}) == 1
        passed = False
        for back, claim in enumerate(reversed(recent)):
            worth = self._worth(claim, token, around, alone=alone, listed=listed and back == 0)
            # Where a later one says where we are, an earlier one does so no more.
            worth = min(worth, _BESIDE) if passed and worth < _IN_BRACKET else worth
            passed = passed or (claim.bare and claim.bracket < 0)
            yield worth - _PASSED * back, claim

    def _worth(
        self, claim: _PathClaim, token: Token, around: Sequence[int], *, alone: bool, listed: bool
    ) -> float:
        outside, sure = claim.bracket < 0, self.above.sure
        if not outside and claim.bracket in around and claim.bracket not in self.begun:
            return _IN_BRACKET
        sentence = is_one_sentence(self.text, claim.end, token.begin)
        if listed and sentence and (outside or claim.bare):
            return _GOES_ON
        if claim.leads or (outside and claim.bare and sentence):
            return _SAID
        if claim.bare and not sure and (alone or token.begin - claim.end < _SOON):
            return _SOON_AFTER
        rest = _BEFORE if sure else (_HERE if outside else _ASIDE)
        return _BESIDE if sentence and (outside or not sure) else rest

    def _path_behind(self, token: Token, place: int) -> str | None:
        """The path that follows in the sentence."""
        for following in self.piece.tokens[place + 1 : place + 9]:
            if following.path:
                near = is_one_sentence(self.text, token.close, following.begin)
                return following.path if near else None
        return None

    def _file_called(self, name: str) -> str | None:
        """`GsonBuilder:42`: of the one file that is called so."""
        if not name[:1].isupper() or name.isupper():
            return None
        files = self.known.index.by_stem.get(name, ())
        return files[0] if len(files) == 1 else None

    @cached_property
    def _brackets(self) -> _Brackets:
        return _Brackets(self.text)


def stem_of(path: str) -> str:
    """`app` of `src/app.py`."""
    return path.replace("\\", "/").rpartition("/")[2].partition(".")[0]


def cite_of(token: Token, path: str) -> Cite:
    """A token as a citation of a file."""
    return Cite(
        begin=token.begin,
        close=token.close,
        path=path,
        lines=list(token.lines),
        ref=token.ref,
        symbol=token.symbol,
        weak=token.kind in ("named", "path") and _may_be_english(token),
    )


def _may_be_english(token: Token) -> bool:
    """`stops@:41`, but not `run()@:41`."""
    return bool(token.form) and not token.coded and "`" not in token.form


def _nearness(distance: int | None, base: float) -> float:
    if distance is None:
        return 0.0
    worth = next((worth for most, worth in _NEARNESS if distance <= most), _ELSEWHERE)
    return worth * _LESS_FOR_FIRM if base >= _FIRM else worth


class _Brackets:
    """The brackets of a text; `around` is asked from left to right."""

    def __init__(self, text: str) -> None:
        self._pairs = _pairs(text)
        self._next = 0
        self._open: list[tuple[int, int]] = []

    def around(self, at: int) -> list[int]:
        """Where the brackets around `at` begin, the outermost first."""
        while self._next < len(self._pairs) and self._pairs[self._next][0] < at:
            self._open.append(self._pairs[self._next])
            self._next += 1
        self._open = [pair for pair in self._open if pair[1] >= at]
        return [begin for begin, _ in self._open]


def _pairs(text: str) -> list[tuple[int, int]]:
    """Where brackets open and close, by where they open; long ones are none."""
    opened: list[int] = []
    pairs: list[tuple[int, int]] = []
    for token in _BRACKET.finditer(text):
        at = token.start()
        if text[at] in "([":
            opened.append(at)
        elif text[at] in ")]" and opened:
            begin = opened.pop()
            if at - begin < FAR:
                pairs.append((begin, at))
    return sorted(pairs)
