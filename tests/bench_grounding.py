"""What verifying citations costs: 10,000 of them, cold and warm; extraction; and 100,000 at once.

Each beside a floor of the same run: parsing the cited files, one regular expression over the text,
an eighth of the citations. CPU seconds were bounds once; the same code took 7.9 of them on one
machine and 11.4 on the next.

The tree is one of about 3,000 Python files. Then the worst of the hostile inputs of
tests/grounding/zoo.py: its seconds at full size, and by how much they grow when the input doubles.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import tree_sitter

from runner.grounding.commit_files import GitFiles, PathIndex
from runner.grounding.extract import extract
from runner.grounding.grammars import grammar
from runner.grounding.verify import ground
from runner.records import Scenario, Source, parse_yaml
from runner.repositories.repository import fetch_source
from tests.grounding import zoo

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "scenarios" / "core" / "django-queryset-delete" / "scenario.yaml"
COLD, EXTRACTION = 6.5, 20.0
"""A tenth more than was measured of the code that took 7.9 CPU s and read 2.3 MB/s elsewhere."""
_TELLING_SEC = 0.4
_TRIED_IN_FULL = 5
"""The slowest in full was third at an eighth of its size: with three it was missed now and then."""
_PLACE = re.compile(r"[\w./-]+\.\w+:\d+")
_DEFINED = re.compile(r"^[ \t]*(?:async )?(?:def|class) (\w+)", re.M)
_FILLER = (
    "The request is prepared before it is sent, and whatever the handler returns is turned into a "
    "response once, in one place. A reader who wants to change this should look at the callers "
    "first, e.g. in the tests, since three (the slow ones) rely on it.\n\n"
)


@dataclass(frozen=True, kw_only=True)
class GroundingSize:
    citations: int = 10_000
    repeats: int = 1_500
    """Of a piece of prose."""
    lines: int = 100_000
    chars: int = 5_000_000
    """Of a hostile text."""
    parsed_chars: int = 1_900_000
    """Of the largest file that is parsed."""
    repository: Path | None = None
    """None: a large tree is fetched."""
    commit: str = ""


def _source() -> Source:
    text = SCENARIO.read_text(encoding="utf-8")
    return parse_yaml(text, Scenario, where=str(SCENARIO)).repository


def _answer(files: GitFiles, citations: int) -> str:
    """Citations over every Python file of the tree.

    Most name a definition at its line, some a place in a body or none.
    """
    seed = random.Random(0)
    paths = sorted(path for path in files.paths() if path.endswith(".py"))
    texts = {path: files.read(path).decode("utf-8", "replace") for path in paths}
    rounds = itertools.islice(itertools.cycle(paths), citations)
    return "\n".join(_line(path, texts[path], seed) for path in rounds)


def _line(path: str, text: str, seed: random.Random) -> str:
    definitions = [*_DEFINED.finditer(text)]
    line = seed.randint(1, max(1, text.count("\n")))
    if not definitions:
        return f"- see {path}:{line}"
    pick = seed.choice(definitions)
    at = text.count("\n", 0, pick.start(1)) + 1
    if seed.random() < 0.8:
        return f"- `{pick[1]}` ({path}:{at + seed.randint(0, 3)})"
    return f"- {path}:{line}-{line + 4}"


def _cpu(work: Callable[[], object]) -> float:
    """CPU seconds of a call, those of the git process it keeps included; never 0."""
    begin = _cpu_now()
    work()
    return max(_cpu_now() - begin, 1e-3)


def _cpu_now() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def figures(size: GroundingSize) -> Iterator[dict[str, Any]]:
    """Name, value, bound and detail of each figure, for tests/bench.py, as soon as it is known."""
    repository, commit = (size.repository, size.commit) if size.repository else _fetch()
    with GitFiles(repository, commit) as files:
        text = _answer(files, size.citations)
        index = PathIndex(files.paths())
    yield from _verifying(repository, commit, text)
    yield _extracting(text, index, size.repeats)
    yield _many(size.lines)
    chars, parsed = size.chars, size.parsed_chars
    yield from _worst(f"an answer of {_mb(chars)}", zoo.ANSWERS, _ground_answer, chars)
    yield from _worst(f"a cited file of {_mb(chars)}", zoo.SOURCES, _ground_source, chars)
    yield from _worst(f"a cited file of {_mb(parsed)}", zoo.SOURCES, _ground_source, parsed)


def _mb(chars: int) -> str:
    return f"{chars / 1e6:g} MB"


def _fetch() -> tuple[Path, str]:
    cache = ROOT / ".fairtrial" / "repositories"
    fetched = fetch_source(_source(), cache=cache, pins=None, environ=dict(os.environ))
    return fetched.path, fetched.commit


def _verifying(repository: Path, commit: str, text: str) -> list[dict[str, Any]]:
    totals: list[int] = []

    def verify() -> None:
        with GitFiles(repository, commit) as files:
            grounding = ground(text, files, cache_dir=Path(cache))
            python = sum(path.endswith(".py") for path in files.paths())
            totals[:] = [grounding.summary.total, python]

    floor = _cpu(partial(_parse_all, repository, commit))
    with tempfile.TemporaryDirectory() as cache:
        cold = _cpu(verify)
        warm = min(_cpu(verify) for _ in range(5))
    total, python = totals
    cited = f"{text.count(chr(10)) + 1:,} citations"
    return [
        {
            "name": f"{cited}, cold / parsing the files",
            "value": cold / floor,
            "bound": COLD,
            "detail": f"{cold:.2f} CPU s / {floor:.2f}; {total:,} distinct ones, {python:,} files",
        },
        {
            "name": f"{cited}, warm / parsing the files",
            "value": warm / floor,
            "bound": 0.1,
            "detail": f"{warm:.2f} CPU s",
        },
    ]


def _parse_all(repository: Path, commit: str) -> None:
    """Every Python file of the tree: what no cold verification of them can do without."""
    python = grammar("python")
    assert python is not None
    parser = tree_sitter.Parser(python.language)
    with GitFiles(repository, commit) as files:
        for path in files.paths():
            if path.endswith(".py"):
                parser.parse(files.read(path))


def _extracting(text: str, index: PathIndex, repeats: int) -> dict[str, Any]:
    prose = (_FILLER * 3 + "\n".join(text.splitlines()[:6]) + "\n\n") * repeats
    floor = min(_cpu(lambda: _PLACE.findall(prose)) for _ in range(3))
    sec = min(_cpu(lambda: extract(prose, index)) for _ in range(3))
    return {
        "name": "extraction / one regular expression",
        "value": sec / floor,
        "bound": EXTRACTION,
        "detail": f"{len(prose) / 1e6 / sec:.2f} MB/s of prose",
    }


# --- hostile and merely large -------------------------------------------------------------------


def _many(lines: int) -> dict[str, Any]:
    cited = zoo.ANSWERS["dense"](36 * lines).splitlines()
    few, many = ("\n".join(cited[:count]) for count in (lines // 8, lines))
    floor = _cpu(lambda: ground(few, zoo.TREE))
    sec = _cpu(lambda: ground(many, zoo.TREE))
    return {
        "name": f"{lines:,} citations / an eighth of them",
        "value": sec / floor,
        "bound": 10.0,
        "detail": f"{sec:.2f} CPU s, {len(many) / 1e6:.1f} MB, one file for each 1,000",
    }


def _ground_answer(name: str, chars: int) -> None:
    ground(zoo.ANSWERS[name](chars), zoo.TREE)


def _ground_source(name: str, chars: int) -> None:
    zoo.ground_source(zoo.SOURCES[name], chars, 200)


def _worst(
    what: str, names: Iterable[str], work: Callable[[str, int], None], chars: int
) -> list[dict[str, Any]]:
    """The slowest input beside prose of that size, and the growth of that which grows most.

    All are tried at an eighth of the size and at half of that, and those that are slowest there,
    or grow most, in full: all in full would take the better part of an hour.
    """
    taken = {name: _cpu(partial(work, name, chars // 8)) for name in names}
    halves = {name: _cpu(partial(work, name, chars // 16)) for name in names}
    # What takes less tells no growth from noise.
    grown = {name: taken[name] / halves[name] for name in taken if taken[name] > _TELLING_SEC}
    steepest = max(grown, key=lambda name: grown[name], default="none")
    if steepest in grown:
        # Of many inputs the one that a busy moment hit leads: it is measured again.
        again = [
            _cpu(partial(work, steepest, chars // 8)) / _cpu(partial(work, steepest, chars // 16))
            for _ in range(2)
        ]
        grown[steepest] = median([grown[steepest], *again])
    slow = sorted(taken, key=lambda name: taken[name], reverse=True)[:_TRIED_IN_FULL]
    full = {
        name: _cpu(partial(work, name, chars))
        for name in dict.fromkeys((*slow, steepest))
        if name in taken
    }
    slowest = max(full, key=lambda name: full[name])
    floor = _cpu(partial(ground, _FILLER * (chars // len(_FILLER)), zoo.TREE))
    return [
        {
            "name": f"{what} / prose of that size",
            "value": full[slowest] / floor,
            "bound": 20.0,
            "detail": f"{full[slowest]:.2f} CPU s / {floor:.2f}; {slowest}",
        },
        {
            "name": "  an eighth of it / a sixteenth",
            "value": grown.get(steepest, 0.0),
            "bound": 2.6,
            "detail": steepest,
        },
    ]
