"""A server installed, and started in the sandbox in the best way that is found."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace

from runner.authoring.onboarding.command_words import folders_called_after, variables_in
from runner.authoring.onboarding.fetched import MODEL_SUPPLY
from runner.authoring.onboarding.installed import InstalledPackage, SeveralEntries, choose_entry
from runner.authoring.onboarding.installing import (
    Candidate,
    draft,
    install,
    offline_variables,
    volume_of,
)
from runner.authoring.onboarding.launches import Launch, bridged, launches, over_http
from runner.authoring.onboarding.locking import PYTHONS
from runner.authoring.onboarding.onboarding_state import OnboardingState, Overrides
from runner.authoring.onboarding.programs import commands_shown, runnable
from runner.authoring.onboarding.scripts import notes_on
from runner.authoring.onboarding.search_context import SearchContext
from runner.authoring.onboarding.searching import find_way
from runner.authoring.onboarding.server_source import PypiPackage
from runner.authoring.onboarding.start_attempt import Start
from runner.authoring.onboarding.targets import symbols_of
from runner.records import Canary, ServerSpec, WarmUp
from runner.runs.prepare import workspace


def installed(steps: OnboardingState) -> Candidate:
    steps.say("1/6 locking and installing")
    before = steps.given.before
    candidate = install(steps.asked, steps.name, steps.folder, steps.checkout, before=before)
    if candidate.extra and isinstance(steps.asked, PypiPackage):
        # Where it says that it lacks that, something else is amiss.
        steps.asked = replace(steps.asked, extras=candidate.extra)
    installed = candidate.installed
    licence = installed.licence or "licence unknown"
    steps.say(f"  {installed.name} {installed.version} ({licence}) {installed.homepage}".rstrip())
    if installed.python != PYTHONS[0]:
        why = f"Python {installed.python}, as it asks for one so new"
        steps.guess(why, "python in server.yaml")
    if candidate.unpinned:
        steps.say(f"  not pinned: {candidate.unpinned}")
    return candidate


def started(
    steps: OnboardingState,
    candidate: Candidate,
    only: Launch | None = None,
    *,
    unasked: Collection[str] = (),
) -> Start:
    """The best of its ways to start. `only`: how it started before.

    `unasked`: tools that are no health probe, as one of theirs failed.
    """
    installed = candidate.installed
    entry = _entry(steps, installed)
    given = steps.given
    spec = draft(steps.name, installed, candidate.files, candidate.image)
    brought = {**_brought(steps, candidate), **_offline(steps, candidate)}
    update = {
        "command": installed.commands[entry],
        "env": {**spec.env, **brought, **given.env},
        "private": given.private,
        "warm_up": (*candidate.supplies.values(), *_as_given(given, spec)),
        "initialize_timeout_sec": 90,
        "notes": notes_on(getattr(steps.asked, "scripts", ())),
        "substitutes": tuple(it.substitute for it in candidate.supplies if it.substitute),
    }
    spec = spec.model_copy(update=update)
    if given.http is not None:
        spec = bridged(spec, given.http)
    volume = None if spec.image else volume_of(steps.checkout, spec, steps.folder).name
    ground = _ground(steps, installed, volume, frozenset(unasked))
    ways = [only] if only else _ways(given, installed)
    steps.say("2/6 starting it in the sandbox, and looking for a health probe")
    canary = given_canary(steps)
    fixed = given.args is not None or only is not None
    attempt = asyncio.run(find_way(ground, spec, ways, fixed=fixed, canary=canary))
    steps.keep(attempt.shown_by)
    return Start(candidate=candidate, spec=spec, attempt=attempt)


def _offline(steps: OnboardingState, candidate: Candidate) -> dict[str, str]:
    if MODEL_SUPPLY in candidate.supplies:
        return {}
    variables = offline_variables(candidate.folder)
    for name in variables.keys() - steps.given.env.keys():
        steps.guess(f"{name}={variables[name]}, as a cell has no network", f"--env {name}=…")
    return variables


def _as_given(given: Overrides, spec: ServerSpec) -> tuple[WarmUp, ...]:
    """Its own programs by the Python of the cell."""
    steps = []
    for step in given.warm_up:
        shell = None if step.shell is None else runnable(step.shell, spec)
        steps.append(step.model_copy(update={"shell": shell}))
    return tuple(steps)


def _brought(steps: OnboardingState, candidate: Candidate) -> dict[str, str]:
    """The variables by which its libraries find what they would fetch."""
    variables: dict[str, str] = {}
    for supply in candidate.supplies:
        why = "which its library fetches when it runs, and a cell has no network"
        steps.guess(f"{supply.what}, {why}", "--with none")
        variables.update(supply.env)
    return variables


def _ways(given: Overrides, installed: InstalledPackage) -> list[Launch]:
    if given.args is not None:
        return [Launch(args=given.args, why="given")]
    ways = launches(installed.readme, [installed.name, *installed.entries])
    return ways if given.http is None else over_http(ways)


def _entry(steps: OnboardingState, installed: InstalledPackage) -> str:
    try:
        entry = choose_entry(installed, steps.given.entry)
    except SeveralEntries as question:
        entry = steps.ask("Which of them is the server?", question.entries)
        if not entry:
            raise
    if len(installed.entries) > 1 and not steps.given.entry:
        steps.guess(f"entry point {entry} of {', '.join(installed.entries)}", "--entry NAME")
    return entry


def _ground(
    steps: OnboardingState, about: InstalledPackage, volume: str | None, unasked: frozenset[str]
) -> SearchContext:
    it = steps.checkout
    repository, files = it.repository(steps.loaded), it.files(steps.loaded)
    # With the person's own health probe none is looked for, in whichever language.
    none = steps.given.canary is not None
    return SearchContext(
        engine=it.engine,
        image=workspace(it, repository).id,
        limits=it.limits,
        volume=volume,
        symbols=() if none else tuple(symbols_of(files, steps.loaded.scenario.language)),
        paths=frozenset(files.paths()),
        log=it.log,
        programs=tuple(commands_shown(about.readme, list(about.entries))),
        names=about.called,
        variables=tuple(variables_in(about.readme)),
        own_folders=folders_called_after(about.readme, [about.name, *about.entries]),
        unasked=unasked,
    )


def given_canary(steps: OnboardingState) -> Canary | None:
    if steps.given.canary is None:
        return None
    call, text = steps.given.canary
    label = steps.loaded.scenario.repository.label
    return Canary(repository=label, call=call, contains=text)
