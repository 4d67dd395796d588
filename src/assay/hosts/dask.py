"""Hosts that Dask places: one pinned task for each host starts the agent there; Dask carries its lines and no evidence.

The only door to distributed and cryptography, which are imported when an experiment names such a host.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self, TypeVar

from assay.catalogue import Undo
from assay.errors import MissingError
from assay.hosts.certificates import FLEET
from assay.hosts.channel import Channel
from assay.hosts.far import FarHost
from assay.records import HostSpec

T = TypeVar("T")


@contextlib.contextmanager
def opened(specs: Sequence[HostSpec], engine: Path, undo: Undo) -> Iterator[Mapping[str, FarHost]]:
    """Open all hosts of an experiment that are reached through Dask; yield them by their names.

    `engine` is the file of the load engine, `undo` keeps what must be removed. All that was started ends with the context, and
    with this process. Raises MissingError without the extra `fleet`, RefusedError where too few workers came, TrialError where
    a worker or an agent did not start. Call it in the main thread.
    """
    try:
        from assay.hosts import cluster
    except ImportError as error:
        raise MissingError(f"hosts that are reached through Dask need more Python packages ({error}). {FLEET}") from error
    cluster.check(specs)
    with _Loop() as loop:
        stack = contextlib.AsyncExitStack()
        try:
            channels = loop.run(_channels(stack, specs, engine, undo))
            with contextlib.ExitStack() as hosts:
                yield {name: hosts.enter_context(FarHost(name, channel)) for name, channel in channels.items()}
        finally:
            loop.run(stack.aclose())


async def _channels(
    stack: contextlib.AsyncExitStack, specs: Sequence[HostSpec], engine: Path, undo: Undo
) -> Mapping[str, Channel]:
    from assay.hosts import cluster, pinned

    groups: dict[str, list[HostSpec]] = {}
    for spec in specs:
        groups.setdefault(spec.scheduler or spec.group or spec.name, []).append(spec)
    loop = asyncio.get_running_loop()
    channels: dict[str, Channel] = {}
    for group in groups.values():
        workers = await stack.enter_async_context(cluster.opened(group, undo))
        opening = (pinned.opened(pinned.Worker(workers, spec.name), engine, loop) for spec in group)
        found = await asyncio.gather(*opening, return_exceptions=True)
        started = [one for one in found if not isinstance(one, BaseException)]
        stack.push_async_callback(_closed, started)
        for spec, one in zip(group, found, strict=True):
            if isinstance(one, BaseException):
                raise one
            channels[spec.name] = one
    return channels


async def _closed(channels: Sequence[Channel]) -> None:
    await asyncio.gather(*(asyncio.to_thread(channel.close) for channel in channels))


class _Loop:
    """A thread with an event loop, in which schedulers, clients and connections live."""

    def __init__(self) -> None:
        self._begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), name="dask", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._loop, self._over = self._begun.result()
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run to the end and return or raise what comes out; an interrupt cancels it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _live(self) -> None:
        over = asyncio.Event()
        self._begun.set_result((asyncio.get_running_loop(), over))
        await over.wait()
