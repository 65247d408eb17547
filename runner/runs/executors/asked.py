"""How an executor is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Asked:
    """By the command line; an executor ignores what it has no use for."""

    jobs: int = 1
    """Blocks at a time; workers of a cluster that is started for the run."""
    address: str = ""
    """HOST:PORT of its scheduler; empty for this machine."""
    exchange: str = ""
    """Where workers leave attempts and leases; empty for the run's folder."""
    tls: Path | None = None
    """A folder with ca.pem, the authority that signed all machines' certificates, cert.pem, this
    machine's own, and key.pem."""
