"""Every error the product raises on purpose, and the exit code it ends in (docs/outcomes.md).

FairtrialError              1   something the user can fix: what, where, and a hint
├── CatalogError            1   scenarios/ or images/ are wrong; carries every Problem, not one
├── LockError               1   a repository, archive, image or package is not what its lock says
├── SourceError             1   a download failed, or an archive is unsafe to unpack
├── EngineError             1   no Docker Engine answers, or it cannot do what a cell needs
│   └── DiskFullError       1   nothing more can be installed: nobody's fault but the disk's
├── BusyError               1   another runner is at work on this run
├── SandboxError            1   a cell's container failed us          -> outcome sandbox_failed
├── ServerError             1   the server under test failed          -> outcome server_crashed
├── SpendingCap             1   the run may spend no more: it ends        -> outcome cancelled
├── WorkerCut               1   a worker lost the run's account or its lease  -> outcome cancelled
├── OutOfMemory             1   the agent took the cell's memory      -> outcome out_of_memory
│   └── NotReadyError       1   it lives, and cannot work here yet    -> outcome server_not_ready
├── NotTreatedError         1   an agent was not offered its server  -> outcome agent_not_treated
├── ProviderError           1   the model's provider failed           -> outcome provider_failed
│   └── ProviderRefused     1   and every further cell would fail alike: the run ends
└── GateError                   the gate does not let a result pass
    ├── AnchorsDrifted      3   a frozen file is not what the lock says
    ├── AnchorsDisagree     4   today's rubric does not rank the anchors as the hand grades do
    └── NoVerdict           5   a verdict is missing and the judge cannot be reached
        └── NoReply         5   to one request; those beside it may have theirs

What the system refuses (a full disk, a folder that is read-only) is the user's too: `of_system`.
Anything else that reaches `cli.main` is our bug (70); Ctrl-C, SIGTERM and SIGHUP are 130.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong with the catalog, and how to mend it.

    `where` is a file and a key path in it: `scenarios/core/x/scenario.yaml steps[0].name`.
    """

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True, kw_only=True)
class Drift:
    """One frozen thing that is not what the lock says.

    `expected` is the lock's value and `found` today's; empty if that side has none.
    """

    where: str
    what: str
    expected: str = ""
    found: str = ""

    def __str__(self) -> str:
        sides = []
        if self.expected:
            sides.append(f"expected {self.expected[:16]}")
        if self.found:
            sides.append(f"found {self.found[:16]}")
        text = f"{self.where}: {self.what}"
        if sides:
            text += f" ({', '.join(sides)})"
        return text


class FairtrialError(Exception):
    """What went wrong, where, and a hint that tells the user what to do next."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.hint = what, where, hint

    def __str__(self) -> str:
        text = self.what
        if self.where:
            text = f"{self.where}: {text}"
        if self.hint:
            text += f"\nhint: {self.hint}"
        return text


_HINTS = {
    errno.ENOSPC: "free some disk space, then run the same command again",
    errno.EDQUOT: "free some disk space, then run the same command again",
    errno.EFBIG: "free some disk space, then run the same command again",
    errno.EROFS: "it lies on a file system that is mounted read-only",
    errno.EACCES: "this user may not: mend the permissions of the file, or of its folder",
    errno.EPERM: "this user may not: mend the permissions of the file, or of its folder",
    errno.ENOENT: "is --root a whole checkout? take the file from git again",
    errno.ENOTDIR: "a file stands where a folder is expected: move it away",
    errno.EISDIR: "a folder stands where a file is expected: move it away",
    errno.EEXIST: "something else has that name: move it away",
    errno.ENOTEMPTY: "something else has that name: move it away",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "a symbolic link leads to itself: remove it",
    errno.EIO: "the disk fails: see the system's log",
    errno.EMFILE: "raise the limit of open files (`ulimit -n`)",
    errno.ENFILE: "the machine has too many open files: close something",
}


def of_system(error: OSError) -> FairtrialError | None:
    """What the system refuses and the user can mend, in our words; None for anything else."""
    hint = _HINTS.get(error.errno or 0)
    if hint is None:
        return None
    what = error.strerror or str(error)
    return FairtrialError(what, where=str(error.filename or ""), hint=hint)


def _count(items: Sequence[object], one: str, many: str) -> str:
    noun = one if len(items) == 1 else many
    return f"{len(items)} {noun}"


def _listed(heading: str, items: Sequence[object]) -> str:
    return "\n".join([heading, *(f"  {item}" for item in items)])


class CatalogError(FairtrialError):
    """All problems of a catalog at once."""

    def __init__(self, problems: list[Problem], *, hint: str = "") -> None:
        super().__init__(_listed(_count(problems, "problem", "problems"), problems), hint=hint)
        self.problems = tuple(problems)


class LockError(FairtrialError):
    pass


class SourceError(FairtrialError):
    pass


class EngineError(FairtrialError):
    pass


class DiskFullError(EngineError):
    """The engine's disk has no room left. Taken for a server's failure, it would be held against
    the server."""


class BusyError(FairtrialError):
    pass


class SandboxError(FairtrialError):
    pass


class ServerError(FairtrialError):
    pass


class OutOfMemory(FairtrialError):  # noqa: N818 - the name is the outcome's
    pass


class NotReadyError(ServerError):
    pass


class NotTreatedError(FairtrialError):
    """What was asked of the model is not what the arm is: its cell measures something else."""


class ProviderError(FairtrialError):
    pass


class ProviderRefused(ProviderError):  # noqa: N818 - it says who ended it, as outcomes do
    """Wrong key, unknown model, no money: every further cell would be a failure paid for."""


class SpendingCap(FairtrialError):  # noqa: N818 - reaching it is what was asked for
    """The run's cap; what the cell under way has measured is kept, and it is run again."""

    def __init__(self, figures: str, option: str = "--max-dollars") -> None:
        """`figures`: what is spent, and of how much. `option`: what was said of it."""
        self.figures, self.option = figures, option
        super().__init__(
            f"the run has spent what it may: {figures}",
            hint=f"finished cells are kept; the same command with a higher {option} goes on",
        )


class WorkerCut(FairtrialError):  # noqa: N818 - nothing failed: the cell is run again elsewhere
    """A worker that is cut off from the run pays for no further turn."""


class GateError(FairtrialError):
    pass


class AnchorsDrifted(GateError):  # noqa: N818 - the name is the exit code's documented meaning
    """Every drift at once."""

    exit_code = 3

    def __init__(
        self, drifts: Sequence[Drift], *, hint: str, lock: str = "locks/anchors.lock"
    ) -> None:
        count = _count(drifts, "frozen thing is", "frozen things are")
        super().__init__(_listed(f"{count} not what {lock} says", drifts), hint=hint)
        self.drifts = tuple(drifts)


class AnchorsDisagree(GateError):  # noqa: N818 - see above
    exit_code = 4


class NoVerdict(GateError):  # noqa: N818 - see above
    exit_code = 5


class NoReply(NoVerdict):
    """Of one request alone."""
