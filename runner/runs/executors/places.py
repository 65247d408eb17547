"""What differs between a folder, an SFTP server and a bucket: how a name is given once, and whole.

The home of fsspec. A place raises errors of its own kind where it does not answer.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Protocol

from runner.records.run_store import write_bytes
from runner.support.errors import FairtrialError

PART = ".part"
"""At the end of a name under which something is being written. It is never read."""
SILENCE_SEC = 30.0
"""How long an SFTP server may say nothing."""


class ExchangePlace(Protocol):
    """Names are paths from its root, with `/`."""

    def put(self, name: str, data: bytes) -> None: ...

    def put_new(self, name: str, data: bytes) -> None:
        """Raises FileExistsError if the name is taken."""

    def get(self, name: str) -> bytes:
        """Raises FileNotFoundError."""

    def names(self, under: str) -> list[str]: ...

    def remove(self, name: str) -> None:
        """Raises FileNotFoundError."""

    def close(self) -> None: ...


def _part_of(name: str) -> str:
    return f"{name}.{uuid.uuid4().hex}{PART}"


class Folder:
    """Of this machine, or one that is mounted here."""

    def __init__(self, url: str) -> None:
        self._root = Path(url.removeprefix("file://"))

    def put(self, name: str, data: bytes) -> None:
        write_bytes(self._root / name, data)

    def put_new(self, name: str, data: bytes) -> None:
        # A rename takes the place of what is there; a link does not.
        part = self._root / _part_of(name)
        write_bytes(part, data)
        try:
            os.link(part, self._root / name)
        finally:
            part.unlink()

    def get(self, name: str) -> bytes:
        return (self._root / name).read_bytes()

    def names(self, under: str) -> list[str]:
        files = (path for path in (self._root / under).rglob("*") if path.is_file())
        return [path.relative_to(self._root).as_posix() for path in files]

    def remove(self, name: str) -> None:
        (self._root / name).unlink()

    def close(self) -> None:
        pass


class _OverFsspec:
    """What fsspec reaches."""

    HOW: ClassVar[dict[str, object]] = {}

    def __init__(self, url: str) -> None:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra, and slow to load

        # A connection that others use too cannot be closed.
        self._files, root = url_to_fs(url, skip_instance_cache=True, **self.HOW)
        self._root = root.rstrip("/")

    def get(self, name: str) -> bytes:
        return bytes(self._files.cat_file(self._at(name)))

    def names(self, under: str) -> list[str]:
        return self._relative(self._files.find(self._at(under)))

    def remove(self, name: str) -> None:
        self._files.rm_file(self._at(name))

    def close(self) -> None:
        pass

    def _relative(self, paths: Iterable[str]) -> list[str]:
        return [str(path).removeprefix(self._root).lstrip("/") for path in paths]

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"


class Sftp(_OverFsspec):
    """A server that speaks SFTP."""

    def __init__(self, url: str) -> None:
        from fsspec import register_implementation  # noqa: PLC0415 - an extra, and slow to load

        known = "runner.runs.executors.known_hosts.KnownHosts"
        register_implementation("sftp", known, clobber=True)
        super().__init__(url)
        # Without it, a server that is gone without a word is waited for for ever.
        self._files.ftp.get_channel().settimeout(SILENCE_SEC)

    def put(self, name: str, data: bytes) -> None:
        part = self._written(name, data)
        self._files.ftp.posix_rename(part, self._at(name))

    def put_new(self, name: str, data: bytes) -> None:
        part = self._written(name, data)
        try:
            # Plain SFTP renames nothing onto a name that is taken.
            self._files.ftp.rename(part, self._at(name))
        except OSError:
            self._files.ftp.remove(part)
            if self._files.exists(self._at(name)):
                raise FileExistsError(name) from None
            raise

    def names(self, under: str) -> list[str]:
        try:
            # Without `raise`, a connection that is lost would look like an empty folder.
            found = self._files.find(self._at(under), on_error="raise")
        except FileNotFoundError:
            return []
        return self._relative(found)

    def remove(self, name: str) -> None:
        self._files.ftp.remove(self._at(name))

    def close(self) -> None:
        self._files.client.close()

    def _written(self, name: str, data: bytes) -> str:
        part = self._at(_part_of(name))
        try:
            self._files.pipe_file(part, data)
        except FileNotFoundError:
            self._files.makedirs(part.rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(part, data)
        return part


class Bucket(_OverFsspec):
    """What speaks S3. Every object arrives whole or not at all."""

    # A listing that is kept would hide what another worker has put there since.
    HOW: ClassVar[dict[str, object]] = {"use_listings_cache": False}

    def put(self, name: str, data: bytes) -> None:
        self._files.pipe_file(self._at(name), data)

    def put_new(self, name: str, data: bytes) -> None:
        try:
            # With `If-None-Match: *`.
            self._files.pipe_file(self._at(name), data, mode="create")
        except OSError:
            if self._files.exists(self._at(name)):
                raise FileExistsError(name) from None
            raise


PLACES: dict[str, tuple[Callable[[str], ExchangePlace], str]] = {
    "": (Folder, ""),
    "file": (Folder, ""),
    "sftp": (Sftp, "paramiko"),
    "s3": (Bucket, "s3fs"),
}
"""What a URL begins with -> what opens it, and the package that it needs."""


def open_place(url: str) -> ExchangePlace:
    """Raises FairtrialError for a kind that there is not, or whose package is not installed."""
    kind = url.partition("://")[0] if "://" in url else ""
    if kind not in PLACES:
        hint = f"a folder, {', '.join(f'{name}://' for name in PLACES if PLACES[name][1])}"
        raise FairtrialError(f"nothing can be exchanged over {kind}://", where=url, hint=hint)
    opener, package = PLACES[kind]
    if package and find_spec(package) is None:
        hint = f"install it with `pip install 'fairtrial[{kind}]'`"
        raise FairtrialError(f"{kind}:// needs {package}", where=url, hint=hint)
    return opener(url)
