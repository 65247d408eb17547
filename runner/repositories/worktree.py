"""A commit as a work tree with its .git, in a tar: the same bytes on every machine.

It is written from git's object store, never from a checkout: on this machine no file of it exists,
so neither its paths, links, attributes, filters nor hooks can act here.
"""

from __future__ import annotations

import hashlib
import io
import struct
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from runner.repositories.archives import EXECUTABLE, LINK, check_path
from runner.repositories.repository import (
    EPOCH,
    SUBMODULE,
    Repository,
    TreeEntry,
    git_at,
    read_blob,
    tree_entries,
)
from runner.support.errors import LockError, SourceError

if TYPE_CHECKING:  # slow to import, and needed only once a tree is written
    from runner.repositories.repository import GitRunner

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


def write_worktree(repository: Repository, file: IO[bytes]) -> None:
    """workspace/ with the commit's files and its .git, owned by root, every date the same.

    Raises SourceError if the tree holds what no work tree may, LockError if the store is damaged.
    """
    entries, git_files = _checked_entries(repository), _git_files(repository)
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for folder in _folders_of([*(entry.path for entry in entries), *git_files]):
            _add_folder(tar, folder)
        sizes = _add_entries(tar, repository, entries)
        for path, data in git_files.items():
            _add_file(tar, path, data)
        # The index is younger than its files, or git would take every one for changed in the same
        # second and read it again.
        _add_file(tar, ".git/index", _index(entries, sizes), mtime=EPOCH + 86_400)


def _checked_entries(repository: Repository) -> list[TreeEntry]:
    """The commit's entries. Raises SourceError if they cannot be a work tree."""
    entries = list(tree_entries(repository.path, repository.commit))
    where = str(repository.path)
    files = {entry.path for entry in entries}
    if len(files) != len(entries) or len(entries) > MAX_TREE_FILES:
        message = f"the tree holds a path twice, or more than {MAX_TREE_FILES} files"
        raise SourceError(message, where=where)
    for path in files:
        check_path(path)
        # A tree made by hand can hold a link `a` and a file `a/b`, which would leave the workspace.
        if not files.isdisjoint(_parents(path)):
            raise SourceError(f"{path!r} lies below a file or link", where=where)
    return entries


def _parents(path: str) -> set[str]:
    """The folders it lies in; none for a file at the top."""
    return {str(parent) for parent in PurePosixPath(path).parents} - {"."}


def _folders_of(paths: Sequence[str]) -> list[str]:
    """Every folder that they lie in, each before what is in it; "" is the top."""
    folders = {""}
    for path in paths:
        folders |= _parents(path)
    return sorted(folders)


def _git_files(repository: Repository) -> dict[str, bytes]:
    """.git without its index, by path: no remote, no reflog, no hook, no other ref."""
    commit = f"{repository.commit}\n".encode()
    files = {
        ".git/HEAD": b"ref: refs/heads/main\n",
        ".git/config": _CONFIG.encode(),
        ".git/refs/heads/main": commit,
    }
    if (repository.path / "shallow").exists():
        # Without it git would miss the commit's parents, and call the repository damaged.
        files[".git/shallow"] = commit
    for path in _object_files(repository.path):
        files[f".git/{path.relative_to(repository.path)}"] = path.read_bytes()
    return files


def _object_files(folder: Path) -> Iterator[Path]:
    for path in sorted((folder / "objects").rglob("*")):
        # A fetch leaves pack-….keep beside its pack; it belongs to this machine's fetch.
        if path.is_file() and path.suffix != ".keep":
            yield path


# --- what is in the tar -------------------------------------------------------------------------


def _add_entries(
    tar: tarfile.TarFile, repository: Repository, entries: Sequence[TreeEntry]
) -> list[int]:
    """Returns their sizes in bytes, as git's index has them."""
    runner = git_at(repository.path)
    try:
        return [_add_entry(tar, entry, _blob(runner, entry)) for entry in entries]
    finally:
        runner.clear_cache()  # Else its `cat-file --batch` would live as long as this process.


def _add_entry(tar: tarfile.TarFile, entry: TreeEntry, data: bytes) -> int:
    if entry.mode == SUBMODULE:
        _add_folder(tar, entry.path)
    elif entry.mode == LINK:
        _add_link(tar, entry.path, data)
    else:
        _add_file(tar, entry.path, data, executable=entry.mode == EXECUTABLE)
    return len(data)


def _add_folder(tar: tarfile.TarFile, path: str) -> None:
    info = _info(path, mode=0o755)
    info.type = tarfile.DIRTYPE
    tar.addfile(info)


def _add_link(tar: tarfile.TarFile, path: str, target: bytes) -> None:
    info = _info(path, mode=0o777)
    info.type = tarfile.SYMTYPE
    info.linkname = target.decode("utf-8", "surrogateescape")
    tar.addfile(info)


def _add_file(
    tar: tarfile.TarFile, path: str, data: bytes, *, executable: bool = False, mtime: int = EPOCH
) -> None:
    info = _info(path, mode=0o644)
    if executable:
        info.mode = 0o755
    info.size, info.mtime = len(data), mtime
    tar.addfile(info, io.BytesIO(data))


def _info(path: str, *, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(f"workspace/{path}".removesuffix("/"))
    info.mode, info.mtime = mode, EPOCH
    info.uname = info.gname = "root"
    return info


def _blob(runner: GitRunner, entry: TreeEntry) -> bytes:
    """A file's bytes or a link's target, checked against its SHA. Raises LockError."""
    if entry.mode == SUBMODULE:
        return b""
    try:
        return read_blob(runner, entry.sha)
    except (KeyError, ValueError) as error:
        what, where = f"{entry.path} is damaged in it", str(runner.working_dir)
        hint = "remove that folder; it is fetched again"
        raise LockError(what, where=where, hint=hint) from error


# --- git's index --------------------------------------------------------------------------------


def _index(entries: Sequence[TreeEntry], sizes: Sequence[int]) -> bytes:
    """git's index, version 2 (gitformat-index), by which `git status` reads no file."""
    body = struct.pack(">4sLL", b"DIRC", 2, len(entries))
    records = [_index_record(*pair) for pair in zip(entries, sizes, strict=True)]
    body += b"".join(records)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _index_record(entry: TreeEntry, size: int) -> bytes:
    path = entry.path.encode("utf-8", "surrogateescape")
    flags = min(len(path), 0xFFF)  # A longer path ends at its zero byte alone.
    record = _stat(entry, size) + bytes.fromhex(entry.sha) + struct.pack(">H", flags) + path
    # One zero byte at least ends the path; then up to a multiple of eight.
    return record + b"\0" * (8 - len(record) % 8)


def _stat(entry: TreeEntry, size: int) -> bytes:
    """ctime and mtime with their nanoseconds, device, inode, mode, uid, gid, size in bytes."""
    # checkStat=minimal has git compare mtime and size alone, so the others may be 0.
    mode = int(entry.mode, 8)
    return struct.pack(">10L", EPOCH, 0, EPOCH, 0, 0, 0, mode, 0, 0, size & 0xFFFFFFFF)
