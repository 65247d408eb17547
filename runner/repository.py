"""A source becomes a git repository with one commit. The home of git: nobody else runs it.

No file of a source is ever unpacked or checked out on this machine, so neither its paths, links,
attributes, filters nor hooks can act here: archives are streamed into git's object store.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from runner.archives import Member, Npm, download, read_archive
from runner.errors import LockError, SourceError
from runner.records import GitSource, RepoPin, Source, canonical_json, digest_of, parse_json

if TYPE_CHECKING:  # slow to import; a verb that needs no git must not pay
    import git

FETCH_TIMEOUT_SEC = 900
GIT_TIMEOUT_SEC = 300
EPOCH = 946_684_800
"""2000-01-01T00:00:00Z: every date we write, so that equal sources give equal bytes."""
_IDENTITY = f"fairtrial <fairtrial@localhost> {EPOCH} +0000"
_ALONE = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "0",
    "GIT_CONFIG_PARAMETERS": "",
    # A partial clone would fetch what it lacks, or ask for a password, while it is only being read.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
"""The user's git configuration could change what is stored (filters, line ends, signing), and so the commit."""
_FETCHING = {
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
}
"""`ext::` URLs run commands, and a prompt would wait for ever. The user's own configuration counts here: proxies, credentials."""


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A bare repository that holds one commit, its trees and blobs, and nothing else."""

    path: Path
    """The git directory."""
    commit: str
    tree: str
    files: int

    @property
    def pin(self) -> RepoPin:
        return RepoPin(commit=self.commit, tree=self.tree, files=self.files)


def git_at(folder: Path, **environment: str) -> git.Git:
    """git on a bare repository, blind to GIT_* variables around it and, unless told otherwise, to the user's configuration."""
    place = {
        "GIT_DIR": str(folder),
        "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
    }
    return _git(folder, {**(environment or _ALONE), **place})


def git_of_checkout(root: Path) -> git.Git:
    """git on a checkout's own repository, with the user's configuration: it says how lines end."""
    # Named, or a GIT_DIR that a hook left behind would lead to another repository. In a worktree
    # `.git` is a file; git follows it.
    return _git(root, {"GIT_DIR": str(root / ".git"), "GIT_WORK_TREE": str(root)})


def _git(folder: Path, environment: Mapping[str, str]) -> git.Git:
    try:
        import git  # noqa: PLC0415 - 0.2 s that `--help` does not need
    except ImportError as error:  # GitPython's own word for: no git executable
        raise SourceError(
            "git is not installed", hint="install it, e.g. `apt-get install git`"
        ) from error
    runner = git.Git(str(folder))
    runner.update_environment(**environment)
    return runner


def run_git(
    runner: git.Git,
    *arguments: str,
    timeout_sec: float = GIT_TIMEOUT_SEC,
    stdin: IO[bytes] | None = None,
) -> str:
    """A git command's stdout, stripped. Raises SourceError with the end of what git said, any password in it blanked."""
    return (
        git_output(runner, *arguments, timeout_sec=timeout_sec, stdin=stdin)
        .decode("utf-8", "replace")
        .strip()
    )


def git_output(
    runner: git.Git,
    *arguments: str,
    timeout_sec: float = GIT_TIMEOUT_SEC,
    stdin: IO[bytes] | None = None,
) -> bytes:
    from git.exc import GitCommandError  # noqa: PLC0415 - see _git

    try:
        output = runner.execute(
            ["git", *arguments],
            kill_after_timeout=timeout_sec,
            istream=cast("BinaryIO | None", stdin),
            stdout_as_string=False,
        )
        return output
    except GitCommandError as error:
        said = re.sub(
            r"//[^/@\s]+@", "//…@", str(error.stderr).strip().removeprefix("stderr: ").strip("'\n ")
        )
        verb = next(word for word in arguments if not word.startswith("-") and "=" not in word)
        raise SourceError(f"git {verb} failed: {said[-600:]}") from error


def _new_repository(folder: Path) -> git.Git:
    """By hand: `git init` obeys templates, default hashes and GIT_WORK_TREE."""
    for name in ("objects/pack", "refs/heads"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    (folder / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n\tbare = true\n", encoding="ascii"
    )
    return git_at(folder)


def _describe(folder: Path) -> Repository:
    """What a repository's `main` is. Raises SourceError where it is not a commit."""
    runner = git_at(folder)
    commit = run_git(runner, "rev-parse", "--verify", "--quiet", "refs/heads/main^{commit}")
    tree = run_git(runner, "rev-parse", "--verify", f"{commit}^{{tree}}")
    return Repository(
        path=folder,
        commit=commit,
        tree=tree,
        files=sum(1 for entry in tree_entries(folder, commit) if entry.mode != "160000"),
    )


@dataclass(frozen=True)
class TreeEntry:
    mode: str
    sha: str
    path: str


def tree_entries(folder: Path, commit: str) -> Iterator[TreeEntry]:
    """Every file, link and submodule of the commit, sorted by path as git sorts an index."""
    for record in git_output(git_at(folder), "ls-tree", "-r", "-z", "--full-tree", commit).split(
        b"\0"
    ):
        if record:
            head, _, path = record.partition(b"\t")
            mode, _, sha = head.decode().split(" ")
            yield TreeEntry(mode, sha, path.decode("utf-8", "surrogateescape"))


def object_folder(path: Path) -> Path:
    """The git directory with a local repository's objects: a linked worktree's own has none.

    Raises SourceError if there is no repository at the path.
    """
    git_at(path)  # says so if git is missing
    from git import Repo  # noqa: PLC0415 - see git_at
    from git.exc import InvalidGitRepositoryError, NoSuchPathError  # noqa: PLC0415 - see git_at

    try:
        return Path(Repo(path).common_dir)
    except (InvalidGitRepositoryError, NoSuchPathError) as error:
        hint = "give the path of a clone, or a URL that git can clone"
        raise SourceError("not a git repository", where=str(path), hint=hint) from error


def fetch_source(
    source: Source,
    *,
    cache: Path,
    pins: Mapping[str, RepoPin] | None,
    environ: Mapping[str, str] | None = None,
    npm: Npm | None = None,
) -> Repository:
    """The source as a repository with that single commit, from the cache where it is there.

    `pins` is what locks/repos.lock holds, by the source's label; None asks for no check (to make the lock). `environ`: for what fetches.
    Raises SourceError where the source cannot be had or is unsafe, LockError where it is not what the lock says.
    """
    folder = (
        cache.resolve()
        / f"{re.sub(r'[^A-Za-z0-9.]+', '-', source.label)[-60:].strip('-')}-{digest_of(source)[:12]}.git"
    )
    if not folder.exists():
        with _renamed_when_done(folder) as fresh:
            _fill(source, fresh, environ, npm)
    try:
        repository = _describe(folder)
    except SourceError as error:
        raise LockError(
            f"is damaged: {error.what}",
            where=str(folder),
            hint="remove that folder; it is fetched again",
        ) from error
    _check(source, repository, pins)
    return repository


@contextlib.contextmanager
def _renamed_when_done(folder: Path) -> Iterator[Path]:
    """A path beside `folder` that becomes it at the end: a killed fetch leaves no half repository that looks whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder.parent) as scratch:
        fresh = Path(scratch) / "repository.git"
        yield fresh
        with contextlib.suppress(OSError):  # another process was quicker: its copy is as good
            fresh.rename(folder)
        if not folder.exists():
            raise SourceError(
                "cannot be written",
                where=str(folder),
                hint="is the disk full, or the folder read-only?",
            )


def _fill(source: Source, fresh: Path, environ: Mapping[str, str] | None, npm: Npm | None) -> None:
    try:
        if isinstance(source, GitSource):
            _fetch_commit(source, fresh, environ)
        else:
            with tempfile.TemporaryDirectory(prefix="fairtrial-") as scratch:
                _import_archive(
                    download(source, Path(scratch), environ=environ, npm=npm),
                    fresh,
                    message=source.label,
                )
    except SourceError as error:
        raise SourceError(error.what, where=error.where or source.label, hint=error.hint) from error
    except OSError as error:
        raise SourceError(
            f"cannot be written: {error}", where=source.label, hint="is the disk full?"
        ) from error


def _check(source: Source, repository: Repository, pins: Mapping[str, RepoPin] | None) -> None:
    if isinstance(source, GitSource) and repository.commit != source.commit:
        hint = "remove that folder; it is fetched again"
        raise LockError(
            f"holds {repository.commit}, not {source.commit}", where=str(repository.path), hint=hint
        )
    if pins is None:
        return
    if source.label not in pins:
        raise LockError(
            "is not locked",
            where=source.label,
            hint="run `fairtrial lock` and commit locks/repos.lock",
        )
    pin = pins[source.label]
    differences = [
        f"{key} is {found}, but locked as {said}"
        for key, said in pin.model_dump().items()
        if said != (found := repository.pin.model_dump()[key])
    ]
    if differences:
        hint = f"remove {repository.path} to fetch it anew; if the source's change is meant, run `fairtrial lock`"
        raise LockError("; ".join(differences), where=source.label, hint=hint)


def _fetch_commit(source: GitSource, fresh: Path, environ: Mapping[str, str] | None) -> None:
    """That commit alone; where the remote hands out branches and tags only, all of them first, and the one commit from there."""
    runner, only = _new_repository(fresh), [f"{source.commit}:refs/heads/main"]
    try:
        _fetch_refs(fresh, source.url, only, environ, "--depth=1")
    except SourceError as first:
        with tempfile.TemporaryDirectory(prefix=".all-", dir=fresh.parent) as scratch:
            everything = Path(scratch) / "all.git"
            _fetch_all(everything, source, environ, first)
            _fetch_refs(fresh, str(everything), only, environ, "--depth=1")
    run_git(runner, "rev-parse", "--verify", f"{source.commit}^{{commit}}")


def _fetch_all(
    folder: Path, source: GitSource, environ: Mapping[str, str] | None, first: SourceError
) -> None:
    runner = _new_repository(folder)
    _fetch_refs(
        folder,
        source.url,
        ["+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*"],
        environ,
    )
    run_git(runner, "config", "uploadpack.allowAnySHA1InWant", "true")
    try:
        kind = run_git(runner, "cat-file", "-t", source.commit)
    except SourceError:
        hint = "no branch or tag of it leads there: was it force-pushed away? `git ls-remote` shows what there is"
        raise SourceError(f"has no commit {source.commit}", where=source.url, hint=hint) from first
    if kind != "commit":
        hint = (
            f"`git rev-parse {source.commit[:12]}^{{commit}}` gives the commit, where it is a tag"
        )
        raise SourceError(f"{source.commit} is a {kind}, not a commit", where=source.url, hint=hint)


def _fetch_refs(
    folder: Path,
    url: str,
    refspecs: Sequence[str],
    environ: Mapping[str, str] | None,
    *options: str,
) -> None:
    settings = (
        "protocol.version=2",
        "fetch.unpackLimit=1",
        f"core.hooksPath={os.devnull}",
        "gc.auto=0",
        "fetch.writeCommitGraph=false",
    )
    run_git(
        git_at(folder, **{**(environ or {}), **_FETCHING}),
        *(word for setting in settings for word in ("-c", setting)),
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
        *options,
        "--",
        url,
        *refspecs,
        timeout_sec=FETCH_TIMEOUT_SEC,
    )


def _import_archive(archive: Path, fresh: Path, *, message: str) -> None:
    """The archive as one commit with fixed author, date and message: the same SHA on every machine."""
    runner = _new_repository(fresh)
    with tempfile.TemporaryFile(dir=archive.parent) as stream:
        _write_import(stream, read_archive(archive), message.encode())
        stream.seek(0)
        run_git(runner, "-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", stdin=stream)


def _write_import(stream: IO[bytes], members: Iterable[Member], message: bytes) -> None:
    """In the language of git-fast-import: every blob, then the commit."""
    marks: dict[str, int] = {}
    lines: list[bytes] = []
    for number, member in enumerate(members, start=1):
        if member.same_as:
            marks[member.path] = marks[member.same_as]
        else:
            marks[member.path] = number
            stream.write(b"blob\nmark :%d\ndata %d\n%b\n" % (number, len(member.data), member.data))
        quoted = member.path.replace("\\", "\\\\").replace('"', '\\"').encode()
        lines.append(b'M %b :%d "%b"\n' % (member.mode.encode(), marks[member.path], quoted))
    who = _IDENTITY.encode()
    stream.write(
        b"commit refs/heads/main\nauthor %b\ncommitter %b\ndata %d\n%b\n"
        % (who, who, len(message), message)
    )
    stream.writelines(lines)


def open_repository(
    path_or_url: str, commit: str, cache: Path, *, environ: Mapping[str, str] | None = None
) -> tuple[Path, str]:
    """The git directory to read the commit from, and the commit's full SHA: a local repository's own, or the cache's for a URL.

    In a local repository seven digits or more will do where only one commit begins so. Raises SourceError where there is no such
    repository, or no such commit in it.
    """
    local = Path(path_or_url).is_dir()
    if not re.fullmatch(r"[0-9a-f]{7,40}" if local else r"[0-9a-f]{40}", commit):
        raise SourceError(
            f"{commit!r} is not a full commit SHA",
            hint="`git rev-parse` gives the 40 digits; a branch or tag can move",
        )
    if local:
        return _open_local(path_or_url, commit)
    source = parse_json(
        canonical_json({"kind": "git", "url": path_or_url, "commit": commit}),
        GitSource,
        where="--repo",
    )
    return fetch_source(source, cache=cache, pins=None, environ=environ).path, commit


def _open_local(path: str, commit: str) -> tuple[Path, str]:
    git_at(Path(path))  # says so where git is missing
    from git import Repo  # noqa: PLC0415 - see _git
    from git.exc import InvalidGitRepositoryError  # noqa: PLC0415 - see _git

    try:
        repo = Repo(path)
    except InvalidGitRepositoryError as error:
        raise SourceError(
            "not a git repository", where=path, hint="give its top folder, or a URL"
        ) from error
    repo.git.update_environment(GIT_DIR=str(repo.git_dir), GIT_NO_LAZY_FETCH="1")
    try:
        full = run_git(
            repo.git, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}"
        )
        run_git(repo.git, "cat-file", "-e", f"{full}^{{tree}}")
    except SourceError as error:
        hint = "`git fetch` it there first; a shallow clone may lack it"
        raise SourceError(
            f"has no commit {commit}, or several ({error.what})", where=path, hint=hint
        ) from error
    return Path(repo.git_dir), full.splitlines()[-1]
