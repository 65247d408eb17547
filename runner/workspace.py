"""A source becomes a repository with one commit, and that becomes the image every cell of a scenario starts from.

No file of a source is ever unpacked or checked out on this machine, so neither its paths, links, attributes, filters nor hooks can act
here: archives are streamed into git's object store, and the image's work tree is written from that store as a tar.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import struct
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from runner.archives import check_path
from runner.code_identity import code_digest, module_files
from runner.errors import LockError, SandboxError, SourceError
from runner.records import digest_of
from runner.repository import EPOCH, Repository, TreeEntry, git_at, tree_entries

if TYPE_CHECKING:  # both are slow to import; a verb that needs neither must not pay
    import docker
    import git

MAX_TREE_FILES = 200_000
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
class WorkspaceImage:
    id: str
    """sha256:…, as the engine names it."""
    commit: str
    tree: str


# --- git ------------------------------------------------------------------------------------


# --- a source becomes a repository ----------------------------------------------------------


# --- a repository becomes an image ----------------------------------------------------------


def ensure_workspace(
    client: docker.DockerClient,
    repository: Repository,
    base_image_id: str,
    *,
    state_dir: Path,
    log: Callable[[str], None] = lambda _: None,
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
                log(
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
    return code_digest(module_files("runner", "workspace", "repository"))


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
    runner = git_at(repository.path)
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


def _checked_entries(repository: Repository) -> list[TreeEntry]:
    """The commit's entries. A tree made by hand can hold what `git add` would refuse. Raises SourceError."""
    entries = list(tree_entries(repository.path, repository.commit))
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


def _blob(runner: git.Git, entry: TreeEntry) -> bytes:
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


def _index(entries: Sequence[TreeEntry], sizes: Sequence[int]) -> bytes:
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
