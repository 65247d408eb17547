"""Where workers leave attempts and leases for one another and for the machine that began a run.

A folder that all of them see, an SFTP server, or a bucket. Nothing in it is appended to: what a
reader finds under a name is whole.

attempts/<cell id>/<n>.zip        an attempt that ended, as its folder was
under-way/<cell id>/<n>.jsonl     the transcript so far of one that has begun
leases/<block>/<n>.json           who has taken up a block, for the n-th time
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from tenacity import (
    Retrying,
    retry_if_not_exception_type,
    stop_after_delay,
    wait_fixed,
)

from runner.runs.executors.places import PART, ExchangePlace, open_place
from runner.support.errors import FairtrialError

PATIENCE_SEC = 120.0
"""How long a place that does not answer is asked again."""
_ANSWERS = (FileExistsError, FileNotFoundError, FairtrialError)
_BUGS = (TypeError, AttributeError, ImportError)
"""Asking again mends none of them."""

T = TypeVar("T")


class Exchange:
    """Raises FairtrialError for a place that does not answer, or holds other than was put there.

    It can be sent elsewhere: the connection is made anew there.
    """

    def __init__(self, url: str, *, patience_sec: float = PATIENCE_SEC) -> None:
        """`url`: a folder's path, `sftp://HOST/PATH` or `s3://BUCKET/PREFIX`."""
        self.url = url
        self.patience_sec = patience_sec
        self._place: ExchangePlace | None = None

    def __reduce__(self) -> tuple[Callable[..., Exchange], tuple[str]]:
        return partial(Exchange, patience_sec=self.patience_sec), (self.url,)

    def put(self, name: str, data: bytes) -> None:
        """Under the name, whatever is there."""
        self._ask(lambda place: place.put(name, data), name)
        self._require_arrived(name, data)

    def put_new(self, name: str, data: bytes) -> bool:
        """False if the name is taken: of several at once, one alone gets True.

        The same content is ours: the answer to an earlier try was lost on its way.
        """
        try:
            self._ask(lambda place: place.put_new(name, data), name)
        except FileExistsError:
            return self.get(name) == data
        self._require_arrived(name, data)
        return True

    def get(self, name: str) -> bytes | None:
        """None if there is nothing of that name."""
        with suppress(FileNotFoundError):
            return self._ask(lambda place: place.get(name), name)
        return None

    def names(self, under: str) -> list[str]:
        """All that is whole in a folder and its folders, in order."""
        found = self._ask(lambda place: place.names(under), under)
        return sorted(name for name in found if not name.endswith(PART))

    def remove(self, name: str) -> None:
        """What is gone already is no error."""
        with suppress(FileNotFoundError):
            self._ask(lambda place: place.remove(name), name)

    def close(self) -> None:
        place, self._place = self._place, None
        if place is not None:
            # It is given up because it fails, or is not needed: how it ends says nothing.
            with suppress(Exception):
                place.close()

    def _require_arrived(self, name: str, data: bytes) -> None:
        """Raises FairtrialError unless what was put can be read: a disk or a proxy may lose it."""
        if self.get(name) != data:
            hint = "`fairtrial executor check` asks the place what it can promise"
            raise FairtrialError(f"{name} is not what was put there", where=self.url, hint=hint)

    def _ask(self, question: Callable[[ExchangePlace], T], name: str) -> T:
        """The answer, asked for again over a new connection while there is none."""
        tries = Retrying(
            retry=retry_if_not_exception_type((*_ANSWERS, *_BUGS)),
            stop=stop_after_delay(self.patience_sec),
            wait=wait_fixed(min(1.0, self.patience_sec / 10)),
            before_sleep=lambda _: self.close(),
            reraise=True,
        )
        try:
            return tries(lambda: question(self._connected()))
        except (*_ANSWERS, *_BUGS):
            raise
        # Each kind of place has errors of its own, and every one of them means the same here.
        except Exception as error:
            what = f"{name} cannot be reached: {error}"
            hint = "is the place there, and may this user write to it?"
            raise FairtrialError(what, where=self.url, hint=hint) from error

    def _connected(self) -> ExchangePlace:
        if self._place is None:
            self._place = open_place(self.url)
        return self._place
