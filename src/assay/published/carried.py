"""Holds rates against what their links carry (L04): payload one way, from line rate, coding and framing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from assay import measures
from assay.links import Link
from assay.published import wires, wording
from assay.published.finding import CONTRADICTION, ROOFLINE, Case, found, mistaken_unit
from assay.published.implied import Quantity, judged_rates
from assay.published.vocabulary import Kind, Role
from assay.published.wires import Wire
from assay.records import Bound, Finding, Severity, State
from assay.units import Unit

LEAST_TOLD = Fraction(6, 5)
"""A rate is seldom right at its limit, so a small excess over it is no trace of a prefix that was mistaken."""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A rate over a link, one way or both ways together."""

    rate: Quantity
    wire: Wire
    link: Link
    """The wire, in large frames where the claim says so."""
    ways: int

    @property
    def capacity(self) -> Fraction:
        """Bytes a second that a user can get."""
        return Fraction(self.link.payload_bytes_per_s) * self.ways

    @property
    def full(self) -> str:
        """`413.3 MB/s`; `117.7 MB/s (941.5 Mbit/s)` where the rate is printed in bits."""
        told = wording.capacity(float(self.capacity))
        return f"{told} ({wording.bits(float(self.capacity))})" if self.rate.is_in_bits else told

    @property
    def said(self) -> str:
        """`1 GB/s is 2.42 times the 413.3 MB/s that 2 x 2GFC carries one way`."""
        shares = [value / self.capacity for value in (self.rate.value, self.rate.most) if value is not None]
        times = " to ".join(dict.fromkeys(wording.times(share) for share in shares))
        way = "both ways together" if self.ways == 2 else "one way"
        return f"{self.rate.text} is {times} the {self.full} that {self.wire.name} carries {way}"

    @property
    def bare(self) -> str:
        """`25 % of its bare bits (500 MB/s)`, which is how monitors often count."""
        bare = self.wire.nominal_bytes_per_s * self.ways
        return f"{measures.percent(float(self.rate.value) / bare)} of its bare bits ({wording.capacity(bare)})"


def check(case: Case) -> Iterator[Finding]:
    """Every rate against the narrowest link of the claim, and a claimed share of a link against what it could be of."""
    all_wires = case.statement.wires
    if not all_wires:
        return
    wire = min(all_wires, key=lambda one: one.link.payload_bytes_per_s)
    large = wires.with_jumbo(wire) if Role.JUMBO in case.statement.roles else None
    rates = judged_rates(case)
    for rate in rates:
        ways = 2 if _goes_both_ways(rate) and wire.is_duplex else 1
        yield _against(case, Passage(rate=rate, wire=wire, link=large or wire.link, ways=ways))
    share = case.statement.only(Kind.SHARE)
    if share is not None and len(rates) == 1 and not case.statement.comparisons:
        yield _share(case, rates[0], wire)


def _goes_both_ways(rate: Quantity) -> bool:
    """Whether the rate is one of reads and writes together."""
    return Role.BOTH_WAYS in rate.roles or {Role.READ, Role.WRITE} <= rate.roles


def _against(case: Case, one: Passage) -> Finding:
    """Within what the link carries, certainly above it, or above it unless it was rounded up."""
    allowed = one.capacity * case.limit(ROOFLINE, "above_share")
    if one.rate.value <= allowed or one.rate.is_upper_limit:
        return _within(case, one)
    if one.rate.interval.low > allowed:
        return _above(case, one, allowed)
    low = one.rate.interval.low
    return found(
        ROOFLINE,
        State.FAIL,
        f"{one.said}, but it may have been rounded up from {wording.quantity(low, Kind.RATE)}.",
        severity=Severity.QUALIFIES,
        bound=Bound(low=float(low), high=float(allowed), unit=Unit.BYTES_PER_S),
        relabel=f"at most what {one.wire.name} can carry, {one.full}",
        advice="ask for more digits",
    )


def _above(case: Case, one: Passage, allowed: Fraction) -> Finding:
    """More than the link carries, whatever was rounded; over Ethernet larger frames may carry it."""
    least, value = one.rate.interval.low, one.rate.value
    jumbo = wires.with_jumbo(one.wire)
    if jumbo is not None and least * one.capacity <= allowed * Fraction(jumbo.payload_bytes_per_s) * one.ways:
        words = f"possible only in frames of 9000 bytes ({wording.capacity(jumbo.payload_bytes_per_s * one.ways)})"
        advice = "ask for the size of the frames (MTU)"
        return found(ROOFLINE, State.FAIL, f"{one.said}: {words}.", severity=Severity.QUALIFIES, relabel=words, advice=advice)
    at_least = wording.times(least / one.capacity).removesuffix(" of")
    even = f" ({at_least} at the least that prints so)" if least < value * Fraction(9, 10) else ""
    mistake = mistaken_unit(value / one.capacity, case.limit(ROOFLINE, "unit_share"), coded=one.wire.is_coded)
    hint = mistake if value >= LEAST_TOLD * one.capacity else ""
    return found(
        ROOFLINE,
        State.FAIL,
        f"{one.said}{even}, {one.bare}: more than it can carry.{hint}",
        observed={"rate": float(value)},
        threshold={"allowed": float(allowed)},
        relabel=f"faster than {one.wire.name} can carry, {one.full}",
    )


def _within(case: Case, one: Passage) -> Finding:
    """What the link carries, with the shares that it is of other ways to count."""
    value, bare = float(one.rate.value), one.wire.nominal_bytes_per_s
    share = measures.percent(value / float(one.capacity))
    limits = value >= float(one.capacity * case.limit(ROOFLINE, "at_limit_share")) and not one.rate.is_upper_limit
    limiter = ": that is what limits it" if limits else ""
    both = measures.percent(value / (2 * one.link.payload_bytes_per_s))
    bare_both = f"{measures.percent(value / (2 * bare))} of those of both ways ({wording.capacity(2 * bare)})"
    also = f"{both} of both ways; {one.bare}, {bare_both}" if one.ways == 1 and one.wire.is_duplex else one.bare
    return found(
        ROOFLINE,
        State.PASS,
        f"{one.said}{limiter}; {also}.",
        relabel=f"limited by {one.wire.name}" if limits else f"{share} of what {one.wire.name} carries",
    )


def _share(case: Case, rate: Quantity, wire: Wire) -> Finding:
    """A claimed share of a link: of what it is that share."""
    share = case.statement.of(Kind.SHARE)[0]
    tolerance = case.limit(ROOFLINE, "unit_share")
    full = dict(_denominators(wire))
    fitting = [words for words, value in full.items() if rate.interval.scaled(1 / value).meets(share.interval, tolerance)]
    right = next(iter(full))
    true = measures.percent(float(rate.value / full[right]))
    if right in fitting:
        return found(CONTRADICTION, State.PASS, f"{share.text} is {rate.text} over {right}.")
    of = f"fits only {' or '.join(fitting)}" if fitting else f"fits no capacity of {wire.name}"
    return found(
        CONTRADICTION,
        State.FAIL,
        f"{share.text} {of}; {rate.text} is {true} of {right}.",
        severity=Severity.QUALIFIES,
        relabel=f"{true} of {wire.name} one way, not {share.text}",
        advice="ask what the monitor calls full: payload or bare bits, one way or both",
    )


def _denominators(wire: Wire) -> Iterator[tuple[str, Fraction]]:
    """What a share of a link may be of, the payload of one way first."""
    payload, bare = Fraction(wire.link.payload_bytes_per_s), Fraction(wire.nominal_bytes_per_s)
    told = {ways: wording.capacity(float(bare * ways)) for ways in (1, 2)}
    gbit = f"{float(bare) * 8 / 1e9:g} Gbit/s"
    yield f"the {wording.capacity(float(payload))} of one way", payload
    yield f"the {wording.capacity(float(payload * 2))} of both ways", payload * 2
    yield f"the {told[1]} of its bare bits ({gbit} / 8, neither coded nor framed)", bare
    yield f"the {told[2]} of its bare bits both ways (2 x {gbit} / 8, neither coded nor framed)", bare * 2
