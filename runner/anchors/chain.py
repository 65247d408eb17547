"""locks/anchors.lock and the chain of generations behind it.

    locks/anchors.lock              the generation in force, canonical JSON
    locks/anchors/<generation>.lock every generation there has been; the last equals anchors.lock byte for byte

Each generation holds the digest of the one before it. Somebody who rewrites every file of the chain at once is seen by git: a committed
generation is only ever added, never changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runner.anchors.frozen import digest_of_bytes, digest_of_file, digest_tree
from runner.errors import AnchorsDrifted, CatalogError, Drift
from runner.records import AnchorsLock, canonical_json, parse_json
from runner.store import write_whole

LOCK = "locks/anchors.lock"
GENERATIONS = "locks/anchors"
RESTORE = "`git log -p -- locks/anchors locks/anchors.lock` shows who changed it; take the committed files back"
NO_LOCK = 'grade the held-out transcripts, then `fairtrial anchors accept --reason "first generation"`; or go on with --ungated'


def exists(root: Path) -> bool:
    return (
        (root / LOCK).exists() or (root / LOCK).is_symlink() or any((root / GENERATIONS).glob("*"))
    )


def read_chain(root: Path) -> list[AnchorsLock]:
    """Every generation, oldest first; the last is in force. Raises AnchorsDrifted where one is missing, changed or out of line."""
    if not exists(root):
        raise AnchorsDrifted([Drift(where=LOCK, what="there is none")], hint=NO_LOCK)
    drifts = list(_shape(root))
    generations: list[AnchorsLock] = []
    if not drifts:
        drifts = list(_walk(root, generations)) or list(_rewritten(root))
    if drifts:
        raise AnchorsDrifted(drifts, hint=RESTORE)
    return generations


def digest_of_lock(lock: AnchorsLock) -> str:
    """Of the file's bytes."""
    return digest_of_bytes(_text(lock).encode())


def write_generation(root: Path, lock: AnchorsLock) -> None:
    write_whole(root / _generation(lock.generation), _text(lock))
    write_whole(root / LOCK, _text(lock))


def _text(lock: AnchorsLock) -> str:
    return canonical_json(lock.model_dump(mode="json")) + "\n"


def _generation(number: int) -> str:
    return f"{GENERATIONS}/{number}.lock"


def _shape(root: Path) -> Iterator[Drift]:
    """Plain files, numbered from 1 without a gap, the last one in force."""
    found, drifts = digest_tree(root, GENERATIONS)
    yield from drifts
    head = root / LOCK
    if head.is_symlink() or not head.is_file():
        yield Drift(where=LOCK, what="is missing, or is no plain file")
        return
    expected = [_generation(number) for number in range(1, len(found) + 1)]
    for name in sorted({*expected, *found}):
        if name not in found or name not in expected:
            yield Drift(
                where=name,
                what="is missing from the chain" if name in expected else "is no part of the chain",
            )
    if not found:
        yield Drift(where=_generation(1), what="is missing from the chain")
    elif not drifts and expected[-1] in found and found[expected[-1]] != digest_of_file(head):
        yield Drift(
            where=LOCK,
            what=f"is not {expected[-1]}",
            expected=found[expected[-1]],
            found=digest_of_file(head),
        )


def _walk(root: Path, generations: list[AnchorsLock]) -> Iterator[Drift]:
    """Fills `generations`; a drift where a link of the chain does not hold."""
    previous: str | None = None
    for number in range(1, len(list((root / GENERATIONS).glob("*.lock"))) + 1):
        name = _generation(number)
        data = (root / name).read_bytes()
        try:
            lock = parse_json(data, AnchorsLock, where=name)
        except CatalogError as error:
            yield Drift(where=name, what=f"is no generation: {error.problems[0].message}")
            return
        if digest_of_lock(lock) != digest_of_bytes(data):
            # Spaces, or a key given twice: two readers could see two locks.
            yield Drift(
                where=name,
                what="is not canonical JSON",
                expected=digest_of_lock(lock),
                found=digest_of_bytes(data),
            )
        if lock.generation != number or lock.previous != previous:
            what = f"calls itself generation {lock.generation}; the digest of the one before it does not hold"
            yield Drift(where=name, what=what, expected=previous or "", found=lock.previous or "")
        if generations and lock.kind == "accept" and lock.chain != generations[-1].chain:
            yield Drift(
                where=name, what="names another start of its chain than the generation before it"
            )
        if (
            generations
            and lock.kind == "accept"
            and lock.gold_weights != generations[-1].gold_weights
        ):
            yield Drift(
                where=name,
                what="weighs the gold otherwise than the generation before it; only a regrade may",
            )
        generations.append(lock)
        previous = digest_of_bytes(data)


def _rewritten(root: Path) -> Iterator[Drift]:
    """Generations that git saw change on the main line, or since. Nothing where this is no git checkout: the chain's links are all then.

    First parents alone: two branches may each accept a generation 2, and the one merged last has to number its own anew.
    """
    if not (root / ".git").exists():
        return
    from git import Git, GitCommandError  # noqa: PLC0415 - gitpython looks for git when it is imported

    options = ["--no-renames", "--name-only", "--diff-filter=MDT"]
    questions = (
        ["log", "--first-parent", "-m", "--format=", *options, "HEAD"],
        ["diff", *options, "HEAD"],
    )
    own = {
        "GIT_DIR": str(root / ".git"),
        "GIT_WORK_TREE": str(root),
    }  # or a variable left by a hook would name another repository
    changed: set[str] = set()
    for question in questions:
        try:
            said = Git(str(root)).execute(
                ["git", "--no-replace-objects", *question, "--", GENERATIONS], env=own
            )
        except GitCommandError:
            return  # no commit yet, or a checkout that git does not trust
        changed.update(str(said).split("\n") if said else ())
    for name in sorted(changed - {""}):
        yield Drift(
            where=name, what="was changed after it was committed; a generation is only ever added"
        )
