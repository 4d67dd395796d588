"""A/A: one directory under two names as baseline and candidate, 100 times over; whatever is said to differ is a false alarm.

`assay selftest --same 100`: each comparison is an experiment of its own (five interleaved blocks, trials below a second)
that goes the way of every experiment: plan, run, audit, compare. Four kinds of load take turns. At most 5 in 100 may be said
to differ and to matter, and 5 in 100 of the 95 % intervals may leave out 1. Intervals of counts are exact (binomial). The spread
is the largest over the smallest of the five figures of an arm, the median of all arms: the noise floor of short trials here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ASSAY = str(Path(sys.executable).parent / "assay")
COMPARISONS = 100


def measure() -> Iterator[tuple[str, str]]:
    done = subprocess.run([ASSAY, "selftest", "--same", str(COMPARISONS), "--json"], capture_output=True, text=True, check=True)
    yield from figures(json.loads(done.stdout))


def figures(told: dict) -> Iterator[tuple[str, str]]:
    yield "comparisons of the same with itself", f"{told['compared']} ({told['not_compared']} without an interval)"
    yield "... said to differ and to matter (5 in 100 promised at most)", shared(told, "matters")
    yield "... whose 95 % interval leaves out 1 (5 in 100 promised)", shared(told, "without_one")
    yield "... said to be equivalent, undecided", f"{told['equivalent']}, {told['undecided']}"
    for kind in told["kinds"]:
        yield f"{kind['kind']}: intervals that leave out 1", shared(kind, "without_one")
        yield f"{kind['kind']}: largest over smallest of 5 trials, median", f"+{kind['spread']:.0%}"


def shared(told: dict, what: str) -> str:
    low, high = told[f"{what}_low"], told[f"{what}_high"]
    return f"{told[what]} of {told['compared']} ({low:.1%} to {high:.1%})"
