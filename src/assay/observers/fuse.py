"""Counts what the processes behind file systems in user space (FUSE) were asked and read: sshfs, rclone, s3fs, mergerfs, ntfs-3g.

The kernel counts no storage reads of a process that reads through FUSE. Sources: /proc/self/mountinfo, and /proc/PID/io of each
process that holds /dev/fuse for a mount, with those that it started. `calls` and `call_bytes` are its read calls, which include
one for each request; `read_bytes` is what it made storage read. `networked` says whether it has a connection, or a source that
is not of this host.
A recv call on a socket is not counted by the kernel, nor are splice and io_uring.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch
from assay.evidence.snapshots import Origin, counter, gauge, named_numbers, text_of, texts
from assay.machine import fuse
from assay.records import Edge, Series, Snapshot, Subject

COUNTERS = {"read_bytes": ("read_bytes", "bytes"), "rchar": ("call_bytes", "bytes"), "syscr": ("calls", "count")}
MOUNT_TABLE = "/proc/self/mountinfo"
NETWORKED = "networked"
MOUNTS = "mounts"
"""In a look: mount point -> the processes, and whether they have a connection."""
UNSEEN = "the process behind {} holds /dev/fuse where we may not look"


def available(host: Host) -> str | None:
    """Return that mounts cannot be seen; None if they can: a target may mount a file system in user space later."""
    return None if host.exists(MOUNT_TABLE) else f"no {MOUNT_TABLE}: file systems in user space (FUSE) are invisible"


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return each mount with its processes, and their accounts."""
    found = fuse.user_mounts(host)
    every = [mount for below in found.values() for mount in below]
    pids = {point: [pid for mount in below for pid in fuse.daemons(host, mount, every)] for point, below in found.items()}
    known = {
        point: {
            "pids": of,
            NETWORKED: any(fuse.is_remote(host, mount) for mount in found[point]) or fuse.is_networked(host, of),
        }
        for point, of in pids.items()
    }
    return texts(host.read, (f"/proc/{pid}/io" for pid in {pid for of in pids.values() for pid in of})) | {MOUNTS: known}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return the accounts of the processes of each mount over time. Raises EvidenceError on an unknown format."""
    origin = Origin(host=host_name, phase=phase, source="fuse:/proc/PID/io", layer="fuse")
    first = next((snapshot for snapshot in snapshots if snapshot.edge is not Edge.QUIET), None)
    points = mounted(first) if first is not None else {}
    series = tuple(one for point in points for one in mount_series(origin, point, snapshots))
    unseen = [point for point in points if not any(one.subject == f"mount:{point}" for one in series)]
    reason = "; ".join(UNSEEN.format(point) for point in unseen)
    return Evidence(series=series, missing={f"fuse.{name}": reason for name, _ in COUNTERS.values()} if reason else {})


def mounted(snapshot: Snapshot) -> Mapping[str, Mapping[str, object]]:
    """Return mount point -> what was known of its processes at a look."""
    found = snapshot.raw.get(MOUNTS)
    return found if isinstance(found, Mapping) else {}


def mount_series(origin: Origin, point: str, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield the sums over the processes of one mount, where the same ones were there at every look."""
    seen = [(snapshot, mounted(snapshot).get(point, {})) for snapshot in snapshots]
    accounts = [(snapshot.at_ns, known, account(snapshot, known.get("pids"))) for snapshot, known in seen]
    whole = [(at, known, found) for at, known, found in accounts if found is not None]
    if len(whole) < len(snapshots) or len({str(known.get("pids")) for _, known, _ in whole}) > 1:
        return
    for name, (metric, unit) in COUNTERS.items():
        yield counter(origin, f"mount:{point}", metric, unit, [(at, found[name]) for at, _, found in whole])
    yield gauge(origin, f"mount:{point}", NETWORKED, "", [(at, float(bool(known.get(NETWORKED)))) for at, known, _ in whole])


def account(snapshot: Snapshot, pids: object) -> dict[str, int] | None:
    """Return the sums of the counters of some processes; None where one cannot be read, or there is none."""
    paths = [f"/proc/{pid}/io" for pid in pids] if isinstance(pids, list | tuple) else []
    found = [named_numbers(text, path) for path in paths if (text := text_of(snapshot, path)) is not None]
    if not found or len(found) < len(paths):
        return None
    return {name: sum(one[name] for one in found) for name in COUNTERS}


OBSERVER = Observer(
    name="fuse",
    gives=(*(f"fuse.{name}" for name, _ in COUNTERS.values()), f"fuse.{NETWORKED}"),
    sources=(
        Source(
            keys="fuse.*",
            words="calls and storage reads of the process behind a FUSE mount",
            way="the right to read /proc/PID/io of that process (run as root or as its user), or its server by --server",
        ),
    ),
    watch=Watch.ALWAYS,
    cost="160 µs CPU per look (one mount, one process); 24 µs without a mount",
    available=available,
    read=read,
    parse=parse,
    every_s=1.0,
)
