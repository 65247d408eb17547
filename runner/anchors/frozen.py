"""Every file under scenarios/ by digest. Digests are of bytes, never of a parsed form: what YAML or JSON makes of them cannot hide."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from runner.catalog import HELD_OUT
from runner.errors import Drift
from runner.scoring import ADOPTION, FAIRNESS, keywords

SCENARIOS = "scenarios"
ANCHORS = f"{SCENARIOS}/{HELD_OUT}/"
MAX_FILE_BYTES = 64 * 1024 * 1024


def digest_of_bytes(data: bytes) -> str:
    """SHA256 with LF line ends: a checkout that turns them to CRLF holds the same text."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def digest_of_file(path: Path) -> str:
    return digest_of_bytes(path.read_bytes())


def digest_tree(root: Path, top: str = SCENARIOS) -> tuple[dict[str, str], list[Drift]]:
    """Path from `root` -> digest of every file under `top`, and a drift for whatever is no plain file.

    A link is never followed: it could show one text to a reader of the lock and another to the judge.
    """
    files: dict[str, str] = {}
    drifts: list[Drift] = []
    for path in _entries(root / top):
        name = path.relative_to(root).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            drifts.append(Drift(where=name, what="is a symbolic link"))
        elif stat.S_ISREG(mode) and path.lstat().st_size <= MAX_FILE_BYTES:
            files[name] = digest_of_file(path)
        elif not stat.S_ISDIR(mode):
            drifts.append(Drift(where=name, what="is no plain file, or is larger than 64 MB"))
    return files, drifts


def _entries(top: Path) -> Iterator[Path]:
    """`top` and everything under it, sorted, links not followed."""
    yield top
    if top.is_symlink() or not top.is_dir():
        return
    for entry in sorted(os.scandir(top), key=lambda entry: entry.name):
        yield from _entries(Path(entry.path))


def compare(expected: Mapping[str, str], found: Mapping[str, str]) -> list[Drift]:
    """What is changed, missing or extra. A file under a new name is said to be renamed."""
    missing = {name: digest for name, digest in expected.items() if name not in found}
    extra = {name: digest for name, digest in found.items() if name not in expected}
    drifts = [
        Drift(where=name, what="changed", expected=digest, found=found[name])
        for name, digest in expected.items()
        if name in found and found[name] != digest
    ]
    for name, digest in missing.items():
        now = next((other for other, same in extra.items() if same == digest), None)
        drifts.append(
            Drift(
                where=name,
                what=f"is missing; {now} holds its text" if now else "is missing",
                expected=digest,
            )
        )
    drifts += [
        Drift(where=name, what="is not in the lock", found=digest) for name, digest in extra.items()
    ]
    return sorted(drifts, key=lambda drift: drift.where)


def scenario_of(path: str) -> str:
    """`scenarios/<suite>/<id>/` of a file; the file itself where it lies in no scenario's folder."""
    parts = path.split("/")
    return "/".join(parts[:3]) + "/" if len(parts) > 3 else path


def is_frozen(path: str) -> bool:
    """What only `regrade` may change: a held-out scenario, its transcripts and its grades. A rubric and a reference are `accept`'s."""
    inside = path.removeprefix(scenario_of(path))
    return path.startswith(ANCHORS) and not (
        inside == "rubric.yaml" or inside.startswith("reference/")
    )


def scoring_in_use() -> dict[str, float | str]:
    """The weights of both scores, and the version of what a check means."""
    weights: dict[str, float | str] = {
        f"fairness.{name}": part.weight for name, part in FAIRNESS.items()
    }
    weights |= {f"adoption.{name}": part.weight for name, part in ADOPTION.items()}
    return weights | {"check_semantics": keywords.SEMANTICS, "bonus_weight": keywords.BONUS_WEIGHT}
