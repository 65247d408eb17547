"""A published archive (PyPI sdist, npm tarball): downloaded, checked by digest, read in place.

Downloads go through the registry's own client. Nothing of an archive is written to this machine's
file system under a name the archive chose, and none of its code is run.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import hashlib
import io
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from runner.records import NpmSource, PypiSource
from runner.support.errors import SourceError

RunNpm = Callable[[Sequence[str], Path], None]
"""Runs npm with these arguments in this folder. Raises SourceError."""
MAX_BYTES = 512 * 2**20
"""Of all files together, unpacked; the largest source tree anyone measures on is a tenth of it."""
MAX_FILES = 50_000
DOWNLOAD_TIMEOUT_SEC = 300
_MESSAGE_CHARS = 600
REGULAR, EXECUTABLE, LINK = "100644", "100755", "120000"
"""git's modes."""


@dataclass(frozen=True, kw_only=True)
class ArchiveMember:
    """One file of an archive, its top-level folder stripped."""

    path: str
    mode: str
    """REGULAR, EXECUTABLE or LINK (symbolic; its target is `data`). setuid does not survive."""
    data: bytes
    same_as: str = ""
    """For a hard link: the earlier path it repeats; `data` is empty then."""


# --- downloading --------------------------------------------------------------------------------


def download(
    source: PypiSource | NpmSource,
    folder: Path,
    *,
    environ: Mapping[str, str] | None = None,
    npm: RunNpm | None = None,
) -> Path:
    """The archive's file in `folder` (which must be empty), its digest checked.

    `environ` is the registry clients' whole environment; None inherits this process's. `npm` runs
    npm if the machine has none. Raises SourceError if there is no client, if the registry does not
    have the archive, or if its bytes are not what the source says.
    """
    if isinstance(source, PypiSource):
        path, expected = _from_pip(source, folder, environ), source.sha256
    else:
        path, expected = _from_npm(source, folder, environ, npm), source.integrity
    with path.open("rb") as file:
        kind = "sha256" if isinstance(source, PypiSource) else "sha512"
        found = hashlib.file_digest(file, kind).digest()
    # In the source's own notation.
    is_npm = isinstance(source, NpmSource)
    digest = f"sha512-{base64.b64encode(found).decode()}" if is_npm else found.hex()
    if digest != expected:
        message = f"its digest is {digest}, the scenario says {expected}"
        hint = "the archive was changed since, or the digest in the scenario is mistyped"
        raise SourceError(message, where=source.label, hint=hint)
    return path


def _from_pip(source: PypiSource, folder: Path, environ: Mapping[str, str] | None) -> Path:
    script = Path(__file__).with_name("sdist.py.txt").read_text(encoding="utf-8")
    arguments = [source.name, source.version, source.sha256, str(folder)]
    with tempfile.TemporaryDirectory() as scratch:
        python = _python_with_pip(Path(scratch))
        _run_client([python, "-c", script, *arguments], source.label, folder, environ)
    return folder / "sdist"


def _python_with_pip(scratch: Path) -> str:
    """This interpreter if it has pip, else the one it was made from, or the machine's."""
    # An environment that uv made has no pip.
    for candidate in (sys.executable, f"{sys.base_prefix}/bin/python3", shutil.which("python3")):
        if candidate and _works([candidate, "-c", "import pip"]):
            return candidate
    if _works([sys.executable, "-m", "venv", str(scratch / "venv")]):
        return str(scratch / "venv/bin/python")
    hint = "install it, e.g. `apt-get install python3-pip`"
    raise SourceError("no pip here to download an sdist with", hint=hint)


def _works(command: list[str]) -> bool:
    done = subprocess.run(  # noqa: S603 - fixed commands
        command, capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    return done.returncode == 0


def _from_npm(
    source: NpmSource, folder: Path, environ: Mapping[str, str] | None, npm: RunNpm | None
) -> Path:
    arguments = ["pack", "--ignore-scripts", "--loglevel=error", "--update-notifier=false"]
    arguments += ["--", f"{source.name}@{source.version}"]
    if shutil.which("npm"):
        _run_client(["npm", *arguments], source.label, folder, environ)
    elif npm:
        npm(arguments, folder)
    else:
        hint = "install npm, e.g. `apt-get install npm`"
        raise SourceError("no npm here to download a package with", where=source.label, hint=hint)
    return _only_tarball(folder, source.label)


def _only_tarball(folder: Path, where: str) -> Path:
    tarballs = list(folder.glob("*.tgz"))
    if len(tarballs) != 1:
        message = f"npm left {len(tarballs)} tarballs instead of one"
        hint = "try again; is npm's registry reachable?"
        raise SourceError(message, where=where, hint=hint)
    return tarballs[0]


def _run_client(
    command: list[str], label: str, folder: Path, environ: Mapping[str, str] | None
) -> None:
    """Run a registry client in an empty folder, so that no configuration found there steers it."""
    # A name or version could not be an option: the records check them against their grammars.
    try:
        done = subprocess.run(  # noqa: S603 - no shell
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=DOWNLOAD_TIMEOUT_SEC,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        message = f"no answer in {DOWNLOAD_TIMEOUT_SEC} s"
        hint = "is the package registry reachable?"
        raise SourceError(message, where=label, hint=hint) from error
    if done.returncode:
        message = f"download failed: {end_of(done.stderr)}"
        hint = "check name, version, digest and network"
        raise SourceError(message, where=label, hint=hint)


def end_of(output: str) -> str:
    return output.strip()[-_MESSAGE_CHARS:]


# --- reading ------------------------------------------------------------------------------------


_UNREADABLE = (
    # What the standard library raises for bytes that are no archive, or a cut or spoilt one.
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    OSError,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


def read_archive(path: Path) -> Iterator[ArchiveMember]:
    """Every file of a .tar.gz, .tar.bz2 or .zip, top-level folder stripped.

    Raises SourceError at the first unsafe member.
    """
    admitted = _Admitted()
    try:
        for member in _raw_members(path):
            yield admitted.admit(member)
    except _UNREADABLE as error:
        raise SourceError(f"not a readable archive: {error}", where=path.name) from error
    if not admitted.files:
        raise SourceError("the archive holds no file", where=path.name)


def _raw_members(path: Path) -> Iterator[ArchiveMember]:
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"PK\x03\x04":
        yield from _zip_members(path)
    else:
        with _decompressed(path, magic) as stream:
            yield from _tar_members(_Bounded(stream))


def _decompressed(path: Path, magic: bytes) -> gzip.GzipFile | bz2.BZ2File:
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    if magic.startswith(b"BZh"):
        return bz2.open(path)
    raise SourceError("neither .tar.gz, .tar.bz2 nor .zip", where=path.name)


class _Bounded(io.RawIOBase):
    """A decompressed stream that ends in an error past the limit, headers included.

    A few kilobytes can unpack to any size.
    """

    def __init__(self, stream: gzip.GzipFile | bz2.BZ2File) -> None:
        super().__init__()
        self._stream, self._left = stream, MAX_BYTES + MAX_FILES * 2048

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self._left:
            raise SourceError(f"unpacks to more than {MAX_BYTES} bytes")
        data = self._stream.read(size)
        self._left -= len(data)
        return data


def _tar_members(stream: _Bounded) -> Iterator[ArchiveMember]:
    with tarfile.open(fileobj=stream, mode="r|", errorlevel=2) as archive:
        for info in archive:
            if not info.isdir():
                yield _tar_member(archive, info)


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> ArchiveMember:
    if info.issym():
        target = info.linkname.encode("utf-8", "surrogateescape")
        return ArchiveMember(path=info.name, mode=LINK, data=target)
    mode = _mode(info.mode)
    if info.islnk():
        return ArchiveMember(path=info.name, mode=mode, data=b"", same_as=info.linkname)
    return ArchiveMember(path=info.name, mode=mode, data=_tar_content(archive, info))


def _tar_content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    content = archive.extractfile(info)
    # A sparse file unpacks to any size without a byte behind it.
    if content is None or not info.isreg() or info.issparse():
        raise _stranger(info.name)
    return content.read()


def _zip_members(path: Path) -> Iterator[ArchiveMember]:
    left = MAX_BYTES
    with zipfile.ZipFile(path) as archive:
        if len(archive.infolist()) > 2 * MAX_FILES:
            raise SourceError(f"more than {MAX_FILES} files")
        for info in archive.infolist():
            if not info.is_dir():
                member = _zip_member(archive, info, left)
                left -= len(member.data)
                yield member


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> ArchiveMember:
    mode = _zip_mode(info)
    with archive.open(info) as file:
        data = file.read(limit + 1)  # The size in its header may be a lie.
    if len(data) > limit:
        raise SourceError(f"unpacks to more than {MAX_BYTES} bytes")
    return ArchiveMember(path=info.filename, mode=mode, data=data)


def _zip_mode(info: zipfile.ZipInfo) -> str:
    unix_mode = info.external_attr >> 16
    kind = stat.S_IFMT(unix_mode)
    if kind == stat.S_IFLNK:
        return LINK
    # 0: made on a system that knows no kinds, e.g. Windows.
    if kind not in (0, stat.S_IFREG):
        raise _stranger(info.filename)
    return _mode(unix_mode)


def _stranger(name: str) -> SourceError:
    return SourceError(f"{name!r} is a device, a pipe or something stranger")


def _mode(mode: int) -> str:
    """git's; setuid, group and the rest do not survive."""
    return EXECUTABLE if mode & 0o100 else REGULAR


class _Admitted:
    """What an archive has shown so far; each member is checked against it."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._folders: set[str] = set()
        self._top = ""
        self._bytes = 0

    def admit(self, member: ArchiveMember) -> ArchiveMember:
        """The member as it may be used. Raises SourceError if it is unsafe."""
        path = self._strip(member.path)
        check_path(path)
        self._count(path, member)
        if member.mode == LINK:
            _check_link(path, member.data.decode("utf-8", "replace"))
        return replace(member, path=path, same_as=self._same(member))

    def _count(self, path: str, member: ArchiveMember) -> None:
        folders = {str(parent) for parent in PurePosixPath(path).parents}
        # `a` twice, or a file `a` with a file `a/b`.
        is_twice = path in self.files or path in self._folders
        if is_twice or not folders.isdisjoint(self.files):
            raise SourceError(f"{member.path!r} is in the archive twice, or as a file and a folder")
        self.files.add(path)
        self._folders |= folders
        self._bytes += len(member.data)
        if len(self.files) > MAX_FILES or self._bytes > MAX_BYTES:
            raise SourceError(f"more than {MAX_FILES} files or {MAX_BYTES} bytes")

    def _strip(self, path: str) -> str:
        """The path below the one top-level folder (npm's `package/`, PyPI's `name-version/`)."""
        if re.match(r"/|[A-Za-z]:", path) or "\\" in path:
            raise SourceError(f"{path!r} is an absolute or a Windows path")
        top, _, rest = path.removeprefix("./").partition("/")
        self._top = self._top or top
        if top != self._top or not rest:
            message = f"{path!r} is outside the archive's one top-level folder {self._top!r}"
            raise SourceError(message)
        return rest

    def _same(self, member: ArchiveMember) -> str:
        """The earlier file that a hard link repeats; empty for anything else."""
        if not member.same_as:
            return ""
        same_as = self._strip(member.same_as)
        if same_as not in self.files:
            raise SourceError(
                f"{member.path!r} is a hard link to {member.same_as!r},"
                " which is not an earlier file of the archive"
            )
        return same_as


def _check_link(path: str, target: str) -> None:
    """Raises SourceError if the link leads out of the archive."""
    below = re.sub(r"^(\.\./)*", "", f"{target}/")
    climbs = (len(target) + 1 - len(below)) // len("../")
    # It may climb, then descend: `a/..` could leave the archive, if `a` is itself a link.
    turns_back = ".." in PurePosixPath(below).parts
    is_relative = target != "" and not target.startswith("/") and "\\" not in target
    if turns_back or climbs > path.count("/") or not is_relative:
        raise SourceError(f"{path!r} is a link to {target!r}, out of the archive")


def check_path(path: str) -> None:
    """Raises SourceError for a path that leaves the workspace, or is the repository's `.git`."""
    parts = path.split("/")
    if len(path) > 4000 or not all(_is_plain(part) for part in parts):
        raise SourceError(f"{path!r} is not a path inside the repository")
    if re.search(r"[\x00-\x1f\x7f]", path):
        raise SourceError(f"{path!r} holds a control character")
    # `.GIT`, `.git. ` and `git~1` are all `.git` to some file system.
    if any(part.rstrip(" .").casefold() in (".git", "git~1") for part in parts):
        message = f"{path!r}: a `.git` inside a source could run code wherever git looks at it"
        raise SourceError(message)


def _is_plain(part: str) -> bool:
    if part in ("", ".", ".."):
        return False
    return len(part.encode("utf-8", "surrogateescape")) <= 255  # no file system takes more
