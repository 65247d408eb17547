"""What a judge of keys is asked before it may rank: every pair of every shipped question."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from runner.catalog.catalog import EXACT, Catalog, LoadedScenario
from runner.gate import qualities
from runner.gate.exact_pairs import ALL, KINDS, PairsOfQuestion, ask_pairs
from runner.gate.requirements import ExaminationMode, not_examined
from runner.protocols import ByKey, HoldsFiles, Judge, Log, OpenLineSource
from runner.records import (
    Concordance,
    ExactKey,
    Examination,
    JudgeLock,
    Requirement,
    digest_of,
)
from runner.scoring.rank_agreement import DECIMALS, ROUNDING, correlate
from runner.support.code_digest import makes_figures
from runner.support.errors import NoVerdict

LEAST_PAIRS = 20
"""Of a kind: a suite of a few questions vouches for nobody."""
EXAMINED = "questions that were examined"


def key_of(loaded: LoadedScenario) -> str:
    """Of all that a question's pairs follow from, but the judge and the repository's pin."""
    return digest_of([loaded.scenario.id, loaded.scored_by])


def shipped_questions(catalog: Catalog) -> list[LoadedScenario]:
    folders = catalog.scenarios.folders.items()
    return [catalog.scenarios[name] for name, folder in folders if folder.parent.name == EXACT]


def keys_beside(loaded: LoadedScenario, questions: Sequence[LoadedScenario]) -> list[ExactKey]:
    """Of the other questions about the same repository."""
    return [
        it.question.key
        for it in questions
        if it.folder == loaded.folder and it is not loaded and it.question
    ]


# --- the examination ------------------------------------------------------------------------


@makes_figures
def examine_keys(  # noqa: PLR0913 - what a judge is examined with, each by its name
    root: Path,
    judge: Judge,
    locked: JudgeLock | None,
    sources: OpenLineSource | None,
    *,
    catalog: Catalog,
    asking: ExaminationMode,
    in_use: Collection[str] | None,
    log: Log,
) -> tuple[Mapping[str, float], Examination]:
    """`key_of` each shipped question -> the share of its pairs that is won; and what follows.

    `in_use`: the shipped questions that a run asks; None for all. Raises NoVerdict if the commits'
    files cannot be read.
    """
    accepted = qualities.stored(root, judge, locked)
    if asking == "none":
        known = accepted.qualities if accepted else {}
        kinds = accepted.examination.requirements if accepted else ()
        questions = shipped_questions(catalog)
        if in_use is not None:
            questions = [loaded for loaded in questions if loaded.scenario.id in in_use]
        return known, _examination([*kinds[1:], _examined(questions, known)], bool(accepted))
    questions = shipped_questions(catalog)
    found = _asked(judge, questions, sources, log)
    known = {key: round(pairs.share, DECIMALS) for key, pairs in found.items()}
    if asking == "again":
        qualities.refuse_others(judge, known, accepted.qualities if accepted else {})
    return known, _examination([_examined(questions, known), *_of_kinds(found.values())], True)


def _asked(
    judge: Judge, questions: Sequence[LoadedScenario], sources: OpenLineSource | None, log: Log
) -> dict[str, PairsOfQuestion]:
    assert isinstance(judge, ByKey)  # noqa: S101 - nobody else comes here
    found: dict[str, PairsOfQuestion] = {}
    # What is parsed for one answer is what the next one cites.
    with tempfile.TemporaryDirectory(prefix="fairtrial-") as scratch:
        for number, loaded in enumerate(questions, start=1):
            if number % qualities.TELL_EVERY == 0:
                log(f"examining {judge.name}: {number} of {len(questions)} questions")
            source = sources(loaded.scenario.id) if sources else None
            if not isinstance(source, HoldsFiles):
                raise NoVerdict(f"the files of {loaded.scenario.id} are not there")
            beside = keys_beside(loaded, questions)
            pairs = ask_pairs(judge, loaded, source.files(), beside, Path(scratch))
            for kind, text in pairs.lost:
                log(f"{loaded.scenario.id}: {kind} is worth as much as the key: {text[:200]!r}")
            found[key_of(loaded)] = pairs
    return found


def _examined(questions: Sequence[LoadedScenario], known: Mapping[str, float]) -> Requirement:
    """A question that no accepted examination holds may be one that can be gamed."""
    held = sum(known.get(key_of(loaded), 0.0) >= ALL - ROUNDING for loaded in questions)
    share = held / len(questions) if questions else ALL
    return _requirement(EXAMINED, share, len(questions), least=0)


def _of_kinds(found: Collection[PairsOfQuestion]) -> Iterator[Requirement]:
    asked, lost = Counter[str](), Counter[str]()
    for pairs in found:
        asked += pairs.asked
        lost += Counter(kind for kind, _ in pairs.lost)
    for kind in KINDS:
        n = asked[kind]
        share = 1 - lost[kind] / n if n else None
        yield _requirement(kind, share, n, least=LEAST_PAIRS)


def _requirement(name: str, share: float | None, n: int, *, least: int) -> Requirement:
    note = f"too few pairs; {least} are the least" if n < least else ""
    passed = share is not None and share >= ALL - ROUNDING and n >= least
    return Requirement(
        name=name, figure=share, n=n, bound=ALL, must="at least", passed=passed, note=note
    )


def _examination(requirements: Sequence[Requirement], accepted: bool) -> Examination:
    if not accepted:
        return not_examined()
    ranks = all(asked.passed for asked in requirements)
    return Examination(
        standing="ranks" if ranks else "screens",
        requirements=tuple(requirements),
        trivial=(),
        rho=correlate([], []),
        concordance=Concordance(share=None, pairs=0),
        alpha=None,
    )
