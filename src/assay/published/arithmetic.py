"""Judges a claim by its own figures: what links carry, what fits into memory, how long it lasted, whether its parts agree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from assay import units
from assay.links import Link
from assay.published import claim, statement
from assay.published.claim import (
    CONTRADICTION,
    CROSS_METRIC,
    ERRORS,
    LITTLE,
    ROOFLINE,
    TOO_SHORT,
    WIDE_INTERVAL,
    WORKING_SET,
    Case,
    Quantity,
    claim_finding,
    in_sum,
    judged_rates,
    mistaken_unit,
    printed,
)
from assay.published.latencies import in_a_window, in_order
from assay.published.statement import ClaimComparison, PrintedFigure, Statement, Wire
from assay.published.vocabulary import Interval, QuantityKind, Sense
from assay.records import Bound, Finding, Severity, State
from assay.units import Unit

OF_ONE_REQUEST = (QuantityKind.LATENCY, QuantityKind.PERCENTILE)
LEAST_EXCESS = Fraction(6, 5)
"""A rate is seldom right at its limit, so a small excess over it is no trace of a prefix that was mistaken."""


@dataclass(frozen=True, kw_only=True)
class LinkRate:
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
        in_bytes = claim.capacity(float(self.capacity))
        return f"{in_bytes} ({claim.capacity(float(self.capacity), bits=True)})" if self.rate.is_in_bits else in_bytes

    @property
    def comparison(self) -> str:
        """`1 GB/s is 2.42 times the 413.3 MB/s that 2 x 2GFC carries one way`."""
        shares = [value / self.capacity for value in (self.rate.value, self.rate.most) if value is not None]
        times = " to ".join(dict.fromkeys(claim.multiple(share) for share in shares))
        way = "both ways together" if self.ways == 2 else "one way"
        return f"{self.rate.text} is {times} the {self.full} that {self.wire.name} carries {way}"

    @property
    def of_nominal(self) -> str:
        """`25 % of its nominal rate (500 MB/s)`, without coding and framing: as monitors often count."""
        nominal = self.wire.nominal_bytes_per_s * self.ways
        return f"{units.percent(float(self.rate.value) / nominal)} of its nominal rate ({claim.capacity(nominal)})"


def check_links(case: Case) -> Iterator[Finding]:
    """Judge every rate against the narrowest link of the claim, and a claimed share of a link against what it could be of."""
    all_wires = case.statement.wires
    if not all_wires:
        return
    wire = min(all_wires, key=lambda one: one.link.payload_bytes_per_s)
    large = statement.with_jumbo(wire) if Sense.JUMBO in case.statement.roles else None
    rates = judged_rates(case)
    for rate in rates:
        ways = 2 if _goes_both_ways(rate) and wire.is_duplex else 1
        one = LinkRate(rate=rate, wire=wire, link=large or wire.link, ways=ways)
        yield _of_tape(case, one) if statement.is_tape(wire) else _against(case, one)
    share = case.statement.only(QuantityKind.SHARE)
    if share is not None and len(rates) == 1 and not case.statement.comparisons:
        yield _share(case, rates[0], wire)


def _goes_both_ways(rate: Quantity) -> bool:
    """Return whether the rate is one of reads and writes together."""
    return Sense.BOTH_WAYS in rate.roles or {Sense.READ, Sense.WRITE} <= rate.roles


def _against(case: Case, one: LinkRate) -> Finding:
    """Within what the link carries, certainly above it, or above it unless it was rounded up."""
    jumbo = statement.with_jumbo(one.wire)
    allowed = one.capacity * case.limit(ROOFLINE, "above_share")
    if jumbo is not None:  # no frame carries more
        allowed = min(allowed, Fraction(jumbo.payload_bytes_per_s) * one.ways)
    if one.rate.value <= allowed or one.rate.is_upper_limit:
        return _within(case, one)
    if one.rate.interval.low > allowed:
        return _above(case, one, allowed)
    low = one.rate.interval.low
    return claim_finding(
        ROOFLINE,
        State.FAIL,
        f"{one.comparison}, but it may have been rounded up from {claim.quantity(low, QuantityKind.RATE)}.",
        severity=Severity.QUALIFIES,
        bound=Bound(low=float(low), high=float(allowed), unit=Unit.BYTES_PER_S),
        relabel=f"at most what {one.wire.name} can carry, {one.full}",
        advice="ask for more digits",
    )


MOST_COMPRESSION = Fraction(5, 2)
"""So many bytes go into one on tape, by the makers' own word of LTO-6 and later (before: 2)."""


def _of_tape(case: Case, one: LinkRate) -> Finding:
    """Judge a rate of a tape drive: beyond its native rate only what the drive compresses."""
    roles, native = case.statement.roles, Sense.NATIVE in case.statement.roles
    if native or one.rate.interval.low <= one.capacity:
        return _against(case, one)
    packed = one.rate.interval.low <= one.capacity * MOST_COMPRESSION
    words = f"more than its native rate: data that the drive makes smaller, {claim.multiple(one.rate.value / one.capacity)} it"
    if packed and Sense.COMPRESSED in roles:
        return claim_finding(ROOFLINE, State.PASS, f"{one.comparison}: {words}.", relabel=words)
    return claim_finding(
        ROOFLINE,
        State.FAIL,
        f"{one.comparison}: {words}.",
        severity=Severity.QUALIFIES if packed else Severity.INVALIDATES,
        relabel=f"faster than {one.wire.name} writes what it cannot compress, {one.full}",
        advice="ask for the native rate: of data that do not compress, such as encrypted or compressed ones",
    )


def _above(case: Case, one: LinkRate, allowed: Fraction) -> Finding:
    """More than the link carries, whatever was rounded; over Ethernet larger frames may carry it."""
    least, value, jumbo = one.rate.interval.low, one.rate.value, statement.with_jumbo(one.wire)
    if jumbo is not None and least <= Fraction(jumbo.payload_bytes_per_s) * one.ways:
        words = f"possible only in frames of 9000 bytes ({claim.capacity(jumbo.payload_bytes_per_s * one.ways)})"
        advice = "ask for the size of the frames (MTU)"
        return claim_finding(
            ROOFLINE, State.FAIL, f"{one.comparison}: {words}.", severity=Severity.QUALIFIES, relabel=words, advice=advice
        )
    at_least = claim.multiple(least / one.capacity).removesuffix(" of")
    even = f" ({at_least} at the least that prints so)" if least < value * Fraction(9, 10) else ""
    tolerance = case.limit(ROOFLINE, "unit_share")
    mistake = mistaken_unit(value / one.capacity, tolerance, coded=one.wire.is_coded)
    if not mistake and abs(value / (8 * Fraction(one.wire.nominal_bytes_per_s)) - 1) <= tolerance:
        mistake = mistaken_unit(8, tolerance)
    hint = mistake if value >= LEAST_EXCESS * one.capacity else ""
    larger = None if jumbo is None or jumbo.payload_bytes_per_s <= one.link.payload_bytes_per_s else jumbo.payload_bytes_per_s
    largest = f", also in frames of 9000 bytes ({claim.capacity(larger * one.ways)})" if larger else ""
    return claim_finding(
        ROOFLINE,
        State.FAIL,
        f"{one.comparison}{even}, {one.of_nominal}: more than the link can carry{largest}.{hint}",
        observed={"rate": float(value)},
        threshold={"allowed": float(allowed)},
        relabel=f"faster than {one.wire.name} can carry, {one.full}",
    )


def _within(case: Case, one: LinkRate) -> Finding:
    """Return what the link carries, with the shares that it is of other ways to count."""
    value, nominal = float(one.rate.value), one.wire.nominal_bytes_per_s
    share = units.percent(value / float(one.capacity))
    limits = value >= float(one.capacity * case.limit(ROOFLINE, "at_limit_share")) and not one.rate.is_upper_limit
    limiter = ": the link is the limit" if limits else ""
    both = units.percent(value / (2 * one.link.payload_bytes_per_s))
    nominal_both = f"{units.percent(value / (2 * nominal))} of the nominal rate of both ways ({claim.capacity(2 * nominal)})"
    also = f"{both} of both ways; {one.of_nominal}, {nominal_both}" if one.ways == 1 and one.wire.is_duplex else one.of_nominal
    return claim_finding(
        ROOFLINE,
        State.PASS,
        f"{one.comparison}{limiter}; {also}.",
        relabel=f"limited by {one.wire.name}" if limits else f"{share} of what {one.wire.name} carries",
    )


def _share(case: Case, rate: Quantity, wire: Wire) -> Finding:
    """Judge a claimed share of a link: of which capacity it is that share."""
    share = case.statement.of(QuantityKind.SHARE)[0]
    tolerance = case.limit(ROOFLINE, "unit_share")
    full = dict(_denominators(wire))
    fitting = [words for words, value in full.items() if rate.interval.scaled(1 / value).meets(share.interval, tolerance)]
    right = next(iter(full))
    true = units.percent(float(rate.value / full[right]))
    if right in fitting:
        return claim_finding(CONTRADICTION, State.PASS, f"{share.text} is {rate.text} over {right}.")
    of = f"fits only {' or '.join(fitting)}" if fitting else f"fits no capacity of {wire.name}"
    return claim_finding(
        CONTRADICTION,
        State.FAIL,
        f"{share.text} {of}; {rate.text} is {true} of {right}.",
        severity=Severity.QUALIFIES,
        relabel=f"{true} of {wire.name} one way, not {share.text}",
        advice="ask what the monitor calls 100 %: payload or nominal rate, one way or both",
    )


def _denominators(wire: Wire) -> Iterator[tuple[str, Fraction]]:
    """Yield what a share of a link may be of, the payload of one way first."""
    payload, nominal = Fraction(wire.link.payload_bytes_per_s), Fraction(wire.nominal_bytes_per_s)
    gbit = f"{float(nominal) * 8 / 1e9:g} Gbit/s"
    yield f"the {claim.capacity(float(payload))} of one way", payload
    yield f"the {claim.capacity(float(payload * 2))} of both ways", payload * 2
    rate, both = (claim.capacity(float(nominal * ways)) for ways in (1, 2))
    yield f"its nominal {rate} ({gbit} / 8, without coding and framing)", nominal
    yield f"its nominal {both} both ways (2 x {gbit} / 8, without coding and framing)", nominal * 2


ONE = Fraction(1)
NO_SPREAD = "one figure per side gives no run-to-run spread"


@dataclass(frozen=True, kw_only=True)
class FigureRatio:
    """One figure over its base."""

    text: str
    value: Fraction | None
    """None where one of the two is a range or a limit."""
    interval: Interval
    inverse: Interval


def check_ratios(case: Case) -> Iterator[Finding]:
    """Judge every comparison of the claim; and a share, where it says how large the only one is."""
    for one in case.statement.comparisons:
        ratio = ratio_of(one)
        if ratio is not None:
            yield _width(case, ratio)
    share = case.statement.only(QuantityKind.SHARE)
    if share is not None and len(case.statement.comparisons) == 1:
        ratio = ratio_of(case.statement.comparisons[0])
        if ratio is not None and share not in (case.statement.comparisons[0].first, case.statement.comparisons[0].second):
            yield _claimed(case, ratio)


def ratio_of(one: ClaimComparison) -> FigureRatio | None:
    """First over second, of a change second over first; None where the base is nothing."""
    figure, base = (one.second, one.first) if one.is_change else (one.first, one.second)
    if not base.value or not figure.value:
        return None
    exact = all(each.limit is None and each.ends is None for each in (figure, base))
    word = "after" if one.is_change else "against"
    return FigureRatio(
        text=f"{figure.text} {word} {base.text}",
        value=figure.value / base.value if exact else None,
        interval=figure.interval.over(base.interval),
        inverse=base.interval.over(figure.interval),
    )


def _width(case: Case, ratio: FigureRatio) -> Finding:
    """Return whether the printed digits leave the difference open by more than matters."""
    low, high = ratio.interval.low, ratio.interval.high
    allowed = case.limit(WIDE_INTERVAL, "half_width_of_matters") * Fraction(str(case.matters))
    anything = spread(ratio.interval)
    if ratio.value is None:
        statement, rounded = f"{ratio.text} is {anything}", ""
    else:
        digits = f"; by the printed digits {anything}" if is_range(ratio.interval) else ""
        statement = f"{ratio.text} is {difference(ratio.value)}{_other_base(ratio.value)}{digits}"
        rounded = f" by the printed digits ({difference(ratio.value)} from the rounded figures)"
    if high is not None and (high - low) / 2 <= allowed:
        relabel = f"{ratio.text} is {anything if ratio.value is None else difference(ratio.value)}; {NO_SPREAD}"
        return claim_finding(WIDE_INTERVAL, State.PASS, f"{statement}; {NO_SPREAD}.", relabel=relabel)
    return claim_finding(
        WIDE_INTERVAL,
        State.FAIL,
        f"{statement}.",
        severity=Severity.QUALIFIES,
        bound=Bound(low=float(low), high=None if high is None else float(high), unit=Unit.SHARE),
        relabel=f"{ratio.text} is {anything}{rounded}",
    )


def difference(ratio: Fraction) -> str:
    """`13.3 % less`, `2.6 % more`, `4.62 times as much`, `the same`."""
    if ratio == 1:
        return "the same"
    if ratio >= 2 or ratio <= Fraction(1, 2):
        return f"{units.times(float(ratio))} as much"
    return f"{units.percent(abs(float(ratio - 1)))} {'more' if ratio > 1 else 'less'}"


def _other_base(ratio: Fraction) -> str:
    """Return the same the other way round, where the base makes a difference to the words."""
    return "" if ratio == 1 or not Fraction(1, 2) < ratio < 2 else f" (by the other base {difference(1 / ratio)})"


def spread(interval: Interval) -> str:
    """`between 4.5 % and 21 % less`, `at least 4.62 times as much`, `between 2 % less and 3 % more`."""
    if interval.high is None:
        return f"at least {units.times(float(interval.low))} as much"
    low, high, unit = _ends(interval.low, interval.high)
    return f"between {low} and {high}{unit}" if low != high else f"{low}{unit}"


def is_range(interval: Interval) -> bool:
    """Return whether the ends of a ratio differ as they are printed."""
    return interval.high is not None and len({*_ends(interval.low, interval.high)[:2]}) == 2


def _ends(low: Fraction, high: Fraction) -> tuple[str, str, str]:
    """Return both ends of a ratio in words, and what follows both."""
    if high >= 2 or low <= Fraction(1, 2):
        first, last = (units.digits(float(end), trimmed=True) for end in (low, high))
        return first, last, " times as much"
    if high <= 1:
        return claim.two_digits(1 - high), claim.two_digits(1 - low), " less"
    if low >= 1:
        return claim.two_digits(low - 1), claim.two_digits(high - 1), " more"
    return f"{claim.two_digits(1 - low)} less", f"{claim.two_digits(high - 1)} more", ""


def _claimed(case: Case, ratio: FigureRatio) -> Finding:
    """Judge a claimed share against all that it is usually made of: the difference by either base, the ratio, the scale-up."""
    share = case.statement.of(QuantityKind.SHARE)[0]
    tolerance = case.limit(CONTRADICTION, "disagreement_share")
    fits = [words for words, one in _readings(ratio) if one.meets(share.interval, tolerance)]
    if fits:
        return claim_finding(CONTRADICTION, State.PASS, f"{share.text} is {fits[0]}.")
    return claim_finding(
        CONTRADICTION,
        State.FAIL,
        f"{ratio.text} is {spread(ratio.interval)}, by the other base {spread(ratio.inverse)}: not {share.text}.",
        severity=Severity.QUALIFIES,
        relabel=f"{ratio.text} is {spread(ratio.interval)}, not {share.text}",
    )


def _readings(ratio: FigureRatio) -> Iterator[tuple[str, Interval]]:
    """What a share beside two figures can be, with the words for it; `the first` is the one that is held against the other."""
    yield "the difference relative to the second figure", _size(ratio.interval)
    yield "the difference relative to the first figure", _size(ratio.inverse)
    yield "the first figure over the second", ratio.interval
    yield "the second figure over the first", ratio.inverse
    yield "the first figure over twice the second", ratio.interval.scaled(Fraction(1, 2))
    yield "the second figure over twice the first", ratio.inverse.scaled(Fraction(1, 2))


def _size(ratio: Interval) -> Interval:
    """Return how far from 1 a ratio is."""
    if ratio.high is None or ratio.high < ratio.low:
        return Interval(low=max(Fraction(0), ratio.low - ONE), high=None)
    ends = sorted((abs(ratio.low - ONE), abs(ratio.high - ONE)))
    return Interval(low=Fraction(0) if ratio.holds(ONE) else ends[0], high=ends[1])


def check(case: Case) -> tuple[Finding, ...]:
    """Return what every rule says that has something to say; empty where no two figures have to do with each other."""
    return tuple(finding for one in CHECKS for finding in one(case))


def fits_memory(case: Case) -> Iterator[Finding]:
    """Compare the data with the memory that could cache it (T05): twice the memory is the least."""
    statement = case.statement
    memories = tuple(printed(figure) for figure in statement.of(QuantityKind.MEMORY))
    stated = tuple(printed(figure) for figure in statement.of(QuantityKind.DATA))
    data = max((*claim.amounts(statement), *stated), key=lambda amount: amount.value, default=None)
    if not memories or data is None or not data.value or Sense.CACHED in statement.roles:
        return
    text = " and ".join(memory.text for memory in memories)
    memory, least = sum((memory.value for memory in memories), Fraction(0)), case.limit(WORKING_SET, "memory_multiple")
    if not memory:
        return
    multiple = data.value / memory
    if multiple >= least:
        yield claim_finding(WORKING_SET, State.PASS, f"{data.text} is {units.times(float(multiple))} the memory ({text}).")
        return
    fits = f"fits {_whole(1 / multiple)} into" if multiple <= 1 else f"is {units.times(float(multiple))}"
    room = f"{fits} {text} of memory"
    least_text = claim.quantity(least * memory, QuantityKind.AMOUNT)
    words = f"{data.text} {room}; required: at least {float(least):g} times the memory, {least_text}"
    if Sense.DIRECT in statement.roles:
        yield claim_finding(
            WORKING_SET, State.PASS, f"{words}; direct I/O bypasses the client's cache, not the caches behind it."
        )
        return
    yield claim_finding(
        WORKING_SET,
        State.FAIL,
        f"{words}.",
        observed={"multiple": float(multiple)},
        threshold={"memory_multiple": float(least)},
        relabel=f"{data.text} {room}",
    )


def _whole(times: Fraction) -> str:
    """`23 times`; `once`."""
    return "once" if times < 2 else f"{int(times):,} times"


def too_short(case: Case) -> Iterator[Finding]:
    """Judge the duration (W01): a second is the least of anything, a minute of a rate that is called sustained."""
    lasted = claim.duration(case.statement)
    if lasted is None or lasted.is_upper_limit or any(map(case.statement.of, OF_ONE_REQUEST)):
        return
    least, steady, never = (case.limit(TOO_SHORT, name) for name in ("published_s", "seconds", "invalid_seconds"))
    time = claim.seconds(float(lasted.value))
    how = f"the test lasts {lasted.text}" if case.statement.of(QuantityKind.TIME) else f"{lasted.text} takes {time}"
    relabel = f"lasts only {time}"
    if lasted.value >= steady:
        yield claim_finding(TOO_SHORT, State.PASS, f"{how}.")
    elif Sense.STEADY in case.statement.roles:
        severity = Severity.INVALIDATES if lasted.value < never else Severity.QUALIFIES
        words = f"{how}; a sustained rate needs at least {float(steady):g} s."
        yield claim_finding(TOO_SHORT, State.FAIL, words, severity=severity, relabel=relabel)
    elif lasted.value < least:
        yield claim_finding(TOO_SHORT, State.FAIL, f"{how} (at least {float(least):g} s).", relabel=relabel)
    else:
        words = f"{how}: a burst; a steady rate needs at least {float(steady):g} s."
        yield claim_finding(TOO_SHORT, State.FAIL, words, severity=Severity.NOTES, relabel=relabel)


def parts_agree(case: Case) -> Iterator[Finding]:
    """Compare what is printed with what follows from the other parts, or with itself in another unit (E05): `1 GB/s (8 Gb/s)`.

    Without a printed rate the two that follow are held against each other: operations of a size, and an amount in a time.
    """
    statement = case.statement
    followed = tuple(claim.rates(statement))
    stated = tuple(in_sum(statement, figure) for figure in _once(statement))
    if len(followed) == 2 and statement.of(QuantityKind.AMOUNT) and not stated:
        moved, asked = followed
        words = f"the {claim.quantity(asked.value, asked.kind)} of {asked.text}"
        yield _agree(case, moved, replace(asked, text=words))
    if len(stated) == 1 and len(followed) == 2:
        yield from (_agree(case, one, stated[0]) for one in followed if _of_one_kind(one, stated[0]))
    else:
        yield from (_agree(case, *pair) for pair in claim.pairs(followed, stated) if _of_one_kind(*pair))
    events = tuple(in_sum(statement, figure) for figure in statement.of(QuantityKind.EVENTS))
    yield from (_agree(case, *pair) for pair in claim.pairs(tuple(claim.events(statement)), events))
    yield from sums_agree(case)
    for pair in pairwise(statement.of(QuantityKind.RATE)):
        if statement.text[pair[0].end : pair[1].start].strip() in SAME:
            other, one = sorted(map(printed, pair), key=lambda one: one.is_in_bits)
            yield _agree(case, one, other)


NOT_TOGETHER = Fraction(9, 10)
"""Those of which each has a rate of its own end at different times: their total may be so much of the sum."""


def sums_agree(case: Case) -> Iterator[Finding]:
    """Hold `4 jobs each 200 MB/s` against the total that is printed beside it, which no more than their ends make smaller."""
    figures = case.statement.of(QuantityKind.RATE, QuantityKind.EVENTS)
    totals = [one for one in figures if Sense.TOTAL in one.roles and not one.roles & {Sense.EACH, Sense.EACH_PART}]
    for each in figures:
        whole = in_sum(case.statement, each)
        for total in totals if whole.text != each.text else ():
            is_near = NOT_TOGETHER * whole.value <= total.value <= whole.value
            if total.kind is each.kind and not is_near and _of_one_kind(whole, printed(total)):
                yield _agree(case, whole, printed(total))


SAME = ("=", "(", "or")
"""What stands between two prints of one rate."""


def _once(statement: Statement) -> Iterator[PrintedFigure]:
    """Yield the printed rates, of one that is printed in two units the first."""
    rates = statement.of(QuantityKind.RATE)
    for place, one in enumerate(rates):
        if not place or statement.text[rates[place - 1].end : one.start].strip() not in SAME:
            yield one


ORDERS, WAYS = frozenset({Sense.RANDOM, Sense.SEQUENTIAL}), frozenset({Sense.READ, Sense.WRITE})


def _of_one_kind(first: Quantity, second: Quantity) -> bool:
    """Return whether nothing says that two rates are of different work: random or sequential, reads or writes."""
    return not any(
        (first.roles & one and second.roles & one and first.roles & one != second.roles & one) for one in (ORDERS, WAYS)
    )


def _agree(case: Case, computed: Quantity, stated: Quantity) -> Finding:
    tolerance = case.limit(CONTRADICTION, "disagreement_share")
    amounts = claim.quantity(computed.value, computed.kind)
    words = f"{computed.text} is {amounts}{claim.rounding(computed.interval, computed.kind, ' by the printed digits')}"
    off = stated.value / computed.value if computed.value else None
    apart = off is not None and off > 0 and max(off, 1 / off) >= case.limit(CONTRADICTION, "rounded_times")
    if computed.interval.meets(stated.interval, tolerance) and not apart:
        rounded = claim.rounding(stated.interval, stated.kind)
        return claim_finding(CONTRADICTION, State.PASS, f"{words}, consistent with {stated.text}{rounded}.")
    hint = mistaken_unit(off, case.limit(ROOFLINE, "unit_share")) if off else ""
    by = f", {claim.multiple(off)} that" if off is not None and off >= 2 else ""
    unless = "" if computed.is_joined else " Possible only if a part was moved in this time, or some data more than once."
    return claim_finding(
        CONTRADICTION,
        State.FAIL,
        f"{words}, not {stated.text}{by}.{hint}{unless}",
        severity=Severity.INVALIDATES if computed.is_joined else Severity.QUALIFIES,
        observed={"computed": float(computed.value), "stated": float(stated.value)},
        relabel=f"{computed.text} is {amounts}, not {stated.text}",
    )


def in_flight(case: Case) -> Iterator[Finding]:
    """Rate, latency and requests at a time (L07): no more can be on their way than were sent (Little 1961).

    A percentile bounds the mean: at least that share of the requests took as long, all other ones no time (Markov).
    """
    rate, statement = claim.requests(case.statement), case.statement
    most = claim.at_a_time(statement)
    latency = statement.only(QuantityKind.LATENCY) or statement.only(QuantityKind.PERCENTILE)
    if rate is None or latency is None or most is None or not most.value:
        return
    is_mean = latency.kind is QuantityKind.LATENCY
    beyond = 1 - (latency.rank or 0)
    flying = claim.product(rate, printed(latency), QuantityKind.COUNT, "")
    least = flying.interval.low * beyond
    at_least = "" if beyond == 1 else "at least "
    count = units.digits(float(flying.value * beyond), trimmed=True)
    words = f"{rate.text} of {latency.text} each keep {at_least}{count} requests in flight"
    most_allowed = (most.interval.high or most.value) * (1 + case.limit(LITTLE, "gap_share"))
    reached = case.limit(LITTLE, "reached_share") * most.interval.low
    if least > most_allowed:
        relabel = f"{rate.text} and {latency.text} cannot both be right with {most.text} in flight"
        yield claim_finding(LITTLE, State.FAIL, f"{words}, more than {most.text}.", relabel=relabel)
    elif is_mean and Sense.DEPTH in most.roles and flying.interval.high is not None and flying.interval.high < reached:
        yield claim_finding(
            LITTLE,
            State.FAIL,
            f"{words}, not {most.text}: the depth was not reached.",
            severity=Severity.QUALIFIES,
            relabel=f"a figure of {count} requests in flight, not of depth {most.text}",
            advice="ask for the engine (a synchronous one keeps 1), and for buffered I/O, whose submission waits",
        )
    else:
        yield claim_finding(LITTLE, State.PASS, f"{words} (limit {most.text}).")


def failures(case: Case) -> Iterator[Finding]:
    """Operations that failed, datagrams that did not arrive (G04): of all that the figure counts."""
    statement = case.statement
    total, failed = _total(statement), statement.of(QuantityKind.FAILED)
    sent, received = (
        next((figure for figure in statement.of(QuantityKind.COUNT) if role in figure.roles), None)
        for role in (Sense.SENT, Sense.RECEIVED)
    )
    if sent is not None and received is not None and received.value <= sent.value and sent.value:
        yield _failed(case, 1 - received.value / sent.value, f"{received.text} of {sent.text} arrived", lost=True)
    for figure in statement.of(QuantityKind.LOST):
        yield _failed(case, figure.value, "By the claim itself" if "/" not in figure.text else figure.text, lost=True)
    if failed and any(figure.value for figure in failed):
        count, lost = _failures(failed), any(Sense.LOSS in one.roles for one in failed)
        text = f"{int(count):,} {'lost' if lost else 'failed'}"
        if total is None or not total.value:
            words = f"{text}, and nothing says of how many."
            yield claim_finding(ERRORS, State.FAIL, words, severity=Severity.QUALIFIES, relabel=text)
        else:
            yield _failed(case, min(Fraction(1), count / total.value), f"{text} of {float(total.value):,.0f}", lost=lost)
    elif failed:
        yield claim_finding(ERRORS, State.PASS, "Nothing failed.")


OVERLAPPING = re.compile(r"failed requests|non-2xx responses", re.IGNORECASE)
"""Lines of ab, of which one failure may be in both (support/ab.c of httpd 2.4)."""


def _failures(failed: Sequence[PrintedFigure]) -> Fraction:
    """Return how many operations failed at least: what may be in two counts counts once."""
    twice = [figure.value for figure in failed if OVERLAPPING.match(figure.text)]
    return max(twice, default=Fraction(0)) + sum((one.value for one in failed if not OVERLAPPING.match(one.text)), Fraction(0))


def _total(statement: Statement) -> Quantity | None:
    """Return how many operations there were: as printed, else by their rate and the time."""
    counts = [figure for figure in statement.of(QuantityKind.COUNT) if Sense.RECEIVED not in figure.roles]
    if counts:
        return max(map(printed, counts), key=lambda one: one.value)
    rate, time = (statement.only(kind) for kind in (QuantityKind.EVENTS, QuantityKind.TIME))
    if rate is None or time is None:
        return None
    return claim.product(printed(rate), printed(time), QuantityKind.COUNT, f"{rate.text} in {time.text}")


def _failed(case: Case, share: Fraction, words: str, *, lost: bool) -> Finding:
    limit, noted = (case.limit(ERRORS, name) for name in ("error_share", "noted_error_share"))
    percent = claim.quantity(share, QuantityKind.SHARE)
    rate = case.statement.only(QuantityKind.RATE) if lost else None
    arrived = ""
    if rate is not None:
        most = claim.quantity(rate.value * (1 - share), QuantityKind.RATE)
        arrived = f" If {rate.text} is the sender's rate, {most} arrived."
    if share <= noted:
        return claim_finding(ERRORS, State.PASS, f"{words}: {percent}.")
    what = "lost" if lost else "of the operations failed"
    return claim_finding(
        ERRORS,
        State.FAIL,
        f"{words}: {percent} {what} (limit {claim.quantity(limit, QuantityKind.SHARE)}).{arrived}",
        severity=Severity.INVALIDATES if share > limit else Severity.QUALIFIES,
        observed={"share": float(share)},
        threshold={"error_share": float(limit)},
        relabel=f"{percent} {what}",
        advice="ask for the rate of what succeeded" if not lost else "ask for the receiver's rate",
    )


def set_limits(case: Case) -> Iterator[Finding]:
    """Hold rates against a limit that the claim itself names (L04): provisioned, capped, `on a disk of up to`."""
    statement = case.statement
    for kind, limits in (
        (QuantityKind.EVENTS, QuantityKind.OPERATION_LIMIT),
        (QuantityKind.RATE, QuantityKind.RATE_LIMIT),
    ):
        measured = [figure for figure in statement.of(kind) if figure.limit is None]
        allowed = [(figure, Severity.INVALIDATES) for figure in statement.of(limits)]
        if not statement.comparisons:
            allowed += [(figure, Severity.QUALIFIES) for figure in statement.of(kind) if figure.limit is Sense.UNDER]
        for figure in measured:
            for limit, severity in allowed:
                if limit.value and _of_one_kind(printed(figure), printed(limit)):
                    yield _within_limit(case, figure, limit, severity)


def _within_limit(case: Case, figure: PrintedFigure, limit: PrintedFigure, severity: Severity) -> Finding:
    words = f"{figure.text} is {claim.multiple(figure.value / limit.value)} the limit, {limit.text}"
    if figure.interval.low <= limit.value * case.limit(ROOFLINE, "above_share"):
        return claim_finding(ROOFLINE, State.PASS, f"{words}.")
    hint = mistaken_unit(figure.value / limit.value, case.limit(ROOFLINE, "unit_share"))
    return claim_finding(
        ROOFLINE,
        State.FAIL,
        f"{words}: something else answered, or the limit did not hold.{hint}",
        severity=severity,
        relabel=f"more than the limit of {limit.text.removeprefix('up to ')} allows",
        advice="ask which cache or which burst answered, and whether requests were merged before the limit",
    )


def orders(case: Case) -> Iterator[Finding]:
    """Random reads are not faster than sequential ones (L08), unless memory answered or more were in flight."""
    rates = [printed(figure) for figure in case.statement.of(QuantityKind.RATE)]
    random = [rate for rate in rates if Sense.RANDOM in rate.roles and Sense.SEQUENTIAL not in rate.roles]
    in_order = [rate for rate in rates if Sense.SEQUENTIAL in rate.roles and Sense.RANDOM not in rate.roles]
    tolerance = case.limit(CROSS_METRIC, "tolerance_share")
    for one in random:
        for other in in_order:
            ways = {Sense.READ, Sense.WRITE}
            if one.roles & ways == other.roles & ways and other.interval.below(one.interval, tolerance):
                words = f"random {one.text} is more than sequential {other.text}"
                depths = [_in_flight_of(case.statement, rate.clause) for rate in (one, other)]
                if depths[0] is not None and depths[1] is not None and depths[0] > depths[1]:
                    more = f"{units.digits(float(depths[0]))} against {units.digits(float(depths[1]))} requests in flight"
                    yield claim_finding(CROSS_METRIC, State.PASS, f"{words}, with {more}.")
                    continue
                explained = Sense.REORDERED in case.statement.roles
                yield claim_finding(
                    CROSS_METRIC,
                    State.FAIL,
                    f"{words}: a cache answered, or more requests were in flight.",
                    severity=Severity.QUALIFIES if explained else CROSS_METRIC.severity,
                    relabel=words,
                )


def _in_flight_of(statement: Statement, clause: int) -> Fraction | None:
    """Return the only number of requests in flight that a clause states."""
    found = [figure.value for figure in statement.of(QuantityKind.IN_FLIGHT) if figure.clause == clause]
    return found[0] if len(found) == 1 else None


FASTEST_DISK = (Fraction(250), "15,000 rpm, the fastest ever sold,")
"""Turns a second of a disk whose speed is not stated, and its words."""


def head_moves(case: Case) -> Iterator[Finding]:
    """Judge random requests on a rotating disk (L08): its head moves to each of them."""
    statement, found = case.statement, claim.requests(case.statement)
    turns = statement.only(QuantityKind.TURNS)
    a_second, disk = (turns.value, turns.text) if turns is not None else FASTEST_DISK
    if turns is None and Sense.ROTATING not in statement.roles:
        return
    said = {*statement.roles, *(found.roles if found is not None else ())}
    if found is None or Sense.RANDOM not in said or Sense.SEQUENTIAL in said:
        return
    most = a_second * case.limit(CROSS_METRIC, "requests_a_turn")
    rate = claim.quantity(found.value, QuantityKind.EVENTS)
    words = f"{found.text} is {rate}; the head of one disk of {disk} reaches at most {float(most):,.0f}/s"
    if found.interval.low <= most:
        yield claim_finding(CROSS_METRIC, State.PASS, f"{words}.")
        return
    yield claim_finding(
        CROSS_METRIC,
        State.FAIL,
        f"{words}: a cache answered, or many disks.",
        severity=Severity.QUALIFIES,
        observed={"requests": float(found.value)},
        threshold={"requests": float(most)},
        relabel=f"{rate} random requests are no figure of one disk of {disk}",
        advice="ask how many disks there were, and which caches were in front of them",
    )


SEVERAL = re.compile(
    r"\b(?:RAID[- ]?Z?\d*|arrays?|pools?|striped?|stripes?|mirrors?|vdevs?|ZFS|cluster|SAN|JBOD|[2-9]\d*\s*x)\b", re.IGNORECASE
)
OTHER_MEDIA = re.compile(r"\b(?:SSDs?|NVMe|flash|Optane|RAM)\b", re.IGNORECASE)
"""What makes a rate one of more than a disk with a head that moves."""


def head_reads(case: Case) -> Iterator[Finding]:
    """Judge a rate of one rotating disk (L04): what passes below its heads."""
    statement = case.statement
    if Sense.ROTATING not in statement.roles and not statement.of(QuantityKind.TURNS):
        return
    if SEVERAL.search(statement.text) or OTHER_MEDIA.search(statement.text) or Sense.CACHED in statement.roles:
        return
    if any(one.state is State.FAIL for one in head_moves(case)):
        return  # that its head does not move so often says it as well
    most = case.limit(ROOFLINE, "disk_bytes_per_s")
    for rate in () if statement.comparisons else judged_rates(case):
        words = (
            f"{rate.text} is {claim.multiple(rate.value / most)} the {claim.capacity(float(most))} of the fastest rotating disks"
        )
        if rate.interval.low > most and not rate.is_upper_limit:
            yield claim_finding(
                ROOFLINE,
                State.FAIL,
                f"{words}: a cache answered, or several disks, or two sets of heads.",
                severity=Severity.QUALIFIES,
                relabel=f"{claim.quantity(rate.value, rate.kind)} is no figure of one rotating disk",
                advice="ask how many disks and sets of heads there were, and which caches were in front of them",
            )


CHECKS: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    check_links,
    fits_memory,
    too_short,
    parts_agree,
    check_ratios,
    in_flight,
    in_a_window,
    in_order,
    orders,
    head_moves,
    head_reads,
    failures,
    set_limits,
)
