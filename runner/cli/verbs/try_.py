"""`fairtrial try`: a server by its name, defined and proven, then compared with the shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli import options, running
from runner.cli.ending import code_of, page_of, report_of, screen
from runner.cli.opening import asked_judge, judge_of_answers, open_checkout
from runner.cli.options import (
    JudgeChoice,
    Request,
    RunSpending,
    StudyOptions,
    Turns,
    group,
    said,
    taken,
)
from runner.cli.output import OK, choose, show, tell
from runner.cli.verbs import run as run_verb

if TYPE_CHECKING:
    from runner.authoring.onboarding.onboarding_state import OnboardedServer
    from runner.catalog.checkout import Checkout


@dataclass(frozen=True, kw_only=True)
class Verb(Request):
    USAGE = (
        "fairtrial try [options] npm:NAME[@V] | pypi:NAME[==V] | PATH\n"
        "       fairtrial try [options] docker:IMAGE[@sha256:…]\n"
        "       fairtrial try [options] -- COMMAND …"
    )
    words: tuple[str, ...] = said("SERVER …", "options come before `--`")
    args: str | None = said(
        "--args ARGS", "it is started with, as in --args='--root {workspace}'", None
    )
    env: tuple[str, ...] = said("--env K=V", "repeatable", ())
    entry: str = said("--entry NAME", "of several entry points", "")
    warm_up: tuple[tuple[str, str], ...] = said(
        "--warm-up TOOL JSON",
        "repeatable; what it must get first: a call, or `shell` and a command",
        (),
    )
    canary: tuple[str, str, str] | None = said(
        "--probe TOOL JSON TEXT",
        "a call, and a text of the repository that its answer must contain",
        None,
    )
    before: str = said("--before DATE", "no package younger than that", "")
    scripts: str = said("--scripts NAMES", "npm packages whose install scripts run", "")
    bring: tuple[str, ...] = said(
        "--with PACKAGE",
        "repeatable; npm:NAME or pypi:NAME of a program that it runs, or none",
        (),
    )
    http: str | None = said(
        "--http [PORT[/PATH]]", "it speaks streamable HTTP there", None, const=""
    )
    scenarios: tuple[str, ...] = said(
        "--scenario NAME", "to measure with (default: one that ships)", ()
    )
    repo: str = said("--repo PATH_OR_URL", "ask about this instead", "")
    commit: str | None = said("--commit COMMIT", "of --repo (default: HEAD)", None)
    dirty: bool = said("--dirty", "take --repo's files as they are")
    save: Path | None = said("--save [DIR]", "keep the server in a project", None, const=".")
    models: tuple[str, ...] = options.models()
    agent: str = options.agent()
    turns: Turns = group(Turns)
    spending: RunSpending = group(RunSpending)
    judge: JudgeChoice = group(JudgeChoice)
    trials: int = said("--trials N", "(default: 1)", 1, type=options.trials)
    study: StudyOptions = group(StudyOptions)
    name: str = options.run_name()
    json: bool = options.as_json("print report.json instead of the screen")
    full: bool = options.full()
    jobs: int = options.jobs()


def run(request: Verb) -> int:
    from runner.agents.choosing import chosen_agent
    from runner.authoring.onboarding.flow import find_out
    from runner.authoring.onboarding.saving import save
    from runner.authoring.onboarding.starting import (
        About,
        OverridesAsWritten,
        given,
        opened,
        read_server,
        run_name,
    )
    from runner.report.card import card_text

    judge = asked_judge(request.judge.judging, request.spending)
    checkout = open_checkout(request.root)
    # A wrong name, no key or no price must not cost the minutes that come before it is asked.
    judge_of_answers(checkout, judge)
    chosen_agent(request.agent, running.open_models(request).names)
    asked = read_server(request.words, request.bring, request.scripts)
    said_of_it = taken(OverridesAsWritten, request)
    with opened(asked, given(said_of_it), taken(About, request), checkout, choose) as steps:
        tried = find_out(steps)
    if request.save is not None:
        tell(f"saved: {save(tried, request.save)}")
    if request.spending.dry_run:
        show(card_text(tried.card))
        return OK
    own, runs = checkout.over(tried.folder), tried.folder / "runs"
    whole = taken(
        run_verb.Verb,
        request,
        scenarios=(tried.scenario,),
        servers=(tried.server,),
        name=request.name or run_name(own, tried, request.models, request.trials),
        gate="prefer",
    )
    for remark in _preflight(whole, own, runs, tried):
        tell(f"  {remark}")
    tell("5/6 measuring the pairs of cells")
    subject = run_verb.subject_of(whole, own, judge)
    return running.run(whole, _Trying(**vars(subject), tried=tried, said=request), runs)


def _preflight(
    whole: run_verb.Verb, checkout: Checkout, runs: Path, tried: OnboardedServer
) -> Iterator[str]:
    """One question to both arms, by the navigator that costs nothing."""
    import shutil

    from runner.authoring.onboarding.calling import stand
    from runner.authoring.onboarding.preflight import (
        one_question,
        remarks,
        require_used,
        server_use,
    )
    from runner.records.run_store import RunStore
    from runner.runs.executors.local_executor import LocalExecutor
    from runner.runs.plan import load_or_create_plan
    from runner.runs.prepare import prepare
    from runner.sandbox.engine import sweep

    tell("4/6 one question to the shell and to the server, by the offline navigator")
    shutil.rmtree(runs / "preflight", ignore_errors=True)
    store = RunStore(runs / "preflight")
    prepared = one_question(prepare(checkout, whole.scenarios, ("shell", *whole.servers)))
    first = replace(whole, trials=1, study=StudyOptions())
    with store.lock():
        sweep(checkout.engine, run=store.label)
        wanted = running.wanted_run(first, prepared, ("offline",), None)
        planned = load_or_create_plan(store, wanted)
        running.execute(LocalExecutor(jobs=1), planned, prepared, store)
    use = server_use(store)
    yield from remarks(use, tried.card.network_attempts)
    stood = stand(checkout, tried.server, tried.scenario)
    yield from require_used(use, whole.models, tried.server, stood.tools)


@dataclass(frozen=True, kw_only=True)
class _Trying(run_verb.ScenarioSubject):
    """A run of scenarios that ends with the screen of a try."""

    tried: OnboardedServer
    said: Verb

    def report(self, begun: running.Begun) -> int:
        from runner.authoring.onboarding.preflight import server_use
        from runner.authoring.onboarding.screen import screen as screen_of_try
        from runner.report.report_files import write_report

        run = self.scored(begun)
        built = report_of(run, self.checkout, begun.gate)
        list(write_report(built, begun.store.folder))
        tell("6/6 the result")
        page = page_of(begun.store)
        if self.request.json:
            show(built.model_dump_json(indent=2))
        elif self.request.full:
            show(screen(built, page, full=True))
        else:
            use = server_use(begun.store)
            show(screen_of_try(built, self.tried, use, partial(_again, self.said), page))
        return code_of(begun.store, run)


def _again(request: Verb, more: str) -> str:
    """The same command with more; values that may be secret, and what is long, stand as `…`."""
    words = ["fairtrial", "try", more]
    for flag, value in (
        ("--args", request.args),
        ("--entry", request.entry),
        ("--repo", request.repo),
        ("--commit", request.commit),
        *(("--scenario", name) for name in request.scenarios),
    ):
        if value:
            words.append(f"{flag}={shlex.quote(value)}")
    rest = (request.env, request.warm_up, request.canary, request.before, request.scripts)
    if any(rest) or request.bring or request.http is not None or request.dirty:
        words.append("…")
    return " ".join([*words, *_server_words(request.words)])


def _server_words(words: Sequence[str]) -> Iterator[str]:
    if len(words) > 1 and words[0] != "--":
        yield "--"
    yield from map(shlex.quote, words)
