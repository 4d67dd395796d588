"""Judges times of requests by each other, and a rate by what a connection may have on its way during a round trip."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from assay.published import claim
from assay.published.claim import CONTRADICTION, LITTLE, Case, Quantity, claim_finding, printed
from assay.published.statement import PrintedFigure, Statement
from assay.published.vocabulary import QuantityKind, Sense
from assay.records import Finding, State


def in_order(case: Case) -> Iterator[Finding]:
    """Percentiles do not fall (E05), and a mean is at least what the share above a percentile makes of it (Markov)."""
    statement = case.statement
    ranked = sorted(_ranked(statement), key=lambda one: one[0])
    several = len(ranked) != len({rank for rank, _ in ranked}) or {Sense.READ, Sense.WRITE} <= statement.roles
    if several or statement.comparisons:
        return
    wrong = [*_falling(ranked), *_against_mean(ranked, _mean(statement))]
    for words in wrong[:1]:
        yield claim_finding(CONTRADICTION, State.FAIL, f"{words}.", relabel=words, advice="ask for the whole distribution")
    if len(ranked) > 1 and not wrong:
        named = ", ".join(_named(*one) for one in ranked)
        yield claim_finding(CONTRADICTION, State.PASS, f"The percentiles do not fall: {named}.")


def _ranked(statement: Statement) -> Iterator[tuple[Fraction, PrintedFigure]]:
    for figure in statement.of(QuantityKind.PERCENTILE):
        if figure.rank is not None and figure.limit is None:
            yield figure.rank, figure


def _mean(statement: Statement) -> PrintedFigure | None:
    """Return the only mean; a round trip is none of these requests."""
    mean = statement.only(QuantityKind.LATENCY)
    return None if mean is None or Sense.ROUND_TRIP in mean.roles or mean.limit is not None else mean


def _falling(ranked: list[tuple[Fraction, PrintedFigure]]) -> Iterator[str]:
    for (rank, low), (higher, high) in pairwise(ranked):
        if high.interval.high is not None and high.interval.high <= low.interval.low:
            yield f"{_named(higher, high)} is less than {_named(rank, low)}"


def _against_mean(ranked: list[tuple[Fraction, PrintedFigure]], mean: PrintedFigure | None) -> Iterator[str]:
    if mean is None:
        return
    for rank, figure in ranked:
        least = figure.interval.low * (1 - rank)
        if mean.interval.high is not None and least and mean.interval.high <= least:
            beyond = claim.quantity(1 - rank, QuantityKind.SHARE)
            alone = claim.seconds(float(least))
            yield f"{beyond} of the requests took {figure.text} or more, which makes the mean {alone} or more, not {mean.text}"
        if rank == 1 and figure.interval.high is not None and mean.interval.low > figure.interval.high:
            yield f"the mean {mean.text} is more than the longest, {figure.text}"


def _named(rank: Fraction, figure: PrintedFigure) -> str:
    """`p99 1 ms`, `the longest 3 ms`."""
    name = {Fraction(0): "the shortest", Fraction(1): "the longest"}.get(rank, f"p{float(100 * rank):g}")
    return f"{name} {figure.text}"


def in_a_window(case: Case) -> Iterator[Finding]:
    """A connection has no more on its way than its window, which is a round trip's worth of its rate (L07)."""
    statement = case.statement
    window, streams = statement.only(QuantityKind.WINDOW), statement.only(QuantityKind.IN_FLIGHT)
    trip = statement.only(QuantityKind.LATENCY)
    if window is None or trip is None or not trip.value or not window.value:
        return
    count = streams.value if streams is not None and streams.value else Fraction(1)
    each = claim.ratio(printed(window), printed(trip), QuantityKind.RATE, "")
    most = (each.interval.high or each.value) * count
    for rate in claim.judged_rates(case):
        yield _windowed(case, rate, (window, trip, most, count))


def _windowed(case: Case, rate: Quantity, limit: tuple[PrintedFigure, PrintedFigure, Fraction, Fraction]) -> Finding:
    window, trip, most, count = limit
    allowed = claim.capacity(float(most), bits=rate.is_in_bits)
    of = window.text if count == 1 else f"{float(count):g} x {window.text}"
    words = f"{of} a round trip of {trip.text} is at most {allowed}"
    if rate.interval.low <= most * (1 + case.limit(LITTLE, "gap_share")):
        return claim_finding(LITTLE, State.PASS, f"{words}; {rate.text} is {claim.multiple(rate.value / most)} that.")
    flying = claim.quantity(rate.value * trip.value, QuantityKind.AMOUNT)
    return claim_finding(
        LITTLE,
        State.FAIL,
        f"{words}; {rate.text} would keep {flying} on the way.",
        observed={"rate": float(rate.value)},
        threshold={"rate": float(most)},
        relabel=f"more than a window of {of} lets through in a round trip of {trip.text}",
        advice="ask for the window that was reached (ss -ti), the number of connections, and what answered on the way",
    )
