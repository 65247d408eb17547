"""The engine behind a socket of ours, whose open connections can be cut."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from docker.transport import UnixHTTPAdapter

from runner.sandbox.engine import Engine, connect


class CutEngine:
    """Passes every byte on, until `cut` resets what is open. New connections are let through."""

    def __init__(self, engine_socket: str, path: Path) -> None:
        self.url = f"unix://{path}"
        self._engine_socket = engine_socket
        self._path = path
        self._open: set[asyncio.StreamWriter] = set()
        self.requests_left: int | None = None
        """After so many more it answers nobody; None for no end."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def cut(self) -> int:
        """How many connections it cut."""
        return asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, str(self._path))

    async def _end(self) -> None:
        self._server.close()
        await self._cut()
        while self._open:
            await asyncio.sleep(0.01)

    async def _cut(self) -> int:
        found = len(self._open)
        for writer in list(self._open):
            writer.transport.abort()
        return found

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        engine_reader, engine_writer = await asyncio.open_unix_connection(self._engine_socket)
        self._open |= {writer, engine_writer}
        try:
            await asyncio.gather(
                _pass(reader, engine_writer, self._is_let_through), _pass(engine_reader, writer)
            )
        finally:
            for end in (writer, engine_writer):
                end.close()
                with suppress(ConnectionError):
                    await end.wait_closed()
                self._open.discard(end)

    def _is_let_through(self, data: bytes) -> bool:
        if self.requests_left is not None:
            self.requests_left -= data.count(b" HTTP/1.1\r\n")
        return self.requests_left is None or self.requests_left >= 0


async def _pass(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    is_let_through: Callable[[bytes], bool] = lambda _: True,
) -> None:
    with suppress(ConnectionError):
        while (data := await reader.read(65536)) and is_let_through(data):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


@contextmanager
def cut_engine(engine: Engine, folder: Path) -> Iterator[tuple[CutEngine, Engine]]:
    """The proxy, and an engine client that goes through it."""
    proxy = CutEngine(socket_of(engine), folder / "engine.sock")
    proxy.start()
    client = connect(proxy.url)
    try:
        yield proxy, client
    finally:
        client.close()
        proxy.stop()


def socket_of(engine: Engine) -> str:
    adapter = engine.api.get_adapter(engine.api.base_url)
    assert isinstance(adapter, UnixHTTPAdapter)
    return str(adapter.socket_path)
