"""What `anchors sheet` and `anchors take` do: answers laid before people, and their grades."""

from __future__ import annotations

from pathlib import Path

from runner.cli import opening, output, shapes


def write_sheet(root: Path, run: str, seed: int, out: Path | None) -> int:
    from runner.report.html import sheet_page

    sheet = _sheet(root, run, seed)
    target = out or Path(f"{sheet.of}-{seed}.html")
    target.write_text(sheet_page(sheet), encoding="utf-8")
    output.tell(f"wrote {target}: {len(sheet.items)} answers; open it in any browser, offline")
    words = f" --run {run}" if run else ""
    output.tell(f"next: `fairtrial anchors take FILE …{words}` with what each person has saved")
    return output.OK


def take_grades(root: Path, run: str, files: tuple[Path, ...], asked: shapes.AskedJudge) -> int:
    from runner.gate import anchor_sheet
    from runner.scoring import grading

    seed = grading.parse_grades(files[0]).seed
    sheet = _sheet(root, run, seed)
    folder = opening.open_run(root, run).folder / "people" if run else _folder(root)
    every = grading.take(folder, sheet, files)
    output.tell(f"took {len(files)}; there are {len(every)} in {folder}")
    if run:
        output.tell(f"next: `fairtrial report {run}` holds the judge against them")
        judged: dict[str, float] = {}
        name = "the run's judge"
    else:
        checkout = opening.open_checkout(root)
        from runner.scoring.judges import open_judge

        then = asked.as_accepted(checkout, where_it_was=True)
        judge = open_judge(asked.with_judging(then).of_anchors(checkout))
        anchors = anchor_sheet.anchors_to_grade(checkout.root)
        judged = anchor_sheet.judged_items(checkout.root, checkout.project, judge, anchors, seed)
        name = judge.name
    output.show("\n".join(grading.peoples_view(name, judged, every).lines()))
    return output.OK


def _sheet(root: Path, run: str, seed: int) -> shapes.GradingSheet:
    if run:
        from runner.runs.run_people import run_sheet

        opened = opening.open_scenario_run(root, run)
        opened.require_scorecards()
        return run_sheet(opened.audit_as_before(), seed)
    from runner.gate import anchor_sheet

    shipped = opening.places(root).shipped
    return anchor_sheet.anchor_sheet(anchor_sheet.anchors_to_grade(shipped), seed)


def _folder(root: Path) -> Path:
    from runner.gate.anchor_sheet import PEOPLE

    found = opening.places(root)
    return (found.project or found.shipped) / PEOPLE
