"""`fairtrial compare`: a server's new version against its last, as a gate for its pull requests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from runner.cli import opening, options, output, running, shapes, version_answers
from runner.cli.options import RunRequest, Share, Whole, said, taken


class Verb(RunRequest):
    LAST = "models agent turns spending trials name json"
    USAGE = "fairtrial compare [options] BASE HEAD"
    base: str = said(
        "BASE",
        "npm:NAME@V, pypi:NAME==V, docker:IMAGE@sha256:…, a folder or file; or a finished run",
    )
    head: str = said("HEAD", "the new one, as BASE")
    models: tuple[str, ...] = said(
        "--model NAME",
        "repeatable; ask it with the base, the head and the shell, in the same blocks: "
        f"{options.MODEL_NAMES} (default: none is asked, and nothing is paid)",
        (),
    )
    within: Share | None = said(
        "--margin F", "of F1 or fairness, below which nothing is worse (default: 0.03)"
    )
    max_schema_tokens: Whole | None = said("--max-schema-tokens N", "of the head's tools")
    only: tuple[str, ...] = said("--only CHECK", "repeatable; such as tools, schema, ready, exact")
    allow: tuple[str, ...] = said(
        "--allow NAME", "repeatable; a change that is meant, as the result names it; * for any"
    )
    reason: str = said("--reason TEXT", "why it is meant")
    args: str | None = said("--args ARGS", "both are started with")
    env: tuple[str, ...] = said("--env K=V", "repeatable")
    canary: tuple[str, str, str] | None = said(
        "--probe TOOL JSON TEXT", "a call, and a text of the repository in its answer"
    )
    before: str = said("--before DATE", "no package younger than that")
    scenarios: tuple[str, ...] = said("--scenario NAME", "repeatable; questions to ask")
    repo: str = said("--repo PATH_OR_URL", "ask about this instead")
    questions: int | None = said("--questions N", "with a key (default: 8)")
    commit: str | None = said("--commit COMMIT", "of --repo (default: HEAD)")
    dirty: bool = said("--dirty", "take --repo's files as they are")
    out: Path | None = said("--out DIR", "for compare.md, .json, .html, .junit.xml and .sarif")


def run(request: Verb) -> int:
    from runner.authoring.versions.concluding import EXIT_CODES
    from runner.report.terminal import render_tables
    from runner.report.version_forms import tables_of_versions, write_version_forms

    checkout = opening.open_checkout(request.root)
    settings = _settings(request, checkout)
    stores = [opening.open_run(request.root, one) for one in (request.base, request.head)]
    are_runs = all(store.has_plan() for store in stores)
    found = (
        _of_runs(request, checkout, settings) if are_runs else _of_two(request, checkout, settings)
    )
    folder = request.out or opening.runs_of(request.root) / f"compare-{found.head.server or 'head'}"
    paths = write_version_forms(found, folder)
    if request.json:
        output.show(found.model_dump_json(indent=2))
    else:
        shown = list(tables_of_versions(found))[:2]
        output.show(render_tables(shown, width=output.table_columns()))
        output.show(found.sentence)
    output.tell(f"wrote {', '.join(path.name for path in paths)} in {folder}")
    return EXIT_CODES[found.verdict]


def _of_two(
    request: Verb, checkout: shapes.Checkout, settings: shapes.CompareSettings
) -> shapes.VersionComparison:
    """Installed, examined and asked."""
    from runner.authoring.onboarding import starting
    from runner.authoring.versions import comparing

    models = running.open_models(replace(request, models=("offline", *request.models)))[0]
    running.spending(request, models)
    base, head = (
        comparing.AskedVersion(words=one, source=starting.read_server((one,), (), ""))
        for one in (request.base, request.head)
    )
    given = starting.given(taken(starting.OverridesAsWritten, request))
    about = taken(starting.About, request, questions=_questions(request, settings))
    asked = comparing.ComparedWith(base=base, head=head, given=given, about=about)
    with comparing.defined_pair(asked, checkout, output.choose) as pair:
        answered = version_answers.answered(request, pair, settings) if pair.head else None
        comparison = comparing.VersionComparing(pair=pair, settings=settings, answered=answered)
        return comparison.compared()


def _of_runs(
    request: Verb, checkout: shapes.Checkout, settings: shapes.CompareSettings
) -> shapes.VersionComparison:
    """By what their cells say already."""
    from runner.authoring.versions.finished_runs import FinishedVersion, compared_runs

    base, head = (
        FinishedVersion(
            asked=one,
            run=opening.open_scenario_run(request.root, one).behind_gate("skip")[0].whole(),
        )
        for one in (request.base, request.head)
    )
    return compared_runs(base, head, checkout.catalog.sound_scenarios(), settings)


def _questions(request: Verb, settings: shapes.CompareSettings) -> int:
    from runner.authoring.versions.comparing import QUESTIONS

    return request.questions or settings.questions or QUESTIONS


def _settings(request: Verb, checkout: shapes.Checkout) -> shapes.CompareSettings:
    """The project's, under its lock; what is said on the command line stands over it."""
    from runner.catalog.project import project_settings
    from runner.records.versions import VERSION_CHECKS, AllowedChange
    from runner.support.errors import FairtrialError

    if request.allow and not request.reason:
        hint = "it stands in the report: --reason 'renamed for 2.0'"
        raise FairtrialError("what is allowed has a reason", where="--allow", hint=hint)
    for check in request.only:
        if check not in VERSION_CHECKS:
            hint = f"there are {', '.join(VERSION_CHECKS)}"
            raise FairtrialError("there is no such check", where=f"--only {check}", hint=hint)
    known = project_settings(checkout.project).compare
    update: dict[str, object] = {
        "allow": (
            *known.allow,
            *(AllowedChange(name=name, reason=request.reason) for name in request.allow),
        )
    }
    if request.only:
        update["only"] = request.only
    if request.max_schema_tokens is not None:
        update["max_schema_tokens"] = request.max_schema_tokens
    if request.within is not None:
        update["margins"] = known.margins | dict.fromkeys(("exact", "model"), request.within)
    return known.model_copy(update=update)
