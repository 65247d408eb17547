"""What ends a cell in the middle, and how long its agent has worked."""

from __future__ import annotations

import asyncio
import time

from runner.records import Outcome


class CellEnd:
    """Set once, by whoever finds a reason first."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None

    @property
    def is_reached(self) -> bool:
        return self._reached.is_set()

    def reach(self, outcome: Outcome) -> None:
        if not self.is_reached:
            self.outcome = outcome
            self._reached.set()

    def fail(self, error: BaseException) -> None:
        if not self.is_reached:
            self.error = error
            self._reached.set()

    async def wait(self) -> None:
        await self._reached.wait()


class AgentClock:
    """The agent's own seconds: while its program runs, less what it waited for the provider.

    A provider fails at some moment, and the program asks again later: from the failed attempt's
    beginning to the next one that is answered, nobody has worked.
    """

    def __init__(self) -> None:
        self._earlier_sec = 0.0
        self._started: float | None = None
        self._failing_since: float | None = None
        self.backoff_sec = 0.0

    def start(self) -> None:
        self._started = time.monotonic()

    def stop(self) -> None:
        self.recovered()
        self._earlier_sec = self._ran_sec()
        self._started = None

    def _ran_sec(self) -> float:
        if self._started is None:
            return self._earlier_sec
        return self._earlier_sec + time.monotonic() - self._started

    def failed(self, began: float) -> None:
        """An attempt that began then came to nothing."""
        if self._failing_since is None:
            self._failing_since = began

    def recovered(self) -> float:
        """The seconds of waiting that end now."""
        if self._failing_since is None:
            return 0.0
        waited_sec = time.monotonic() - self._failing_since
        self._failing_since = None
        self.backoff_sec += waited_sec
        return waited_sec

    def queued(self, waited_sec: float) -> None:
        """For our own other requests to the provider, outside of a failure's wait."""
        if self._failing_since is None:
            self.backoff_sec += waited_sec

    @property
    def agent_sec(self) -> float:
        waiting_sec = 0.0
        if self._failing_since is not None:
            waiting_sec = time.monotonic() - self._failing_since
        return max(0.0, self._ran_sec() - self.backoff_sec - waiting_sec)
