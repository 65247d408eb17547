"""Real servers for an exchange: `python -m tests.scale.servers sftp PORT FOLDER`, `… s3 PORT`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import asyncssh

USER, PASSWORD = "worker", "of-the-test"


class Anybody(asyncssh.SSHServer):
    """Who knows the password."""

    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == (USER, PASSWORD)


async def serve_sftp(port: int, folder: Path) -> None:
    def files(channel: asyncssh.SSHServerChannel[bytes]) -> asyncssh.SFTPServer:
        return asyncssh.SFTPServer(channel, chroot=str(folder).encode())

    await asyncssh.listen(
        "127.0.0.1",
        port,
        server_factory=Anybody,
        server_host_keys=[host_key(folder)],
        sftp_factory=files,
        allow_scp=False,
    )
    await asyncio.Event().wait()


def host_key(folder: Path) -> asyncssh.SSHKey:
    """The same for a server that is started again."""
    path = folder.with_name(f"{folder.name}.key")
    if not path.is_file():
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(path)
        key.write_public_key(path.with_suffix(".pub"))
    return asyncssh.read_private_key(path)


@contextmanager
def known(folder: Path, port: int) -> Iterator[None]:
    """This process, and those that it starts, know the server of the folder."""
    home = folder.with_name(f"{folder.name}.home")
    (home / ".ssh").mkdir(parents=True)
    host_key(folder)
    key = folder.with_name(f"{folder.name}.pub").read_text()
    (home / ".ssh/known_hosts").write_text(f"[127.0.0.1]:{port} {key}")
    with mock.patch.dict(os.environ, {"HOME": str(home)}):
        yield


def serve_s3(port: int) -> None:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port, verbose=False)
    server.start()
    assert server._thread is not None
    server._thread.join()


if __name__ == "__main__":
    if sys.argv[1] == "sftp":
        asyncio.run(serve_sftp(int(sys.argv[2]), Path(sys.argv[3])))
    else:
        serve_s3(int(sys.argv[2]))
