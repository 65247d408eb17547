"""A model judge on its way to RANKS: by the command, the real SDK and a server on this machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runner.catalog.catalog import load_catalog
from runner.catalog.checkout import Checkout
from runner.gate.chain import read_chain
from runner.gate.examination import paper_of
from runner.gate.pairs import CONTRAST, SHUFFLED, questions_of
from runner.gate.rescoring import stamp_of
from runner.records import Plan
from runner.records.run_store import RunStore
from runner.scoring.judges.replies import REPLIES
from tests.anchors.material import Tree
from tests.anchors.plant import (
    CORE,
    STEPS,
    Fairtrial,
    answer,
    fact,
    pairs_of_names,
    sentence,
    turned,
)
from tests.checkout import said as command_said
from tests.judges.reader import KEY, Reader, Rule, Seen, all_facts, reading, said
from tests.test_audit import Ran, planned

JUDGE = "model:claude-sonnet-4-6"
QUALIFY = ("anchors", "qualify", "--judge", JUDGE)
SHORT = (*QUALIFY, "--short", "--duplicates", "1", "--judge-batch", "32", "--reason", "it reads")
READINGS = 195
"""Of the short form of the plant, a request each."""
RIGHT = {fact(*names): names for step in STEPS for names in pairs_of_names(step)}


def strong(seen: Seen) -> dict[str, Any]:
    """Finds the sentence that states a fact, or one of those that turn it round."""
    facts = {name: _read(item["fact"], seen.answer) for name, item in seen.facts.items()}
    return {"facts": facts, "false_claims": []}


def _read(says: str, text: str) -> dict[str, str]:
    names = RIGHT[says]
    if sentence(*names) in text:
        return said(sentence(*names))
    for wrong in turned(*names).values():
        if wrong in text:
            return said(wrong, "contradicted")
    return said("", "absent")


def weak(seen: Seen) -> dict[str, Any]:
    """Takes a fact for stated wherever its two words stand in one line, in whatever order."""
    facts = {}
    for name, item in seen.facts.items():
        valve, pump = RIGHT[item["fact"]]
        lines = [line for line in seen.answer.split("\n") if valve in line and pump in line]
        facts[name] = said(lines[0].removeprefix("- ")) if lines else said("", "absent")
    return {"facts": facts, "false_claims": []}


def dishonest(seen: Seen) -> dict[str, Any]:
    """Quotes what would state the fact, and stands in no answer."""
    facts = {}
    for name, item in seen.facts.items():
        facts[name] = said("As everybody knows, " + item["fact"] + ", always.")
    return {"facts": facts, "false_claims": []}


@pytest.fixture(scope="module")
def served() -> Iterator[Reader]:
    with reading(strong) as served:
        yield served


@pytest.fixture
def reader(served: Reader, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """It reads strongly, and nobody has asked it yet."""
    served.rule = strong
    served.seen.clear()
    served.is_asked_by_name(monkeypatch)
    return served


@dataclass(frozen=True, kw_only=True)
class ShortForm:
    """What the strong reader's short form left behind, and what was said and asked for it."""

    folder: Path
    code: int
    out: str
    err: str
    seen: tuple[Seen, ...]


@pytest.fixture(scope="module")
def strong_short_form(
    plant: Path, served: Reader, tmp_path_factory: pytest.TempPathFactory
) -> ShortForm:
    folder = tmp_path_factory.mktemp("short")
    shutil.copytree(plant, folder / "plant")
    served.rule = strong
    served.seen.clear()
    done = command_said(
        ["--root", str(folder / "plant"), *SHORT],
        ANTHROPIC_API_KEY=KEY,
        ANTHROPIC_BASE_URL=served.url,
        XDG_CACHE_HOME=str(folder / "caches"),
    )
    seen = tuple(served.seen)
    return ShortForm(
        folder=folder, code=done.returncode, out=done.stdout, err=done.stderr, seen=seen
    )


@pytest.fixture
def short_form(strong_short_form: ShortForm, tree: Tree, reader: Reader) -> ShortForm:
    """The tree is as after it; `reader` is asked from now on."""
    shutil.copytree(strong_short_form.folder, tree.root.parent, dirs_exist_ok=True)
    return strong_short_form


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Takes key and address away."""

    def away() -> None:
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        monkeypatch.delenv("ANTHROPIC_BASE_URL")

    return away


# --- before -------------------------------------------------------------------------------------


def test_a_dry_run_says_readings_calls_and_dollars_and_asks_nobody(
    fairtrial: Fairtrial, tree: Tree
) -> None:
    before = tree.snapshot()
    code, out, err = fairtrial(*SHORT, "--dry-run", "--json")
    assert code == 0, err
    estimate = json.loads(out)
    [judge] = estimate["judges"]
    assert (estimate["answers"], judge["calls"], judge["kept"]) == (READINGS, READINGS, 0)
    tokens = judge["input_tokens"] * 3 + judge["output_tokens"] * 15
    assert judge["usd"] == pytest.approx(tokens / 1e6)
    whole = json.loads(fairtrial(*QUALIFY, "--dry-run", "--json")[1])
    # Two readings of every answer, of one batch of eight facts each.
    assert whole["answers"] > READINGS and whole["judges"][0]["calls"] == 2 * whole["answers"]
    assert tree.snapshot() == before


def test_a_reason_is_asked_for_before_anything_is_paid(
    fairtrial: Fairtrial, reader: Reader
) -> None:
    code, _, err = fairtrial(*QUALIFY, "--short")
    assert code == 1 and "needs a reason" in err and not reader.seen


def test_a_judge_that_costs_nothing_has_no_need_of_it(fairtrial: Fairtrial) -> None:
    code, _, err = fairtrial("anchors", "qualify", "--judge", "checklist", "--reason", "so")
    assert code == 1 and "anchors propose --judge checklist` examines it at no cost" in err


# --- a strong reader ----------------------------------------------------------------------------


def test_a_strong_reader_ranks_and_is_verified_afterwards_with_nobody_to_ask(
    fairtrial: Fairtrial,
    tree: Tree,
    reader: Reader,
    short_form: ShortForm,
    unreachable: Callable[[], None],
) -> None:
    assert short_form.code == 0, short_form.err
    assert f"{JUDGE} RANKS: all" in short_form.out and "short form" in short_form.out
    assert len(short_form.seen) == READINGS
    entry = read_chain(tree.root)[-1].judges[JUDGE]
    assert (entry.standing, entry.short) == ("ranks", True)
    unreachable()
    # Neither batch nor duplicates nor address: the lock holds how it was asked.
    code, out, err = fairtrial("verify-anchors", "--judge", JUDGE, "--require", "ranks")
    assert code == 0, err
    assert f"{JUDGE} RANKS: all" in out and "the gate is open" in out
    assert not reader.seen


def test_what_it_read_is_kept_with_its_quotes_and_an_edited_one_is_refused(
    fairtrial: Fairtrial, tree: Tree, short_form: ShortForm
) -> None:
    [path] = (tree.root / "locks/examinations").glob("model-*.json")
    kept = json.loads(path.read_text())
    paper = paper_of(load_catalog(tree.root), None, None, short=True)
    of_anchors = {step.key for anchor in paper.anchors for step in questions_of(anchor)}
    assert len(kept["readings"].keys() | of_anchors) == READINGS
    quotes = [fact["quote"] for it in kept["readings"].values() for fact in it["facts"]]
    assert any("opens after" in quote for quote in quotes)
    path.write_text(path.read_text().replace("opens after", "opens behind", 1))
    code, _, err = fairtrial("verify-anchors", "--judge", JUDGE)
    assert code == 3 and "is not the examination that was accepted" in err


def test_a_stopped_examination_goes_on_where_it_was_and_pays_nothing_twice(
    fairtrial: Fairtrial, tree: Tree, reader: Reader
) -> None:
    before = tree.snapshot()
    # A reply costs $0.0045.
    code, _, err = fairtrial(*SHORT, "--max-dollars", "0.2")
    assert code == 1 and "has spent what it may" in err
    first = len(reader.seen)
    assert 0.2 / 0.0045 <= first <= 0.2 / 0.0045 + 8
    # The cap is of the whole examination: what was spent before counts.
    assert fairtrial(*SHORT, "--max-dollars", "0.2")[0] == 1 and len(reader.seen) <= first + 4
    assert tree.snapshot() == before
    code, out, err = fairtrial(*SHORT, "--max-dollars", "2")
    assert code == 0, err
    assert len(reader.seen) == READINGS and "RANKS" in out


def test_whoever_has_the_checkout_counts_anew_what_the_judge_said_and_asks_nobody(
    fairtrial: Fairtrial, tree: Tree, reader: Reader, strong_short_form: ShortForm
) -> None:
    shutil.copytree(strong_short_form.folder / "plant" / REPLIES, tree.root / REPLIES)
    code, out, err = fairtrial(*SHORT)
    assert code == 0, err
    assert f"{JUDGE} RANKS" in out and not reader.seen


def test_the_whole_examination_pays_for_what_the_short_form_left_out(
    fairtrial: Fairtrial, tree: Tree, reader: Reader, short_form: ShortForm
) -> None:
    whole = [word for word in SHORT if word != "--short"]
    code, out, err = fairtrial(*whole)
    assert code == 0, err
    assert "RANKS" in out and "short form" not in out
    texts = [(seen.text, seen.system) for seen in (*short_form.seen, *reader.seen)]
    assert len(texts) == len(set(texts)) > READINGS
    assert read_chain(tree.root)[-1].judges[JUDGE].short is None


def test_a_judge_that_is_accepted_is_not_paid_again(
    fairtrial: Fairtrial, tree: Tree, reader: Reader, short_form: ShortForm
) -> None:
    shutil.rmtree(tree.root / REPLIES)
    code, _, err = fairtrial(*SHORT)
    assert code == 1 and "accepted already" in err and not reader.seen


# --- one that must not rank ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        pytest.param(weak, CONTRAST, id="weak"),
        pytest.param(dishonest, CONTRAST, id="dishonest"),
        pytest.param(all_facts("", "absent"), CONTRAST, id="silent"),
    ],
)
def test_another_is_stopped_once_it_cannot_rank_any_more_and_nothing_is_written(
    fairtrial: Fairtrial, tree: Tree, reader: Reader, rule: Rule, first: str
) -> None:
    reader.rule = rule
    before = tree.snapshot()
    code, _, err = fairtrial(*SHORT)
    assert code == 4, err
    assert "it cannot rank any more" in err and first in err
    assert 0 < len(reader.seen) < READINGS / 2
    assert tree.snapshot() == before


def test_a_reader_that_only_shuffled_words_deceive_is_stopped_by_that(
    fairtrial: Fairtrial, reader: Reader
) -> None:
    def rule(seen: Seen) -> dict[str, Any]:
        honest = strong(seen)
        words = set(seen.answer.split())
        for name, item in seen.facts.items():
            valve, pump = RIGHT[item["fact"]]
            line = next((it for it in seen.answer.split("\n") if valve in it and pump in it), "")
            if honest["facts"][name]["verdict"] == "absent" and {valve, pump} <= words and line:
                honest["facts"][name] = said(line.removeprefix("- "))
        return honest

    reader.rule = rule
    code, _, err = fairtrial(*SHORT)
    assert code == 4 and SHUFFLED in err, err


def test_one_that_fails_when_all_is_read_sees_what_it_met_and_what_not(
    fairtrial: Fairtrial, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.gate.requirements.MIN_AGREEMENT", 1.1)  # nobody is as good
    code, _, err = fairtrial(*SHORT)
    assert code == 4 and reader.seen, err
    assert f"  met      {SHUFFLED}" in err
    assert "  NOT MET  rho among anchors that are no junk" in err


def test_a_provider_that_is_out_of_reach_ends_it_and_fails_nobody(
    fairtrial: Fairtrial, tree: Tree, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    code, _, err = fairtrial(*SHORT)
    assert code == 1 and "nothing answers" in err and "cannot rank" not in err, err


# --- a run behind it ----------------------------------------------------------------------------


def measured(root: Path, ran: Ran) -> RunStore:
    """Two cells about the plant: the shell says half of it, the server all."""
    cells = planned(ran.checkout, CORE)[:2]
    stamp = stamp_of(read_chain(root)[-1])
    plan = Plan(
        run="done", created_at="2026-01-02T03:04:05Z", ungated=False, gate=stamp, cells=cells
    )
    ran.store.write_plan(plan)
    for cell, stated in zip(cells, (4, 8), strict=True):
        ran.write_attempt(cell, [answer(step, stated) for step in STEPS])
    return ran.store


def standing(fairtrial: Fairtrial, *words: str, root: Path) -> str:
    code, out, err = fairtrial("report", "done", "--json", *words, root=root)
    assert code == 0, err
    return str(json.loads(out)["standing"])


def test_a_run_judged_by_it_ranks_and_by_a_changed_one_does_not(
    fairtrial: Fairtrial,
    tree: Tree,
    short_form: ShortForm,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured(tree.root, Ran(root=tree.root, store=RunStore(tree.root / "runs/done")))
    code, _, err = fairtrial("judge", "done", "--judge", JUDGE)
    assert code == 0, err
    assert standing(fairtrial, root=tree.root) == "ranks"
    # The same name at another address may be another model: no lock vouches for it.
    with reading(strong) as other:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", other.url)
        code, _, err = fairtrial("judge", "done", "--judge", JUDGE)
        assert code == 0 and other.seen, err
    code, _, err = fairtrial("report", "done")
    assert code == 3 and "its code, prompt, model or parameters changed" in err
    assert standing(fairtrial, "--ungated", root=tree.root) == "screens"


def test_a_project_has_its_own_lock_of_judges_and_what_ships_stays_as_it_is(  # noqa: PLR0917 - fixtures
    fairtrial: Fairtrial,
    tree: Tree,
    reader: Reader,
    unreachable: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("runner.catalog.project.shipped", lambda: tree.root)
    mine, before = tmp_path / "mine", tree.snapshot()
    assert fairtrial("init", str(mine))[0] == 0
    code, out, err = fairtrial(*SHORT, root=mine)
    assert code == 0, err
    assert f"{JUDGE} RANKS" in out and "wrote locks/judges.lock" in err
    assert {name for name in tree.snapshot() if "/.fairtrial/" not in name} == {*before}
    assert not [name for name, data in before.items() if tree.snapshot()[name] != data]
    unreachable()
    verify = ("verify-anchors", "--judge", JUDGE, "--require", "ranks")
    assert fairtrial(*verify, root=mine)[0] == 0
    # In the checkout nobody has accepted it.
    assert fairtrial(*verify)[0] == 5
    # Under another generation of what ships its entry says nothing.
    tree.edit(f"scenarios/core/{CORE}/reference/1.md", "- The", "* The")
    assert fairtrial("anchors", "accept", "--reason", "bullets")[0] == 0
    code, _, err = fairtrial(*verify, root=mine)
    assert code == 3 and "another generation" in err and "qualify" in err


def test_a_server_that_is_tried_out_is_judged_by_whom_the_users_project_lets_rank(
    tmp_path: Path,
) -> None:
    mine, tried = tmp_path / "mine", tmp_path / "tried"
    made = Checkout(
        root=tmp_path, project=mine, state=tmp_path, environ={}, log=lambda _: None
    ).over(tried)
    assert (made.project, made.judges_of) == (tried, mine)
