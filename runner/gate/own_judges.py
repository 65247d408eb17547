"""A project's own lock of judges: those that it had examined on the anchors that ship.

    locks/judges.lock     who was accepted, when, why, and under which generation
    locks/verdicts/       as in a checkout, of those judges alone
    locks/examinations/

A project brings no anchors: its judges are held against the grades that ship. An entry holds for
the generation that it was made under; another could grade, ask or count otherwise.
"""

from __future__ import annotations

from pathlib import Path

from runner.gate import chain, qualities, verdicts
from runner.gate.chain import digest_of_lock
from runner.gate.frozen import canonical_text
from runner.protocols import Judge
from runner.records import AnchorsLock, Judging, OwnJudge, OwnJudges, parse_json
from runner.records.run_store import write_whole
from runner.support.errors import AnchorsDrifted, CatalogError, Drift, FairtrialError

OWN_JUDGES = "locks/judges.lock"
AGAIN = "`fairtrial anchors qualify` it again: what it has said already costs nothing"


def own_judge(project: Path | None, name: str) -> OwnJudge | None:
    """Raises AnchorsDrifted for a lock that cannot be read."""
    return read_own_judges(project).judges.get(name) if project else None


def read_own_judges(project: Path) -> OwnJudges:
    """Raises AnchorsDrifted if the file is there and is no such lock."""
    path = project / OWN_JUDGES
    if not path.is_file() and not path.is_symlink():
        return OwnJudges(judges={})
    if path.is_symlink():
        # A link could show one entry to a reader and another to the gate.
        raise _spoilt("is a symbolic link")
    try:
        return parse_json(path.read_bytes(), OwnJudges, where=OWN_JUDGES)
    except CatalogError as error:
        raise _spoilt("is no lock of judges") from error


def _spoilt(what: str) -> AnchorsDrifted:
    hint = "take it back from git, or delete it and qualify again"
    return AnchorsDrifted([Drift(where=OWN_JUDGES, what=what)], hint=hint, lock=OWN_JUDGES)


def in_force(project: Path | None, lock: AnchorsLock, judge: Judge) -> OwnJudge | None:
    """The project's entry of a judge, where it is to be believed rather than what ships.

    Raises AnchorsDrifted if it was made under another generation.
    """
    own = own_judge(project, judge.name)
    shipped = lock.judges.get(judge.name)
    if own is None or (shipped is not None and shipped.identity == judge.identity):
        return None
    expected = digest_of_lock(lock)
    if own.lock != expected:
        what = f"was accepted under another generation ({own.generation}, now {lock.generation})"
        drift = Drift(where=f"judge {judge.name}", what=what, expected=expected, found=own.lock)
        raise AnchorsDrifted([drift], hint=AGAIN, lock=OWN_JUDGES)
    return own


def accepted_judging(root: Path, project: Path | None, name: str) -> Judging | None:
    """How a judge of that name was asked when it was accepted; None if no lock says.

    The project's entry comes first.
    """
    own = own_judge(project, name)
    entry = own.judge if own else None
    if entry is None and chain.exists(root):
        entry = chain.read_chain(root)[-1].judges.get(name)
    return entry.judging if entry else None


def require_new(root: Path, project: Path | None, judge: Judge, *, short: bool) -> None:
    """Raises FairtrialError if a lock holds this very judge: asking it again would cost as much."""
    lock = chain.read_chain(root)[-1] if chain.exists(root) else None
    found = [lock.judges.get(judge.name)] if lock else []
    own = own_judge(project, judge.name)
    if lock and own and own.lock == digest_of_lock(lock):
        found.append(own.judge)
    for entry in found:
        if entry and entry.identity == judge.identity and (short or not entry.short):
            hint = f"`fairtrial verify-anchors --judge {judge.name}` shows its figures"
            raise FairtrialError("it is accepted already", where=judge.name, hint=hint)


def laid_over(
    root: Path, project: Path | None, lock: AnchorsLock, judge: Judge
) -> tuple[AnchorsLock, Path, OwnJudge | None]:
    """The lock in force, as if it held the project's entry; where its verdicts are kept; the entry.

    Raises AnchorsDrifted as `in_force` does.
    """
    own = in_force(project, lock, judge)
    if own is None or project is None:
        return lock, root, None
    judges = {**lock.judges, judge.name: own.judge}
    return lock.model_copy(update={"judges": judges}), project, own


def write_own_judge(project: Path, name: str, own: OwnJudge) -> None:
    """Write the lock with this entry, and forget what no entry goes by any more."""
    judges = {**read_own_judges(project).judges, name: own}
    in_use: set[str] = set()
    for entry in judges.values():
        in_use |= entry.judge.verdicts.keys()
    write_whole(project / OWN_JUDGES, canonical_text(OwnJudges(judges=judges)))
    verdicts.forget_verdicts(project, in_use)
    qualities.forget(project, judges)
