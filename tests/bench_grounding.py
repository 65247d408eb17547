"""What verifying citations costs: 10,000 of them, cold and warm; and extraction in MB/s.

The tree is one of about 3,000 Python files. Then 100,000 citations of a made-up tree, and the worst
of the hostile inputs of tests/grounding/zoo.py: its seconds at full size, and by how much they grow
when the input doubles.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from runner.grounding.commit_files import GitFiles, PathIndex
from runner.grounding.extract import extract
from runner.grounding.verify import ground
from runner.records import Scenario, Source, parse_yaml
from runner.repositories.repository import fetch_source
from tests.grounding import zoo

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "scenarios" / "core" / "django-queryset-delete" / "scenario.yaml"
CITATIONS = 10_000
_TELLING_SEC = 0.4
_TRIED_IN_FULL = 3
_DEFINED = re.compile(r"^[ \t]*(?:async )?(?:def|class) (\w+)", re.M)
_FILLER = (
    "The request is prepared before it is sent, and whatever the handler returns is turned into a "
    "response once, in one place. A reader who wants to change this should look at the callers "
    "first, e.g. in the tests, since three (the slow ones) rely on it.\n\n"
)


def _source() -> Source:
    text = SCENARIO.read_text(encoding="utf-8")
    return parse_yaml(text, Scenario, where=str(SCENARIO)).repository


def _answer(files: GitFiles) -> str:
    """10,000 citations over every Python file of the tree.

    Most name a definition at its line, some a place in a body or none.
    """
    seed = random.Random(0)
    paths = sorted(path for path in files.paths() if path.endswith(".py"))
    texts = {path: files.read(path).decode("utf-8", "replace") for path in paths}
    rounds = itertools.islice(itertools.cycle(paths), CITATIONS)
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
    """CPU seconds of a call, those of the git process it keeps included."""
    begin = _cpu_now()
    work()
    return _cpu_now() - begin


def _cpu_now() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def figures(repository: Path | None = None, commit: str = "") -> Iterator[dict[str, Any]]:
    """Name, value, bound and detail of each figure, for tests/bench.py, as soon as it is known.

    Fetches the tree if no repository is given.
    """
    if repository is None:
        repository, commit = _fetch()
    with GitFiles(repository, commit) as files:
        text = _answer(files)
        index = PathIndex(files.paths())
    yield from _verifying(repository, commit, text)
    yield _extracting(text, index)
    yield _hundred_thousand()
    yield from _worst("an answer of 5 MB", zoo.ANSWERS, _ground_answer, 5_000_000)
    yield from _worst("a cited file of 5 MB", zoo.SOURCES, _ground_source, 5_000_000)
    # The largest that is parsed.
    yield from _worst("a cited file of 1.9 MB", zoo.SOURCES, _ground_source, 1_900_000)


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

    with tempfile.TemporaryDirectory() as cache:
        cold = _cpu(verify)
        warm = min(_cpu(verify) for _ in range(5))
    total, python = totals
    return [
        {
            "name": "10,000 citations, cold, CPU s",
            "value": cold,
            "bound": 8.0,
            "detail": f"{total:,} distinct citations of {python:,} Python files",
        },
        {
            "name": "10,000 citations, warm, CPU s",
            "value": warm,
            "bound": 0.3,
            "detail": f"cold / warm = {cold / warm:.0f}",
        },
    ]


def _extracting(text: str, index: PathIndex) -> dict[str, Any]:
    prose = (_FILLER * 3 + "\n".join(text.splitlines()[:6]) + "\n\n") * 1500
    begin = time.process_time()
    extract(prose, index)
    sec = time.process_time() - begin
    return {
        "name": "extraction, MB/s",
        "value": len(prose.encode()) / 1e6 / sec,
        "bound": 2.0,
        "detail": f"{len(prose) / 1e6:.1f} MB of prose",
        "at_least": True,
    }


# --- hostile and merely large -------------------------------------------------------------------


def _hundred_thousand() -> dict[str, Any]:
    text = "\n".join(zoo.ANSWERS["dense"](3_600_000).splitlines()[:100_000])
    return {
        "name": "100,000 citations, CPU s",
        "value": _cpu(lambda: ground(text, zoo.TREE)),
        "bound": 8.0,
        "detail": f"{len(text) / 1e6:.1f} MB, one file for each 1,000",
    }


def _ground_answer(name: str, chars: int) -> None:
    ground(zoo.ANSWERS[name](chars), zoo.TREE)


def _ground_source(name: str, chars: int) -> None:
    zoo.ground_source(zoo.SOURCES[name], chars, 200)


def _worst(
    what: str, names: Iterable[str], work: Callable[[str, int], None], chars: int
) -> list[dict[str, Any]]:
    """The seconds of the slowest input, and the growth of that which grows most.

    All are tried at an eighth of the size and at half of that, and those that are slowest there,
    or grow most, in full: all in full would take the better part of an hour.
    """
    taken = {name: _cpu(partial(work, name, chars // 8)) for name in names}
    halves = {name: _cpu(partial(work, name, chars // 16)) for name in names}
    # What takes less tells no growth from noise.
    grown = {name: taken[name] / halves[name] for name in taken if taken[name] > _TELLING_SEC}
    steepest = max(grown, key=lambda name: grown[name], default="none")
    slow = sorted(taken, key=lambda name: taken[name], reverse=True)[:_TRIED_IN_FULL]
    full = {
        name: _cpu(partial(work, name, chars))
        for name in dict.fromkeys((*slow, steepest))
        if name in taken
    }
    slowest = max(full, key=lambda name: full[name])
    return [
        {"name": f"{what}, CPU s", "value": full[slowest], "bound": 10.0, "detail": slowest},
        {
            "name": "  an eighth of it / a sixteenth",
            "value": grown.get(steepest, 0.0),
            "bound": 2.6,
            "detail": steepest,
        },
    ]
