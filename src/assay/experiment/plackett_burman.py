"""Screening designs: up to N - 1 factors of two levels in N combinations, N a multiple of four.

Each is a first line, its cyclic shifts, and a last line in which every factor is at its baseline.

Reference: R. Plackett, J. Burman, The design of optimum multifactorial experiments, Biometrika 33 (1946), 305-325.
"""

from __future__ import annotations

from collections.abc import Mapping

FIRST: Mapping[int, str] = {
    8: "+++-+--",
    12: "++-+++---+-",
    16: "++++-+-++--+---",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
}
"""Number of combinations -> first line; `+`: not at its baseline."""

FEWEST = 4
MOST = max(FIRST) - 1


def rows(factors: int) -> tuple[tuple[int, ...], ...]:
    """The smallest design for so many factors: 0 where a factor is at its baseline, 1 where it is not; the baseline of all first.

    Raises ValueError where there are more factors than the largest design takes.
    """
    size = next((size for size in FIRST if size > factors), None)
    if size is None:
        raise ValueError(f"found {factors} factors; expected at most {MOST}")
    line = [int(sign == "+") for sign in FIRST[size]]
    shifted = (tuple((line[-turn:] + line[:-turn])[:factors]) for turn in range(size - 1))
    return ((0,) * factors, *shifted)
