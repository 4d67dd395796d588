"""Where evidence comes from, in words, and how to get it where it is missing: for verdicts, reports and `assay explain`."""

from __future__ import annotations

from collections.abc import Iterator

from assay.evidence import ladder
from assay.evidence.keys import fits
from assay.frozen import dataclass
from assay.records import Direction, Observations, Phase, Rung


@dataclass(frozen=True, kw_only=True)
class Source:
    """What one kind of evidence is, and what a machine must allow for it."""

    keys: str
    """A pattern of evidence keys."""
    words: str
    way: str


PROCESS = "a kernel that accounts the I/O of tasks (/proc/self/io is there), and root for processes of others"
DEVICE = "a directory on a block device that this machine shows (tmpfs, overlays and network file systems have none)"
GROUPS = "control groups mounted at /sys/fs/cgroup, with the controllers memory and io (version 1: blkio) on"
SERVER = "server.pid_file or server.cgroup of the target, which name the server's processes (docs/targets/commands.md)"
TRACING = 'root, the package bpftrace, and observers = ["*", "tracepoints"] in the experiment (assay stat --observe tracepoints)'

SOURCES = (
    Source(keys="L0.*", words="what the load says of itself", way="an engine of the lab, or a tool whose output a parser knows"),
    Source(keys="L1.*", words="bytes of the processes' system calls", way=PROCESS),
    Source(keys="L2.read", words="process counters: what the processes made storage read", way=PROCESS),
    Source(keys="L2.write", words="process counters: what the processes dirtied or wrote", way=PROCESS),
    Source(keys="L3.*", words="bytes of the network interfaces", way="/proc/net/dev of the namespace in which the load runs"),
    Source(keys="L4.*", words="bytes of the server's network interfaces", way=SERVER),
    Source(keys="L5.*", words="process counters of the server: what it was asked to move", way=SERVER),
    Source(keys="L6.read", words="process counters of the server: what it made storage read", way=SERVER),
    Source(keys="L6.write", words="process counters of the server: what it dirtied or wrote", way=SERVER),
    Source(keys="L8.flush", words="flushes that the devices completed", way=f"Linux 5.5, and {DEVICE}"),
    Source(keys="L9.flush", words="flushes that the devices completed", way=f"Linux 5.5, and {DEVICE}"),
    Source(keys="L8.*", words="what the devices above the lowest one moved", way=DEVICE),
    Source(keys="L9.*", words="what the lowest visible device moved", way=DEVICE),
    Source(
        keys="page_cache.*",
        words="cachestat: pages of the data files in memory, dirty or being written",
        way="Linux 6.5, Assay itself on that host, and files that we own or may write (else root)",
    ),
    Source(
        keys="extents.*",
        words="FIEMAP: holes, unwritten and encoded extents of the data files",
        way="a file system with FIEMAP (ext4, xfs, btrfs; not tmpfs), and Assay itself on that host",
    ),
    Source(keys="process.cancelled_write_bytes", words="process counters: what was removed before it was written", way=PROCESS),
    Source(keys="process.*", words="process counters over time", way=PROCESS),
    Source(keys="memory.inode_cache_objects", words="inodes in memory", way="/proc/sys/fs/inode-nr of the host"),
    Source(keys="memory.*", words="memory counters of the host", way="/proc/meminfo and /proc/vmstat of the host"),
    Source(keys="cgroup.*", words="control groups: dirty pages, limits and throttling of the load", way=GROUPS),
    *(
        Source(keys=f"tracepoints.{metric}", words=f"tracepoints: {counted}", way=TRACING)
        for metric, counted in (
            ("added_bytes", "pages that came into memory"),
            ("own_flushes", "flushes that the load itself sent to the devices"),
            ("own_*", "what the load itself sent to the devices"),
            ("dirty_*", "how often the load was held back because too much was dirty"),
            ("*", "events of the kernel"),
        )
    ),
    Source(
        keys="server.*_bytes", words="cachestat: pages of the server's data files in memory, dirty or being written", way=SERVER
    ),
    Source(keys="server.requests", words="the server's own count of what it was asked", way=SERVER),
    Source(keys="server.*", words="what the server's processes and its TCP did", way=SERVER),
    Source(
        keys="layout.*",
        words="FIEMAP: where on their device the data files lie",
        way="a disk that says that it rotates, and root",
    ),
    Source(keys="lab.*", words="the lab's own account of its processor time", way="nothing: every lab keeps it"),
    Source(keys="cpu.*", words="processor counters of the host", way="/proc/stat and /proc/PID/schedstat (observer cpu)"),
    Source(keys="pressure.*", words="pressure: time for which all waited", way="/proc/pressure (observer pressure)"),
    Source(
        keys="other_processes.*",
        words="what every process of the machine did",
        way="/proc of the host (observer processes; assay stat --observe processes)",
    ),
    Source(
        keys="placement.*",
        words="where the load ran",
        way="/sys/devices/system (observer placement; assay stat --observe placement)",
    ),
    Source(keys="kernel.messages", words="what the kernel logged", way="root, and /dev/kmsg (observer kernel_log)"),
    Source(keys="clock.*", words="the host's wall clock against the time since it was booted", way="/proc/stat (observer clock)"),
    Source(keys="network.*", words="TCP and interfaces of the host", way="/proc/net of the namespace in which the load runs"),
    Source(keys="fact:clock.*", words="the kernel's clock source", way="sysfs of the host (observer environment)"),
    Source(keys="fact:device.*", words="what the devices say of themselves", way=f"sysfs, and {DEVICE}"),
    Source(keys="fact:target.*", words="what the target says of its server", way=SERVER),
    Source(keys="fact:sysctl.*", words="switches of the kernel", way="/proc/sys of the host (observer environment)"),
)


def of(key: str) -> Source:
    """The source of an evidence key (`L9.flush`, `page_cache.dirty_bytes`, `fact:sysctl.vm.*`)."""
    named = (source for source in SOURCES if fits(key, source.keys))
    return next(named, Source(keys=key, words=key, way="an observer that counts it: see `assay catalogue`"))


def words(key: str) -> str:
    """`L9 flushes that the devices completed`: the rung, where it is one, and what is counted."""
    rung = key.partition(".")[0]
    return f"{rung} {of(key).words}" if rung in set(Rung) else of(key).words


def named(phase: Phase, observations: Observations, keys: tuple[str, ...]) -> tuple[str, ...]:
    """The evidence that there is of these keys, each once, in words and with the file, call or program that told it."""
    told: dict[str, dict[str, None]] = {}
    for key in keys:
        if ladder.has(phase, observations, key):
            who = (one for one in programs(phase, observations, key) if one.partition("(")[0] not in words(key))
            told.setdefault(words(key), {}).update(dict.fromkeys(who))
    return tuple(f"{word} ({', '.join(who)})" if who else word for word, who in told.items())


def programs(phase: Phase, observations: Observations, key: str) -> Iterator[str]:
    """Which file, call or program told it; where several count the same, the one that is used."""
    layer, _, metric = key.partition(".")
    if layer in set(Rung):
        step = ladder.passed(phase, observations, Rung(layer), Direction(metric))
        if step is not None:
            yield step.source.partition(":")[2] or step.source
        return
    for series in observations.over_time(phase.name, layer, metric):
        yield series.source.partition(":")[2] or series.source


def ways(phase: Phase, observations: Observations, keys: tuple[str, ...]) -> Iterator[str]:
    """What is missing of these keys, each with the reason where one is known, and how to get it."""
    said: dict[str, str] = {}
    for key in keys:
        upper = key.startswith(f"{Rung.UPPER_DEVICE}.")  # a stack of one device has none above it
        if not ladder.has(phase, observations, key) and not (upper and ladder.has(phase, observations, f"L9{key[2:]}")):
            why = observations.why_missing(key)
            said.setdefault(words(key), f"{f' ({why})' if why else ''}: {of(key).way}")
    for what, how in said.items():
        yield f"{what}{how}"
