"""The first screen of a run's report: it fits one terminal, and ends in what to do next.

The question, the answer or why there is none, a line an arm, what went wrong, and the commands that
lead on. Every mark that the whole report carries stands on it too.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from runner.report import tables
from runner.report.grid import clean
from runner.report.records import ArmReport, Report
from runner.report.terminal import WIDTH, captured
from runner.report.terminal_layout import laid_out
from runner.report.verdict_sentence import extent, in_short, total, verdicts
from runner.support.text import some_of

LINES = 20
"""Of 24: the rest is for what the command says beside it, and the prompt."""
FEWEST_ARMS = 3
TROUBLES_SHOWN = 3
SHORTEST_HEAD = 4
"""How far the head gives way to the arms; see `_head`."""
ANSWER_LINES = 5
COMMAND_LINES = 3
"""A command beyond this is in report.md, and is pointed to there."""
NAMES_SHOWN = 3
INDENT = " " * 6
UNBROKEN: Any = {"break_long_words": False, "break_on_hyphens": False}
TRIALS_NEXT = 3
SAYS_MORE = "another question says more than another trial"


def render(report: Report, page: str, *, width: int = WIDTH, colour: bool = False) -> str:
    """At most 20 lines of `width` cells, if there is room for it in 80. `page`: report.html."""
    screen = _Screen(report=report, page=page, width=width)
    return captured(screen.parts(), width=width, colour=colour)


@dataclass(frozen=True, kw_only=True)
class _Screen:
    report: Report
    page: str
    width: int

    def parts(self) -> Iterator[RenderableType]:
        foot = list(self._foot())
        head: list[Text] = []
        for shorter in range(SHORTEST_HEAD + 1):
            head = list(self._head(shorter))
            if len(head) + self._least_middle() + len(foot) + 2 <= LINES:
                break
        yield from head
        yield Text("")
        yield from self._middle(LINES - len(head) - len(foot) - 2)
        yield Text("")
        yield from foot

    def _head(self, shorter: int) -> Iterator[Text]:
        """The marks and the run, the answer, the notices, the question, what was run.

        `shorter`: 1 cuts each notice to a line, 2 has the answer in short, 3 leaves out notices
        that a mark stands for, 4 cuts the question too.
        """
        report = self.report
        yield from self._lines(f"{_mark(report)}{clean(report.named)}", "bold")
        yield from self._answer(shorter)
        for notice in _notices(report, unmarked=shorter > 2):
            yield from self._lines(notice, "bold yellow", whole=not shorter)
        yield from self._lines(report.question, whole=shorter < SHORTEST_HEAD)
        yield from self._lines(extent(report), "dim", whole=shorter < SHORTEST_HEAD)

    def _answer(self, shorter: int) -> Iterator[Text]:
        whole = list(self._lines(" ".join(verdicts(self.report)), "bold"))
        if len(whole) <= ANSWER_LINES and shorter < 2:
            yield from whole
        else:
            yield from self._lines(in_short(self.report), "bold")

    def _lines(self, text: str, style: str = "", *, whole: bool = True) -> Iterator[Text]:
        if not whole:
            text = _clipped(text, self.width)
        for line in wrap(text, self.width, break_on_hyphens=False):
            yield Text(line, style=style)

    def _least_middle(self) -> int:
        """Lines: a heading of two, some arms, and one thing that went wrong."""
        arms = len(self.report.arms)
        troubles = list(_troubles(self.report))
        return 2 + min(arms, FEWEST_ARMS) + (arms > FEWEST_ARMS) + min(len(troubles), 2)

    def _middle(self, room: int) -> Iterator[RenderableType]:
        """The arms, and what went wrong, in `room` lines."""
        troubles = [_clipped(text, self.width) for text in _troubles(self.report)]
        summary = tables.summary(self.report)
        arms = len(summary.rows)
        shown = max(room - 2 - min(len(troubles), TROUBLES_SHOWN), FEWEST_ARMS)
        if shown < arms:
            shown -= 1
        yield from laid_out(replace(summary, rows=summary.rows[:shown]), self.width, cut=True)
        if shown < arms:
            yield Text(f"… and {arms - shown} more arms, with --full", style="dim")
        kept = _kept(troubles, max(room - 2 - min(arms, shown), 1))
        yield from (Text(text, style="yellow") for text in kept)

    def _foot(self) -> Iterator[Text]:
        for name, text in _next(self.report, self.page, self.width - len(INDENT)):
            lines = wrap(text, self.width - len(INDENT), **UNBROKEN)
            for number, line in enumerate(lines):
                first = INDENT if number else f"{name:{len(INDENT)}}"
                # A path that is folded could not be opened; the terminal folds it for the eye.
                yield Text(f"{first}{line}", no_wrap=True, overflow="ignore")


def _kept(troubles: Sequence[str], room: int) -> list[str]:
    """As many as there is room for, and how many more there are."""
    room = min(room, TROUBLES_SHOWN)
    if len(troubles) <= room:
        return list(troubles)
    more = len(troubles) - room + 1
    return [*troubles[: room - 1], f"… {more} more things went wrong: see --full"]


def _clipped(text: str, width: int) -> str:
    """One line."""
    if cell_len(text) <= width:
        return text
    return f"{text[: width - 1].rstrip()}…"


# --- what it is of --------------------------------------------------------------------------


def _unreviewed(report: Report) -> list[str]:
    return [clean(section.id) for section in report.sections if section.unreviewed]


def _mark(report: Report) -> str:
    return f"{report.mark}{'UNREVIEWED · ' if _unreviewed(report) else ''}"


def _notices(report: Report, *, unmarked: bool = False) -> Iterator[str]:
    """The first sentence of each. `unmarked`: less those that a mark stands for."""
    marks = report.mark.split(" · ")
    for notice in report.notices:
        first, _, rest = notice.partition(". ")
        if not unmarked or first.partition(":")[0] not in marks:
            yield f"{first}." if rest else first
    if unmarked:
        return
    if unreviewed := _unreviewed(report):
        yield f"UNREVIEWED: nobody vouches for the rubric of {some_of(unreviewed, NAMES_SHOWN)}."


# --- what went wrong ------------------------------------------------------------------------


def _troubles(report: Report) -> Iterator[str]:
    for arm in report.arms:
        yield from _of_calls(arm)
    for arm in report.arms:
        for sentence in arm.substitutes:
            yield f"{clean(arm.label)} is not as its users have it: {clean(sentence)}"
    for fault in report.faults:
        place = f"{clean(fault.scenario)}, {clean(fault.arm)}, trial {fault.trial}"
        yield f"{fault.outcome}: {place}: {clean(fault.reason)}"
    yield from tables.summary(report).notes


def _of_calls(arm: ArmReport) -> Iterator[str]:
    """What makes an arm's figures those of a shell beside a server that was not there."""
    if arm.adoption is None or not arm.tally.measured:
        return
    calls, errors = arm.adoption.server_calls, arm.adoption.server_errors
    if not calls:
        yield f"{clean(arm.label)} was never called: its figures are those of a shell"
    elif calls == errors:
        yield f"{clean(arm.label)}: every one of its {calls} calls was an error"


# --- what to do next ------------------------------------------------------------------------


def _next(report: Report, page: str, width: int) -> Iterator[tuple[str, str]]:
    """Name and text of each way on; `width` is what a line of it has."""
    run = shlex.quote(clean(report.run))
    if not report.imported:
        yield _first_way(report, width)
    yield "all", f"fairtrial report {run} --full"
    yield "page", page


def _first_way(report: Report, width: int) -> tuple[str, str]:
    if total(report, "broken") or total(report, "unfinished"):
        same = "the same command tries again what is not measured (report.md has it)"
        return "again", _if_short(clean(report.repeat.command, 4000), same, width)
    if report.language_model and report.standing == "screens" and not report.keyed:
        return "judge", "fairtrial verify-anchors --judge model:ID, which says if it may rank"
    if report.keyed and report.language_model:
        twice = 2 * len(report.scenarios)
        return "more", f"the same command with --questions {twice} and another --run: {SAYS_MORE}"
    # Of questions with a key each is asked once.
    trials = report.trials if report.keyed else max(TRIALS_NEXT, 2 * report.trials)
    other = "--model claude-ID" if report.keyed else f"--trials {trials}"
    longer = f"the same command with {other} and another --run (report.md has it)"
    return "more", _if_short(_more(report, trials), longer, width)


def _if_short(command: str, otherwise: str, width: int) -> str:
    return command if len(wrap(command, width, **UNBROKEN)) <= COMMAND_LINES else otherwise


def _more(report: Report, trials: int) -> str:
    """A run of its own: what is planned cannot grow once its figures are seen."""
    words = ["fairtrial", "run"]
    for flag, names in (
        ("--scenario", report.scenarios),
        ("--server", [server for server in report.servers if server != "shell"]),
        # Of a program's answers more would say nothing more.
        ("--model", report.language_models or ("claude-ID",)),
    ):
        for name in names:
            words += [flag, shlex.quote(clean(name))]
    words += ["--trials", str(trials)]
    if report.ungated:
        words.append("--ungated")
    return " ".join(words)
