"""Hosts that Dask places: one pinned task for each host starts the agent there; Dask carries its lines and no evidence.

The only door to distributed and cryptography, which are imported when an experiment names such a host.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from assay.catalogue import Undo
from assay.errors import MissingError
from assay.hosts.certificates import FLEET
from assay.hosts.channel import Channel
from assay.records import HostSpec

if TYPE_CHECKING:
    from assay.hosts.own_workers import Door

T = TypeVar("T")


@contextlib.contextmanager
def opened(
    specs: Sequence[HostSpec], engine: Path, undo: Undo, doors: Mapping[str, Door] | None = None
) -> Iterator[Mapping[str, Channel]]:
    """Open all hosts of an experiment that are reached through Dask; yield the channel to the agent of each by its name.

    `engine` is the file of the load engine, `undo` keeps what must be removed, `doors` says how Python is started elsewhere
    (`ssh`). All that was started ends with the context, and with this process. Raises MissingError without the extra `fleet`,
    RefusedError where too few workers came, TrialError where a worker or an agent did not start.
    """
    try:
        from assay.hosts import cluster, own_workers
    except ImportError as error:
        raise MissingError(f"hosts that are reached through Dask need more Python packages ({error}). {FLEET}") from error
    ways = {"local": own_workers.local_door, **(doors or {})}
    cluster.check(specs, ways)
    with _Loop() as loop:
        stack = contextlib.AsyncExitStack()
        try:
            yield loop.run(_channels(stack, specs, engine, (ways, undo)))
        finally:
            loop.run(stack.aclose())


async def _channels(
    stack: contextlib.AsyncExitStack, specs: Sequence[HostSpec], engine: Path, given: tuple[Mapping[str, Door], Undo]
) -> Mapping[str, Channel]:
    from assay.hosts import cluster, pinned

    groups: dict[str, list[HostSpec]] = {}
    for spec in specs:
        groups.setdefault(spec.group or spec.name, []).append(spec)
    loop = asyncio.get_running_loop()
    channels: dict[str, Channel] = {}
    for group in groups.values():
        workers = await stack.enter_async_context(cluster.opened(group, *given))
        opening = (pinned.opened(pinned.Worker(workers, spec.name), engine, loop) for spec in group)
        for spec, channel in zip(group, await asyncio.gather(*opening), strict=True):
            stack.push_async_callback(asyncio.to_thread, channel.close)
            channels[spec.name] = channel
    return channels


class _Loop:
    """A thread with an event loop, in which schedulers, clients and connections live."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="dask", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run to the end and return or raise what comes out; an interrupt cancels it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
