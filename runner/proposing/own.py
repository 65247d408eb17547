"""A repository of one's own becomes the source of a scenario, and is found again by its name.

A folder's path is private: scenario.yaml and the locks hold `local:<label>` in its stead, and where
that is on this machine stands in LOCAL, which no commit takes. A user's repository is only read:
its work tree is looked at by a git directory of ours, with a copy of its commit.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.archives import Npm
from runner.errors import FairtrialError, SourceError
from runner.records import CommitSha, GitSource, RepoPin, Source, digest_of, parse_yaml, read_text
from runner.records.repositories import LOCAL_SCHEME, LocalRepositories
from runner.repository import (
    EPOCH,
    Remote,
    Repository,
    fetch_source,
    git_at,
    object_folder,
    open_repository,
    run_git,
)
from runner.store import write_whole

if TYPE_CHECKING:  # slow to import; see runner/repository.py
    import git

LOCAL = ".fairtrial-local.yaml"
"""Beside scenarios/: where each label's repository is on this machine. Never committed."""
_HEAD = "# Where the repositories of this folder's scenarios are on this machine: not for git.\n"
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
_ASKING = {
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",  # An `ext::` URL would run a command.
    "GIT_TERMINAL_PROMPT": "0",  # A prompt would wait for ever.
    "GIT_ASKPASS": "true",
}
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
    taken = _as_it_is(folder, state) if dirty else _committed(folder, commit)
    source = GitSource(kind="git", url=f"{LOCAL_SCHEME}{label}", commit=taken.commit)
    fetched = _fetch(source, taken.place, _cache(state), environ)
    return OwnRepository(
        source=source,
        path=fetched.path,
        commit=fetched.commit,
        pin=fetched.pin,
        notes=taken.notes,
        folder=folder.resolve(),
    )


def _cache(state: Path) -> Path:
    return state / "repositories"


def _from_url(
    url: str, commit: str | None, state: Path, environ: Mapping[str, str] | None, *, dirty: bool
) -> OwnRepository:
    if dirty:
        hint = "--dirty is for a folder of this machine"
        raise SourceError("a URL has no uncommitted files", where=url, hint=hint)
    if not re.search(r"[:/]", url):
        hint = "give the top folder of a clone, or a URL that git can clone"
        raise SourceError("no such folder, and no URL", where=url, hint=hint)
    full = _of_remote(url, commit or "HEAD", environ)
    source = GitSource(kind="git", url=url, commit=full)
    fetched = fetch_source(source, cache=_cache(state), pins=None, environ=environ)
    notes = () if commit == full else (f"{commit or 'HEAD'} is {full}",)
    return OwnRepository(
        source=source, path=fetched.path, commit=full, pin=fetched.pin, notes=notes
    )


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
        asking = git_at(Path(scratch), **{**(environ or {}), **_ASKING})
        # After `--`, a URL such as `--upload-pack=command` is no option.
        output = run_git(asking, "ls-remote", "--quiet", "--", url, timeout_sec=120)
    lines = (line.partition("\t") for line in output.splitlines())
    return {name: sha for sha, _, name in lines}


# --- a folder ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Taken:
    place: Path
    """A repository that holds the commit."""
    commit: CommitSha
    notes: tuple[str, ...] = ()


def _committed(folder: Path, revision: str | None) -> _Taken:
    """A commit of the user's repository, and how much of the folder is not in it."""
    try:
        place, commit = open_repository(str(folder), revision or "HEAD", folder)
    except SourceError as error:
        hint = f"{error.hint}; --dirty takes the folder's files as a commit of their own"
        raise SourceError(error.what, where=error.where, hint=hint) from error
    notes = [f"{revision or 'HEAD'} is {commit}"] if revision != commit else []
    if (folder / ".git").exists():
        count = _uncommitted(folder, place)
        files = "file is" if count == 1 else "files are"
        if count:
            notes.append(f"{count} uncommitted {files} left out; --dirty takes them")
    return _Taken(place=place, commit=commit, notes=tuple(notes))


def _uncommitted(folder: Path, place: Path) -> int:
    """Files that differ from HEAD or that git does not know, ignored ones apart."""
    with tempfile.TemporaryDirectory(prefix="fairtrial-") as scratch:
        return _look(folder, place, Path(scratch) / "look.git").uncommitted()


def _as_it_is(folder: Path, state: Path) -> _Taken:
    """The folder's files as a commit in a repository of ours; HEAD if nothing is uncommitted."""
    place = _repository_of(folder)
    with tempfile.TemporaryDirectory(prefix="fairtrial-") as scratch:
        look = _look(folder, place, Path(scratch) / "look.git")
        count = look.uncommitted()
        if not count and look.head:
            return _Taken(place=look.place, commit=look.head, notes=("nothing is uncommitted",))
        commit = look.commit()
        taken = _cache(state) / f"taken-{commit}.git"
        if not taken.exists():
            taken.parent.mkdir(parents=True, exist_ok=True)
            Remote(url=str(look.git_folder)).fetch_commit(commit, taken)
    what = f"{count} uncommitted files of it" if look.head else "no git repository: its files"
    return _Taken(place=taken, commit=commit, notes=(f"{what} are taken as commit {commit}",))


def _repository_of(folder: Path) -> Path | None:
    try:
        return object_folder(folder)
    except SourceError:
        return None


@dataclass(frozen=True, kw_only=True)
class _Look:
    """A folder through a git directory of ours: nothing is written to the user's."""

    git_folder: Path
    folder: Path
    place: Path
    head: CommitSha | None

    def uncommitted(self) -> int:
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


# --- by its label -------------------------------------------------------------------------------


def remember(project: Path, label: str, folder: Path) -> Path:
    """Note where a label's repository is; the file that says so."""
    known = {**_known(project), label: str(folder.resolve())}
    lines = [f"  {name}: {_quoted(path)}\n" for name, path in sorted(known.items())]
    write_whole(project / LOCAL, _HEAD + "repositories:\n" + "".join(lines))
    return project / LOCAL


def label_of(project: Path, repo: str, asked: str) -> str:
    """What a folder is called in tracked files: as asked, as before, or by a number of our own.

    Never by the folder's name, which may be nobody's business. Raises FairtrialError if the label
    is another folder's.
    """
    known, folder = _known(project), str(Path(repo).resolve())
    if asked and known.get(asked, folder) != folder:
        hint = f"choose another with --label, or mend {LOCAL}"
        raise FairtrialError(f"{asked} is {known[asked]} already", where="--label", hint=hint)
    if asked:
        return asked
    for label, path in known.items():
        if path == folder:
            return label
    numbered = (f"own-{number}" for number in itertools.count(2))
    return next(label for label in ("own", *itertools.islice(numbered, 99)) if label not in known)


def history_of(
    own: OwnRepository, repo: str, state: Path, environ: Mapping[str, str] | None
) -> Path:
    """A git directory with the commits before the source's: the user's, or a URL's fetched here."""
    if own.folder is not None:
        return open_repository(repo, own.commit, state)[0]
    folder = _cache(state) / f"history-{digest_of(own.source.url)[:12]}.git"
    if not folder.exists():
        run_git(git_at(folder), "init", "--quiet", "--bare", "--template=")
    remote = Remote(url=own.source.url, environ=environ)
    remote.fetch(folder, f"+{own.commit}:refs/heads/{own.commit}")
    return folder


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


def _known(project: Path) -> Mapping[str, str]:
    if not (project / LOCAL).is_file():
        return {}
    text = read_text(project / LOCAL, where=LOCAL, limit_bytes=512 * 1024)
    return parse_yaml(text, LocalRepositories, where=LOCAL).repositories


def open_source(  # noqa: PLR0913 - fetch_source's own, and where labels are looked up
    source: Source,
    *,
    project: Path,
    cache: Path,
    pins: Mapping[str, RepoPin] | None,
    environ: Mapping[str, str] | None = None,
    npm: Npm | None = None,
) -> Repository:
    """As `fetch_source`; a `local:` one from where this machine has it.

    Raises SourceError if nothing here says where that is, or if the commit is not there.
    """
    if not isinstance(source, GitSource) or source.local_label is None:
        return fetch_source(source, cache=cache, pins=pins, environ=environ, npm=npm)
    place = _place_of(source, project, cache)
    if pins is not None:
        pins = {_at(source, place).label: pins[source.label]} if source.label in pins else {}
    return _fetch(source, place, cache, environ, pins)


def _fetch(
    source: GitSource,
    place: Path,
    cache: Path,
    environ: Mapping[str, str] | None,
    pins: Mapping[str, RepoPin] | None = None,
) -> Repository:
    return fetch_source(_at(source, place), cache=cache, pins=pins, environ=environ)


def _at(source: GitSource, place: Path) -> GitSource:
    return source.model_copy(update={"url": str(place)})


def _place_of(source: GitSource, project: Path, cache: Path) -> Path:
    """A repository of this machine that holds the commit."""
    label = source.local_label or ""
    folder = _known(project).get(label)
    if folder is None or not Path(folder).is_dir():
        hint = (
            f"write `{label}: /path/to/the/clone` under `repositories:` in {LOCAL}, which git"
            " ignores; that clone has to hold the commit"
        )
        raise SourceError(f"no folder of this machine is {LOCAL_SCHEME}{label}", hint=hint)
    taken = cache / f"taken-{source.commit}.git"
    if taken.is_dir():
        return taken
    try:
        return open_repository(folder, source.commit, cache)[0]
    except SourceError as error:
        again = _as_it_is(Path(folder), cache.parent)
        if again.commit == source.commit:
            return again.place
        hint = f"{error.hint}; if it was taken with --dirty, the files have changed since"
        raise SourceError(error.what, where=error.where, hint=hint) from error
