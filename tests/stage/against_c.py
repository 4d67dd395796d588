"""Ratios of the lab, held against those of the small C program of `benchmarks/against_others.py`."""

import math
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from assay.statistics.contrast import Contrast, interval, welch_ratio

RULER = Path(__file__).parents[2] / "benchmarks" / "ruler.c"
SAME = 1.25
"""The two contradict each other where the interval of their quotient is beyond this factor."""
SHOWN = 2.0
"""They agree where the interval is within this factor; on a busier machine nothing can be said."""
CONFIDENCE = 0.99
Arms = tuple[Sequence[float], Sequence[float]]
"""Figures of the baseline and of the candidate."""


def built(folder):
    """The program, compiled; skips without a compiler."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    subprocess.run(["cc", "-O3", "-o", folder / "ruler", RULER], check=True)
    return folder / "ruler"


def figures(ruler, place, *parts):
    """The figures of these parts in a new directory."""
    place.mkdir()
    done = subprocess.run([ruler, place, *parts], capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def quotient(lab: Arms, own: Arms) -> tuple[float, float]:
    """The interval of the lab's ratio over C's."""
    of_lab, of_c = welch_ratio(*lab), welch_ratio(*own)
    parts = [one.standard_error**2 for one in (of_lab, of_c)]
    terms = parts[0] ** 2 / of_lab.degrees + parts[1] ** 2 / of_c.degrees
    together = Contrast(
        difference=of_lab.difference - of_c.difference,
        standard_error=math.sqrt(sum(parts)),
        degrees=sum(parts) ** 2 / terms if terms else of_lab.degrees + of_c.degrees,
        n=of_lab.n,
        spread=0.0,
    )
    low, high = interval(together, CONFIDENCE)
    return math.exp(low), math.exp(high)


def is_shown(lab: Arms, own: Arms) -> bool:
    """Whether the lab's ratio is C's: False where this machine was too busy to tell. Asserts that they do not contradict."""
    low, high = quotient(lab, own)
    text = f"{low:.2g} to {high:.2g} times C's ratio"
    assert high > 1 / SAME, f"the lab's ratio contradicts C's: {text}"
    assert low < SAME, f"the lab's ratio contradicts C's: {text}"
    return 1 / SHOWN <= low <= high <= SHOWN


def hold_all(pairs: Iterable[tuple[Arms, Arms]]) -> None:
    """Assert that the ratios of the lab are C's; skips where this machine was too busy to tell of any."""
    known = [pair for pair in pairs if min(map(len, (*pair[0], *pair[1]))) > 1]
    shown = [is_shown(*pair) for pair in known]
    if not any(shown):
        found = ", ".join("{:.2g} to {:.2g}".format(*quotient(*pair)) for pair in known)
        pytest.skip(f"could not judge on this machine: {found or 'too few runs'} times C's ratio, wanted within a factor of 2")
