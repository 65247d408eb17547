"""What verifying citations costs: 10,000 of them on a tree of about 3,000 Python files, cold and warm; and extraction in MB/s."""

from __future__ import annotations

import os
import random
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.grounding.extract import extract
from runner.grounding.files import GitFiles, PathIndex
from runner.grounding.verify import ground
from runner.records import Scenario, Source, parse_yaml
from runner.repository import fetch_source

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "scenarios" / "core" / "django-queryset-delete" / "scenario.yaml"
CITATIONS = 10_000
_DEFINED = re.compile(r"^[ \t]*(?:async )?(?:def|class) (\w+)", re.M)
_FILLER = (
    "The request is prepared before it is sent, and whatever the handler returns is turned into a response once, in one place. "
    "A reader who wants to change this should look at the callers first, e.g. in the tests, since three (the slow ones) rely on it.\n\n"
)


def _source() -> Source:
    return parse_yaml(
        SCENARIO.read_text(encoding="utf-8"), Scenario, where=str(SCENARIO)
    ).repository


def _answer(files: GitFiles) -> str:
    """10,000 citations over every Python file of the tree: most name a definition at its line, some a place in a body or none."""
    seed = random.Random(0)
    paths = sorted(path for path in files.paths() if path.endswith(".py"))
    texts = {path: files.read(path).decode("utf-8", "replace") for path in paths}
    lines: list[str] = []
    while len(lines) < CITATIONS:
        path = paths[len(lines) % len(paths)]
        found = [*_DEFINED.finditer(texts[path])]
        line = seed.randint(1, max(1, texts[path].count("\n")))
        if not found:
            lines.append(f"- see {path}:{line}")
            continue
        pick = seed.choice(found)
        at = texts[path].count("\n", 0, pick.start(1)) + 1
        lines.append(
            f"- `{pick[1]}` ({path}:{at + seed.randint(0, 3)})"
            if seed.random() < 0.8
            else f"- {path}:{line}-{line + 4}"
        )
    return "\n".join(lines)


def _cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, those of the git process it holds included."""

    def now() -> float:
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    begin = now()
    result = work()
    return now() - begin, result


def figures(repository: Path | None = None, commit: str = "") -> list[dict[str, Any]]:
    """Name, value, bound and detail of each figure, for tests/bench.py. Fetches the tree where no repository is given."""
    if repository is None:
        fetched = fetch_source(
            _source(),
            cache=ROOT / ".fairtrial" / "repositories",
            pins=None,
            environ=dict(os.environ),
        )
        repository, commit = fetched.path, fetched.commit
    with GitFiles(repository, commit) as files:
        text, index = _answer(files), PathIndex(files.paths())
        python = sum(path.endswith(".py") for path in files.paths())

    def verify(cache: str) -> int:
        with GitFiles(repository, commit) as files:
            return ground(text, files, cache_dir=Path(cache)).summary.total

    with tempfile.TemporaryDirectory() as cache:
        cold, total = _cpu(lambda: verify(cache))
        warm = min(_cpu(lambda: verify(cache))[0] for _ in range(5))
    prose = (_FILLER * 3 + "\n".join(text.splitlines()[:6]) + "\n\n") * 1500
    started = time.process_time()
    extract(prose, index)
    speed = len(prose.encode()) / 1e6 / (time.process_time() - started)
    tree = f"{total:,} distinct citations of {python:,} Python files"
    return [
        {"name": "10,000 citations, cold, CPU s", "value": cold, "bound": 8.0, "detail": tree},
        {
            "name": "10,000 citations, warm, CPU s",
            "value": warm,
            "bound": 0.3,
            "detail": f"cold / warm = {cold / warm:.0f}",
        },
        {
            "name": "extraction, MB/s",
            "value": speed,
            "bound": 2.0,
            "detail": f"{len(prose) / 1e6:.1f} MB of prose",
            "at_least": True,
        },
    ]
