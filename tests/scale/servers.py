"""Real servers for an exchange: `python -m tests.scale.servers sftp PORT FOLDER`, `… s3 PORT`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

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
        server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
        sftp_factory=files,
        allow_scp=False,
    )
    await asyncio.Event().wait()


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
