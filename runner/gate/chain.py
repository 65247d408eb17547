"""locks/anchors.lock and the chain of generations behind it.

    locks/anchors.lock              the generation in force, canonical JSON
    locks/anchors/<generation>.lock every generation; the last equals anchors.lock byte for byte

Each generation holds the digest of the one before it. Somebody who rewrites every file of the chain
at once is caught by git: a committed generation is only ever added, never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from runner.gate.chain_history import UNSHALLOW, History, history_of
from runner.gate.frozen import canonical_text
from runner.records import AnchorsLock, parse_json
from runner.records.run_store import write_whole
from runner.support.errors import AnchorsDrifted, CatalogError, Drift
from runner.support.tree_digest import digest_of_bytes, digest_of_file, digest_tree

ANCHORS_LOCK = "locks/anchors.lock"
GENERATIONS = "locks/anchors"
RESTORE = (
    "`git log -p -- locks/anchors locks/anchors.lock` shows who changed it; "
    "take the committed files back"
)
NO_LOCK = (
    'grade the held-out transcripts, then `fairtrial anchors accept --reason "first generation"`; '
    "or go on with --ungated"
)


def exists(root: Path) -> bool:
    """True for any trace of a lock: a chain that lost its head is no fresh start."""
    head = root / ANCHORS_LOCK
    return head.exists() or head.is_symlink() or any((root / GENERATIONS).glob("*"))


def read_chain(root: Path) -> list[AnchorsLock]:
    """Every generation, oldest first; the last is in force.

    Raises AnchorsDrifted if one is missing, changed or out of line.
    """
    return read_chain_and_past(root)[0]


def gold_weights(root: Path) -> Mapping[str, Mapping[str, Mapping[str, float]]] | None:
    """Of the generation in force; None before there is one. Raises AnchorsDrifted as it is read."""
    return read_chain(root)[-1].gold_weights if exists(root) else None


def read_chain_and_past(root: Path) -> tuple[list[AnchorsLock], History]:
    """The same, with what git knows of it."""
    if not exists(root):
        raise AnchorsDrifted([Drift(where=ANCHORS_LOCK, what="there is none")], hint=NO_LOCK)
    # In this order: files that are not there cannot be linked, nor broken links be asked of git.
    _refuse(_misshapen(root))
    generations, drifts = _follow(root)
    _refuse(drifts)
    history = history_of(root, ANCHORS_LOCK, GENERATIONS)
    _refuse_rewritten(history)
    return generations, history


def _refuse(drifts: Iterable[Drift]) -> None:
    if listed := list(drifts):
        raise AnchorsDrifted(listed, hint=RESTORE)


def digest_of_lock(lock: AnchorsLock) -> str:
    """Of the file's bytes."""
    return digest_of_bytes(canonical_text(lock).encode())


def write_generation(root: Path, lock: AnchorsLock) -> None:
    # The head last: killed in between, the chain is refused, and not read without its newest.
    write_whole(root / _generation(lock.generation), canonical_text(lock))
    write_whole(root / ANCHORS_LOCK, canonical_text(lock))


def _generation(number: int) -> str:
    return f"{GENERATIONS}/{number}.lock"


# --- its files ------------------------------------------------------------------------------


def _misshapen(root: Path) -> Iterator[Drift]:
    """What keeps the files from being plain ones, numbered from 1 without a gap."""
    files, drifts = digest_tree(root, GENERATIONS)
    yield from drifts
    head = root / ANCHORS_LOCK
    if head.is_symlink() or not head.is_file():
        yield Drift(where=ANCHORS_LOCK, what="is missing, or is no plain file")
        return
    expected = [_generation(number) for number in range(1, len(files) + 1)]
    yield from _gaps(expected, files)
    if not files:
        yield Drift(where=_generation(1), what="is missing from the chain")
    elif not drifts and expected[-1] in files:
        yield from _other_head(head, expected[-1], files[expected[-1]])


def _gaps(expected: Iterable[str], files: Iterable[str]) -> Iterator[Drift]:
    missing, extra = {*expected} - {*files}, {*files} - {*expected}
    for name in sorted(missing | extra):
        what = "is no part of the chain"
        if name in missing:
            what = "is missing from the chain"
        yield Drift(where=name, what=what)


def _other_head(head: Path, newest: str, digest: str) -> Iterator[Drift]:
    # Putting generation 1 back as the head would undo what generation 2 locked.
    found = digest_of_file(head)
    if found != digest:
        yield Drift(where=ANCHORS_LOCK, what=f"is not {newest}", expected=digest, found=found)


# --- its links ------------------------------------------------------------------------------


def _follow(root: Path) -> tuple[list[AnchorsLock], list[Drift]]:
    """Every generation up to one that cannot be read, and a drift for each broken link."""
    generations: list[AnchorsLock] = []
    drifts: list[Drift] = []
    previous: str | None = None
    for number, name in enumerate(_generation_names(root), start=1):
        data = (root / name).read_bytes()
        try:
            lock = parse_json(data, AnchorsLock, where=name)
        except CatalogError as error:
            what = f"is no generation: {error.problems[0].message}"
            drifts.append(Drift(where=name, what=what))
            break
        drifts += _not_canonical(name, data, lock)
        drifts += _out_of_line(name, number, lock, previous)
        drifts += _moved_grades(name, lock, generations)
        generations.append(lock)
        previous = digest_of_bytes(data)
    return generations, drifts


def _generation_names(root: Path) -> list[str]:
    """From the first on, as many as there are files."""
    count = len(list((root / GENERATIONS).glob("*.lock")))
    return [_generation(number) for number in range(1, count + 1)]


def _not_canonical(name: str, data: bytes, lock: AnchorsLock) -> Iterator[Drift]:
    # Spaces, or a key given twice: two readers could see two locks.
    expected, found = digest_of_lock(lock), digest_of_bytes(data)
    if expected != found:
        yield Drift(where=name, what="is not canonical JSON", expected=expected, found=found)


def _out_of_line(
    name: str, number: int, lock: AnchorsLock, previous: str | None
) -> Iterator[Drift]:
    if lock.generation != number or lock.previous != previous:
        what = (
            f"calls itself generation {lock.generation}; "
            "the digest of the one before it does not hold"
        )
        yield Drift(where=name, what=what, expected=previous or "", found=lock.previous or "")


def _moved_grades(name: str, lock: AnchorsLock, earlier: Sequence[AnchorsLock]) -> Iterator[Drift]:
    """What an accepted generation may not change; only a regrade may, which every report shows."""
    if not earlier or lock.kind != "accept":
        return
    before = earlier[-1]
    if lock.chain != before.chain:
        what = "names another start of its chain than the generation before it"
        yield Drift(where=name, what=what)
    if lock.gold_weights != before.gold_weights:
        what = "weighs the gold differently from the one before it; only a regrade may"
        yield Drift(where=name, what=what)


# --- its history ----------------------------------------------------------------------------


def _refuse_rewritten(history: History) -> None:
    if history.drifts:
        hidden = any(drift.where.startswith(".git") for drift in history.drifts)
        raise AnchorsDrifted(history.drifts, hint=UNSHALLOW if hidden else RESTORE)
