"""What runs on a Dask worker, where Assay need not be installed: it uses the standard library and distributed alone.

Its functions go to the workers by value. One pinned task a host (`hold`) keeps an agent: the load engine, which speaks JSON
lines. No line goes through the task. They go through the worker's own TLS port (`Held.serve`), or, where that cannot be reached,
through the scheduler (`exchange`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import platform
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Worker
    from distributed.comm.core import Comm
    from distributed.core import Status

AGENTS = "assay_agents"
"""The attribute of a worker that holds its agents by their tokens."""
OPERATION = "assay-lines-"
"""Begins the name of an operation of the worker's port; the token follows."""
PIECE_BYTES = 1 << 16
STDERR_BYTES = 2000
LOOK_S = 0.2
"""How often a task looks whether its client still wants it."""
UNUSED_S = 60.0
"""How long a task waits for its agent to be started."""


class Held:
    """The agent of one task, and what it has to say: a message is a dictionary with `lines` (bytes), at the end with `ended`."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None
        self.over = asyncio.Event()
        """Whether all was said."""
        self._news = asyncio.Event()
        self._lines = bytearray()
        self.ended: dict[str, Any] | None = None
        self._reading: asyncio.Task[None] | None = None

    async def start(self, command: Sequence[str]) -> int:
        """Start the agent in a session of its own, so that it outlives this worker by what it has to undo. Raises OSError."""
        if self.over.is_set():
            raise OSError("the task has ended")
        self.process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._reading = asyncio.create_task(self._read(self.process))
        return self.process.pid

    def send(self, lines: bytes) -> None:
        """Pass whole lines to the agent; it ends by itself where it cannot read them."""
        if self.process is not None and self.process.stdin is not None and not self.process.stdin.is_closing():
            self.process.stdin.write(lines)

    def end_input(self) -> None:
        """End the agent's input: it ends its processes, undoes what is left, and ends."""
        if self.process is None:
            self.over.set()
        elif self.process.stdin is not None:
            self.process.stdin.close()

    async def message(self, wait_s: float | None = None) -> dict[str, Any]:
        """Return what the agent said since the former call, at the latest after so long."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._news.wait(), wait_s)
        self._news.clear()
        message: dict[str, Any] = {"lines": bytes(self._lines)}
        self._lines.clear()
        if self.ended is None:
            return message
        self.over.set()
        return {**message, "ended": self.ended}

    async def serve(self, comm: Comm) -> Status:
        """Carry lines both ways over a connection until it or the agent ends."""
        from distributed.core import Status

        answering = asyncio.create_task(self._answer(comm))
        with contextlib.suppress(OSError):
            while "end" not in (message := await comm.read()):
                self.send(message["lines"])
        self.end_input()
        await answering
        return Status.dont_reply

    async def _answer(self, comm: Comm) -> None:
        ended = False
        with contextlib.suppress(OSError):
            while not ended:
                message = await self.message()
                ended = "ended" in message
                await comm.write(message)
            await comm.close()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        complaint = asyncio.create_task(_last_bytes(process.stderr))
        while piece := await process.stdout.read(PIECE_BYTES):
            self._lines += piece
            self._news.set()
        status = await process.wait()
        said = (await complaint).decode(errors="replace")
        self.ended = {"status": status, "stderr": said or (f"exit status {status}" if status else "")}
        self._news.set()


async def hold(token: str, key: str) -> None:
    """Be the pinned task: keep one agent until it has ended, and end it when the client no longer wants this task."""
    from distributed import get_worker

    worker = get_worker()
    held = Held()
    _agents(worker)[token] = held
    worker.handlers[OPERATION + token] = held.serve
    waited_s = 0.0
    try:
        while not held.over.is_set():
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(held.over.wait(), LOOK_S)
            waited_s += LOOK_S
            if not _wanted(worker, key) or (held.process is None and waited_s > UNUSED_S):
                held.end_input()
                if held.ended is not None:
                    held.over.set()
    finally:
        del worker.handlers[OPERATION + token]
        del _agents(worker)[token]


async def ready(token: str, sha256: str, wait_s: float, dask_worker: Worker) -> dict[str, str]:
    """Wait for the task; say what machine this is, and where the engine of this digest belongs, and the digest of what is there.

    The path is empty where no directory is private and lets files be executed, the digest where there is no such file.
    """
    waited_s = 0.0
    while token not in _agents(dask_worker) and waited_s < wait_s:
        await asyncio.sleep(0.01)
        waited_s += 0.01
    if token not in _agents(dask_worker):
        return {}
    directory = next((place for place in _places() if _is_private(place) and _executes(place)), None)
    path = None if directory is None else directory / f"assay-engine-{sha256}"
    there = path is not None and path.is_file()
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "path": "" if path is None else str(path),
        "digest": hashlib.sha256(path.read_bytes()).hexdigest() if path is not None and there else "",
    }


async def place(path: str, sha256: str, content: bytes) -> None:
    """Write the engine file; it gets its name only when its digest was found right. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=Path(path).parent)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
        file.write(content)
    if hashlib.sha256(Path(name).read_bytes()).hexdigest() != sha256:
        Path(name).unlink()
        raise OSError(f"{path}: the file that came has another digest than {sha256}")
    Path(name).chmod(0o700)
    Path(name).replace(path)


async def start(token: str, path: str, arguments: Sequence[str], dask_worker: Worker) -> int:
    """Start the agent of a task from the engine at this path; return its process number. Raises OSError."""
    return await _agents(dask_worker)[token].start([path, *arguments])


async def exchange(token: str, lines: bytes, wait_s: float, dask_worker: Worker) -> dict[str, Any]:
    """Pass lines to the agent, and return what it said: at once where there is something, at the latest after `wait_s`."""
    held = _agents(dask_worker).get(token)
    if held is None:
        return {"lines": b"", "ended": {"status": None, "stderr": ""}}
    held.send(lines)
    return await held.message(wait_s) if wait_s else {"lines": b""}


async def finish(token: str, dask_worker: Worker) -> None:
    """End the agent's input, where the agent still is."""
    if (held := _agents(dask_worker).get(token)) is not None:
        held.end_input()


def _agents(worker: Worker) -> dict[str, Held]:
    agents: dict[str, Held] = vars(worker).setdefault(AGENTS, {})
    return agents


def _wanted(worker: Worker, key: str) -> bool:
    """Whether the task is still wanted: a client that went away has given it up, and then its state says so."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state in ("executing", "long-running")


def _places() -> tuple[Path, ...]:
    """Return the directories in which the engine may be, the same as by ssh."""
    caches = (os.environ.get("XDG_CACHE_HOME"), "~/.cache")
    kept = tuple(Path(cache).expanduser() / "assay" for cache in caches if cache)
    return (*kept, Path(f"/tmp/assay-{os.geteuid()}"))  # noqa: S108 - its owner and mode are checked


def _is_private(directory: Path) -> bool:
    """Whether the directory is this user's alone; it is made where it is not there."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _executes(directory: Path) -> bool:
    """Whether a file of this directory may be executed."""
    try:
        with tempfile.NamedTemporaryFile(dir=directory) as file:
            Path(file.name).chmod(0o700)
            return os.access(file.name, os.X_OK)
    except OSError:
        return False


async def _last_bytes(stream: asyncio.StreamReader) -> bytes:
    last = b""
    while piece := await stream.read(PIECE_BYTES):
        last = (last + piece)[-STDERR_BYTES:]
    return last
