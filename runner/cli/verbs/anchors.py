"""`fairtrial anchors`: what a change does to the gate, who may rank, and a new generation of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from runner.cli import ending, opening, options, output, shapes, sheets
from runner.cli.output import OK, show, tell


class Verb(options.Request):
    action: Literal["propose", "accept", "qualify", "regrade", "sheet", "take"] = options.said()
    files: tuple[Path, ...] = options.said("[FILE …]", "take: what people saved from a sheet")
    reason: str = options.said(
        "--reason REASON",
        "what changed, and why; all but propose keep it for every later report",
    )
    dry_run: bool = options.said(
        "--dry-run", "qualify: say how many readings and dollars it would take, and spend nothing"
    )
    short: bool = options.said(
        "--short", "qualify: by about 270 readings in place of 850, with the same bounds"
    )
    jobs: int = options.said("--jobs N", "qualify: requests at a time (default)", 4)
    reply_sec: int = options.said(
        "--reply-seconds N", "qualify: what one reply may take (default)", 600
    )
    run: str = options.said("--run RUN", "sheet, take: the answers of a run, not the anchors'")
    seed: options.Whole = options.said("--seed N", "sheet: of the order (default)", 1)
    out: Path | None = options.said("--out FILE", "sheet: where to write the page")
    judge: options.JudgeChoice = options.group(options.JudgeChoice)
    spending: options.JudgeSpending = options.group(options.JudgeSpending)
    json: bool = options.as_json("qualify --dry-run, for scripts")

    def __post_init__(self) -> None:
        if self.action != "qualify" and (self.dry_run or self.short):
            raise options.WrongWords("--dry-run and --short are of qualify")
        if (self.action == "take") != bool(self.files):
            raise options.WrongWords("take reads FILE …, and nothing else does")


def run(request: Verb) -> int:
    from runner.catalog.project import require_writable

    if request.action == "sheet":
        return sheets.write_sheet(request.root, request.run, request.seed, request.out)
    asked = opening.asked_judge(request.judge.judging, request.spending)
    if request.action != "propose" and not request.dry_run:
        in_project = request.action in ("qualify", "take")
        if not request.run:
            require_writable(opening.places(request.root), in_project=in_project)
    if request.action == "take":
        return sheets.take_grades(request.root, request.run, request.files, asked)
    checkout = opening.open_checkout(request.root)
    if request.action == "qualify":
        return _qualify(request, asked, checkout)
    return _change(request, asked, checkout)


def _change(request: Verb, asked: shapes.AskedJudge, checkout: shapes.Checkout) -> int:
    from runner.gate import gate
    from runner.report import gate_text
    from runner.scoring.judges import open_judge

    judge = open_judge(asked.of_anchors(checkout))
    root, sources = checkout.root, checkout.source
    if request.action == "propose":
        proposal = gate.preview_accept(root, judge, sources=sources, log=tell)
        show("\n".join(gate_text.proposal_lines(proposal)))
        return proposal.refusals[0].exit_code if proposal.refusals else OK
    move = gate.accept if request.action == "accept" else gate.regrade
    examined = move(root, judge, reason=request.reason, date=_today(), sources=sources, log=tell)
    return _end(checkout, examined.verdict)


def _qualify(request: Verb, asked: shapes.AskedJudge, checkout: shapes.Checkout) -> int:
    from runner.gate import gate, own_judges, qualifying
    from runner.runs import judging
    from runner.scoring.judges import open_judge

    settings = asked.of_anchors(checkout)
    settings = replace(settings, at_once=request.jobs, reply_sec=float(request.reply_sec))
    judge, root = open_judge(settings), checkout.root
    before = qualifying.qualification(root, judge, checkout.source, tell, short=request.short)
    if request.dry_run:
        estimate = judging.RunEstimate(answers=len(before.readings()), judges=(before.estimate(),))
        return output.show_estimate(estimate, as_json=request.json)
    reason = gate.checked_reason(request.reason)
    own_judges.require_new(root, checkout.project, judge, short=request.short)
    try:
        before.examine()
        more: dict[str, Any] = {
            "short": request.short,
            "date": _today(),
            "sources": checkout.source,
            "log": tell,
        }
        more |= {"reason": reason, "judging": judging.with_endpoints(settings.judging, judge)}
        if checkout.project is None:
            examined = gate.accept(root, judge, **more)
        else:
            examined = gate.accept_own(root, checkout.project, judge, **more)
    finally:
        checkout.close_files()
        ending.tell_spent(settings.purse)
    return _end(checkout, examined.verdict, in_project=checkout.project is not None)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _end(
    checkout: shapes.Checkout, verdict: shapes.GateVerdict, *, in_project: bool = False
) -> int:
    from runner.gate import chain, gate, own_judges
    from runner.report import gate_text

    show(gate_text.gate_text(verdict))
    show(gate_text.standing_text(verdict))
    generation = chain.read_chain(checkout.root)[-1]
    number = f"generation {generation.generation} ({generation.kind})"
    wrote = own_judges.OWN_JUDGES if in_project else f"{chain.ANCHORS_LOCK}, {number}"
    tell(f"wrote {wrote}; commit locks/")
    gate.require(verdict)
    return OK
