"""What workers need of an exchange, asked of it first: NFS, SMB and proxies promise less."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from runner.runs.executors.exchange import Exchange
from runner.support.errors import FairtrialError

AT_ONCE = 8
"""Connections that want one name."""
ROUNDS = 5
NAMES = 20
SIZE = 200_000
PATIENCE_SEC = 10.0


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Something that is asked of an exchange, and what came of it."""

    what: str
    fault: str
    """Empty if it is kept."""


def check(url: str) -> Iterator[Promise]:
    """One after another; what they leave is removed."""
    folder = f"check/{uuid4().hex}"
    for what, ask in _PROMISES.items():
        try:
            fault = ask(url, folder)
        except FairtrialError as error:
            fault = error.what
        yield Promise(what=what, fault=fault)
    exchange = _connection(url)
    with suppress(FairtrialError):
        for name in exchange.names(folder):
            exchange.remove(name)
    exchange.close()


def _connection(url: str) -> Exchange:
    return Exchange(url, patience_sec=PATIENCE_SEC)


def _is_kept(url: str, folder: str) -> str:
    one, other = _connection(url), _connection(url)
    one.put(f"{folder}/kept", b"first")
    one.put(f"{folder}/kept", b"second")
    found = other.get(f"{folder}/kept")
    return "" if found == b"second" else f"another connection reads {found!r}"


def _is_given_once(url: str, folder: str) -> str:
    connections = [_connection(url) for _ in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as together:
        for number in range(ROUNDS):
            start = threading.Barrier(AT_ONCE)
            want = partial(_want, f"{folder}/once-{number}", start)
            got = sum(together.map(want, connections, range(AT_ONCE)))
            if got != 1:
                return f"{got} of {AT_ONCE} connections were given one name"
    return ""


def _want(name: str, start: threading.Barrier, exchange: Exchange, who: int) -> bool:
    # Connected before the start: that takes long enough for the others to be done.
    exchange.get(name)
    start.wait(PATIENCE_SEC)
    return exchange.put_new(name, f"of {who}".encode())


def _is_whole(url: str, folder: str) -> str:
    name, texts = f"{folder}/whole", (b"a" * SIZE, b"b" * SIZE)
    writer, reader = _connection(url), _connection(url)
    writer.put(name, texts[0])
    with ThreadPoolExecutor(1) as beside:
        writing = beside.submit(_replace, writer, name, texts)
        while not writing.done():
            if reader.get(name) not in texts:
                return "what is being replaced is read in part"
        writing.result()
    return ""


def _replace(writer: Exchange, name: str, texts: tuple[bytes, bytes]) -> None:
    for number in range(ROUNDS):
        writer.put(name, texts[number % 2])


def _is_listed(url: str, folder: str) -> str:
    names = [f"{folder}/listed/{number}" for number in range(NAMES)]
    one, other = _connection(url), _connection(url)
    for name in names:
        one.put(name, b"here")
    seen = other.names(f"{folder}/listed/")
    if sorted(names) != seen:
        return f"{len(seen)} of {NAMES} names are listed"
    one.remove(names[0])
    return "a removed name is listed" if names[0] in other.names(f"{folder}/listed/") else ""


_PROMISES: dict[str, Callable[[str, str], str]] = {
    "what was put is read at once, over another connection": _is_kept,
    "of several that want one name, one is given it": _is_given_once,
    "what is replaced is read whole": _is_whole,
    "a list holds what is there, and nothing else": _is_listed,
}
