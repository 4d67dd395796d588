"""A channel of lines to the agent of a Dask worker, whichever way they go."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from assay.catalogue import Listener
from assay.hosts.channel import FAREWELL_S


class LineChannel(Protocol):
    """How lines get to the worker and back."""

    async def send(self, lines: bytes) -> None:
        """Send whole lines. Raises OSError."""
        ...

    async def receive(self) -> dict[str, Any]:
        """Return `lines` that came, and `ended` after the last ones. Raises OSError where the way has ended."""
        ...

    async def finish(self) -> None:
        """Ask for the agent's end. Raises OSError."""
        ...

    def abort(self) -> None:
        """Leave it at once."""
        ...


class WorkerChannel:
    """A `Channel` to the agent of a worker; lines are sent and heard in the thread of `loop`."""

    def __init__(self, way: LineChannel, loop: asyncio.AbstractEventLoop, release: Callable[[], None], address: str) -> None:
        """Begin to read, in the thread of the loop."""
        self._way, self._loop, self._release, self._address = way, loop, release, address
        self._thread, self._mutex = threading.get_ident(), threading.Lock()
        self._closing: Future[None] | None = None
        self._waiting, self._wake = bytearray(), asyncio.Event()
        self._rest, self._kept = b"", list[tuple[str | None, int]]()
        self._heard: Listener = lambda line, at_ns: self._kept.append((line, at_ns))
        self._open, self._complaint = True, ""
        self._tasks = (loop.create_task(self._read()), loop.create_task(self._write()))

    def send(self, line: str) -> None:
        """Send one line. Raises OSError where the channel has ended."""
        if not self._open:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        self._loop.call_soon_threadsafe(self._take, line.encode() + b"\n")

    def listen(self, heard: Listener) -> None:
        """Give lines to `heard` in the loop's thread, first those that came before."""
        self._loop.call_soon_threadsafe(self._give, heard)

    def close(self) -> None:
        """End the agent's input, wait some seconds for its end, and give the task up."""
        with self._mutex:
            if self._closing is None:
                self._closing = asyncio.run_coroutine_threadsafe(self._close(), self._loop)
        if threading.get_ident() != self._thread:
            self._closing.result()

    def complaint(self) -> str:
        """Return the end of the agent's standard error, or how the connection ended."""
        return self._complaint

    def _take(self, data: bytes) -> None:
        self._waiting += data
        self._wake.set()

    def _give(self, heard: Listener) -> None:
        self._heard = heard
        for line, at_ns in self._kept:
            heard(line, at_ns)
        self._kept.clear()

    async def _write(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                await self._wake.wait()
                self._wake.clear()
                lines = bytes(self._waiting)
                self._waiting.clear()
                await self._way.send(lines)

    async def _read(self) -> None:
        try:
            ended: dict[str, Any] | None = None
            while ended is None:
                message = await self._way.receive()
                self._hear(message["lines"], time.monotonic_ns())
                ended = message.get("ended")
            self._complaint = ended["stderr"]
        except OSError as error:
            self._complaint = f"the connection to the Dask worker {self._address} ended: {error}"
        finally:
            self._open = False
            self._heard(None, time.monotonic_ns())

    def _hear(self, data: bytes, at_ns: int) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._heard(line.decode(errors="replace"), at_ns)

    async def _close(self) -> None:
        reading, writing = self._tasks
        if not reading.done():
            with contextlib.suppress(OSError):
                await self._way.finish()
            await asyncio.wait((reading,), timeout=FAREWELL_S)
        for task in (reading, writing):
            task.cancel()
        await asyncio.wait((reading, writing))
        self._way.abort()
        self._release()
