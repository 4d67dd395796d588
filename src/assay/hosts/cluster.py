"""The Dask clusters that hosts come from: workers that we start here or by ssh, jobs of a batch system, or a scheduler that runs.

Imported only where an experiment names such a host, because it imports distributed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import dask
from distributed import Client, Security
from distributed.comm.addressing import get_address_host
from distributed.utils import silence_logging_cmgr

from assay.catalogue import Undo
from assay.errors import RefusedError
from assay.frozen import dataclass
from assay.hosts import own_workers, queued_workers
from assay.hosts.dask_settings import CONFIGURATION, ROLES, from_files
from assay.records import HostSpec

SCHEDULER = "scheduler"
SOON = frozenset({"local", "ssh", SCHEDULER})
"""Where no queue decides when a worker comes."""
SOON_S, QUEUED_S = 60.0, 600.0
"""How long workers may take to come; the option `wait` (seconds) says otherwise."""
POLL_S = 0.1
Started = contextlib.AbstractAsyncContextManager[Any]
"""Yields a `Cluster` of distributed, or of a package that has its own."""
KUBERNETES = (
    'found cluster = "kubernetes"; expected scheduler = "tls://...": the cluster of dask-kubernetes has no TLS. '
    "Start a scheduler with certificates there, see docs/howto/dask.md."
)


@dataclass(frozen=True, kw_only=True)
class Workers:
    """A client of a scheduler, and the address of the worker of each host."""

    client: Client
    security: Security
    addresses: Mapping[str, str]
    direct: bool
    """Whether a worker's own port may be reachable."""


def check(specs: Sequence[HostSpec]) -> None:
    """Raise MissingError or RefusedError where one of these hosts cannot be opened. Call it in the main thread."""
    for kind in {_kind(spec) for spec in specs}:
        if kind in queued_workers.LIBRARIES:
            queued_workers.library(kind)
        elif kind == "kubernetes":
            raise RefusedError(KUBERNETES)
        elif kind != SCHEDULER and kind not in own_workers.STARTERS:
            raise RefusedError(
                f"found cluster = {kind!r}; expected one of: {', '.join((*own_workers.STARTERS, *queued_workers.LIBRARIES))}"
            )


@contextlib.asynccontextmanager
async def opened(specs: Sequence[HostSpec], undo: Undo) -> AsyncIterator[Workers]:
    """Open the cluster of one group of hosts, with one worker for each; all that was started ends with the context.

    Raises MissingError for a library that is not there, RefusedError where fewer workers came in time, TrialError where one
    did not start.
    """
    first = specs[0]
    kind = _kind(first)
    with dask.config.set(CONFIGURATION), _silence():
        async with contextlib.AsyncExitStack() as stack:
            if kind == SCHEDULER:
                address, security = str(first.scheduler), _given_security(first)
            else:
                cluster = await stack.enter_async_context(_cluster(kind, specs, undo))
                address, security = cluster.scheduler_address, cluster.security
            client = await stack.enter_async_context(_client(address, security))
            addresses = await _arrived(client, specs, _wait_s(first, kind))
            found = await client.get_versions()  # type: ignore[misc]  # it is asynchronous
            for name, address in addresses.items():
                check_versions(name, found["workers"].get(address, {}), found["client"])
            yield Workers(client=client, security=security, addresses=addresses, direct=kind != "gateway")


def _silence() -> contextlib.ExitStack:
    """Keep distributed's own log from the terminal: everything that matters is raised."""
    stack = contextlib.ExitStack()
    for name in ("distributed", "distributed.client"):
        stack.enter_context(silence_logging_cmgr(level=logging.CRITICAL, root=name))
    return stack


@contextlib.asynccontextmanager
async def _client(address: str, security: Security) -> AsyncIterator[Client]:
    try:
        client = await Client(address, security=security, asynchronous=True, direct_to_workers=False, set_as_default=False)
    except (OSError, RuntimeError) as error:
        raise RefusedError(f"no connection to the Dask scheduler {address}: {error}") from error
    async with client:
        yield client


async def _arrived(client: Client, specs: Sequence[HostSpec], wait_s: float) -> Mapping[str, str]:
    """Return the worker's address of each host: that of the worker of its name, else one after another of `in_turn`."""
    deadline = asyncio.get_running_loop().time() + wait_s
    while True:
        identity = await client.scheduler.identity(n_workers=-1)  # type: ignore[union-attr]  # it is connected
        names = {str(worker["name"]): address for address, worker in identity["workers"].items()}
        if len(names) >= len(specs):
            wanted = [spec.name for spec in specs]
            chosen = [names[name] for name in wanted] if set(wanted) <= names.keys() else in_turn(names)
            return dict(zip(wanted, chosen, strict=False))
        if asyncio.get_running_loop().time() > deadline:
            raise RefusedError(
                f"hosts {specs[0].group or specs[0].name}: found {len(names)} Dask workers after {wait_s:.0f} s; "
                f"expected {len(specs)}. "
                "Ask for fewer hosts, or for more time by the option wait (seconds)."
            )
        await asyncio.sleep(POLL_S)


def in_turn(names: Mapping[str, str]) -> list[str]:
    """Return the addresses of workers (by name) in an order: one of each machine, then the second of each, and so on."""
    turns: Counter[str] = Counter()
    ordered: list[tuple[int, int, str]] = []
    for name in sorted(names, key=lambda name: (len(name), name)):
        machine = get_address_host(names[name])
        turns[machine] += 1
        ordered.append((turns[machine], len(ordered), names[name]))
    return [address for _, _, address in sorted(ordered)]


def check_versions(name: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise RefusedError where a worker has another minor version of Python, or of distributed, as `get_versions` gives them."""
    for what, of in (("Python", _python), ("distributed", _distributed)):
        if of(there) != of(here):
            raise RefusedError(
                f"host {name}: found {what} {of(there)} on its Dask worker; expected {of(here)} as here. "
                "Install the same version there."
            )


def _python(versions: Mapping[str, Any]) -> str:
    return ".".join(str(versions.get("host", {}).get("python", "?")).split(".")[:2])


def _distributed(versions: Mapping[str, Any]) -> str:
    return str(versions.get("packages", {}).get("distributed", "?"))


def _cluster(kind: str, specs: Sequence[HostSpec], undo: Undo) -> Started:
    if kind == "gateway":
        return queued_workers.gateway(specs)
    if kind in queued_workers.LIBRARIES:
        return queued_workers.batch(kind, specs, undo)
    return own_workers.started(kind, specs, own_workers.STARTERS)


def _kind(spec: HostSpec) -> str:
    return SCHEDULER if spec.scheduler is not None else str(spec.cluster)


def _wait_s(spec: HostSpec, kind: str) -> float:
    asked = spec.options.get("wait")
    return float(cast("float", asked)) if asked is not None else SOON_S if kind in SOON else QUEUED_S


def _given_security(spec: HostSpec) -> Security:
    """Return the security from the files that the experiment names. Raises RefusedError without one of them, or for plain TCP."""
    if not str(spec.scheduler).startswith("tls://"):
        raise RefusedError(f"found scheduler = {spec.scheduler!r}; expected tls://HOST:PORT, because only TLS is used")
    paths = {}
    for name in ("authority", "certificate", "key"):
        path = Path(str(spec.options.get(name, ""))).expanduser()
        if name not in spec.options or not path.is_file():
            raise RefusedError(f"host {spec.name}: found {name} = {spec.options.get(name)!r}; expected the path of a PEM file")
        paths[name] = path
    return from_files(paths["authority"], dict.fromkeys(ROLES, (paths["certificate"], paths["key"])))
