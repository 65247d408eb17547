"""A server that insists on writing beside the code works on a copy of the repository.

The repository itself is the agent's too, and stays read-only. See runner/sandbox/writable_copy.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources

from runner.authoring.onboarding.launches import Launch
from runner.records import ServerSpec, WarmUp
from runner.sandbox.cell_layout import WORKSPACE

WHY = "on a copy of the repository, which it may write"
SUBSTITUTE = (
    "It works on a copy of the repository, as it insists on writing there. The copy's paths are "
    "given as the repository's."
)
REFUSED = re.compile(
    r"EROFS|EACCES|[Rr]ead-only file ?system|[Pp]ermission denied|not writ(?:e)?able"
    # What node says of a folder in a folder that cannot be made.
    r"|ENOENT.*\bmkdir\b"
)
REFUSES = r"(?:[Rr]ead-only file ?system|[Pp]ermission denied)"
_FOLDER = "{state}/copy"
_PROGRAM = "{state}/own_copy.py"
_MARK = "# A copy that the server may write.\n"
_MOST_MB = 500
"""Of a repository: its copy is in the cell's memory."""


def with_copy(spec: ServerSpec, way: Launch) -> ServerSpec:
    """With the step that makes the copy, before all others."""
    if spec.image is not None or not way.copied:
        return spec
    others = (step for step in spec.warm_up if not is_copy(step))
    return spec.model_copy(update={"warm_up": (_made(), *others)})


def _made() -> WarmUp:
    text = resources.files("runner.sandbox").joinpath("writable_copy.py").read_text("utf-8")
    script = (
        f"{_MARK}[ $(du -sm {{workspace}} 2>/dev/null | cut -f1) -lt {_MOST_MB} ] || exit 1\n"
        f"[ -d {_FOLDER} ] || cp -a {{workspace}} {_FOLDER} 2>/dev/null || true\n"
        f"cat >{_PROGRAM} <<'END_OF_PROGRAM'\n{text}END_OF_PROGRAM\n"
    )
    return WarmUp(shell=script)


def started_on_copy(way: Launch) -> Launch:
    """The same, on a copy."""
    return replace(way, copied=True, why=WHY)


def is_write_refused(said: str) -> bool:
    """Was a write beside the code refused?"""
    return re.search(rf"{REFUSES}[^\n]{{0,20}}{WORKSPACE}/", said) is not None


def over_copy(command: tuple[str, ...]) -> tuple[str, ...]:
    """A server's command, on the copy."""
    return ("python3", _PROGRAM, *command)


def without_copy(command: Sequence[str]) -> Sequence[str]:
    """As it was before it was started over the copy."""
    return command[2:] if _PROGRAM in command[:2] else command


def on_copy(step: str, spec: ServerSpec) -> str:
    """A command of the server's own, there if the server is there."""
    if _PROGRAM not in spec.command:
        return step
    return f"cd {_FOLDER} && {step.replace('{workspace}', _FOLDER)}"


def is_copy(step: WarmUp) -> bool:
    return (step.shell or "").startswith(_MARK)
