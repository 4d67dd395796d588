"""Counts the I/O of each kind of operation of a directory server (slapd, ns-slapd) with bpftrace.

Runs beside each phase, only if an experiment names it: `observers = ["*", "directory_io"]`. The target must name its server.
Whatever a thread of the server does between the begin and the end of an operation belongs to that operation. The rest is told
apart: threads of the server outside of operations, and all other threads on the devices of the server's files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Beside, Evidence, Host, Observer, Source
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, Points, counter
from assay.machine import bpftrace, dsio_program, dsio_server, dsio_trace
from assay.machine.dsio_trace import COUNTED, DirectoryIo, IoCounts
from assay.machine.server import pids
from assay.records import ABSOLUTE, Snapshot, Subject

WAY = 'root, the package bpftrace, observers = ["*", "directory_io"], and server.pid_file of a target that is slapd or ns-slapd'
OUTSIDE, OTHERS = "outside", "others"


def argv_of(host: Host, subject: Subject) -> tuple[str, ...]:
    """Return the command that traces the target's directory server. Raises EvidenceError without one, or with several."""
    found = [pid for pid in pids(host, subject.server) if dsio_server.software_of(host, pid)]
    if len(found) != 1:
        raise EvidenceError(f"{len(found)} processes of the target are slapd or ns-slapd; expected one")
    return bpftrace.argv(dsio_program.program(host, dsio_server.server(host, found[0])))


def read(host: Host, subject: Subject) -> Mapping[str, object]:  # noqa: ARG001 - all of it comes from the program beside
    """Return nothing more than what the program counted."""
    return {}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:  # noqa: ARG001
    """Return counters of each kind of operation, from 0 at the first sample. Raises EvidenceError if one falls."""
    origin = Origin(host=host_name, phase=phase, source="directory_io:bpftrace", layer="directory_io")
    seen = [(one.at_ns, dsio_trace.counted(one.raw)) for one in snapshots if isinstance(one.raw.get("maps"), Mapping)]
    if not seen:
        return Evidence()
    series = [counter(origin, about, name, unit_of(name), points) for about, name, points in rows(seen)]
    lost = [(at, float(sum(found.lost for _, found in seen[: index + 1]))) for index, (at, _) in enumerate(seen)]
    series.append(counter(origin, ABSOLUTE, "lost_events", "count", lost))
    unseen = seen[-1][1].unseen
    missing = {"directory_io.unseen_operations": f"not all operations are seen: {', '.join(unseen)}"} if unseen else {}
    return Evidence(series=tuple(series), missing=missing)


def rows(seen: Sequence[tuple[int, DirectoryIo]]) -> Iterator[tuple[str, str, Points]]:
    """Yield subject, metric and samples: of each kind that was seen, of the server outside of operations, of other threads."""
    kinds = dict.fromkeys(kind for _, found in seen for kind in found.operations)
    subjects = {f"operation:{kind}": [(at, found.operations.get(kind, IoCounts())) for at, found in seen] for kind in kinds}
    subjects[OUTSIDE] = [(at, found.outside) for at, found in seen]
    subjects[OTHERS] = [(at, together(found.others)) for at, found in seen]
    for about, samples in subjects.items():
        for name in COUNTED:
            yield about, name, [(at, float(getattr(counts, name))) for at, counts in samples]


def together(others: Mapping[str, IoCounts]) -> IoCounts:
    """Return the sum over threads."""
    whole = IoCounts()
    for counts in others.values():
        whole = whole.plus(counts)
    return whole


def unit_of(name: str) -> str:
    """Return the unit of a count by the end of its name."""
    return "ns" if name.endswith("_ns") else "bytes" if name.endswith("_bytes") else "count"


OBSERVER = Observer(
    name="directory_io",
    gives=(*(f"directory_io.{name}" for name in COUNTED), "directory_io.lost_events"),
    sources=(Source(keys="directory_io.*", words="I/O of each kind of directory operation", way=WAY),),
    cost="9.5 ms CPU per look and 1 s CPU per phase to start, outside the clock; probes: docs/observers/directory_io.md",
    available=bpftrace.obstacle,
    read=read,
    parse=parse,
    beside=Beside(argv=argv_of, read=bpftrace.counts),
    on_request=True,
)
