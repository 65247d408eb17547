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
from runner.records import (
    CommitSha,
    GitSource,
    RepoPin,
    Source,
    canonical_json,
    digest_of,
    parse_json,
)

if TYPE_CHECKING:  # slow to import; a verb that needs no git must not pay
    import git

FETCH_TIMEOUT_SEC = 900
GIT_TIMEOUT_SEC = 300
EPOCH = 946_684_800
"""2000-01-01T00:00:00Z: every date we write, so that equal sources give equal bytes."""
_IDENTITY = b"fairtrial <fairtrial@localhost> %d +0000" % EPOCH
_ALONE = {
    # The user's own configuration could change what is stored (filters, line ends, signing), and
    # so the commit.
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "0",
    "GIT_CONFIG_PARAMETERS": "",
    # A partial clone would fetch what it lacks, or ask for a password, while it is only being read.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
_FETCHING = {
    # The user's own configuration counts here: proxies, credentials.
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",  # An `ext::` URL would run a command.
    "GIT_TERMINAL_PROMPT": "0",  # A prompt would wait for ever.
    "GIT_ASKPASS": "true",
}
_FETCH_SETTINGS = (
    "protocol.version=2",
    "fetch.unpackLimit=1",
    f"core.hooksPath={os.devnull}",
    "gc.auto=0",
    "fetch.writeCommitGraph=false",
)
SUBMODULE = "160000"


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A bare repository that holds one commit, its trees and blobs, and nothing else."""

    path: Path
    """The git directory."""
    commit: CommitSha
    tree: CommitSha
    files: int
    """Files and links, without submodules."""

    @property
    def pin(self) -> RepoPin:
        return RepoPin(commit=self.commit, tree=self.tree, files=self.files)


# --- git ----------------------------------------------------------------------------------------


def git_at(folder: Path, **environment: str) -> git.Git:
    """git on a bare repository, blind to the GIT_* variables around it.

    Unless an environment is given, it is blind to the user's configuration too. Raises SourceError
    if there is no git on this machine.
    """
    # A hook that runs us sets GIT_DIR, and every git below it would work on the hook's repository.
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
        hint = "install it, e.g. `apt-get install git`"
        raise SourceError("git is not installed", hint=hint) from error
    runner = git.Git(str(folder))
    runner.update_environment(**environment)
    return runner


def run_git(
    runner: git.Git,
    *arguments: str,
    timeout_sec: float = GIT_TIMEOUT_SEC,
    stdin: IO[bytes] | None = None,
) -> str:
    """A git command's stdout as text, stripped. Raises SourceError as `git_output` does."""
    output = git_output(runner, *arguments, timeout_sec=timeout_sec, stdin=stdin)
    return output.decode("utf-8", "replace").strip()


def git_output(
    runner: git.Git,
    *arguments: str,
    timeout_sec: float = GIT_TIMEOUT_SEC,
    stdin: IO[bytes] | None = None,
) -> bytes:
    """A git command's stdout. Raises SourceError with the end of its stderr, passwords blanked."""
    from git.exc import GitCommandError  # noqa: PLC0415 - see git_at

    try:
        return runner.execute(
            ["git", *arguments],
            kill_after_timeout=timeout_sec,
            istream=cast("BinaryIO | None", stdin),
            stdout_as_string=False,
        )
    except GitCommandError as error:
        message = str(error.stderr).strip().removeprefix("stderr: ").strip("'\n ")
        # e.g. fatal: unable to access 'https://user:secret@host/x'
        message = re.sub(r"//[^/@\s]+@", "//…@", message)
        raise SourceError(f"git {_verb(arguments)} failed: {message[-600:]}") from error


def _verb(arguments: Sequence[str]) -> str:
    """`fetch` of `-c gc.auto=0 fetch --quiet …`."""
    for word in arguments:
        if not word.startswith("-") and "=" not in word:
            return word
    return ""


@dataclass(frozen=True, kw_only=True)
class TreeEntry:
    """A file, link or submodule of a commit."""

    mode: str
    """git's: 100644, 100755, 120000 (a link), 160000 (a submodule)."""
    sha: str
    path: str
    """From the repository's top; bytes that are not UTF-8 are surrogate escapes."""


def tree_entries(folder: Path, commit: str) -> Iterator[TreeEntry]:
    """Every file, link and submodule of the commit, sorted by path as git sorts an index."""
    listing = git_output(git_at(folder), "ls-tree", "-r", "-z", "--full-tree", commit)
    for record in listing.split(b"\0"):
        if record:  # Nothing comes after the last zero byte.
            head, _, path = record.partition(b"\t")
            mode, _, sha = head.decode().split(" ")
            yield TreeEntry(mode=mode, sha=sha, path=path.decode("utf-8", "surrogateescape"))


def _new_repository(folder: Path) -> git.Git:
    """By hand: `git init` obeys templates, default hashes and GIT_WORK_TREE."""
    for name in ("objects/pack", "refs/heads"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    config = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
    (folder / "config").write_text(config, encoding="ascii")
    return git_at(folder)


def _describe(folder: Path) -> Repository:
    """What a repository's `main` is. Raises SourceError if it is not a commit."""
    runner = git_at(folder)
    commit = run_git(runner, "rev-parse", "--verify", "--quiet", "refs/heads/main^{commit}")
    tree = run_git(runner, "rev-parse", "--verify", f"{commit}^{{tree}}")
    files = sum(entry.mode != SUBMODULE for entry in tree_entries(folder, commit))
    return Repository(path=folder, commit=commit, tree=tree, files=files)


# --- a source becomes a repository --------------------------------------------------------------


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
    """The source as a repository with that single commit, from the cache if it is there.

    `pins` is what locks/repos.lock holds, by the source's label; None asks for no check (to make
    the lock). `environ`: for what fetches. Raises SourceError if the download failed or is unsafe,
    LockError if it is not what the lock says.
    """
    folder = cache.resolve() / _folder_name(source)
    if not folder.exists():
        with _renamed_when_done(folder) as fresh:
            _fill(source, fresh, environ, npm)
    try:
        repository = _describe(folder)
    except SourceError as error:
        raise _spoilt(folder, f"is damaged: {error.what}") from error
    if isinstance(source, GitSource) and repository.commit != source.commit:
        raise _spoilt(folder, f"holds {repository.commit}, not {source.commit}")
    if pins is not None:
        _check_pin(source, repository, pins)
    return repository


def _folder_name(source: Source) -> str:
    """A name that people recognise, and that no other source has."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", source.label)[-60:].strip("-")
    return f"{readable}-{digest_of(source)[:12]}.git"


def _spoilt(folder: Path, what: str) -> LockError:
    return LockError(what, where=str(folder), hint="remove that folder; it is fetched again")


@contextlib.contextmanager
def _renamed_when_done(folder: Path) -> Iterator[Path]:
    """A path that becomes `folder` at the end: a killed fetch leaves no half that looks whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder.parent) as scratch:
        fresh = Path(scratch) / "repository.git"
        yield fresh
        with contextlib.suppress(OSError):  # another process was quicker: its copy is as good
            fresh.rename(folder)
        if not folder.exists():
            hint = "is the disk full, or the folder read-only?"
            raise SourceError("cannot be written", where=str(folder), hint=hint)


def _fill(source: Source, fresh: Path, environ: Mapping[str, str] | None, npm: Npm | None) -> None:
    try:
        if isinstance(source, GitSource):
            _fetch_commit(source, fresh, environ)
        else:
            with tempfile.TemporaryDirectory(prefix="fairtrial-") as scratch:
                archive = download(source, Path(scratch), environ=environ, npm=npm)
                _import_archive(archive, fresh, message=source.label)
    except SourceError as error:
        raise SourceError(error.what, where=error.where or source.label, hint=error.hint) from error
    except OSError as error:
        hint = "is the disk full?"
        raise SourceError(f"cannot be written: {error}", where=source.label, hint=hint) from error


def _check_pin(source: Source, repository: Repository, pins: Mapping[str, RepoPin]) -> None:
    if source.label not in pins:
        hint = "run `fairtrial lock` and commit locks/repos.lock"
        raise LockError("is not locked", where=source.label, hint=hint)
    found = repository.pin.model_dump()
    differences = []
    for key, locked in pins[source.label].model_dump().items():
        if found[key] != locked:
            differences.append(f"{key} is {found[key]}, but locked as {locked}")
    if differences:
        hint = (
            f"remove {repository.path} to fetch it anew;"
            " if the source's change is meant, run `fairtrial lock`"
        )
        raise LockError("; ".join(differences), where=source.label, hint=hint)


# --- from a remote ------------------------------------------------------------------------------


def _fetch_commit(source: GitSource, fresh: Path, environ: Mapping[str, str] | None) -> None:
    """That commit alone, with nothing that came before or after it."""
    runner = _new_repository(fresh)
    only = [f"{source.commit}:refs/heads/main"]
    try:
        _fetch_refs(fresh, source.url, only, environ, "--depth=1")
    except SourceError as refusal:
        # Some remotes hand out branches and tags only: fetch all, and the one commit from there.
        with tempfile.TemporaryDirectory(prefix=".all-", dir=fresh.parent) as scratch:
            everything = Path(scratch) / "all.git"
            _fetch_all(everything, source, environ, refusal)
            _fetch_refs(fresh, str(everything), only, environ, "--depth=1")
    run_git(runner, "rev-parse", "--verify", f"{source.commit}^{{commit}}")


def _fetch_all(
    folder: Path, source: GitSource, environ: Mapping[str, str] | None, refusal: SourceError
) -> None:
    """Every branch and tag. Raises SourceError if no commit of that SHA is among them."""
    runner = _new_repository(folder)
    refspecs = ["+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*"]
    _fetch_refs(folder, source.url, refspecs, environ)
    run_git(runner, "config", "uploadpack.allowAnySHA1InWant", "true")
    try:
        kind = run_git(runner, "cat-file", "-t", source.commit)
    except SourceError:
        raise SourceError(
            f"has no commit {source.commit}",
            where=source.url,
            hint="no branch or tag of it leads there: was it force-pushed away?"
            " `git ls-remote` shows what there is",
        ) from refusal
    if kind != "commit":
        hint = f"if it is a tag, `git rev-parse {source.commit[:12]}^{{commit}}` gives its commit"
        raise SourceError(f"{source.commit} is a {kind}, not a commit", where=source.url, hint=hint)


def _fetch_refs(
    folder: Path,
    url: str,
    refspecs: Sequence[str],
    environ: Mapping[str, str] | None,
    *options: str,
) -> None:
    runner = git_at(folder, **{**(environ or {}), **_FETCHING})
    command: list[str] = []
    for setting in _FETCH_SETTINGS:
        command += ["-c", setting]
    command += ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"]
    command += ["--no-write-fetch-head", *options]
    # After `--`, a URL such as `--upload-pack=command` is no option.
    run_git(runner, *command, "--", url, *refspecs, timeout_sec=FETCH_TIMEOUT_SEC)


# --- from an archive ----------------------------------------------------------------------------


def _import_archive(archive: Path, fresh: Path, *, message: str) -> None:
    """As one commit with fixed author, date and message: the same SHA on every machine."""
    runner = _new_repository(fresh)
    with tempfile.TemporaryFile(dir=archive.parent) as stream:
        _write_import(stream, read_archive(archive), message.encode())
        stream.seek(0)
        run_git(runner, "-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", stdin=stream)


def _write_import(stream: IO[bytes], members: Iterable[Member], message: bytes) -> None:
    """In the language of git-fast-import: every blob, then the commit."""
    marks: dict[str, int] = {}
    changes: list[bytes] = []
    for number, member in enumerate(members, start=1):
        if member.same_as:
            marks[member.path] = marks[member.same_as]
        else:
            marks[member.path] = number
            stream.write(b"blob\nmark :%d\ndata %d\n%b\n" % (number, len(member.data), member.data))
        # e.g. M 100644 :1 "odd \"name\".py"
        quoted = member.path.replace("\\", "\\\\").replace('"', '\\"').encode()
        changes.append(b'M %b :%d "%b"\n' % (member.mode.encode(), marks[member.path], quoted))
    stream.write(b"commit refs/heads/main\nauthor %b\ncommitter %b\n" % (_IDENTITY, _IDENTITY))
    stream.write(b"data %d\n%b\n" % (len(message), message))
    stream.writelines(changes)


# --- a repository named on the command line -----------------------------------------------------


def open_repository(
    path_or_url: str, commit: str, cache: Path, *, environ: Mapping[str, str] | None = None
) -> tuple[Path, str]:
    """The git directory to read the commit from, and the commit's full SHA.

    A local repository is read where it is, and a commit's first seven digits or more will do if
    they are its alone; a URL is fetched to the cache. Raises SourceError if there is no such
    repository, or no such commit in it.
    """
    if Path(path_or_url).is_dir():
        _check_sha(commit, fewest_digits=7)
        return _open_local(path_or_url, commit)
    _check_sha(commit, fewest_digits=40)
    # Through the record's own checks: they refuse a password in the URL.
    written = canonical_json({"kind": "git", "url": path_or_url, "commit": commit})
    source = parse_json(written, GitSource, where="--repo")
    return fetch_source(source, cache=cache, pins=None, environ=environ).path, commit


def _check_sha(commit: str, *, fewest_digits: int) -> None:
    if not re.fullmatch(rf"[0-9a-f]{{{fewest_digits},40}}", commit):
        hint = "`git rev-parse` gives the 40 digits; a branch or tag can move"
        raise SourceError(f"{commit!r} is not a full commit SHA", hint=hint)


def _open_local(path: str, commit: str) -> tuple[Path, str]:
    git_at(Path(path))  # says so if git is missing
    from git import Repo  # noqa: PLC0415 - see git_at
    from git.exc import InvalidGitRepositoryError  # noqa: PLC0415 - see git_at

    try:
        repo = Repo(path)
    except InvalidGitRepositoryError as error:
        hint = "give its top folder, or a URL"
        raise SourceError("not a git repository", where=path, hint=hint) from error
    # In a partial clone git would go and fetch what is missing, from wherever the clone says.
    repo.git.update_environment(GIT_DIR=str(repo.git_dir), GIT_NO_LAZY_FETCH="1")
    try:
        found = run_git(
            repo.git, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}"
        )
        full = found.splitlines()[-1]  # Before git 2.30, `--end-of-options` comes out first.
        run_git(repo.git, "cat-file", "-e", f"{full}^{{tree}}")
    except SourceError as error:
        message = f"has no commit {commit}, or several ({error.what})"
        hint = "`git fetch` it there first; a shallow clone may lack it"
        raise SourceError(message, where=path, hint=hint) from error
    return Path(repo.git_dir), full
