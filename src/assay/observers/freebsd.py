"""Counts CPU time, memory, devices, interfaces, TCP and network buffers of a FreeBSD host, without anything installed there.

Sources: sysctl, `netstat -ibdn`, `netstat -s -p tcp`, `netstat -m` and `iostat -Ixd`, all in one exchange. The keys are those of
Linux where the meaning is the same. Device bytes are printed in tenths of a KiB. Retransmissions are those of the whole host.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import Observer, Source, needs_system
from assay.errors import EvidenceError
from assay.evidence import other_systems, unix_texts
from assay.evidence.other_systems import GIVES, Figures
from assay.evidence.snapshots import Counters, number

SYSTEM = "FreeBSD"
STATES = ("user", "user", "system", "system", "idle")
"""Of kern.cp_times: user, nice, system, interrupt, idle."""
PAGES = "vm.stats.vm.v_page_size"
FREE = ("vm.stats.vm.v_free_count",)
AVAILABLE = (*FREE, "vm.stats.vm.v_inactive_count", "vm.stats.vm.v_cache_count")
MEMORY = {
    "total_bytes": "hw.physmem",
    "arc_bytes": "kstat.zfs.misc.arcstats.size",
    "major_faults": "vm.stats.vm.v_io_faults",
    "swapped_in_pages": "vm.stats.vm.v_swappgsin",
    "swapped_out_pages": "vm.stats.vm.v_swappgsout",
}
COMMANDS = {
    "sysctl": " ".join(("sysctl -i kern.cp_times kern.clockrate vm.loadavg", PAGES, *AVAILABLE, *MEMORY.values())),
    "interfaces": "netstat -ibdn",
    "tcp": "netstat -s -p tcp",
    "mbufs": "netstat -m",
    "devices": "iostat -Ixd",
}
DEVICE = {
    "r/i": ("read_operations", 1),
    "w/i": ("write_operations", 1),
    "kr/i": ("read_bytes", 1024),
    "kw/i": ("write_bytes", 1024),
    "sb/i": ("io_ticks", 1000),
}
"""Column of `iostat -Ix` -> what it counts since boot, and how many of its units one is."""


def figures(texts: Mapping[str, str]) -> Figures:
    """Parse one look."""
    values = unix_texts.sysctls(texts["sysctl"])
    cores = cpu_times(values)
    pages = number(values.get(PAGES, "0"), PAGES)
    memory = unix_texts.numbers(values, MEMORY)
    for metric, names in (("free_bytes", FREE), ("available_bytes", AVAILABLE)):
        counts = unix_texts.numbers(values, dict(zip(names, names, strict=True)), pages)
        memory |= {metric: sum(counts.values())} if pages and counts else {}
    return Figures(
        times={kind: sum(core[kind] for core in cores) for kind in (cores[0] if cores else ())},
        cores=cores,
        cpus=len(cores) or None,
        load_average=unix_texts.load_average(values),
        memory=memory,
        network={**unix_texts.tcp(texts["tcp"]), **unix_texts.mbufs(texts["mbufs"])},
        interfaces=unix_texts.interfaces(texts["interfaces"], "netstat -ibdn"),
        devices=devices(texts["devices"]),
    )


def cpu_times(values: Mapping[str, str]) -> tuple[Counters, ...]:
    """Parse the times of each CPU (ns). Raises EvidenceError."""
    ticks = [number(word, "kern.cp_times") for word in values.get("kern.cp_times", "").split()]
    if not ticks or len(ticks) % len(STATES):
        raise EvidenceError(f"found {len(ticks)} figures in kern.cp_times; expected {len(STATES)} for each CPU")
    hertz = unix_texts.frequency(values, SYSTEM)
    rows = [ticks[at : at + len(STATES)] for at in range(0, len(ticks), len(STATES))]
    return tuple(
        {
            kind: sum(row[at] for at, state in enumerate(STATES) if state == kind) * 10**9 // hertz
            for kind in dict.fromkeys(STATES)
        }
        for row in rows
    )


def devices(text: str) -> dict[str, Counters]:
    """Parse totals since boot of each device, by the names of the columns. Raises EvidenceError."""
    rows = [line.split() for line in text.splitlines()]
    heads = next((row for row in rows if row[:1] == ["device"]), None)
    if heads is None:
        return {}
    found: dict[str, Counters] = {}
    for row in (row for row in rows if len(row) == len(heads) and row is not heads):
        columns = {DEVICE[head]: word for head, word in zip(heads, row, strict=True) if head in DEVICE}
        try:
            found[row[0]] = {metric: round(float(word) * times) for (metric, times), word in columns.items()}
        except ValueError:
            raise EvidenceError(f"found {' '.join(row)[:60]!r} in iostat -Ix; expected numbers") from None
    return found


GIVEN = tuple(key for key in GIVES if "iowait" not in key and "steal" not in key and key != "network.mbuf_bytes_limit")
OBSERVER = Observer(
    name="freebsd",
    gives=GIVEN,
    sources=(
        Source(keys="cpu.load_average", words="load average of the host", way="commands of a system other than Linux"),
        Source(keys="cpu.core_*", words="CPU time of each CPU", way="kern.cp_times of FreeBSD, kstat of illumos"),
        Source(keys="memory.free_bytes", words="free memory of the host", way="commands of a system other than Linux"),
        Source(keys="memory.arc_bytes", words="the cache of ZFS (ARC)", way="sysctl of FreeBSD, kstat of illumos"),
        Source(keys="network.mbuf*", words="network buffers of the host", way="netstat -m of FreeBSD or OpenBSD"),
    ),
    cost="0.9 ms CPU per look here, and five commands there",
    available=needs_system(SYSTEM),
    read=other_systems.reads(COMMANDS),
    parse=other_systems.parses("freebsd:sysctl, netstat, iostat", SYSTEM, GIVEN, figures),
    every_s=1.0,
    alone=True,
    systems=(SYSTEM,),
)
