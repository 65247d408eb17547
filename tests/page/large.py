"""Cells as large as real ones: what ten of a published run hold on average, drawn anew.

Those are Claude Opus on flask and gin in five arms: 11,400 characters of answer, 57 citations on
1,400 lines of a repository, 26 calls. Facts are as many as the scenarios that ship have: 80.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from runner.records import AnswerStep, Citation, FactVerdict, ToolCall
from runner.report.page_data import (
    AROUND,
    BlockEvidence,
    CallMade,
    CellEvidence,
    CitedLines,
    Excerpt,
    PageData,
    TimeSpan,
)
from tests.page.made import draw
from tests.report.loaded import answered

STEPS, FACTS, CITED, CALLS = 4, 80, 56, 26
FILES, FILE_LINES = 3, 600
PASSAGE = (
    "`handle_request_{number}` (`{written}`) reads what the last one left, turns down a request "
    "without a body, and hands the rest to the next in line; whoever changes its signature has to "
    "change its callers."
)
SAYS = "number {number} says what the middle of the chain does with a request that has no body"


def as_large_as_real(data: PageData, cells: int) -> PageData:
    """Its first blocks that have so many cells, each cell enlarged."""
    blocks: list[BlockEvidence] = []
    for block in data.blocks:
        if sum(len(it.cells) for it in blocks) < cells:
            blocks.append(replace(block, cells=tuple(map(_enlarged, block.cells))))
    return replace(data, blocks=blocks)


def _enlarged(cell: CellEvidence) -> CellEvidence:
    cited = [_cited(cell, number) for number in range(CITED)]
    calls = [_call(number) for number in range(CALLS)]
    assert cell.scorecard is not None and cell.scorecard.fairness.verdict is not None
    fairness = cell.scorecard.fairness
    verdict = cell.scorecard.fairness.verdict.model_copy(update={"facts": _facts(cell)})
    judged = fairness.model_copy(update={"verdict": verdict})
    return replace(
        cell,
        repository=cell.cell.scenario,
        answer=tuple(_step(step, cited) for step in range(STEPS)),
        cited=tuple(cited),
        calls=tuple(calls),
        spans=tuple(_spans()),
        scorecard=cell.scorecard.model_copy(update={"fairness": judged}),
    )


def _step(step: int, cited: Sequence[CitedLines]) -> AnswerStep:
    own = [(number, it) for number, it in enumerate(cited) if number % STEPS == step]
    text = "\n".join(
        f"{at}. {PASSAGE.format(number=number, written=it.citation.written)}"
        for at, (number, it) in enumerate(own, 1)
    )
    return AnswerStep(name=f"step {step}", prompt="What then?", text=text, completed=True)


def _cited(cell: CellEvidence, number: int) -> CitedLines:
    file = draw(cell.cell, f"file {number}", FILES)
    # Arms of a scenario cite much of the same: two of three places do not depend on the arm.
    own = cell.cell if number % 3 == 0 else cell.cell.model_copy(update={"server": "", "trial": 1})
    line = 11 + draw(own, f"line {number}", 256) * 7 % (FILE_LINES - 2 * AROUND)
    path = f"src/server/pipeline/module_{file}.py"
    citation = Citation(
        written=f"{path}:{line}",
        path=path,
        start=line,
        end=line,
        symbol=f"handle_{number}",
        resolution="exact",
        status="grounded",
        reason=f"handle_{number}: its definition's body is here",
        held_by="span",
        definition_lines=(line,),
        distance=0,
        weight=0.98,
        weak=False,
        weak_share=None,
    )
    around = range(line - AROUND, line + AROUND + 1)
    lines = tuple(f"        context_{it} = self.resolve(request, rule_{it})" for it in around)
    return CitedLines(citation=citation, excerpt=Excerpt(first=line - AROUND, lines=lines))


def _call(number: int) -> CallMade:
    text = (
        f"src/server/pipeline/module_1.py:{number}:    def handle_{number}(self, request):\n" * 30
    )
    given: dict[str, Any] = {"path": f"src/server/pipeline/module_{number}.py", "offset": 40}
    asked = ToolCall(
        step=number * STEPS // CALLS,
        turn=number,
        call_id=f"c{number}",
        origin="server",
        tool="search_for_pattern",
        arguments={
            **given,
            "pattern": f"def handle_{number}|handle_{number}\\(",
            "glob": "**/*.py",
        },
    )
    return CallMade(asked=asked, result=answered(asked, text))


def _facts(cell: CellEvidence) -> tuple[FactVerdict, ...]:
    return tuple(_fact(cell, number) for number in range(FACTS))


def _fact(cell: CellEvidence, number: int) -> FactVerdict:
    is_said = number < CITED and draw(cell.cell, f"said {number}", 4) > 0
    credit = {"credit": 1.0, "verdict": "stated"} if is_said else {"credit": 0.0}
    return FactVerdict.model_validate(
        {
            "step": f"step {number % STEPS}",
            "criterion": "map_quality",
            "says": SAYS.format(number=number),
            "verdict": "absent",
            "quote": f"`handle_request_{number}`" if is_said else "",
            "reason": "" if is_said else "none of its terms stands in the answer",
            **credit,
        }
    )


def _spans() -> list[TimeSpan]:
    spans = []
    for call in range(CALLS):
        spans.append(TimeSpan(kind="model", start_sec=5.0 * call, wall_sec=4.1))
        at = 5.0 * call + 4.1
        spans.append(TimeSpan(kind="server", start_sec=at, wall_sec=0.4, call=call))
    return spans
