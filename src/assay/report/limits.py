"""The chain of limits of a run: how far its load used the processors, the devices, and what was declared or is a link's speed.

Nothing is judged here: shares of declared limits are those that the rule of the roofline (L04) found. Where it held
nothing against a device's limit (creates have no bytes to hold against it), the device's own counters stand for the load.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from assay import measures
from assay.answer import marks
from assay.answer.scales import share
from assay.evidence import ladder
from assay.records import Direction, Experiment, Finding, Judged, Limit, Measure, Observations, Phase, State
from assay.report.charts.strips import value_at
from assay.units import Unit

ROOFLINE = "L04"
NEAR = 0.5
"""From which share on a part is said to be near its limit: where all have more than half left, none of them is."""
PROCESSORS = "user and system time"
SEEN = 0.005
"""A limit of which less was used is left out: that of reads beside writes."""
_NOUNS = {Direction.READ: ("read", "reads"), Direction.WRITE: ("written", "writes")}
TICKS_NS = 1e6
"""The kernel counts the time in which a device had a request in milliseconds (io_ticks of /proc/diskstats)."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """One part of the chain and the share of it that was used (1 = all of it)."""

    name: str
    what: str
    used: float


@dataclass(frozen=True, kw_only=True)
class Chain:
    """The parts that one phase of one run used, in the order of the data."""

    phase: str
    run: str
    levels: str
    links: tuple[Link, ...]

    @property
    def nearest(self) -> Link:
        """The part of which most was used."""
        return max(self.links, key=lambda link: link.used)


def chains(experiment: Experiment, observed: Sequence[tuple[Judged, Observations]]) -> tuple[Chain, ...]:
    """A chain for each measured phase of each run of which more is known than the processors."""
    made = (
        Chain(
            phase=phase.name,
            run=judged.id,
            levels=marks.levels(experiment, judged.run.trial.levels),
            links=(
                *_processors(judged, phase, seen),
                *_devices(judged, phase, seen),
                *(held := tuple(_declared(judged, phase))),
                *_counted(judged, phase, seen, {link.name for link in held}),
            ),
        )
        for judged, seen in observed
        for phase in judged.run.phases
        if phase.measured
    )
    return tuple(chain for chain in made if any(link.what != PROCESSORS for link in chain.links))


def _processors(judged: Judged, phase: Phase, seen: Observations) -> Iterator[Link]:
    """The processors of each host, by the same figure that a measure of them has."""
    operation = next(iter(phase.operations), None)
    several = len(judged.run.hosts) > 1
    for clock in judged.run.hosts if operation else ():
        measure = Measure(workload=phase.workload, operation=operation or "", figure=f"@{clock.host}.cpu_share")
        found = measures.value(judged.run, seen, measure)
        if found is not None and found.value is not None:
            yield Link(name=f"processors of {clock.host}" if several else "processors", what=PROCESSORS, used=found.value)


def _devices(judged: Judged, phase: Phase, seen: Observations) -> Iterator[Link]:
    """The part of the phase in which each device had a request in flight, from the upper device to the lowest."""
    for device in dict.fromkeys(device for place in judged.run.places for device in place.devices):
        for series in seen.over_time(phase.name, "block", "io_ticks", f"device:{device}"):
            if len(series.at_ns) > 1 and phase.end_ns > phase.start_ns:
                busy = value_at(series, phase.end_ns) - value_at(series, phase.start_ns)
                used = min(1.0, busy * TICKS_NS / (phase.end_ns - phase.start_ns))
                yield Link(name=device, what="time with a request in flight", used=used)


def _declared(judged: Judged, phase: Phase) -> Iterator[Link]:
    """The limits that were declared, or that a link has, as L04 held the measures of this phase against them."""
    found: list[Link] = []
    for name, verdict in judged.verdicts.items():
        workload, operation, _ = name.split(".", 2)
        if workload == phase.workload and operation in phase.operations:
            found += [link for one in verdict.findings if (link := _held(name, one))]
    for same in dict.fromkeys((link.name, link.what) for link in found):
        yield max((link for link in found if (link.name, link.what) == same), key=lambda link: link.used)


def _counted(judged: Judged, phase: Phase, seen: Observations, held: Collection[str]) -> Iterator[Link]:
    """What passed a device, by its own counters, of the limits that it was given and that L04 held nothing against."""
    limits = [limit for place in judged.run.places for limit in place.limits if limit.device not in held]
    seconds = (phase.end_ns - phase.start_ns) / 1e9
    for limit in limits if seconds > 0 else ():
        step = ladder.limited(phase, seen, limit)
        for link in _shares(limit, step, seconds) if step else ():
            if link.used >= SEEN:
                yield link


def _shares(limit: Limit, step: ladder.Step, seconds: float) -> Iterator[Link]:
    """The shares of a limit in bytes and of one in requests."""
    moved, done = _NOUNS.get(limit.direction, ("moved", "requests"))
    if limit.bytes_per_s:
        what = f"of the declared {measures.with_unit(limit.bytes_per_s, Unit.BYTES_PER_S)} {moved}"
        yield Link(name=limit.device, what=what, used=step.bytes / seconds / limit.bytes_per_s)
    if limit.ops_per_s:
        what = f"of the declared {measures.with_unit(limit.ops_per_s, Unit.PER_S)} {done}"
        yield Link(name=limit.device, what=what, used=step.operations / seconds / limit.ops_per_s)


def _held(measure: str, one: Finding) -> Link | None:
    """What L04 held a measure against; None for another rule, and where it could not."""
    used = one.observed.get("ratio") if one.rule == ROOFLINE and one.state in (State.PASS, State.FAIL) else None
    if not isinstance(used, int | float):
        return None
    name, what = _limit(measure, one)
    return Link(name=name, what=what, used=used)


def _limit(measure: str, one: Finding) -> tuple[str, str]:
    """(`loop0`, `of the declared 50 MB/s`): what the statement says behind the share."""
    found = re.search(r"the declared (.+?) of (.+?)(?:[:,]|\.$|$)", one.statement)
    return (found[2], f"of the declared {found[1]}") if found else (measure, "of what was declared")


def sentence(chain: Chain) -> str:
    """Which part was nearest to its limit."""
    where = ", ".join(part for part in (chain.phase, chain.levels, f"run {chain.run}") if part)
    if chain.nearest.used < NEAR:
        return f"{where}: no part was near its limit, {chain.nearest.name} the most, {share(chain.nearest.used)}."
    return f"{where}: nearest to its limit is {chain.nearest.name}, {share(chain.nearest.used)} ({chain.nearest.what})."
