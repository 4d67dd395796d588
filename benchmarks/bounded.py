"""How often the range of a BOUNDED figure holds what is true: simulated noise of known size, through the code of a cell.

    .venv/bin/python benchmarks/bounded.py [EXPERIMENTS]

Each experiment draws the true figures of n runs (spread 5 %, mean 100), takes a share of the time from each, and gives each
run the bound that the rules give: between what was measured and what would be if all of the possible share had been lost.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from assay.analysis.cells import range_of
from assay.records import Measure, Summary

TRUE, SPREAD = 100.0, 0.05
RATE = Measure(workload="w", operation="read", figure="ops_per_s")
SIZES, DISTANCES = (3, 5, 10), (0.0, 0.02, 0.05, 0.1, 0.3, 1.0)


@dataclass(frozen=True, kw_only=True)
class Noise:
    """How much of what a run can have lost it did lose."""

    name: str
    least: float
    most: float


KINDS = (
    Noise(name="all that was possible", least=1.0, most=1.0),
    Noise(name="nothing", least=0.0, most=0.0),
    Noise(name="half or more", least=0.5, most=1.0),
    Noise(name="anything", least=0.0, most=1.0),
)


def holds(draw: np.random.Generator, n: int, distance: float, noise: Noise) -> bool:
    """Whether the range of one experiment holds the true mean; `distance` is the mean logarithm of what may be lost."""
    true = draw.normal(math.log(TRUE), SPREAD, n)
    possible = draw.uniform(0.5, 1.5, n) * distance
    measured = true - possible * draw.uniform(noise.least, noise.most, n)
    bound = range_of(
        RATE,
        [(math.exp(low), math.exp(high)) for low, high in zip(measured, measured + possible, strict=True)],
        Summary.GEOMETRIC,
    )
    return (bound.low or 0.0) <= TRUE <= (bound.high or math.inf)


def known(draw: np.random.Generator, experiments: int) -> float:
    """The same where noise took all that was possible: its size is known, and the truth is at the end of the range."""
    sizes = zip(draw.integers(3, 11, experiments), draw.uniform(0.0, math.log(2), experiments), strict=True)
    return sum(holds(draw, int(n), float(distance), KINDS[0]) for n, distance in sizes) / experiments


def share(draw: np.random.Generator, n: int, distance: float, noise: Noise, experiments: int) -> float:
    """The share of experiments whose range holds the truth."""
    return sum(holds(draw, n, distance, noise) for _ in range(experiments)) / experiments


def mixed(draw: np.random.Generator, experiments: int) -> float:
    """The same of experiments of which nothing but the bounds is known: any n, any distance up to a factor of 2, any share."""
    found = 0
    for _ in range(experiments):
        n, distance = int(draw.integers(3, 11)), float(draw.uniform(0.0, math.log(2)))
        took = float(draw.uniform(0.0, 1.0))
        found += holds(draw, n, distance, Noise(name="", least=took, most=took))
    return found / experiments


def main(experiments: int) -> None:
    """Print a row for each kind of noise and number of runs."""
    draw = np.random.default_rng(1)
    print(f"{experiments:,} experiments each; true value {TRUE:g}, spread {SPREAD:.0%}; share whose range holds it")
    print("noise took".ljust(24), "n", *(f"D = {distance:g}".rjust(9) for distance in DISTANCES))
    for noise in KINDS:
        for n in SIZES:
            shares = (share(draw, n, distance, noise, experiments) for distance in DISTANCES)
            print(noise.name.ljust(24), f"{n:<2}", *(f"{one:.1%}".rjust(9) for one in shares))
    print("any n, D up to ln 2, all of it taken:", f"{known(draw, experiments):.1%}")
    print("any n, D up to ln 2, any share of it taken:", f"{mixed(draw, experiments):.1%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
