"""Reads CPU quotas, throttle rules, I/O and dirty pages of the control groups of the load and of a named server.

Sources below /sys/fs/cgroup, version 1 or 2, for the groups of the subject, of its processes and of the server's, and all their
parents: cpu.stat, memory.stat, bytes of I/O, and throttle rules of the devices in the stack (`io.max`, or on version 1
`blkio.throttle.*_device`, which applies to one group only, so the root group is read too). Version 1 counts a group's bytes only
while it has a throttle rule, and charges background writeback to the root group.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch
from assay.evidence.snapshots import Origin, counter, gauge, named_numbers, number, text_of, texts
from assay.machine.stack import disk_of
from assay.records import Series, Snapshot, Subject

ROOT = "/sys/fs/cgroup"
VERSION_2 = f"{ROOT}/cgroup.controllers"
DISKSTATS = "/proc/diskstats"
THROTTLES = {
    "blkio.throttle.read_bps_device": "limit_read_bytes_per_s",
    "blkio.throttle.write_bps_device": "limit_write_bytes_per_s",
    "blkio.throttle.read_iops_device": "limit_read_ops_per_s",
    "blkio.throttle.write_iops_device": "limit_write_ops_per_s",
}
MAXIMA = dict(zip(("rbps", "wbps", "riops", "wiops"), THROTTLES.values(), strict=True))
FILES_1 = {"cpu": ("cpu.stat",), "memory": ("memory.stat",), "blkio": ("blkio.throttle.io_service_bytes", *THROTTLES)}
FILES_2 = ("cpu.stat", "memory.stat", "io.stat", "io.max")
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
METRICS = ("nr_throttled", "throttled_ns", "dirty_bytes", "writeback_bytes", "throttle_rules", *THROTTLES.values())
BYTES = {"rbytes": "read_bytes", "wbytes": "write_bytes"}


def available(host: Host) -> str | None:
    """Return why control groups are invisible; None if they are mounted."""
    return None if host.list(ROOT) else f"no control groups at {ROOT}: quotas and throttle rules are invisible"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the texts of each group's files, and the texts that map device numbers to names."""
    memberships = texts(host.read, (f"/proc/{pid}/cgroup" for pid in (*subject.pids, *servers(host, subject))))
    lines = [line for text in memberships.values() if isinstance(text, str) for line in text.splitlines()]
    paths = paths_2(lines, subject) if host.exists(VERSION_2) else paths_1(lines, subject)
    return texts(host.read, (DISKSTATS, *paths)) | {"disks": list(host.list("/sys/block"))}


def servers(host: Host, subject: Subject) -> tuple[int, ...]:
    """Return the processes of a named server: a quota on them limits the load as well."""
    if not subject.server:
        return ()
    from assay.machine.server import pids  # few commands are clients

    return pids(host, subject.server)


def paths_2(lines: Sequence[str], subject: Subject) -> list[str]:
    """Return the files of version 2: the limits of all parent groups apply too."""
    own = [line.partition("::")[2] for line in lines if line.startswith("0::")]
    groups = dict.fromkeys(above for group in (*own, *map(shortened, subject.cgroups), "") for above in lineage(group))
    return [f"{ROOT}{group}/{file}" for group in groups for file in FILES_2]


def paths_1(lines: Sequence[str], subject: Subject) -> list[str]:
    """Return the files of version 1, in which each controller has its own hierarchy."""
    found: dict[str, None] = {}
    rows = [line.split(":", 2) for line in lines]
    for controller, files in FILES_1.items():
        own = [row[2] for row in rows if len(row) == 3 and controller in row[1].split(",")]
        named = [shortened(group).removeprefix(f"/{controller}") for group in subject.cgroups]
        groups = dict.fromkeys(above for group in (*own, *named, "") for above in lineage(group))
        found |= dict.fromkeys(f"{ROOT}/{controller}{group}/{file}" for group in groups for file in files)
    return list(found)


def shortened(group: str) -> str:
    """Return a group's name without the mount point and a trailing slash."""
    return group.removeprefix(ROOT).rstrip("/")


def lineage(group: str) -> list[str]:
    """Return the group and all its parents; the root is the empty name."""
    parts = [part for part in group.split("/") if part]
    return ["".join(f"/{part}" for part in parts[:length]) for length in range(len(parts), -1, -1)]


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return throttling, dirty pages and rules over time. Raises EvidenceError on an unknown format or a falling counter."""
    origin = Origin(host=host_name, phase=phase, source=f"cgroup:{ROOT}", layer="cgroup")
    paths = list(dict.fromkeys(path for snapshot in snapshots for path in snapshot.raw if path.startswith(f"{ROOT}/")))
    named = {name for one in snapshots[:1] for device in subject.devices for name in (device, disk_of(device, disks_of(one)))}
    stats = [path for path in paths if path.endswith(("/cpu.stat", "/memory.stat"))]
    series = [
        *(item for path in stats for item in stat_series(origin, path, snapshots)),
        *(item for path in paths for item in bytes_series(origin, path, snapshots, named)),
        *(item for device in subject.devices for item in rule_series(origin, device, paths, snapshots)),
    ]
    there = {item.metric for item in series} | {*THROTTLES.values()}
    reason = "no control group of the load has it (controller disabled, or no block device)"
    return Evidence(series=tuple(series), missing={f"cgroup.{metric}": reason for metric in METRICS if metric not in there})


def subject_of(path: str) -> str:
    """Return `cgroup:/a/b` for a file of that group; on version 1 without the controller."""
    group = path.removeprefix(ROOT).rpartition("/")[0]
    first = group.split("/")[1:2]
    return f"cgroup:{group.removeprefix('/' + first[0]) if first and first[0] in FILES_1 else group}"


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
    gives=tuple(f"cgroup.{metric}" for metric in (*METRICS, *BYTES.values())),
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
