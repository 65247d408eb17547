"""Scorecards that were made before, so that a second report costs little.

A cache is a file as well, and a forged one would be believed for ever. So each card is sealed with
a key that lies neither in the run nor in the checkout, under a name made of all it follows from:
what anybody but this user's own runner has written is not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from runner.records import Scorecard
from runner.records.run_store import write_bytes
from runner.support.errors import FairtrialError

KEY_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class ScoreCache:
    """Of one user, for one checkout."""

    folder: Path
    key: bytes

    def get(self, name: str) -> Scorecard | None:
        """None if it was never kept, or by somebody else."""
        try:
            seal, _, text = (self.folder / f"{name}.sealed").read_bytes().partition(b"\n")
        except OSError:
            return None
        # Compared in constant time, a seal is not guessed digit by digit.
        if not hmac.compare_digest(seal, self._seal(name, text)):
            return None
        with contextlib.suppress(ValidationError):
            return Scorecard.model_validate_json(text)
        return None

    def put(self, name: str, card: Scorecard) -> None:
        """A disk that takes nothing more costs time later, and no figure now."""
        text = card.model_dump_json().encode()
        with contextlib.suppress(FairtrialError, OSError):
            write_bytes(self.folder / f"{name}.sealed", self._seal(name, text) + b"\n" + text)

    def _seal(self, name: str, text: bytes) -> bytes:
        # With the name, or one cell's card could be put in another's place.
        message = name.encode() + b"\n" + text
        return hmac.new(self.key, message, hashlib.sha256).hexdigest().encode()


def open_score_cache(folder: Path, environ: Mapping[str, str]) -> ScoreCache | None:
    """None where there is no place for a key: every card is then made again."""
    home = environ.get("HOME", "")
    state = environ.get("XDG_STATE_HOME") or (f"{home}/.local/state" if home else "")
    if not state:
        return None
    try:
        return ScoreCache(folder=folder, key=_key(Path(state) / "fairtrial" / "scores.key"))
    except OSError:
        return None


def _key(path: Path) -> bytes:
    """The user's own, made at first use. Raises OSError if it cannot be read or is cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        # For nobody else's eyes: who has it can seal whatever he likes.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise OSError(f"{path} is no key")
    return key
