"""A source becomes a git repository with one commit. The home of git: nobody else runs it.

No file of a source is ever unpacked or checked out on this machine, so neither its paths, links,
attributes, filters nor hooks can act here: archives are streamed into git's object store.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from runner.records import (
    CommitSha,
    GitSource,
    NpmSource,
    PypiSource,
    RepoPin,
    Source,
    canonical_json,
    digest_of,
    parse_json,
)
from runner.repositories.archives import ArchiveMember, RunNpm, download, read_archive
from runner.support.errors import LockError, SourceError

if TYPE_CHECKING:  # slow to import; a verb that needs no git must not pay
    import git

    GitRunner = git.Git
    from git.exc import GitCommandError

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
_AS_STORED = {
    # `git replace` and grafts show other content, or another past, under the name of what is there.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
}
_AS_WRITTEN = (
    # A commit-graph is a cache that git believes: a forged one gives commits other parents.
    *("-c", "core.commitGraph=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "advice.graftFileDeprecated=false"),
)
FETCHING = {
    # The user's own configuration counts here: proxies, credentials.
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",  # An `ext::` URL would run a command.
    "GIT_TERMINAL_PROMPT": "0",  # A prompt would wait for ever.
    "GIT_ASKPASS": "true",
}
_FETCH_SETTINGS = (
    *("-c", "protocol.version=2"),
    *("-c", "fetch.unpackLimit=1"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "gc.auto=0"),
    *("-c", "fetch.writeCommitGraph=false"),
)
_FETCH_FLAGS = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
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


def git_at(folder: Path, **environment: str) -> GitRunner:
    """git on a bare repository, blind to the GIT_* variables around it, its objects as stored.

    Unless an environment is given, it is blind to the user's configuration too. Raises SourceError
    if there is no git on this machine.
    """
    return _git(folder, {**(environment or _ALONE), **_place(folder, folder)})


@dataclass(frozen=True, kw_only=True)
class CleanGit:
    """git on a checkout's own objects, with no variable and no configuration from around it."""

    root: Path
    git_folder: Path
    common: Path
    """The git directory of all worktrees, with the objects."""

    def output(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """A plumbing command's stdout. Raises SourceError with the end of its stderr."""
        program = shutil.which("git")
        if program is None:
            raise _no_git()
        # No time limit: on a slow disk, a look that was cut short would pass for a clean history.
        done = subprocess.run(  # noqa: S603 - our own lists
            [program, *_AS_WRITTEN, *arguments],
            cwd=self.root,
            env=self._environment,
            input=stdin,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            complaint = done.stderr.decode("utf-8", "replace").strip()[-600:]
            raise SourceError(f"git {arguments[0]} failed: {complaint}", where=str(self.root))
        return done.stdout

    @property
    def _environment(self) -> dict[str, str]:
        # Everything else is left out: some GIT_* would have to be unset, which GitPython cannot.
        place = _place(self.git_folder, self.common)
        hidden_by_nobody = {"GIT_SHALLOW_FILE": os.devnull, "LC_ALL": "C"}
        return {**_ALONE, **place, **hidden_by_nobody}


def clean_git(root: Path) -> CleanGit:
    """Raises SourceError if there is no repository whose top the checkout is."""
    git_folder = _git_folder(root)
    return CleanGit(root=root, git_folder=git_folder, common=_common_folder(git_folder))


def blob_names(data: bytes) -> frozenset[str]:
    """By which a repository may hold these bytes: under SHA-1 and under SHA-256."""
    whole = b"blob %d\0%b" % (len(data), data)
    sha1 = hashlib.sha1(whole, usedforsecurity=False)  # git's own name for it
    return frozenset({sha1.hexdigest(), hashlib.sha256(whole).hexdigest()})


def _place(git_folder: Path, common: Path) -> dict[str, str]:
    """Every variable that could lead git to another repository, or to other objects of this one."""
    # A hook that runs us sets GIT_DIR, and every git below it would work on the hook's repository.
    return {
        "GIT_DIR": str(git_folder),
        "GIT_COMMON_DIR": str(common),
        "GIT_OBJECT_DIRECTORY": str(common / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
        "GIT_INDEX_FILE": str(git_folder / "index"),
        "GIT_CONFIG": str(common / "config"),
        "GIT_NAMESPACE": "",
        **_AS_STORED,
    }


def _git(folder: Path, environment: Mapping[str, str]) -> GitRunner:
    try:
        import git  # noqa: PLC0415 - 0.2 s that `--help` does not need
    except ImportError as error:  # GitPython's own word for: no git executable
        raise _no_git() from error
    runner = git.Git(str(folder))
    runner.update_environment(**environment)
    return runner


def _no_git() -> SourceError:
    hint = "install it, e.g. `apt-get install git`, or mend PATH"
    return SourceError("git is not installed", hint=hint)


def run_git(
    runner: GitRunner,
    *arguments: str,
    timeout_sec: float | None = GIT_TIMEOUT_SEC,
    stdin: IO[bytes] | None = None,
) -> str:
    """A git command's stdout as text, stripped. Raises SourceError as `git_output` does."""
    output = git_output(runner, *arguments, timeout_sec=timeout_sec, stdin=stdin)
    return output.decode("utf-8", "replace").strip()


def git_output(
    runner: GitRunner,
    *arguments: str,
    timeout_sec: float | None = GIT_TIMEOUT_SEC,
    stdin: IO[bytes] | None = None,
) -> bytes:
    """A git command's stdout. Raises SourceError with the end of its stderr, passwords blanked."""
    from git.exc import GitCommandError, GitCommandNotFound  # noqa: PLC0415 - see git_at

    try:
        return runner.execute(
            ["git", *arguments],
            kill_after_timeout=timeout_sec,
            istream=cast("BinaryIO | None", stdin),
            stdout_as_string=False,
        )
    except GitCommandNotFound as error:
        raise _no_git() from error
    except GitCommandError as error:
        message = f"git {_verb(arguments)} failed: {_complaint(error)}"
        raise SourceError(message) from error


def _complaint(error: GitCommandError) -> str:
    """The end of what git said."""
    text = str(error.stderr).strip().removeprefix("stderr: ").strip("'\n ")
    # e.g. fatal: unable to access 'https://user:secret@host/x'
    return re.sub(r"//[^/@\s]+@", "//…@", text)[-600:]


def _verb(arguments: Sequence[str]) -> str:
    """`fetch` of `-c gc.auto=0 fetch --quiet …`."""
    for word in arguments:
        if not word.startswith("-") and "=" not in word:
            return word
    return ""


def read_blob(runner: GitRunner, sha: str) -> bytes:
    """A blob's bytes, by the runner's held `cat-file --batch`.

    Raises KeyError if there is no such blob, ValueError if its bytes are not what its name says.
    """
    if len(sha) == _SHA256_DIGITS:  # GitPython's held process knows names of 40 digits alone
        return next(read_blobs(runner, [sha]))
    try:
        data = bytes(runner.get_object_data(sha)[3])
    except (ValueError, OSError) as error:  # what GitPython makes of a `cat-file` that died
        raise KeyError(sha) from error
    return _held_against(data, sha)


def read_blobs(runner: GitRunner, shas: Sequence[str]) -> Iterator[bytes]:
    """The bytes of many blobs, in order, by one process: ten times as fast as one after the other.

    Raises KeyError and ValueError as `read_blob` does.
    """
    with tempfile.TemporaryFile() as names:
        names.write("".join(f"{sha}\n" for sha in shas).encode())
        names.seek(0)
        output = git_output(runner, "cat-file", "--batch", stdin=names)
    at = 0
    for sha in shas:
        header = output[at : output.find(b"\n", at)]
        size = header.rpartition(b" ")[2]
        if not size.isdigit():  # `<sha> missing`
            raise KeyError(sha)
        begin = at + len(header) + 1
        at = begin + int(size) + 1
        yield _held_against(output[begin : at - 1], sha)


_SHA256_DIGITS = 64
"""Of an object's name in a repository that was made with `--object-format=sha256`."""


def _held_against(data: bytes, sha: str) -> bytes:
    """git itself does not check what it reads from a pack, or from a file of its own."""
    named = b"blob %d\0%b" % (len(data), data)
    digest = hashlib.sha256 if len(sha) == _SHA256_DIGITS else hashlib.sha1
    if digest(named, usedforsecurity=False).hexdigest() != sha:
        raise ValueError(sha)
    return data


@dataclass(frozen=True, kw_only=True)
class TreeEntry:
    """A file, link or submodule of a commit."""

    mode: str
    """git's: archives' REGULAR, EXECUTABLE, LINK, or SUBMODULE."""
    sha: str
    path: str
    """From the repository's top; bytes that are not UTF-8 are surrogate escapes."""


def tree_entries(folder: Path, commit: str) -> Iterator[TreeEntry]:
    """Every file, link and submodule of the commit, sorted by path as git sorts an index."""
    listing = git_output(git_at(folder), "ls-tree", "-r", "-z", "--full-tree", commit)
    for record in listing.split(b"\0"):
        if record:  # Nothing comes after the last zero byte.
            yield _tree_entry(record)


def _tree_entry(record: bytes) -> TreeEntry:
    # e.g. 100644 blob 8baef1b4abc478178b004d62031cf7fe6db6f903<tab>src/app.py
    head, _, path = record.partition(b"\t")
    mode, _, sha = head.decode().split(" ")
    return TreeEntry(mode=mode, sha=sha, path=path.decode("utf-8", "surrogateescape"))


def _new_repository(folder: Path) -> GitRunner:
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


def fetch_source(
    source: Source,
    *,
    cache: Path,
    pins: Mapping[str, RepoPin] | None,
    environ: Mapping[str, str] | None = None,
    npm: RunNpm | None = None,
) -> Repository:
    """The source as a repository with that single commit, from the cache if it is there.

    `pins` is what locks/repos.lock holds, by the source's label; None asks for no check (to make
    the lock). `environ`: for what fetches. Raises SourceError if the download failed or is unsafe,
    LockError if it is not what the lock says.
    """
    folder = cache.resolve() / _folder_name(source)
    if not folder.exists():
        with renamed_when_done(folder) as fresh:
            _fill(source, fresh, environ, npm)
    repository = _read_cached(source, folder)
    if pins is not None:
        _check_pin(source, repository, pins)
    return repository


def _read_cached(source: Source, folder: Path) -> Repository:
    """Raises LockError if it is not what was fetched: caches are edited, and disks fail."""
    try:
        repository = _describe(folder)
    except SourceError as error:
        raise _spoilt(folder, f"is damaged: {error.what}") from error
    if isinstance(source, GitSource) and repository.commit != source.commit:
        raise _spoilt(folder, f"holds {repository.commit}, not {source.commit}")
    return repository


def _folder_name(source: Source) -> str:
    """A name that people recognise, and that no other source has."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", source.label)[-60:].strip("-")
    return f"{readable}-{digest_of(source)[:12]}.git"


def _spoilt(folder: Path, what: str) -> LockError:
    return LockError(what, where=str(folder), hint="remove that folder; it is fetched again")


@contextlib.contextmanager
def renamed_when_done(folder: Path) -> Iterator[Path]:
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


def _fill(
    source: Source, fresh: Path, environ: Mapping[str, str] | None, npm: RunNpm | None
) -> None:
    """Raises SourceError, the source named in it."""
    try:
        if isinstance(source, GitSource):
            Remote(url=source.url, environ=environ).fetch_commit(source.commit, fresh)
        else:
            _fill_from_archive(source, fresh, environ, npm)
    except SourceError as error:
        where = error.where or source.label
        raise SourceError(error.what, where=where, hint=error.hint) from error
    except OSError as error:
        hint = "is the disk full?"
        raise SourceError(f"cannot be written: {error}", where=source.label, hint=hint) from error


def _fill_from_archive(
    source: PypiSource | NpmSource,
    fresh: Path,
    environ: Mapping[str, str] | None,
    npm: RunNpm | None,
) -> None:
    with tempfile.TemporaryDirectory(prefix="fairtrial-") as scratch:
        archive = download(source, Path(scratch), environ=environ, npm=npm)
        _import_archive(archive, fresh, message=source.label)


def _check_pin(source: Source, repository: Repository, pins: Mapping[str, RepoPin]) -> None:
    if source.label not in pins:
        hint = "run `fairtrial lock` and commit locks/repos.lock"
        raise LockError("is not locked", where=source.label, hint=hint)
    differences = "; ".join(_differences(pins[source.label], repository.pin))
    if differences:
        hint = (
            f"remove {repository.path} to fetch it anew;"
            " if the source's change is meant, run `fairtrial lock`"
        )
        raise LockError(differences, where=source.label, hint=hint)


def _differences(locked: RepoPin, found: RepoPin) -> Iterator[str]:
    for key, locked_value in locked.model_dump().items():
        value = getattr(found, key)
        if value != locked_value:
            yield f"{key} is {value}, but locked as {locked_value}"


# --- from a remote ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Remote:
    """A repository elsewhere, and the environment that git reaches it with."""

    url: str
    environ: Mapping[str, str] | None = None

    def fetch_commit(self, commit: CommitSha, folder: Path) -> None:
        """That commit alone as a new repository's `main`, with nothing from before or after it."""
        runner = _new_repository(folder)
        refspec = f"{commit}:refs/heads/main"
        try:
            self.fetch(folder, refspec, depth=1)
        except SourceError as refusal:
            # Some remotes hand out branches and tags only: fetch all, and the commit from there.
            with tempfile.TemporaryDirectory(prefix=".all-", dir=folder.parent) as scratch:
                everything = Path(scratch) / "all.git"
                self._fetch_all(everything, commit, refusal)
                here = replace(self, url=str(everything))
                here.fetch(folder, refspec, depth=1)
        run_git(runner, "rev-parse", "--verify", f"{commit}^{{commit}}")

    def _fetch_all(self, folder: Path, commit: CommitSha, refusal: SourceError) -> None:
        """Every branch and tag. Raises SourceError if the commit is not among what they lead to."""
        runner = _new_repository(folder)
        self.fetch(folder, "+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*")
        run_git(runner, "config", "uploadpack.allowAnySHA1InWant", "true")
        try:
            kind = run_git(runner, "cat-file", "-t", commit)
        except SourceError:
            raise self._no_commit(commit) from refusal
        if kind != "commit":
            hint = f"if it is a tag, `git rev-parse {commit[:12]}^{{commit}}` gives its commit"
            raise SourceError(f"{commit} is a {kind}, not a commit", where=self.url, hint=hint)

    def _no_commit(self, commit: CommitSha) -> SourceError:
        hint = (
            "no branch or tag of it leads there: was it force-pushed away?"
            " `git ls-remote` shows what there is"
        )
        return SourceError(f"has no commit {commit}", where=self.url, hint=hint)

    def fetch(self, folder: Path, *refspecs: str, depth: int | None = None) -> None:
        runner = git_at(folder, **{**(self.environ or {}), **FETCHING})
        flags = [*_FETCH_FLAGS]
        if depth is not None:
            flags.append(f"--depth={depth}")
        # After `--`, a URL such as `--upload-pack=command` is no option.
        command = [*_FETCH_SETTINGS, "fetch", *flags, "--", self.url, *refspecs]
        run_git(runner, *command, timeout_sec=FETCH_TIMEOUT_SEC)


# --- from an archive ----------------------------------------------------------------------------


def _import_archive(archive: Path, fresh: Path, *, message: str) -> None:
    """As one commit with fixed author, date and message: the same SHA on every machine."""
    runner = _new_repository(fresh)
    with tempfile.TemporaryFile(dir=archive.parent) as stream:
        _write_import(stream, read_archive(archive), message.encode())
        stream.seek(0)
        run_git(runner, "-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", stdin=stream)


def _write_import(stream: IO[bytes], members: Iterable[ArchiveMember], message: bytes) -> None:
    """In the language of git-fast-import: every blob, then the commit."""
    marks: dict[str, int] = {}
    changes: list[bytes] = []
    for number, member in enumerate(members, start=1):
        if member.same_as:
            marks[member.path] = marks[member.same_as]
        else:
            marks[member.path] = number
            stream.write(b"blob\nmark :%d\n" % number + _data(member.data))
        changes.append(_change(member, marks[member.path]))
    stream.write(b"commit refs/heads/main\nauthor %b\ncommitter %b\n" % (_IDENTITY, _IDENTITY))
    stream.write(_data(message))
    stream.writelines(changes)


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _change(member: ArchiveMember, mark: int) -> bytes:
    # e.g. M 100644 :1 "odd \"name\".py"
    quoted = member.path.replace("\\", "\\\\").replace('"', '\\"').encode()
    return b'M %b :%d "%b"\n' % (member.mode.encode(), mark, quoted)


# --- a repository on this machine, or named on the command line --------------------------------


def object_folder(path: Path) -> Path:
    """The git directory with a local repository's objects: a linked worktree's own has none.

    Raises SourceError if there is no repository at the path.
    """
    return _common_folder(_git_folder(path))


def _git_folder(path: Path) -> Path:
    """Of a work tree, or a bare repository. Not by git, which would heed the GIT_* around it."""
    for folder in (path / ".git", path):
        # In a linked worktree or a submodule `.git` is a file: `gitdir: /where/it/is`.
        if folder.is_file() and folder.name == ".git":
            folder = path / _line_of(folder).removeprefix("gitdir: ")  # noqa: PLW2901 - followed
        if (folder / "HEAD").is_file() and (_common_folder(folder) / "objects").is_dir():
            return folder.resolve()
    hint = "give the top folder of a clone, or a URL that git can clone"
    raise SourceError("not a git repository", where=str(path), hint=hint)


def _common_folder(git_folder: Path) -> Path:
    """Of all the worktrees of a repository; its own if there are no others."""
    link = git_folder / "commondir"
    if link.is_file():
        return (git_folder / _line_of(link)).resolve()
    return git_folder


def _line_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")


def open_repository(
    path_or_url: str, commit: str, cache: Path, *, environ: Mapping[str, str] | None = None
) -> tuple[Path, str]:
    """The git directory to read the commit from, and the commit's full SHA.

    A local repository is read where it is, and any revision of it will do (`HEAD`, a branch, the
    first digits of a commit); a URL is fetched to the cache, and takes the full SHA. Raises
    SourceError if there is no such repository, or no such commit in it.
    """
    if Path(path_or_url).is_dir():
        return _open_local(Path(path_or_url), commit)
    if "://" not in path_or_url and not re.match(r"[\w.-]+@[\w.-]+:", path_or_url):
        raise SourceError("no such folder, and no URL", where=path_or_url)
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        hint = "`git ls-remote` gives the 40 digits; a branch or tag can move"
        raise SourceError(f"{commit!r} is not a full commit SHA", hint=hint)
    source = _git_source(path_or_url, commit)
    return fetch_source(source, cache=cache, pins=None, environ=environ).path, commit


def _git_source(url: str, commit: str) -> GitSource:
    """Through the record's own checks, which refuse a password in the URL."""
    written = canonical_json({"kind": "git", "url": url, "commit": commit})
    return parse_json(written, GitSource, where="--repo")


def _open_local(path: Path, commit: str) -> tuple[Path, str]:
    own = _git_folder(path)
    folder = _common_folder(own)
    # In a linked worktree, HEAD is its own, and the objects are all worktrees'.
    repo = _git(own, {**_ALONE, **_place(own, folder)})
    try:
        found = run_git(repo, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}")
        full = found.splitlines()[-1]  # Before git 2.30, `--end-of-options` comes out first.
        run_git(repo, "cat-file", "-e", f"{full}^{{tree}}")
    except SourceError as error:
        message = f"has no commit {commit}, or several ({error.what})"
        hint = "`git fetch` it there first; a shallow clone may lack it"
        raise SourceError(message, where=str(path), hint=hint) from error
    return folder, full
