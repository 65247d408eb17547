"""Citations against a commit: path, lines, symbol -> status, and the rates of a whole answer (DESIGN.md, Citations).

Decisions the design leaves open:

- Counted once per answer: the same lines of the same file count once, whatever the spelling of the path. A second symbol for them is
  another citation only where it does not hold: repeating a truth earns nothing, and a truth hides no invention.
- A reversed range is read as the range it spans (`60-42`), or as shorthand (`1476-80`).
- A range of more than WIDE lines points nowhere: its symbol is measured from its two ends, or `a.py:1-99999` would hold for every symbol.
  It earns no must-cite recall either.
- Chance rate: the share that would have been grounded with each citation's interval moved to a uniformly random place of the same file.
  Computed exactly, from the lines that each symbol reaches; an unresolved path has no file and scores 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from runner.code_identity import code_digest, module_files
from runner.grounding.cache import Cache
from runner.grounding.extract import extract
from runner.grounding.files import PathIndex
from runner.grounding.mentions import Mention
from runner.grounding.symbols import (
    Places,
    SourceFile,
    TextOnly,
    any_of,
    apart,
    nearest,
    outline_of,
)
from runner.grounding.words import BUILTINS
from runner.protocols import Files
from runner.records import (
    Citation,
    GroundingSummary,
    MustCite,
    Record,
    Resolution,
    Status,
    digest_of,
)

REACH = 5
"""Lines: a symbol this near is the symbol cited (seed 002; DESIGN.md, Citations)."""
WIDE = 250
"""Lines: a range longer than this points nowhere."""

HeldBy = Literal["definition", "use", "span", "text"]


class Grounding(Record):
    """What an answer cites, each citation once, in order; and the rates."""

    citations: tuple[Citation, ...]
    """Files cited without a line are listed, with start None, and not counted."""
    summary: GroundingSummary
    by_step: tuple[tuple[str, ...], ...]
    """Per text given: the distinct files it cites, with or without a line."""


class _Distances(NamedTuple):
    """Lines between the citation and the nearest of each kind; None where there is none."""

    definition: int | None
    use: int | None
    span: int | None
    text: int | None

    def held(self) -> tuple[HeldBy, int] | None:
        if self.definition is not None and self.definition <= REACH:
            return "definition", self.definition
        if self.use is not None and self.use <= REACH:
            return "use", self.use
        if self.span == 0:
            return "span", 0
        return ("text", self.text) if self.text is not None and self.text <= REACH else None


def ground(
    text: str | Sequence[str],
    files: Files,
    *,
    roots: Sequence[str] = (),
    cache_dir: Path | None = None,
    repo_urls: Sequence[str] = (),
) -> Grounding:
    """Verify every citation of an answer (one text, or one per step) against a commit.

    `roots` are absolute paths the text may use for the repository, besides the sandbox's own. With `cache_dir`, parsed outlines and whole
    results are kept there: a result is named by everything it follows from (commit, texts, roots, URLs and this package's own code).
    """
    texts = (text,) if isinstance(text, str) else tuple(text)
    with Cache(cache_dir) as memory:
        key = "result " + _digest((_rules_digest(),), texts, (files.commit,), roots, repo_urls)
        kept = _kept(memory.get(key))
        if kept is None:
            kept = _Verifier(files, roots, memory, repo_urls).verify(texts)
            memory.put(key, kept.model_dump_json().encode())
    return kept


def _digest(*groups: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for group in groups:
        for part in group:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(data) + data)
        digest.update(b";")
    return digest.hexdigest()


def _kept(data: bytes | None) -> Grounding | None:
    """A cached result; None where there is none or it is damaged."""
    try:
        return Grounding.model_validate_json(data) if data else None
    except ValidationError:
        return None


@cache
def _rules_digest() -> str:
    # A changed rule, query or record must not be answered from an old result.
    queries = sorted(Path(__file__).with_name("queries").rglob("*.scm"))
    code = code_digest([*module_files("runner.grounding"), *module_files("runner.records")])
    return digest_of([code, *(path.read_text(encoding="utf-8") for path in queries)])


@dataclass
class _Entry:
    citation: Citation
    chance: float
    """Of being grounded, were its lines random."""


class _Verifier:
    def __init__(
        self, files: Files, roots: Sequence[str], memory: Cache, repo_urls: Sequence[str]
    ) -> None:
        self.files, self.memory = files, memory
        self.index = PathIndex(files.paths(), roots=roots, commit=files.commit, repo_urls=repo_urls)
        self.sources: dict[str, SourceFile] = {}

    def verify(self, texts: Iterable[str]) -> Grounding:
        entries: list[_Entry] = []
        by_step = []
        for text in texts:
            found = [
                entry
                for group in _groups(self._sure(extract(text, self.index)))
                for entry in self._group(group)
            ]
            by_step.append(
                tuple(
                    dict.fromkeys(
                        e.citation.path
                        for e in found
                        if e.citation.resolution in ("exact", "suffix")
                    )
                )
            )
            entries += found
        kept = _once(entries)
        return Grounding(
            citations=tuple(e.citation for e in kept),
            summary=summarise(kept),
            by_step=tuple(by_step),
        )

    def _sure(self, mentions: list[Mention]) -> list[Mention]:
        """Without the guesses, unless most of those that name a symbol hold: then this answer writes its lines so, and all count."""
        guesses = [m for m in mentions if m.guess and m.symbol]
        held = sum(self._entry(self._placed(m)).citation.held_by is not None for m in guesses)
        return (
            mentions
            if guesses and held * 2 > len(guesses)
            else [m for m in mentions if not m.guess]
        )

    def _group(self, mentions: list[Mention]) -> list[_Entry]:
        """Lines of one list share a symbol: where it holds for one of them, the others are lines that name none."""
        mentions = [self._placed(mention) for mention in mentions]
        entries = [self._entry(mention) for mention in mentions]
        if len(entries) == 1 or not any(e.citation.held_by for e in entries):
            return entries
        pairs = zip(mentions, entries, strict=True)
        return [e if e.citation.held_by else self._entry(replace(m, symbol=None)) for m, e in pairs]

    def _placed(self, mention: Mention) -> Mention:
        """Lines written without a path, in the file they are meant for.

        The nearest file named before them has the first claim. Where they do not hold there, the latest other file named in which the
        symbol they come with is within reach has the next; lines with no symbol move only if no file stands in their sentence, and only
        to a file that has them. An invention holds nowhere, so it stays where it was, and shows.
        """
        if (
            mention.start is None
            or mention.tied == "own"
            or (mention.tied == "sentence" and mention.symbol is None)
        ):
            return mention
        first = self._entry(mention).citation
        if first.status != "hallucinated":
            return mention
        for path in mention.others:
            moved = replace(mention, path=path)
            citation = self._entry(moved).citation
            if citation.status == "grounded" and (
                citation.held_by is not None or mention.symbol is None
            ):
                return moved
        return mention

    def _entry(self, mention: Mention) -> _Entry:
        resolved = self.index.resolve(mention.path)
        claim = _Claim(mention, resolved.path, resolved.resolution)
        if mention.ref is not None and not self.index.is_commit(mention.ref):
            return claim._replace(resolution="other_commit").unresolved(
                f"the link is to {mention.ref}, not to this commit"
            )
        if resolved.resolution == "missing":
            return claim.unresolved("no such file at the commit")
        if resolved.resolution == "ambiguous":
            return claim.unresolved(
                f"{self.index.count_ending_in(resolved.path)} files end in this path"
            )
        if mention.start is None or mention.end is None:
            return _Entry(claim.verdict("grounded", "the file exists; no line is cited"), 0.0)
        file = self._source(resolved.path)
        if mention.symbol and self._names_no_symbol(mention.symbol, file, weak=mention.weak):
            claim = claim._replace(mention=replace(mention, symbol=None))
        return _lines(claim, file, mention.start, mention.end)

    def _names_no_symbol(self, symbol: str, file: SourceFile, *, weak: bool) -> bool:
        """What looks like a symbol and is none: the file's own name, a module of the tree, a name of the language, a JSON key's word."""
        last = symbol.rpartition(".")[2]
        module = "." in symbol and symbol.islower() and last in self.index.stems
        if (
            weak and not file.places(symbol).words
        ):  # `Context.handlers_slice`: a key made of a real name and a word of the answer's own
            parts = last.split("_")
            return any(
                file.places("_".join(parts[:count])).words
                for count in range(1, len(parts))
                if parts[0]
            )
        if symbol.lower() == _stem(file.path) or symbol in BUILTINS or module:
            return not file.places(symbol).definitions
        return False

    def _source(self, path: str) -> SourceFile:
        if path not in self.sources:
            source = self.files.read(path)
            sha = self.files.blob_sha(path)
            self.sources[path] = SourceFile(
                path, source, lambda: outline_of(path, source, sha, self.memory)
            )
        return self.sources[path]


class _Claim(NamedTuple):
    """A mention, and what its path resolved to."""

    mention: Mention
    path: str
    resolution: Resolution

    def unresolved(self, reason: str) -> _Entry:
        return _Entry(self.verdict("unresolved", reason), 0.0)

    def verdict(self, status: Status, reason: str, **found: Any) -> Citation:
        parts = {"held_by": None, "definition_lines": (), "distance": None, **found}
        m = self.mention
        return Citation(
            written=m.written,
            path=self.path,
            start=m.start,
            end=m.end,
            symbol=m.symbol,
            resolution=self.resolution,
            status=status,
            reason=reason,
            **parts,
        )


def _lines(claim: _Claim, file: SourceFile, start: int, end: int) -> _Entry:
    symbol = claim.mention.symbol
    chance = _chance(file, symbol, end - start + 1)
    if start < 1 or end > file.line_count:
        wrong = (
            "lines are counted from 1"
            if start < 1
            else f"the file has {file.line_count} {'line' if file.line_count == 1 else 'lines'}"
        )
        really = tuple(d.line for d in file.places(symbol).definitions) if symbol else ()
        return _Entry(claim.verdict("hallucinated", wrong, definition_lines=really), chance)
    if symbol is None:
        return _Entry(claim.verdict("grounded", "the lines exist; no symbol is named"), chance)
    return _Entry(_symbol(claim, symbol, file, (start, end)), chance)


def _symbol(claim: _Claim, symbol: str, file: SourceFile, lines: tuple[int, int]) -> Citation:
    start, end = lines
    wide = end - start + 1 > WIDE
    places = file.places(symbol)
    by_text = isinstance(file.outline, TextOnly) or file.broken_near(start, end, REACH)
    distances = _nearest_of(
        [
            _distances(places, low, high, by_text)
            for low, high in ([(start, start), (end, end)] if wide else [lines])
        ]
    )
    held = distances.held()
    near = held[1] if held else any_of((distances.definition, distances.use, distances.text))
    return claim.verdict(
        "grounded" if held else "hallucinated",
        _where(symbol, places, held) + (_WIDE_NOTE if wide else "") + _note(file, by_text),
        held_by=held[0] if held else None,
        definition_lines=tuple(d.line for d in places.definitions),
        distance=near,
        definition_distance=distances.definition,
        use_distance=distances.use,
        span_distance=distances.span,
    )


def _stem(path: str) -> str:
    """`doctor.go` is spoken of as `doctor`: no symbol of the file, as the reader means it."""
    return path.rpartition("/")[2].partition(".")[0]


def _groups(mentions: Iterable[Mention]) -> list[list[Mention]]:
    groups: list[list[Mention]] = []
    for mention in mentions:
        last = groups[-1][-1] if groups else None
        if (
            last
            and mention.group
            and replace(last, start=0, end=0) == replace(mention, start=0, end=0)
        ):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    return groups


def _distances(places: Places, start: int, end: int, text_rule: bool) -> _Distances:
    return _Distances(
        definition=any_of(apart(d.header, d.line, start, end) for d in places.definitions),
        use=nearest(places.uses, start, end),
        span=any_of(apart(d.start, d.end, start, end) for d in places.definitions),
        text=nearest(places.words, start, end) if text_rule else None,
    )


def _nearest_of(found: Sequence[_Distances]) -> _Distances:
    return _Distances(*(any_of(column) for column in zip(*found, strict=True)))


_WIDE_NOTE = f" (a range of more than {WIDE} lines is measured from its ends)"
_HELD_BY = {
    "definition": "its definition",
    "use": "a use of it",
    "span": "its definition's body",
    "text": "its name in the text",
}


def _where(symbol: str, places: Places, held: tuple[HeldBy, int] | None) -> str:
    if held:
        near = (
            "is here"
            if held[1] == 0
            else f"is {held[1]} {'line' if held[1] == 1 else 'lines'} away"
        )
        return f"{symbol}: {_HELD_BY[held[0]]} {near}"
    lines = ", ".join(str(d.line) for d in places.definitions[:5])
    really = (
        f"defined at {lines}"
        if lines
        else ("named elsewhere in the file" if places.words else "not in the file")
    )
    return f"{symbol} is not within {REACH} lines: {really}"


def _note(file: SourceFile, by_text: bool) -> str:
    if isinstance(file.outline, TextOnly):
        return f"; {file.outline.reason}"
    return "; the parse is degraded around these lines, searched as text too" if by_text else ""


def _chance(file: SourceFile, symbol: str | None, width: int) -> float:
    """Share of the places an interval of this width can have in the file from which the symbol would be within reach."""
    if file.line_count == 0:
        return 0.0
    if symbol is None:
        return 1.0
    key = (symbol, max(1, min(width, file.line_count)))
    if key not in file.chances:
        file.chances[key] = _share(file, *key)
    return file.chances[key]


def _share(file: SourceFile, symbol: str, width: int) -> float:
    places = file.places(symbol)
    reached = [(d.header - REACH, d.line + REACH) for d in places.definitions] + [
        (d.start, d.end) for d in places.definitions
    ]
    reached += [
        (line - REACH, line + REACH)
        for line in (places.words if isinstance(file.outline, TextOnly) else places.uses)
    ]
    last = file.line_count - width + 1
    starts, upto = 0, 0
    for low, high in sorted(reached):
        first, final = max(low - width + 1, upto + 1, 1), min(high, last)
        if final >= first:
            starts += final - first + 1
            upto = final
    return starts / last


def _once(entries: Sequence[_Entry]) -> list[_Entry]:
    """Each citation once: same file, same lines; a symbol that fails there stays on its own, one that holds merges."""
    kept: dict[tuple[object, ...], _Entry] = {}
    for entry in entries:
        c = entry.citation
        failed = c.symbol if c.status == "hallucinated" and c.held_by is None and c.symbol else None
        key = (c.path, c.resolution in ("exact", "suffix") or c.resolution, c.start, c.end, failed)
        known = kept.get(key)
        if known is None or (known.citation.symbol is None and c.symbol is not None):
            kept[key] = entry
    citations = [entry.citation for entry in kept.values()]
    named = {(c.path, c.start, c.end) for c in citations if c.symbol and c.status == "hallucinated"}
    cited = {c.path for c in citations if c.start is not None}
    return [e for e in kept.values() if _stands(e.citation, named, cited)]


def _stands(
    citation: Citation, named: set[tuple[str, int | None, int | None]], cited: set[str]
) -> bool:
    """False for a file named without a line that is cited with one too, and for bare lines that a failing symbol is claimed for."""
    if citation.start is None:
        return citation.path not in cited
    bare = citation.symbol is None and citation.status != "unresolved"
    return not (bare and (citation.path, citation.start, citation.end) in named)


def summarise(entries: Sequence[_Entry]) -> GroundingSummary:
    """The parts of the rates, over citations with a line."""
    counted = [e for e in entries if e.citation.start is not None]
    total = len(counted)

    def count(**wanted: str) -> int:
        return sum(
            all(getattr(e.citation, key) == value for key, value in wanted.items()) for e in counted
        )

    def rate(part: float, whole: int) -> float | None:
        return part / whole if whole else None

    strict = count(status="grounded", resolution="exact")
    headline = strict + count(status="grounded", resolution="suffix")
    named = sum(
        e.citation.symbol is not None and e.citation.resolution in ("exact", "suffix")
        for e in counted
    )
    definition = count(status="grounded", held_by="definition")
    return GroundingSummary(
        total=total,
        grounded=count(status="grounded"),
        unresolved=count(status="unresolved"),
        hallucinated=count(status="hallucinated"),
        exact=count(resolution="exact"),
        suffix=count(resolution="suffix"),
        ambiguous=count(resolution="ambiguous"),
        missing=count(resolution="missing"),
        other_commit=count(resolution="other_commit"),
        definition_only=definition,
        with_symbol=named,
        strict_rate=rate(strict, total),
        headline_rate=rate(headline, total),
        definition_rate=rate(definition, named),
        chance_rate=rate(sum(e.chance for e in counted), total),
    )


def must_cite_recall(
    citations: Iterable[Citation], must_cite: Sequence[MustCite]
) -> tuple[bool, ...]:
    """Per location: does a citation with exactly one file touch it, within ±5 lines of the interval?

    A citation whose lines do not exist, or whose range is wider than WIDE, finds nothing: it would find everything. A symbol that is
    elsewhere in the file is no bar: the place was shown, and precision counts the error.
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for citation in citations:
        if (
            citation.start is None
            or citation.end is None
            or citation.resolution not in ("exact", "suffix")
        ):
            continue
        exists = citation.status == "grounded" or citation.distance is not None
        if exists and citation.end - citation.start < WIDE:
            places.setdefault(citation.path, []).append((citation.start, citation.end))
    return tuple(
        any(
            apart(low, high, must.line, must.end or must.line) <= REACH
            for low, high in places.get(must.path, ())
        )
        for must in must_cite
    )


def cited_files(grounding: Grounding) -> tuple[int, ...]:
    """Distinct files of the commit cited per text, with or without a line."""
    return tuple(len(paths) for paths in grounding.by_step)
