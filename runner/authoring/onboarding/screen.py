"""What `fairtrial try` shows at the end: one screen, and a sentence to end it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from runner.authoring.onboarding.onboarding_state import OnboardedServer
from runner.report import tables
from runner.report.grid import clean
from runner.report.records import ArmReport, Report

WIDTH = 80
NOTICES = 2
_LABEL = 30


def screen(report: Report, tried: OnboardedServer, page: str) -> str:
    """No line wider than 80 columns but the last: where the whole report is."""
    # Without a language model the first says it all: the judge ranks nobody either.
    most = NOTICES if report.language_model else 1
    lines = [line for notice in report.notices[:most] for line in _wrapped(notice)]
    lines.append(f"{report.mark}{tried.server} on {', '.join(report.scenarios)}")
    lines += _wrapped(tables.answer(report))
    lines += ["", *_rows(report), ""]
    lines += _wrapped(_card_line(tried))
    for arm in report.arms:
        for substitute in map(clean, arm.substitutes):
            lines += _wrapped(f"{arm.label} is not as its users have it: {substitute}")
    lines += ["", *_wrapped(sentence(report, tried.server)), "", "The whole report:", page]
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _rows(report: Report) -> Iterator[str]:
    yield f"{'arm':{_LABEL}} fairness  true cites  tokens   sec  calls  errors"
    for arm in report.arms:
        calls, errors = _calls(arm)
        parts = arm.grounding
        cites = f"{parts.grounded}/{parts.total}"
        row = (
            f"{arm.label[:_LABEL]:{_LABEL}} {_number(arm.fairness.score.value, 3):>8}  "
            f"{cites:>10}  {_count(_tokens(arm)):>6} {_number(arm.costs.agent_sec, 1):>5}  "
            f"{calls:>5}  {errors:>6}"
        )
        yield row.rstrip()


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def _count(value: int | None) -> str:
    if value is None:
        return "–"
    return f"{value / 1000:.1f}k" if value >= 1000 else str(value)


def _tokens(arm: ArmReport) -> int | None:
    """New ones: what the ratio is of."""
    return arm.costs.new_tokens


def _calls(arm: ArmReport) -> tuple[str, str]:
    if arm.adoption is None:
        return "", ""
    return str(arm.adoption.server_calls), str(arm.adoption.server_errors)


def _card_line(tried: OnboardedServer) -> str:
    card = tried.card
    tools = f"{len(card.tools)} tool{'s' if len(card.tools) > 1 else ''}"
    parts = [
        f"{tools}, about {card.schema_tokens:,} tokens of schemas",
        f"ready in {card.initialize_sec + card.warm_up_sec + card.ready_sec:.1f} s",
    ]
    if tried.writing_tools:
        count = len(tried.writing_tools)
        parts.append(f"{count} {'tools write' if count > 1 else 'tool writes'}, and may not here")
    if card.network_attempts:
        parts.append(f"{card.network_attempts} network attempts refused")
    if card.stray_lines:
        parts.append(f"{card.stray_lines} stray lines on stdout")
    return "; ".join(parts) + "."


def sentence(report: Report, server: str) -> str:
    """What came of it, in words that claim no more than the run can show."""
    arms = {arm.server: arm for arm in report.arms}
    arm, shell = arms.get(server), arms.get("shell")
    if arm is None or shell is None or arm.fairness.score.value is None:
        why = arm.fairness.score.reasons if arm else ()
        return f"{server} has no score: {'; '.join(why) or 'no cell of it was measured'}."
    calls = arm.adoption.server_calls if arm.adoption else 0
    errors = arm.adoption.server_errors if arm.adoption else 0
    if calls and calls == errors:
        return (
            f"Every one of {calls} calls of {server}'s tools was answered with an error, so these "
            "figures say nothing of it: `fairtrial server tools` and `server call` show why."
        )
    if not calls:
        return (
            f"The tools of {server} were never called, so these figures say nothing of it"
            f"{'' if report.language_model else ': --model NAME asks one that may call them'}."
        )
    told = f"With {server} the answers score {arm.fairness.score.value:.3f}, with the shell alone "
    told += _number(shell.fairness.score.value, 3)
    if arm.costs.tokens_vs_shell is not None:
        told += f", for {arm.costs.tokens_vs_shell:.2f} times the tokens"
    told += f"; its tools were called {'once' if calls == 1 else f'{calls} times'}"
    if errors:
        told += f", {errors} of them answered with an error"
    if not report.language_model:
        told += ". The offline navigator is no language model, so this shows that the server works "
        told += "in a run, not that it helps: --model NAME asks one"
    elif report.trials < 3:
        told += ". One look ranks nobody: --trials 3 or more tells chance from difference"
    return f"{told}."
