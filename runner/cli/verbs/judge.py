"""`fairtrial judge`: any answer to a scenario, or the answers of a run."""

from __future__ import annotations

from pathlib import Path

from runner.cli import ending, opening, options, output, shapes


class Verb(options.Request):
    run: str = options.said("[RUN]")
    scenario: str = options.said("--scenario SCENARIO", "whose rubric to judge by")
    answer: Path | None = options.said(
        "--answer FILE", 'a transcript (.jsonl), or JSON {"steps": [{"name": …, "text": …}]}'
    )
    dry_run: bool = options.said("--dry-run", "of a run: say what it would take, and spend nothing")
    pairwise: bool = options.said(
        "--pairwise",
        "of a run: compare the answers of close arms with the shell's side by side, in both "
        "orders; a preference that the order decides is a tie",
    )
    judge: options.JudgeChoice = options.group(options.JudgeChoice)
    spending: options.JudgeSpending = options.group(options.JudgeSpending)
    json: bool = options.as_json()

    def __post_init__(self) -> None:
        is_answer = bool(self.scenario and self.answer)
        if bool(self.run) == bool(self.scenario or self.answer) or not (self.run or is_answer):
            raise options.WrongWords("give RUN, or --scenario S with --answer FILE")
        if (self.dry_run or self.pairwise) and not self.run:
            raise options.WrongWords("--dry-run and --pairwise are of a RUN")


def run(request: Verb) -> int:
    asked = opening.asked_judge(request.judge.judging, request.spending)
    if request.answer is not None:
        return _judge_answer(request, asked, request.answer)
    return _judge_run(request, asked)


def _judge_answer(request: Verb, asked: shapes.AskedJudge, answer: Path) -> int:
    from runner.benchmarks.scenarios import scenario_run
    from runner.report.verdict_text import verdict_text
    from runner.runs.judging import judge_file, verdict_json

    checkout = opening.open_checkout(request.root)
    settings = asked.of_answers(checkout)
    loaded = checkout.scenario(request.scenario)
    judge = scenario_run.require_judge(settings)
    name = loaded.scenario.id
    try:
        verdict, silent = judge_file(answer, loaded, judge, checkout.source(name))
    finally:
        checkout.close_files()
    for step in silent:
        output.tell(f"the step {step} has no text, and scores 0")
    shown = verdict_json(name, verdict), verdict_text(name, verdict)
    output.show_either(*shown, as_json=request.json)
    ending.tell_spent(settings.purse)
    return output.OK


def _judge_run(request: Verb, asked: shapes.AskedJudge) -> int:
    from runner.report.verdict_text import run_json, run_lines
    from runner.runs import judging
    from runner.scoring.judges import open_judge, pairwise

    run = opening.open_scenario_run(request.root, request.run, asked)
    store, checkout = run.store, run.checkout
    if request.dry_run:
        estimate = judging.estimate_judging(run.audit(open_judge(run.judge_as_before())))
        return output.show_estimate(estimate, as_json=request.json)
    with store.lock():
        settings, judge = run.judge_anew()
        whole = run.scored(judge)
        pairs = judging.compare_close(whole, checkout, store, judge) if request.pairwise else []
        checkout.close_files()
    as_json = run_json(whole) | {"pairs": [item.model_dump() for item in pairs]}
    text = "\n".join([*run_lines(whole), *pairwise.pair_lines(pairs)])
    output.show_either(as_json, text, as_json=request.json)
    ending.tell_spent(settings.purse)
    return ending.code_for_contradictions(store, whole)
