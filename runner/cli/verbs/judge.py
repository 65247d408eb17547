"""`fairtrial judge`: any answer to a scenario, or the answers of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.cli import options
from runner.cli.ending import code_for_contradictions, tell_spent
from runner.cli.opening import (
    AskedJudge,
    asked_judge,
    audit_of,
    judge_anew,
    judge_as_before,
    judge_of_answers,
    open_checkout,
    open_run,
    require_judge,
)
from runner.cli.options import JudgeChoice, JudgeSpending, Request, WrongWords, group, said
from runner.cli.output import show_either, show_estimate, tell
from runner.cli.running import score_run


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    run: str = said("[RUN]", default="")
    scenario: str = said("--scenario SCENARIO", "whose rubric to judge by", "")
    answer: Path | None = said(
        "--answer FILE",
        'a transcript (.jsonl), or JSON {"steps": [{"name": …, "text": …}]}',
        None,
    )
    dry_run: bool = said("--dry-run", "of a run: say what it would take, and spend nothing")
    pairwise: bool = said(
        "--pairwise",
        "of a run: compare the answers of close arms with the shell's side by side, in both "
        "orders; a preference that the order decides is a tie",
    )
    judge: JudgeChoice = group(JudgeChoice)
    spending: JudgeSpending = group(JudgeSpending)
    json: bool = options.as_json()

    def __post_init__(self) -> None:
        is_answer = bool(self.scenario and self.answer)
        if bool(self.run) == bool(self.scenario or self.answer) or not (self.run or is_answer):
            raise WrongWords("give RUN, or --scenario S with --answer FILE")
        if (self.dry_run or self.pairwise) and not self.run:
            raise WrongWords("--dry-run and --pairwise are of a RUN")


def run(request: Verb) -> int:
    asked = asked_judge(request.judge.judging, request.spending)
    if request.answer is not None:
        return _judge_answer(request, asked, request.answer)
    return _estimate(request, asked) if request.dry_run else _judge_run(request, asked)


def _judge_answer(request: Verb, asked: AskedJudge, answer: Path) -> int:
    from runner.report.verdict_text import verdict_text
    from runner.runs.judging import judge_file, verdict_json

    checkout = open_checkout(request.root)
    settings = judge_of_answers(checkout, asked)
    loaded = checkout.scenario(request.scenario)
    judge = require_judge(settings)
    name = loaded.scenario.id
    try:
        verdict, silent = judge_file(answer, loaded, judge, checkout.source(name))
    finally:
        checkout.close_files()
    for step in silent:
        tell(f"the step {step} has no text, and scores 0")
    shown = verdict_json(name, verdict), verdict_text(name, verdict)
    code = show_either(*shown, as_json=request.json)
    tell_spent(settings.purse)
    return code


def _estimate(request: Verb, asked: AskedJudge) -> int:
    from runner.runs.judging import estimate_judging
    from runner.scoring.judges import open_judge

    store, checkout = open_run(request.root, request.run), open_checkout(request.root)
    judge = open_judge(judge_as_before(checkout, asked, store))
    return show_estimate(estimate_judging(audit_of(store, checkout, judge)), as_json=request.json)


def _judge_run(request: Verb, asked: AskedJudge) -> int:
    from runner.report.verdict_text import run_json, run_text
    from runner.runs.judging import compare_close
    from runner.scoring.judges.pairwise import pair_lines

    store, checkout = open_run(request.root, request.run), open_checkout(request.root)
    with store.lock():
        settings, judge = judge_anew(checkout, asked, store)
        whole = score_run(store, checkout, judge)
        pairs = compare_close(whole, checkout, store, judge) if request.pairwise else []
        checkout.close_files()
    as_json = run_json(whole) | {"pairs": [item.model_dump() for item in pairs]}
    show_either(as_json, "\n".join([run_text(whole), *pair_lines(pairs)]), as_json=request.json)
    tell_spent(settings.purse)
    return code_for_contradictions(store, whole)
