"""Counts packets, drops and CPU time of the box between the two ends of a workload (target middlebox).

Sources, of the box's network namespace: /proc/PID/net/dev, /proc/PID/net/snmp (Ip), /proc/PID/net/stat/nf_conntrack;
`tc -s qdisc` where it has shapers; and /proc/PID/schedstat of the kernel threads that do its work alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, needs_file
from assay.errors import AssayError, EvidenceError
from assay.evidence.snapshots import INTERFACE_COLUMNS, Origin, counter, gauge, interfaces, number, paired_numbers, text_of, texts
from assay.machine.net_namespaces import file_of, inside
from assay.records import ABSOLUTE, Box, Series, Snapshot, Subject

DEV, SNMP, CONNTRACK = "dev", "snmp", "conntrack"
SHAPERS, THREADS = "shapers", "threads"
LAYER = "middlebox"
IP = {"forwarded": "ForwDatagrams", "input_discards": "InDiscards", "output_discards": "OutDiscards", "no_route": "OutNoRoutes"}
SIDES = ("load", "server")
METRICS = ("packets", "bytes", "dropped", "shaper_dropped", "invalid", "cpu_ns", "connections")


def files_of(box: Box) -> Mapping[str, str]:
    """Return which files of the box's namespace are read."""
    below = f"/proc/{box.pid}/net"
    return {DEV: f"{below}/dev", SNMP: f"{below}/snmp", CONNTRACK: f"{below}/stat/nf_conntrack"}


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the texts of the box's namespace and threads; empty where there is no box."""
    box = subject.box
    if box is None:
        return {}
    files = files_of(box)
    found = texts(host.read, files.values())
    raw: dict[str, object] = {name: found[path] for name, path in files.items()}
    raw[THREADS] = [str(text) for text in texts(host.read, (f"/proc/{one}/schedstat" for one in box.threads)).values()]
    if box.shaped:
        raw[SHAPERS] = _shapers(host, box.pid)
    return raw


def _shapers(host: Host, box: int) -> str:
    try:
        done = host.run([*inside(file_of(box)), "tc", "-s", "-j", "qdisc", "show"], check=False)
    except (AssayError, OSError):
        return ""
    return done.stdout if done.status == 0 else ""


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return packets, bytes, drops and CPU time of the box over time. Raises EvidenceError on an unknown format."""
    box = subject.box
    if box is None:
        return Evidence()
    origin = Origin(host=host_name, phase=phase, source="middlebox:/proc/PID/net", layer=LAYER)
    seen = [one for one in snapshots if text_of(one, DEV)]
    if len(seen) < len(snapshots):
        reason = f"the box has no /proc/PID/net/dev at {len(snapshots) - len(seen)} of {len(snapshots)} looks"
        return Evidence(missing=dict.fromkeys((f"{LAYER}.{metric}" for metric in METRICS), reason))
    series = (*_traffic(origin, seen, box), *_addressed(origin, seen), *_tracked(origin, seen), *_shaped(origin, seen))
    spent = None if not box.threads else _spent(origin, seen, len(box.threads))
    missing = {} if spent else {f"{LAYER}.cpu_ns": "the box has no threads of its own (offload = true, or Linux before 5.12)"}
    return Evidence(series=(*series, *([spent] if spent else [])), missing=missing)


def _traffic(origin: Origin, seen: Sequence[Snapshot], box: Box) -> Iterator[Series]:
    """Yield the counters of both interfaces, and what came in on either: packets that the box had to pass on."""
    rows = [(one.at_ns, interfaces(text_of(one, DEV) or "", DEV)) for one in seen]
    for side, name in zip(SIDES, box.interfaces, strict=False):
        for metric in INTERFACE_COLUMNS:
            unit = "bytes" if metric.endswith("_bytes") else "count"
            yield counter(origin, f"box:{side}", metric, unit, [(at, found[name][metric]) for at, found in rows])
    both = {"packets": ("rx_packets",), "bytes": ("rx_bytes",), "dropped": ("rx_drops", "tx_drops")}
    for metric, columns in both.items():
        points = [(at, sum(found[name][column] for name in box.interfaces for column in columns)) for at, found in rows]
        yield counter(origin, ABSOLUTE, metric, "bytes" if metric == "bytes" else "count", points)


def _addressed(origin: Origin, seen: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield what the box's IP layer forwarded, and what it threw away."""
    looks = [(one.at_ns, paired_numbers(text, "Ip:", IP, SNMP)) for one in seen if (text := text_of(one, SNMP))]
    for metric in IP if looks else ():
        yield counter(origin, ABSOLUTE, metric, "count", [(at, found[metric]) for at, found in looks])


def _tracked(origin: Origin, seen: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield the followed connections, and the packets that belong to none."""
    known = [(one.at_ns, _numbers(text)) for one in seen if (text := text_of(one, CONNTRACK))]
    rows = [(at, found) for at, found in known if found]
    if rows and len(rows) == len(seen):
        yield gauge(origin, ABSOLUTE, "connections", "count", [(at, found[0]["entries"]) for at, found in rows])
        points = [(at, sum(row["invalid"] for row in found)) for at, found in rows]
        yield counter(origin, ABSOLUTE, "invalid", "count", points)


def _numbers(text: str) -> list[dict[str, int]]:
    """A row of hexadecimal numbers for each CPU below the names; `entries` is the same in each. Raises EvidenceError."""
    names, *rows = [line.split() for line in text.splitlines()] or [[]]
    try:
        found = [dict(zip(names, (int(word, 16) for word in row), strict=True)) for row in rows]
        return [{name: row[name] for name in ("entries", "invalid")} for row in found]
    except (ValueError, KeyError):
        raise EvidenceError(f"found {text[:60]!r} in nf_conntrack; expected columns of hexadecimal numbers") from None


def _shaped(origin: Origin, seen: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield what the shapers dropped, where `tc` printed it at every look."""
    points = [(one.at_ns, _dropped(str(one.raw.get(SHAPERS) or ""))) for one in seen]
    known = [(at, value) for at, value in points if value is not None]
    if known and len(known) == len(seen):
        yield counter(origin, ABSOLUTE, "shaper_dropped", "count", known)


def _dropped(printed: str) -> float | None:
    try:
        found = json.loads(printed)
    except ValueError:
        return None
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    drops = [row.get("drops") for row in rows if row.get("kind") == "tbf"]
    return float(sum(one for one in drops if isinstance(one, int))) if drops else None


def _spent(origin: Origin, seen: Sequence[Snapshot], threads: int) -> Series | None:
    """Return the CPU time of the box's threads together; None where one of them could not be read."""
    points = []
    for one in seen:
        rows = one.raw.get(THREADS)
        words = [str(row).split() for row in rows] if isinstance(rows, list) else []
        if len(words) < threads or not all(row and row[0].isdigit() for row in words):
            return None
        points.append((one.at_ns, sum(number(row[0], "schedstat") for row in words)))
    return counter(origin, ABSOLUTE, "cpu_ns", "ns", points)


OBSERVER = Observer(
    name="middlebox",
    gives=tuple(f"{LAYER}.{metric}" for metric in (*METRICS, *IP, *INTERFACE_COLUMNS)),
    sources=(
        Source(
            keys="middlebox.*",
            words="packets, drops and CPU time of the box between the ends",
            way="target kind = middlebox; its CPU time needs threaded NAPI (Linux 5.12 or newer) and ethtool",
        ),
    ),
    cost="100 µs CPU per look, 5 ms with shapers (tc); nothing without a box",
    available=needs_file("/proc/self/net/dev", "interface counters are invisible"),
    read=read,
    parse=parse,
    every_s=2.0,
)
