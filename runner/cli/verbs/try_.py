"""`fairtrial try`: a server by its name, defined and proven, then compared with the shell."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from runner.cli import ending, opening, options, output, running, shapes
from runner.cli.options import RunRequest, StudyOptions, said, taken
from runner.cli.verbs import run as run_verb

SAVING = (
    "--save: one health probe lets a run compare on one repository; looking for one on each other "
    "that ships, 10 minutes at most"
)


class Verb(RunRequest):
    LAST = "models agent turns spending judge trials study name json full jobs"
    USAGE = (
        "fairtrial try [options] npm:NAME[@V] | pypi:NAME[==V] | PATH\n"
        "       fairtrial try [options] docker:IMAGE[@sha256:…]\n"
        "       fairtrial try [options] -- COMMAND …"
    )
    words: tuple[str, ...] = said("SERVER …", "options come before `--`")
    args: str | None = said("--args ARGS", "it is started with, as in --args='--root {workspace}'")
    env: tuple[str, ...] = said("--env K=V", "repeatable")
    entry: str = said("--entry NAME", "of several entry points")
    warm_up: tuple[tuple[str, str], ...] = said(
        "--warm-up TOOL JSON",
        "repeatable; what it must get first: a call, or `shell` and a command",
    )
    canary: tuple[str, str, str] | None = said(
        "--probe TOOL JSON TEXT",
        "a call, and a text of the repository that its answer must contain",
    )
    private: tuple[str, ...] = said(
        "--private FOLDER", "repeatable; of the repository, which it may write, as its own"
    )
    before: str = said("--before DATE", "no package younger than that")
    scripts: str = said("--scripts NAMES", "npm packages whose install scripts run")
    bring: tuple[str, ...] = said(
        "--with PACKAGE", "repeatable; npm:NAME or pypi:NAME of a program that it runs, or none"
    )
    http: str | None = said("--http [PORT[/PATH]]", "it speaks streamable HTTP there", const="")
    scenarios: tuple[str, ...] = said(
        "--scenario NAME", "to measure with (default: one that ships)"
    )
    repo: str = said("--repo PATH_OR_URL", "ask about this instead")
    questions: int = said(
        "--questions N", "with a key: made of --repo, or drawn of those that ship (default)", 20
    )
    commit: str | None = said("--commit COMMIT", "of --repo (default: HEAD)")
    dirty: bool = said("--dirty", "take --repo's files as they are")
    save: Path | None = said("--save [DIR]", "keep the server in a project", const=".")
    json: bool = options.as_json("print report.json instead of the screen")


def run(request: Verb) -> int:
    from runner.agents.choosing import chosen_agent
    from runner.authoring.onboarding import flow, more_probes, saving, starting
    from runner.report.card import card_text

    judge = opening.asked_judge(request.judge.judging, request.spending)
    checkout = opening.open_checkout(request.root)
    # A wrong name, no key or no price must not cost the minutes that come before it is asked.
    judge.of_answers(checkout)
    models = running.open_models(request)[0]
    chosen_agent(request.agent, models)
    running.spending(request, models)
    asked = starting.read_server(request.words, request.bring, request.scripts)
    given = starting.given(taken(starting.OverridesAsWritten, request))
    about = taken(starting.About, request)
    with starting.opened(asked, given, about, checkout, output.choose) as steps:
        tried = flow.find_out(steps)
    if request.save is not None:
        output.tell(SAVING)
        reach = more_probes.add_probes(tried, checkout)
        output.tell(f"saved: {saving.save(tried, request.save)}")
        for line in reach.lines(tried.server):
            output.tell(line)
    if request.spending.dry_run:
        output.show(card_text(tried.card))
        return output.OK
    own, runs = checkout.over(tried.folder), tried.folder / "runs"
    asks = request.scenarios or starting.questions_of(own, tried.scenario, request.questions)
    name = request.name or starting.run_name(own, tried, asks, request.models, request.trials)
    arms = {"scenarios": asks, "servers": (tried.server,)}
    whole = taken(run_verb.Verb, request, **arms, name=name, gate="prefer")
    for remark in _preflight(whole, own, runs, tried):
        output.tell(f"  {remark}")
    output.tell("5/6 measuring the pairs of cells")
    subject = run_verb.subject_of(whole, own, judge)
    return running.run(whole, _Trying(**vars(subject), tried=tried, said=request), runs)


def _preflight(
    whole: run_verb.Verb, checkout: shapes.Checkout, runs: Path, tried: shapes.OnboardedServer
) -> Iterator[str]:
    """One question to both arms, by the navigator that costs nothing."""
    from runner.authoring.onboarding import calling, preflight
    from runner.records.run_store import RunStore
    from runner.runs import plan, prepare
    from runner.runs.executors.local_executor import LocalExecutor
    from runner.sandbox.engine import sweep

    output.tell("4/6 one question to the shell and to the server, by the offline navigator")
    shutil.rmtree(runs / "preflight", ignore_errors=True)
    store = RunStore(runs / "preflight")
    arms = prepare.prepare(checkout, whole.scenarios[:1], ("shell", *whole.servers))
    prepared = preflight.one_question(arms)
    first = replace(whole, trials=1, study=StudyOptions())
    with store.lock():
        sweep(checkout.engine, run=store.label)
        wanted = running.wanted_run(first, prepared, ("offline",), None)
        planned = plan.load_or_create_plan(store, wanted)
        running.measure(planned, prepared, LocalExecutor(jobs=1), store)
    use = preflight.server_use(store)
    yield from preflight.remarks(use, tried.card.network_attempts)
    stood = calling.stand(checkout, tried.server, tried.scenario)
    yield from preflight.require_used(use, whole.models, tried.server, stood.tools)


@dataclass(frozen=True, kw_only=True)
class _Trying(run_verb.ScenarioSubject):
    """A run of scenarios that ends with the screen of a try."""

    tried: shapes.OnboardedServer
    said: Verb

    def report(self, begun: running.Begun) -> int:
        from runner.authoring.onboarding import preflight, screen
        from runner.report.report_files import write_report

        run, of = self.scored(begun), self.run_of(begun)
        built = of.report(run, begun.gate)
        try:
            write_report(built, begun.store.folder, of.page_data(run))
        finally:
            of.checkout.close_files()
        output.tell("6/6 the result")
        page = ending.page_of(begun.store)
        if self.request.json:
            output.show(built.model_dump_json(indent=2))
        elif self.request.full:
            output.show(ending.screen(built, page, full=True))
        else:
            use, again = preflight.server_use(begun.store), partial(_again, self.said)
            output.show(screen.screen(built, self.tried, use, again, page))
        return ending.code_of(begun.store, run)


def _again(request: Verb, more: str) -> str:
    """The same command with more; values that may be secret, and what is long, stand as `…`."""
    from runner.authoring.onboarding import starting

    words = ["fairtrial", "try", more]
    told = [(name, getattr(request, name)) for name in ("args", "entry", "repo", "commit", "agent")]
    told += [("model", name) for name in request.models if request.agent]
    told += [("scenario", name) for name in request.scenarios]
    if request.questions != starting.QUESTIONS and not more.startswith("--questions"):
        told.append(("questions", str(request.questions)))
    words += [f"--{name}={shlex.quote(value)}" for name, value in told if value]
    rest = (request.env, request.warm_up, request.canary, request.private, request.before)
    if any(rest) or request.scripts or request.bring or request.http is not None or request.dirty:
        words.append("…")
    dashes = ["--"] if len(request.words) > 1 and request.words[0] != "--" else []
    return " ".join([*words, *dashes, *map(shlex.quote, request.words)])
