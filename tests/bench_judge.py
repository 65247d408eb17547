"""What the checklist judge says of texts that were spoilt in a known way: figures, and no test.

    python -m tests.bench_judge [--half development|report] [--json]

The judge was improved on the scenarios of DEVELOPMENT; those of the other half, and the answers in
tests/judges/unseen, which were written before it was improved, show what that is worth elsewhere.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import scipy.stats
import yaml

from runner.catalog.catalog import Catalog, LoadedScenario, load_catalog
from runner.gate.calibration_data import (
    GOLD,
    TRANSCRIPTS,
    gold_steps,
    held_out,
    read_gold,
    rubric_weights,
)
from runner.records import AnswerStep, GoldTranscript, MustCite, Rubric
from runner.records.transcript_files import iter_transcript, split
from runner.scoring.judges.checklist.checklist import Checklist
from runner.scoring.steps import must_find

ROOT = Path(__file__).resolve().parent.parent
SECOND_GRADES = ROOT / "../../shared/data/second-grades/grades.json"
UNSEEN = ROOT / "tests/judges/unseen"
DEVELOPMENT = frozenset(
    {
        "django-queryset-delete",
        "fastify-request-hooks",
        "flask-error-handling",
        "hiredis-reply-building",
    }
)
JUNK = 0.1
"""Anchors graded no higher answer nothing: to tell them from the others is no art."""
SEEDS = 5
UNSEEN_GRADES = {
    "other-words": 0.95,
    "terse": 0.85,
    "half": 0.5,
    "honest-partial": 0.45,
    "wrong-places": 0.35,
    "confident-wrong": 0.1,
    "off-question": 0.02,
    "soup": 0.0,
}
"""Kind -> the grade it was written to deserve."""

Spoil = Callable[[str, random.Random], str]


# --- material -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Text:
    """An answer, and what is needed to judge it."""

    scenario: str
    name: str
    rubric: Rubric
    answer: tuple[AnswerStep, ...]
    must_find: tuple[tuple[MustCite, ...], ...]
    grade: float

    def with_texts(self, texts: Sequence[str]) -> tuple[AnswerStep, ...]:
        """Its steps, saying something else."""
        pairs = zip(self.answer, texts, strict=True)
        return tuple(step.model_copy(update={"text": text}) for step, text in pairs)

    def spoilt(self, spoil: Spoil, seed: int) -> tuple[AnswerStep, ...]:
        chance = random.Random(seed)
        return self.with_texts([spoil(step.text, chance) for step in self.answer])


def quality(text: Text, answer: Sequence[AnswerStep] | None = None) -> float:
    return Checklist().judge(text.rubric, answer or text.answer, text.must_find).quality


@cache
def catalog() -> Catalog:
    return load_catalog(ROOT)


def references(half: frozenset[str]) -> list[Text]:
    return [_reference(loaded) for name, loaded in catalog().scenarios.items() if name in half]


def _reference(loaded: LoadedScenario) -> Text:
    return _text(loaded, "reference", loaded.reference, grade=1.0)


def _text(loaded: LoadedScenario, name: str, texts: Sequence[str], grade: float) -> Text:
    steps = []
    missing = len(loaded.scenario.steps) - len(texts)
    for step, text in zip(loaded.scenario.steps, [*texts, *[""] * missing], strict=True):
        steps.append(AnswerStep(name=step.name, prompt=step.prompt, text=text, completed=True))
    return Text(
        scenario=loaded.scenario.id,
        name=name,
        rubric=loaded.rubric,
        answer=tuple(steps),
        must_find=must_find(loaded.scenario),
        grade=grade,
    )


def anchors(half: frozenset[str]) -> list[Text]:
    """Those that are graded."""
    found = []
    for loaded in held_out(catalog()):
        if loaded.scenario.id in half:
            where = loaded.folder / GOLD
            for graded in read_gold(where, str(where)).transcripts:
                found.append(_graded(loaded, graded))
    return found


def _graded(loaded: LoadedScenario, graded: GoldTranscript) -> Text:
    events = iter_transcript(loaded.folder / TRANSCRIPTS / graded.transcript)
    answer, _, _ = split(events, loaded.scenario)
    texts = [step.text for step in answer.steps]
    grade = statistics.fmean(gold_steps(graded, rubric_weights(loaded.rubric)))
    return _text(loaded, graded.transcript, texts, grade)


def unseen() -> dict[str, dict[str, Text]]:
    """Scenario -> kind -> an answer to its first step alone."""
    found: dict[str, dict[str, Text]] = {}
    for path in sorted(UNSEEN.glob("*/*.md")):
        loaded = catalog().scenarios[path.parent.name]
        text = _text(loaded, path.stem, [path.read_text()], UNSEEN_GRADES[path.stem])
        found.setdefault(path.parent.name, {})[path.stem] = text
    return found


# --- ways to spoil an answer --------------------------------------------------------------------

PLACE = re.compile(r"([\w./-]+\.\w+):(\d+)(?:-(\d+))?")
IDENTIFIER = re.compile(r"`[^`\n:]+`")
SENTENCE = re.compile(r"(?<=[.!?])\s+")


def shuffled(text: str, chance: random.Random) -> str:
    """All words of each step in another order."""
    words = text.split()
    chance.shuffle(words)
    return " ".join(words)


def shuffled_sentences(text: str, chance: random.Random) -> str:
    """The words of each sentence in another order."""
    return _each_line(text, lambda line: " ".join(_shuffled_parts(line, chance)))


def shuffled_lines(text: str, chance: random.Random) -> str:
    """The words of each line in another order."""
    return _each_line(text, lambda line: shuffled(line, chance))


def _shuffled_parts(line: str, chance: random.Random) -> Iterator[str]:
    for sentence in SENTENCE.split(line):
        yield shuffled(sentence, chance)


def _each_line(text: str, change: Callable[[str], str]) -> str:
    """Each line's text changed; what makes it an item, a heading or a row stays."""
    lines = []
    for line in text.splitlines():
        mark = re.match(r"\s*(?:[-*#>|]+|\d+[.)])?\s*", line)
        start = mark.end() if mark else 0
        rest = line[start:]
        lines.append(line[:start] + change(rest) if rest.strip("-| ") else line)
    return "\n".join(lines)


def _moved(lines: int) -> Spoil:
    def spoil(text: str, _: random.Random) -> str:
        return PLACE.sub(lambda place: _shifted(place, lines), text)

    return spoil


def _shifted(place: re.Match[str], lines: int) -> str:
    end = f"-{int(place[3]) + lines}" if place[3] else ""
    return f"{place[1]}:{int(place[2]) + lines}{end}"


def other_file(text: str, _: random.Random) -> str:
    """Each citation names the next other file that the text cites."""
    files = list(dict.fromkeys(place[1] for place in PLACE.finditer(text)))
    following = dict(zip(files, [*files[1:], "src/elsewhere.py"], strict=True))
    return PLACE.sub(lambda place: f"{following[place[1]]}:{int(place[2]) + 1000}", text)


def no_places(text: str, _: random.Random) -> str:
    return PLACE.sub("", text).replace("()", "")


def false_lines(text: str, _: random.Random) -> str:
    return _each_line(text, lambda line: f"It is false that {line}")


def question_lines(text: str, _: random.Random) -> str:
    return _each_line(text, lambda line: f"Is it so that {line.rstrip('.:;')}?")


def question_sentences(text: str, _: random.Random) -> str:
    return _each_line(text, lambda line: re.sub(r"[.:;](?=\s|$)", "?", line))


OPPOSITES = {
    "before": "after",
    "inner": "outer",
    "inside": "outside",
    "returns": "raises",
    "return": "raise",
    "returned": "raised",
    "first": "last",
    "always": "never",
    "reads": "writes",
}


def opposites(text: str, _: random.Random) -> str:
    """Before and after, inner and outer, returns and raises, … exchanged."""
    both = OPPOSITES | {there: here for here, there in OPPOSITES.items()}
    words = re.compile(r"\b(" + "|".join(both) + r")\b")
    return words.sub(lambda word: both[word[1]], text)


def in_comment(text: str, _: random.Random) -> str:
    return f"<!--\n{text}\n-->"


def rotated(text: str, _: random.Random) -> str:
    """Each name in code marks replaced by the next other one of the text."""
    names = list(dict.fromkeys(IDENTIFIER.findall(text)))
    following = dict(zip(names, [*names[1:], *names[:1]], strict=True))
    return IDENTIFIER.sub(lambda name: following[name[0]], text)


def wide_ranges(text: str, _: random.Random) -> str:
    """Each citation replaced by eight neighbouring ranges of 149 lines of the same file."""

    def ranges(place: re.Match[str]) -> str:
        first = max(1, int(place[2]) - 4 * 149)
        starts = range(first, first + 8 * 149, 149)
        return ", ".join(f"{place[1]}:{start}-{start + 148}" for start in starts)

    return PLACE.sub(ranges, text)


def padded(text: str, chance: random.Random) -> str:
    """True and beside the point, ahead of every third line."""
    lines = []
    for at, line in enumerate(text.splitlines()):
        if at % 3 == 0 and line and line[0].isalpha():
            lines.append(chance.choice(PADDING) + "\n")
        lines.append(line)
    return "\n".join([*lines, "", *PADDING])


PADDING = (
    "The repository has a licence file and a list of its authors at the top.",
    "Releases are tagged, and each has an entry in the list of changes.",
    "The code is formatted in one style, and a linter runs over it in continuous integration.",
    "Names of modules are short and in lower case, as is usual in this language.",
)


def half(text: str, _: random.Random) -> str:
    """Every second line with a citation left out: honest, and half of it."""
    lines = []
    cited = 0
    for line in text.splitlines():
        cited += bool(PLACE.search(line))
        if not PLACE.search(line) or cited % 2:
            lines.append(line)
    return "\n".join(lines[: max(1, len(lines) * 2 // 3)])


SPOILS: dict[str, Spoil] = {
    "words shuffled, whole step": shuffled,
    "words shuffled in each line": shuffled_lines,
    "words shuffled in each sentence": shuffled_sentences,
    "citations +20": _moved(20),
    "citations +200": _moved(200),
    "citations in another file": other_file,
    "citations removed": no_places,
    "padded": padded,
    "It is false that": false_lines,
    "Is it so that …?": question_lines,
    "as questions": question_sentences,
    "opposites exchanged": opposites,
    "in an HTML comment": in_comment,
    "identifiers rotated": rotated,
    "eight ranges of 149 lines": wide_ranges,
    "honest half": half,
}


# --- figures ------------------------------------------------------------------------------------


def rho(gold: Sequence[float], judged: Sequence[float]) -> float:
    if len(set(judged)) < 2:
        return 0.0
    return float(scipy.stats.spearmanr(gold, judged).statistic)


def pairwise(gold: Sequence[float], judged: Sequence[float], gap: float = 0.1) -> float:
    """Of the pairs whose grades are `gap` apart, the share that the judge orders alike."""
    right = []
    for (gold_a, judged_a), (gold_b, judged_b) in itertools.combinations(
        zip(gold, judged, strict=True), 2
    ):
        if abs(gold_a - gold_b) >= gap:
            right.append((gold_a - gold_b) * (judged_a - judged_b) > 0)
    return statistics.fmean(right) if right else 0.0


def anchor_figures(texts: Sequence[Text]) -> dict[str, Any]:
    gold = [text.grade for text in texts]
    judged = [quality(text) for text in texts]
    figures: dict[str, Any] = {
        "n": len(texts),
        "rho": rho(gold, judged),
        "pairwise": pairwise(gold, judged),
        "junk flag alone, rho": rho(gold, [float(grade > JUNK) for grade in gold]),
    }
    real = [at for at, grade in enumerate(gold) if grade > JUNK]
    real_gold, real_judged = [gold[at] for at in real], [judged[at] for at in real]
    figures["non-junk n"] = len(real)
    figures["non-junk rho"] = rho(real_gold, real_judged)
    figures["non-junk pairwise"] = pairwise(real_gold, real_judged)
    figures |= second_figures(texts, judged)
    shuffles = []
    for seed in range(SEEDS):
        spoilt = [quality(text, text.spoilt(shuffled, seed)) for text in texts]
        shuffles.append((rho(gold, spoilt), statistics.fmean(spoilt)))
    figures["shuffled rho, mean of seeds"] = statistics.fmean(item[0] for item in shuffles)
    figures["shuffled quality, mean"] = statistics.fmean(item[1] for item in shuffles)
    figures["shuffled seeds with rho >= .85"] = sum(item[0] >= 0.85 for item in shuffles)
    return figures


def second_figures(texts: Sequence[Text], judged: Sequence[float]) -> dict[str, Any]:
    """Against the second grading, where that is at hand."""
    if not SECOND_GRADES.exists():
        return {}
    graded = {}
    for item in json.loads(SECOND_GRADES.read_text())["transcripts"]:
        graded[item["scenario"], item["transcript"]] = item["grade"]
    pairs = []
    for text, quality_here in zip(texts, judged, strict=True):
        if (text.scenario, text.name) in graded:
            pairs.append((graded[text.scenario, text.name], quality_here))
    real = [pair for pair in pairs if pair[0] > JUNK]
    middle = [pair for pair in pairs if 0.3 < pair[0] < 0.9]
    return {
        "second grading, rho": rho(*zip(*pairs, strict=True)),
        "second grading, non-junk rho": rho(*zip(*real, strict=True)),
        "second grading, .3 to .9 rho": rho(*zip(*middle, strict=True)),
        "second grading, non-junk pairwise": pairwise([a for a, _ in real], [b for _, b in real]),
    }


def spoilt_figures(texts: Sequence[Text]) -> dict[str, Any]:
    """Spoil -> mean worth, and how often the original wins."""
    whole = [quality(text) for text in texts]
    figures: dict[str, Any] = {"as it is": _spread(whole)}
    for name, spoil in SPOILS.items():
        spoilt = [quality(text, text.spoilt(spoil, 1)) for text in texts]
        wins = sum(a > b + 1e-9 for a, b in zip(whole, spoilt, strict=True))
        figures[name] = f"{_spread(spoilt)}  original wins {wins} of {len(texts)}"
    return figures


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.fmean(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


def unseen_figures() -> dict[str, Any]:
    figures: dict[str, Any] = {}
    gold: list[float] = []
    judged: list[float] = []
    right = []
    for scenario, kinds in unseen().items():
        earned = {kind: 4 * quality(text) for kind, text in kinds.items()}
        figures[scenario] = {kind: round(earned[kind], 2) for kind in UNSEEN_GRADES}
        here = [UNSEEN_GRADES[kind] for kind in earned]
        right.append(pairwise(here, list(earned.values()), 0.05))
        gold += here
        judged += earned.values()
    figures["rho"] = rho(gold, judged)
    figures["pairwise within a scenario"] = statistics.fmean(right)
    return figures


def turned_figures(half_names: frozenset[str]) -> dict[str, Any]:
    """Pairs of turned.yaml: the reference with one fact turned round, and with all of them."""
    figures: dict[str, Any] = {}
    for text in references(half_names):
        path = catalog().scenarios[text.scenario].folder / "turned.yaml"
        if not path.exists():
            path = ROOT / "tests/judges/turned" / f"{text.scenario}.yaml"
        if path.exists():
            figures[text.scenario] = _turned(text, yaml.safe_load(path.read_text()))
    return figures


def _turned(text: Text, pairs: Any) -> Mapping[str, Any]:
    if isinstance(pairs, dict):
        pairs = pairs["pairs"]
    whole = quality(text)
    all_texts = [step.text for step in text.answer]
    names = [step.name for step in text.answer]
    wins: dict[str, list[bool]] = {}
    for pair in pairs:
        at = names.index(pair["step"]) if pair["step"] in names else int(pair["step"]) - 1
        one = [step.text for step in text.answer]
        if pair["right"] not in one[at]:
            continue
        one[at] = one[at].replace(pair["right"], pair["wrong"], 1)
        all_texts[at] = all_texts[at].replace(pair["right"], pair["wrong"], 1)
        wins.setdefault(pair["kind"], []).append(whole > quality(text, text.with_texts(one)) + 1e-9)
    return {
        "kinds": {kind: f"{sum(won)} of {len(won)}" for kind, won in wins.items()},
        "wins": f"{sum(map(sum, wins.values()))} of {sum(map(len, wins.values()))}",
        "all at once": f"{quality(text, text.with_texts(all_texts)):.2f} of {whole:.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("development", "report", "all"), default="all")
    parser.add_argument("--unseen", action="store_true", help="the unseen answers too")
    chosen = parser.parse_args()
    names = frozenset(catalog().scenarios)
    halves = {
        "development": names & DEVELOPMENT,
        "report": names - DEVELOPMENT,
    }
    if chosen.half == "all":
        halves["all"] = names
    else:
        halves = {chosen.half: halves[chosen.half]}
    figures: dict[str, Any] = {}
    for name, members in halves.items():
        figures[f"{name}: anchors"] = anchor_figures(anchors(members))
        figures[f"{name}: references"] = spoilt_figures(references(members))
        figures[f"{name}: turned"] = turned_figures(members)
    if chosen.unseen:
        figures["unseen"] = unseen_figures()
    sys.stdout.write(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
