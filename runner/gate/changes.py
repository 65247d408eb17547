"""What differs from the lock in force: as drift for `verify`, else by the verb that may take it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from runner.catalog.catalog import HELD_OUT, Catalog, LoadedScenario
from runner.gate import frozen
from runner.gate.frozen import ANCHORS, QUESTIONS, is_frozen, scenario_of
from runner.protocols import Judge
from runner.records import AnchorsLock
from runner.support.errors import AnchorsDrifted, Drift
from runner.support.tree_digest import digest_tree, file_changes


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What differs from the lock, by the verb that may take it."""

    grading: tuple[Drift, ...] = ()
    """`regrade`: gold, transcripts, held-out scenarios; a whole one takes its rubric with it."""
    judging: tuple[Drift, ...] = ()
    """`accept`: rubrics, references, judge, scoring, and scenarios outside held-out."""
    added: tuple[Drift, ...] = ()
    """`accept`: scenarios outside held-out that no generation holds."""

    @property
    def every(self) -> tuple[Drift, ...]:
        return (*self.grading, *self.judging, *self.added)


def changes_since(root: Path, lock: AnchorsLock | None, judge: Judge) -> Changes:
    """Everything that differs from the lock; nothing if there is none yet.

    Raises AnchorsDrifted for links: no verb takes those.
    """
    files, links = digest_tree(root)
    if links:
        raise AnchorsDrifted(links, hint="put a plain file in its place")
    if lock is None:
        return Changes()
    changes = _changed_files(lock, files)
    others = [*scoring_drifts(lock), *judge_drifts(lock, judge), *_new_judge(lock, judge)]
    return replace(changes, judging=(*changes.judging, *others))


def _changed_files(lock: AnchorsLock, files: Mapping[str, str]) -> Changes:
    before = _folders(lock.files)
    both = before & _folders(files)
    grading, judging, added = [], [], []
    for drift in file_changes(lock.files, in_scenarios(files)):
        if _is_grading(drift.where, both):
            grading.append(drift)
        elif scenario_of(drift.where) in before:
            judging.append(drift)
        else:
            added.append(drift)
    return Changes(grading=tuple(grading), judging=tuple(judging), added=tuple(added))


def _folders(files: Iterable[str]) -> set[str]:
    return {scenario_of(path) for path in files}


def _is_grading(path: str, both: Collection[str]) -> bool:
    """`both`: folders of scenarios that the lock and the checkout hold."""
    if not path.startswith(ANCHORS):
        return False
    # A held-out scenario that comes or goes is a matter of grading, its rubric included: accepted
    # alone, a rubric could bring its own easy anchors.
    return is_frozen(path) or scenario_of(path) not in both


def in_scenarios(files: Mapping[str, str]) -> dict[str, str]:
    """Files of scenarios, and whatever else lies in held-out."""
    # scenarios/README.md is nobody's rubric, and may change freely.
    return {
        path: digest
        for path, digest in files.items()
        if scenario_of(path).endswith("/") or path.startswith(ANCHORS)
    }


# --- drift ----------------------------------------------------------------------------------


def file_drifts(root: Path, lock: AnchorsLock, scenarios: Collection[str] | None) -> list[Drift]:
    """Of the held-out scenarios and those in use, by id; None: of all in the lock.

    By id and not by folder: one of the same name in another suite could stand in for a locked one.
    """
    files, drifts = digest_tree(root)
    asked = _ids(lock.files)
    if scenarios is not None:
        # Anchors stand behind every figure, whichever scenarios are run.
        asked = _ids(only(lock.files, ids=())) | set(scenarios)
    held = {name for name in asked if any(is_of(path, (name,)) for path in lock.files)}
    for name in sorted(asked - held):
        drifts.append(Drift(where=f"scenario {name}", what="no generation holds it"))
    return drifts + file_changes(only(lock.files, held), only(files, held))


def loaded_drifts(
    catalog: Catalog, lock: AnchorsLock, scenarios: Collection[str] | None
) -> list[Drift]:
    """What was read of the held-out scenarios and those in use, if it is not what the lock holds.

    By the bytes that were parsed: a file may be put back between the reading and this look.
    """
    ids = [name for name, folder in catalog.scenarios.folders.items() if _is_held_out(folder)]
    ids += sorted({*(scenarios or ())} - {*ids})
    drifts: list[Drift] = []
    for name in ids:
        if name in catalog.scenarios:
            drifts += _read_otherwise(catalog.scenarios[name], lock)
    return drifts


def _is_held_out(folder: Path) -> bool:
    return folder.parent.name == HELD_OUT


def _read_otherwise(loaded: LoadedScenario, lock: AnchorsLock) -> Iterator[Drift]:
    for where, digest in loaded.digests.items():
        expected = lock.files.get(where, "")
        if digest != expected:
            yield Drift(where=where, what="was read otherwise", expected=expected, found=digest)


def only(files: Mapping[str, str], ids: Collection[str]) -> dict[str, str]:
    """Files of those scenarios, and whatever lies in held-out."""
    return {
        path: digest
        for path, digest in files.items()
        if path.startswith(ANCHORS) or is_of(path, ids)
    }


def is_of(path: str, ids: Collection[str]) -> bool:
    """Does a file belong to one of those scenarios? One of questions belongs to each of them."""
    folder = id_of(path)
    if folder in ids:
        return True
    return path.startswith(QUESTIONS) and any(name.startswith(f"{folder}.") for name in ids)


def _ids(files: Iterable[str]) -> set[str]:
    return {id_of(path) for path in files}


def id_of(path: str) -> str:
    """The id of the scenario in whose folder a file lies."""
    return scenario_of(path).rstrip("/").rpartition("/")[2]


def scoring_drifts(lock: AnchorsLock) -> Iterator[Drift]:
    """Weights, and the meaning of checks, that are not the lock's."""
    now = frozen.scoring_in_use()
    # What is new alone changes nothing that the lock holds: who would use it, changes as well.
    for name in sorted(lock.scoring):
        expected, found = lock.scoring[name], now.get(name)
        if expected != found:
            yield Drift(
                where=f"scoring {name}",
                what="changed",
                expected=_shown(expected),
                found=_shown(found),
            )


def _shown(value: float | str | None) -> str:
    if value is None:
        return ""
    return str(value)


def judge_drifts(lock: AnchorsLock, judge: Judge) -> Iterator[Drift]:
    """The judge, if it is another than the lock knows by its name."""
    locked = lock.judges.get(judge.name)
    if locked and locked.identity != judge.identity:
        yield Drift(
            where=f"judge {judge.name}",
            what="its code, prompt, model or parameters changed",
            expected=locked.identity,
            found=judge.identity,
        )


def _new_judge(lock: AnchorsLock, judge: Judge) -> Iterator[Drift]:
    if judge.name not in lock.judges:
        what = "has judged no generation yet"
        yield Drift(where=f"judge {judge.name}", what=what, found=judge.identity)


def unlocked(root: Path, lock: AnchorsLock) -> tuple[str, ...]:
    """Folders of scenarios that no generation holds, sorted: no gated run can use them."""
    files, _ = digest_tree(root)
    return tuple(sorted(_folders(in_scenarios(files)) - _folders(lock.files)))
