"""Answers about a curve over a number of clients in words that need no manual: `8 clients together do 1.8 times what 1 does`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay import measures
from assay.answer.wording import names
from assay.records import Estimate, Value
from assay.statistics.crossing import Band, Crossing
from assay.statistics.scaling_law import Law

FULL_SHARE = 0.9
"""So much of a resource counts as used up: rule L02 takes the same."""
STRAIGHT = 0.95
"""A curve that reaches this share of a straight line at its end is one, for whoever decides by it."""
OFF = 0.05
"""A law from which a mean is farther than this share, beyond noise, is no word for the curve."""
NOUNS: Mapping[str, str] = {"depth": "requests in flight"}
"""What a factor counts, where its name is no plural."""


def counted(path: str) -> str:
    """What a factor counts: `clients`, `requests in flight`."""
    name = path.rpartition(".")[2]
    return NOUNS.get(name, name)


def so_many(number: float, what: str) -> str:
    """`1 client`, `8 clients`, `1 request in flight`."""
    if number != 1:
        return f"{number:g} {what}"
    first, *rest = what.split(" ", 1)
    return " ".join(("1", first.removesuffix("s"), *rest))


def told(at: Estimate) -> str:
    """`5.2 (4.3 to 6.8)`."""
    return f"{at.value:.3g} ({at.low:.3g} to {at.high:.3g})"


def where(levels: Mapping[str, Value]) -> str:
    """` at target = ext4`; nothing where no other factor varies."""
    return f" at {', '.join(f'{path} = {names.level(level)}' for path, level in levels.items())}" if levels else ""


def growth(of: tuple[Law, float], peak: Estimate | None, spanned: tuple[tuple[float, float], float], what: str) -> str:
    """How the curve runs from its first to its last number; nothing is said of fewer or more.

    `of`: the law and how far the numbers are off it; `spanned`: first and last number, and the rate at the last over the first.
    """
    (law, off), (span, together) = of, spanned
    times = span[1] / span[0]
    if peak is not None:
        alone = ": no law fits all numbers, so this is the one with the most, between those that do less"
        by_law = off <= OFF and peak.value == law.peak
        return f"peaks at {told(peak)} {what} and falls beyond{'' if by_law else alone}"
    if off > OFF:
        return f"is on no simple curve: {side_by_side(span, together, what)}; a peak is not in the measured range, {ends(span)}"
    if law.name == "clipped" and together / times < STRAIGHT:
        bend = max(span[0], law.ceiling / law.one)
        return (
            f"grows in proportion up to about {bend:.2g} {what} and is flat from there to {span[1]:g}, the most that was measured"
        )
    if law.name == "linear" or together / times >= STRAIGHT:
        return f"grows in proportion up to {span[1]:g} {what}: what limits it was not reached, and nothing follows for more"
    if together < 1:
        return f"falls: {side_by_side(span, together, what)}"
    waiting = f", as if {measures.percent(law.contention)} of the work were done by one at a time" if law.contention else ""
    return f"flattens: {side_by_side(span, together, what)}{waiting}; a peak is not in the measured range, {ends(span)}"


def side_by_side(span: tuple[float, float], together: float, what: str) -> str:
    """`8 clients together do 1.8 times what 1 client does`."""
    first = f"{so_many(span[0], what)} {'does' if span[0] == 1 else 'do'}"
    return f"{span[1]:g} {what} together do {together:.3g} times what {first}"


def ends(span: tuple[float, float]) -> str:
    """`1 to 8`."""
    return f"{span[0]:g} to {span[1]:g}"


def is_sure(one: Crossing) -> bool:
    """Whether the interval of a passage ends anywhere within the measured range; else noise alone may have made it."""
    return one.low is not None or one.high is not None


def spot(bands: Sequence[Band], one: Crossing) -> str:
    """`5.2 (4.3 to 6.8)`, `5.2 (4.3 to 8 or more)`: a passage with its interval, as far as that was measured."""
    low = f"{bands[0].at:.3g} or fewer" if one.low is None else f"{one.low:.3g}"
    high = f"{bands[-1].at:.3g} or more" if one.high is None else f"{one.high:.3g}"
    return f"{one.at:.3g} ({low} to {high})"


def fullness(bands: Sequence[Band], one: Crossing | None, what: str) -> str:
    """Where a share reaches nine tenths."""
    full = measures.percent(FULL_SHARE)
    if one is not None and not is_sure(one):
        return (
            f"reaches {full} near {one.at:.3g} {what} by the means, which noise alone can do: where it saturates cannot be told"
        )
    if one is not None:
        return f"reaches {full} at {spot(bands, one)} {what}"
    if bands[0].value >= FULL_SHARE:
        return f"is {full} or more already with {so_many(bands[0].at, what)}"
    most, high = max(band.value for band in bands), max(band.high for band in bands)
    end = so_many(bands[-1].at, what)
    if high >= FULL_SHARE:
        return f"is {measures.percent(most)} at most up to {end}: by the interval it may be {full} there"
    return f"stays below {full} up to {end} ({measures.percent(most)} at most): if it saturates, then beyond"


def led(arms: tuple[Value, Value], bands: Sequence[Band], what: str) -> str:
    """Who leads where the order never changes by the means, and whether noise could be all of it; `arms`: candidate, baseline."""
    side, span = ("above" if bands[0].value > 0 else "below"), f"from {bands[0].at:g} to {bands[-1].at:g} {what}"
    unsure = [band.at for band in bands if band.low <= 0 <= band.high]
    if not unsure:
        return f"{arms[0]} is {side} {arms[1]} everywhere {span}: no break-even in that range"
    if len(unsure) == len(bands):
        return f"the two are not told apart at any number {span}: a break-even is neither shown nor excluded"
    places = ", ".join(f"{at:g}" for at in unsure)
    return (
        f"{arms[0]} is {side} {arms[1]} {span} by the means, but not beyond noise at {places}: "
        "a break-even there is neither shown nor excluded"
    )


def passed(arms: tuple[Value, Value], bands: Sequence[Band], one: Crossing, what: str) -> str:
    """Where the order changes; without an interval that leaves out some of the range there is no answer."""
    if not is_sure(one):
        return f"by the means the order changes near {one.at:.3g} {what}, which noise alone can do: no break-even can be told"
    return f"break-even at {spot(bands, one)} {what}; beyond it {arms[0]} is {'above' if one.rising else 'below'} {arms[1]}"


def keeping(table: Sequence[Band], one: Crossing | None, what: str) -> str:
    """Until where an objective is kept."""
    first, end = table[0], table[-1]
    if one is not None and not is_sure(one):
        return (
            f"is kept up to about {one.at:.3g} {what} by the means, but noise allows any number from {first.at:g} to {end.at:g}"
        )
    if one is not None:
        return f"is kept up to {spot(table, one)} {what}"
    if all(band.value <= 0 for band in table):
        return f"is kept at all numbers from {first.at:g} to {end.at:g} {what}: where it ends is not in the measured range"
    if all(band.value > 0 for band in table):
        return f"is kept at none of the numbers from {first.at:g} to {end.at:g} {what}"
    return f"is kept at some numbers from {first.at:g} to {end.at:g} {what} and not at others: no simple answer"
