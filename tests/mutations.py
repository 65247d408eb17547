"""What grounding catches: real answers with one thing changed in every citation.

`python -m tests.mutations` prints the table for this checkout, with `--against DIR` beside that of
another one. The answers are the references that scenarios ship; each citation of theirs that holds
is written again in one plain form, with the words that speak of it, so that two checkouts are asked
about the same text. A change is caught if the citation is no longer grounded, and marked if it is
that or weak. The last column is what the score makes of it (runner/scoring/fairness.py: `trust`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from runner.grounding.commit_files import GitFiles
from runner.grounding.verify import ground
from runner.protocols import Files
from runner.records import Citation, Scenario, parse_yaml
from runner.repositories.repository import fetch_source
from runner.support.errors import FairtrialError

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "scenarios"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A citation in the one plain form."""

    path: str
    start: int
    end: int
    symbol: str | None
    said: str
    last: int
    """Lines of its file."""

    def __str__(self) -> str:
        lines = f"{self.start}-{self.end}".removesuffix(f"-{self.start}")
        place = f"{self.path}:{lines}"
        if self.symbol:
            return f"- `{self.symbol}` ({place}): as to that, {self.said}"
        return f"- At {place}, to put it shortly, {self.said}"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one scenario's references cite, and the commit they speak of."""

    name: str
    repository: str
    commit: str
    claims: tuple[Claim, ...]
    names: Mapping[str, tuple[str, ...]]
    """For each file: the symbols that the answer cites in it."""


# --- the changes ----------------------------------------------------------------------------

Change = Callable[[Claim, Answer], Claim | None]
"""None if the citation has nothing to change."""


def _as_it_is(claim: Claim, _: Answer) -> Claim:
    return claim


def _path(claim: Claim, _: Answer) -> Claim:
    folder, slash, name = claim.path.rpartition("/")
    return replace(claim, path=f"{folder}{slash}un{name}")


def _other_file(claim: Claim, answer: Answer) -> Claim | None:
    """The next file that the answer cites."""
    paths = sorted(answer.names)
    other = paths[(paths.index(claim.path) + 1) % len(paths)]
    return None if other == claim.path else replace(claim, path=other)


def _past_the_end(claim: Claim, _: Answer) -> Claim:
    return _moved(claim, claim.last)


def _shift(by: int) -> Change:
    """Down, or up where the file ends; a file that is too short for either has no such place."""

    def shifted(claim: Claim, _: Answer) -> Claim | None:
        if claim.end + by <= claim.last:
            return _moved(claim, by)
        if claim.start - by >= 1:
            return _moved(claim, -by)
        return None

    return shifted


def _moved(claim: Claim, by: int) -> Claim:
    return replace(claim, start=claim.start + by, end=claim.end + by)


def _swapped(claim: Claim, answer: Answer) -> Claim | None:
    """The next symbol that the answer cites in that file."""
    names = answer.names[claim.path]
    if claim.symbol is None or len(names) < 2:
        return None
    return replace(claim, symbol=names[(names.index(claim.symbol) + 1) % len(names)])


def _invented_qualifier(claim: Claim, _: Answer) -> Claim | None:
    if claim.symbol is None:
        return None
    separator = "::" if claim.path.endswith((".rs", ".cc", ".cpp", ".h")) else "."
    name = claim.symbol.replace("::", ".").rpartition(".")[2]
    return replace(claim, symbol=f"Zorblax{separator}{name}")


CHANGES: dict[str, Change] = {
    "none": _as_it_is,
    "path": _path,
    "past the end": _past_the_end,
    "8 lines off": _shift(8),
    "20 lines off": _shift(20),
    "50 lines off": _shift(50),
    "200 lines off": _shift(200),
    "another file": _other_file,
    "symbol swapped": _swapped,
    "qualifier invented": _invented_qualifier,
}


# --- measuring ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One change, over all answers."""

    change: str
    named: int
    bare: int
    caught_named: float
    """Share of those with a symbol that are no longer grounded."""
    caught_bare: float
    marked_named: float
    """Share that is no longer grounded, or weak."""
    marked_bare: float
    plain: float
    weighted: float | None
    """None where citations have no weights."""
    trust: float | None


def outcomes(answers: Iterable[Answer]) -> list[Outcome]:
    """What becomes of the answers' citations under each change."""
    answers = list(answers)
    return [_outcome(name, change, answers) for name, change in CHANGES.items()]


def _outcome(name: str, change: Change, answers: Iterable[Answer]) -> Outcome:
    found: list[Citation] = []
    for answer in answers:
        with GitFiles(answer.repository, answer.commit) as files:
            found += _verified(answer, change, files)
    named = [citation for citation in found if citation.symbol]
    bare = [citation for citation in found if not citation.symbol]
    return Outcome(
        change=name,
        named=len(named),
        bare=len(bare),
        caught_named=_share(named, _is_caught),
        caught_bare=_share(bare, _is_caught),
        marked_named=_share(named, _is_marked),
        marked_bare=_share(bare, _is_marked),
        plain=1 - _share(found, _is_caught),
        weighted=_weighted(found),
        trust=_trust(found),
    )


def _verified(answer: Answer, change: Change, files: Files) -> list[Citation]:
    changed = [change(claim, answer) for claim in answer.claims]
    return _grounded(filter(None, changed), files)


def _grounded(claims: Iterable[Claim], files: Files) -> list[Citation]:
    text = "\n".join(map(str, claims))
    return [one for one in ground(text, files).citations if one.start is not None]


def _is_caught(citation: Citation) -> bool:
    return citation.status != "grounded"


def _is_marked(citation: Citation) -> bool:
    return _is_caught(citation) or getattr(citation, "weak", False)


def _share(citations: list[Citation], is_so: Callable[[Citation], bool]) -> float:
    return sum(map(is_so, citations)) / max(1, len(citations))


def _weighted(citations: list[Citation]) -> float | None:
    """As a script would, from the fields of the citations."""
    weights = [getattr(citation, "weight", 0.0) for citation in citations]
    held = [w for w, one in zip(weights, citations, strict=True) if one.status == "grounded"]
    return float(sum(held) / sum(weights)) if any(weights) else None


def _trust(citations: list[Citation]) -> float | None:
    from runner.scoring import fairness

    trust: Callable[[list[Citation]], float] | None = getattr(fairness, "trust", None)
    return trust(citations) if trust else None


# --- the answers ----------------------------------------------------------------------------


def shipped(names: Iterable[str] = ()) -> Iterator[Answer]:
    """The references of these scenarios, or of all. Fetches a repository that is not here yet.

    Raises FairtrialError if one can be neither found nor fetched.
    """
    wanted = set(names)
    for file in sorted(SCENARIOS.glob("*/*/scenario.yaml")):
        texts = [path.read_text("utf-8") for path in sorted(file.parent.glob("reference/*.md"))]
        if texts and (not wanted or file.parent.name in wanted):
            source = parse_yaml(file.read_text("utf-8"), Scenario, where=str(file)).repository
            cache = ROOT / ".fairtrial" / "repositories"
            fetched = fetch_source(source, cache=cache, pins=None, environ=dict(os.environ))
            yield answer_of(file.parent.name, fetched.path, fetched.commit, texts)


def answer_of(name: str, repository: Path, commit: str, texts: list[str]) -> Answer:
    """What the texts cite of a repository, as far as it holds."""
    with GitFiles(repository, commit) as files:
        claims = tuple(_that_hold(_claims(texts, files), files))
    names: dict[str, dict[str, None]] = {}
    for claim in claims:
        names.setdefault(claim.path, {})[claim.symbol or ""] = None
    return Answer(
        name=name,
        repository=str(repository),
        commit=commit,
        claims=claims,
        names={path: tuple(filter(None, symbols)) for path, symbols in names.items()},
    )


def _claims(texts: list[str], files: Files) -> Iterator[Claim]:
    """What the texts cite and what holds, each place once."""
    from runner.grounding.commit_files import PathIndex
    from runner.grounding.extract import extract

    index = PathIndex(files.paths())
    cited = {(c.path, c.start, c.end): c for c in ground(texts, files).citations}
    for text in texts:
        for mention in extract(text, index):
            path = index.resolve(mention.path).path
            citation = cited.pop((path, mention.start, mention.end), None)
            if citation is not None and citation.start is not None:
                yield from _plain(citation, mention.said, files)


def _plain(citation: Citation, said: str, files: Files) -> Iterator[Claim]:
    if citation.status != "grounded" or citation.start is None or citation.end is None:
        return
    yield Claim(
        path=citation.path,
        start=citation.start,
        end=citation.end,
        symbol=citation.symbol,
        # Unquoted, so that no word of it is taken for the symbol.
        said=" ".join(said.replace("`", " ").split()),
        last=files.read(citation.path).count(b"\n"),
    )


def _that_hold(claims: Iterable[Claim], files: Files) -> Iterator[Claim]:
    """Those that hold in the plain form too, as what they were."""
    claims = list(claims)
    found = {(c.path, c.start, c.end): c for c in _grounded(claims, files)}
    for claim in claims:
        again = found.get((claim.path, claim.start, claim.end))
        if again and (again.symbol, again.status) == (claim.symbol, "grounded"):
            yield claim


# --- the bench ------------------------------------------------------------------------------


def figures(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Name, value, bound and detail of each figure, for tests/bench.py."""
    table = {outcome.change: outcome for outcome in outcomes(answers)}
    return [
        _bound("honest citations called weak", _weak(table["none"]), 0.08),
        *(_rate_bound(table[change], bound) for change, bound in _BOUNDS.items()),
        _bound("symbols swapped in a file, missed", 1 - table["symbol swapped"].caught_named, 0.15),
        _bound("qualifiers invented, missed", 1 - table["qualifier invented"].caught_named, 0.1),
    ]


_BOUNDS = {
    "path": 0.0,
    "past the end": 0.0,
    "8 lines off": 0.8,
    "20 lines off": 0.5,
    "50 lines off": 0.2,
    "200 lines off": 0.08,
}


def _weak(honest: Outcome) -> float:
    marked = honest.named * honest.marked_named + honest.bare * honest.marked_bare
    return marked / max(1, honest.named + honest.bare)


def _bound(name: str, value: float, bound: float, detail: str = "") -> dict[str, Any]:
    return {"name": name, "value": value, "bound": bound, "detail": detail}


def _rate_bound(outcome: Outcome, bound: float) -> dict[str, Any]:
    weighted = 1.0 if outcome.weighted is None else outcome.weighted
    return _bound(f"weighted rate, {outcome.change}", weighted, bound, f"plain {outcome.plain:.2f}")


# --- the table ------------------------------------------------------------------------------

_HEAD = ("named", "caught", "marked", "bare", "caught", "marked", "plain", "weighted", "trust")


def _row(one: Outcome) -> str:
    cells = (
        f"{one.named:6d} {one.caught_named:6.2f} {one.marked_named:6.2f} "
        f"{one.bare:6d} {one.caught_bare:6.2f} {one.marked_bare:6.2f} {one.plain:8.2f}"
    )
    return " ".join([cells, *map(_rate, (one.weighted, one.trust))])


def _rate(value: float | None) -> str:
    return f"{'—':>8}" if value is None else f"{value:8.2f}"


def table(measured: list[Outcome]) -> str:
    """A line for each change."""
    head = "{:20} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>8} {:>8} {:>8}".format("change", *_HEAD)
    return "\n".join([head, *(f"{one.change:20} {_row(one)}" for one in measured)])


def _measured_in(checkout: Path, answers: list[Answer]) -> list[Outcome]:
    """The same texts, asked of another checkout's code."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    asked = json.dumps([asdict(answer) for answer in answers])
    command = [sys.executable, __file__, "--given"]
    done = subprocess.run(
        command, env=environment, input=asked, check=True, capture_output=True, text=True
    )
    return [Outcome(**one) for one in json.loads(done.stdout)]


def _given(answers: list[dict[str, Any]]) -> list[Answer]:
    return [
        Answer(**{**answer, "claims": tuple(Claim(**claim) for claim in answer["claims"])})
        for answer in answers
    ]


def main() -> None:
    """Print the table; with `--given`, the outcomes for answers on standard input as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout, measured beside this one")
    parser.add_argument("--given", action="store_true", help="for --against")
    options = parser.parse_args()
    if options.given:
        measured = outcomes(_given(json.load(sys.stdin)))
        sys.stdout.write(json.dumps([asdict(one) for one in measured]))
        return
    try:
        answers = list(shipped())
    except FairtrialError as error:
        sys.exit(f"error: {error}")
    sys.stdout.write(table(outcomes(answers)) + "\n")
    if options.against:
        before = table(_measured_in(options.against.resolve(), answers))
        sys.stdout.write(f"\nbefore ({options.against})\n{before}\n")


if __name__ == "__main__":
    main()
