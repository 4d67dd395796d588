"""What the parts of a claim amount to: rates from amounts and times, amounts from sizes and counts, times from both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from assay.published import finding
from assay.published.digits import Interval
from assay.published.finding import Case
from assay.published.statement import PrintedFigure, Statement
from assay.published.vocabulary import QuantityKind, Role
from assay.units import UNITS, Unit

IN_BITS = re.compile(r"(?:[kMGT]b|bits?)(?![A-Za-z])")


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A figure, printed or computed, with what it can be by the printed digits."""

    kind: QuantityKind
    text: str
    value: Fraction
    interval: Interval
    clause: int
    roles: frozenset[Role] = frozenset()
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
        is_upper_limit=figure.limit is Role.UNDER,
    )


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
    events = tuple(printed(figure) for figure in statement.of(QuantityKind.EVENTS))
    for event, size in pairs(events, sizes):
        yield product(event, size, QuantityKind.RATE, f"{event.text} of {size.text}")


def events(statement: Statement) -> Iterator[Quantity]:
    """Yield operations a second that follow from their number and a time."""
    counts = tuple(printed(figure) for figure in statement.of(QuantityKind.COUNT))
    for count, time in pairs(counts, times(statement)):
        if time.value:
            yield ratio(count, time, QuantityKind.EVENTS, f"{count.text} in {time.text}")


def judged_rates(case: Case) -> tuple[Quantity, ...]:
    """Return the rates that a link must have carried: those that are printed, else those that follow from the parts."""
    stated = tuple(printed(figure) for figure in case.statement.of(QuantityKind.RATE))
    return stated or tuple(rates(case.statement))


def duration(statement: Statement) -> Quantity | None:
    """Return how long it lasted, where there is one answer: as printed, else by its only amount and its only rate."""
    told = times(statement)
    if told or statement.of(QuantityKind.TIME):
        return told[0] if len(told) == 1 else None
    moved = amounts(statement)
    stated = tuple(printed(figure) for figure in _alone(statement, QuantityKind.RATE))
    if len(moved) != 1 or len(stated) != 1 or not stated[0].value:
        return None
    return ratio(moved[0], stated[0], QuantityKind.TIME, f"{moved[0].text} at {stated[0].text}")


def in_other_words(statement: Statement) -> Iterator[str]:
    """Yield rates that are printed in bits, or per day, in bytes a second."""
    usual = {size for name, size in UNITS[Unit.BYTES_PER_S].items() if "bit" not in name}
    for figure in statement.of(QuantityKind.RATE):
        if figure.unit not in usual:
            exactly = finding.quantity(figure.value, QuantityKind.RATE)
            yield f"{figure.text} = {exactly}{finding.rounding(figure.interval, figure.kind)}{_sustained(figure)}"


def _sustained(figure: PrintedFigure) -> str:
    """Return whether its period is longer than people measure."""
    return " sustained" if any(word in figure.text for word in ("day", "week", "month", "year")) else ""
