"""Reads quotas, limits, throttle rules, I/O and dirty pages of the control groups of the load and of a named server.

Sources below the mounts of the control groups, version 1, 2 or both, for the groups of the subject, of its processes and of the
server's, and all their parents that are mounted here: cpu.stat, memory.stat, the limit of memory and how often it was hit, bytes
of I/O, and throttle rules of the devices in the stack (`io.max`, or on version 1 `blkio.throttle.*_device`, which applies to one
group only, so the root group is read too). Version 1 counts a group's bytes only while it has a throttle rule, and charges
background writeback to the root group. Where no process of the load was seen, nothing is known of its quota.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch
from assay.evidence.snapshots import Origin, counter, gauge, named_numbers, number, text_of, texts
from assay.machine import group_mounts
from assay.machine.group_mounts import ROOT
from assay.machine.stack import disk_of
from assay.records import Series, Snapshot, Subject

DISKSTATS = "/proc/diskstats"
OWN = "own"
"""In a look: controller -> directories of the groups that processes of the load are in."""
THROTTLES = {
    "blkio.throttle.read_bps_device": "limit_read_bytes_per_s",
    "blkio.throttle.write_bps_device": "limit_write_bytes_per_s",
    "blkio.throttle.read_iops_device": "limit_read_ops_per_s",
    "blkio.throttle.write_iops_device": "limit_write_ops_per_s",
}
MAXIMA = dict(zip(("rbps", "wbps", "riops", "wiops"), THROTTLES.values(), strict=True))
FILES_1 = {
    "cpu": ("cpu.stat",),
    "memory": ("memory.stat", "memory.limit_in_bytes", "memory.failcnt"),
    "blkio": ("blkio.throttle.io_service_bytes", *THROTTLES),
}
FILES_2 = {"cpu": ("cpu.stat",), "memory": ("memory.stat", "memory.max", "memory.events"), "blkio": ("io.stat", "io.max")}
HIDDEN = "hidden"
"""In a look: processes of the server whose group is out of sight."""
NO_QUOTA = {"nr_throttled": 0, "throttled_usec": 0}
"""Version 2: a group without the controller cpu counts its time, but has no quota and cannot be stopped."""
NO_FILE = {"error": os.strerror(errno.ENOENT)}
COUNTERS = {
    "nr_throttled": ("nr_throttled", "count", 1),
    "throttled_time": ("throttled_ns", "ns", 1),
    "throttled_usec": ("throttled_ns", "ns", 1000),
}
GAUGES = {f"{name}_dirty": "dirty_bytes" for name in ("total", "file")} | {
    f"{name}_writeback": "writeback_bytes" for name in ("total", "file")
}
"""Dirty pages of a group with its children: total_dirty on version 1, file_dirty on version 2."""
LIMIT_FILES = ("memory.limit_in_bytes", "memory.max")
HIT_FILES = ("memory.failcnt", "memory.events")
NO_LIMIT_BYTES = 1 << 62
"""Version 1 writes the largest number of pages where there is no limit."""
OF_PROCESSES = ("nr_throttled", "throttled_ns", "throttle_rules")
"""What is known only with a group that a process of the load is in."""
METRICS = (*OF_PROCESSES[:2], "dirty_bytes", "writeback_bytes", "throttle_rules", *THROTTLES.values())
OF_MEMORY = ("memory_limit_bytes", "memory_limit_hits")
BYTES = {"rbytes": "read_bytes", "wbytes": "write_bytes"}


def available(host: Host) -> str | None:
    """Return why control groups are invisible; None if they are mounted."""
    return None if group_mounts.group_mounts(host) else f"no control groups at {ROOT}: quotas and throttle rules are invisible"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the texts of each group's files, and the texts that map device numbers to names."""
    known = group_mounts.group_mounts(host)
    of_server = servers(host, subject)
    lines = texts(host.read, (f"/proc/{pid}/cgroup" for pid in (*subject.pids, *of_server)))
    found = [group_mounts.directories(known, text) for text in lines.values() if isinstance(text, str)]
    hidden = [pid for pid in of_server if isinstance(text := lines.get(f"/proc/{pid}/cgroup"), str) and is_hidden(known, text)]
    pairs = [pair for groups in found for pair in groups.items()] + [*group_mounts.of_directories(known, subject.cgroups)]
    own = {name: list(dict.fromkeys(path for one, path in pairs if one == name)) for name in dict(pairs)}
    paths = dict.fromkeys(
        f"{above}/{file}"
        for name, mount in known.items()
        for directory in (*own.get(name, ()), mount.point)
        for above in inherited(name, mount, directory)
        for file in (FILES_1 if mount.controllers else FILES_2).get(name, ())
    )
    return texts(host.read, (DISKSTATS, *paths)) | {"disks": list(host.list("/sys/block")), OWN: own, HIDDEN: hidden}


def inherited(controller: str, mount: group_mounts.GroupMount, directory: str) -> tuple[str, ...]:
    """Return the groups whose rules hold for a group: all above it, but of version 1's throttles only the root's own."""
    lineage = tuple(mount.lineage(directory))
    return tuple(dict.fromkeys((*lineage[:1], mount.point))) if controller == "blkio" and mount.controllers else lineage


def is_hidden(known: Mapping[str, group_mounts.GroupMount], text: str) -> bool:
    """Return whether the CPU quota of a process's group cannot be read from here: it is in another container, or not mounted."""
    return "cpu" not in group_mounts.directories(dict(known), text)


def servers(host: Host, subject: Subject) -> tuple[int, ...]:
    """Return the processes of a named server: a quota on them limits the load as well."""
    if not subject.server:
        return ()
    from assay.machine.server import pids  # few commands are clients

    return pids(host, subject.server)


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return throttling, dirty pages and rules over time. Raises EvidenceError on an unknown format or a falling counter."""
    origin = Origin(host=host_name, phase=phase, source=f"cgroup:{ROOT}", layer="cgroup")
    paths = list(dict.fromkeys(path for snapshot in snapshots for path in snapshot.raw if path.endswith(FILES)))
    named = {name for one in snapshots[:1] for device in subject.devices for name in (device, disk_of(device, disks_of(one)))}
    stats = [path for path in paths if path.endswith(("/cpu.stat", "/memory.stat"))]
    series: list[Series] = [
        *(item for path in stats for item in stat_series(origin, path, snapshots)),
        *(item for path in paths for item in memory_series(origin, path, snapshots)),
        *(item for path in paths for item in bytes_series(origin, path, snapshots, named)),
        *(item for device in subject.devices for item in rule_series(origin, device, paths, snapshots)),
    ]
    unseen = [*without_group(snapshots)]
    hidden = sorted({pid for one in snapshots if isinstance(pids := one.raw.get(HIDDEN), Sequence) for pid in pids})
    series = [item for item in series if item.metric not in unseen]
    there = {item.metric for item in series} | {*THROTTLES.values()}
    missing = {metric: NOT_THERE for metric in METRICS if metric not in there} | dict.fromkeys(unseen, NOT_SEEN)
    missing |= dict.fromkeys(OF_PROCESSES[:2], OUT_OF_SIGHT.format(", ".join(map(str, hidden)))) if hidden else {}
    return Evidence(series=tuple(series), missing={f"cgroup.{metric}": reason for metric, reason in missing.items()})


FILES = tuple(f"/{file}" for files in (FILES_1, FILES_2) for names in files.values() for file in names)
NOT_THERE = "no control group of the load has it (controller disabled, or no block device)"
NOT_SEEN = "no process of the load was seen in a control group that is mounted here, so its quota and throttle rules are unknown"


def without_group(snapshots: Sequence[Snapshot]) -> Iterator[str]:
    """Yield what is not known because no look found a group of the load: what other groups have says nothing of it."""
    seen = {name for one in snapshots if isinstance(own := one.raw.get(OWN), Mapping) for name, paths in own.items() if paths}
    for metric in OF_PROCESSES:
        if ("blkio" if metric == "throttle_rules" else "cpu") not in seen:
            yield metric


OUT_OF_SIGHT = "the control group of the server's process {} is not mounted here (another container), so its quota is unknown"

HIERARCHIES = (*group_mounts.CONTROLLERS, "unified")


def subject_of(path: str) -> str:
    """Return `cgroup:/a/b` for a file of that group; on version 1 without the controllers."""
    group = path.removeprefix(ROOT).rpartition("/")[0]
    first = "".join(group.split("/")[1:2])
    return f"cgroup:{group.removeprefix('/' + first) if first.partition(',')[0] in HIERARCHIES else group}"


def stat_series(origin: Origin, path: str, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield throttled time and dirty pages of one group."""
    seen = [(snapshot.at_ns, named_numbers(text, path)) for snapshot in snapshots if (text := text_of(snapshot, path))]
    if seen and all("usage_usec" in found and "nr_throttled" not in found for _, found in seen):
        seen = [(at, NO_QUOTA) for at, _ in seen]
    for name, (metric, unit, factor) in COUNTERS.items():
        points = [(at, found[name] * factor) for at, found in seen if name in found]
        if points:
            yield counter(origin, subject_of(path), metric, unit, points)
    for name, metric in GAUGES.items():
        points = [(at, found[name]) for at, found in seen if name in found]
        if points:
            yield gauge(origin, subject_of(path), metric, "bytes", points)


def memory_series(origin: Origin, path: str, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield the limit of one group's memory, and how often the group was at it."""
    file = path.rpartition("/")[2]
    seen = [(snapshot.at_ns, text.strip()) for snapshot in snapshots if (text := text_of(snapshot, path))]
    if file in LIMIT_FILES and (
        limits := [(at, int(text)) for at, text in seen if text.isdigit() and int(text) < NO_LIMIT_BYTES]
    ):
        yield gauge(origin, subject_of(path), "memory_limit_bytes", "bytes", limits)
    if file in HIT_FILES and seen:
        hits = [(at, int(text) if text.isdigit() else named_numbers(text, path).get("max", 0)) for at, text in seen]
        yield counter(origin, subject_of(path), "memory_limit_hits", "count", hits)


def bytes_series(origin: Origin, path: str, snapshots: Sequence[Snapshot], named: set[str]) -> Iterator[Series]:
    """Bytes that one group moved on each device of these names; others' come and go, and their counters with them."""
    counted = path.endswith(("/io.stat", "/blkio.throttle.io_service_bytes"))
    seen = [(snapshot, bytes_by_device(text)) for snapshot in snapshots if counted and (text := text_of(snapshot, path))]
    for device, metric in sorted({key for _, found in seen for key in found}):
        if (name := names_of(seen[0][0]).get(device, device)) not in named:
            continue
        points = [(snapshot.at_ns, found.get((device, metric), 0)) for snapshot, found in seen]
        yield counter(origin, f"{subject_of(path)} device:{name}", metric, "bytes", points)


def bytes_by_device(text: str) -> dict[tuple[str, str], int]:
    """Parse (device number, metric) -> bytes from the format of either version.

    Version 2 of Linux 5.15 and 5.16 ends no line of a device without I/O, so the next device's number follows on it.
    """
    found: dict[tuple[str, str], int] = {}
    for line in filter(None, text.splitlines()):
        device, *words = re.sub(r"^(\S+ +)+(?=\d+:\d+ )", "", line).split()
        if words[:1] in (["Read"], ["Write"]):
            found[device, f"{words[0].lower()}_bytes"] = number(words[1], "blkio.throttle.io_service_bytes")
        pairs = (word.partition("=")[::2] for word in words)
        found |= {(device, BYTES[key]): number(value, "io.stat") for key, value in pairs if key in BYTES}
    return found


def rule_series(origin: Origin, device: str, paths: Sequence[str], snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield the number of throttle rules on a device, and each rule with its file as source."""
    counts = [(snapshot.at_ns, sum(len(rules(snapshot, path, device)) for path in paths)) for snapshot in snapshots]
    if not any(tells_rules(one, path) for path in paths for one in snapshots):
        return
    yield gauge(origin, f"device:{device}", "throttle_rules", "count", counts)
    for path in paths:
        seen = [(snapshot.at_ns, rules(snapshot, path, device)) for snapshot in snapshots]
        own = dataclasses.replace(origin, source=f"cgroup:{path}")
        for metric in dict.fromkeys(metric for _, found in seen for metric in found):
            points = [(at, found[metric]) for at, found in seen if metric in found]
            yield gauge(own, f"device:{device}", metric, "bytes/s" if "bytes" in metric else "1/s", points)


def tells_rules(snapshot: Snapshot, path: str) -> bool:
    """Return whether a file was read that has throttle rules. Version 2: a group without io.max has none, as the root group."""
    absent = path.endswith("/io.max") and snapshot.raw.get(path) == NO_FILE
    return absent or (path.endswith(("/io.max", *THROTTLES)) and text_of(snapshot, path) is not None)


def rules(snapshot: Snapshot, path: str, device: str) -> dict[str, int]:
    """Return metric -> limit that one file sets on a device or its disk."""
    file = path.rpartition("/")[2]
    text = text_of(snapshot, path)
    if text is None or (file not in THROTTLES and file != "io.max"):
        return {}
    names = names_of(snapshot)
    found: dict[str, int] = {}
    for numbers, *words in (line.split() for line in text.splitlines()):
        if names.get(numbers) not in (device, disk_of(device, disks_of(snapshot))):
            continue
        if file in THROTTLES:
            found[THROTTLES[file]] = number(words[0], path)
        pairs = (word.partition("=")[::2] for word in words)
        found |= {MAXIMA[key]: number(value, path) for key, value in pairs if key in MAXIMA and value != "max"}
    return found


def disks_of(snapshot: Snapshot) -> Sequence[str]:
    """Return the host's disks: rules apply to disks only, not to partitions."""
    disks = snapshot.raw.get("disks")
    return disks if isinstance(disks, list | tuple) else ()


def names_of(snapshot: Snapshot) -> dict[str, str]:
    """Return device number -> kernel name."""
    lines = (text_of(snapshot, DISKSTATS) or "").splitlines()
    return {f"{row[0]}:{row[1]}": row[2] for row in map(str.split, lines) if len(row) > 2}


OBSERVER = Observer(
    name="cgroup",
    gives=tuple(f"cgroup.{metric}" for metric in (*METRICS, *OF_MEMORY, *BYTES.values())),
    sources=(
        Source(
            keys="cgroup.*",
            words="control groups: dirty pages, limits and throttling of the load",
            way="control groups at /sys/fs/cgroup with the controllers memory and io (version 1: blkio)",
        ),
    ),
    watch=Watch.ALWAYS,
    cost="86 µs CPU per look (one process, one group)",
    available=available,
    read=read,
    parse=parse,
    every_s=1.0,
)
