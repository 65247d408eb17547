"""A repository of one's own becomes the source of a scenario.

A folder's path is private: tracked files hold `local:<label>` in its stead (labels.py). A user's
repository is only read: its work tree is looked at by a git directory of ours, with a copy of its
commit.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from runner.records import CommitSha, GitSource, RepoPin
from runner.records.repositories import LOCAL_SCHEME
from runner.repositories.repository import (
    EPOCH,
    FETCHING,
    SUBMODULE,
    Remote,
    Repository,
    fetch_source,
    git_at,
    object_folder,
    open_repository,
    renamed_when_done,
    run_git,
    tree_entries,
)
from runner.support.errors import SourceError

if TYPE_CHECKING:  # slow to import; see runner/repositories/repository.py
    import git

_KEPT_SETTINGS = ("core.autocrlf", "core.filemode", "core.ignorecase", "core.symlinks")
"""Of the user's repository: without them, files that nobody touched would count as changed."""
_SIGNED = {
    # Fixed, so that equal files are an equal commit, today and on any machine.
    "GIT_AUTHOR_NAME": "fairtrial",
    "GIT_AUTHOR_EMAIL": "fairtrial@localhost",
    "GIT_AUTHOR_DATE": f"{EPOCH} +0000",
    "GIT_COMMITTER_NAME": "fairtrial",
    "GIT_COMMITTER_EMAIL": "fairtrial@localhost",
    "GIT_COMMITTER_DATE": f"{EPOCH} +0000",
}
_URL = re.compile(r"[a-z+]+://|[\w.-]+@[\w.-]+:|[\w.-]{2,}:")
_FULL_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True)
class OwnRepository:
    """A user's repository at one commit, fetched."""

    source: GitSource
    """For scenario.yaml: its URL, or `local:<label>` for a folder."""
    path: Path
    """A bare repository of ours with that single commit."""
    commit: CommitSha
    pin: RepoPin
    """For locks/repos.lock, under the source's label."""
    notes: tuple[str, ...]
    """For stderr: what was left out, and what was taken."""
    folder: Path | None = None
    """Where a folder's repository is; None for a URL."""


def own_source(  # noqa: PLR0913 - the last two have defaults that nearly everybody wants
    repo: str,
    commit: str | None,
    dirty: bool,
    state: Path,
    *,
    label: str = "own",
    environ: Mapping[str, str] | None = None,
) -> OwnRepository:
    """The repository at a path or URL as a source, at a full commit, fetched to `state`'s cache.

    `commit`: any revision of a folder; a URL's branch, tag or full SHA; None for HEAD. `dirty`: a
    folder's files as they are, ignored ones apart, as a commit of their own. `label`: what a folder
    is called in tracked files. Raises SourceError if there is no such repository or commit.
    """
    folder = Path(repo)
    if not folder.is_dir():
        return _from_url(repo, commit, state, environ, dirty=dirty)
    if dirty and commit is not None:
        hint = "leave out --commit: --dirty takes the files as they are now"
        raise SourceError("--dirty has no commit to name", where=repo, hint=hint)
    taken = as_it_is(folder, cache_of(state)) if dirty else _committed(folder, commit)
    source = GitSource(kind="git", url=f"{LOCAL_SCHEME}{label}", commit=taken.commit)
    fetched = fetch_at(source, taken.place, cache_of(state), environ)
    return OwnRepository(
        source=source,
        path=fetched.path,
        commit=fetched.commit,
        pin=fetched.pin,
        notes=taken.notes,
        folder=folder.resolve(),
    )


def cache_of(state: Path) -> Path:
    return state / "repositories"


def _from_url(
    url: str, commit: str | None, state: Path, environ: Mapping[str, str] | None, *, dirty: bool
) -> OwnRepository:
    if dirty:
        hint = "--dirty is for a folder of this machine"
        raise SourceError("a URL has no uncommitted files", where=url, hint=hint)
    if not _URL.match(url):
        hint = "give the top folder of a clone, or a URL that git can clone"
        raise SourceError("no such folder, and no URL", where=url, hint=hint)
    full = _of_remote(url, commit or "HEAD", environ)
    source = of_url(url, full)
    fetched = fetch_source(source, cache=cache_of(state), pins=None, environ=environ)
    notes = () if commit == full else (f"{commit or 'HEAD'} is {full}",)
    return OwnRepository(
        source=source, path=fetched.path, commit=full, pin=fetched.pin, notes=notes
    )


def of_url(url: str, commit: str) -> GitSource:
    """Raises SourceError if a source may not be written so, with a password in it for one."""
    try:
        return GitSource(kind="git", url=url, commit=commit)
    except ValidationError as error:
        said = "; ".join(item["msg"].removeprefix("Value error, ") for item in error.errors())
        # The URL may hold a password.
        raise SourceError(said, where=f"--repo, --commit {commit}") from error


def _of_remote(url: str, revision: str, environ: Mapping[str, str] | None) -> CommitSha:
    """The commit that a remote's HEAD, branch or tag is at now."""
    if _FULL_SHA.fullmatch(revision):
        return revision
    names = (f"refs/tags/{revision}^{{}}", f"refs/heads/{revision}", f"refs/tags/{revision}")
    listed = _listed(url, environ)
    for name in (revision, *names):
        if name in listed:
            return listed[name]
    hint = "`git ls-remote` shows its branches and tags; a commit takes all 40 digits"
    raise SourceError(f"has no branch or tag {revision!r}", where=url, hint=hint)


def _listed(url: str, environ: Mapping[str, str] | None) -> dict[str, CommitSha]:
    """Name of each branch and tag, and HEAD -> what it is at."""
    with tempfile.TemporaryDirectory(prefix="fairtrial-") as scratch:
        asking = git_at(Path(scratch), **{**(environ or {}), **FETCHING})
        # After `--`, a URL such as `--upload-pack=command` is no option.
        output = run_git(asking, "ls-remote", "--quiet", "--", url, timeout_sec=120)
    lines = (line.partition("\t") for line in output.splitlines())
    return {name: sha for sha, _, name in lines}


# --- a folder ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OwnCommit:
    place: Path
    """A repository that holds the commit."""
    commit: CommitSha
    notes: tuple[str, ...] = ()


def _committed(folder: Path, revision: str | None) -> OwnCommit:
    """A commit of the user's repository, and how much of the folder is not in it."""
    try:
        place, commit = open_repository(str(folder), revision or "HEAD", folder)
    except SourceError as error:
        hint = f"{error.hint}; --dirty takes the folder's files as a commit of their own"
        raise SourceError(error.what, where=error.where, hint=hint) from error
    notes = [f"{revision or 'HEAD'} is {commit}"] if revision != commit else []
    if (folder / ".git").exists():
        with tempfile.TemporaryDirectory(prefix="fairtrial-") as scratch:
            count = _look(folder, place, Path(scratch) / "look.git").uncommitted()
        files = "file is" if count == 1 else "files are"
        if count:
            notes.append(f"{count} uncommitted {files} left out; --dirty takes them")
    return OwnCommit(place=place, commit=commit, notes=tuple(notes))


def as_it_is(folder: Path, cache: Path) -> OwnCommit:
    """The folder's files as a commit in a repository of ours; HEAD if nothing is uncommitted."""
    place = None
    with contextlib.suppress(SourceError):  # it is none of git's
        place = object_folder(folder)
    with tempfile.TemporaryDirectory(prefix="fairtrial-") as scratch:
        look = _look(folder, place, Path(scratch) / "look.git")
        count = look.uncommitted()
        if not count and look.head:
            return OwnCommit(place=look.place, commit=look.head, notes=("nothing is uncommitted",))
        commit = look.commit()
        taken = taken_folder(cache, commit)
        if not taken.exists():
            with renamed_when_done(taken) as fresh:
                Remote(url=str(look.git_folder)).fetch_commit(commit, fresh)
    what = f"{count} uncommitted files of it" if look.head else "no git repository: its files"
    notes = [f"{what} are taken as commit {commit}"]
    inside = sum(it.mode == SUBMODULE for it in tree_entries(taken, commit))
    if inside:
        folders = "folder in it is a repository"
        if inside > 1:
            folders = "folders in it are repositories"
        notes.append(f"{inside} {folders} of its own, and left out")
    return OwnCommit(place=taken, commit=commit, notes=tuple(notes))


@dataclass(frozen=True, kw_only=True)
class _Look:
    """A folder through a git directory of ours: nothing is written to the user's."""

    git_folder: Path
    folder: Path
    place: Path
    head: CommitSha | None

    def uncommitted(self) -> int:
        """Files that differ from HEAD or that git does not know, ignored ones apart."""
        flags = ("--porcelain", "-z", "--no-renames", "--untracked-files=all")
        output = run_git(self._git(), "status", *flags, "--ignore-submodules=dirty")
        return len([record for record in output.split("\0") if record])

    def commit(self) -> CommitSha:
        run_git(self._git(), "add", "--all")
        tree = run_git(self._git(), "write-tree")
        commit = run_git(self._git(**_SIGNED), "commit-tree", tree, "-m", "files as they were")
        run_git(self._git(), "update-ref", "refs/heads/taken", commit)
        return commit

    def _git(self, **more: str) -> git.Git:
        # The user's own configuration counts: what they ignore everywhere is not for us either.
        return git_at(self.git_folder, GIT_WORK_TREE=str(self.folder), **more)


def _look(folder: Path, place: Path | None, ours: Path) -> _Look:
    """`place`: the git directory with the folder's objects, or None."""
    head = _head_of(folder) if place else None
    if place is not None and head is not None:
        # Copied, not borrowed: git renews the dates of borrowed objects that it would write.
        Remote(url=str(place)).fetch_commit(head, ours)
        run_git(git_at(ours), "read-tree", head)
    else:
        run_git(git_at(ours), "init", "--quiet", "--template=", "--object-format=sha1")
    settings = {"core.bare": "false", "core.hooksPath": "/dev/null", **_settings(place)}
    for name, value in settings.items():
        run_git(git_at(ours), "config", name, value)
    if place is not None and (place / "info/exclude").is_file():
        (ours / "info").mkdir(exist_ok=True)
        (ours / "info/exclude").write_bytes((place / "info/exclude").read_bytes())
    return _Look(git_folder=ours, folder=folder.resolve(), place=place or ours, head=head)


def _settings(place: Path | None) -> dict[str, str]:
    """How its files are written, where it says so."""
    found: dict[str, str] = {}
    if place is None:
        return found
    for name in _KEPT_SETTINGS:
        with contextlib.suppress(SourceError):  # it is not set
            found[name] = run_git(git_at(place), "config", "--file", str(place / "config"), name)
    return found


def _head_of(folder: Path) -> CommitSha | None:
    """None in a repository without a commit."""
    try:
        return open_repository(str(folder), "HEAD", folder)[1]
    except SourceError:
        return None


def fetch_at(
    source: GitSource,
    place: Path,
    cache: Path,
    environ: Mapping[str, str] | None,
    pins: Mapping[str, RepoPin] | None = None,
) -> Repository:
    return fetch_source(source_at(source, place), cache=cache, pins=pins, environ=environ)


def taken_folder(cache: Path, commit: CommitSha) -> Path:
    """Where files that were taken as they were are kept as a commit."""
    return cache / f"taken-{commit}.git"


def source_at(source: GitSource, place: Path) -> GitSource:
    return source.model_copy(update={"url": str(place)})
