"""The program of a Dask worker that we start ourselves; it goes as a text to a machine where Assay need not be installed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

CLOSING_S = 2.0
"""How long a worker may take to leave after its controller went away."""
PIECE_BYTES = 1 << 16


def run(given: Mapping[str, Any]) -> None:
    """Be a worker of ours until standard input ends.

    `given` has the scheduler's address, configuration (`config`), options and security of the worker. Its first line on
    standard output says where it listens.
    """
    asyncio.run(_work(given))


async def _work(given: Mapping[str, Any]) -> None:
    ended, working = _end_of_input(), asyncio.create_task(_worker(given))
    await asyncio.wait((ended, working), return_when=asyncio.FIRST_COMPLETED)
    if not working.done():
        asyncio.get_running_loop().call_later(CLOSING_S, os._exit, 1)
        working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working


async def _worker(given: Mapping[str, Any]) -> None:
    import dask

    dask.config.set(given["config"])
    from distributed import Security, Worker  # only now: its log is set up when it is imported
    from distributed.comm.addressing import get_address_host
    from distributed.utils import get_ip

    class Silent(Worker):
        """A worker without an HTTP server."""

        def start_http_server(self, *_arguments: object, **_options: object) -> None:
            pass

    here = get_ip(get_address_host(given["scheduler"]))
    options = {**given["options"], "host": here, "security": Security(**given["security"])}
    worker = await Silent(given["scheduler"], nthreads=1, memory_limit=0, **options)
    try:
        sys.stdout.write(json.dumps({"address": worker.address}) + "\n")
        sys.stdout.flush()
        await worker.finished()
    finally:
        await worker.close(timeout=CLOSING_S, executor_wait=False)


def _end_of_input() -> asyncio.Future[None]:
    """Return what is done at the end of standard input; how the worker is to be was read from it already."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def look() -> None:
        if not os.read(0, PIECE_BYTES):
            loop.remove_reader(0)
            ended.set_result(None)

    loop.add_reader(0, look)
    return ended
