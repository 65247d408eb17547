"""What a container of ours may ask of the kernel: seccomp.json, the same in each of them.

The format is the engine's own (docs.docker.com, "Seccomp security profiles for Docker"). A call
that it does not name is refused with EPERM. See docs/container.md.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources


@cache
def seccomp_option() -> str:
    """The profile as an engine's security option, which holds all of it: it reads no file."""
    text = resources.files(__package__).joinpath("seccomp.json").read_text(encoding="utf-8")
    return "seccomp=" + json.dumps(json.loads(text), separators=(",", ":"))
