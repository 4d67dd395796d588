"""What operations use of processors, devices and the network, by the evidence of observers.

A device is the one that has a declared limit, else the lowest that can be seen. Of several interfaces the one through which most
passed counts: what goes over a bridge and the card below it is seen at both. The network is the server's where that was watched
(a namespace of its own has one as well), else the client's, whose sent bytes go into the server; of a server behind the loopback
only the sum of both ways is known. What passes an emulated path is what the line delivers, with its framing.

Of a run over several hosts the load's part is that of all load hosts together, and CPUs and devices are the target's.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from assay.evidence import ladder, line_ways
from assay.frozen import dataclass
from assay.measures.timelines import interpolated
from assay.records import (
    ABSOLUTE,
    Direction,
    Observations,
    Phase,
    Reading,
    Run,
    Rung,
    Series,
    Span,
    sides,
)
from assay.units import Unit

Used = Callable[[Phase, Observations], float | None]


@dataclass(frozen=True, kw_only=True)
class Resource:
    """Something that operations use: its name in files, in words, and the unit of which one operation uses some."""

    name: str
    words: str
    unit: str
    used: Used
    """Units/s in a phase; None where nobody watched."""
    rate: Unit | None = None
    """In which unit a capacity is told; None for processors and devices, which are counted."""
    idles: bool = False
    """Whether something of it is used with no operation, too."""
    shown: bool = True
    """Whether tables have it; a sum of others is only there to be asked for."""
    clocked: Used | None = None
    """Units/s without what passed after the clock, where some does."""
    others: Used | None = None
    """Units/s of `used` that other programs had at least, where that is watched; None where nobody can tell."""


def host_processor(phase: Phase, observations: Observations) -> float | None:
    """Processors that were busy, whoever kept them so: neither idle nor waiting for I/O."""
    parts = [_rise(phase, observations, "cpu", f"{kind}_ns") for kind in ("user", "system")]
    return None if None in parts else sum(part or 0.0 for part in parts) / 1e9


def others_processor(phase: Phase, observations: Observations) -> float | None:
    """Processors that programs had which belong neither to the lab nor to its target: at least so many."""
    sure, own = (_rise(phase, observations, "other_processes", name, (ABSOLUTE,)) for name in ("sure_cpu_ns", "own_cpu_ns"))
    busy = host_processor(phase, observations)
    if sure is None or own is None or busy is None:
        return None
    return max(0.0, min(sure / 1e9, busy - own / 1e9))


def load_processor(phase: Phase, _observations: Observations) -> float | None:
    """Processors that the load itself had, in its own code and in the kernel's."""
    costs = [client.cost for client in phase.clients]
    if not costs or any(cost is None for cost in costs):
        return None
    return sum(cost.cpu_user_ns + cost.cpu_system_ns for cost in costs if cost) / phase.lasted_ns


def server_processor(phase: Phase, observations: Observations) -> float | None:
    """Processors that the server's processes had."""
    rise = _rise(phase, observations, "server", "run_ns")
    return None if rise is None else rise / 1e9


def device_busy(phase: Phase, observations: Observations) -> float | None:
    """The share of the time in which the device had a request: all of what a disk can do, not of what many channels can."""
    readings = (reading for reading in observations.readings if reading.rung is _DEVICE and reading.phase == phase.name)
    subjects = dict.fromkeys(reading.subject for reading in readings)
    rise = _rise(phase, observations, "block", "io_ticks", tuple(subjects)) if subjects else None
    return None if rise is None else rise / 1e3


def _rise(
    phase: Phase, observations: Observations, layer: str, metric: str, subjects: tuple[str, ...] | None = None
) -> float | None:
    """Units/s of a counter from the last sample before the phase to the first after it; summed over subjects."""
    every = observations.over_time(phase.name, layer, metric)
    rates = [_per_s(phase, series) for series in every if subjects is None or series.subject in subjects]
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def _per_s(phase: Phase, series: Series) -> float | None:
    at, value = series.at_ns, series.value
    first = max((place for place in range(len(at)) if at[place] <= phase.start_ns), default=0)
    last = min((place for place in range(len(at)) if at[place] >= phase.end_ns), default=len(at) - 1)
    return (value[last] - value[first]) * 1e9 / (at[last] - at[first]) if last > first else None


_DEVICE = Rung.LOWEST_DEVICE
LOOPBACK = "interface:lo"
OPPOSITE: Mapping[Direction, Direction] = {Direction.READ: Direction.WRITE, Direction.WRITE: Direction.READ}


def _passed(direction: Direction, figure: str, spans: tuple[Span, ...] = (Span.CLOCK, Span.DRAIN)) -> Used:
    """What passed the device, what was still to be written after the phase as well."""

    def used(phase: Phase, observations: Observations) -> float | None:
        steps = [ladder.passed(phase, observations, _DEVICE, direction, span) for span in spans]
        step = ladder.both(*steps) if len(steps) > 1 else steps[0]
        return None if step is None else getattr(step, figure) * 1e9 / phase.lasted_ns

    return used


def _wired(direction: Direction) -> Used:
    """Bytes/s into the server (READ) or out of it (WRITE) through the busiest interface, headers and others' traffic included.

    None over the loopback: each packet passes it out and in, so which way it went cannot be told.
    """

    def used(phase: Phase, observations: Observations) -> float | None:
        server = tuple(observations.rung(phase.name, Rung.SERVER_NIC, direction))
        found = server or tuple(observations.rung(phase.name, Rung.CLIENT_NIC, OPPOSITE[direction]))
        return None if any(reading.subject == LOOPBACK for reading in found) else _most_a_second(found, phase)

    return used


def _looped(phase: Phase, observations: Observations) -> float | None:
    """Bytes/s both ways over the loopback, where the server is behind it: what it sent, since all of that it received as well."""
    sent = observations.rung(phase.name, Rung.SERVER_NIC, Direction.WRITE)
    return _most_a_second((reading for reading in sent if reading.subject == LOOPBACK), phase)


def _most_a_second(found: Iterable[Reading], phase: Phase) -> float | None:
    """What passed the busiest interface; of several hosts the sum of that of each."""
    most: dict[str, int] = {}
    for reading in found:
        most[reading.host] = max(reading.bytes or 0, most.get(reading.host, 0))
    return sum(most.values()) * 1e9 / phase.lasted_ns if most else None


def _over_path(way: str) -> Used:
    """Bytes/s that the line delivered in one direction, with the framing of its paths, while all clients worked."""

    def used(phase: Phase, observations: Observations) -> float | None:
        first = max((client.first_ns for client in phase.clients), default=phase.start_ns)
        last = min((client.until_ns for client in phase.clients), default=phase.end_ns)
        edges = (first, last) if first < last else (phase.start_ns, phase.end_ns)
        each = [_delivered(phase, observations, (name, way), edges) for name in line_ways.paths_of(phase, observations)]
        known = [one for one in each if one is not None]
        return sum(known) * 1e9 / (edges[1] - edges[0]) if known and len(known) == len(each) else None

    return used


def _delivered(phase: Phase, observations: Observations, of: tuple[str, str], edges: tuple[int, int]) -> float | None:
    """Bytes of one direction of one path between two times, by straight lines between the looks."""
    name, way = of
    counted = line_ways.counted_of(phase, observations, f"{name}.{way}")
    if not counted:
        return None
    frame = line_ways.fact(observations, name, way, "frame_bytes", None) or 0.0
    parts = ((_within(counted["delivered_bytes"], phase), 1.0), (_within(counted["delivered_segments"], phase), frame))
    return sum(times * (interpolated(one, edges[1]) - interpolated(one, edges[0])) for one, times in parts)


def _within(series: Series, phase: Phase) -> Series:
    """A counter that stood still before the phase and after it: the looks around it count as of its start and its end."""
    first, last = ladder.latest_sample(series, phase.start_ns) or 0.0, ladder.value_after(series, phase.end_ns) or 0.0
    looks = ((phase.start_ns, first), *ladder.inside(series, phase), (phase.end_ns, last))
    return replace(series, at_ns=array("q", (at for at, _ in looks)), value=array("d", (value for _, value in looks)))


def _all(*parts: Used) -> Used:
    def used(phase: Phase, observations: Observations) -> float | None:
        known = [one for part in parts if (one := part(phase, observations)) is not None]
        return sum(known) if known else None

    return used


_READ, _WRITTEN = (_passed(way, "bytes") for way in (Direction.READ, Direction.WRITE))
_READS, _WRITES = (_passed(way, "operations") for way in (Direction.READ, Direction.WRITE))
_WRITTEN_CLOCKED, _WRITES_CLOCKED = (_passed(Direction.WRITE, each, (Span.CLOCK,)) for each in ("bytes", "operations"))
_IN, _OUT = (_wired(way) for way in (Direction.READ, Direction.WRITE))


def _processors(name: str, words: str, used: Used, *, idles: bool = False) -> Resource:
    return Resource(name=name, words=words, unit="core-seconds", used=used, idles=idles)


def _bytes(name: str, words: str, used: Used, *, idles: bool = False, shown: bool = True) -> Resource:
    return Resource(name=name, words=words, unit="bytes", used=used, rate=Unit.BYTES_PER_S, idles=idles, shown=shown)


def _requests(name: str, words: str, used: Used, *, shown: bool = True) -> Resource:
    return Resource(name=name, words=words, unit="requests", used=used, rate=Unit.PER_S, shown=shown)


RESOURCES: Mapping[str, Resource] = {
    one.name: one
    for one in (
        replace(_processors("cpu", "CPUs of the host", host_processor, idles=True), others=others_processor),
        _processors("load_cpu", "CPUs, of the load itself", load_processor),
        _processors("server_cpu", "CPUs, of the server", server_processor, idles=True),
        _bytes("device_read", "read from the device", _READ),
        replace(_bytes("device_write", "written to the device", _WRITTEN), clocked=_WRITTEN_CLOCKED),
        _bytes("device_bytes", "read from and written to the device", _all(_READ, _WRITTEN), shown=False),
        _requests("device_reads", "reads of the device", _READS, shown=False),
        replace(_requests("device_writes", "writes of the device", _WRITES, shown=False), clocked=_WRITES_CLOCKED),
        _requests("device_operations", "requests to the device", _all(_READS, _WRITES)),
        Resource(name="device_busy", words="time of the device", unit="seconds", used=device_busy),
        _bytes("network_in", "over the network into the server", _IN, idles=True),
        _bytes("network_out", "over the network out of the server", _OUT, idles=True),
        _bytes("network", "over the network, both ways", _all(_IN, _OUT, _looped), idles=True, shown=False),
        _bytes("path_up", "over the path to the server", _over_path("up"), idles=True, shown=False),
        _bytes("path_down", "over the path from the server", _over_path("down"), idles=True, shown=False),
    )
}
PROCESSORS = ("cpu", "load_cpu", "server_cpu")
CPU_LAYERS = frozenset({"cpu", "other_processes"})
"""Evidence of who had the processors of a host."""


def watched(run: Run, observations: Observations) -> Observations:
    """The evidence in which a device that has a declared limit stands for the lowest one; the same where none has.

    Of a run over several hosts it is the evidence of both sides together; the CPUs are those of the target's hosts.
    """
    if run.is_spread:
        observations = _served(run, observations)
    limited = {f"device:{limit.device}" for place in run.places for limit in place.limits}
    if not any(reading.subject in limited for reading in observations.readings):
        return observations
    return replace(observations, readings=tuple(_as_lowest(observations.readings, limited)))


def _served(run: Run, observations: Observations) -> Observations:
    both, targets = sides.whole(run, observations), run.target_hosts or run.load_hosts
    cpus = (series for series in observations.on(*targets).series if series.layer in CPU_LAYERS)
    return replace(both, series=(*(series for series in both.series if series.layer not in CPU_LAYERS), *cpus))


def _as_lowest(readings: Iterable[Reading], limited: set[str]) -> Iterable[Reading]:
    for reading in readings:
        if reading.subject in limited:
            yield replace(reading, rung=_DEVICE)
        elif reading.rung is not _DEVICE:
            yield reading
