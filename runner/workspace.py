"""A source becomes a repository with one commit, and that becomes the image every cell of a scenario starts from.

No file of a source is ever unpacked or checked out on this machine, so neither its paths, links, attributes, filters nor hooks can act
here: archives are streamed into git's object store, and the image's work tree is written from that store as a tar.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import re
import struct
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from runner.archives import Member, Npm, check_path, download, read_archive
from runner.errors import LockError, SandboxError, SourceError
from runner.records import GitSource, RepoPin, Source, canonical_json, digest_of, parse_json

if TYPE_CHECKING:  # both are slow to import; a verb that needs neither must not pay
    import docker
    import git

FETCH_TIMEOUT_SEC = 900
GIT_TIMEOUT_SEC = 300
MAX_TREE_FILES = 200_000
EPOCH = 946_684_800
"""2000-01-01T00:00:00Z: every date we write, so that equal sources give equal bytes."""
_IDENTITY = f"fairtrial <fairtrial@localhost> {EPOCH} +0000"
_ALONE = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "0",
    "GIT_CONFIG_PARAMETERS": "",
}
"""The user's git configuration could change what is stored (filters, line ends, signing), and so the commit."""
_FETCHING = {
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
}
"""`ext::` URLs run commands, and a prompt would wait for ever. The user's own configuration counts here: proxies, credentials."""
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = false
\tfilemode = true
\tcheckStat = minimal
\ttrustctime = false
\tpreloadIndex = false
[gc]
\tauto = 0
"""
_SELF_TEST = r"""
cd /workspace || exit
objects() { git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)'; }
echo commit="$(git rev-parse HEAD)"
echo tree="$(git rev-parse 'HEAD^{tree}')"
echo branch="$(git symbolic-ref --short HEAD)"
echo refs="$(git for-each-ref --format='%(refname)' | paste -sd' ')"
echo commits="$(objects | grep -c '^commit ')"
echo tags="$(objects | grep -c '^tag ')"
echo reachable="$(git rev-list --all --count)"
echo unreachable="$({ objects | cut -d' ' -f2; git rev-list --objects HEAD | cut -c1-40; } | sort | uniq -u | wc -l)"
echo loose="$(git count-objects)" | sed 's/ .*//'
echo remotes="$(git remote | wc -l)"
echo reflogs="$(find .git -path '*logs*' | wc -l)"
echo git="$(LC_ALL=C ls -A .git | paste -sd' ')"
echo changes="$(git status --porcelain --ignored | wc -l)"
echo files="$(git ls-files -s | grep -vc '^160000')"
echo writable="$(find . ! -type l -writable | wc -l)"
echo foreign="$(find . ! -user root | wc -l)"
echo setuid="$(find . -perm /7000 | wc -l)"
git verify-pack .git/objects/pack/*.idx; echo damaged=$?
"""


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


@dataclass(frozen=True, kw_only=True)
class WorkspaceImage:
    id: str
    """sha256:…, as the engine names it."""
    commit: str
    tree: str


# --- git ------------------------------------------------------------------------------------


def _git(folder: Path, **environment: str) -> git.Git:
    """git on a bare repository, blind to GIT_* variables around it and, unless told otherwise, to the user's configuration."""
    try:
        import git  # noqa: PLC0415 - 0.2 s that `--help` does not need
    except ImportError as error:  # GitPython's own word for: no git executable
        raise SourceError(
            "git is not installed", hint="install it, e.g. `apt-get install git`"
        ) from error
    place = {
        "GIT_DIR": str(folder),
        "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
    }
    runner = git.Git(str(folder))
    runner.update_environment(**{**(environment or _ALONE), **place})
    return runner


def _run(
    runner: git.Git,
    *arguments: str,
    timeout_sec: float = GIT_TIMEOUT_SEC,
    stdin: IO[bytes] | None = None,
) -> str:
    """A git command's stdout, stripped. Raises SourceError with the end of what git said, any password in it blanked."""
    return (
        _output(runner, *arguments, timeout_sec=timeout_sec, stdin=stdin)
        .decode("utf-8", "replace")
        .strip()
    )


def _output(
    runner: git.Git,
    *arguments: str,
    timeout_sec: float = GIT_TIMEOUT_SEC,
    stdin: IO[bytes] | None = None,
) -> bytes:
    from git.exc import GitCommandError  # noqa: PLC0415 - see _git

    try:
        return bytes(
            runner.execute(
                ["git", *arguments],
                kill_after_timeout=timeout_sec,
                istream=stdin,
                stdout_as_string=False,
            )
        )  # type: ignore[arg-type]
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
    return _git(folder)


def _describe(folder: Path) -> Repository:
    """What a repository's `main` is. Raises SourceError where it is not a commit."""
    runner = _git(folder)
    commit = _run(runner, "rev-parse", "--verify", "--quiet", "refs/heads/main^{commit}")
    tree = _run(runner, "rev-parse", "--verify", f"{commit}^{{tree}}")
    return Repository(
        path=folder,
        commit=commit,
        tree=tree,
        files=sum(1 for entry in _entries(folder, commit) if entry.mode != "160000"),
    )


@dataclass(frozen=True)
class _Entry:
    mode: str
    sha: str
    path: str


def _entries(folder: Path, commit: str) -> Iterator[_Entry]:
    """Every file, link and submodule of the commit, sorted by path as git sorts an index."""
    for record in _output(_git(folder), "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, _, sha = head.decode().split(" ")
            yield _Entry(mode, sha, path.decode("utf-8", "surrogateescape"))


# --- a source becomes a repository ----------------------------------------------------------


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
    _run(runner, "rev-parse", "--verify", f"{source.commit}^{{commit}}")


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
    _run(runner, "config", "uploadpack.allowAnySHA1InWant", "true")
    try:
        kind = _run(runner, "cat-file", "-t", source.commit)
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
    _run(
        _git(folder, **{**(environ or {}), **_FETCHING}),
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
        _run(runner, "-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", stdin=stream)


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
    _git(Path(path))  # says so where git is missing
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
        full = _run(repo.git, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}")
        _run(repo.git, "cat-file", "-e", f"{full}^{{tree}}")
    except SourceError as error:
        hint = "`git fetch` it there first; a shallow clone may lack it"
        raise SourceError(
            f"has no commit {commit}, or several ({error.what})", where=path, hint=hint
        ) from error
    return Path(repo.git_dir), full.splitlines()[-1]


# --- a repository becomes an image ----------------------------------------------------------


def ensure_workspace(
    client: docker.DockerClient,
    repository: Repository,
    base_image_id: str,
    *,
    state_dir: Path,
    say: Callable[[str], None] = lambda _: None,
) -> WorkspaceImage:
    """The image with /workspace on the base, built (a few seconds, `say` is told) and proved where it is missing.

    Raises LockError where the image or the tree in it is not the one it should be, SandboxError where the engine cannot build it.
    """
    from docker.errors import DockerException, ImageNotFound  # noqa: PLC0415 - half a second that `--help` does not need

    from runner.sandbox.base import check_image, remember_image  # noqa: PLC0415 - it imports docker

    tag = f"fairtrial/workspace:{digest_of([repository.commit, base_image_id, _recipe()])[:12]}"
    state_dir.mkdir(parents=True, exist_ok=True)
    with (state_dir / "workspace.lock").open("w") as lock:
        fcntl.flock(
            lock, fcntl.LOCK_EX
        )  # two builders of one tag would each remember an image the other has replaced
        try:
            try:
                image_id = str(client.images.get(tag).id)
            except ImageNotFound:
                say(
                    f"building the workspace of {repository.path.stem} ({repository.files:,} files)"
                )
                image_id = _build(client, repository, base_image_id, tag)
            if not check_image(state_dir, tag, image_id):
                _prove(client, image_id, tag, repository)
                remember_image(state_dir, tag, image_id)
        except (
            DockerException,
            OSError,
        ) as error:  # a lost or silent engine is an OSError of requests
            raise SandboxError(
                f"the workspace image cannot be built: {error}",
                where=tag,
                hint="is the engine's disk full?",
            ) from error
    return WorkspaceImage(id=image_id, commit=repository.commit, tree=repository.tree)


def _recipe() -> str:
    """Of this file: an image made another way is another image."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def _build(
    client: docker.DockerClient, repository: Repository, base_image_id: str, tag: str
) -> str:
    """One upload and one commit, where `docker build` would send, unpack and copy the tree three times."""
    container = client.containers.create(
        base_image_id, labels={"fairtrial": "workspace"}, network_mode="none"
    )
    try:
        with tempfile.TemporaryFile() as file:
            _write_workspace(repository, file)
            file.seek(0)
            container.put_archive("/", file)
        name, _, version = tag.partition(":")
        image = container.commit(repository=name, tag=version, pause=False)
        return str(image.id)
    finally:
        container.remove(force=True)


def _write_workspace(repository: Repository, file: IO[bytes]) -> None:
    """The work tree and its .git as a tar: owned by root, every date the same, the same bytes on every machine."""
    entries, stored = _checked_entries(repository), _git_files(repository)
    paths = [
        PurePosixPath("workspace", path)
        for path in (*(entry.path for entry in entries), *(f".git/{path}" for path in stored))
    ]
    runner = _git(repository.path)
    try:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for folder in sorted(
                {str(parent) for path in paths for parent in path.parents} - {"."}
            ):
                _add(tar, folder, "040000")
            sizes = [
                _add(tar, f"workspace/{entry.path}", entry.mode, _blob(runner, entry))
                for entry in entries
            ]
            for path, data in stored.items():
                _add(tar, f"workspace/.git/{path}", "100644", data)
            # The index is younger than its files, or git would take every one for changed in the same second and read it again.
            _add(
                tar, "workspace/.git/index", "100644", _index(entries, sizes), mtime=EPOCH + 86_400
            )
    finally:
        runner.clear_cache()  # ends its `cat-file --batch`


def _checked_entries(repository: Repository) -> list[_Entry]:
    """The commit's entries. A tree made by hand can hold what `git add` would refuse. Raises SourceError."""
    entries = list(_entries(repository.path, repository.commit))
    files = {entry.path for entry in entries}
    for entry in entries:
        check_path(entry.path)
        if any(str(parent) in files for parent in PurePosixPath(entry.path).parents):
            raise SourceError(
                f"{entry.path!r} lies below a file or link", where=str(repository.path)
            )
    if len(files) != len(entries) or len(entries) > MAX_TREE_FILES:
        raise SourceError(
            f"the tree holds a path twice, or more than {MAX_TREE_FILES} files",
            where=str(repository.path),
        )
    return entries


def _blob(runner: git.Git, entry: _Entry) -> bytes:
    """A file's bytes or a link's target, held against its SHA; git itself does not check what it reads from a pack."""
    if entry.mode == "160000":
        return b""
    try:
        data = runner.get_object_data(entry.sha)[3]
        whole = (
            hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()
            == entry.sha
        )
    except (ValueError, OSError):  # what GitPython makes of a `cat-file` that died
        whole = False
    if not whole:
        raise LockError(
            f"{entry.path} is damaged in it",
            where=str(runner.working_dir),
            hint="remove that folder; it is fetched again",
        )
    return data


def _git_files(repository: Repository) -> dict[str, bytes]:
    """What /workspace/.git holds beside its index: no remote, no reflog, no hook, no other ref."""
    objects = sorted(
        path
        for path in (repository.path / "objects").rglob("*")
        if path.is_file() and path.suffix != ".keep"
    )
    shallow = (
        f"{repository.commit}\n" if (repository.path / "shallow").exists() else ""
    )  # without it git would miss the parents
    files = {
        "HEAD": "ref: refs/heads/main\n",
        "config": _CONFIG,
        "refs/heads/main": f"{repository.commit}\n",
        **({"shallow": shallow} if shallow else {}),
    }
    return {path: text.encode() for path, text in files.items()} | {
        str(path.relative_to(repository.path)): path.read_bytes() for path in objects
    }


def _add(
    tar: tarfile.TarFile, name: str, mode: str, data: bytes = b"", *, mtime: int = EPOCH
) -> int:
    """Adds one thing under git's mode; returns its size in bytes as `lstat` will tell it."""
    info = tarfile.TarInfo(name)
    info.mtime, info.uname, info.gname = mtime, "root", "root"
    info.mode = 0o644 if mode == "100644" else 0o755
    if mode == "120000":
        info.type, info.linkname, info.mode = (
            tarfile.SYMTYPE,
            data.decode("utf-8", "surrogateescape"),
            0o777,
        )
        tar.addfile(info)
    elif mode in ("040000", "160000"):
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    else:
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    return len(data)


def _index(entries: Sequence[_Entry], sizes: Sequence[int]) -> bytes:
    """git's index, version 2 (gitformat-index), by which `git status` reads no file: checkStat=minimal compares mtime and size alone."""
    out = [struct.pack(">4sLL", b"DIRC", 2, len(entries))]
    for entry, size in zip(entries, sizes, strict=True):
        path = entry.path.encode("utf-8", "surrogateescape")
        stat = struct.pack(
            ">10L", EPOCH, 0, EPOCH, 0, 0, 0, int(entry.mode, 8), 0, 0, size & 0xFFFFFFFF
        )
        record = stat + bytes.fromhex(entry.sha) + struct.pack(">H", min(len(path), 0xFFF)) + path
        out.append(record + b"\0" * (8 - len(record) % 8))
    body = b"".join(out)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


# --- the image proves itself ----------------------------------------------------------------


def _prove(client: docker.DockerClient, image_id: str, tag: str, repository: Repository) -> None:
    """Asks the image itself, as the agent and without network, what it holds. It is dropped where that is not the commit alone."""
    said = client.containers.run(
        image_id,
        ["/bin/sh", "-c", _SELF_TEST],
        user="agent",
        network_mode="none",
        remove=True,
        labels={"fairtrial": "workspace"},
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        environment={"HOME": "/nonexistent"},
        stderr=True,
    )
    found = dict(line.partition("=")[::2] for line in said.decode("utf-8", "replace").splitlines())
    differences = [
        f"{key} is {found.get(key)!r}, not {due!r}"
        for key, due in _expected(repository).items()
        if found.get(key) != due
    ]
    if differences:
        client.images.remove(tag, force=True)
        raise LockError(
            f"the workspace image is not what it should be: {'; '.join(differences)}",
            where=tag,
            hint="build it again",
        )


def _expected(repository: Repository) -> dict[str, str]:
    nothing = (
        "tags",
        "remotes",
        "reflogs",
        "unreachable",
        "loose",
        "changes",
        "writable",
        "foreign",
        "setuid",
        "damaged",
    )
    shallow = " shallow" if (repository.path / "shallow").exists() else ""
    return {
        "commit": repository.commit,
        "tree": repository.tree,
        "branch": "main",
        "refs": "refs/heads/main",
        "commits": "1",
        "reachable": "1",
        "git": f"HEAD config index objects refs{shallow}",
        "files": str(repository.files),
        **dict.fromkeys(nothing, "0"),
    }
