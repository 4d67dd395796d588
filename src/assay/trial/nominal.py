"""Holds the names of `[limits]` against what this host has: a limit on a device that is not there would never be asked."""

from __future__ import annotations

from collections.abc import Iterator

from assay.catalogue import Host
from assay.records import Experiment

BLOCK, NETWORK = "/sys/class/block", "/sys/class/net"


def mistakes(host: Host, experiment: Experiment) -> tuple[str, ...]:
    """What is wrong with the names of `[limits]` on this host; those of other hosts are theirs to judge. Changes nothing.

    A loop device need not be there yet: a target may make it.
    """
    return tuple(_mistakes(host, experiment))


def _mistakes(host: Host, experiment: Experiment) -> Iterator[str]:
    for limit in experiment.limits:
        name = limit.removeprefix(f"{host.name}.")
        if name == limit or name.startswith("loop"):
            continue
        if not any(name in host.list(place) for place in (BLOCK, NETWORK)):
            disks = [disk for disk in host.list(BLOCK) if not disk.startswith(("loop", "ram"))]
            there = ", ".join((*disks, *host.list(NETWORK))) or "none"
            yield f'found limit "{limit}"; expected a block device or a network interface of {host.name}: {there}'
