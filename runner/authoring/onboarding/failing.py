"""What is said of a server that does not start, or shows nothing: why, and what would help."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from runner.authoring.onboarding.installing import Candidate
from runner.authoring.onboarding.launches import secrets_in
from runner.authoring.onboarding.onboarding_state import OnboardingState
from runner.authoring.onboarding.repository_choice import files_asked_for
from runner.authoring.onboarding.scripts import unrun_scripts
from runner.authoring.onboarding.start_attempt import StartAttempt
from runner.authoring.onboarding.tool_roles import writers
from runner.support.errors import NotReadyError, ServerError

_README_CHARS = 4000
_OPENS_NO_FILE = re.compile(r"(?i)unable to open|is a directory|EISDIR")


def require_start(steps: OnboardingState, candidate: Candidate, attempt: StartAttempt) -> None:
    if not attempt.started:
        raise ServerError(
            f"it does not start: {attempt.problem}",
            where=steps.name,
            hint=_not_a_folder(steps, attempt)
            + _hint_to_start(candidate, attempt)
            + _lacking(steps, attempt),
        )


def _not_a_folder(steps: OnboardingState, attempt: StartAttempt) -> str:
    """Where the person lends it a folder of a name that it wants for a file."""
    lent = [it for it in steps.given.private if PurePosixPath(it).suffix]
    if not lent or not re.search(_OPENS_NO_FILE, attempt.problem):
        return ""
    return f"--private {lent[0]} lends it a folder, and it may want a file there: leave that out; "


def no_canary(steps: OnboardingState, candidate: Candidate, attempt: StartAttempt) -> NotReadyError:
    count, calls = len(attempt.tools), attempt.search.calls
    none = "none that can be asked about a repository"
    if calls:
        none = f"none of {calls} calls shows that it sees the repository"
    return NotReadyError(
        f"it starts with {count} tool{'s' if count > 1 else ''}, and {none}{_why_not(attempt)}",
        where=steps.name,
        hint=_hint_to_see(steps.name, candidate) + _lacking(steps, attempt),
    )


def _lacking(steps: OnboardingState, attempt: StartAttempt) -> str:
    """What it asks for that the repository has not, such as package.json."""
    lacked = files_asked_for(steps, attempt)
    if not lacked:
        return ""
    label = steps.loaded.scenario.repository.label
    return f"; {label} has no {', '.join(lacked)}: --repo PATH of a repository that has"


def _hint_to_start(candidate: Candidate, attempt: StartAttempt) -> str:
    if attempt.needs_network:
        return "a cell has no network: does an option or a variable keep it offline? --args, --env"
    if attempt.is_miswired:
        return (
            "its package starts an async function that nothing awaits, and so starts for nobody; "
            "`fairtrial try -- COMMAND` starts a file of your own that does"
        )
    if attempt.lacks_own_file(candidate.installed.name):
        return (
            "a file of its own package is not there under that name, which no option brings: "
            "Utils.js and utils.js are one file on macOS and Windows, and two on Linux; its "
            "author can mend it, and another version may have it (NAME@VERSION)"
        )
    hint = "give what it misses: --args '…', --env NAME=VALUE, --entry NAME"
    if attempt.lacks_native:
        hint = "a native part of it is missing, which no argument brings; --scripts NAMES may"
    if secrets := secrets_in(candidate.installed.readme):
        hint += f"; its README asks for {', '.join(secrets)}"
    hint += _scripts_not_run(candidate)
    if re.search(r"language server|\blsp\b", candidate.installed.readme[:_README_CHARS].lower()):
        hint += "; if it drives a language server, that has to be chosen and brought: README, files"
    if attempt.network_attempts:
        hint += f"; {attempt.network_attempts} network attempts were refused: a cell has no network"
    return hint


def _why_not(attempt: StartAttempt) -> str:
    lines = [f"\n  {failed[:300]}" for failed in list(attempt.search.failed.values())[-1:]]
    for tool, error in list(attempt.search.errors_of.items())[:3]:
        lines.append(f"\n  {tool}: {' '.join(error.split())[:160]}")
    if attempt.network_attempts:
        lines.append(f"\n  {attempt.network_attempts} network attempts were refused")
    if attempt.stray_lines:
        lines.append(f"\n  {attempt.stray_lines} lines on its stdout were not JSON-RPC")
    if attempt.tools and len(writers(attempt.tools)) == len(attempt.tools):
        lines.append("\n  all of them write, which nothing may do here")
    names = ", ".join(tool.name for tool in attempt.tools[:12])
    return f": {names}" + "".join(lines)


def _hint_to_see(name: str, candidate: Candidate) -> str:
    hint = (
        f"`fairtrial server tools {name}` and `fairtrial server call {name} TOOL '{{…}}'` show "
        "what it answers. Then say again, with a call that must work and a text of its answer: "
        '--probe TOOL \'{"key": "value"}\' TEXT; and what it must be told before: '
        '--warm-up TOOL \'{"path": "{workspace}"}\''
    )
    if secrets := secrets_in(candidate.installed.readme):
        hint += f"; its README asks for {', '.join(secrets)}: --env NAME=VALUE"
    return hint + _scripts_not_run(candidate)


def _scripts_not_run(candidate: Candidate) -> str:
    names = ", ".join(unrun_scripts(candidate.folder))
    return f"; not run are the install scripts of {names}: --scripts NAMES" if names else ""
