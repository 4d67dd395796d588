"""Dask workers that we start ourselves, here or by ssh. Imports distributed.

`SSHCluster` of distributed is not used: it puts the whole configuration on the far command line and quotes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import shlex
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from distributed import SpecCluster
from distributed.core import Status
from distributed.deploy.spec import ProcessInterface

from assay.catalogue import Listener
from assay.errors import AssayError, RefusedError, TrialError
from assay.hosts import certificates, worker_program
from assay.hosts.addresses import Address, parsed
from assay.hosts.channel import Channel, LocalChannel
from assay.hosts.dask_settings import CONFIGURATION, DEATH_TIMEOUT_S, SilentScheduler, fields, in_memory
from assay.hosts.ssh import Door
from assay.records import HostSpec

DISCARD = 9
"""Any port: nothing is sent to it."""
START_S = 60.0
"""How long Python may take to start a worker."""
BOOT = (
    "import json, sys; given = json.loads(sys.stdin.readline()); "
    "scope = {'__name__': 'assay_worker'}; exec(given.pop('program'), scope); scope['run'](given)"
)
"""The whole command line of a worker of ours; how it is to be comes on its standard input."""


PYTHON = "python3"
"""What starts a worker by ssh, unless the option `python` names another one."""
SSH_COMMAND = "exec /bin/sh -c " + shlex.quote(f'IFS= read -r python; exec "$python" -c {shlex.quote(BOOT)}')
"""A constant too: the name of Python is the first line of the input."""

Starter = Callable[[HostSpec], Channel]
"""Starts `python -c BOOT` on a host."""


class OwnWorker(ProcessInterface):
    """A worker that we start: it ends with the channel through which it was started."""

    def __init__(self, scheduler: str, *, name: str, start: Callable[[], Channel], given: Mapping[str, Any]) -> None:
        super().__init__(scheduler=scheduler, name=name)  # type: ignore[no-untyped-call]
        self.name = name
        self._starter = start
        self._given = {**given, "scheduler": scheduler}
        self._channel: Channel | None = None

    async def start(self) -> None:
        """Start it and wait until it listens. Raises TrialError with what it said where it ends before that."""
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[str | None] = loop.create_future()

        def note(line: str | None) -> None:
            if not heard.done():
                heard.set_result(line)

        def first(line: str | None, _at_ns: int) -> None:
            loop.call_soon_threadsafe(note, line)

        try:
            self._channel = await asyncio.to_thread(self._starter)
            self._channel.listen(first)
            self._channel.send(json.dumps(self._given))
            line = await asyncio.wait_for(heard, START_S)
        except AssayError:
            self.status = Status.failed
            raise
        except (OSError, TimeoutError) as error:
            await self._failed(str(error))
        if line is None:
            await self._failed("it ended")
        await super().start()  # type: ignore[no-untyped-call]

    async def close(self) -> None:
        """End its input, and with it the worker."""
        if self._channel is not None:
            await asyncio.to_thread(self._channel.close)
        await super().close()  # type: ignore[no-untyped-call]

    async def _failed(self, reason: str) -> None:
        said = ""
        if self._channel is not None:
            await asyncio.to_thread(self._channel.close)
            said = self._channel.complaint().strip()
        self.status = Status.failed
        raise TrialError(f"host {self.name}: the Dask worker did not start ({reason}). {said.splitlines()[-1] if said else ''}")


@contextlib.asynccontextmanager
async def started(kind: str, specs: Sequence[HostSpec], starters: Mapping[str, Starter]) -> AsyncIterator[SpecCluster]:
    """Workers that we start ourselves. Their certificates are in no file: they go through the channel that starts them."""
    issued = certificates.issued([certificates.CONTROLLER, *(spec.name for spec in specs)])
    security = in_memory(issued, certificates.CONTROLLER)
    workers = {}
    for spec in specs:
        own = {"name": spec.name, "death_timeout": DEATH_TIMEOUT_S}
        given = {
            "program": Path(worker_program.__file__).read_text(encoding="utf-8"),
            "config": dict(CONFIGURATION),
            "options": own,
            "security": fields(issued, spec.name),
        }
        options = {"start": functools.partial(starters[kind], spec), "given": given}
        workers[spec.name] = {"cls": OwnWorker, "options": options}
    scheduler = {
        "cls": SilentScheduler,
        "options": {"protocol": "tls://", "security": security, "host": _own_address(specs, kind)},
    }
    async with SpecCluster(workers=workers, scheduler=scheduler, security=security, asynchronous=True) as cluster:
        yield cluster


def _own_address(specs: Sequence[HostSpec], kind: str) -> str:
    """Return at which of our addresses the workers find the scheduler: on the way to the first of them, or as the option says."""
    asked = specs[0].options.get("host")
    if asked is not None:
        return str(asked)
    if kind == "local":
        return "127.0.0.1"
    far = _address(specs[0]).host
    try:
        family, _, _, _, there = socket.getaddrinfo(far, DISCARD, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as way:
            way.connect(there)
            return str(way.getsockname()[0])
    except OSError as error:
        raise RefusedError(
            f"host {specs[0].name}: no way to {far} ({error}). Name our own address there by the option host."
        ) from error


def _address(spec: HostSpec) -> Address:
    return parsed(str(spec.control or spec.address))


def local_starter(_spec: HostSpec) -> Channel:
    """Start a worker's Python on this machine. Raises OSError."""
    return LocalChannel([sys.executable, "-c", BOOT])


def ssh_starter(spec: HostSpec) -> Channel:
    """Start a worker's Python by ssh. Raises what `Door.open` raises; RefusedError for an option that is no path."""
    python = str(spec.options.get("python", PYTHON))
    if not python.isprintable():
        raise RefusedError(f"host {spec.name}: found python = {python!r}; expected the path of a Python interpreter")
    door = Door(spec.name, _address(spec))
    channel = door.open(SSH_COMMAND)
    channel.send(python)
    return _OverSsh(channel, door)


class _OverSsh:
    """A command on a far host and the connection that only it uses."""

    def __init__(self, channel: Channel, door: Door) -> None:
        self._channel, self._door = channel, door

    def send(self, line: str) -> None:
        self._channel.send(line)

    def listen(self, heard: Listener) -> None:
        self._channel.listen(heard)

    def complaint(self) -> str:
        return self._channel.complaint()

    def close(self) -> None:
        self._channel.close()
        self._door.close()


STARTERS: Mapping[str, Starter] = {"local": local_starter, "ssh": ssh_starter}
