"""Judges a claim by its own figures: what links carry, what fits into memory, how long it lasted, whether its parts agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from assay.published import carried, implied, ratios, wording
from assay.published.finding import (
    CONTRADICTION,
    CROSS_METRIC,
    LITTLE,
    ROOFLINE,
    TOO_SHORT,
    WORKING_SET,
    Case,
    found,
    mistaken_unit,
)
from assay.published.implied import Quantity, printed
from assay.published.vocabulary import Kind, Role
from assay.records import Finding, Severity, State


def check(case: Case) -> tuple[Finding, ...]:
    """What every rule says that has something to say; empty where no two figures have to do with each other."""
    return tuple(finding for one in CHECKS for finding in one(case))


def fits_memory(case: Case) -> Iterator[Finding]:
    """The data against the memory that could cache it (T05): twice the memory is the least."""
    statement = case.statement
    memories = tuple(printed(figure) for figure in statement.of(Kind.MEMORY))
    stated = tuple(printed(figure) for figure in statement.of(Kind.DATA))
    data = max((*implied.amounts(statement), *stated), key=lambda amount: amount.value, default=None)
    if not memories or data is None or not data.value or Role.CACHED in statement.roles:
        return
    text = " and ".join(memory.text for memory in memories)
    memory = sum((memory.value for memory in memories), Fraction(0))
    multiple, least = data.value / memory if memory else None, case.limit(WORKING_SET, "memory_multiple")
    if multiple is None:
        return
    if multiple >= least:
        yield found(WORKING_SET, State.PASS, f"{data.text} is {float(multiple):.3g} times the memory ({text}).")
        return
    fits = f"fits {_whole(1 / multiple)} into" if multiple <= 1 else f"is {float(multiple):.3g} times"
    room = f"{fits} {text} of memory"
    least_text = wording.quantity(least * memory, Kind.AMOUNT)
    said = f"{data.text} {room}; the rule asks for at least {float(least):g} times the memory, {least_text}"
    if Role.DIRECT in statement.roles:
        yield found(WORKING_SET, State.PASS, f"{said}; but direct I/O passes the client's cache by: others in the path are open.")
        return
    yield found(
        WORKING_SET,
        State.FAIL,
        f"{said}.",
        observed={"multiple": float(multiple)},
        threshold={"memory_multiple": float(least)},
        relabel=f"{data.text} {room}",
    )


def _whole(times: Fraction) -> str:
    """`23 times`; `once`."""
    return "once" if times < 2 else f"{int(times):,} times"


def too_short(case: Case) -> Iterator[Finding]:
    """How long it lasted (W01): a second is the least of anything, a minute of a rate that is called sustained."""
    lasted = implied.duration(case.statement)
    if lasted is None or lasted.is_upper_limit or case.statement.of(Kind.LATENCY):
        return
    least, steady, never = (case.limit(TOO_SHORT, name) for name in ("published_s", "seconds", "invalid_seconds"))
    time = wording.seconds(float(lasted.value))
    how = f"it lasts {lasted.text}" if case.statement.of(Kind.TIME) else f"{lasted.text} lasts {time}"
    relabel = f"lasts only {time}"
    if lasted.value >= steady:
        yield found(TOO_SHORT, State.PASS, f"{how}.")
    elif Role.STEADY in case.statement.roles:
        severity = Severity.INVALIDATES if lasted.value < never else Severity.QUALIFIES
        words = f"{how}; what is called sustained needs {float(steady):g} s."
        yield found(TOO_SHORT, State.FAIL, words, severity=severity, relabel=relabel)
    elif lasted.value < least:
        yield found(TOO_SHORT, State.FAIL, f"{how}: shorter than {float(least):g} s.", relabel=relabel)
    else:
        words = f"{how}: a burst; a steady rate needs {float(steady):g} s."
        yield found(TOO_SHORT, State.FAIL, words, severity=Severity.NOTES, relabel=relabel)


def parts_agree(case: Case) -> Iterator[Finding]:
    """What is printed against what follows from the other parts (E05)."""
    statement = case.statement
    for kind, computed in ((Kind.RATE, implied.rates(statement)), (Kind.EVENTS, implied.events(statement))):
        stated = tuple(printed(figure) for figure in statement.of(kind))
        for one, other in implied.pairs(tuple(computed), stated):
            yield _agree(case, one, other)


def _agree(case: Case, computed: Quantity, stated: Quantity) -> Finding:
    tolerance = case.limit(CONTRADICTION, "disagreement_share")
    amounts = wording.quantity(computed.value, computed.kind)
    said = f"{computed.text} is {amounts}{wording.rounding(computed.interval, computed.kind, ' by the printed digits')}"
    if computed.interval.meets(stated.interval, tolerance):
        rounded = wording.rounding(stated.interval, stated.kind)
        return found(CONTRADICTION, State.PASS, f"{said}, which {stated.text}{rounded} does not contradict.")
    off = stated.value / computed.value if computed.value else None
    hint = mistaken_unit(off, case.limit(ROOFLINE, "unit_share")) if off else ""
    by = f", {wording.times(off)} that" if off is not None and off >= 2 else ""
    unless = "" if computed.is_joined else " Unless only a part was moved in this time, or some of it more than once."
    return found(
        CONTRADICTION,
        State.FAIL,
        f"{said}, not {stated.text}{by}.{hint}{unless}",
        severity=Severity.INVALIDATES if computed.is_joined else Severity.QUALIFIES,
        observed={"computed": float(computed.value), "stated": float(stated.value)},
        relabel=f"{computed.text} is {amounts}, not {stated.text}",
    )


def in_flight(case: Case) -> Iterator[Finding]:
    """Rate, latency and requests at a time (L07): no more can be on their way than were sent (Little 1961)."""
    rate, latency, most = (case.statement.only(kind) for kind in (Kind.EVENTS, Kind.LATENCY, Kind.IN_FLIGHT))
    if rate is None or latency is None or most is None or not most.value:
        return
    flying = implied.product(printed(rate), printed(latency), Kind.COUNT, "")
    said = f"{rate.text} of {latency.text} each keep {float(flying.value):.3g} requests in flight"
    most_allowed = (most.interval.high or most.value) * (1 + case.limit(LITTLE, "gap_share"))
    if flying.interval.low > most_allowed:
        relabel = f"{rate.text} and {latency.text} cannot both be right with {most.text} in flight"
        yield found(LITTLE, State.FAIL, f"{said}, more than {most.text}.", relabel=relabel)
    else:
        yield found(LITTLE, State.PASS, f"{said}, of {most.text}.")


def orders(case: Case) -> Iterator[Finding]:
    """Random reads are not faster than sequential ones (L08), unless memory answered or more were in flight."""
    rates = [printed(figure) for figure in case.statement.of(Kind.RATE)]
    random = [rate for rate in rates if Role.RANDOM in rate.roles and Role.SEQUENTIAL not in rate.roles]
    in_order = [rate for rate in rates if Role.SEQUENTIAL in rate.roles and Role.RANDOM not in rate.roles]
    tolerance = case.limit(CROSS_METRIC, "tolerance_share")
    for one in random:
        for other in in_order:
            ways = {Role.READ, Role.WRITE}
            if one.roles & ways == other.roles & ways and other.interval.below(one.interval, tolerance):
                words = f"random {one.text} is more than sequential {other.text}"
                statement = f"{words}: a cache answered, or more was in flight."
                yield found(CROSS_METRIC, State.FAIL, statement, severity=Severity.QUALIFIES, relabel=words)


CHECKS: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    carried.check,
    fits_memory,
    too_short,
    parts_agree,
    ratios.check,
    in_flight,
    orders,
)
