"""What git knows of the chain's past: a committed generation is only ever added, never changed.

Asked of HEAD's own objects, with no variable and no configuration from around, and without the
index: `--assume-unchanged` and the like tell git not to look. What hides a part of the past is
refused; a checkout that has none says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runner.catalog.project import MANIFEST, require_as_built, shipped
from runner.records import BY_MANIFEST
from runner.repositories.repository import CleanGit, blob_names, clean_git
from runner.support.errors import Drift, SourceError
from runner.support.tree_digest import digest_of_bytes

UNSHALLOW = "`git fetch --unshallow` brings the past; remove grafts, and `git replace -d` the rest"


@dataclass(frozen=True, kw_only=True)
class History:
    """What was found, and how far it was looked."""

    drifts: tuple[Drift, ...] = ()
    remark: str = ""
    """What a reader has to know of the past; empty if all of it was looked at and is committed."""


def history_of(root: Path, head: str, folder: str) -> History:
    """Of the chain whose newest generation is `head`, and all of them in `folder`.

    Raises SourceError if git is not installed, LockError if an installed file is not as built.
    """
    # is_symlink: a link that leads nowhere is no checkout without git.
    if not (root / ".git").exists() and not (root / ".git").is_symlink():
        if _is_installed(root):
            require_as_built(root)
            return History(remark=BY_MANIFEST)
        return History(remark="history not checked: there is no .git here")
    try:
        past = _Past(git=clean_git(root), head=head, folder=folder)
        if not past.begun:
            return History(remark="history not checked: nothing is committed here yet")
        if hidden := tuple(past.hidden()):
            return History(drifts=(*hidden, *_as_far_as_it_goes(past)))
        return History(drifts=tuple(past.rewritten()), remark=past.remark())
    except SourceError as error:
        if "not installed" in error.what:
            raise
        # Taken for a clean history, a damaged or partial clone would open the gate.
        return History(drifts=(Drift(where=".git", what=f"cannot be read: {error.what}"),))


def _is_installed(root: Path) -> bool:
    """Is it what ships beside this very code? Another folder's MANIFEST vouches for nothing."""
    return root.resolve() == shipped().resolve() and (root / MANIFEST).is_file()


def _as_far_as_it_goes(past: _Past) -> tuple[Drift, ...]:
    """Behind what hides the past there may be none: in a clone that is shallow indeed."""
    with suppress(SourceError):
        return tuple(past.rewritten())
    return ()


def committed_text(root: Path, path: str, digest: str) -> str | None:
    """A file's text of that digest (digest_of_bytes), if some commit behind HEAD holds it.

    None if there is none, no git, or no such text.
    """
    with suppress(SourceError):
        git = clean_git(root)
        commits = git.output("rev-list", "HEAD", "--", path).decode().split()
        for commit in commits:
            with suppress(SourceError):  # a commit that took the file away
                data = git.output("cat-file", "blob", f"{commit}:{path}")
                if digest_of_bytes(data) == digest:
                    return data.decode("utf-8")
    return None


@dataclass(frozen=True, kw_only=True)
class _Past:
    git: CleanGit
    head: str
    folder: str

    @property
    def begun(self) -> bool:
        """False before the first commit."""
        try:
            self.git.output("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        except SourceError:
            # A HEAD that names what is not there is no fresh start if there are commits.
            if self.git.output("for-each-ref", "--count=1"):
                raise
            return False
        return True

    def hidden(self) -> Iterator[Drift]:
        """What makes the past look other than it is, to git or to us."""
        for name in ("shallow", "info/grafts"):
            path = self.git.common / name
            if path.is_symlink() or (path.is_file() and path.read_bytes().strip()):
                yield Drift(where=f".git/{name}", what="hides a part of the past")
        for line in self.git.output("for-each-ref", "--format=%(refname)", "refs/replace").split():
            name = line.decode("utf-8", "replace")
            yield Drift(where=f".git/{name}", what="shows another object than the one committed")

    # --- rewritten ------------------------------------------------------------------------------

    def rewritten(self) -> Iterator[Drift]:
        """Generations that a commit, or the files as they lie here, changed or took away."""
        # First parents alone: two branches may each accept a generation 2, and the one merged
        # last has to number its own anew.
        lines = (
            self.git.output("rev-list", "--first-parent", "--parents", "HEAD").decode().split("\n")
        )
        pairs = "".join(f"{' '.join(line.split()[:2])}\n" for line in lines if line)
        changed = self._differing(pairs, "--diff-filter=MDT")
        changed |= {
            name for name, blob in self._committed.items() if not self._lies_here(name, blob)
        }
        for name in sorted(changed):
            if name != self.head:
                what = "was changed after it was committed; a generation is only ever added"
                yield Drift(where=name, what=what)

    def _differing(self, commits: str, *options: str) -> set[str]:
        """Files of the chain in which each commit of a line differs from the next on it."""
        flags = ["--stdin", "-r", "--no-renames", "--no-commit-id", "--name-only", "-z", *options]
        found = self.git.output("diff-tree", *flags, "--", self.folder, stdin=commits.encode())
        return {name.decode("utf-8", "replace") for name in found.split(b"\0") if name}

    @cached_property
    def _committed(self) -> Mapping[str, str]:
        """Path -> blob, of the chain in HEAD."""
        listed = self.git.output("ls-tree", "-r", "-z", "HEAD", "--", self.head, self.folder)
        return dict(_entries(listed.split(b"\0")))

    def _lies_here(self, name: str, blob: str) -> bool:
        path = self.git.root / name
        if path.is_symlink() or not path.is_file():
            return False
        data = path.read_bytes()
        # With CRLF, as a checkout may turn line ends, it is the same text.
        return blob in blob_names(data) | blob_names(data.replace(b"\r\n", b"\n"))

    # --- remarks --------------------------------------------------------------------------------

    def remark(self) -> str:
        committed = self._committed
        if self.head not in committed or not self._lies_here(self.head, committed[self.head]):
            return (
                f"{self.head} is not committed: its newest generation is nobody's but this folder's"
            )
        if merged := self._merged_away(committed):
            return f"git holds another text of {', '.join(merged)}, on a branch that was merged"
        return ""

    def _merged_away(self, committed: Mapping[str, str]) -> list[str]:
        """Generations of which some commit behind HEAD has another text."""
        commits = self.git.output("rev-list", "HEAD")
        flags = ("--stdin", "-m", "-r", "--root", "--no-renames", "--no-commit-id", "-z")
        found = self.git.output("diff-tree", *flags, "--", self.folder, stdin=commits)
        others = set()
        for blob, name in _changes(found):
            if set(blob) != {"0"} and committed.get(name, blob) != blob:
                others.add(name)
        return sorted(others)


def _entries(lines: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """`100644 blob 2409639…\\tlocks/anchors/1.lock` -> path and blob."""
    for line in lines:
        meta, _, name = line.partition(b"\t")
        if name:
            yield name.decode("utf-8", "replace"), meta.split()[2].decode()


def _changes(raw: bytes) -> Iterator[tuple[str, str]]:
    """`:000000 100644 0000… 2409639… A\\0locks/anchors/1.lock\\0` -> new blob and path."""
    parts = raw.split(b"\0")
    for meta, name in zip(parts[::2], parts[1::2], strict=False):
        yield meta.split()[3].decode(), name.decode("utf-8", "replace")
