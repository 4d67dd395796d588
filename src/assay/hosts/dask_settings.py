"""The configuration, the security and the scheduler class that all Dask clusters of ours share. Imports distributed."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distributed import Scheduler, Security

from assay.hosts.certificates import Certificates

CONFIGURATION: Mapping[str, Any] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.comm.require-encryption": True,
    "distributed.comm.tls.min-version": 1.3,
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.timeouts.tcp": "30s",
    "distributed.diagnostics.nvml": False,
    "logging.distributed": "warning",
}
"""Nothing listens for HTTP, nothing runs twice or elsewhere, and nobody is lost before the agents' lease (30 s) runs out."""

DEATH_TIMEOUT_S = 30
"""How long a worker waits for a scheduler that is gone."""
ROLES = ("client", "scheduler", "worker")


class SilentScheduler(Scheduler):
    """A scheduler without an HTTP server."""

    def start_http_server(self, *_arguments: object, **_options: object) -> None:
        """Start none."""


def in_memory(issued: Certificates, name: str) -> Security:
    """Return the security of one who holds the certificate of this name, in every role."""
    return Security(**fields(issued, name), tls_min_version=ssl.TLSVersion.TLSv1_3)


def fields(issued: Certificates, name: str) -> dict[str, Any]:
    """Return the arguments of `Security` as plain values, for a program elsewhere."""
    own = issued.of[name]
    found: dict[str, Any] = {"require_encryption": True, "tls_ca_file": issued.authority}
    for role in ROLES:
        found |= {f"tls_{role}_cert": own.certificate, f"tls_{role}_key": own.key}
    return found


def from_files(authority: Path, files: Mapping[str, tuple[Path, Path]]) -> Security:
    """Return the security of files: (certificate, key) by role."""
    found: dict[str, Any] = {"require_encryption": True, "tls_ca_file": str(authority)}
    for role in ROLES:
        found |= {f"tls_{role}_cert": str(files[role][0]), f"tls_{role}_key": str(files[role][1])}
    return Security(**found, tls_min_version=ssl.TLSVersion.TLSv1_3)
