"""Citations against a commit: path, lines, symbol -> status, and an answer's rates.

Decisions that the design (docs/citations.md) leaves open:

- Counted once per answer: the same lines of the same file count once, whatever the spelling of the
  path. A second symbol for them is another citation only if it is not there: repeating a truth
  earns nothing, and a valid symbol cannot hide an invalid one.
- A reversed range is read as the range it spans (`60-42`), or as shorthand (`1476-80`).
- A range of more than WIDE_LINES points nowhere: its symbol is measured from its two ends, or
  `a.py:1-99999` would be near every symbol. It earns no must-cite recall either.
- `hallucinated` is an accusation and rests on no guess of ours. Lines written apart from their path
  may belong to another file that the text names, a word tied to them only by loose glue may not be
  the one that is meant: a citation that fails so is unresolved (`binding`), with what else may be
  meant. It stays in the denominator of every rate, so that loose writing gains nothing.
- Chance rate: the share that would have been grounded with each citation's interval moved to a
  uniformly random place of the same file. Computed exactly, from the lines that each symbol
  reaches; an unresolved path has no file and scores 0.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, count, takewhile
from pathlib import Path

from pydantic import ValidationError

import runner
from runner.grounding.accusations import doubts_of_word
from runner.grounding.binding import MOST_CANDIDATES, stem_of
from runner.grounding.cache import Cache
from runner.grounding.claims import (
    Claim,
    ClaimCheck,
    check_lines,
    ends_behind_the_last,
    missing_lines,
)
from runner.grounding.commit_files import PathIndex, Resolved
from runner.grounding.extract import Extracted, read_all
from runner.grounding.language import FOLDER
from runner.grounding.mentions import Mention
from runner.grounding.naming import is_compound
from runner.grounding.outlines import outline_of
from runner.grounding.overlap import Overlap
from runner.grounding.patterns import LineRange
from runner.grounding.pointing import TOLERANCE
from runner.grounding.rates import (
    Verified,
    distinct,
    fails,
    is_read,
    must_cite_recall,
    summarise,
)
from runner.grounding.shifts import Shifts
from runner.grounding.specificity import Chances
from runner.grounding.spelling import MARK, is_sign, parts_of
from runner.grounding.symbols import SourceFile, as_utf8
from runner.grounding.tails import FullPaths
from runner.grounding.type_heads import TypeHeads
from runner.grounding.vocabulary import Vocabulary
from runner.grounding.word_lists import BUILTINS, LITERALS
from runner.protocols import Files
from runner.records import Citation, GroundingSummary, Record, digest_of
from runner.support.code_digest import definitions_digest
from runner.support.collecting import uncollected

__all__ = ["Grounding", "cited_files", "ground", "must_cite_recall", "step_citations"]


class Grounding(Record):
    """What an answer cites, each citation once, in order; and the rates."""

    citations: tuple[Citation, ...]
    """Files cited without a line are listed, with start None, and not counted."""
    summary: GroundingSummary
    by_step: tuple[tuple[str, ...], ...]
    """For each text given: the distinct files it cites, with or without a line."""
    steps: tuple[tuple[Citation, ...], ...] = ()
    """For each of several texts: what it cites by itself, each citation once. Empty for one text,
    whose citations are the answer's."""


def step_citations(grounding: Grounding) -> tuple[tuple[Citation, ...], ...]:
    """For each text, its citations as if it were the whole answer."""
    if len(grounding.by_step) == 1:
        return (grounding.citations,)
    return grounding.steps


def cited_files(grounding: Grounding) -> tuple[int, ...]:
    """For each text, how many distinct files of the commit it cites, with or without a line."""
    return tuple(len(paths) for paths in grounding.by_step)


def ground(
    text: str | Sequence[str],
    files: Files,
    *,
    roots: Sequence[str] = (),
    cache_dir: Path | None = None,
    repo_urls: Sequence[str] = (),
) -> Grounding:
    """Verify every citation of an answer (one text, or one for each step) against a commit.

    `roots` are absolute paths the text may use for the repository, besides the sandbox's own. With
    `cache_dir`, parsed outlines and whole results are kept there: a result is named by everything
    it follows from (commit, texts, roots, URLs and this package's own code).
    """
    texts = (text,) if isinstance(text, str) else tuple(text)
    with Cache(cache_dir) as kept, uncollected():
        if cache_dir is None:
            return _Verifier(files, roots, kept, repo_urls).verify(texts)
        parts = _digest((_rules_digest(kept),), texts, (files.commit,), roots, repo_urls)
        key = f"result {parts}"
        grounding = _from_json(kept.get(key))
        if grounding is None:
            grounding = _Verifier(files, roots, kept, repo_urls).verify(texts)
            kept.put(key, grounding.model_dump_json().encode())
    return grounding


def _digest(*groups: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for group in groups:
        for part in group:
            data = part.encode("utf-8", "surrogatepass")
            # With the length, "ab" and "c" cannot be taken for "a" and "bc".
            digest.update(b"%d:" % len(data) + data)
        digest.update(b";")
    return digest.hexdigest()


def _from_json(data: bytes | None) -> Grounding | None:
    """A cached result; None if there is none or it is damaged."""
    if not data:
        return None
    try:
        return Grounding.model_validate_json(data)
    except ValidationError:
        return None


def _rules_digest(kept: Cache) -> str:
    # A changed rule, language or record must not be answered from an old result.
    return digest_of([_code_digest(kept), _languages_digest()])


@cache
def _languages_digest() -> str:
    return digest_of([path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*/*.*"))])


def _code_digest(kept: Cache) -> str:
    # Following all names takes .3 s of CPU, more than a short answer's citations.
    key = f"code {_bytes_digest()}"
    known = kept.get(key)
    if known is None:
        known = definitions_digest(ground).encode()
        kept.put(key, known)
    return known.decode()


_ROOMS = ("grounding", "records", "repositories", "support")
"""This one and those below it (DESIGN.md): nothing else can change a verdict."""


@cache
def _bytes_digest() -> str:
    digest = hashlib.sha256()
    top = Path(runner.__file__).parent
    for room in _ROOMS:
        for path in sorted((top / room).rglob("*.py")):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


# --- one answer -----------------------------------------------------------------------------


_MOST_KEPT = 20_000
"""Verified mentions, of about a kilobyte each."""
_SAYS_LINES = re.compile(r"\W*(?:lines?\W*\d+(?:\s?[-–—]\s?\d+)?|[Ll]\d[\d–-]*)\W*\Z", re.I)
"""`line 42`, `L42`; of `:8080`, and of all but the first of a list, only the sentence tells."""
_FEWEST_HELD = 2
_TIMES_CHANCE = 2
_NO_NAMES = BUILTINS | LITERALS


class _Verifier:
    def __init__(
        self, files: Files, roots: Sequence[str], kept: Cache, repo_urls: Sequence[str]
    ) -> None:
        self.files = files
        self.kept = kept
        self.index = PathIndex(files.paths(), roots=roots, commit=files.commit, repo_urls=repo_urls)
        self.sources: dict[str, SourceFile] = {}
        self.verified: dict[Mention, Verified] = {}
        """Of late: one is asked whether it is a good guess, fits its place, and shares a symbol."""
        self.chances = Chances()
        self.overlap = Overlap()
        self.vocabulary = Vocabulary(files, kept)
        self.type_heads = TypeHeads(files, kept)

    def verify(self, texts: Iterable[str]) -> Grounding:
        read = [read_all(text, self.index) for text in texts]
        in_full = self._in_full([one.mentions for one in read])
        steps = [list(self._verify_step(step)) for step in in_full]
        once = self._judged_once(chain.from_iterable(steps))
        shifts = Shifts(self._source, self.chances)
        return Grounding(
            citations=tuple(one.citation() for one in once),
            summary=summarise(once, shifts.rates(once), cut_at=_cut_at(read)),
            by_step=tuple(map(_files_of, steps)),
            steps=self._citations_by_step(steps),
        )

    def _citations_by_step(
        self, steps: Sequence[Sequence[Verified]]
    ) -> tuple[tuple[Citation, ...], ...]:
        if len(steps) == 1:  # written twice, a cached result would take twice the time
            return ()
        return tuple(tuple(one.citation() for one in self._judged_once(step)) for step in steps)

    def _judged_once(self, verified: Iterable[Verified]) -> list[Verified]:
        return [self._judged(one) for one in distinct(verified)]

    def _in_full(self, steps: Sequence[Sequence[Mention]]) -> Iterator[list[Mention]]:
        """Shortened paths as the answer itself writes them in full, in whichever step."""
        full = FullPaths(steps, self.index)
        places = count()
        for step in steps:
            yield [self._lengthened(mention, full.meant_by, next(places)) for mention in step]

    def _lengthened(
        self, mention: Mention, meant_by: Callable[[str, int], list[str]], place: int
    ) -> Mention:
        """If its path is a tail of several files: the first that the answer names and that bears
        it out. If none does, which is meant stays open: it is no accusation.
        """
        if mention.ref is not None or self.index.resolve(mention.path).resolution != "ambiguous":
            return mention
        for path in meant_by(mention.path, place)[:MOST_CANDIDATES]:
            lengthened = mention._replace(path=path, tail=mention.path)
            if not fails(self._verify(lengthened)):
                return lengthened
        return mention

    def _verify_step(self, mentions: list[Mention]) -> Iterator[Verified]:
        placed = list(map(self._placed, self._without_guesses(mentions)))
        for place, mention in enumerate(placed):
            shared = self._is_of_a_neighbour(placed, place)
            yield self._verify(mention._replace(certain=False) if shared else mention)

    def _without_guesses(self, mentions: list[Mention]) -> list[Mention]:
        """Drop guessed lines, unless more of them verify than numbers would that are no lines.

        Were it enough that most fail, whoever invents most of his lines would show none of them.
        """
        guesses = [mention for mention in mentions if mention.guess and mention.symbol]
        verified = [self._verify(self._placed(guess)) for guess in guesses]
        held = sum(one.held_by is not None for one in verified)
        by_chance = math.fsum(one.chance for one in verified)
        most = held * 2 > len(guesses)
        if most or (held >= _FEWEST_HELD and held > _TIMES_CHANCE * by_chance):
            return mentions
        return [mention for mention in mentions if not mention.guess]

    def _is_of_a_neighbour(self, mentions: Sequence[Mention], place: int) -> bool:
        """Places of one list share a symbol. If it is near one of them, the others may be of
        another thing: they accuse nobody, and are not believed either.
        """
        mention = mentions[place]
        if mention.symbol is None or not mention.certain or not fails(self._verify(mention)):
            return False
        shared = (other._replace(symbol=mention.symbol) for other in _sharing(mentions, place))
        return any(self._verify(other).status != "hallucinated" for other in shared)

    def _placed(self, mention: Mention) -> Mention:
        """Lines written without a path, in the file they are meant for.

        The nearest file named before them has the first claim. If they fail there, the latest other
        file in which the symbol they come with is within reach has the next. Lines with no symbol
        move only if no file stands in their sentence, and only to a file that has them. An
        invention is near nothing in any file, so it stays where it was, and shows.
        """
        if not _may_move(mention) or not fails(self._verify(mention)):
            return mention
        for path in mention.others:
            if self._may_belong(mention, path):
                moved = mention._replace(path=path)
                if self._belongs(moved):
                    return moved
        return mention

    def _belongs(self, mention: Mention) -> bool:
        citation = self._verify(mention)
        matched = citation.held_by is not None or mention.symbol is None
        return citation.status == "grounded" and matched

    def _may_belong(self, mention: Mention, path: str) -> bool:
        """False where a look at the file says so: an invented word is tried in every candidate."""
        resolved = self.index.resolve(path)
        if not self._may_hold(resolved, mention):
            return False
        return mention.symbol is None or self._source(resolved.path).has_word(mention.symbol)

    def _verify(self, mention: Mention) -> Verified:
        verified = self.verified.get(mention)
        if verified is None:
            # All of a long answer, each in every file it may belong to, would fill the memory.
            if len(self.verified) >= _MOST_KEPT:
                self.verified.clear()
            verified = self.verified[mention] = self._verify_anew(mention)
        return verified

    def _verify_anew(self, mention: Mention) -> Verified:
        claim = self._claim(mention)
        if not claim.is_resolved:
            check = ClaimCheck("unresolved", self._why_unresolved(claim))
            return claim.verified(check, weight=self._weight_of_unresolved(claim))
        if mention.lines is None:
            check = ClaimCheck("grounded", "the file exists; no line is cited")
            return claim.verified(check, weight=0.0)
        return self._verify_lines(claim, mention.lines)

    def _claim(self, mention: Mention) -> Claim:
        resolution, path = self.index.resolve(mention.path)
        if mention.tail:
            resolution = "suffix"
        if mention.ref is not None and not self.index.is_commit(mention.ref):
            resolution = "other_commit"
        return Claim(mention, path, resolution)

    def _why_unresolved(self, claim: Claim) -> str:
        if claim.resolution == "other_commit":
            return f"the link is to {claim.mention.ref}, not to this commit"
        if claim.resolution == "missing":
            return "no such file at the commit"
        return f"{self.index.count_ending_in(claim.path)} files end in this path"

    def _verify_lines(self, claim: Claim, lines: LineRange) -> Verified:
        file = self._source(claim.path)
        symbol = claim.mention.symbol
        if symbol and self._names_no_symbol(symbol, file, lines, weak=claim.mention.weak):
            claim, symbol = claim.without_symbol(), None
        check = check_lines(file, symbol, lines)
        if check.status == "hallucinated":
            check = check._replace(doubts=tuple(self._doubts(claim, file)))
        chance = weight = self.chances.of(file, symbol, lines)
        if check.match:
            weight = self.chances.of(file, symbol, lines, check.match.kind)
        elif missing_lines(file, lines):
            weight = 0.0
        return claim.verified(check, weight=1 - weight, chance=chance)

    def _judged(self, verified: Verified) -> Verified:
        """With what the lines hold of what is said of them."""
        if verified.status != "grounded" or verified.start is None or verified.end is None:
            return verified
        file = self._source(verified.path)
        lines = verified.start, verified.end
        judged = self.overlap.judge(file, f"{verified.said} {verified.symbol or ''}", lines)
        mute = self.overlap.is_mute(file, verified.said, lines)
        return verified._replace(weak=judged.is_weak, weak_share=judged.weak_share, mute=mute)

    def _weight_of_unresolved(self, claim: Claim) -> float:
        """What it would weigh in the files it may mean, on average; 1 if there are none.

        At 1 for every shortened path, the rate would tell how paths are written: bare lines, which
        weigh nothing where the path is whole, would outweigh all that an answer names.
        """
        lines, symbol = claim.mention.lines, claim.mention.symbol
        if lines is None:
            return 0.0
        weights = []
        for path in self._may_mean(claim):
            file = self._source(path)
            weight = 1 - self.chances.of(file, symbol, lines)
            weights.append(1.0 if missing_lines(file, lines) else weight)
        return math.fsum(weights) / len(weights) if weights else 1.0

    def _may_mean(self, claim: Claim) -> list[str]:
        if claim.resolution == "other_commit" and claim.path in self.index.paths:
            return [claim.path]
        return self.index.ending_in(claim.path, MOST_CANDIDATES)

    def _doubts(self, claim: Claim, file: SourceFile) -> Iterator[str]:
        lines = claim.mention.lines
        if lines and not missing_lines(file, lines):
            yield from doubts_of_word(claim.mention, file, self.vocabulary.has)
        elif lines and ends_behind_the_last(file, lines):
            yield "an editor shows an empty line behind the last line break"
        yield from self._doubts_of_file(claim)

    def _doubts_of_file(self, claim: Claim) -> Iterator[str]:
        """Lines that no path stands at may be another file's, if that has as many."""
        mention = claim.mention
        if mention.tied == "own":
            return
        if not self._may_hold(claim, mention) and not _SAYS_LINES.match(mention.written):
            yield "the number may be no line"
        label, colon, _ = mention.written.strip("`").partition(":")
        if colon and label == mention.symbol and self._names_a_stranger(claim, mention):
            yield f"{label} may be short for a file"
        if self._is_invented(mention):
            return
        rivals = dict.fromkeys(self.index.resolve(path) for path in mention.others)
        for rival in rivals:
            if self._may_hold(rival, mention) and rival.path != claim.path:
                yield f"the lines may be of {rival.path}"
                return
        if mention.tied == "context" and (
            self._may_hold(claim, mention) or self._names_a_stranger(claim, mention)
        ):
            yield f"no path stands in the sentence: another file than {claim.path} may be meant"

    def _names_a_stranger(self, claim: Claim, mention: Mention) -> bool:
        """A name of the tree that this file has nowhere: neither need its lines be of it."""
        return mention.symbol is not None and not self._source(claim.path).has_word(mention.symbol)

    def _is_invented(self, mention: Mention) -> bool:
        """True if its word stands in no file of the tree, whichever file is meant."""
        if mention.symbol is None or not mention.certain:
            return False
        return not self.vocabulary.has(MARK.sub("", parts_of(mention.symbol)[-1]))  # `saved?`

    def _may_hold(self, rival: Resolved | Claim, mention: Mention) -> bool:
        if rival.resolution not in ("exact", "suffix") or mention.lines is None:
            return False
        return not missing_lines(self._source(rival.path), mention.lines)

    def _names_no_symbol(
        self, symbol: str, file: SourceFile, lines: LineRange, *, weak: bool
    ) -> bool:
        """What looks like a symbol and is none.

        The file's own name, a module of the tree, a name of the language, a JSON key's word.
        """
        # `content-type` and `->` are names in few languages: only if the file defines them.
        if "-" in symbol or is_sign(symbol):
            return not file.places(symbol).definitions
        if lines[0] == 1 and _is_file_itself(symbol, file.path):
            # `-module(shop).` of Erlang is a definition, and stands there.
            return all(it.line > TOLERANCE for it in file.places(symbol).definitions)
        if weak and not is_compound(symbol) and symbol[0].islower():
            return not file.places(symbol).definitions
        if weak and not file.places(symbol).words:
            # Keys have names of their own: only `Engine.run` and `Engine` claim to be the file's.
            is_own = symbol.isidentifier() and not symbol[0].isupper()
            return is_own or _begins_with_a_word_of(file, symbol.rpartition(".")[2])
        if self._is_module(symbol) or symbol in _NO_NAMES or symbol.lower() == stem_of(file.path):
            return not file.places(symbol).definitions
        return False

    def _is_module(self, symbol: str) -> bool:
        """`flask.app`, if the tree has an `app.py`."""
        if "." not in symbol or not symbol.islower():
            return False
        *folders, stem = symbol.split(".")
        return stem in self.index.stems and all(map(self.vocabulary.has_name, folders))

    def _source(self, path: str) -> SourceFile:
        if path not in self.sources:
            source = as_utf8(self.files.read(path))
            sha = self.files.blob_sha(path)
            self.sources[path] = SourceFile(
                path,
                source,
                lambda: outline_of(path, source, sha, self.kept),
                self.vocabulary.has_name,
                self.type_heads.may_own,
            )
        return self.sources[path]


def _cut_at(steps: Iterable[Extracted]) -> int | None:
    """The fewest mentions that are read of a text that is not read to its end."""
    return min((len(step.mentions) for step in steps if step.is_cut), default=None)


def _files_of(verified: Iterable[Verified]) -> tuple[str, ...]:
    paths = (one.path for one in verified if is_read(one))
    return tuple(dict.fromkeys(paths))


_LONGEST_LIST = 12
"""Places before a name that may share it: it bounds the work."""


def _sharing(mentions: Sequence[Mention], place: int) -> Iterator[Mention]:
    """Those beside one that its symbol may be of: all of its list and, before it, places of the
    same name, or of no name in the file that both lean on (`a.py:3, :9, :30 — f, g and h`).
    """
    mention = mentions[place]
    before = reversed(mentions[max(0, place - _LONGEST_LIST) : place])
    yield from takewhile(lambda other: _may_share(mention, other), before)
    after = mentions[place + 1 : place + 1 + _LONGEST_LIST]
    yield from takewhile(lambda other: _is_one_list(mention, other), after)


def _may_share(mention: Mention, other: Mention) -> bool:
    if other.start is None:
        return False
    if other.symbol is None:
        return mention.tied == "sentence" and other.path == mention.path
    return other.symbol == mention.symbol


def _is_one_list(one: Mention, other: Mention) -> bool:
    # The text as written tells most neighbours apart, and a copy of each is dear.
    if not other.group or one.written != other.written:
        return False
    return one._replace(start=other.start, end=other.end) == other


def _may_move(mention: Mention) -> bool:
    if mention.start is None or mention.tied == "own":
        return False
    return mention.tied == "context" or mention.symbol is not None


def _begins_with_a_word_of(file: SourceFile, key: str) -> bool:
    """`Context.handlers_slice`: a key of a real name and a word of the answer's own."""
    parts = key.split("_")
    if not parts[0]:
        return False
    beginnings = ("_".join(parts[:count]) for count in range(1, len(parts)))
    return any(file.places(beginning).words for beginning in beginnings)


_IN_THE_PLACE_OF_A_FOLDER = {"__init__", "index", "mod"}


def _is_file_itself(symbol: str, path: str) -> bool:
    """`flask.cli` of `src/flask/cli.py`: at its first line the module is meant, and no invention,
    though a `cli` stands further down.
    """
    *folders, stem = path.rpartition(".")[0].lower().split("/")
    own = folders if stem in _IN_THE_PLACE_OF_A_FOLDER else [*folders, stem]
    said = parts_of(symbol.lower())
    return own[-len(said) :] == said
