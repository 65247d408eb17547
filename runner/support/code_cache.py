"""What follows from our code alone, kept where Python keeps what it compiled of that code.

Whoever can write there can write compiled code, too: a kept digest is as trustworthy as the program
that reads it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path


def kept(name: str, top: Path, make: Callable[[], Mapping[str, str]]) -> Mapping[str, str]:
    """What `make` says of the Python files below `top`, made once for as long as none changes."""
    path = Path(cache_from_source(str(top / f"{name}.py"))).with_suffix(".json")
    code = _digest_of_files(top)
    if (path, code) not in _MADE:
        _MADE[path, code] = _read_or_make(path, code, make)
    return _MADE[path, code]


_MADE: dict[tuple[Path, str], Mapping[str, str]] = {}
"""By this process: where Python keeps nothing, one verb still asks several times."""


def _read_or_make(
    path: Path, code: str, make: Callable[[], Mapping[str, str]]
) -> Mapping[str, str]:
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(path.read_bytes())
        if known["code"] == code:
            return dict(known["said"])
    said = make()
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            _write(path, json.dumps({"code": code, "said": said}))
    return said


def _digest_of_files(top: Path) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path in _sources(str(top)):
        # Not pathlib's: it takes twice as long as the reading.
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read()
        digest.update(f"{path} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def _sources(top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                yield f"{folder}/{name}"


def _write(path: Path, text: str) -> None:
    """Whole or not at all; after a power cut it is made anew."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
