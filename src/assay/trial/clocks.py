"""The clocks of the hosts against ours."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from assay.catalogue import Host


@dataclass(frozen=True, kw_only=True)
class Clock:
    """A host's CLOCK_MONOTONIC minus ours at one time, and by how much that can be wrong."""

    host: str
    at_ns: int
    offset_ns: int
    error_ns: int


def compare(hosts: Mapping[str, Host], times: int = 8) -> dict[str, Clock]:
    """Compare one host after another; the controller's own machine has our clock."""
    return {name: _compared(name, host, times) for name, host in hosts.items()}


def _compared(name: str, host: Host, times: int) -> Clock:
    if name == "local":
        return Clock(host=name, at_ns=time.monotonic_ns(), offset_ns=0, error_ns=0)
    found = []
    for _ in range(times):
        asked, theirs, answered = host.probe()
        middle = (asked + answered) // 2
        found.append(Clock(host=name, at_ns=middle, offset_ns=theirs - middle, error_ns=(answered - asked + 1) // 2))
    return min(found, key=lambda one: one.error_ns)
