"""A folder's files by digest, and what differs from those that were expected.

Digests are of bytes, never of a parsed form: two spellings that YAML reads alike cannot hide.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from runner.support.errors import Drift

SCENARIOS = "scenarios"
MAX_FILE_BYTES = 64 * 1024 * 1024


def digest_of_bytes(data: bytes) -> str:
    """SHA256 with LF line ends: a checkout that turns them to CRLF holds the same text."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def digest_of_file(path: Path) -> str:
    return digest_of_bytes(path.read_bytes())


def digest_tree(root: Path, top: str = SCENARIOS) -> tuple[dict[str, str], list[Drift]]:
    """Path from `root` -> digest of each file under `top`; a drift for what is no plain file."""
    files: dict[str, str] = {}
    drifts: list[Drift] = []
    for path in _entries(root / top):
        name = path.relative_to(root).as_posix()
        if what := _why_not_plain(path):
            drifts.append(Drift(where=name, what=what))
        elif not path.is_dir():
            files[name] = digest_of_file(path)
    return files, drifts


def _why_not_plain(path: Path) -> str:
    """Empty for a folder and for a plain file."""
    status = path.lstat()
    # A link could show one text to a reader of the lock and another to the judge.
    if stat.S_ISLNK(status.st_mode):
        return "is a symbolic link"
    # A pipe would be read for ever, and a file of some gigabytes would take the memory.
    is_small_file = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES
    if not is_small_file and not stat.S_ISDIR(status.st_mode):
        return "is no plain file, or is larger than 64 MB"
    return ""


def _entries(top: Path) -> Iterator[Path]:
    """`top` and everything under it, sorted, links not followed."""
    yield top
    if top.is_symlink() or not top.is_dir():
        return
    for entry in sorted(os.scandir(top), key=lambda entry: entry.name):
        yield from _entries(Path(entry.path))


def file_changes(expected: Mapping[str, str], found: Mapping[str, str]) -> list[Drift]:
    """What is changed, missing or extra, sorted by path."""
    drifts = [*_changed_or_missing(expected, found)]
    for name, digest in _extra(expected, found).items():
        drifts.append(Drift(where=name, what="is not in the lock", found=digest))
    return sorted(drifts, key=lambda drift: drift.where)


def _changed_or_missing(expected: Mapping[str, str], found: Mapping[str, str]) -> Iterator[Drift]:
    extra = _extra(expected, found)
    for name, digest in expected.items():
        if name not in found:
            yield Drift(where=name, what=_missing(digest, extra), expected=digest)
        elif found[name] != digest:
            yield Drift(where=name, what="changed", expected=digest, found=found[name])


def _extra(expected: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in found.items() if name not in expected}


def _missing(digest: str, extra: Mapping[str, str]) -> str:
    # After `mv right.jsonl best.jsonl` two unrelated lines would send the reader to git.
    for name, other in extra.items():
        if other == digest:
            return f"is missing; {name} holds its text"
    return "is missing"
