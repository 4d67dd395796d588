"""What a printed number can have been: half a unit of its last digit to either side, carried on through products and ratios.

`0.6` was printed for anything from 0.55 to 0.65. Figures are never negative, so the ends of a product are the products of the
ends, and those of a ratio lie crosswise (interval arithmetic: R. E. Moore, Interval Analysis, 1966). All exact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

MOST_DIGITS = 30
"""Nobody prints more; longer runs of digits are no number of a benchmark."""
NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?)"
"""Digits with a decimal point, thousands separated by commas or not at all."""
NUMBER_AT = re.compile(NUMBER, re.ASCII)
CLOCK = re.compile(r"(?:([0-9]{1,4}):)?([0-9]{1,4}):([0-5][0-9](?:\.[0-9]+)?)", re.ASCII)
"""`30:56.62` is minutes and seconds, `1:30:56` has hours before them."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """From `low` to `high`, neither negative; None is no upper end."""

    low: Fraction
    high: Fraction | None

    def times(self, other: Interval) -> Interval:
        """Return every product of a value of this and one of the other."""
        high = None if self.high is None or other.high is None else self.high * other.high
        return Interval(low=self.low * other.low, high=high)

    def over(self, other: Interval) -> Interval:
        """Return every ratio of a value of this to a positive one of the other."""
        low = self.low / other.high if other.high else Fraction(0)
        high = self.high / other.low if self.high is not None and other.low else None
        return Interval(low=low, high=high)

    def scaled(self, factor: Fraction) -> Interval:
        """Return the same in another unit."""
        return Interval(low=self.low * factor, high=None if self.high is None else self.high * factor)

    def meets(self, other: Interval, tolerance: Fraction) -> bool:
        """Return whether the two have a value in common when each may be off by this relative tolerance."""
        return not (self.below(other, tolerance) or other.below(self, tolerance))

    def below(self, other: Interval, tolerance: Fraction) -> bool:
        """Return whether all of this lies below all of the other, by more than the tolerance."""
        return self.high is not None and self.high * (1 + tolerance) < other.low

    def holds(self, value: Fraction) -> bool:
        """Return whether the value is one of this."""
        return self.low <= value and (self.high is None or value <= self.high)


@dataclass(frozen=True, kw_only=True)
class PrintedNumber:
    """A number as it stands in a text, and what it can have been."""

    value: Fraction
    interval: Interval

    def scaled(self, factor: Fraction) -> PrintedNumber:
        """Return the same in another unit."""
        return PrintedNumber(value=self.value * factor, interval=self.interval.scaled(factor))


def number(text: str) -> PrintedNumber | None:
    """Return the number that these digits print; None where they print none, or more than anybody reads."""
    if not re.fullmatch(NUMBER, text, re.ASCII) or len(text) > MOST_DIGITS:
        return None
    digits = text.replace(",", "")
    return around(Fraction(digits), Fraction(1, 10 ** len(digits.partition(".")[2])))


def clock(text: str) -> PrintedNumber | None:
    """Return seconds of a time like `30:56.62` or `1:30:56`; None where the text is none."""
    match = CLOCK.fullmatch(text)
    if match is None or len(text) > MOST_DIGITS:
        return None
    hours, minutes, seconds = match.groups()
    value = int(hours or 0) * 3600 + int(minutes) * 60 + Fraction(seconds)
    return around(value, Fraction(1, 10 ** len(seconds.partition(".")[2])))


def around(value: Fraction, unit: Fraction) -> PrintedNumber:
    """Return a value and what was rounded to it in steps of this unit."""
    return PrintedNumber(value=value, interval=Interval(low=max(Fraction(0), value - unit / 2), high=value + unit / 2))


def roughly(text: str, printed: PrintedNumber) -> PrintedNumber:
    """Return the same where the text says `about`: zeros at the end of an integer then stand for nothing."""
    digits = text.replace(",", "")
    zeros = len(digits) - len(digits.rstrip("0")) if "." not in digits and digits.strip("0") else 0
    step = printed.interval.high - printed.interval.low if printed.interval.high is not None else Fraction(0)
    return around(printed.value, step * 10**zeros)
