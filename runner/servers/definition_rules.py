"""A server's definition: placeholders, launch plan, checks, canaries. Needs no engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from runner.records import Canary, KnownName, McpCall, ServerSpec
from runner.sandbox.cell_layout import INSTALL, INSTALLS, PATH, PYTHONS, STATE, WORKSPACE
from runner.sandbox.volume_host import MARKER
from runner.servers.tool_answers import ToolAnswers
from runner.support.errors import CatalogError, NotReadyError, Problem, ServerError

REFERENCE = re.compile(r"(?P<name>[\w./:-]+)@sha256:(?P<digest>[0-9a-f]{64})")
"""An image, by its registry's digest or its id."""
LOCK_FILES = ("requirements.txt", "package.json", "package-lock.json")
"""What may pin a server's packages, beside its server.yaml."""
Placeholders = Mapping[str, str]
"""Placeholder -> path in the cell."""
PLACEHOLDERS: Placeholders = {"workspace": WORKSPACE, "install": INSTALL, "state": STATE}
"""Of a server that is alone in its cell."""
PLACEHOLDER = re.compile(r"\{([a-z_]+|answer\.[\w.-]+|known\.[a-z]+)\}")
"""`{install}` or `{answer.id}`; not `${HOME}`, nor `{"json": 1}`."""
_ANSWER = "answer."
KNOWN = "known."
"""Of a name that is known to be in the repository: in the arguments of a probe for any."""
_SHOWN_CHARS = 300


# --- placeholders ---------------------------------------------------------------------------


def places_among(name: str) -> Placeholders:
    """The places of one server among several in a cell."""
    return {"workspace": WORKSPACE, "install": f"{INSTALLS}/{name}", "state": f"{STATE}/{name}"}


def fill_placeholders(value: Any, places: Mapping[str, str | int] = PLACEHOLDERS) -> Any:
    """Replace `{workspace}`, `{install}` and `{state}` in every text inside; leave other braces."""
    if isinstance(value, str):
        whole = PLACEHOLDER.fullmatch(value)
        if whole and whole[1] in places:
            # An answer's number stays one: a schema may ask for an integer.
            return places[whole[1]]
        return PLACEHOLDER.sub(lambda found: str(places.get(found[1], found[0])), value)
    if isinstance(value, Mapping):
        return {key: fill_placeholders(item, places) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(fill_placeholders(item, places) for item in value)
    return value


def fill_call(call: McpCall, places: Placeholders, answers: ToolAnswers) -> dict[str, Any]:
    """A call's arguments, with `{answer.KEY}` as the session's warm-up calls answered.

    Raises NotReadyError if none of them answered with such a key.
    """
    known = {**{f"{_ANSWER}{key}": value for key, value in answers.items()}, **places}
    filled: dict[str, Any] = fill_placeholders(call.arguments, known)
    for _, text in _texts(call.arguments, ""):
        for name in _answers_named(text):
            if name not in known:
                raise NotReadyError(
                    f"no warm-up call answered with {name.removeprefix(_ANSWER)!r}, which the call "
                    f"of {call.tool} needs",
                    hint=f"they answered with: {', '.join(answers)[:_SHOWN_CHARS] or 'no keys'}",
                )
    return filled


def _answers_named(text: str) -> list[str]:
    return [name for name in PLACEHOLDER.findall(text) if name.startswith(_ANSWER)]


# --- checks ---------------------------------------------------------------------------------


def definition_problems(spec: ServerSpec, where: str) -> list[Problem]:
    """Unknown placeholders, and paths that leave the folder they belong to."""
    return [
        *_image_problems(spec, where),
        *_placeholder_problems(spec, where),
        *_answer_problems(spec, where),
        *_path_problems(spec.files, f"{where} files", "{install}"),
        *_path_problems(spec.private, f"{where} private", "{workspace}"),
    ]


def _image_problems(spec: ServerSpec, where: str) -> Iterator[Problem]:
    """What only a server in the cell itself can have."""
    if spec.image is None:
        if spec.http is not None:
            message = "is for an image; `fairtrial try --http` writes what any other needs"
            yield Problem(where=f"{where} http", message=message)
        return
    if not REFERENCE.fullmatch(spec.image):
        message = f"{spec.image!r} is no NAME@sha256:…: another day it would be another image"
        yield Problem(where=f"{where} image", message=message)
    if spec.files:
        yield Problem(where=f"{where} files", message="an image brings its own")
    if any(step.shell is not None for step in spec.warm_up):
        message = "an image may have no shell: only calls can warm it up"
        yield Problem(where=f"{where} warm_up", message=message)
    if "{install}" in str((spec.command, spec.env)):
        yield Problem(where=where, message="an image has no {install}: its files are its own")


def _placeholder_problems(spec: ServerSpec, where: str) -> Iterator[Problem]:
    # Not `files`: they hold scripts and JSON, whose braces are their own.
    checked = {
        "command": spec.command,
        "env": spec.env,
        "warm_up": [step.model_dump(exclude_none=True) for step in spec.warm_up],
        "canaries": [canary.call.arguments for canary in spec.canaries],
    }
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    for key, value in checked.items():
        for place, text in _texts(value, key):
            for name in _unknown_placeholders(text):
                message = f"no placeholder {{{name}}}; there are {known}"
                yield Problem(where=f"{where} {place}", message=message)


def _unknown_placeholders(text: str) -> list[str]:
    known = {*PLACEHOLDERS, f"{KNOWN}symbol", f"{KNOWN}path"}
    found = PLACEHOLDER.findall(text)
    return [name for name in found if name not in known and not name.startswith(_ANSWER)]


def _answer_problems(spec: ServerSpec, where: str) -> Iterator[Problem]:
    """`{answer.KEY}` where no call has been answered yet, or where it would prove nothing."""
    late = "no warm-up call is made before it: add a `call` to warm_up whose answer has that key"
    yield from _answers_in(_before_any_call(spec), where, late)
    # An echo of its own handle would pass.
    wanted = {f"canaries[{at}].contains": one.contains for at, one in enumerate(spec.canaries)}
    yield from _answers_in(wanted, where, "a server that says it again shows nothing of itself")


def _before_any_call(spec: ServerSpec) -> dict[str, Any]:
    """Key path -> what is filled before the first warm-up call has been answered."""
    calls = [place for place, step in enumerate(spec.warm_up) if step.call is not None]
    early: dict[str, Any] = {"command": spec.command, "env": spec.env}
    for place, step in enumerate(spec.warm_up):
        # Every shell step is run before the server's process starts, wherever it stands.
        if step.shell is not None or place in calls[:1]:
            early[f"warm_up[{place}]"] = step.model_dump(exclude_none=True)
    for place, canary in enumerate(() if calls else spec.canaries):
        early[f"canaries[{place}].call.arguments"] = canary.call.arguments
    return early


def _answers_in(values: Mapping[str, Any], where: str, message: str) -> Iterator[Problem]:
    for key, value in values.items():
        for place, text in _texts(value, key):
            for name in _answers_named(text):
                yield Problem(where=f"{where} {place}", message=f"{{{name}}}: {message}")


def _texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every text inside, with its key path: ("warm_up[0].call.arguments.path", "{workspace}")."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, f"{where}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _texts(item, f"{where}[{index}]")


def _path_problems(paths: Iterable[str], where: str, inside: str) -> Iterator[Problem]:
    for path in paths:
        if not _stays_inside(path):
            yield Problem(where=where, message=f"{path!r} is not a path inside {inside}")


def _stays_inside(path: str) -> bool:
    if path.startswith("/") or ".." in PurePosixPath(path).parts:
        return False
    # "." or "./" is the folder itself: as a private mount it would hide the whole repository.
    is_the_folder = not path.strip("./")
    # A file in the marker's place would make a half-built volume look finished.
    return not is_the_folder and path != MARKER


# --- launch and health probe ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """How the server's process is started in a cell."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


def launch(spec: ServerSpec, places: Placeholders = PLACEHOLDERS) -> LaunchPlan:
    """Raises CatalogError with every problem of the definition."""
    if found := definition_problems(spec, f"{spec.name}/server.yaml"):
        raise CatalogError(found)
    argv: tuple[str, ...] = fill_placeholders(spec.command, places)
    return LaunchPlan(argv=argv, env=environment_of(spec, places))


def environment_of(spec: ServerSpec, places: Placeholders = PLACEHOLDERS) -> dict[str, str]:
    state = places["state"]
    filled: dict[str, str] = fill_placeholders(spec.env, places)
    # /tmp is shared with the agent's shell, which could read an index that a server left there.
    return {"HOME": state, "TMPDIR": state, **filled, **_path_to_python(spec, filled)}


def _path_to_python(spec: ServerSpec, env: Mapping[str, str]) -> dict[str, str]:
    """Nothing for the Python that is found first anyway."""
    folder = PYTHONS[spec.python]
    path = env.get("PATH", PATH)
    return {} if folder in PATH.split(":") else {"PATH": f"{folder}:{path}"}


def private_in_cell(spec: ServerSpec | None) -> tuple[str, ...]:
    """Folders of the workspace that the server's user gets in the cell. An image has its own."""
    if spec is None or spec.image is not None:
        return ()
    return spec.private


def pick_canary(spec: ServerSpec, repository: str, known: KnownName | None = None) -> Canary:
    """The health probe written for a repository's label, else the one for any (`*`).

    `known`: a name of the repository that the one for any may ask for. Raises ServerError if there
    is neither.
    """
    canary = probe_for(spec, repository, known)
    if canary is not None:
        return canary
    raise ServerError(
        f"no health probe for {repository}: "
        "nothing would prove that the server sees this repository",
        where=spec.name,
        hint=f"add one to images/servers/{spec.name}/server.yaml: "
        "a call, and a text its result must contain",
    )


def probe_for(spec: ServerSpec, repository: str, known: KnownName | None) -> Canary | None:
    """As `pick_canary`; None if there is neither."""
    for canary in spec.canaries:
        if canary.repository == repository:
            return canary
    for canary in spec.canaries:
        if canary.repository == "*" and (found := _derived(canary, known)):
            return found
    return None


def _derived(canary: Canary, known: KnownName | None) -> Canary | None:
    """The probe for any repository, asked of one; None if it asks for a name and none is known."""
    if canary.languages is not None and (known is None or known.language not in canary.languages):
        return None
    if f"{{{KNOWN}" not in canary.call.model_dump_json() + canary.contains:
        return canary
    if known is None:
        return None
    names = {f"{KNOWN}symbol": known.symbol, f"{KNOWN}path": known.path}
    arguments = fill_placeholders(canary.call.arguments, names)
    call = McpCall(tool=canary.call.tool, arguments=arguments)
    contains = fill_placeholders(canary.contains, names)
    return canary.model_copy(update={"call": call, "contains": contains})
