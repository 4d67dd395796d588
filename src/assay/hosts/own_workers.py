"""Dask workers that we start ourselves, here or by ssh. Imports distributed.

`SSHCluster` of distributed is not used: it puts the whole configuration on the far command line and quotes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from distributed import SpecCluster
from distributed.core import Status
from distributed.deploy.spec import ProcessInterface
from distributed.utils import get_ip

from assay.errors import AssayError, TrialError
from assay.hosts import certificates, on_worker
from assay.hosts.channel import Channel, LocalChannel
from assay.hosts.dask_settings import CONFIGURATION, DEATH_TIMEOUT_S, SilentScheduler, fields, in_memory
from assay.records import HostSpec

START_S = 60.0
"""How long Python may take to start a worker."""
BOOT = (
    "import json, sys; given = json.loads(sys.stdin.readline()); "
    "scope = {'__name__': 'assay_worker'}; exec(given.pop('program'), scope); scope['run'](given)"
)
"""The whole command line of a worker of ours; how it is to be comes on its standard input."""

LISTENING: Mapping[str, Mapping[str, str]] = {"local": {"host": "127.0.0.1"}, "ssh": {}}
"""Where a worker listens; without a word, at its address on the way to the scheduler."""

Door = Callable[[HostSpec], Channel]
"""Starts `python -c BOOT` on a host."""


class OwnWorker(ProcessInterface):
    """A worker that we start: it ends with the channel through which it was started."""

    def __init__(self, scheduler: str, *, name: str, door: Callable[[], Channel], given: Mapping[str, Any]) -> None:
        super().__init__(scheduler=scheduler, name=name)  # type: ignore[no-untyped-call]
        self.name = name
        self._door = door
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
            self._channel = await asyncio.to_thread(self._door)
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
async def started(kind: str, specs: Sequence[HostSpec], doors: Mapping[str, Door]) -> AsyncIterator[SpecCluster]:
    """Workers that we start ourselves. Their certificates are in no file: they go through the channel that starts them."""
    issued = certificates.issued([certificates.CONTROLLER, *(spec.name for spec in specs)])
    security = in_memory(issued, certificates.CONTROLLER)
    workers = {}
    for spec in specs:
        options = {"name": spec.name, "death_timeout": DEATH_TIMEOUT_S, **LISTENING[kind]}
        given = {
            "program": Path(on_worker.__file__).read_text(encoding="utf-8"),
            "config": dict(CONFIGURATION),
            "options": options,
            "security": fields(issued, spec.name),
        }
        door = doors[kind]
        workers[spec.name] = {"cls": OwnWorker, "options": {"door": lambda s=spec, d=door: d(s), "given": given}}
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
    return "127.0.0.1" if kind == "local" else get_ip(_machine_of(specs[0]))


def _machine_of(spec: HostSpec) -> str:
    return str(spec.control or spec.address).rpartition("@")[2].partition(":")[0]


def local_door(_spec: HostSpec) -> Channel:
    """Start a worker's Python on this machine. Raises OSError."""
    return LocalChannel([sys.executable, "-c", BOOT])
