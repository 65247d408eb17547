"""Ctrl-C, SIGTERM and SIGHUP: each ends a verb in order, once.

The first raises KeyboardInterrupt, or waits for the end of a `held` block; a later one changes
nothing, so that whatever tidies up is left to do so. One that fell into a finalizer, which swallows
what is raised in it, is sent again.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGAIN_SEC = 0.05
"""Until a swallowed signal is sent again: GitPython's finalizer waits for git to end meanwhile."""


class _State:
    """Of this process."""

    stopping = False
    """A signal has come."""
    raised = False
    """And it was acted upon."""
    number = int(signal.SIGINT)
    """Which it was."""
    holds = 0
    stop: Callable[[], None] | None = None
    """What a signal does in the place of raising."""
    again: threading.Timer | None = None
    """Sends a swallowed signal once more."""


_STATE = _State()


@contextmanager
def heeded() -> Iterator[None]:
    """Have the signals end what is inside in KeyboardInterrupt.

    One that the process was started to ignore (`nohup`) stays ignored.
    """
    _STATE.stopping = _STATE.raised = False
    before = {}
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, _take)
    before_ours = sys.unraisablehook
    sys.unraisablehook = _sending_again(before_ours)
    try:
        yield
    finally:
        sys.unraisablehook = before_ours
        if _STATE.again is not None:
            _STATE.again.cancel()
        if _STATE.stopping:
            # The process ends now, which takes a while: with the handlers of before, a second
            # signal would kill it, and its exit code would not say 130.
            atexit.register(_ignore, tuple(before))
        else:
            for number, handler in before.items():
                signal.signal(number, handler)


def _ignore(numbers: tuple[signal.Signals, ...]) -> None:
    # The interpreter's own end gives up handlers of ours, and leaves this one.
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)


def _sending_again(
    before_ours: Callable[[sys.UnraisableHookArgs], None],
) -> Callable[[sys.UnraisableHookArgs], None]:
    """The hook for what a finalizer swallowed: a signal of ours is sent again, the rest is told."""

    def hook(swallowed: sys.UnraisableHookArgs) -> None:
        if not (_STATE.raised and isinstance(swallowed.exc_value, KeyboardInterrupt)):
            before_ours(swallowed)
            return
        # Without this the verb would go on to its end, and no Ctrl-C would stop it any more.
        _STATE.stopping = _STATE.raised = False
        _STATE.again = threading.Timer(AGAIN_SEC, os.kill, (os.getpid(), _STATE.number))
        _STATE.again.daemon = True
        _STATE.again.start()

    return hook


def _take(number: int, _frame: FrameType | None) -> None:
    if _STATE.stopping:
        return
    _STATE.stopping, _STATE.number = True, number
    if _STATE.stop is not None:
        _STATE.raised = True
        _STATE.stop()
    elif _STATE.holds == 0:
        _raise()


def _raise() -> None:
    _STATE.raised = True
    raise KeyboardInterrupt


def was_raised() -> bool:
    """True if a signal has ended what `heeded` holds, whatever a library made of it since."""
    return _STATE.raised


@contextmanager
def held() -> Iterator[None]:
    """Have a signal wait until the block is left.

    Without it, one that comes between the engine's answer and our note of it would leave a
    container that nobody knows.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _STATE.holds += 1
    try:
        yield
    finally:
        _STATE.holds -= 1
        # Also if the block failed: whoever tries it again would never see the signal.
        if _STATE.stopping and not _STATE.raised and _STATE.holds == 0:
            _raise()


@contextmanager
def instead(stop: Callable[[], None]) -> Iterator[None]:
    """Have a signal call `stop` in the place of raising, as an event loop needs."""
    _STATE.stop = stop
    try:
        yield
    finally:
        _STATE.stop = None


def run_until_done(work: Coroutine[object, object, None]) -> None:
    """Run it to its end; a signal cancels it in order: KeyboardInterrupt.

    In order: cells under way are recorded, their containers removed, replies of a judge kept.
    Raises the first failure itself, out of its group.
    """
    import asyncio  # noqa: PLC0415 - every verb imports this module, and few have a loop

    async def main() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if task is not None:
                # From a signal's handler: the loop may be asleep.
                loop.call_soon_threadsafe(task.cancel)

        with instead(stop):
            await work

    try:
        asyncio.run(main())
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error
    except ExceptionGroup as group:
        raise group.exceptions[0] from group
