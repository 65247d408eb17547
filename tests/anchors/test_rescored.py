"""A run that is older than what it is scored by says so, on every page and in every form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.benchmarks import BENCHMARKS
from runner.catalog.checkout import Checkout
from runner.gate import gate
from runner.gate.chain import read_chain
from runner.gate.rescoring import stamp_of
from runner.records.run_store import RunStore
from runner.runs.audit import Audit
from runner.runs.prepare import BENCHMARK
from runner.scoring.judges.checklist.checklist import Checklist
from runner.support.errors import AnchorsDisagree, AnchorsDrifted
from tests.anchors.material import CORE, FLUENT, Tree, accept
from tests.anchors.test_cheats import commit, git
from tests.anchors.test_gated import (
    CORE_RUBRIC,
    HELD_OUT_RUBRIC,
    fairtrial,
    finished_run,
    report_json,
    shop,
    with_shop,
)

__all__ = ["shop", "with_shop"]
FITTED = {
    "map_quality": [["later"], ["another"], ["chance"]],
    "justification": [["robust"], ["pattern"]],
    "impact": [["errors"], ["handled"], ["usual"]],
}
"""Words of the answer that somebody wants to win."""


def fit_to_the_answer(tree: Tree) -> None:
    """The rubric and its reference become one arm's own answer."""
    rubric = tree.rubric(f"core/{CORE}")
    for step in rubric["steps"]:
        for name, criterion in step["criteria"].items():
            terms = FITTED["impact" if step["name"] == "impact" else name]
            criterion["facts"] = [{"says": "as it should", "terms": terms}]
    tree.write_rubric(f"core/{CORE}", rubric)
    for number, text in enumerate(FLUENT, start=1):
        tree.write(f"scenarios/core/{CORE}/reference/{number}.md", text + "\n")


def pages(store: RunStore) -> dict[str, str]:
    return {name: (store.folder / name).read_text() for name in ("report.md", "report.html")}


def headings(page: str) -> list[str]:
    return [line for line in page.split("\n") if line.startswith(("# ", "## ", "<h1", "<h2"))]


def fairness(store: RunStore) -> Any:
    return report_json(store)["arms"][0]["fairness"]["score"]["value"]


# --- the goal posts moved after the run ----------------------------------------------------------


def test_a_rubric_fitted_to_an_answer_after_the_run_lifts_no_figure_without_a_word(
    with_shop: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    store = finished_run(with_shop, answers=FLUENT)
    assert fairtrial(with_shop, "report", "done") == 0
    before = fairness(store)
    fit_to_the_answer(with_shop)
    # Without git there is nothing to hold the new rubric against.
    accept(with_shop, reason="a clearer rubric")
    assert fairtrial(with_shop, "score", "done") == 0
    capsys.readouterr()
    assert fairtrial(with_shop, "report", "done") == 0
    assert fairness(store) > before + 0.2
    flag = "RESCORED UNDER GENERATION 2"
    assert capsys.readouterr().out.startswith(flag)
    assert fairtrial(with_shop, "report", "done", "--full") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count(flag) >= 2 and "generation 2 (accept): a clearer rubric" in shown
    for name, page in pages(store).items():
        # In Markdown a heading is copied without what stands above it; the page marks its drawings.
        marked = headings(page) if name == "report.md" else [page]
        assert all(flag in line for line in marked), marked
        assert "a clearer rubric" in page and "could have read the answers" in page
    report = report_json(store)
    assert report["since"]["planned"]["generation"] == 1
    assert report["since"]["rescored_under"] == 2
    assert CORE_RUBRIC in report["since"]["changed"]
    assert any(notice.startswith(flag) for notice in report["notices"])


def test_a_rubric_fitted_to_an_answer_is_refused_where_git_holds_the_accepted_one(
    with_shop: Tree,
) -> None:
    committed(with_shop)
    fit_to_the_answer(with_shop)
    with pytest.raises(AnchorsDisagree, match="tells from their ruins it tells 0"):
        accept(with_shop, reason="a clearer rubric")
    assert read_chain(with_shop.root)[-1].generation == 1


def test_a_rewording_keeps_the_order_and_is_accepted(with_shop: Tree) -> None:
    committed(with_shop)
    with_shop.edit(CORE_RUBRIC, "Does it say what escapes", "Plainly, does it say what escapes")
    assert accept(with_shop, reason="plainer").verdict.generation == 2


def committed(tree: Tree) -> None:
    tree.write(".gitignore", ".fairtrial/\nruns/\n")
    commit(tree)


def test_a_rubric_that_was_changed_and_changed_back_is_on_record(with_shop: Tree) -> None:
    store = finished_run(with_shop)
    original = with_shop.read(CORE_RUBRIC)
    with_shop.edit(CORE_RUBRIC, "Does it say what escapes", "Does it say what comes out")
    accept(with_shop, reason="there")
    with_shop.write(CORE_RUBRIC, original)
    accept(with_shop, reason="and back")
    assert fairtrial(with_shop, "report", "done") == 0
    since = report_json(store)["since"]
    assert since["rescored_under"] == 3 and len(since["accepted"]) == 2


def test_what_was_accepted_for_others_is_listed_and_marks_no_run(with_shop: Tree) -> None:
    store = finished_run(with_shop)
    with_shop.edit(HELD_OUT_RUBRIC, "A coding agent", "Any coding agent")
    with_shop.write_scenario("core/another")
    accept(with_shop, reason="one more scenario")
    assert fairtrial(with_shop, "report", "done") == 0
    since = report_json(store)["since"]
    assert since["rescored_under"] is None and len(since["accepted"]) == 1
    for page in pages(store).values():
        assert "RESCORED" not in page and "one more scenario" in page


def test_scoring_that_was_accepted_after_the_run_marks_it(
    with_shop: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = finished_run(with_shop)
    made_up = {"efficiency": "1" * 64}
    monkeypatch.setattr("runner.gate.figure_code.code_in_use", lambda: made_up)
    accept(with_shop, reason="cheaper tokens")
    assert fairtrial(with_shop, "report", "done") == 0
    since = report_json(store)["since"]
    assert since["rescored_under"] == 2
    assert "scoring efficiency" in since["changed"]


def test_a_judge_that_was_accepted_after_the_run_marks_it(with_shop: Tree) -> None:
    store = finished_run(with_shop)
    lock = read_chain(with_shop.root)[-1]
    older = lock.judges["checklist"].model_copy(update={"identity": "1" * 64})
    from runner.gate import rescoring

    first = lock.model_copy(update={"judges": {"checklist": older}})
    second = lock.model_copy(update={"generation": 2})
    plan = store.plan().model_copy(update={"gate": stamp_of(first)})
    found = rescoring.since([first, second], plan, "checklist")
    assert found.changed == ("judge checklist",) and found.rescored_under == 2


@pytest.mark.parametrize(
    ("weight", "more", "changed"),
    [
        (0.55, 0.0, ()),
        (0.6, 0.0, ("scoring fairness.llm_quality",)),
        (0.55, 0.1, ("judge checklist",)),
    ],
)
def test_a_new_form_of_digests_alone_rescores_nothing(
    with_shop: Tree, weight: float, more: float, changed: tuple[str, ...]
) -> None:
    from runner.gate import rescoring

    store = finished_run(with_shop)
    now = read_chain(with_shop.root)[-1]
    judge = now.judges["checklist"]
    scores = {name: score + more for name, score in judge.scores.items()}
    judges = {"checklist": judge.model_copy(update={"identity": "1" * 64, "scores": scores})}
    # Code by files, as up to generation 13: none of these names is in the other's lock.
    scoring = {"runner.stats": "1" * 64, "fairness.llm_quality": weight}
    weights = {name: value for name, value in now.scoring.items() if isinstance(value, float)}
    before = now.model_copy(update={"scoring": weights | scoring, "judges": judges})
    after = now.model_copy(update={"generation": 2})
    plan = store.plan().model_copy(update={"gate": stamp_of(before)})
    assert rescoring.since([before, after], plan, "checklist").changed == changed


# --- the plan's own word -------------------------------------------------------------------------


def rewrite(store: RunStore, **changes: object) -> None:
    store.write_plan(store.plan().model_copy(update=changes))


def test_a_plan_that_does_not_say_its_generation_is_taken_for_older(with_shop: Tree) -> None:
    store = finished_run(with_shop)
    rewrite(store, gate=None)
    # Its results name the plan they were made for, and this is another.
    assert fairtrial(with_shop, "report", "done") == 1
    report = report_json(store)
    assert report["since"]["rescored_under"] == 1 and report["contradictions"]


def test_a_plan_that_is_given_the_newest_generation_by_hand_contradicts_its_results(
    with_shop: Tree,
) -> None:
    store = finished_run(with_shop)
    fit_to_the_answer(with_shop)
    accept(with_shop, reason="a clearer rubric")
    rewrite(store, gate=stamp_of(read_chain(with_shop.root)[-1]))
    assert fairtrial(with_shop, "report", "done") == 1
    assert fairness(store) is None and report_json(store)["contradictions"]


def test_a_chain_begun_anew_is_not_the_one_that_the_run_was_made_under(with_shop: Tree) -> None:
    store = finished_run(with_shop)
    fit_to_the_answer(with_shop)
    for path in ("locks/anchors.lock", "locks/anchors/1.lock"):
        (with_shop.root / path).unlink()
    accept(with_shop, reason="first generation")
    assert fairtrial(with_shop, "score", "done") == 0
    assert fairtrial(with_shop, "report", "done") == 0
    since = report_json(store)["since"]
    assert since["rescored_under"] == 1
    assert since["changed"] == ["this chain's generation 1 is not the one it was made under"]


# --- what git could not vouch for ----------------------------------------------------------------


def nothing(_: Tree) -> None:
    """The folder as it is."""


def begun(tree: Tree) -> None:
    git(tree, "init", "-q")


def all_but_the_lock(tree: Tree) -> None:
    tree.write(".gitignore", ".fairtrial/\nruns/\nlocks/\n")
    commit(tree)


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (nothing, "history not checked: there is no .git here"),
        (begun, "nothing is committed here yet"),
        (all_but_the_lock, "locks/anchors.lock is not committed"),
    ],
    ids=["no git", "no commit", "lock not committed"],
)
def test_every_form_says_what_git_could_not_vouch_for(
    with_shop: Tree,
    prepare: Callable[[Tree], None],
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = finished_run(with_shop)
    prepare(with_shop)
    assert fairtrial(with_shop, "report", "done") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert says in shown and says in report_json(store)["gate"]["history"]
    assert all(says in page for page in pages(store).values())
    assert fairtrial(with_shop, "verify-anchors") == 0
    assert says in capsys.readouterr().out


def test_a_committed_lock_needs_no_word(with_shop: Tree) -> None:
    store = finished_run(with_shop)
    committed(with_shop)
    assert fairtrial(with_shop, "report", "done") == 0
    assert report_json(store)["gate"]["history"] == ""
    assert all("THE LOCK" not in page for page in pages(store).values())


# --- swapped between the choice and the gate -----------------------------------------------------


def checkout_of(tree: Tree) -> Checkout:
    return Checkout(root=tree.root, state=tree.root / ".fairtrial", environ={}, log=lambda _: None)


@pytest.mark.parametrize("path", [CORE_RUBRIC, HELD_OUT_RUBRIC])
def test_a_rubric_that_is_put_back_before_the_gate_looks_is_refused_all_the_same(
    with_shop: Tree, path: str
) -> None:
    kept = with_shop.read(path)
    with_shop.edit(path, "A coding agent", "Somebody easily pleased")
    checkout = checkout_of(with_shop)
    checkout.choose_scenarios([Path(path).parent.name])
    with_shop.write(path, kept)
    with pytest.raises(AnchorsDrifted, match=f"{path}: was read otherwise"):
        gate.verify(with_shop.root, Checklist(), scenarios=[CORE], catalog=checkout.catalog)


def test_a_rubric_that_is_swapped_after_the_gate_is_not_the_one_that_scores(
    with_shop: Tree,
) -> None:
    store = finished_run(with_shop)
    checkout = checkout_of(with_shop)
    gate.verify(with_shop.root, Checklist(), scenarios=[CORE], catalog=checkout.catalog)
    audit = Audit(
        store=store, checkout=checkout, benchmark=BENCHMARKS[BENCHMARK], judge=Checklist()
    )
    (before,) = audit.cards(audit.evidence())
    fit_to_the_answer(with_shop)
    (after,) = audit.cards(audit.evidence())
    assert after == before


def test_the_command_itself_refuses_a_rubric_swapped_back_in_between(
    with_shop: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = with_shop.read(CORE_RUBRIC)
    with_shop.edit(CORE_RUBRIC, "A coding agent", "Somebody easily pleased")
    chosen = Checkout.choose_scenarios

    def then_put_back(self: Checkout, names: Any) -> list[str]:
        found = chosen(self, names)
        with_shop.write(CORE_RUBRIC, kept)
        return found

    monkeypatch.setattr(Checkout, "choose_scenarios", then_put_back)
    assert fairtrial(with_shop, "run", "--scenario", CORE, "--server", "shell") == 3
    assert f"{CORE_RUBRIC}: was read otherwise" in capsys.readouterr().err
    assert not (with_shop.root / "runs").exists()
