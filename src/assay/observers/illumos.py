"""Counts CPU time, memory, devices, links and TCP of an illumos or Solaris host, without anything installed there.

Source: `kstat -p` in one exchange. Its CPU times are in ns, and its counters have 64 bits. The memory that the cache of ZFS would
give back is not free: `memory.free_bytes` is without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.catalogue import Observer, Source, needs_system
from assay.errors import EvidenceError
from assay.evidence import other_systems
from assay.evidence.other_systems import GIVES, Figures
from assay.evidence.snapshots import Counters, number

SYSTEM = "SunOS"
COMMANDS = {
    "kstat": "kstat -p cpu::sys: unix:0:system_pages: unix:0:system_misc: link::: tcp:0:tcp: zfs:0:arcstats:size",
    "disks": "kstat -p -c disk",
    "page": "pagesize",
}
PAGES = {"total_bytes": "physmem", "free_bytes": "freemem"}
TIMES = {"user": "cpu_nsec_user", "system": "cpu_nsec_kernel", "idle": "cpu_nsec_idle"}
LINK = {
    "rx_bytes": "rbytes64",
    "rx_packets": "ipackets64",
    "rx_errors": "ierrors",
    "rx_drops": "norcvbuf",
    "tx_bytes": "obytes64",
    "tx_packets": "opackets64",
    "tx_errors": "oerrors",
    "tx_drops": "noxmtbuf",
}
DISK = {"read_bytes": "nread", "write_bytes": "nwritten", "read_operations": "reads", "write_operations": "writes"}
TCP = {"tcp_sent_segments": "outSegs", "tcp_retransmitted_segments": "retransSegs", "tcp_active_opens": "activeOpens"}
LOAD_UNIT = 256
"""avenrun_1min is a fixed-point number with eight bits behind the point."""
LEFT_OUT = ("iowait", "steal", "mbuf", "available_bytes", "major_faults", "swapped", "io_ticks")
Named = Mapping[str, Mapping[str, str]]


def figures(texts: Mapping[str, str]) -> Figures:
    """Parse one look. Raises EvidenceError."""
    found = kstats(texts["kstat"])
    cpus = sorted((name for name in found if re.fullmatch(r"cpu:\d+:sys", name)), key=lambda name: int(name.split(":")[1]))
    cores = tuple(counters(found[name], TIMES) for name in cpus)
    if not cores or any(set(core) != set(TIMES) for core in cores):
        raise EvidenceError("found no cpu:N:sys with cpu_nsec_user, kernel and idle in kstat; expected them of each CPU")
    pages, misc = found.get("unix:0:system_pages", {}), found.get("unix:0:system_misc", {})
    page = number(texts["page"].strip() or "0", "pagesize")
    memory = {metric: count * page for metric, count in counters(pages, PAGES).items()} if page else {}
    load = counters(misc, {"load": "avenrun_1min"}).get("load")
    return Figures(
        times={kind: sum(core[kind] for core in cores) for kind in TIMES},
        cores=cores,
        cpus=len(cores),
        load_average=None if load is None else load / LOAD_UNIT,
        memory={**memory, **counters(found.get("zfs:0:arcstats", {}), {"arc_bytes": "size"})},
        network=counters(found.get("tcp:0:tcp", {}), TCP),
        interfaces={name: row for name, row in by_name(found, LINK, "link:").items() if not name.startswith("lo")},
        devices=by_name(kstats(texts["disks"]), DISK, ""),
    )


def kstats(text: str) -> Named:
    """Parse lines `module:instance:name:statistic value` as module:instance:name -> statistic -> value."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        key, *value = line.split(None, 1)
        name, colon, statistic = key.rpartition(":")
        if colon and value:
            found.setdefault(name, {})[statistic] = value[0].strip()
    return found


def counters(values: Mapping[str, str], names: Mapping[str, str]) -> dict[str, int]:
    """Return metric -> number of the statistics that there are."""
    return {metric: number(values[name], name) for metric, name in names.items() if name in values}


def by_name(found: Named, names: Mapping[str, str], begins: str) -> dict[str, Counters]:
    """Return the counters of each link or disk by its own name, the last part of its key."""
    rows = {key.split(":")[2]: counters(values, names) for key, values in found.items() if key.startswith(begins)}
    return {name: row for name, row in rows.items() if row}


GIVEN = tuple(key for key in GIVES if not any(part in key for part in LEFT_OUT))
OBSERVER = Observer(
    name="illumos",
    gives=GIVEN,
    sources=(
        Source(keys="cpu.load_average", words="load average of the host", way="commands of a system other than Linux"),
        Source(keys="cpu.core_*", words="CPU time of each CPU", way="kern.cp_times of FreeBSD, kstat of illumos"),
        Source(keys="memory.free_bytes", words="free memory of the host", way="commands of a system other than Linux"),
        Source(keys="memory.arc_bytes", words="the cache of ZFS (ARC)", way="sysctl of FreeBSD, kstat of illumos"),
    ),
    cost="0.9 ms CPU per look here, and three commands there",
    available=needs_system(SYSTEM),
    read=other_systems.reads(COMMANDS),
    parse=other_systems.parses("illumos:kstat", SYSTEM, GIVEN, figures),
    every_s=1.0,
    alone=True,
    systems=(SYSTEM,),
)
