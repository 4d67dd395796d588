"""A claim that is judged: its figures, printed and implied, their words, and the findings about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict, Unpack

from assay import links, units
from assay.catalogue import Rule, find
from assay.published.statement import PrintedFigure, Statement
from assay.published.vocabulary import BASES, Interval, QuantityKind, Sense
from assay.records import Bound, Finding, Severity, State
from assay.units import UNITS, Unit


def quantity(value: Fraction | float, kind: QuantityKind) -> str:
    """`853 MB/s`, `7,410/s`, `0.63 s`, `13.3 %`."""
    base = BASES[kind]
    if base == "s":
        return seconds(float(value))
    return units.percent(float(value)) if base == "share" else units.human(float(value), Unit(base))


def seconds(value: float) -> str:
    """`0.63 s`, `283 s`, `2,106 s`, `4.00 ms`."""
    if 0.1 <= value < 600:
        return f"{units.digits(value, 2 if value < 1 else 3, trimmed=True)} s"
    return units.human(value * 1e9, Unit.NANOSECONDS)


def capacity(bytes_per_s: float, *, bits: bool = False) -> str:
    """`206.6 MB/s`, `941.5 Mbit/s`: four digits, as capacities are tabulated."""
    return units.human(bytes_per_s, Unit.BYTES_PER_S, 4, bits=bits)


def between(interval: Interval, kind: QuantityKind) -> str:
    """`787 MB/s to 932 MB/s`."""
    low = quantity(interval.low, kind)
    if interval.high is None:
        return f"{low} or more"
    high = quantity(interval.high, kind)
    number, _, unit = low.partition(" ")
    return f"{number} to {high}" if unit and high.endswith(f" {unit}") else f"{low} to {high}"


def rounding(interval: Interval, kind: QuantityKind, words: str = "") -> str:
    """` (787 to 932 MB/s by the printed digits)`, with its leading space; empty where the ends differ by less than 1 %."""
    if interval.high is not None and interval.high * 100 <= interval.low * 101:
        return ""
    return f" ({between(interval, kind)}{words})"


def multiple(ratio: Fraction | float) -> str:
    """`2.42 times`, `109 % of`: how much one thing is of another."""
    return units.times(float(ratio)) if ratio >= 2 else f"{units.percent(float(ratio))} of"


def two_digits(share: Fraction | float) -> str:
    """`4.5 %`, `21 %`, `117 %`: the end of an interval."""
    if share > units.MOST_SHARE:
        return units.percent(float(share))
    percent = 100 * float(share)
    return f"{units.digits(percent, 2, trimmed=True) if percent < 10 else round(percent)} %"


SUBJECT = "claim"
ROOFLINE, WORKING_SET, TOO_SHORT, CONTRADICTION, WIDE_INTERVAL, LITTLE, CROSS_METRIC, ERRORS = RULES = tuple(
    find("rules", name)
    for name in (
        "roofline",
        "working_set",
        "too_short",
        "contradiction",
        "wide_interval",
        "little",
        "cross_metric",
        "errors_hidden",
    )
)
"""The rules that arithmetic can apply."""
Thresholds = Mapping[str, Mapping[str, float]]
"""By rule and name, as rules/limits.toml has them."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A claim with what it is judged by."""

    statement: Statement
    thresholds: Thresholds
    matters: float
    """The smallest share that would change a decision."""

    def limit(self, rule: Rule, name: str) -> Fraction:
        """Return a threshold, exactly as it is printed."""
        return Fraction(str(self.thresholds[rule.id][name]))


class ClaimDetails(TypedDict, total=False):
    """What a finding may say beyond its statement."""

    severity: Severity
    bound: Bound | None
    relabel: str | None
    observed: Mapping[str, float | str | None]
    threshold: Mapping[str, float | str | None]
    advice: str


def claim_finding(rule: Rule, state: State, statement: str, **details: Unpack[ClaimDetails]) -> Finding:
    """Return one finding about the claim; only a failure carries what to do."""
    return Finding(
        subject=SUBJECT,
        phase=None,
        rule=rule.id,
        name=rule.name,
        state=state,
        severity=details.get("severity", rule.severity),
        part=rule.part,
        statement=statement,
        observed=details.get("observed", {}),
        threshold=details.get("threshold", {}),
        bound=details.get("bound"),
        relabel=details.get("relabel"),
        advice=details.get("advice", rule.ask) if state is State.FAIL else None,
        short=rule.short,
        meaning=rule.meaning,
    )


def mistaken_unit(ratio: Fraction | float, tolerance: Fraction, *, coded: bool = True) -> str:
    """Return a sentence on the mistake of units that this ratio (or its inverse) tells of; empty where it is none."""
    larger = float(ratio if ratio >= 1 else 1 / ratio)
    words = links.unit_mistake(larger, float(tolerance))
    if words is None or (not coded and "8b/10b" in words):
        return ""
    return f" {units.digits(larger, trimmed=True)} is the ratio of {words}."


MEMORY_TEST = "a memory test, not a disk test"
NOTHING_WRONG = "no contradiction among these figures"
NOTHING_TO_CHECK = "nothing to check: add an amount, a time, memory, a link, or a second figure after `against`"
MOST = 3


def label(findings: Sequence[Finding], in_other_words: Sequence[str]) -> str:
    """Return the worst failures in their own words; else that nothing is wrong, and what the figures come to."""
    failed = [one for one in findings if one.state is State.FAIL and one.severity is not Severity.NOTES]
    if not failed:
        compared_first = sorted(findings, key=lambda one: one.rule != WIDE_INTERVAL.id)
        known = list(dict.fromkeys(one.relabel for one in compared_first if one.state is State.PASS and one.relabel))
        return "; ".join([NOTHING_WRONG, *known[:1]] if findings else [*in_other_words, NOTHING_TO_CHECK])
    worst_first = sorted(failed, key=lambda one: list(Severity).index(one.severity))
    words = list(dict.fromkeys(one.relabel or one.statement for one in worst_first))[:MOST]
    in_memory = any(one.rule == WORKING_SET.id for one in failed)
    return f"{MEMORY_TEST}: {'; '.join(words)}" if in_memory else "; ".join(words)


IN_BITS = re.compile(r"(?:[kMGT]?bps|[kMGT]b|bits?)(?![A-Za-z])")


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A figure, printed or computed, with what it can be by the printed digits."""

    kind: QuantityKind
    text: str
    value: Fraction
    interval: Interval
    clause: int
    roles: frozenset[Sense] = frozenset()
    most: Fraction | None = None
    """Of a range the upper end."""
    is_joined: bool = True
    """Of what is computed: the text itself puts the parts together (`512 MB in 0.6 s`)."""
    is_in_bits: bool = False
    """Its printed unit is one of bits."""
    is_upper_limit: bool = False
    """The text says only that it is below this."""


def printed(figure: PrintedFigure) -> Quantity:
    """Return a figure as it stands in the claim."""
    return Quantity(
        kind=figure.kind,
        text=figure.text,
        value=figure.value,
        interval=figure.interval,
        clause=figure.clause,
        roles=figure.roles,
        most=figure.ends[1].value if figure.ends else None,
        is_in_bits=figure.kind is QuantityKind.RATE and IN_BITS.search(figure.text) is not None,
        is_upper_limit=figure.limit is Sense.UNDER,
    )


def in_sum(statement: Statement, figure: PrintedFigure) -> Quantity:
    """Return a figure of one of several as that of all: `4 threads, each 500 MB/s`; as it is where nobody says of how many."""
    workers = [one for one in statement.of(QuantityKind.IN_FLIGHT) if Sense.DEPTH not in one.roles]
    parts = statement.of(QuantityKind.PARTS)
    several = parts if Sense.EACH_PART in figure.roles else (*workers, *parts) if Sense.EACH in figure.roles else ()
    if len(several) != 1:
        return printed(figure)
    count = printed(several[0])
    return product(printed(figure), count, figure.kind, f"{units.digits(float(count.value), trimmed=True)} x {figure.text}")


def at_a_time(statement: Statement) -> Quantity | None:
    """Return how many requests may be in flight: of the workers, or of their queues, together; None where that is not clear."""
    every = statement.of(QuantityKind.IN_FLIGHT)
    kinds = [[one for one in every if (Sense.DEPTH in one.roles) is deep] for deep in (False, True)]
    known = [group[0] for group in kinds if group]
    if not known or any(one.value != group[0].value for group in kinds for one in group):
        return None
    if len(known) == 1:
        return printed(known[0])
    workers, depth = map(printed, known)
    return product(workers, depth, QuantityKind.COUNT, f"{workers.text} x {depth.text}")


def product(first: Quantity, second: Quantity, kind: QuantityKind, text: str) -> Quantity:
    """Two figures multiplied."""
    value, interval = first.value * second.value, first.interval.times(second.interval)
    return Quantity(kind=kind, text=text, value=value, interval=interval, clause=first.clause, roles=first.roles | second.roles)


def ratio(first: Quantity, second: Quantity, kind: QuantityKind, text: str) -> Quantity:
    """Return one figure over another one above 0."""
    return Quantity(
        kind=kind,
        text=text,
        value=first.value / second.value,
        interval=first.interval.over(second.interval),
        clause=first.clause,
        roles=first.roles | second.roles,
        is_joined=first.clause == second.clause,
    )


def amounts(statement: Statement) -> tuple[Quantity, ...]:
    """Return the data that was moved: as printed, else the size of a request times how many there were."""
    stated = tuple(printed(figure) for figure in _alone(statement, QuantityKind.AMOUNT))
    size, count = statement.only(QuantityKind.SIZE), statement.only(QuantityKind.COUNT)
    if stated or size is None or count is None:
        return stated
    return (product(printed(size), printed(count), QuantityKind.AMOUNT, f"{size.text} x {count.text}"),)


def times(statement: Statement) -> tuple[Quantity, ...]:
    """Return how long it took, as printed."""
    return tuple(printed(figure) for figure in _alone(statement, QuantityKind.TIME))


def _alone(statement: Statement, kind: QuantityKind) -> Iterator[PrintedFigure]:
    """Return the figures of a kind that are not there only to be compared with each other."""
    compared = [figure for one in statement.comparisons for figure in (one.first, one.second)]
    return (figure for figure in statement.of(kind) if figure not in compared)


def pairs(first: tuple[Quantity, ...], second: tuple[Quantity, ...]) -> Iterator[tuple[Quantity, Quantity]]:
    """Yield what belongs together: the only two there are, else the only two of a clause."""
    if len(first) == len(second) == 1:
        yield first[0], second[0]
        return
    for clause in dict.fromkeys(one.clause for one in first):
        ours = [[one for one in group if one.clause == clause] for group in (first, second)]
        if len(ours[0]) == len(ours[1]) == 1:
            yield ours[0][0], ours[1][0]


def rates(statement: Statement) -> Iterator[Quantity]:
    """Yield bytes a second that follow from an amount and a time, or from operations a second and the size of each."""
    for amount, time in pairs(amounts(statement), times(statement)):
        if time.value:
            yield ratio(amount, time, QuantityKind.RATE, f"{amount.text} in {time.text}")
    sizes = tuple(printed(figure) for figure in statement.of(QuantityKind.SIZE))
    events = tuple(in_sum(statement, figure) for figure in statement.of(QuantityKind.EVENTS))
    for event, size in pairs(events, sizes):
        yield product(event, size, QuantityKind.RATE, f"{event.text} of {size.text}")


def events(statement: Statement) -> Iterator[Quantity]:
    """Yield operations a second that follow from their number and a time."""
    counts = tuple(printed(figure) for figure in statement.of(QuantityKind.COUNT) if Sense.SENT not in figure.roles)
    for count, time in pairs(counts, times(statement)):
        if time.value:
            yield ratio(count, time, QuantityKind.EVENTS, f"{count.text} in {time.text}")


def requests(statement: Statement) -> Quantity | None:
    """Return the only operations a second: as printed, else what the only rate makes of the only size of a request."""
    event, rate, size = (statement.only(kind) for kind in (QuantityKind.EVENTS, QuantityKind.RATE, QuantityKind.SIZE))
    if event is not None:
        return in_sum(statement, event)
    if rate is None or size is None or not size.value or statement.of(QuantityKind.EVENTS):
        return None
    text = f"{rate.text} in requests of {size.text}"
    return ratio(in_sum(statement, rate), printed(size), QuantityKind.EVENTS, text)


def judged_rates(case: Case) -> tuple[Quantity, ...]:
    """Return the rates that a link must have carried: those that are printed, else those that follow from the parts."""
    stated = tuple(in_sum(case.statement, figure) for figure in case.statement.of(QuantityKind.RATE))
    return stated or tuple(rates(case.statement))


def duration(statement: Statement) -> Quantity | None:
    """Return how long it lasted, where there is one answer: as printed, else by its only amount and its only rate."""
    printed_times = times(statement)
    if printed_times or statement.of(QuantityKind.TIME):
        return printed_times[0] if len(printed_times) == 1 else None
    data = amounts(statement)
    stated = tuple(printed(figure) for figure in _alone(statement, QuantityKind.RATE))
    if len(data) != 1 or len(stated) != 1 or not stated[0].value:
        return None
    return ratio(data[0], stated[0], QuantityKind.TIME, f"{data[0].text} at {stated[0].text}")


def in_other_words(statement: Statement) -> Iterator[str]:
    """Yield rates that are printed in bits, or per day, and without a printed rate those of the parts, in bytes a second."""
    usual = {size for name, size in UNITS[Unit.BYTES_PER_S].items() if "bit" not in name}
    for figure in statement.of(QuantityKind.RATE):
        if figure.unit not in usual:
            is_long = any(word in figure.text for word in ("day", "week", "month", "year"))
            exactly = f"{quantity(figure.value, QuantityKind.RATE)}{rounding(figure.interval, figure.kind)}"
            yield f"{figure.text} = {exactly}{' sustained' if is_long else ''}"
    for part in () if statement.of(QuantityKind.RATE) else rates(statement):
        yield f"{part.text} = {quantity(part.value, part.kind)}{rounding(part.interval, part.kind)}"
    rate, depth = requests(statement), statement.only(QuantityKind.IN_FLIGHT)
    if rate is not None and rate.value and depth is not None and not statement.of(QuantityKind.LATENCY):
        each = ratio(printed(depth), rate, QuantityKind.LATENCY, "")
        yield f"{rate.text} with {depth.text} in flight = {quantity(each.value, each.kind)} each in the mean"
