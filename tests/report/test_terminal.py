"""The report in a terminal: what is on its first screen, and that no width hides a column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from html import unescape
from itertools import pairwise
from typing import Any

import pytest
from rich.cells import cell_len

from runner.records import Since
from runner.records.run_store import LoadedCell, LoadedRun
from runner.report import html, tables, terminal, terminal_first
from runner.report.build_report import build_report
from runner.report.grid import Table, number, table, words
from runner.report.records import Report
from runner.report.terminal_layout import shortened
from tests.report.loaded import (
    GATE,
    NAMES,
    SHELL_SCORES,
    broken,
    catalog,
    cell,
    imported,
    loaded,
    measured,
    result,
    scorecard,
    small_run,
    unfinished,
)
from tests.report.test_report import SCREENING, report_of, two_cells

PAGE = "runs/flask-run/report.html"


def first(report: Report, width: int = 80) -> str:
    return terminal_first.render(report, PAGE, width=width)


def arms_of(servers: Sequence[str], count: int = len(NAMES)) -> list[LoadedCell]:
    cells = []
    for scenario, score in list(zip(NAMES, SHELL_SCORES, strict=True))[:count]:
        cells.append(measured(cell(scenario), score))
        cells += [measured(cell(scenario, name), round(score + 0.1, 3)) for name in servers]
    return cells


def named(length: int) -> list[str]:
    """Three names of that length that differ in one place: the start, the middle, the end."""
    plain = "abcdefghijklmnopqrstuvwxyz0123456789abcd"[:length]
    places = (0, length // 2, length - 1)
    return [f"{plain[:at]}{mark}{plain[at + 1 :]}" for at, mark in zip(places, "xyz", strict=True)]


@cache
def report_with_names_of(length: int) -> Report:
    names = named(length)
    return report_of(loaded([*arms_of(names), broken(cell("hotel", names[0]))]))


# --- no column is hidden --------------------------------------------------------------------


def sections(text: str, shown: Sequence[Table]) -> Iterator[tuple[Table, str]]:
    """Each table, and what is printed from its title to the next one's."""
    places = [text.index(f"\n{one.title}\n") for one in shown]
    places.append(text.index("\nWhat may not be concluded"))
    for one, (start, end) in zip(shown, pairwise(places), strict=True):
        yield one, text[start + len(one.title) + 1 : end]


def figures(shown: Table) -> Counter[str]:
    """Every word of the headings, and every figure, with how often each has to be there."""
    found: Counter[str] = Counter()
    for place, column in enumerate(shown.columns):
        found.update(column.short.split())
        if not column.text:
            for row in shown.rows:
                found.update(row[place].split())
    return found


def missing(text: str, shown: Table) -> Counter[str]:
    return figures(shown) - Counter(text.split())


LENGTHS = [(length, 80) for length in range(1, 41)]
LENGTHS += [(length, width) for length in (1, 8, 16, 24, 32, 40) for width in (60, 120)]


@pytest.mark.parametrize(("length", "width"), LENGTHS)
def test_no_length_of_a_name_hides_a_column_or_a_figure(length: int, width: int) -> None:
    names, report = named(length), report_with_names_of(length)
    text = terminal.render(report, width=width)
    assert max(map(cell_len, text.splitlines())) <= width
    # A long title folds, and could not be found again.
    shown = [one for one in tables.of_run(report) if one.rows and len(one.title) <= width]
    assert len(shown) > 8
    for one, section in sections(text, shown):
        assert missing(section, one) == Counter(), one.title
        if one.columns[0].short == "arm":
            assert all(name in section for name in names)
    screen = first(report, width)
    assert missing(screen, tables.summary(report)) == Counter()
    assert all(name in screen for name in names)


def test_the_name_that_hid_the_hallucinations_hides_them_no_more() -> None:
    report = report_of(loaded(arms_of(["server-filesystem"])))
    text = terminal.render(report)
    (heading,) = [line for line in text.splitlines() if line.startswith("arm") and "cited" in line]
    assert heading.endswith("halluc.")
    # Of 70 citations 7: the column's figure is under its heading.
    row = next(line for line in text.splitlines() if line.startswith("shell") and " 56 " in line)
    assert row.endswith(" 7") and len(row) == len(heading)


def test_a_table_that_lacks_a_column_would_be_found_out() -> None:
    columns = [words("arm", str), number("halluc.", lambda _: "6"), number("all", lambda _: "7")]
    whole = table("t", columns, ["shell"])
    printed = terminal.render_tables([replace(whole, columns=whole.columns[:2])], width=80)
    assert missing(printed, whole) == Counter({"all": 1, "7": 1})


def test_names_that_are_cut_stay_apart_and_stand_whole_in_a_legend() -> None:
    names = ["mcp-server-tree-sitter-one", "mcp-server-tree-other-one", "shell", "mcp-a-one"]
    for width in range(6, 30):
        shown = shortened(names, width)
        assert len(set(shown.values())) == len(names)
        assert max(map(cell_len, shown.values())) <= width or width < 9
    assert shortened(names[:1], 14) == {names[0]: "mcp-ser…er-one"}


def test_a_name_of_several_words_folds_before_it_is_cut() -> None:
    name = "codegraph (claude-sonnet-4)"
    assert shortened([name], 17) == {name: name}
    assert shortened([name], 17, cut=True) == {name: "codegrap…onnet-4)"}


# --- the first screen -----------------------------------------------------------------------


def test_the_first_screen_reads_as_expected() -> None:
    assert first(report_of(small_run())) == (
        "flask-run\n"
        "With codegraph the answers are better by 0.199 [0.150, 0.250] (7 scenarios, 1\n"
        "trial), for 1.4 × the tokens. cclsp: too few to tell (6 of 7 repositories):\n"
        "+0.005 [no interval: too few] (6 scenarios, 1 trial), for 1.4 × the tokens.\n"
        "Does attaching codegraph or cclsp make the agent's answers better than a shell\n"
        "alone does, or does it only burn tokens?\n"
        "21 cells planned, 20 measured, 1 broken: alpha, bravo, charlie and 4 more, by\n"
        "claude-sonnet-4\n"
        "\n"
        "arm       fairness        95 % Δ shell adoption grounded halluc. tokens calls ok\n"
        "shell        0.497 0.440–0.550       —        —    56/70       7  9,000        —\n"
        "codegraph    0.696 0.650–0.740  +0.199    0.750    56/70       7 13,000    56/63\n"
        "cclsp        0.505 0.410–0.640  +0.005    0.500    48/60       6 13,000    48/54\n"
        "sandbox_failed: golf, cclsp, trial 1: the container is gone\n"
        "cclsp, fairness: broken: sandbox_failed (1 of 7 cells)\n"
        "\n"
        "again the same command tries again what is not measured (report.md has it)\n"
        "all   fairtrial report flask-run --full\n"
        "page  runs/flask-run/report.html\n"
    )


def imported_run() -> LoadedRun:
    cells = []
    for server in ("shell", "codegraph"):
        of = cell("alpha", server, model="imported:claude-code")
        ended = result(of, imported=imported(), fingerprint=None, timings=None)
        cells.append(LoadedCell(cell=of, result=ended, attempts=1, scorecard=scorecard(of, 0.5)))
    return loaded(cells, ungated=True)


def crowded() -> Report:
    """More arms, notices and troubles than a terminal has lines."""
    servers = [f"a-rather-long-server-name-{number}" for number in range(12)]
    cells = [*arms_of(servers), *(broken(cell("hotel", name)) for name in servers)]
    report = report_of(loaded(cells), SCREENING)
    since = Since(planned=None, accepted=("x",), changed=("y",), rescored_under=8)
    sentence = "a sentence of more than eighty letters, which says at length what is wrong and why"
    marks = ("RESCORED UNDER GENERATION 8", "THE LOCK'S PAST", "CONTRADICTED", "SCREENING")
    notices = [f"{mark}: {sentence}. Another." for mark in marks]
    unreviewed = [one.model_copy(update={"unreviewed": "new"}) for one in report.sections]
    changes: dict[str, Any] = {"notices": ("Of fewer scenarios.", *notices), "since": since}
    return report.model_copy(update={**changes, "sections": tuple(unreviewed)})


@pytest.mark.parametrize(
    "report",
    [
        report_of(small_run()),
        report_of(small_run(), SCREENING),
        report_of(two_cells(), None),
        report_of(imported_run(), None),
        report_of(loaded(arms_of([f"s{number}" for number in range(9)]))),
        report_of(loaded(arms_of(["server-filesystem-of-a-stranger"], 1))),
    ],
)
def test_the_first_screen_leaves_room_in_a_terminal_of_80_by_24(report: Report) -> None:
    lines = first(report).splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80
    assert lines[-2:] == ["all   fairtrial report flask-run --full", f"page  {PAGE}"]


def test_a_crowded_run_keeps_its_marks_its_answer_and_what_to_do_next() -> None:
    lines = first(crowded()).splitlines()
    assert len(lines) <= 24
    text = "\n".join(lines)
    assert "RESCORED UNDER GENERATION 8 · SCREENING · UNREVIEWED · flask-run" in text
    assert "Nobody is ranked: the figures are for screening." in text
    assert "\nshell " in text and "more arms, with --full" in text
    assert "more things went wrong: see --full" in text
    assert lines[-1] == f"page  {PAGE}"


@pytest.mark.parametrize("made", [small_run(), two_cells(), loaded(arms_of(["a", "b"]))])
def test_the_terminal_and_the_page_begin_with_the_same_sentence(made: LoadedRun) -> None:
    report = report_of(made)
    told = " ".join(first(report).split())
    (headline,) = re.findall(r"<h1>(.*?)</h1>", html.render(report))
    headline = re.sub("</?b>", "", headline)
    assert " ".join(unescape(headline).split()) in told


def test_every_mark_of_honesty_is_on_the_first_screen() -> None:
    ungated = first(report_of(two_cells(), None))
    assert ungated.startswith("UNGATED · SCREENING · flask-run\n")
    assert "UNGATED: no gate stood in front of this run" in ungated
    assert "Made with the offline model: it checks plumbing and servers" in ungated
    elsewhere = first(report_of(imported_run(), None))
    assert elsewhere.startswith("UNGATED · IMPORTED · SCREENING · flask-run\n")
    screening = first(report_of(small_run(), SCREENING))
    assert screening.startswith("SCREENING · flask-run\n")
    run = small_run()
    since = Since(
        planned=None, accepted=("2026-01-02, generation 8: x",), changed=("y",), rescored_under=8
    )
    rescored = first(build_report(run, *catalog(run), gate=GATE, since=since))
    assert rescored.startswith("RESCORED UNDER GENERATION 8 · flask-run\n")
    scenarios, servers = catalog(run)
    odd = scenarios["alpha"].model_copy(update={"unreviewed": "new"})
    unreviewed = first(build_report(run, {**scenarios, "alpha": odd}, servers, gate=GATE))
    assert unreviewed.startswith("UNREVIEWED · flask-run\n")
    assert "UNREVIEWED: nobody vouches for the rubric of alpha." in unreviewed


def test_a_screen_without_an_answer_says_why_there_is_none() -> None:
    planned = [unfinished(cell("alpha")), unfinished(cell("alpha", "codegraph"))]
    none = first(report_of(loaded(planned)))
    assert "No answer: of 2 cells none is measured." in none
    assert "again fairtrial run --run flask-run --scenario alpha" in none
    alone = first(report_of(loaded([measured(cell("alpha"), 0.5)])))
    assert "No answer: no server was run beside the shell." in alone
    assert "\n1 cell planned, 1 measured, 0 broken: alpha, by claude-sonnet-4\n" in alone
    few = first(report_of(loaded(arms_of(["codegraph"], 2))))
    assert "Too few to tell (2 of 6 repositories, or 2 of 12" in few
    offline = first(report_of(two_cells()))
    assert "codegraph: not compared: no trial has a score in both arms (no judge" in offline


def used(calls: int, errors: int) -> Report:
    cells = arms_of(["codegraph"], 1)
    card = cells[1].scorecard
    assert card is not None
    adoption = card.adoption.model_copy(update={"server_calls": calls, "server_errors": errors})
    cells[1] = replace(cells[1], scorecard=card.model_copy(update={"adoption": adoption}))
    return report_of(loaded(cells))


def test_a_server_that_was_never_called_or_only_failed_is_said() -> None:
    assert "codegraph was never called: its figures are those of a shell" in first(used(0, 0))
    assert "codegraph: every one of its 4 calls was an error" in first(used(4, 4))
    assert "call was" not in first(used(4, 3)) and "  1/4" in first(used(4, 3))


def test_the_next_command_is_whole_and_asks_a_language_model_for_more_trials() -> None:
    offline = first(report_of(loaded(arms_of(["codegraph"], 1)))).replace("\n      ", " ")
    assert (
        "more  fairtrial run --scenario alpha --server codegraph "
        "--model claude-sonnet-4 --trials 3\n"
    ) in offline
    program = first(report_of(two_cells(), None)).replace("\n      ", " ")
    assert "--server codegraph --model claude-ID --trials 3 --ungated\n" in program
    screened = first(report_of(loaded(arms_of(["codegraph"], 1)), SCREENING))
    assert "judge fairtrial verify-anchors --judge model:ID" in screened


def test_a_path_longer_than_the_line_stays_whole() -> None:
    page = f"/home/somebody/{'folder/' * 12}report.html"
    text = terminal_first.render(report_of(small_run()), page, width=80)
    assert text.endswith(f"\npage  {page}\n")


def test_figures_of_the_first_screen_are_those_of_the_tables() -> None:
    report = report_of(small_run())
    shown = tables.summary(report)
    whole = {row[0]: row for row in tables.fairness(report).rows}
    for row in shown.rows:
        assert whole[row[0]][1].startswith(row[1])
        assert whole[row[0]][2] == row[2]
