"""The chain of limits of a run: how far its load used the CPUs, the devices, and declared limits or a link's speed.

Nothing is judged here: shares of declared limits are those that the rule of the roofline (L04) found. Where it held
nothing against a device's limit (creates have no bytes to hold against it), the device's own counters stand for the load.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from assay.frozen import dataclass
from assay.measures import limits, observed
from assay.measures.limits import Traffic
from assay.measures.timelines import interpolated
from assay.records import Direction, Finding, Judged, Meaning, Observations, Phase, State, Value, sides
from assay.units import Unit

FEW = 4
"""CPUs of more load hosts are one part: those of the busiest host."""
NEAR = 0.5
"""From which share on a part is said to be near its limit: where all have more than half left, none of them is."""
SEEN = 0.005
"""A limit of which less was used is left out: that of reads beside writes."""
TICKS_NS = 1e6
"""The kernel counts the time in which a device had a request in milliseconds (io_ticks of /proc/diskstats)."""


class Part(StrEnum):
    """What a part of the chain is used by."""

    CPU = "user and system time"
    DEVICE_TIME = "time with a request in flight"
    DECLARED = "declared limit"


@dataclass(frozen=True, kw_only=True)
class ChainLink:
    """One part of the chain and the share of it that was used (1 = all of it)."""

    part: Part
    name: str
    """Of the device, link or host; empty for the CPUs of the only host."""
    used: float
    among: int = 1
    """The busiest of so many load hosts."""
    limit: float | None = None
    """A second, in `unit`, where it was declared."""
    unit: Unit = Unit.NONE
    direction: Direction | None = None


@dataclass(frozen=True, kw_only=True)
class Chain:
    """The parts that one phase of one run used, in the order of the data."""

    phase: str
    run: str
    levels: Mapping[str, Value]
    links: tuple[ChainLink, ...]

    @property
    def nearest(self) -> ChainLink:
        """The part of which most was used."""
        return max(self.links, key=lambda link: link.used)


def chains(each: Sequence[tuple[Judged, Observations]]) -> tuple[Chain, ...]:
    """A chain for each measured phase of each run of which more is known than the CPUs."""
    made = (
        Chain(
            phase=phase.name,
            run=judged.id,
            levels=judged.run.trial.levels,
            links=(
                *_cpus(judged, phase, seen),
                *_devices(judged, phase, whole),
                *(held := tuple(_declared(judged, phase))),
                *_counted(judged, phase, whole, {link.name for link in held}),
            ),
        )
        for judged, seen in each
        for whole in (sides.whole(judged.run, seen),)
        for phase in judged.run.phases
        if phase.measured
    )
    return tuple(chain for chain in made if any(link.part is not Part.CPU for link in chain.links))


def _cpus(judged: Judged, phase: Phase, seen: Observations) -> Iterator[ChainLink]:
    """The CPUs of each host, by the same figure that a measure of them has; of many load hosts those of the busiest."""
    load = phase.load_hosts or tuple(clock.host for clock in judged.run.hosts)
    apart = tuple(one.host for one in phase.hosts if one.host not in load)
    of_load = tuple(_cpu(phase, seen, load))
    if len(of_load) > FEW:
        of_load = (replace(max(of_load, key=lambda link: link.used), among=len(of_load)),)
    found = (*of_load, *_cpu(phase, seen, apart)) if phase.operations else ()
    yield from (link if judged.run.is_spread else replace(link, name="") for link in found)


def _cpu(phase: Phase, seen: Observations, hosts: Sequence[str]) -> Iterator[ChainLink]:
    for host in hosts:
        used = observed.cpu_share(phase, seen, host)
        if used is not None:
            yield ChainLink(part=Part.CPU, name=host, used=used)


def _devices(judged: Judged, phase: Phase, seen: Observations) -> Iterator[ChainLink]:
    """The part of the phase in which each device had a request in flight, from the upper device to the lowest."""
    spread = judged.run.is_spread
    for device in dict.fromkeys(device for place in judged.run.places for device in place.devices):
        for series in seen.over_time(phase.name, "block", "io_ticks", f"device:{device}"):
            if len(series.at_ns) > 1 and phase.end_ns > phase.start_ns:
                busy = interpolated(series, phase.end_ns) - interpolated(series, phase.start_ns)
                used = min(1.0, busy * TICKS_NS / phase.lasted_ns)
                yield ChainLink(part=Part.DEVICE_TIME, name=f"{device} on {series.host}" if spread else device, used=used)


def _declared(judged: Judged, phase: Phase) -> Iterator[ChainLink]:
    """The limits that were declared, or that a link has, as L04 held the measures of this phase against them."""
    found: list[ChainLink] = []
    for name, verdict in judged.verdicts.items():
        workload, operation, _ = name.split(".", 2)
        if workload == phase.workload and operation in phase.operations:
            found += [link for one in verdict.findings if (link := _held(one))]
    for same in dict.fromkeys(map(_limit, found)):
        yield max((link for link in found if _limit(link) == same), key=lambda link: link.used)


def _counted(judged: Judged, phase: Phase, seen: Observations, held: Collection[str]) -> Iterator[ChainLink]:
    """What passed a device, by its own counters, of the limits that it was given and that L04 held nothing against."""
    declared = [limit for place in judged.run.places for limit in place.limits if limit.device not in held]
    for limit in declared:
        for one in limits.of_device(phase, seen, limit, Traffic.LOAD):
            if one.share >= SEEN:
                way = limit.direction
                yield ChainLink(part=Part.DECLARED, name=one.name, used=one.share, limit=one.per_s, unit=one.unit, direction=way)


def _held(one: Finding) -> ChainLink | None:
    """What L04 held a measure against; None for another rule, and where it could not."""
    seen = one.observed if one.meaning is Meaning.LINK_LIMIT and one.state in (State.PASS, State.FAIL) else {}
    used, limit, name, unit = (seen.get(key) for key in ("ratio", "limit", "limited", "unit"))
    if not isinstance(used, int | float) or not isinstance(limit, int | float):
        return None
    return ChainLink(part=Part.DECLARED, name=str(name), used=used, limit=limit, unit=Unit(str(unit)))


def _limit(link: ChainLink) -> tuple[str, float | None, Unit]:
    """What makes two links one limit."""
    return link.name, link.limit, link.unit
