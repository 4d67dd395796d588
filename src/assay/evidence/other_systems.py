"""Evidence of systems other than Linux, under the keys of Linux where the meaning is the same.

An observer of such a system runs all its commands in one exchange and turns each look into `Figures`. This file makes readings
and series of them, and names what the system does not report. Pure functions, but for `exchange`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host
from assay.errors import EvidenceError
from assay.evidence.snapshots import INTERFACE_COLUMNS, Counters, Origin, RungCounter, counter, gauge, interface_ways, readings
from assay.frozen import dataclass, field
from assay.records import ABSOLUTE, Direction, Reading, Rung, Series, Snapshot, Subject

MARK = "=== "
"""Begins the line before the output of each command."""
PATIENCE_S = 20.0
OUTPUT = "output"
TIMES = ("user", "system", "idle", "iowait", "steal")
CPU = (*(f"{kind}_ns" for kind in (*TIMES, "total")), *(f"{kind}_share" for kind in TIMES), "cpus")
"""As the observer `cpu` has them for Linux."""
EACH = ("core_busy_ns", "core_idle_ns")
BYTES = ("total_bytes", "available_bytes", "free_bytes", "arc_bytes")
PAGING = ("major_faults", "swapped_in_pages", "swapped_out_pages")
TCP = ("tcp_sent_segments", "tcp_retransmitted_segments", "tcp_active_opens")
BUFFERS = ("mbufs_in_use", "mbuf_clusters_in_use", "mbuf_clusters_limit", "mbuf_bytes_in_use", "mbuf_bytes_limit")
REFUSED = ("mbuf_requests_denied", "mbuf_requests_delayed")
BLOCK = {
    "read_bytes": "bytes",
    "write_bytes": "bytes",
    "read_operations": "count",
    "write_operations": "count",
    "io_ticks": "ms",
}
GIVES = (
    *(f"cpu.{metric}" for metric in (*CPU, *EACH, "load_average")),
    *(f"memory.{metric}" for metric in (*BYTES, *PAGING)),
    *(f"network.{metric}" for metric in (*INTERFACE_COLUMNS, *TCP, *BUFFERS, *REFUSED)),
    *(f"block.{metric}" for metric in BLOCK),
    *("L3.read", "L3.write", "L9.read", "L9.write"),
)
"""All that one of these systems could give."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What one look found; what a system does not report is left out."""

    times: Counters = field(default_factory=dict)
    """CPU time of all CPUs together by kind (ns)."""
    cores: tuple[Counters, ...] = ()
    """The same of each CPU."""
    cpus: int | None = None
    load_average: float | None = None
    memory: Counters = field(default_factory=dict)
    """Gauges in bytes, and counters of paging."""
    network: Counters = field(default_factory=dict)
    """TCP and network buffers of the whole host."""
    interfaces: Mapping[str, Counters] = field(default_factory=dict)
    devices: Mapping[str, Counters] = field(default_factory=dict)


Found = Sequence[tuple[Snapshot, Figures]]


def exchange(host: Host, commands: Mapping[str, str]) -> dict[str, object]:
    """Run commands of constant text on a host, all in one exchange; what they print is kept with the name of each before it."""
    script = "\n".join(f"printf '\\n%s%s\\n' '{MARK}' {name}; {{ {command}; }} 2>/dev/null" for name, command in commands.items())
    return {OUTPUT: host.run(("sh", "-c", script), check=False, timeout_s=PATIENCE_S).stdout}


def reads(commands: Mapping[str, str]) -> Callable[[Host, Subject], Mapping[str, object]]:
    """Return the `read` of an observer that runs these commands."""
    return lambda host, _subject: exchange(host, commands)


def sections(snapshot: Snapshot) -> dict[str, str]:
    """Return what each command printed. Raises EvidenceError where the look holds no output."""
    output = snapshot.raw.get(OUTPUT)
    if not isinstance(output, str) or MARK not in output:
        raise EvidenceError(f"found {str(output)[:40]!r}; expected the output of commands, each after a line {MARK}NAME")
    parts = (part.partition("\n") for part in f"\n{output}".split(f"\n{MARK}")[1:])
    return {name.strip(): text for name, _, text in parts}


def parses(
    source: str, system: str, gives: Iterable[str], figures: Callable[[Mapping[str, str]], Figures]
) -> Callable[[str, str, Sequence[Snapshot], Subject], Evidence]:
    """Return what makes evidence of the looks of a phase. It raises EvidenceError on an unknown format or a falling counter."""
    given = tuple(gives)

    def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
        origin = Origin(host=host_name, phase=phase, source=source, layer="")
        return evidence(origin, system, given, (snapshots, figures), subject)

    return parse


def evidence(
    origin: Origin,
    system: str,
    gives: Iterable[str],
    looks: tuple[Sequence[Snapshot], Callable[[Mapping[str, str]], Figures]],
    subject: Subject,
) -> Evidence:
    """Return the evidence of a phase from its snapshots and the function that reads one look of them.

    `gives` are the keys that the system has; `origin` names its commands. Raises EvidenceError on an unknown format or a falling
    counter.
    """
    snapshots, figures = looks
    found: Found = [(snapshot, figures(sections(snapshot))) for snapshot in snapshots]
    made = list(_readings(origin, found, subject))
    series = [one for one in _series(origin, found, subject) if len(one.at_ns)]
    had = {f"{one.layer}.{one.metric}" for one in series} | {f"{one.rung}.{one.direction}" for one in made}
    moving = (
        "L3.",
        "L9.",
        "block.",
        *(f"cpu.{kind}_share" for kind in TIMES),
        *(f"network.{metric}" for metric in INTERFACE_COLUMNS),
    )
    missing = {key: f"{system} does not report it" for key in GIVES if key not in gives}
    missing |= {key: f"not in the output of {system}" for key in gives if key not in had and not key.startswith(moving)}
    if not subject.devices:
        missing |= dict.fromkeys(("L9.read", "L9.write"), "the target has no block device there")
    return Evidence(readings=tuple(made), series=tuple(series), missing=missing if found else {})


def _readings(origin: Origin, found: Found, subject: Subject) -> Iterator[Reading]:
    for name in subject.interfaces or _names(one.interfaces for _, one in found):
        rows = [(snapshot, one.interfaces[name]) for snapshot, one in found if name in one.interfaces]
        yield from readings(_layer(origin, "network"), f"interface:{name}", rows, interface_ways(Rung.CLIENT_NIC))
    ways = [
        RungCounter(
            rung=Rung.LOWEST_DEVICE, direction=way, bytes=f"{way}_bytes", operations=f"{way}_operations", uncertainty_bytes=1024
        )
        for way in (Direction.READ, Direction.WRITE)
    ]
    for name in subject.devices:
        rows = [(snapshot, one.devices[name]) for snapshot, one in found if name in one.devices]
        yield from readings(_layer(origin, "block"), f"device:{name}", rows, ways)


def _series(origin: Origin, found: Found, subject: Subject) -> Iterator[Series]:
    yield from _cpu(_layer(origin, "cpu"), found)
    for layer, metrics, gauges in (("memory", (*BYTES, *PAGING), BYTES), ("network", (*TCP, *BUFFERS, *REFUSED), BUFFERS)):
        for metric in metrics:
            rows = [(snapshot, getattr(one, layer)) for snapshot, one in found]
            points = [(snapshot.at_ns, values[metric]) for snapshot, values in rows if metric in values]
            make, unit = gauge if metric in gauges else counter, "bytes" if "bytes" in metric else "count"
            yield make(_layer(origin, layer), ABSOLUTE, metric, unit, points)
    units = {metric: "bytes" if metric.endswith("_bytes") else "count" for metric in INTERFACE_COLUMNS}
    yield from _each(
        _layer(origin, "network"), "interface", units, [(at, one.interfaces) for at, one in found], subject.interfaces
    )
    yield from _each(_layer(origin, "block"), "device", BLOCK, [(at, one.devices) for at, one in found], subject.devices)


def _cpu(origin: Origin, found: Found) -> Iterator[Series]:
    seen = [(snapshot.at_ns, {**one.times, "total": sum(one.times.values())}) for snapshot, one in found if one.times]
    for kind in (*TIMES, "total"):
        yield counter(origin, ABSOLUTE, f"{kind}_ns", "ns", [(at, times[kind]) for at, times in seen if kind in times])
    for kind in TIMES:
        pairs = [(first, then) for first, then in itertools.pairwise(seen) if kind in then[1]]
        steps = [(at, times[kind] - before[kind], times["total"] - before["total"]) for (_, before), (at, times) in pairs]
        yield gauge(origin, ABSOLUTE, f"{kind}_share", "share", [(at, of / total) for at, of, total in steps if total > 0])
    cpus = [(snapshot.at_ns, one.cpus) for snapshot, one in found if one.cpus is not None]
    yield gauge(origin, ABSOLUTE, "cpus", "count", cpus)
    load = [(snapshot.at_ns, one.load_average) for snapshot, one in found if one.load_average is not None]
    yield gauge(origin, ABSOLUTE, "load_average", "count", load)
    for index in range(min((len(one.cores) for _, one in found), default=0)):
        cores = [(snapshot.at_ns, one.cores[index]) for snapshot, one in found]
        busy = [(at, sum(times.values()) - times["idle"]) for at, times in cores]
        yield counter(origin, f"cpu:{index}", "core_busy_ns", "ns", busy)
        yield counter(origin, f"cpu:{index}", "core_idle_ns", "ns", [(at, times["idle"]) for at, times in cores])


def _each(
    origin: Origin,
    kind: str,
    units: Mapping[str, str],
    found: Sequence[tuple[Snapshot, Mapping[str, Counters]]],
    named: Sequence[str],
) -> Iterator[Series]:
    """Yield the series of interfaces or devices; of those that nobody named, only where something passed."""
    for name in named or _names(one for _, one in found):
        rows = [(snapshot.at_ns, one[name]) for snapshot, one in found if name in one]
        if not named and all(counters == rows[0][1] for _, counters in rows):
            continue
        for metric, unit in units.items():
            points = [(at, counters[metric]) for at, counters in rows if metric in counters]
            yield counter(origin, f"{kind}:{name}", metric, unit, points)


def _names(found: Iterable[Mapping[str, Counters]]) -> tuple[str, ...]:
    return tuple(next(iter(found), {}))


def _layer(origin: Origin, layer: str) -> Origin:
    return Origin(host=origin.host, phase=origin.phase, source=origin.source, layer=layer)
