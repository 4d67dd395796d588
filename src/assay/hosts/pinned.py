"""The agent of a Dask worker, started by one pinned task, as a channel of lines.

Lines go over a connection to the worker's own TLS port; where that cannot be reached, the scheduler passes them on.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import hashlib
import importlib.util
import platform
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from distributed import Future
from distributed.comm.core import Comm, connect

from assay.errors import AssayError, RefusedError, TrialError
from assay.hosts import on_worker
from assay.hosts.cluster import Workers
from assay.hosts.worker_channel import LineChannel, WorkerChannel

BEGIN_S = 10.0
"""How long a pinned task may take to begin; it does not where its worker is busy with another task."""
REACH_S = 3.0
"""How long the worker's port is tried before the lines go through the scheduler."""
HEAR_S = 5.0
"""How long one question through the scheduler waits for lines."""
AGENT = ("agent",)


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
        way: LineChannel = ThroughScheduler(worker, token) if comm is None else Direct(comm)
        return WorkerChannel(way, loop, task.release, worker.address)
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
