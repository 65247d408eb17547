"""Which file do lines belong to that are written without one?

That of the heading, list item or object above them, unless their own sentence leads into another.
A path in brackets, or with lines of its own, is mostly an aside: "`f` (line 347, `g` in b.rs:101),
`h` (line 353)" leaves its reader in the file that it began in. Where two files have an equal claim,
both are kept: the nearer lines decide which goes first, and nobody is accused by that choice.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from runner.grounding.commit_files import PathIndex
from runner.grounding.mentions import Tie
from runner.grounding.patterns import SENTENCE_END, LineRange

FAR = 600
"""Characters: what lies further apart is not said in one breath. It bounds every look back, so that
no text takes quadratic time."""
MOST_DOUBTS = 20_000
"""Bare numbers of a document that are looked at. An answer has hundreds; a text of millions would
take minutes. With more, it is not read a second time either."""
MOST_CHUNKS = 120_000
"""Of a document: paragraphs, list items, cells, lines of fences. What goes on after that is no
answer. More than half as many are not read a second time, though what stands behind them tells
more, and that is said."""
MOST_CANDIDATES = 12
"""Files remembered for lines that are written without a path."""
_REMEMBERED = 8
"""Lines of a file that later ones are compared with, the latest."""
_NEAR, _APART = 80, 200
"""Lines: so near to others of its file, a line is likely to be one of them; so far away, not."""
_VERY_NEAR = 12
_FIRM = 6
"""Times as far may a number be from other lines of the file that the text is about."""
_SOON = 250
"""Characters behind a path that says where we are."""
_LATEST = 4
"""Files of a document that a line may belong to where nothing says which."""
MOST_ANSWERS = 100_000
"""Answers of a document that are kept, to be compared. It bounds the memory: with more, it is read
again without a look at them."""
_BRACKET = re.compile(r"`[^`\n]{1,200}`|[()\[\]]")
_LEAD = re.compile(
    r"""
    (?>
    (?!(?:That|This|It|There|Calls|Uses|Invokes|Imports|Wraps|Mirrors|Follows|Reads|Then)\b)
    (?: [^a-z\s]*[A-Z_`][^\s]{0,80} | [^\w\s]{1,8} | \d{1,3}[.)]?          # `Shop`, **, 1.
      | (?:in|at|the|file|see|from|is|of|inside|within|and|method|function|class|struct|module
        |defined|lives|located|found|path|line|lines)[,:]?
      | [\w.]{0,60}_[\w.()]{0,60} | [a-z]+[A-Z][\w.()]{0,60} | [\w.]{1,60}\(\)
    ) \s*+
    )*+
    """,
    re.X,
)
_LONGEST_LEAD = 160


Distance = Callable[[str, int], int | None]
"""Lines from a line of a path to the nearest that is cited; None if there is none."""
T = TypeVar("T")
DistanceQuestion = Callable[[Distance], T]


class Seen:
    """The files that a document has named so far, the lines cited of each, and short names."""

    def __init__(self, index: PathIndex, whole: Seen | None = None) -> None:
        self.index = index
        self.aliases: dict[str, str] = dict(whole.aliases) if whole else {}
        """`RTAF` -> `internal/ReflectiveTypeAdapterFactory.java`, where a text says so."""
        self.default: str | None = None
        """The file of all lines without one, where the text says so of its section."""
        self.is_cut = False
        """There are more chunks than are read."""
        self.unsure = False
        """Lines to come may tell what a number is, or whose."""
        self._chunks = 0
        self._doubts = 0
        self._lines: dict[str, list[int]] = {}
        self._whole: dict[str, list[int]] = {}
        """Of the whole document, in order; empty if it is read for the first time."""
        self._paths: dict[str, None] = {}
        if whole:
            self._whole = {path: sorted(lines) for path, lines in whole._lines.items()}
        self._answered: list[tuple[DistanceQuestion[object], object]] = []
        """What was asked of the lines cited so far. Once all are known, another answer to any of it
        is what a second reading is for."""

    @property
    def paths(self) -> tuple[str, ...]:
        """As written, the latest first."""
        return tuple(reversed(self._paths))

    def name(self, path: str) -> None:
        self._paths.pop(path, None)
        self._paths[path] = None
        # Unbounded, a text of nothing but paths would take quadratic time.
        if len(self._paths) > MOST_CANDIDATES:
            del self._paths[next(iter(self._paths))]

    def doubt(self) -> None:
        """One more number is looked at that may be a line."""
        self._doubts += 1

    @property
    def is_spent(self) -> bool:
        """No more such numbers are looked at."""
        return self._doubts >= MOST_DOUBTS

    def begin_chunk(self) -> bool:
        """False if no more of them are read."""
        self._chunks += 1
        self.is_cut = self._chunks > MOST_CHUNKS
        return not self.is_cut

    def again(self) -> Seen | None:
        """What to read the document anew with; None if that would say the same.

        What a number is, or whose line, may be told by lines that are cited behind it.
        """
        if not self.unsure or not (self._lines or self.aliases):
            return None
        again = Seen(self.index, whole=self)
        if not self.aliases and not self._changes(again):
            return None
        if self.is_spent or self._chunks > MOST_CHUNKS // 2:
            self.is_cut = True
            return None
        return again

    def _changes(self, again: Seen) -> bool:
        """As long as no answer is another, all is read and cited as before."""
        is_known = len(self._answered) < MOST_ANSWERS
        answered = self._answered
        return not is_known or any(ask(again.distance) != answer for ask, answer in answered)

    def ask(self, question: DistanceQuestion[T]) -> T:
        """The answer by the lines that are cited so far, here and in a first reading."""
        answer = question(self.distance)
        if len(self._answered) < MOST_ANSWERS:
            self._answered.append((question, answer))
        return answer

    def note(self, path: str, lines: Iterable[LineRange]) -> None:
        cited = self._lines.setdefault(self._key(path), [])
        for interval in lines:
            cited += interval

    def distance(self, path: str, line: int) -> int | None:
        """To the nearest line cited of this file, before or behind; None if there is none."""
        key = self._key(path)
        near = self._lines.get(key, [])[-_REMEMBERED:]
        whole = self._whole.get(key)
        if whole:
            place = bisect.bisect_left(whole, line)
            near += whole[max(0, place - 1) : place + 1]
        if not near:
            return None
        return min([abs(line - cited) for cited in near])

    def is_near(self, path: str, line: int, limit: int) -> bool:
        return self.ask(lambda distance: _is_within(distance(path, line), limit))

    def nearest(
        self, latest: Iterable[str], line: int, limit: int, distance: Distance
    ) -> str | None:
        """Of the paths named last, the file with the nearest lines, if no other has some about as
        near.
        """
        # Each file as it was written last.
        files = {self._key(path): path for path in reversed(tuple(latest))}.values()
        distances = ((distance(path, line), path) for path in files)
        near = sorted((lines, path) for lines, path in distances if lines is not None)
        if not near or near[0][0] > limit:
            return None
        if len(near) > 1 and near[1][0] <= 3 * near[0][0] + _VERY_NEAR:
            return None
        return near[0][1]

    def _key(self, path: str) -> str:
        return self.index.resolve(path).path


class Above(NamedTuple):
    """What stands above a chunk."""

    file: str | None
    """To which its lines without one belong."""
    sure: bool
    """A heading, an item or an object is about that file; it was not only named last."""
    seen: Seen
    main: bool = False
    """What stands above began with it: less than being about it, more than naming it last."""


class Owner(NamedTuple):
    """The file of lines that are written without one."""

    path: str
    rivals: tuple[str, ...]
    """Files with an equal claim."""
    in_sentence: bool
    """The path stands in the same sentence, before the lines."""
    firm: bool = False
    """What the text is about just here: the subject above, or where the sentence says we are."""

    @property
    def tied(self) -> Tie:
        return "sentence" if self.in_sentence else "context"

    def others(self, seen: Seen) -> tuple[str, ...]:
        """Files that the lines may belong to instead, its rivals first."""
        return tuple(dict.fromkeys((*self.rivals, *seen.paths)))


class _OwnerClaim(NamedTuple):
    """A path of the chunk that lines behind it may belong to."""

    path: str
    end: int
    leads: bool
    """Nothing is said before it: what follows is about it."""
    bare: bool
    """It has no lines of its own: it says where we are, not what is elsewhere."""
    outside: bool
    """It stands in no bracket."""


class _Dispute(NamedTuple):
    """Whose is a line: a file's, or a rival's?"""

    path: str
    rivals: tuple[str, ...]
    line: int
    sure: bool
    latest: tuple[str, ...]
    """Paths named by then."""

    def won_by(self, seen: Seen, distance: Distance) -> str | None:
        """None if the file's own claim stands."""
        own = distance(self.path, self.line)
        if own is not None and own <= _APART:
            return None
        seen.unsure = True
        for rival in self.rivals:
            lines = distance(rival, self.line)
            if lines is None:
                continue
            if lines <= _NEAR or (own is not None and lines * 3 < own):
                return rival
        if own is None or self.sure:
            return None
        return seen.nearest(self.latest, self.line, _VERY_NEAR, distance)


class Owners:
    """Follows a chunk from its beginning to its end: every call's position is behind the last."""

    def __init__(self, text: str, above: Above) -> None:
        self.text = text
        self.inherited, self.sure, self.seen, self.main = above
        self.claims: list[_OwnerClaim] = []
        self.current: _OwnerClaim | None = None
        self._unplaced: list[tuple[str, int, int, bool]] = []
        """Paths named since the last lines without one: most chunks have no such lines at all."""
        self._local: dict[int, _OwnerClaim] = {}
        """The path named last within a bracket, by where that begins."""
        self._begun: set[int] = set()
        """Brackets that begin with lines: their paths are asides."""

    @cached_property
    def _brackets(self) -> _Brackets:
        return _Brackets(self.text)

    def name(self, path: str, begin: int, end: int, *, bare: bool) -> None:
        """A path stands here."""
        self._unplaced.append((path, begin, end, bare))

    def lead(self) -> str | None:
        """The path that the chunk begins with, and is about."""
        if self.claims:
            return self.claims[0].path if self.claims[0].leads else None
        # Most chunks end here, and need not know the brackets around their paths.
        for path, begin, _, _ in self._unplaced[:1]:
            return path if self._is_lead(begin) else None
        return None

    def _place_named(self) -> None:
        for path, begin, end, bare in self._unplaced:
            self._place(path, begin, end, bare=bare)
        self._unplaced.clear()

    def _place(self, path: str, begin: int, end: int, *, bare: bool) -> None:
        around = self._brackets.around(begin)
        leads = not self.claims and self._is_lead(begin)
        claim = _OwnerClaim(path, end, leads, bare, not around)
        self.claims.append(claim)
        if not around:
            if bare or leads or not self.sure:
                self.current = claim
        elif around[-1] not in self._begun:
            self._local[around[-1]] = claim
            if leads or not (self.sure or self._is_set()):
                self.current = claim

    def _is_set(self) -> bool:
        return self.current is not None and self.current.bare

    def _is_lead(self, begin: int) -> bool:
        """Nothing before the path is a sentence's verb: "**The shop** (", "In `"."""
        if begin > _LONGEST_LEAD:
            return False
        lead = _LEAD.match(self.text, 0, begin)
        return lead is not None and lead.end() == begin

    def of(self, begin: int, line: int, *, listed: bool = False) -> Owner | None:
        """The file of lines that begin here.

        `listed`: they are written as `:42`, which goes on from a `path:lines` of its sentence.
        """
        self._place_named()
        local = self._within(self._brackets.around(begin))
        claim = local or self._current_at(begin, listed=listed)
        default = self.seen.default
        if (
            local is None
            and default
            and not self.sure
            and not (claim and self._is_of_same_file(claim, begin))
        ):
            found = self._by_distance(default, self._named_with(default, begin), line)
            return Owner(*found, in_sentence=False, firm=found[0] == default)
        if claim is None:
            return self._inherited_owner(begin, line)
        in_sentence = self.is_one_sentence(claim.end, begin)
        found = claim.path, self._rivals(claim.path, begin)
        alone = not self.sure and all(one.path == claim.path for one in self.claims[-8:])
        soon = not self.sure and begin - claim.end < _SOON
        near_bare = claim.bare and (in_sentence or alone or soon)
        is_said = claim.leads or near_bare or (in_sentence and listed and claim.outside)
        if local is None and not is_said:
            found = self._by_distance(*found, line)
        return Owner(*found, in_sentence, firm=is_said and found[0] == claim.path)

    def _is_of_same_file(self, claim: _OwnerClaim, begin: int) -> bool:
        """`same file :115`, or a file named for what follows it."""
        return claim.bare and (begin - claim.end < 4 or self.is_one_sentence(claim.end, begin))

    def _inherited_owner(self, begin: int, line: int) -> Owner | None:
        if self.inherited is None:
            return self._near_alone(line, _NEAR)
        found = self.inherited, self._rivals(self.inherited, begin)
        # The file named last, with no lines of its own so far: these are its first.
        inherited = self.inherited
        if self.sure or self.seen.ask(lambda distance: distance(inherited, line) is not None):
            found = self._by_distance(*found, line)
        return Owner(*found, in_sentence=False, firm=self.sure and found[0] == self.inherited)

    def near(self, begin: int, line: int, limit: int) -> Owner | None:
        """The file of a number that is a line only if it is near others of its file."""
        owner = self.of(begin, line)
        if owner is None:
            return self._near_alone(line, limit)
        if owner.firm and self.seen.is_near(owner.path, line, _limit(line, limit * _FIRM)):
            return owner
        paths = (owner.path, *owner.rivals)
        limit = _limit(line, limit)
        limits = [limit] * len(paths)
        if not owner.in_sentence and not self.sure:
            limits[1:] = [min(limit, _VERY_NEAR)] * (len(paths) - 1)
        near = self.seen.ask(lambda distance: _first_near(paths, limits, line, distance))
        if near is None:
            self.seen.unsure = True
            return None
        others = tuple(path for path in paths if path != near)
        return owner._replace(path=near, rivals=others)

    def _near_alone(self, line: int, limit: int) -> Owner | None:
        """The only file cited so far that has lines near this one."""
        seen, paths, limit = self.seen, self.seen.paths, _limit(line, limit)
        found = None
        if paths:
            found = seen.ask(lambda distance: seen.nearest(paths, line, limit, distance))
        if found is None:
            seen.unsure = True
            return None
        return Owner(found, (), in_sentence=False)

    def _within(self, around: list[int]) -> _OwnerClaim | None:
        """The path named last in the innermost bracket that names one."""
        for bracket in reversed(around):
            if bracket in self._local:
                return self._local[bracket]
            self._begun.add(bracket)
        return None

    def _current_at(self, begin: int, *, listed: bool) -> _OwnerClaim | None:
        last = next(reversed(self.claims), None)
        goes_on = listed and last is not None and (last.outside or last.bare)
        if last and goes_on and self.is_one_sentence(last.end, begin):
            return last
        current = self.current
        about = self.sure or (self.main and current is not None and not current.bare)
        if current is None or not about or current.leads:
            return current
        if self.is_one_sentence(current.end, begin):
            return current
        return None

    def _rivals(self, path: str, begin: int) -> tuple[str, ...]:
        """Files named in the same sentence, and the one it is about."""
        rivals = dict.fromkeys(self._named_with(path, begin))
        if self.sure and self.inherited:
            rivals[self.inherited] = None
        elif not self.claims:  # the file named last, of those above
            rivals.update(dict.fromkeys(self.seen.paths[:_LATEST]))
        rivals.pop(path, None)
        return tuple(rivals)

    def _named_with(self, path: str, begin: int) -> tuple[str, ...]:
        """Other files named in the sentence, the latest first."""
        claims = [one for one in self.claims[-4:] if self.is_one_sentence(one.end, begin)]
        named = dict.fromkeys(one.path for one in reversed(claims))
        named.pop(path, None)
        return tuple(named)

    def _by_distance(
        self, path: str, rivals: tuple[str, ...], line: int
    ) -> tuple[str, tuple[str, ...]]:
        """The rival goes first whose other lines are near, if the file's own are not."""
        seen = self.seen
        dispute = _Dispute(path, rivals, line, self.sure, seen.paths)
        first = seen.ask(lambda distance: dispute.won_by(seen, distance))
        return (path, rivals) if first is None else _first(first, (path, *rivals))

    def is_one_sentence(self, begin: int, end: int) -> bool:
        return end - begin < FAR and not SENTENCE_END.search(self.text, begin, end)


def _is_within(distance: int | None, limit: int) -> bool:
    return distance is not None and distance <= limit


def _first_near(
    paths: Sequence[str], limits: Sequence[int], line: int, distance: Distance
) -> str | None:
    """The first with lines as near as its limit."""
    for path, limit in zip(paths, limits, strict=True):
        if _is_within(distance(path, line), limit):
            return path
    return None


def _first(path: str, others: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    return path, tuple(other for other in others if other != path)


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


def _limit(line: int, limit: int) -> int:
    """Small numbers are counts more often than lines."""
    return min(limit, line // 2)


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
