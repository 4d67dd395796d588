"""Dask workers that something else starts for us: a batch system, or a gateway. Imports distributed."""

from __future__ import annotations

import contextlib
import importlib
import re
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from assay.catalogue import Undo
from assay.errors import MissingError, RefusedError
from assay.hosts import certificates
from assay.hosts.dask_settings import CONFIGURATION, DEATH_TIMEOUT_S, SilentScheduler, from_files
from assay.hosts.local import Local
from assay.machine import ownership
from assay.records import HostSpec

HARMLESS = re.compile(r"[\w .,:=/@%+#\[\]-]*")
"""Texts that may be put into the script of a job, which quotes nothing."""
SCRIPT = "job_script_prologue"
"""The one option that is a script."""
JOBS = "dask-jobqueue"
LIBRARIES = {
    "slurm": (JOBS, "SLURMCluster"),
    "pbs": (JOBS, "PBSCluster"),
    "lsf": (JOBS, "LSFCluster"),
    "gateway": ("dask-gateway", "GatewayCluster"),
}
OURS = frozenset({"wait", "shared_directory"})
"""Options that are not passed on."""
WORKER = "worker"


@contextlib.asynccontextmanager
async def batch(kind: str, specs: Sequence[HostSpec], undo: Undo) -> AsyncIterator[Any]:
    """Jobs of a batch system, one worker each. Their certificates are files on a file system that all of them share."""
    made = library(kind)
    options = _passed_on(specs[0])
    issued = certificates.issued([certificates.CONTROLLER, WORKER])
    local, marker = Local(), ownership.fresh_name()
    directory = Path(str(specs[0].options.get("shared_directory", Path.home()))) / ownership.fresh_name()
    if not HARMLESS.fullmatch(str(directory)):
        raise RefusedError(
            f"found the directory {str(directory)!r}; a job's script cannot name it. Set the option shared_directory."
        )
    ownership.make_directory(local, undo, str(directory), marker)
    try:
        directory.chmod(certificates.DIRECTORY_MODE)
        files = certificates.written(issued, directory)
        ours = files[certificates.CONTROLLER]
        roles = {"client": ours, "scheduler": ours, "worker": files[WORKER]}
        security = from_files(directory / certificates.AUTHORITY_FILE, roles)
        async with made(**_job(options), security=security, scheduler_cls=SilentScheduler, asynchronous=True) as cluster:
            cluster.scale(len(specs))
            yield cluster
    finally:
        undo.undo("directory", path=str(directory), marker=marker)


def _job(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what every job gets: one worker, quiet as ours, that no page can be asked of."""
    prologue = options.get(SCRIPT, ())
    defaults = {"cores": 1, "memory": "1GB", "death_timeout": DEATH_TIMEOUT_S}
    fixed = {
        "processes": 1,
        "nanny": False,
        "protocol": "tls://",
        "scheduler_options": {"dashboard": False},
        "worker_extra_args": ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"],
        SCRIPT: [*_exports(), *([prologue] if isinstance(prologue, str) else prologue)],
    }
    return {**defaults, **options, **fixed}


def _exports() -> list[str]:
    """Return our configuration as lines of a script; all of it are constants."""
    return [f"export DASK_{key.upper().replace('-', '_').replace('.', '__')}='{value}'" for key, value in CONFIGURATION.items()]


def _passed_on(spec: HostSpec) -> dict[str, Any]:
    """Return the options for the cluster. Raises RefusedError for a text that a job's script would not take literally."""
    options = {key: list(value) if isinstance(value, tuple) else value for key, value in spec.options.items() if key not in OURS}
    for key, value in options.items():
        texts = value if isinstance(value, list) else [value]
        if key != SCRIPT and not all(HARMLESS.fullmatch(str(text)) for text in texts):
            raise RefusedError(f"found {key} = {value!r}; expected letters, digits, spaces and . , : = / @ % + # [ ] - _")
    return options


@contextlib.asynccontextmanager
async def gateway(specs: Sequence[HostSpec]) -> AsyncIterator[Any]:
    """Workers of a Dask gateway, which gives the certificates. Raises MissingError."""
    made = library("gateway")
    async with made(**_passed_on(specs[0]), asynchronous=True, shutdown_on_close=True) as cluster:
        await cluster.scale(len(specs))
        yield cluster


def library(kind: str) -> Callable[..., Any]:
    """Return the cluster class of another package. Call it once in the main thread. Raises MissingError.

    dask-jobqueue takes the signals of the process when it is imported; they are given back.
    """
    package, name = LIBRARIES[kind]
    ours = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        module = importlib.import_module(package.replace("-", "_"))
    except ImportError as error:
        raise MissingError(
            f"cluster {kind!r} needs another Python package ({error}). Install it: pip install {package}."
        ) from error
    for number, handler in ours.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)
    return cast("Callable[..., Any]", getattr(module, name))
