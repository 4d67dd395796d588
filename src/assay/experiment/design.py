"""Designs: which combinations of levels a block holds, and what can be told apart from that.

`full` crosses everything. `one-at-a-time` has the baseline and each other level alone; a knob of another target than the
baseline's varies on its own target, against that target alone. `fractional` is a regular 2^(k-p) fraction with the resolution
that is asked for, `screening` a design of Plackett and Burman: both of factors with two levels.

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
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.records import DesignKind, Experiment, Factor, Value
from assay.statistics import effects

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


DEFAULT_RESOLUTION = 4
"""Every factor's own effect is free of those of pairs."""

Combination = Mapping[str, Value]


@dataclass(frozen=True, kw_only=True)
class Structure:
    """What a design is made of and what it cannot tell apart, in letters of the factors."""

    kind: DesignKind
    letters: Mapping[str, str]
    """Letter -> path of the factor."""
    combinations: int
    of: int
    """How many combinations there are in all."""
    resolution: int | None
    generators: tuple[str, ...]
    """`D = ABC`: with a minus sign where the product of their signs is the opposite."""
    aliases: tuple[str, ...]
    """`AB = CD`: effects that are told as one."""
    partly_mixed: float
    """The largest share of a pair's effect that is in a factor's own without being an alias; 0 where there is none."""


def varying(factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """Return the factors that have something to vary."""
    return tuple(factor for factor in factors if len(factor.levels) > 1)


def combinations(experiment: Experiment, factors: Sequence[Factor]) -> tuple[Combination, ...]:
    """Return the combinations of the levels of these factors that a block of the experiment holds."""
    if experiment.design in (None, DesignKind.FULL):
        crossed = itertools.product(*(factor.levels for factor in factors))
        return tuple({one.path: level for one, level in zip(factors, levels, strict=True)} for levels in crossed)
    several = varying(factors)
    fixed = {factor.path: factor.levels[0] for factor in factors}
    return tuple(
        {**fixed, **{one.path: one.levels[place] for one, place in zip(several, row, strict=True)}}
        for row in rows(experiment, several)
    )


def rows(experiment: Experiment, several: Sequence[Factor]) -> tuple[tuple[int, ...], ...]:
    """Return the same as places among the levels of each factor that varies: 0 is its baseline."""
    if experiment.design is DesignKind.ONE_AT_A_TIME:
        return one_at_a_time([len(factor.levels) for factor in several], owners(several))
    if experiment.design is DesignKind.SCREENING:
        return screening_rows(len(several))
    if experiment.design is DesignKind.FRACTIONAL:
        return fraction_of(experiment, len(several)).rows()
    return tuple(itertools.product(*(range(len(factor.levels)) for factor in several)))


def one_at_a_time(levels: Sequence[int], owners: Mapping[int, effects.Step]) -> tuple[tuple[int, ...], ...]:
    """Return the baseline of all, then each other level of each factor alone; a knob of another target with that target."""

    def alone(which: int, place: int) -> tuple[int, ...]:
        row = [0] * len(levels)
        if which in owners:
            factor, target = owners[which]
            row[factor] = target
        row[which] = place
        return tuple(row)

    each = (alone(which, place) for which, count in enumerate(levels) for place in range(1, count))
    return ((0,) * len(levels), *each)


def owners(several: Sequence[Factor]) -> Mapping[int, effects.Step]:
    """Return for each knob of a target that is not the baseline the step to that target: elsewhere the knob sets nothing."""
    where = next((place for place, factor in enumerate(several) if factor.path == "target"), None)
    if where is None:
        return {}
    targets = [str(level) for level in several[where].levels]
    found = {}
    for place, factor in enumerate(several):
        own = [name for name in targets if factor.path.startswith(f"{name}.")]
        if own and (step := targets.index(max(own, key=len))):
            found[place] = (where, step)
    return found


def fraction_of(experiment: Experiment, factors: int) -> Fraction:
    """Return the smallest fraction with the resolution that the experiment asks for. Raises ValueError where there is none."""
    found = smallest(factors, experiment.resolution or DEFAULT_RESOLUTION)
    if found is None:
        raise ValueError(f"found {factors} factors; expected a number of which there is a fraction of that resolution")
    return found


def structure(experiment: Experiment) -> Structure | None:
    """Return what the design of an experiment can tell; None where the file names none."""
    if experiment.design is None:
        return None
    several = varying(experiment.factors)
    lines = rows(experiment, several)
    fraction = fraction_of(experiment, len(several)) if experiment.design is DesignKind.FRACTIONAL else None
    chosen = experiment.design in (DesignKind.FRACTIONAL, DesignKind.SCREENING)
    return Structure(
        kind=experiment.design,
        letters={LETTERS[place]: factor.path for place, factor in enumerate(several)} if chosen else {},
        combinations=len(lines),
        of=math.prod(len(factor.levels) for factor in several),
        resolution=fraction.resolution if fraction else None,
        generators=generators(fraction) if fraction else (),
        aliases=aliases(lines) if chosen else (),
        partly_mixed=effects.partly_mixed(lines) if chosen else 0.0,
    )


def generators(fraction: Fraction) -> tuple[str, ...]:
    """Return which factors set each generated one, in letters with the sign of their product."""
    return tuple(
        f"{LETTERS[fraction.crossed + place]} = {'' if len(own) % 2 else '-'}{own}"
        for place, own in enumerate(fraction.generators)
    )


def aliases(lines: Sequence[Sequence[int]]) -> tuple[str, ...]:
    """Return the groups of factors and pairs that have one column, in letters."""
    return tuple(
        " = ".join(("-" if sign < 0 else "") + "".join(LETTERS[place] for place in term) for term, sign in group)
        for group in effects.groups(lines)
        if len(group) > 1
    )
