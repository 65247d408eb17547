"""The tables of questions with a key: F1 first, then by kind, then question by question."""

from __future__ import annotations

from collections.abc import Iterator

from runner.report.grid import (
    DASH,
    Column,
    Table,
    clean,
    count,
    interval,
    number,
    score,
    signed,
    signed_interval,
    table,
    words,
)
from runner.report.keyed_figures import contaminated
from runner.report.records import Keyed, KeyedArm, KeyedKind, KeyedQuestion

QUESTIONS_SHOWN = 400


def of_keys(keyed: Keyed, *, each: bool) -> Iterator[Table]:
    """`each`: question by question as well."""
    yield arms(keyed)
    yield kinds(keyed)
    if each:
        yield questions(keyed)


ARMS: tuple[Column[KeyedArm], ...] = (
    words("arm", lambda arm: clean(arm.label)),
    number("F1", lambda arm: score(arm.f1.value)),
    number("95 %", lambda arm: interval(arm.f1.low, arm.f1.high), full="95 % interval"),
    number("recall", lambda arm: score(arm.recall)),
    number("prec.", lambda arm: score(arm.precision), full="precision"),
    number(
        "hard",
        lambda arm: score(arm.hard.value if arm.hard else None),
        full="F1 where grep gets less than half",
    ),
    number("off", lambda arm: count(arm.wrong_lines), full="right file, wrong line"),
    number("misses", lambda arm: count(arm.near_misses), full="near misses cited"),
    number("cells", lambda arm: f"{arm.f1.cells}/{arm.f1.planned}", full="cells / planned"),
)


def arms(keyed: Keyed) -> Table:
    hard = sum(it.grep_f1 is not None and it.grep_f1 < 0.5 for it in keyed.questions)
    notes = [
        "F1 of recall (places found / places) and precision (places found / all that is cited); "
        "whether there is none is right or wrong. Recall and precision are of questions that have "
        f"places. Hard: the {hard} questions of which a text search alone gets less than half. "
        "Off: places of whose file another line is cited.",
    ]
    return table("F1: were the right places found?", ARMS, keyed.arms, notes=notes)


KINDS: tuple[Column[KeyedKind], ...] = (
    words("kind", lambda it: it.kind.replace("_", " ")),
    words("arm", lambda it: clean(it.label)),
    number("F1", lambda it: score(it.f1.value)),
    number("95 %", lambda it: interval(it.f1.low, it.f1.high), full="95 % interval"),
    number("recall", lambda it: score(it.recall)),
    number("prec.", lambda it: score(it.precision), full="precision"),
    number("Δ", lambda it: signed(it.delta), full="Δ against shell"),
    number("95 %", lambda it: signed_interval(it.delta_low, it.delta_high), full="95 % of Δ"),
    number("n", lambda it: count(it.f1.cells), full="cells"),
)


def kinds(keyed: Keyed) -> Table:
    notes = [
        "In which kinds a server helps, and which it harms. Each interval is of its kind alone: "
        "of many, one in twenty misses, and none of them ranks anybody."
    ]
    return table("F1 by kind of question", KINDS, keyed.kinds, notes=notes)


def questions(keyed: Keyed) -> Table:
    """A row a question, a column an arm."""
    columns: list[Column[KeyedQuestion]] = [
        words("question", lambda it: clean(it.id)),
        words("kind", lambda it: it.kind.replace("_", " ")),
        number("grep", lambda it: score(it.grep_f1), full="F1 of a text search alone"),
    ]
    columns += [_of_arm(arm.label) for arm in keyed.arms]
    columns.append(words("by heart", lambda it: ", ".join(map(clean, it.by_heart)) or DASH))
    notes = list(_notes(keyed))
    shown = keyed.questions[:QUESTIONS_SHOWN]
    return table("Question by question", columns, shown, notes=notes)


def _of_arm(label: str) -> Column[KeyedQuestion]:
    return number(clean(label)[:12], lambda it: score(it.f1.get(label)), full=clean(label))


def _notes(keyed: Keyed) -> Iterator[str]:
    if said := contaminated(keyed):
        yield said
    more = len(keyed.questions) - QUESTIONS_SHOWN
    if more > 0:
        yield f"{more} more are in report.json."
