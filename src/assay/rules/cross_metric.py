"""Compares measures of one run that have a fixed order: random and sequential, durable and not, cold and warm.

The rule compares two rates of the same run with equal knobs (direct, workers, size, CPUs, path, depth, load).
Random reads cannot beat sequential ones in bytes/s, flushed writes cannot beat unflushed ones, cold reads cannot beat warm ones.
- A reversal above `tolerance_share` qualifies: one run's noise can do that. The other figure is the upper bound.
- A reversal above `certain_share` invalidates until it is explained.

Two exceptions: reads that memory answered entirely have no such order (18.4 GB/s random against 9.8 GB/s sequential were
measured).
And a write that makes its file does more than a random write that finds the file.
The concurrency of an external tool's measures is unknown, so their order is a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Bound, Direction, Finding, Measure, Rung, Scope, Severity, State
from assay.rulekit.findings import found, knob, rate_of

ALIKE = ("direct", "cpus", "workers", "size", "ioengine", "depth", "think", "rate", "schedule")
"""Knobs that must be the same for two measures to be comparable at all."""
FLUSHED = ("each", "dsync")


def applies(case: TrialCase) -> str | None:
    """Rates with a sibling that they cannot exceed."""
    if rate_of(case) is None:
        return "not a rate"
    return None if any(True for _ in ceilings(case)) else "no other measure of this run limits it"


def check(case: TrialCase) -> Finding:
    """The figure over the lowest of its ceilings."""
    rate = rate_of(case)
    assert rate is not None
    name, ceiling, why = min(ceilings(case), key=lambda found: found[1])
    ratio = rate[0] / ceiling if ceiling > 0 else float("inf")
    both = f"{measures.with_unit(*rate)} against {measures.with_unit(ceiling, rate[1])} of {name}"
    observed = {"ratio": ratio, "ceiling": ceiling}
    if ratio <= 1 + case.thresholds["tolerance_share"]:
        return found(RULE, case, State.PASS, f"{both}: {why}, as it must be.", observed=observed)
    if case.phase.values:  # how many requests of which size are in flight, an external tool's figures do not say
        statement = f"{both}: {why} holds at equal concurrency; the tool's concurrency is unknown."
        return found(RULE, case, State.FAIL, statement, severity=Severity.NOTES, observed=observed)
    certain = ratio > 1 + case.thresholds["certain_share"]
    return found(
        RULE,
        case,
        State.FAIL,
        f"{both}: {why} is violated by a factor of {ratio:.2f}. One of the two has a wrong name.",
        severity=Severity.INVALIDATES if certain else Severity.QUALIFIES,
        observed=observed,
        bound=Bound(low=None, high=ceiling, unit=rate[1]),
        relabel=f"in the wrong order with {name}",
        evidence=("L0 engine, two measures of one run",),
    )


def ceilings(case: TrialCase) -> Iterator[tuple[str, float, str]]:
    """(measure, value, which order) of each sibling that this measure cannot exceed."""
    for measure in case.experiment.measures:
        value = case.siblings.get(measure.name)
        if value is None or measure.figure != case.measure.figure or measure.name == case.measure.name:
            continue
        if all(knob(case, name) == knob(case, name, measure.workload) for name in ALIKE):
            why = order(case, measure)
            if why:
                yield measure.name, value, why


def order(case: TrialCase, other: Measure) -> str | None:
    """Why this measure cannot exceed the other one, in words; None where it may."""
    mine = {name: knob(case, name) for name in ("record_size", "cache", "flush", "sync")}
    its = {name: knob(case, name, other.workload) for name in mine}
    if case.measure.operation == f"random_{other.operation}" and case.measure.figure == "bytes_per_s":
        alike = all(mine[name] == its[name] for name in ("cache", "flush", "sync"))
        if makes_the_file(case, other) or (from_memory(case, case.measure) and from_memory(case, other)):
            return None
        return "random not above sequential" if alike and not larger(mine["record_size"], its["record_size"]) else None
    if case.measure.operation != other.operation or mine["record_size"] != its["record_size"]:
        return None
    if flushed(mine) and not flushed(its) and mine["cache"] == its["cache"]:
        return "durable not above volatile"
    cold = (mine["cache"], its["cache"]) == ("cold", "warm") and not knob(case, "direct")
    return "cold not above warm" if cold else None


def makes_the_file(case: TrialCase, other: Measure) -> bool:
    """Whether the other measure is of the first writes of a file that this one finds written in full."""
    return other.operation == "write" and other.workload == case.measure.workload and not knob(case, "overwrite")


def from_memory(case: TrialCase, measure: Measure) -> bool:
    """Whether storage was made to read next to nothing of what a measure's reads asked for."""
    phase = measures.phase_of(case.run, measure)
    if phase is None or phase.directions.get(measure.operation) is not Direction.READ:
        return False
    requested = ladder.requested_bytes(phase, case.observations, Direction.READ)
    read = ladder.passed(phase, case.observations, Rung.CLIENT_CACHE, Direction.READ)
    return requested is not None and read is not None and read.raw_bytes <= case.thresholds["memory_share"] * requested


def larger(mine: object, its: object) -> bool:
    """Whether one size is larger than another; sizes that are not known are taken as equal."""
    return isinstance(mine, int) and isinstance(its, int) and mine > its


def flushed(knobs: Mapping[str, object]) -> bool:
    """Whether every write waits for stable media."""
    return knobs["flush"] in FLUSHED or knobs["sync"] in FLUSHED


RULE = Rule(
    id="L08",
    name="cross-metric",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    short="measures contradict each other",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="Random reads come out faster than sequential ones, flushed writes faster than unflushed ones, cold reads faster "
    "than warm ones. Each figure looks fine by itself; together they cannot be true. Such pairs are in published lists.",
    alternatives=(
        "A neighbour was busy during one of the two phases only. Repeat, and compare N02 of both.",
        "Many random operations in flight keep more devices busy than one sequential stream. Compare at equal concurrency.",
    ),
    advice="Find the measure that was served from memory. Compare at the same concurrency, record size and cache state.",
    ask="ask which of the two was served from memory, and how many requests were in flight in each",
    sources=("IO500 issue 109: published random reads faster than sequential ones", "MLPerf Inference TEST04"),
)
