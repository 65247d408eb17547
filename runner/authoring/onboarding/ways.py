"""Remedies of a start: other ways to start a server, by what the way before has shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.authoring.onboarding.command_words import variables_in
from runner.authoring.onboarding.copying import REFUSED, started_on_copy
from runner.authoring.onboarding.launches import (
    Launch,
    launches_in_help,
    launches_with,
)
from runner.authoring.onboarding.programs import commands_named, says_unbuilt

if TYPE_CHECKING:
    from runner.authoring.onboarding.search_context import SearchContext
    from runner.authoring.onboarding.start_attempt import StartAttempt


def own_folders(attempt: StartAttempt) -> tuple[str, ...]:
    """As it is, it shows nothing, or a tool was refused to write there."""
    # What was refused once may pass when it is asked again: in a fresh cell, it is not.
    refused = any(map(REFUSED.search, attempt.search.errors_of.values()))
    return attempt.wants_private if attempt.canary is None or refused else ()


def programs_first(ground: SearchContext, attempt: StartAttempt) -> list[str]:
    """Named by its complaint; if that misses an index, those of its README as well."""
    if attempt.started:
        # What ends it may be that nothing was built.
        shown = ground.programs if attempt.ended_by else ()
        return list(dict.fromkeys([*attempt.search.shut_out, *shown]))
    said = [attempt.problem, attempt.said]
    shown = ground.programs if any(map(says_unbuilt, said)) else ()
    commands = dict.fromkeys([*commands_named(said, ground.names), *shown])
    return [one for one in commands if (one, attempt.writable) not in ground.failed]


def by_its_help(ground: SearchContext, _: StartAttempt) -> list[Launch]:
    return launches_in_help(ground.help_text or "")


def on_a_copy(ground: SearchContext, attempt: StartAttempt) -> list[Launch]:
    # In an image there may be no Python to put between.
    is_refused = attempt.writes_where_it_is or attempt.is_refused
    return [started_on_copy(attempt.launch)] if is_refused and ground.volume is not None else []


def with_variables(ground: SearchContext, attempt: StartAttempt) -> list[Launch]:
    if attempt.started:
        return launches_with(ground.variables, attempt.launch, "its README names the variable")
    named = variables_in(attempt.said)
    return launches_with(named, attempt.launch, "it names the variable")
