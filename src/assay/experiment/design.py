"""Designs: which combinations of levels a block holds, and what that lets be told apart.

`full` crosses everything. `one-at-a-time` has the baseline and each other level alone. `fractional` is a regular 2^(k-p)
fraction with the resolution that is asked for, `screening` a design of Plackett and Burman: both of factors with two levels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.experiment import two_level
from assay.experiment.two_level import LETTERS, Fraction
from assay.records import DesignKind, Experiment, Factor, Value
from assay.statistics import effects

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
        return one_at_a_time([len(factor.levels) for factor in several])
    if experiment.design is DesignKind.SCREENING:
        return two_level.screening_rows(len(several))
    if experiment.design is DesignKind.FRACTIONAL:
        return fraction_of(experiment, len(several)).rows()
    return tuple(itertools.product(*(range(len(factor.levels)) for factor in several)))


def one_at_a_time(levels: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the baseline of all, then each other level of each factor alone."""
    alone = (
        tuple(place if other == which else 0 for other in range(len(levels)))
        for which, count in enumerate(levels)
        for place in range(1, count)
    )
    return ((0,) * len(levels), *alone)


def fraction_of(experiment: Experiment, factors: int) -> Fraction:
    """Return the smallest fraction with the resolution that the experiment asks for. Raises ValueError where there is none."""
    found = two_level.smallest(factors, experiment.resolution or DEFAULT_RESOLUTION)
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
