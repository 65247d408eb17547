"""`fairtrial try`: a server by its name, defined and proven, then compared with the shell."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator
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
    from runner.authoring.onboarding import flow, screen, starting
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
    reach = None if request.save is None else _saved(tried, checkout, request.save)
    if request.spending.dry_run and not request.json:
        output.show(card_text(tried.card))
    own, runs = checkout.over(tried.folder), tried.folder / "runs"
    asks = request.scenarios or starting.questions_of(own, tried.scenario, request.questions)
    name = request.name or starting.run_name(own, tried, asks, request.models, request.trials)
    arms = {"scenarios": asks, "servers": (tried.server,)}
    whole = taken(run_verb.Verb, request, **arms, name=name, gate="prefer")
    if request.spending.dry_run:
        return running.run(whole, run_verb.subject_of(whole, own, judge))
    lacking = _preflight(whole, own, runs, tried)
    if lacking is not None:
        again = _next_commands(request, tried, reach)
        output.show(screen.learnt(tried, lacking, again("--model claude-ID")))
        return output.OK
    output.tell("5/6 measuring the pairs of cells")
    subject = run_verb.subject_of(whole, own, judge)
    return running.run(
        whole, _Trying(**vars(subject), tried=tried, said=request, reach=reach), runs
    )


def _saved(
    tried: shapes.OnboardedServer, checkout: shapes.Checkout, place: Path
) -> shapes.MeasuredOn | None:
    """None if it was kept in a folder where no run would begin."""
    from runner.authoring.onboarding import definition_files, more_probes
    from runner.catalog.project import PROJECT_LOCK, is_checkout

    output.tell(SAVING)
    is_project = (place / PROJECT_LOCK).is_file()
    project = checkout.over(place.resolve()) if is_project else checkout
    reach = more_probes.add_probes(tried, checkout, project)
    output.tell(f"saved: {definition_files.save(tried, place)}")
    for line in reach.lines(tried.server):
        output.tell(line)
    return reach if is_project or is_checkout(place) else None


def _preflight(
    whole: run_verb.Verb, checkout: shapes.Checkout, runs: Path, tried: shapes.OnboardedServer
) -> list[str] | None:
    """One question to both arms, by the model that costs nothing.

    What the server's tools lack, where it could call none of them: the try ends there.
    """
    from runner.authoring.onboarding import calling, preflight
    from runner.records.run_store import RunStore
    from runner.runs import prepare

    output.tell("4/6 one question to the shell and to the server, by the offline model")
    shutil.rmtree(runs / "preflight", ignore_errors=True)
    store = RunStore(runs / "preflight")
    arms = prepare.prepare(checkout, whole.scenarios[:1], ("shell", *whole.servers))
    prepared = preflight.one_question(arms)
    first = replace(whole, trials=1, study=StudyOptions())
    running.measure_here(first, prepared, ("offline",), store, checkout)
    use = preflight.server_use(store)
    for remark in preflight.remarks(use, tried.card.network_attempts):
        output.tell(f"  {remark}")
    stood = calling.stand(checkout, tried.server, tried.scenario)
    for remark in preflight.require_used(use, whole.models, tried.server, stood.tools):
        output.tell(f"  {remark}")
    if whole.json or not preflight.ends_uncalled(use, whole.models):
        return None
    return list(preflight.what_lacks(stood.tools()))


@dataclass(frozen=True, kw_only=True)
class _Trying(run_verb.ScenarioSubject):
    """A run of scenarios that ends with the screen of a try."""

    tried: shapes.OnboardedServer
    said: Verb
    reach: shapes.MeasuredOn | None
    """What a run compares where it was kept; None if it was kept nowhere that a run begins."""

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
            use = preflight.server_use(begun.store)
            again = _next_commands(self.said, self.tried, self.reach)
            output.show(screen.screen(built, self.tried, use, again, page))
        return ending.code_of(begun.store, run)


def _next_commands(
    request: Verb, tried: shapes.OnboardedServer, reach: shapes.MeasuredOn | None
) -> Callable[[str], str]:
    """By the option that is to be added."""
    if reach is None:
        return partial(_again, request)
    return partial(_in_project, request, reach.command(tried.server))


def _in_project(request: Verb, command: str, more: str) -> str:
    """The project's own command, where the server was kept: `try` would refuse to keep it again."""
    assert request.save is not None  # noqa: S101 - it was kept
    place = "" if request.save == Path() else f"cd {shlex.quote(str(request.save))} && "
    asked = [f"--{name}={shlex.quote(value)}" for name, value in _asked_by(request, more)]
    is_of_run = more.startswith(("--model", "--trials"))
    words = [f"{place}fairtrial lock && {command}", *asked, *([more] if is_of_run else [])]
    return " ".join(words)


def _again(request: Verb, more: str) -> str:
    """The same command with more; values of variables, which may be secret, stand as `…`."""
    dashes = ["--"] if len(request.words) > 1 and request.words[0] != "--" else []
    words = ["fairtrial", "try", more, *_options(request, more), *dashes]
    return " ".join([*words, *map(shlex.quote, request.words)])


def _asked_by(request: Verb, more: str) -> list[tuple[str, str]]:
    """The models, what they may cost, and who judges: without them the offline model would answer,
    or a model without a cap."""
    spending = request.spending
    caps = {
        "cell-dollars": spending.cell_usd,
        "max-dollars": spending.run_usd,
        "max-tokens": spending.run_tokens,
    }
    told = [(name, str(cap)) for name, cap in caps.items() if cap is not None]
    if not more.startswith("--model"):
        told += [("model", name) for name in request.models if name != "offline"]
    if request.trials > 1 and not more.startswith("--trials"):
        told.append(("trials", str(request.trials)))
    return told + [("judge", name) for name in request.judge.judges]


def _options(request: Verb, more: str) -> Iterator[str]:
    """As they were said: without one of them the server would be guessed anew, and otherwise."""
    from runner.authoring.onboarding import starting

    if request.args is not None:
        yield f"--args={shlex.quote(request.args)}"
    single = "entry repo commit agent before scripts".split()
    told = [(name, getattr(request, name)) for name in single]
    told += _asked_by(request, more)
    told += [("scenario", name) for name in request.scenarios]
    told += [("private", name) for name in request.private]
    told += [("with", name) for name in request.bring]
    if request.questions != starting.QUESTIONS and not more.startswith("--questions"):
        told.append(("questions", str(request.questions)))
    yield from (f"--{name}={shlex.quote(value)}" for name, value in told if value)
    yield from (f"--env {shlex.quote(text.partition('=')[0])}=…" for text in request.env)
    yield from (f"--warm-up {shlex.join(told_first)}" for told_first in request.warm_up)
    if request.canary is not None:
        yield f"--probe {shlex.join(request.canary)}"
    if request.http is not None:
        yield f"--http={request.http}"
    if request.dirty:
        yield "--dirty"
