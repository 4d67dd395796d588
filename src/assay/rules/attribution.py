"""Says whose the bytes are that the lowest device counted, and what is believed where too many of them are others'.

A device counts everybody's traffic. What it moved in the quiet windows before this phase, and before the next one, is taken for
what others would have moved meanwhile. Where that is little it is taken off; where it is much the device's counters only say what
the load did at most, and what it did is taken from the account of its processes, or of the control group of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Case, Rule, TrialCase
from assay.evidence import ladder
from assay.records import Direction, Durability, Finding, Rung, Scope, Severity, Span, State, Tier
from assay.rulekit.findings import found, knob
from assay.units import Unit

WAYS = (Direction.READ, Direction.WRITE)


@dataclass(frozen=True, kw_only=True)
class Account:
    """What the load itself did by an account that holds nobody else."""

    bytes: float
    source: str


def applies(case: Case) -> str | None:
    """Claims that rest on what a device counted."""
    assert isinstance(case, TrialCase)
    if case.claim.tier is not Tier.DEVICE and case.claim.durability is not Durability.STABLE_MEDIA:
        return "nothing is claimed of a device"
    return None if any(place.devices for place in case.run.places) else "there is no block device below"


def check(case: Case) -> Finding:
    """The part of others in what the lowest device counted, and the account that is believed."""
    assert isinstance(case, TrialCase)
    steps = [step for way in ways(case) if (step := ladder.lowest_device(case.phase, case.observations, way)) is not None]
    if not steps or not any(baselines(case)):
        said = "What others did to the device is not known: it was not watched in a quiet window before the clock."
        return found(RULE, case, State.UNVERIFIED, said, threshold={**case.thresholds})
    own, foreign = sum(step.bytes for step in steps), sum(step.foreign_bytes for step in steps)
    share = foreign / max(own, 1.0)
    observed: dict[str, float | str | None] = {"own_bytes": own, "foreign_bytes": foreign, "baseline_share": share}
    device, theirs = steps[0].device, measures.with_unit(foreign, Unit.BYTES)
    if foreign <= case.thresholds["least_bytes"] or share <= case.thresholds["baseline_share"]:
        said = f"By the quiet windows others would have moved {theirs} through {device} meanwhile; that is taken off."
        return found(RULE, case, State.PASS, said, observed=observed, threshold={**case.thresholds})
    account = by_group(case) or by_process(case)
    drowned = (
        f"Others use {device}: in the quiet windows they moved so much that {theirs} of the"
        f" {measures.with_unit(sum(step.raw_bytes for step in steps), Unit.BYTES)} that it counted may be theirs."
    )
    if account is None:
        said = f"{drowned} Nothing else counts what this load did to it."
        return found(RULE, case, State.UNVERIFIED, said, observed=observed, threshold={**case.thresholds})
    believed = measures.with_unit(account.bytes, Unit.BYTES)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{drowned} What this load did is taken from {account.source}: {believed}.",
        observed={**observed, "account_bytes": account.bytes, "account": account.source},
        threshold={**case.thresholds},
        evidence=(f"{steps[0].source}, spans before and clock", account.source),
    )


def ways(case: TrialCase) -> tuple[Direction, ...]:
    """The direction of the measure; of metadata both."""
    way = case.phase.directions.get(case.measure.operation)
    return (way,) if way in WAYS else WAYS


def baselines(case: TrialCase) -> Iterator[bool]:
    """Whether the lowest device was watched in a quiet window, for each direction."""
    for way in ways(case):
        yield any(True for _ in case.observations.rung(case.phase.name, Rung.LOWEST_DEVICE, way, Span.BEFORE))


def by_group(case: TrialCase) -> Account | None:
    """What the trial's own control group moved on the lowest device; None where it has none, or none that counts bytes."""
    lowest = {place.devices[-1] for place in case.run.places if place.devices}
    moved = [
        ladder.rise(series, case.phase.start_ns, case.phase.end_ns)
        for way in ways(case)
        for series in case.observations.over_time(case.phase.name, "cgroup", f"{way}_bytes")
        if f"trial-{case.run.trial.id}-" in series.subject and series.subject.partition(" device:")[2] in lowest
    ]
    return Account(bytes=sum(moved), source="the account of the trial's control group") if any(moved) else None


def by_process(case: TrialCase) -> Account | None:
    """What its processes made storage read, or wrote around the cache; buffered writes are written later, by the kernel."""
    way, account = ways(case)[0], "the account of its processes (/proc/PID/io)"
    step = ladder.passed(case.phase, case.observations, Rung.CLIENT_CACHE, way)
    sure = way is Direction.READ or knob(case, "direct") is True or case.phase.flush_in_clock
    return Account(bytes=step.bytes, source=account) if step is not None and step.bytes and sure else None


RULE = Rule(
    id="E03",
    name="attribution",
    scope=Scope.TRIAL,
    severity=Severity.NOTES,
    part="evidence",
    needs=(),
    applies=applies,
    check=check,
    about=About.TARGET_HOST,
    alternatives=(
        "The load's own former phase, or the file system behind it, was still at work in the quiet window: wait longer.",
        "What others did before the clock need not be what they did meanwhile: N03 tells that by their own account.",
    ),
    advice="Use a device that nobody else uses, or stop what uses it (N03 names it). Run as root, so that processes and control"
    " groups can be asked what they moved.",
    sources=(
        "Linux: admin-guide/iostats.rst: the counters are of the whole device",
        "Traeger et al., ACM Transactions on Storage 2008: a nine year study of file system and storage benchmarking",
    ),
)
