"""Counts traffic of the network cards and I/O of the devices of an ESXi host, without anything installed there.

Source: `esxcli network nic stats get` and `esxcli storage core device stats get`, all in one exchange. Blocks are counted in
units of 512 bytes. One call of esxcli takes some tenths of a second, so the host is read every 10 s and at the edges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.catalogue import Observer, Source, needs_system
from assay.errors import EvidenceError
from assay.evidence import other_systems
from assay.evidence.other_systems import Figures
from assay.evidence.snapshots import INTERFACE_COLUMNS, Counters, number

SYSTEM = "VMkernel"
COMMANDS = {
    "cards": "for n in $(esxcli network nic list | awk '/^vmnic/ {print $1}'); do esxcli network nic stats get -n $n; done",
    "devices": "esxcli storage core device stats get",
    "memory": "esxcli hardware memory get",
}
CARD = {
    "rx_bytes": "Bytes received",
    "rx_packets": "Packets received",
    "rx_errors": "Total receive errors",
    "rx_drops": "Receive packets dropped",
    "tx_bytes": "Bytes sent",
    "tx_packets": "Packets sent",
    "tx_errors": "Total transmit errors",
    "tx_drops": "Transmit packets dropped",
}
DEVICE = {
    "read_bytes": ("Blocks Read", 512),
    "write_bytes": ("Blocks Written", 512),
    "read_operations": ("Read Operations", 1),
    "write_operations": ("Write Operations", 1),
}
PHYSICAL = re.compile(r"Physical Memory: (\d+) Bytes")


def figures(texts: Mapping[str, str]) -> Figures:
    """Parse one look. Raises EvidenceError."""
    cards = {name: pick(values, {metric: (key, 1) for metric, key in CARD.items()}) for name, values in blocks(texts["cards"])}
    physical = PHYSICAL.search(texts["memory"])
    return Figures(
        memory={"total_bytes": int(physical[1])} if physical else {},
        interfaces={name.removeprefix("NIC statistics for "): counters for name, counters in cards.items()},
        devices={name: pick(values, DEVICE) for name, values in blocks(texts["devices"])},
    )


def blocks(text: str) -> list[tuple[str, dict[str, str]]]:
    """Parse headings, each with indented lines `name: value`. Raises EvidenceError for a line that is neither."""
    found: list[tuple[str, dict[str, str]]] = []
    for line in filter(str.strip, text.splitlines()):
        name, colon, value = line.strip().partition(": ")
        if not line.startswith(" "):
            found.append((line.strip(), {}))
        elif found and colon:
            found[-1][1][name] = value.strip()
        elif not line.rstrip().endswith(":"):
            raise EvidenceError(f"found line {line.strip()[:60]!r} of esxcli; expected NAME: VALUE below a heading")
    return found


def pick(values: Mapping[str, str], wanted: Mapping[str, tuple[str, int]]) -> Counters:
    """Return metric -> count of the lines that there are."""
    return {metric: number(values[name], name) * times for metric, (name, times) in wanted.items() if name in values}


GIVEN = (
    *("memory.total_bytes", "L3.read", "L3.write", "L9.read", "L9.write"),
    *(f"network.{metric}" for metric in INTERFACE_COLUMNS),
    *(f"block.{metric}" for metric in DEVICE),
)
OBSERVER = Observer(
    name="esxi",
    gives=GIVEN,
    sources=(Source(keys="block.*", words="device counters over time", way="esxcli of ESXi"),),
    cost="0.9 ms CPU per look here, and three calls of esxcli or more there",
    available=needs_system(SYSTEM),
    read=other_systems.reads(COMMANDS),
    parse=other_systems.parses("esxi:esxcli", "ESXi", GIVEN, figures),
    every_s=10.0,
    alone=True,
    systems=(SYSTEM,),
)
