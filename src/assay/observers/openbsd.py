"""Counts CPU time, memory, interfaces, TCP and network buffers of an OpenBSD host, without anything installed there.

Sources: sysctl, `netstat` and `vmstat -s`, all in one exchange. kern.cp_time of OpenBSD is a mean over its CPUs, so it is
multiplied by their number. It prints no reads and writes of its disks apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.catalogue import Observer, Source, needs_system
from assay.errors import EvidenceError
from assay.evidence import other_systems, unix_texts
from assay.evidence.other_systems import GIVES, Figures
from assay.evidence.snapshots import Counters

SYSTEM = "OpenBSD"
STATES = {6: ("user", "user", "system", "system", "system", "idle"), 5: ("user", "user", "system", "system", "idle")}
"""By how many there are: user, nice, system, (spinning for locks since OpenBSD 6.4,) interrupt, idle."""
COMMANDS = {
    "sysctl": "sysctl kern.cp_time kern.clockrate vm.loadavg hw.physmem hw.ncpuonline",
    "bytes": "netstat -ibn",
    "packets": "netstat -idn",
    "tcp": "netstat -s -p tcp",
    "mbufs": "netstat -m",
    "memory": "vmstat -s",
}
LEFT_OUT = ("iowait", "steal", "core_", "block.", "L9.", "arc", "major_faults", "swapped")


def figures(texts: Mapping[str, str]) -> Figures:
    """Parse one look."""
    values = unix_texts.sysctls(texts["sysctl"])
    cpus = unix_texts.numbers(values, {"cpus": "hw.ncpuonline"}).get("cpus")
    counts = unix_texts.paging(texts["memory"])
    page = counts.get("bytes per page", 0)
    memory = unix_texts.numbers(values, {"total_bytes": "hw.physmem"})
    free, inactive = counts.get("pages free"), counts.get("pages inactive")
    if page and free is not None:
        memory |= {"free_bytes": free * page}
        memory |= {} if inactive is None else {"available_bytes": (free + inactive) * page}
    packets = unix_texts.interfaces(texts["packets"], "netstat -idn")
    octets = unix_texts.interfaces(texts["bytes"], "netstat -ibn")
    return Figures(
        times=cpu_times(values, cpus),
        cpus=cpus,
        load_average=unix_texts.load_average(values),
        memory=memory,
        network={**unix_texts.tcp(texts["tcp"]), **unix_texts.mbufs(texts["mbufs"])},
        interfaces={name: {**counters, **octets.get(name, {})} for name, counters in packets.items()},
    )


def cpu_times(values: Mapping[str, str], cpus: int | None) -> Counters:
    """Parse the CPU time by kind (ns). Raises EvidenceError."""
    text = values.get("kern.cp_time", "")
    ticks = [int(word) for word in re.findall(r"\d+", text)]
    states = STATES.get(len(ticks))
    if states is None or cpus is None:
        raise EvidenceError(f"found {text[:40]!r} in kern.cp_time; expected 5 or 6 figures, and hw.ncpuonline")
    hertz = unix_texts.frequency(values, SYSTEM)
    times = {kind: sum(tick for tick, state in zip(ticks, states, strict=True) if state == kind) for kind in states}
    return {kind: count * cpus * 10**9 // hertz for kind, count in times.items()}


GIVEN = tuple(key for key in GIVES if not any(part in key for part in LEFT_OUT))
OBSERVER = Observer(
    name="openbsd",
    gives=GIVEN,
    sources=(
        Source(keys="cpu.load_average", words="load average of the host", way="commands of a system other than Linux"),
        Source(keys="memory.free_bytes", words="free memory of the host", way="commands of a system other than Linux"),
        Source(keys="network.mbuf*", words="network buffers of the host", way="netstat -m of FreeBSD or OpenBSD"),
    ),
    cost="0.9 ms CPU per look here, and six commands there",
    available=needs_system(SYSTEM),
    read=other_systems.reads(COMMANDS),
    parse=other_systems.parses("openbsd:sysctl, netstat, vmstat", SYSTEM, GIVEN, figures),
    every_s=1.0,
    alone=True,
    systems=(SYSTEM,),
)
