"""Compares a rate with the limits that are known beforehand, and names the limiter where the rate is at one.

Limits are declared by the target (a throttled disk) or by the experiment's [limits] (a link). A rate above one is
impossible: it comes from a cache, from compression, from wrong units or from a wrong clock. A throttle gives out slices
of 100 ms, so one slice may be on credit: the limit is 1.03 L + 0.1 s x L / T.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay import links, measures
from assay.catalogue import Case, Rule, TrialCase
from assay.records import Bound, Direction, Finding, Limit, Limiter, LimiterKind, Path, Scope, Severity, State, Tier
from assay.rulekit.applicability import data_only
from assay.rulekit.findings import found, knob
from assay.units import Unit


@dataclass(frozen=True, kw_only=True)
class Line:
    """One limit against what was measured."""

    name: str
    rate: float
    limit: float
    allowed: float
    """The limit with what is granted to its way of working."""
    unit: Unit
    direction: Direction | None

    @property
    def limiter(self) -> Limiter:
        """The limit as a value."""
        kind, amount = LimiterKind.RATE, self.limit
        return Limiter(kind=kind, name=self.name, declared=True, amount=amount, unit=self.unit, direction=self.direction)

    @property
    def words(self) -> str:
        """`the declared 50 MB/s of loop0`."""
        return f"the declared {measures.with_unit(self.limit, self.unit)} of {self.name}"


def applies(case: Case) -> str | None:
    """Reads and writes of data over something whose limit is known."""
    assert isinstance(case, TrialCase)
    if why := data_only(case):
        return why
    return None if any(True for _ in lines(case)) else "no limit is declared for what this measure uses"


def check(case: Case) -> Finding:
    """The rate against the nearest limit."""
    assert isinstance(case, TrialCase)
    line = max(lines(case), key=lambda line: line.rate / line.allowed)
    ratio = line.rate / line.limit
    observed = {"rate": line.rate, "limit": line.limit, "ratio": ratio}
    times = measures.percent(ratio) if ratio < 2 else f"{ratio:.3g} times"
    said = f"{measures.with_unit(line.rate, line.unit)} is {times}{' of' if ratio < 2 else ''} {line.words}"
    if line.rate > line.allowed:
        return above(case, line, said, observed)
    if ratio < case.thresholds["at_limit_share"]:
        return found(RULE, case, State.PASS, f"{said}.", observed=observed)
    return found(
        RULE,
        case,
        State.PASS,
        f"{said}: that is what limited it.",
        observed=observed,
        relabel=f"limited by {line.words}",
        limiter=line.limiter,
    )


def above(case: TrialCase, line: Line, said: str, observed: dict[str, float]) -> Finding:
    """The failure: more than the limit lets through, with the unit mistake named where the ratio is one."""
    ratio = line.rate / line.limit
    mistake = links.unit_mistake(ratio, case.thresholds["unit_share"])
    hint = f" The ratio {ratio:.3g} is that of {mistake}." if mistake else ""
    wrong = case.claim.tier is Tier.DEVICE or case.claim.path is Path.WIRE
    return found(
        RULE,
        case,
        State.FAIL,
        f"{said}, more than it can carry ({measures.with_unit(line.allowed, line.unit)} with what is granted).{hint}",
        severity=Severity.INVALIDATES if wrong else Severity.NOTES,
        observed={**observed},
        threshold={"allowed": line.allowed},
        bound=Bound(low=None, high=line.allowed, unit=line.unit),
        relabel=f"faster than {line.name} can be: memory, compression or wrong units",
        evidence=("L0 engine", "declared limit"),
    )


def lines(case: TrialCase) -> Iterator[Line]:
    """Every limit that the measured bytes must have passed, with the rate to hold against it."""
    figure = measures.value(case.run, case.observations, case.measure)
    window = figure.window if figure and figure.window else None
    window = window or measures.common_window(case.phase, case.observations, case.measure.operation)
    if window is None or window.seconds <= 0:
        return
    direction = case.phase.directions[case.measure.operation]
    bytes_per_s = case.phase.values.get(f"{case.measure.operation}.bytes_per_s", window.bytes / window.seconds)
    if case.measure.figure == "bytes_per_s" and case.value is not None:
        bytes_per_s = case.value
    for limit in (limit for place in case.run.places for limit in place.limits if limit.direction is direction):
        if limit.bytes_per_s and bytes_per_s:
            yield throttle(case, limit, (bytes_per_s, limit.bytes_per_s, Unit.BYTES_PER_S), window.seconds)
        if limit.ops_per_s and unmerged(case):
            rate = window.count / window.seconds
            yield throttle(case, limit, (rate, limit.ops_per_s, Unit.PER_S), window.seconds)
    for name, capacity in declared(case):
        allowed = capacity * case.thresholds["above_share"]
        if bytes_per_s:
            yield Line(name=name, rate=bytes_per_s, limit=capacity, allowed=allowed, unit=Unit.BYTES_PER_S, direction=direction)


def throttle(case: TrialCase, declared: Limit, numbers: tuple[float, float, Unit], seconds: float) -> Line:
    """A block throttle: one slice of credit, spread over the time of the measure."""
    rate, limit, unit = numbers
    allowed = limit * (case.thresholds["declared_share"] + case.thresholds["burst_s"] / seconds)
    return Line(name=declared.device, rate=rate, limit=limit, allowed=allowed, unit=unit, direction=declared.direction)


def unmerged(case: TrialCase) -> bool:
    """Whether every operation of the load is one of the device: the page cache merges and splits."""
    return bool(knob(case, "direct"))


def declared(case: TrialCase) -> Iterator[tuple[str, float]]:
    """The [limits] of the experiment, in bytes a second, of devices of this trial, or of a wire where one is claimed."""
    devices = {f"{place.host}.{device}" for place in case.run.places for device in place.devices}
    for name, text in case.experiment.limits.items():
        capacity = links.capacity(text)
        if isinstance(capacity, float) and (name in devices or case.claim.path is Path.WIRE):
            yield f"{name} ({text})", capacity


RULE = Rule(
    id="L04",
    name="roofline",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="tier",
    needs=(),
    applies=applies,
    check=check,
    alternatives=(
        "The bytes did not all pass the limited device: part of them came from or stayed in memory (T01, D01).",
        "The limit was not in force: the load ran in another control group than the rule, or the link negotiated another speed.",
    ),
    advice="Find out which cache answered, check the units (MB is 10^6 bytes, Mbit/s is an eighth), and the negotiated speed.",
    sources=("Gregg: did it break limits?", "Linux blk-throttle: slices of 100 ms", "FC-PI, IEEE 802.3: see links.toml"),
)
