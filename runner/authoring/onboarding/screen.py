"""What `fairtrial try` shows at the end: one screen, and a sentence to end it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from runner.authoring.onboarding.copying import SUBSTITUTE
from runner.authoring.onboarding.onboarding_state import OnboardedServer
from runner.authoring.onboarding.preflight import ServerUse, ToolsShare
from runner.report import tables
from runner.report.grid import clean
from runner.report.records import ArmReport, Delta, Report
from runner.support.text import counted, some_of

WIDTH = 80
NOTICES = 2
NAMES = 5
"""Tools that a line names."""
TRIALS = 3
_LABEL = 30
_PLACEHOLDER = "claude-ID"
_NEEDS_KEY = f"{_PLACEHOLDER} stands for a model's name, and needs an API key of yours."
Again = Callable[[str], str]


def screen(report: Report, tried: OnboardedServer, use: ServerUse, again: Again, page: str) -> str:
    """No line wider than 80 columns but the last two: what to say next, and where the report is.

    `again`: gives the command that was given, with one option more.
    """
    # Without a language model the first says it all: the judge ranks nobody either.
    most = NOTICES if report.language_model else 1
    # The mark says that it screens, on the line of the run.
    notices = [it for it in report.notices if not it.startswith(("SCREENING", "UNRANKED"))]
    lines = [line for notice in notices[:most] for line in _wrapped(notice)]
    tried_on = f"{tried.server} on {_asked(report)}"
    lines += _wrapped(report.mark + " · ".join([tried_on, *report.agents]))
    lines += _wrapped(tables.answer(report))
    lines += ["", *_rows(report, use), ""]
    for arm in report.arms:
        lines += _wrapped(_ended(arm))
    lines += _wrapped(_used(use, tried.card.tools))
    lines += _wrapped(_card_line(tried))
    for arm in report.arms:
        for substitute in map(clean, arm.substitutes):
            lines += _wrapped(f"{arm.label} is not as its users have it: {substitute}")
            if substitute == SUBSTITUTE:
                lines += _wrapped(
                    "If all that it writes lies in one folder, --private FOLDER lends it that "
                    "instead; a file beside the code needs the copy."
                )
    lines += ["", *_wrapped(sentence(report, tried.server, use))]
    command = _next(report, tried.server, use, again)
    if _PLACEHOLDER in command:
        lines += _wrapped(_NEEDS_KEY)
    return "\n".join([*lines, f"next: {command}", page])


def learnt(tried: OnboardedServer, lacking: Sequence[str], command: str) -> str:
    """Where the offline model could call none of its tools: what is known, and who may call it.

    `lacking`: what its tools require. `command`: asks a language model.
    """
    lines = [
        f"{tried.server} installs and starts, and its health probe passes.",
        _card_line(tried),
        *lacking,
        "The offline model fills arguments with names, files and what earlier calls answered. It "
        "called none of these tools, so nothing was compared, and nothing follows about the "
        "server: a language model finds arguments for itself.",
        _NEEDS_KEY,
    ]
    shown = [row for line in lines for row in _wrapped(line)]
    return "\n".join([*shown, f"next: {command}"])


def _asked(report: Report) -> str:
    if not report.keyed:
        return ", ".join(report.scenarios)
    repositories = dict.fromkeys(_repository(it.repository) for it in report.sections)
    return f"{len(report.scenarios)} questions about {', '.join(repositories)}"


def _repository(label: str) -> str:
    """A folder was just named by the person, and its label is ours."""
    return "this repository" if label.startswith("git:local:") else clean(label)


def _ended(arm: ArmReport) -> str:
    """Of an arm whose cells did not all end with an answer: how they ended."""
    unanswered = {kind: n for kind, n in arm.tally.outcomes.items() if kind != "answered"}
    if not unanswered:
        return ""
    cells = counted(arm.tally.planned, "cell")
    return f"{arm.label}, of {cells}: {', '.join(f'{n} {kind}' for kind, n in unanswered.items())}"


def _used(use: ServerUse, tools: Sequence[str]) -> str:
    """`40 calls: 15 errors, 25 found nothing. Used: find ×30, read ×10. Never: list, tree.`"""
    if not use.calls:
        return ""
    called: Counter[str] = Counter()
    for name, count in use.tools.items():
        called[_own_name(name, tools)] += count
    used = [f"{clean(name)} ×{count}" for name, count in called.most_common()]
    never = [clean(name) for name in tools if name not in called]
    told = f"{_calls_of(use)}. Used: {some_of(used, NAMES)}."
    if never:
        told += f" Never: {some_of(never, NAMES)}."
    return f"{told} Such as: {clean(use.first_error)[:80]}" if use.errors else told


def _calls_of(use: ServerUse) -> str:
    calls, errors = counted(use.calls, "call"), counted(use.errors, "error")
    return f"{calls}: {errors}, {use.empty} found nothing"


def _own_name(known: str, tools: Sequence[str]) -> str:
    """The server's own name of a tool that a model knows with a prefix."""
    return next((name for name in tools if known == name or known.endswith(f"__{name}")), known)


def _next(report: Report, server: str, use: ServerUse, again: Again) -> str:
    """The command that says most about what is still open."""
    if use.calls and use.errors + use.empty == use.calls:
        return f"fairtrial server tools {server}"
    if not report.language_model:
        return again(f"--model {_PLACEHOLDER}")
    if report.keyed:
        # Another question says more than another trial.
        return again(f"--questions {2 * len(report.scenarios)}")
    if report.trials < TRIALS:
        return again(f"--trials {TRIALS}")
    return again("--save=.")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _rows(report: Report, use: ServerUse) -> Iterator[str]:
    score = "F1" if report.keyed else "fairness"
    yield f"{'arm':{_LABEL}} {score:>8}  true cites  tokens   sec  calls  errors"
    alone = sum(arm.adoption is not None for arm in report.arms) == 1
    for arm in report.arms:
        # `use` is of all of the server's arms, and knows the errors that were not marked as such.
        calls, errors = _calls(arm, use if alone else None)
        parts = arm.grounding
        cites = f"{parts.grounded}/{parts.total}"
        row = (
            f"{arm.label[:_LABEL]:{_LABEL}} {_number(_score(report, arm), 3):>8}  "
            f"{cites:>10}  {_count(arm.costs.new_tokens):>6} {_number(arm.costs.agent_sec, 1):>5}  "
            f"{calls:>5}  {errors:>6}"
        )
        yield row.rstrip()


def _score(report: Report, arm: ArmReport) -> float | None:
    """F1 where every question has a key, else fairness."""
    return (arm.fairness.parts["llm_quality"] if report.keyed else arm.fairness.score).value


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def _count(value: int | None) -> str:
    if value is None:
        return "–"
    return f"{value / 1000:.1f}k" if value >= 1000 else str(value)


def _calls(arm: ArmReport, use: ServerUse | None) -> tuple[str, str]:
    if arm.adoption is None:
        return "", ""
    if use is not None:
        return str(use.calls), str(use.errors)
    return str(arm.adoption.server_calls), str(arm.adoption.server_errors)


def _card_line(tried: OnboardedServer) -> str:
    card = tried.card
    parts = [
        f"{counted(len(card.tools), 'tool')}, about {card.schema_tokens:,} tokens of schemas",
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


def sentence(report: Report, server: str, use: ServerUse) -> str:
    """What came of it, in words that claim no more than the run can show."""
    arms = {arm.server: arm for arm in report.arms}
    arm, shell = arms.get(server), arms.get("shell")
    if arm is None or shell is None or arm.fairness.score.value is None:
        why = arm.fairness.score.reasons if arm else ()
        return f"{server} has no score: {'; '.join(why) or 'no cell of it was measured'}."
    if unused := _unused(report, server, use):
        return unused
    if report.keyed:
        return _of_keys(report, arm, shell, use.share)
    calls, errors = use.calls, use.errors
    short = [kind for kind in arm.tally.outcomes if kind != "answered"]
    told = f"With {server} the answers score {arm.fairness.score.value:.3f}, with the shell alone "
    told += _number(shell.fairness.score.value, 3)
    if arm.costs.tokens_vs_shell is not None:
        told += f", for {arm.costs.tokens_vs_shell:.2f} times the tokens"
    told += f"; its tools were called {'once' if calls == 1 else f'{calls} times'}"
    if errors:
        told += f", {errors} of them answered with an error"
    if short:
        told += f". It did not end with an answer ({', '.join(short)}): --full shows where"
    elif errors + use.empty == calls:
        told += ". No call found anything, so this shows that it starts, and no more"
    elif not report.language_model:
        told += ". The offline model is no language model: this shows that the server works "
        told += "in a run, not that it helps: --model NAME asks one"
    elif report.trials < TRIALS:
        told += ". One look ranks nobody: --trials 3 or more tells chance from difference"
    return f"{told}."


def _unused(report: Report, server: str, use: ServerUse) -> str:
    """Why the figures say nothing of the server; empty if they do."""
    if use.calls and use.calls == use.errors:
        return (
            f"Every one of {use.calls} calls of {server}'s tools was answered with an error, so "
            "these figures say nothing of it: `fairtrial server tools` and `server call` show why."
        )
    if not use.calls:
        return (
            f"The tools of {server} were never called, so these figures say nothing of it"
            f"{'' if report.language_model else ': --model NAME asks one that may call them'}."
        )
    return ""


def _of_keys(report: Report, arm: ArmReport, shell: ArmReport, share: ToolsShare) -> str:
    """What the keys say: of a program what its search finds, of a model the difference."""
    with_server, alone = _number(_score(report, arm), 3), _number(_score(report, shell), 3)
    where, delta = _asked(report), arm.delta
    if not report.language_model:
        return (
            f"Of the places that {where} ask for, a text search alone gets F1 {alone}, and the "
            f"same program with {arm.server}'s tools {with_server}. It searches by words in both "
            f"arms{_owed(share)}. No language model answered: --model NAME asks one."
        )
    told = f"With {arm.server} F1 is {with_server}, with the shell alone {alone}: "
    told += f"{_number(delta.value, 3)}{_reach(delta)}, {delta.says}. {report.ranked_by}"
    if arm.costs.tokens_vs_shell is not None:
        told += f" It took {arm.costs.tokens_vs_shell:.2f} times the tokens."
    return told


def _owed(share: ToolsShare) -> str:
    """Of the program's answers, what the tools had a part in; empty if no question had both."""
    if not share.questions:
        return ""
    told = f": of {counted(share.cited, 'place')} that it cited with them it had read {share.read} "
    told += f"in the tools' answers, and it cited the same without them in {share.same} of "
    told += counted(share.questions, "question")
    if share.same == share.questions:
        told += ", so nothing follows about the tools"
    return told


def _reach(delta: Delta) -> str:
    if delta.low is None or delta.high is None:
        return ""
    return f" [{delta.low:+.3f}, {delta.high:+.3f}]"
