"""What the pages of questions with a key say: F1 first, by what it ranks, and where it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from runner.records import (
    CriterionVerdict,
    ExactKind,
    FactVerdict,
    FalseClaim,
    Gate,
    StepVerdict,
    Verdict,
)
from runner.records.run_store import LoadedCell, LoadedRun
from runner.report import terminal_first
from runner.report.build_report import build_report
from runner.report.records import Keyed, Report
from runner.scoring.judges.exact_judge import BESIDE, FOUND
from tests.report.loaded import (
    FLASK,
    KEYS,
    MODEL,
    cell,
    fairness_parts,
    loaded,
    measured,
    scenario,
    scored,
    server,
)
from tests.report.test_report import all_forms, arm

SHELL = (0.4, 0.5, 0.6, 0.5, 0.4, 0.5, 0.6, 0.5, 0.4, 0.5, 0.6, 0.5, 0.4, 0.5)
KINDS: tuple[ExactKind, ...] = ("callers", "overriders")
FOUND_IT = CriterionVerdict(score=0.75, reason="3 of 4 places")


def verdict(quality: float, **changes: Any) -> Verdict:
    step = StepVerdict(
        name="answer",
        quality=quality,
        criteria={FOUND: FOUND_IT, BESIDE: FOUND_IT.model_copy(update={"score": 0.5})},
    )
    missed = FactVerdict(
        step="answer",
        criterion=FOUND,
        says="a.py:3",
        verdict="absent",
        place="wrong_line",
        credit=0.0,
    )
    given: dict[str, Any] = {
        "judge": "exact",
        "identity": "9" * 64,
        "inputs": "0" * 64,
        "quality": quality,
        "steps": (step,),
        "facts": (missed,),
    }
    return Verdict(**given | changes)


def cells(figures: Mapping[str, Sequence[float]], model: str = MODEL) -> list[LoadedCell]:
    """Questions `q0`, `q1`, …: F1 of each arm."""
    found = []
    for place in range(len(SHELL)):
        for name, own in figures.items():
            of = cell(f"q{place}", name, model=model)
            found.append(measured(of, own[place], verdict=verdict(own[place])))
    return found


def report_of(
    figures: Mapping[str, Sequence[float]],
    *,
    gate: Gate | None = KEYS,
    model: str = MODEL,
    margin: float | None = None,
) -> Report:
    run = loaded(cells(figures, model), margin=margin)
    asked = {
        f"q{place}": scenario(
            f"q{place}", repository=FLASK, asks=KINDS[place % 2], grep_f1=0.2 if place < 7 else 0.9
        )
        for place in range(len(SHELL))
    }
    servers = {name: server(name) for name in figures if name not in ("shell", "none")}
    return build_report(run, asked, servers, gate=gate)


def of_callers(run: LoadedRun) -> Report:
    """Each of its questions is one about callers."""
    names = dict.fromkeys(one.scenario for one in run.plan.cells)
    asked = {name: scenario(name, repository=FLASK, asks="callers") for name in names}
    return build_report(run, asked, {"x": server("x")}, gate=KEYS)


def keyed_of(report: Report) -> Keyed:
    assert report.keyed is not None
    return report.keyed


def up(gain: float) -> tuple[float, ...]:
    return tuple(round(value + gain, 3) for value in SHELL)


def test_it_says_ranked_and_by_what_where_statistics_allow() -> None:
    report = report_of({"shell": SHELL, "x": up(0.2)})
    assert arm(report, "x").delta.says == "higher than shell on flask"
    assert report.ranked_by == "RANKED by exact keys: no judge."
    assert report.mark == ""
    for form, text in all_forms(report).items():
        assert "SCREENING" not in text, form
        assert "RANKED by exact keys: no judge." in text, form


def test_an_agent_that_finds_nothing_in_either_arm_shows_no_server_to_be_as_good() -> None:
    """The cheat: a model too weak to find a place finds no difference between any two servers."""

    def blind(place: int, name: str, *, found: float) -> LoadedCell:
        step = StepVerdict(
            name="answer",
            quality=found,
            criteria={FOUND: FOUND_IT.model_copy(update={"score": found})},
        )
        given = verdict(found, steps=(step,), facts=())
        return measured(cell(f"q{place}", name), found, verdict=given)

    def judged_of(*, shell: float, server_finds: float) -> Report:
        figures = {"shell": shell, "x": server_finds}
        return of_callers(
            loaded(
                [blind(it, name, found=own) for it in range(14) for name, own in figures.items()]
            )
        )

    nothing = judged_of(shell=0.02, server_finds=0.02)
    assert "too little found to tell, 0.020 of the places" in arm(nothing, "x").delta.says
    assert nothing.ranked_by == ""
    assert judged_of(shell=0.5, server_finds=0.5).ranked_by
    assert arm(judged_of(shell=0.0, server_finds=0.5), "x").delta.judgement == "higher"


def test_where_the_shell_finds_all_a_server_is_no_worse_and_nobody_calls_it_as_good() -> None:
    """The cheat: questions so easy that no server could have shown what it is worth."""
    (easy, worth) = ({name: (f1,) * len(SHELL) for name in ("shell", "x")} for f1 in (0.98, 0.5))
    delta = arm(report_of(easy, margin=0.05), "x").delta
    assert (delta.judgement, delta.could_gain) == ("no_worse", 0.02)
    for form, text in all_forms(report_of(easy, margin=0.05)).items():
        assert "equivalent" not in text or form == "json", form
    screen = terminal_first.render(report_of(easy, margin=0.05), "r.html", width=80)
    assert "left it 0.020 to gain" in " ".join(screen.split())
    delta = arm(report_of(worth, margin=0.05), "x").delta
    assert (delta.judgement, delta.could_gain) == ("equivalent", None)


def test_too_few_questions_rank_nobody() -> None:
    few = [it for it in cells({"shell": SHELL, "x": up(0.2)}) if it.cell.scenario in ("q0", "q1")]
    report = of_callers(loaded(few))
    assert report.ranked_by == ""
    assert "too few" in arm(report, "x").delta.says


@pytest.mark.parametrize("gate", [None, KEYS.model_copy(update={"standing": "screens"})])
def test_without_a_gate_for_its_keys_it_ranks_nobody_and_does_not_screen(
    gate: Gate | None,
) -> None:
    report = report_of({"shell": SHELL, "x": up(0.2)}, gate=gate)
    assert arm(report, "x").delta.judgement == "not_ranked"
    assert report.ranked_by == ""
    assert report.marks == ("UNRANKED",)
    assert all("SCREENING" not in text for text in all_forms(report).values())


def test_a_program_that_answers_is_ranked_by_no_key() -> None:
    report = report_of({"shell": SHELL, "x": up(0.2)}, model="offline")
    assert arm(report, "x").delta.judgement == "not_ranked"
    assert report.ranked_by == ""
    text = " ".join(all_forms(report)["terminal"].split())
    assert "A text search alone gets F1 0.493 on flask; a server" in text


def test_what_is_said_next_is_another_model_or_more_questions_and_never_more_trials() -> None:
    offline = report_of({"shell": SHELL, "x": up(0.2)}, model="offline")
    text = " ".join(terminal_first.render(offline, "r.html", width=80).split())
    assert "more the same command with --model claude-ID and another --run" in text
    modelled = report_of({"shell": SHELL, "x": up(0.2)})
    said = " ".join(terminal_first.render(modelled, "r.html", width=80).split())
    assert f"the same command with --questions {2 * len(SHELL)} and another --run" in said
    assert "--trials 3" not in text + said


def test_arms_are_compared_in_f1_and_fairness_stands_beside_it() -> None:
    run = loaded(
        [
            measured(
                cell(f"q{place}", name),
                0.9,
                verdict=verdict(f1),
                parts=fairness_parts(scored(f1)),
            )
            for place in range(14)
            for name, f1 in (("shell", 0.3), ("x", 0.6))
        ]
    )
    report = of_callers(run)
    assert arm(report, "x").delta.value == 0.3
    assert arm(report, "x").fairness.score.value == 0.9


def test_a_table_by_kind_says_where_a_server_helps_and_where_it_harms() -> None:
    gains = tuple(value + (0.2 if place % 2 else -0.2) for place, value in enumerate(SHELL))
    keyed = keyed_of(report_of({"shell": SHELL, "x": gains}))
    found = {(it.kind, it.label): it for it in keyed.kinds}
    assert found["callers", "x"].delta == -0.2
    assert found["overriders", "x"].delta == 0.2
    helped = found["overriders", "x"]
    assert helped.delta_low is not None
    assert helped.delta_low <= 0.2
    assert found["callers", "shell"].delta is None
    assert (helped.recall, helped.precision) == (0.75, 0.5)


def test_questions_that_need_a_server_have_a_figure_of_their_own() -> None:
    keyed = keyed_of(report_of({"shell": SHELL, "x": up(0.1)}))
    (shell, _) = keyed.arms
    assert shell.hard is not None
    assert shell.hard.planned == 7
    assert [it.grep_f1 for it in keyed.questions[:1]] == [0.2]
    assert shell.wrong_lines == 14


def test_what_a_model_answers_without_any_tool_is_marked() -> None:
    blind = (0.9,) * 3 + (0.1,) * 11
    report = report_of({"shell": SHELL, "none": blind, "x": up(0.2)})
    known = [it.id for it in keyed_of(report).questions if it.by_heart == (MODEL,)]
    assert known == ["q0", "q1", "q2"]
    # Above every figure: who reads the first lines alone has to know.
    [said] = [it for it in report.notices if it.startswith("CONTAMINATED")]
    assert "3 of 14 questions are answered without any tool" in said
    assert said in " ".join(all_forms(report)["report.md"].split())
    # It is no server: it pays for no comparison, and nobody is told to use it.
    assert report.sampled.comparisons == 1
    assert arm(report, "none").adoption is None
    assert "none" not in report.question


def test_that_there_is_none_is_said_without_knowing_it() -> None:
    blind = cells({"shell": SHELL, "none": (1.0,) * 14})
    for place, it in enumerate(blind):
        assert it.scorecard is not None
        empty = it.scorecard.fairness.model_copy(update={"verdict": verdict(1.0, facts=())})
        card = it.scorecard.model_copy(update={"fairness": empty})
        blind[place] = LoadedCell(cell=it.cell, result=it.result, attempts=1, scorecard=card)
    keyed = keyed_of(of_callers(loaded(blind)))
    assert not any(it.by_heart for it in keyed.questions)


def test_near_misses_are_counted() -> None:
    claim = FalseClaim(
        step="answer", criterion=BESIDE, quote="a.py:9", path="a.py", line=9, credit=-1.0
    )
    run = loaded([measured(cell("q0"), 0.5, verdict=verdict(0.5, false_claims=(claim,)))])
    assert keyed_of(of_callers(run)).arms[0].near_misses == 1


def test_a_run_with_any_other_scenario_is_none_of_keys() -> None:
    run = loaded([measured(cell("q0"), 0.5), measured(cell("alpha"), 0.5)])
    asked = {"q0": scenario("q0", repository=FLASK, asks="callers"), "alpha": scenario("alpha")}
    assert build_report(run, asked, {}, gate=KEYS).keyed is None
