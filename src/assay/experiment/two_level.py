"""Designs for factors of two levels: regular fractions, and screening designs after Plackett and Burman.

Fractions. Of k factors, n are crossed and each of the others is set by several of them.

The generators are those of the textbook tables: G. Box, W. Hunter, J. Hunter, Statistics for Experimenters, 2nd ed. (2005),
table 6.22; D. Montgomery, Design and Analysis of Experiments, 8th ed. (2012), table 8.14. What they lead to (resolution, aliases)
is computed and not copied. "On" is a factor's second level. A generated factor is on where an odd number of its own factors is,
so that the combination in which every factor is at its baseline always belongs to the fraction.

Screening. Up to N - 1 factors of two levels in N combinations, N a multiple of four.

Each is a first line, its cyclic shifts, and a last line in which every factor is at its baseline.

Reference: R. Plackett, J. Burman, The design of optimum multifactorial experiments, Biometrika 33 (1946), 305-325.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
"""One for each factor in the order of the file; no I, which stands for one."""

Generators = tuple[str, ...]

TABLE: Mapping[int, tuple[Generators, ...]] = {
    3: (("AB",),),
    4: (("ABC",),),
    5: (("AB", "AC"), ("ABCD",)),
    6: (("AB", "AC", "BC"), ("ABC", "BCD"), ("ABCDE",)),
    7: (("AB", "AC", "BC", "ABC"), ("ABC", "BCD", "ACD"), ("ABCD", "ABDE"), ("ABCDEF",)),
    8: (("BCD", "ACD", "ABC", "ABD"), ("ABC", "ABD", "BCDE"), ("ABCD", "ABEF")),
    9: (("ABC", "BCD", "ACD", "ABD", "ABCD"), ("BCDE", "ACDE", "ABDE", "ABCE"), ("ABCD", "ACEF", "CDEF"), ("ACDFG", "BCEFG")),
    10: (
        ("ABC", "BCD", "ACD", "ABD", "ABCD", "AB"),
        ("ABCD", "ABCE", "ABDE", "ACDE", "BCDE"),
        ("BCDF", "ACDF", "ABDE", "ABCE"),
        ("ABCG", "BCDE", "ACDF"),
    ),
    11: (
        ("ABC", "BCD", "ACD", "ABD", "ABCD", "AB", "AC"),
        ("ABC", "BCD", "CDE", "ACD", "ADE", "BDE"),
        ("CDE", "ABCD", "ABF", "BDEF", "ADEF"),
        ("ABCG", "BCDE", "ACDF", "ABCDEFG"),
    ),
}
"""Number of factors -> fractions, the one with the fewest combinations first."""

FEWEST, MOST = min(TABLE), max(TABLE)


@dataclass(frozen=True, kw_only=True)
class Fraction:
    """One 2^(k-p) design."""

    factors: int
    generators: Generators
    """Of the last factors, in letters: `ABC`."""

    @property
    def crossed(self) -> int:
        """How many factors are crossed: the base of the fraction."""
        return self.factors - len(self.generators)

    @property
    def combinations(self) -> int:
        """How many combinations the fraction has."""
        return 1 << self.crossed

    @property
    def masks(self) -> tuple[int, ...]:
        """For each factor the crossed factors that set it, a bit each."""
        own = (sum(1 << LETTERS.index(letter) for letter in generator) for generator in self.generators)
        return (*(1 << place for place in range(self.crossed)), *own)

    @property
    def resolution(self) -> int:
        """The length of the shortest word of the defining relation: III, IV, V as 3, 4, 5."""
        return min(word.bit_count() for word in self.words())

    def words(self) -> Iterator[int]:
        """Yield the words of the defining relation, a bit for each factor: all products of the generators."""
        own = [1 << (self.crossed + place) | mask for place, mask in enumerate(self.masks[self.crossed :])]
        for count in range(1, len(own) + 1):
            for chosen in itertools.combinations(own, count):
                word = 0
                for one in chosen:
                    word ^= one
                yield word

    def rows(self) -> tuple[tuple[int, ...], ...]:
        """Return the combinations: 0 where a factor is at its baseline, 1 where it is not. The first is the baseline of all."""
        masks = self.masks
        return tuple(tuple((run & mask).bit_count() % 2 for mask in masks) for run in range(self.combinations))


def fractions_of(factors: int) -> tuple[Fraction, ...]:
    """Return the fractions of so many factors, the smallest first; none where the table has none."""
    return tuple(Fraction(factors=factors, generators=one) for one in TABLE.get(factors, ()))


def smallest(factors: int, resolution: int) -> Fraction | None:
    """The fraction with the fewest combinations that has at least this resolution; None where only all combinations have it."""
    return next((one for one in fractions_of(factors) if one.resolution >= resolution), None)


FIRST: Mapping[int, str] = {
    8: "+++-+--",
    12: "++-+++---+-",
    16: "++++-+-++--+---",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
}
"""Number of combinations -> first line; `+`: not at its baseline."""

FEWEST_SCREENED = 4
MOST_SCREENED = max(FIRST) - 1


def screening_rows(factors: int) -> tuple[tuple[int, ...], ...]:
    """The smallest design for so many factors: 0 where a factor is at its baseline, 1 where it is not; the baseline of all first.

    Raises ValueError where there are more factors than the largest design takes.
    """
    size = next((size for size in FIRST if size > factors), None)
    if size is None:
        raise ValueError(f"found {factors} factors; expected at most {MOST_SCREENED}")
    line = [int(sign == "+") for sign in FIRST[size]]
    shifted = (tuple((line[-turn:] + line[:-turn])[:factors]) for turn in range(size - 1))
    return ((0,) * factors, *shifted)
