"""A commit as a work tree with its .git, in a tar: the same bytes on every machine.

It is written from git's object store, never from a checkout: on this machine no file of it exists,
so neither its paths, links, attributes, filters nor hooks can act here.
"""

from __future__ import annotations

import hashlib
import io
import struct
import tarfile
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING

from runner.archives import check_path
from runner.errors import LockError, SourceError
from runner.repository import EPOCH, Repository, TreeEntry, git_at, tree_entries

if TYPE_CHECKING:  # slow to import, and needed only once a tree is written
    import git

MAX_TREE_FILES = 200_000
_FOLDER, _LINK, _SUBMODULE = "040000", "120000", "160000"
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


def write_worktree(repository: Repository, file: IO[bytes]) -> None:
    """workspace/ with the commit's files and its .git, owned by root, every date the same.

    Raises SourceError if the tree holds what no work tree may, LockError if the store is damaged.
    """
    entries, git_files = _checked_entries(repository), _git_files(repository)
    paths = [f"workspace/{entry.path}" for entry in entries]
    paths += [f"workspace/.git/{path}" for path in git_files]
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for folder in _folders_of(paths):
            _add(tar, folder, _FOLDER)
        sizes = _add_blobs(tar, repository, entries)
        for path, data in git_files.items():
            _add(tar, f"workspace/.git/{path}", "100644", data)
        # The index is younger than its files, or git would take every one for changed in the same
        # second and read it again.
        index = _index(entries, sizes)
        _add(tar, "workspace/.git/index", "100644", index, mtime=EPOCH + 86_400)


def _checked_entries(repository: Repository) -> list[TreeEntry]:
    """The commit's entries. Raises SourceError: a tree made by hand can hold `a` and `a/b`."""
    entries = list(tree_entries(repository.path, repository.commit))
    where = str(repository.path)
    files = {entry.path for entry in entries}
    for entry in entries:
        check_path(entry.path)
        parents = {str(parent) for parent in PurePosixPath(entry.path).parents}
        if not parents.isdisjoint(files):
            raise SourceError(f"{entry.path!r} lies below a file or link", where=where)
    if len(files) != len(entries) or len(entries) > MAX_TREE_FILES:
        message = f"the tree holds a path twice, or more than {MAX_TREE_FILES} files"
        raise SourceError(message, where=where)
    return entries


def _folders_of(paths: Sequence[str]) -> list[str]:
    """Every folder on the way to them, each before what lies in it."""
    folders: set[str] = set()
    for path in paths:
        folders.update(str(parent) for parent in PurePosixPath(path).parents)
    return sorted(folders - {"."})


def _git_files(repository: Repository) -> dict[str, bytes]:
    """What .git holds beside its index: no remote, no reflog, no hook, no other ref."""
    commit = f"{repository.commit}\n".encode()
    files = {
        "HEAD": b"ref: refs/heads/main\n",
        "config": _CONFIG.encode(),
        "refs/heads/main": commit,
    }
    if (repository.path / "shallow").exists():
        # Without it git would miss the commit's parents, and call the repository damaged.
        files["shallow"] = commit
    for path in sorted((repository.path / "objects").rglob("*")):
        # A fetch leaves pack-….keep beside its pack; it belongs to this machine's fetch.
        if path.is_file() and path.suffix != ".keep":
            files[str(path.relative_to(repository.path))] = path.read_bytes()
    return files


def _add_blobs(
    tar: tarfile.TarFile, repository: Repository, entries: Sequence[TreeEntry]
) -> list[int]:
    """Adds every entry; returns their sizes in bytes."""
    runner = git_at(repository.path)
    sizes = []
    try:
        for entry in entries:
            data = _blob(runner, entry)
            _add(tar, f"workspace/{entry.path}", entry.mode, data)
            sizes.append(len(data))
    finally:
        runner.clear_cache()  # Else its `cat-file --batch` would live as long as this process.
    return sizes


def _blob(runner: git.Git, entry: TreeEntry) -> bytes:
    """A file's bytes or a link's target, checked against its SHA. Raises LockError."""
    if entry.mode == _SUBMODULE:
        return b""
    try:
        data = runner.get_object_data(entry.sha)[3]
    except (ValueError, OSError) as error:  # what GitPython makes of a `cat-file` that died
        raise _damaged(runner, entry) from error
    # git itself does not check what it reads from a pack.
    named = b"blob %d\0%b" % (len(data), data)
    if hashlib.sha1(named, usedforsecurity=False).hexdigest() != entry.sha:
        raise _damaged(runner, entry)
    return data


def _damaged(runner: git.Git, entry: TreeEntry) -> LockError:
    return LockError(
        f"{entry.path} is damaged in it",
        where=str(runner.working_dir),
        hint="remove that folder; it is fetched again",
    )


def _add(
    tar: tarfile.TarFile, name: str, mode: str, data: bytes = b"", *, mtime: int = EPOCH
) -> None:
    """Adds one thing under git's mode."""
    info = tarfile.TarInfo(name)
    info.mtime, info.uname, info.gname = mtime, "root", "root"
    info.mode = 0o755
    if mode == _LINK:
        info.type, info.mode = tarfile.SYMTYPE, 0o777
        info.linkname = data.decode("utf-8", "surrogateescape")
    elif mode in (_FOLDER, _SUBMODULE):
        info.type = tarfile.DIRTYPE
    else:
        info.size = len(data)
    if mode == "100644":
        info.mode = 0o644
    tar.addfile(info, io.BytesIO(data))


def _index(entries: Sequence[TreeEntry], sizes: Sequence[int]) -> bytes:
    """git's index, version 2 (gitformat-index), by which `git status` reads no file.

    checkStat=minimal has it compare mtime and size alone, so the other numbers may be 0.
    """
    parts = [struct.pack(">4sLL", b"DIRC", 2, len(entries))]
    for entry, size in zip(entries, sizes, strict=True):
        parts.append(_index_record(entry, size))
    body = b"".join(parts)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _index_record(entry: TreeEntry, size: int) -> bytes:
    path = entry.path.encode("utf-8", "surrogateescape")
    # ctime, mtime, device, inode, mode, uid, gid, size; the first two with nanoseconds
    stat = (EPOCH, 0, EPOCH, 0, 0, 0, int(entry.mode, 8), 0, 0, size & 0xFFFFFFFF)
    flags = min(len(path), 0xFFF)  # A longer path ends at its zero byte alone.
    record = struct.pack(">10L", *stat) + bytes.fromhex(entry.sha) + struct.pack(">H", flags) + path
    # One zero byte at least ends the path; then up to a multiple of eight.
    return record + b"\0" * (8 - len(record) % 8)
