"""A published archive (PyPI sdist, npm tarball): fetched through the registry's own client, checked by digest, read without unpacking.

Nothing of an archive is written to this machine's file system under a name the archive chose, and none of its code is run.
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
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from runner.errors import SourceError
from runner.records import NpmSource, PypiSource

if TYPE_CHECKING:  # slow to import, and needed only where the machine has no npm
    import docker

    from runner.sandbox.builder import BuilderEnv

Npm = Callable[[Sequence[str], Path], None]
"""Runs npm with these arguments in this folder. Raises SourceError."""
MAX_BYTES = 512 * 2**20
"""Of all files together, unpacked; the largest source tree anyone measures on is a tenth of it."""
MAX_FILES = 50_000
DOWNLOAD_TIMEOUT_SEC = 300
_PACK = "/tmp/pack"  # noqa: S108 - in a container of its own


@dataclass(frozen=True, kw_only=True)
class Member:
    """One file of an archive, its top-level folder stripped."""

    path: str
    mode: str
    """git's: 100644, 100755 or 120000 (a symbolic link, whose target is `data`). setuid and the like do not survive."""
    data: bytes
    same_as: str = ""
    """For a hard link: the earlier path it repeats; `data` is empty then."""


# --- fetching -------------------------------------------------------------------------------


def download(
    source: PypiSource | NpmSource,
    folder: Path,
    *,
    environ: Mapping[str, str] | None = None,
    npm: Npm | None = None,
) -> Path:
    """The archive's file in `folder` (which must be empty), its digest checked.

    `environ` is the registry clients' whole environment; None inherits this process's. `npm` runs npm where the machine has none.
    Raises SourceError where no client is there, the registry does not have the archive, or its bytes are not what the source says.
    """
    path = (
        _from_pip(source, folder, environ)
        if isinstance(source, PypiSource)
        else _from_npm(source, folder, environ, npm)
    )
    found, expected = _digests(path, source)
    if found != expected:
        hint = "the archive was changed since, or the digest in the scenario is mistyped"
        raise SourceError(
            f"its digest is {found}, the scenario says {expected}", where=source.label, hint=hint
        )
    return path


def _digests(path: Path, source: PypiSource | NpmSource) -> tuple[str, str]:
    """Found and expected, in the source's own notation."""
    with path.open("rb") as file:
        if isinstance(source, PypiSource):
            return hashlib.file_digest(file, "sha256").hexdigest(), source.sha256
        return (
            f"sha512-{base64.b64encode(hashlib.file_digest(file, 'sha512').digest()).decode()}",
            source.integrity,
        )


def _from_pip(source: PypiSource, folder: Path, environ: Mapping[str, str] | None) -> Path:
    script = Path(__file__).with_name("sdist.py.txt").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        python = _python_with_pip(Path(scratch))
        _client(
            [python, "-c", script, source.name, source.version, source.sha256, str(folder)],
            source,
            folder,
            environ,
        )
    return folder / "sdist"


def _python_with_pip(scratch: Path) -> str:
    """This interpreter where it has pip, else the one it was made from or the machine's; a uv-made environment has none."""
    for candidate in (sys.executable, f"{sys.base_prefix}/bin/python3", shutil.which("python3")):
        if candidate and _works([candidate, "-c", "import pip"]):
            return candidate
    if _works([sys.executable, "-m", "venv", str(scratch / "venv")]):
        return str(scratch / "venv/bin/python")
    raise SourceError(
        "no pip here to download an sdist with",
        hint="install it, e.g. `apt-get install python3-pip`",
    )


def _works(command: list[str]) -> bool:
    return (
        subprocess.run(
            command, capture_output=True, check=False, stdin=subprocess.DEVNULL
        ).returncode
        == 0
    )  # noqa: S603 - fixed commands


def _from_npm(
    source: NpmSource, folder: Path, environ: Mapping[str, str] | None, npm: Npm | None
) -> Path:
    pack = [
        "pack",
        "--ignore-scripts",
        "--loglevel=error",
        "--update-notifier=false",
        "--",
        f"{source.name}@{source.version}",
    ]
    if shutil.which("npm"):
        _client(["npm", *pack], source, folder, environ)
    elif npm:
        npm(pack, folder)
    else:
        raise SourceError(
            "no npm here to download a package with",
            where=source.label,
            hint="install npm, e.g. `apt-get install npm`",
        )
    tarballs = list(folder.glob("*.tgz"))
    if len(tarballs) != 1:
        hint = "try again; is npm's registry reachable?"
        raise SourceError(
            f"npm left {len(tarballs)} tarballs where one was due", where=source.label, hint=hint
        )
    return tarballs[0]


def _client(
    command: list[str],
    source: PypiSource | NpmSource,
    folder: Path,
    environ: Mapping[str, str] | None,
) -> None:
    """Run a registry client in an empty folder, so that no project configuration found there steers it."""
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command; records.py holds name and version to their grammars
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
        hint = "is the package registry reachable?"
        raise SourceError(
            f"no answer in {DOWNLOAD_TIMEOUT_SEC} s", where=source.label, hint=hint
        ) from error
    if done.returncode:
        hint = "check name, version, digest and network"
        raise SourceError(
            f"cannot be had: {done.stderr.strip()[-600:]}", where=source.label, hint=hint
        )


# --- reading --------------------------------------------------------------------------------


def read_archive(path: Path) -> Iterator[Member]:
    """Every file of a .tar.gz, .tar.bz2 or .zip, top-level folder stripped. Raises SourceError at the first unsafe member."""
    try:
        seen = _Seen()
        for member in _raw_members(path):
            yield seen.admit(member)
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        OSError,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ) as error:
        raise SourceError(f"not a readable archive: {error}", where=path.name) from error
    if not seen.files:
        raise SourceError("the archive holds no file", where=path.name)


def _raw_members(path: Path) -> Iterator[Member]:
    with path.open("rb") as file:
        magic = file.read(4)
    if magic.startswith(b"\x1f\x8b"):
        with gzip.open(path) as stream:
            yield from _tar_members(_Bounded(stream))
    elif magic.startswith(b"BZh"):
        with bz2.open(path) as stream:
            yield from _tar_members(_Bounded(stream))
    elif magic == b"PK\x03\x04":
        yield from _zip_members(path)
    else:
        raise SourceError("neither .tar.gz, .tar.bz2 nor .zip", where=path.name)


class _Bounded(io.RawIOBase):
    """A decompressed stream that ends in an error past the limit: a few kilobytes can unpack to any size, headers included."""

    def __init__(self, stream: io.BufferedIOBase | gzip.GzipFile | bz2.BZ2File) -> None:
        super().__init__()
        self._stream, self._left = stream, MAX_BYTES + MAX_FILES * 2048

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self._left:
            raise SourceError(f"unpacks to more than {MAX_BYTES} bytes")
        data = self._stream.read(size)
        self._left -= len(data)
        return data


def _tar_members(stream: _Bounded) -> Iterator[Member]:
    with tarfile.open(fileobj=stream, mode="r|", errorlevel=2) as archive:
        for info in archive:
            if info.isdir():
                continue
            if info.issym():
                yield Member(
                    path=info.name,
                    mode="120000",
                    data=info.linkname.encode("utf-8", "surrogateescape"),
                )
            elif info.islnk():
                yield Member(path=info.name, mode=_mode(info.mode), data=b"", same_as=info.linkname)
            elif (
                info.isreg() and not info.issparse()
            ):  # a sparse file unpacks to any size without a byte behind it
                content = archive.extractfile(info)
                yield Member(
                    path=info.name, mode=_mode(info.mode), data=content.read() if content else b""
                )
            else:
                raise SourceError(f"{info.name!r} is a device, a pipe or something stranger")


def _zip_members(path: Path) -> Iterator[Member]:
    left = MAX_BYTES
    with zipfile.ZipFile(path) as archive:
        if len(archive.infolist()) > 2 * MAX_FILES:
            raise SourceError(f"more than {MAX_FILES} files")
        for info in archive.infolist():
            if info.is_dir():
                continue
            mode = info.external_attr >> 16
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFLNK):
                raise SourceError(f"{info.filename!r} is a device, a pipe or something stranger")
            with archive.open(info) as file:
                data = file.read(left + 1)
            left -= len(data)
            if left < 0:
                raise SourceError(f"unpacks to more than {MAX_BYTES} bytes")
            yield Member(
                path=info.filename, mode="120000" if stat.S_ISLNK(mode) else _mode(mode), data=data
            )


def _mode(mode: int) -> str:
    return "100755" if mode & 0o100 else "100644"


class _Seen:
    """What an archive has shown so far: each member is held against it."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._folders: set[str] = set()
        self._top = ""
        self._bytes = 0

    def admit(self, member: Member) -> Member:
        path = self._strip(member.path)
        check_path(path)
        folders = {str(parent) for parent in PurePosixPath(path).parents}
        if path in self.files or path in self._folders or not folders.isdisjoint(self.files):
            raise SourceError(f"{member.path!r} is in the archive twice, or as a file and a folder")
        self.files.add(path)
        self._folders |= folders
        self._bytes += len(member.data)
        if len(self.files) > MAX_FILES or self._bytes > MAX_BYTES:
            raise SourceError(f"more than {MAX_FILES} files or {MAX_BYTES} bytes")
        return Member(
            path=path, mode=member.mode, data=self._target(path, member), same_as=self._same(member)
        )

    def _strip(self, path: str) -> str:
        """The path below the archive's one top-level folder (npm's `package/`, PyPI's `name-version/`)."""
        if "\\" in path or re.match(r"[A-Za-z]:", path) or path.startswith("/"):
            raise SourceError(f"{path!r} is an absolute or a Windows path")
        top, _, rest = path.removeprefix("./").partition("/")
        self._top = self._top or top
        if top != self._top or not rest:
            raise SourceError(
                f"{path!r} is outside the archive's one top-level folder {self._top!r}"
            )
        return rest

    def _same(self, member: Member) -> str:
        if not member.same_as:
            return ""
        same_as = self._strip(member.same_as)
        if same_as not in self.files:
            raise SourceError(
                f"{member.path!r} is a hard link to {member.same_as!r}, which is not an earlier file of the archive"
            )
        return same_as

    def _target(self, path: str, member: Member) -> bytes:
        """A link may climb, then descend, inside the archive; `a/..` could leave it, where `a` is itself a link."""
        if member.mode != "120000":
            return member.data
        target = member.data.decode("utf-8", "replace")
        climbs = re.match(r"(\.\./)*", target + "/").group().count("..")  # type: ignore[union-attr]  # it matches the empty string too
        descends = PurePosixPath(target).parts[climbs:]
        if (
            not target
            or target.startswith("/")
            or ".." in descends
            or climbs > path.count("/")
            or "\\" in target
        ):
            raise SourceError(f"{path!r} is a link to {target!r}, out of the archive")
        return member.data


def check_path(path: str) -> None:
    """Refuse a path that would leave the workspace, or be taken for the repository's own `.git`. Raises SourceError."""
    parts = path.split("/")
    if (
        any(
            part in ("", ".", "..") or len(part.encode("utf-8", "surrogateescape")) > 255
            for part in parts
        )
        or len(path) > 4000
    ):
        raise SourceError(f"{path!r} is not a path inside the repository")
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in path):
        raise SourceError(f"{path!r} holds a control character")
    if any(part.rstrip(" .").casefold() in (".git", "git~1") for part in parts):
        raise SourceError(
            f"{path!r}: a `.git` inside a source could run code wherever git looks at it"
        )


# --- where the machine has no npm -----------------------------------------------------------


def npm_in_container(client: docker.DockerClient, image_id: str, builder: BuilderEnv) -> Npm:
    """npm from the base image, in a builder container that has network. It runs unprivileged, and only its tarball comes out."""

    def run(arguments: Sequence[str], folder: Path) -> None:
        command = [
            "timeout",
            str(DOWNLOAD_TIMEOUT_SEC),
            "sh",
            "-c",
            f'mkdir {_PACK} && cd {_PACK} && exec npm "$@"',
            "npm",
            *arguments,
        ]
        container = client.containers.create(
            image_id,
            command,
            user="agent",
            environment={**builder.variables(), "HOME": _PACK + ".home"},
            volumes=builder.volumes(),
            network_mode=builder.network,
            labels={"fairtrial": "builder"},
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
        )
        try:
            container.start()
            if container.wait()["StatusCode"]:
                said = container.logs().decode("utf-8", "replace").strip()[-600:]
                raise SourceError(
                    f"npm could not fetch it: {said}", hint="check name, version and network"
                )
            chunks, _ = container.get_archive(_PACK)
            (folder / "package.tgz").write_bytes(_only_file(io.BytesIO(b"".join(chunks))))
        finally:
            container.remove(force=True)

    return run


def _only_file(stream: io.BytesIO) -> bytes:
    with tarfile.open(fileobj=stream) as tar:
        contents = [file.read() for info in tar if info.isreg() and (file := tar.extractfile(info))]
    if len(contents) != 1:
        raise SourceError(f"npm left {len(contents)} files where one was due", hint="try again")
    return contents[0]
