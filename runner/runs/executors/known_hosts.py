"""SFTP to a server that shows the key by which this machine knows it.

fsspec reads no known_hosts: alone, it takes whoever answers for the right one, and tells them the
password.
"""

from __future__ import annotations

import logging
from typing import Any, NoReturn

from fsspec.implementations.sftp import SFTPFileSystem
from paramiko import BadHostKeyException, MissingHostKeyPolicy, PKey, SSHClient

from runner.support.errors import FairtrialError

HINT = (
    "`ssh-keyscan HOST >> ~/.ssh/known_hosts` takes down its key as it is now; "
    "FSSPEC_SFTP_HOST_KEY_POLICY=auto_add takes any"
)


class _Refuse(MissingHostKeyPolicy):  # type: ignore[misc] # paramiko has no types
    def missing_host_key(self, _: SSHClient, hostname: str, key: PKey) -> NoReturn:
        what = f"nobody has said that its key is {key.fingerprint}"
        raise FairtrialError(what, where=hostname, hint=HINT)


class KnownHosts(SFTPFileSystem):  # type: ignore[misc] # fsspec has no types
    """Raises FairtrialError for a server whose key `~/.ssh/known_hosts` does not hold."""

    def __init__(self, host: str, **how: Any) -> None:
        # By the user's settings of fsspec, if they say how.
        super().__init__(host, **{"host_key_policy": _Refuse(), **how})

    def _connect(self) -> None:
        # A lost connection is tried again, and said by us if it stays lost.
        logging.getLogger("paramiko").setLevel(logging.CRITICAL)
        self.client = SSHClient()
        # Before it connects: a server has several keys, and shows one that is known.
        self.client.load_system_host_keys()
        self.client.set_missing_host_key_policy(self.host_key_policy)
        try:
            self.client.connect(self.host, **self.ssh_kwargs)
        except BadHostKeyException as error:
            what = "its key is another than ~/.ssh/known_hosts has: is it the same server?"
            raise FairtrialError(what, where=self.host) from error
        self.ftp = self.client.open_sftp()
