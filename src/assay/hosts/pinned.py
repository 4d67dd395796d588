"""The agent of a Dask worker, started by one pinned task, as a channel of lines.

Lines go over a connection to the worker's own TLS port; where that cannot be reached, the scheduler passes them on.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import hashlib
import importlib.util
import os
import platform
import secrets
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future as ConcurrentFuture
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, cast

from distributed import Future
from distributed.comm.core import Comm, connect

from assay.catalogue import Listener
from assay.errors import AssayError, RefusedError, TrialError
from assay.hosts import on_worker
from assay.hosts.channel import FAREWELL_S
from assay.hosts.cluster import Workers

BEGIN_S = 10.0
"""How long a pinned task may take to begin; it does not where its worker is busy with another task."""
REACH_S = 3.0
"""How long the worker's port is tried before the lines go through the scheduler."""
HEAR_S = 5.0
"""How long one question through the scheduler waits for lines."""
AGENT = ("agent",)


class Way(Protocol):
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


class Direct:
    """A connection to the worker's port."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm

    async def send(self, lines: bytes) -> None:
        """Send whole lines. Raises OSError."""
        await self._comm.write({"lines": lines})

    async def receive(self) -> dict[str, Any]:
        """Return what came. Raises OSError."""
        return cast("dict[str, Any]", await self._comm.read())

    async def finish(self) -> None:
        """Ask for the agent's end. Raises OSError."""
        await self._comm.write({"end": True})

    def abort(self) -> None:
        """Close the connection at once."""
        self._comm.abort()


class ThroughScheduler:
    """Calls of functions on the worker, by way of the scheduler."""

    def __init__(self, worker: Worker, token: str) -> None:
        self._worker = worker
        self._token = token

    async def send(self, lines: bytes) -> None:
        """Send whole lines. Raises OSError."""
        await self._worker.call("exchange", self._token, lines, 0.0)

    async def receive(self) -> dict[str, Any]:
        """Return what came within some seconds. Raises OSError."""
        return cast("dict[str, Any]", await self._worker.call("exchange", self._token, b"", HEAR_S))

    async def finish(self) -> None:
        """Ask for the agent's end. Raises OSError."""
        await self._worker.call("finish", self._token)

    def abort(self) -> None:
        """Do nothing: the task ends when it is given up."""


class Worker:
    """One worker and the client that reaches it."""

    def __init__(self, workers: Workers, name: str) -> None:
        self.name, self.address = name, workers.addresses[name]
        self._workers, self._client = workers, workers.client

    async def call(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what the function returns
        """Call a function of `on_worker` there. Raises OSError where the worker or the scheduler is gone, or what it raises."""
        try:
            answers = await self._client.run(getattr(_shipped(), function), *arguments, workers=[self.address])
        except (ValueError, KeyError, RuntimeError) as error:
            raise OSError(errno.ECONNRESET, f"Dask worker {self.address}: {error}") from error
        return answers[self.address]

    def pin(self, token: str) -> Future[None]:
        """Submit the one task that this worker is asked for: never retried, never anywhere else."""
        key = f"assay-{self.name}-{token}"
        pinned = {"workers": [self.address], "allow_other_workers": False, "pure": False, "retries": 0}
        return self._client.submit(_shipped().hold, token, key, key=key, **pinned)

    async def connect(self, token: str) -> Comm | None:
        """Return a connection to the agent of this token; None where the worker's port cannot be reached."""
        if not self._workers.direct:
            return None
        try:
            arguments = self._workers.security.get_connection_args("client")
            comm: Comm = await connect(self.address, timeout=REACH_S, deserialize=False, **arguments)
            await comm.write({"op": on_worker.OPERATION + token, "reply": False})
        except (OSError, ValueError):
            return None
        return comm


async def opened(worker: Worker, engine: Path, loop: asyncio.AbstractEventLoop) -> WorkerChannel:
    """Start the agent on a worker and return the channel to it.

    Raises RefusedError where the worker is busy or of another kind than this machine, TrialError where the agent did not start.
    """
    token = secrets.token_hex(16)
    task = worker.pin(token)
    try:
        await _start(worker, token, task, engine)
        comm = await worker.connect(token)
        way: Way = ThroughScheduler(worker, token) if comm is None else Direct(comm)
        return WorkerChannel(way, loop, task, worker.address)
    except BaseException:
        task.release()
        raise


async def _start(worker: Worker, token: str, task: Future[None], engine: Path) -> None:
    content, digest = _engine(engine)
    try:
        found = await worker.call("ready", token, digest, BEGIN_S)
        if not found:
            raise RefusedError(f"host {worker.name}: {await _why(task)}")
        _check(found, digest, worker.name)
        if not found["digest"]:
            await worker.call("place", found["path"], digest, content)
        await worker.call("start", token, found["path"], AGENT)
    except AssayError:
        raise
    except Exception as error:
        raise TrialError(f"host {worker.name}: the load engine did not start ({error})") from error


def _check(found: Mapping[str, str], digest: str, name: str) -> None:
    """Raise RefusedError where the engine of this machine cannot run there, or another file has its name."""
    here = (platform.system(), platform.machine())
    if (found["system"], found["architecture"]) != here:
        raise RefusedError(
            f"host {name} is {found['system']} on {found['architecture']}; the load engine here is for {' on '.join(here)}. "
            "Run the experiment from a machine of the same kind."
        )
    if not found["path"]:
        raise RefusedError(
            f"host {name}: no private directory for the engine where files may be executed "
            "($XDG_CACHE_HOME, ~/.cache/assay, /tmp/assay-UID). Make one of mode 700."
        )
    if found["digest"] not in ("", digest):
        raise RefusedError(
            f"host {name}: {found['path']} has the SHA-256 {found['digest']}; expected {digest}. Remove the file, and run again."
        )


async def _why(task: Future[None]) -> str:
    """Return why a task has not begun."""
    if task.status == "error":
        return f"the Dask task failed: {await task.exception()}"
    return f"the Dask worker did not begin our task within {BEGIN_S:.0f} s. Wait until it is idle, or start another one."


@functools.lru_cache(maxsize=1)
def _engine(path: Path) -> tuple[bytes, str]:
    content = path.read_bytes()
    return content, hashlib.sha256(content).hexdigest()


@functools.lru_cache(maxsize=1)
def _shipped() -> ModuleType:
    """Return `on_worker` under a name that nobody can import: so its functions are sent by value."""
    spec = importlib.util.spec_from_file_location("assay_on_worker", on_worker.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class WorkerChannel:
    """A `Channel` to the agent of a worker; lines are sent and heard in the thread of `loop`."""

    def __init__(self, way: Way, loop: asyncio.AbstractEventLoop, task: Future[None], address: str) -> None:
        """Begin to read, in the thread of the loop."""
        self._way, self._loop, self._task, self._address = way, loop, task, address
        self._thread, self._mutex = threading.get_ident(), threading.Lock()
        self._closing: ConcurrentFuture[None] | None = None
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
        self._task.release()
