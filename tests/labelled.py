"""How much of what labelled answers cite is extracted: recall by style, precision, wrong files.

`python -m tests.labelled` prints the table for this checkout, with `--against DIR` beside that of
another one. The answers and their labels (tests/data/grounding/labelled) were written by people who
had not seen the extractor. Those of short.txt carry their labels in the text, as
`⟦what is written⇒path:start-end#symbol⟧`: what a reader of that language would understand.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from runner.grounding.commit_files import PathIndex
from runner.grounding.extract import extract

FOLDER = Path(__file__).parent / "data" / "grounding" / "labelled"


class Place(NamedTuple):
    """A place that an answer cites, as labelled or as extracted."""

    path: str
    start: int
    end: int
    symbol: str | None
    quote: str


@dataclass
class Outcome:
    """Labels of one answer, or of several, against what was extracted."""

    style: str
    held: bool = False
    """Its answer was not looked at while the extractor was written."""
    labels: int = 0
    right: int = 0
    """Right lines of the right file."""
    wrong_file: list[str] = field(default_factory=list)
    """Right lines, wrong file."""
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    """Extracted, and no mention of lines."""
    wrong_symbol: list[str] = field(default_factory=list)
    no_symbol: list[str] = field(default_factory=list)
    """The text names one, and none was attached."""

    @property
    def found(self) -> int:
        return self.right + len(self.wrong_file)

    @property
    def recall(self) -> float:
        return self.found / max(1, self.labels)

    @property
    def precision(self) -> float:
        return self.found / max(1, self.found + len(self.false))


def outcomes() -> list[Outcome]:
    """One for each labelled answer, in the index's order."""
    entries = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))
    return [outcome(entry) for entry in entries] + list(short_outcomes())


def total(parts: Iterable[Outcome]) -> Outcome:
    """All of them together."""
    whole = Outcome("all")
    for part in parts:
        whole.labels += part.labels
        whole.right += part.right
        for name in ("wrong_file", "missed", "false", "wrong_symbol", "no_symbol"):
            getattr(whole, name).extend(getattr(part, name))
    return whole


def outcome(entry: dict[str, Any]) -> Outcome:
    """Pair the labels of an answer with its mentions: the same place, in order, each used once."""
    [answer] = (FOLDER / "answers").glob(f"{entry['id']}.*")
    text = answer.read_text(encoding="utf-8")
    labels = list(_labels(FOLDER / "labels" / f"{entry['id']}.json", text))
    mentions = list(_mentions(text, _index(entry["repository"], entry["commit"])))
    style = f"{entry['style']} [{entry['id']}]"
    return _compared(style, labels, mentions, held=entry["half"] == "held")


def short_outcomes() -> Iterator[Outcome]:
    """One for each answer of short.txt."""
    for answer in (FOLDER / "short.txt").read_text(encoding="utf-8").split("@@ ")[1:]:
        title, _, marked = answer.partition("\n")
        repository, style = title.split(" | ")
        labels = [_marked_place(found) for found in _MARKED.finditer(marked)]
        text = _MARKED.sub(lambda found: found["written"], marked)
        mentions = list(_mentions(text, _index(repository, "0" * 40)))
        yield _compared(f"{style} [{repository}]", labels, mentions, held=True)


_MARKED = re.compile(
    r"⟦(?P<written>[^⟦⇒]+)⇒"
    r"(?P<path>[^:⟧]+):(?P<start>\d+)(?:-(?P<end>\d+))?(?:\#(?P<symbol>[^⟧]+))?⟧"
)


def _marked_place(found: re.Match[str]) -> Place:
    start, end = int(found["start"]), int(found["end"] or found["start"])
    return Place(found["path"], start, end, found["symbol"], found["written"])


def _index(repository: str, commit: str) -> PathIndex:
    listed = FOLDER / "paths" / f"{repository.replace('/', '+')}.txt"
    return PathIndex(listed.read_text(encoding="utf-8").splitlines(), commit=commit)


def _compared(style: str, labels: list[Place], mentions: list[Place], *, held: bool) -> Outcome:
    result = Outcome(style, held, len(labels))
    for label, mention in _take_pairs(labels, mentions, _is_same_place):
        result.right += 1
        _compare_symbols(result, label, mention)
    for label, mention in _take_pairs(labels, mentions, _has_same_lines):
        result.wrong_file.append(f"{_shown(label)} read as {mention.path}")
    result.missed += map(_shown, labels)
    result.false += map(_shown, mentions)
    return result


def _labels(file: Path, text: str) -> Iterator[Place]:
    """A link counts once, though it may give its lines in its words and in its target."""
    labels = json.loads(file.read_text(encoding="utf-8"))
    for label, following in zip_longest(labels, labels[1:]):
        if following and _are_of_one_link(label, following, text):
            continue
        yield Place(label["path"], label["start"], label["end"], label["symbol"], label["quote"])


def _are_of_one_link(label: dict[str, Any], following: dict[str, Any], text: str) -> bool:
    between = text[label["at"] : following["at"]]
    same = all(label[key] == following[key] for key in ("path", "start", "end"))
    return same and between.count("](") == 1 and ")" not in between


def _mentions(text: str, index: PathIndex) -> Iterator[Place]:
    for mention in extract(text, index):
        if mention.start is not None and mention.end is not None:
            path = index.resolve(mention.path).path
            yield Place(path, mention.start, mention.end, mention.symbol, mention.written)


def _take_pairs(
    labels: list[Place], mentions: list[Place], is_pair: Callable[[Place, Place], bool]
) -> list[tuple[Place, Place]]:
    """Pairs of a label and a mention, taken out of both lists."""
    pairs: list[tuple[Place, Place]] = []
    for label in list(labels):
        mention = next((one for one in mentions if is_pair(label, one)), None)
        if mention is not None:
            labels.remove(label)
            mentions.remove(mention)
            pairs.append((label, mention))
    return pairs


def _is_same_place(label: Place, mention: Place) -> bool:
    # A tail of several files is the verifier's to resolve.
    is_tail = label.path.endswith("/" + mention.path)
    return _has_same_lines(label, mention) and (label.path == mention.path or is_tail)


def _has_same_lines(label: Place, mention: Place) -> bool:
    return (label.start, label.end) == (mention.start, mention.end)


def _compare_symbols(result: Outcome, label: Place, mention: Place) -> None:
    if mention.symbol is None:
        if label.symbol:
            result.no_symbol.append(_shown(label))
    elif label.symbol is None or _last(label.symbol) != _last(mention.symbol):
        result.wrong_symbol.append(f"{_shown(label)} read as {mention.symbol}")


def _last(symbol: str) -> str:
    """`open` of `Shop::open!`."""
    written = symbol.replace("\\_", "_")
    plain = re.sub(r"<[^<>]*>|/\d+\Z", "", written).partition("(")[0].strip("`!?@&*:=$")
    for separator in ("::", "->", ".", "#", "\\", "/", " "):
        plain = plain.rpartition(separator)[2]
    return plain


def _shown(place: Place) -> str:
    lines = f"{place.start}-{place.end}".removesuffix(f"-{place.start}")
    return f"{place.path}:{lines} {place.symbol or '-'} [{' '.join(place.quote.split())}]"


# --- the table ------------------------------------------------------------------------------

_HEAD = ("labels", "recall", "precision", "file", "symbol", "none")


def _row(one: Outcome) -> str:
    counts = (len(one.wrong_file), len(one.wrong_symbol), len(one.no_symbol))
    shares = f"{one.recall:6.3f} {one.precision:9.3f}"
    return f"{one.labels:6d} {shares} " + " ".join(f"{count:6d}" for count in counts)


def _print(measured: list[Outcome], before: list[Outcome] | None) -> None:
    columns = "{:>6} {:>6} {:>9} {:>6} {:>6} {:>6}".format(*_HEAD)
    print(f"{'style':58} {columns}" + (f"  | before {columns}" if before else ""))
    for place, one in enumerate(_with_totals(measured)):
        old = _with_totals(before)[place] if before else None
        print(f"{one.style[:58]:58} {_row(one)}" + (f"  |        {_row(old)}" if old else ""))


def _with_totals(measured: list[Outcome]) -> list[Outcome]:
    held = [one for one in measured if one.held]
    whole = [total(measured)]
    if held:
        whole.append(replace(total(held), style="all that was not looked at"))
    return [*measured, *whole]


def _details(one: Outcome) -> None:
    for name in ("missed", "false", "wrong_file", "wrong_symbol", "no_symbol"):
        for line in getattr(one, name):
            print(f"  {name:12} {line}")


def _measured_in(checkout: Path) -> list[Outcome]:
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, __file__, "--json"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return [Outcome(**one) for one in json.loads(done.stdout)]


def main() -> None:
    """Print the table, or the outcomes as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout, measured beside this one")
    parser.add_argument("--details", action="store_true", help="every miss, by answer")
    parser.add_argument("--json", action="store_true", help="for scripts")
    options = parser.parse_args()
    measured = outcomes()
    if options.json:
        print(json.dumps([asdict(one) for one in measured]))
        return
    _print(measured, _measured_in(options.against.resolve()) if options.against else None)
    if options.details:
        for one in measured:
            print(one.style)
            _details(one)


if __name__ == "__main__":
    main()
