"""Verbs that have a model judge, by the command itself, on a run and on an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.records import (
    Plan,
    digest_of,
)
from runner.records.run_store import RunStore
from runner.scoring import judges
from tests.anchors.material import CORE, Tree, locked, pin_shop
from tests.anchors.material import Judging as ByText
from tests.checkout import ended
from tests.judges.reader import Reader, Seen, block, read_honestly, reading, said
from tests.models.tiny_weights import write_weights
from tests.scoring.material import GOOD, SCENARIO, THIN
from tests.test_audit import Ran, planned

CORE_SCENARIO = f"scenarios/core/{CORE}/scenario.yaml"
SONNET = "model:claude-sonnet-4-6"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A checkout whose core scenario has a real repository: the judge reads it."""
    made = locked(tmp_path)
    pin_shop(made, tmp_path / "upstream")
    return made


@pytest.fixture
def store(tree: Tree) -> RunStore:
    """Two measured cells, not scored yet: a good answer and a thin one."""
    ran = Ran(root=tree.root, store=RunStore(tree.root / "runs" / "done"))
    cells = planned(ran.checkout, CORE)[:2]
    plan = Plan(run="done", created_at="2026-01-02T03:04:05Z", ungated=True, cells=cells)
    ran.store.write_plan(plan)
    for cell, texts in zip(cells, (THIN, GOOD), strict=True):
        ran.write_attempt(cell, texts)
    return ran.store


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    with reading(read_honestly) as served:
        served.is_asked_by_name(monkeypatch)
        yield served


@pytest.fixture
def fairtrial(
    tree: Tree, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Runs the command; gives its exit code, stdout and stderr."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tree.root / "caches"))

    def command(*arguments: str) -> tuple[int, str, str]:
        return ended("--root", tree.root, *arguments), *capsys.readouterr()

    return command


def test_a_dry_run_says_calls_tokens_and_dollars_and_asks_nobody(
    fairtrial: Any, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not even for a key.
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    code, out, err = fairtrial("judge", "done", "--judge", SONNET, "--dry-run", "--json")
    assert code == 0, err
    (estimate,) = json.loads(out)["judges"]
    # Two answers, two steps, two readings.
    assert (estimate["calls"], estimate["kept"]) == (8, 0)
    tokens = estimate["input_tokens"], estimate["output_tokens"]
    assert estimate["usd"] == pytest.approx((tokens[0] * 3 + tokens[1] * 15) / 1e6)
    assert not store.judged.exists()


def test_a_run_is_judged_once_and_its_report_repeats_it_without_a_key(
    fairtrial: Any, store: RunStore, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = fairtrial("judge", "done", "--judge", SONNET)
    assert code == 0, err
    assert len(reader.seen) == 8 and "judging took 8 calls, 8,800 tokens, $0.0360" in err
    assert "1.000" in out and SONNET in out
    code, _, err = fairtrial("judge", "done")
    assert (code, len(reader.seen)) == (0, 8) and "judging took" not in err
    code, out, _ = fairtrial("judge", "done", "--judge", SONNET, "--dry-run")
    assert "0 calls" in out and "8 replies are kept" in out
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    code, out, err = fairtrial("report", "done", "--ungated", "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["judges"] == [SONNET] and len(reader.seen) == 8
    assert "judge" in [layer["layer"] for layer in report["noise"]]


def test_a_scorecard_edited_to_another_verdict_is_not_believed(
    fairtrial: Any, store: RunStore, reader: Reader
) -> None:
    fairtrial("judge", "done", "--judge", SONNET)
    cell = store.plan().cells[0]
    path = store.cell_folder(cell.id) / "scorecard.json"
    card = json.loads(path.read_text())
    card["fairness"]["verdict"]["quality"] = 1.0
    path.write_text(json.dumps(card))
    code, _, err = fairtrial("report", "done", "--ungated")
    assert code == 1 and f"cells/{cell.id}/scorecard.json" in err
    report = json.loads((store.folder / "report.json").read_text())
    assert report["arms"][0]["fairness"]["parts"]["llm_quality"]["value"] is None


def test_a_missing_key_is_said_before_anything_is_done(
    fairtrial: Any, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    code, _, err = fairtrial("judge", "done", "--judge", SONNET)
    assert code == 1 and "ANTHROPIC_API_KEY is not set" in err
    assert store.judging() is None


def test_a_cap_ends_judging_and_more_goes_on_where_it_ended(
    fairtrial: Any, store: RunStore, reader: Reader
) -> None:
    asked = ["judge", "done", "--judge", SONNET, "--judge-batch", "1"]
    code, _, err = fairtrial(*asked, "--max-dollars", "0.02")
    assert code == 1 and "--max-dollars goes on" in err
    paid = len(reader.seen)
    code, _, err = fairtrial(*asked, "--max-dollars", "9")
    # Six facts, two readings, two answers; what was paid for is not paid for again.
    assert code == 0, err
    assert 4 <= paid < 24 and len(reader.seen) == 24


def test_a_cap_that_nothing_could_hold_is_refused(
    fairtrial: Any, store: RunStore, reader: Reader
) -> None:
    asked = ("judge", "done", "--judge", "model:anthropic:nobody", "--max-dollars", "1")
    code, _, err = fairtrial(*asked)
    assert code == 1 and "has no price" in err and not reader.seen


def test_noise_and_agreement_of_a_panel_are_shown(
    fairtrial: Any, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: dict[str, int] = {}

    def moody(seen: Seen) -> Any:
        report = read_honestly(seen)
        turns[seen.text] = turns.get(seen.text, 0) + 1
        if len(seen.facts) == 1 and "Another" in seen.answer and turns[seen.text] == 2:
            report["facts"]["f1"] = said("", "absent")
        return report

    with reading(moody) as reader:
        reader.is_asked_by_name(monkeypatch)
        code, out, err = fairtrial("judge", "done", "--judge", "checklist", "--judge", SONNET)
    assert code == 0, err
    assert "Krippendorff's alpha of the panel" in out
    code, out, _ = fairtrial("judge-noise", "done", "--json")
    noise = json.loads(out)
    assert code == 0 and noise["judges"] == ["checklist", SONNET] and noise["alpha"] is not None
    # One of two answers: its second step .7 or 1, so the whole .15 apart.
    assert noise["scenario"]["sd"] == pytest.approx(0.15 / 2)
    assert [CORE, "impact", "map_quality"] in noise["rewrite"]
    code, out, _ = fairtrial("judge-noise", "done")
    assert "rewrite: shop-queue / impact / map_quality" in out
    assert out.rstrip().endswith("steps and criteria explain, and rank nobody.")


def test_small_differences_of_criteria_are_never_shown(
    fairtrial: Any, store: RunStore, reader: Reader
) -> None:
    _, out, _ = fairtrial("judge", "done", "--judge", SONNET, "--json")
    criteria = json.loads(out)["criteria"]
    assert {item["criterion"] for item in criteria} == {"map_quality", "justification"}
    for item in criteria:
        assert item["difference"] is None or abs(item["difference"]) >= 0.05


def good_answer(tree: Tree) -> Path:
    steps = []
    for step, text in zip(SCENARIO.steps, GOOD, strict=True):
        steps.append({"name": step.name, "text": text})
    path = tree.root / "answer.json"
    path.write_text(json.dumps({"steps": steps}))
    return path


def test_an_answer_is_judged_by_a_model_with_each_quote(
    fairtrial: Any, tree: Tree, reader: Reader
) -> None:
    path = good_answer(tree)
    asked = ["judge", "--scenario", CORE, "--answer", str(path), "--judge", SONNET]
    code, out, err = fairtrial(*asked, "--json")
    assert code == 0, err
    verdict = json.loads(out)
    facts = [fact for step in verdict["steps"] for fact in step["facts"]]
    assert len(facts) == 6 and all(fact["quote"] in "\n".join(GOOD) for fact in facts)
    assert verdict["quality"] == 1.0 and len(verdict["ratings"]) == 2
    code, out, err = fairtrial(*asked)
    assert code == 0 and "“Only `OSError` is caught”" in out
    assert len(reader.seen) == 4 and "judging took" not in err
    # Nobody asked for a file in the checkout, and the replies are not paid for again.
    assert not (tree.root / ".fairtrial" / "judged").exists()
    assert len(list(tree.root.glob("caches/fairtrial/judged/*.json"))) == 4


def test_the_gate_asks_for_the_model_judges_own_line(
    fairtrial: Any, tree: Tree, reader: Reader
) -> None:
    code, _, err = fairtrial("verify-anchors", "--judge", SONNET)
    assert code != 0 and not reader.seen
    assert "accept" in err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["done", "--scenario", CORE],
        ["--scenario", CORE],
        ["--answer", "x.json"],
        ["--scenario", CORE, "--answer", "x.json", "--dry-run"],
    ],
)
def test_words_that_are_no_command_are_a_usage_error(fairtrial: Any, words: list[str]) -> None:
    code, _, err = fairtrial("judge", *words)
    assert code == 2 and "usage: fairtrial judge" in err


def test_close_arms_are_compared_side_by_side_and_others_are_not(
    fairtrial: Any, tree: Tree, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alike(seen: Seen) -> Any:
        """Sees nothing right in either answer, and prefers the one that cites the retry."""
        if "ANSWER 2 " not in seen.text:
            quote = "`failed` list" if "`failed` list" in seen.answer else "`OSError`"
            wrong = said(quote, "contradicted")
            return {"facts": dict.fromkeys(seen.facts, wrong), "false_claims": []}
        one, other = block(seen.text, "ANSWER 1"), block(seen.text, "ANSWER 2")
        better = "1" if "retry_failed" in one else "2" if "retry_failed" in other else "neither"
        return {"quote_1": one[:40], "quote_2": other[:40], "better": better}

    with reading(alike) as reader:
        reader.is_asked_by_name(monkeypatch)
        code, out, err = fairtrial("judge", "done", "--judge", SONNET, "--pairwise", "--json")
        assert code == 0, err
        (pairs,) = json.loads(out)["pairs"]
        assert (pairs["wins"], pairs["ties"], pairs["losses"]) == (1, 0, 0)
        # The prompts of the two: 8 readings, and two steps in two orders.
        assert len(reader.seen) == 12
    with reading(read_honestly) as reader:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", reader.url)
        code, out, err = fairtrial("judge", "done", "--judge", SONNET, "--pairwise", "--json")
        assert code == 0, err
        assert json.loads(out)["pairs"] == []


def test_weights_on_this_machine_judge_a_run_that_is_reported_without_them(
    fairtrial: Any, store: RunStore, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("weights") / "small.gguf"
    write_weights(path, '"y', '"n')
    asked = ("judge", "done", "--judge", f"local:{path}")
    code, out, err = fairtrial(*asked, "--dry-run")
    assert code == 0, err
    assert "local:small.gguf: 10 calls" in out and "hours on this machine" in out
    assert "loading" not in err and not store.judged.exists()
    code, out, err = fairtrial(*asked)
    assert code == 0, err
    assert "loading small.gguf" in err and "judged 2 of 2 cells" in err
    assert "10 calls" in err and "$0.0000" in err
    code, _, err = fairtrial(*asked)
    assert code == 0 and "loading" not in err, "what it said is kept"
    path.unlink()
    code, out, err = fairtrial("report", "done", "--ungated", "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["judges"] == ["local:small.gguf"]
    assert report["arms"][0]["fairness"]["parts"]["llm_quality"]["value"] is not None
    for file in store.folder.rglob("*"):
        assert not file.is_file() or str(path.parent) not in file.read_text(), file
    code, _, err = fairtrial("judge", "done")
    assert code == 1 and "local:<path.gguf>" in err


# --- another judge ------------------------------------------------------------------------------


def looks_for(word: str) -> ByText:
    """A step earns 1 if it has the word, else 0."""
    identity = digest_of([word])
    return ByText(lambda text: float(word in text), name=f"word:{word}", identity=identity)


@pytest.fixture
def word(monkeypatch: pytest.MonkeyPatch) -> str:
    """Its name, once it has its line."""
    kind = judges.JudgeKind(
        open=lambda word, _: looks_for(word), argument="<word>", caveat="What {judge} cannot see."
    )
    monkeypatch.setitem(judges.JUDGES, "word", kind)
    return "word:OSError"


def test_another_judge_is_one_class_and_one_line(fairtrial: Any, tree: Tree, word: str) -> None:
    path = good_answer(tree)
    asked = ("judge", "--scenario", CORE, "--answer", str(path), "--json")
    code, out, err = fairtrial(*asked, "--judge", word)
    assert code == 0, err
    verdict = json.loads(out)
    assert (verdict["judge"], verdict["quality"]) == (word, 1.0)
    code, _, err = fairtrial(*asked, "--judge", "word")
    assert code == 1 and "word:<word>" in err


@pytest.mark.parametrize("beside", [[], ["checklist"]], ids=["alone", "in a panel"])
def test_a_report_says_what_another_judge_cannot_see(
    fairtrial: Any, store: RunStore, word: str, beside: list[str]
) -> None:
    flags = [flag for name in (*beside, word) for flag in ("--judge", name)]
    code, out, err = fairtrial("judge", "done", *flags, "--dry-run")
    assert code == 0 and "nothing to pay for" in out, err
    code, _, err = fairtrial("judge", "done", *flags)
    assert code == 0, err
    code, out, err = fairtrial("report", "done", "--ungated", "--json")
    assert code == 0, err
    report = json.loads(out)
    name = f"panel:checklist+{word}" if beside else word
    assert report["judges"] == [name]
    assert f"What {name} cannot see." in report["not_concluded"]
