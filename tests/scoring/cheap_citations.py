"""What citations earn that nobody had to read the code for, beside half of an honest answer.

`python -m tests.scoring.cheap_citations` prints the grounding part of each, by scenario. Every
cheat is told which files are asked about, which is more than a search for the prompt's words gives.
"""

from __future__ import annotations

import itertools
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runner.grounding.commit_files import GitFiles
from runner.grounding.outlines import Definition, Outline, outline_of
from runner.grounding.verify import ground, step_citations
from runner.protocols import Files
from runner.records import Answer, AnswerStep, Scenario, Step, Unscored, parse_yaml
from runner.repositories.repository import fetch_source
from runner.scoring.fairness import Evidence, citation_grounding
from tests.scoring.material import effort

ROOT = Path(__file__).resolve().parents[2]
WIDE, NARROW = 249, 60
FEW, MANY = 11, 44
UNRELATED = 80
_IMPORT = re.compile(r"\s*(?:import|from|use|#include|const \{?\w+\}? = require)\b.*")
_DEFINES = re.compile(r"\s*(?:def|class|function|export|async function|static|pub|fn|struct)\s.*")
_TEST = re.compile(r"(?:^|[/_.-])tests?(?:[/_.-]|$)")


@dataclass(frozen=True)
class Asked:
    """What a cheat knows of a step."""

    step: Step
    files: Files

    @cached_property
    def paths(self) -> list[str]:
        """The files of the places asked for."""
        return sorted({place.path for place in self.step.must_cite})

    def lines(self, path: str) -> list[str]:
        return self.files.read(path).decode("utf-8", "replace").split("\n")

    @cached_property
    def definitions(self) -> list[tuple[str, Definition]]:
        found: list[tuple[str, Definition]] = []
        for path in self.paths:
            outline = outline_of(path, self.files.read(path), "", None)
            if isinstance(outline, Outline):
                found += [(path, definition) for definition in outline.definitions]
        return found

    def matching(self, pattern: re.Pattern[str]) -> Iterator[str]:
        """As `grep -n` prints them."""
        for path in self.paths:
            for number, line in enumerate(self.lines(path), 1):
                if pattern.match(line):
                    yield f"{path}:{number}:{line}"


def _tiles(asked: Asked, width: int, most: int, *, named: bool) -> str:
    return "\n".join(itertools.islice(_tiles_of(asked, width, named=named), most))


def _tiles_of(asked: Asked, width: int, *, named: bool) -> Iterator[str]:
    for path in asked.paths:
        for start in range(1, len(asked.lines(path)), width):
            end = min(start + width - 1, len(asked.lines(path)) - 1)
            names = (
                one.name
                for file, one in asked.definitions
                if file == path and start <= one.line <= end
            )
            name = next(names, None) if named else None
            yield f"- `{name}` ({path}:{start}-{end})" if name else f"- {path}:{start}-{end}"


def _outline(asked: Asked) -> str:
    return "\n".join(f"- `{one.name}` ({path}:{one.line})" for path, one in asked.definitions)


def _bodies(asked: Asked) -> str:
    places = ((path, one) for path, one in asked.definitions if one.end > one.start)
    return "\n".join(f"- `{one.name}` ({path}:{one.start}-{one.end})" for path, one in places)


def _grep(asked: Asked) -> str:
    return "\n".join(asked.matching(_DEFINES))


def _imports(asked: Asked) -> str:
    return "\n".join(asked.matching(_IMPORT))


def _comb(asked: Asked) -> str:
    return "\n".join(
        f"- {path}:{line}" for path in asked.paths for line in range(5, len(asked.lines(path)), 10)
    )


def _keyword_hits(asked: Asked) -> str:
    words = [check.value for check in asked.step.checks if isinstance(check.value, str)]
    either = "|".join(map(re.escape, words)) or "(?!)"
    return "\n".join(asked.matching(re.compile(rf".*(?:{either})")))


def _tests(asked: Asked) -> str:
    """Eighty tests that exist, whatever is asked."""
    found: list[str] = []
    for path in sorted(asked.files.paths() - set(asked.paths)):
        if _TEST.search(path) and len(found) < UNRELATED:
            outline = outline_of(path, asked.files.read(path), "", None)
            definitions = outline.definitions if isinstance(outline, Outline) else ()
            found += [f"- `{one.name}` ({path}:{one.line})" for one in definitions]
    return "\n".join(found[:UNRELATED])


CHEATS: dict[str, Callable[[Asked], str]] = {
    "11 ranges of 249, each with a name": lambda asked: _tiles(asked, WIDE, FEW, named=True),
    "44 ranges of 249, each with a name": lambda asked: _tiles(asked, WIDE, MANY, named=True),
    "44 ranges of 249": lambda asked: _tiles(asked, WIDE, MANY, named=False),
    "44 ranges of 60, each with a name": lambda asked: _tiles(asked, NARROW, MANY, named=True),
    "the outline of each file": _outline,
    "the body of each definition": _bodies,
    "grep -n of what is defined": _grep,
    "grep -n of the step's keywords": _keyword_hits,
    "every tenth line": _comb,
    "imports": _imports,
    "80 unrelated tests": _tests,
}


def half_of(text: str) -> str:
    """Every second paragraph or list item of an answer."""
    blocks = re.split(r"\n(?=\s*(?:[-*]|\d+\.)\s)|\n\s*\n", text)
    return "\n\n".join(blocks[::2])


def grounding_part(scenario: Scenario, texts: Sequence[str], files: Files, parsed: Path) -> float:
    """The grounding part of fairness for one text a step. `parsed`: a folder for outlines."""
    whole = ground(texts, files, cache_dir=parsed)
    steps = tuple(
        AnswerStep(name=step.name, prompt=step.prompt, text=text, completed=True)
        for step, text in zip(scenario.steps, texts, strict=True)
    )
    evidence = Evidence(
        scenario=scenario,
        answer=Answer(steps=steps),
        effort=effort(),
        citations=step_citations(whole),
        cited=whole.citations,
        files_cited=tuple(len(paths) for paths in whole.by_step),
        verdict=Unscored(reason="not asked for"),
    )
    score = citation_grounding(evidence)
    assert not isinstance(score, Unscored)
    return score.value


@dataclass(frozen=True)
class Measured:
    """A scenario's reference, half of it, and each cheat."""

    scenario: str
    honest: float
    half: float
    cheats: dict[str, float]


def measured(name: str) -> Measured:
    """Raises FairtrialError if the repository is out of reach."""
    [file] = (ROOT / "scenarios").glob(f"*/{name}/scenario.yaml")
    scenario = parse_yaml(file.read_text(encoding="utf-8"), Scenario, where=str(file))
    cache = ROOT / ".fairtrial" / "repositories"
    source = scenario.repository
    fetched = fetch_source(source, cache=cache, pins=None, environ=dict(os.environ))
    places = range(1, len(scenario.steps) + 1)
    reference = [(file.parent / f"reference/{n}.md").read_text(encoding="utf-8") for n in places]
    # Kept for this scenario alone: all of its answers cite the same files.
    with GitFiles(fetched.path, fetched.commit) as files, tempfile.TemporaryDirectory() as parsed:

        def part(texts: Sequence[str]) -> float:
            return grounding_part(scenario, texts, files, Path(parsed))

        asked = [Asked(step, files) for step in scenario.steps]
        cheats = {cheat: part(list(map(make, asked))) for cheat, make in CHEATS.items()}
        half = part(list(map(half_of, reference)))
        return Measured(name, part(reference), half, cheats)


def main() -> None:
    """Print the table."""
    names = sorted(path.parent.name for path in (ROOT / "scenarios").glob("*/*/scenario.yaml"))
    print(f"{'scenario':26} honest  half  " + "  ".join(str(n) for n in range(1, len(CHEATS) + 1)))
    for name in names:
        one = measured(name)
        cheats = "  ".join(f"{value:.2f}" for value in one.cheats.values())
        print(f"{name:26} {one.honest:5.2f} {one.half:6.2f}  {cheats}")


if __name__ == "__main__":
    main()
