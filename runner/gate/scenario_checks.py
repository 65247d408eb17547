"""What `fairtrial check` proves of every scenario before it measures anyone.

Gold passes, silence fails, and cheats lose: the reference answer, an empty one, and those of
runner/gate/adversarial_answers.py. So does the reference with every cited line moved, even if a
judge takes its words for as good. All of them are made from the scenario itself, so each new one
proves itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.catalog.catalog import CONTRAST_FILE, HELD_OUT, Catalog
from runner.gate.adversarial_answers import CHEATS, PASTED_PROMPT, ScenarioWithRubric, cheats
from runner.gate.exact_pairs import ask_pairs
from runner.gate.fact_wording import wording_problems
from runner.gate.perturbations import moved, thinned
from runner.grounding.outlines import outline_of
from runner.grounding.pointing import TOLERANCE
from runner.grounding.symbols import SourceFile
from runner.protocols import Files, Judge
from runner.records import (
    Answer,
    ContrastPair,
    Effort,
    Fairness,
    MustCite,
    Score,
    Scored,
    Verdict,
)
from runner.scoring.fairness import FAIRNESS, score_fairness
from runner.scoring.judges.exact_judge import Exact
from runner.scoring.steps import answer_steps
from runner.support.errors import Problem

REFERENCE_FLOOR = 0.9
"""What a scenario's own reference answer must earn; `fairtrial anchors accept` asks the same."""
CHEAT_MARGIN = 0.25
"""How far a cheat must stay behind the reference."""
PROMPT_CEILING = 0.5
"""The pasted prompt must earn less, however much the reference earns."""
LIE_LINES = 20
"""How far every cited line of the reference is moved: past the next definition."""
LIE_MARGIN = 0.15
"""How far that must stay behind the reference, with the reference's verdict."""
DROPPED_ONE_IN = 5
"""Citations of the reference, in the plainer answer that it must stay behind as well."""
LEAST_CITED = 10
"""Places of the reference, for that to be asked."""
MIN_CONTRAST_PAIRS = 40
"""Pairs of a held-out scenario: of ten, two misses could be luck and would close the gate."""


@dataclass(frozen=True, kw_only=True)
class ScenarioProof:
    """What was found of one scenario, or of a folder that cannot be read."""

    scenario: str
    problems: tuple[Problem, ...]

    def as_text(self) -> str:
        verdict = "FAIL" if self.problems else "ok  "
        return "\n".join([f"{verdict} {self.scenario}", *(f"     {it}" for it in self.problems)])

    def as_json(self) -> dict[str, object]:
        problems = [{"where": item.where, "message": item.message} for item in self.problems]
        return {"scenario": self.scenario, "problems": problems}


def broken_folders(catalog: Catalog) -> Iterator[ScenarioProof]:
    """Of every folder that cannot be read, a server's too: nobody else may ask for it."""
    scenarios, testbed = catalog.scenarios, catalog.testbed
    for name, problems in scenarios.broken().items():
        suite = scenarios.folders[name].parent.name
        yield ScenarioProof(scenario=f"{suite}/{name}", problems=problems)
    for problem in scenarios.stray:
        yield ScenarioProof(scenario=problem.where, problems=(problem,))
    for name, problems in {**catalog.servers.broken(), **testbed.broken()}.items():
        yield ScenarioProof(scenario=f"images/servers/{name}", problems=problems)
    for problem in testbed.stray:
        yield ScenarioProof(scenario=problem.where, problems=(problem,))


def prove(loaded: ScenarioWithRubric, files: Files, judge: Judge) -> list[Problem]:
    """Everything that keeps the scenario from being measured with; empty if it is proven."""
    if loaded.rubric.is_keyed:
        return [*_structure(loaded), *_key_problems(loaded, files)]
    problems = [*_structure(loaded), *_wording(loaded), *_places(loaded, files)]
    problems += _contrast_pairs(loaded)
    # Scores of a scenario whose steps do not line up would only repeat it in other words.
    if not problems:
        problems += _scores(loaded, files, judge)
    return problems


# --- structure and places -------------------------------------------------------------------


def _structure(loaded: ScenarioWithRubric) -> Iterator[Problem]:
    scenario, names = loaded.scenario.id, [step.name for step in loaded.scenario.steps]
    if loaded.scenario.unreviewed:
        message = f"nobody has reviewed it: {loaded.scenario.unreviewed}"
        yield Problem(where=f"{scenario}/scenario.yaml unreviewed", message=message)
    if len(set(names)) != len(names):
        message = "two steps have one name; give each its own"
        yield Problem(where=f"{scenario}/scenario.yaml steps", message=message)
    if [step.name for step in loaded.rubric.steps] != names:
        message = f"not the scenario's steps; expected, in order: {names}"
        yield Problem(where=f"{scenario}/rubric.yaml steps", message=message)
    if len(loaded.reference) != len(names):
        message = (
            f"{len(loaded.reference)} answers for {len(names)} steps; "
            f"write reference/1.md to reference/{len(names)}.md"
        )
        yield Problem(where=f"{scenario}/reference", message=message)


def _wording(loaded: ScenarioWithRubric) -> Iterator[Problem]:
    for number, step in enumerate(loaded.rubric.steps):
        for criterion, index, message in wording_problems(step):
            where = f"rubric.yaml steps[{number}].criteria.{criterion}.facts[{index}].says"
            yield Problem(where=f"{loaded.scenario.id}/{where}", message=message)


def _places(loaded: ScenarioWithRubric, files: Files) -> Iterator[Problem]:
    """Every place, of the scenario or of a fact, that does not hold at the commit."""
    for number, step in enumerate(loaded.scenario.steps):
        where = f"{loaded.scenario.id}/scenario.yaml steps[{number}].must_cite"
        yield from _misplaced(step.must_cite, files, where)
    for number, rubric_step in enumerate(loaded.rubric.steps):
        for name, criterion in rubric_step.criteria.items():
            where = f"{loaded.scenario.id}/rubric.yaml steps[{number}].criteria.{name}.facts"
            for index, fact in enumerate(criterion.facts):
                yield from _misplaced(fact.cites, files, f"{where}[{index}].cites")
                yield from _misplaced(fact.also, files, f"{where}[{index}].also")


def _key_problems(loaded: ScenarioWithRubric, files: Files) -> Iterator[Problem]:
    """Places of a key that do not hold, and answers that are worse and worth as much as it."""
    where = f"{loaded.scenario.id} key"
    problems: list[Problem] = []
    for step in loaded.rubric.steps:
        for kind in ("places", "optional", "wrong"):
            # What stands there need not be defined there.
            places = (it.model_copy(update={"symbol": None}) for it in getattr(step.key, kind))
            problems += _misplaced(places, files, f"{where}.{kind}")
    yield from problems
    if problems:
        return
    with tempfile.TemporaryDirectory() as cache:
        pairs = ask_pairs(Exact(), loaded, files, cache_dir=Path(cache))
    for kind, text in pairs.lost:
        message = f"{kind}: it is worth as much as the key: {text[:200]!r}"
        yield Problem(where=where, message=message)


def _misplaced(places: Iterable[MustCite], files: Files, where: str) -> Iterator[Problem]:
    for index, place in enumerate(places):
        if message := _why_misplaced(place, files):
            yield Problem(where=f"{where}[{index}]", message=message)


def _why_misplaced(place: MustCite, files: Files) -> str:
    """No such file, no such line, or a symbol defined elsewhere; empty if the place holds."""
    if place.path not in files.paths():
        return f"{place.path} is not a file at the commit; check its spelling and case"
    content = files.read(place.path)
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    last = place.end or place.line
    if last < place.line:
        return f"end {place.end} comes before line {place.line}"
    if last > lines:
        return f"line {last} is past the end of {place.path}, which has {lines} lines"
    if place.symbol:
        return _why_not_defined(place, last, _definitions(place, files))
    return ""


def _why_not_defined(place: MustCite, last: int, definitions: Sequence[int]) -> str:
    for line in definitions:
        if place.line - TOLERANCE <= line <= last + TOLERANCE:
            return ""
    found = "no definition of it is found"
    if definitions:
        found = f"it is defined at {', '.join(str(line) for line in definitions)}"
    near = f"within ±{TOLERANCE} of lines {place.line}–{last}"
    return f"{place.symbol} is not defined {near}: {found}"


def _definitions(place: MustCite, files: Files) -> tuple[int, ...]:
    """Lines on which the verifier's own resolver finds the symbol defined."""
    source, sha = files.read(place.path), files.blob_sha(place.path)
    file = SourceFile(place.path, source, lambda: outline_of(place.path, source, sha, None))
    return tuple(definition.line for definition in file.places(place.symbol or "").definitions)


# --- contrast pairs ---------------------------------------------------------------------------


def _contrast_pairs(loaded: ScenarioWithRubric) -> Iterator[Problem]:
    """Every pair that cannot be made from the reference, and whether the gate has enough."""
    where = f"{loaded.scenario.id}/{CONTRAST_FILE}"
    references = dict(zip(_step_names(loaded), loaded.reference, strict=False))
    seen: set[tuple[str, str, str]] = set()
    for index, pair in enumerate(loaded.contrast_pairs):
        problem = _why_no_pair(pair, references.get(pair.step, ""))
        if (pair.step, pair.right, pair.wrong) in seen:
            problem = "an earlier pair is the same; it would count twice"
        seen.add((pair.step, pair.right, pair.wrong))
        if problem:
            yield Problem(where=f"{where} pairs[{index}]", message=problem)
    yield from _labels(loaded, where)
    count = sum(pair.is_asked for pair in loaded.contrast_pairs)
    if loaded.suite == HELD_OUT and count < MIN_CONTRAST_PAIRS:
        message = (
            f"has {count} pairs that a fact asks for; the gate asks for at least "
            f"{MIN_CONTRAST_PAIRS}"
        )
        yield Problem(where=where, message=message)


def _labels(loaded: ScenarioWithRubric, where: str) -> Iterator[Problem]:
    """Facts of pairs that the pair's step does not have, and pairs that were left unlabelled."""
    known = {step.name: {fact.says for fact in step.facts} for step in loaded.rubric.steps}
    labelled = any(pair.facts is not None for pair in loaded.contrast_pairs)
    for index, pair in enumerate(loaded.contrast_pairs):
        for says in pair.facts or ():
            if says not in known.get(pair.step, set()):
                message = f"{pair.step} has no fact {says!r} in rubric.yaml"
                yield Problem(where=f"{where} pairs[{index}].facts", message=message)
        if labelled and pair.facts is None:
            message = "say for all pairs which facts `right` states, [] for none, or for no pair"
            yield Problem(where=f"{where} pairs[{index}].facts", message=message)


def _step_names(loaded: ScenarioWithRubric) -> list[str]:
    return [step.name for step in loaded.scenario.steps]


def _why_no_pair(pair: ContrastPair, reference: str) -> str:
    """Empty if `right` can be replaced in the step's reference answer."""
    count = reference.count(pair.right)
    if count != 1:
        return (
            f"`right` stands {count} times in the reference answer of {pair.step}, not once: "
            f"{pair.right!r}"
        )
    return ""


# --- scores ---------------------------------------------------------------------------------


def _scores(loaded: ScenarioWithRubric, files: Files, judge: Judge) -> Iterator[Problem]:
    # Eleven answers cite the same files: parsed once, they take a third of the time.
    with tempfile.TemporaryDirectory() as cache:

        def score(texts: Sequence[str]) -> Fairness:
            return _score(loaded, texts, files, judge, Path(cache))

        reference = score(loaded.reference)
        where = f"{loaded.scenario.id}/reference"
        yield from _reference_passes(where, reference)
        yield from _silence_fails(where, score([""] * len(loaded.reference)))
        for cheat, texts in cheats(loaded, files).items():
            yield from _cheat_loses(loaded.scenario.id, cheat, reference, score(texts))
        if reference.verdict and isinstance(reference.must_cite_recall, Scored):
            plain = score([thinned(text, DROPPED_ONE_IN) for text in loaded.reference])
            lies = [moved(text, LIE_LINES) for text in loaded.reference]
            lied = _score(loaded, lies, files, Believer(reference.verdict), Path(cache))
            if _is_moved(reference, lied):
                figures = worth(reference), worth(plain), worth(lied)
                yield from _lie_loses(loaded.scenario.id, *figures)


def _reference_passes(where: str, reference: Fairness) -> Iterator[Problem]:
    for name, value in _parts(reference).items():
        if value < REFERENCE_FLOOR:
            message = f"{name} is {value:.2f}, below {REFERENCE_FLOOR}: {_why(reference, name)}"
            yield Problem(where=where, message=message)


def _silence_fails(where: str, silence: Fairness) -> Iterator[Problem]:
    values = {**_parts(silence), "efficiency": _value(silence, "efficiency")}
    for name, value in values.items():
        if value:
            message = f"an empty answer scores {value:.2f} on {name}, not 0"
            yield Problem(where=where, message=message)


def _cheat_loses(
    scenario: str, cheat: str, reference: Fairness, scored: Fairness
) -> Iterator[Problem]:
    fix, best = CHEATS[cheat].fix, _compared(reference)
    for name, value in _compared(scored).items():
        earned = f"{cheat} gets {value:.2f} of {name}"
        if best[name] - value < CHEAT_MARGIN:
            message = f"{earned}, the reference {best[name]:.2f}; {fix}"
            yield Problem(where=scenario, message=message)
        # A prompt that holds half the answer measures reading, whatever else there is to find.
        elif cheat == PASTED_PROMPT and value >= PROMPT_CEILING:
            yield Problem(where=scenario, message=f"{earned}; {fix}")


class Believer:
    """A judge that opens no place: it gives one verdict whatever lines are cited."""

    name = "believer"
    identity = "0" * 64
    deterministic = True

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def judge(self, *_: Any, **__: Any) -> Verdict:
        return self._verdict


def _is_moved(reference: Fairness, lied: Fairness) -> bool:
    """False if many lines are written in a form that stays as it is: that would be no lie.

    Nor can a lie be told of few places, where a name or two that stand near by decide.
    """
    before = {(one.path, one.start) for one in reference.citations if one.start is not None}
    after = {(one.path, one.start) for one in lied.citations}
    return len(before) >= LEAST_CITED and len(before & after) * 10 <= len(before)


def _lie_loses(where: str, reference: float, plain: float, lied: float) -> Iterator[Problem]:
    if lied >= min(reference - LIE_MARGIN, plain):
        message = (
            f"with every line moved by {LIE_LINES} the reference gets {lied:.2f} of fairness "
            f"without efficiency, as it is {reference:.2f}, without one citation in "
            f"{DROPPED_ONE_IN} {plain:.2f}; name what stands at its places, and cite more of them"
        )
        yield Problem(where=where, message=message)


def _compared(fairness: Fairness) -> dict[str, float]:
    """The figures in which a cheat has to stay behind the reference."""
    return {
        "fairness without efficiency": worth(fairness),
        "llm_quality": _value(fairness, "llm_quality"),
    }


def worth(fairness: Fairness) -> float:
    """Fairness without efficiency, the other weights scaled up to 1."""
    # A cheat costs nothing to write, so it would win on efficiency whatever it says.
    weights = {name: FAIRNESS[name].weight for name in _proven()}
    earned = sum(weight * _value(fairness, name) for name, weight in weights.items())
    return earned / sum(weights.values())


def _proven() -> list[str]:
    """Every part of fairness but efficiency: a text that was never run cost nothing."""
    return [name for name in FAIRNESS if name != "efficiency"]


def _parts(fairness: Fairness) -> dict[str, float]:
    """What is asked of the reference."""
    names = _proven()
    # A scenario without must_cite places has no recall to prove.
    if isinstance(fairness.must_cite_recall, Scored):
        names.append("must_cite_recall")
    return {name: _value(fairness, name) for name in names}


def _score_of(fairness: Fairness, name: str) -> Score:
    if name == "must_cite_recall":
        return fairness.must_cite_recall
    return fairness.parts[name]


def _value(fairness: Fairness, name: str) -> float:
    score = _score_of(fairness, name)
    if isinstance(score, Scored):
        return score.value
    return 0.0


def _why(fairness: Fairness, name: str) -> str:
    """Why the reference does not earn more of a part, for whoever has to mend it."""
    if name == "llm_quality" and fairness.verdict:
        return " | ".join(_lost_criteria(fairness.verdict))
    score = _score_of(fairness, name)
    if isinstance(score, Scored):
        why = score.detail
    else:
        why = score.reason
    if name == "citation_grounding":
        why = "; ".join([why, *_failed_citations(fairness)])
    return why


def _lost_criteria(verdict: Verdict) -> Iterator[str]:
    for step in verdict.steps:
        for name, criterion in step.criteria.items():
            if criterion.score < 1:
                yield f"{step.name}, {name}: {criterion.reason}"


def _failed_citations(fairness: Fairness) -> Iterator[str]:
    for citation in fairness.citations:
        if citation.status != "grounded" and citation.start is not None:
            yield f"{citation.written} ({citation.reason})"


def _score(
    loaded: ScenarioWithRubric, texts: Sequence[str], files: Files, judge: Judge, cache_dir: Path
) -> Fairness:
    steps = answer_steps(loaded.scenario, texts)
    # No agent ran: it cost nothing.
    effort = Effort(
        input_tokens=0,
        output_tokens=0,
        new_tokens=0,
        agent_sec=0,
        backoff_sec=0,
        actions=0,
        steps_completed=sum(step.completed for step in steps),
        steps=len(steps),
        tokens_estimated=True,
    )
    return score_fairness(
        loaded.scenario,
        loaded.rubric,
        Answer(steps=steps),
        effort,
        files=files,
        judge=judge,
        cache_dir=cache_dir,
    )
