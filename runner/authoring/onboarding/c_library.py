"""A program built for a newer C library than Debian 12's: run on the next Debian's.

Registries other than PyPI promise nothing of it, and what is built on a machine of today asks for
that machine's. The base has the next one beside its second Python (images/base/python.sh).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from runner.authoring.onboarding.installing import Candidate
from runner.sandbox.cell_layout import INSTALL, PYTHONS

OPTION = "command in server.yaml"
_LACKS = re.compile(
    r"(?P<program>/[^\s:]+): \S*/lib\w+\.so\.\d+: version .GLIBC_[\d.]+. not found"
    r"|version .GLIBC_[\d.]+. not found \(required by "
)
_FOLDER = PYTHONS["3.13"].removesuffix("/bin") + "/lib/native"
_SCRIPT = "newer-c.sh"
_FILES = {
    _SCRIPT: f"""\
#!/bin/sh
program=$(command -v "$1") && shift
exec {_FOLDER}/ld-linux-*.so.? --library-path {_FOLDER} "$program" "$@"
"""
}


def lacks_newer(texts: Iterable[str]) -> bool:
    return any(map(_LACKS.search, texts))


def on_newer(
    candidate: Candidate, command: tuple[str, ...], texts: Iterable[str]
) -> Candidate | None:
    """The same, started on the newer one: the program that complains, whatever started it.

    `command`: how it is started now. None if nothing complains, or if it runs so already.
    """
    found = next(filter(None, map(_LACKS.search, texts)), None)
    if found is None or _SCRIPT in candidate.files:
        return None
    named = found["program"] or ""
    program = command
    if named.startswith(f"{INSTALL}/"):
        program = ("{install}" + named.removeprefix(INSTALL),)
    instead = ("sh", f"{{install}}/{_SCRIPT}", *program)
    entries = candidate.installed.entries
    entries = {name: instead if words == command else words for name, words in entries.items()}
    installed = replace(candidate.installed, entries=entries)
    return replace(candidate, installed=installed, files={**candidate.files, **_FILES})
