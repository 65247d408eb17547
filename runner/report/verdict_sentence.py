"""What a run came to, in one sentence for each server: its figure, its interval, what it cost."""

from __future__ import annotations

from collections.abc import Iterator

from runner.records import is_candidate
from runner.report import tables
from runner.report.grid import clean
from runner.report.records import ArmReport, Delta, Report
from runner.support.text import some_of

NAMES_SHOWN = 3


def verdicts(report: Report) -> Iterator[str]:
    """First what the run was made for; one that cannot tell says what it lacks."""
    compared = [arm for arm in report.arms if is_candidate(arm.server)]
    measured = sum(arm.tally.measured for arm in report.arms)
    if not measured:
        planned = sum(arm.tally.planned for arm in report.arms)
        yield f"No answer: of {planned} cells none is measured."
    elif not compared:
        yield "No answer: no server was run beside the shell."
    elif all(arm.delta.judgement == "not_ranked" for arm in compared):
        yield from _without_verdict(tables.answer(report), compared)
    elif {(it.delta.judgement, it.delta.says) for it in compared} == {
        ("too_few", compared[0].delta.says)
    }:
        yield from _without_verdict(compared[0].delta.says, compared)
    else:
        yield from _sentences(report, compared)
        yield from _alike(report)


def in_short(report: Report) -> str:
    """For a screen without room: servers of one verdict together, their figures in its table."""
    compared = [arm for arm in report.arms if is_candidate(arm.server)]
    first = next(verdicts(report))
    if not compared or all(arm.delta.judgement == "not_ranked" for arm in compared):
        return first
    told_apart = (said.rstrip(".") for said in _alike(report))
    return f"{'; '.join([*tables.said_of(compared), *told_apart])}."


def extent(report: Report) -> str:
    """`18 cells planned, 17 measured, 1 broken: alpha, bravo and 4 more, by claude-x`."""
    models = some_of(list(map(clean, report.models)), NAMES_SHOWN)
    scenarios = some_of(list(map(clean, report.scenarios)), NAMES_SHOWN)
    return f"{_cells(report)}: {scenarios}, by {models}"


def _cells(report: Report) -> str:
    counts = {
        "measured": total(report, "measured"),
        "broken": total(report, "broken"),
        "to do": total(report, "unfinished"),
        "contradicted": total(report, "contradicted"),
    }
    always = ("measured", "broken")
    said = [f"{count} {name}" for name, count in counts.items() if count or name in always]
    planned = total(report, "planned")
    cells = "cell" if planned == 1 else "cells"
    return f"{planned} {cells} planned, {', '.join(said)}"


def total(report: Report, name: str) -> int:
    """Of a count of cells, over all arms."""
    return sum(getattr(arm.tally, name) for arm in report.arms)


def _alike(report: Report) -> Iterator[str]:
    """Servers whose own words differ, and which cannot be told apart all the same."""
    says = {arm.label: arm.delta.judgement for arm in report.arms if is_candidate(arm.server)}
    for pair in report.between:
        if pair.first not in says or pair.second not in says:
            continue
        told_apart = pair.delta.judgement in ("higher", "lower", "small_difference")
        if says[pair.first] != says[pair.second] and not told_apart:
            yield f"{clean(pair.first)} and {clean(pair.second)} cannot be told apart."


def _without_verdict(why: str, compared: list[ArmReport]) -> Iterator[str]:
    """Differences are told; what is meant by them is not."""
    told = "; ".join(f"{clean(arm.label)} {_figure(arm.delta)}{_cost(arm)}" for arm in compared)
    yield f"{why[:1].upper()}{why[1:]}."
    yield f"Differences from the shell: {told}."


def _sentences(report: Report, compared: list[ArmReport]) -> Iterator[str]:
    """One a server; of servers of which the same is to be said, one."""
    told: dict[str, list[str]] = {}
    for arm in compared:
        said, name = _sentence(report, arm), f"{clean(arm.label)}: "
        is_named_first = said.startswith(name)
        names = told.setdefault(said.removeprefix(name), [])
        names += [clean(arm.label)] * is_named_first
    for said, names in told.items():
        yield f"{', '.join(names)}: {said}" if names else said


def _sentence(report: Report, arm: ArmReport) -> str:
    delta, name = arm.delta, clean(arm.label)
    more, less = ("better", "worse") if not report.keyed else ("higher", "lower")
    compared = "F1 over places is" if report.keyed else "the answers are"
    than = f"With {name} {compared}"
    margin = f"{report.margin:g}" if report.margin is not None else ""
    said = {
        "higher": f"{than} {more} by {_figure(delta, sized=True)}",
        "lower": f"{than} {less} by {_figure(delta, sized=True)}",
        "equivalent": f"With {name} there is no difference larger than {margin}: {_figure(delta)}",
        "no_worse": f"{than} no {less} by {margin} or more: {_figure(delta)}",
        "small_difference": f"With {name} {delta.says}: {_figure(delta)}",
        "no_difference": f"Cannot tell whether {name} helps: {_figure(delta)}; "
        f"a difference of {_short(delta.could_miss)} could have been missed",
        "too_few": f"{name}: {delta.says}: {_figure(delta)}",
    }.get(delta.judgement)
    if said is None:
        return f"{name}: {clean(delta.says)}."
    ceiling = ""
    if delta.could_gain is not None:
        ceiling = f" The shell left it {delta.could_gain:.3f} to gain."
    return f"{said} ({_extent_of(report, delta)}){_cost(arm)}{_where(delta)}.{ceiling}"


def _figure(delta: Delta, *, sized: bool = False) -> str:
    """`+0.06 [0.01, 0.11]`; `sized` leaves the sign to the words around it."""
    if delta.value is None:
        return f"unknown ({clean(delta.says)})"
    turned = -1 if sized and delta.value < 0 else 1
    shown = f"{turned * delta.value:{'' if sized else '+'}.3f}"
    if delta.low is None or delta.high is None:
        return f"{shown} [no interval: too few]"
    low, high = sorted((turned * delta.low, turned * delta.high))
    return f"{shown} [{low:.3f}, {high:.3f}]"


def _short(value: float | None) -> str:
    return "any size" if value is None else f"{value:.3f}"


def _extent_of(report: Report, delta: Delta) -> str:
    scenarios = f"{delta.scenarios} scenario{'s' * (delta.scenarios != 1)}"
    return f"{scenarios}, {report.trials} trial{'s' * (report.trials != 1)}"


def _cost(arm: ArmReport) -> str:
    ratio = arm.costs.tokens_vs_shell
    return "" if ratio is None else f", for {ratio:.1f} × the tokens"


def _where(delta: Delta) -> str:
    """How far it holds, as the judgement's own words end."""
    _, on, where = delta.says.rpartition(" on ")
    return f", on {where}" if on and delta.cluster == "question" else ""
