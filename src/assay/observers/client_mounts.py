"""Counts what the kernel's clients of NFS, SMB and AFS asked their servers for, mount by mount.

Sources: /proc/self/mountstats, which has the mounts that Assay sees, /proc/fs/cifs/Stats, which has all shares of the host, and
/proc/PID/net/afs/stats, which has all volumes of a network namespace: those of the load's mounts, and the lab's own.
A mount that was made or made anew between two looks counts from 0 and is left out. Bytes from and to the server are payload of
reads and writes; what the client's cache answered is not among them.
"""

from __future__ import annotations

import contextlib
import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch
from assay.evidence import mount_texts
from assay.evidence.snapshots import Counters, Origin, counter, text_of, texts
from assay.machine import afs_files
from assay.records import Edge, Series, Snapshot, Subject

NFS, SMB = "/proc/self/mountstats", "/proc/fs/cifs/Stats"
AFS = re.compile(r"/proc/(\w+)/net/afs/stats")
UNITS = {
    "asked_read_bytes": "bytes",
    "asked_write_bytes": "bytes",
    "from_server_bytes": "bytes",
    "to_server_bytes": "bytes",
    "operations": "count",
    "reads": "count",
    "writes": "count",
    "commits": "count",
    "flushes": "count",
    "failed_reads": "count",
    "failed_writes": "count",
    "retransmissions": "count",
    "timeouts": "count",
    "queue_ms": "ms",
    "rtt_ms": "ms",
    "execute_ms": "ms",
}


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return all texts; of AFS one for each network namespace."""
    return texts(host.read, (NFS, SMB, *(f"/proc/{pid}/{afs_files.STATS}" for pid in spaces(host, subject))))


def spaces(host: Host, subject: Subject) -> tuple[str, ...]:
    """Return a process of each network namespace that the clients' mounts of AFS are of, the lab's own last."""
    if not host.exists(afs_files.OWN):
        return ()
    found: dict[str, None] = {}
    for endpoint in subject.endpoints:
        with contextlib.suppress(OSError):
            found[host.read(posixpath.join(posixpath.dirname(endpoint), afs_files.SPACE)).strip()] = None
    return (*found, "self")


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return the counters of each mount over time. Raises EvidenceError on a damaged text."""
    looks = [(snapshot, known_of(snapshot)) for snapshot in snapshots if snapshot.edge is not Edge.QUIET]
    if not looks:
        return Evidence()
    series: list[Series] = []
    anew: list[str] = []
    for subject, source in {name: source for _, look in looks for name, (source, _) in look.items()}.items():
        seen = [(snapshot.at_ns, look[subject][1]) for snapshot, look in looks if subject in look]
        if len(seen) < len(looks) or not is_one_mount([counters for _, counters in seen]):
            anew.append(subject)
            continue
        origin = Origin(host=host_name, phase=phase, source=f"client_mounts:{source}", layer="mount")
        series += series_of(origin, subject, seen)
    reason = f"mounted anew under the clock: {', '.join(anew)}"
    return Evidence(series=tuple(series), missing=dict.fromkeys(OBSERVER.gives, reason) if anew else {})


def known_of(snapshot: Snapshot) -> dict[str, tuple[str, Counters]]:
    """Return `mount:POINT`, `share:NAME` or `afs:PROCESS` (in its network namespace) -> source and counters at one look."""
    nfs, smb = text_of(snapshot, NFS), text_of(snapshot, SMB)
    found = {f"mount:{point}": (NFS, one) for point, one in mount_texts.nfs_mounts(nfs or "", NFS).items()}
    found |= {f"share:{name}": (SMB, one) for name, one in mount_texts.smb_shares(smb or "").items()}
    for path in filter(AFS.fullmatch, snapshot.raw):
        if counters := mount_texts.afs_client(text_of(snapshot, path) or "", path):
            found[f"afs:{path.split('/')[2]}"] = (path, counters)
    return found


def is_one_mount(looks: Sequence[Counters]) -> bool:
    """Return False if a counter fell: the kernel counts a new mount from 0."""
    return all(one.get(name, 0) >= before[name] for before, one in itertools.pairwise(looks) for name in before)


def series_of(origin: Origin, subject: str, seen: Sequence[tuple[int, Counters]]) -> Iterator[Series]:
    """Yield the counters of one mount that it has at every look."""
    for metric, unit in UNITS.items():
        if all(metric in counters for _, counters in seen):
            yield counter(origin, subject, metric, unit, [(at, float(counters[metric])) for at, counters in seen])


OBSERVER = Observer(
    name="client_mounts",
    gives=tuple(f"mount.{metric}" for metric in UNITS),
    sources=(
        Source(
            keys="mount.*",
            words="requests and bytes of the kernel's NFS, SMB and AFS clients",
            way="a mount by the kernel's client (nfs, cifs, afs) that lasts through the phase",
        ),
    ),
    watch=Watch.ALWAYS,
    cost="42 µs CPU per look (25 mounts, none of NFS, SMB or AFS)",
    available=lambda host: None,  # a host without one lacks nothing
    read=read,
    parse=parse,
)
