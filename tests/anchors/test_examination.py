"""Who may rank: a judge that does not read, or overlooks one kind of fault, is refused.

The held-out scenarios' own anchors and pairs are used, as far as they are graded.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal

import pytest

from runner.catalog.catalog import HELD_OUT, LoadedScenario, load_catalog
from runner.gate import gate, qualities
from runner.gate.calibration_data import Anchor, held_out, load_anchors
from runner.gate.chain import read_chain
from runner.gate.examination import Paper
from runner.gate.frozen import canonical_text
from runner.gate.pairs import (
    CITATIONS,
    CONTRAST,
    PADDED,
    SHUFFLED,
    Pair,
    StepQuestion,
    is_junk,
    is_won,
    pairs_of,
    questions_of,
    shuffled_steps,
)
from runner.gate.requirements import CHANGES, examination
from runner.gate.short_form import CONTRAST_PAIRS, short_anchors
from runner.protocols import LineSource
from runner.records import (
    AnchorsLock,
    AnswerStep,
    Examination,
    MustCite,
    Requirement,
    Rubric,
    parse_json,
)
from runner.scoring import judges
from runner.scoring.judge_repeatability import SMALLEST_DELTA
from runner.scoring.judges.checklist.checklist import Checklist
from runner.support.errors import AnchorsDisagree, AnchorsDrifted
from tests.anchors.material import DATE, FarAway, Judging, Tree
from tests.checkout import ended

ROOT = Path(__file__).resolve().parents[2]
SHUFFLED_ASKED, PADDED_ASKED = (kind + CHANGES[kind] for kind in (SHUFFLED, PADDED))
Score = Callable[[str], float]
"""The text of one step's answer -> what a judge gives it."""


@dataclass(frozen=True, kw_only=True)
class Material:
    root: Path
    anchors: list[Anchor]
    scenarios: list[LoadedScenario]
    pairs: list[Pair]

    @cached_property
    def questions(self) -> tuple[StepQuestion, ...]:
        """Both sides of each pair, and the shuffled anchors: their keys are digested once."""
        of_pairs = chain.from_iterable((pair.better, pair.other) for pair in self.pairs)
        of_anchors = chain.from_iterable(map(shuffled_steps, self.anchors))
        return (*of_pairs, *of_anchors)

    def examined(self, score: Score, *, pairs: Sequence[Pair] | None = None) -> Examination:
        """Of a judge that gives every step `score` of its text."""
        figures = {question.key: score(question.answer.text) for question in self.questions}
        return examination(
            self.anchors,
            [_whole(anchor, score) for anchor in self.anchors],
            self.pairs if pairs is None else pairs,
            figures,
        )


def _whole(anchor: Anchor, score: Score) -> float:
    return sum(score(step.text) for step in anchor.answer) / len(anchor.answer)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Material:
    """The shipped scenarios, without transcripts that nobody has graded yet."""
    root = tmp_path_factory.mktemp("ours")
    for folder in ("scenarios", "images"):
        shutil.copytree(ROOT / folder, root / folder)
    for gold in (root / "scenarios" / HELD_OUT).glob("*/gold_scores.json"):
        graded = {item["transcript"] for item in json.loads(gold.read_text())["transcripts"]}
        for transcript in (gold.parent / "transcripts").iterdir():
            if transcript.name not in graded:
                transcript.unlink()
    catalog = load_catalog(root)
    anchors, scenarios = load_anchors(catalog, None), held_out(catalog)
    pairs = pairs_of(anchors, scenarios)
    return Material(root=root, anchors=anchors, scenarios=scenarios, pairs=pairs)


@pytest.fixture(scope="module")
def oracle(ours: Material) -> Score:
    """Knows the hand grade of every step, and of every pair which is the worse."""
    known: dict[str, float] = {}
    for anchor in ours.anchors:
        for question in shuffled_steps(anchor):
            known[question.answer.text] = 0.0
    for pair in ours.pairs:
        known[pair.other.answer.text] = 0.0
    for anchor in ours.anchors:
        for step, gold in zip(anchor.answer, anchor.gold_steps, strict=True):
            known[step.text] = gold
    return lambda text: known.get(text, 1.0)


def requirement(examined: Examination, name: str) -> Requirement:
    [found] = [asked for asked in examined.requirements if asked.name == name]
    return found


def unmet(examined: Examination) -> set[str]:
    return {asked.name for asked in examined.unmet}


# --- the pairs ------------------------------------------------------------------------------


def test_no_junk_is_made_worse_and_every_pair_differs(ours: Material) -> None:
    junk = {anchor.name for anchor in ours.anchors if is_junk(anchor)}
    assert junk
    for pair in ours.pairs:
        assert pair.name.rpartition(",")[0] not in junk
        assert pair.better.answer.text != pair.other.answer.text
        assert pair.better.must_find == pair.other.must_find


def test_an_answer_without_citations_has_none_to_move(ours: Material) -> None:
    moved = [pair.name for pair in ours.pairs if pair.kind in CITATIONS]
    assert moved
    assert not [name for name in moved if "/uncited.jsonl" in name]


def test_each_kind_has_pairs_of_every_scenario_and_the_same_ones_each_time(ours: Material) -> None:
    again = pairs_of(ours.anchors, ours.scenarios)
    assert [(pair.kind, pair.name) for pair in again] == [
        (pair.kind, pair.name) for pair in ours.pairs
    ]
    for kind in (SHUFFLED, PADDED, *CITATIONS):
        of = {pair.better.scenario for pair in ours.pairs if pair.kind == kind}
        assert of == {loaded.scenario.id for loaded in ours.scenarios}


def test_a_step_judged_by_itself_gets_what_it_gets_in_the_whole(ours: Material) -> None:
    # Only then may a judge be asked about one step at a time.
    judge = Checklist()
    anchor = next(one for one in ours.anchors if one.name.endswith("/thorough.jsonl"))
    whole = judge.judge(anchor.rubric, anchor.answer, anchor.must_find)
    of_steps = qualities.ask(judge, questions_of(anchor), {}, lambda _: None)
    assert list(of_steps.values()) == pytest.approx([step.quality for step in whole.steps])


# --- who ranks ------------------------------------------------------------------------------


def test_a_judge_that_knows_the_gold_and_every_pair_may_rank(ours: Material, oracle: Score) -> None:
    examined = ours.examined(oracle)
    assert (unmet(examined), examined.standing) == (set(), "ranks")


def _negations(text: str) -> int:
    return len(re.findall(r"\b(?:not|never|no|nothing|without)\b|n't\b", text))


def _citations(text: str) -> int:
    return len(re.findall(r"[\w./-]+\.\w+:\d+", text))


TRIVIAL: dict[str, Score] = {
    "the same score always": lambda _: 0.5,
    "length": lambda text: min(1.0, len(text) / 20_000),
    "brevity": lambda text: 1 - min(1.0, len(text) / 20_000),
    "number of citations": lambda text: min(1.0, _citations(text) / 200),
    "negations": lambda text: min(1.0, _negations(text) / 100),
}


@pytest.mark.parametrize("score", TRIVIAL.values(), ids=TRIVIAL)
def test_a_rater_that_does_not_read_may_not_rank(ours: Material, score: Score) -> None:
    examined = ours.examined(score)
    assert examined.standing == "screens"
    assert unmet(examined) & {SHUFFLED_ASKED, CONTRAST, *CITATIONS}


def test_to_know_what_is_junk_is_not_enough_though_rho_over_all_is_high(
    ours: Material,
) -> None:
    worth = {step.text for anchor in ours.anchors if not is_junk(anchor) for step in anchor.answer}
    examined = ours.examined(lambda text: float(text in worth))
    assert examined.standing == "screens"
    assert {"rho among anchors that are no junk", CONTRAST} <= unmet(examined)
    flag = next(rater for rater in examined.trivial if rater.name == "is it junk?")
    assert flag.rho is None and flag.concordance == 0.5
    assert flag.rho_all is not None and flag.rho_all > 0.65


def test_a_perfect_judge_that_is_fed_shuffled_words_may_not_rank(
    ours: Material, oracle: Score
) -> None:
    """It knows all that the words of a text tell, and nothing of their order."""
    by_words: dict[tuple[str, ...], float] = {}
    for question in ours.questions:
        words = tuple(sorted(question.answer.text.split()))
        by_words[words] = max(by_words.get(words, 0.0), oracle(question.answer.text))
    examined = ours.examined(lambda text: by_words.get(tuple(sorted(text.split())), oracle(text)))
    assert SHUFFLED_ASKED in unmet(examined)
    # What it reaches on shuffled answers is what it reaches at all: nothing is above it.
    assert "rho's lower bound against the best trivial rater" in unmet(examined)


@pytest.mark.parametrize("kind", [SHUFFLED, *CITATIONS, f"{CONTRAST}: roles"])
def test_a_judge_that_is_blind_to_one_kind_of_fault_may_not_rank(
    ours: Material, oracle: Score, kind: str
) -> None:
    blind = {
        pair.other.answer.text: oracle(pair.better.answer.text)
        for pair in ours.pairs
        if pair.kind == kind
    }
    examined = ours.examined(lambda text: blind.get(text, oracle(text)))
    assert kind + CHANGES.get(kind, "") in unmet(examined)
    assert examined.standing == "screens"


def test_a_judge_that_loves_negations_may_not_rank_though_it_wins_all_else(
    ours: Material, oracle: Score
) -> None:
    turned = {
        pair.other.answer.text: _negations(pair.other.answer.text)
        - _negations(pair.better.answer.text)
        for pair in ours.pairs
        if pair.kind.startswith(CONTRAST)
    }

    def score(text: str) -> float:
        return 1.0 if turned.get(text, 0) > 0 else oracle(text)

    assert f"{CONTRAST}: negation" in unmet(ours.examined(score))


def test_a_judge_that_pays_for_what_was_not_asked_may_not_rank(
    ours: Material, oracle: Score
) -> None:
    padded = [pair for pair in ours.pairs if pair.kind == PADDED]

    def named(paid: Callable[[int], float]) -> set[str]:
        worth = {
            pair.other.answer.text: oracle(pair.better.answer.text) + paid(number)
            for number, pair in enumerate(padded)
        }
        return unmet(ours.examined(lambda text: worth.get(text, oracle(text))))

    assert named(lambda _: SMALLEST_DELTA) == {PADDED_ASKED}
    # No pair shows it, but a text that is padded again and again would earn it each time.
    assert named(lambda _: 0.04) == {PADDED_ASKED}
    assert named(lambda number: 0.04 if number % 3 else 0) == {PADDED_ASKED}
    # As two readings of one text differ: up as often as down.
    assert named(lambda number: 0.04 * (-1) ** number) == set()


def test_gains_too_small_to_count_in_one_pair_are_named_where_they_add_up(
    ours: Material, oracle: Score
) -> None:
    padded = {pair.other.answer.text: pair for pair in ours.pairs if pair.kind == PADDED}

    def paying(text: str) -> float:
        pair = padded.get(text)
        return oracle(pair.better.answer.text) + 0.04 if pair else oracle(text)

    asked = requirement(ours.examined(paying), PADDED_ASKED)
    assert (asked.figure, asked.passed) == (1.0, False)
    assert asked.note == "small changes add up: +0.040 on the mean, and chance explains 0.013"


def test_a_ruined_answer_has_to_lose_more_than_two_readings_may_differ(
    ours: Material, oracle: Score
) -> None:
    def taking(loss: float, *kinds: str) -> Score:
        worse = {
            pair.other.answer.text: oracle(pair.better.answer.text) - loss
            for pair in ours.pairs
            if pair.kind.startswith(kinds)
        }
        return lambda text: worse.get(text, oracle(text))

    assert SHUFFLED_ASKED in unmet(ours.examined(taking(0.04, SHUFFLED)))
    assert SHUFFLED_ASKED not in unmet(ours.examined(taking(SMALLEST_DELTA, SHUFFLED)))
    # One fact of some twenty may weigh less than that, and one place less still.
    assert unmet(ours.examined(taking(0.01, CONTRAST, *CITATIONS))) == set()


@pytest.mark.parametrize(
    ("lead", "ruined_less", "less", "no_more"),
    [
        (SMALLEST_DELTA, True, True, True),
        (SMALLEST_DELTA - 0.001, False, True, True),
        (0.0, False, False, True),
        (-SMALLEST_DELTA + 0.001, False, False, True),
        (-SMALLEST_DELTA, False, False, False),
    ],
)
def test_a_change_counts_from_one_bound_on_up_and_down(
    lead: float, ruined_less: bool, less: bool, no_more: bool
) -> None:
    assert is_won(lead, no_gain=False, ruined=True) == ruined_less
    assert is_won(lead, no_gain=False) == less
    assert is_won(lead, no_gain=True) == no_more


class Prefers(Judging):
    """An oracle that also compares, by one function of two texts."""

    def __init__(self, score: Score, better: Callable[[str, str], bool]) -> None:
        super().__init__(score, name="prefers")
        self.better = better

    def prefers(
        self,
        rubric: Rubric,
        answers: tuple[AnswerStep, AnswerStep],
        must_find: Sequence[MustCite],
        source: LineSource | None = None,
    ) -> Literal["first", "second", "tie"]:
        first, second = (answer.text for answer in answers)
        if self.better(first, second):
            return "first"
        return "second" if self.better(second, first) else "tie"


def test_a_judge_that_compares_has_to_be_right_in_both_orders(
    ours: Material, oracle: Score
) -> None:
    def examined(better: Callable[[str, str], bool]) -> Examination:
        judge = Prefers(oracle, better)
        figures = {question.key: oracle(question.answer.text) for question in ours.questions}
        figures |= qualities.compare_pairs(judge, ours.pairs, {}, lambda _: None)
        judged = [anchor.gold for anchor in ours.anchors]
        return examination(ours.anchors, judged, ours.pairs, figures)

    # A padded answer is as good: the oracle ties it.
    worth = {pair.other.answer.text: oracle(pair.better.answer.text) for pair in ours.pairs}
    padded = {pair.other.answer.text for pair in ours.pairs if pair.kind == PADDED}

    def score(text: str) -> float:
        return worth[text] if text in padded else oracle(text)

    assert examined(lambda one, two: score(one) > score(two)).standing == "ranks"
    always_first = examined(lambda *_: True)
    assert f"{SHUFFLED}, side by side in both orders" in unmet(always_first)
    longer = examined(lambda one, two: len(one) > len(two))
    assert f"{PADDED}, side by side in both orders" in unmet(longer)


# --- material that does not do --------------------------------------------------------------


def test_gold_that_was_graded_once_judges_nobody(ours: Material, oracle: Score) -> None:
    once = [replace(anchor, gradings=anchor.gradings[:1]) for anchor in ours.anchors]
    examined = replace(ours, anchors=once).examined(oracle)
    asked = requirement(examined, "alpha of the two gradings among anchors that are no junk")
    assert (examined.standing, asked.figure, asked.n) == ("screens", None, 0)
    assert asked.note.endswith("were graded once")


def test_gold_on_which_two_graders_differ_judges_nobody(ours: Material, oracle: Score) -> None:
    turned = [replace(anchor, gradings=(anchor.gold, 1.1 - anchor.gold)) for anchor in ours.anchors]
    examined = replace(ours, anchors=turned).examined(oracle)
    asked = requirement(examined, "alpha of the two gradings among anchors that are no junk")
    assert asked.figure is not None and asked.figure < 0.8
    assert (examined.standing, asked.note) == (
        "screens",
        "the gold is not good enough to judge a judge by",
    )


def test_too_few_pairs_are_no_examination(ours: Material, oracle: Score) -> None:
    few = [pair for pair in ours.pairs if not pair.kind.startswith(CONTRAST)]
    examined = ours.examined(oracle, pairs=few)
    asked = requirement(examined, CONTRAST)
    assert (asked.figure, asked.n, asked.passed) == (None, 0, False)
    assert asked.note == "too few pairs; 120 are the least"
    kept = [pair for pair in ours.pairs if pair.kind != SHUFFLED]
    some = [pair for pair in ours.pairs if pair.kind == SHUFFLED][:5]
    asked = requirement(ours.examined(oracle, pairs=kept + some), SHUFFLED_ASKED)
    assert (asked.figure, asked.passed) == (1.0, False)


def with_unasked(pairs: Sequence[Pair], wrong: set[str]) -> list[Pair]:
    return [replace(pair, asked=pair.other.answer.text not in wrong) for pair in pairs]


def test_what_no_fact_asks_for_is_listed_and_costs_a_judge_nothing(
    ours: Material, oracle: Score
) -> None:
    by_hand = [pair for pair in ours.pairs if pair.kind.startswith(CONTRAST)]
    unseen = {pair.other.answer.text for pair in by_hand[::4]}

    def blind(text: str) -> float:
        return 1.0 if text in unseen else oracle(text)

    every = with_unasked(ours.pairs, set())
    assert CONTRAST in unmet(ours.examined(blind, pairs=every))
    examined = ours.examined(blind, pairs=with_unasked(ours.pairs, unseen))
    assert examined.standing == "ranks"
    asked = requirement(examined, CONTRAST)
    left_out = len(by_hand[::4])
    assert (asked.figure, asked.n) == (1.0, len(by_hand) - left_out)
    assert asked.note == f"{left_out} turn what no fact asks for, and are not asked"


def test_what_a_fact_asks_for_is_asked_of_every_judge_though_the_rest_is_not(
    ours: Material, oracle: Score
) -> None:
    by_hand = [pair for pair in ours.pairs if pair.kind.startswith(CONTRAST)]
    unasked = {pair.other.answer.text for pair in by_hand[::4]}
    seen = {pair.other.answer.text for pair in by_hand} - unasked
    examined = ours.examined(
        lambda text: 1.0 if text in seen else oracle(text),
        pairs=with_unasked(ours.pairs, unasked),
    )
    assert requirement(examined, CONTRAST).figure == 0


def labelled(loaded: LoadedScenario, unasked: int) -> LoadedScenario:
    """Its first pairs as such that no fact asks for, and all others with a fact."""
    pairs = []
    for index, pair in enumerate(loaded.contrast_pairs):
        facts = () if index < unasked else ("a fact",)
        pairs.append(pair.model_copy(update={"facts": facts}))
    return replace(loaded, contrast_pairs=tuple(pairs))


def test_the_short_form_draws_among_what_is_asked_and_has_nothing_else_read(
    ours: Material,
) -> None:
    scenarios = [labelled(loaded, unasked=10) for loaded in ours.scenarios]
    paper = Paper(anchors=short_anchors(ours.anchors), scenarios=scenarios, short=True)
    by_hand = [pair for pair in paper.pairs if pair.kind.startswith(CONTRAST)]
    assert sum(pair.asked for pair in by_hand) == CONTRAST_PAIRS
    left_out = [pair for pair in by_hand if not pair.asked]
    assert len(left_out) == 10 * len(scenarios)
    read = {question.key for question in paper.questions()}
    assert read.isdisjoint(pair.other.key for pair in left_out)
    assert read >= {pair.other.key for pair in by_hand if pair.asked}


def test_a_pair_without_a_verdict_is_not_won(ours: Material, oracle: Score) -> None:
    figures = {question.key: oracle(question.answer.text) for question in ours.questions}
    judged = [anchor.gold for anchor in ours.anchors]
    [*_, last] = [pair for pair in ours.pairs if pair.kind == PADDED]
    del figures[last.other.key]
    asked = requirement(examination(ours.anchors, judged, ours.pairs, figures), PADDED_ASKED)
    assert asked.figure is not None and asked.figure < 1
    assert asked.note == "1 without a verdict"


def test_equal_scores_for_all_are_told_as_what_they_are(ours: Material) -> None:
    examined = ours.examined(lambda _: 0.7)
    asked = requirement(examined, "rho among anchors that are no junk")
    assert (asked.figure, asked.note) == (None, "the judged scores are all the same")
    assert requirement(examined, "pairs ordered alike among anchors that are no junk").figure == 0.5


# --- by the command, and on disk ------------------------------------------------------------


class Oracle(Judging):
    def __init__(self, score: Score) -> None:
        super().__init__(score, name="oracle")


@pytest.fixture(scope="module")
def accepted(ours: Material, oracle: Score, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose first generation holds a judge that ranks."""
    root = tmp_path_factory.mktemp("accepted")
    shutil.copytree(ours.root, root, dirs_exist_ok=True)
    gate.accept(root, Oracle(oracle), reason="first", date=DATE)
    return root


@pytest.fixture
def tree(accepted: Path, tmp_path: Path) -> Path:
    shutil.copytree(accepted, tmp_path / "tree")
    return tmp_path / "tree"


def test_the_command_says_that_a_judge_ranks_and_the_lock_holds_it(
    tree: Path,
    oracle: Score,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kind = judges.JudgeKind(open=lambda _, __: Oracle(oracle))
    monkeypatch.setitem(judges.JUDGES, "oracle", kind)
    arguments = ("verify-anchors", "--judge", "oracle", "--require", "ranks")
    assert ended("--root", tree, *arguments) == 0
    out = capsys.readouterr().out
    assert re.search(r"^oracle RANKS: all \d+ requirements are met$", out, re.MULTILINE)
    assert "NOT MET" not in out
    for rater in ("is it junk?", "length", "number of citations", "given shuffled words"):
        assert rater in out
    locked = read_chain(tree)[-1].judges["oracle"]
    assert locked.standing == "ranks"
    assert (tree / "locks/examinations/oracle.json").is_file()
    record = gate.gate_record(tree, gate.verify(tree, Oracle(oracle)))
    assert (record.standing, record.unmet) == ("ranks", ())


def test_a_deterministic_judge_that_says_otherwise_today_is_refused(
    ours: Material, tree: Path, oracle: Score
) -> None:
    sides = {pair.other.answer.text for pair in ours.pairs if pair.kind == SHUFFLED}
    changed = Oracle(lambda text: 0.123 if text in sides else oracle(text))
    assert gate.verify(tree, changed).examination.standing == "ranks"
    with pytest.raises(AnchorsDrifted, match="no longer says what was accepted"):
        gate.verify(tree, changed, pairs="again")


def test_a_standing_lifted_by_hand_is_drift(tree: Path, oracle: Score) -> None:
    path = tree / "locks/examinations/oracle.json"
    path.write_text(path.read_text().replace('"ranks"', '"screens"'))
    for pairs in ("none", "again"):
        with pytest.raises(AnchorsDrifted, match="is not the examination that was accepted"):
            gate.verify(tree, Oracle(oracle), pairs=pairs)


def test_without_its_examination_a_judge_screens(tree: Path, oracle: Score) -> None:
    (tree / "locks/examinations/oracle.json").unlink()
    examined = gate.verify(tree, Oracle(oracle)).examination
    assert (examined.standing, len(examined.unmet)) == ("screens", 1)
    assert "`fairtrial anchors accept` examines the judge" in examined.unmet[0].note


@pytest.mark.parametrize("place", ["locks", "examination"])
def test_a_judge_that_varies_is_verified_without_asking_it(tmp_path: Path, place: str) -> None:
    tree = Tree.made(tmp_path)
    judge = FarAway(reachable=True)
    gate.accept(tree.root, judge, reason="first", date=DATE)
    asked = judge.asked
    away = FarAway(reachable=False)
    before = gate.verify(tree.root, away, pairs="again").examination
    assert before == gate.verify(tree.root, away).examination
    assert before.standing == "screens"
    if place == "examination":
        (tree.root / "locks/examinations/far-away.json").unlink()
        [first, *_] = gate.verify(tree.root, away, pairs="again").examination.requirements
        assert first.figure == 0 and "without a verdict" in first.note
    # Accepted again, it pays for nothing that is stored.
    tree.edit("scenarios/core/shop-queue/scenario.yaml", "slant: ", "slant: Still ")
    gate.accept(tree.root, judge, reason="a word", date=DATE)
    paid = judge.asked - asked
    assert paid == (1 if place == "locks" else 1 + len(_figures(tree.root)))


def _figures(root: Path) -> Mapping[str, float]:
    stored = json.loads((root / "locks/examinations/far-away.json").read_text())
    figures: Mapping[str, float] = stored["qualities"]
    return figures


def test_a_judge_that_screens_opens_the_gate_and_is_refused_where_it_must_rank(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = Tree.made(tmp_path)
    gate.accept(tree.root, Checklist(), reason="first", date=DATE)
    assert ended("--root", tree.root, "verify-anchors") == 0
    out = capsys.readouterr().out
    assert re.search(r"^checklist SCREENS: \d+ of \d+ requirements are not met", out, re.MULTILINE)
    assert ended("--root", tree.root, "verify-anchors", "--require", "ranks", "--json") == 4
    printed = capsys.readouterr()
    assert "error: the judge checklist screens: " in printed.err
    verdict = json.loads(printed.out)
    assert verdict["examination"]["standing"] == "screens"
    for asked in verdict["examination"]["requirements"]:
        assert asked.keys() == {"name", "figure", "n", "bound", "must", "passed", "note"}
    verified = gate.verify(tree.root, Checklist())
    gate.require(verified)
    with pytest.raises(AnchorsDisagree):
        gate.require_standing(verified, "ranks")
    assert read_chain(tree.root)[-1].judges["checklist"].standing == "screens"


def test_an_older_generation_holds_no_standing_and_keeps_its_bytes() -> None:
    # Its digest is in the next one: a key more would break the chain.
    data = (ROOT / "locks/anchors/1.lock").read_bytes()
    old = parse_json(data, AnchorsLock, where="1.lock")
    assert {judge.standing for judge in old.judges.values()} == {None}
    assert canonical_text(old).encode() == data
